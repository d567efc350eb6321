"""What is inferred from, part by part, and what is believed so far: reviews, messages, nodes, hyperparameters.

A part is as many reviewers as are looked at together, with all their reviews. A table in memory is one part, held in a
tuple, and its messages stand in a list; of a larger one both lie on disk (:mod:`lsc._inference.streaming`). Nobody
holds
a part, or its messages, longer than for a step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

from lsc._inference.model import LOG_OWN, LOG_TAU_LEFT, LOG_TAU_RIGHT, MU, Extent, Layout, lay_out
from reviewgraph._base.arrays import BoolArray, FloatArray, IntArray
from reviewgraph._base.errors import InputError

#: Reviews from which on steps run compiled: below, loading them takes longer. Of reviewers of hundreds of papers whole
#: arrays leave the cache, and the climb is long: fewer are enough where a typical review is one of so many of hers.
MANY, ENOUGH, LONG = 200_000, 60_000, 200


class Part(NamedTuple):
    """Some of the reviewers.

    Parameters
    ----------
    layout
        Their reviews.
    log_weight
        Shape (S,): centred logarithms of the weights of reviews, where there are any.
    """

    layout: Layout
    log_weight: FloatArray | None = None


class Messages(NamedTuple):
    """What is said in a part, shapes (S,); or, summed up, of the items, shapes (N,).

    Parameters
    ----------
    precision, shift
        The message of each review.
    likeness_precision, likeness_shift
        What each item learns from the other items of the reviewer.
    """

    precision: FloatArray
    shift: FloatArray
    likeness_precision: FloatArray
    likeness_shift: FloatArray

    @staticmethod
    def silent(size: int) -> Messages:
        """Return messages, or sums, that are all :func:`nothing`."""
        return Messages(*[nothing(size)] * len(Messages._fields))

    @staticmethod
    def room(size: int, *, alike: bool) -> Messages:
        """Return zeros to be written to; those of likeness only if they are asked for."""
        return Messages(*np.zeros((size, 2)).T, *(np.zeros((size, 2)).T if alike else [nothing(size)] * 2))

    def moved(self, gauge: Gauge) -> Messages:
        """Return what is said when qualities become ``(x - centre) / spread``.

        What papers learn from each other has the precision of the prior, which does not change.
        """
        if gauge == Gauge():
            return self
        centre, spread = gauge
        precision, shift, alike, drawn = self
        if not is_nothing(precision):
            precision, shift = precision * spread**2, (shift - precision * centre) * spread
        if not is_nothing(alike):
            drawn = (drawn - alike * centre) / spread
        return Messages(precision, shift, alike, drawn)


def run_compiled(load: IntArray) -> bool:
    """Whether steps should run compiled, by the reviews of each reviewer."""
    size = int(load.sum())
    return size >= MANY or (size >= ENOUGH and int((load**2).sum()) > LONG * size)


def nothing(size: int) -> FloatArray:
    """Return zeros that take no room and cannot be written to."""
    return np.broadcast_to(0.0, size)


def is_nothing(values: FloatArray) -> bool:
    """Whether an array is made by :func:`nothing`."""
    return values.strides[0] == 0


class Gauge(NamedTuple):
    """A change of the scale of qualities to ``(x - centre) / spread``."""

    centre: float = 0.0
    spread: float = 1.0

    def then(self, other: Gauge) -> Gauge:
        """Return this change followed by another."""
        return Gauge(self.centre + self.spread * other.centre, self.spread * other.spread)


class Store(Protocol):
    """The messages of all parts in their order: appended one after another, then read as often as is wanted."""

    def append(self, told: Messages, /) -> None:
        """Add those of the next part."""
        ...

    def __iter__(self) -> Iterator[Messages]:
        """Pass over all of them."""
        ...


@dataclass(frozen=True, eq=False)
class Problem:
    """What does not change while messages do.

    Parameters
    ----------
    parts
        All reviews; passed over again and again.
    load, count
        Shapes (M,) and (N,): reviews of each reviewer and of each item.
    rounding
        Variance r^2 of rounding.
    weighted
        Whether reviews have weights.
    reference_precision, reference_shift
        Shape (N,): what references say of the items.
    compiled
        Whether steps run compiled, as they should where there are many reviews.
    store
        Makes an empty store for messages.
    """

    parts: Iterable[Part]
    load: IntArray
    count: IntArray
    rounding: float
    weighted: bool
    reference_precision: FloatArray
    reference_shift: FloatArray
    compiled: bool = False
    store: Callable[[], Store] = list

    @property
    def known(self) -> BoolArray:
        """Shape (N,): items that a score speaks of."""
        return self.count > 0

    @property
    def n_reviewers(self) -> int:
        """M."""
        return self.load.size

    @property
    def n_items(self) -> int:
        """N."""
        return self.count.size

    @property
    def n_reviews(self) -> int:
        """E."""
        return int(self.load.sum())


@dataclass(frozen=True, eq=False)
class State:
    """Messages, nodes and hyperparameters.

    Parameters
    ----------
    messages
        Of all parts, as they were before the scale of qualities changed.
    sums
        The same, summed up, shapes (N + 1,); entry N belongs to empty slots.
    gauge
        How the scale changed since.
    nodes, fresh
        Shape (4, M): mean and standard deviation of each reviewer's log slope and of the log of her own noise, given
        the papers as they are believed to be, and as if they were fresh.
    orders
        Shape (M,): probability that a reviewer only orders.
    theta
        Shape (P,): hyperparameters.
    extent
        What the model includes.
    """

    messages: Store
    sums: Messages
    gauge: Gauge
    nodes: FloatArray
    fresh: FloatArray
    orders: FloatArray
    theta: FloatArray
    extent: Extent


class Believed(NamedTuple):
    """Posterior precision and shift of the items, shapes (N + 1,); entry N belongs to empty slots."""

    precision: FloatArray
    shift: FloatArray


def start(problem: Problem, theta: FloatArray, extent: Extent) -> State:
    """Return the state in which no review has spoken."""
    tau = np.exp(0.5 * (theta[LOG_TAU_LEFT] + theta[LOG_TAU_RIGHT]))
    nodes = np.array([theta[MU], tau, 0.0, np.exp(theta[LOG_OWN])])[:, None] * np.ones(problem.n_reviewers)
    messages = problem.store()
    for part in problem.parts:
        messages.append(Messages.silent(part.layout.item.size))
    silent = Messages.silent(problem.n_items + 1)
    return State(messages, silent, Gauge(), nodes, nodes, np.zeros(problem.n_reviewers), theta, extent)


def spoken(problem: Problem, state: State) -> Iterator[tuple[Part, Messages]]:
    """Pass over all parts with their messages."""
    for part, told in zip(problem.parts, state.messages, strict=True):
        yield part, told.moved(state.gauge)


def beliefs(problem: Problem, state: State) -> Believed:
    """Join prior, references, and what is said of the items."""
    # One behind the other, for whoever looks an item up needs both.
    precision, shift = np.zeros((problem.n_items + 1, 2)).T
    told = state.sums.moved(state.gauge)
    precision += 1.0 - state.extent.kappa + told.precision + told.likeness_precision
    shift += told.shift + told.likeness_shift
    precision[:-1] += problem.reference_precision
    shift[:-1] += problem.reference_shift
    return Believed(precision, shift)


# Scores checked, brought to mean 0 and standard deviation 1, and laid out.

#: Noise of the standardised scores is at least .01: nobody's scores say more, and messages keep their digits.
LEAST_NOISE = 1e-4
#: Equal scores of a reviewer are taken for chance above this probability; and as reviewers who do not look unless
#: more than this part of all are so.
BY_CHANCE, FEW = 0.01, 0.1

#: Passes over scores, piece by piece: each call begins one.
Passes: TypeAlias = Callable[[], Iterable[FloatArray]]
#: A score is refused as a slip when it lies so many times farther from the median than all but the farthest hundredth.
#: In small tables, where one score may well stand apart, ``FAR * (1 + SMALL_TABLE / E)`` times.
FAR, SMALL_TABLE = 30.0, 10.0
HUNDREDTH = 0.01
#: Of fewer scores none stands apart.
LEAST = 3
#: Scores are not of one unit where the ranges of reviewers differ so many times, the widest and least twentieth aside.
UNITS, TWENTIETH = 1e5, 0.05


class Unit(NamedTuple):
    """Mean and standard deviation of the scores, and the variance of rounding in units of the latter, squared."""

    location: float
    spread: float
    rounding: float

    def standardised(self, score: FloatArray) -> FloatArray:
        """Return scores in this unit."""
        return (score - self.location) / self.spread


class Scores(NamedTuple):
    """Standardised scores and their slots, shapes (E,), the problem made of them, and the way back."""

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


def joined(pieces: Iterable[Rows]) -> Rows:
    """Return the reviews of all pieces."""
    reviewer, item, score, weight = zip(*pieces, strict=True)
    weights = [each for each in weight if each is not None]
    return Rows(
        np.concatenate(reviewer),
        np.concatenate(item),
        np.concatenate(score),
        np.concatenate(weights) if weights else None,
    )


def prepare(
    rows: Rows, n_reviewers: int, n_items: int, unit: Unit | None = None, compiled: bool | None = None
) -> Scores:
    """Standardise scores and lay them out; weights become centred logarithms.

    With ``unit``, scores are standardised as those were, of which they are a part; steps are ``compiled`` where there
    are many reviews, by default.
    """
    reviewer, item, score, weight = rows
    unit = unit or unit_of(lambda: [score], equal_scores(score))
    standard = unit.standardised(score)
    layout, slot = lay_out(reviewer, item, standard, n_reviewers, n_items)
    log_weight = None
    if weight is not None and np.ptp(weight) > 0:
        logs = np.log(weight)
        log_weight = np.zeros(layout.item.size)
        log_weight[slot] = (logs - logs.mean()) / logs.std()
    count = np.bincount(item, minlength=n_items)
    silent = np.zeros(n_items)
    weighted = log_weight is not None
    compiled = (run_compiled(layout.load) if compiled is None else compiled) and not weighted
    parts = (Part(layout, log_weight),)
    problem = Problem(parts, layout.load, count, unit.rounding, weighted, silent, silent, compiled)
    return Scores(standard, slot, problem, unit)


def unit_of(scores: Passes, equal: float) -> Unit:
    """Return the unit of scores.

    Parameters
    ----------
    scores
        Passes over them.
    equal
        Probability p that two of them are equal. Normal scores rounded to a grid of width d are equal with probability
        d / (2 sqrt(pi) sigma), and rounding adds d^2 / 12 = (pi / 3) p^2 sigma^2.
    """
    # Extended precision, where there is any, makes the sums the same in whatever pieces scores come.
    size, largest, total, squares = 0, 0.0, np.longdouble(0.0), np.longdouble(0.0)
    for score in scores():
        size, largest = size + score.size, max(largest, float(np.abs(score).max(initial=0.0)))
        total += score.sum(dtype=np.longdouble)
    mean = float(total / size)
    for score in scores():
        squares += ((score - mean) ** 2).sum(dtype=np.longdouble)
    deviation = float(np.sqrt(squares / size))
    # All scores equal, but for rounding in their mean: there is no unit.
    spread = 1.0 if deviation <= 1e-12 * largest else deviation
    return Unit(mean, spread, float(np.pi / 3 * equal**2) + LEAST_NOISE)


def idle(reviewer: IntArray, score: FloatArray, n_reviewers: int) -> BoolArray:
    """Return the reviewers, shape (M,), who give everyone the same score, and not by chance.

    k scores are equal by chance with probability p^(k - 1), p that of two scores of the table. Such a reviewer does not
    look; she says nothing of any paper. Where many are like that it is the table that is so, and all are heard.
    """
    low, high = extremes(reviewer, score, n_reviewers)
    return never_look(np.bincount(reviewer, minlength=n_reviewers), low == high, equal_scores(score))


def extremes(reviewer: IntArray, score: FloatArray, n_reviewers: int) -> tuple[FloatArray, FloatArray]:
    """Return the lowest and the highest score of each reviewer, shapes (M,); infinite without scores."""
    low, high = np.full(n_reviewers, np.inf), np.full(n_reviewers, -np.inf)
    np.minimum.at(low, reviewer, score)
    np.maximum.at(high, reviewer, score)
    return low, high


def never_look(load: IntArray, constant: BoolArray, equal: float) -> BoolArray:
    """Return :func:`idle` by loads, whose scores are all the same, and the probability that two of the table are."""
    found: BoolArray = (load > 1) & constant & (equal ** np.maximum(load - 1.0, 0.0) < BY_CHANCE)
    return found if found.sum() <= FEW * (load > 0).sum() else np.zeros(load.size, bool)


def equal_scores(score: FloatArray) -> float:
    """Return the probability that two scores of the table are equal."""
    if score.size < 2:
        return 0.0
    _, count = np.unique(score, return_counts=True)
    return float((count * (count - 1.0)).sum()) / (score.size * (score.size - 1.0))


def check(
    reviewer: IntArray,
    item: IntArray,
    score: FloatArray,
    n_reviewers: int,
    n_items: int,
    weight: FloatArray | None,
    reference_item: IntArray | None,
    reference_value: FloatArray | None,
) -> None:
    """Raise unless the arguments of :func:`lsc._inference.inferring.infer` fit together."""
    check_numbers("score", score, score.size)
    check_codes("reviewer", reviewer, n_reviewers, score.size)
    check_codes("item", item, n_items, score.size)
    if weight is not None:
        check_numbers("weight", weight, score.size, positive=True)
    if (reference_item is None) != (reference_value is None):
        message = "reference_item, reference_value: expected both or neither, found one; give the other"
        raise InputError(message)
    if reference_item is not None and reference_value is not None:
        check_codes("reference_item", reference_item, n_items, reference_item.size)
        check_numbers("reference_value", reference_value, reference_item.size)
    check_no_slip(score)
    check_one_unit(reviewer, score, n_reviewers)


def check_codes(name: str, code: IntArray, size: int, expected: int) -> None:
    """Raise unless codes have the shape (expected,) and lie in 0..size - 1."""
    if code.shape != (expected,):
        message = f"{name}: expected shape ({expected},), found {code.shape}"
        raise InputError(message)
    wrong = np.flatnonzero((code < 0) | (code >= size))
    if wrong.size:
        message = f"{name}: expected codes from 0 to {size - 1}, found {code[wrong[0]]} at review {wrong[0]}"
        raise InputError(message)


def check_numbers(name: str, value: FloatArray, expected: int, *, positive: bool = False) -> None:
    """Raise unless values have the shape (expected,), are finite and, where that is asked, positive."""
    if value.shape != (expected,):
        message = f"{name}: expected shape ({expected},), found {value.shape}"
        raise InputError(message)
    wrong = np.flatnonzero(~np.isfinite(value) | (positive & (value <= 0)))
    if wrong.size:
        kind = "positive finite" if positive else "finite"
        message = f"{name}: expected {kind} numbers, found {value[wrong[0]]} at review {wrong[0]}; leave the review out"
        raise InputError(message)


def check_no_slip(score: FloatArray) -> None:
    """Raise if a score lies so far from all others that it must be a slip, such as a lost decimal point."""
    if score.size < LEAST:
        return
    middle = float(np.median(score))
    far = np.abs(score - middle)
    rest, worst = np.sort(far)[: score.size - farthest(score.size)], int(np.argmax(far))
    expect_no_slip(float(score[worst]), worst, middle, float(rest[-1]), score.size)


def farthest(size: int) -> int:
    """Return how many of so many scores do not say how far from the median is usual."""
    return max(1, int(HUNDREDTH * size))


def expect_no_slip(worst: float, place: int, median: float, usual: float, size: int) -> None:
    """Raise if the score farthest from the median lies too far from it.

    Parameters
    ----------
    worst, place
        This score, and the number of its review.
    usual
        The distance that the others but for the farthest hundredth keep.
    size
        How many scores there are.
    """
    far = abs(worst - median)
    if usual > 0 and far > FAR * (1 + SMALL_TABLE / size) * usual:
        message = (
            f"score: expected scores on one scale, found {worst:g} at review {place}, {far / usual:.0f} times farther "
            f"from the median {median:g} than nearly all others; correct it or leave it out"
        )
        raise InputError(message)


def check_one_unit(reviewer: IntArray, score: FloatArray, n_reviewers: int) -> None:
    """Raise if a twentieth of the reviewers spread their scores so much wider than another that units must differ."""
    low, high = extremes(reviewer, score, n_reviewers)
    expect_one_unit((high - low)[high > low])


def expect_one_unit(width: FloatArray) -> None:
    """Do so by the ranges of the scores of those who did not give the same score throughout."""
    if not width.size:
        return
    narrow, wide = np.quantile(width, [TWENTIETH, 1.0 - TWENTIETH])
    if wide > UNITS * narrow:
        message = (
            f"score: expected scores on one scale, found reviewers whose scores lie within {narrow:g} and others whose "
            f"scores spread over {wide:g}; give tables of different units one by one"
        )
        raise InputError(message)


# A part of a large table from which its hyperparameters can be learned.
#
# What all reviewers share is known to a few percent from some thousand of them, so learning begins there. The scores
# have
# no say in who is taken, so the part is no different in kind; it only says less. It says most where its reviewers share
# their papers, so those who do are taken.

#: Tables of more reviews than the first are begun with a part of about as many as the second.
LARGE, PART = 40_000, 20_000
#: Reviews of a typical review's reviewer, above which papers are left out too: else few reviewers were many reviews.
HEAVY = 50
#: The part of the part that is drawn blindly, all over the table; and by how much it grows at a time.
SEEDS, GROWTH = 0.02, 1.5


def part_of(pieces: Iterable[Rows], n_reviewers: int, n_items: int, rng: np.random.Generator) -> Rows | None:
    """Return the reviews of some reviewers who share papers, codes renumbered; None where the table is not large.

    Parameters
    ----------
    pieces
        All reviews, reviewers whole; passed over about twenty times.
    """
    load = _per_reviewer(pieces, n_reviewers)
    size = int(load.sum())
    if size <= LARGE:
        return None
    typical = float((load**2).sum()) / size
    kept = Kept(pieces, rng.random(n_items) < max(HEAVY / typical, PART / size))
    taken = _close(kept, n_reviewers, n_items, rng)
    part = joined(rows.only(taken[rows.reviewer]) for rows in kept)
    reviewer, item = (np.unique(code, return_inverse=True)[1] for code in (part.reviewer, part.item))
    return part._replace(reviewer=reviewer, item=item)


def counts(rows: Rows) -> tuple[int, int]:
    """Reviewers and items of rows whose codes have no gaps."""
    return int(rows.reviewer.max()) + 1, int(rows.item.max()) + 1


@dataclass(frozen=True, eq=False)
class Kept:
    """The reviews of some items.

    Parameters
    ----------
    pieces
        All reviews.
    there
        Shape (N,): which items.
    """

    pieces: Iterable[Rows]
    there: BoolArray

    def __iter__(self) -> Iterator[Rows]:
        """Pass over them."""
        every = bool(self.there.all())
        for rows in self.pieces:
            yield rows if every else rows.only(self.there[rows.item])


def _per_reviewer(pieces: Iterable[Rows], n_reviewers: int, of_item: FloatArray | None = None) -> FloatArray:
    """Sum what there is of items, or ones, over the reviews of each reviewer, shape (M,)."""
    found = np.zeros(n_reviewers)
    for rows in pieces:
        found += np.bincount(rows.reviewer, None if of_item is None else of_item[rows.item], n_reviewers)
    return found


def _close(pieces: Iterable[Rows], n_reviewers: int, n_items: int, rng: np.random.Generator) -> BoolArray:
    """Take reviewers one after another whose papers the others have, until they have ``PART`` reviews; shape (M,)."""
    load = _per_reviewer(pieces, n_reviewers)
    lot = rng.random(n_reviewers)
    taken, covered = np.zeros(n_reviewers, bool), np.zeros(n_items)
    goal = min(PART, int(load.sum()))
    most = SEEDS * goal
    while load[taken].sum() < goal:
        # Share of her papers that the part has; one more counts as missing, since who has few papers tells little.
        shared = _per_reviewer(pieces, n_reviewers, covered) / (load + 1)
        order = _first(np.flatnonzero(~taken & (load > 0)), shared, lot, goal)
        before = load[taken].sum() + np.cumsum(load[order]) - load[order]
        taken[order[before < min(most, goal)]] = True
        for rows in pieces:
            covered[rows.item[taken[rows.reviewer]]] = 1.0
        most *= GROWTH
    return taken


def _first(who: IntArray, shared: FloatArray, lot: FloatArray, number: int) -> IntArray:
    """Return the first of some reviewers in descending order of what they share, then by lot, without sorting all."""
    if who.size > number:
        least = np.partition(shared[who], who.size - number)[who.size - number]
        above, equal = who[shared[who] > least], who[shared[who] == least]
        equal = equal[np.argpartition(lot[equal], number - above.size - 1)[: number - above.size]]
        who = np.concatenate([above, equal])
    return who[np.lexsort((lot[who], -shared[who]))]


# References: qualities known from elsewhere, as measurements with noise and on a scale of their own.
#
# ::
#
#     value_q = alpha + beta x_i + e_q,  e ~ N(0, s^2)
#
# Given the scores, ``E value = alpha + beta E x``: a regression on posterior means is unbiased, and its residuals have
# the variance ``beta^2 Var x + s^2``.

#: From so many references on different values they have a scale of their own; fewer are read as scores.
ENOUGH_REFERENCES = 3
#: Standard deviation of a reference's error, in units of quality: at least this, and for fewer than ENOUGH exactly.
LEAST_ERROR, ASSUMED_ERROR = 0.1, 0.3


class References(NamedTuple):
    """References read as messages.

    Parameters
    ----------
    item, value
        Shape (R,): which item, and its value as it was given.
    precision, shift
        Shape (R,): what each says of its item, on the internal scale.
    """

    item: IntArray
    value: FloatArray
    precision: FloatArray
    shift: FloatArray

    def per_item(self, n_items: int) -> tuple[FloatArray, FloatArray]:
        """Return sums of precisions and shifts over items, shapes (N,)."""
        precision = np.bincount(self.item, self.precision, n_items)
        return np.asarray(precision), np.asarray(np.bincount(self.item, self.shift, n_items))

    def heard_in(self, problem: Problem) -> Problem:
        """Return a problem in which they are heard."""
        precision, shift = self.per_item(problem.n_items)
        return replace(problem, reference_precision=precision, reference_shift=shift)


NONE = References(np.empty(0, np.int64), *np.empty((3, 0)))


#: A reference read as a score, this many standard deviations of quality off the middle, is on another scale.
FAR_REFERENCES = 10.0


def read_references(
    mean: FloatArray, variance: FloatArray, item: IntArray, value: FloatArray, location: float, scale: float
) -> References:
    """Learn the scale and the error of references from what the scores say of the same items.

    The scale only serves to read them: qualities stay on that of a typical reviewer.

    Parameters
    ----------
    mean, variance
        Shape (N,): posterior of qualities without references, NaN where there is no score.
    location, scale
        Of a typical reviewer: the scale of references that are too few or too much alike to have their own.

    Raises
    ------
    InputError
        If references have no scale of their own, and are no scores either.
    """
    seen = np.isfinite(mean[item])
    x, v, y = mean[item][seen], variance[item][seen], value[seen]
    error = ASSUMED_ERROR
    if x.size >= ENOUGH_REFERENCES and np.ptp(y) > 0 and np.ptp(x) > 0:
        slope = float(np.cov(x, y)[0, 1] / x.var(ddof=1))
        if slope > 0:
            location, scale = float(y.mean() - slope * x.mean()), slope
            residual = (y - location) / scale - x
            left = float((residual**2).sum()) / (x.size - 2) - float(v.mean())
            error = max(LEAST_ERROR, np.sqrt(max(left, 0.0)))
    said = (value - location) / scale
    if np.abs(said).max(initial=0.0) > FAR_REFERENCES:
        message = (
            f"references: expected {ENOUGH_REFERENCES} or more whose values rise with their scores, or "
            f"values on the scale of the "
            f"scores; found {value.size} that are neither; give more, or values as a typical reviewer would score"
        )
        raise InputError(message)
    precision = np.full(item.size, error**-2)
    return References(item, value, precision, said * precision)
