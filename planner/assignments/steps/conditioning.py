"""Exchanges that cost little or no affinity and make errors of the recovered qualities smaller.

With ``L = sum_j (I - P_j)``, P_j the projection on span(1, x) over the items of reviewer j, noise of variance one
leaves errors of covariance ``L^+`` (:mod:`reviewgraph.precision.conditioning`), which depends on the unknown qualities
x. Over independent normal x the mean of ``I - P_j`` is ``(k - 2) / (k - 1)`` times ``I - 1 1^T / k`` for k items: the
sum is a graph Laplacian, and exchanges are to lower the trace of its inverse. They are ranked by how much they add for
the eigenvectors of the smallest eigenvalues and taken in batches, each judged by the trace itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner.assignments.model.network import fits, flip
from reviewgraph.precision.conditioning import error_variances

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.assignments.model.problem import Problem
    from planner.assignments.steps.grouping import Core
    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import FloatArray

#: Papers up to which it is done: it decomposes a matrix of that size in every round.
MOST_ITEMS = 2_000

#: Rounds, exchanges drawn in each, and eigenvectors by which they are ranked.
ROUNDS, DRAWN, VECTORS = 30, 60_000, 24

#: Share of the reviews that a first batch may move; it is halved after a round in vain, down to 1 / HALVED of it.
BATCH, HALVED = 0.08, 16

#: Part by which the trace must fall for a batch to stay.
LEAST = 1e-4

#: Random qualities over which the expected standard error is the median.
DRAWS = 5


class Swaps(NamedTuple):
    """Two reviewers exchange a paper each: pairs ``off`` go, pairs ``on`` come, both of shape (S, 2)."""

    off: IntArray
    on: IntArray
    loss: FloatArray


def improve(
    core: Core,
    problem: Problem,
    budget: float,
    rng: np.random.Generator,
    holds: Callable[[IntArray], bool],
    clock: Clock,
) -> tuple[float, float]:
    """Exchange reviews for smaller errors, giving up at most so much affinity; returns the errors before and after."""
    start, given, share = core.net.assigned.copy(), 0.0, BATCH
    before = after = standard_error(core)
    value, vector = _decompose(core)
    for _ in range(ROUNDS):
        if clock.over() or share * HALVED < BATCH:
            break
        # Draw exchanges, and rank them by what they add where the present graph is weakest.
        swaps = _candidates(core, problem, budget - given, rng)
        gain = _gains(core, swaps, vector[:, :VECTORS] / value[:VECTORS])
        flipped, lost = _batch(core, swaps, gain, budget - given, max(int(share * core.net.assigned.sum()), 1))
        if not flipped.size:
            break
        # A batch stays if the level holds and the trace of the inverse falls; else it is undone, the next one smaller.
        if holds(flipped):
            now = _decompose(core)
            if (1.0 / now[0]).sum() < (1.0 / value).sum() * (1 - LEAST):
                given, (value, vector) = given + lost, now
                continue
        flip(core.net, flipped)
        core.regroup()
        share /= 2
    if (start != core.net.assigned).any():
        after = standard_error(core)
    # The trace is a mean over qualities: the error itself, at a few of them, has the last word.
    if after > before:
        flip(core.net, np.flatnonzero(start != core.net.assigned))
        core.regroup()
        after = before
    return before, after


def standard_error(core: Core) -> float:
    """Root mean square of the expected standard errors for noise of variance one, median over random qualities."""
    net, inside = core.net, core.grown.covered
    pairs = np.flatnonzero(net.assigned & inside[net.item])
    item = (np.cumsum(inside) - 1)[net.item[pairs]]
    draws = (np.random.default_rng(seed).normal(size=int(inside.sum())) for seed in range(DRAWS))
    return float(np.median([np.sqrt(error_variances(net.reviewer[pairs], item, draw).mean()) for draw in draws]))


def _decompose(core: Core) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues of the Laplacian but the one that vanishes, and eigenvectors, zero for items outside the core."""
    from scipy.linalg import eigh
    from scipy.sparse import csr_array

    net, inside = core.net, core.grown.covered
    pairs = np.flatnonzero(net.assigned & inside[net.item])
    load = np.bincount(net.reviewer[pairs], minlength=net.n_held.size)
    weight = np.maximum(load - 2, 0) / np.maximum(load - 1, 1)
    item, n = (np.cumsum(inside) - 1)[net.item[pairs]], int(inside.sum())
    # L = D - R R^T, with one column of R for each reviewer.
    root = csr_array((np.sqrt(weight / np.maximum(load, 1))[net.reviewer[pairs]], (item, net.reviewer[pairs])))
    root.resize((n, net.n_held.size))
    value, vector = eigh(np.diag(np.bincount(item, weight[net.reviewer[pairs]], n)) - (root @ root.T).toarray())
    spread = np.zeros((inside.size, n - 1))
    spread[inside] = vector[:, 1:]
    return np.maximum(value[1:], 1e-9), spread


def _candidates(core: Core, problem: Problem, budget: float, rng: np.random.Generator) -> Swaps:
    """Draw pairs of reviews whose reviewers could change places, at a loss within the budget."""
    net, n_reviewers = core.net, core.net.n_held.size
    # Two reviews drawn at random change reviewers where both new pairs are candidates.
    held = np.flatnonzero(net.assigned & ~problem.given)
    off = held[rng.integers(held.size, size=(DRAWN, 2))] if held.size else np.empty((0, 2), np.int64)
    key = problem.item * n_reviewers + problem.reviewer
    wanted = problem.item[off] * n_reviewers + problem.reviewer[off[:, ::-1]]
    on = np.minimum(np.searchsorted(key, wanted), max(key.size - 1, 0))
    loss = problem.affinity[off].sum(axis=1) - problem.affinity[on].sum(axis=1)
    scale = float(np.abs(problem.affinity).max(initial=0.0))
    fine = (key[on] == wanted).all(axis=1) & ~net.assigned[on].any(axis=1) & (loss <= max(budget, 1e-12 * scale))
    fine &= problem.item[off[:, 0]] != problem.item[off[:, 1]]
    return Swaps(off[fine], on[fine], np.maximum(loss[fine], 0.0))


def _gains(core: Core, swaps: Swaps, vector: FloatArray) -> FloatArray:
    """Growth of ``w^T L w`` by each exchange, summed over columns w; both reviewers keep their numbers of items."""
    net = core.net
    item, reviewer = net.item[swaps.off], net.reviewer[swaps.off]
    pairs, load = np.flatnonzero(net.assigned), np.maximum(net.n_held, 3)
    sums = np.zeros((net.n_held.size, vector.shape[1]))
    np.add.at(sums, net.reviewer[pairs], vector[net.item[pairs]])
    square, gain = (vector**2).sum(axis=1), np.zeros(len(item))
    weight = np.where(net.n_held > 2, (load - 2) / (load - 1), 0.0)
    # w^T L_j w = weight (sum of squares - square of the sum / load): only the two sums of an exchange change.
    for first in range(0, len(item), 4096):
        part = slice(first, first + 4096)
        for side in (0, 1):
            j, old, new = reviewer[part, side], item[part, side], item[part, 1 - side]
            then = sums[j] - vector[old] + vector[new]
            centre = ((then**2).sum(axis=1) - (sums[j] ** 2).sum(axis=1)) / load[j]
            gain[part] += weight[j] * (square[new] - square[old] - centre)
    return gain


def _batch(core: Core, swaps: Swaps, gain: FloatArray, budget: float, most: int) -> tuple[IntArray, float]:
    """Make the best exchanges, no reviewer or paper twice; returns the pairs flipped and the affinity lost."""
    net, lost = core.net, 0.0
    price = 1.0 + swaps.loss * (most / budget) if budget > 0 else np.ones(gain.size)
    busy_items, busy_people = np.zeros(core.required.size, np.bool_), np.zeros(net.n_held.size, np.bool_)
    flipped: list[int] = []
    for s in np.argsort(-gain / price, kind="stable").tolist():
        if gain[s] <= 0 or len(flipped) >= 4 * most:
            break
        off, on = swaps.off[s], swaps.on[s]
        (i, k), (a, b) = net.item[off].tolist(), net.reviewer[off].tolist()
        if busy_items[i] or busy_items[k] or busy_people[a] or busy_people[b] or lost + swaps.loss[s] > budget + 1e-9:
            continue
        if not (fits(net, i, a, b) and fits(net, k, b, a)):
            continue
        flip(net, np.concatenate([off, on]))
        busy_items[[i, k]] = busy_people[[a, b]] = True
        flipped += [*off.tolist(), *on.tolist()]
        lost += float(swaps.loss[s])
    return np.array(flipped, np.int64), lost
