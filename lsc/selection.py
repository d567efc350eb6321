"""A selection with a conscience: in, to be discussed, out, and how many of the selected are expected to be wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from lsc.estimate import best_first, comparable, expect_number
from reviewgraph._base.arrays import BoolArray, FloatArray, IntArray, probability_in_top
from reviewgraph._base.errors import InputError
from reviewgraph._base.labels import Label

# Lots with given probabilities: exactly n are drawn, and a small change of the probabilities changes few of them.

#: Halvings of the interval in which the exponent lies: it spans 2^10, so the sum is right to 1e-12.
HALVINGS = 60

#: The sum of probabilities is whole up to rounding.
NEARLY_WHOLE = 1e-6


def lottery_probabilities(chance: FloatArray, n: int, error_rate: float) -> FloatArray:
    """Return the probability with which a lottery over the uncertain papers draws each, shape (N,), with sum n.

    ::

        p_i = t_i ^ gamma,   t_i = (P_i - error_rate) / (1 - 2 error_rate), clipped to [0, 1]
        subject to  sum p = n

    So a paper that is surely in is drawn surely, one that is surely out never, and the probability of the others rises
    with their chance and continuously: a score that changes a little changes it a little.

    Parameters
    ----------
    chance
        Shape (N,): probability of being among the best n.
    n
        How many are to be drawn.
    error_rate
        Chances up to it count as out, chances from 1 - it as in.

    Raises
    ------
    InputError
        If fewer than n papers have a chance above 0.

    Examples
    --------
    >>> lottery_probabilities(np.array([0.99, 0.6, 0.6, 0.01]), 2, 0.1).round(3).tolist()
    [1.0, 0.5, 0.5, 0.0]
    """
    open_to_all = np.clip((chance - error_rate) / (1.0 - 2.0 * error_rate), 0.0, 1.0)
    # Too few papers between the thresholds, or too many beyond the upper one: the thresholds give way.
    if (open_to_all > 0).sum() < n or (open_to_all == 1).sum() > n:
        open_to_all = np.clip(chance, 0.0, 1.0 - 1e-9)
    if (open_to_all > 0).sum() < n:
        message = f"n: expected at most {int((open_to_all > 0).sum())} papers to draw (those with a chance), found {n}"
        raise InputError(message)
    # The sum falls as gamma grows, from the papers with a chance to those that are surely in.
    low, high = -10.0 * np.log(2.0), 10.0 * np.log(2.0)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if (open_to_all ** np.exp(middle)).sum() > n else (low, middle)
    found: FloatArray = open_to_all ** np.exp(low)
    free = (found > 0) & (found < 1)
    if free.any():  # what an exponent at its bound left over is shared out
        left = n - found[~free].sum()
        found[free] = np.clip(found[free] * left / found[free].sum(), 0.0, 1.0)
    return found


def draw_lots(probability: FloatArray, rng: np.random.Generator) -> BoolArray:
    """Draw papers with the given probabilities, as many as they sum to: a mask, shape (N,).

    The ordered pivotal method ([Deville98]_): papers stand in an order drawn once; the first two fight with
    what they have of a place each, one takes as much of both as fits into one place, the other keeps the rest, and who
    has neither nothing nor a whole place fights the next. The draw has the given probabilities exactly. Every fight
    is decided by a number that depends on the generator and the place in the order alone, so a small change of
    the probabilities turns few fights.

    Raises
    ------
    InputError
        If the probabilities do not sum to a whole number.

    Examples
    --------
    >>> draw_lots(np.array([1.0, 0.5, 0.5, 0.0]), np.random.default_rng(0)).astype(int).tolist()
    [1, 1, 0, 0]
    """
    places = round(float(probability.sum()))
    if abs(probability.sum() - places) > NEARLY_WHOLE:
        message = f"probability: expected a sum that is a whole number, found {probability.sum():.6f}"
        raise InputError(message)
    order, luck = rng.permutation(probability.size).tolist(), rng.random(probability.size).tolist()
    share = probability.tolist()
    holder = -1
    for turn, challenger in enumerate(order):
        if not 0.0 < share[challenger] < 1.0:
            continue
        if holder < 0:
            holder = challenger
            continue
        # Invariant: all papers before this one but the holder have nothing or a whole place.
        a, b = share[holder], share[challenger]
        if a + b < 1.0:
            wins = luck[turn] < a / (a + b)
            share[holder], share[challenger] = (a + b, 0.0) if wins else (0.0, a + b)
            holder = holder if wins else challenger
        else:
            wins = luck[turn] < (1.0 - b) / (2.0 - a - b)
            share[holder], share[challenger] = (1.0, a + b - 1.0) if wins else (a + b - 1.0, 1.0)
            holder = challenger if wins else holder
    drawn: BoolArray = np.array(share) > 0.5  # only rounding is left of the last holder's share
    return drawn


#: By default a paper is in, or out, where the chance that this is wrong is at most one in ten.
ERROR_RATE = 0.1


@dataclass(frozen=True, eq=False)
class Selection:
    """The best n papers, sorted by how sure that is.

    Parameters
    ----------
    labels
        Of the papers, in the order of the arrays.
    n
        How many are to be selected.
    error_rate
        In are papers whose chance of being among the best n is at least 1 - it, out those with at most it.
    best
        Codes of the n best by quality, best first.
    by_average
        Codes of the n best by plain average.
    chance
        Shape (N,): probability of being among the best n; 0 without a score.
    ranked
        Codes of all papers that can be selected, best first: those with a score, or those of the largest group.
    comparable
        Shape (N,): whether the paper is connected with most of the others; one that is not is never in without
        discussion.
    aside
        Codes of the papers with a score that no review connects to ``ranked``, and that are set aside.
    """

    labels: Sequence[Label]
    n: int
    error_rate: float
    best: IntArray
    by_average: IntArray
    chance: FloatArray
    ranked: IntArray
    comparable: BoolArray
    aside: IntArray = field(default_factory=lambda: np.empty(0, np.int64))

    @cached_property
    def _sure(self) -> BoolArray:
        """Shape (N,): papers that are in without discussion."""
        sure = np.zeros(self.chance.size, np.bool_)
        sure[self.best] = True
        return sure & (self.chance >= 1.0 - self.error_rate) & self.comparable

    @cached_property
    def _hopeless(self) -> BoolArray:
        """Shape (N,): papers that are out without discussion."""
        hopeless = self.chance <= self.error_rate
        hopeless[self.best] = False
        return hopeless

    @cached_property
    def certain(self) -> IntArray:
        """Codes of the papers that are in, best first."""
        return self.ranked[self._sure[self.ranked]]

    @cached_property
    def discuss(self) -> IntArray:
        """Codes of the papers to be discussed, the likeliest first."""
        found = self.ranked[~self._sure[self.ranked] & ~self._hopeless[self.ranked]]
        return found[np.argsort(-self.chance[found], kind="stable")]

    @cached_property
    def nearest(self) -> IntArray:
        """The same, those first whose chances lie nearest to that at the line, where a second look changes most."""
        ordered = np.sort(self.chance[self.ranked])[::-1]
        line = float(ordered[max(self.n - 1, 0) : self.n + 1].mean()) if ordered.size else 0.0
        return self.discuss[np.argsort(np.abs(self.chance[self.discuss] - line), kind="stable")]

    @cached_property
    def drawn(self) -> IntArray:
        """Codes of the random-selection group, best first: the papers among which a lottery draws."""
        return self.ranked[(self.lottery[self.ranked] > 0) & (self.lottery[self.ranked] < 1)]

    @property
    def places(self) -> int:
        """How many of the random-selection group a lottery draws."""
        return self.n - int((self.lottery == 1).sum())

    @cached_property
    def out(self) -> IntArray:
        """Codes of the papers that are out, best first."""
        return self.ranked[self._hopeless[self.ranked]]

    @property
    def lists(self) -> list[str | None]:
        """Where each paper is, N of ``"in"``, ``"discuss"``, ``"out"`` and ``"aside"``; None without a score."""
        found: list[str | None] = [None] * self.chance.size
        lists = {"in": self.certain, "discuss": self.discuss, "out": self.out, "aside": self.aside}
        for name, papers in lists.items():
            for paper in papers.tolist():
                found[paper] = name
        return found

    @property
    def probability(self) -> list[float | None]:
        """Chances as they are printed: None for papers that cannot be selected."""
        found: list[float | None] = [None] * self.chance.size
        for paper in self.ranked.tolist():
            found[paper] = float(self.chance[paper])
        return found

    @property
    def expected_wrong(self) -> float:
        """How many of the n best by quality are expected not to be among the n truly best."""
        return float((1.0 - self.chance[self.best]).sum())

    @property
    def expected_wrong_by_average(self) -> float:
        """The same of the n best by plain average."""
        return float((1.0 - self.chance[self.by_average]).sum())

    @property
    def swapped_in(self) -> IntArray:
        """Codes of papers that the average would not select, best first."""
        return self.best[~np.isin(self.best, self.by_average)]

    @property
    def swapped_out(self) -> IntArray:
        """Codes of papers that only the average would select, best average first."""
        return self.by_average[~np.isin(self.by_average, self.best)]

    @cached_property
    def lottery(self) -> FloatArray:
        """Shape (N,): the probability with which :meth:`draw` draws each paper; they sum to n."""
        return lottery_probabilities(self.chance, self.n, self.error_rate)

    def draw(self, seed: int | np.random.Generator = 0) -> list[Label]:
        """Draw n papers by lot with the probabilities :attr:`lottery`, best first.

        Examples
        --------
        >>> chance, ranked = np.array([0.95, 0.5, 0.5, 0.05]), np.arange(4)
        >>> pair = np.array([0, 1])
        >>> Selection(("a", "b", "c", "d"), 2, 0.1, pair, pair, chance, ranked, chance > 0).draw(seed=1)
        ['a', 'b']
        """
        drawn = draw_lots(self.lottery, np.random.default_rng(seed))
        return self.named(self.ranked[drawn[self.ranked]])

    def named(self, papers: IntArray) -> list[Label]:
        """Return the labels of papers given by code."""
        return [self.labels[i] for i in papers.tolist()]

    def to_dict(self) -> dict[str, Any]:
        """Return the selection as the command's ``--json`` prints it."""
        return {
            "selected": self.named(self.best),
            "set_aside": self.named(self.aside),
            "certain": self.named(self.certain),
            "discuss": [{"item": self.labels[i], "probability": float(self.chance[i])} for i in self.discuss.tolist()],
            "error_rate": self.error_rate,
            "expected_wrong": self.expected_wrong,
            "expected_wrong_by_average": self.expected_wrong_by_average,
        }


# The best n of items whose qualities are known with a standard error each.


def chances(quality: FloatArray, order_error: FloatArray, n: int) -> FloatArray:
    """Return each item's probability of being among the best ``n``, shape (N,); they sum to n.

    Raises
    ------
    InputError
        If ``n`` is negative or more than the number of items with a quality.
    """
    expect_number(n, quality)
    return probability_in_top(quality, order_error, n)


def select(
    labels: Sequence[Label],
    quality: FloatArray,
    order_error: FloatArray,
    average: FloatArray,
    group: IntArray,
    n: int,
    *,
    error_rate: float,
    across_groups: bool,
) -> Selection:
    """Sort items into in, to be discussed and out; see :meth:`lsc.PosteriorEstimate.selection`.

    Parameters
    ----------
    labels
        Of the items.
    quality, order_error, average, group
        Shape (N,): NaN without a score; the standard errors are those that matter to the order.

    Raises
    ------
    InputError
        If ``n`` is negative or more than the number of items with a score, or ``error_rate`` is not between 0 and
        one half.
    Incomparable
        As :func:`lsc.estimate.comparable` raises it.
    """
    if not 0.0 < error_rate < 0.5:
        message = f"error_rate: expected a probability between 0 and 0.5, found {error_rate}"
        raise InputError(message)
    scored = np.isfinite(quality)
    inside = comparable(quality, group, n, across_groups=across_groups)
    quality, average = np.where(inside, quality, np.nan), np.where(inside, average, np.nan)
    ranked, aside = best_first(quality), np.flatnonzero(scored & ~inside)
    chance = chances(quality, order_error, n)
    main = group[ranked].min(initial=group.max(initial=1))
    return Selection(labels, n, error_rate, ranked[:n], best_first(average)[:n], chance, ranked, group == main, aside)
