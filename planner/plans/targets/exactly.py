"""The exact method as the last word of every target: an implicit hitting set, and what it proves, in the ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.plans.model.ledger import Bound
from planner.plans.proof import hitting_set

if TYPE_CHECKING:
    from planner.plans.model.ledger import Ledger
    from planner.plans.model.oracle import Oracle
    from reviewgraph.clock import Clock


def settle(oracle: Oracle, ledger: Ledger, words: str, clock: Clock | None = None) -> None:
    """Run :func:`planner.plans.proof.hitting_set.solve`; note the plan, and the cuts as a bound or as a refusal.

    Parameters
    ----------
    oracle, ledger
        What to separate, and what is known so far.
    words
        The bound in a sentence: what every smaller plan leaves.
    clock
        When to end; by default with the ledger's.
    """
    outcome = hitting_set.solve(oracle, ledger.pairs, ledger.lower_bound, clock or ledger.clock)
    if outcome.infeasible and ledger.pairs is None:
        ledger.infeasible = True
        return
    ledger.prove(Bound(outcome.lower, "cuts", f"every smaller plan leaves {words} (cuts)"))
    # A plan as long as the one there is may be cheaper.
    if outcome.pairs is not None and (ledger.pairs is None or len(outcome.pairs) <= len(ledger.pairs)):
        ledger.pairs = outcome.pairs
        ledger.tell()
    ledger.cheapest = ledger.cheapest or outcome.proved
