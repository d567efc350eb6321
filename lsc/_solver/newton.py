"""The fast solver of Least Square Calibration: semismooth Newton on the qualities alone.

For fixed qualities the best perceived qualities are projections, so the programme is the unconstrained minimisation
of ``F(x) = sum_j dist^2(x restricted to the items of j, K_j)`` with K_j what reviewer j's class allows. Half of F is
convex, its gradient ``sum_j (x - P_j x)`` is Lipschitz and piecewise linear, and its second derivative where it exists
is the sum over reviewers of identity minus the projector on the face that holds her projection.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from lsc._model.formulation import Minimiser, Programme, order_by_score, tied_up_to_rounding
from lsc._model.hypotheses import LINEAR
from lsc._solver.passes import (
    Layout,
    Merit,
    Objective,
    Part,
    Passes,
    held,
    inner,
    kept,
    laid_out,
    perceived_by,
    put_back,
    slopes,
    with_singles,
    without_singles,
)
from lsc._solver.projections import Common, ItemArray, Units, centred, tabulate
from reviewgraph._base.arrays import BoolArray, FloatArray, IntArray
from reviewgraph._base.errors import InputError
from reviewgraph._base.results import Progress
from reviewgraph.streams.coding import Spill, ranges

if TYPE_CHECKING:
    from lsc._model.hypotheses import Hypothesis
    from reviewgraph.streams.table import Chunk, Stream


#: Weights of the distances from lines in each reviewer's scores and from one line in all raw scores, and the gradient
#: to reach, stage after stage: from a well-conditioned problem to one whose bias the proximal steps remove.
PATH = ((1e-1, 1e-3, 1e-2), (3e-3, 1e-6, 1e-3), (1e-5, 1e-11, 0.0))
LINEAR_PATH = ((0.0, 1e-6, 0.0),)
#: Linear reviewers usually need no path: about seven Newton steps settle which slopes are free. Where many reviewers
#: have two scores or so, and the data determine little, hundreds would; after so many steps the long way is taken, with
#: directions of this accuracy. Measured with 800 reviewers of 3 scores, a fifth of them left out: 2 to 11 s became 0.3.
QUICK, LONG_FORCING, LONG_SHARE = 30, 1e-3, 1e-6
LONG_PATH = (*((0.0, 10.0**-e, 10.0 ** -(e + 1)) for e in range(6)), *LINEAR_PATH)
#: How many proximal steps, the weight of the first one's distance and what it is multiplied by from step to step, and
#: the part of the gradient of F that its inner gradient may keep. Below the least weight rounding would decide.
PROXIMAL_STEPS, PROXIMAL_WEIGHT, SHRINK, SHARE = 30, 1e-8, 0.02, 0.8
LEAST = 1e-12
#: The last proximal step may change the objective by this part: where data leave F nearly flat, a small gradient alone
#: is found too early.
SETTLED = 1e-9
#: Relative accuracy of the first Newton directions, later ones follow the gradient: linear reviewers make a
#: well-conditioned matrix and faces that settle at once, others take the fewer steps the better the directions.
LINEAR_FORCING, FORCING = 0.1, 1e-5
#: A gradient so small that does not halve in so many steps is what rounding leaves.
ROUNDING, VAIN = 1e-11, 10
#: What is left of the derivative along a direction where a search may end.
FLATTER = 0.5
#: Points to try along a direction, the relative width of a bracket that will do, and what keeps quotients finite.
MOST_TRIALS, NARROW, TINY = 60, 1e-4, 1e-300
#: Differences of f below this part of it are rounding; the gradient then decides.
FLAT = 1e-11

#: The gradient to reach, and Newton steps to take at most, unless told otherwise.
TOLERANCE, MAX_ITERATIONS = 1e-9, 1000

#: Items from which reviews of linear reviewers are laid out to be read in order, and single items left out.
FAR = 200_000

#: Who listens to progress.
Listener: TypeAlias = Callable[[Progress], object]


class Walk:
    """Where the solver is: the point, and what is left of the iterations allowed."""

    def __init__(self, merit: Objective, x: FloatArray, max_iterations: int, progress: Listener | None) -> None:
        self.merit, self.x = merit, x
        self.iterations, self.max_iterations, self.progress = 0, max_iterations, progress
        self.stuck, self.began = False, time.monotonic()
        self.forcing = FORCING if merit.bends else LINEAR_FORCING

    def ending(self, tolerance: float) -> tuple[bool, str]:
        """Return whether the walk has come close enough to a minimum, and what to say of it."""
        residual = self.merit.stationarity
        if residual <= 10.0 * tolerance:
            return True, f"optimal: gradient {residual:.1e} of the data after {self.iterations} Newton steps"
        return False, (
            f"not optimal to {tolerance:.0e}: gradient {residual:.1e} of the data after {self.iterations} Newton "
            "steps; allow more iterations, or use the general solver"
        )

    def descend(self, tolerance: float, share: float = 0.0, steps: int | None = None) -> bool:
        """Newton's method with inexact directions until the gradient is at most ``tolerance``.

        Or ``share`` of what the gradient of F leaves to do, or until so many ``steps``; returns whether it got there.
        """
        merit, first = self.merit, self.iterations
        eta = forcing = self.forcing
        value, gradient = merit(self.x)
        length = merit.length
        least, last = math.inf, first
        while length > max(tolerance, share * merit.stationarity) and self.iterations < self.max_iterations:
            if self.iterations - first == steps:
                return False
            # The gradient at its rounding, and no smaller by half for a while: further steps are in vain.
            if length < 0.5 * least:
                least, last = length, self.iterations
            if least <= ROUNDING and self.iterations - last >= VAIN:
                break
            # Inexact directions (Eisenstat and Walker): solve no further than the model is right,
            goal = max(eta * length, 0.3 * tolerance) * np.sqrt(merit.common.reviews)
            direction = merit.newton(gradient, goal, 50 + 2 * len(self.x))
            self.x, value, gradient, step = search(merit, self.x, value, gradient, direction)
            before, length = length, merit.length
            # closer as the gradient falls superlinearly.
            eta = min(forcing, max(0.1 * forcing, (length / before) ** 1.5))
            self.iterations += 1
            if self.progress is not None:
                words = f"step {self.iterations}, {merit.stationarity:.1e} from the optimum"
                self.progress(Progress(time.monotonic() - self.began, words))
            self.stuck = step == 0.0
            if self.stuck:
                break
        return True


def search(
    merit: Objective, x: FloatArray, value: float, gradient: FloatArray, direction: FloatArray
) -> tuple[FloatArray, float, FloatArray, float]:
    """Step along a direction to where f has fallen and its derivative has lost part of its size.

    The derivative rises with the step, in straight pieces: so the whole step is taken if it falls there, and otherwise
    a zero is bracketed. A step that stopped short of the bend that ends the descent would leave the face, and so the
    next direction, what they were; hence the condition on the derivative. Returns the new point, f and gradient there,
    and the step (0 where none decreases f).
    """
    start = inner(gradient, direction)
    if start >= 0.0:
        return x, value, gradient, 0.0
    bracket = _Bracket(start)
    for _ in range(MOST_TRIALS):
        point = x + bracket.step * direction
        found, fresh = merit(point)
        slope = inner(fresh, direction)
        falls = found <= value + 1e-4 * bracket.step * start or abs(found - value) <= FLAT * abs(value)
        flat = abs(slope) <= FLATTER * abs(start) or (slope <= 0.0 and bracket.step == 1.0) or bracket.tight
        if falls and flat:
            return point, found, fresh, bracket.step
        bracket.narrow(slope)
    found, fresh = merit(x)
    return x, found, fresh, 0.0


class _Bracket:
    """Steps between which an increasing, piecewise linear function has its zero, and the step to try next."""

    def __init__(self, start: float) -> None:
        self.low, self.low_slope = 0.0, start
        self.high, self.high_slope = math.inf, math.inf
        self.step, self.width = 1.0, math.inf

    @property
    def tight(self) -> bool:
        """Whether the bracket is as narrow as rounding lets it be."""
        return self.high < math.inf and self.high - self.low <= NARROW * self.high

    def narrow(self, slope: float) -> None:
        """Take the function's value at ``step`` into account."""
        guess = -1.0
        if slope > 0.0:
            if self.high < math.inf:  # the zero if the last two points above it lie on one piece
                guess = self.step - slope * (self.high - self.step) / max(self.high_slope - slope, TINY)
            self.high, self.high_slope = self.step, slope
        else:
            self.low, self.low_slope = self.step, slope
        if self.high == math.inf:
            self.step *= 2.0
            return
        width, before = self.high - self.low, self.width
        self.width = width
        if not self.low < guess < 0.99 * self.high:
            guess = self.low + width * self.low_slope / (self.low_slope - self.high_slope)
            guess = min(max(guess, self.low + 0.02 * width), self.high - 0.05 * width)
        if width > 0.5 * before:  # both guesses fail on two very different pieces: halve the digits, or go down in tens
            guess = math.sqrt(self.low * self.high) if self.low > 0.0 else 0.1 * self.high
        self.step = guess


def minimise(
    programme: Programme,
    *,
    tolerance: float = TOLERANCE,
    max_iterations: int = MAX_ITERATIONS,
    progress: Listener | None = None,
    start: FloatArray | None = None,
) -> Minimiser:
    """Solve the programme of Least Square Calibration by semismooth Newton with conjugate gradients.

    Parameters
    ----------
    programme
        See :class:`~lsc._model.formulation.Programme`.
    tolerance
        The gradient of half the objective to reach, a root mean square over reviews, relative to the spread of the
        scores within reviewers times the lower bound on the slope.
    max_iterations
        Newton steps, over all stages.
    progress
        Called after every Newton step; the words hold the number of steps and the gradient reached.

    start
        Qualities to begin at, shape (N,), such as those of a less accurate solution: only the last stage is gone
        through. By default the beginning is the average of centred scores.

    Returns
    -------
    Minimiser
        Perceived qualities satisfy the constraints to rounding. Where qualities are not unique: near the one nearest
        to linear scoring functions, then to one common line of the raw scores.

    Raises
    ------
    InputError
        If tied scores are free while a monotone, convex or concave reviewer has a finite upper bound on slopes.

    Notes
    -----
    A Newton step costs O(E) for each of its products. Qi and Sun (1993), "A nonsmooth version of Newton's method",
    Mathematical Programming 58, for the method; Rockafellar (1976), "Monotone operators and the proximal point
    algorithm", SIAM J. Control Optim. 14, for the last steps.

    Examples
    --------
    Two reviewers, one twice as generous as the other, agree on three items:

    >>> import numpy as np
    >>> found = minimise(Programme(
    ...     n_items=3, start=np.array([0, 3, 6]), item=np.array([0, 1, 2, 0, 1, 2]),
    ...     score=np.array([1.0, 2.0, 4.0, 2.0, 4.0, 8.0]), kind=np.zeros(2, dtype=np.int64),
    ...     lower=np.full(2, 0.1), upper=np.full(2, np.inf), ties_equal=True,
    ...     is_reference=np.array([True, False, True]), reference=np.array([0.0, 0.0, 3.0])))
    >>> found.quality.round(6).tolist(), found.converged
    ([0.0, 1.0, 3.0], True)
    """
    _refuse(programme)
    if len(programme.item) == 0:
        quality = np.where(programme.is_reference, programme.reference, 0.0)
        return Minimiser(quality, np.zeros(0), 0.0, 0, True, "no reviews: nothing to solve")
    if not _is_far(programme):
        return _minimise(programme, tolerance, max_iterations, progress, start, far=False)
    lean, keep = without_singles(programme)
    found = _minimise(lean, tolerance, max_iterations, progress, start, far=True)
    return found if keep is None else with_singles(programme, keep, found)


def _minimise(
    programme: Programme,
    tolerance: float,
    max_iterations: int,
    progress: Listener | None,
    start: FloatArray | None,
    *,
    far: bool,
) -> Minimiser:
    """Do what :func:`minimise` does, by passes over reviews that are laid out for it where items are ``far``."""
    table, common, units = tabulate(programme)
    known = np.where(programme.is_reference, (programme.reference - units.origin) / units.scale, 0.0)
    centred = np.bincount(table.item, table.score, programme.n_items) / np.maximum(common.degree, 1.0)
    begin = centred if start is None else (start - units.origin) / units.scale
    begin = np.where(programme.is_reference, known, begin)
    fixed = np.ascontiguousarray(programme.is_reference, dtype=np.bool_)
    merit: Merit | Passes
    if far:
        table = table._replace(score=table.unit)  # no kernel for lines reads scores beside the unit ones
        merit = Passes(held(table, programme.n_items), common, fixed)
    else:
        merit = Merit(table, common, fixed)
    walk = descend(merit, begin, tolerance, max_iterations, progress, near=start is not None)
    perceived = merit.perceived if isinstance(merit, Merit) else perceived_by(table, walk.x)
    return _finish(programme, perceived, walk, tolerance, units)


def descend(
    merit: Objective,
    begin: FloatArray,
    tolerance: float = TOLERANCE,
    max_iterations: int = MAX_ITERATIONS,
    progress: Listener | None = None,
    *,
    near: bool = False,
) -> Walk:
    """Minimise an objective from a point on, in the solver's units; ``near`` goes through the last stage only."""
    walk = Walk(merit, begin, max_iterations, progress)
    _follow(walk, tolerance, near=near)
    return walk


def _is_far(programme: Programme) -> bool:
    """Whether all reviewers are linear, and their items more than a processor's cache holds."""
    return programme.n_items >= FAR and programme.ties_equal and bool(np.all(programme.shape == LINEAR))


def _refuse(programme: Programme) -> None:
    bounded = np.isfinite(programme.upper) & (programme.shape != LINEAR)
    if not programme.ties_equal and np.any(bounded):
        problem = "free ties are defined without an upper bound on the slopes of the inverse: use ties='equal'"
        raise InputError(problem)


def _follow(walk: Walk, tolerance: float, *, near: bool = False) -> None:
    """Go down the path of weights, or only its last stage if near; then take proximal steps until F is stationary."""
    merit = walk.merit
    size = max(1.0, merit.common.spread / merit.common.reviews)
    path, start, steps = (PATH, walk.x, None) if merit.bends else (LINEAR_PATH, walk.x, QUICK)
    if not _go(walk, path[-1:] if near else path, size, tolerance, steps):
        walk.x, walk.forcing = start, LONG_FORCING
        _go(walk, LONG_PATH, size, tolerance, None)
    before, weight = math.inf, PROXIMAL_WEIGHT if merit.bends else LINEAR_PATH[-1][1]
    for _ in range(PROXIMAL_STEPS):
        settled = before - merit.squares <= SETTLED * merit.squares + tolerance**2 * merit.common.reviews
        if (merit.stationarity <= tolerance and settled) or walk.stuck or walk.iterations >= walk.max_iterations:
            break
        before = merit.squares
        merit.stay(weight)
        walk.descend(0.1 * tolerance, SHARE)
        weight = max(SHRINK * weight, LEAST)


def _go(
    walk: Walk, path: Sequence[tuple[float, float, float]], size: float, tolerance: float, steps: int | None
) -> bool:
    """Minimise with one pair of weights after the other, each from where the last one led; false if out of steps."""
    for line, common, goal in path:
        walk.merit.line_weight, walk.merit.common_weight = line, common / size
        if not walk.descend(max(goal, 0.1 * tolerance), SHARE if goal == 0.0 else 0.0, steps):
            return False
    if steps is None and path is LONG_PATH:
        walk.descend(0.0, LONG_SHARE, QUICK)  # so flat that a stage may end early: go on for a few steps
    return True


def _finish(programme: Programme, perceived: FloatArray, walk: Walk, tolerance: float, units: Units) -> Minimiser:
    """Bring the point the walk has reached, and perceived qualities there, back to the units of the programme."""
    reviewed = walk.merit.common.degree > 0.0
    shift = 0.0 if np.any(programme.is_reference) else -float(walk.x[reviewed].mean())
    quality = units.origin + units.scale * (walk.x + shift)
    quality[~reviewed] = 0.0
    quality[programme.is_reference] = programme.reference[programme.is_reference]
    perceived *= units.scale
    perceived += units.origin + units.scale * shift
    converged, message = walk.ending(tolerance)
    objective = units.scale * units.scale * walk.merit.squares
    return Minimiser(quality, perceived, objective, walk.iterations, converged, message)


# Linear reviewers whose reviews lie on disk: the same objective and directions, one pass over a file a product.


class Lines:
    """The scored reviews of linear reviewers as the solver wants them, on disk, in parts that are held one at a time.

    Parameters
    ----------
    start
        Shape (M + 1,): where the reviews of each reviewer begin, ascending in score.
    unit
        The centred scores divided by their length over each reviewer's reviews, reviewer by reviewer.
    floor, ceiling
        Shape (M,): bounds on slopes for unit scores, 0 where scores are constant.
    blocks, places
        Where items of reviews are, as :class:`lsc._solver.passes.Part` has them; empty, and written here.
    longest
        Reviews of a part, unless one reviewer has more.
    """

    def __init__(
        self, start: IntArray, unit: Spill, floor: FloatArray, ceiling: FloatArray, blocks: Spill, places: Spill
    ) -> None:
        self.start, self.unit, self.floor, self.ceiling = start, unit, floor, ceiling
        self.blocks, self.places, self.longest = blocks, places, 0
        self._layouts: list[tuple[slice, Layout]] = []
        # Room for one part, used again and again, and the reviewers of the part in it.
        self._rooms: list[npt.NDArray[Any]] = []
        self._held = slice(0)

    @property
    def n_reviewers(self) -> int:
        """How many reviewers there are."""
        return len(self.floor)

    def lay_out(self, item: Spill, n_items: int, rows: int) -> Iterator[tuple[slice, ItemArray, FloatArray]]:
        """Cut the reviews into parts, and write where their items are; returns reviewers, items and unit scores."""
        for first, last in ranges(self.start, rows):
            low, high = int(self.start[first]), int(self.start[last])
            items = item.read(low, high)
            layout, block, place = laid_out(self.start[first : last + 1] - low, items, n_items)
            self.blocks.append(block)
            self.places.append(place)
            self._layouts.append((slice(first, last), layout))
            self.longest = max(self.longest, high - low)
            yield slice(first, last), items, self.unit.read(low, high)

    def parts(self) -> Iterator[tuple[slice, Part]]:
        """Pass over the reviews once: reviewers, and their reviews."""
        spills = self.blocks, self.unit, self.places
        if not self._rooms:
            self._rooms = [np.empty(self.longest, spill.dtype) for spill in spills]
        for hers, layout in self._layouts:
            low, high = int(self.start[hers.start]), int(self.start[hers.stop])
            if self._held != hers:  # a table in one part is read once
                for spill, room in zip(spills, self._rooms, strict=True):
                    spill.read(low, high, room)
                self._held = hers
            block, unit, place = (room[: high - low] for room in self._rooms)
            start = self.start[hers.start : hers.stop + 1] - low
            yield hers, Part(start, block, unit, place, self.floor[hers], self.ceiling[hers], *layout)


class Overview(NamedTuple):
    """The largest score in size, the mean score, and the scored reviews of each item, shape (N,)."""

    largest: float
    mean: float
    degree: IntArray


class Solved(NamedTuple):
    """Qualities (N,) in the units of the programme, 0 without a score, the objective, and how it went."""

    quality: FloatArray
    objective: float
    iterations: int
    converged: bool
    message: str


def minimise_streamed(
    stream: Stream,
    hypothesis: Hypothesis,
    exact: Callable[[float, FloatArray], bool],
    *,
    sharp: float,
    max_iterations: int = MAX_ITERATIONS,
    progress: Listener | None = None,
) -> Solved:
    """Solve the programme of linear reviewers without references, tied scores being equal, by passes over the reviews.

    Parameters
    ----------
    stream
        The table, open; some review has a score.
    hypothesis
        A class of lines.
    exact
        Asked of the mean square noise and the qualities whether there may be no noise at all.
    sharp
        The gradient to reach then; by default that of :func:`lsc._solver.newton.minimise`.
    max_iterations, progress
        As :func:`lsc._solver.newton.minimise` takes them.
    """
    overview, tolerance = _overview(stream), TOLERANCE
    reviewed = overview.degree > 0
    with Spill("<f8") as unit, Spill("<u2") as blocks, Spill("<u2") as places:
        lines, common, scale, begin = _tabulate(stream, overview, hypothesis.bounds, unit, blocks, places)
        for near in (False, True):
            merit = Passes(lines, common, np.zeros(common.degree.size, np.bool_))
            walk = descend(merit, begin, tolerance, max_iterations, progress, near=near)
            converged, message = walk.ending(tolerance)
            if near and not converged:  # the first solution stands
                break
            quality = np.where(common.degree > 0.0, scale * walk.x, 0.0)
            _put_back(stream, overview, hypothesis.bounds, quality)
            quality = np.where(reviewed, quality - float(quality[reviewed].mean()), 0.0)
            found = Solved(quality, scale * scale * merit.squares, walk.iterations, converged, message)
            if not converged or not exact(found.objective / int(overview.degree.sum()), quality):
                break
            begin, tolerance = quality / scale, sharp
            del merit, walk
        return found


def _tabulate(
    stream: Stream, overview: Overview, bounds: tuple[float, float], unit: Spill, blocks: Spill, places: Spill
) -> tuple[Lines, Common, float, FloatArray]:
    """Write the reviews in the solver's units.

    Returns them, the common line, the scale of qualities, and to begin with the average of items' centred scores.
    """
    lower = bounds[0] or 1.0
    with Spill("<u4") as item:
        size, norm, common = _write(stream, overview, item, unit)
        # Scores are divided by what makes their spread 1 and the lower slope 1.
        scale = lower * float(np.sqrt(np.sum(norm * norm) / common.reviews)) or 1.0
        factor, least, most = scale / lower, bounds[0] / lower, bounds[1] / lower
        norm /= factor
        start = np.concatenate([[0], np.cumsum(size)])
        lines, total = Lines(start, unit, *slopes(norm, least, most), blocks, places), np.zeros(stream.n_items)
        # A part as long as there are items looks a block's entries up often enough to repay reading them.
        for hers, items, units in lines.lay_out(item, stream.n_items, max(stream.batch, stream.n_items)):
            np.add.at(total, items, units * np.repeat(norm[hers], size[hers]))
    total /= np.maximum(common.degree, 1.0)
    tilt, spread = common.tilt / factor, common.spread / factor**2
    return lines, common._replace(tilt=tilt, spread=spread, lower=least, upper=most), scale, total


def _write(stream: Stream, overview: Overview, item: Spill, unit: Spill) -> tuple[IntArray, FloatArray, Common]:
    """Write items and unit scores; return numbers of reviews and lengths of scores by reviewer, and the common line.

    Single items are left out, see :mod:`lsc._solver.passes`.
    """
    M, N, count = stream.n_reviewers, stream.n_items, 0
    size, norm = np.zeros(M, np.int64), np.zeros(M)
    many, tilt, total, spread = np.zeros(N), np.zeros(N), 0.0, 0.0
    for first, _, items, score, keep, start in _chunks(stream, overview):
        items, score, hers = items[keep], score[keep], np.diff(start)
        mine, reviewer = slice(first, first + hers.size), np.repeat(np.arange(hers.size), hers)
        middle = centred(score, start, reviewer)
        size[mine], norm[mine] = hers, np.sqrt(np.bincount(reviewer, middle * middle, hers.size))
        raw = score - overview.mean
        np.add.at(many, items, 1.0)
        np.add.at(tilt, items, raw)
        count, total, spread = count + raw.size, total + float(raw.sum()), spread + float(np.sum(raw * raw))
        item.append(items)
        unit.append(middle / np.where(norm[mine] > 0.0, norm[mine], 1.0)[reviewer])
    # Single items counted in the mean: the common line goes through the scores that were kept.
    off = total / count
    return size, norm, Common(many, tilt - off * many, spread - off * total, float(count), 0.0, np.inf)


def _overview(stream: Stream) -> Overview:
    """Look at all scores once."""
    largest, total, degree = 0.0, 0.0, np.zeros(stream.n_items, np.int64)
    for chunk in stream.chunks():
        _, _, item, score = chunk.only_scored()
        largest, total = max(largest, float(np.abs(score).max(initial=0.0))), total + float(score.sum())
        np.add.at(degree, item, 1)
    return Overview(largest, total / int(degree.sum()), degree)


def _put_back(stream: Stream, overview: Overview, bounds: tuple[float, float], quality: FloatArray) -> None:
    """Write the qualities of single items."""
    for _, start, item, score, keep, _ in _chunks(stream, overview):
        if not keep.all():
            lower, upper = (np.full(start.size - 1, bound) for bound in bounds)
            put_back(start, item, score, keep, lower, upper, quality)


def _chunks(
    stream: Stream, overview: Overview
) -> Iterator[tuple[int, IntArray, ItemArray, FloatArray, BoolArray, IntArray]]:
    """Return, chunk by chunk, its first reviewer, the scored reviews, which are kept, and where each begins then."""
    for chunk in stream.chunks():
        start, item, score = by_score(chunk, overview.largest)
        all_stay = np.ones(item.size, np.bool_), start
        keep = kept(start, item, score, overview.degree) if stream.n_items >= FAR else all_stay
        yield chunk.first, start, item, score, *keep


def by_score(chunk: Chunk, largest: float) -> tuple[IntArray, ItemArray, FloatArray]:
    """Return where each reviewer's scored reviews begin, their items and scores: ascending, ties by item."""
    _, start, item, score = chunk.only_scored()
    reviewer = np.repeat(np.arange(start.size - 1), np.diff(start))
    order = order_by_score(start, score)
    return start, item[order], tied_up_to_rounding(score[order], reviewer, largest)
