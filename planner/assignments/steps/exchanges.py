"""Exchanges: two reviewers change places on a paper each; what that does to the expected errors of all papers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner.assignments.model.fitting import fits
from planner.assignments.model.network import flip

if TYPE_CHECKING:
    from planner.assignments.model.problem import Problem
    from planner.assignments.model.state import Network
    from planner.assignments.steps.covariance import Covariance
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import FloatArray

#: Exchanges drawn, those of them that cost least affinity and are judged, and how many at a time.
DRAWN, KEPT, BLOCK = 500_000, 10_000, 4096

#: What sums of losses may exceed a budget by, in parts of the largest loss: rounding.
ROUNDING = 1e-12


class Swaps(NamedTuple):
    """Two reviewers exchange a paper each: pairs ``off`` go, pairs ``on`` come, both of shape (S, 2)."""

    off: IntArray
    on: IntArray
    loss: FloatArray


def candidates(net: Network, problem: Problem, most: float, rng: np.random.Generator) -> Swaps:
    """Draw pairs of reviews whose reviewers could change places, and keep the cheapest, at a loss of ``most`` each."""
    held = np.flatnonzero(net.assigned & ~problem.given)
    if not held.size:
        return Swaps(np.empty((0, 2), np.int64), np.empty((0, 2), np.int64), np.empty(0))
    # Worth of what may be assigned and is not; two reviews change reviewers where both new pairs are of that kind.
    open_pairs = np.full((problem.n_items, problem.n_reviewers), -np.inf)
    open_pairs[problem.item, problem.reviewer] = np.where(net.assigned, -np.inf, problem.worth)
    drawn = held[rng.integers(held.size, size=(2, DRAWN))]
    item, reviewer = problem.item[drawn], problem.reviewer[drawn]
    loss = problem.worth[drawn].sum(axis=0) - open_pairs[item[0], reviewer[1]] - open_pairs[item[1], reviewer[0]]
    scale = float(np.abs(problem.worth).max(initial=0.0))
    fine = np.flatnonzero((loss <= max(most, 1e-12 * scale)) & (item[0] != item[1]))
    if fine.size > KEPT:
        fine = np.sort(fine[np.argpartition(loss[fine], KEPT)[:KEPT]])
    key = problem.item * problem.n_reviewers + problem.reviewer
    on = np.searchsorted(key, (item * problem.n_reviewers + reviewer[::-1])[:, fine])
    return Swaps(drawn[:, fine].T, on.T, loss[fine])


def gains(net: Network, swaps: Swaps, now: Covariance) -> FloatArray:
    """Fall of the summed error variances by each exchange alone, exactly; shape (S,).

    Reviewer a gives paper i for k, b gives k for i. With d = e_k - e_i and s_a, s_b the indicators of their papers,
    precision changes by ``U W U^T`` for ``U = (e_i, e_k, s_a, s_b)``, and by Woodbury's identity the trace falls by
    ``tr((I + W U^T C U)^-1 W U^T G U)`` with C the covariance, ``G = C diag(counts) C``.
    """
    item, reviewer = net.item[swaps.off], net.reviewer[swaps.off]
    square = now.square()
    both = [(matrix, matrix @ now.holds) for matrix in (now.matrix, square)]
    found = np.empty(len(item))
    for first in range(0, len(item), BLOCK):
        part = slice(first, first + BLOCK)
        change = _change(now.within[reviewer[part]], now.share[reviewer[part]])
        inner, outer = (_inner(net, item[part], reviewer[part], *of) for of in both)
        fall = np.linalg.solve(np.eye(4) + change @ inner, change @ outer)
        found[part] = np.trace(fall, axis1=1, axis2=2)
    return found


def _change(within: FloatArray, share: FloatArray) -> FloatArray:
    """Return W for each exchange, shape (S, 4, 4), from what the reviewers a and b weigh, shape (S, 2)."""
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
    found = np.empty((len(item), 4, 4))
    for row in (0, 1):
        for column in (0, 1):
            found[:, row, column] = matrix[item[:, row], item[:, column]]
            found[:, row, 2 + column] = found[:, 2 + column, row] = sums[item[:, row], reviewer[:, column]]
            found[:, 2 + row, 2 + column] = _summed(net, reviewer[:, row], sums, reviewer[:, column])
    return found


def _summed(net: Network, owner: IntArray, sums: FloatArray, column: IntArray) -> FloatArray:
    """Sum a column over the papers of a reviewer, for each of both; every one of them holds a paper."""
    held = net.n_held[owner]
    first = np.concatenate([[0], np.cumsum(held)[:-1]])
    place = np.arange(int(held.sum())) + np.repeat(net.held_start[owner] - first, held)
    return np.add.reduceat(sums[net.item[net.held[place]], np.repeat(column, held)], first)


def make_best(net: Network, swaps: Swaps, merit: FloatArray, budget: float, most: int) -> IntArray:
    """Make exchanges of positive merit, best first, no reviewer or paper twice; returns which."""
    busy_items, busy_people = np.zeros(net.n_panel.size, np.bool_), np.zeros(net.n_held.size, np.bool_)
    made: list[int] = []
    left = budget + ROUNDING * float(np.abs(swaps.loss).max(initial=0.0))
    for s in np.argsort(-merit, kind="stable").tolist():
        if merit[s] <= 0 or len(made) >= most:
            break
        off, on = swaps.off[s], swaps.on[s]
        (i, k), (a, b) = net.item[off].tolist(), net.reviewer[off].tolist()
        if busy_items[i] or busy_items[k] or busy_people[a] or busy_people[b] or swaps.loss[s] > left:
            continue
        if not (fits(net, i, a, b) and fits(net, k, b, a)):
            continue
        flip(net, np.concatenate([off, on]))
        if net.n_rivals[on].any():
            flip(net, np.concatenate([off, on]))
            continue
        busy_items[[i, k]] = busy_people[[a, b]] = True
        made.append(s)
        left -= float(swaps.loss[s])
    return np.array(made, np.int64)
