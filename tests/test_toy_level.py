"""A level is one class and one line: toys that name none of their parts, or a verifier, go through every command."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from click.testing import CliRunner

from planner import assign, plan_extra_reviews
from planner import verify_plan as verify_in_python
from planner._assign.levels import aim_named
from planner._plans.targets import target_named
from planner._plans.words import page as plan_page
from reviewgraph import Reviews, check, fragile, keeps
from reviewgraph.cli import main
from reviewgraph.graph import Level, level_named
from reviewgraph.graph.levels import ALL
from tests.trials import sampled

#: Modules that list the levels when they are loaded.
COMMANDS = ("reviewgraph.cli.check", "planner.commands.plan", "planner.commands.assign")

#: What else is asked of an assignment.
ASKED = ((), ("--fair", "leximin"), ("--max-probability", "0.9", "--draws", "4"))
#: Whom to assign to what.
MARKET = ("--items", "papers.csv", "--reviewers", "people.csv", "--affinity", "affinity.csv")


class Twice(Level):
    """Doubly connected, and every paper has two reviews: stronger than double, weaker than survives-review."""

    name = "twice"
    term = "doubly connected and read twice"
    words = "comparable for certain, and read twice"
    differ = "in severity and in how widely they spread their scores"
    shared = 2

    def holds(self, structure: Any) -> bool:
        return structure.recovery_resilient and bool((structure.reviews.reviews_per_item > 1).all())

    def verdict(self, papers: str, groups: str, missing: str) -> str:
        return f"{papers} {self.words}."


class CheckedTwice(Twice):
    """The same, with a test for the verifier."""

    @staticmethod
    def verifier(table: Any) -> bool:
        return min(table.reviews_of().values(), default=2) > 1 and level_named("double").part("verifier")(table)


class Read(Level):
    """Every paper has a review: weaker than any other level."""

    name = "read"
    term = "reviewed"
    words = "read by somebody"
    differ = "in whatever way"
    shared = 1

    def holds(self, structure: Any) -> bool:
        return bool((structure.reviews.reviews_per_item > 0).all())

    def verdict(self, papers: str, groups: str, missing: str) -> str:
        return f"{papers} {self.words}."


@pytest.fixture(params=[Twice, CheckedTwice, Read], ids=lambda kind: kind.__name__)
def toy(request: pytest.FixtureRequest, load_anew: Callable[..., None]) -> Iterator[Level]:
    level: Level = request.param()
    load_anew(*COMMANDS)
    before = ALL.copy()
    ALL.insert(len(ALL) if level.shared == 1 else ALL.index(level_named("double")), level)
    yield level
    ALL[:] = before


#: Where no answer is verified, a test for the verifier changes nothing.
unverified = pytest.mark.parametrize("toy", [Twice, Read], indirect=True, ids=lambda kind: kind.__name__)


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table at the level double, r with one review; another of two pieces, with an unread paper; affinities."""
    monkeypatch.chdir(tmp_path)
    rows = ["ann,p,1", "ann,q,2", "bob,p,3", "bob,q,1", "bob,r,2", "cleo,p,2", "cleo,q,3"]
    Path("double.csv").write_text("\n".join(["reviewer,item,score", *rows, ""]))
    rows = ["ann,p", "ann,q", "bob,r", "bob,s"]
    Path("apart.csv").write_text("\n".join(["reviewer,item", *rows, ""]))
    Path("items.csv").write_text("item\np\nq\nr\ns\nt\n")
    rng = np.random.default_rng(0)
    pairs = [f"{who},{what},{rng.random():.3f}" for who in ("ann", "bob", "cleo", "dora") for what in "pqrs"]
    Path("papers.csv").write_text("item\np\nq\nr\ns\n")
    Path("people.csv").write_text("reviewer\nann\nbob\ncleo\ndora\n")
    Path("affinity.csv").write_text("\n".join(["reviewer,item,affinity", *pairs, ""]))


def run(*words: str, status: int = 0) -> str:
    result = CliRunner().invoke(main, list(words))
    assert result.exit_code == status, f"{result.output}\n{result.exception!r}"
    return result.stdout


def verified(level: Level, answer: str, *words: str, rests_on_it: bool = True) -> None:
    """Let an answer be verified: what rests on a level without a test is taken on trust."""
    Path("answer.json").write_text(answer)
    trusted = rests_on_it and level.part("verifier") is None
    said = run("verify", "answer.json", *words, status=4 if trusted else 0)
    assert "refuted:" not in said


def table() -> Reviews:
    return Reviews.from_pairs(
        [("ann", "p"), ("ann", "q"), *(("bob", item) for item in "pqr"), ("cleo", "p"), ("cleo", "q")]
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("toy", "kind"),
    sampled(
        [
            (Twice, "double.csv"),
            (CheckedTwice, "apart.csv"),
            (Read, "double.csv"),
            (Twice, "apart.csv"),
            (CheckedTwice, "double.csv"),
            (Read, "apart.csv"),
        ],
        3,
        several=True,
    ),
    indirect=["toy"],
)
def test_check(toy: Level, kind: str) -> None:
    words = [kind, *(["--items", "items.csv"] if kind == "apart.csv" else [])]
    found = json.loads(run("check", *words, "--fragile", "--missing", "0.2", "--json"))
    page = run("check", *words, "--html", "report.html", "--fragile", "--missing", "0.2")
    assert f"  {toy.words}: " in page
    assert {level["level"] for level in found["keeps"]} == {"double", "recoverable", "connected", toy.name}
    assert toy.words in Path("report.html").read_text()
    reached = kind == "double.csv" and toy.shared == 1
    said = run("check", *words, "--require", toy.name, status=0 if reached else 1)
    assert f"Required level {toy.name}: {'reached' if reached else 'missed'}." in said
    assert toy.words in " ".join(run("check", "--help").split())
    # The highest level of the first table is double: none below it matters.
    below = toy.shared == 1 and kind == "double.csv"
    verified(toy, run("check", *words, "--fragile", "--json"), *words, "--fragile", rests_on_it=not below)


@unverified
def test_check_of_a_table_that_is_there(toy: Level) -> None:
    Path("more.csv").write_text("reviewer,item\nann,r\n")
    found = json.loads(run("check", "double.csv", "more.csv", "--json"))
    assert found["level"] == (toy.name if toy.shared == 2 else "double")
    assert found["fragile"]["level"] == found["level"]
    page = run("check", "double.csv", "more.csv", "--use-scores", "--require", toy.name, status=1 - (toy.shared == 1))
    assert toy.shared == 1 or f"All 3 papers are {toy.words}." in page


@pytest.mark.parametrize("toy", sampled([CheckedTwice, Read, Twice], 2), indirect=True, ids=lambda kind: kind.__name__)
def test_check_of_a_stream(toy: Level) -> None:
    pa = pytest.importorskip("pyarrow.parquet")
    import pyarrow

    rows = [("ann", "p"), ("ann", "q"), ("bob", "q"), ("bob", "p"), ("cleo", "z")]
    columns = {"reviewer": [who for who, _ in rows], "item": [what for _, what in rows]}
    pa.write_table(pyarrow.table(columns), "table.parquet")
    found = json.loads(run("check", "table.parquet", "--stream", "--json"))
    assert found["undecided"] == ([] if toy.shared == 2 else [toy.name])
    run("check", "table.parquet", "--stream", "--require", toy.name, status=2 if toy.shared == 1 else 1)
    verified(toy, json.dumps(found), "table.parquet", "--stream", rests_on_it=toy.shared == 2)
    pa.write_table(pyarrow.table({name: column[:-1] for name, column in columns.items()}), "table.parquet")
    found = json.loads(run("check", "table.parquet", "--stream", "--json"))
    assert found["undecided"] == ([toy.name] if toy.shared == 2 else [])
    assert found["level"] == "double"
    assert "double" not in run("check", "table.parquet", "--stream").split("not decided")[-1]


@unverified
def test_a_level_below_connected_does_not_replace_the_verdict_on_comparing(toy: Level) -> None:
    Path("pieces.csv").write_text("reviewer,item\nann,p\nann,q\nbob,r\nbob,s\n")
    page = " ".join(run("check", "pieces.csv").split())
    verdict = "The 4 papers cannot all be compared: they fall into 2 pieces without a common reviewer"
    assert page.startswith(verdict)
    assert ("All 4 papers are read by somebody." in page) == (toy.shared == 1)
    run("check", "pieces.csv", "--html", "report.html")
    assert "Not comparable" in Path("report.html").read_text()
    assert toy.compares == (toy.shared == 2)
    # A table at no level is searched at the weakest one that compares.
    found = check(Reviews.from_pairs([("ann", "p")], items=["q"]), fragile=True).losses.fragile
    assert found is not None
    assert found.level == "connected"


@unverified
def test_a_level_at_the_wrong_place_is_refused(toy: Level) -> None:
    ALL.remove(toy)
    ALL.insert(0 if toy.shared == 1 else len(ALL), toy)
    rows = (
        [("ann", "p"), ("bob", "q")]
        if toy.shared == 1
        else [(who, what) for who in ("ann", "bob") for what in "pq"] + [("bob", "r")]
    )
    with pytest.raises(
        RuntimeError, match=r"expected that each implies those after it, found a table at .*; change the order"
    ):
        check(Reviews.from_pairs(rows)).page()


@unverified
def test_letters_and_joins_speak_of_comparing_only_where_the_level_does(toy: Level) -> None:
    apart = Reviews.from_pairs([("ann", "p"), ("ann", "q"), ("bob", "q"), ("bob", "r")], items=["s"])
    plan = plan_extra_reviews(apart, toy.name)
    letters, page = " ".join(plan.mail().values()), plan_page(plan)
    assert (
        ("compare the scores" in letters) == ("joins: the groups that the review merges" in page) == (toy.shared == 2)
    )
    if toy.shared == 1:
        assert "It helps us get all papers read by somebody." in letters
        assert all("so that all papers get read by somebody" in review.joins for review in plan.reviews)


@unverified
def test_losses_in_python(toy: Level) -> None:
    found = fragile(table().with_pairs([("ann", "r")]), toy.name)
    assert found.holds
    assert [table().reviewers[j] for j in found.reviewers] == (["ann", "bob"] if toy.shared == 2 else [])
    lost = {("ann", "r"), ("bob", "r")} if toy.shared == 2 else set()
    columns = found.to_columns()
    assert set(zip(columns["reviewer"], columns["item"], strict=True)) == lost
    assert not fragile(table(), toy.name).holds or toy.shared == 1
    kept = {kept.level: kept.probability for kept in keeps(table(), 0.0, draws=2).levels}
    assert kept[toy.name] == (0.0 if toy.shared == 2 else 1.0)
    assert check(table()).reaches(toy.name) == (toy.shared == 1)


def test_plan(toy: Level) -> None:
    words = ["double.csv", "--target", toy.name, "--spare", "1"]
    found = json.loads(run("plan", *words, "--json"))
    count = 1 if toy.shared == 2 else 0
    assert (found["status"], found["count"], found["lower_bound"]) == ("optimal", count, count)
    assert toy.words in " ".join(run("plan", "--help").split())
    run("plan", *words, "-o", "plan.csv")
    run("plan", *words, "--html", "report.html")
    if count:
        run("check", "double.csv", "plan.csv", "--require", toy.name)
        run("plan", "double.csv", "--for", toy.name, "--for", "decision", "--select", "1", "--max-reviews", "3")
    verified(toy, run("plan", *words, "--json"), *words)
    plan = plan_extra_reviews(table(), toy.name, spare=1)
    verify_in_python(plan)
    assert repr(target_named(toy.name)) == f"<Target: {toy.name}>"
    for review in plan.reviews:
        assert plan.alternatives(review.reviewer, review.item)


@pytest.mark.slow
@pytest.mark.parametrize("toy", sampled([CheckedTwice, Read, Twice]), indirect=True, ids=lambda kind: kind.__name__)
def test_plan_where_much_is_missing(toy: Level) -> None:
    words = ["apart.csv", "--items", "items.csv", "--target", toy.name]
    found = json.loads(run("plan", *words, "--json"))
    assert found["status"] == "optimal"
    assert found["count"] == found["lower_bound"] == (1 if toy.shared == 1 else 6)
    verified(toy, run("plan", *words, "--json"), *words)
    run("plan", *words, "--min-reviews", "1")
    # A budget that is too small, one reviewer who may do nothing, and the most of it.
    partial = json.loads(run("plan", *words, "--max-reviews", "0", "--json", status=1))
    assert partial["status"] == "budget_exhausted"
    verified(toy, json.dumps(partial), *words, "--max-reviews", "0")
    none = json.loads(run("plan", *words, "--spare", "0", "--json", status=1))
    assert none["status"] == "infeasible"
    verified(toy, json.dumps(none), *words, "--spare", "0")
    best = json.loads(run("plan", *words, "--spare", "0", "--best-effort", "--json", status=1))
    assert best["status"] == "best_effort"


@pytest.mark.parametrize(
    ("toy", "more"),
    sampled(
        product([Twice, CheckedTwice, Read], ASKED),
        list(zip([CheckedTwice, Twice, Read], ASKED, strict=True)),
        several=True,
    ),
    indirect=["toy"],
)
def test_assign(toy: Level, more: tuple[str, ...]) -> None:
    words = [*MARKET, "--demand", "2", "--load", "3", "--target", toy.name, *more]
    found = json.loads(run("assign", *words, "--json"))
    assert found["status"] in ("optimal", "feasible")
    if not more:
        run("assign", *words, "-o", "assignment.csv", "--html", "report.html", "--alternates", "1")
        assert toy.words in run("assign", *words)
        run("check", "assignment.csv", "--require", toy.name)
        verified(toy, json.dumps(found), *words)
        run("assign", *words, "--survive", status=2)
    assert aim_named(toy.name).level is toy


@pytest.mark.slow
@unverified
def test_assign_where_the_level_is_out_of_reach(toy: Level) -> None:
    """One review a paper never reads it twice; that each is read is no matter of groups."""
    affinity = {(who, what): 0.5 for who in "abc" for what in "pq"}
    if toy.shared == 1:
        assert assign(affinity, demand=1, load=1, target=toy.name).status == "optimal"
        return
    found = assign(affinity, demand=1, load=2, target=toy.name)
    assert found.status == "level_missed"
    assert "Proved impossible" in found.explanation
    assert check(assign(affinity, demand=2, load=2, target=toy.name).reviews).reaches(toy.name)


@unverified
def test_assign_in_python(toy: Level) -> None:
    affinity = {(j, i): 1.0 / (1 + abs(j - i)) for j in range(8) for i in range(8)}
    found = assign(affinity, demand=3, load=3, target=toy.name)
    assert check(found.reviews).reaches(toy.name)


def test_the_levels_of_the_graph_name_all_their_parts() -> None:
    """A part that is missing, or misspelt, would be made up for in silence, slowly."""
    for name in ("survives-reviewer", "survives-review", "double", "recoverable", "connected"):
        level = level_named(name)
        parts = ("target", "aim", "verifier", *(["finder"] if not level.outlives else []))
        assert all(level.part(part) is not None for part in parts), name


def test_nothing_is_left_behind() -> None:
    assert not {Twice.name, Read.name} & {level.name for level in ALL}
    command = main.get_command(click.Context(main), "plan")
    assert command is not None
    target = next(option for option in command.params if option.name == "target")
    assert Twice.name not in target.type.choices  # type: ignore[attr-defined]
