"""The page of a plan has the numbers of the plan, and words for what each review does."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import planner
from planner._plans.constraints import constrain
from planner._plans.outcome import PlanStatus, joins
from planner._plans.target import target_named
from planner._plans.task import new_task
from reviewgraph import Reviews, Search, check
from reviewgraph._base import Fact, Page, counted
from reviewgraph.graph.levels import NAMES
from tests.planner.plans import naive_plans
from tests.planner.plans.plan_cases import Case, cases
from tests.trials import examples

CHAIN = Reviews([(j, i) for j in range(6) for i in (j, j + 1)])


def facts(page: Page) -> dict[str, str]:
    return {fact.name: fact.value for fact in page.facts if isinstance(fact, Fact)}


def test_the_first_line_says_what_is_proved() -> None:
    plan = planner.plan(Reviews([(0, 0), (0, 1), (1, 1), (1, 2)]))
    dear = replace(plan, status=PlanStatus.FEASIBLE)
    assert dear.smallest
    assert plan.summary().summary == "makes all 3 papers comparable for certain (proved: no fewer)"
    assert dear.summary().summary.endswith("(proved: no fewer; some may cost less)")
    assert replace(dear, bounds=()).summary().summary.endswith("(not proved: at least 0 are needed)")


def test_a_bound_says_why_fewer_do_not_suffice_or_why_so_many_are_needed() -> None:
    """Below the bound a plan is partial: then the reason is one for more reviews."""
    assert "Why not fewer: 5 links are missing" in planner.plan(CHAIN).summary().text("proof")
    part = planner.plan(CHAIN, n=1).summary()
    assert "Why at least 5: 5 links are missing" in part.text("proof")
    assert facts(part)["Needed"] == "at least 5 reviews"
    fixed = planner.plan(CHAIN, n=2, fixed=[(0, 2)]).summary()
    assert "Why at least 4 beyond the 1 fixed: 4 links are missing" in fixed.text("proof")
    assert "Why not fewer" not in part.text("proof") + fixed.text("proof")


@pytest.mark.parametrize("options", [{}, {"spare": 1}, {"n": 2}, {"spare": 0}, {"target": "connected"}])
def test_numbers_are_those_of_the_plan(options: dict[str, object]) -> None:
    table = Reviews([("a", 1), ("a", 2), ("b", 3), ("b", 4), ("b", 5), ("c", 6), ("c", 7)], items=[8])
    plan = planner.plan(table, **options)  # type: ignore[arg-type]
    page = plan.summary()
    before, after = plan.reach
    if plan.status == PlanStatus.INFEASIBLE:
        assert (page.verdict, page.good) == ("No plan", False)
        assert facts(page)["Why"] == "; ".join(plan.explanation)
        return
    assert page.verdict.startswith(f"{plan.count} reviews")
    assert page.good is plan.attained
    if not plan.attained:
        assert f"{after.papers} of 8 papers comparable for certain, {before.papers} without" in page.summary
    asked = counted(len({review.reviewer for review in plan.added}), "reviewer")
    assert facts(page)["Asked"].startswith(f"{asked}, ")
    assert f"at most {plan.largest_load} each" in facts(page)["Asked"]
    (first,) = [part for part in page.facts if not isinstance(part, Fact)]
    assert list(first.columns[1].values) == [str(review.reviewer) for review in plan.added]
    assert list(first.columns[2].values) == [review.joins for review in plan.added]


def test_islands_and_groups_have_the_sizes_that_can_be_counted() -> None:
    table = Reviews([("a", 1), ("a", 2), ("b", 2), ("b", 3), ("c", 5), ("c", 6)], items=[1, 2, 3, 5, 6, 7])
    plan = planner.plan(table)
    assert sorted(review.joins for review in plan.added) == [
        "has no reviewer",
        "joins groups of 2 and 2 sharing 2",
        *sorted(review.joins for review in plan.added if "sharing 5" in review.joins or "sharing 6" in review.joins),
        "joins islands of 3 and 2 papers",
    ]


def test_errors_to_be_expected_are_those_of_a_check() -> None:
    plan = planner.plan(CHAIN)
    before = np.median(check(CHAIN).expected.error)
    after = np.median(check(plan.reviews).expected.error)
    assert plan.to_dict()["expected_errors"] == {"before": pytest.approx(before), "after": pytest.approx(after)}
    assert any(f"{before:.2f} -> {after:.2f}" in warning for warning in plan.summary().warnings)


def test_what_lies_in_no_file_is_said_beside_the_proof() -> None:
    from reviewgraph.formats.columns import Tally

    lacking = replace(CHAIN, origin=CHAIN.origin._replace(lacking=Tally({0: 2}, "", "papers.csv")))
    page = planner.plan(lacking).summary()
    assert "(proved: no fewer, for the reviews in these files)" in page.summary
    assert page.good is None
    assert any(words.startswith("2 reviews that papers.csv counts are in no file: of 0") for words in page.warnings)


def test_words_are_in_the_nouns_of_the_data() -> None:
    table = replace(CHAIN, origin=CHAIN.origin._replace(nouns=("essay", "grader")))
    text = planner.plan(table, min_reviews=2).summary().text("all")
    assert "essays" in text
    assert not any(word in text.replace("--reviewers", "") for word in ("paper", "reviewer"))


#: Three pieces of 2, 3 and 2 papers.
PIECES = [("a", 1), ("a", 2), ("b", 3), ("b", 4), ("b", 5), ("c", 6), ("c", 7)]


@pytest.mark.slow
@given(cases(), st.sampled_from(NAMES), st.integers(0, 100))
@examples(60)
def test_covers_are_the_largest_groups_of_the_level_after_each_review(case: Case, name: str, seed: int) -> None:
    table = case.reviews
    covers, N, allowed, *_ = case.naive()
    covers = covers[: table.n_reviewers]
    allowed = [pair for pair in allowed if pair[0] < table.n_reviewers]
    order = np.random.default_rng(seed).permutation(len(allowed))[:8]
    pairs = np.array([allowed[k] for k in order], np.int64).reshape(-1, 2)
    task = new_task(constrain(table), len(pairs) + 4)
    _, found, left = joins(task, target_named(name), pairs)
    expected = []
    for j, i in pairs.tolist():
        covers[j] |= 1 << i
        expected.append(len(naive_plans.largest(covers, N, name)))
    assert found == expected
    tables = [task.table(pairs[: place + 1]) for place in range(len(pairs))]
    assert left == [sum(cover.size > 0 for cover in target_named(name).groups(each).covers) for each in tables]


@given(cases(), st.sampled_from(NAMES))
@examples(24)
def test_groups_are_those_of_brute_force(case: Case, name: str) -> None:
    covers, N, *_ = case.naive()
    table = case.reviews
    target = target_named(name)
    found = target.largest_group(table).tolist()
    assert len(found) == len(naive_plans.largest(covers[: table.n_reviewers], N, name))
    assert target.reaches(table) == naive_plans.LEVELS[name](covers[: table.n_reviewers], N)


@pytest.mark.parametrize("name", NAMES)
def test_a_whole_plan_ends_with_all_papers_in_one_group(name: str) -> None:
    plan = planner.plan(Reviews(PIECES), target=name)
    assert plan.added[-1].covers == 7
    assert [review.covers for review in plan.added] == sorted(review.covers for review in plan.added)


def test_recoverable_blocks_become_one_though_no_two_share_two_papers() -> None:
    """Four triples, every two of which share one paper, make one block; the last review closes them."""
    papers = {"a": (1, 2, 3), "b": (1, 4, 5), "c": (2, 4, 6), "d": (3, 5)}
    table = Reviews([(who, i) for who, items in papers.items() for i in items])
    plan = planner.plan(table, target="recoverable", fixed=[("d", 6)])
    assert plan.count == 1
    assert plan.added[0].joins == "joins groups of 2, 3 and 2 more"
    assert plan.added[0].covers == 6
    double = planner.plan(table, target="double", fixed=[("d", 6)], n=1)
    assert double.added[0].joins == "joins a group of 2 papers"
    assert double.added[0].covers == 3


def test_order_of_arrival_decides_what_is_said_not_what_is_reached() -> None:
    rng = np.random.default_rng(2)
    rows = [(j, int(i)) for j in range(8) for i in rng.permutation(14)[:2]]
    table = Reviews(rows, items=range(14))
    for name in NAMES:
        plan = planner.plan(table, target=name, search=Search(time_limit=5))
        task = new_task(plan.constraints, plan.count + 4)
        ends = {joins(task, target_named(name), plan.pairs[rng.permutation(plan.count)])[1][-1] for _ in range(5)}
        assert ends == {14}
