"""Certificates of the count matroid and the loads: prices, and reviewers who make too few links."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.plans.model.tables import with_extra
from reviewgraph.recoverable import degrees_of_freedom

if TYPE_CHECKING:
    from planner.plans.check.case import Case, Pair
    from reviewgraph.labels import IntArray


def wrong_prices(case: Case, new: list[Pair], prices: IntArray) -> str | None:
    """Return what is wrong with prices that are to prove a plan cheapest, or nothing.

    The plan is a base of least cost plus price if, at each of its prices, it spans what is cheaper.
    """
    load = np.bincount([j for j, _ in new], minlength=len(case.spare))
    if (prices < 0).any() or (load[prices > 0] < np.array(case.spare)[prices > 0]).any():
        return "a price is negative, or stands on a reviewer who has spare load left"
    if case.links != len(new):
        return f"{len(new)} reviews for {case.links} missing links: the prices prove nothing"

    unit = case.rules.cost.unit

    def price(pair: Pair) -> int:
        return round(case.rules.cost_of(*pair) / unit) + int(prices[pair[0]])

    paid = sorted(map(price, new))
    offered = [(price(pair), pair) for pair in case.pairs if case.table.loads[pair[0]] >= 2]
    for value in sorted(set(paid)):
        cheaper = _linked_by(case, [pair for cost, pair in offered if cost < value])
        if cheaper != sum(cost < value for cost in paid):
            return "with the prices given, a cheaper plan exists"
    return None


def wrong_shortage(case: Case, short: IntArray) -> str | None:
    """Return why some reviewers do not prove that there is no plan, or nothing.

    Those of two reviews or more among them make no more links than all their reviews together; everybody else makes
    one a review, but for the first ones of who has fewer than two.
    """
    few = {int(j) for j in short if case.table.loads[j] >= 2}
    links = _linked_by(case, [pair for pair in case.pairs if pair[0] in few])
    others = sum(
        max(case.takes(j) - max(2 - int(case.table.loads[j]), 0), 0) for j in range(len(case.spare)) if j not in few
    )
    if links + others >= case.links:
        return f"{links} and {others} links suffice for the {case.links} missing ones: no proof that there is no plan"
    return None


def _linked_by(case: Case, pairs: list[Pair]) -> int:
    """Degrees of freedom that some reviews remove."""
    return case.links - degrees_of_freedom(with_extra(case.table, np.array(pairs, np.int64).reshape(-1, 2)))
