import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import planner
from planner._plans.constraints import constrain
from planner._plans.outcome import joins
from planner._plans.target import target_named
from planner._plans.task import new_task
from reviewgraph import Reviews, Search
from reviewgraph.graph.levels import NAMES
from tests.planner.plans import naive_plans
from tests.planner.plans.plan_cases import Case, cases
from tests.trials import examples

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
