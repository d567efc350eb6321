"""Replays lower bounds, sharing no code with the search: plain sets, every union tried."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from planner.errors import InvalidPlan
from reviewgraph.components import connected_components, doubly_connected_components
from reviewgraph.recoverable import degrees_of_freedom
from reviewgraph.reviews import Reviews

if TYPE_CHECKING:
    from planner.plans.model.ledger import Bound
    from reviewgraph.labels import IntArray

    #: Covers by component.
    Covers: TypeAlias = dict[int, frozenset[int]]

#: Groups up to which a part is listed again; larger lists are taken on trust.
LISTED_UP_TO = 2_000


def replay_parts(reviews: Reviews, bound: Bound, fixed: int) -> None:
    """Check a bound of the kind ``parts`` or ``groups`` on existing and fixed reviews, ``fixed`` of these.

    What hangs is taken away anew, and the degrees of freedom of the parts are counted. A part said to take more than
    those (and more than 1) is listed again, unless it has more than ``LISTED_UP_TO`` groups.

    Raises
    ------
    InvalidPlan
        If something does not hold.
    """
    components = doubly_connected_components(reviews)
    covers = {c: frozenset(cover.tolist()) for c, cover in enumerate(components.covers)}
    large = {c: cover for c, cover in covers.items() if len(cover) > 1}
    if large:
        fringe, parts = _taken_apart(large)
        fringe += reviews.n_items - len(frozenset().union(*large.values()))
    else:
        fringe, parts = reviews.n_items - max(map(len, covers.values()), default=0), []
    if len(parts) != len(bound.parts) or bound.value != fixed + fringe + sum(bound.parts):
        _fail(f"a bound of {bound.value} says {bound.parts} for parts, and {len(parts)} and {fringe} were found")
    for part, value in zip(parts, bound.parts, strict=True):
        saved = len(frozenset().union(*part.values())) - 2 - sum(len(cover) - 2 for cover in part.values())
        simple = value <= max(1, degrees_of_freedom(_table(part))) or (value == saved + 1 and _wastes_one(part))
        if not simple and _listed_price(part, value) < value:
            _fail(f"a part of {len(part)} components takes fewer than {value} reviews")


def most_links(loads: IntArray, usable: IntArray, waste: int) -> int:
    """Links that reviewers can make at most, where those of d < 2 reviews may lose so many reviews in all, 2 - d each.

    >>> most_links(np.array([3, 0, 1]), np.array([1, 4, 2]), 1), most_links(np.array([3, 0, 1]), np.array([1, 4, 2]), 2)
    (2, 3)
    """
    if waste < 0:
        return -1
    best, gain = 0, {}
    for d in (0, 1):
        useful = np.sort(np.maximum(usable[loads == d] - (2 - d), 0))[::-1]
        gain[d] = np.concatenate([[0], np.cumsum(useful)])
    for twice in range(min(waste // 2, gain[0].size - 1) + 1):
        best = max(best, int(gain[0][twice] + gain[1][min(waste - 2 * twice, gain[1].size - 1)]))
    return int(usable[loads >= 2].sum()) + best


def _taken_apart(covers: Covers) -> tuple[int, list[Covers]]:
    """Price of what hangs by two items or fewer, and the connected rest, by smallest item."""
    owners: dict[int, set[int]] = {}
    for c, cover in covers.items():
        for i in cover:
            owners.setdefault(i, set()).add(c)
    # A cover that shares s <= 2 items with all others joins them by 2 - s reviews, whenever it does.
    price, left, waiting = 0, set(covers), set(covers)
    while waiting and len(left) > 1:
        c = waiting.pop()
        shared = sum(len(owners[i]) > 1 for i in covers[c])
        if c in left and shared <= 2:
            price += 2 - shared
            left.remove(c)
            for i in covers[c]:
                owners[i].remove(c)
                waiting |= owners[i]
    # Items of one owner tell nothing more; pieces without a common item cost two reviews each to join.
    if len(left) == 1:
        return price, []
    rest = {c: frozenset(i for i in covers[c] if len(owners[i]) > 1) for c in sorted(left)}
    label = connected_components(_table(rest)).labels.tolist()
    pieces: dict[int, Covers] = {}
    for (c, cover), piece in zip(rest.items(), label, strict=True):
        pieces.setdefault(piece, {})[c] = cover
    return price + 2 * (len(pieces) - 1), sorted(pieces.values(), key=lambda part: min(map(min, part.values())))


def _table(part: Covers) -> Reviews:
    rows = [(c, i) for c, cover in enumerate(part.values()) for i in sorted(cover)]
    item = np.unique([i for _, i in rows], return_inverse=True)[1]
    return Reviews.from_codes(np.array([c for c, _ in rows]), item, reviewers=len(part), items=int(item.max()) + 1)


def _wastes_one(part: Covers) -> bool:
    """Whether the last merge of a part wastes a paper, however it splits it: no two papers hold it together."""
    items = sorted(frozenset().union(*part.values()))
    place = {i: len(part) + n for n, i in enumerate(items)}
    near: list[list[int]] = [[place[i] for i in cover] for cover in part.values()] + [[] for _ in items]
    for component in range(len(part)):
        for node in near[component]:
            near[node].append(component)
    return all(_holds_without(near, len(part), gone) for gone in place.values())


def _holds_without(near: list[list[int]], components: int, gone: int) -> bool:
    """Whether a graph is connected without a node, and no other item cuts it: a search in depth from component 0."""
    # Tarjan's low points, with the node that is gone below everything so that no path enters it.
    depth, low = [-1] * len(near), [0] * len(near)
    depth[0], depth[gone] = 0, len(near)
    path, waiting, seen = [0], [iter(near[0])], 1
    while path:
        node = path[-1]
        for other in waiting[-1]:
            if depth[other] < 0:
                depth[other] = low[other] = len(path)
                path.append(other)
                waiting.append(iter(near[other]))
                seen += 1
                break
            if other != gone:
                low[node] = min(low[node], depth[other])
        else:
            path.pop()
            waiting.pop()
            if path:
                # An item cuts the graph if what hangs below it reaches no higher; the root is no item.
                above = path[-1]
                if above >= components and low[node] >= depth[above]:
                    return False
                low[above] = min(low[above], low[node])
    return seen == len(near) - 1


def _listed_price(part: Covers, enough: int) -> int:
    """Fewest reviews that make one group of a part, or ``enough`` if those or too many groups to be listed."""
    # Covers as bits of one number; levels[p] holds the groups that exactly p reviews can make.
    names = {i: n for n, i in enumerate(sorted(frozenset().union(*part.values())))}
    covers = [sum(1 << names[i] for i in cover) for cover in part.values()]
    full = (1 << len(names)) - 1
    levels = [set(covers)]
    for price in range(1, enough):
        # The last review brings one more cover to a group that shares one item with it,
        new = {
            _grown(group | cover, covers)
            for group in levels[-1]
            for cover in covers
            if (group & cover).bit_count() == 1
        }
        # or the last merge is of two groups that share two items and have paid for themselves.
        for small in range(1, price // 2 + 1):
            large = levels[price - small]
            new |= {
                _grown(a | b, covers) for a in levels[small] for b in large if (a & b).bit_count() > 1 and a | b != a
            }
        if full in new:
            return price
        levels.append(new)
        if sum(map(len, levels)) > LISTED_UP_TO:
            break
    return enough


def _grown(group: int, covers: list[int]) -> int:
    """Items of a group once all that share two with it have joined."""
    grew = True
    while grew:
        grew = False
        for cover in covers:
            if (group & cover).bit_count() > 1 and cover & ~group:
                group, grew = group | cover, True
    return group


def _fail(reason: str) -> None:
    message = f"plan: {reason}"
    raise InvalidPlan(message)
