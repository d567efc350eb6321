import numpy as np
import pytest
from hypothesis import given

from planner._plans.constraints import no_pairs
from planner._plans.target import Ledger
from planner._plans.targets.searched import ConnectedOracle, RecoverableOracle, greedy_connected, greedy_recoverable
from reviewgraph._base import Clock
from reviewgraph.graph.components import recoverability
from tests.planner.plans.naive_plans import is_connected
from tests.planner.plans.plan_cases import Case, cases, task_of
from tests.trials import examples


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
