"""Plans and bounds for the targets *recoverable* and *connected*."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.plans.check.verifying import pieces, useful_loads
from planner.plans.model import oracles
from planner.plans.proof import bounds, hitting_set
from planner.plans.search import cascading, greedy, intersection
from reviewgraph.recoverable import degrees_of_freedom

if TYPE_CHECKING:
    from planner.plans.model.task import Task
    from planner.plans.plan import Target
    from planner.plans.planning import Ledger
    from reviewgraph.labels import IntArray

#: Candidate reviews up to which the integer programme is stated.
EXACT_UP_TO = 20_000


def fill(task: Task, target: Target, ledger: Ledger) -> None:
    """Matroid greedy; where that is not the end of it, matroid intersection or the integer programme with rank cuts."""
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
        pairs, free = greedy.greedy_recoverable(oracle, bound.value)
    else:
        missing = max(1, pieces(table) - 1)
        bound = bounds.Bound(
            missing,
            "pieces",
            f"{missing + 1} pieces need {missing} {'link' if missing == 1 else 'links'}"
            if task.n_items > 1
            else "the paper is not reviewed",
        )
        pairs, free = greedy.greedy_connected(oracle)
    ledger.prove(bound)
    if oracle.reaches(pairs):
        ledger.offer(pairs)
    ledger.cheapest = ledger.pairs is not None and (free or not task.constraints.cost)
    if ledger.out_of_reach or (ledger.closed and ledger.cheapest):
        return
    if target == "recoverable" and _is_short(oracle, ledger, np.empty(0, np.int64)):
        return
    if ledger.pairs is None and not oracles.can_reach(oracle):
        ledger.infeasible = True
        return
    if target == "recoverable" and _intersect(oracle, ledger):
        return
    if target == "recoverable" and ledger.pairs is None:
        _cascade(oracle, ledger)
        ledger.cheapest = ledger.pairs is not None and not task.constraints.cost
        if ledger.closed and ledger.cheapest:
            return
    if len(oracle.allowed) > EXACT_UP_TO:
        return
    outcome = hitting_set.solve(oracle, ledger.pairs, ledger.lower_bound, ledger.deadline)
    if outcome.infeasible and ledger.pairs is None:
        ledger.infeasible = True
        return
    ledger.prove(bounds.Bound(outcome.lower, "cuts", "every smaller plan leaves papers unlinked (rank cuts)"))
    if outcome.pairs is not None:
        ledger.pairs = outcome.pairs
        ledger.tell()
    ledger.cheapest = outcome.proved


def _cascade(oracle: oracles.Oracle, ledger: Ledger) -> None:
    """Plan for *double*, which implies *recoverable*, and take out what is not needed."""
    task = oracle.task
    length = task.start.item.size - int(task.start.entries[0]) - 2
    found, done = cascading.begin(task, length, 0, keep_going=lambda: ledger.in_time)
    if not done:
        return
    cascading.prune(found)
    pairs, place = found.pairs, 0
    while place < len(pairs) and len(pairs) > ledger.lower_bound and ledger.in_time:
        fewer = np.delete(pairs, place, axis=0)
        if oracle.reaches(fewer):
            pairs = fewer
        else:
            place += 1
    ledger.offer(pairs)


def _intersect(oracle: oracles.Oracle, ledger: Ledger) -> bool:
    """Settle it among reviewers of two reviews or more; false where others are needed, or the method cannot say."""
    answer = intersection.intersect(oracle, ledger.deadline)
    if answer is None:
        return False
    if answer.pairs is not None:
        ledger.pairs, ledger.prices, ledger.cheapest = answer.pairs, answer.prices, True
        ledger.tell()
        return ledger.closed
    return _is_short(oracle, ledger, answer.short)


def _is_short(oracle: oracles.Oracle, ledger: Ledger, short: IntArray) -> bool:
    """Whether some reviewers make so few links that the loads of the others do not suffice; notes the proof."""
    table = oracle.table(np.empty((0, 2), np.int64))
    links, others = useful_loads(oracle.task.constraints, table, oracle.task.spare, short)
    missing = degrees_of_freedom(table)
    if links + others >= missing:
        return False
    ledger.infeasible, ledger.short = True, short
    ledger.reasons.append(_shortage(oracle, short, links, others, missing))
    return True


def _shortage(oracle: oracles.Oracle, short: IntArray, links: int, others: int, missing: int) -> str:
    who = oracle.task.constraints.reviews.reviewers
    if not links:
        return f"links missing: {missing}; the spare loads of those who may help add up to {others}"
    names = ", ".join(str(who[j]) for j in short[:5].tolist()) + (
        f" and {short.size - 5} more" if short.size > 5 else ""
    )
    return (
        f"links missing: {missing}; even if they read everything they may, {names} can make {links} of them, and "
        f"the spare loads of the others make at most {others} more"
    )
