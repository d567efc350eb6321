"""The programme of Least Square Calibration: from reviews to arrays, constraint matrices, and well-scaled units."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from lsc._model.hypotheses import CONCAVE, CONVEX, LINEAR, HypothesisLike, classes, hypothesis_of
from lsc.estimate import expect_scores, known_values
from reviewgraph._base import BoolArray, FloatArray, InputError, IntArray
from reviewgraph.io import Valued
from reviewgraph.table import Reviews

if TYPE_CHECKING:
    import scipy.sparse as sp


@dataclass(frozen=True, eq=False)
class Programme:
    """Minimise the sum of squared perception errors over qualities and perceived qualities.

    ::

        minimise    sum_r (perceived_r - x[item_r])^2
        subject to  for every reviewer j, reviews r = 1, 2, ... in ascending order of score:
                    perceived_r - perceived_(r-1) >= lower_j dy_r,  dy_r = score_r - score_(r-1); = for fixed slopes
                    linear, offset   the slopes (perceived_r - perceived_(r-1)) / dy_r are all equal
                    convex           they decrease in r (f convex, so its inverse is concave)
                    concave          they increase in r
                    x[i] = reference_i  where i is a reference

    Reviews of one reviewer with equal scores have equal perceived qualities.

    The reviews of reviewer j are ``start[j]:start[j + 1]``, ascending by score, ties by item; ``item``, ``score`` (E,).
    ``kind`` (M,): hypothesis class of each reviewer, as index into :func:`~lsc._model.hypotheses.classes`; ``lower``,
    ``upper`` (M,): bounds on the slope of the inverse, 1 / C > 0 and infinity, or twice the slope where it is fixed.
    ``is_reference``, ``reference`` (N,): which qualities are given, and their values.
    """

    n_items: int
    start: IntArray
    item: IntArray
    score: FloatArray
    kind: IntArray
    lower: FloatArray
    upper: FloatArray
    is_reference: BoolArray
    reference: FloatArray

    @property
    def shape(self) -> IntArray:
        """Shape (M,): codes of :class:`~lsc._model.hypotheses.Shape`, the form of each reviewer's set."""
        return np.asarray(np.array([kind.shape for kind in classes()], np.int64)[self.kind])

    @property
    def median_lower(self) -> float:
        """The median of the lower bounds, which are usually all equal."""
        return float(self.lower[0] if (self.lower == self.lower[0]).all() else np.median(self.lower))


class Minimiser(NamedTuple):
    """A solver's result: qualities (N,), perceived qualities (E,), and the outcome."""

    quality: FloatArray
    perceived: FloatArray
    objective: float
    iterations: int
    converged: bool
    message: str


#: Maximum number of entries per score of the padded matrix in which reviewers are sorted as rows.
MAX_PADDING = 4

#: Maximum difference of tied scores of a reviewer, in units in the last place of the largest score.
ROUNDING = 8

References: TypeAlias = Valued


def formulate(
    reviews: Reviews,
    hypothesis: HypothesisLike = "linear",
    *,
    max_slope: float | None = None,
    references: References | None = None,
) -> tuple[Programme, IntArray]:
    """State the programme of Least Square Calibration for these reviews, but for planned ones.

    Returns it with the row of each of its reviews in the table. Arguments are those of :func:`lsc.calibrate`;
    InputError if no review has a score, a mapping of hypotheses misses a reviewer with a score or names an unknown one,
    or a reference is not an item or not finite.
    """
    # By reviewer, ascending in score, ties by item: the constraints of a reviewer are between neighbours.
    rows = np.flatnonzero(reviews.scored)
    all_scored = rows.size == reviews.n_reviews
    size = np.bincount(reviews.reviewer if all_scored else reviews.reviewer[rows], minlength=reviews.n_reviewers)
    start = np.zeros(size.size + 1, np.int64)
    np.cumsum(size, out=start[1:])
    order = order_by_score(start, reviews.score if all_scored else reviews.score[rows])
    row = (order if all_scored else rows[order]).astype(np.int64, copy=False)
    expect_scores(row.size)
    reviewer = np.repeat(np.arange(reviews.n_reviewers), size)
    # Reviewers without a score have no scoring function, hence no class.
    kind, lower, upper = _classes(reviews, hypothesis, max_slope, size > 0)
    value = np.full(reviews.n_items, np.nan) if references is None else known_values(reviews, references)
    is_reference = np.isfinite(value)
    reference = np.where(is_reference, reviews.printed(value), 0.0)
    programme = Programme(
        n_items=reviews.n_items,
        start=start,
        item=reviews.item[row],
        score=tied_up_to_rounding(reviews.score[row], reviewer),
        kind=kind,
        lower=lower,
        upper=upper,
        is_reference=is_reference,
        reference=reference,
    )
    return programme, row


def order_by_score(start: IntArray, score: FloatArray) -> IntArray:
    """Return the stable order of scores that are grouped by reviewer, ascending within each."""
    size = np.diff(start)
    widest = int(size.max(initial=0))
    if not 0 < widest * size.size <= MAX_PADDING * score.size:
        return np.lexsort((score, np.repeat(np.arange(size.size), size)))
    # Sort the rows of one matrix, padded for reviewers with fewer scores.
    if widest * size.size == score.size:
        return np.asarray((np.argsort(score.reshape(-1, widest), kind="stable") + start[:-1, None]).ravel())
    used = np.arange(widest) < size[:, None]
    table = np.full(used.shape, np.inf)
    table[used] = score
    order = np.argsort(table, kind="stable")
    order += start[:-1, None]
    return np.asarray(order[used])


def tied_up_to_rounding(score: FloatArray, reviewer: IntArray, largest: float | None = None) -> FloatArray:
    """Return the scores with those of one reviewer that differ by rounding only made equal.

    They are sorted by reviewer and score; ``largest`` is the largest absolute score, for parts of a table. Tables
    contain means and sums: 33.2 and 33.2 + 7e-15 are one score, and a slope between them would be meaningless.
    """
    if largest is None:
        largest = float(np.abs(score).max(initial=0.0))
    close = np.zeros(score.size, np.bool_)
    close[1:] = (reviewer[1:] == reviewer[:-1]) & (np.diff(score) <= ROUNDING * np.spacing(largest))
    if not (close[1:] & (score[1:] != score[:-1])).any():
        return score
    return np.asarray(score[~close][np.cumsum(~close) - 1])


def _classes(
    reviews: Reviews, hypothesis: HypothesisLike, max_slope: float | None, has_scores: BoolArray
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return the class and the bounds of every reviewer, each of shape (M,)."""
    size = reviews.n_reviewers
    if not isinstance(hypothesis, Mapping):
        shared = hypothesis_of(hypothesis, max_slope=max_slope)
        lower, upper = shared.bounds
        return np.full(size, classes().index(type(shared)), np.int64), np.full(size, lower), np.full(size, upper)
    code = reviews.reviewer_code
    has_names = any(isinstance(chosen_hypothesis, str) for chosen_hypothesis in hypothesis.values())
    unknown = [label for label in hypothesis if label not in code]
    missing = [
        reviews.reviewers[j] for j in np.flatnonzero(has_scores).tolist() if reviews.reviewers[j] not in hypothesis
    ]
    if unknown or missing:
        where = f"no reviewer {unknown[0]!r} in the reviews" if unknown else f"none for reviewer {missing[0]!r}"
        raise InputError(f"hypothesis: expected one for every reviewer with a score and for nobody else, found {where}")
    lower, upper = hypothesis_of("linear").bounds  # for reviewers without scores, who are unconstrained
    kind = np.zeros(size, np.int64)
    low = np.full(size, lower)
    high = np.full(size, upper)
    # Many reviewers share few hypotheses: each is constructed once.
    made: dict[str | int, tuple[int, float, float]] = {}
    for label, chosen_hypothesis in hypothesis.items():
        key = chosen_hypothesis if isinstance(chosen_hypothesis, str) else id(chosen_hypothesis)
        if key not in made:
            # A bound beside names and objects is for the names.
            takes_bound = isinstance(chosen_hypothesis, str) or not has_names
            chosen = hypothesis_of(chosen_hypothesis, max_slope=max_slope if takes_bound else None)
            made[key] = classes().index(type(chosen)), *chosen.bounds
        j = code[label]
        kind[j], low[j], high[j] = made[key]
    return kind, low, high


# The constraints of a programme on the perceived qualities, as sparse matrices.


class Rows(NamedTuple):
    """Named constraints ``matrix @ perceived >= low`` (or ``== low``)."""

    name: str
    matrix: sp.csr_array
    low: FloatArray


def equalities(programme: Programme) -> list[Rows]:
    """Return ties, fixed slopes, and equal slopes of lines."""
    links = Links.of(programme)
    rising = ~links.tied
    fixed = programme.lower == programme.upper
    lines = (programme.shape == LINEAR) & ~fixed
    constraints = [
        _steps("ties", links, links.tied, programme.lower, programme.item.size),
        _steps("offset", links, rising & fixed[links.reviewer], programme.lower, programme.item.size),
        _bends("linear", links, programme, lines),
    ]
    return [rows for rows in constraints if rows.low.size]


def inequalities(programme: Programme) -> list[Rows]:
    """Return the bound on slopes, and bends of convex and concave functions.

    The inverse of a convex function is concave, so that its slopes decrease.
    """
    links = Links.of(programme)
    rising = ~links.tied & (programme.lower < programme.upper)[links.reviewer]
    concave = _bends("concave", links, programme, programme.shape == CONCAVE)
    constraints = [
        _steps("max_slope", links, rising, programme.lower, programme.item.size),
        _bends("convex", links, programme, programme.shape == CONVEX),
        Rows(concave.name, -concave.matrix, concave.low),
    ]
    return [rows for rows in constraints if rows.low.size]


def _steps(name: str, links: Links, chosen: BoolArray, slope: FloatArray, size: int) -> Rows:
    """Return steps of the chosen links, and the slopes of the reviewers times the differences of their scores."""
    step = slope[links.reviewer[chosen]] * links.rise[chosen]
    return Rows(name, differences(links, chosen, size), step)


def _bends(name: str, links: Links, programme: Programme, reviewers: BoolArray) -> Rows:
    matrix = links.bends(programme, reviewers)
    return Rows(name, matrix, np.zeros(matrix.shape[0]))


def pick(columns: IntArray, size: int) -> sp.csr_array:
    """Return the matrix that selects these of ``size`` entries of a vector."""
    return combine([columns], [np.ones(columns.size)], size)


@dataclass(frozen=True, eq=False)
class Links:
    """Pairs of consecutive reviews of one reviewer in the order of scores.

    ``earlier``, ``later`` (L,): the reviews; ``reviewer`` (L,); ``rise`` (L,): difference of their scores; ``tied``
    (L,): whether it is zero.
    """

    earlier: IntArray
    later: IntArray
    reviewer: IntArray
    rise: FloatArray
    tied: BoolArray

    @classmethod
    def of(cls, programme: Programme) -> Links:
        owner = np.repeat(np.arange(programme.kind.size), np.diff(programme.start))
        later = np.flatnonzero(owner[1:] == owner[:-1]) + 1
        earlier = later - 1
        rise = programme.score[later] - programme.score[earlier]
        return cls(earlier, later, owner[later], rise, rise == 0.0)

    def bends(self, programme: Programme, reviewers: BoolArray) -> sp.csr_array:
        """Slope of the inverse before each bend minus the slope after it, times a positive number, shape (., E').

        For the chosen reviewers, (M,). Multiplied by the product of the rises over their sum: no coefficient exceeds
        one.
        """
        # Consecutive rises of one reviewer.
        rising = np.flatnonzero(~self.tied & reviewers[self.reviewer])
        meets = self.reviewer[rising[1:]] == self.reviewer[rising[:-1]]
        before = rising[:-1][meets]
        after = rising[1:][meets]
        share = self.rise[after] / (self.rise[before] + self.rise[after])
        return combine(
            [self.later[before], self.earlier[before], self.later[after], self.earlier[after]],
            [share, -share, share - 1, 1 - share],
            programme.item.size,
        )


def differences(links: Links, chosen: BoolArray, size: int) -> sp.csr_array:
    """Return ``perceived[later] - perceived[earlier]`` of the chosen links as a matrix, shape (., size)."""
    ones = np.ones(int(chosen.sum()))
    return combine([links.later[chosen], links.earlier[chosen]], [ones, -ones], size)


def combine(columns: list[IntArray], values: list[FloatArray], size: int) -> sp.csr_array:
    """Return a matrix of ``size`` columns with ``values[k][r]`` in row r and column ``columns[k][r]``."""
    import scipy.sparse as sp

    count = columns[0].size
    rows = np.tile(np.arange(count), len(columns))
    return sp.csr_array((np.concatenate(values), (rows, np.concatenate(columns))), shape=(count, size))


# Units in which scores and qualities are of order one.


class Units(NamedTuple):
    """``quality = origin + unit * quality of the programme in these units``."""

    origin: float
    unit: float


def in_units(programme: Programme) -> tuple[Programme, Units]:
    """Return the programme in units in which scores and qualities are of order one, and these units.

    The programme is invariant to a common shift of all scores and, with references transformed alike, to positive
    factors of scores and qualities; the factors are powers of two, so that multiplication is exact.
    """
    spread = float(np.ptp(programme.score))
    score_unit = _power_of_two(spread)
    slope_unit = _power_of_two(programme.median_lower)
    unit = score_unit * slope_unit
    references = programme.reference[programme.is_reference]
    origin = float(references.min()) if references.size else 0.0
    scaled = replace(
        programme,
        score=(programme.score - programme.score.min()) / score_unit,
        lower=programme.lower / slope_unit,
        upper=programme.upper / slope_unit,
        reference=np.where(programme.is_reference, programme.reference - origin, 0.0) / unit,
    )
    return scaled, Units(origin, unit)


def _power_of_two(size: float) -> float:
    return 2.0 ** round(math.log2(size)) if size > 0 else 1.0
