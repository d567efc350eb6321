import json
import re
from pathlib import Path

import pytest

import planner
from reviewgraph import Reviews, check
from reviewgraph.graph import LabelWarning
from reviewgraph.io import without_gone
from tests.pages import offered, run

TABLE = "reviewer,paper,score\nann,p1,1\nann,p2,\nbob,p1,2\nbob,p2,\nbob,p3,\ncleo,p3,4\n"
REVIEWS = Reviews(
    [("ann", "p1", 1.0), ("ann", "p2"), ("bob", "p1", 2.0), ("bob", "p2"), ("bob", "p3"), ("cleo", "p3", 4.0)]
)


@pytest.fixture(autouse=True)
def folder(folder: Path) -> None:
    Path("reviews.csv").write_text(TABLE)
    Path("conflicts.csv").write_text("paper,reviewer\np1,bob\np3,ann\np3,cleo\n")
    Path("people.csv").write_text("reviewer,load\nann,1\nbob,\ncleo,4\n")
    Path("papers.csv").write_text("paper,demand\np1,3\np2,\np3,1\n")


def test_a_check_says_what_a_chair_checks() -> None:
    words = ("--conflicts", "conflicts.csv", "--reviewers", "people.csv", "--load", "2", "--items", "papers.csv")
    found = run("check", "reviews.csv", *words, "--demand", "2")
    assert found.exit_code == 0, found.stderr
    assert re.search(r"^  Conflicts +2: bob on p1, cleo on p3$", found.stdout, re.M)
    assert re.search(r"^  Over load +2: ann has 2 of 1, bob has 3 of 2$", found.stdout, re.M)
    assert re.search(r"^  Short +1: p1 has 2 of 3$", found.stdout, re.M)
    assert json.loads(run("check", "reviews.csv", *words, "--json").stdout)["violations"] == {
        "conflicts": [{"reviewer": "bob", "item": "p1"}, {"reviewer": "cleo", "item": "p3"}],
        "over_load": [{"reviewer": "ann", "reviews": 2, "load": 1}, {"reviewer": "bob", "reviews": 3, "load": 2}],
        "short": [{"item": "p1", "reviews": 2, "demand": 3}],
    }
    assert "violations" not in json.loads(run("check", "reviews.csv", "--json").stdout)
    kept = run("check", "reviews.csv", "--load", "9", "--demand", "1")
    assert re.search(r"^  Over load +none\n  Short +none$", kept.stdout, re.M)


def test_those_who_are_gone_leave_their_scores_and_get_nothing_new() -> None:
    Path("gone.csv").write_text("reviewer\nbob\n")
    report = json.loads(run("check", "reviews.csv", "--gone", "gone.csv", "--json").stdout)
    assert (report["reviewers"], report["reviews"]) == (3, 4)
    found = run("check", "reviews.csv", "--gone", "gone.csv")
    assert "plan reviews.csv --gone gone.csv" in found.stdout
    plan = json.loads(run("plan", "reviews.csv", "--gone", "gone.csv", "--json").stdout)
    assert plan["count"] > 0
    assert {review["reviewer"] for review in plan["reviews"]} <= {"ann", "cleo"}
    following = offered(run("plan", "reviews.csv", "--gone", "gone.csv", "-o", "plan.csv").stdout)
    assert following == ["check", "reviews.csv", "plan.csv", "--require", "double", "--gone", "gone.csv"]
    assert run(*following).exit_code == 0
    Path("gone.csv").write_text("reviewer,paper\nbob,p3\nann,\n")
    report = json.loads(run("check", "reviews.csv", "--gone", "gone.csv", "--json").stdout)
    assert report["reviews"] == 4
    Path("gone.csv").write_text("reviewer\nBob\n")
    found = run("plan", "reviews.csv", "--gone", "gone.csv")
    assert found.exit_code == 2
    assert "gone.csv: 'Bob' and 'bob' differ in letter case alone. One reviewer or two?" in found.stderr


def test_who_is_gone_may_be_said_in_python() -> None:
    left = without_gone(REVIEWS, [("bob", "p3"), ("bob", "p1")])
    assert (left.n_reviews, left.n_reviewers) == (5, 3)
    assert not {("bob", "p3")} & {(review.reviewer, review.item) for review in _planned(gone=[("bob", "p3")])}
    planned = _planned(gone=["bob"], capacity={"bob": 3, "ann": 3, "eve": 3})
    assert {review.reviewer for review in planned} <= {"ann", "eve"}
    with pytest.warns(LabelWarning, match="gone: 1 of 2 reviewers is not in the reviews"):
        assert check(REVIEWS, gone=["bob", "zoe"]).reviews.n_reviews == 4
    planned_only = REVIEWS.subset(~REVIEWS.scored)
    assert "bob" not in without_gone(planned_only, ["bob"]).reviewers


def _planned(**options: object) -> tuple[object, ...]:
    return planner.plan(REVIEWS, **options).added
