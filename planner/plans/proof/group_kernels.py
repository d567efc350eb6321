"""Kernels that list the groups which so many joins can make, for proofs that no plan is shorter.

Components and items are numbered within one piece of the contracted graph. A group is the ascending list of its
components, closed: every other component shares at most one item with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reviewgraph.kernels.compiling import kernel

if TYPE_CHECKING:
    from reviewgraph.labels import IntArray

#: What a kernel says when it stops: all done, a group covers everything, no room left, or enough work for now.
DONE, FOUND, FULL, PAUSE = 0, 1, 2, 3
#: Registers of ``Desk.size`` and of ``Pool.size``.
TRAIL, COVERS, NEAR, STEPS = 0, 1, 2, 3
GROUPS, PARENT, ADDED = 0, 1, 2


class Piece(NamedTuple):
    """Components and items of a connected piece, compressed both ways."""

    start: IntArray
    item: IntArray
    own_start: IntArray
    own: IntArray


class Desk(NamedTuple):
    """One group, open for work.

    ``inside`` marks its components and ``covered`` its items; ``shared`` holds how many of its items each component
    covers. ``trail`` lists components taken in, ``covers`` the items, ``near`` the components that share any; the
    registers ``TRAIL``, ``COVERS`` and ``NEAR`` of ``size`` say how many there are of each, and ``STEPS`` how many
    components were looked at, for whoever limits the work.
    """

    inside: IntArray
    covered: IntArray
    shared: IntArray
    trail: IntArray
    covers: IntArray
    near: IntArray
    size: IntArray


class Pool(NamedTuple):
    """Groups of one price: group g is ``member[begin[g]:begin[g + 1]]``.

    It was made of group ``parent[g]`` of a cheaper pool and component ``added[g]``, or, where that is negative, of
    two groups, the other one of number ``-1 - added[g]`` and price ``absorbed[g] - 1``. ``absorbed[g]`` is 0 if no
    other components followed for nothing. ``table`` finds groups by their
    members. The registers of ``size`` are the number of groups, ``GROUPS``, and the last ``PARENT`` and component
    ``ADDED`` looked at.
    """

    member: IntArray
    begin: IntArray
    parent: IntArray
    added: IntArray
    absorbed: IntArray
    table: IntArray
    size: IntArray

    @property
    def last(self) -> tuple[int, int]:
        """The last parent and addition looked at."""
        return int(self.size[PARENT]), int(self.size[ADDED])


def new_desk(piece: Piece) -> Desk:
    """Return a desk with no group on it."""
    n, items = piece.start.size - 1, piece.own_start.size - 1
    by_component, by_item = np.zeros((4, n), np.int64), np.zeros((2, items), np.int64)
    return Desk(
        by_component[0],
        by_item[0],
        by_component[1],
        by_component[2],
        by_item[1],
        by_component[3],
        np.zeros(4, np.int64),
    )


def new_pool(groups: int, members: int) -> Pool:
    """Return an empty pool with room for so many groups and members of groups."""
    table: Any = np.full(1 << max(4, (2 * groups).bit_length()), -1, np.int32)
    by_group: Any = np.zeros((2, groups), np.int32)
    absorbed: Any = np.zeros(groups, np.int8)
    return Pool(
        np.zeros(members, np.int32),
        np.zeros(groups + 1, np.int64),
        *(by_group[0], by_group[1], absorbed, table, np.zeros(3, np.int64)),
    )


@kernel
def take_in(piece: Piece, desk: Desk, done: int) -> None:
    """Cover the items of the trail from place ``done`` on, and take in what then shares two."""
    # ``shared`` counts the covered items of every component; at two it joins the trail, and its items are covered next.
    while done < desk.size[TRAIL]:
        component = desk.trail[done]
        done += 1
        for place in range(piece.start[component], piece.start[component + 1]):
            thing = piece.item[place]
            if desk.covered[thing]:
                continue
            desk.covered[thing] = 1
            desk.covers[desk.size[COVERS]] = thing
            desk.size[COVERS] += 1
            desk.size[STEPS] += piece.own_start[thing + 1] - piece.own_start[thing]
            for spot in range(piece.own_start[thing], piece.own_start[thing + 1]):
                other = piece.own[spot]
                desk.shared[other] += 1
                if desk.shared[other] == 1:
                    desk.near[desk.size[NEAR]] = other
                    desk.size[NEAR] += 1
                elif not desk.inside[other]:
                    desk.inside[other] = 1
                    desk.trail[desk.size[TRAIL]] = other
                    desk.size[TRAIL] += 1


@kernel
def put(desk: Desk, component: int) -> None:
    """Write a component on the trail if it is not inside."""
    if not desk.inside[component]:
        desk.inside[component] = 1
        desk.trail[desk.size[TRAIL]] = component
        desk.size[TRAIL] += 1


@kernel
def take_back(piece: Piece, desk: Desk, trail: int, covers: int, near: int) -> None:
    """Return to the group that had these sizes."""
    # The lists are stacks: what came after these sizes is undone.
    for place in range(covers, desk.size[COVERS]):
        thing = desk.covers[place]
        desk.covered[thing] = 0
        for spot in range(piece.own_start[thing], piece.own_start[thing + 1]):
            desk.shared[piece.own[spot]] -= 1
    for place in range(trail, desk.size[TRAIL]):
        desk.inside[desk.trail[place]] = 0
    desk.size[TRAIL], desk.size[COVERS], desk.size[NEAR] = trail, covers, near


@kernel
def lay_out(piece: Piece, desk: Desk, pool: Pool, group: int) -> None:
    """Clear the desk and put a group on it."""
    take_back(piece, desk, 0, 0, 0)
    for place in range(pool.begin[group], pool.begin[group + 1]):
        put(desk, pool.member[place])
    take_in(piece, desk, 0)


@kernel
def spot_of(pool: Pool, group: int) -> int:
    """Place in the table of a group of the same members, or the free place where it belongs."""
    # Open addressing, linear probing; the table is at most half full, so a free place is near.
    low, length = pool.begin[group], pool.begin[group + 1] - pool.begin[group]
    mask, mixed = pool.table.size - 1, 0
    for place in range(low, low + length):
        mixed = ((mixed ^ int(pool.member[place])) * 1099511 + 12345) & 0x7FFFFFFFFF
    spot = (mixed ^ (mixed >> 17)) & mask
    while pool.table[spot] >= 0:
        other = pool.table[spot]
        if pool.begin[other + 1] - pool.begin[other] == length:
            same = 0
            while same < length and pool.member[pool.begin[other] + same] == pool.member[low + same]:
                same += 1
            if same == length:
                return int(spot)
        spot = (spot + 1) & mask
    return int(spot)


@kernel
def refill(pool: Pool) -> None:
    """Enter all groups into an empty table."""
    for group in range(pool.size[GROUPS]):
        pool.table[spot_of(pool, group)] = group


@kernel
def put_in_order(member: IntArray, low: int, high: int) -> None:
    """Sort a part of an array, by Shell's method: most of it is in order, and Numba compiles its own for seconds."""
    gap = 1
    while 3 * gap < high - low:
        gap = 3 * gap + 1
    while gap > 0:
        for place in range(low + gap, high):
            value, spot = member[place], place
            while spot - gap >= low and member[spot - gap] > value:
                member[spot] = member[spot - gap]
                spot -= gap
            member[spot] = value
        gap //= 3


@kernel
def keep(desk: Desk, pool: Pool, parent: int, added: int, absorbed: int) -> bool:
    """Add the group on the desk to a pool unless it is there; false when the pool has no room."""
    count, length = pool.size[GROUPS], desk.size[TRAIL]
    low = pool.begin[count]
    if count >= pool.parent.size or low + length > pool.member.size:
        return False
    # Written behind the last group, and part of the pool only if no other group has the same members.
    for place in range(length):
        pool.member[low + place] = desk.trail[place]
    put_in_order(pool.member, low, low + length)
    pool.begin[count + 1] = low + length
    spot = spot_of(pool, count)
    if pool.table[spot] >= 0:
        return True
    pool.table[spot] = count
    pool.parent[count], pool.added[count], pool.absorbed[count] = parent, added, absorbed
    pool.size[GROUPS] = count + 1
    return True


@kernel
def extend(piece: Piece, desk: Desk, pool: Pool, into: Pool, store: bool, first: int, work: int) -> tuple[int, int]:
    """Join every group from number ``first`` on with each component that shares one item with it.

    Returns why it stopped and where to go on. A group that covers all items is told by ``into.size``. With
    ``store`` false groups are only looked at.
    """
    n_items = piece.own_start.size - 1
    for group in range(first, pool.size[GROUPS]):
        if work <= 0:
            return PAUSE, group
        # The desk holds the group at the head of the inner loop; each join is made on top of it and taken back.
        lay_out(piece, desk, pool, group)
        trail, covers, near = desk.size[TRAIL], desk.size[COVERS], desk.size[NEAR]
        desk.size[STEPS] += near
        work -= near
        for place in range(near):
            other = desk.near[place]
            if desk.inside[other]:
                continue
            put(desk, other)
            take_in(piece, desk, trail)
            work -= desk.size[TRAIL] - trail + 1
            into.size[PARENT], into.size[ADDED] = group, other
            if desk.size[COVERS] == n_items:
                return FOUND, group
            if store and not keep(desk, into, group, other, int(desk.size[TRAIL] > trail + 1)):
                return FULL, group
            take_back(piece, desk, trail, covers, near)
    return DONE, pool.size[GROUPS]


@kernel
def gains(piece: Piece, desk: Desk, pool: Pool, parent: IntArray, added: IntArray, cover: IntArray) -> int:
    """List the joins of all groups with the items they cover; returns how many there are, at most the room.

    A join that covers all items is the last one listed: no other does more.
    """
    count, n_items = 0, piece.own_start.size - 1
    for group in range(pool.size[GROUPS]):
        lay_out(piece, desk, pool, group)
        trail, covers, near = desk.size[TRAIL], desk.size[COVERS], desk.size[NEAR]
        desk.size[STEPS] += near
        for place in range(near):
            other = desk.near[place]
            if desk.inside[other] or count >= parent.size:
                continue
            put(desk, other)
            take_in(piece, desk, trail)
            parent[count], added[count], cover[count] = group, other, desk.size[COVERS]
            count += 1
            if desk.size[COVERS] == n_items:
                return count
            take_back(piece, desk, trail, covers, near)
    return count


@kernel
def make(piece: Piece, desk: Desk, pool: Pool, into: Pool, parent: IntArray, added: IntArray) -> int:
    """Make the groups of some joins; returns how many found room."""
    for k in range(parent.size):
        lay_out(piece, desk, pool, parent[k])
        trail = desk.size[TRAIL]
        put(desk, added[k])
        take_in(piece, desk, trail)
        if not keep(desk, into, parent[k], added[k], int(desk.size[TRAIL] > trail + 1)):
            return k
    return int(parent.size)


@kernel
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
    return int(seen >= 0)


@kernel
def unite(
    piece: Piece,
    desk: Desk,
    large: Pool,
    small: Pool,
    earlier: Pool,
    post_start: IntArray,
    post: IntArray,
    into: Pool,
    price: int,
    store: bool,
    first: int,
    work: int,
) -> tuple[int, int]:
    """Unite every group of one pool from number ``first`` on with those of a cheaper one that share two items with it.

    Only groups of ``small`` that absorbed something count, and not where the group they were joined from (in
    ``earlier``) shares two items already: all other unions are reached by joins. Those that cover item i are
    ``post[post_start[i]:post_start[i + 1]]``; ``price`` is what they cost. Stops and returns as :func:`extend` does.
    """
    n_items = piece.own_start.size - 1
    hits, last = np.zeros(small.size[GROUPS], np.int32), np.full(small.size[GROUPS], -1, np.int32)
    for group in range(first, large.size[GROUPS]):
        if work <= 0:
            return PAUSE, group
        lay_out(piece, desk, large, group)
        trail, covers, near = desk.size[TRAIL], desk.size[COVERS], desk.size[NEAR]
        for place in range(covers):
            thing = desk.covers[place]
            desk.size[STEPS] += post_start[thing + 1] - post_start[thing]
            work -= 1
            for spot in range(post_start[thing], post_start[thing + 1]):
                other = post[spot]
                work -= 1
                # Postings tell how many items are shared; at the second one the union is made, once.
                if last[other] != group:
                    last[other], hits[other] = group, 0
                hits[other] += 1
                if hits[other] != 2:
                    continue
                # Lemma 3: a union counts only if its parent shared one paper at most, else joins reach it.
                if small.added[other] >= 0 and overlap(piece, desk, earlier, small.parent[other]) == 2:
                    continue
                for member in range(small.begin[other], small.begin[other + 1]):
                    put(desk, small.member[member])
                take_in(piece, desk, trail)
                work -= desk.size[TRAIL]
                into.size[PARENT], into.size[ADDED] = group, -1 - other
                if desk.size[COVERS] == n_items:
                    return FOUND, group
                if store and not keep(desk, into, group, -1 - other, 1 + price):
                    return FULL, group
                take_back(piece, desk, trail, covers, near)
    return DONE, large.size[GROUPS]
