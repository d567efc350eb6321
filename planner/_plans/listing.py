"""Groups that few joins make: plans by a beam of them, and the proof that no plan is shorter by all of them.

Components and items are numbered within one piece of the contracted graph. A group is the ascending list of its
components, closed: every other component shares at most one item with it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reviewgraph._base import starts
from reviewgraph.graph import POLICY, connected_components, kernel, recoverability
from reviewgraph.table import Reviews

if TYPE_CHECKING:
    from planner._plans.task import Task
    from reviewgraph._base import Clock, IntArray

    Path = list[tuple[int, int]]

#: Why a kernel stopped: all done, a group covers everything, no room left, or enough work for now.
DONE = 0
FOUND = 1
FULL = 2
PAUSE = 3
#: Registers of ``Desk.size`` and of ``Pool.size``.
TRAIL = 0
COVERS = 1
NEAR = 2
STEPS = 3
GROUPS = 0
PARENT = 1
ADDED = 2


class Piece(NamedTuple):
    """Components and items of a connected piece, compressed both ways."""

    start: IntArray
    item: IntArray
    own_start: IntArray
    own: IntArray


class Desk(NamedTuple):
    """One group, open for work.

    ``inside`` marks its components, ``covered`` its items, and ``shared`` counts the items of each component that it
    covers. ``trail`` lists its components, ``covers`` its items, ``near`` the components that share any; the registers
    ``TRAIL``, ``COVERS`` and ``NEAR`` of ``size`` are their numbers, and ``STEPS`` counts the components visited.
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

    It was made of group ``parent[g]`` of a cheaper pool and component ``added[g]``, or, if that is negative, of two
    groups, the other one of number ``-1 - added[g]`` and price ``absorbed[g] - 1``. ``absorbed[g]`` is 0 if no other
    components followed at no cost. ``table`` hashes groups by members. The registers of ``size`` are the number of
    groups, ``GROUPS``, and the last ``PARENT`` and component ``ADDED`` visited.
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
        return int(self.size[PARENT]), int(self.size[ADDED])


def new_desk(piece: Piece) -> Desk:
    n = piece.start.size - 1
    items = piece.own_start.size - 1
    by_component = np.zeros((4, n), np.int64)
    by_item = np.zeros((2, items), np.int64)
    inside, shared, trail, near = by_component
    covered, covers = by_item
    return Desk(inside, covered, shared, trail, covers, near, np.zeros(4, np.int64))


def new_pool(groups: int, members: int) -> Pool:
    table: Any = np.full(1 << max(4, (2 * groups).bit_length()), -1, np.int32)
    member: Any = np.zeros(members, np.int32)
    by_group: Any = np.zeros((2, groups), np.int32)
    absorbed: Any = np.zeros(groups, np.int8)
    size = np.zeros(3, np.int64)
    return Pool(member, np.zeros(groups + 1, np.int64), by_group[0], by_group[1], absorbed, table, size)


@kernel
def take_in(piece: Piece, desk: Desk, done: int) -> None:
    """Cover the items of the trail from place ``done`` on, and take in components that then share two."""
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
    """Add a component to the trail unless it is inside."""
    if not desk.inside[component]:
        desk.inside[component] = 1
        desk.trail[desk.size[TRAIL]] = component
        desk.size[TRAIL] += 1


@kernel
def take_back(piece: Piece, desk: Desk, trail: int, covers: int, near: int) -> None:
    """Return to the group that had these sizes."""
    # The lists are stacks: entries beyond these sizes are removed.
    for place in range(covers, desk.size[COVERS]):
        thing = desk.covers[place]
        desk.covered[thing] = 0
        for spot in range(piece.own_start[thing], piece.own_start[thing + 1]):
            desk.shared[piece.own[spot]] -= 1
    for place in range(trail, desk.size[TRAIL]):
        desk.inside[desk.trail[place]] = 0
    desk.size[TRAIL] = trail
    desk.size[COVERS] = covers
    desk.size[NEAR] = near


@kernel
def lay_out(piece: Piece, desk: Desk, pool: Pool, group: int) -> None:
    """Clear the desk and put a group on it."""
    take_back(piece, desk, 0, 0, 0)
    for place in range(pool.begin[group], pool.begin[group + 1]):
        put(desk, pool.member[place])
    take_in(piece, desk, 0)


@kernel
def spot_of(pool: Pool, group: int) -> int:
    """Place in the table of a group with the same members, or the free place for it."""
    # Open addressing, linear probing; the table is at most half full, so a free place is near.
    low = pool.begin[group]
    length = pool.begin[group + 1] - pool.begin[group]
    mask = pool.table.size - 1
    mixed = 0
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
    """Sort a slice of an array by Shell's method: it is mostly sorted, and Numba compiles its own for seconds."""
    gap = 1
    while 3 * gap < high - low:
        gap = 3 * gap + 1
    while gap > 0:
        for place in range(low + gap, high):
            value = member[place]
            spot = place
            while spot - gap >= low and member[spot - gap] > value:
                member[spot] = member[spot - gap]
                spot -= gap
            member[spot] = value
        gap //= 3


@kernel
def keep(desk: Desk, pool: Pool, parent: int, added: int, absorbed: int) -> bool:
    """Add the group on the desk to a pool unless it is there; false if the pool is full."""
    count = pool.size[GROUPS]
    length = desk.size[TRAIL]
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
    pool.parent[count] = parent
    pool.added[count] = added
    pool.absorbed[count] = absorbed
    pool.size[GROUPS] = count + 1
    return True


@kernel
def extend(piece: Piece, desk: Desk, pool: Pool, into: Pool, store: bool, first: int, work: int) -> tuple[int, int]:
    """Join every group from number ``first`` on with each component that shares one item with it.

    Returns why it stopped and where to continue; ``into.size`` identifies a group that covers all items. With ``store``
    false groups are not kept.
    """
    n_items = piece.own_start.size - 1
    for group in range(first, pool.size[GROUPS]):
        if work <= 0:
            return PAUSE, group
        # The desk holds the group at the head of the inner loop; each join is made on top of it and taken back.
        lay_out(piece, desk, pool, group)
        trail = desk.size[TRAIL]
        covers = desk.size[COVERS]
        near = desk.size[NEAR]
        desk.size[STEPS] += near
        work -= near
        for place in range(near):
            other = desk.near[place]
            if desk.inside[other]:
                continue
            put(desk, other)
            take_in(piece, desk, trail)
            work -= desk.size[TRAIL] - trail + 1
            into.size[PARENT] = group
            into.size[ADDED] = other
            if desk.size[COVERS] == n_items:
                return FOUND, group
            if store and not keep(desk, into, group, other, int(desk.size[TRAIL] > trail + 1)):
                return FULL, group
            take_back(piece, desk, trail, covers, near)
    return DONE, pool.size[GROUPS]


@kernel
def gains(piece: Piece, desk: Desk, pool: Pool, parent: IntArray, added: IntArray, cover: IntArray) -> int:
    """List the joins of all groups with the items they cover; return their number, at most the room.

    A join that covers all items is the last one listed.
    """
    count = 0
    n_items = piece.own_start.size - 1
    for group in range(pool.size[GROUPS]):
        lay_out(piece, desk, pool, group)
        trail = desk.size[TRAIL]
        covers = desk.size[COVERS]
        near = desk.size[NEAR]
        desk.size[STEPS] += near
        for place in range(near):
            other = desk.near[place]
            if desk.inside[other] or count >= parent.size:
                continue
            put(desk, other)
            take_in(piece, desk, trail)
            cover[count] = desk.size[COVERS]
            added[count] = other
            parent[count] = group
            count += 1
            if desk.size[COVERS] == n_items:
                return count
            take_back(piece, desk, trail, covers, near)
    return count


@kernel
def make(piece: Piece, desk: Desk, pool: Pool, into: Pool, parent: IntArray, added: IntArray) -> int:
    """Make the groups of some joins; return how many had room."""
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
    hits = np.zeros(small.size[GROUPS], np.int32)
    last = np.full(small.size[GROUPS], -1, np.int32)
    for group in range(first, large.size[GROUPS]):
        if work <= 0:
            return PAUSE, group
        lay_out(piece, desk, large, group)
        trail = desk.size[TRAIL]
        covers = desk.size[COVERS]
        near = desk.size[NEAR]
        for place in range(covers):
            thing = desk.covers[place]
            desk.size[STEPS] += post_start[thing + 1] - post_start[thing]
            work -= 1
            for spot in range(post_start[thing], post_start[thing + 1]):
                other = post[spot]
                work -= 1
                # Postings count the shared items; at the second one the union is made, once.
                if last[other] != group:
                    last[other] = group
                    hits[other] = 0
                hits[other] += 1
                if hits[other] != 2:
                    continue
                # Lemma 3: a union counts only if its parent shared at most one paper, else joins reach it.
                if small.added[other] >= 0 and overlap(piece, desk, earlier, small.parent[other]) == 2:
                    continue
                for member in range(small.begin[other], small.begin[other + 1]):
                    put(desk, small.member[member])
                take_in(piece, desk, trail)
                work -= desk.size[TRAIL]
                into.size[PARENT] = group
                into.size[ADDED] = -1 - other
                if desk.size[COVERS] == n_items:
                    return FOUND, group
                if store and not keep(desk, into, group, -1 - other, 1 + price):
                    return FULL, group
                take_back(piece, desk, trail, covers, near)
    return DONE, large.size[GROUPS]


#: Maximum number of members of all stored groups, over all prices: 0.4 gigabytes.
MEMBERS_UP_TO = 100_000_000
#: Joins that a beam compares at once.
JOINS_UP_TO = 4_000_000
#: Steps of a kernel between two readings of the clock.
WORK = 200_000
#: Work, see :class:`reviewgraph._base.clock.Clock`, per component visited.
STEP = 35e-9
#: Seconds of listing the next level as plain Python per member of the last.
MEMBER = 1e-3


@dataclass
class Levels:
    """All groups of a part by price: pool c holds the groups that c joins make.

    The part takes at least ``value`` reviews, exactly that number once ``path`` holds joins that make one group of it.
    ``looked_at`` counts the groups listed; ``seconds`` estimates the next level's time as plain Python.
    """

    task: Task
    part: Part
    desk: Desk
    pools: list[Pool] = field(default_factory=list)
    value: int = 1
    path: Path | None = None
    looked_at: int = 0
    seconds: float = 0.0

    @property
    def effort(self) -> int:
        """Approximate work of the next level."""
        return int(self.pools[-1].begin[self.pools[-1].size[GROUPS]])

    @property
    def is_full(self) -> bool:
        """Whether the next level would take too much room, growing as the last did."""
        before = self.pools[max(len(self.pools) - 2, 0)]
        growth = self.effort / max(int(before.begin[before.size[GROUPS]]), 1)
        return self.effort * (1 + growth) > MEMBERS_UP_TO

    def form(self, kernel: Any) -> Any:
        """Return the form of a kernel that suits the task and the size of the last level."""
        return kernel.compiled if POLICY.pays(kernel, self.seconds) else self.task.form(kernel)

    def rise(self, *, store: bool, clock: Clock) -> bool:
        """List the next level, or with ``store`` false only test whether it ends the search; false if too large.

        Source: the lemma on groups of ``docs/explanation/planning.md``.
        """
        level = len(self.pools)
        self.seconds = MEMBER * self.effort
        room = (4 * int(self.pools[-1].size[GROUPS]) + 64, 5 * self.effort + 512) if store else (1, 1)
        self.pools.append(new_pool(*room))
        # First the joins with one component, then the unions of two groups whose prices add up to the level.
        ended = DONE
        for small in range(level // 2 + 1):
            if ended == DONE:
                ended = self._list(level, small, store=store, clock=clock)
        self.looked_at += int(self.pools[level].size[GROUPS])
        if ended == DONE:
            self.value = max(self.value, level + 1)
        if ended == FOUND:
            self.value = level
        if ended != DONE or not store:
            del self.pools[level:]
        return ended in (DONE, FOUND)

    def _list(self, level: int, small: int, *, store: bool, clock: Clock) -> int:
        """List joins with one component, or unions with groups of price ``small`` if above 0; return how it ended."""
        pools: list[Any] = [self.pools[level - 1]]
        ended = PAUSE
        first = 0
        if small:
            pools = [self.pools[level - small], self.pools[small], self.pools[small - 1]]
            pools += postings(self.part, pools[1])
        while ended not in (DONE, FOUND):
            if clock.over() or sum(pool.member.size for pool in self.pools) > MEMBERS_UP_TO:
                return ended
            into = (self.pools[level], small) if small else (self.pools[level],)
            run = self.form(unite if small else extend)
            ended, first = run(self.part.piece, self.desk, *pools, *into, store, first, WORK)
            clock.spend(worked(self.desk))
            if ended == FULL:
                self.pools[level] = wider(self.pools[level], self.form(refill))
        if ended == FOUND:
            parent, added = self.pools[level].last
            self.path = self._step(level, parent, added, small)
        return ended

    def _step(self, level: int, parent: int, added: int, small: int) -> Path:
        """Return joins that make a group from its parent and a component, or a group of price ``small``."""
        if added < 0:
            return self.joins(level - small, parent) + self.joins(small, -1 - added)
        return [*self.joins(level - 1, parent), (neighbour(self.part, self.pools[level - 1], parent, added), added)]

    def joins(self, level: int, group: int) -> Path:
        if level == 0:
            return []
        pool = self.pools[level]
        return self._step(level, int(pool.parent[group]), int(pool.added[group]), int(pool.absorbed[group]) - 1)


def new_levels(task: Task, part: Part) -> Levels:
    """Return the first level of a part: each component is a group."""
    return Levels(task, part, new_desk(part.piece), [singles(part)], part.least)


def singles(part: Part) -> Pool:
    """Return the groups of one component."""
    count = part.blocks.size
    pool = new_pool(count, count)
    pool.member[:], pool.begin[:], pool.added[:] = np.arange(count), np.arange(count + 1), np.arange(count)
    pool.size[GROUPS] = count
    return pool


def wider(pool: Pool, refill: Any) -> Pool:
    """Return the pool with twice the room."""
    more = new_pool(2 * pool.parent.size, 2 * pool.member.size)
    for old, new in zip(pool[:5], more[:5], strict=True):
        new[: old.size] = old
    more.size[:] = pool.size
    refill(more)
    return more


def worked(desk: Desk) -> float:
    """Return the work on a desk since the last call."""
    steps = int(desk.size[STEPS])
    desk.size[STEPS] = 0
    return STEP * steps


def postings(part: Part, pool: Pool) -> tuple[IntArray, IntArray]:
    """List the groups that absorbed something by the items they cover, compressed."""
    piece = part.piece
    count = max(int(pool.size[GROUPS]), 1)
    groups = np.flatnonzero(pool.absorbed[: pool.size[GROUPS]])
    sizes = np.diff(pool.begin)[groups]
    member = np.concatenate([np.zeros(0, np.int64), *(pool.member[pool.begin[g] : pool.begin[g + 1]] for g in groups)])
    lengths = np.diff(piece.start)[member.astype(np.int64)]
    shift = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    item = piece.item[np.repeat(piece.start[member.astype(np.int64)], lengths) + shift]
    every = np.unique(item * count + np.repeat(np.repeat(groups, sizes), lengths))
    start = np.searchsorted(every, np.arange(piece.own_start.size) * count)
    return start.astype(np.int64), every % count


def neighbour(part: Part, pool: Pool, group: int, component: int) -> int:
    """Member of a group that shares an item with a component."""
    piece = part.piece
    inside = set(pool.member[pool.begin[group] : pool.begin[group + 1]].tolist())
    for thing in piece.item[piece.start[component] : piece.start[component + 1]].tolist():
        for other in piece.own[piece.own_start[thing] : piece.own_start[thing + 1]].tolist():
            if other in inside:
                return int(other)
    return component


def beam(task: Task, part: Part, width: int, most: int, clock: Clock, *, in_part: bool = False) -> Path | None:
    """Find at most ``most`` joins that make one group of a part, keeping the ``width`` largest groups of each price.

    With ``in_part`` the joins of the largest group are returned if time is over. Takes time of the order of joins times
    width times the components near a group.
    """
    piece = part.piece
    desk = new_desk(part.piece)
    pool = singles(part)
    n_items = part.piece.own_start.size - 1
    steps: list[tuple[IntArray, IntArray]] = []
    parent, added, cover = np.zeros((3, min(4 * width * max(part.blocks.size, 16), JOINS_UP_TO)), np.int64)
    while len(steps) < most and not clock.over():
        count = int(task.form(gains)(piece, desk, pool, parent, added, cover))
        clock.spend(worked(desk))
        if count == 0:
            return None
        best = np.argsort(-cover[:count], kind="stable")[: 2 * width]
        if cover[best[0]] == n_items:
            return _path(part, _chain(steps, int(parent[best[0]]), [int(added[best[0]])]))
        into = new_pool(width, width * min(part.blocks.size, 2 * int(cover[best[0]])))
        task.form(make)(piece, desk, pool, into, parent[best], added[best])
        pool = into
        steps.append((pool.parent.copy(), pool.added.copy()))
    return _path(part, _chain(steps, 0, [])) if in_part and steps else None


def _chain(steps: list[tuple[IntArray, IntArray]], group: int, last: list[int]) -> list[int]:
    """Components in the order in which they joined, the seed first."""
    chain = last
    for parent, added in reversed(steps):
        chain.append(int(added[group]))
        group = int(parent[group])
    return [group, *reversed(chain)]


def _path(part: Part, chain: list[int]) -> Path:
    """Pair each component with a member of the group before it that shares an item; the seed is first."""
    piece = part.piece
    desk = new_desk(part.piece)
    path = []
    for component in chain:
        for thing in piece.item[piece.start[component] : piece.start[component + 1]].tolist():
            if desk.covered[thing]:
                owners = piece.own[piece.own_start[thing] : piece.own_start[thing + 1]].tolist()
                path.append((next(other for other in owners if desk.inside[other]), component))
                break
        done = int(desk.size[TRAIL])
        put.python(desk, component)
        take_in.python(piece, desk, done)
    return path


# The price of the fringe of the contracted graph, and the remaining pieces.
#
# Lemma. Let A be the items that two parts S and R of the components share, |A| at most 2. Then the fewest joins satisfy
# ``joins(S and R) = joins(S) + joins(R) + 2 - |A|``.
#
# So a component that shares a items with the others, a at most 2, costs 2 - a reviews and may be removed, which may
# leave others with at most two shared items; and pieces that share nothing cost 2 reviews each, but one.
# ``docs/explanation/planning.md`` has the proof.

#: Entries times items of a part up to which its last merge is tested for waste: a second or two.
WASTE_UP_TO = 4_000_000


@dataclass(frozen=True, eq=False)
class Part:
    """Connected piece in which every component shares three items or more with the others.

    ``blocks`` are the blocks of the task that its components are, ``piece`` the renumbered components and shared items,
    ``links`` its degrees of freedom. It takes ``least`` reviews: its links, 1, or what merges without waste cost, plus
    one for the last.
    """

    blocks: IntArray
    piece: Piece
    links: int
    least: int


@dataclass(frozen=True)
class Reduction:
    """Contracted graph in parts, by smallest item, and ``fringe`` reviews for what hangs on them."""

    fringe: int
    parts: tuple[Part, ...]


def reduce(task: Task) -> Reduction:
    """Take a task apart. Time is linear in the entries, plus that of the pebble game on the parts."""
    count = task.start.size
    owner = task.block_labels(task.start)[task.start.block[:count]]
    item = task.start.item[:count]
    large = task.start.cover[owner] > 1
    # Distinct pairs, since fixed reviews may have merged blocks.
    owner, item = np.divmod(np.unique(owner[large] * task.n_items + item[large]), task.n_items)
    loose = task.n_items - int(np.unique(item).size)
    covers: dict[int, list[int]] = {}
    for block, thing in zip(owner.tolist(), item.tolist(), strict=True):
        covers.setdefault(block, []).append(thing)
    if not covers:  # the group must grow from a single paper, or from nothing
        return Reduction(task.n_items - int(task.start.cover.max(initial=0)), ())
    hanging, kept = peel(covers)
    pieces = sorted(_pieces(kept), key=lambda blocks: min(min(kept[block]) for block in blocks))
    parts = tuple(_part(kept, blocks) for blocks in pieces)
    return Reduction(loose + hanging + 2 * max(len(parts) - 1, 0), parts)


def peel(covers: dict[int, list[int]]) -> tuple[int, dict[int, list[int]]]:
    """Remove components of at most two shared items; return their price, and the others with shared items only.

    >>> peel({0: [1, 2, 3], 1: [3, 4, 5], 2: [5, 6]})
    (2, {})
    """
    owners: dict[int, set[int]] = {}
    for block, things in covers.items():
        for thing in things:
            owners.setdefault(thing, set()).add(block)
    left = dict.fromkeys(sorted(covers))
    price = 0
    todo = sorted(covers, reverse=True)
    while todo and len(left) > 1:
        block = todo.pop()
        shared = [thing for thing in covers[block] if len(owners[thing]) > 1]
        if block not in left or len(shared) > 2:
            continue
        price += 2 - len(shared)
        del left[block]
        for thing in covers[block]:
            owners[thing].discard(block)
            todo += sorted(owners[thing])
    if len(left) < 2:
        return price, {}
    return price, {block: sorted(thing for thing in covers[block] if len(owners[thing]) > 1) for block in left}


def _pieces(covers: dict[int, list[int]]) -> list[list[int]]:
    """Return the blocks of each connected piece, ascending."""
    table = _table(list(covers.values()))
    pieces: dict[int, list[int]] = {}
    for block, piece in zip(covers, connected_components(table).labels.tolist(), strict=True):
        pieces.setdefault(piece, []).append(block)
    return list(pieces.values())


def _table(covers: list[list[int]]) -> Reviews:
    """Return covers as reviews, with the items renumbered."""
    owner = np.repeat(np.arange(len(covers)), list(map(len, covers)))
    names, item = np.unique([thing for cover in covers for thing in cover], return_inverse=True)
    return Reviews.from_codes(owner, item, reviewers=len(covers), items=int(names.size))


def _part(covers: dict[int, list[int]], blocks: list[int]) -> Part:
    table = _table([covers[block] for block in blocks])
    order = np.argsort(table.item, kind="stable")
    piece = Piece(
        starts(table.reviewer, len(blocks)),
        table.item,
        starts(table.item[order], table.n_items),
        table.reviewer[order],
    )
    links = recoverability(table).degrees_of_freedom
    return Part(np.array(blocks, np.int64), piece, links, _least(piece, links))


def _least(piece: Piece, links: int) -> int:
    """Links, 1, or N - 2 - sum of (n_c - 2), plus one if every split of the part shares three items."""
    sizes = np.diff(piece.start)
    known = max(links, 1)
    saved = piece.own_start.size - 3 - int((sizes - 2).sum())
    small = piece.item.size * piece.own_start.size <= WASTE_UP_TO
    return saved + 1 if saved >= known and small and _holds_without_two_items(piece) else known


def _holds_without_two_items(piece: Piece) -> bool:
    """Whether the components stay connected without any two items. Takes items times entries."""
    import igraph

    n = piece.start.size - 1
    n_items = piece.own_start.size - 1
    edges = np.column_stack([np.repeat(np.arange(n), np.diff(piece.start)), n + piece.item])
    graph = igraph.Graph(n + n_items, edges.tolist())
    for item in range(n, n + n_items):
        rest = graph.copy()
        rest.delete_vertices(item)
        if not rest.is_connected() or max(rest.articulation_points(), default=-1) >= n:
            return False
    return True
