"""The programme stated one constraint at a time, solved by CVXPY, and its optimality checked without a solver."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from lsc._model.hypotheses import Shape
from tests.lsc.certificates import rows, unexplained

EXACT = {"tol_gap_abs": 1e-13, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}


def limits(programme, j):
    """What reviewer j's class allows: equalities and inequalities, row by row."""
    score = programme.score[programme.start[j] : programme.start[j + 1]]
    shape = Shape(programme.shape[j]).name.lower()
    return rows(score.tolist(), shape, float(programme.lower[j]), float(programme.upper[j]))


def constraints(programme, j):
    """These as ``A p >= a`` and ``B p = b`` over the perceived qualities, dense."""
    equal, at_least = limits(programme, j)
    size = int(programme.start[j + 1] - programme.start[j])
    return _stack(at_least, size), _stack(equal, size)


def _stack(rows, n):
    if not rows:
        return np.zeros((0, n)), np.zeros(0)
    return np.array([left for left, _ in rows]), np.array([right for _, right in rows])


def naive_minimum(programme, solver="CLARABEL", **options):
    """Objective, qualities and perceived qualities by CVXPY."""
    import cvxpy as cp

    n, e = programme.n_items, len(programme.item)
    x, p = cp.Variable(n), cp.Variable(e)
    parts = [constraints(programme, j) for j in range(len(programme.shape))]
    stated = []
    for kind in (0, 1):
        matrix = sp.block_diag([sp.csr_array(part[kind][0]) for part in parts], format="csr")
        right = np.concatenate([part[kind][1] for part in parts])
        if len(right):
            stated.append(matrix @ p >= right if kind == 0 else matrix @ p == right)
    if programme.is_reference.any():
        known = np.flatnonzero(programme.is_reference)
        stated.append(x[known] == programme.reference[known])
    pick = sp.csr_matrix((np.ones(e), (np.arange(e), programme.item)), (e, n))
    problem = cp.Problem(cp.Minimize(cp.sum_squares(p - pick @ x)), stated)
    problem.solve(solver=solver, **options)
    return float(problem.value), x.value, p.value


def violation(programme, perceived):
    """The largest violation of a constraint, in units of perceived quality."""
    worst = 0.0
    for j in range(len(programme.shape)):
        mine = perceived[programme.start[j] : programme.start[j + 1]]
        (a, low), (b, right) = constraints(programme, j)
        for matrix, gap in ((a, low - a @ mine), (b, np.abs(b @ mine - right))):
            if len(gap):
                worst = max(worst, float((gap / np.abs(matrix).sum(axis=1)).max()))
    return worst


def not_normal(programme, quality, perceived, near):
    """How far the residuals are from the normal cones at the perceived qualities: 0 for projections.

    Constraints within ``near`` of holding with equality count as active.
    """
    worst = 0.0
    for j, (start, stop) in enumerate(pairwise(programme.start)):
        mine = perceived[start:stop]
        eps = mine - quality[programme.item[start:stop]]
        worst = max(worst, unexplained(eps, *limits(programme, j), mine, near))
    return worst


def imbalance(programme, quality, perceived):
    """The gradient over the qualities that are not known: sums of residuals, largest in absolute value."""
    residual = quality[programme.item] - perceived
    pull = np.bincount(programme.item, residual, programme.n_items)
    return float(np.abs(np.where(programme.is_reference, 0.0, pull)).max(initial=0.0))
