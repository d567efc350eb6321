"""Groups that few joins make: plans by a beam of them, and the proof that no plan is shorter by all of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.plans.proof import group_kernels as kernels
from planner.plans.proof.group_kernels import (
    DONE,
    FOUND,
    FULL,
    GROUPS,
    PAUSE,
    STEPS,
    TRAIL,
    Desk,
    Pool,
    new_desk,
    new_pool,
)
from reviewgraph.kernels.compiling import POLICY

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.plans.model.task import Task
    from planner.plans.proof.fringe import Part
    from reviewgraph.clock import Clock
    from reviewgraph.kernels.compiling import Kernel
    from reviewgraph.labels import IntArray

    #: Joins as pairs of components of a part.
    Path = list[tuple[int, int]]

#: Members of groups that are kept at most, over all prices: 0.4 gigabytes.
MEMBERS_UP_TO = 100_000_000
#: Joins that a beam compares at once.
JOINS_UP_TO = 4_000_000
#: Steps of a kernel between two looks at the clock.
WORK = 200_000
#: Work, see :class:`reviewgraph.clock.Clock`, of one component looked at.
STEP = 35e-9
#: Seconds that listing the next level takes as plain Python for each member of the last.
MEMBER = 1e-3


@dataclass
class Levels:
    """All groups of a part by price: pool c holds what c joins make.

    Parameters
    ----------
    task, part
        What is planned, and the part of it.
    desk
        The part as arrays, with room for the kernels to work.
    pools
        The groups of each price.
    value
        Reviews the part takes at least; exactly so many once there is a ``path``.
    path
        Joins that make one group of the part.
    looked_at
        Groups listed.
    seconds
        What listing the next level takes as plain Python.
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
        """What the next level takes, roughly."""
        return int(self.pools[-1].begin[self.pools[-1].size[GROUPS]])

    @property
    def is_full(self) -> bool:
        """Whether the next level would take too much room, growing as the last did."""
        before = self.pools[max(len(self.pools) - 2, 0)]
        growth = self.effort / max(int(before.begin[before.size[GROUPS]]), 1)
        return self.effort * (1 + growth) > MEMBERS_UP_TO

    def form(self, kernel: Kernel[..., Any]) -> Any:
        """Return the form of a kernel that suits the task and the size of the last level."""
        return kernel.compiled if POLICY.pays(kernel, self.seconds) else self.task.form(kernel)

    def rise(self, *, store: bool, clock: Clock) -> bool:
        """List the next level, or with ``store`` false only look whether it ends the search; false if that is too much.

        Source: the lemma on groups of ``docs/explanation/planning.md``.
        """
        level, self.seconds = len(self.pools), MEMBER * self.effort
        self.pools.append(
            new_pool(4 * int(self.pools[-1].size[GROUPS]) + 64, 5 * self.effort + 512) if store else new_pool(1, 1)
        )
        ended = self._extend(level, store=store, clock=clock)
        for small in range(1, level // 2 + 1):
            if ended == DONE:
                ended = self._unite(level, small, store=store, clock=clock)
        self.looked_at += int(self.pools[level].size[GROUPS])
        if ended == DONE:
            self.value = max(self.value, level + 1)
        if ended == FOUND:
            self.value = level
        if ended != DONE or not store:
            del self.pools[level:]
        return ended in (DONE, FOUND)

    def _extend(self, level: int, *, store: bool, clock: Clock) -> int:
        def join(first: int) -> tuple[int, int]:
            return self.form(kernels.extend)(  # type: ignore[no-any-return]
                self.part.piece, self.desk, self.pools[level - 1], self.pools[level], store, first, WORK
            )

        return self._run(join, level, 0, clock)

    def _unite(self, level: int, small: int, *, store: bool, clock: Clock) -> int:
        large, other, earlier = self.pools[level - small], self.pools[small], self.pools[small - 1]
        start, post = postings(self.part, other)

        def join(first: int) -> tuple[int, int]:
            return self.form(kernels.unite)(  # type: ignore[no-any-return]
                *(self.part.piece, self.desk, large, other, earlier, start, post),
                *(self.pools[level], small, store, first, WORK),
            )

        return self._run(join, level, small, clock)

    def _run(self, join: Callable[[int], tuple[int, int]], level: int, small: int, clock: Clock) -> int:
        """Run a kernel to its end; returns how it ended."""
        ended, first = PAUSE, 0
        while ended not in (DONE, FOUND):
            if clock.over() or sum(pool.member.size for pool in self.pools) > MEMBERS_UP_TO:
                return ended
            ended, first = join(first)
            clock.spend(worked(self.desk))
            if ended == FULL:
                self.pools[level] = wider(self.pools[level], self.form(kernels.refill))
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
        """Return joins that make a group."""
        if level == 0:
            return []
        pool = self.pools[level]
        return self._step(level, int(pool.parent[group]), int(pool.added[group]), int(pool.absorbed[group]) - 1)


def new_levels(task: Task, part: Part) -> Levels:
    """Return the levels of a part as far as they are known before any work: each component is a group."""
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
    """Return the work on a desk since this was last asked."""
    steps, desk.size[STEPS] = int(desk.size[STEPS]), 0
    return STEP * steps


def postings(part: Part, pool: Pool) -> tuple[IntArray, IntArray]:
    """List the groups that absorbed something by the items they cover, compressed."""
    piece, count = part.piece, max(int(pool.size[GROUPS]), 1)
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
    """Find joins that make one group of a part, at most ``most``, keeping the ``width`` largest groups of each price.

    With ``in_part`` the joins of the largest group are returned where time is over. Takes time of the order of joins
    times width times the components near a group.
    """
    piece, desk, pool, n_items = part.piece, new_desk(part.piece), singles(part), part.piece.own_start.size - 1
    steps: list[tuple[IntArray, IntArray]] = []
    parent, added, cover = np.zeros((3, min(4 * width * max(part.blocks.size, 16), JOINS_UP_TO)), np.int64)
    while len(steps) < most and not clock.over():
        count = int(task.form(kernels.gains)(piece, desk, pool, parent, added, cover))
        clock.spend(worked(desk))
        if count == 0:
            return None
        best = np.argsort(-cover[:count], kind="stable")[: 2 * width]
        if cover[best[0]] == n_items:
            return _path(part, _chain(steps, int(parent[best[0]]), [int(added[best[0]])]))
        into = new_pool(width, width * min(part.blocks.size, 2 * int(cover[best[0]])))
        task.form(kernels.make)(piece, desk, pool, into, parent[best], added[best])
        pool = into
        steps.append((pool.parent.copy(), pool.added.copy()))
    return _path(part, _chain(steps, 0, [])) if in_part and steps else None


def _chain(steps: list[tuple[IntArray, IntArray]], group: int, last: list[int]) -> list[int]:
    """Components in the order in which they joined: the seed first."""
    found = last
    for parent, added in reversed(steps):
        found.append(int(added[group]))
        group = int(parent[group])
    return [group, *reversed(found)]


def _path(part: Part, chain: list[int]) -> Path:
    """Pair each component with a member of the group before it that it shares an item with; the seed is first."""
    piece, desk, path = part.piece, new_desk(part.piece), []
    for component in chain:
        for thing in piece.item[piece.start[component] : piece.start[component + 1]].tolist():
            if desk.covered[thing]:
                owners = piece.own[piece.own_start[thing] : piece.own_start[thing + 1]].tolist()
                path.append((next(other for other in owners if desk.inside[other]), component))
                break
        done = int(desk.size[TRAIL])
        kernels.put.python(desk, component)
        kernels.take_in.python(piece, desk, done)
    return path
