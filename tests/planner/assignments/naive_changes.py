"""Fewest pairs below a threshold and fewest changed ones, by trying every assignment of a tiny market."""

from __future__ import annotations

from itertools import combinations, product

from tests.planner.assignments.naive_assignment import violations


def every_assignment(market):
    """All assignments within demands, loads, conflicts and fixed pairs, as lists of (reviewer, item)."""
    rules = {key: value for key, value in market.items() if key != "affinity"}
    able = {
        item: [r for r in market["load"] if (r, item) in market["affinity"] or (r, item) in market.get("fixed", ())]
        for item in market["demand"]
    }
    panels = [list(combinations(able[item], number)) for item, number in market["demand"].items()]
    for chosen in product(*panels):
        pairs = [(r, item) for item, panel in zip(market["demand"], chosen, strict=True) for r in panel]
        if not violations(pairs, allowed=market["affinity"], **rules):
            yield pairs


def best_of(market, *, previous=None, per_change=None, threshold=None, holds=lambda pairs: True):
    """Fewest pairs below, fewest changed (without a price on them) and most worth; None without an assignment."""
    before = None if previous is None else set(previous)

    def rank(pairs):
        value = [market["affinity"].get(pair, 0.0) for pair in pairs]
        below = sum(number < threshold for number in value) if threshold is not None else 0
        changed = len(set(pairs) - before) if before is not None else 0
        if per_change is None:
            return below, changed, -sum(value)
        return below, per_change * changed - sum(value)

    return min((rank(pairs) for pairs in every_assignment(market) if holds(pairs)), default=None)
