"""A selection with a conscience: in, to be discussed, out, and how many of the selected are expected to be wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from lsc.decisions.lottery import draw_lots, lottery_probabilities
from reviewgraph.labels import IntArray, Label
from reviewgraph.reviews import BoolArray, FloatArray

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
