"""Selections of the best papers: in, to discuss and out with error probabilities, a lottery, and what they rest on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from lsc.estimate import Estimate, best_first, comparable, expect_number
from reviewgraph._base import (
    BoolArray,
    FloatArray,
    InputError,
    IntArray,
    Label,
    Result,
    checked,
    or_none,
    order_of,
    probability_in_top,
    snapped,
)

#: Probability of the intervals of the command and of ``to_dict``.
LEVEL = 0.9
#: By default a paper is in, or out, if the probability that this is wrong is at most 0.1.
ERROR_RATE = 0.1
#: The lottery multiplies odds by a common factor from 1/4 to 4.
MOST_FACTOR = 4.0
#: The range of the bisection, and its halvings: the sum of probabilities is right to the last digits.
FARTHEST = 40.0
HALVINGS = 64
#: The sum of probabilities is whole up to rounding.
NEARLY_WHOLE = 1e-6


# The lottery: exactly n papers are drawn, and a small change of the probabilities changes it a little.


def lottery_probabilities(chance: FloatArray, n: int, error_rate: float) -> FloatArray:
    """Return the probability that a lottery draws each paper, shape (N,), with sum n.

    ::

        p_i / (1 - p_i) = c (P_i - low) / (high - P_i)    for P_i from low to high; 0 below, 1 above
        subject to  sum p = n

    P is ``chance``, the probability of being among the best n, with sum n. The factor c is from 1/4 to 4, with ``low =
    error_rate`` and ``high = 1 - error_rate``. If p sums to less than n with c = 4, ``low`` is reduced, and if it sums
    to more with c = 1/4, ``high`` is raised. As p >= P at c = 4 and low = 0, and p <= P at c = 1/4 and high = 1, there
    is a solution; p is unique, since it rises with c and falls with low and high.

    So a paper of probability 1 has P >= 1 - error_rate, and one of probability 0 has P <= error_rate. p rises with P,
    and a change of all P by d in sum changes p by at most ``8 d / (1 - 2 error_rate)`` in sum.

    >>> lottery_probabilities(np.array([0.99, 0.5, 0.5, 0.01]), 2, 0.1).round(3).tolist()
    [1.0, 0.5, 0.5, 0.0]
    >>> lottery_probabilities(np.full(10, 0.9), 9, 0.1).round(3).tolist()
    [0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9]
    """
    width = 1.0 - 2.0 * error_rate
    above = snapped(chance - error_rate, width)
    below = snapped(width - above, width)
    # Bisection: the sum increases with the place.
    low = -FARTHEST
    high = FARTHEST
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if _shares(above, below, error_rate, middle).sum() > n:
            high = middle
        else:
            low = middle
    share = _shares(above, below, error_rate, low)
    free = (share > 0) & (share < 1)
    if free.any():  # the last digits
        share[free] *= (n - share[~free].sum()) / share[free].sum()
    return share


def _shares(above: FloatArray, below: FloatArray, error_rate: float, place: float) -> FloatArray:
    """Return probabilities that increase with ``place``; ``above`` and ``below`` are the distances from both limits.

    From -1 to 1 the place is the logarithm of the factor, to base 4. From 1 to 2 the lower limit moves from the error
    rate to 0, from -1 to -2 the upper one to 1. Beyond, where only rounding leads, it is the factor again.
    """
    lower = float(np.clip(place - 1.0, 0.0, 1.0))
    upper = float(np.clip(-place - 1.0, 0.0, 1.0))
    factor = MOST_FACTOR ** (place - lower + upper)
    odds_for = factor * np.maximum(above + error_rate * lower, 0.0)
    odds_against = np.maximum(below + error_rate * upper, 0.0)
    share: FloatArray = odds_for / (odds_for + odds_against)
    return share


def draw_papers(probability: FloatArray, rng: np.random.Generator) -> BoolArray:
    """Draw papers with the given probabilities, which sum to the number drawn: a mask, shape (N,).

    The ordered pivotal method ([Deville98]_): papers are in random order. The first two compete with their shares of a
    place: one gets their sum up to a whole place, the other the rest, and the one whose share is neither 0 nor 1
    competes with the next paper. The inclusion probabilities are exact. Each competition is decided by a number that
    depends on the generator and the position in the order alone, so a small change of the probabilities changes few of
    them. InputError if the probabilities do not sum to a whole number.

    >>> draw_papers(np.array([1.0, 0.5, 0.5, 0.0]), np.random.default_rng(0)).astype(int).tolist()
    [1, 1, 0, 0]
    """
    places = round(float(probability.sum()))
    if abs(probability.sum() - places) > NEARLY_WHOLE:
        raise InputError(f"probability: expected a sum that is a whole number, found {probability.sum():.6f}")
    order = rng.permutation(probability.size).tolist()
    luck = rng.random(probability.size).tolist()
    share = probability.tolist()
    holder = -1
    for turn, challenger in enumerate(order):
        if not 0.0 < share[challenger] < 1.0:
            continue
        if holder < 0:
            holder = challenger
            continue
        # Invariant: all papers before this one but the holder have a share of 0 or 1.
        a = share[holder]
        b = share[challenger]
        if a + b < 1.0:
            # One gets the sum of both shares, and competes on.
            if luck[turn] < a / (a + b):
                share[challenger] = 0.0
            else:
                share[holder] = 0.0
                holder = challenger
            share[holder] = a + b
        # One gets a place, the other the rest, and competes on.
        elif luck[turn] < (1.0 - b) / (2.0 - a - b):
            share[holder] = 1.0
            holder = challenger
            share[holder] = a + b - 1.0
        else:
            share[challenger] = 1.0
            share[holder] = a + b - 1.0
    drawn: BoolArray = np.array(share) > 0.5  # the last share differs from 0 or 1 by rounding
    return drawn


class _Labels:
    """The labels of some papers of a selection, whose codes have the same name with ``_codes``."""

    def __init__(self, words: str) -> None:
        self.__doc__ = words

    def __set_name__(self, owner: type, name: str) -> None:
        self.codes = f"{name}_codes"

    def __get__(self, selection: Selection | None, owner: type) -> list[Label]:
        if selection is None:
            return self  # type: ignore[return-value]
        return selection.named(getattr(selection, self.codes))


@dataclass(frozen=True, eq=False, repr=False)
class Selection(Result):
    """The best n papers, in three lists by the probability of being among the best n.

    ``best``, ``certain``, ``discuss``, ``out``, ``aside``, ``tied``, ``swapped_in`` and ``swapped_out`` are labels;
    the same names with ``_codes`` are positions in ``labels`` and in the arrays.

    Parameters
    ----------
    labels
        Labels of the papers, in the order of the arrays.
    n
        Number of papers to select.
    error_rate
        Papers that are in have P(top n) >= 1 - error_rate, those that are out P <= error_rate.
    best_codes
        Codes of the n papers of largest P(top n), best first; of ties those of highest quality.
    by_average_codes
        Codes of the n papers with the highest plain averages, best first.
    chance
        Shape (N,): probability of being among the best n; 0 without a score.
    ranked_codes
        Codes of all papers among which n are selected, best first: those with a score, or in the largest group.
    comparable
        Shape (N,): whether the paper is in the largest group; others are never in without discussion.
    aside_codes
        Codes of the papers with a score that are set aside, because no review connects them to the others.
    """

    labels: Sequence[Label]
    n: int
    error_rate: float
    best_codes: IntArray
    by_average_codes: IntArray
    chance: FloatArray
    ranked_codes: IntArray
    comparable: BoolArray
    aside_codes: IntArray = field(default_factory=lambda: np.empty(0, np.int64))

    @cached_property
    def certain_codes(self) -> IntArray:
        """Codes of the papers that are in, best first: the lottery draws them for certain."""
        sure = (self.lottery == 1.0) & self.comparable
        codes: IntArray = self.ranked_codes[sure[self.ranked_codes]]
        return codes

    @cached_property
    def discuss_codes(self) -> IntArray:
        """Codes of the papers to discuss, by decreasing probability."""
        settled = np.concatenate([self.certain_codes, self.out_codes])
        uncertain = self.ranked_codes[~np.isin(self.ranked_codes, settled)]
        return uncertain[order_of(-self.chance[uncertain])]

    @cached_property
    def tied_codes(self) -> IntArray:
        """Codes of the random-selection group, best first: the uncertain papers of the lottery, from which it draws."""
        return self.ranked_codes[(self.lottery[self.ranked_codes] > 0) & (self.lottery[self.ranked_codes] < 1)]

    @property
    def places(self) -> int:
        """Number of papers that the lottery draws from the random-selection group."""
        return self.n - int((self.lottery == 1).sum())

    @cached_property
    def out_codes(self) -> IntArray:
        """Codes of the papers that are out, best first: the lottery never draws them."""
        codes: IntArray = self.ranked_codes[self.lottery[self.ranked_codes] == 0.0]
        return codes

    @property
    def lists(self) -> list[str | None]:
        """The list of each paper, ``"in"``, ``"discuss"``, ``"out"`` or ``"aside"``; None without a score."""
        list_of: list[str | None] = [None] * self.chance.size
        lists = {
            "in": self.certain_codes,
            "discuss": self.discuss_codes,
            "out": self.out_codes,
            "aside": self.aside_codes,
        }
        for name, papers in lists.items():
            for paper in papers.tolist():
                list_of[paper] = name
        return list_of

    @property
    def probability(self) -> list[float | None]:
        """The probability of each paper of being among the best n; None for papers that cannot be selected."""
        can_be = np.zeros(self.chance.size, np.bool_)
        can_be[self.ranked_codes] = True
        return or_none(np.where(can_be, self.chance, np.nan))

    @property
    def expected_wrong(self) -> float:
        """Expected number of the n selected that are not among the n truly best."""
        return float((1.0 - self.chance[self.best_codes]).sum())

    @property
    def expected_wrong_by_average(self) -> float:
        """Expected number of the n best by plain average that are not among the n truly best."""
        return float((1.0 - self.chance[self.by_average_codes]).sum())

    @cached_property
    def swapped_in_codes(self) -> IntArray:
        """Codes of papers that the average would not select, best first."""
        return self.best_codes[~np.isin(self.best_codes, self.by_average_codes)]

    @cached_property
    def swapped_out_codes(self) -> IntArray:
        """Codes of papers that only the average would select, best average first."""
        return self.by_average_codes[~np.isin(self.by_average_codes, self.best_codes)]

    best = _Labels("The n papers that are most probably among the best n, best first.")
    certain = _Labels("The papers that are in, best first.")
    discuss = _Labels("The papers to discuss, by decreasing probability.")
    out = _Labels("The papers that are out, best first.")
    aside = _Labels("The papers with a score that no review connects to the others, and that are set aside.")
    tied = _Labels("The random-selection group, best first: the uncertain papers of the lottery, from which it draws.")
    swapped_in = _Labels("The papers that the average would not select, best first.")
    swapped_out = _Labels("The papers that only the average would select, best average first.")

    @cached_property
    def lottery(self) -> FloatArray:
        """Shape (N,): the probability that :meth:`draw` draws each paper; they sum to n."""
        return lottery_probabilities(self.chance, self.n, self.error_rate)

    @checked
    def draw(self, seed: int | np.random.Generator = 0) -> list[Label]:
        """Draw n papers with the probabilities :attr:`lottery`, and return them best first.

        Examples
        --------
        >>> chance, ranked = np.array([0.95, 0.5, 0.5, 0.05]), np.arange(4)
        >>> pair = np.array([0, 1])
        >>> Selection(("a", "b", "c", "d"), 2, 0.1, pair, pair, chance, ranked, chance > 0).draw(seed=1)
        ['a', 'b']
        """
        drawn = draw_papers(self.lottery, np.random.default_rng(seed))
        return self.named(self.ranked_codes[drawn[self.ranked_codes]])

    @checked
    def named(self, papers: IntArray) -> list[Label]:
        """Return the labels of papers given by code."""
        return [self.labels[i] for i in papers.tolist()]

    def to_columns(self) -> dict[str, list[Any]]:
        """Return item, list and probability of being among the best n of each paper, list after list."""
        listed = [self.certain_codes, self.discuss_codes, self.out_codes, self.aside_codes]
        others = np.setdiff1d(np.arange(len(self.labels)), np.concatenate(listed))
        order = np.concatenate([*listed, others]).tolist()
        columns = {"item": self.labels, "list": self.lists, "probability": self.probability}
        return {name: [values[code] for code in order] for name, values in columns.items()}

    def headline(self) -> str:
        """Return the number of papers to select, and the sizes of the lists."""
        return f"best {self.n:,}: {len(self.certain):,} in, {len(self.discuss):,} to discuss, {len(self.out):,} out"

    def to_dict(self) -> dict[str, Any]:
        """Return the selection as the command's ``--json`` prints it."""
        return {
            "selected": self.best,
            "set_aside": self.aside,
            "certain": self.certain,
            "discuss": [
                {"item": self.labels[code], "probability": float(self.chance[code])}
                for code in self.discuss_codes.tolist()
            ],
            "error_rate": self.error_rate,
            "expected_wrong": self.expected_wrong,
            "expected_wrong_by_average": self.expected_wrong_by_average,
        }


def chances(quality: FloatArray, standard_error: FloatArray, n: int) -> FloatArray:
    """Return each item's probability of being among the best ``n``, shape (N,); they sum to n."""
    expect_number(n, quality)
    return probability_in_top(quality, standard_error, n)


def select(result: Estimate, n: int, *, error_rate: float, across_groups: bool) -> Selection:
    """Sort items into in, to discuss and out; see :meth:`lsc.PosteriorEstimate.selection`.

    Without standard errors qualities are exact: the best are in, and nothing is to discuss.
    """
    if not 0.0 < error_rate < 0.5:
        raise InputError(f"error_rate: expected a probability between 0 and 0.5, found {error_rate}")
    group = result.group
    scored = np.isfinite(result.quality)
    inside = comparable(result.quality, group, n, across_groups=across_groups)
    quality = np.where(inside, result.quality, np.nan)
    ranked = best_first(quality)
    errors: FloatArray | None = getattr(result, "_order_error", None)
    if errors is not None:
        chance = chances(quality, errors, n)
        sure = group == group[ranked].min(initial=group.max(initial=1))
    else:
        chance = np.zeros(quality.size)
        chance[ranked[:n]] = 1.0
        sure = inside
    # Fewest wrong selections are expected of the most probable papers.
    likely = ranked[order_of(-chance[ranked])][:n]
    return Selection(
        labels=result.items,
        n=n,
        error_rate=error_rate,
        best_codes=ranked[np.isin(ranked, likely)],
        by_average_codes=best_first(np.where(inside, result.average, np.nan))[:n],
        chance=chance,
        ranked_codes=ranked,
        comparable=sure,
        aside_codes=np.flatnonzero(scored & ~inside),
    )
