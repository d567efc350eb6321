"""The page of a plan has the numbers of the plan."""

from dataclasses import replace

import numpy as np
import pytest

import planner
from planner._plans.outcome import PlanStatus
from reviewgraph import Reviews, check
from reviewgraph._base import Fact, Page, counted

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
