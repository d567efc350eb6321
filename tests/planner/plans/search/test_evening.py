"""Extra loads as even as they can be, against every set of reviews that does the same."""

from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import planner
from planner._plans.constraints import no_pairs
from planner._plans.covering import cover, share
from planner._plans.task import new_task
from reviewgraph import Reviews
from reviewgraph._base import Clock
from tests.planner.plans import people_cases, plan_cases
from tests.planner.plans.plan_cases import constrained
from tests.trials import examples

#: Sets of reviews that are tried for one case.
MOST_SETS = 3_000


def loads_of(case: people_cases.Case, chosen: tuple[tuple[int, int], ...]) -> list[int]:
    """Extra reviews of each reviewer, largest first, fixed ones among them."""
    old = set(zip(case.reviews.reviewer.tolist(), case.reviews.item.tolist(), strict=True))
    new = [*(pair for pair in case.options.get("fixed", ()) if pair not in old), *chosen]
    return sorted((sum(j == k for k, _ in new) for j in range(case.everyone)), reverse=True)


@pytest.mark.slow
@given(plan_cases.cases(), st.integers(1, 3))
@examples(40)
def test_what_fills_needs_is_nearly_as_even_as_any_as_cheap(case: plan_cases.Case, least: int) -> None:
    told = people_cases.Case(case.reviews, {**case.options, "min_reviews": least})
    task = new_task(constrained(case.reviews, **told.options), 64)
    short = set(np.flatnonzero(task.needs.each).tolist())
    allowed = [pair for pair in told.allowed() if pair[1] in short]
    assume(task.needs.total and comb(len(allowed), task.needs.total) <= MOST_SETS)
    found = cover(task, no_pairs(), Clock(5.0))
    every = [
        (round(told.price(chosen), 6), loads_of(told, chosen))
        for chosen in combinations(allowed, task.needs.total)
        if told.keeps(chosen) and told.served(chosen)
    ]
    assert (found.pairs is None) == (not every)
    if found.pairs is not None:
        chosen = tuple(map(tuple, found.pairs.tolist()))
        # The cheapest, and nobody has more than one review beyond the smallest largest load of these.
        price, loads = min(every)
        assert round(told.price(chosen), 6) == price
        assert loads[0] <= loads_of(told, chosen)[0] <= loads[0] + 1


def test_one_reviewer_gets_no_more_than_conflicts_force() -> None:
    # Ten papers with two reviews by the chairs, who take no more; four others may be asked.
    table = Reviews([(chair, paper) for chair in "xy" for paper in range(10)])
    plan = planner.plan(table, min_reviews=3, capacity=dict.fromkeys("abcd", 10))
    assert (plan.status, plan.count, plan.largest_load, plan.largest_load_lower_bound) == ("optimal", 10, 3, 3)
    # Only ann may read the first five papers: she must, and the others share what is left.
    barred = [(who, paper) for who in "bcd" for paper in range(5)]
    plan = planner.plan(table, min_reviews=3, capacity=dict.fromkeys("abcd", 10), conflicts=barred)
    loads = {who: sum(review.reviewer == who for review in plan.added) for who in "abcd"}
    assert sorted(loads.values()) == [1, 2, 2, 5]
    assert loads["a"] == 5
    # Costs come first: ann for nothing, all others for something.
    free = {("a", paper): 0.0 for paper in range(8)}
    plan = planner.plan(table, min_reviews=3, capacity=dict.fromkeys("abcd", 10), cost=free)
    assert (plan.status, plan.cost, plan.largest_load) == ("optimal", 2.0, 8)


def test_the_share_is_a_count_of_spare_loads() -> None:
    table = Reviews([("x", 1), ("y", 1), ("z", 1)], items=range(10))
    task = new_task(constrained(table, capacity={"x": 1, "y": 9, "z": 9}), 64)
    assert [share(task, count) for count in (0, 1, 3, 4, 5, 6)] == [0, 1, 1, 2, 2, 3]
