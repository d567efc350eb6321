"""What a page proposes is typed as it is, and gives what it says."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.pages import CHAIN, offered, run
from tests.test_next import TRACKS

ITEMS = "item\n" + "".join(f"p{i}\n" for i in range(8))
PEOPLE = "reviewer,load,institution\n" + "".join(f"r{j},4,{'AB'[j % 2]}\n" for j in range(8))
ASSIGN = "assign --items items.csv --reviewers people.csv -o out.csv"


@pytest.fixture(autouse=True)
def folder(folder: Path) -> None:
    files = {"items.csv": ITEMS, "people.csv": PEOPLE, "tracks.csv": TRACKS, "reviews.csv": CHAIN}
    for name, text in files.items():
        Path(name).write_text(text)


@pytest.mark.parametrize(
    ("words", "proposed", "says"),
    [
        # The demands can be met, the level cannot.
        ("--conflicts tracks.csv --demand 2", "--target none", "Demands and loads can be met, but not the level"),
        ("--conflicts tracks.csv --demand 2 --target survives-reviewer", "--target none", "cover 4 of 8 papers"),
        ("--conflicts tracks.csv --demand 2 --target connected", "--target none", "(target connected)"),
        ("--conflicts tracks.csv --demand 2 --max-probability 0.9", "--target none", "(target double)"),
        ("--conflicts tracks.csv --demand 2 --at-most institution=1", "--target none", "(target double)"),
        ("--demand 2 --load 3 --reviewers thin.csv", "--target connected", "8 papers cannot be joined"),
        # The demands cannot be met.
        ("--demand 5", "--best-effort", "40 reviews; 8 reviewers"),
        ("--demand 5 --target none", "--best-effort", "40 > 32"),
        (
            "--conflicts tracks.csv --demand 4 --at-most institution=1",
            "--best-effort",
            "Lower demands, or lift a rule.",
        ),
        # Nothing helps but other numbers.
        ("--demand 5 --max-probability 0.9", "", "40 > 32"),
        ("--demand 1 --min-load 3", "", "by their min_load"),
    ],
)
def test_where_there_is_no_assignment(words: str, proposed: str, says: str) -> None:
    Path("thin.csv").write_text("reviewer\n" + "".join(f"r{j}\n" for j in range(6)))
    command = [*ASSIGN.split(), *words.split()]
    none = run(*command)
    page = " ".join(none.stdout.split())
    assert (none.exit_code, says in page, "Next " in page) == (1, True, bool(proposed)), none.output
    if not proposed:
        return
    again = offered(none.stdout)
    assert " ".join(again).endswith(proposed)
    found = run(*again)
    assert found.exit_code == (1 if proposed == "--best-effort" else 0), found.output
    assert len(Path("out.csv").read_text().splitlines()) > 8
    assert ("To recruit" in found.stdout) == (proposed == "--best-effort")
    # And on to the end.
    checked = run(*offered(found.stdout))
    assert checked.exit_code == 0, checked.output


def test_a_best_effort_without_the_level_says_why_and_not_to_raise_loads() -> None:
    missed = run(*ASSIGN.split(), "--conflicts", "tracks.csv", "--demand", "2", "--best-effort")
    page = " ".join(missed.stdout.split())
    assert missed.exit_code == 1
    assert "cover 4 of 8 papers at most. Lift conflicts. Some papers cannot be compared at all." in page
    assert "raise demands or loads" not in page


@pytest.mark.parametrize(
    ("more", "files"),
    [
        ("", {}),
        ("--phase-one first.csv", {"first.csv": "item,reviewer,score\np0,r0,3\np1,r0,2\np0,r0,4\n"}),
        ("--phase-one odd.csv --columns odd.csv:reviewer=who", {"odd.csv": "item,who,score\np0,r0,3\np1,r0,2\n"}),
        ("--merge none --conflicts other.csv", {"other.csv": "item,reviewer\np0,zoe\np1,r1\n"}),
        ("--target connected", {}),
    ],
)
def test_a_file_of_an_assignment_can_be_checked(more: str, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        Path(name).write_text(text)
    chosen = run(*ASSIGN.split(), "--demand", "3", *more.split())
    assert chosen.exit_code == 0, chosen.output
    checked = run(*offered(chosen.stdout))
    assert checked.exit_code == 0, checked.output
    assert "8 papers" in checked.stdout


def test_a_check_says_that_a_plan_will_ask_about_lost_conflicts() -> None:
    Path("lost.csv").write_text("item,reviewer\np3,ann\np4,zoe\n")
    checked = run("check", "reviews.csv", "--conflicts", "lost.csv")
    assert "first correct the conflicts that match nobody" in " ".join(checked.stdout.split())
    assert run(*offered(checked.stdout)).exit_code == 2
    Path("lost.csv").write_text("item,reviewer\np3,ann\np4,bob\n")
    checked = run("check", "reviews.csv", "--conflicts", "lost.csv")
    assert "match nobody" not in checked.stdout
    assert run(*offered(checked.stdout)).exit_code == 0


PLANS = {
    "barred.csv": "item,reviewer\np3,ann\np4,ann\np4,bob\np1,bob\np1,cleo\np2,cleo\n",
    "loose.csv": "item,reviewer\np3,ann\np4,ann\np4,bob\np1,bob\np1,cleo\n",
}


@pytest.mark.parametrize(
    ("words", "proposed", "status"),
    [
        ("reviews.csv", "-o plan.csv", 0),
        ("reviews.csv --conflicts barred.csv", "--best-effort", 1),
        ("reviews.csv --conflicts loose.csv --best-effort", "-o plan.csv", 1),
        ("reviews.csv --spare 0", "check reviews.csv", 0),
        ("reviews.csv --min-reviews 3 --spare 1", "--best-effort", 1),
        ("reviews.csv --max-reviews 1", "-o plan.csv", 1),
        ("reviews.csv --max-reviews 1 -o plan.csv", "check reviews.csv plan.csv", 0),
        ("apart.csv --conflicts all.csv", "--best-effort", 1),
    ],
)
def test_what_a_plan_proposes(words: str, proposed: str, status: int) -> None:
    Path("apart.csv").write_text("reviewer,paper\nann,p1\nann,p2\nbob,p3\nbob,p4\n")
    Path("all.csv").write_text("reviewer,paper\nann,p3\nann,p4\nbob,p1\nbob,p2\n")
    for name, text in PLANS.items():
        Path(name).write_text(text)
    first = run("plan", *words.split())
    again = offered(first.stdout)
    assert proposed in " ".join(again), first.output
    found = run(*again)
    assert found.exit_code == status, found.output
    if proposed == "--best-effort":
        assert "CLOSEST PLAN" in found.stdout


@pytest.mark.parametrize("words", ["plan ./plan.csv", "check ./plan.csv", "plan link.csv", "check sub/../plan.csv"])
def test_no_proposal_writes_over_a_file_that_was_read_by_another_path(words: str) -> None:
    Path("sub").mkdir()
    Path("plan.csv").write_text(CHAIN)
    Path("link.csv").symlink_to("plan.csv")
    proposed = offered(run(*words.split()).stdout)
    assert proposed[-2:] == ["-o", "plan2.csv"]
    assert run(*proposed).exit_code == 0
    assert Path("plan.csv").read_text() == CHAIN


@pytest.mark.parametrize("option", ["--previous", "--fixed"])
def test_an_assignment_is_not_proposed_over_the_one_that_it_begins_with(option: str) -> None:
    Path("assignment.csv").write_text("item,reviewer\np0,r0\np1,r1\n")
    words = ["assign", "--items", "items.csv", "--reviewers", "people.csv", "--demand", "3", option, "assignment.csv"]
    proposed = offered(run(*words).stdout)
    assert proposed[-2:] == ["-o", "assignment2.csv"]
    assert run(*proposed).exit_code == 0


def test_conflicts_of_nobody_with_a_paper_are_not_passed_to_a_check() -> None:
    Path("two.csv").write_text("reviewer,load\nr0,0\nr1,8\n")
    Path("of-r0.csv").write_text("item,reviewer\np0,r0\n")
    words = "assign --items items.csv --reviewers two.csv --demand 1 --conflicts of-r0.csv -o out.csv"
    proposed = offered(run(*words.split()).stdout)
    assert "--conflicts" not in proposed
    assert run(*proposed).exit_code == 0


def test_no_check_of_an_assignment_without_reviews_is_proposed() -> None:
    words = "assign --items items.csv --reviewers people.csv --demand 0 --target none -o out.csv"
    assert not offered(run(*words.split()).stdout)


def test_a_partial_plan_against_losses_states_what_holds_with_nothing_lost() -> None:
    Path("two.csv").write_text("reviewer,paper\nann,p1\nbob,p2\nann,p2\n")
    words = "plan two.csv --target survives-reviewer --spare 0 --best-effort"
    page = " ".join(run(*words.split()).stdout.split())
    assert "2 of 2 papers comparable for certain if nothing is lost, 2 without" in page


@pytest.mark.parametrize("papers", [1, 2, 4, 12])
def test_where_more_reviews_decide_is_a_command_that_runs(papers: int) -> None:
    rows = "".join(f"{who},p{i},{i % 4 + 1}\n" for who in ("ann", "bob") for i in range(papers))
    Path("scored.csv").write_text(f"reviewer,paper,score\n{rows}cyd,p0,3\n")
    page = " ".join(run("plan", "scored.csv").stdout.split())
    advice = re.search(r"where they decide: (--for decision --select \S+ --max-reviews \d+)", page)
    assert (advice is not None) == (papers > 1)
    if advice:
        assert run("plan", "scored.csv", *advice[1].split()).exit_code == 0


def test_one_review_makes_papers_comparable_before_those_for_the_decision() -> None:
    rows = "reviewer,paper,score\na,p1,3\na,p2,4\nb,p1,4\nb,p2,5\nc,p2,1\nc,p3,2\n"
    Path("scored.csv").write_text(rows)
    words = "plan scored.csv --for decision --select 1 --max-reviews 3 --target double"
    assert run(*words.split()).stdout.startswith("3 REVIEWS: 1 makes all 3 papers")
