"""Lotteries by other means: the best probabilities by cvxpy."""

import warnings

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
