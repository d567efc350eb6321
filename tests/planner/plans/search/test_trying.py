from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from planner import plan_extra_reviews, verify_plan
from planner._plans.constraints import no_pairs
from planner._plans.task import allowed_pairs, new_task
from planner._plans.trying import all_sets, best_of
from reviewgraph import Reviews
from reviewgraph._base import Clock
from tests.planner.plans.plan_cases import Case, cases, constrained
from tests.trials import examples


@given(cases(4))
@examples(16)
def test_all_sets_within_loads_and_limits_are_listed_the_best_first(case: Case) -> None:
    task = new_task(constrained(case.reviews, **case.options), 64)
    pairs = allowed_pairs(task)[:9]
    sets = all_sets(task, pairs, 1, 4)
    assert sets is not None
    listed = [tuple(map(tuple, sets.of(int(code)).tolist())) for code in sets.code.tolist()]
    expected = [
        chosen
        for size in range(1, 5)
        for chosen in combinations(map(tuple, pairs.tolist()), size)
        if (np.bincount([j for j, _ in chosen], minlength=task.spare.size) <= task.spare).all()
        and (np.bincount([i for _, i in chosen], minlength=task.room.size) <= task.room).all()
    ]
    assert sorted(listed) == sorted(expected)
    price = task.constraints.price_of
    keys = [(len(chosen), price(chosen), task.loads(chosen).max(initial=0)) for chosen in map(np.array, listed)]
    assert keys == sorted(keys)


@given(cases(4))
@examples(16)
def test_the_first_set_of_the_greatest_value_is_found(case: Case) -> None:
    task = new_task(constrained(case.reviews, **case.options), 64)
    sets = all_sets(task, allowed_pairs(task)[:8], 0, 4)
    assert sets is not None
    worth = np.arange(task.n_items) % 3

    def value(chosen: np.ndarray[Any, Any]) -> int:
        return int(worth[np.unique(chosen[:, 1])].sum())

    best, sure = best_of(sets, value, 1 << 30, Clock(None))
    values = [value(sets.of(code)) for code in sets.code.tolist()]
    assert sure
    assert best is not None
    assert best.tolist() == sets.of(int(sets.code[int(np.argmax(values))])).tolist()
    assert best_of(sets, value, 1 << 30, Clock(0.0)) == (None, False)


@pytest.mark.parametrize("target", ["double", "survives-reviewer", "survives-review"])
def test_a_tiny_plan_is_proved_though_a_pair_is_fixed(target: Any) -> None:
    table = Reviews.from_pairs([], reviewers=range(5), items=range(3))
    plan = plan_extra_reviews(table, target, fixed=[(0, 0)], spare=3)
    verify_plan(plan)
    assert plan.status == "optimal"
    assert len(no_pairs()) < plan.count == plan.lower_bound
