"""Exchanges of one review at a time that lower the expected error of a group and keep it as large."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from planner._plans.constraints import as_pairs, no_pairs
from planner._plans.target import expected_error, information, inside, numbers_a_reviewer, qualities
from planner._plans.task import allowed_pairs, looked_at
from reviewgraph._base import Clock, order_of, outranks

if TYPE_CHECKING:
    from planner._plans.target import Target
    from planner._plans.task import Task
    from reviewgraph._base import Clock, FloatArray, IntArray
    from reviewgraph.table import Reviews


#: Work, see :class:`reviewgraph._base.clock.Clock`, of dense algebra, per cube of the items of a group.
DENSE = 2e-8


@dataclass
class Judge:
    """Value of partial plans: compare :meth:`worth`, the larger the better."""

    task: Task
    target: Target
    clock: Clock | None = None

    def table(self, pairs: IntArray) -> Reviews:
        """Return existing, fixed and these reviews; by scores, those that count."""
        table = self.task.table(pairs)
        return table.only_scored() if self.task.use_scores else table

    def papers(self, pairs: IntArray) -> int:
        return self.target.papers(self.task, pairs, self.clock)

    def group(self, table: Reviews) -> IntArray:
        return self.target.largest_group(table, use_scores=self.task.use_scores)

    def worth(self, pairs: IntArray) -> tuple[float, ...]:
        """Papers, error, reviews and cost, signed so that larger is better."""
        table = self.table(pairs)
        group = self.group(table)
        error = expected_error(table, group, scales=self.target.scales)
        if self.clock is not None:
            self.clock.spend(looked_at(table) + DENSE * group.size**3)
        return self.papers(pairs), -(error or 0.0), -len(pairs), -self.task.constraints.price_of(pairs)

    @cached_property
    def allowed(self) -> IntArray:
        """Shape (K, 2): pairs that may be added, one by one."""
        return allowed_pairs(self.task)


#: Items of a group up to which exchanges are sought, and passes over the reviews.
EXCHANGE_UP_TO = 600
PASSES = 3
#: Pairs compared for each exchange; the best of them examined; and those tried that keep the group.
PAIRS = 2_000
LOOKED_AT = 60
TRIED = 6
#: Work, see :class:`reviewgraph._base.clock.Clock`, per pair compared.
EACH = 5e-5
#: An eigenvalue below this, the largest being near the reviews of a paper, is a missing link.
NULL = 1e-9


def sharpened(judge: Judge, pairs: IntArray, most: int, clock: Clock) -> IntArray:
    """Exchange reviews, and add what the budget leaves, while the error falls and the group stays as large."""
    if clock.over() or judge.papers(pairs) > EXCHANGE_UP_TO:
        return pairs
    value = judge.worth(pairs)
    for _ in range(PASSES):
        before = value
        for place in [*range(len(pairs)), *[-1] * (most - len(pairs))]:
            if clock.over():
                return pairs
            rest = np.delete(pairs, place, axis=0) if place >= 0 else pairs
            for pair in _promising(judge, rest, pairs, clock):
                changed = np.insert(rest, place if place >= 0 else len(rest), pair, axis=0)
                now = judge.worth(changed)
                if outranks(now, value):
                    pairs = changed
                    value = now
        if value == before or clock.over():
            break
    return pairs


def _promising(judge: Judge, rest: IntArray, pairs: IntArray, clock: Clock) -> Iterator[tuple[int, int]]:
    """Yield pairs after which the group is as large and its papers have the least error, by one step from ``rest``.

    One more review adds ``v v^T`` to ``L``. If ``L`` has a null vector n that is not a shift or a scale (a missing
    link), the trace of the inverse becomes ``tr L^+ + (1 + v^T L^+ v) / (n^T v)^2``; otherwise it falls by ``|L^+ v|^2
    / (1 + v^T L^+ v)``.
    """
    task = judge.task
    least = numbers_a_reviewer(scales=judge.target.scales)
    group = judge.group(judge.table(pairs))
    table = judge.table(rest)
    owner, item = inside(table, group, least)
    offered = _offered(judge, rest, group, least)
    if not owner.size or not len(offered) or clock.over():
        return
    draws = []
    for quality in qualities(task.n_items, group.size, scales=judge.target.scales)[:, group]:
        vectors = _new_rows(table, group, offered, quality)
        draws.append(_traces(information(owner, item, quality), quality, vectors))
        clock.spend(DENSE * group.size**3 + EACH * len(offered))
    tried = 0
    for j, i in offered[order_of(np.median(draws, axis=0))[:LOOKED_AT]].tolist():
        if tried == TRIED or clock.over():
            return
        if judge.papers(np.concatenate([rest, [(j, i)]])) >= group.size:
            tried += 1
            yield j, i


def _offered(judge: Judge, rest: IntArray, group: IntArray, least: int) -> IntArray:
    """Pairs within the group that may be added to some reviews; an evenly spaced sample if there are many."""
    task = judge.task
    table = judge.table(rest)
    left = task.left(rest)
    member = np.zeros(task.n_items, np.bool_)
    member[group] = True
    load = np.bincount(table.reviewer[member[table.item]], minlength=table.n_reviewers)
    chunks = [no_pairs()]
    for j in np.flatnonzero((load >= least) & (left.spare > 0)).tolist():
        free = member & (left.room > 0)
        free[table.items_of(j)] = False
        items = task.constraints.readable(j)
        items = items[free[items]]
        if left.places.any:
            items = items[[not left.full(j, i) for i in items.tolist()]]
        chunks.append(np.column_stack([np.full(items.size, j), items]))
    pairs = np.concatenate(chunks)
    return pairs[:: len(pairs) // PAIRS + 1]


def _new_rows(table: Reviews, group: IntArray, offered: IntArray, quality: FloatArray) -> FloatArray:
    """Shape (N, K): the unit vector that each offered review adds to the equations of its reviewer."""
    place = np.full(table.n_items, -1, np.int64)
    place[group] = np.arange(group.size)
    vectors = np.zeros((group.size, len(offered)))
    for k, (j, i) in enumerate(offered.tolist()):
        places = place[table.items_of(j)]
        places = places[places >= 0]
        x = quality[places]
        new = quality[place[i]]
        square = float(((x - x.mean()) ** 2).sum())
        tilt = (new - x.mean()) * (x - x.mean()) / square if square > 0 else 0.0
        vectors[places, k] = -(1.0 / places.size + tilt)
        vectors[place[i], k] = 1.0
    unit: FloatArray = vectors / np.linalg.norm(vectors, axis=0)
    return unit


def _traces(whole: FloatArray, quality: FloatArray, vectors: FloatArray) -> FloatArray:
    """Shape (K,): trace of the inverse after one more row; infinite if a link stays missing."""
    columns = np.column_stack([np.ones(quality.size), quality - quality.mean()])
    basis, _ = np.linalg.qr(columns if np.ptp(quality) > 0 else columns[:, :1])
    value, axes = np.linalg.eigh(whole + basis @ basis.T)
    sound = value > NULL * value[-1]
    along = axes.T @ vectors
    solved = along[sound] / value[sound, np.newaxis]
    spread = 1.0 + (along[sound] * solved).sum(axis=0)
    trace = float((1.0 / value[sound]).sum())
    missing = int((~sound).sum())
    if missing == 0:
        after: FloatArray = trace - (solved**2).sum(axis=0) / spread
        return after
    across = (along[~sound] ** 2).sum(axis=0)
    traces: FloatArray = np.full(across.size, np.inf)
    useful = across > NULL
    traces[useful] = trace + spread[useful] / across[useful] if missing == 1 else -across[useful]
    return traces


# The best few reviews if the budget does not suffice for the target.
#
# maximise    the papers in the largest group at the level of the target, then
# minimise    their expected error, then the number of reviews, then their cost
# subject to  the constraints, and at most ``allowed`` reviews
#
# If there are few sets of reviews all are tried. Otherwise cascades that stop at the budget, and a complete plan in the
# order in which its reviews help most, make the group; exchanges one review at a time then lower the error.

#: Reviews of a partial plan if no budget was set and time ran out.
AT_MOST = 64
#: The same by scores, times reviews of the table: describing each of them takes a closure of all.
BY_SCORES = 500_000
#: Pairs and sets of reviews up to which all sets are tried.
LISTED = 5_000
SETS = 3_000


def best_few(
    task: Task, target: Target, whole: IntArray | None, allowed: int | None, clock: Clock
) -> tuple[IntArray, bool]:
    """Return the best reviews found within a budget, and whether all sets were tried.

    ``whole`` is a plan that reaches the target with more reviews, or a partial one, if known; ``allowed`` is None if
    time ran out without a plan.
    """
    if allowed is None:
        allowed = max(most_without_budget(task), 0 if whole is None else len(whole))
    most = min(task.start.room, allowed)
    judge = Judge(task, target, clock)
    if task.candidates_up_to <= LISTED:
        n_sets = sum(comb(len(judge.allowed), size) for size in range(min(most, 8) + 1))
        if n_sets <= SETS:
            return _try_all(judge, most, clock)
    pairs = whole[:most] if whole is not None else no_pairs()
    with suppress(KeyboardInterrupt, Clock.Over):
        pairs = _grown(judge, whole, most, clock)
        pairs = sharpened(judge, pairs, most, clock)
    return pairs, False


def most_without_budget(task: Task) -> int:
    """Return the maximum number of reviews of a partial plan without a budget."""
    if not task.use_scores:
        return AT_MOST
    return min(AT_MOST, max(BY_SCORES // max(task.constraints.reviews.n_reviews, 1), 1))


def _try_all(judge: Judge, most: int, clock: Clock) -> tuple[IntArray, bool]:
    best = -1
    kept: list[IntArray] = []
    for pairs in _subsets(judge, most):
        papers = judge.papers(pairs)
        if papers > best:
            best = papers
            kept = []
        if papers == best:
            kept.append(pairs)
        if clock.over():
            return kept[0], False
    chosen = kept[0]
    value = judge.worth(kept[0])
    for pairs in kept[1:]:
        if clock.over():
            return chosen, False
        now = judge.worth(pairs)
        if outranks(now, value):
            chosen = pairs
            value = now
    return chosen, True


def _subsets(judge: Judge, most: int) -> Iterator[IntArray]:
    """Yield the sets of allowed pairs within loads and limits, smaller ones first, by index."""
    pairs = [tuple(pair) for pair in judge.allowed.tolist()]
    left = judge.task.left(no_pairs())

    def extend(first: int, size: int, chosen: list[tuple[int, ...]]) -> Iterator[IntArray]:
        if size == 0:
            yield as_pairs(chosen)
            return
        for k in range(first, len(pairs)):
            j, i = pairs[k]
            if left.open(j, i):
                left.take(j, i)
                yield from extend(k + 1, size - 1, [*chosen, (j, i)])
                left.give_back(j, i)

    for size in range(min(most, len(pairs)) + 1):
        yield from extend(0, size, [])


def _grown(judge: Judge, whole: IntArray | None, most: int, clock: Clock) -> IntArray:
    """Reviews that grow the largest group: the better of a whole plan's first ones and the target's own starts."""
    task = judge.task
    target = judge.target
    options = [no_pairs()]
    if whole is not None:
        options.append(whole[target.order(task, whole, clock)][:most])
    if whole is None or not clock.over():
        options += target.starts(task, most, clock)
    return max(options, key=judge.papers)
