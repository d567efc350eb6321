"""What extra reviews are for: a level of connection, or decisions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from reviewgraph._base import InputError, named

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from planner._plans.outcome import Purchase
    from reviewgraph._base import FloatArray, IntArray
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
    import numpy as np
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
    import numpy as np
    from scipy.special import ndtr, owens_t

    # Owen's formula divides by both arguments, and is continuous there.
    h, k = (np.where(np.abs(value) < TRIFLE, TRIFLE, value) for value in (first, second))
    rest = np.sqrt(1.0 - correlation**2)
    parts = owens_t(h, (k / h - correlation) / rest) + owens_t(k, (h / k - correlation) / rest)
    return np.asarray(0.5 * (ndtr(h) + ndtr(k)) - parts - 0.5 * (h * k < 0.0))


# The objectives, one class each; their names are never compared.


class Objective(ABC):
    """What extra reviews are for: a loss of each item, which more reviews are expected to lower.

    ``name`` is used by commands and arguments, ``words`` by help. ``helps`` completes "it helps us ..." in letters to
    reviewers; empty for a level. ``unit`` is that of the sum of losses, as in "1.3 wrong of 20 selected". With
    ``needs_level`` a plan always has a target; with ``selects`` the number of items to select is required.
    """

    name: ClassVar[str]
    words: ClassVar[str]
    helps: ClassVar[str] = ""
    unit: str = ""
    needs_level: ClassVar[bool] = False
    selects: ClassVar[bool] = False

    def __init__(self, beliefs: Beliefs) -> None:
        self.beliefs = beliefs

    @classmethod
    def known(cls, beliefs: Callable[[], Beliefs], select: int | None) -> Self | None:
        """Return the objective under some beliefs and a number of items to select; None for a level alone.

        Raises InputError if ``select`` is not what it needs.
        """
        return cls(beliefs())

    @abstractmethod
    def losses(self, item: IntArray, precision: FloatArray) -> FloatArray:
        """Return the expected loss of items, shape (K,), after reviews of a precision beyond the pending ones."""

    @abstractmethod
    def effect(self, item: int) -> str:
        """Describe why a review of an item is asked for, briefly."""

    def worth_reading(self) -> int | None:
        """Return the default number of reviews to plan; None if it has to be given."""
        return None

    def left(self, extra: FloatArray) -> float:
        """Return the sum of losses after reviews of precisions ``extra``, shape (N,), beyond the pending ones."""
        import numpy as np

        return float(self.losses(np.arange(extra.size), extra).sum())


#: A paper is settled if it is in, or out, with at most this error probability.
ERROR_RATE = 0.1
#: A price of 0 or 1 would make all papers, or none, worth selecting.
LEAST_PRICE = 1e-9


class Decision(Objective):
    """Fewest expected wrong selections among the ``n`` items that will be selected."""

    name: ClassVar[str] = "decision"
    words: ClassVar[str] = "after scores, fewest wrong among the papers of --select"
    helps: ClassVar[str] = "be surer of which papers to select"
    selects: ClassVar[bool] = True

    def __init__(self, beliefs: Beliefs, n: int) -> None:
        import numpy as np

        from reviewgraph._base import cut_of, probability_in_top

        super().__init__(beliefs)
        self.n = n
        self.unit = f"wrong of {n} selected"
        self.distance = beliefs.mean - cut_of(beliefs.mean, beliefs.sd, n)
        self.chance = probability_in_top(beliefs.mean, beliefs.sd, n)
        # The price of a place is between the probabilities of the last paper in and of the first one out.
        last = np.sort(self.chance)[::-1][n - 1 : n + 1]
        self.price = float(np.clip(last.mean(), LEAST_PRICE, 1.0 - LEAST_PRICE))

    @classmethod
    def known(cls, beliefs: Callable[[], Beliefs], select: int | None) -> Self:
        if select is None:
            message = "n_selected: objective 'decision' needs the number of papers to select; found none"
            raise InputError(message)
        posterior = beliefs()
        scored = posterior.scored
        if scored < 2:
            message = f"n_selected: expected two papers with scores or more to select among, found {scored}"
            raise InputError(message)
        if isinstance(select, bool) or not 0 < select < scored:
            message = f"n_selected: expected 1 to {scored - 1}, with {scored} papers scored; found {select!r}"
            raise InputError(message)
        return cls(posterior, int(select))

    def losses(self, item: IntArray, precision: FloatArray) -> FloatArray:
        coming = self.beliefs.pending[item] + precision
        return misplaced(self.distance[item], self.beliefs.sd[item], coming, self.price)

    def effect(self, item: int) -> str:
        return f"chance {100 * self.chance[item]:.0f} %"

    def worth_reading(self) -> int | None:
        import numpy as np

        from reviewgraph._base import snapped

        return int((snapped(np.minimum(self.chance, 1.0 - self.chance) - ERROR_RATE, 1.0) > 0).sum())


class OnlyLevel(Objective):
    """A plan ends where its level is reached."""

    name: ClassVar[str] = "level"
    words: ClassVar[str] = "fewest reviews to the level of --target"
    needs_level: ClassVar[bool] = True

    @classmethod
    def known(cls, beliefs: Callable[[], Beliefs], select: int | None) -> None:
        """Return None: no review beyond the level is chosen."""


#: The names of the objectives, for type hints; registered ones are accepted, too.
ObjectiveName: TypeAlias = Literal["level", "decision"]

#: The register: add an objective here. The first is never instantiated, so it may stay abstract.
OBJECTIVES: list[type[Objective]] = [OnlyLevel, Decision]  # type: ignore[type-abstract]


def objective_named(name: str) -> type[Objective]:
    return named(OBJECTIVES, name, "objective")


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


def beliefs_of(reviews: Reviews, fixed: IntArray, draws: FloatArray | None) -> Beliefs:
    """Return the posterior of the qualities, from the scores or from joint ``draws``, shape (S, N).

    Reviews without a score, and ``fixed`` pairs (F, 2), are still to come. Raises InputError if there are no scores, or
    draws of another shape.
    """
    import numpy as np

    from reviewgraph._base import least_spread
    from reviewgraph.graph import learned_from

    if not reviews.scored.any():
        message = (
            "objective: expected scores to learn from, found planned reviews only; before there are scores it hardly "
            "matters which paper gets more reviews, so plan for a level"
        )
        raise InputError(message)
    if draws is None:
        learned = learned_from(reviews, n_draws=0)
        mean = learned.mean
        sd = learned.error
        error = learned.review_error
    else:
        mean, sd, error = _summary(reviews, draws)
    known = np.isfinite(mean) & np.isfinite(sd)
    if not known.any():
        message = "draws: expected finite qualities of some items, found none"
        raise InputError(message)
    centre = mean[known].mean()
    spread = np.sqrt(mean[known].var() + (sd[known] ** 2).mean())
    mean = np.where(known, mean, centre)
    sd = np.where(known, sd, spread)
    coming = np.concatenate([np.column_stack([reviews.reviewer, reviews.item])[~reviews.scored], fixed])
    precision = 1.0 / least_spread(mean, error) ** 2
    pending = brought_by(coming, precision, reviews.n_items)
    return Beliefs(mean, least_spread(mean, sd), precision, pending, int(known.sum()))


def _summary(reviews: Reviews, draws: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean and standard error of each item, and of one more score: the root mean square residual from the draws."""
    import numpy as np

    drawn = np.asarray(draws, np.float64)
    if drawn.ndim != 2 or drawn.shape[0] < 2 or drawn.shape[1] != reviews.n_items:
        message = f"draws: expected two or more draws of {reviews.n_items} items, found shape {drawn.shape}"
        raise InputError(message)
    mean = drawn.mean(axis=0)
    sd = drawn.std(axis=0, ddof=1)
    item = reviews.item[reviews.scored]
    square = (reviews.score[reviews.scored] - mean[item]) ** 2 + sd[item] ** 2
    error = np.sqrt(square[np.isfinite(square)].mean()) if np.isfinite(square).any() else np.nan
    return mean, sd, np.full(reviews.n_reviewers, error)


def brought_by(pairs: IntArray, precision: FloatArray, n_items: int) -> FloatArray:
    """Sum the precisions of reviewers over the reviews of each item, shape (N,).

    >>> import numpy as np
    >>> brought_by(np.array([[0, 1], [1, 1]]), np.array([0.5, 2.0]), 3).tolist()
    [0.0, 2.5, 0.0]
    """
    import numpy as np

    return np.bincount(pairs[:, 1], precision[pairs[:, 0]], n_items).astype(np.float64)


# Expected gain of the same number of reviews chosen another way, by the same model.


def at_random(aim: Objective, extra: FloatArray, count: int) -> float:
    """Return the sum of losses after ``count`` reviews of random papers, each with its share of a review.

    ``extra`` (N,) is the precision of other reviews beyond the pending ones. Exact if reviewers are alike and nobody
    gets a second review before all have one: a paper's expected loss is then the mean of that with and without a
    review.
    """
    import numpy as np

    every = np.arange(extra.size)
    typical = aim.beliefs.typical
    rounds, rest = divmod(count, extra.size)
    without = aim.losses(every, extra + rounds * typical).sum()
    with_one = aim.losses(every, extra + (rounds + 1) * typical).sum()
    return float(without + (with_one - without) * rest / extra.size)


def gains_of(aim: Objective, pairs: IntArray) -> list[float]:
    """Return the gain of each review, shape (P, 2), after those before it; they sum to the gain of all."""
    import numpy as np

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


def purchase(aim: Objective, pairs: IntArray, first: int) -> Purchase:
    """Compare the gain of reviews, shape (P, 2), with that of as many at random.

    ``first`` is the number of the first review for the objective.
    """
    import numpy as np

    from planner._plans.outcome import Purchase

    nothing = np.zeros(aim.beliefs.mean.size)
    after = aim.left(aim.beliefs.brought_by(pairs))
    return Purchase(aim.name, aim.unit, aim.left(nothing), after, at_random(aim, nothing, len(pairs)), first, aim.helps)
