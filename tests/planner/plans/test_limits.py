"""Searches look at the clock: whenever it is over, or Ctrl-C comes, what is known by then is handed out and holds."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import planner
from planner import planning
from planner._plans.constraints import constrain, no_pairs
from planner._plans.outcome import PlanStatus
from planner._plans.target import Ledger
from planner._plans.targets.searched import ConnectedOracle, RecoverableOracle, greedy_connected, greedy_recoverable
from planner._plans.task import Candidates, new_task
from reviewgraph import Reviews
from reviewgraph._base import Clock
from tests.looks import Looks
from tests.planner.plans.plan_cases import Case, cases, task_of, verify_plan
from tests.trials import NIGHTLY, examples, sampled


def groups(count: int, size: int = 3) -> Reviews:
    """Groups of as many reviewers as papers, in which everybody reviews everything."""
    rows = [(f"r{g}{j}", f"p{g}{i}") for g in range(count) for j in range(size) for i in range(size)]
    return Reviews(rows)


def clock_of(looks: int, *, ctrl_c: bool) -> type[Clock]:
    """Clocks that are over after so many looks, and those of closing work at once."""

    class Counted(Looks):
        def __init__(self, seconds: float | None, *, work: float = 0.0) -> None:
            super().__init__(looks if work else 0, ctrl_c=ctrl_c)

    return Counted


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "ctrl_c"),
    sampled(
        product(["double", "recoverable", "connected", "survives-reviewer"], [False, True]),
        [("double", True), ("recoverable", False)],
        several=True,
    ),
)
@pytest.mark.parametrize(
    "options", [{"spare": 1}, {"spare": 2, "n": 2}, {"min_reviews": 4, "spare": 2}], ids=["", "budget", "needs"]
)
def test_a_plan_that_was_stopped_holds(
    monkeypatch: pytest.MonkeyPatch, target: str, options: dict[str, Any], ctrl_c: bool
) -> None:
    reviews = groups(3)
    for looks in (0, 1, 2, 4, 8, 16) if NIGHTLY else (1, 16) if ctrl_c else (0, 4):
        monkeypatch.setattr(planning, "Clock", clock_of(looks, ctrl_c=ctrl_c))
        plan = planner.plan(reviews, target=target, **options)
        assert plan.status is not PlanStatus.INFEASIBLE
        verify_plan(plan)


@pytest.mark.parametrize("target", ["recoverable", "connected"])
def test_what_was_linked_by_then_is_handed_out(monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    monkeypatch.setattr("planner._plans.task.AT_ONCE", 1)
    for ctrl_c in (False, True):
        monkeypatch.setattr(planning, "Clock", clock_of(4, ctrl_c=ctrl_c))
        plan = planner.plan(groups(80, 2), target=target, spare=1)
        assert plan.status is PlanStatus.LEVEL_MISSED
        assert plan.count > 0


def test_the_greedy_stops_and_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planner._plans.task.AT_ONCE", 1)
    task = new_task(constrain(groups(9)), 64)
    for oracle, greedy in (
        (ConnectedOracle(task), greedy_connected),
        (RecoverableOracle(task), lambda oracle, ledger: greedy_recoverable(oracle, 16, ledger)),
    ):
        whole, _ = greedy(oracle, Ledger(Clock(None)))
        found = [no_pairs()]
        for looks in range(6):
            ledger = Ledger(Looks(looks))
            pairs, free = greedy(oracle, ledger)
            assert pairs.tolist() == whole[: len(pairs)].tolist()
            assert not free or len(pairs) == len(whole)
            assert (no_pairs() if ledger.part is None else ledger.part).tolist() == pairs.tolist()
            found.append(pairs)
        assert [len(pairs) for pairs in found] == sorted(len(pairs) for pairs in found)
        assert len(found[1]) == 0 < len(found[-1]) < len(whole)


@given(cases())
@examples(24)
def test_candidates_are_what_may_be_read_and_is_not_covered(case: Case) -> None:
    task = task_of(case)
    root, rules = task.start.labels(), task.constraints
    covered = set(zip(*(side.tolist() for side in task.start.entries()), strict=True))
    expected = [
        [j, i]
        for j in range(task.spare.size)
        for i in rules.readable(j).tolist()
        if task.spare[j] > 0
        and task.room[i] > 0
        and (task.needs.each[i] > 0 or (int(root[task.home[j]]), i) not in covered)
    ]
    candidates = Candidates(task)
    assert np.concatenate([no_pairs(), *candidates.chunks()]).tolist() == expected


@pytest.mark.parametrize(("spare", "fixed", "words"), [(1, 0, "3 reviews or more, and"), (2, 1, "beyond the fixed")])
def test_a_budget_is_not_blamed_where_loads_allow_too_few(spare: int, fixed: int, words: str) -> None:
    reviews = Reviews([("r1", "p0")], items=[f"p{i}" for i in range(5 if fixed else 4)])
    plan = planner.plan(reviews, 2, "connected", spare=spare, fixed=[("r1", "p1")][:fixed])
    assert plan.status == "budget_exhausted"
    assert words in plan.explanation[0]
    assert "loads, limits and conflicts allow 1 at most, whatever the budget" in plan.explanation[0]
    assert planner.plan(reviews, 9, "connected", spare=spare).status == "infeasible"
    enough = planner.plan(reviews, 2, "connected", spare=9)
    assert enough.explanation[0] == "the target connected needs more reviews than the budget allows"
