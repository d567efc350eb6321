"""Fewest changed pairs, by trying every assignment of a tiny market."""

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


def best_of(market, *, previous=None, holds=lambda pairs: True):
    """Fewest changed pairs and most worth; None without an assignment."""
    before = set(previous or ())

    def rank(pairs):
        changed = len(set(pairs) - before) if previous is not None else 0
        return changed, -sum(market["affinity"].get(pair, 0.0) for pair in pairs)

    return min((rank(pairs) for pairs in every_assignment(market) if holds(pairs)), default=None)
