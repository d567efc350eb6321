"""The most of plans that cannot be had, against every set of reviews."""

from itertools import combinations
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import planner
from reviewgraph import Reviews, Search
from reviewgraph.graph.levels import NAMES
from tests.planner.plans.people_cases import Case, cases
from tests.planner.plans.plan_cases import cases as plain_cases
from tests.planner.plans.plan_cases import verify_plan
from tests.trials import examples

#: Twelve papers with two reviews by each of two chairs; others may be asked.
TABLE = Reviews([(chair, paper) for chair in "xy" for paper in range(12)])


def lacks(case: Case, chosen: tuple[tuple[int, int], ...]) -> list[int]:
    """Reviews that items lack, most first."""
    least = case.options.get("min_reviews", 0)
    return sorted((max(least - len(case.panel(i, chosen)), 0) for i in range(case.reviews.n_items)), reverse=True)


@pytest.mark.slow
@given(plain_cases(most=4), st.integers(1, 3), st.sampled_from(list(NAMES)))
@examples(16)
def test_fewest_reviews_are_missing_and_evenly(case: Any, least: int, target: Any) -> None:
    told = Case(case.reviews, {**case.options, "min_reviews": least})
    allowed = told.allowed()
    assume(len(allowed) <= 9)
    plan = planner.plan(told.reviews, target=target, search=Search(time_limit=10), best_effort=True, **told.options)
    verify_plan(plan)
    strict = planner.plan(told.reviews, target=target, search=Search(time_limit=10), **told.options)
    assert (plan.status == "best_effort") == (strict.status == "infeasible")
    if plan.status != "best_effort":
        assert plan.pairs.tolist() == strict.pairs.tolist()
        return
    every = [c for size in range(len(allowed) + 1) for c in combinations(allowed, size) if told.keeps(c)]
    best = min((sum(lacks(told, c)), lacks(told, c)) for c in every)
    chosen = tuple(map(tuple, plan.pairs.tolist()))
    assert told.keeps(chosen)
    assert (sum(lacks(told, chosen)), lacks(told, chosen)) == best
    gaps = plan.shortage
    assert gaps is not None
    assert sum(number for _, number in gaps.missing) == best[0]
    # The level is reached where that can be had beside; and with the recruits all is had then.
    if any(lacks(told, c) == best[1] and told.reached(c, target) for c in every):
        assert told.reached(chosen, target)
    if told.reached(chosen, target):
        new = {j + told.everyone: gaps.load for j in range(gaps.reviewers)}
        spare = {j: sum(j == k for k, _ in chosen) for j in range(told.everyone)}
        options = {**told.options, "capacity": {**spare, **new}, "fixed": plan.pairs.tolist(), "max_per_item": None}
        if "max_per_item" not in told.options:
            assert planner.plan(told.reviews, target=target, search=Search(time_limit=10), **options).attained


@pytest.mark.slow
@given(cases(most=3))
@examples(16)
def test_with_rules_fewest_are_missing_in_all(case: Case) -> None:
    allowed = case.allowed()
    assume(case.keeps(()) and len(allowed) <= 8)
    plan = planner.plan(
        case.reviews, target="connected", search=Search(time_limit=10), best_effort=True, **case.options
    )
    verify_plan(plan)
    assume(plan.status == "best_effort")
    chosen = tuple(map(tuple, plan.pairs[len(plan.constraints.fixed) :].tolist()))
    assert case.keeps(chosen)
    people = plan.constraints.people

    def missing(pairs: Any) -> int:
        from planner._plans.constraints import as_pairs, with_extra

        rules = plan.constraints
        needs = people.needs(with_extra(rules.reviews, as_pairs([*map(tuple, rules.fixed.tolist()), *pairs])))
        return int(needs.each.sum() + needs.members.sum())

    every = (c for size in range(len(allowed) + 1) for c in combinations(allowed, size) if case.keeps(c))
    assert missing(chosen) == min(map(missing, every))


def test_the_rest_is_recruited_for() -> None:
    found = planner.plan(TABLE, min_reviews=4, capacity={"a": 6, "b": 5}, best_effort=True)
    assert (found.status, found.count, found.attained) == ("best_effort", 11, False)
    gaps = found.shortage
    assert gaps is not None
    # Thirteen of 24 are missing: one of each paper at least, two of one.
    assert sorted(number for _, number in gaps.missing) == [1] * 11 + [2]
    assert (gaps.reviews, gaps.reviewers, gaps.load) == (13, 2, 12)
    told = found.to_dict()
    assert told["recruit"]["reviews"] == 13
    assert {short["item"] for short in told["short"]} == set(range(12))
    whole = planner.plan(TABLE, min_reviews=4, capacity={"a": 6, "b": 5, "new": 12, "newer": 12})
    assert whole.status == "optimal"
    assert planner.plan(TABLE, min_reviews=4, capacity={"a": 6, "b": 5}).status == "infeasible"


def test_a_budget_holds() -> None:
    found = planner.plan(TABLE, min_reviews=4, capacity={"a": 6, "b": 5}, best_effort=True, n=8)
    assert found.status == "best_effort" or found.status == "budget_exhausted"
    assert found.count <= 8
