"""The programmes solved as they are written, by a general solver through CVXPY: slow, and the reference."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from lsc.constraints import Links, equalities, free_ties, inequalities
from lsc.errors import SolverFailed
from lsc.formulation import in_units, out_of_units
from lsc.programme import Minimiser, Programme, Shape
from lsc.programs import state
from lsc.uniqueness import is_unique
from reviewgraph.labels import IntArray
from reviewgraph.reviews import FloatArray

if TYPE_CHECKING:
    import cvxpy as cp
    import scipy.sparse as sp


def minimise(
    programme: Programme,
    *,
    tolerance: float = 1e-10,
    max_iterations: int = 200,
    progress: Callable[[str], None] | None = None,
) -> Minimiser:
    """Solve a programme with CVXPY and Clarabel.

    Where the minimiser is not unique, two more programmes choose among the minimisers, which all have the same noise:
    first the least sum, over reviewers who are not linear, of the squared distances of her qualities from a line in her
    scores; then the least squared distance of all reviews from one common line in the scores.

    Parameters
    ----------
    programme
        What to minimise.
    tolerance
        Of feasibility and duality gap, relative.
    max_iterations
        Of each programme.
    progress
        Told what is going on.

    Raises
    ------
    SolverFailed
        If the solver ends without a solution.

    Examples
    --------
    >>> from reviewgraph import Reviews
    >>> from lsc.formulation import formulate
    >>> programme, _ = formulate(Reviews.from_pairs([(0, 0, 1.0), (0, 1, 2.0), (1, 0, 4.0), (1, 1, 3.0)]))
    >>> round(minimise(programme).objective, 6)
    0.01
    """
    scaled, units = in_units(programme)
    stated = state(scaled)
    tell = progress or (lambda _: None)
    tell("solving the programme")
    problem = stated.problem
    _solve(problem, tolerance, max_iterations)
    quality, noise = stated.quality.value, stated.noise.value
    if not is_unique(scaled, quality, quality[scaled.item] + noise):
        tell("choosing among the minimisers")
        quality = _choose(scaled, quality, noise, tolerance, max_iterations)
    found = Minimiser(
        quality=quality,
        perceived=quality[scaled.item] + noise,
        objective=float(noise @ noise),
        iterations=int(problem.solver_stats.num_iters or 0),
        converged=problem.status == "optimal",
        message=f"{problem.solver_stats.solver_name}: {problem.status}",
    )
    return out_of_units(found, units)


def _solve(problem: cp.Problem, tolerance: float, max_iterations: int) -> None:
    import warnings

    import cvxpy as cp

    accuracy = {f"tol_{what}": tolerance for what in ("gap_abs", "gap_rel", "feas")}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "the solution may be inaccurate": the status says so
            problem.solve(solver=cp.CLARABEL, max_iter=max_iterations, **accuracy)
    except cp.SolverError as error:
        message = f"solver='cvxpy': Clarabel gave up ({error}); use solver='newton'"
        raise SolverFailed(message) from error
    if problem.status not in ("optimal", "optimal_inaccurate", "user_limit") or problem.value is None:
        message = f"solver='cvxpy': expected a solution from Clarabel, found status {problem.status!r}"
        raise SolverFailed(message)
