"""Predicted scores and reviewers as results of a posterior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsc._inference.beliefs import Posterior, Reviewers
from lsc._inference.kernels.step import describe_reviewers
from lsc._inference.step import NODES, REACH, Gauge, Quadrature
from reviewgraph._base import FloatArray, InputError, IntArray, LabelCodes, Result, checked, counted, or_none

if TYPE_CHECKING:
    from reviewgraph.table import Reviews


#: Nodes of a new reviewer, in standard deviations of the population.
GRID = np.linspace(-REACH, REACH, NODES)


class Mixture(NamedTuple):
    """Mixtures of normal distributions: weights, means and standard deviations, shapes (..., G).

    A score has a component per node g of the reviewer's slope a. With the posterior of the item N(m, v), and of the
    offset given the node N(B, 1 / P), independent as in expectation propagation::

        y ~ sum_g share_g N(a_g m + B_g, a_g^2 v + 1 / P_g + s_g^2)
    """

    share: FloatArray
    centre: FloatArray
    spread: FloatArray


def quadrature(posterior: Posterior) -> Quadrature:
    """Return the posterior of each reviewer at the nodes, shapes (M + 1, G), standardised; the last of them is new.

    Noise is without that of rounding.
    """
    size = posterior.slope.size
    population = posterior.population
    if population is None:
        slope, offset, noise = posterior.alike
        return Quadrature(*(np.full((size + 1, 1), value) for value in (1.0, slope, noise, offset, 1e-12)))
    # A reviewer of whom nothing is known has the slopes of the population and the mean noise of the others.
    scale = population.scales(GRID)
    density = scale * np.exp(-0.5 * GRID**2)
    slope_at = np.exp(population.mu + scale * GRID)
    noise_at = posterior.state.nodes.noise[posterior.state.load > 0].mean() * np.exp(2 * population.rho * scale * GRID)
    offset_at = population.g0 + population.g1 * slope_at
    new = density / density.sum(), slope_at, noise_at, offset_at, np.full(NODES, population.omega**2)
    at = Quadrature(*(np.repeat(value[None], size + 1, axis=0) for value in new))
    describe_reviewers(*posterior.state[:3], posterior.items, population.hyper, Gauge(), at)
    return at


def predictive(posterior: Posterior, who: IntArray, what: IntArray) -> Mixture:
    """Return the distributions of the scores of pairs of codes, any shape, in points.

    Code M is a new reviewer, and code N a new item, drawn from the prior N(0, 1).
    """
    at = quadrature(posterior)
    unit = posterior.scores.unit
    mean = np.append(posterior.mean, 0.0)[what][..., None]
    variance = np.append(posterior.variance, 1.0)[what][..., None]
    total = at.slope[who] ** 2 * variance + at.offset_variance[who] + at.noise[who] + posterior.rounding
    centre = unit.location + unit.spread * (at.slope[who] * mean + at.offset[who])
    return Mixture(at.share[who], centre, unit.spread * np.sqrt(total))


#: Bisections of a quantile, and half the width of the interval in which it is searched, in standard deviations of the
#: widest component.
HALVINGS = 60
FAR = 12.0


@dataclass(frozen=True, eq=False)
class Prediction:
    """Distribution of the scores of some pairs, in points and direction of the scores.

    It is a mixture of normal distributions, see :class:`Mixture`. All shapes are () for one pair, or
    (n,) for several.

    Attributes
    ----------
    mean, sd
        Expected score and standard deviation.

    Examples
    --------
    >>> from lsc import posterior
    >>> from reviewgraph import Reviews
    >>> rows = [(r, p, 4.0 * (r % 3) + p + r * p % 2) for r in range(9) for p in range(r, r + 6)]
    >>> estimate = posterior(Reviews(rows))
    >>> both = estimate.predict([3, 4], 7)
    >>> bool(both.mean[1] > both.mean[0]), both.interval(0.9).shape
    (True, (2, 2))
    """

    mean: FloatArray
    sd: FloatArray
    _law: Mixture = field(repr=False)

    @checked
    def interval(self, level: float = 0.9) -> FloatArray:
        """Return the central interval of each score with probability ``level``, shape (2,) or (n, 2).

        Raises
        ------
        InputError
            If ``level`` is not between 0 and 1.
        """
        if not 0.0 < level < 1.0:
            raise InputError(f"level: expected a probability between 0 and 1, found {level}")
        return np.stack([self._quantile(0.5 + side * level / 2.0) for side in (-1.0, 1.0)], axis=-1)

    @checked
    def cdf(self, score: float | Sequence[float]) -> FloatArray:
        """Return the probability of a score of at most ``score``, a number or one per pair.

        The distribution is continuous: of scores in steps of 1, a score of at most 5 has the probability ``cdf(5.5)``,
        and one of 5 the probability ``cdf(5.5) - cdf(4.5)``.

        Raises
        ------
        InputError
            If there is neither one number nor one per pair.
        """
        from scipy.special import ndtr

        try:
            value = np.broadcast_to(np.asarray(score, np.float64), self.mean.shape)
        except (TypeError, ValueError) as error:
            message = f"score: expected a number, or numbers of shape {self.mean.shape}, found {score!r}"
            raise InputError(message) from error
        share, centre, spread = self._law
        return np.asarray((share * ndtr((value[..., None] - centre) / spread)).sum(axis=-1))

    def _quantile(self, probability: float) -> FloatArray:
        """Return the quantiles for a probability between 0 and 1, by bisection."""
        _, centre, spread = self._law
        low = (centre - FAR * spread).min(axis=-1)
        high = (centre + FAR * spread).max(axis=-1)
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            below = self.cdf(middle) < probability
            low = np.where(below, middle, low)
            high = np.where(below, high, middle)
        return np.asarray(0.5 * (low + high))


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
        raise InputError(f"reviewer, item: expected equal numbers of labels, found {who.size} and {what.size}")
    unscored = what[np.isnan(np.append(beliefs.mean, 0.0))[what]]
    if unscored.size:
        raise InputError(f"{expected}, found {reviews.items[int(unscored.flat[0])]!r}, which has none")
    law = predictive(beliefs, *np.broadcast_arrays(who, what))
    return prediction_of(law._replace(centre=reviews.printed(law.centre)))


def prediction_of(law: Mixture) -> Prediction:
    """Return a mixture with its mean and standard deviation."""
    mean = np.asarray((law.share * law.centre).sum(axis=-1))
    square = (law.centre - mean[..., None]) ** 2 + law.spread**2
    return Prediction(mean, np.asarray(np.sqrt((law.share * square).sum(axis=-1))), law)


def _codes(labels: Any, code: LabelCodes, expected: str) -> IntArray:
    """Return the code of a label, shape (), or those of several; None has the code after the last."""
    # Whatever can be hashed is a label.
    try:
        hash(labels)
    except TypeError:
        several = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
        return np.array([len(code) if label is None else code.of(label, expected) for label in several], np.int64)
    return np.array(len(code) if labels is None else code.of(labels, expected))
