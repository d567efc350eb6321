"""What extra reviews are for beside a level of connection: decisions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from planner._plans.outcome import Purchase
from reviewgraph._base import FloatArray, InputError, IntArray, cut_of, least_spread, probability_in_top, snapped

if TYPE_CHECKING:
    from reviewgraph.table import Reviews


# Expected effect of further reviews of a paper, before their scores are known: arrays in, arrays out.
#
# A paper is N(m, s^2). Reviews of precision p (the sum of their inverse error variances) change its mean by
# N(0, s^2 - v), where ``v = 1 / (1 / s^2 + p)`` is the variance left. Everything follows from this.

#: Minimum distance of numbers from 0, and of correlations from 1; without effect on twelve digits.
TRIFLE = 1e-12


def variance_left(sd: FloatArray, precision: FloatArray) -> FloatArray:
    """Return the variance of papers of standard errors ``sd`` after reviews of a total ``precision``.

    >>> import numpy as np
    >>> variance_left(np.array([1.0, 1.0]), np.array([0.0, 1.0])).tolist()
    [1.0, 0.5]
    """
    return 1.0 / (1.0 / sd**2 + precision)


def misplaced(distance: FloatArray, sd: FloatArray, precision: FloatArray, price: float | FloatArray) -> FloatArray:
    """Return the expected contribution of papers to wrong selections after more reviews.

    ``(1 - q) P(x > t, out) + q P(x < t, in)``: t is the quality above which n papers are expected (``distance`` is the
    posterior mean less t), and a paper is in if its probability of lying above t is at least the price q, that of the
    last paper selected. The number of papers with probability one half or more differs from n, since means are shrunk;
    with the price the sum over all papers is the expected number of wrong ones among the n most probable, now and
    later.

    Quality and future mean are jointly normal with correlation ``sqrt(1 - v / s^2)``; their joint probability is Owen's
    (1956, Tables for computing bivariate normal probabilities, equation 2.1).

    >>> import numpy as np
    >>> misplaced(np.zeros(2), np.ones(2), np.array([0.0, 1.0]), 0.5).round(3).tolist()
    [0.25, 0.125]
    """
    from scipy.special import ndtr, ndtri

    above = distance / sd
    left = variance_left(sd, precision)
    share = np.clip(1.0 - left / sd**2, TRIFLE, 1.0 - TRIFLE)
    moved = (distance - np.sqrt(left) * ndtri(price)) / (sd * np.sqrt(share))
    right = both_above(above, moved, np.sqrt(share))
    later = (1.0 - price) * ndtr(above) + price * ndtr(moved) - right
    now = np.minimum((1.0 - price) * ndtr(above), price * ndtr(-above))
    return np.asarray(np.where(precision > 0.0, np.clip(later, 0.0, now), now))


def both_above(first: FloatArray, second: FloatArray, correlation: FloatArray) -> FloatArray:
    """Return P(a < first, b < second) of two standard normals with a correlation strictly between 0 and 1.

    >>> import numpy as np
    >>> both_above(np.zeros(1), np.zeros(1), np.array([0.5])).round(6).tolist()
    [0.333333]
    """
    from scipy.special import ndtr, owens_t

    # Owen's formula divides by both arguments, and is continuous there.
    h, k = (np.where(np.abs(value) < TRIFLE, TRIFLE, value) for value in (first, second))
    rest = np.sqrt(1.0 - correlation**2)
    parts = owens_t(h, (k / h - correlation) / rest) + owens_t(k, (h / k - correlation) / rest)
    return np.asarray(0.5 * (ndtr(h) + ndtr(k)) - parts - 0.5 * (h * k < 0.0))


# The objective.

#: A paper is settled if it is in, or out, with at most this error probability.
ERROR_RATE = 0.1
#: A price of 0 or 1 would make all papers, or none, worth selecting.
LEAST_PRICE = 1e-9


class Decision:
    """Fewest expected wrong selections among the ``n`` items that will be selected.

    Raises InputError if ``n`` is not a number of items that it needs.
    """

    helps = "be surer of which papers to select"

    def __init__(self, beliefs: Beliefs, n: int | None) -> None:
        message = ""
        if n is None:
            message = "goal 'decision' needs the number of papers to select; found none"
        elif beliefs.scored < 2:
            message = f"expected two papers with scores or more to select among, found {beliefs.scored}"
        elif isinstance(n, bool) or not 0 < n < beliefs.scored:
            message = f"expected 1 to {beliefs.scored - 1}, with {beliefs.scored} papers scored; found {n!r}"
        if message or n is None:
            raise InputError(f"n_selected: {message}")
        self.beliefs = beliefs
        self.n = int(n)
        self.unit = f"wrong of {n} selected"
        self.distance = beliefs.mean - cut_of(beliefs.mean, beliefs.sd, n)
        self.chance = probability_in_top(beliefs.mean, beliefs.sd, n)
        # The price of a place is between the probabilities of the last paper in and of the first one out.
        last = np.sort(self.chance)[::-1][n - 1 : n + 1]
        self.price = float(np.clip(last.mean(), LEAST_PRICE, 1.0 - LEAST_PRICE))

    def losses(self, item: IntArray, precision: FloatArray) -> FloatArray:
        """Return the expected loss of items, shape (K,), after reviews of a precision beyond the pending ones."""
        coming = self.beliefs.pending[item] + precision
        return misplaced(self.distance[item], self.beliefs.sd[item], coming, self.price)

    def left(self, extra: FloatArray) -> float:
        """Return the sum of losses after reviews of precisions ``extra``, shape (N,), beyond the pending ones."""
        return float(self.losses(np.arange(extra.size), extra).sum())

    def effect(self, item: int) -> str:
        """Describe why a review of an item is asked for, briefly."""
        return f"chance {100 * self.chance[item]:.0f} %"

    @property
    def worth_reading(self) -> int:
        """The default number of reviews to plan: the papers that are not settled."""
        return int((snapped(np.minimum(self.chance, 1.0 - self.chance) - ERROR_RATE, 1.0) > 0).sum())


#: What extra reviews are for; with ``decision`` a plan has a level only if that is asked for, too.
ObjectiveName: TypeAlias = Literal["level", "decision"]


@dataclass(frozen=True, eq=False)
class Beliefs:
    """Posterior of qualities, and the information in one more score.

    ``mean`` and ``sd`` (N,) are finite; an item without a score has the average of the others. ``review_precision``
    (M,) is the inverse error variance of one more score of each reviewer, ``pending`` (N,) its sum over the reviews
    still to come for an item. ``scored`` items have scores.
    """

    mean: FloatArray
    sd: FloatArray
    review_precision: FloatArray
    pending: FloatArray
    scored: int

    @property
    def typical(self) -> float:
        """Mean precision of a review over reviewers."""
        return float(self.review_precision.mean())

    def brought_by(self, pairs: IntArray) -> FloatArray:
        """Return the precision that reviews (reviewer, item), shape (P, 2), add to each item, shape (N,)."""
        return brought_by(pairs, self.review_precision, self.mean.size)


def beliefs_of(reviews: Reviews, fixed: IntArray) -> Beliefs:
    """Return the posterior of the qualities from the scores.

    Reviews without a score, and ``fixed`` pairs (F, 2), are still to come. Raises InputError if there are no scores.
    """
    from reviewgraph.graph import learned_from

    if not reviews.scored.any():
        raise InputError(
            "goal: expected scores to learn from, found planned reviews only; before there are scores it hardly "
            "matters which paper gets more reviews, so plan for a level"
        )
    learned = learned_from(reviews, n_draws=0)
    mean = learned.mean
    sd = learned.error
    known = np.isfinite(mean) & np.isfinite(sd)
    centre = mean[known].mean()
    spread = np.sqrt(mean[known].var() + (sd[known] ** 2).mean())
    mean = np.where(known, mean, centre)
    sd = np.where(known, sd, spread)
    coming = np.concatenate([np.column_stack([reviews.reviewer, reviews.item])[~reviews.scored], fixed])
    precision = 1.0 / least_spread(mean, learned.review_error) ** 2
    pending = brought_by(coming, precision, reviews.n_items)
    return Beliefs(mean, least_spread(mean, sd), precision, pending, int(known.sum()))


def brought_by(pairs: IntArray, precision: FloatArray, n_items: int) -> FloatArray:
    """Sum the precisions of reviewers over the reviews of each item, shape (N,).

    >>> import numpy as np
    >>> brought_by(np.array([[0, 1], [1, 1]]), np.array([0.5, 2.0]), 3).tolist()
    [0.0, 2.5, 0.0]
    """
    return np.bincount(pairs[:, 1], precision[pairs[:, 0]], n_items).astype(np.float64)


# Expected gain of the same number of reviews chosen another way, by the same model.


def at_random(aim: Decision, extra: FloatArray, count: int) -> float:
    """Return the sum of losses after ``count`` reviews of random papers, each with its share of a review.

    ``extra`` (N,) is the precision of other reviews beyond the pending ones. Exact if reviewers are alike and nobody
    gets a second review before all have one: a paper's expected loss is then the mean of that with and without a
    review.
    """
    every = np.arange(extra.size)
    typical = aim.beliefs.typical
    rounds, rest = divmod(count, extra.size)
    without = aim.losses(every, extra + rounds * typical).sum()
    with_one = aim.losses(every, extra + (rounds + 1) * typical).sum()
    return float(without + (with_one - without) * rest / extra.size)


def gains_of(aim: Decision, pairs: IntArray) -> list[float]:
    """Return the gain of each review, shape (P, 2), after those before it; they sum to the gain of all."""
    every = np.arange(aim.beliefs.mean.size)
    extra = np.zeros(every.size)
    losses = aim.losses(every, extra)
    gains = []
    for reviewer, item in pairs.tolist():
        extra[item] += aim.beliefs.review_precision[reviewer]
        loss = float(aim.losses(every[item : item + 1], extra[item : item + 1])[0])
        gains.append(float(losses[item]) - loss)
        losses[item] = loss
    return gains


def purchase(aim: Decision, pairs: IntArray, first: int) -> Purchase:
    """Compare the gain of reviews, shape (P, 2), with that of as many at random.

    ``first`` is the number of the first review for the objective.
    """
    nothing = np.zeros(aim.beliefs.mean.size)
    after = aim.left(aim.beliefs.brought_by(pairs))
    return Purchase(aim.unit, aim.left(nothing), after, at_random(aim, nothing, len(pairs)), first, aim.helps)
