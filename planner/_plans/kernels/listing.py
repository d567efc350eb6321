"""Groups that few joins make, listed by price.

Components and items are numbered within one piece of the contracted graph. A group is the ascending list of its
components, closed: every other component shares at most one item with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import cython
import numpy as np

if TYPE_CHECKING:
    from reviewgraph._base import IntArray

#: Bits of the hash of a group.
LOW_BITS = (1 << 39) - 1


@dataclass(eq=False, repr=False)
class Piece:
    """Components and items of a connected piece, compressed both ways."""

    start: IntArray  # Component c has the items ``item[start[c]:start[c + 1]]``
    item: IntArray
    own_start: IntArray  # Item i is in the components ``own[own_start[i]:own_start[i + 1]]``
    own: IntArray


@dataclass(eq=False, repr=False)
class Desk:
    """One group, open for work."""

    inside: IntArray  # Marks its components
    covered: IntArray  # Marks its items
    shared: IntArray  # The items of each component that it covers
    trail: IntArray  # Its components, ``members`` of them
    covers: IntArray  # Its items, ``items`` of them
    near: IntArray  # The components that share any, ``neighbours`` of them
    members: int = 0
    items: int = 0
    neighbours: int = 0
    steps: int = 0  # Components visited


@dataclass(eq=False, repr=False)
class Pool:
    """Groups of one price: group g is ``member[begin[g]:begin[g + 1]]``.

    It was made of group ``parent[g]`` of a cheaper pool and component ``added[g]``, or, if that is negative, of two
    groups, the other one of number ``-1 - added[g]`` and price ``absorbed[g] - 1``. ``absorbed[g]`` is 0 if no other
    components followed at no cost.
    """

    member: IntArray
    begin: IntArray
    parent: IntArray
    added: IntArray
    absorbed: IntArray
    table: IntArray  # Hash table of the groups by their members; -1 for none
    groups: int = 0
    last_parent: int = 0  # The parent and component visited last
    last_added: int = 0
    found: bool = False  # Whether that is a group of all items
    full: bool = False  # Whether there was no room for it


@dataclass(eq=False, repr=False)
class Postings:
    """The groups of a pool that cover each item: ``group[start[i]:start[i + 1]]``."""

    start: IntArray
    group: IntArray
    hits: IntArray  # Items that each group shares with the present one, if ``last`` is the present stamp
    last: IntArray
    stamp: int = 0


def new_desk(piece: Piece) -> Desk:
    """Return a desk without a group."""
    inside, shared, trail, near = np.zeros((4, len(piece.start) - 1), np.int64)
    covered, covers = np.zeros((2, len(piece.own_start) - 1), np.int64)
    return Desk(inside=inside, covered=covered, shared=shared, trail=trail, covers=covers, near=near)


def new_pool(groups: int, members: int) -> Pool:
    """Return a pool without groups, with room for ``groups`` of them and for ``members`` of all."""
    table: Any = np.full(1 << max(4, (2 * groups).bit_length()), -1, np.int32)
    member: Any = np.zeros(members, np.int32)
    parent: Any = np.zeros(groups, np.int32)
    added: Any = np.zeros(groups, np.int32)
    absorbed: Any = np.zeros(groups, np.int8)
    begin = np.zeros(groups + 1, np.int64)
    return Pool(member=member, begin=begin, parent=parent, added=added, absorbed=absorbed, table=table)


def wider(pool: Pool) -> Pool:
    """Return a pool with twice the room."""
    more = new_pool(2 * len(pool.parent), 2 * len(pool.member))
    np.asarray(more.member)[: len(pool.member)] = pool.member
    np.asarray(more.begin)[: len(pool.begin)] = pool.begin
    np.asarray(more.parent)[: len(pool.parent)] = pool.parent
    np.asarray(more.added)[: len(pool.added)] = pool.added
    np.asarray(more.absorbed)[: len(pool.absorbed)] = pool.absorbed
    more.groups = pool.groups
    refill(more)
    return more


def take_in(piece: Piece, desk: Desk, done: int) -> None:
    """Cover the items of the trail from place ``done`` on, and take in components that then share two."""
    members = desk.members
    items = desk.items
    neighbours = desk.neighbours
    steps = 0
    # ``shared`` counts the covered items of every component; at two it joins the trail, and its items are covered next.
    while done < members:
        component = desk.trail[done]
        done += 1
        for place in range(piece.start[component], piece.start[component + 1]):
            thing = piece.item[place]
            if desk.covered[thing]:
                continue
            desk.covered[thing] = 1
            desk.covers[items] = thing
            items += 1
            steps += piece.own_start[thing + 1] - piece.own_start[thing]
            for spot in range(piece.own_start[thing], piece.own_start[thing + 1]):
                other = piece.own[spot]
                desk.shared[other] += 1
                if desk.shared[other] == 1:
                    desk.near[neighbours] = other
                    neighbours += 1
                elif not desk.inside[other]:
                    desk.inside[other] = 1
                    desk.trail[members] = other
                    members += 1
    desk.members = members
    desk.items = items
    desk.neighbours = neighbours
    desk.steps += steps


def put(desk: Desk, component: int) -> None:
    """Add a component to the trail unless it is inside."""
    if not desk.inside[component]:
        desk.inside[component] = 1
        desk.trail[desk.members] = component
        desk.members += 1


def add(piece: Piece, desk: Desk, component: int) -> int:
    """Add a component, and what follows; return the first member that shares an item with it, or -1."""
    partner = -1
    for place in range(piece.start[component], piece.start[component + 1]):
        thing = piece.item[place]
        if partner < 0 and desk.covered[thing]:
            for spot in range(piece.own_start[thing], piece.own_start[thing + 1]):
                if partner < 0 and desk.inside[piece.own[spot]]:
                    partner = piece.own[spot]
    done = desk.members
    put(desk, component)
    take_in(piece, desk, done)
    return partner


def take_back(piece: Piece, desk: Desk, members: int, items: int, neighbours: int) -> None:
    """Return to the group that had these sizes."""
    # The lists are stacks: entries beyond these sizes are removed.
    for place in range(items, desk.items):
        thing = desk.covers[place]
        desk.covered[thing] = 0
        for spot in range(piece.own_start[thing], piece.own_start[thing + 1]):
            desk.shared[piece.own[spot]] -= 1
    for place in range(members, desk.members):
        desk.inside[desk.trail[place]] = 0
    desk.members = members
    desk.items = items
    desk.neighbours = neighbours


def lay_out(piece: Piece, desk: Desk, pool: Pool, group: int) -> None:
    """Clear the desk and put a group on it."""
    take_back(piece, desk, 0, 0, 0)
    for place in range(pool.begin[group], pool.begin[group + 1]):
        put(desk, pool.member[place])
    take_in(piece, desk, 0)


def spot_of(pool: Pool, group: int) -> int:
    """Place in the table of a group with the same members, or the free place for it."""
    # Open addressing, linear probing; the table is at most half full, so a free place is near.
    low = pool.begin[group]
    length = pool.begin[group + 1] - low
    mask = len(pool.table) - 1
    mixed = 0
    for place in range(low, low + length):
        member = cython.cast(cython.longlong, pool.member[place])
        mixed = ((mixed ^ member) * 1099511 + 12345) & LOW_BITS
    spot = (mixed ^ (mixed >> 17)) & mask
    while pool.table[spot] >= 0:
        begin = pool.begin[pool.table[spot]]
        if pool.begin[pool.table[spot] + 1] - begin == length:
            same = 0
            while same < length and pool.member[begin + same] == pool.member[low + same]:
                same += 1
            if same == length:
                return spot
        spot = (spot + 1) & mask
    return spot


def refill(pool: Pool) -> None:
    """Enter all groups into an empty table."""
    for group in range(pool.groups):
        pool.table[spot_of(pool, group)] = group


def put_in_order(pool: Pool, low: int, high: int) -> None:
    """Sort some members by Shell's method: they are mostly sorted."""
    gap = 1
    while 3 * gap < high - low:
        gap = 3 * gap + 1
    while gap > 0:
        for place in range(low + gap, high):
            value = pool.member[place]
            spot = place
            while spot - gap >= low and pool.member[spot - gap] > value:
                pool.member[spot] = pool.member[spot - gap]
                spot -= gap
            pool.member[spot] = value
        gap //= 3


def keep(desk: Desk, pool: Pool, parent: int, added: int, absorbed: int) -> bool:
    """Add the group on the desk to a pool unless it is there; false if the pool is full."""
    count = pool.groups
    length = desk.members
    low = pool.begin[count]
    if count >= len(pool.parent) or low + length > len(pool.member):
        return False
    # Written behind the last group, and part of the pool only if no other group has the same members.
    for place in range(length):
        pool.member[low + place] = desk.trail[place]
    put_in_order(pool, low, low + length)
    pool.begin[count + 1] = low + length
    spot = spot_of(pool, count)
    if pool.table[spot] >= 0:
        return True
    pool.table[spot] = count
    pool.parent[count] = parent
    pool.added[count] = added
    pool.absorbed[count] = absorbed
    pool.groups = count + 1
    return True


def ends(desk: Desk, into: Pool, parent: int, added: int, absorbed: int, store: bool) -> bool:
    """Note the group on the desk, and keep it with ``store``; whether it covers all items, or there is no room."""
    into.last_parent = parent
    into.last_added = added
    if desk.items == len(desk.covers):
        into.found = True
    elif store:
        into.full = not keep(desk, into, parent, added, absorbed)
    return into.found or into.full


def extend(piece: Piece, desk: Desk, pool: Pool, into: Pool, store: bool, first: int, work: int) -> int:
    """Join every group from number ``first`` on with each component that shares one item with it.

    Returns the number of the group to continue with: beyond the last one if all are done, and another if ``work`` was
    enough for now, there was no room, or a group covers all items, see ``into``. With ``store`` false groups are not
    kept.
    """
    into.found = False
    into.full = False
    with cython.nogil:
        for group in range(first, pool.groups):
            if work <= 0:
                return group
            # The desk holds the group at the head of the inner loop; each join is made on top of it and taken back.
            lay_out(piece, desk, pool, group)
            members = desk.members
            items = desk.items
            neighbours = desk.neighbours
            desk.steps += neighbours
            work -= neighbours
            for place in range(neighbours):
                other = desk.near[place]
                if desk.inside[other]:
                    continue
                put(desk, other)
                take_in(piece, desk, members)
                work -= desk.members - members + 1
                if ends(desk, into, group, other, desk.members > members + 1, store):
                    return group
                take_back(piece, desk, members, items, neighbours)
    return pool.groups


def gains(piece: Piece, desk: Desk, pool: Pool, parent: IntArray, added: IntArray, cover: IntArray) -> int:
    """List the joins of all groups with the items they cover; return their number, at most the room.

    A join that covers all items is the last one listed.
    """
    count = 0
    n_items = len(piece.own_start) - 1
    with cython.nogil:
        for group in range(pool.groups):
            lay_out(piece, desk, pool, group)
            members = desk.members
            items = desk.items
            neighbours = desk.neighbours
            desk.steps += neighbours
            for place in range(neighbours):
                other = desk.near[place]
                if desk.inside[other] or count >= len(parent):
                    continue
                put(desk, other)
                take_in(piece, desk, members)
                cover[count] = desk.items
                added[count] = other
                parent[count] = group
                count += 1
                if desk.items == n_items:
                    return count
                take_back(piece, desk, members, items, neighbours)
    return count


def make(piece: Piece, desk: Desk, pool: Pool, into: Pool, parent: IntArray, added: IntArray) -> None:
    """Make the groups of some joins, as many as have room."""
    with cython.nogil:
        for k in range(len(parent)):
            lay_out(piece, desk, pool, parent[k])
            members = desk.members
            put(desk, added[k])
            take_in(piece, desk, members)
            if not keep(desk, into, parent[k], added[k], desk.members > members + 1):
                return


def overlap(piece: Piece, desk: Desk, pool: Pool, group: int) -> int:
    """Items of a group that the group on the desk covers: 0, 1, or 2 for more."""
    seen = -1
    for place in range(pool.begin[group], pool.begin[group + 1]):
        component = pool.member[place]
        if desk.shared[component] == 0:
            continue
        for spot in range(piece.start[component], piece.start[component + 1]):
            thing = piece.item[spot]
            if desk.covered[thing] and thing != seen:
                if seen >= 0:
                    return 2
                seen = thing
    return seen >= 0


def unite(
    piece: Piece, desk: Desk, pool: Pool, small: Pool, earlier: Pool, postings: Postings, into: Pool, price: int,
    store: bool, first: int, work: int,
) -> int:  # fmt: skip
    """Unite every group from number ``first`` on with those of a cheaper pool that share two items with it.

    Only groups of ``small`` that absorbed something count, those of ``postings``, and not where the group they were
    joined from (in ``earlier``) shares two items already: all other unions are reached by joins. ``price`` is what they
    cost. Returns what :func:`extend` does.
    """
    into.found = False
    into.full = False
    with cython.nogil:
        for group in range(first, pool.groups):
            if work <= 0:
                return group
            lay_out(piece, desk, pool, group)
            members = desk.members
            items = desk.items
            neighbours = desk.neighbours
            postings.stamp += 1
            stamp = postings.stamp
            for place in range(items):
                thing = desk.covers[place]
                desk.steps += postings.start[thing + 1] - postings.start[thing]
                work -= 1
                for spot in range(postings.start[thing], postings.start[thing + 1]):
                    other = postings.group[spot]
                    work -= 1
                    # Postings count the shared items; at the second one the union is made, once.
                    if postings.last[other] != stamp:
                        postings.last[other] = stamp
                        postings.hits[other] = 0
                    postings.hits[other] += 1
                    if postings.hits[other] != 2:
                        continue
                    # Lemma 3: a union counts only if its parent shared at most one paper, else joins reach it.
                    if small.added[other] >= 0 and overlap(piece, desk, earlier, small.parent[other]) == 2:
                        continue
                    for member in range(small.begin[other], small.begin[other + 1]):
                        put(desk, small.member[member])
                    take_in(piece, desk, members)
                    work -= desk.members
                    if ends(desk, into, group, -1 - other, 1 + price, store):
                        return group
                    take_back(piece, desk, members, items, neighbours)
    return pool.groups
