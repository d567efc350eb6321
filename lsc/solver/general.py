"""The programmes solved as they are written, by a general solver through CVXPY: slow, and the reference."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from lsc.errors import SolverFailed
from lsc.evidence.optimality import residuals
from lsc.evidence.uniqueness import is_unique, middle_levels
from lsc.model.constraints import equalities, free_ties, inequalities, pick
from lsc.model.hypotheses import CLASSES
from lsc.model.programme import Minimiser, Programme
from lsc.model.units import in_units, out_of_units
from lsc.programs import state
from reviewgraph.results import Progress
from reviewgraph.reviews import FloatArray

if TYPE_CHECKING:
    import cvxpy as cp

#: By class: whether its scoring functions are straight lines.
STRAIGHT = np.array([kind.straight for kind in CLASSES])


def minimise(
    programme: Programme,
    *,
    tolerance: float = 1e-10,
    max_iterations: int = 200,
    progress: Callable[[Progress], object] | None = None,
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
    if not is_unique(scaled, quality, quality[scaled.item] + noise):
        quality = _choose(scaled, quality, noise, tolerance, max_iterations)
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


def _choose(
    programme: Programme, quality: FloatArray, noise: FloatArray, tolerance: float, max_iterations: int
) -> FloatArray:
    """Return, among the qualities that go with this noise, those nearest to lines, then to one common line."""
    import cvxpy as cp

    x = cp.Variable(programme.n_items, name="quality")
    same = _same_noise(programme, x, quality, noise)
    off_line = _distances_from_lines(programme, x)
    if off_line is not None:
        _solve(cp.Problem(cp.Minimize(cp.sum_squares(off_line)), same), tolerance, max_iterations)
        same = [*same, off_line == off_line.value]
    slope, offset = cp.Variable(), cp.Variable()
    off_common = pick(programme.item, programme.n_items) @ x - slope * programme.score - offset
    least, most = float(programme.lower.min()), float(programme.upper.max())
    within = [slope == least] if least == most else [slope >= least]
    within += [slope <= most] if least < most < np.inf else []
    _solve(cp.Problem(cp.Minimize(cp.sum_squares(off_common)), [*same, *within]), tolerance, max_iterations)
    return np.asarray(x.value, np.float64)


def _same_noise(programme: Programme, x: cp.Variable, quality: FloatArray, noise: FloatArray) -> list[cp.Constraint]:
    """Return the constraints with the noise given, loosened by as much as the solution at hand violates them."""
    import cvxpy as cp

    item = pick(programme.item, programme.n_items)
    perceived = item @ quality + noise
    same = [rows.matrix @ item @ x == rows.matrix @ item @ quality for rows in equalities(programme)]
    for rows in inequalities(programme):
        met = rows.matrix @ perceived
        same.append(rows.matrix @ item @ x >= np.minimum(rows.low, met) - rows.matrix @ noise)
    if loose := free_ties(programme):
        level, middle = cp.Variable(loose[0].on_level.shape[1]), middle_levels(loose, perceived)
        for above in loose:
            met = above.matrix @ perceived + above.on_level @ middle
            moved = above.matrix @ item @ x + above.on_level @ level
            same.append(moved >= np.minimum(above.low, met) - above.matrix @ noise)
    known = np.flatnonzero(programme.is_reference)
    return [*same, x[known] == programme.reference[known]] if known.size else same


def _distances_from_lines(programme: Programme, x: cp.Variable) -> cp.Expression | None:
    """Return how far the qualities of every reviewer who need not be linear are from a line in her scores."""
    import cvxpy as cp

    loads = np.diff(programme.start)
    owner = np.repeat(np.arange(loads.size), loads)
    highest = np.full(loads.size, -np.inf)
    highest[owner] = programme.score  # ascending, so the last one stays
    bent = ~STRAIGHT[programme.kind] & (loads > 0)
    bent[bent] &= highest[bent] > programme.score[programme.start[:-1][bent]]
    review = np.flatnonzero(bent[owner])
    if not review.size:
        return None
    whose = pick(owner[review], loads.size)
    slope, offset = cp.Variable(loads.size), cp.Variable(loads.size)
    height = programme.score[review] - programme.score[programme.start[owner[review]]]
    return pick(programme.item[review], programme.n_items) @ x - cp.multiply(height, whose @ slope) - whose @ offset
