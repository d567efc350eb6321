"""Plans and bounds for the targets *recoverable* and *connected*."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner import bounds, exact, matroid, oracles
from planner.verify import pieces

if TYPE_CHECKING:
    from planner._task import Task
    from planner.extra import Ledger
    from planner.plan import Target


def fill(task: Task, target: Target, ledger: Ledger) -> None:
    """Matroid greedy; where that is not the end of it, the integer programme with rank cuts."""
    oracle = oracles.Recoverable(task) if target == "recoverable" else oracles.Connected(task)
    none = np.empty((0, 2), np.int64)
    table = oracle.table(none)
    if oracle.reaches(none):
        ledger.prove(bounds.Bound(0, "unfinished", "nothing is missing"))
        ledger.cheapest = True
        ledger.offer(none)
        return
    if target == "recoverable":
        bound = bounds.missing_links(table, task.constraints, task.spare)
        pairs, free = matroid.greedy_recoverable(oracle, bound.value)
    else:
        missing = max(1, pieces(table) - 1)
        bound = bounds.Bound(
            missing,
            "pieces",
            f"{missing + 1} pieces need {missing} links" if task.n_items > 1 else "the paper is not reviewed",
        )
        pairs, free = matroid.greedy_connected(oracle)
    ledger.prove(bound)
    if oracle.reaches(pairs):
        ledger.offer(pairs)
    ledger.cheapest = ledger.pairs is not None and (free or not task.constraints.cost)
    if ledger.out_of_reach or (ledger.closed and ledger.cheapest):
        return
    if ledger.pairs is None and not oracles.can_reach(oracle):
        ledger.infeasible = True
        return
    outcome = exact.solve(oracle, ledger.pairs, ledger.lower_bound, ledger.deadline)
    if outcome.infeasible and ledger.pairs is None:
        ledger.infeasible = True
        return
    ledger.prove(bounds.Bound(outcome.lower, "cuts", "every smaller plan leaves papers unlinked (rank cuts)"))
    if outcome.pairs is not None:
        ledger.pairs = outcome.pairs
        ledger.tell()
    ledger.cheapest = outcome.proved
