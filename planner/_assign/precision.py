"""Exchanges that cost little or no affinity and reduce the expected errors of the qualities.

Before any score the posterior of the qualities has precision ``I + sum_j F_j`` in units of their spread: I of the
prior, F_j the information of reviewer j with severity and stretch integrated out. Averaged over qualities it is
``w (I - 1 1^T / k) + c 1 1^T / k`` on k papers (:func:`reviewgraph.graph.precision.mean_information`): w is the
information of score differences and c that of the sum. Exchanges are to lower the trace of the inverse, the sum of
error variances. Each is evaluated alone, exactly; they are made in batches, and the trace decides.

As information is averaged before it is inverted, the errors come out a little small: by 0.1 % at the default
assumptions, by 8 % at noise 0.45, severity 1.7 and stretch 0.7 (:func:`reviewgraph.expected_errors` averages after).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner._assign.flow import fits, flip, serves
from reviewgraph._base import TIE, Clock, reaches, smallest, snapped
from reviewgraph.graph import mean_information

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner._assign.core import Core
    from planner._assign.problem import Network, Problem
    from reviewgraph._base import BoolArray, FloatArray, IntArray
    from reviewgraph.graph import Assumptions


# The expected posterior covariance of the qualities under an assignment, averaged information in, before any score.


class Covariance(NamedTuple):
    """``C = (I + sum_j F_j)^-1`` over all papers."""

    matrix: FloatArray  # C, shape (N, N)
    # reviewer, item: who holds which paper, sorted by reviewer, shape (E,)
    reviewer: IntArray
    item: IntArray
    # within, share: ``F_j = within I - share 1 1^T`` on the papers of reviewer j, shape (M,)
    within: FloatArray
    share: FloatArray
    counts: BoolArray  # whose errors are summed, shape (N,)

    @property
    def variances(self) -> FloatArray:
        counted: FloatArray = np.diag(self.matrix)[self.counts]
        return counted

    @property
    def total(self) -> float:
        return float(self.variances.sum())

    def square(self) -> FloatArray:
        """Return ``C diag(counts) C``, shape (N, N)."""
        counted = self.matrix[:, self.counts]
        whole: FloatArray = counted @ counted.T
        return whole

    def sums(self, matrix: FloatArray) -> FloatArray:
        """Return the sums of a matrix over the papers of each reviewer, (N, N) to (N, M)."""
        sums = np.zeros((len(matrix), self.share.size))
        holders, first = np.unique(self.reviewer, return_index=True)
        if holders.size:
            sums[:, holders] = np.add.reduceat(matrix[:, self.item], first, axis=1)
        return sums


def covariance(net: Network, counts: BoolArray, assumptions: Assumptions) -> Covariance:
    """Invert the precision of an assignment in O(N^3); ``counts`` marks the papers whose errors are summed, (N,)."""
    pairs = np.flatnonzero(net.assigned)
    pairs = pairs[np.argsort(net.reviewer[pairs], kind="stable")]
    item = net.item[pairs]
    reviewer = net.reviewer[pairs]
    n_items = counts.size
    within, common = mean_information(net.n_held, assumptions)
    share = (within - common) / np.maximum(net.n_held, 1)
    # Precision: the prior's I, a diagonal by item, and a rank one for each reviewer, on all couples of their papers.
    load = net.n_held[reviewer]
    first = np.searchsorted(reviewer, reviewer)
    other = np.arange(int(load.sum())) + np.repeat(first - np.cumsum(load) + load, load)
    place = np.repeat(item, load) * n_items + item[other]
    shared = np.bincount(place, np.repeat(share[reviewer], load), n_items**2).reshape(n_items, n_items)
    precision = np.diag(1.0 + np.bincount(item, within[reviewer], n_items)) - shared
    # Neither SciPy's sparse matrices nor its inverse from a factor: importing them would take longer than this.
    inverse = np.linalg.inv(precision)
    return Covariance((inverse + inverse.T) / 2, reviewer, item, within, share, counts)


# Exchanges: two reviewers change places on a paper each, and the effect on the expected errors of all papers.

#: Exchanges drawn, those of them that cost least affinity and are evaluated, and the block size.
DRAWN = 500_000
KEPT = 10_000
BLOCK = 4096


class Swaps(NamedTuple):
    """Two reviewers exchange a paper each: pairs ``off`` go, pairs ``on`` come, both of shape (S, 2)."""

    off: IntArray
    on: IntArray
    loss: FloatArray


def candidates(net: Network, problem: Problem, most: float, rng: np.random.Generator) -> Swaps:
    """Draw pairs of reviews whose reviewers could change places, and keep the cheapest, each losing up to ``most``."""
    held = np.flatnonzero(net.assigned & ~problem.given)
    if not held.size:
        return Swaps(np.empty((0, 2), np.int64), np.empty((0, 2), np.int64), np.empty(0))
    # Worth of pairs that are free and not assigned; two reviews change reviewers where both new pairs are so.
    open_pairs = np.full((problem.n_items, problem.n_reviewers), -np.inf)
    open_pairs[problem.item, problem.reviewer] = np.where(net.assigned, -np.inf, problem.worth)
    drawn = held[rng.integers(held.size, size=(2, DRAWN))]
    item = problem.item[drawn]
    reviewer = problem.reviewer[drawn]
    loss = problem.worth[drawn].sum(axis=0) - open_pairs[item[0], reviewer[1]] - open_pairs[item[1], reviewer[0]]
    scale = float(np.abs(problem.worth).max(initial=0.0))
    fine = np.flatnonzero((loss <= max(most, 0.0) + TIE * scale) & (item[0] != item[1]))
    fine = fine[smallest(loss[fine], KEPT, scale)]
    key = problem.item * problem.n_reviewers + problem.reviewer
    on = np.searchsorted(key, (item * problem.n_reviewers + reviewer[::-1])[:, fine])
    return Swaps(drawn[:, fine].T, on.T, loss[fine])


def gains(net: Network, swaps: Swaps, now: Covariance) -> FloatArray:
    """Return the fall of the summed error variances by each exchange alone, exactly; shape (S,).

    Reviewer a gives paper i for k, b gives k for i. With d = e_k - e_i and s_a, s_b the indicators of their papers,
    precision changes by ``U W U^T`` for ``U = (e_i, e_k, s_a, s_b)``, and by Woodbury's identity the trace falls by
    ``tr((I + W U^T C U)^-1 W U^T G U)`` with C the covariance, ``G = C diag(counts) C``.
    """
    item = net.item[swaps.off]
    reviewer = net.reviewer[swaps.off]
    square = now.square()
    both = [(matrix, now.sums(matrix)) for matrix in (now.matrix, square)]
    fall = np.empty(len(item))
    for first in range(0, len(item), BLOCK):
        part = slice(first, first + BLOCK)
        change = _change(now.within[reviewer[part]], now.share[reviewer[part]])
        inner, outer = (_inner(net, item[part], reviewer[part], *of) for of in both)
        solved = np.linalg.solve(np.eye(4) + change @ inner, change @ outer)
        fall[part] = np.trace(solved, axis1=1, axis2=2)
    return fall


def _change(within: FloatArray, share: FloatArray) -> FloatArray:
    """Return W for each exchange, shape (S, 4, 4), from the weights of the reviewers a and b, shape (S, 2)."""
    change = np.zeros((len(within), 4, 4))
    # The diagonal: paper i loses the weight of a and gets that of b, paper k the other way round.
    change[:, 0, 0] = within[:, 1] - within[:, 0]
    change[:, 1, 1] = -change[:, 0, 0]
    # The squares of the indicators: s_a + d in place of s_a, s_b - d in place of s_b.
    d = np.array([-1.0, 1.0, 0.0, 0.0])
    change -= share.sum(axis=1)[:, np.newaxis, np.newaxis] * np.outer(d, d)
    for side, sign in ((0, -1.0), (1, 1.0)):
        cross = np.outer(np.eye(4)[2 + side], d)
        change += sign * share[:, side, np.newaxis, np.newaxis] * (cross + cross.T)
    return change


def _inner(net: Network, item: IntArray, reviewer: IntArray, matrix: FloatArray, sums: FloatArray) -> FloatArray:
    """Return U^T A U for each exchange, shape (S, 4, 4), from A (N, N) and its sums over reviewers' papers (N, M)."""
    products = np.empty((len(item), 4, 4))
    for row in (0, 1):
        for column in (0, 1):
            products[:, row, column] = matrix[item[:, row], item[:, column]]
            products[:, row, 2 + column] = products[:, 2 + column, row] = sums[item[:, row], reviewer[:, column]]
            products[:, 2 + row, 2 + column] = _summed(net, reviewer[:, row], sums, reviewer[:, column])
    return products


def _summed(net: Network, owner: IntArray, sums: FloatArray, column: IntArray) -> FloatArray:
    """Sum a column over the papers of each reviewer; every reviewer holds a paper."""
    held = net.n_held[owner]
    first = np.concatenate([[0], np.cumsum(held)[:-1]])
    place = np.arange(int(held.sum())) + np.repeat(net.held_start[owner] - first, held)
    return np.add.reduceat(sums[net.item[net.held[place]], np.repeat(column, held)], first)


def make_best(net: Network, swaps: Swaps, merit: FloatArray, budget: float, most: int) -> IntArray:
    """Make exchanges of positive merit, best first, no reviewer or paper twice; returns their places."""
    busy_items = np.zeros(net.n_panel.size, np.bool_)
    busy_people = np.zeros(net.n_held.size, np.bool_)
    made: list[int] = []
    remaining = budget + TIE * float(np.abs(swaps.loss).max(initial=0.0))
    for s in np.argsort(-merit, kind="stable").tolist():
        if merit[s] <= 0 or len(made) >= most:
            break
        off = swaps.off[s]
        on = swaps.on[s]
        (i, k) = net.item[off].tolist()
        (a, b) = net.reviewer[off].tolist()
        if busy_items[i] or busy_items[k] or busy_people[a] or busy_people[b] or swaps.loss[s] > remaining:
            continue
        if not (fits(net, i, a, b) and fits(net, k, b, a)):
            continue
        if not (serves(net, i, off[0], on[0]) and serves(net, k, off[1], on[1])):
            continue
        flip(net, np.concatenate([off, on]))
        if net.n_rivals[on].any():
            flip(net, np.concatenate([off, on]))
            continue
        busy_items[[i, k]] = busy_people[[a, b]] = True
        made.append(s)
        remaining -= float(swaps.loss[s])
    return np.array(made, np.int64)


#: Maximum number of papers: every round inverts a matrix of that size.
MOST_ITEMS = 2_000

#: Rounds; part of the remaining budget that a round may give up, and part of the reviews that it may move.
ROUNDS = 40
SPENT = 0.8
MOVED = 0.16

#: Relative fall of the variances in a round for another one to follow.
LEAST = 5e-4

#: Relative fall of the variances by all exchanges for which affinity may be given up; half of it for errors.
WORTH = 2e-3

#: Fee of an exchange in addition to its affinity, relative to the largest: otherwise one that loses nothing and gains
#: nothing would come first.
FEE = 0.003


class Variances(NamedTuple):
    """Error variances of the required papers before and after, and the affinity given up for the difference."""

    before: FloatArray
    after: FloatArray
    lost: float


def improve(
    core: Core,
    problem: Problem,
    budget: float,
    assumptions: Assumptions,
    rng: np.random.Generator,
    holds: Callable[[IntArray], bool],
    clock: Clock,
) -> Variances:
    """Exchange reviews for smaller errors, giving up at most ``budget`` of worth, as long as ``holds`` allows.

    Where errors would fall by less than a thousandth, no affinity is given up. Takes O(N^3) per round, and memory for
    some matrices of N x N and N x M.
    """
    net = core.net
    lost = 0.0
    start = core.net.assigned.copy()
    now = covariance(net, core.required, assumptions)
    before = now.variances
    longest = 0.0
    for _ in range(ROUNDS):
        # A round has no partial result: none is begun that is not likely to end in time.
        if clock.over():
            break
        if clock.left() < longest:
            clock.note_end()
            break
        round_ = Clock(None)
        # Draw exchanges, evaluate each alone, and make those of the largest gain per loss.
        part = SPENT * (budget - lost)
        most = max(int(MOVED * net.assigned.sum() / 2), 1)
        swaps = candidates(net, problem, part, rng)
        if not len(swaps.off):
            break
        merit = _merit(snapped(gains(net, swaps, now), now.total), swaps.loss, problem)
        made = _held(core, swaps, make_best(net, swaps, merit, part, most), holds)
        # Together they must lower the trace; otherwise they are undone, and the search ends.
        then = covariance(net, core.required, assumptions) if made.size else now
        if reaches(then.total, now.total):
            flip(net, _pairs(swaps, made))
            core.regroup()
            break
        lost += float(swaps.loss[made].sum())
        fall = 1.0 - then.total / now.total
        now = then
        if fall < LEAST:
            break
        longest = max(longest, round_.elapsed())
    # A fall that nobody would notice is worth nothing: then the assignment of most affinity stands.
    paid = not reaches(0.0, lost, float(np.abs(problem.worth).max(initial=0.0)))
    if paid and now.variances.mean() > (1.0 - WORTH) * before.mean():
        flip(net, np.flatnonzero(start != net.assigned))
        core.regroup()
        return Variances(before, before, 0.0)
    gone, come = (math.fsum(problem.affinity[pairs].tolist()) for pairs in (start, net.assigned))
    return Variances(before, now.variances, gone - come)


def _merit(gain: FloatArray, loss: FloatArray, problem: Problem) -> FloatArray:
    """Return the gain per loss; ties are equal."""
    fee = FEE * float(np.abs(problem.affinity).max(initial=0.0))
    return snapped(gain / (np.maximum(loss, 0.0) + fee)) if fee > 0 else gain


def _held(core: Core, swaps: Swaps, made: IntArray, holds: Callable[[IntArray], bool]) -> IntArray:
    """Undo the lesser half of exchanges until the level holds; returns those that stay."""
    while made.size:
        if holds(_pairs(swaps, made)):
            return made
        half = made.size // 2
        flip(core.net, _pairs(swaps, made[half:]))
        made = made[:half]
    core.regroup()
    return made


def _pairs(swaps: Swaps, made: IntArray) -> IntArray:
    return np.concatenate([swaps.off[made].ravel(), swaps.on[made].ravel()])
