"""An assignment problem as arrays: pairs that may be assigned, demands and loads, and the constraints on each paper.

:class:`Problem` is fixed; :class:`Network` is the assignment under change. The rest are parts of a problem: concerns
that come before affinity (a previous assignment), and floors on affinity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from planner._assign.assignment import Changes
from planner._assign.kernels import flow
from planner.facts import Facts, Pair
from reviewgraph._base import BoolArray, FloatArray, IntArray, Label, ranks, spread, starts

if TYPE_CHECKING:
    import scipy.sparse as sp
    from narwhals.typing import IntoDataFrame, IntoSeries

    from planner.rules import Panels, Ruled
    from reviewgraph.formats import Columns


#: How messages call the labels of an assignment.
LISTS = "the lists of papers and reviewers"


#: Bits of the largest affinity in whole units: sums of them are exact, and are compared without rounding.
VALUE_BITS = 36

#: Below every sum of affinities.
NO_FLOOR = -(1 << 62)


def unit_of(affinity: FloatArray) -> float:
    largest = float(np.abs(affinity).max(initial=0.0))
    return (largest if largest > 0 else 1.0) * 2.0**-VALUE_BITS


def whole_values(affinity: FloatArray) -> IntArray:
    """Return affinities in whole units, each with an error of half a unit.

    >>> whole_values(np.array([1.0, 0.5, -0.25])) / 2**VALUE_BITS
    array([ 1.  ,  0.5 , -0.25])
    """
    return np.asarray(np.rint(affinity / unit_of(affinity)), np.int64)


def whole_floor(floor: float | None, affinity: FloatArray, most: int) -> int:
    """Return a floor in whole units, less the rounding error of a sum of ``most`` affinities."""
    if floor is None:
        return NO_FLOOR
    units = np.floor(np.clip(floor / unit_of(affinity), NO_FLOOR // 2, -(NO_FLOOR // 2)))
    return int(units) - most


class Readable:
    """A state of kernels whose arrays NumPy reads as well: compiled code has them as buffers of its own."""

    def __init__(self, **fields: Any) -> None:
        super().__init__(**fields)
        vars(self).update(fields)


class Network(Readable, flow.Network):
    """Pairs that may be assigned, and the current assignment, for kernels and for NumPy."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Pairs that may be assigned, sorted by (item, reviewer), and the constraints."""

    # item, reviewer, affinity: the pairs, shape (P,); unscored pairs have affinity 0
    item: IntArray
    reviewer: IntArray
    affinity: FloatArray
    given: BoolArray  # pairs that are assigned already, shape (P,): fixed ones and the reviews of the first phase
    old: BoolArray  # those of the first phase, shape (P,): they link but are not part of the assignment
    # demand, load, least: reviews of each item, shape (N,), maximum and minimum of each reviewer, shape (M,); given
    # pairs count
    demand: IntArray
    load: IntArray
    least: IntArray
    required: BoolArray  # items that must reach the level, shape (N,); all but those left behind after a first phase
    ruled: Ruled  # the rules on who reviews a paper together
    # reviewers, items: labels
    reviewers: Sequence[Label]
    items: Sequence[Label]
    unscored: bool = False  # whether pairs without affinity may be assigned, so that more scores allow no more pairs
    # concerns, weight: the changes of a previous assignment, which are minimised before affinity; and the affinity that
    # one of them outweighs
    concerns: Concerns | None = None
    weight: float = 1.0
    least_score: float | None = None  # lower bound on the sum of the affinities of each paper's reviewers
    facts: Facts | None = None  # the fixed pairs, and which limits they exceed; None without any

    @cached_property
    def worth(self) -> FloatArray:
        """The objective, shape (P,): the affinity, unless some pairs come before it."""
        return self.affinity if self.concerns is None else self.affinity - self.weight * self.concerns.changed

    @cached_property
    def whole(self) -> IntArray:
        return whole_values(self.affinity)

    @cached_property
    def floor(self) -> int:
        """Minimum score of each served item, in whole units."""
        return whole_floor(self.least_score, self.affinity, int(self.demand.max(initial=0)))

    def scores(self, chosen: BoolArray) -> IntArray:
        """Return the sum of the values of each item's reviewers, shape (N,); below 2**53, so float sums are exact."""
        sums = np.bincount(self.item[chosen], self.whole[chosen].astype(np.float64), self.n_items)
        return sums.astype(np.int64)

    def reach(self, places: IntArray) -> IntArray:
        """Return each item's score by its given pairs and the best ``places`` others, shape (N,)."""
        free = np.flatnonzero(~self.given)
        item = self.item[free]
        best = self.given.copy()
        best[free[ranks(item, self.whole[free]) < places[item]]] = True
        return self.scores(best)

    @cached_property
    def able(self) -> BoolArray:
        """Pairs that keep their item at its floor if the rest of its panel is the best possible, shape (P,)."""
        if self.least_score is None:
            return np.ones(self.item.size, np.bool_)
        others = self.reach(self.open_demand() - 1)
        floor = np.where(self.served, self.floor, NO_FLOOR)
        return np.asarray(self.whole + others[self.item] >= floor[self.item])

    @property
    def n_items(self) -> int:
        return int(self.demand.size)

    @property
    def n_reviewers(self) -> int:
        return int(self.load.size)

    @property
    def panels(self) -> Panels:
        return self.ruled.panels

    @property
    def bound(self) -> BoolArray:
        """Items that rules apply to, shape (N,): those required that get reviews; others were left behind."""
        bound: BoolArray = self.required & (self.demand > 0)
        return bound

    @property
    def served(self) -> BoolArray:
        """Items that floors and fairness apply to, shape (N,)."""
        return np.asarray(self.required & (np.bincount(self.item[self.old], minlength=self.n_items) < self.demand))

    def open_demand(self) -> IntArray:
        return self.demand - np.bincount(self.item[self.given], minlength=self.n_items)

    def advice(self, *first: str, last: str = "lift conflicts") -> str:
        """Return a sentence on what to do where too few pairs are allowed."""
        more = [] if self.unscored else ["score more pairs", "allow unscored ones"]
        ways = [*first, *more]
        sentence = f"{', '.join(ways)}, or {last}" if len(ways) > 1 else " or ".join([*ways, last])
        return f"{sentence[0].upper()}{sentence[1:]}."

    def open_loads(self) -> tuple[IntArray, IntArray]:
        """Return maximum and minimum reviews of each reviewer beyond the given ones."""
        held = np.bincount(self.reviewer[self.given], minlength=self.n_reviewers)
        return self.load - held, np.maximum(self.least - held, 0)

    def network(self, chosen: BoolArray) -> Network:
        """Return the network with the chosen pairs assigned and the given ones locked."""
        # Blocks have room for every assignment: a reviewer's is as long as their load, an item's as its demand.
        by_item = np.flatnonzero(chosen)
        by_reviewer = by_item[np.argsort(self.reviewer[by_item], kind="stable")]
        n_held = np.bincount(self.reviewer[by_item], minlength=self.n_reviewers)
        n_panel = np.bincount(self.item[by_item], minlength=self.n_items)
        held_start = np.append(0, np.cumsum(np.maximum(self.load, n_held)))
        panel_start = np.append(0, np.cumsum(np.maximum(self.demand, n_panel)))
        panel = np.full(panel_start[-1], -1, np.int64)
        panel[spread(panel_start[:-1], n_panel)] = by_item
        held = np.full(held_start[-1], -1, np.int64)
        within = np.arange(by_reviewer.size) - np.repeat(np.cumsum(n_held) - n_held, n_held)
        held[held_start[self.reviewer[by_reviewer]] + within] = by_reviewer
        return Network(
            item=self.item,
            reviewer=self.reviewer,
            item_start=starts(self.item, self.n_items),
            assigned=chosen.copy(),
            locked=self.given.copy(),
            leaving=np.zeros(chosen.size, np.bool_),
            held_start=held_start,
            n_held=n_held,
            held=held,
            panel_start=panel_start,
            n_panel=n_panel,
            panel=panel,
            least=self.least,
            potential=np.zeros(self.n_items + self.n_reviewers + 1, np.int64),
        )


#: Initial ratio of the weight of a change to the range of affinities.
AHEAD = 8.0


def concern_weight(affinity: FloatArray) -> float:
    """Return the initial cost of a change.

    >>> concern_weight(np.array([0.0, 2.0]))
    16.0
    """
    span = float(np.ptp(affinity)) if affinity.size else 0.0
    return AHEAD * (span or 1.0)


class Concerns(NamedTuple):
    """A previous assignment, of which as few pairs as possible change, before any affinity."""

    changed: BoolArray  # pairs that are not in it, shape (P,); as demands are exact, pairs come as others go
    previous: tuple[Pair, ...]  # all of its pairs, also those that may not be assigned any more

    def count(self, chosen: BoolArray) -> int:
        return int((self.changed & chosen).sum())


def changes_of(problem: Problem, assigned: BoolArray, fewest: int) -> Changes | None:
    """Return the changes of a previous assignment, given their minimum number; None without one."""
    concerns = problem.concerns
    if concerns is None:
        return None
    now = assigned & ~problem.old
    kept, new = (_labels(problem, np.flatnonzero(now & pairs)) for pairs in (~concerns.changed, concerns.changed))
    staying = set(kept)
    return Changes(kept, tuple(pair for pair in concerns.previous if pair not in staying), new, fewest)


def _labels(problem: Problem, pairs: IntArray) -> tuple[Pair, ...]:
    return tuple(Pair(problem.reviewers[problem.reviewer[p]], problem.items[problem.item[p]]) for p in pairs.tolist())


def restricted(problem: Problem, kept: IntArray) -> Problem:
    """Return the problem with some of its pairs, as ascending codes."""
    columns = {name: getattr(problem, name)[kept] for name in ("item", "reviewer", "affinity", "given", "old")}
    concerns = problem.concerns and problem.concerns._replace(changed=problem.concerns.changed[kept])
    return replace(problem, **columns, concerns=concerns)


#: A dense or sparse matrix.
Matrix: TypeAlias = "npt.NDArray[Any] | sp.sparray | sp.spmatrix"
#: Affinities: by (reviewer, item), a data frame or Series of pairs, or a reviewers x items matrix.
Affinities: TypeAlias = "Mapping[tuple[Any, Any], float] | Columns | IntoDataFrame | IntoSeries | Matrix"
