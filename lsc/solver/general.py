"""The programmes solved as they are written, by a general solver through CVXPY: slow, and the reference."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from lsc.errors import SolverFailed
from lsc.evidence.optimality import residuals
from lsc.model.programme import Minimiser, Programme
from lsc.model.units import in_units, out_of_units
from lsc.programs import state
from reviewgraph.results import Progress

if TYPE_CHECKING:
    import cvxpy as cp


def minimise(
    programme: Programme,
    *,
    tolerance: float = 1e-10,
    max_iterations: int = 200,
    progress: Callable[[Progress], object] | None = None,
) -> Minimiser:
    """Solve a programme with CVXPY and Clarabel; where the minimiser is not unique, any of them is returned.

    Parameters
    ----------
    programme
        What to minimise.
    tolerance
        Of feasibility and duality gap, relative.
    max_iterations
        Of the solver.
    progress
        Called once the programme is solved; the words hold the number of steps and the largest residual.

    Raises
    ------
    SolverFailed
        If the solver ends without a solution.

    Examples
    --------
    >>> from reviewgraph import Reviews
    >>> from lsc.model.formulation import formulate
    >>> programme, _ = formulate(Reviews.from_pairs([(0, 0, 1.0), (0, 1, 2.0), (1, 0, 4.0), (1, 1, 3.0)]))
    >>> round(minimise(programme).objective, 6)
    0.01
    """
    began = time.monotonic()
    scaled, units = in_units(programme)
    stated = state(scaled)
    problem = stated.problem
    _solve(problem, tolerance, max_iterations)
    noise = stated.noise.value
    quality = np.zeros(scaled.n_items) if stated.quality.value is None else stated.quality.value  # None: no constraint
    steps = int(problem.solver_stats.num_iters or 0)
    if progress is not None:
        distance = max(residuals(scaled, quality, quality[scaled.item] + noise))
        progress(Progress(time.monotonic() - began, f"step {steps}, {distance:.1e} from the optimum"))
    found = Minimiser(
        quality=quality,
        perceived=quality[scaled.item] + noise,
        objective=float(noise @ noise),
        iterations=steps,
        converged=problem.status == "optimal",
        message=f"{problem.solver_stats.solver_name}: {problem.status}",
    )
    return out_of_units(found, units)


def _solve(problem: cp.Problem, tolerance: float, max_iterations: int) -> None:
    """Solve to this tolerance or, where rounding forbids it, to the tightest of three that it allows."""
    import warnings

    import cvxpy as cp

    for loosened in (1.0, 10.0, 100.0):
        accuracy = {f"tol_{what}": loosened * tolerance for what in ("gap_abs", "gap_rel", "feas")}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # "the solution may be inaccurate": the status says so
                problem.solve(solver=cp.CLARABEL, max_iter=max_iterations, **accuracy)
        except cp.SolverError:
            continue
        if problem.status == "optimal":
            return
    if problem.status not in ("optimal_inaccurate", "user_limit") or problem.value is None:
        message = f"solver='cvxpy': expected a solution from Clarabel, found status {problem.status!r}; try 'newton'"
        raise SolverFailed(message)
