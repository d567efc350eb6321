"""Lower bounds computed again, each kind in its own way, sharing no code with the search or its proofs.

A kind of bound holds for some level and for all that imply it: who needs a link for *connected* needs it for *double*.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner.plans.check import losing, routes, spread
from planner.plans.check.replay import most_links, replay_parts
from planner.plans.check.trying import TooMany, smallest_cost
from reviewgraph.levels import Connected, Double, Recoverable, SurvivesReview, level_named

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.plans.check.case import Case
    from planner.plans.model.ledger import Bound
    from reviewgraph.levels import Level

#: Length of the plans up to which bounds of the kind ``cuts`` are tried out.
TRIED_UP_TO = 8


class Kind(NamedTuple):
    """A kind of bound: the weakest level it holds for (None: any), and whether a number beyond the fixed is right."""

    weakest: type[Level] | None
    holds: Callable[[Case, int, Bound], bool]


def check_bound(case: Case, bound: Bound) -> str | None:
    """Return what is wrong with a bound, or nothing.

    Raises
    ------
    InvalidPlan
        If a bound made of parts says of one of them what does not hold.
    """
    kind = KINDS.get(bound.kind)
    holds = kind is not None and (kind.weakest is None or case.level.implies(level_named(kind.weakest.name)))
    if kind is None or not holds:
        return f"unknown kind {bound.kind!r} of bound for the target {case.level.name}"
    claimed = bound.value - len(case.rules.fixed)
    if claimed > 0 and not kind.holds(case, claimed, bound):
        return f"a bound says {bound.value} ({bound.kind}), and that many are not needed by it"
    return None


def check_parts(case: Case, bound: Bound) -> None:
    """Take the graph apart and list the groups again, see :func:`planner.plans.check.replay.replay_parts`."""
    replay_parts(case.table, bound, len(case.rules.fixed))


def _unfinished(case: Case, claimed: int, bound: Bound) -> bool:
    return claimed <= 1 and not case.reached()


def _pieces(case: Case, claimed: int, bound: Bound) -> bool:
    """Search the graph piece by piece: each but one needs a link of its own, and an item that nobody reads one too."""
    table = case.table
    seen, count, linked = np.zeros(table.n_items, np.bool_), 0, False
    for first in range(table.n_items):
        if seen[first]:
            continue
        seen[first] = True
        waiting, count = [first], count + 1
        while waiting:
            for j in table.reviewers_of(waiting.pop()).tolist():
                linked = True
                new = [i for i in table.items_of(j).tolist() if not seen[i]]
                seen[new] = True
                waiting += new
    return claimed <= max(count - 1, int(count == 1 and not linked))


def _coverage(case: Case, claimed: int, bound: Bound) -> bool:
    """Add up what the items lack: no review serves two of them."""
    return claimed <= sum(case.short)


def _links(case: Case, claimed: int, bound: Bound) -> bool:
    return claimed <= case.links


def _loads(case: Case, claimed: int, bound: Bound) -> bool:
    """Whether one review fewer would leave too few links, whoever of fewer than two reviews is asked."""
    usable = np.array([case.takes(j) for j in range(len(case.spare))], np.int64)
    return claimed <= case.links or most_links(case.table.loads, usable, claimed - case.links - 1) < case.links


def _spread(case: Case, claimed: int, bound: Bound) -> bool:
    return spread.holds(case.table, claimed)


def _flow(case: Case, claimed: int, bound: Bound) -> bool:
    return routes.holds(case.table, claimed, bound.weights)


def _two_a_paper(case: Case, claimed: int, bound: Bound) -> bool:
    return claimed <= losing.lacking(case)


def _after_a_loss(case: Case, claimed: int, bound: Bound) -> bool:
    """Look for a loss after which so many links are missing; with nothing lost, one of the plan's own may be."""
    if _loads(case, claimed - losing.one_more(case), bound):
        return True
    return any(_loads(rest, claimed, bound) for rest in losing.after_losses(case))


def _listed(case: Case, claimed: int, bound: Bound) -> bool:
    """Parts and groups are checked together, by :func:`check_parts`: the largest of them carries the others."""
    return True


def _cuts(case: Case, claimed: int, bound: Bound) -> bool:
    """Try all smaller plans, where those are few; longer ones are taken on trust."""
    if claimed > TRIED_UP_TO:
        return True
    try:
        return smallest_cost(case, claimed - 1) is None
    except TooMany:
        return True


KINDS = {
    "unfinished": Kind(None, _unfinished),
    "coverage": Kind(None, _coverage),
    "pieces": Kind(Connected, _pieces),
    "degrees of freedom": Kind(Recoverable, _links),
    "loads": Kind(Recoverable, _loads),
    "expansion": Kind(Double, _spread),
    "flow": Kind(Double, _flow),
    "two a paper": Kind(SurvivesReview, _two_a_paper),
    "a loss": Kind(SurvivesReview, _after_a_loss),
    "parts": Kind(Double, _listed),
    "groups": Kind(Double, _listed),
    "cuts": Kind(None, _cuts),
}
