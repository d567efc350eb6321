"""Methods compared by cross-validation: reviewers are held out, and predicted from the others."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, get_args

import numpy as np

from lsc._inference.validation import FOLDS, centred, centred_ranks, clustered_error, saved, squared_errors
from lsc.calibrator import Calibrator, HeldOut, Unit, hold_out
from lsc.errors import UndeterminedWarning
from lsc.methods import DEFAULT, MethodName, method_named
from reviewgraph._base import (
    Clock,
    InputError,
    Progress,
    Result,
    checked,
    counted,
    or_none,
    whole_seed,
)
from reviewgraph.table import Reviews, ReviewsLike, as_reviews

#: Squared error, as a share of that of predicting 0, that is due to rounding.
ROUNDING = 1e-24

#: What is compared by default: the methods that take less than a second per thousand reviews.
COMPARED: tuple[MethodName, ...] = ("average", "centring", "z-score", "additive", DEFAULT)


@dataclass(frozen=True)
class Compared:
    """What one method predicts of held-out scores; see :func:`compare`.

    Parameters
    ----------
    method
        Name of the method, with its options.
    error, error_se
        Root mean squared error within held-out reviewers, in points of the scores, and its standard error.
    gain, gain_se
        Share of the squared error of plain averages that the method saves, and its standard error.
    rank_correlation, rank_correlation_se
        Correlation of ranks of scores and predictions, within held-out reviewers, and its standard error.
    log_score, log_score_se
        Mean log probability of a held-out score, and its standard error; None if the method has no distribution.
    seconds
        CPU seconds of one calibration, the median over folds.
    """

    method: str
    error: float | None
    error_se: float | None
    gain: float | None
    gain_se: float | None
    rank_correlation: float | None
    rank_correlation_se: float | None
    log_score: float | None
    log_score_se: float | None
    seconds: float | None = field(compare=False)


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Result):
    """Methods side by side, one row each; see :func:`compare`.

    Parameters
    ----------
    rows
        One per method, in the order in which they were passed.
    n_reviews, n_reviewers
        Number of predicted reviews, and of the reviewers who gave them.
    folds
        Number of folds.
    reviews
        The reviews.

    Examples
    --------
    >>> from reviewgraph import Reviews
    >>> reviews = Reviews([(r, p, float(p + r % 3)) for r in range(9) for p in range(6)])
    >>> compare(reviews, ["average", "centring"]).rows[1].method
    'centring'
    """

    rows: tuple[Compared, ...]
    n_reviews: int
    n_reviewers: int
    folds: int
    reviews: Reviews = field(repr=False)

    _rows_are: ClassVar[str] = "methods"

    def to_columns(self) -> dict[str, list[Any]]:
        """Return one row per method, as :class:`Compared` has them."""
        return {name: [getattr(row, name) for row in self.rows] for name in Compared.__dataclass_fields__}

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers of reviews, reviewers and folds, and ``methods``, one object each."""
        columns = self.to_columns()
        methods = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        sizes = {"reviews": self.n_reviews, "reviewers": self.n_reviewers, "folds": self.folds}
        return {**sizes, "methods": methods}

    def headline(self) -> str:
        """Return the method of the smallest error, and whether it is better than the average by more than chance."""
        measured = [row for row in self.rows if row.error is not None]
        methods = counted(len(self.rows), "method")
        held_out = counted(self.n_reviews, "held-out review")
        if not measured:
            return f"nothing to predict of {methods}, {held_out}"
        best = min(measured, key=lambda row: row.error or 0.0)
        if best.gain and best.gain_se and best.gain < 2.0 * best.gain_se:
            return f"none of {methods} surely beats the average (least error: {best.method}), {held_out}"
        return f"{best.method} of {methods}, {held_out}"


@checked
def compare(
    reviews: ReviewsLike,
    methods: Sequence[MethodName | Calibrator] = COMPARED,
    by: Unit = "reviewer",
    *,
    folds: int = FOLDS,
    seed: int | np.random.Generator = 0,
    progress: Callable[[Progress], object] | None = None,
) -> Comparison:
    """Compare methods by how well they predict held-out scores.

    By default reviewers are held out as a whole, in folds, the same for all methods. Of each the scores less their mean
    are compared with the qualities that the other reviewers give to the same items, less theirs, times one slope per
    method. So methods with different scales of quality compare, and a correction that only shifts all scores of a
    reviewer gains nothing by it.

    Parameters
    ----------
    reviews
        With scores, or a data frame of them.
    methods
        Names of methods as in :data:`lsc.methods.METHODS`, or :class:`lsc.Calibrator` objects, which hold options.
    by
        What is held out: ``"reviewer"`` (default), all reviews of a reviewer, or ``"review"``, single ones, whose
        reviewers are known by their other scores.
    folds
        Number of folds, 2 or more.
    seed
        Seed of the folds, 0 or more.
    progress
        Called with a :class:`reviewgraph._base.results.Progress` after each method.

    Returns
    -------
    Comparison
        One row per method: ``error``, ``gain`` over plain averages, ``rank_correlation`` and ``log_score``, each with
        its standard error, and CPU ``seconds``. :meth:`Comparison.to_frame` returns a data frame.

    Raises
    ------
    InputError
        If a method or ``by`` is unknown, there are no methods, fewer than two folds, or fewer than two reviewers with
        two scores of items that others scored, too.

    Notes
    -----
    Standard errors are from the variance between reviewers, doubled, since two held-out reviewers of one item who agree
    by chance are both predicted too well. Differences between methods are better known than each error: ``gain_se`` is
    that of the difference to averages.

    ``log_score`` treats each review as the first of a new reviewer; the probability of a score is that of the cell of
    numbers that are closer to it than to other scores. To hold out items, use the tools of scikit-learn on
    :class:`lsc.Calibrator`. ``estimate.gain`` keeps hyperparameters fixed and compares ranks with shrunk averages: its
    figure is similar, not equal.

    Examples
    --------
    >>> from reviewgraph import Reviews
    >>> rows = [(r, p, float(p + 2 * (r % 3))) for r in range(9) for p in range(r % 4, r % 4 + 5)]
    >>> reviews = Reviews(rows)
    >>> found = compare(reviews, ["average", "centring", "additive"])
    >>> [row.method for row in found.rows if row.gain > 0.9]
    ['additive']
    """
    reviews = as_reviews(reviews)
    calibrators = [_calibrator(method) for method in methods]
    if not calibrators:
        raise InputError("methods: expected the name of a method or more, found none")
    if by not in get_args(Unit):
        raise InputError(f"by: expected {' or '.join(map(repr, get_args(Unit)))}, found {by!r}")
    if folds < 2:
        raise InputError(f"folds: expected 2 or more, found {folds}")
    clock = Clock(None)
    rows = []
    sizes = (0, 0)
    start = whole_seed(seed)
    for place, calibrator in enumerate(calibrators):
        # A warning about one fold does not concern the table.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndeterminedWarning)
            held = hold_out(reviews, calibrator, folds=folds, seed=start, by=by)
        row, sizes = _measured(str(calibrator), held)
        rows.append(row)
        if progress is not None:
            done = (place + 1) / len(calibrators)
            progress(Progress(clock.elapsed(), str(calibrator), done))
    return Comparison(tuple(rows), *sizes, folds, reviews)


def _calibrator(method: MethodName | Calibrator) -> Calibrator:
    if isinstance(method, Calibrator):
        return method
    if not isinstance(method, str):
        raise InputError(f"methods: expected names of methods or Calibrators, found {method!r}")
    method_named(method, "methods")
    return Calibrator(method)


def _measured(name: str, held: HeldOut) -> tuple[Compared, tuple[int, int]]:
    """Return the row of a method, and the numbers of predicted reviews and of their reviewers."""
    load = np.bincount(held.reviewer, minlength=1)
    # Within held-out reviewers, one score says nothing.
    several = load[held.reviewer] > 1
    clusters, cluster = np.unique(held.reviewer[several], return_inverse=True)
    if clusters.size < 2:
        raise InputError(
            "reviews: expected two reviewers or more with two scores of items that others scored, too, found "
            f"{clusters.size}; there is nothing to predict"
        )

    n = int(several.sum())
    score = held.score[several]
    quality = held.quality[several]
    average = held.average[several]
    # Squared errors of the best multiple within reviewers.
    ours = squared_errors(centred(score, cluster), centred(quality, cluster))
    theirs = squared_errors(centred(score, cluster), centred(average, cluster))
    error = float(np.sqrt(ours.mean()))
    error_se = clustered_error(ours - ours.mean(), cluster) / n / (2 * error) if error > 0 else 0.0
    # Of averages without an error, but for rounding, there is no gain.
    has_error = float(theirs.sum()) > ROUNDING * float(score @ score)
    gain, gain_se = saved(ours, theirs, cluster) if has_error else (np.nan, np.nan)
    # The correlation a'b / sqrt(a'a b'b) of ranks within reviewers, linearised in its three sums.
    a = centred_ranks(score, cluster)
    b = centred_ranks(quality, cluster)
    root = float(np.sqrt((a @ a) * (b @ b)))
    correlation = np.nan
    correlation_se = np.nan
    if root > 0:
        correlation = float(a @ b) / root
        terms = a * b / root - 0.5 * correlation * (a**2 / (a @ a) + b**2 / (b @ b))
        correlation_se = clustered_error(terms, cluster)
    log_probability = held.log_probability[several]
    log_score = float(log_probability.mean())
    log_score_se = clustered_error(log_probability - log_score, cluster) / n
    seconds = float(np.median(held.seconds))
    numbers = [error, error_se, gain, gain_se, correlation, correlation_se, log_score, log_score_se, seconds]
    return Compared(name, *or_none(np.array(numbers))), (n, clusters.size)
