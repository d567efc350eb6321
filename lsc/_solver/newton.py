"""Semismooth Newton solver of Least Square Calibration, in the qualities alone.

For fixed qualities the optimal perceived qualities are projections, so the programme is the unconstrained minimisation
of ``F(x) = sum_j dist^2(x restricted to the items of j, K_j)``, K_j the set that the class of reviewer j allows. F / 2
is convex with the Lipschitz, piecewise linear gradient ``sum_j (x - P_j x)``; its generalised second derivative is the
sum over reviewers of identity minus the projector on the face of their projection.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from lsc._model.formulation import Minimiser, Programme, order_by_score, tied_up_to_rounding
from lsc._model.hypotheses import LINEAR, Hypothesis
from lsc._solver import newton
from lsc._solver.kernels.lines import Common, Lines
from lsc._solver.passes import (
    Merit,
    Objective,
    Passes,
    Weights,
    centred,
    in_memory,
    inner,
    lines_of,
    of_singles,
    perceived_of_lines,
    reviews_to_keep,
    tabulate,
    unit_slopes,
    with_singles,
    without_singles,
)
from reviewgraph._base import BoolArray, CodeArray, FloatArray, IntArray, Progress
from reviewgraph.parts import Part, Parts, Vectors

#: Stages: weights of the distances from lines in each reviewer's scores and from one line in all raw scores, and the
#: gradient tolerance; from a well-conditioned problem to one whose bias the proximal steps remove.
PATH = ((1e-1, 1e-3, 1e-2), (3e-3, 1e-6, 1e-3), (1e-5, 1e-11, 0.0))
LINEAR_PATH = ((0.0, 1e-6, 0.0),)
#: Linear reviewers usually need a single stage: about seven Newton steps identify the active set of slopes. Where the
#: data determine little (many reviewers of two scores) hundreds are needed; after ``DIRECT_STEPS`` steps a longer path
#: is taken, with directions of accuracy ``LONG_FORCING``. 800 reviewers of 3 scores, a fifth missing: 0.3 s instead of
#: 2 to 11 s.
DIRECT_STEPS = 30
LONG_FORCING = 1e-3
LONG_SHARE = 1e-6
LONG_PATH = (*((0.0, 10.0**-e, 10.0 ** -(e + 1)) for e in range(6)), *LINEAR_PATH)
#: Number of proximal steps, initial weight of the distance, its factor per step, tolerance of the inner gradient
#: relative to that of F; and the minimum weight, below which rounding dominates.
PROXIMAL_STEPS = 30
PROXIMAL_WEIGHT = 1e-8
SHRINK = 0.02
SHARE = 0.8
MIN_WEIGHT = 1e-12
#: Maximum relative change of the objective in the last proximal step: where F is nearly flat, a small gradient alone
#: is no sign of convergence.
OBJECTIVE_TOLERANCE = 1e-9
#: Relative accuracy of the first Newton directions; later ones follow the gradient. Linear reviewers have a
#: well-conditioned matrix and few changes of faces; for others, accurate directions save steps.
LINEAR_FORCING = 0.1
FORCING = 1e-5
#: A gradient below ``ROUNDING`` that does not halve in ``STALLED`` steps has reached its rounding error.
ROUNDING = 1e-11
STALLED = 10
#: Curvature condition of the line search: maximum ratio of the derivatives at its end and at its start.
CURVATURE = 0.5
#: Maximum number of trial steps, relative width of a bracket that ends the search, and a bound on denominators.
MAX_TRIALS = 60
BRACKET_WIDTH = 1e-4
TINY = 1e-300
#: Relative differences of f below this are rounding; the derivative then decides.
VALUE_ROUNDING = 1e-11

#: Default gradient tolerance and maximum number of Newton steps.
TOLERANCE = 1e-9
MAX_ITERATIONS = 1000

#: Callback for progress.
Listener: TypeAlias = Callable[[Progress], object]


class NewtonRun:
    """State of the solver: the point, and the iterations spent."""

    def __init__(self, merit: Objective, x: FloatArray, max_iterations: int, progress: Listener | None) -> None:
        self.merit = merit
        self.x = x
        self.iterations = 0
        self.max_iterations = max_iterations
        self.progress = progress
        self.began = time.monotonic()
        self.stalled = False
        self.forcing = FORCING if merit.bends else LINEAR_FORCING

    def outcome(self, tolerance: float) -> tuple[bool, str]:
        """Return whether the gradient tolerance was met, and the message."""
        residual = self.merit.stationarity
        if residual <= 10.0 * tolerance:
            return True, f"optimal: gradient {residual:.1e} of the data after {self.iterations} Newton steps"
        return False, (
            f"not optimal to {tolerance:.0e}: gradient {residual:.1e} of the data after {self.iterations} Newton "
            "steps; allow more iterations, or use the general solver"
        )

    def descend(self, tolerance: float, share: float = 0.0, steps: int | None = None) -> bool:
        """Inexact Newton steps until the gradient is at most ``tolerance``, or ``share`` of that of F.

        Returns false if ``steps`` steps were not enough.
        """
        merit = self.merit
        first = self.iterations
        eta = forcing = self.forcing
        value, gradient = merit(self.x)
        norm = merit.norm
        best_norm = math.inf
        last_halving = first
        while norm > max(tolerance, share * merit.stationarity) and self.iterations < self.max_iterations:
            if self.iterations - first == steps:
                return False
            # Stop if the gradient has reached its rounding error.
            if norm < 0.5 * best_norm:
                best_norm = norm
                last_halving = self.iterations
            if best_norm <= ROUNDING and self.iterations - last_halving >= STALLED:
                break
            # Forcing terms of Eisenstat and Walker: the linear solve is as accurate as the model,
            goal = max(eta * norm, 0.3 * tolerance) * np.sqrt(merit.common.reviews)
            direction = merit.newton(gradient, goal, 50 + 2 * len(self.x))
            self.x, value, gradient, step = line_search(merit, self.x, value, gradient, direction)
            before = norm
            norm = merit.norm
            # and more so as the gradient decreases superlinearly.
            eta = min(forcing, max(0.1 * forcing, (norm / before) ** 1.5))
            self.iterations += 1
            if self.progress is not None:
                words = f"step {self.iterations}, {merit.stationarity:.1e} from the optimum"
                self.progress(Progress(time.monotonic() - self.began, words))
            self.stalled = step == 0.0
            if self.stalled:
                break
        return True


def line_search(
    merit: Objective, x: FloatArray, value: float, gradient: FloatArray, direction: FloatArray
) -> tuple[FloatArray, float, FloatArray, float]:
    """Line search to a point of sufficient decrease of f where the derivative has lost part of its size.

    The derivative is increasing and piecewise linear in the step: the whole step is taken if it is negative there,
    otherwise its zero is bracketed. A step that ended before the next breakpoint would leave the face, and the next
    direction, unchanged; hence the curvature condition. Returns the new point, f and gradient there, and the step (0 if
    none decreases f).
    """
    derivative = inner(gradient, direction)
    if derivative >= 0.0:
        return x, value, gradient, 0.0
    bracket = _Bracket(derivative)
    for _ in range(MAX_TRIALS):
        point = x + bracket.step * direction
        new_value, new_gradient = merit(point)
        slope = inner(new_gradient, direction)
        falls = new_value <= value + 1e-4 * bracket.step * derivative or abs(new_value - value) <= VALUE_ROUNDING * abs(
            value
        )
        flattened = abs(slope) <= CURVATURE * abs(derivative) or (slope <= 0.0 and bracket.step == 1.0) or bracket.tight
        if falls and flattened:
            return point, new_value, new_gradient, bracket.step
        bracket.narrow(slope)
    new_value, new_gradient = merit(x)
    return x, new_value, new_gradient, 0.0


class _Bracket:
    """Bracket of the zero of an increasing, piecewise linear function, and the next trial step."""

    def __init__(self, derivative: float) -> None:
        self.low = 0.0
        self.low_slope = derivative
        self.high = math.inf
        self.high_slope = math.inf
        self.step = 1.0
        self.width = math.inf

    @property
    def tight(self) -> bool:
        """Whether the bracket is as narrow as rounding allows."""
        return self.high < math.inf and self.high - self.low <= BRACKET_WIDTH * self.high

    def narrow(self, slope: float) -> None:
        """Update the bracket with the function's value at ``step``."""
        trial = -1.0
        if slope > 0.0:
            if self.high < math.inf:  # secant through the last two points above the zero
                trial = self.step - slope * (self.high - self.step) / max(self.high_slope - slope, TINY)
            self.high = self.step
            self.high_slope = slope
        else:
            self.low = self.step
            self.low_slope = slope
        if self.high == math.inf:
            self.step *= 2.0
            return
        width = self.high - self.low
        before = self.width
        self.width = width
        if not self.low < trial < 0.99 * self.high:
            trial = self.low + width * self.low_slope / (self.low_slope - self.high_slope)
            trial = min(max(trial, self.low + 0.02 * width), self.high - 0.05 * width)
        if width > 0.5 * before:  # neither guess halves the bracket: bisect geometrically
            trial = math.sqrt(self.low * self.high) if self.low > 0.0 else 0.1 * self.high
        self.step = trial


def minimise(
    programme: Programme,
    *,
    tolerance: float = TOLERANCE,
    max_iterations: int = MAX_ITERATIONS,
    progress: Listener | None = None,
    start: FloatArray | None = None,
) -> Minimiser:
    """Solve the programme of Least Square Calibration by semismooth Newton with conjugate gradients.

    Qi and Sun (1993), "A nonsmooth version of Newton's method", Mathematical Programming 58; Rockafellar (1976),
    "Monotone operators and the proximal point algorithm", SIAM J. Control Optim. 14, for the last steps. A Newton step
    costs O(E) per product. Perceived qualities satisfy the constraints to rounding. If qualities are not unique, they
    are close to the ones nearest to linear scoring functions, then to one common line of the raw scores.

    Parameters
    ----------
    programme
        See :class:`~lsc._model.formulation.Programme`.
    tolerance
        On the gradient of half the objective, a root mean square over reviews, relative to the spread of the scores
        within reviewers times the lower bound on the slope.
    max_iterations
        Newton steps, over all stages.
    progress
        Called after every Newton step, with the number of steps and the gradient norm.
    start
        Initial qualities, shape (N,), such as a less accurate solution: only the last stage is run. By default the
        average of centred scores.

    Examples
    --------
    Two reviewers, one twice as generous as the other, agree on three items:

    >>> import numpy as np
    >>> found = minimise(Programme(
    ...     n_items=3, start=np.array([0, 3, 6]), item=np.array([0, 1, 2, 0, 1, 2]),
    ...     score=np.array([1.0, 2.0, 4.0, 2.0, 4.0, 8.0]), kind=np.zeros(2, dtype=np.int64),
    ...     lower=np.full(2, 0.1), upper=np.full(2, np.inf),
    ...     is_reference=np.array([True, False, True]), reference=np.array([0.0, 0.0, 3.0])))
    >>> found.quality.round(6).tolist(), found.converged
    ([0.0, 1.0, 3.0], True)
    """
    if len(programme.item) == 0:
        quality = np.where(programme.is_reference, programme.reference, 0.0)
        return Minimiser(quality, np.zeros(0), 0.0, 0, True, "no reviews: nothing to solve")
    linear = bool(np.all(programme.shape == LINEAR))
    lean, keep = without_singles(programme) if linear else (programme, None)
    # In the solver's units, from the average of centred scores or from the given start.
    table, common, units = tabulate(lean)
    fixed = np.ascontiguousarray(lean.is_reference, dtype=np.bool_)
    degree = np.asarray(common.degree)
    average = np.bincount(table.item, table.score, lean.n_items) / np.maximum(degree, 1.0)
    begin = average if start is None else (start - units.origin) / units.unit
    begin = np.where(fixed, (lean.reference - units.origin) / units.unit, begin)
    merit: Merit | Passes
    if linear:
        merit = Passes(in_memory(table, lean.n_items), len(table.kind), common, fixed)
    else:
        merit = Merit(table, common, fixed)
    run = descend(merit, begin, tolerance, max_iterations, progress, last_stage_only=start is not None)
    perceived = merit.perceived if isinstance(merit, Merit) else perceived_of_lines(table, run.x)
    # Back to the units of the programme; without references qualities have mean 0.
    reviewed = degree > 0.0
    shift = 0.0 if np.any(fixed) else -float(run.x[reviewed].mean())
    quality = units.origin + units.unit * (run.x + shift)
    quality[~reviewed] = 0.0
    quality[fixed] = lean.reference[fixed]
    perceived *= units.unit
    perceived += units.origin + units.unit * shift
    converged, message = run.outcome(tolerance)
    solution = Minimiser(
        quality, perceived, units.unit * units.unit * merit.squares, run.iterations, converged, message
    )
    return solution if keep is None else with_singles(programme, keep, solution)


def descend(
    merit: Objective,
    begin: FloatArray,
    tolerance: float = TOLERANCE,
    max_iterations: int = MAX_ITERATIONS,
    progress: Listener | None = None,
    *,
    last_stage_only: bool = False,
) -> NewtonRun:
    """Minimise an objective from a point on, in the solver's units.

    Follows the path of weights, or only its last stage; then takes proximal steps until F is stationary.
    """
    run = NewtonRun(merit, begin, max_iterations, progress)
    size = max(1.0, merit.common.spread / merit.common.reviews)
    path, steps = (PATH, None) if merit.bends else (LINEAR_PATH, DIRECT_STEPS)
    if not _run_path(run, path[-1:] if last_stage_only else path, size, tolerance, steps):
        run.x = begin
        run.forcing = LONG_FORCING
        _run_path(run, LONG_PATH, size, tolerance, None)
    before = math.inf
    weight = PROXIMAL_WEIGHT if merit.bends else LINEAR_PATH[-1][1]
    for _ in range(PROXIMAL_STEPS):
        settled = before - merit.squares <= OBJECTIVE_TOLERANCE * merit.squares + tolerance**2 * merit.common.reviews
        if (merit.stationarity <= tolerance and settled) or run.stalled or run.iterations >= run.max_iterations:
            break
        before = merit.squares
        merit.anchor_here(weight)
        run.descend(0.1 * tolerance, SHARE)
        weight = max(SHRINK * weight, MIN_WEIGHT)
    return run


def _run_path(
    run: NewtonRun, path: Sequence[tuple[float, float, float]], size: float, tolerance: float, steps: int | None
) -> bool:
    """Minimise for one pair of weights after the other, warm-started; false if out of steps."""
    for line, common, goal in path:
        run.merit.weights = Weights(line, common / size)
        if not run.descend(max(goal, 0.1 * tolerance), SHARE if goal == 0.0 else 0.0, steps):
            return False
    if steps is None and path is LONG_PATH:
        run.descend(0.0, LONG_SHARE, DIRECT_STEPS)  # the objective is so flat that a stage may end early
    return True


# Tables in parts.


class Ordered(NamedTuple):
    """Scored reviews of a part by reviewer and score, and which remain without single items.

    ``start`` (m + 1,), ``item``, ``score`` (E,); ``keep``, ``kept_start``: of those that remain.
    """

    start: IntArray
    item: CodeArray
    score: FloatArray
    keep: BoolArray
    kept_start: IntArray

    def kept(self) -> tuple[CodeArray, FloatArray, IntArray]:
        """Return item, score and reviewer of the reviews that remain."""
        load = np.diff(self.kept_start)
        return self.item[self.keep], self.score[self.keep], np.repeat(np.arange(load.size), load)


def minimise_parts(
    parts: Parts,
    n_reviewers: int,
    hypothesis: Hypothesis,
    exact: Callable[[float, FloatArray], bool],
    *,
    sharp: float,
    progress: Listener | None = None,
) -> Minimiser:
    """Solve the programme of linear reviewers without references, by passes over the parts of a table.

    ``parts`` are reviews with scores; ``hypothesis`` is a class of lines. ``exact`` decides from the mean square noise
    and the qualities whether the noise may be zero; then the gradient tolerance is ``sharp``. Qualities are 0 without a
    score; perceived qualities are not returned.
    """
    N = parts.n_items
    (degree,), results = parts.map(_overview, (np.zeros(N, np.int64),))
    largest, totals = zip(*results, strict=True)
    n_scored = int(degree.sum())
    mean = sum(totals) / n_scored
    rows = parts.derive(_ordered, (degree,), max(largest))

    # Units: scores of spread 1, lower slope 1; the common line uses the scores that were kept.
    (count, tilt, centred_total), results = rows.map(_sums, (np.zeros(N),), mean)
    squares, raw_total, raw_squares = np.sum(results, axis=0).tolist()
    n_kept = float(count.sum())
    lower, upper = hypothesis.bounds
    unit = lower or 1.0
    scale = unit * float(np.sqrt(squares / n_kept)) or 1.0
    factor = scale / unit
    shift = raw_total / n_kept
    spread = (raw_squares - shift * raw_total) / factor**2
    common = Common(count, (tilt - shift * count) / factor, spread, n_kept, lower / unit, upper / unit)
    lines = rows.derive(_lines, (), factor, (lower / unit, upper / unit))

    begin = centred_total / factor / np.maximum(count, 1.0)
    reviewed = degree > 0
    tolerance = TOLERANCE
    for last_stage_only in (False, True):
        merit = Passes(lines, n_reviewers, common, np.zeros(N, np.bool_))
        run = descend(merit, begin, tolerance, newton.MAX_ITERATIONS, progress, last_stage_only=last_stage_only)
        converged, message = run.outcome(tolerance)
        if last_stage_only and not converged:  # the first solution stands
            break
        quality = np.where(count > 0.0, scale * run.x, 0.0)
        (extrapolated,), _ = rows.map(_extrapolated, (quality,), hypothesis.bounds)
        quality = quality + extrapolated
        quality = np.where(reviewed, quality - float(quality[reviewed].mean()), 0.0)
        objective = scale * scale * merit.squares
        solution = Minimiser(quality, np.empty(0), objective, run.iterations, converged, message)
        if not converged or not exact(objective / n_scored, quality):
            break
        begin = quality / scale
        tolerance = sharp
    return solution


def _overview(part: Part, vectors: Vectors) -> tuple[Vectors, tuple[float, float]]:
    """Return the number of scores by item; the largest absolute score, and the sum of all."""
    degree = np.bincount(part.item, minlength=vectors[0].size)
    return (degree,), (float(np.abs(part.score).max(initial=0.0)), float(part.score.sum()))


def _ordered(part: Part, vectors: Vectors, largest: float) -> Ordered:
    """Sort the reviews of a part by score, and leave out single items."""
    order = order_by_score(part.start, part.score)
    item = part.item[order]
    score = tied_up_to_rounding(part.score[order], part.reviewer, largest)
    return Ordered(part.start, item, score, *reviews_to_keep(part.start, item, score, vectors[0]))


def _sums(rows: Ordered, vectors: Vectors, mean: float) -> tuple[Vectors, FloatArray]:
    """Return number and sums of raw and of centred scores by item; the squares of centred and the sums of raw ones."""
    n = vectors[0].size
    item, score, reviewer = rows.kept()
    deviation = centred(score, rows.kept_start, reviewer)
    raw = score - mean
    by_item = np.bincount(item, np.ones(item.size), n), np.bincount(item, raw, n), np.bincount(item, deviation, n)
    return by_item, np.array([deviation @ deviation, raw.sum(), raw @ raw])


def _lines(rows: Ordered, vectors: Vectors, factor: float, bounds: tuple[float, float]) -> Lines:
    """Lay out the reviews of a part in the solver's units."""
    item, score, reviewer = rows.kept()
    start = rows.kept_start
    deviation = centred(score, start, reviewer)
    norm = np.sqrt(np.bincount(reviewer, deviation * deviation, start.size - 1))
    unit = deviation / np.where(norm > 0.0, norm, 1.0)[reviewer]
    return lines_of(start, item, unit, unit_slopes(norm / factor, *bounds))


def _extrapolated(rows: Ordered, vectors: Vectors, bounds: tuple[float, float]) -> tuple[Vectors, None]:
    """Return the qualities of single items, 0 for others."""
    [quality] = vectors
    extrapolated = np.zeros(quality.size)
    if not rows.keep.all():
        single = rows.item[~rows.keep]
        extrapolated[single] = of_singles(rows.start, rows.item, rows.score, rows.keep, bounds, quality)
    return (extrapolated,), None
