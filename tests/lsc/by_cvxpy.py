"""The reference solver: the programme as written, by CVXPY and Clarabel."""

import warnings
from contextlib import suppress
from typing import Any
from unittest import mock

import cvxpy as cp
import numpy as np

import lsc
from lsc._model.formulation import Minimiser, Programme, Units, in_units
from lsc.errors import SolverFailed
from lsc.programs import state
from reviewgraph import Reviews


def calibrate(reviews: Reviews, *arguments: Any, **options: Any) -> lsc.Calibration:
    """Calibrate by the reference solver, whose solutions are not refined."""
    with (
        mock.patch("lsc.calibration._solve", lambda programme, *_: minimise(programme)),
        mock.patch("lsc.calibration._sharper", lambda programme, best, _: best),
    ):
        return lsc.calibrate(reviews, *arguments, **options)


def minimise(programme: Programme, *, max_iterations: int = 200) -> Minimiser:
    """Solve a programme with CVXPY and Clarabel; if the minimiser is not unique, any of them is returned."""
    scaled, units = in_units(programme)
    stated = state(scaled)
    problem = stated.problem
    # To this accuracy or, where rounding prevents it, to 10 or 100 times it.
    for loosened in (1.0, 10.0, 100.0):
        accuracy = {f"tol_{criterion}": loosened * 1e-10 for criterion in ("gap_abs", "gap_rel", "feas")}
        with suppress(cp.SolverError), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "the solution may be inaccurate": the status says so
            problem.solve(solver=cp.CLARABEL, max_iter=max_iterations, **accuracy)
            if problem.status == "optimal":
                break
    if problem.status not in ("optimal", "optimal_inaccurate", "user_limit") or problem.value is None:
        message = f"expected a solution from Clarabel, found status {problem.status!r}"
        raise SolverFailed(message)
    noise = stated.noise.value
    quality = np.zeros(scaled.n_items) if stated.quality.value is None else stated.quality.value  # None: no constraint
    steps = int(problem.solver_stats.num_iters or 0)
    solution = Minimiser(
        quality=quality,
        perceived=quality[scaled.item] + noise,
        objective=float(noise @ noise),
        iterations=steps,
        converged=problem.status == "optimal",
        message=f"{problem.solver_stats.solver_name}: {problem.status}",
    )
    return out_of_units(solution, units)


def out_of_units(minimiser: Minimiser, units: Units) -> Minimiser:
    """Return a minimiser in the units of the programme as written."""
    return minimiser._replace(
        quality=units.origin + units.unit * minimiser.quality,
        perceived=units.origin + units.unit * minimiser.perceived,
        objective=units.unit**2 * minimiser.objective,
    )
