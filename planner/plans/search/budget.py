"""The best few reviews when the target is out of reach of a budget.

maximise    the papers in the largest group at the level of the target, then
minimise    their expected error, then the number of reviews, then their cost
subject to  the constraints, and at most ``allowed`` reviews

Where there are few sets of reviews all are tried. Elsewhere cascades that stop at the budget, and a whole plan in the
order in which its reviews help most, make the group; exchanges one review at a time then lower the error.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from planner.plans.check.verifying import allowed_pairs, with_extra
from planner.plans.model.reach import LEVELS, Reach, expected_error, information, inside, largest_group, qualities
from planner.plans.search import cascading
from planner.plans.words import effects

if TYPE_CHECKING:
    from planner.plans.model.task import Task
    from planner.plans.plan import Target
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import FloatArray, Reviews

#: Reviews of a partial plan where no budget was set and time ran out.
AT_MOST = 64
#: Pairs and sets of reviews up to which all sets are tried.
LISTED, SETS = 5_000, 3_000
#: Cascades tried, more and more at random.
CASCADES = 8
#: Items of a group up to which exchanges are sought, and passes over the reviews.
EXCHANGE_UP_TO, PASSES = 600, 3
#: Pairs compared for each exchange; those looked at then, and those of them tried that keep the group.
PAIRS, LOOKED_AT, TRIED = 2_000, 60, 6
#: An eigenvalue below this, the largest being near the reviews of a paper, is a missing link.
NULL = 1e-9
#: Errors above this many times the noise of a score are not told apart: such papers are not placed at all.
FAR_OFF = 50
#: Digits after the point in which errors are compared.
DIGITS = 9


@dataclass
class Judge:
    """What some reviews are worth: compare :meth:`worth`, the larger the better."""

    task: Task
    target: Target
    use_scores: bool

    def table(self, pairs: IntArray) -> Reviews:
        """Return existing, fixed and these reviews; by scores, those that count."""
        rules = self.task.constraints
        found = with_extra(rules.reviews, np.concatenate([rules.fixed, pairs]), use_scores=self.use_scores)
        return found.only_scored() if self.use_scores else found

    def papers(self, pairs: IntArray) -> int:
        """Papers in the largest group."""
        if self.target == "double" and not self.use_scores:
            return int(self.task.after(pairs).cover.max(initial=0))
        return largest_group(self.table(pairs), self.target, use_scores=self.use_scores).size

    def worth(self, pairs: IntArray) -> tuple[int, float, int, float]:
        """Papers, error, reviews and cost, so that more is better."""
        table = self.table(pairs)
        group = largest_group(table, self.target, use_scores=self.use_scores)
        error = expected_error(table, group, self.target)
        cost = sum(self.task.constraints.cost_of(j, i) for j, i in pairs.tolist())
        return group.size, -round(error or 0.0, DIGITS), -len(pairs), -cost

    @cached_property
    def allowed(self) -> IntArray:
        """Shape (K, 2): pairs that may be added, one by one."""
        rules = self.task.constraints
        table = with_extra(rules.reviews, rules.fixed)
        pairs = allowed_pairs(rules, table, self.task.spare)
        return pairs[self.task.room[pairs[:, 1]] > 0]


def best_few(
    task: Task, target: Target, whole: IntArray | None, allowed: int | None, until: float, *, use_scores: bool = False
) -> tuple[IntArray, bool]:
    """Return the best reviews within a budget that were found, and whether all sets were tried.

    Parameters
    ----------
    task, target
        What is planned.
    whole
        A plan that reaches the target with more reviews, if one is known.
    allowed
        Reviews at most; None where time ran out without a plan.
    until
        On the clock of :func:`time.monotonic`.
    use_scores
        Whether tied scores carry no scale.
    """
    length = task.start.item.size - int(task.start.entries[0]) - 2
    most = min(length, AT_MOST if allowed is None else allowed)
    judge = Judge(task, target, use_scores)
    if int((task.spare > 0).sum()) * task.n_items <= LISTED and _sets(len(judge.allowed), most) <= SETS:
        return _try_all(judge, most, until)
    found = whole[:most] if whole is not None else np.empty((0, 2), np.int64)
    try:
        found = _grown(judge, whole, most, until)
        found = _sharpened(judge, found, most, until)
    except KeyboardInterrupt:
        pass
    return found, False


def _sets(pairs: int, most: int) -> int:
    return sum(comb(pairs, size) for size in range(min(most, 8) + 1))


def _try_all(judge: Judge, most: int, until: float) -> tuple[IntArray, bool]:
    """Try every set of reviews within the constraints; errors are compared among those of most papers only."""
    best = -1
    kept: list[IntArray] = []
    for pairs in _subsets(judge, most):
        papers = judge.papers(pairs)
        if papers > best:
            best, kept = papers, []
        if papers == best:
            kept.append(pairs)
        if time.monotonic() > until:
            return kept[0], False
    chosen, value = kept[0], judge.worth(kept[0])
    for pairs in kept[1:]:
        if time.monotonic() > until:
            return chosen, False
        now = judge.worth(pairs)
        if now > value:
            chosen, value = pairs, now
    return chosen, True


def _subsets(judge: Judge, most: int) -> Iterator[IntArray]:
    """Give the sets of allowed pairs within loads and limits, smaller ones first, by index."""
    pairs = [tuple(pair) for pair in judge.allowed.tolist()]
    spare, room = judge.task.spare.tolist(), judge.task.room.tolist()

    def extend(first: int, size: int, chosen: list[tuple[int, ...]]) -> Iterator[IntArray]:
        if size == 0:
            yield np.array(chosen, np.int64).reshape(-1, 2)
            return
        for k in range(first, len(pairs)):
            j, i = pairs[k]
            if spare[j] > 0 and room[i] > 0:
                spare[j] -= 1
                room[i] -= 1
                yield from extend(k + 1, size - 1, [*chosen, (j, i)])
                spare[j] += 1
                room[i] += 1

    for size in range(min(most, len(pairs)) + 1):
        yield from extend(0, size, [])


def _grown(judge: Judge, whole: IntArray | None, most: int, until: float) -> IntArray:
    """Reviews that let the largest group grow: the better of a whole plan's first ones and cascades that stop."""
    task = judge.task
    options = [np.empty((0, 2), np.int64)]
    if whole is not None:
        options.append(whole[effects.by_effect(task, whole)][:most])
    if judge.target == "connected":
        options.append(_joined_pieces(judge, most))
    else:
        for seed in range(CASCADES):
            options.append(
                cascading.begin(task, most, seed, 4 * seed, lambda: time.monotonic() < until)[0].pairs[:most]
            )
            if time.monotonic() > until:
                break
    return max(options, key=judge.papers)


def _joined_pieces(judge: Judge, most: int) -> IntArray:
    """Join the largest piece to the next largest that may be joined, one review each."""
    from reviewgraph.components import connected_components

    task = judge.task
    none = np.empty((0, 2), np.int64)
    table = judge.table(none)
    pieces = connected_components(table)
    spare, room = task.spare.copy(), task.room.copy()
    sizes = np.diff(pieces.cover_start)
    order = np.argsort(-sizes, kind="stable").tolist()
    main, chosen = order[:1], list[tuple[int, int]]()
    for piece in order[1:]:
        if len(chosen) == most:
            break
        pair = _link(judge, pieces.labels, pieces.item_labels, main, piece, spare, room)
        if pair is not None:
            chosen.append(pair)
            spare[pair[0]] -= 1
            room[pair[1]] -= 1
            main.append(piece)
    return np.array(chosen, np.int64).reshape(-1, 2)


def _link(
    judge: Judge, who: IntArray, what: IntArray, main: list[int], piece: int, spare: IntArray, room: IntArray
) -> tuple[int, int] | None:
    """Find a review by one of two sides of an item of the other."""
    for readers, items in ((main, [piece]), ([piece], main)):
        things = np.flatnonzero(np.isin(what, items) & (room > 0)).tolist()
        for j in np.flatnonzero(np.isin(who, readers) & (spare > 0)).tolist():
            for i in things:
                if judge.task.constraints.may_read(j, i):
                    return j, i
    return None


def _sharpened(judge: Judge, pairs: IntArray, most: int, until: float) -> IntArray:
    """Exchange reviews, and add what the budget leaves, as long as the error falls and the group stays as large."""
    value = judge.worth(pairs)
    if value[0] > EXCHANGE_UP_TO:
        return pairs
    for _ in range(PASSES):
        before = value
        for place in [*range(len(pairs)), *[-1] * (most - len(pairs))]:
            rest = np.delete(pairs, place, axis=0) if place >= 0 else pairs
            for pair in _promising(judge, rest, pairs, until):
                changed = np.insert(rest, place if place >= 0 else len(rest), pair, axis=0)
                now = judge.worth(changed)
                if now > value:
                    pairs, value = changed, now
        if value == before or time.monotonic() > until:
            break
    return pairs


def _promising(judge: Judge, rest: IntArray, pairs: IntArray, until: float) -> Iterator[tuple[int, int]]:
    """Pairs after which the group is as large and its papers have the least error, by one step from ``rest``.

    One more review adds ``v v^T`` to ``L``. Where ``L`` has a null vector n that is not a shift or a scale (a missing
    link), the trace of the inverse becomes ``tr L^+ + (1 + v^T L^+ v) / (n^T v)^2``; where it has none, it
    falls by ``|L^+ v|^2 / (1 + v^T L^+ v)``.
    """
    task, least = judge.task, 1 if judge.target == "connected" else 2
    group = largest_group(judge.table(pairs), judge.target, use_scores=judge.use_scores)
    table = judge.table(rest)
    owner, item = inside(table, group, least)
    offered = _offered(judge, rest, group, least)
    if not owner.size or not len(offered) or time.monotonic() > until:
        return
    draws = []
    for quality in qualities(task.n_items, judge.target, group.size)[:, group]:
        vectors = _new_rows(table, group, offered, quality)
        draws.append(_traces(information(owner, item, quality), quality, vectors))
    tried = 0
    for j, i in offered[np.argsort(np.median(draws, axis=0), kind="stable")[:LOOKED_AT]].tolist():
        if tried == TRIED or time.monotonic() > until:
            return
        if judge.papers(np.concatenate([rest, [(j, i)]])) >= group.size:
            tried += 1
            yield j, i


def _offered(judge: Judge, rest: IntArray, group: IntArray, least: int) -> IntArray:
    """Pairs within the group that may be added to some reviews; a part of them, spread evenly, where there are many."""
    task, table = judge.task, judge.table(rest)
    spare = task.spare - np.bincount(rest[:, 0], minlength=task.spare.size)
    room = task.room - np.bincount(rest[:, 1], minlength=task.room.size)
    member = np.zeros(task.n_items, np.bool_)
    member[group] = True
    load = np.bincount(table.reviewer[member[table.item]], minlength=table.n_reviewers)
    found = []
    for j in np.flatnonzero((load >= least) & (spare > 0)).tolist():
        free = member & (room > 0)
        free[table.items_of(j)] = False
        items = task.constraints.readable(j)
        found += [(j, i) for i in items[free[items]].tolist()]
    pairs = np.array(found, np.int64).reshape(-1, 2)
    return pairs[:: len(pairs) // PAIRS + 1]


def _new_rows(table: Reviews, group: IntArray, offered: IntArray, quality: FloatArray) -> FloatArray:
    """Shape (N, K): the unit vector that each offered review adds to the equations of its reviewer."""
    place = np.full(table.n_items, -1, np.int64)
    place[group] = np.arange(group.size)
    vectors = np.zeros((group.size, len(offered)))
    for k, (j, i) in enumerate(offered.tolist()):
        own = place[table.items_of(j)]
        own = own[own >= 0]
        x, new = quality[own], quality[place[i]]
        square = float(((x - x.mean()) ** 2).sum())
        tilt = (new - x.mean()) * (x - x.mean()) / square if square > 0 else 0.0
        vectors[own, k] = -(1.0 / own.size + tilt)
        vectors[place[i], k] = 1.0
    unit: FloatArray = vectors / np.linalg.norm(vectors, axis=0)
    return unit


def _traces(whole: FloatArray, quality: FloatArray, vectors: FloatArray) -> FloatArray:
    """Shape (K,): trace of the inverse after one more row; infinite where a link stays missing."""
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
    found: FloatArray = np.full(across.size, np.inf)
    useful = across > NULL
    found[useful] = trace + spread[useful] / across[useful] if missing == 1 else -across[useful]
    return found


def how_far(target: Target, reach: tuple[Reach, Reach], allowed: int | None, count: int, sure: bool) -> list[str]:
    """Say how far a partial plan of ``count`` reviews gets, and whether it is sure that none gets further."""
    before, after = reach
    limit = "these" if allowed is None else f"{count} extra {'review' if count == 1 else 'reviews'}"
    grows = f"grows from {before.papers} to" if after.papers != before.papers else "stays at"
    said = [f"with {limit} the largest group of papers {LEVELS[target]} {grows} {after.papers} of {after.of}"]
    if after.error is not None and np.isfinite(after.error) and after.papers > 2:
        now = "" if before.error is None or before.papers <= 2 else f" (before: {_times(before.error)})"
        said.append(
            f"expected error of a paper in that group: {_times(after.error)} times the noise of one score{now}, "
            "shift and scale of all scores aside"
        )
    if sure:
        said.append("all choices within the budget were tried, and none does better")
    return said


def _times(error: float) -> str:
    return f"{error:.2g}" if error < FAR_OFF else f"over {FAR_OFF}"
