"""Least Square Calibration of linear reviewers on a Dask cluster: reviewers in partitions, items in shards.

The solver is that of a table in memory, :func:`lsc._solver.newton.descend`; its points and gradients are vectors in
shards, and an evaluation or a product is a pass of :class:`lsc._solver.passes.Passes` over each partition.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from lsc._model.formulation import order_by_score, tied_up_to_rounding
from lsc._solver import newton
from lsc._solver.kernels.lines import (
    Common,
    Descent,
    Gradients,
    Part,
    combine_items,
    common_diagonal,
    common_image,
    extrapolate_singles,
    line_diagonal,
    line_distance,
    line_given,
    line_residuals,
    line_sums,
    start_descent,
    take_step,
    update_search,
)
from lsc._solver.newton import TOLERANCE, Listener, descend
from lsc._solver.passes import (
    FIT_ALONE,
    STALE,
    Objective,
    Passes,
    Weights,
    lay_out,
    reviews_to_keep,
    unit_slopes,
)
from lsc._solver.tabulating import centred
from reviewgraph._base import BoolArray, CodeArray, FloatArray, IntArray
from reviewgraph.streams import Grid, Share, Vector, split

if TYPE_CHECKING:
    from lsc._model.hypotheses import Hypothesis

#: A result on the cluster, or one yet to come.
Future: TypeAlias = Any


class Ordered(NamedTuple):
    """Scored reviews of a partition by reviewer and score, and which remain without single items.

    ``start`` (M + 1,), ``item`` (places in the items of the partition), ``score``; ``keep``, ``kept_start``: of those
    that remain.
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


class Lines(NamedTuple):
    """The reviews of a partition in the solver's units, and its number of items."""

    part: Part
    n_items: int


def overview(share: Share, cut: IntArray) -> tuple[FloatArray, list[IntArray]]:
    """Return largest absolute score, sum and number of the scores of a partition, and scores by item, by shard."""
    share = share.scored()
    largest = float(np.abs(share.score).max(initial=0.0))
    degree = np.bincount(share.item, minlength=share.items.size)
    return np.array([largest, share.score.sum(), share.score.size]), split(degree, cut)


def ordered(share: Share, degree: Sequence[IntArray] | None, largest: float) -> Ordered:
    """Sort the scored reviews of a partition; ``degree`` decides which items are single, None keeps all."""
    share = share.scored()
    start = share.start
    who = share.reviewer
    order = order_by_score(share.start, share.score)
    item = share.item[order]
    score = tied_up_to_rounding(share.score[order], who, largest)
    if degree is None:
        return Ordered(start, item, score, np.ones(item.size, np.bool_), start)
    return Ordered(start, item, score, *reviews_to_keep(start, item, score, np.concatenate(degree)))


def sums_of_partition(rows: Ordered, n: int, cut: IntArray, mean: float) -> tuple[FloatArray, list[FloatArray]]:
    """Return sums of squared deviations, of raw scores and of their squares, and their number.

    By item: number and sum of raw scores, shape (n, 2), by shard.
    """
    item, score, who = rows.kept()
    deviation = centred(score, rows.kept_start, who)
    raw = score - mean
    values = np.array([deviation @ deviation, raw.sum(), raw @ raw, raw.size])
    return values, split(np.column_stack([np.bincount(item, None, n), np.bincount(item, raw, n)]), cut)


def lines_of_partition(
    rows: Ordered, n: int, cut: IntArray, *, factor: float, least: float, most: float
) -> tuple[Lines, list[FloatArray]]:
    """Lay out the reviews in the solver's units; returns the sums of centred scores by item, too, by shard."""
    item, score, who = rows.kept()
    start = rows.kept_start
    deviation = centred(score, start, who)
    norm = np.sqrt(np.bincount(who, deviation * deviation, start.size - 1))
    unit = deviation / np.where(norm > 0.0, norm, 1.0)[who]
    norm /= factor
    layout, block, place = lay_out(start, item, n)
    part = Part(start, block, unit, place, *unit_slopes(norm, least, most), *layout)
    return Lines(part, n), split(np.bincount(item, unit * norm[who], n), cut)


def pass_over(lines: Lines, slope_free: BoolArray | None, x: FloatArray | None, kernel: Any) -> tuple[Any, ...]:
    """Run a kernel over a partition; returns what it adds to its items, the sum of its results, and free slopes."""
    m = len(lines.part.floor)
    zeros = np.zeros(lines.n_items)
    passes = Passes([(slice(0, m), lines.part)], m, Common(zeros, zeros, 0.0, 1.0, 0.0, 0.0), zeros > 0)
    fit = slope_free is None
    if slope_free is not None:
        passes.slope_free[:] = slope_free
    out = np.zeros(lines.n_items)
    total = passes.over(kernel, x, out, fit=fit)
    return out, total, passes.slope_free


def fit_partition(
    lines: Lines, pieces: Sequence[FloatArray], cut: IntArray
) -> tuple[list[FloatArray], float, BoolArray]:
    """Return residuals from the lines of a partition by shard, their squares, and which slopes are free."""
    out, total, free = pass_over(lines, None, np.concatenate(pieces), line_residuals)
    return split(out, cut), total, free


def product_of_partition(
    lines: Lines, slope_free: BoolArray, pieces: Sequence[FloatArray], cut: IntArray
) -> tuple[list[FloatArray], FloatArray]:
    """Return the image of a direction by shard, and its curvature in the last place of four."""
    out, total, _ = pass_over(lines, slope_free, np.concatenate(pieces), line_residuals)
    return split(out, cut), np.array([0.0, 0.0, 0.0, total])


def diagonal_of_partition(lines: Lines, slope_free: BoolArray, cut: IntArray) -> list[FloatArray]:
    """Return the diagonal of the matrix of a partition by shard."""
    return split(pass_over(lines, slope_free, None, line_diagonal)[0], cut)


def _differ(one: BoolArray, other: BoolArray) -> int:
    return int(np.count_nonzero(one != other))


def _all_free(lines: Lines) -> BoolArray:
    return np.ones(len(lines.part.floor), np.bool_)


def common_of(sums: FloatArray, shift: float, factor: float, scalars: tuple[float, ...]) -> Common:
    """Return the common line at the items of a shard, in the solver's units."""
    degree, total = sums.T
    return Common(degree.copy(), (total - shift * degree) / factor, *scalars)


def _line_sums(common: Common, x: FloatArray) -> FloatArray:
    return np.array(line_sums(common, x))


class Evaluated(NamedTuple):
    """Of a shard: gradients of f and of half T, and [squares about the mean, anchor's product, two squared norms]."""

    gradient: FloatArray
    tilt: FloatArray
    values: FloatArray


def evaluate_shard(
    common: Common, x: FloatArray, fit: FloatArray, anchor: FloatArray, mean: float, slope: float, weights: Weights
) -> Evaluated:
    """Evaluate the objective at the items of a shard."""
    gradient = np.empty(x.size)
    tilt = np.empty(x.size)
    fixed = np.zeros(x.size, np.bool_)
    distance = line_distance(common, x, mean, slope, tilt)
    gradients = Gradients(fit.copy(), np.zeros(0), tilt, anchor)
    sums = combine_items(common, fixed, *weights, gradients, x, gradient)
    return Evaluated(gradient, tilt, np.array([distance, *sums]))


def start_shard(
    common: Common, diagonal: FloatArray, gradient: FloatArray, free: bool, weight: float
) -> tuple[Descent, float]:
    """Begin conjugate gradients at the items of a shard; returns the squared residual norm, too."""
    n = gradient.size
    inverse = np.zeros(n)
    common_diagonal(common, free, weight, inverse)
    inverse += diagonal
    vectors = Descent(inverse, np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n))
    return vectors, start_descent(vectors, np.zeros(n, np.bool_), gradient, 0, n)


def search_shard(
    common: Common, vectors: Descent, weight: float, beta: float
) -> tuple[Descent, FloatArray, FloatArray]:
    """Update the search direction of a shard; returns it, and its sums in the first three places of four."""
    search = np.array(vectors.search)
    vectors = replace(vectors, search=search, image=np.empty(search.size))
    sums = update_search(vectors, common, weight, beta, 0, search.size)
    return vectors, search, np.array([*sums, 0.0])


def step_shard(
    common: Common, vectors: Descent, image: FloatArray, alpha: float, mean: float, slope: float
) -> tuple[Descent, float]:
    """Step along the search direction in a shard; returns the squared norm of the new residual, too."""
    residual = np.array(vectors.residual)
    direction = np.array(vectors.direction)
    vectors = replace(vectors, residual=residual, image=np.asarray(vectors.image) + image, direction=direction)
    return vectors, take_step(vectors, common, alpha, mean, slope, 0, residual.size)


def _direction(vectors: Descent) -> FloatArray:
    return np.asarray(vectors.direction)


class ClusterPasses(Objective):
    """The objective of linear reviewers on a cluster, without references; points are vectors in shards.

    ``scalars``: spread, reviews and bounds of the common line, as :class:`lsc._solver.kernels.lines.Common` has them.
    """

    def __init__(
        self, table: Grid, lines: Sequence[Future], commons: Sequence[Future], scalars: tuple[float, ...]
    ) -> None:
        self.table = table
        self.lines = lines
        self.commons = commons
        nobody = np.zeros(0)
        self.common = Common(nobody, nobody, *scalars)
        self.weights = FIT_ALONE
        self.products = 0
        self.squares = 0.0
        self.norm = 0.0
        self.stationarity = 0.0
        self.anchor = self._tilt = table.each(np.zeros, table.sizes)
        self.free: list[Future] = []
        self._diagonal_free = table.each(_all_free, lines)
        self._slope_free = False
        self._diagonal: list[Future] = []

    def __call__(self, x: Any) -> tuple[float, Any]:
        table = self.table
        common = self.common
        x.parts = table.store(x.parts)  # what led there need not be repeated when a worker dies
        fitted = table.each(fit_partition, self.lines, table.to_partitions(x.parts), table.cuts)
        outgoing, squares, self.free = table.sent(fitted, 3)
        fit = table.to_shards(outgoing)
        self.squares, sums = table.total(squares, table.each(_line_sums, self.commons, x.parts))
        mean, slope, self._slope_free = line_given(common, *sums.tolist())
        options = {"mean": mean, "slope": slope, "weights": self.weights}
        shards = table.each(evaluate_shard, self.commons, x.parts, fit, self.anchor, **options)
        gradient, self._tilt, values = table.sent(shards, 3)
        distance, along, norm, stationarity = table.total(values).tolist()
        distance += slope * (slope * common.spread - 2.0 * float(sums[1]))
        self.norm, self.stationarity = (math.sqrt(each / common.reviews) for each in (norm, stationarity))
        value = 0.5 * self.squares + self.weights.common * (0.5 * distance - along)
        return value, Vector(table, gradient)

    def newton(self, gradient: Any, tolerance: float, max_steps: int) -> Any:
        table = self.table
        common = self.common
        weight = self.weights.common
        self._update_diagonal()
        options = {"free": self._slope_free, "weight": weight}
        begun = table.each(start_shard, self.commons, self._diagonal, gradient.parts, **options)
        vectors, norms = table.sent(begun, 2)
        rho = float(table.total(norms))
        beta = 0.0
        for _ in range(max_steps):
            if rho <= tolerance * tolerance:
                break
            searched = table.each(search_shard, self.commons, vectors, weight=weight, beta=beta)
            vectors, search, sums = table.sent(searched, 3)
            pieces = table.to_partitions(search)
            products = table.each(product_of_partition, self.lines, self.free, pieces, table.cuts)
            outgoing, curvatures = table.sent(products, 2)
            image = table.to_shards(outgoing)
            first, second = table.total(sums, curvatures)
            *sums_of_line, own = (first + second).tolist()
            curvature, mean, slope = common_image(common, self._slope_free, weight, *sums_of_line)
            curvature += own
            if curvature <= 0.0:
                break
            options = {"alpha": rho / curvature, "mean": mean, "slope": slope}
            vectors, norms = table.sent(table.each(step_shard, self.commons, vectors, image, **options), 2)
            new_rho = float(table.total(norms))
            beta = new_rho / rho
            rho = new_rho
            self.products += 1
        return Vector(table, table.each(_direction, vectors))

    def _update_diagonal(self) -> None:
        """Compute the diagonal of the reviewers' terms again unless few slopes became free or fixed."""
        table = self.table
        changes = table.total(table.each(_differ, self.free, self._diagonal_free))
        if not self._diagonal or changes > STALE * table.n_reviewers:
            self._diagonal_free = table.store(self.free)
            pieces = table.each(diagonal_of_partition, self.lines, self._diagonal_free, table.cuts)
            self._diagonal = table.store(table.to_shards(pieces))

    def anchor_here(self, weight: float) -> None:
        self.weights, self.anchor = Weights(0.0, weight), self.table.store(self._tilt)


# From the table to the solution.


class ClusterMinimiser(NamedTuple):
    """Solution on a cluster: qualities and numbers of scores by shard, and the rest as in memory."""

    quality: list[Future]
    degree: list[Future]
    objective: float
    iterations: int
    converged: bool
    message: str


def _n_items(share: Share) -> int:
    return share.items.size


def _begin(total: FloatArray, common: Common) -> FloatArray:
    return np.asarray(total / np.maximum(common.degree, 1.0))


def _quality(x: FloatArray, common: Common, scale: float) -> FloatArray:
    return np.where(np.asarray(common.degree) > 0.0, scale * x, 0.0)


def extrapolated(
    rows: Ordered, pieces: Sequence[FloatArray], cut: IntArray, bounds: tuple[float, float]
) -> list[FloatArray]:
    """Return the qualities of single items of a partition, 0 for others, by shard."""
    before = np.concatenate(pieces)
    after = before.copy()
    m = rows.start.size - 1
    if not rows.keep.all():
        lower, upper = (np.full(m, bound) for bound in bounds)
        extrapolate_singles(rows.start, rows.item, rows.score, rows.keep, lower, upper, after)
    return split(after - before, cut)


def _moments(quality: FloatArray, degree: IntArray, centre: float) -> FloatArray:
    known = quality[degree > 0] - centre
    return np.array([known.size, known.sum(), known @ known])


def _centre(quality: FloatArray, degree: IntArray, centre: float) -> FloatArray:
    return np.where(degree > 0, quality - centre, 0.0)


def minimise_clustered(
    table: Grid,
    hypothesis: Hypothesis,
    exact: Callable[[float, float], bool],
    *,
    sharp: float,
    progress: Listener | None = None,
) -> ClusterMinimiser:
    """Solve the programme of linear reviewers, as :func:`lsc._solver.newton.minimise_streamed`.

    ``exact`` takes the mean square noise and the standard deviation of the qualities of all items.
    """
    numbers, outgoing = table.sent(table.each(overview, table.shares, table.cuts), 2)
    degree = table.store(table.to_shards(outgoing))
    found = np.array(table.fetch(numbers))
    largest = found[:, 0].max()
    mean = found[:, 1].sum() / found[:, 2].sum()
    n_scored = int(found[:, 2].sum())
    degrees: Sequence[Any] = [None] * len(table.shares)
    if table.n_items >= newton.MANY_ITEMS:
        degrees = table.to_partitions(degree)
    rows = table.each(ordered, table.shares, degrees, largest=float(largest))
    n_items = table.each(_n_items, table.shares)
    values, outgoing = table.sent(table.each(sums_of_partition, rows, n_items, table.cuts, mean=float(mean)), 2)
    sums = table.store(table.to_shards(outgoing))
    squares, total, spread, count = table.total(values).tolist()
    # Units: scores of spread 1, lower slope 1; the common line uses the scores that were kept.
    lower = hypothesis.bounds[0] or 1.0
    shift = total / count
    scale = lower * float(np.sqrt(squares / count)) or 1.0
    factor = scale / lower
    least = hypothesis.bounds[0] / lower
    most = hypothesis.bounds[1] / lower
    laid = table.each(lines_of_partition, rows, n_items, table.cuts, factor=factor, least=least, most=most)
    lines, outgoing = table.sent(laid, 2)
    scalars = (spread - shift * total) / factor**2, count, least, most
    commons = table.each(common_of, sums, shift=shift, factor=factor, scalars=scalars)
    begin = table.each(_begin, table.to_shards(outgoing), commons)
    tolerance = TOLERANCE
    for last_stage_only in (False, True):
        merit = ClusterPasses(table, lines, commons, scalars)
        start: Any = Vector(table, begin)
        run = descend(merit, start, tolerance, newton.MAX_ITERATIONS, progress, last_stage_only=last_stage_only)
        converged, message = run.outcome(tolerance)
        if last_stage_only and not converged:  # the first solution stands
            break
        quality = table.each(_quality, run.x.parts, commons, scale=scale)  # type: ignore[attr-defined]
        if table.n_items >= newton.MANY_ITEMS:
            options = {"bounds": hypothesis.bounds}
            more = table.each(extrapolated, rows, table.to_partitions(quality), table.cuts, **options)
            quality = table.each(np.add, quality, table.to_shards(more))
        size, total, _ = table.total(table.each(_moments, quality, degree, centre=0.0)).tolist()
        quality = table.store(table.each(_centre, quality, degree, centre=total / size))
        # Items without a score are 0, as the mean is.
        square = float(table.total(table.each(_moments, quality, degree, centre=0.0))[2])
        objective = scale * scale * float(merit.squares)
        solution = ClusterMinimiser(quality, degree, objective, run.iterations, converged, message)
        if not converged or not exact(objective / n_scored, math.sqrt(square / table.n_items)):
            break
        begin = (Vector(table, quality) / scale).parts
        tolerance = sharp
    return solution
