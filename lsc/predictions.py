"""Predicted scores, residuals and ranks as results of a posterior, and its joint draws for ArviZ."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsc._inference.beliefs import Reviewers
from lsc._inference.predicting import Discrete, Law, leave_one_out, new_scores, predictive
from reviewgraph._base import (
    FloatArray,
    InputError,
    IntArray,
    Result,
    checked,
    counted,
    or_none,
)

if TYPE_CHECKING:
    from lsc._inference.beliefs import Posterior
    from reviewgraph._base import LabelCodes
    from reviewgraph.table import Reviews


@dataclass(frozen=True, eq=False)
class Prediction:
    """Distribution of the scores of some pairs, in points and direction of the scores.

    All shapes are () for one pair, or (n,) for several.

    Attributes
    ----------
    mean, sd
        Expected score and standard deviation.

    Examples
    --------
    >>> from lsc import posterior
    >>> from reviewgraph import Reviews
    >>> rows = [(r, p, 4.0 * (r % 3) + p + r * p % 2) for r in range(9) for p in range(r, r + 6)]
    >>> estimate = posterior(Reviews.from_pairs(rows))
    >>> both = estimate.predict([3, 4], 7)
    >>> bool(both.mean[1] > both.mean[0]), both.interval(0.9).shape
    (True, (2, 2))
    """

    mean: FloatArray
    sd: FloatArray
    _law: Law = field(repr=False)

    @property
    def levels(self) -> FloatArray | None:
        """Shape (L,): where scores have few levels, their values, ascending; None where they are numbers."""
        return self._law.value if isinstance(self._law, Discrete) else None

    @property
    def probability(self) -> FloatArray | None:
        """Shape (L,) or (n, L): where scores have few levels, the probability of each; otherwise None."""
        return self._law.probability if isinstance(self._law, Discrete) else None

    @checked
    def interval(self, level: float = 0.9) -> FloatArray:
        """Return the central interval of each score with probability ``level``, shape (2,) or (n, 2).

        The ends are quantiles. Where scores are levels, ends are included, and the probability is at least ``level``.

        Raises
        ------
        InputError
            If ``level`` is not between 0 and 1.
        """
        if not 0.0 < level < 1.0:
            message = f"level: expected a probability between 0 and 1, found {level}"
            raise InputError(message)
        ends = [self._law.quantile(0.5 + side * level / 2.0) for side in (-1.0, 1.0)]
        return np.stack(ends, axis=-1)

    @checked
    def cdf(self, score: float | Sequence[float]) -> FloatArray:
        """Return the probability of a score of at most ``score``, a number or one per pair.

        Where scores are numbers the distribution is continuous: of scores in steps of 1, a score of at most 5 has the
        probability ``cdf(5.5)``. Where they are levels it has steps at the levels: ``cdf(5)``.

        Raises
        ------
        InputError
            If there is neither one number nor one per pair.
        """
        try:
            value = np.broadcast_to(np.asarray(score, np.float64), self.mean.shape)
        except (TypeError, ValueError) as error:
            message = f"score: expected a number, or numbers of shape {self.mean.shape}, found {score!r}"
            raise InputError(message) from error
        return self._law.cdf(value)


class Residuals(NamedTuple):
    """Each score against its prediction from all others, shapes (E,), in the order of the reviews.

    NaN for planned reviews, and for constant scores that the estimate ignores.

    Attributes
    ----------
    raw
        Score minus predicted mean, in points and direction of the scores.
    standardised
        The same divided by the standard deviation of the prediction: mean 0 and variance 1 under the model.
    probability
        Predicted probability of a score at most as high: uniform under the model where scores are numbers.
    lower
        Predicted probability of a lower score: the same where scores are numbers. Where they are levels, a uniform
        number between ``lower`` and ``probability`` is uniform under the model.
    """

    raw: FloatArray
    standardised: FloatArray
    probability: FloatArray
    lower: FloatArray

    def within(self, level: float = 0.9) -> float:
        """Return the share of scores in their central intervals with probability ``level``; NaN without any.

        A level at the end of an interval counts by the part of its probability that is inside, so that the expected
        share is ``level``.
        """
        return self.share(0.5 - level / 2, 0.5 + level / 2)

    def share(self, low: float, high: float) -> float:
        """Return the share of scores between two quantiles of their predictions, ``high - low`` under the model."""
        known = np.isfinite(self.probability)
        lower = self.lower[known]
        upper = self.probability[known]
        if not known.any():
            return float("nan")
        # Of numbers, in or out; of levels, the part of the probability inside.
        point = ((low <= 0) | (upper > low)) & ((high >= 1) | (upper < high))
        part = np.maximum(np.minimum(upper, high) - np.maximum(lower, low), 0.0)
        whole = upper - lower
        return float(
            np.where(whole > 0, np.divide(part, whole, out=np.zeros_like(part), where=whole > 0), point).mean()
        )


@dataclass(frozen=True, eq=False, repr=False)
class ReviewerTable(Result, Reviewers):
    """The posterior of the reviewers as a table with labels.

    Parameters
    ----------
    reviews
        The reviews; the other fields are those of :class:`lsc._inference.beliefs.Reviewers`, in the order of
        ``reviews.reviewers``.
    """

    reviews: Reviews

    def to_columns(self) -> dict[str, list[Any]]:
        """Return reviewer and load, severity, stretch and noise with the ends of their intervals."""
        columns: dict[str, list[Any]] = {"reviewer": list(self.reviews.reviewers), "load": self.reviews.loads.tolist()}
        for name in ("severity", "stretch", "noise"):
            quantity = getattr(self, name)
            for end in ("mean", "low", "high"):
                columns[name if end == "mean" else f"{name}_{end}"] = or_none(getattr(quantity, end))
        return columns

    def to_dict(self) -> dict[str, Any]:
        """Return one object per reviewer."""
        columns = self.to_columns()
        return {"reviewers": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]}

    def headline(self) -> str:
        """Return the number of reviewers."""
        return counted(self.reviews.n_reviewers, "reviewer")


def predict(reviews: Reviews, beliefs: Posterior, reviewer: Any, item: Any) -> Prediction:
    """Predict the scores of pairs given by labels; see :meth:`lsc.PosteriorEstimate.predict`."""
    expected = "item: expected an item with a quality, or None for a new one"
    who = _codes(
        reviewer, reviews.reviewer_code, "reviewer: expected a reviewer of these reviews, or None for a new one"
    )
    what = _codes(item, reviews.item_code, expected)
    if who.ndim and what.ndim and who.size != what.size:
        message = f"reviewer, item: expected equal numbers of labels, found {who.size} and {what.size}"
        raise InputError(message)
    unscored = what[np.isnan(np.append(beliefs.mean, 0.0))[what]]
    if unscored.size:
        message = f"{expected}, found {reviews.items[int(unscored.flat[0])]!r}, which has none"
        raise InputError(message)
    law = predictive(beliefs, *np.broadcast_arrays(who, what)).mapped(0.0, float(reviews.printed([1.0])[0]))
    return Prediction(law.mean, law.sd, law)


def _codes(labels: Any, code: LabelCodes, expected: str) -> IntArray:
    """Return the code of a label, shape (), or those of several; None has the code after the last."""
    # Whatever can be hashed is a label.
    try:
        hash(labels)
    except TypeError:
        several = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
        return np.array([len(code) if label is None else code.of(label, expected) for label in several], np.int64)
    return np.array(len(code) if labels is None else code.of(labels, expected))


def residuals(reviews: Reviews, beliefs: Posterior) -> Residuals:
    """Compare each score with its prediction from all others; see :meth:`lsc.PosteriorEstimate.residuals`."""
    sign = float(reviews.printed([1.0])[0])
    left_out = leave_one_out(beliefs)
    upper = left_out.probability
    lower = left_out.lower
    if sign < 0:
        upper, lower = 1.0 - lower, 1.0 - upper
    off = sign * (beliefs.scores.part.score - left_out.mean)
    arrays = np.full((4, reviews.n_reviews), np.nan)
    rows = np.flatnonzero(reviews.scored)[beliefs.used]
    arrays[:, rows] = beliefs.scores.unit.spread * off, off / left_out.sd, upper, lower
    return Residuals(*arrays)


def ranks_of(draws: FloatArray, group: IntArray) -> FloatArray:
    """Return the rank of each item within its group in each draw, shape (D, N), from 1 for the best; NaN as in draws.

    >>> ranks_of(np.array([[1.0, 2.0, 9.0], [3.0, 2.0, 9.0]]), np.array([1, 1, 2])).tolist()
    [[2.0, 1.0, 1.0], [1.0, 2.0, 1.0]]
    """
    rank = np.full(draws.shape, np.nan)
    known = np.isfinite(draws).any(axis=0)
    for number in np.unique(group[known]).tolist():
        items = np.flatnonzero((group == number) & known)
        order = np.argsort(-draws[:, items], axis=1, kind="stable")
        np.put_along_axis(rank, items[order], np.arange(1.0, items.size + 1)[None], axis=1)
    return rank


def to_arviz(
    reviews: Reviews, beliefs: Posterior, agreed: FloatArray, quality: FloatArray, rng: np.random.Generator
) -> Any:
    """Return joint draws as ArviZ has them; see :meth:`lsc.PosteriorEstimate.to_arviz`.

    ``agreed`` (D, N) are draws of what the reviewers agree on, from which scores follow, and ``quality`` (D, N) those
    of the qualities, which differ where there are references.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an old version announces the next one
            import arviz
            import xarray
    except ImportError as error:
        message = (
            "to_arviz: expected the package arviz, found none; to install: python -m pip install 'reviewgraph[arviz]'"
        )
        raise InputError(message) from error
    scored = np.flatnonzero(reviews.scored)
    items = np.array([str(label) for label in reviews.items], np.str_)
    people = np.array([str(label) for label in reviews.reviewers], np.str_)
    known = np.isfinite(quality).all(axis=0)
    # Draws are independent: one chain.
    chain = {"chain": [0], "draw": np.arange(len(quality))}
    of_review = {
        "review": scored,
        "reviewer": ("review", people[reviews.reviewer[scored]]),
        "item": ("review", items[reviews.item[scored]]),
    }
    new = reviews.printed(new_scores(beliefs, agreed, rng))[None]
    groups = {
        "posterior": xarray.Dataset(
            {"quality": (("chain", "draw", "item"), reviews.printed(quality)[None][..., known])},
            {**chain, "item": items[known]},
        ),
        "posterior_predictive": xarray.Dataset({"score": (("chain", "draw", "review"), new)}, {**chain, **of_review}),
        "observed_data": xarray.Dataset({"score": ("review", reviews.printed(reviews.score[scored]))}, of_review),
    }
    if hasattr(arviz, "InferenceData"):
        return arviz.InferenceData(**groups)
    return xarray.DataTree.from_dict(groups)
