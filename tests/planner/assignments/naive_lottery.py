"""Lotteries by other means: the best probabilities by cvxpy, and dependent rounding with exact fractions."""

from __future__ import annotations

import warnings
from fractions import Fraction

import networkx as nx
import numpy as np


def best_worth(problem, caps):
    """Largest worth by a linear programme over all probabilities; None where there are none."""
    import cvxpy as cp

    size = problem.item.size
    if not size:
        return None if problem.demand.any() or problem.least.any() else 0.0
    x = cp.Variable(size)
    by_item, by_reviewer = (
        np.equal.outer(np.arange(count), codes).astype(float)
        for count, codes in ((problem.n_items, problem.item), (problem.n_reviewers, problem.reviewer))
    )
    asked = [x >= problem.given.astype(float), x <= np.where(problem.given, 1.0, caps), by_item @ x == problem.demand]
    asked += [by_reviewer @ x <= problem.load, by_reviewer @ x >= problem.least]
    programme = cp.Problem(cp.Maximize(problem.affinity @ x), asked)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "the solution may be inaccurate": the status says so
        programme.solve(solver=cp.CLARABEL)
    return float(programme.value) if programme.status in ("optimal", "optimal_inaccurate") else None


def rounded(pairs, probabilities, rng):
    """Round probabilities of (item, reviewer) pairs, as fractions, along cycles that networkx finds."""
    flow = {(("i", i), ("r", j)): Fraction(x) for (i, j), x in zip(pairs, probabilities, strict=True)}
    for j in {j for _, j in pairs}:
        total = sum(x for (_, head), x in flow.items() if head == ("r", j))
        flow[("r", j), "sink"] = total
    while open_arcs := [arc for arc, x in flow.items() if x.denominator > 1]:
        cycle = nx.find_cycle(nx.Graph(open_arcs))
        signed = [((a, b), 1) if (a, b) in flow else ((b, a), -1) for a, b in (edge[:2] for edge in cycle)]
        rest = [flow[arc] - flow[arc].__floor__() for arc, _ in signed]
        up = min(1 - x if sign > 0 else x for x, (_, sign) in zip(rest, signed, strict=True))
        down = min(x if sign > 0 else 1 - x for x, (_, sign) in zip(rest, signed, strict=True))
        step = up if rng.random() < float(down / (up + down)) else -down
        for arc, sign in signed:
            flow[arc] += sign * step
    return np.array([flow[("i", i), ("r", j)] == 1 for i, j in pairs])
