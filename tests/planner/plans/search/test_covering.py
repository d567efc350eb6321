"""Reviews that items are short of, greedy searches, even loads, and cuts of the integer programme."""

from itertools import combinations
from math import comb
from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import planner
from planner._plans import covering
from planner._plans.constraints import no_pairs
from planner._plans.covering import cover, share
from planner._plans.target import Ledger
from planner._plans.targets.double import DoubleOracle
from planner._plans.targets.searched import ConnectedOracle, RecoverableOracle, greedy_connected, greedy_recoverable
from planner._plans.task import Cut, few_short_pairs, new_task, short_pairs
from planner.errors import InternalError
from reviewgraph import Reviews
from reviewgraph._base import Clock
from reviewgraph.graph.components import recoverability
from tests.planner.plans import people_cases, plan_cases
from tests.planner.plans.naive_plans import is_connected
from tests.planner.plans.plan_cases import Case, cases, constrained, task_of
from tests.trials import examples


@given(cases(), st.integers(1, 4), st.integers(1, 9))
@examples(40)
def test_some_pairs_are_among_all_and_all_where_many_are_asked_for(case: Case, least: int, few: int) -> None:
    task = task_of(case, min_reviews=least)
    every, some = map(set, (map(tuple, short_pairs(task).tolist()), map(tuple, few_short_pairs(task, few).tolist())))
    assert some <= every
    for i in {i for _, i in every}:
        readers, asked = ({j for j, of in pairs if of == i} for pairs in (every, some))
        assert len(asked) >= min(len(readers), 1)
        assert len(asked) <= task.needs.each[i] + few
    with mock.patch("planner._plans.task.TURNS", 1_000):
        assert set(map(tuple, few_short_pairs(task, 1_000).tolist())) == every


@given(cases(), st.integers(1, 3))
@examples(20)
def test_a_cover_of_some_pairs_holds_and_claims_nothing(case: Case, least: int) -> None:
    task = task_of(case, min_reviews=least)
    whole = covering.cover(task, no_pairs(), Clock(5.0))
    with mock.patch.multiple(covering, ALL_UP_TO=0, LISTED_UP_TO=0):
        found = covering.cover(task, no_pairs(), Clock(5.0))
    assert not found.cheapest or not task.needs.total
    if found.pairs is not None:
        assert whole.pairs is not None
        assert len(found.pairs) >= len(whole.pairs)
        assert task.constraints.people.needs(task.table(found.pairs)).total == 0


def test_a_cut_that_comes_again_is_refused() -> None:
    task = new_task(constrained(Reviews([(j, (j, k)) for j in range(3) for k in range(3)])), 64)
    master = covering.Master(DoubleOracle(task, np.random.default_rng(0)))
    master.oracle.cuts = lambda pairs: iter([Cut(np.ones(len(master.pairs), np.int64), 1)])  # type: ignore[method-assign]
    master.cut(no_pairs())
    with pytest.raises(InternalError, match="no cut forbids 0 reviews that miss the target"):
        master.cut(no_pairs())


@pytest.mark.slow
@given(cases())
@examples(40)
def test_offered_reviews_are_independent_and_none_is_left_out(case: Case) -> None:
    task = task_of(case)
    oracle, table = RecoverableOracle(task), task.table(no_pairs())
    pairs, _ = greedy_recoverable(oracle, 100, Ledger(Clock(None)))
    missing = recoverability(table).degrees_of_freedom
    assert missing - recoverability(task.table(pairs)).degrees_of_freedom == len(pairs)
    load = np.bincount(pairs[:, 0], minlength=task.spare.size)
    used = np.bincount(pairs[:, 1], minlength=task.room.size)
    for j, i in oracle.allowed.tolist():
        if table.loads[j] >= 2 and load[j] < task.spare[j] and used[i] < task.room[i] and [j, i] not in pairs.tolist():
            more = np.vstack([pairs, [(j, i)]])
            assert missing - recoverability(task.table(more)).degrees_of_freedom == len(pairs)


@pytest.mark.slow
@given(cases())
@examples(40)
def test_links_of_pieces_make_a_forest(case: Case) -> None:
    task = task_of(case)
    pairs, _ = greedy_connected(ConnectedOracle(task), Ledger(Clock(None)))
    table = task.table(pairs)
    covers = [sum(1 << i for i in table.items_of(j).tolist()) for j in range(table.n_reviewers)]
    if ConnectedOracle(task).reaches(pairs):
        assert is_connected(covers, task.n_items)
    assert len({tuple(pair) for pair in pairs.tolist()}) == len(pairs)


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
