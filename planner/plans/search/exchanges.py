"""Exchanges of one review at a time that lower the expected error of a group and keep it as large."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from planner.plans.model.reach import information, inside, numbers_a_reviewer, qualities
from planner.plans.model.tables import no_pairs
from planner.plans.search.judge import DENSE

if TYPE_CHECKING:
    from planner.plans.search.judge import Judge
    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import FloatArray, Reviews

#: Items of a group up to which exchanges are sought, and passes over the reviews.
EXCHANGE_UP_TO, PASSES = 600, 3
#: Pairs compared for each exchange; those looked at then, and those of them tried that keep the group.
PAIRS, LOOKED_AT, TRIED = 2_000, 60, 6
#: Work, see :class:`reviewgraph.clock.Clock`, of a pair compared.
EACH = 5e-5
#: An eigenvalue below this, the largest being near the reviews of a paper, is a missing link.
NULL = 1e-9


def sharpened(judge: Judge, pairs: IntArray, most: int, clock: Clock) -> IntArray:
    """Exchange reviews, and add what the budget leaves, as long as the error falls and the group stays as large."""
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
                if now > value:
                    pairs, value = changed, now
        if value == before or clock.over():
            break
    return pairs


def _promising(judge: Judge, rest: IntArray, pairs: IntArray, clock: Clock) -> Iterator[tuple[int, int]]:
    """Pairs after which the group is as large and its papers have the least error, by one step from ``rest``.

    One more review adds ``v v^T`` to ``L``. Where ``L`` has a null vector n that is not a shift or a scale (a missing
    link), the trace of the inverse becomes ``tr L^+ + (1 + v^T L^+ v) / (n^T v)^2``; where it has none, it
    falls by ``|L^+ v|^2 / (1 + v^T L^+ v)``.
    """
    task, least = judge.task, numbers_a_reviewer(scales=judge.target.scales)
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
    for j, i in offered[np.argsort(np.median(draws, axis=0), kind="stable")[:LOOKED_AT]].tolist():
        if tried == TRIED or clock.over():
            return
        if judge.papers(np.concatenate([rest, [(j, i)]])) >= group.size:
            tried += 1
            yield j, i


def _offered(judge: Judge, rest: IntArray, group: IntArray, least: int) -> IntArray:
    """Pairs within the group that may be added to some reviews; a part of them, spread evenly, where there are many."""
    task, table = judge.task, judge.table(rest)
    left = task.left(rest)
    member = np.zeros(task.n_items, np.bool_)
    member[group] = True
    load = np.bincount(table.reviewer[member[table.item]], minlength=table.n_reviewers)
    found = [no_pairs()]
    for j in np.flatnonzero((load >= least) & (left.spare > 0)).tolist():
        free = member & (left.room > 0)
        free[table.items_of(j)] = False
        items = task.constraints.readable(j)
        items = items[free[items]]
        if left.places.any:
            items = items[[not left.full(j, i) for i in items.tolist()]]
        found.append(np.column_stack([np.full(items.size, j), items]))
    pairs = np.concatenate(found)
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
