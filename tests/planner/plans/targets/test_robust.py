"""Every level has its target; plans that survive any one reviewer or review."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import planner
from planner._plans.constraints import constrain, no_pairs
from planner._plans.target import target_named
from planner._plans.task import Loss, Losses, after_loss, new_task
from reviewgraph import Reviews
from reviewgraph.graph.levels import ALL
from tests.planner.plans import naive_plans
from tests.planner.plans.plan_cases import Case, InvalidPlan, verify_plan

ROBUST = [level for level in ALL if level.outlives]
ROBUST_NAMES = [level.name for level in ROBUST]
#: Double, and apart without ann, or without her review of paper 1.
TABLE = Reviews(
    [(name, i) for name, items in (("ann", "123"), ("bob", "234"), ("cleo", "456"), ("dan", "156")) for i in items]
)
RING = Reviews([(j, (j + step) % 6) for j in range(6) for step in range(3)])


def instance(rng: np.random.Generator) -> Case:
    """Small tables, with loads and costs now and then."""
    M, N = int(rng.integers(1, 5)), int(rng.integers(1, 5))
    density = rng.choice([0.3, 0.6])
    rows = [(j, i) for j in range(M) for i in range(N) if rng.random() < density]
    options: dict[str, Any] = {"conflicts": [(0, 0)] if rng.random() < 0.2 else []}
    if rng.random() < 0.4:
        options["capacity"] = {j: int(rng.integers(0, 4)) for j in range(M + 1)}
    if rng.random() < 0.3:
        options["cost"] = {(j, i): float(rng.integers(0, 3)) for j in range(M) for i in range(N)}
    return Case(Reviews(rows, reviewers=range(M), items=range(N)), options)


def test_every_level_has_its_target() -> None:
    for level in ALL:
        target = target_named(level.name)
        assert target.level is level
        assert level.part("target") is type(target)


@pytest.mark.parametrize("target", ROBUST_NAMES)
def test_losses_are_found_and_barred(target: str) -> None:
    rng, kind = np.random.default_rng(4), target_named(target)
    for _ in range(60):
        case = instance(rng)
        covers, N, *_ = case.naive()
        assert kind.reaches(case.reviews) == naive_plans.LEVELS[target](covers[: case.reviews.n_reviewers], N)
    task = new_task(constrain(RING), 50)
    without = after_loss(task, no_pairs(), Loss(2, 3))
    assert 3 not in without.constraints.readable(2)
    assert 5 in without.constraints.readable(2)
    assert after_loss(task, no_pairs(), Loss(2)).constraints.readable(2).size == 0


def test_a_review_of_the_plan_may_be_the_one_that_is_lost() -> None:
    """A plan of one review that mends the table cannot survive the loss of that review."""
    table = Reviews([(j, i) for j in range(3) for i in range(4)], items=range(5))
    assert planner.plan(table).count == 1
    plan = planner.plan(table, target="survives-review")
    assert (plan.status, plan.count) == ("optimal", 2)
    assert not Losses(single=True).failing(plan.reviews)
    assert Losses(single=True).failing(table) == [Loss()]
    assert len({review.reviewer for review in plan.added}) == 2


def test_one_review_is_never_enough_where_groups_are_apart_and_it_may_be_lost() -> None:
    """No link is missing between four reviewers with a paper for every two; yet no one paper may compare others."""
    table = Reviews([(j, (i, k)) for i in range(4) for k in range(i + 1, 4) for j in (i, k)])
    plan = planner.plan(table, target="survives-review")
    (bound,) = [bound for bound in plan.bounds if bound.kind == "a loss"]
    assert bound.value == 2
    assert bound.sentence == "with nothing lost, 1 review is missing, and one review more, for one of these may be lost"
    verify_plan(plan)
    with pytest.raises(InvalidPlan):
        verify_plan(replace(plan, bounds=(replace(bound, value=3),)))


@pytest.mark.parametrize("target", ROBUST_NAMES)
def test_a_plan_that_does_not_survive_is_refused(target: str) -> None:
    plan = planner.plan(TABLE, target=target)
    verify_plan(plan)
    short = replace(plan, added=plan.added[:-1], pairs=plan.pairs[:-1], status="feasible", bounds=(), least_load=0)
    with pytest.raises(InvalidPlan, match=f"the level {target}, or what every paper needs, is not reached"):
        verify_plan(short)
    for bound in plan.bounds:
        with pytest.raises(InvalidPlan):
            verify_plan(replace(plan, bounds=(replace(bound, value=plan.count + 1),), status="feasible"))


def test_a_loss_in_words() -> None:
    assert Losses(single=False).words(Loss(1), ["ann", "bob"], [1]) == "should bob drop out"
