"""What pairs cost: as given, or by how much their affinity is below the highest."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from reviewgraph.arguments import check_magnitude
from reviewgraph.arrays import occurs
from reviewgraph.errors import InputError
from reviewgraph.formats.side.reading import AFFINITY, COST
from reviewgraph.sides.given import numbered_pairs
from reviewgraph.sides.matching import match_pairs

if TYPE_CHECKING:
    from reviewgraph.columns import Columns
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import FloatArray, Reviews
    from reviewgraph.sides.given import Numbered


@dataclass(frozen=True, eq=False)
class Prices:
    """Costs of pairs ``reviewer * N + item``; true if they differ.

    Parameters
    ----------
    code
        Shape (K,): pairs whose value is given, ascending.
    value
        Shape (K,): their costs, or affinities.
    default
        The value of all other pairs.
    best
        The highest affinity, where values are affinities: a pair costs what it is below that. None for costs.
    floor
        Affinity below which no pair may be planned; then none without an affinity may.
    """

    code: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    value: FloatArray = field(default_factory=lambda: np.empty(0))
    default: float = 1.0
    best: float | None = None
    floor: float | None = None

    def __bool__(self) -> bool:
        return bool((self.value != self.default).any())

    def value_of(self, pair: int) -> float:
        """Value of a pair: its cost, or its affinity."""
        if not self.code.size:
            return self.default
        place = int(np.searchsorted(self.code, pair))
        known = place < self.code.size and self.code[place] == pair
        return float(self.value[place]) if known else self.default

    def cost_of(self, pair: int) -> float:
        """Cost of a pair."""
        value = self.value_of(pair)
        return value if self.best is None else self.best - value

    def costs(self, pairs: IntArray) -> FloatArray:
        """Shape (K,): costs of pairs ``reviewer * N + item``."""
        if not self.code.size:
            value = np.full(pairs.size, self.default)
        else:
            place = np.minimum(np.searchsorted(self.code, pairs), self.code.size - 1)
            value = np.where(self.code[place] == pairs, self.value[place], self.default)
        found: FloatArray = value if self.best is None else self.best - value
        return found

    @cached_property
    def unit(self) -> float:
        """What solvers count costs in: a millionth of their size, a thousandth of that where they have more digits.

        >>> Prices(np.array([0]), np.array([2e-9]), 1e-9).unit, Prices(np.array([0]), np.array([1 / 3])).unit
        (1e-15, 1e-09)
        """
        costs = np.append(self.value, self.default)
        costs = costs if self.best is None else self.best - costs
        largest = float(np.abs(costs).max())
        last = max(math.floor(math.log10(largest)) - DIGITS, LAST) if largest > 0 else 0
        whole = costs / float(f"1e{last}")
        few = np.allclose(whole, np.round(whole), rtol=0.0, atol=1e-6)
        return float(f"1e{last if few else last - 3}")

    def whole(self, pairs: IntArray) -> IntArray:
        """Costs of pairs ``reviewer * N + item`` in units, as solvers and their certificates count them."""
        return np.rint(self.costs(pairs) / self.unit).astype(np.int64)

    def affinity_of(self, pair: int) -> float | None:
        """Affinity of a pair, 0 where none is given; None where values are costs."""
        return None if self.best is None else self.value_of(pair)

    def barred(self, reviewers: IntArray, n_items: int) -> IntArray:
        """Pairs of some reviewers that the floor bars, ascending: those below it, and those without affinity.

        Raises
        ------
        InputError
            If these are too many to be listed.
        """
        if self.floor is None:
            return np.empty(0, np.int64)
        if reviewers.size * n_items > MOST_PAIRS:
            message = (
                f"min_affinity: expected at most {MOST_PAIRS} pairs of a reviewer who may be asked and an item, found "
                f"{reviewers.size * n_items}; say who is willing"
            )
            raise InputError(message)
        every = (reviewers[:, np.newaxis] * n_items + np.arange(n_items)).ravel()
        return every[~occurs(every, self.code[self.value >= self.floor])]


#: Digits that solvers see of costs behind the first of the largest, where they have no more.
DIGITS = 6
#: The power of ten below which double precision has digits missing.
LAST = -300
#: Pairs that a floor may have to be compared with.
MOST_PAIRS = 30_000_000


def prices(table: Reviews, cost: Numbered | None, affinity: Numbered | None, min_affinity: float | None) -> Prices:
    """Return prices by code; pairs of unknown names are warned of.

    Raises
    ------
    InputError
        If costs and affinities are given both, or a floor without affinities; if a number is not finite (an
        affinity may be NaN: none), a pair stands twice, or none of the pairs is of names that we know.
    """
    if affinity is None:
        if min_affinity is not None:
            message = "min_affinity: expected affinities with it, found none; give affinity, or leave the floor out"
            raise InputError(message)
        if cost is None:
            return Prices()
        code, value = _by_code(table, numbered_pairs(cost, "cost", COST.role, table.spellings()), "cost")
        # What no pair costs must not set the unit of the costs that there are.
        return Prices(code, value, float(value.max(initial=0.0)) if _all_priced(table, code) else 1.0)
    pairs = numbered_pairs(affinity, "affinity", AFFINITY.role, table.spellings())
    if cost is not None and numbered_pairs(cost, "cost", COST.role, table.spellings()).reviewer.size:
        message = "cost and affinity: expected one of the two, found both; affinity is a preference as costs are"
        raise InputError(message)
    if min_affinity is not None and not math.isfinite(min_affinity):
        message = f"min_affinity: expected a finite number, found {min_affinity!r}"
        raise InputError(message)
    code, value = _by_code(table, pairs, "affinity")
    return Prices(code, value, 0.0, max(0.0, float(value.max(initial=0.0))), min_affinity)


def _all_priced(table: Reviews, code: IntArray) -> bool:
    """Whether every pair that could be planned is among some codes, which are distinct."""
    there = np.unique(table.reviewer * table.n_items + table.item)
    return bool(there.size + np.count_nonzero(~occurs(code, there)) == table.n_reviewers * table.n_items)


def _by_code(table: Reviews, pairs: Columns, name: str) -> tuple[IntArray, FloatArray]:
    """Return the known pairs that have a number, ascending, and their numbers."""
    value = np.asarray(pairs.score, np.float64)
    if np.isinf(value).any():
        message = f"{name}: expected finite numbers (none, or NaN, where there is none), found an infinite one"
        raise InputError(message)
    check_magnitude(name, value)
    j, i = match_pairs(pairs, table.reviewer_code, table.item_code, name)
    known = (j >= 0) & (i >= 0) & ~np.isnan(value)
    code = j[known] * table.n_items + i[known]
    order = np.argsort(code, kind="stable")
    code, found = code[order], value[known][order]
    if (code[1:] == code[:-1]).any():
        message = f"{name}: expected each (reviewer, item) pair once, found one twice"
        raise InputError(message)
    return code, found
