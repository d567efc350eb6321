"""Meta reviews are left out of reviews, and nobody is asked to review a paper that they meta-review."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result

import planner
from planner import assign
from reviewgraph import read_reviews
from tests.pages import run_line

pytestmark = pytest.mark.usefixtures("infer_once")


PEOPLE, PAPERS = [f"{name}@example.org" for name in ("ann", "bob", "cyd", "dan", "eve")], range(1, 7)
#: Paper i is meta-reviewed by the reviewer i + 2 and reviewed by two others.
META = {(PEOPLE[(i + 2) % 5], str(i)) for i in PAPERS}
EXISTING = {(PEOPLE[(i + step) % 5], str(i)) for i in PAPERS for step in (0, 1)}
FREE = {(who, str(i)) for who in PEOPLE for i in PAPERS} - META - EXISTING


@pytest.fixture(autouse=True)
def folder(folder: Path) -> None:
    rows = [f"{i},primaryreview,{who},Paper {i}" for who, i in sorted(EXISTING)]
    rows += [f"{i},metareview,{who},Paper {i}" for who, i in sorted(META)]
    Path("pcassignments.csv").write_text("\n".join(["paper,action,email,title", *rows, ""]), "utf-8")
    rng = np.random.default_rng(0)
    scores = [f"{i},Paper {i},{who},{rng.integers(1, 10)}" for who, i in sorted(EXISTING)]
    Path("scores.csv").write_text("\n".join(["paper,title,email,OveMer", *scores, ""]), "utf-8")
    Path("papers.csv").write_text("item\n" + "".join(f"{i}\n" for i in PAPERS), "utf-8")
    Path("people.csv").write_text("reviewer\n" + "".join(f"{who}\n" for who in PEOPLE), "utf-8")


#: Options with which the existing reviews stay.
KEPT = ["--fixed pcassignments.csv --demand 4", "--previous pcassignments.csv --demand 4"]


def asked_for(done: Result) -> set[tuple[str, str]]:
    return {(one["reviewer"], str(one["item"])) for one in json.loads(done.stdout)["reviews"]}


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ("--for decision --select 2 --max-reviews 99", 0),
        ("--for decision --select 2 --max-reviews 99 --rounds 1", 0),
        ("--for decision --select 2 --max-reviews 99 --rounds 1 --min-reviews 4", 0),
        ("--min-reviews 4", 0),
        ("--min-reviews 5 --best-effort", 1),
    ],
)
def test_plans_that_take_all_there_is_leave_out_meta_reviewers(words: str, status: int) -> None:
    line = f"plan scores.csv pcassignments.csv {words} --json"
    done = run_line(line)
    assert done.exit_code == status, done.output
    chosen = asked_for(done)
    assert chosen <= FREE
    # With a budget for all of them, only those without a gain are left.
    assert chosen == FREE or "decision" in words
    assert chosen
    # Without the file that has the meta reviews, these plans do ask for them: the budget allows all pairs.
    assert not asked_for(run_line(line.replace(" pcassignments.csv", ""))) <= FREE
    Path("answer.json").write_text(done.stdout, "utf-8")
    checked = run_line(f"verify answer.json scores.csv pcassignments.csv {words}")
    assert checked.exit_code in (0, 4), checked.output


def test_verify_refutes_a_review_by_a_meta_reviewer() -> None:
    Path("answer.json").write_text(run_line("plan scores.csv --min-reviews 5 --json").stdout, "utf-8")
    done = run_line("verify answer.json scores.csv pcassignments.csv --min-reviews 5")
    assert done.exit_code == 1
    assert "is a conflict" in done.output


@pytest.mark.parametrize("option", ["--phase-one pcassignments.csv --demand 2", *KEPT])
def test_assignments_leave_out_meta_reviewers(option: str) -> None:
    line = f"assign --items papers.csv --reviewers people.csv {option} --load 9 --target none --json"
    done = run_line(line)
    assert done.exit_code == 0, done.output
    new = asked_for(done) - (EXISTING if option in KEPT else set())
    assert new == FREE
    Path("answer.json").write_text(done.stdout, "utf-8")
    words = f"--items papers.csv --reviewers people.csv {option} --load 9 --target none"
    assert run_line(f"verify answer.json {words}").exit_code == 0


def test_a_meta_review_cannot_be_planned_and_a_fixed_one_is_kept_and_named() -> None:
    reviews = read_reviews("scores.csv", "pcassignments.csv")
    assert set(reviews.origin.meta) == META
    pair = min(META)
    plan = planner.plan(reviews, fixed=[pair])
    assert plan.constraints.facts is not None
    assert plan.constraints.facts.conflicts == (pair,)
    every = dict.fromkeys(((who, i) for who in PEOPLE for i in map(str, PAPERS)), 1.0)
    chosen = assign(every, phase_one=reviews, fixed=[pair], demand=1, load=9)
    assert chosen.facts is not None
    assert chosen.facts.conflicts == (pair,)


def test_a_bulk_assignment_names_the_type_in_a_column() -> None:
    rows = [f"{i},review,{who},primary" for who, i in sorted(EXISTING)]
    rows += [f"{i},review,{who},meta" for who, i in sorted(META)]
    Path("bulk.csv").write_text("\n".join(["paper,action,email,reviewtype", *rows, ""]), "utf-8")
    reviews = read_reviews("bulk.csv")
    assert set(reviews.origin.meta) == META
    assert reviews.n_reviews == len(EXISTING)
