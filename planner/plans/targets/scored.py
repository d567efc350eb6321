"""Plans and bounds for the target *double* when tied scores carry no scale.

1. A bound by the structure alone, which scores can only raise.
2. Greedy plans in several orders; reviews that are not needed taken out; some taken out and the plan completed anew.
3. The implicit hitting set with the score-aware closure, where it is small enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.plans.model.ledger import Bound
from planner.plans.model.tables import no_pairs
from planner.plans.model.task import new_task
from planner.plans.search.by_scores import completed, exchanged, pruned, reached
from planner.plans.targets.by_growth import cheap_bounds
from planner.plans.targets.exactly import settle
from planner.plans.targets.scored_oracle import ScoredOracle, every_candidate

if TYPE_CHECKING:
    import numpy as np

    from planner.plans.model.ledger import Ledger
    from planner.plans.model.task import Task

#: Candidate reviews up to which it is tested whether all of them together reach the target.
RELAX_UP_TO = 200_000
#: Candidate reviews up to which the integer programme is stated.
EXACT_UP_TO = 1_500
#: Greedy orders tried, and exchanges before and after the integer programme; the share of time left for each.
ORDERS, BEFORE, AFTER, SHARE = 6, 20, 400, 0.3


def fill(task: Task, ledger: Ledger, rng: np.random.Generator) -> None:
    """Find a plan, prove bounds, improve the plan, until both meet or time is over."""
    if reached(task, no_pairs()):
        ledger.nothing_to_do(no_pairs())
        return
    # What joins with ties joins without them, so a bound of the structure alone holds here too.
    structural = new_task(task.constraints, 4)
    if structural.is_done:
        ledger.prove(Bound(1, "unfinished", "tied scores leave papers apart"))
    else:
        cheap_bounds(structural, ledger)
    if _impossible(task, ledger):
        ledger.infeasible = True
        return
    ledger.cheapest = not task.constraints.cost
    _search(task, ledger, rng)
    _improve(task, ledger, rng, BEFORE)
    _exact(task, ledger, rng)
    if not ledger.infeasible:
        _improve(task, ledger, rng, AFTER)


def _impossible(task: Task, ledger: Ledger) -> bool:
    """Whether ties chain all papers together, or all allowed reviews would not do."""
    if task.n_items > 1 and not task.start.class_of.any():
        ledger.reasons.append(
            "reviewers' tied scores chain all papers together, so that no two have different qualities"
        )
        return True
    return task.candidates_up_to <= RELAX_UP_TO and not reached(task, every_candidate(task))


def _search(task: Task, ledger: Ledger, rng: np.random.Generator) -> None:
    """Complete nothing to a plan, by size first and then in random orders."""
    share = ledger.clock.share(SHARE)
    for order in range(ORDERS):
        if ledger.closed or (order and share.over()):
            return
        found = completed(task, no_pairs(), ledger.clock, rng if order else None)
        if found is not None:
            ledger.offer(pruned(task, found, ledger.clock))


def _improve(task: Task, ledger: Ledger, rng: np.random.Generator, rounds: int) -> None:
    """Exchange reviews, as long as time and rounds last; a plan as long may lead to a shorter one."""
    clock, pairs = ledger.clock.share(SHARE), ledger.pairs
    for _ in range(rounds):
        if pairs is None or len(pairs) < 2 or ledger.closed or clock.over():
            return
        pairs = exchanged(task, pairs, clock, rng)
        ledger.offer(pairs)


def _exact(task: Task, ledger: Ledger, rng: np.random.Generator) -> None:
    """Run the implicit hitting set, where it is small enough."""
    if not ledger.in_time or (ledger.closed and ledger.cheapest) or task.candidates_up_to > EXACT_UP_TO:
        return
    settle(ScoredOracle(task, rng), ledger, "some group of papers apart")
