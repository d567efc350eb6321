"""The inference of :mod:`lsc._inference.inferring` on a Dask cluster: reviewers in partitions, items in shards.

The steps are those of a table in memory: :func:`lsc._inference.sweeps.optimise` alternates sweeps and steps of the
hyperparameters, and a sweep over a partition is that of :func:`lsc._inference.sweeps.sweep`, given the beliefs about
its items. Partitions keep messages and nodes; shards keep the sums of messages; the client keeps hyperparameters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from lsc._inference.beliefs import (
    MAX_REVIEWS,
    Beliefs,
    Fitted,
    Hyperparameter,
    InferenceStatus,
    Reviewers,
    loop_factors,
)
from lsc._inference.categories import Averages
from lsc._inference.inferring import (
    ItemMoments,
    ReviewerMoments,
    distances_to_normal,
    has_signal,
    hyperparameters_of,
    reviewer_moments,
    reviewers_given,
    unexplained_share,
    with_parts,
)
from lsc._inference.model import SIZE, Extent, Gradient
from lsc._inference.sharded_scores import (
    averages_of,
    count_of,
    loads_of,
    problem_of_partition,
    scored_of,
    subset_on_cluster,
    sums_of_loads,
    totals_by_item,
    unit_of,
    used_scores,
)
from lsc._inference.states import (
    COMPILE_FROM,
    LARGE,
    Gauge,
    ItemPosterior,
    Messages,
    Problem,
    State,
    SumsByLoad,
    Unit,
    all_alike,
    are_rankings,
    counts,
    initial_state,
    item_posterior,
    prepare,
    zeros_view,
)
from lsc._inference.sweeps import (
    MAX_EXACT,
    PROBE_BUDGET,
    PROBES,
    SHARE_TRIAL,
    STEPS,
    Fit,
    Spectrum,
    Sweep,
    lanczos,
    regauged,
    run_stages,
    shared_matrix,
    spectrum,
    standardised,
    sweep,
    with_hyperparameters,
    with_ordinal_reviewers,
    with_own_noise,
)
from reviewgraph._base import BoolArray, FloatArray, IntArray
from reviewgraph.streams import Grid, Share, Vector, split

#: A result on the cluster, or one yet to come.
Future: TypeAlias = Any

#: Sweeps after which messages are stored in files: the maximum number repeated when a worker dies.
STORE_AFTER = 5


@dataclass(frozen=True, eq=False)
class ClusterProblem:
    """The data on a cluster, as :class:`lsc._inference.states.Problem`.

    ``problems``: that of each partition, with its own codes, and without counts: whatever belongs to items is computed
    by shards; ``counts``: scores of each item; ``load`` (M,): only of a table that is not large.
    """

    table: Grid
    problems: list[Future]
    counts: list[Future]
    load: IntArray
    n_reviews: int
    rounding: float
    compiled: bool
    weighted: bool = False

    @property
    def n_reviewers(self) -> int:
        """Number of reviewers."""
        return self.table.n_reviewers

    @property
    def count(self) -> Vector:
        """Scores of each item."""
        return Vector(self.table, self.counts)


class PartState(NamedTuple):
    """State of a partition: messages, shape (S, 2 or 4), and all else as in :class:`lsc._inference.states.State`."""

    messages: FloatArray
    nodes: FloatArray
    fresh: FloatArray
    orders: FloatArray
    gauge: Gauge
    theta: FloatArray
    extent: Extent

    @staticmethod
    def of(state: State) -> PartState:
        """Return what a partition keeps of a state."""
        [messages] = state.messages
        kept = messages if state.extent.kappa else messages[:2]
        own = state.nodes, state.fresh, state.orders, state.gauge, state.theta, state.extent
        return PartState(np.column_stack(kept), *own)

    def state(self, moves: Sequence[Callable[[State], State]], extent: Extent) -> State:
        """Return the state after changes that the client asked for since."""
        values, nodes, fresh, orders, gauge, theta, own = self
        messages = Messages(*values.T, *[zeros_view(len(values))] * (4 - values.shape[1]))
        state = State([messages], Messages.none(1), gauge, nodes, fresh, orders, theta, own)
        for move in moves:
            state = move(state)
        return replace(state, extent=extent._replace(half_log_determinant=0.0))


@dataclass(frozen=True, eq=False)
class ClusterState:
    """State on a cluster: of each partition, sums of the messages of each shard, and changes of both since.

    ``sums``: shapes (n, 2 or 4), on the scale before ``gauge``; ``moves``: changes to apply to the partitions;
    ``kept``: stored values that the tasks of partitions and shards begin with; ``age``: sweeps since.
    """

    parts: list[Future]
    sums: list[Future]
    moves: tuple[Callable[[State], State], ...]
    gauge: Gauge
    theta: FloatArray
    extent: Extent
    kept: tuple[list[Future], ...] = ()
    age: int = 0

    def moved(self, move: Callable[[State], State]) -> ClusterState:
        """Apply a change to all partitions when they are next used, and to gauge and hyperparameters here."""
        nodes, none = np.zeros((4, 0)), Messages.none(1)
        nobody = State([], none, self.gauge, nodes, nodes, np.zeros(0), self.theta, self.extent)
        new = move(nobody)
        return replace(self, moves=(*self.moves, move), gauge=new.gauge, theta=new.theta, extent=new.extent)


# The steps of the optimisation, for partitions and shards.


F = TypeVar("F", bound=Callable[..., Any])


def _for(function: Any, kind: type) -> Callable[[F], F]:
    """Register a form of a function for a kind of problem or state; its types differ from those in memory."""
    register: Callable[[F], F] = function.register(kind)
    return register


def _first_part(problem: Problem, theta: FloatArray, extent: Extent) -> PartState:
    return PartState.of(initial_state(problem, theta, extent._replace(kappa=0.0)))._replace(extent=extent)


@_for(initial_state, ClusterProblem)
def _(problem: ClusterProblem, theta: FloatArray, extent: Extent) -> ClusterState:
    table = problem.table
    parts = table.each(_first_part, problem.problems, theta=theta, extent=extent)
    return ClusterState(parts, table.each(_no_sums, problem.counts), (), Gauge(), theta, extent)


def _no_sums(count: IntArray) -> FloatArray:
    return np.zeros((count.size, 2))


def posterior_of_shard(sums: FloatArray, gauge: Gauge, kappa: float) -> FloatArray:
    """Return posterior precision and shift of the items of a shard, shape (n, 2)."""
    zeros = [zeros_view(len(sums))] * (4 - sums.shape[1])
    total = Messages(*sums.T, *zeros).rescaled(gauge)
    precision = 1.0 - kappa + total.precision + total.likeness_precision
    return np.column_stack([precision, total.shift + total.likeness_shift])


@_for(item_posterior, ClusterProblem)
def _(problem: ClusterProblem, state: ClusterState) -> tuple[Vector, Vector]:
    table = problem.table
    shards = table.each(posterior_of_shard, state.sums, gauge=state.gauge, kappa=state.extent.kappa)
    columns = (table.each(_column, shards, column=column) for column in (0, 1))
    precision, shift = (Vector(table, values, empty=1, kept=state.kept) for values in columns)
    return precision, shift


def _column(values: FloatArray, column: int) -> FloatArray:
    return values[:, column]


def beliefs_of_shard(
    sums: FloatArray, count: IntArray, gauge: Gauge, kappa: float
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return posterior, means and variances of the items of a shard, and their part of the log evidence, shape (1,)."""
    posterior = posterior_of_shard(sums, gauge, kappa)
    precision, shift = posterior.T
    mean, variance = shift / precision, 1 / precision
    potential = 0.5 * (np.log(variance) + mean**2 * precision)
    evidence = ((count > 0) - (2.0 if kappa else 1.0) * count) @ potential
    return posterior, mean, variance, np.array([evidence])


def sweep_of_partition(
    problem: Problem,
    part: PartState,
    pieces: Sequence[FloatArray],
    flags: Sequence[BoolArray] | None,
    cut: IntArray,
    *,
    moves: Sequence[Callable[[State], State]],
    extent: Extent,
    learn: bool,
    n_converged: int,
    share: float,
) -> tuple[PartState, list[FloatArray], FloatArray]:
    """Update the messages of a partition; ``pieces`` are the beliefs about its items, ``flags`` those that changed.

    Returns the new state, the sums of messages by shard, and evidence and gradient as one array.
    """
    state = part.state(moves, extent)
    changed = None if flags is None else np.append(np.concatenate(flags), False)
    done = sweep(
        problem,
        state,
        learn=learn,
        changed=changed,
        n_converged=n_converged,
        share=share,
        posterior=joined_posterior(pieces, extent.kappa),
    )
    sums = np.column_stack(done.state.sums if extent.kappa else done.state.sums[:2])[:-1]
    values = np.concatenate([[done.evidence], done.gradient.total, done.gradient.square.ravel()])
    return PartState.of(done.state), split(sums, cut), values


def joined_posterior(pieces: Sequence[FloatArray], kappa: float) -> ItemPosterior:
    """Join the beliefs about the items of a partition, and those of empty slots."""
    return ItemPosterior(*np.concatenate([*pieces, [[1.0 - kappa, 0.0]]]).T)


@_for(sweep, ClusterProblem)
def _(
    problem: ClusterProblem,
    state: ClusterState,
    *,
    learn: bool = True,
    changed: Vector | None = None,
    n_converged: int = 0,
    share: float = 1.0,
) -> Sweep:
    table, extent = problem.table, state.extent
    shards = table.each(beliefs_of_shard, state.sums, problem.counts, gauge=state.gauge, kappa=extent.kappa)
    posterior, mean, variance, potential = table.sent(shards, 4)
    pieces = table.to_partitions(posterior)
    flags: Sequence[Any] = [None] * len(pieces) if changed is None else table.to_partitions(changed.parts)
    inputs = problem.problems, state.parts, pieces, flags, table.cuts
    options = {"moves": state.moves, "extent": extent, "learn": learn, "n_converged": n_converged, "share": share}
    parts, outgoing, values = table.sent(table.each(sweep_of_partition, *inputs, **options), 3)
    sums = table.to_shards(outgoing)
    total, potentials = table.total(values, potential)
    gradient = Gradient(total[1 : 1 + SIZE], total[1 + SIZE :].reshape(SIZE, SIZE))
    kept, age = state.kept, state.age + 1
    if age >= STORE_AFTER:
        parts, sums = kept = table.store(parts), table.store(sums)
        age = 0
    new = ClusterState(parts, sums, (), Gauge(), state.theta, extent, kept, age)
    evidence = extent.half_log_determinant + float(total[0]) + float(potentials[0])
    vectors = (Vector(table, each, empty=1, kept=state.kept) for each in (mean, variance))
    return Sweep(new, evidence, gradient, *vectors)  # type: ignore[arg-type]


def squares_of_shard(sums: FloatArray, count: IntArray, gauge: Gauge, kappa: float) -> FloatArray:
    """Return the number of items with a score, the sum of their means, and of mean squares, shape (3,)."""
    precision, shift = posterior_of_shard(sums, gauge, kappa)[count > 0].T
    mean = shift / precision
    return np.array([mean.size, mean.sum(), (mean**2 + 1 / precision).sum()])


@_for(standardised, ClusterProblem)
def _(problem: ClusterProblem, state: ClusterState) -> ClusterState:
    table, extent = problem.table, state.extent
    shards = table.each(squares_of_shard, state.sums, problem.counts, gauge=state.gauge, kappa=extent.kappa)
    size, total, square = table.total(shards).tolist()
    centre = total / size
    spread = float(np.sqrt((square / size - centre**2) / extent.mean_square))
    return state.moved(partial(regauged, change=Gauge(centre, spread)))


@_for(with_hyperparameters, ClusterState)
def _(state: ClusterState, theta: FloatArray) -> ClusterState:
    return state.moved(partial(with_hyperparameters, theta=theta))


@_for(with_own_noise, ClusterState)
def _(state: ClusterState) -> ClusterState:
    return state.moved(with_own_noise)


@_for(with_ordinal_reviewers, ClusterState)
def _(state: ClusterState, share: float = SHARE_TRIAL) -> ClusterState:
    return state.moved(partial(with_ordinal_reviewers, share=share))


@_for(are_rankings, ClusterProblem)
def _(problem: ClusterProblem) -> bool:
    return all_alike(problem.table.fetch(problem.table.each(SumsByLoad.of, problem.problems)))


# The spectrum of the assortment prior: products with L by partitions, the vectors in shards.


@_for(spectrum, ClusterProblem)
def _(problem: ClusterProblem, rng: np.random.Generator, steps: int = STEPS) -> Spectrum:
    table = problem.table
    known = [int(size) for size in table.fetch(table.each(np.count_nonzero, problem.counts))]
    size, busy = sum(known), int(table.total(table.each(_busy, problem.problems)))
    mean = (problem.n_reviews - busy) / size
    if mean <= 0:
        return Spectrum(np.zeros(1), np.array([float(size)]), 0.0)
    if size <= MAX_EXACT:
        firsts = np.concatenate([[0], np.cumsum(known)])[:-1].tolist()
        ranks = table.to_partitions(table.each(_ranks_of_known, problem.counts, firsts))
        dense = table.total(table.each(dense_laplacian, problem.problems, ranks, size=size))
        value = np.linalg.eigvalsh(dense)
        return Spectrum(np.maximum(value, 0.0) / mean, np.ones(size), mean)
    probes = min(PROBES, -(-PROBE_BUDGET // size))
    # Shards draw their own probes, each from where the one before ends: only states of the generator travel.
    starts = []
    for each in known:
        starts.append(rng.bit_generator.state)
        rng.choice([-1.0, 1.0], (each, probes))
    options = {"kind": type(rng.bit_generator), "probes": probes, "size": size}
    probe = Vector(table, table.each(probes_of_shard, problem.counts, starts, **options), columns=(probes,))
    degree = table.each(_as_column, problem.counts)

    def product(vectors: Vector) -> Vector:
        pieces = table.to_partitions(vectors.parts)
        sums = table.to_shards(table.each(means_of_partition, problem.problems, pieces, table.cuts))
        image: Vector = vectors * Vector(table, degree) - Vector(table, sums)
        return image

    value, weight = lanczos(product, probe, steps)  # type: ignore[arg-type]
    return Spectrum(np.maximum(value, 0.0) / mean, weight * size, mean)


def _busy(problem: Problem) -> int:
    return int(np.count_nonzero(problem.load))


def _as_column(count: IntArray) -> FloatArray:
    return count[:, None].astype(np.float64)


def _ranks_of_known(count: IntArray, first: int) -> IntArray:
    return np.where(count > 0, first + np.cumsum(count > 0) - 1, -1)


def _means_matrix(problem: Problem) -> Any:
    """Return B of a partition, items by reviewers, with entries 1 / sqrt k: L = D - B B'."""
    [part] = problem.parts
    return shared_matrix([part], problem.load, problem.reference_shift.size)


def dense_laplacian(problem: Problem, ranks: Sequence[IntArray], size: int) -> FloatArray:
    """Return the part of L that the reviewers of a partition add, over the items with a score, shape (size, size)."""
    rank, shared = np.concatenate(ranks), _means_matrix(problem)[:-1]
    known = np.flatnonzero(rank >= 0)
    dense, product = np.zeros((size, size)), (shared[known] @ shared[known].T).toarray()
    dense[np.ix_(rank[known], rank[known])] -= product
    degree = np.bincount(problem.parts[0].layout.item, minlength=rank.size + 1)  # type: ignore[index]
    dense[rank[known], rank[known]] += degree[known]
    return dense


def probes_of_shard(count: IntArray, state: Any, kind: Any, probes: int, size: int) -> FloatArray:
    """Draw the entries of Rademacher probes for the items of a shard with a score; others are 0."""
    generator = kind()
    generator.state = state
    probe, known = np.zeros((count.size, probes)), count > 0
    probe[known] = np.random.Generator(generator).choice([-1.0, 1.0], (int(known.sum()), probes)) / np.sqrt(size)
    return probe


def means_of_partition(problem: Problem, pieces: Sequence[FloatArray], cut: IntArray) -> list[FloatArray]:
    """Return B B' times columns, for the items of a partition, by shard."""
    vectors, shared = np.concatenate(pieces), _means_matrix(problem)[:-1]
    return split(shared @ (shared.T @ vectors), cut)


# Results: moments of items by shard, of reviewers by partition.


class Scale(NamedTuple):
    """Location and scale of a typical reviewer, in points of the scores."""

    location: float
    scale: float


class Inferred(NamedTuple):
    """The posterior on a cluster.

    ``items``: quality, standard error and average of the items of each shard, shape (3, n), NaN without a quality;
    ``reviewers``: of each partition. ``location`` and ``scale`` as those of :class:`lsc._inference.beliefs.Beliefs`.
    """

    items: list[Future]
    reviewers: list[Future]
    scale: Scale
    hyperparameters: dict[str, Hyperparameter]
    extent: Extent
    evidence: float
    null_evidence: float
    status: InferenceStatus
    sweeps: int
    off: float  # of Beliefs


def _moments(posterior: FloatArray, count: IntArray) -> FloatArray:
    """Return posterior means and variances, shape (2, n), NaN without a score."""
    precision, shift = posterior.T
    return np.where(count > 0, np.array([shift / precision, 1 / precision]), np.nan)


def _null_posterior(totals: FloatArray, averages: Averages) -> FloatArray:
    """Return precision and shift under the null model, in which all reviews have the same precision."""
    ratio, (size, total) = averages.slope / averages.noise, totals.T
    return np.column_stack([1.0 + ratio * averages.slope * size, ratio * (total - size * averages.mean)])


def _sums_of_means(moments: FloatArray, centre: float) -> FloatArray:
    mean = moments[0][~np.isnan(moments[0])]
    return np.array([mean.size, (mean - centre).sum(), ((mean - centre) ** 2).sum()])


#: Decimals of posterior means, in standard deviations, that distinguish their ranks: those of different shards are not
#: compared one by one.
DECIMALS = 9


def _rounded(moments: FloatArray, deviation: float) -> FloatArray:
    mean = moments[0]
    return np.asarray(np.round(mean[~np.isnan(mean)] / deviation, DECIMALS))


def _some(values: FloatArray, most: int) -> FloatArray:
    return np.sort(values)[:: max(1, values.size // most)]


def _by_value(values: FloatArray, borders: FloatArray) -> list[FloatArray]:
    """Return values by range, each range in the order of the shard."""
    home = np.searchsorted(borders, values, "right")
    return [values[home == place] for place in range(borders.size + 1)]


def _ranks_in_range(pieces: Sequence[FloatArray], first: int) -> list[FloatArray]:
    """Return the average ranks of the values of a range, by shard; ``first`` values lie below it."""
    every = np.sort(np.concatenate(pieces))
    ends = (np.searchsorted(every, each, "left") + np.searchsorted(every, each, "right") for each in pieces)
    return [np.asarray(first + 0.5 * (each + 1), np.float64) for each in ends]


def _length(pieces: Sequence[FloatArray]) -> int:
    return sum(each.size for each in pieces)


def _in_order(values: FloatArray, ranks: Sequence[FloatArray], borders: FloatArray) -> FloatArray:
    """Return the ranks of a shard in its order."""
    home, rank = np.searchsorted(borders, values, "right"), np.empty(values.size)
    for place, each in enumerate(ranks):
        rank[home == place] = each
    return rank


def ranks_of(table: Grid, values: list[Future]) -> list[Future]:
    """Return the average rank of each value among those of all shards, from 1; values are sorted by range."""
    S = len(values)
    few = np.sort(np.concatenate(table.fetch(table.each(_some, values, most=100))))
    borders = np.unique(few[[few.size * n // S for n in range(1, S)]]) if few.size else np.empty(0)
    ranges = borders.size + 1
    pieces = table.sent(table.each(_by_value, values, borders=borders), ranges)
    sizes = table.fetch(table.each(_length, pieces))
    firsts = np.concatenate([[0], np.cumsum(sizes)])[:-1].tolist()
    ranked = table.sent(table.each(_ranks_in_range, pieces, firsts), S)
    return table.each(_in_order, values, ranked, borders=borders)


def _distances_to_normal(
    moments: FloatArray, rank: FloatArray, centre: float, deviation: float, size: int
) -> FloatArray:
    mean = moments[0][~np.isnan(moments[0])]
    return np.array(distances_to_normal(mean, centre, deviation, rank, size))


def _row_sums(values: FloatArray) -> FloatArray:
    return np.asarray(values.sum(axis=1))


def _bend(moments: FloatArray, distances: FloatArray, share: float) -> FloatArray:
    bend = np.full(moments.shape[1], np.nan)
    bend[~np.isnan(moments[0])] = share * distances[0]
    return bend


def _zeros_where_known(moments: FloatArray) -> FloatArray:
    return np.asarray(0.0 * moments[0])


def bends_of(table: Grid, moments: list[Future]) -> list[Future]:
    """Return the variance from a common bend, as :func:`lsc._inference.inferring.bend_variance`."""
    size, total, _ = table.total(table.each(_sums_of_means, moments, centre=0.0)).tolist()
    centre = total / max(size, 1)
    deviation = float(np.sqrt(table.total(table.each(_sums_of_means, moments, centre=centre))[2] / max(size, 1)))
    if size < 3 or deviation <= 0:
        return table.each(_zeros_where_known, moments)
    rank = ranks_of(table, table.each(_rounded, moments, deviation=deviation))
    options = {"centre": centre, "deviation": deviation, "size": int(size)}
    distances = table.each(_distances_to_normal, moments, rank, **options)
    square, scatter = table.total(table.each(_row_sums, distances)).tolist()
    return table.each(_bend, moments, distances, share=unexplained_share(square, scatter))


def _described(
    problem: Problem, part: PartState, pieces: Sequence[FloatArray], moves: Any, extent: Extent
) -> ReviewerMoments:
    return reviewer_moments(problem, part.state(moves, extent), joined_posterior(pieces, extent.kappa))


def _typical(moments: ReviewerMoments, problem: Problem) -> FloatArray:
    """Return sums over the reviews of offsets and slopes of their reviewers, and their number."""
    load, scored = problem.load, problem.load > 0
    weights = load[scored].astype(np.float64)
    return np.array([weights @ moments.offset[scored], weights @ moments.slope[scored], load.sum()])


def _reviewers(moments: ReviewerMoments, part: PartState, offset: float, slope: float, spread: float) -> Reviewers:
    return reviewers_given(moments, offset, slope, spread, part.orders)


def _null_reviewers(problem: Problem, noise: float) -> Reviewers:
    zeros, ones = np.where(problem.load > 0, 0.0, np.nan), np.where(problem.load > 0, 1.0, np.nan)
    moments = ReviewerMoments(ones, zeros, zeros, zeros, zeros, zeros, 2 * np.log(noise) + zeros, zeros)
    return reviewers_given(moments, 0.0, 1.0, 1.0, zeros)


def _reported(
    moments: FloatArray,
    bend: FloatArray,
    loops: FloatArray | float,
    totals: FloatArray,
    scale: Scale,
    unit: Unit,
    prior: float,
) -> FloatArray:
    """Return quality, standard error and average, shape (3, n); by the prior where all reviewers are ignored."""
    size, total = totals.T
    by_prior = (size > 0) & np.isnan(moments[0])
    mean = np.where(by_prior, 0.0, moments[0])
    square = np.where(by_prior, 1.0 / prior, moments[1] * loops + bend)
    average = np.divide(total, size, out=np.full(size.size, np.nan), where=size > 0)
    error = scale.scale * np.sqrt(square)
    return np.array([scale.location + scale.scale * mean, error, unit.location + unit.spread * average])


class Prepared(NamedTuple):
    """Scores on a cluster that were checked and laid out: the problem, their unit, and the null model.

    ``shares``: the reviews used; ``totals``: number and sum of the standardised scores of each item, by shard;
    ``every``: the same with the reviews of ignored reviewers; ``loads``: sums of the loads of reviewers and of their
    squares.
    """

    problem: ClusterProblem
    unit: Unit
    averages: Averages
    shares: list[Future]
    totals: list[Future]
    every: list[Future]
    loads: tuple[int, int]


def prepare_on_cluster(table: Grid, tell: Callable[[str], None]) -> Prepared:
    """Check the scores, standardise them and lay them out."""
    tell("checking the scores")
    shares, size, equal = used_scores(table)
    unit = unit_of(table, shares, size, equal)
    tell("laying out the reviews")
    totals = table.store(table.to_shards(table.each(totals_by_item, shares, table.cuts, unit=unit)))
    every = totals
    if size < table.n_scored:
        scored = table.each(scored_of, table.shares)
        every = table.store(table.to_shards(table.each(totals_by_item, scored, table.cuts, unit=unit)))
    counted = table.each(count_of, totals)
    squares = table.total(table.each(sums_of_loads, shares))
    loads = int(squares[0]), int(squares[1])
    load = np.concatenate(table.fetch(table.each(loads_of, shares))) if size <= LARGE else np.empty(0, np.int64)
    compiled = loads[0] >= COMPILE_FROM
    problems = table.each(problem_of_partition, shares, unit=unit, compiled=compiled)
    problem = ClusterProblem(table, problems, counted, load, size, unit.rounding, compiled)
    return Prepared(problem, unit, averages_of(table, shares, totals, unit), shares, totals, every, loads)


def infer_on_cluster(table: Grid, seed: int, tell: Callable[[str], None]) -> Inferred:
    """Infer qualities of items as :func:`lsc._inference.streaming.infer_by_passes` does, equal up to rounding."""
    given = prepare_on_cluster(table, tell)
    problem: Any = given.problem
    rng = np.random.default_rng(seed)
    rows = subset_on_cluster(table, given.shares, given.problem.counts, given.loads, rng)
    subset = None if rows is None else prepare(rows, *counts(rows), given.unit, problem.compiled).problem
    fit = run_stages(problem, rng, tell, subset)
    tell("results")
    return _inferred(given, fit)


def _inferred(given: Prepared, fit: Fit) -> Inferred:
    """Assemble the results under the full model, or the null model where there is no signal."""
    problem, unit, averages, _, totals, every, _ = given
    table = problem.table
    loops: list[Any] = [1.0] * len(totals)
    if not has_signal(fit, averages):
        posterior = table.each(_null_posterior, totals, averages=averages)
        moments = table.each(_moments, posterior, problem.counts)
        scale = Scale(unit.location + unit.spread * averages.mean, unit.spread * averages.slope)
        noise = float(np.sqrt(averages.noise))
        reviewers = table.each(_null_reviewers, problem.problems, noise=unit.spread * noise)
        named = {"slope": averages.slope, "g0": averages.mean, "noise": noise}
        kinds: Any = {name: Hyperparameter(value) for name, value in named.items()}, Extent()
        status = InferenceStatus.NO_SIGNAL
    else:
        state: Any = fit.state
        options = {"gauge": state.gauge, "kappa": state.extent.kappa}
        posterior = table.each(posterior_of_shard, state.sums, **options)
        moments = table.each(_moments, posterior, problem.counts)
        pieces, changes = table.to_partitions(posterior), {"moves": state.moves, "extent": state.extent}
        described = table.each(_described, problem.problems, state.parts, pieces, **changes)
        offset, slope, number = table.total(table.each(_typical, described, problem.problems)).tolist()
        offset, slope = offset / number, slope / number
        scale = Scale(unit.location + unit.spread * offset, unit.spread * slope)
        swept: Any = partial(sweep, problem, state)
        # Probabilities of the last sweep belong to the messages before it.
        parts = swept(learn=False).state.parts if state.extent.orders else state.parts
        typical = {"offset": offset, "slope": slope, "spread": unit.spread}
        reviewers = table.each(_reviewers, described, parts, **typical)
        kinds = hyperparameters_of(fit), state.extent
        status = InferenceStatus.CONVERGED if fit.converged else InferenceStatus.SWEEPS_EXHAUSTED
        if problem.n_reviews <= MAX_REVIEWS:
            loops = loops_of(problem, unit, fit, moments, described, table.each(_orders, parts))
    bends = bends_of(table, moments)
    prior = 1.0 if status is InferenceStatus.NO_SIGNAL else 1.0 - fit.state.extent.kappa
    items = table.each(_reported, moments, bends, loops, every, scale=scale, unit=unit, prior=prior)
    values, extent = kinds
    return Inferred(
        items, reviewers, scale, values, extent, fit.evidence, averages.evidence, status, fit.sweeps, fit.off
    )


# Loop factors of a small table, from reviewers, items and messages of all its reviews, at the client.


def _reviews_of(problem: Problem, part: PartState, items: IntArray, first: int, moves: Any, extent: Extent) -> Any:
    """Return reviewers, items and messages of the reviews of a partition, and nodes of its reviewers."""
    state = part.state(moves, extent)
    [messages], [each] = state.messages, problem.parts
    values = messages.rescaled(state.gauge)
    used = each.layout.item < items.size
    what = items[each.layout.item[used]]
    kept = np.array([value[used] for value in values])
    return first + each.layout.reviewer[used], what, kept, np.concatenate([state.nodes, state.fresh])


def _orders(part: PartState) -> FloatArray:
    return part.orders


def _items_of(share: Share) -> IntArray:
    return share.items


def loops_of(
    problem: ClusterProblem, unit: Unit, fit: Fit, moments: list[Future], described: list[Future], orders: list[Future]
) -> list[FloatArray]:
    """Return the loop factors of the items of each shard."""
    table, state = problem.table, fit.state
    firsts = table.first_reviewer[:-1].tolist()
    changes = {"moves": state.moves, "extent": state.extent}  # type: ignore[attr-defined]
    items = table.each(_items_of, table.shares)
    parts = state.parts  # type: ignore[attr-defined]
    rows = table.fetch(table.each(_reviews_of, problem.problems, parts, items, firsts, **changes))
    who, what = (np.concatenate([each[n] for each in rows]) for n in (0, 1))
    values, nodes = (np.concatenate([each[n] for each in rows], axis=1) for n in (2, 3))
    order = np.lexsort((what, who))  # probes are drawn review by review
    who, what, values = who[order], what[order], values[:, order]
    mean, variance = np.concatenate(table.fetch(moments), axis=1)
    reviewers = ReviewerMoments(*np.concatenate([np.array(each) for each in table.fetch(described)], axis=1))
    ones = np.ones(mean.size)
    beliefs = Beliefs(
        *ItemMoments(mean, variance, ones, 0 * ones),
        location=0.0,
        scale=1.0,
        prior=1.0 - state.extent.kappa,
        kappa=state.extent.kappa,
        slope=reviewers.slope,
        offset=reviewers.offset,
        noise_variance=np.exp(reviewers.log_noise),
        slope_variance=reviewers.slope_variance,
        reviewers=reviewers_given(reviewers, 0.0, 1.0, unit.spread, np.concatenate(table.fetch(orders))),
        hyperparameters=hyperparameters_of(fit),
        theta=state.theta,
        extent=state.extent,
        evidence=fit.evidence,
        null_evidence=-np.inf,
        status=InferenceStatus.CONVERGED,
        sweeps=fit.sweeps,
        off=fit.off,
    )
    posterior = with_parts(beliefs, who, what, Messages(*values), Fitted(values, nodes, state.theta, state.extent))
    return np.split(loop_factors(posterior), table.first_item[1:-1])
