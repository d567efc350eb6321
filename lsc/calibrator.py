"""Calibration as an estimator in the style of scikit-learn: fit, predict and score, parameters, cross-validation.

scikit-learn itself is not needed. What its tools ask of an estimator is here: parameters that are kept as passed,
``get_params``, ``set_params`` and, for the versions that ask for them, tags.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from typing import Any, Literal, NamedTuple, Self, TypeAlias, Unpack

import numpy as np

from lsc._inference.validation import FOLDS, best_multiple, centred, folds_of
from lsc.calibrating import MethodOptions
from lsc.estimate import Estimate, plain_averages
from lsc.methods import DEFAULT, MethodName, method_named
from lsc.posteriors import PosteriorEstimate
from reviewgraph._base import (
    BoolArray,
    FloatArray,
    InputError,
    IntArray,
    Label,
    as_numbers,
    backend_of,
    checked,
    unexpected,
    warn,
    whole_seed,
)
from reviewgraph.table import Reviews, pairs_in

#: What is held out: all reviews of a reviewer, or single ones.
Unit: TypeAlias = Literal["reviewer", "review"]
#: Least probability of an observed score: a model that excludes a score is not infinitely bad.
LEAST_PROBABILITY = 1e-9


class HeldOut(NamedTuple):
    """Predicted reviews, shapes (E',): reviewer, item and score, and from the other reviewers the item's quality.

    ``average`` is the item's plain average over the other reviewers, ``log_probability`` that of the score, NaN if the
    method has none; ``seconds`` (folds,) are the CPU seconds of each calibration.
    """

    reviewer: IntArray
    item: IntArray
    score: FloatArray
    quality: FloatArray
    average: FloatArray
    log_probability: FloatArray
    seconds: FloatArray


def hold_out(
    reviews: Reviews, calibrator: Calibrator, *, folds: int = FOLDS, seed: int = 0, by: Unit = "reviewer"
) -> HeldOut:
    """Hold out reviewers, or reviews, in turn, and predict the qualities of their items from all others.

    Reviewers have two scores or more, and items another score. Qualities are in the direction in which higher is
    better.

    >>> rows = [(r, p, float(p)) for r in range(6) for p in range(4)]
    >>> held = hold_out(Reviews(rows), Calibrator("average"))
    >>> held.score.size, bool((held.quality == held.score).all())
    (24, True)
    """
    scored = reviews.only_scored()
    rng = np.random.default_rng(seed)
    if by == "reviewer":
        fold = folds_of(scored.loads, rng, folds)[scored.reviewer]
    else:
        fold = rng.permutation(scored.n_reviews) % folds
    parts = []
    seconds = []
    for number in range(folds):
        test = fold == number
        if not test.any() or test.all():
            continue
        training = scored.subset(~test)
        started = time.process_time()
        estimate = Calibrator(**calibrator.get_params()).fit(training).estimate_
        seconds.append(time.process_time() - started)
        rows = np.flatnonzero(test & np.isfinite(estimate.quality)[scored.item])
        item = scored.item[rows]
        average = plain_averages(training)[item]
        # A reviewer who is held out is a new one; of a held-out review the reviewer is known by the others.
        known = np.zeros(scored.n_reviewers, np.int64) if by == "reviewer" else training.loads
        log_probability = log_probabilities(estimate, scored, rows, known > 0)
        quality = estimate.quality[item]
        parts.append((scored.reviewer[rows], item, scored.score[rows], quality, average, log_probability))
    none = (np.empty(0, np.int64), np.empty(0, np.int64), *np.empty((4, 0)))
    columns = map(np.concatenate, zip(none, *parts, strict=True))
    return HeldOut._make([*columns, np.array(seconds)])


def log_probabilities(estimate: Estimate, scored: Reviews, rows: IntArray, known: BoolArray) -> FloatArray:
    """Return the log probability of scores of reviewers ``known`` (M,) or new, NaN where a method has no distribution.

    The probability of a score is that of its cell: what lies closer to it than to any other score of the table.
    """
    if not isinstance(estimate, PosteriorEstimate) or not rows.size:
        return np.full(rows.size, np.nan)
    values, cell = np.unique(scored.printed(scored.score), return_inverse=True)
    ends = np.concatenate([[-np.inf], 0.5 * (values[1:] + values[:-1]), [np.inf]])
    people = [scored.reviewers[j] if known[j] else None for j in scored.reviewer[rows].tolist()]
    prediction = estimate.predict(people, [scored.items[i] for i in scored.item[rows].tolist()])
    below, upto = (prediction.cdf(ends[cell[rows] + side].tolist()) for side in (0, 1))
    return np.log(np.maximum(upto - below, LEAST_PROBABILITY))


class Line(NamedTuple):
    """Scores from qualities: ``intercept + slope x quality + offset``, offsets (M,) of reviewers.

    ``noise`` and ``severity`` are the variances of residuals within and between reviewers.
    """

    intercept: float
    slope: float
    offset: FloatArray
    noise: float
    severity: float


def line_of(reviews: Reviews, estimate: Estimate, held: HeldOut) -> Line:
    """Return the line that predicts the scores of a method without reviewers of its own.

    The slope is that of held-out scores on qualities within reviewers, so that it is not too steep; offsets of
    reviewers are their mean residuals, shrunk by the variance between reviewers that the held-out residuals show.
    """
    scored = reviews.only_scored()
    reviewers, code = np.unique(held.reviewer, return_inverse=True)
    x = centred(held.quality, code)
    y = centred(held.score, code)
    slope = best_multiple(y, x)
    has_quality = np.isfinite(estimate.quality)
    mean_quality = float(estimate.quality[has_quality].mean()) if has_quality.any() else 0.0
    quality = np.where(has_quality, estimate.quality, mean_quality)
    residual = scored.score - slope * quality[scored.item]
    intercept = float(residual.mean())
    # Variances within and between reviewers, of the held-out residuals.
    free = max(int(held.score.size - reviewers.size), 1)
    noise = float(((y - slope * x) ** 2).sum()) / free
    total = float(np.var(held.score - slope * held.quality)) if held.score.size else 0.0
    severity = max(total - noise, 0.0)
    load = scored.loads
    mean = np.bincount(scored.reviewer, residual - intercept, scored.n_reviewers) / np.maximum(load, 1)
    shrunk = severity / (severity + noise / np.maximum(load, 1)) if severity > 0 else np.zeros(load.size)
    return Line(intercept, slope, np.asarray(shrunk * mean), noise, severity)


#: Parameters of every method, with their defaults, and those of some.
DEFAULTS = {"method": DEFAULT, "seed": 0}
OPTIONS = tuple(MethodOptions.__annotations__)


def _options(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a method; under the name ``options``, as in the last release, they come in a mapping."""
    if "options" in options:
        warn("Calibrator(): options={...} is **{...} from now on; the old name will be removed", DeprecationWarning)
        options |= options.pop("options") or {}
    for name in options:
        if name not in OPTIONS:
            raise unexpected("Calibrator", name, ("method", "seed", *OPTIONS))
    return options


class Calibrator:
    """A method of calibration with its options, as an estimator that scikit-learn's tools take.

    X holds pairs, one per row: a data frame with a column of reviewers and one of items, named as in files, an array of
    two columns, or Reviews, whose criteria and confidence the method then has; y holds their scores. Without y, X holds
    the scores. Further columns are ignored, with a :class:`reviewgraph.graph.ColumnWarning` in fit. A reviewer or an
    item without a score in the fit is predicted as a new one, drawn from the population.

    Parameters
    ----------
    method
        Name of a method, as in :data:`lsc.methods.METHODS`; ``"posterior"`` by default.
    seed
        Seed of methods that sample, and of the folds by which :meth:`predict` learns the scale of a method.
    **options
        Options of the method, such as ``hypothesis="offset"`` for ``"lsc"``: parameters like the others, which
        ``set_params`` and ``GridSearchCV`` set by name.

    Attributes
    ----------
    estimate_
        The estimate of the method, after :meth:`fit`.
    reviews_
        The reviews that it was fitted to.

    Examples
    --------
    >>> import pandas
    >>> rows = [(r, p, float(p + 2 * (r % 3))) for r in range(9) for p in range(r % 4, r % 4 + 5)]
    >>> table = pandas.DataFrame(rows, columns=["reviewer", "item", "score"])
    >>> pairs, score = table[["reviewer", "item"]], table["score"]
    >>> calibrator = Calibrator().fit(pairs, score)
    >>> calibrator.predict(pairs).shape, calibrator.score(pairs, score) > 0.9
    ((45,), True)

    With scikit-learn, ``cross_val_score(Calibrator(), pairs, score, groups=table["reviewer"], cv=GroupKFold(5))`` holds
    out reviewers as a whole.
    """

    def __init__(
        self,
        method: MethodName = DEFAULT,
        *,
        seed: int | np.random.Generator = 0,
        **options: Unpack[MethodOptions],
    ) -> None:
        self.method = method
        self.seed = seed
        vars(self).update(_options(dict(options)))

    def __repr__(self) -> str:
        shown = [f"{name}={value!r}" for name, value in self.get_params().items() if value != DEFAULTS.get(name, self)]
        return f"Calibrator({', '.join(shown)})"

    def __str__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self._method_options().items())
        return f"{self.method} ({options})" if options else self.method

    def _method_options(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name in OPTIONS}

    # Parameters, as scikit-learn reads and sets them

    @checked
    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name, as passed.

        Parameters
        ----------
        deep
            Has no effect: no parameter is an estimator itself. scikit-learn passes it.

        Returns
        -------
        dict
            ``method``, ``seed`` and the options of the method that were set.

        Examples
        --------
        >>> Calibrator("lsc", hypothesis="offset").get_params()
        {'method': 'lsc', 'seed': 0, 'hypothesis': 'offset'}
        """
        return {"method": self.method, "seed": self.seed, **self._method_options()}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name.

        Parameters
        ----------
        **params
            New values of ``method``, ``seed`` or options.

        Returns
        -------
        Calibrator
            This one.

        Raises
        ------
        InputError
            If there is no parameter of a name.

        Examples
        --------
        >>> Calibrator().set_params(method="lsc", hypothesis="offset")
        Calibrator(method='lsc', hypothesis='offset')
        """
        valid = (*DEFAULTS, *OPTIONS)
        for name, value in params.items():
            if name not in valid:
                raise InputError(f"{name}: expected one of {', '.join(valid)}, found no parameter of this name")
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        """Return what scikit-learn asks of an estimator, from version 1.6 on."""
        from sklearn.utils import InputTags, RegressorTags, Tags, TargetTags

        return Tags(
            estimator_type="regressor",
            target_tags=TargetTags(required=False, one_d_labels=True),
            input_tags=InputTags(two_d_array=True, string=True, categorical=True),
            regressor_tags=RegressorTags(),
        )

    # Fit and prediction

    @checked
    def fit(self, X: Any, y: Any = None) -> Self:
        """Estimate the qualities of the items from scores.

        Parameters
        ----------
        X
            Pairs of reviewer and item, one per row; without ``y`` with scores.
        y
            Shape (rows,): the score of each pair, NaN for a planned review; None (default) if X has them.

        Returns
        -------
        Calibrator
            This one, with :attr:`estimate_` and :attr:`reviews_`.

        Raises
        ------
        InputError
            If X holds no pairs, y is not one number per row or Reviews hold the scores, or the method raises it.

        Examples
        --------
        >>> Calibrator("average").fit([("ann", "p1"), ("bob", "p1")], [1.0, 3.0]).estimate_.quality
        array([2.])
        """
        self.reviews_ = _reviews_of(X, y)
        if not self.reviews_.n_reviews:
            raise InputError("X: expected pairs of a reviewer and an item, found no rows")
        method = method_named(self.method)
        options = self._method_options()
        if "seed" in method.options:
            options.setdefault("seed", self.seed)
        self.estimate_ = method(self.reviews_, **options)
        # The line of methods without a distribution, once a prediction has needed it.
        self._lines: list[Line] = []
        return self

    @checked
    def predict(self, X: Any, *, return_std: bool = False) -> FloatArray | tuple[FloatArray, FloatArray]:
        """Return the expected score of each pair, in points and direction of the scores.

        A method with a distribution of scores predicts it by itself. For others the score is a line in the quality, the
        same for all, plus an offset per reviewer; its slope is learned from held-out reviewers, at the first call,
        which calibrates five times more.

        Parameters
        ----------
        X
            Pairs of reviewer and item, one per row.
        return_std
            Whether to return the standard deviation of each score, too.

        Returns
        -------
        ndarray or tuple
            Shape (rows,): expected scores; with ``return_std`` also their standard deviations, same shape.

        Raises
        ------
        InputError
            If the calibrator is not fitted, X holds no pairs, or no reviewer and no item of X was in the fit.

        Examples
        --------
        >>> pairs = [(r, p) for r in range(6) for p in range(4)]
        >>> calibrator = Calibrator("average").fit(pairs, [float(p) for _, p in pairs])
        >>> calibrator.predict([(0, 3), ("new", 1)]).round(6).tolist()
        [3.0, 1.0]
        """
        people, papers = self._known(X)
        if isinstance(self.estimate_, PosteriorEstimate):
            prediction = self.estimate_.predict(people, papers)
            return (prediction.mean, prediction.sd) if return_std else prediction.mean
        reviews = self.reviews_
        estimate = self.estimate_
        if not self._lines:
            held = hold_out(reviews, self, seed=whole_seed(self.seed))
            self._lines.append(line_of(reviews, estimate, held))
        line = self._lines[0]
        # A new item is an average one; a new reviewer has no offset.
        known = estimate.quality[np.isfinite(estimate.quality)]
        quality = np.append(estimate.quality, known.mean() if known.size else 0.0)
        offset = np.append(line.offset, 0.0)
        i = np.array([-1 if label is None else reviews.item_code[label] for label in papers], np.int64)
        j = np.array([-1 if label is None else reviews.reviewer_code[label] for label in people], np.int64)
        mean = reviews.printed(line.intercept + line.slope * quality[i] + offset[j])
        if not return_std:
            return mean
        variance = line.noise + np.where(j < 0, line.severity, 0.0)
        return mean, np.sqrt(variance + np.where(i < 0, line.slope**2 * float(np.var(known)), 0.0))

    @checked
    def score(self, X: Any, y: Any = None) -> float:
        """Return the share of the variance of scores that :meth:`predict` explains (R squared).

        Parameters
        ----------
        X
            Pairs of reviewer and item, one per row; without ``y`` with scores.
        y
            Shape (rows,): the score of each pair; None (default) if X has them.

        Returns
        -------
        float
            1 for perfect predictions, 0 for those of the mean of y; NaN if all scores are equal.

        Raises
        ------
        InputError
            As :meth:`fit` and :meth:`predict`.

        Examples
        --------
        >>> pairs = [(r, p) for r in range(6) for p in range(4)]
        >>> y = [float(p) for _, p in pairs]
        >>> round(Calibrator("average").fit(pairs, y).score(pairs, y), 6)
        1.0
        """
        if y is None:
            X = _reviews_of(X, None).only_scored()
            truth = X.printed(X.score)
        else:
            truth = _scores("y", y)
        predicted = np.asarray(self.predict(X))
        if predicted.shape != truth.shape:
            raise InputError(f"y: expected one score per row of X, {predicted.size}, found {truth.size}")
        has_score = np.isfinite(truth)
        off = (truth - predicted)[has_score]
        spread = truth[has_score] - truth[has_score].mean() if has_score.any() else truth[has_score]
        total = float(spread @ spread)
        return 1.0 - float(off @ off) / total if total > 0 else float("nan")

    def _fitted(self) -> Estimate:
        estimate = getattr(self, "estimate_", None)
        if not isinstance(estimate, Estimate):
            raise _not_fitted("Calibrator: expected a fitted one, found none; call fit first")
        return estimate

    def _known(self, X: Any) -> tuple[list[Label | None], list[Label | None]]:
        """Return the labels of the pairs, None for reviewers and items that the fit does not know."""
        estimate = self._fitted()
        spellings = self.reviews_._spellings()
        people, papers = _pairs_of(X)
        reviewer_labels = spellings.respelled(people, "reviewer", "X")
        item_labels = spellings.respelled(papers, "paper", "X")
        scored = self.reviews_.only_scored()
        j = scored.reviewer_code
        i = scored.item_code
        reviewer = [label if label in j and scored.loads[j[label]] else None for label in reviewer_labels]
        item = [label if label in i and np.isfinite(estimate.quality[i[label]]) else None for label in item_labels]
        if reviewer_labels and not any(label is not None for label in (*reviewer, *item)):
            raise InputError(
                "X: expected pairs of a reviewer and an item, one of them in the fit, found none, such as "
                f"{reviewer_labels[0]!r} and {item_labels[0]!r}; the first column holds reviewers"
            )
        return reviewer, item


def _not_fitted(message: str) -> InputError:
    """Return an error that is scikit-learn's own, too, where that is loaded."""
    if "sklearn" not in sys.modules:
        return InputError(message)
    from sklearn.exceptions import NotFittedError

    class NotFitted(InputError, NotFittedError):  # type: ignore[misc]
        """A calibrator was used before it was fitted."""

    return NotFitted(message)


def _scores(name: str, y: Any) -> FloatArray:
    scores = as_numbers(name, y)
    values = np.asarray(y)
    if values.dtype == np.bool_ or (values.dtype == object and any(type(value) is bool for value in values.flat)):
        message = f"{name}: expected scores, found True and False; write {name}.astype(float) if they are scores"
        raise InputError(message)
    if scores.ndim != 1:
        raise InputError(f"{name}: expected one score per row, shape (rows,), found shape {scores.shape}")
    return scores


def _frame_of(X: Any) -> Any:
    """Return rows of a reviewer and an item as a data frame; one is returned as it is."""
    if hasattr(type(X), "columns"):
        return X
    if hasattr(X, "tocoo"):
        message = "X: expected rows of a reviewer and an item, found a sparse matrix; sparse input is not supported"
        raise InputError(message)
    import pandas

    try:
        rows = X.tolist() if isinstance(X, np.ndarray) else list(X)
        return pandas.DataFrame(rows, columns=["reviewer", "item"], dtype=object)
    except (TypeError, ValueError) as error:
        raise InputError(
            "X: expected Reviews, a data frame with columns of reviewers and items, or rows of a reviewer and an item, "
            f"found {type(X).__name__}"
        ) from error


def _pairs_of(X: Any) -> tuple[list[Any], list[Any]]:
    """Return the reviewers and items of the rows of X, in their order."""
    read = X if isinstance(X, Reviews) else pairs_in(_frame_of(X))
    people = read.reviewers
    papers = read.items
    return [people[j] for j in read.reviewer.tolist()], [papers[i] for i in read.item.tolist()]


def _reviews_of(X: Any, y: Any) -> Reviews:
    """Return pairs and scores as reviews."""
    if isinstance(X, Reviews):
        if y is not None:
            raise InputError("y: expected none with Reviews, which hold their scores, found scores; leave y out")
        return X
    frame = _frame_of(X)
    if y is None and frame is not X:
        raise InputError("y: expected the scores of the pairs, found none; pass them, or a data frame with scores as X")
    scores = None if y is None else _scores("y", y)
    return replace(Reviews._from_columns(pairs_in(frame, scores, only=False)), backend=backend_of(X))
