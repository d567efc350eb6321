"""Which of several best fits is returned: the one nearest to straight lines, and then to one common line.

The noise of all minimisers is the same, so they are a polyhedron of qualities. Two quadratic programmes over it choose
one of its points by the scores alone, whatever reviewers and items are called and however a solver came there.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsc._model.formulation import (
    Minimiser,
    Programme,
    equalities,
    free_ties,
    in_units,
    inequalities,
    out_of_units,
    pick,
)
from lsc._model.hypotheses import classes
from lsc.errors import SolverFailed
from lsc.evidence.optimality import residuals
from lsc.evidence.support import middle_levels
from lsc.programs import state
from reviewgraph._base.arrays import FloatArray
from reviewgraph._base.results import Progress

if TYPE_CHECKING:
    import cvxpy as cp
    import scipy.sparse as sp


#: Accuracies to ask for, one after the other where rounding forbids the tighter.
TOLERANCES = (1e-13, 1e-11, 1e-9)
MAX_ITERATIONS = 300


class Face(NamedTuple):
    """``equal @ v == right``, ``rising @ v >= low`` over v: qualities first, and more variables after them."""

    equal: sp.csr_array
    right: FloatArray
    rising: sp.csr_array
    low: FloatArray

    def widened(self, more: int) -> Face:
        """Return the face over so many more variables, which are free."""
        import scipy.sparse as sp

        equal, rising = (
            sp.hstack([rows, sp.csr_array((rows.shape[0], more))], format="csr") for rows in (self.equal, self.rising)
        )
        return self._replace(equal=equal, rising=rising)

    def with_equal(self, matrix: sp.csr_array, right: FloatArray) -> Face:
        """Return the face with more equations."""
        import scipy.sparse as sp

        return self._replace(
            equal=sp.vstack([self.equal, matrix], format="csr"), right=np.concatenate([self.right, right])
        )

    def with_rising(self, matrix: sp.csr_array, low: FloatArray) -> Face:
        """Return the face with more inequalities."""
        import scipy.sparse as sp

        return self._replace(rising=sp.vstack([self.rising, matrix], format="csr"), low=np.concatenate([self.low, low]))


def nearest_to_lines(programme: Programme, found: Minimiser) -> Minimiser:
    """Return, among the minimisers of a programme, the one nearest to lines, then to one common line.

    First the least sum, over reviewers who are not linear, of the squared distances of her qualities from a line in her
    scores; then the least squared distance of all reviews from one common line in the scores.

    Parameters
    ----------
    programme, found
        The programme, and any of its minimisers: it stays as it is where Clarabel ends without a solution.

    Examples
    --------
    >>> from reviewgraph import Reviews
    >>> from lsc._model.formulation import formulate
    >>> programme, _ = formulate(Reviews.from_pairs([("ann", "p1", 1.0), ("ann", "p2", 2.0), ("bob", "p3", 1.0)]))
    >>> x = np.array([0.0, 0.1, 0.7])
    >>> chosen = nearest_to_lines(programme, Minimiser(x, x[programme.item], 0.0, 0, True, "optimal")).quality
    >>> bool(abs(chosen[2] - chosen[0]) < 1e-6)  # one line through all scores
    True
    """
    scaled, units = in_units(programme)
    quality, perceived = ((place - units.origin) / units.unit for place in (found.quality, found.perceived))
    chosen = _nearest(scaled, quality, perceived)
    if chosen is None:
        return found
    noise = found.perceived - found.quality[programme.item]
    moved = units.origin + units.unit * chosen
    moved[programme.is_reference] = programme.reference[programme.is_reference]
    return found._replace(quality=moved, perceived=moved[programme.item] + noise)


def _nearest(programme: Programme, quality: FloatArray, perceived: FloatArray) -> FloatArray | None:
    """Return the qualities, in units in which scores are of the order of one."""
    import scipy.sparse as sp

    size, face, start = programme.n_items, _face(programme, quality, perceived), quality
    item = pick(programme.item, size)
    lines = _own_lines(programme, item)
    if lines is not None:
        lines, face = _beside(lines, face, size)
        moved = _least(lines, face, start)
        if moved is None:
            return None
        start, face = moved, face.with_equal(lines, lines @ moved)
    line = sp.csr_array(np.column_stack([-programme.score, -np.ones(programme.item.size)]))
    common, face = _beside(sp.hstack([item, line], format="csr"), face, size)
    chosen = _least(common, _bounded(face, programme), start)
    return None if chosen is None else chosen[:size]


def _beside(distance: sp.csr_array, face: Face, size: int) -> tuple[sp.csr_array, Face]:
    """Return distances over qualities and variables of their own, and a face, over the variables of both."""
    import scipy.sparse as sp

    between = sp.csr_array((distance.shape[0], face.equal.shape[1] - size))
    wide = sp.hstack([distance[:, :size], between, distance[:, size:]], format="csr")
    return wide, face.widened(distance.shape[1] - size)


def _bounded(face: Face, programme: Programme) -> Face:
    """Return a face whose last variable but one, the slope of the common line, lies within the bounds of all."""
    low, high, width = float(programme.lower.min()), float(programme.upper.max()), face.equal.shape[1]
    slope = pick(np.array([width - 2]), width)
    if low == high:
        return face.with_equal(slope, np.array([low]))
    face = face.with_rising(slope, np.array([low]))
    return face.with_rising(-slope, np.array([-high])) if high < np.inf else face


def _face(programme: Programme, quality: FloatArray, perceived: FloatArray) -> Face:
    """Return the constraints with the noise given, loosened by as much as the solution at hand violates them."""
    import scipy.sparse as sp

    item = pick(programme.item, programme.n_items)
    noise = perceived - quality[programme.item]
    loose = free_ties(programme)
    levels = loose[0].on_level.shape[1] if loose else 0
    none = sp.csr_array((0, programme.n_items + levels))

    def widen(matrix: sp.csr_array, on_level: sp.csr_array | None = None) -> sp.csr_array:
        beside = sp.csr_array((matrix.shape[0], levels)) if on_level is None else on_level
        return sp.hstack([matrix @ item, beside], format="csr")

    equal, right, rising, low = [none], [np.empty(0)], [none], [np.empty(0)]
    for rows in equalities(programme):
        equal.append(widen(rows.matrix))
        right.append(rows.matrix @ quality[programme.item])
    for rows in inequalities(programme):
        rising.append(widen(rows.matrix))
        low.append(np.minimum(rows.low, rows.matrix @ perceived) - rows.matrix @ noise)
    middle = middle_levels(loose, perceived)
    for above in loose:
        rising.append(widen(above.matrix, above.on_level))
        met = above.matrix @ perceived + above.on_level @ middle
        low.append(np.minimum(above.low, met) - above.matrix @ noise)
    known = np.flatnonzero(programme.is_reference)
    equal.append(pick(known, programme.n_items + levels))
    right.append(programme.reference[known])
    return Face(
        sp.vstack(equal, format="csr"), np.concatenate(right), sp.vstack(rising, format="csr"), np.concatenate(low)
    )


def _own_lines(programme: Programme, item: sp.csr_array) -> sp.csr_array | None:
    """Return how far the qualities of reviewers who need not be linear are from a line in their scores.

    Over qualities, slopes and offsets, (N + 2M,); None without such reviewers.
    """
    import scipy.sparse as sp

    loads = np.diff(programme.start)
    owner = np.repeat(np.arange(loads.size), loads)
    highest = np.full(loads.size, -np.inf)
    highest[owner] = programme.score  # ascending, so the last one stays
    bent = ~np.array([kind.straight for kind in classes()])[programme.kind] & (loads > 0)
    bent[bent] &= highest[bent] > programme.score[programme.start[:-1][bent]]
    review = np.flatnonzero(bent[owner])
    if not review.size:
        return None
    whose = pick(np.searchsorted(np.flatnonzero(bent), owner[review]), int(bent.sum()))
    height = programme.score[review] - programme.score[programme.start[owner[review]]]
    return sp.hstack([item[review], -sp.diags_array(height) @ whose, -whose], format="csr")


def _least(distance: sp.csr_array, face: Face, start: FloatArray) -> FloatArray | None:
    """Minimise squared distances over a face, from a point on, zeros for those that lack; None if that fails."""
    import clarabel
    import scipy.sparse as sp

    # Moves from a solution rather than places: what is zero stays zero to the last digit.
    zero = np.zeros(distance.shape[1])
    zero[: start.size] = start
    far = sp.csc_array(distance)
    square, linear = sp.csc_matrix(sp.triu(far.T @ far)), far.T @ (far @ zero)
    matrix = sp.csc_matrix(sp.vstack([face.equal, -face.rising]))
    values = np.concatenate([face.right - face.equal @ zero, face.rising @ zero - face.low])
    cones = [clarabel.ZeroConeT(face.right.size), clarabel.NonnegativeConeT(face.low.size)]
    for tolerance in TOLERANCES:
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.max_iter = MAX_ITERATIONS
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
        found = clarabel.DefaultSolver(square, linear, matrix, values, cones, settings).solve()
        if str(found.status) == "Solved":
            break
    if str(found.status) not in ("Solved", "AlmostSolved"):
        return None
    return zero + np.asarray(found.x, np.float64)


# The programmes solved as they are written, by a general solver through CVXPY: slow, and the reference.


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
    >>> from lsc._model.formulation import formulate
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
