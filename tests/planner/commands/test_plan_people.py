import csv
import json
from pathlib import Path

import pytest
from click.testing import Result

from tests.pages import CHAIN, run

PEOPLE = "reviewer,institution,senior\nann,X,yes\nbob,X,no\ncleo,Y,\ndan,Z,yes\n"
AFFINITY = "item,reviewer,affinity\np1,bob,0.9\np1,cleo,0.6\np2,cleo,0.8\np4,ann,0.7\np4,bob,0.5\np9,zoe,1\n"


def run_plan(*words: str) -> Result:
    return run("plan", "reviews.csv", *words)


def planned(*words: str) -> list[tuple[str, str]]:
    report = json.loads(run_plan(*words, "--json").stdout)
    assert report["status"] in ("optimal", "feasible"), report["explanation"]
    return sorted((review["reviewer"], review["item"]) for review in report["reviews"])


@pytest.fixture(autouse=True)
def folder(folder: Path) -> None:
    for name, text in (("reviews", CHAIN), ("people", PEOPLE), ("affinity", AFFINITY)):
        Path(f"{name}.csv").write_text(text)


def test_people_from_the_files_of_an_assignment() -> None:
    words = "--affinity affinity.csv --reviewers people.csv --at-most institution=1 --min-reviews 2 -o plan.csv"
    found = run_plan(*words.split())
    assert found.exit_code == 0, found.stderr
    assert "people.csv: 1 of 4 reviewers is not in the reviews; left out (reviewer 'dan')" in found.stderr
    assert "affinity.csv: 1 of 6 pairs names a reviewer or paper that is not in the reviews; left out" in found.stderr
    assert found.stdout.rstrip().endswith("Next  reviewgraph check reviews.csv plan.csv --require double")
    with Path("plan.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["item", "reviewer", "affinity", "joins"]
    pairs = {(row["reviewer"], row["item"]): float(row["affinity"]) for row in rows}
    assert pairs == {("cleo", "p1"): 0.6, ("ann", "p4"): 0.7}
    check = run("check", "reviews.csv", "plan.csv", "--require", "double")
    assert check.exit_code == 0


PREFERENCES = "paper,title,given_name,family_name,email,conflict,preference,expertise,topic_score\n"
BIDS = {
    "hotcrp": f"{PREFERENCES}p1,,,,cleo,,-9,,\np1,,,,bob,,8,X,\np4,,,,ann,,-5,,3\np4,,,,bob,conflict,,,\n",
    "words": "item,reviewer,bid\np1,cleo,not willing\np1,bob,Eager\np4,ann,not willing\np4,bob,Conflict\n",
    "openreview": "head,tail,label\np1,cleo,Low\np1,bob,Very High\np4,ann,Low\np4,bob,Conflict\n",
}


@pytest.mark.parametrize("system", BIDS)
def test_bids_of_the_systems_choose_among_plans_and_a_conflict_is_one(system: str) -> None:
    Path("bids.csv").write_text(BIDS[system])
    pairs = planned("--bids", "bids.csv", "--min-reviews", "2")
    assert pairs == [("ann", "p4"), ("bob", "p1")]


def test_seniors_and_the_willing() -> None:
    # Dan, who reviewed nothing, is willing; Ann and Dan are senior, and nobody senior has papers 3 and 4.
    Path("willing.csv").write_text("reviewer,willing\nann,no\nbob,yes\ndan,yes\n")
    found = planned("--reviewers", "people.csv", "--at-least", "senior=1", "--willing", "willing.csv")
    assert {who for who, _ in found} <= {"bob", "dan"}
    assert {("dan", "p3"), ("dan", "p4")} <= set(found)
    note = "willing.csv: 1 reviewer is in no review; emergency reviewers"
    assert note in run_plan("--willing", "willing.csv").stderr


RULED = "reviewer,institution,senior,region\nann,X,yes,A\nbob,X,no,B\ncleo,Y,,A;B\ndan,Z,yes,C\neve,W,,C\n"


def test_rules_of_an_assignment_hold_on_every_paper_of_a_plan() -> None:
    Path("people.csv").write_text(RULED)
    Path("willing.csv").write_text("reviewer\nann\ncleo\ndan\neve\n")
    limits = ("--at-most", "region=2", "--at-most", "institution=2")
    rules = (*limits, "--at-least", "senior=1", "--at-least", "region:C=1")
    found = run_plan("--reviewers", "people.csv", "--willing", "willing.csv", *rules, "--json")
    report = json.loads(found.stdout)
    assert report["status"] in ("optimal", "feasible"), report["explanation"]
    assert {rule["option"] for rule in report["rules"]} == set(map(" ".join, zip(rules[::2], rules[1::2], strict=True)))
    assert all((rule["papers"], rule["broken"]) == (4, []) for rule in report["rules"])
    rows = [line.split(",") for line in CHAIN.splitlines()[1:]]
    pairs = [*map(tuple, rows), *((one["reviewer"], one["item"]) for one in report["reviews"])]
    known = {line.split(",")[0]: line.split(",")[1:] for line in RULED.splitlines()[1:]}
    for paper in ("p1", "p2", "p3", "p4"):
        panel = [known[who] for who, what in pairs if what == paper]
        regions = [region for _, _, regions in panel for region in regions.split(";")]
        assert any(senior == "yes" for _, senior, _ in panel)
        assert "C" in regions
        assert max(map(regions.count, regions)) <= 2


def test_a_rule_that_no_plan_keeps_is_said_with_papers_and_counts() -> None:
    Path("people.csv").write_text(RULED)
    Path("willing.csv").write_text("reviewer\nann\nbob\n")
    alone = run_plan("--reviewers", "people.csv", "--willing", "willing.csv", "--at-least", "region=3")
    assert alone.exit_code == 2
    assert "expected a value, as in region:A" in " ".join(alone.stderr.split())
    none = run_plan("--reviewers", "people.csv", "--willing", "willing.csv", "--at-least", "region:A=2")
    assert "apers p1, p2 need 2 more reviews of region A" in " ".join(none.stdout.split())


@pytest.mark.parametrize(
    ("text", "words", "message"),
    [
        (None, ("--at-most", "home=1"), "--at-most home=1: expected --reviewers FILE or --attributes FILE with it"),
        ("", ("--at-most", "home=1"), "rules.csv: "),
        ("reviewer,home\n", ("--at-most", "home=1"), "rules.csv: a header but no reviewers below it"),
        (
            "reviewer,home\nann,X\n",
            ("--at-most", "hone=1"),
            "expected a known attribute, found 'hone'; did you mean 'home'",
        ),
        (
            "reviewer,home\nann,\n",
            ("--at-most", "home=1"),
            "--at-most home=1: expected a known attribute, found 'home'",
        ),
        ("reviewer,home\nann,X\nann,Y\n", ("--at-most", "home=1"), "rules.csv:3: 'ann' occurred in rules.csv:2"),
        ("reviewer,home\nAnn,X\n", ("--at-most", "home=1"), "differ in letter case alone. One reviewer or two?"),
        (
            "reviewer,home\nann,X\n",
            ("--at-least", "home=x"),
            "--at-least home=x: expected a known attribute of papers, or a number, found 'x'",
        ),
    ],
)
def test_rules_that_cannot_be_meant_end_with_one_message(
    text: str | None, words: tuple[str, ...], message: str
) -> None:
    if text is not None:
        Path("rules.csv").write_text(text)
        words = (*words, "--reviewers", "rules.csv")
    found = run_plan(*words)
    assert found.exit_code == 2
    assert message in found.stderr
    assert found.stderr.count("Error:") == 1


@pytest.mark.parametrize("header", ["item,reviewer,fits", "item,reviewer,fits,affinity,similarity"])
@pytest.mark.parametrize("given", ["affinity=fits", "odd.csv:affinity=fits"])
def test_columns_of_side_files_can_be_named(header: str, given: str) -> None:
    more = "0.9" + ",0,0" * (header.count(",") > 2)
    Path("odd.csv").write_text(f"{header}\np1,bob,{more}\n")
    found = run_plan("--affinity", "odd.csv")
    assert found.exit_code == 2
    assert "--columns odd.csv:affinity=" in found.stderr
    found = run_plan("--affinity", "odd.csv", "--columns", given, "--json")
    assert found.exit_code == 0, found.stderr
    assert 0.9 in [review["affinity"] for review in json.loads(found.stdout)["reviews"]]
