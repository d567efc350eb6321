"""Groups that few joins make: plans by a beam of them, and the proof that no plan is shorter by all of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from planner._plans.kernels.listing import (
    Desk,
    Piece,
    Pool,
    Postings,
    add,
    extend,
    gains,
    lay_out,
    make,
    new_desk,
    new_pool,
    unite,
    wider,
)
from planner._plans.task import Task, largest_cover
from reviewgraph._base import Clock, IntArray, spread, starts
from reviewgraph.graph import connected_components, recoverability
from reviewgraph.table import Reviews

if TYPE_CHECKING:
    Path = list[tuple[int, int]]

#: Maximum number of members of all stored groups, over all prices: 0.4 gigabytes.
MEMBERS_UP_TO = 100_000_000
#: Joins that a beam compares at once.
JOINS_UP_TO = 4_000_000
#: Steps of a kernel between two readings of the clock.
WORK = 200_000
#: Work, see :class:`reviewgraph._base.clock.Clock`, per component visited.
STEP = 35e-9
#: How the listing of a level ended: all done, a group covers everything, or there was no time or room.
DONE = 0
FOUND = 1
STOPPED = 2


@dataclass
class Levels:
    """All groups of a part by price: pool c holds the groups that c joins make.

    The part takes at least ``value`` reviews, exactly that number once ``path`` holds joins that make one group of it.
    ``looked_at`` counts the groups listed.
    """

    part: Part
    desk: Desk
    pools: list[Pool] = field(default_factory=list)
    value: int = 1
    path: Path | None = None
    looked_at: int = 0

    @property
    def effort(self) -> int:
        """Approximate work of the next level."""
        return int(self.pools[-1].begin[self.pools[-1].groups])

    @property
    def is_full(self) -> bool:
        """Whether the next level would take too much room, growing as the last did."""
        before = self.pools[max(len(self.pools) - 2, 0)]
        growth = self.effort / max(int(before.begin[before.groups]), 1)
        return self.effort * (1 + growth) > MEMBERS_UP_TO

    def rise(self, *, store: bool, clock: Clock) -> bool:
        """List the next level, or with ``store`` false only test whether it ends the search; false if too large.

        Source: the lemma on groups of ``docs/explanation/planning.md``.
        """
        level = len(self.pools)
        room = (4 * self.pools[-1].groups + 64, 5 * self.effort + 512) if store else (1, 1)
        self.pools.append(new_pool(*room))
        # First the joins with one component, then the unions of two groups whose prices add up to the level.
        ended = DONE
        for small in range(level // 2 + 1):
            if ended == DONE:
                ended = self._list(level, small, store=store, clock=clock)
        self.looked_at += self.pools[level].groups
        if ended == DONE:
            self.value = max(self.value, level + 1)
        if ended == FOUND:
            self.value = level
        if ended != DONE or not store:
            del self.pools[level:]
        return ended in (DONE, FOUND)

    def _list(self, level: int, small: int, *, store: bool, clock: Clock) -> int:
        """List joins with one component, or unions with groups of price ``small`` if above 0; return how it ended."""
        piece = self.part.piece
        pool = self.pools[level - max(small, 1)]
        posted = postings(self.part, self.pools[small]) if small else None
        first = 0
        while not clock.over() and sum(len(held.member) for held in self.pools) <= MEMBERS_UP_TO:
            into = self.pools[level]
            if posted is None:
                first = extend(piece, self.desk, pool, into, store, first, WORK)
            else:
                cheaper = self.pools[small], self.pools[small - 1], posted
                first = unite(piece, self.desk, pool, *cheaper, into, small, store, first, WORK)
            clock.spend(worked(self.desk))
            if into.found:
                self.path = self._step(level, into.last_parent, into.last_added, small)
                return FOUND
            if first == pool.groups:
                return DONE
            if into.full:
                self.pools[level] = wider(into)
        return STOPPED

    def _step(self, level: int, parent: int, added: int, small: int) -> Path:
        """Return joins that make a group from its parent and a component, or a group of price ``small``."""
        if added < 0:
            return self.joins(level - small, parent) + self.joins(small, -1 - added)
        return [*self.joins(level - 1, parent), (neighbour(self.part, self.pools[level - 1], parent, added), added)]

    def joins(self, level: int, group: int) -> Path:
        if level == 0:
            return []
        pool = self.pools[level]
        return self._step(level, pool.parent[group], pool.added[group], pool.absorbed[group] - 1)


def new_levels(part: Part) -> Levels:
    """Return the first level of a part: each component is a group."""
    return Levels(part, new_desk(part.piece), [singles(part)], part.least)


def singles(part: Part) -> Pool:
    """Return the groups of one component."""
    count = part.blocks.size
    pool = new_pool(count, count)
    np.asarray(pool.member)[:] = np.arange(count)
    np.asarray(pool.begin)[:] = np.arange(count + 1)
    np.asarray(pool.added)[:] = np.arange(count)
    pool.groups = count
    return pool


def worked(desk: Desk) -> float:
    """Return the work on a desk since the last call."""
    steps = desk.steps
    desk.steps = 0
    return STEP * steps


def postings(part: Part, pool: Pool) -> Postings:
    """List the groups that absorbed something by the items they cover."""
    count = max(pool.groups, 1)
    groups = np.flatnonzero(np.asarray(pool.absorbed)[: pool.groups])
    sizes = np.diff(pool.begin)[groups]
    member = np.asarray(pool.member)[spread(np.asarray(pool.begin)[groups], sizes)].astype(np.int64)
    lengths = np.diff(part.piece.start)[member]
    item = np.asarray(part.piece.item)[spread(np.asarray(part.piece.start)[member], lengths)]
    every = np.unique(item * count + np.repeat(np.repeat(groups, sizes), lengths))
    start = np.searchsorted(every, np.arange(len(part.piece.own_start)) * count)
    hits, last = np.zeros((2, count), np.int64)
    return Postings(start=start.astype(np.int64), group=every % count, hits=hits, last=last)


def neighbour(part: Part, pool: Pool, group: int, component: int) -> int:
    """Member of a group that shares an item with a component."""
    desk = new_desk(part.piece)
    lay_out(part.piece, desk, pool, group)
    return add(part.piece, desk, component)


def beam(part: Part, width: int, most: int, clock: Clock) -> Path | None:
    """Find at most ``most`` joins that make one group of a part, keeping the ``width`` largest groups of each price.

    Takes time of the order of joins times width times the components near a group.
    """
    piece = part.piece
    desk = new_desk(piece)
    pool = singles(part)
    n_items = len(piece.own_start) - 1
    steps: list[tuple[IntArray, IntArray]] = []
    parent, added, cover = np.zeros((3, min(4 * width * max(part.blocks.size, 16), JOINS_UP_TO)), np.int64)
    while len(steps) < most and not clock.over():
        count = gains(piece, desk, pool, parent, added, cover)
        clock.spend(worked(desk))
        if count == 0:
            return None
        best = np.argsort(-cover[:count], kind="stable")[: 2 * width]
        if cover[best[0]] == n_items:
            return _path(part, _chain(steps, int(parent[best[0]]), [int(added[best[0]])]))
        into = new_pool(width, width * min(part.blocks.size, 2 * int(cover[best[0]])))
        make(piece, desk, pool, into, parent[best], added[best])
        pool = into
        steps.append((np.asarray(pool.parent), np.asarray(pool.added)))
    return None


def _chain(steps: list[tuple[IntArray, IntArray]], group: int, last: list[int]) -> list[int]:
    """Components in the order in which they joined, the seed first."""
    chain = last
    for parent, added in reversed(steps):
        chain.append(int(added[group]))
        group = int(parent[group])
    return [group, *reversed(chain)]


def _path(part: Part, chain: list[int]) -> Path:
    """Pair each component with a member of the group before it that shares an item; the seed is first."""
    desk = new_desk(part.piece)
    joins = [(add(part.piece, desk, component), component) for component in chain]
    return joins[1:]


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
    owner, item = task.start.entries()
    large = task.start.sizes()[owner] > 1
    # Distinct pairs, since fixed reviews may have merged blocks.
    owner, item = np.divmod(np.unique(owner[large] * task.n_items + item[large]), task.n_items)
    loose = task.n_items - int(np.unique(item).size)
    covers: dict[int, list[int]] = {}
    for block, thing in zip(owner.tolist(), item.tolist(), strict=True):
        covers.setdefault(block, []).append(thing)
    if not covers:  # the group must grow from a single paper, or from nothing
        return Reduction(task.n_items - largest_cover(task.start), ())
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
    saved = len(piece.own_start) - 3 - int((sizes - 2).sum())
    small = len(piece.item) * len(piece.own_start) <= WASTE_UP_TO
    return saved + 1 if saved >= known and small and _holds_without_two_items(piece) else known


def _holds_without_two_items(piece: Piece) -> bool:
    """Whether the components stay connected without any two items. Takes items times entries."""
    import igraph

    n = len(piece.start) - 1
    n_items = len(piece.own_start) - 1
    edges = np.column_stack([np.repeat(np.arange(n), np.diff(piece.start)), n + np.asarray(piece.item)])
    graph = igraph.Graph(n + n_items, edges.tolist())
    for item in range(n, n + n_items):
        rest = graph.copy()
        rest.delete_vertices(item)
        if not rest.is_connected() or max(rest.articulation_points(), default=-1) >= n:
            return False
    return True
