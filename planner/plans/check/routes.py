"""The flow bound once more: the units are sent again, source by source; what they leave of the shares is factorised.

Whatever the weights, the units go from every item to every other, so any weights prove what they prove; those of the
bound say only which flow was meant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.plans.check import spread
from reviewgraph.components import doubly_connected_components

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reviewgraph.reviews import FloatArray, Reviews

    #: By item the slots, each with component and weight; by component the slots, each with item and weight.
    Ways = tuple[list[list[tuple[int, int, float]]], list[list[tuple[int, int, float]]]]

#: The flow is a sum of positive floats: after a few thousand roundings it is off by less than this, relatively.
ROUNDING = 1e-9


def holds(reviews: Reviews, claimed: int, weights: Sequence[float]) -> bool:
    """Whether a flow and what it leaves prove that a plan for *double* takes ``claimed`` reviews.

    Takes O(N E) for the flow and O(N^3) for the factorisation.
    """
    found = doubly_connected_components(reviews)
    covers = [cover.tolist() for cover in found.covers if cover.size > 2]
    if sum(map(len, covers)) != len(weights) or not weights:
        return False
    if not all(np.isfinite(weight) and weight > 0.0 for weight in weights):
        return False
    share = np.concatenate([np.full(len(cover), (len(cover) - 2) / len(cover)) for cover in covers])
    held = np.bincount(np.concatenate(covers), weights=share, minlength=reviews.n_items).astype(np.float64)
    slope, sent = spread.least_slope(held, found.largest_cover, claimed), _sent(covers, weights, reviews.n_items)
    if slope is None or sent is None:
        return False
    # The flow gives a part of the slope; the rest must come from the Laplacian of what it leaves.
    rate = (1.0 - ROUNDING) / float((sent / share).max())
    rest = slope - reviews.n_items * rate
    return rest <= 0.0 or spread.rises(_left(covers, share - rate * sent, reviews.n_items), rest)


def _sent(covers: list[list[int]], weights: Sequence[float], n_items: int) -> FloatArray | None:
    """Return what leaves each item into each component if all send a unit to all others; None if they cannot."""
    of_item: list[list[tuple[int, int, float]]] = [[] for _ in range(n_items)]
    of_component: list[list[tuple[int, int, float]]] = []
    slot = 0
    for c, cover in enumerate(covers):
        of_component.append([(slot + k, i, weights[slot + k]) for k, i in enumerate(cover)])
        for k, i in enumerate(cover):
            of_item[i].append((slot + k, c, weights[slot + k]))
        slot += len(cover)
    sent = np.zeros(slot)
    for source in range(n_items):
        if not _send_from(source, (of_item, of_component), sent):
            return None
    return sent if bool(np.isfinite(sent).all() and (sent >= 0.0).all()) else None


def _send_from(source: int, ways: Ways, sent: FloatArray) -> bool:
    """Add what one source sends to ``sent``; false where it does not reach all items by ways of a positive weight."""
    of_item, of_component = ways
    # Forwards: layers of items and of components, each with the weight of all shortest ways to it.
    layers: list[dict[int, float]] = [{source: 1.0}]
    passed: list[dict[int, float]] = []
    seen, used = {source}, set[int]()
    while layers[-1]:
        through: dict[int, float] = {}
        for x, weight in layers[-1].items():
            for _, c, own in of_item[x]:
                if c not in used:
                    through[c] = through.get(c, 0.0) + weight * own
        used |= through.keys()
        layer: dict[int, float] = {}
        for c, weight in through.items():
            for _, y, own in of_component[c]:
                if y not in seen:
                    layer[y] = layer.get(y, 0.0) + weight * own
        seen |= layer.keys()
        passed.append(through)
        layers.append(layer)
    if len(seen) < len(of_item) or not all(0.0 < w < np.inf for layer in layers for w in layer.values()):
        return False
    # Backwards: an item keeps one unit and asks the components before it for that and for what it passes on.
    passes: dict[int, float] = {}
    for step in range(len(passed) - 1, -1, -1):
        after, before = layers[step + 1], layers[step]
        for c in passed[step]:
            asked = sum(own * (1.0 + passes.get(y, 0.0)) / after[y] for _, y, own in of_component[c] if y in after)
            for k, x, own in of_component[c]:
                if x in before and asked > 0.0:
                    amount = own * before[x] * asked
                    sent[k] += amount
                    passes[x] = passes.get(x, 0.0) + amount
    # Nothing got lost: what left the source is a unit for every other item.
    return abs(passes.get(source, 0.0) - (len(of_item) - 1)) <= ROUNDING * len(of_item)


def _left(covers: list[list[int]], left: FloatArray, n_items: int) -> FloatArray:
    """Laplacian in which two items of a component of n have the less of what both have left, over n - 1."""
    laplacian, first = np.zeros((n_items, n_items)), 0
    for cover in covers:
        mine = np.maximum(left[first : first + len(cover)], 0.0) / (len(cover) - 1)
        for a, x in enumerate(cover):
            for b, y in enumerate(cover):
                if a != b:
                    laplacian[x, y] -= min(mine[a], mine[b])
                    laplacian[x, x] += min(mine[a], mine[b])
        first += len(cover)
    return laplacian
