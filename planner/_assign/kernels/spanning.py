"""The growth of a skeleton: pairs at the least loss per item by which one component covers all required items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import cython

if not cython.compiled:
    from math import inf

    from planner._assign.kernels.flow import FAR

if TYPE_CHECKING:
    from reviewgraph._base import BoolArray, FloatArray, IntArray


@dataclass(eq=False, repr=False)
class Growth:
    """One component under growth; nodes are the items 0..N-1 and the reviewers N..N+M-1."""

    # item, reviewer: the pairs, shape (P,), sorted by item
    item: IntArray
    reviewer: IntArray
    item_start: IntArray  # the pairs of item i are ``item_start[i]:item_start[i + 1]``, shape (N + 1,)
    # by_reviewer: the pairs of reviewer j are ``by_reviewer[start[j]:start[j + 1]]``, shapes (P,) and (M + 1,)
    by_reviewer: IntArray
    start: IntArray
    price: IntArray  # loss of each pair, shape (P,); 0 for those that are taken where there is nothing against it
    given: BoolArray  # pairs that are assigned in any case, shape (P,): they take no room
    required: BoolArray  # items to cover, shape (N,)
    # covered, joined: the items and reviewers of the component
    covered: BoolArray
    joined: BoolArray
    # room, spare: reviews that each item still needs, and that each reviewer may still get
    room: IntArray
    spare: IntArray
    taken: BoolArray  # the pairs of the skeleton, shape (P,)
    score: FloatArray  # loss per item of letting each node join, shape (N + M,); infinite where it cannot
    stale: BoolArray  # nodes whose score may have changed, shape (N + M,)
    # link, further_link: the pairs by which each node would join, shape (N + M,); -1 for none
    link: IntArray
    further_link: IntArray
    shared: int  # items by which a reviewer joins, 1 or 2
    floor: int  # loss that any node costs, so that those that add more items come first among the free ones


def rate_item(growth: Growth, item: int) -> None:
    """Rate an item by the cheapest of its pairs with reviewers of the component who have a load to spare."""
    growth.score[item] = inf
    growth.link[item] = -1
    if growth.covered[item] or growth.room[item] == 0:
        return
    least = FAR
    for p in range(growth.item_start[item], growth.item_start[item + 1]):
        j = growth.reviewer[p]
        if growth.joined[j] and growth.spare[j] > 0 and growth.price[p] < least:
            least = growth.price[p]
            growth.link[item] = p
    if least < FAR:
        growth.score[item] = float(least + growth.floor)


def rate_reviewer(growth: Growth, reviewer: int) -> None:
    """Rate a reviewer by the cheapest pairs with covered items, divided by the number of items that join as well.

    Items of given pairs are added, and those of free pairs as far as the load suffices; else one item of another pair.
    """
    node = len(growth.item_start) - 1 + reviewer
    growth.score[node] = inf
    growth.link[node] = -1
    growth.further_link[node] = -1
    if growth.joined[reviewer]:
        return
    first = FAR
    second = FAR
    further = FAR
    at_hand = 0
    fresh = 0
    free = 0
    for slot in range(growth.start[reviewer], growth.start[reviewer + 1]):
        p = growth.by_reviewer[slot]
        i = growth.item[p]
        price = growth.price[p]
        if growth.given[p]:
            if growth.covered[i]:
                at_hand += 1
            else:
                fresh += 1
        elif growth.room[i] == 0:
            continue
        elif not growth.covered[i]:
            free += 1 if price == 0 else 0
            further = min(further, price)
        elif price < first:
            second = first
            first = price
            growth.further_link[node] = growth.link[node]
            growth.link[node] = p
        elif price < second:
            second = price
            growth.further_link[node] = p
    # Given pairs with covered items link as well.
    needed = max(growth.shared - at_hand, 0)
    if needed < 2:
        second = 0
        growth.further_link[node] = -1
    if needed < 1:
        first = 0
        growth.link[node] = -1
    if first == FAR or second == FAR or growth.spare[reviewer] < needed:
        return
    gain = fresh + min(free, growth.spare[reviewer] - needed)
    if gain > 0:
        growth.score[node] = float(first + second + growth.floor) / gain
    elif further < FAR and growth.spare[reviewer] > needed:
        growth.score[node] = float(first + second + further + growth.floor)


def rate(growth: Growth, node: int) -> None:
    """Rate a node, which is then up to date."""
    n_items = len(growth.item_start) - 1
    growth.stale[node] = False
    if node < n_items:
        rate_item(growth, node)
    else:
        rate_reviewer(growth, node - n_items)


def add(growth: Growth, p: int) -> int:
    """Add a pair and mark the nodes whose scores it may change; returns whether it covers a required item."""
    i = growth.item[p]
    j = growth.reviewer[p]
    n_items = len(growth.item_start) - 1
    fresh = not growth.covered[i]
    if not growth.given[p]:
        growth.taken[p] = True
        growth.room[i] -= 1
        growth.spare[j] -= 1
    growth.covered[i] = True
    growth.score[i] = inf
    if fresh or growth.room[i] == 0:
        for q in range(growth.item_start[i], growth.item_start[i + 1]):
            growth.stale[n_items + growth.reviewer[q]] = True
    if growth.spare[j] == 0:
        for slot in range(growth.start[j], growth.start[j + 1]):
            growth.stale[growth.item[growth.by_reviewer[slot]]] = True
    return 1 if fresh and growth.required[i] else 0


def join(growth: Growth, node: int) -> int:
    """Let a node join by its links, and the free items of a reviewer with it; returns how many required items do."""
    n_items = len(growth.item_start) - 1
    count = 0
    if growth.link[node] >= 0:
        count += add(growth, growth.link[node])
    if growth.further_link[node] >= 0:
        count += add(growth, growth.further_link[node])
    growth.score[node] = inf
    if node < n_items:
        return count
    j = node - n_items
    growth.joined[j] = True
    for slot in range(growth.start[j], growth.start[j + 1]):
        p = growth.by_reviewer[slot]
        i = growth.item[p]
        if growth.covered[i]:
            continue
        if growth.given[p] or (growth.price[p] == 0 and growth.spare[j] > 0 and growth.room[i] > 0):
            count += add(growth, p)
        else:
            growth.stale[i] = True
    return count


def rate_stale(growth: Growth) -> None:
    """Rate all nodes whose scores may have changed."""
    with cython.nogil:
        for node in range(len(growth.score)):
            if growth.stale[node]:
                rate(growth, node)


def join_all(growth: Growth, nodes: IntArray) -> int:
    """Let nodes join in this order, except those whose scores have risen meanwhile; returns what they cover."""
    count = 0
    with cython.nogil:
        for place in range(len(nodes)):
            node = nodes[place]
            before = growth.score[node]
            if growth.stale[node]:
                rate(growth, node)
            if growth.score[node] <= before and growth.score[node] < inf:
                count += join(growth, node)
    return count
