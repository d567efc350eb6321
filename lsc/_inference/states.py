"""The data and the state of the inference: reviews in parts, messages, nodes, hyperparameters; and their preparation.

A part is a set of reviewers processed together, with all their reviews. A table in memory is one part; parts and
messages of a larger one are on disk (:mod:`lsc._inference.streaming`), and no reference to them outlives a step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

from lsc._inference.model import LOG_OWN, LOG_TAU_LEFT, LOG_TAU_RIGHT, MU, Block, Extent, Layout, lay_out
from reviewgraph._base import BoolArray, FloatArray, InputError, IntArray

#: Number of reviews from which steps run compiled; below, whole arrays fit in the cache and cost little.
COMPILE_FROM = 20_000


class Part(NamedTuple):
    """Some of the reviewers; ``log_weight`` (S,): centred logarithms of the weights of reviews, or None."""

    layout: Layout
    log_weight: FloatArray | None = None


class Messages(NamedTuple):
    """Site parameters of the reviews of a part, shapes (S,), or their sums by item, shapes (N,).

    ``precision``, ``shift``: of the factors of reviewers; ``likeness_precision``, ``likeness_shift``: of the assortment
    prior.
    """

    precision: FloatArray
    shift: FloatArray
    likeness_precision: FloatArray
    likeness_shift: FloatArray

    @staticmethod
    def none(size: int) -> Messages:
        """Messages, or sums, that are all zero and cannot be written to."""
        return Messages(*[zeros_view(size)] * len(Messages._fields))

    @staticmethod
    def zeros(size: int, *, assortment: bool) -> Messages:
        """Writable zeros; those of the assortment prior only on request."""
        return Messages(*np.zeros((size, 2)).T, *(np.zeros((size, 2)).T if assortment else [zeros_view(size)] * 2))

    def rescaled(self, gauge: Gauge) -> Messages:
        """Messages when qualities become ``(x - centre) / spread``; the assortment prior keeps its precision.

        Both numbers of a review stay side by side, so that kernels are compiled for one layout of messages.
        """
        if gauge == Gauge():
            return self
        centre, spread = gauge
        precision, shift, likeness_precision, likeness_shift = self
        if not is_zeros_view(precision):
            changed = np.empty((precision.size, 2)).T
            np.multiply(precision, spread**2, out=changed[0])
            np.multiply(shift - precision * centre, spread, out=changed[1])
            precision, shift = changed
        if not is_zeros_view(likeness_precision):
            likeness_shift = (likeness_shift - likeness_precision * centre) / spread
        return Messages(precision, shift, likeness_precision, likeness_shift)


def zeros_view(size: int) -> FloatArray:
    """Return zeros that take no memory and cannot be written to."""
    return np.broadcast_to(0.0, size)


def is_zeros_view(values: FloatArray) -> bool:
    """Whether an array was made by :func:`zeros_view`."""
    return values.strides[0] == 0


class Gauge(NamedTuple):
    """A change of the scale of qualities to ``(x - centre) / spread``."""

    centre: float = 0.0
    spread: float = 1.0

    def then(self, other: Gauge) -> Gauge:
        return Gauge(self.centre + self.spread * other.centre, self.spread * other.spread)


class Store(Protocol):
    """The messages of all parts in order: appended one by one, then read any number of times."""

    def append(self, messages: Messages, /) -> None: ...

    def __iter__(self) -> Iterator[Messages]: ...


class Expected(NamedTuple):
    """Prior means that covariates give: ``quality`` (N,) of items, ``offset`` (M,) of reviewers beside g0 + g1 a.

    Qualities are on the internal scale, offsets in standardised scores, which enter less that offset.
    """

    quality: FloatArray
    offset: FloatArray


@dataclass(frozen=True, eq=False)
class Problem:
    """The data, fixed during the inference.

    ``parts``: all reviews, iterated over repeatedly; ``load`` (M,), ``count`` (N,): reviews of each reviewer and item;
    ``rounding``: variance r^2 of rounding, or one per slot, (S,), of the only part; ``weighted``: whether reviews have
    weights; ``reference_precision`` and ``reference_shift`` (N,): site parameters of references, summed by item;
    ``compiled``: whether steps run compiled; ``store`` makes an empty store for messages; ``expected``: what covariates
    say before any score, or None.
    """

    parts: Iterable[Part]
    load: IntArray
    count: IntArray
    rounding: float | FloatArray
    weighted: bool
    reference_precision: FloatArray
    reference_shift: FloatArray
    compiled: bool = False
    store: Callable[[], Store] = list
    expected: Expected | None = None

    @property
    def known(self) -> BoolArray:
        """Shape (N,): items with a score."""
        return self.count > 0

    def rounding_of(self, block: Block) -> float | FloatArray:
        """Variance of rounding in a block: r^2, or that of each review, shape (k, 1, m)."""
        if not isinstance(self.rounding, np.ndarray):
            return self.rounding
        return self.rounding[block.first : block.last].reshape(block.shape)[:, None]

    @property
    def n_reviewers(self) -> int:
        return self.load.size

    @property
    def n_items(self) -> int:
        return self.count.size

    @property
    def n_reviews(self) -> int:
        return int(self.load.sum())


@dataclass(frozen=True, eq=False)
class State:
    """Messages, nodes and hyperparameters.

    ``messages``: of all parts, on the scale before ``gauge``; ``sums``: the same summed by item, shapes (N + 1,), entry
    N for empty slots; ``nodes``, ``fresh`` (4, M): mean and standard deviation of each reviewer's log slope and of the
    log of own noise, given the current cavities, and given fresh papers; ``orders`` (M,): probability that a reviewer
    is ordinal; ``theta`` (P,): hyperparameters; ``extent``: extensions of the model.
    """

    messages: Store
    sums: Messages
    gauge: Gauge
    nodes: FloatArray
    fresh: FloatArray
    orders: FloatArray
    theta: FloatArray
    extent: Extent


class ItemPosterior(NamedTuple):
    """Posterior precision and shift of the items, shapes (N + 1,); entry N belongs to empty slots."""

    precision: FloatArray
    shift: FloatArray


@singledispatch
def initial_state(problem: Problem, theta: FloatArray, extent: Extent) -> State:
    """Return the state with zero messages and nodes at the prior."""
    tau = np.exp(0.5 * (theta[LOG_TAU_LEFT] + theta[LOG_TAU_RIGHT]))
    nodes = np.array([theta[MU], tau, 0.0, np.exp(theta[LOG_OWN])])[:, None] * np.ones(problem.n_reviewers)
    messages = problem.store()
    for part in problem.parts:
        messages.append(Messages.none(part.layout.item.size))
    none = Messages.none(problem.n_items + 1)
    return State(messages, none, Gauge(), nodes, nodes, np.zeros(problem.n_reviewers), theta, extent)


def parts_with_messages(problem: Problem, state: State) -> Iterator[tuple[Part, Messages]]:
    for part, messages in zip(problem.parts, state.messages, strict=True):
        yield part, messages.rescaled(state.gauge)


@singledispatch
def item_posterior(problem: Problem, state: State) -> ItemPosterior:
    """Sum prior, references and messages."""
    # Interleaved: both numbers of an item are always read together.
    precision, shift = np.zeros((problem.n_items + 1, 2)).T
    total = state.sums.rescaled(state.gauge)
    precision += 1.0 - state.extent.kappa + total.precision + total.likeness_precision
    shift += total.shift + total.likeness_shift
    precision[:-1] += problem.reference_precision
    shift[:-1] += problem.reference_shift
    if problem.expected is not None:
        shift[:-1] += (1.0 - state.extent.kappa) * problem.expected.quality
    return ItemPosterior(precision, shift)


# Validation, standardisation and layout of the scores.

#: Minimum noise variance of the standardised scores: keeps messages well-conditioned.
MIN_NOISE = 1e-4
#: A reviewer with constant scores is ignored if such scores have a lower probability than this by chance, unless more
#: than this share of the reviewers is of that kind.
CHANCE, MAX_SHARE = 0.01, 0.1

#: Function that begins a pass over the scores, piece by piece.
Passes: TypeAlias = Callable[[], Iterable[FloatArray]]
#: Outlier: a score ``FAR * (1 + SMALL_TABLE / E)`` times farther from the median than all but the farthest hundredth.
OUTLIER_RATIO, SMALL_TABLE = 30.0, 10.0
EXTREME_SHARE = 0.01
#: Minimum number of scores for which outliers are looked for.
MIN_SCORES = 3
#: Maximum ratio of the 95 % and 5 % quantiles of the ranges of reviewers for which scores have one unit.
MAX_RANGE_RATIO, TAIL = 1e5, 0.05


class Unit(NamedTuple):
    """Mean and standard deviation of the scores, and rounding variance relative to the square of the latter."""

    location: float
    spread: float
    rounding: float

    def standardised(self, score: FloatArray) -> FloatArray:
        return (score - self.location) / self.spread


class Scores(NamedTuple):
    """Standardised scores and their slots, shapes (E,), the problem built from them, and the unit."""

    standard: FloatArray
    slot: IntArray
    problem: Problem
    unit: Unit


class Rows(NamedTuple):
    """Reviews, shapes (E,): codes, scores and weights."""

    reviewer: IntArray
    item: IntArray
    score: FloatArray
    weight: FloatArray | None = None

    def only(self, kept: BoolArray) -> Rows:
        """Return some of them, by a mask."""
        weight = None if self.weight is None else self.weight[kept]
        return Rows(self.reviewer[kept], self.item[kept], self.score[kept], weight)


def prepare(
    rows: Rows,
    n_reviewers: int,
    n_items: int,
    unit: Unit | None = None,
    compiled: bool | None = None,
    expected: Expected | None = None,
) -> Scores:
    """Standardise scores and lay them out; weights become centred logarithms.

    ``unit``: that of the whole table, for a subset; ``compiled``: whether steps run compiled, by default from
    ``COMPILE_FROM`` reviews on; ``expected``: prior means from covariates.
    """
    reviewer, item, score, weight = rows
    unit = unit or unit_of(lambda: [score], equal_scores(score))
    standard = unit.standardised(score)
    if expected is not None:
        standard = standard - expected.offset[reviewer]
    layout, slot = lay_out(reviewer, item, standard, n_reviewers, n_items)
    log_weight = None
    if weight is not None and np.ptp(weight) > 0:
        logs = np.log(weight)
        log_weight = np.zeros(layout.item.size)
        log_weight[slot] = (logs - logs.mean()) / logs.std()
    count = np.bincount(item, minlength=n_items)
    zeros = np.zeros(n_items)
    weighted = log_weight is not None
    compiled = (score.size >= COMPILE_FROM if compiled is None else compiled) and not weighted
    parts = (Part(layout, log_weight),)
    sites = unit.rounding, weighted, zeros, zeros, compiled
    problem = Problem(parts, layout.load, count, *sites, expected=expected)
    return Scores(standard, slot, problem, unit)


def unit_of(scores: Passes, equal: float) -> Unit:
    """Return the unit of scores.

    ``equal`` is the probability p that two of them are equal. Normal scores rounded to a grid of width d are equal with
    probability d / (2 sqrt(pi) sigma), and rounding adds d^2 / 12 = (pi / 3) p^2 sigma^2.
    """
    # Extended precision, where available, makes the sums independent of the pieces.
    size, largest, total, squares = 0, 0.0, np.longdouble(0.0), np.longdouble(0.0)
    for score in scores():
        size, largest = size + score.size, max(largest, float(np.abs(score).max(initial=0.0)))
        total += score.sum(dtype=np.longdouble)
    mean = float(total / size)
    for score in scores():
        squares += ((score - mean) ** 2).sum(dtype=np.longdouble)
    return unit_given(mean, squares, size, largest, equal)


def unit_given(mean: float, squares: np.longdouble, size: int, largest: float, equal: float) -> Unit:
    """Return the unit of scores with this mean, sum of squares about it, number and largest absolute value."""
    deviation = float(np.sqrt(squares / size))
    # All scores equal, but for rounding of their mean: there is no unit.
    spread = 1.0 if deviation <= 1e-12 * largest else deviation
    return Unit(mean, spread, float(np.pi / 3 * equal**2) + MIN_NOISE)


def extremes(reviewer: IntArray, score: FloatArray, n_reviewers: int) -> tuple[FloatArray, FloatArray]:
    """Return the lowest and the highest score of each reviewer, shapes (M,); infinite without scores."""
    low, high = np.full(n_reviewers, np.inf), np.full(n_reviewers, -np.inf)
    np.minimum.at(low, reviewer, score)
    np.maximum.at(high, reviewer, score)
    return low, high


#: Fewest reviewers of a load, on average, who can be alike by design only.
LIKE_OTHERS = 3


class SumsByLoad(NamedTuple):
    """Reviewers of several papers by load, each of shape (K,): how many, and extremes of a sum over their scores.

    The sum of ``y (y - e)`` is the same for the same scores in another order, and by chance only for others; squares
    alone are the same for a scale turned round.
    """

    load: IntArray
    reviewers: IntArray
    smallest: FloatArray
    largest: FloatArray

    @staticmethod
    def of(problem: Problem) -> SumsByLoad:
        """Sum over the scores of each reviewer; empty slots add nothing."""
        total = np.zeros(problem.n_reviewers)
        for part in problem.parts:
            score = part.layout.score
            total += np.bincount(part.layout.reviewer, score * (score - np.e), problem.n_reviewers)
        several = problem.load > 1
        load, place, reviewers = np.unique(problem.load[several], return_inverse=True, return_counts=True)
        return SumsByLoad(load, reviewers, *extremes(place, total[several], load.size))


@singledispatch
def are_rankings(problem: Problem) -> bool:
    """Whether reviewers of as many papers all give the same scores in another order, as ranks are."""
    return all_alike([SumsByLoad.of(problem)])


def all_alike(parts: Sequence[SumsByLoad]) -> bool:
    """Whether sums depend on loads alone, over the reviewers of all parts, who have to be enough to tell."""
    load, place = np.unique(np.concatenate([part.load for part in parts]), return_inverse=True)
    if sum(int(part.reviewers.sum()) for part in parts) < max(LIKE_OTHERS * load.size, 1):
        return False
    smallest, _ = extremes(place, np.concatenate([part.smallest for part in parts]), load.size)
    _, largest = extremes(place, np.concatenate([part.largest for part in parts]), load.size)
    return bool(np.allclose(smallest, largest, rtol=0.0, atol=1e-9 * load.max()))


def uninformative(load: IntArray, constant: BoolArray, equal: float) -> BoolArray:
    """Return the reviewers, shape (M,), with constant scores, unless by chance: they are ignored.

    k scores are equal by chance with probability p^(k - 1), p that of two scores of the table, ``equal``. Where many
    reviewers are constant it is a property of the table, and nobody is ignored.
    """
    designed = constant_by_design(load, constant, equal)
    return designed if designed.sum() <= MAX_SHARE * (load > 0).sum() else np.zeros(load.size, bool)


def constant_by_design(load: IntArray, constant: BoolArray, equal: float) -> BoolArray:
    """Return the reviewers whose scores are too unlikely to be equal by chance."""
    return np.asarray((load > 1) & constant & (equal ** np.maximum(load - 1.0, 0.0) < CHANCE))


def equal_scores(score: FloatArray) -> float:
    """Return the probability that two scores of the table are equal."""
    if score.size < 2:
        return 0.0
    _, count = np.unique(score, return_counts=True)
    return float((count * (count - 1.0)).sum()) / (score.size * (score.size - 1.0))


def check_no_outlier(score: FloatArray) -> None:
    """Raise if a score lies so far from all others that it is a likely data-entry error."""
    if score.size < MIN_SCORES:
        return
    median = float(np.median(score))
    distance = np.abs(score - median)
    usual, worst = np.sort(distance)[: score.size - n_extreme(score.size)], int(np.argmax(distance))
    require_no_outlier(float(score[worst]), worst, median, float(usual[-1]), score.size)


def n_extreme(size: int) -> int:
    """Count the scores left aside when the usual distance from the median is determined."""
    return max(1, int(EXTREME_SHARE * size))


def require_no_outlier(worst: float, place: int, median: float, usual: float, size: int) -> None:
    """Raise if the ``worst`` score, at review ``place``, lies too far from the median.

    ``usual`` is the largest distance of the other scores but for the farthest hundredth.
    """
    distance = abs(worst - median)
    if usual > 0 and distance > OUTLIER_RATIO * (1 + SMALL_TABLE / size) * usual:
        message = (
            f"score: expected scores on one scale, found {worst:g} at review {place}, {distance / usual:.0f} times "
            f"farther from the median {median:g} than nearly all others; correct it or leave it out"
        )
        raise InputError(message)


def require_one_unit(low: FloatArray, high: FloatArray) -> None:
    """Raise if the ranges of reviewers imply different units."""
    width = (high - low)[high > low]
    if not width.size:
        return
    require_like_ranges(*np.quantile(width, [TAIL, 1.0 - TAIL]).tolist())


def require_like_ranges(narrow: float, wide: float) -> None:
    """Raise if these quantiles of the ranges imply different units."""
    if wide > MAX_RANGE_RATIO * narrow:
        message = (
            f"score: expected scores on one scale, found reviewers whose scores lie within {narrow:g} and others whose "
            f"scores spread over {wide:g}; give tables of different units one by one"
        )
        raise InputError(message)


# Subset of a large table for the first estimate of the hyperparameters.
#
# A few thousand reviewers determine the hyperparameters to a few percent. The choice does not depend on the scores, so
# the subset is not biased; reviewers who share papers are preferred, because their scores are the most informative.

#: Number of reviews from which a subset is used, and its size in reviews.
LARGE, SUBSET = 40_000, 20_000
#: Load of a typical review's reviewer above which papers are sampled, too, lest the subset has few reviewers.
HEAVY_LOAD = 50
#: Share of the subset sampled uniformly, and the factor by which it grows per round.
UNIFORM_SHARE, GROWTH = 0.02, 1.5


def subset_of(pieces: Iterable[Rows], n_reviewers: int, n_items: int, rng: np.random.Generator) -> Rows | None:
    """Return the reviews of some reviewers who share papers, codes renumbered; None where the table is not large.

    ``pieces`` are all reviews, with all those of a reviewer in one piece; about twenty passes.
    """
    load = _per_reviewer(pieces, n_reviewers)
    size = int(load.sum())
    if size <= LARGE:
        return None
    typical = float((load**2).sum()) / size
    sampled = ReviewsOfItems(pieces, rng.random(n_items) < max(HEAVY_LOAD / typical, SUBSET / size))
    chosen = _connected_reviewers(sampled, n_reviewers, n_items, rng)
    who, what, score, weight = zip(*(rows.only(chosen[rows.reviewer]) for rows in sampled), strict=True)
    weights = [each for each in weight if each is not None]
    reviewer, item = (np.unique(np.concatenate(code), return_inverse=True)[1] for code in (who, what))
    return Rows(reviewer, item, np.concatenate(score), np.concatenate(weights) if weights else None)


def counts(rows: Rows) -> tuple[int, int]:
    """Count the reviewers and items of rows whose codes have no gaps."""
    return int(rows.reviewer.max()) + 1, int(rows.item.max()) + 1


@dataclass(frozen=True, eq=False)
class ReviewsOfItems:
    """The reviews of some items, given by a mask, shape (N,)."""

    pieces: Iterable[Rows]
    items: BoolArray

    def __iter__(self) -> Iterator[Rows]:
        all_items = bool(self.items.all())
        for rows in self.pieces:
            yield rows if all_items else rows.only(self.items[rows.item])


def _per_reviewer(pieces: Iterable[Rows], n_reviewers: int, of_item: FloatArray | None = None) -> FloatArray:
    """Sum values of items, or ones, over the reviews of each reviewer, shape (M,)."""
    total = np.zeros(n_reviewers)
    for rows in pieces:
        total += np.bincount(rows.reviewer, None if of_item is None else of_item[rows.item], n_reviewers)
    return total


def _connected_reviewers(pieces: Iterable[Rows], n_reviewers: int, n_items: int, rng: np.random.Generator) -> BoolArray:
    """Add reviewers with the largest share of papers in the subset until it has ``SUBSET`` reviews; shape (M,)."""
    load = _per_reviewer(pieces, n_reviewers)
    priority = rng.random(n_reviewers)
    chosen, in_subset = np.zeros(n_reviewers, bool), np.zeros(n_items)
    target = min(SUBSET, int(load.sum()))
    size = UNIFORM_SHARE * target
    while load[chosen].sum() < target:
        # Share of their papers in the subset; one more counts as missing, since few papers carry little information.
        shared = _per_reviewer(pieces, n_reviewers, in_subset) / (load + 1)
        order = top_candidates(np.flatnonzero(~chosen & (load > 0)), shared, priority, target)
        before = load[chosen].sum() + np.cumsum(load[order]) - load[order]
        chosen[order[before < min(size, target)]] = True
        for rows in pieces:
            in_subset[rows.item[chosen[rows.reviewer]]] = 1.0
        size *= GROWTH
    return chosen


def top_candidates(candidates: IntArray, shared: FloatArray, priority: FloatArray, number: int) -> IntArray:
    """Return the first candidates in descending order of share, ties by priority, without sorting all."""
    if candidates.size > number:
        threshold = np.partition(shared[candidates], candidates.size - number)[candidates.size - number]
        above, equal = candidates[shared[candidates] > threshold], candidates[shared[candidates] == threshold]
        equal = equal[np.argpartition(priority[equal], number - above.size - 1)[: number - above.size]]
        candidates = np.concatenate([above, equal])
    return candidates[np.lexsort((priority[candidates], -shared[candidates]))]


# References: external values of some qualities, as noisy measurements on a scale of their own.
#
# ::
#
#     value_q = alpha + beta x_i + e_q,  e ~ N(0, s^2)
#
# Given the scores, ``E value = alpha + beta E x``: regression on posterior means is unbiased, with residual variance
# ``beta^2 Var x + s^2``.

#: Minimum number of references, of different values, for a scale of their own; fewer are read as scores.
MIN_REFERENCES = 3
#: Standard deviation of a reference's error, in units of quality: its minimum, and its value without such a scale.
MIN_ERROR, ASSUMED_ERROR = 0.1, 0.3
#: Maximum distance from the mean, in standard deviations of quality, of a reference read as a score.
MAX_DISTANCE = 10.0


class References(NamedTuple):
    """References as site parameters, shapes (R,): item, value as passed, precision and shift on the internal scale."""

    item: IntArray
    value: FloatArray
    precision: FloatArray
    shift: FloatArray

    def per_item(self, n_items: int) -> tuple[FloatArray, FloatArray]:
        """Return sums of precisions and shifts by item, shapes (N,)."""
        precision = np.bincount(self.item, self.precision, n_items)
        return np.asarray(precision), np.asarray(np.bincount(self.item, self.shift, n_items))

    def applied_to(self, problem: Problem) -> Problem:
        precision, shift = self.per_item(problem.n_items)
        return replace(problem, reference_precision=precision, reference_shift=shift)


NO_REFERENCES = References(np.empty(0, np.int64), *np.empty((3, 0)))


def read_references(
    mean: FloatArray, variance: FloatArray, item: IntArray, value: FloatArray, location: float, scale: float
) -> References:
    """Estimate scale and error of references from the posterior of the same items, and return their site parameters.

    ``mean``, ``variance`` (N,): posterior without references, NaN without a score; ``location``, ``scale``: of a
    typical reviewer, the scale of references too few or too similar for their own. Qualities stay on that of a typical
    reviewer. Raises InputError if references are neither.
    """
    scored = np.isfinite(mean[item])
    x, v, y = mean[item][scored], variance[item][scored], value[scored]
    error = ASSUMED_ERROR
    if x.size >= MIN_REFERENCES and np.ptp(y) > 0 and np.ptp(x) > 0:
        slope = float(np.cov(x, y)[0, 1] / x.var(ddof=1))
        if slope > 0:
            location, scale = float(y.mean() - slope * x.mean()), slope
            residual = (y - location) / scale - x
            excess = float((residual**2).sum()) / (x.size - 2) - float(v.mean())
            error = max(MIN_ERROR, np.sqrt(max(excess, 0.0)))
    standard = (value - location) / scale
    if np.abs(standard).max(initial=0.0) > MAX_DISTANCE:
        message = (
            f"references: expected {MIN_REFERENCES} or more whose values rise with their scores, or values on the "
            f"scale of the scores; found {value.size} that are neither; pass more, or values as a typical reviewer "
            f"would score"
        )
        raise InputError(message)
    precision = np.full(item.size, error**-2)
    return References(item, value, precision, standard * precision)
