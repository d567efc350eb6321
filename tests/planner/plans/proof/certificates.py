"""Proofs of bounds that :mod:`reviewgraph._verify` leaves out, by other code than the search: flows, and parts.

Both prove bounds for ``double`` from the covers of its components: lists of items, ascending.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from reviewgraph._verify.bounds import SLACK, _needed
from reviewgraph._verify.graphs import missing_links, pieces
from tests.planner.plans.naive_plans import grown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reviewgraph._base import FloatArray

    Covers: TypeAlias = Sequence[list[int]]
    Part: TypeAlias = dict[int, frozenset[int]]
    Ways: TypeAlias = tuple[list[list[tuple[int, int, float]]], list[list[tuple[int, int, float]]]]

#: Relative error of the flow, a sum of positive floats, after a few thousand roundings.
ROUNDING = 1e-9
#: Groups up to which a part is enumerated; larger ones are not checked.
LISTED_UP_TO = 2_000
#: Steps of the bisection, after which the slope is exact to 2^-40 of the largest.
HALVINGS = 40


def flow_proves(every: Covers, n_items: int, claimed: int, weights: Sequence[float]) -> bool:
    """Whether a flow and its residual prove that a plan for *double* takes ``claimed`` reviews.

    The flow is recomputed source by source, and the residual shares are factorised. The flow connects every item to
    every other whatever the weights, so any weights give a valid proof. Takes O(N E) for the flow and O(N^3) for the
    factorisation.
    """
    covers = [cover for cover in every if len(cover) > 2]
    if sum(map(len, covers)) != len(weights) or not weights:
        return False
    if not all(np.isfinite(weight) and weight > 0.0 for weight in weights):
        return False
    share = np.concatenate([np.full(len(cover), (len(cover) - 2) / len(cover)) for cover in covers])
    held = np.bincount(np.concatenate(covers), weights=share, minlength=n_items).astype(np.float64)
    slope = least_slope(held, max(map(len, every), default=0), claimed)
    sent = _flow_sent(covers, weights, n_items)
    if slope is None or sent is None:
        return False
    # The flow gives a part of the slope; the rest must come from the Laplacian of what it leaves.
    rate = (1.0 - ROUNDING) / float((sent / share).max())
    rest = slope - n_items * rate
    return rest <= 0.0 or rises(_residual_laplacian(covers, share - rate * sent, n_items), rest)


def _flow_sent(covers: Covers, weights: Sequence[float], n_items: int) -> FloatArray | None:
    """Return what leaves each item into each component if all send a unit to all others; None if impossible."""
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
    """Add the flow of one source to ``sent``; false where positive weights do not reach all items."""
    of_item, of_component = ways
    # Forwards: layers of items and of components, each with the weight of all shortest ways to it.
    layers: list[dict[int, float]] = [{source: 1.0}]
    passed: list[dict[int, float]] = []
    seen = {source}
    used = set[int]()
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
        after = layers[step + 1]
        before = layers[step]
        for c in passed[step]:
            demand = sum(own * (1.0 + passes.get(y, 0.0)) / after[y] for _, y, own in of_component[c] if y in after)
            for k, x, own in of_component[c]:
                if x in before and demand > 0.0:
                    amount = own * before[x] * demand
                    sent[k] += amount
                    passes[x] = passes.get(x, 0.0) + amount
    # Nothing got lost: what left the source is a unit for every other item.
    return abs(passes.get(source, 0.0) - (len(of_item) - 1)) <= ROUNDING * len(of_item)


def _residual_laplacian(covers: Covers, residual: FloatArray, n_items: int) -> FloatArray:
    """Laplacian in which two items of a component of n share the smaller of their residuals, over n - 1."""
    laplacian = np.zeros((n_items, n_items))
    first = 0
    for cover in covers:
        mine = np.maximum(residual[first : first + len(cover)], 0.0) / (len(cover) - 1)
        for a, x in enumerate(cover):
            for b, y in enumerate(cover):
                if a != b:
                    laplacian[x, y] -= min(mine[a], mine[b])
                    laplacian[x, x] += min(mine[a], mine[b])
        first += len(cover)
    return laplacian


def wrong_parts(covers: Covers, n_items: int, value: int, parts: Sequence[int], fixed: int) -> str | None:
    """Return what is wrong with a bound of the kind ``parts`` or ``groups``, ``fixed`` reviews included, or None.

    Hanging components are removed, and the degrees of freedom of the parts are counted. A part that claims more than
    those (and more than 1) is enumerated, unless it has more than ``LISTED_UP_TO`` groups.
    """
    sets = {c: frozenset(cover) for c, cover in enumerate(covers)}
    large = {c: cover for c, cover in sets.items() if len(cover) > 1}
    if large:
        fringe, apart = _taken_apart(large)
        fringe += n_items - len(frozenset().union(*large.values()))
    else:
        fringe = n_items - max(map(len, sets.values()), default=0)
        apart = []
    if len(apart) != len(parts) or value != fixed + fringe + sum(parts):
        return f"of {value} claims {list(parts)} for parts; recomputed {len(apart)} and {fringe}"
    for part, price in zip(apart, parts, strict=True):
        items = frozenset[int]().union(*part.values())
        saved = len(items) - 2 - sum(len(cover) - 2 for cover in part.values())
        links = missing_links(part, sorted(items))
        simple = price <= max(1, links) or (price == saved + 1 and _wastes_one(part))
        if not simple and _listed_price(part, price) < price:
            return f"of {value}: a part of {len(part)} components takes fewer than {price} reviews"
    return None


def _taken_apart(covers: Part) -> tuple[int, list[Part]]:
    """Return the price of components hanging by two items or fewer, and the connected rest, by smallest item."""
    owners: dict[int, set[int]] = {}
    for c, cover in covers.items():
        for i in cover:
            owners.setdefault(i, set()).add(c)
    # A cover that shares s <= 2 items with all others joins them by 2 - s reviews, whenever it does.
    price = 0
    remaining = set(covers)
    waiting = set(covers)
    while waiting and len(remaining) > 1:
        c = waiting.pop()
        shared = sum(len(owners[i]) > 1 for i in covers[c])
        if c in remaining and shared <= 2:
            price += 2 - shared
            remaining.remove(c)
            for i in covers[c]:
                owners[i].remove(c)
                waiting |= owners[i]
    # Items of one owner tell nothing more; pieces without a common item cost two reviews each to join.
    if len(remaining) == 1:
        return price, []
    rest = {c: frozenset(i for i in covers[c] if len(owners[i]) > 1) for c in sorted(remaining)}
    classes = pieces(rest, sorted(frozenset[int]().union(*rest.values())))
    apart: dict[Any, Part] = {}
    for c, cover in rest.items():
        apart.setdefault(classes.of((0, c)), {})[c] = cover
    return price + 2 * (len(apart) - 1), sorted(apart.values(), key=lambda part: min(map(min, part.values())))


def _wastes_one(part: Part) -> bool:
    """Whether the last merge of a part wastes a paper, however it splits it: no two papers hold it together."""
    import networkx as nx

    graph = nx.Graph([(component, ("item", i)) for component, cover in part.items() for i in cover])
    items = {node for node in graph if node not in part}
    return all(_holds_without(graph.subgraph(set(graph) - {gone}), items) for gone in items)


def _holds_without(rest: Any, items: set[Any]) -> bool:
    """Whether the rest of a graph is connected, and no other item cuts it."""
    import networkx as nx

    return nx.is_connected(rest) and not items & set(nx.articulation_points(rest))


def _listed_price(part: Part, enough: int) -> int:
    """Fewest reviews that make one group of a part, or ``enough`` if those or too many groups."""
    # Covers as bits of one number; levels[p] holds the groups that exactly p reviews can make.
    names = {i: n for n, i in enumerate(sorted(frozenset().union(*part.values())))}
    covers = [sum(1 << names[i] for i in cover) for cover in part.values()]
    full = (1 << len(names)) - 1
    levels = [set(covers)]
    for price in range(1, enough):
        # The last review brings one more cover to a group that shares one item with it,
        new = {
            grown(group | cover, covers) for group in levels[-1] for cover in covers if (group & cover).bit_count() == 1
        }
        # or the last merge is of two groups that share two items and have paid for themselves.
        for small in range(1, price // 2 + 1):
            large = levels[price - small]
            new |= {
                grown(a | b, covers) for a in levels[small] for b in large if (a & b).bit_count() > 1 and a | b != a
            }
        if full in new:
            return price
        levels.append(new)
        if sum(map(len, levels)) > LISTED_UP_TO:
            break
    return enough


def least_slope(weight: FloatArray, largest: int, claimed: int) -> float | None:
    """Return a slope, rounded up, that a claim needs; 0 if it needs none, None if none suffices.

    ``weight`` is the weight of each item in the components, ``largest`` the size of the largest component.
    """
    if claimed <= 0:
        return 0.0
    low = 0.0
    high = float(2 * weight.max(initial=0.0))
    if _needed(weight, high, largest) < claimed:
        return None
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if _needed(weight, middle, largest) >= claimed:
            high = middle
        else:
            low = middle
    return high


def rises(laplacian: FloatArray, slope: float) -> bool:
    """Whether every eigenvalue of a Laplacian but that of the constant vector is at least a slope."""
    n_items = len(laplacian)
    top = float(2 * np.diag(laplacian).max(initial=0.0))
    lifted = laplacian + (top + slope + 1.0) / n_items - (slope + SLACK * top) * np.eye(n_items)
    try:
        np.linalg.cholesky(lifted)
    except np.linalg.LinAlgError:
        return False
    return True
