"""What the targets share whose links are independent sets of a matroid: the greedy is the end of it, or the programme.

1. A bound, and the greedy's plan. Where they meet and no load or limit stopped a cheaper review, that is all.
2. What the target knows beyond that (loads as a second matroid, say).
3. The integer programme with rank cuts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.plans.model.tables import no_pairs
from planner.plans.targets.exactly import settle

if TYPE_CHECKING:
    from planner.plans.model.ledger import Bound, Ledger
    from planner.plans.model.oracle import Oracle
    from reviewgraph.labels import IntArray

#: Candidate reviews up to which the integer programme is stated.
EXACT_UP_TO = 20_000


def take_greedy(oracle: Oracle, ledger: Ledger, bound: Bound, pairs: IntArray, *, free: bool) -> bool:
    """Note a bound and the greedy's plan, ``free`` if nothing stopped a cheaper review; true if that is the end."""
    ledger.prove(bound)
    if oracle.reaches(pairs):
        ledger.offer(pairs)
    ledger.cheapest = ledger.pairs is not None and (free or not oracle.task.constraints.cost)
    return ledger.out_of_reach or (ledger.closed and ledger.cheapest)


def settle_exactly(oracle: Oracle, ledger: Ledger) -> None:
    """Run the integer programme with rank cuts, where it is small enough."""
    if oracle.candidates.more_than(EXACT_UP_TO):
        return
    # What the greedy thought the cheapest is so only where the programme says it.
    ledger.cheapest = False
    settle(oracle, ledger, "papers unlinked")


def nothing_to_do(oracle: Oracle, ledger: Ledger) -> bool:
    """Note that nothing is missing, if so."""
    if oracle.reaches(no_pairs()):
        ledger.nothing_to_do(no_pairs())
        return True
    return False
