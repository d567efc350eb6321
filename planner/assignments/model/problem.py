"""An assignment problem as arrays: who may review what, how much, and what must hold on each paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from planner.assignments.model.state import Network
from planner.assignments.wishes.floors import NO_FLOOR, NO_FLOORS, Floors, whole_floor, whole_values

if TYPE_CHECKING:
    from planner.assignments.model.worth import Concerns
    from planner.assignments.wishes.rivals import Rivals
    from planner.assignments.wishes.written import Written
    from planner.panels.groups import Panels, Ruled
    from reviewgraph.labels import IntArray, Label
    from reviewgraph.reviews import BoolArray, FloatArray


@dataclass(frozen=True, eq=False)
class Problem:
    """Pairs that may be assigned, sorted by (item, reviewer), and what the assignment must obey.

    Parameters
    ----------
    item, reviewer, affinity
        The pairs, shape (P,); unscored pairs have affinity 0.
    given
        Pairs that stand already, shape (P,): fixed ones and the reviews of the first phase.
    old
        Those of the first phase, shape (P,): they link but are not part of the answer.
    demand, load, least
        Reviews of each item, shape (N,), most and fewest of each reviewer, shape (M,); given pairs count.
    required
        Items that the answer must bring to the level, shape (N,); all but those left behind after a first phase.
    ruled
        The rules on who reviews a paper together.
    rivals
        Pairs that may not both be assigned; no given one is among them.
    barred
        Candidates of each item that the authors' file rules out, shape (N,).
    wrote
        The authors' file; None where there is none.
    reviewers, items
        Labels.
    concerns, weights
        Pairs that are to be few beside all that, None by default; and what one pair of each kind outweighs in affinity.
    floors
        What no paper shall fall below.
    """

    item: IntArray
    reviewer: IntArray
    affinity: FloatArray
    given: BoolArray
    old: BoolArray
    demand: IntArray
    load: IntArray
    least: IntArray
    required: BoolArray
    ruled: Ruled
    rivals: Rivals
    barred: IntArray
    wrote: Written | None
    reviewers: Sequence[Label]
    items: Sequence[Label]
    concerns: Concerns | None = None
    weights: tuple[float, ...] = ()
    floors: Floors = NO_FLOORS

    @cached_property
    def worth(self) -> FloatArray:
        """What the search maximises, shape (P,): the affinity, unless some pairs are to be few."""
        return self.affinity if self.concerns is None else self.concerns.worth(self.affinity, self.weights)

    @property
    def n_items(self) -> int:
        """N, items of the first phase included."""
        return int(self.demand.size)

    @property
    def n_reviewers(self) -> int:
        """M."""
        return int(self.load.size)

    @property
    def panels(self) -> Panels:
        """What rules ask of each paper."""
        return self.ruled.panels

    @property
    def bound(self) -> BoolArray:
        """Items that rules are about, shape (N,): those required that get reviews; others were left behind."""
        bound: BoolArray = self.required & (self.demand > 0)
        return bound

    @property
    def served(self) -> BoolArray:
        """Items that are to be served, shape (N,): floors and fairness are about them."""
        return np.asarray(self.required & (np.bincount(self.item[self.old], minlength=self.n_items) < self.demand))

    @property
    def strong(self) -> BoolArray:
        """Pairs of an affinity that each paper shall have one of, shape (P,); all where none is asked for."""
        return ~self.old & (whole_values(self.affinity) >= whole_floor(self.floors.best, self.affinity, 1))

    @property
    def wanting(self) -> BoolArray:
        """Items that shall have a strong pair and have none given, shape (N,)."""
        if self.floors.best is None:
            return np.zeros(self.n_items, np.bool_)
        have = np.bincount(self.item[self.given & self.strong], minlength=self.n_items)
        return np.asarray(self.served & (have == 0))

    def open_demand(self) -> IntArray:
        """Reviews that each item needs beyond the given ones."""
        return self.demand - np.bincount(self.item[self.given], minlength=self.n_items)

    def open_loads(self) -> tuple[IntArray, IntArray]:
        """Most and fewest reviews of each reviewer beyond the given ones."""
        given = np.bincount(self.reviewer[self.given], minlength=self.n_reviewers)
        return self.load - given, np.maximum(self.least - given, 0)

    def network(self, chosen: BoolArray, bonus: IntArray | None = None) -> Network:
        """Network in which the chosen pairs are assigned and the given ones locked; ``bonus`` is rewards as costs."""
        # Pairs are sorted by item, so panels lie one behind the other; a reviewer's block is as long as her load.
        by_item = np.flatnonzero(chosen)
        by_reviewer = by_item[np.argsort(self.reviewer[by_item], kind="stable")]
        n_held = np.bincount(self.reviewer[by_item], minlength=self.n_reviewers)
        n_panel = np.bincount(self.item[by_item], minlength=self.n_items)
        held_start, panel_start = _starts(self.load), _starts(n_panel)
        held = np.full(held_start[-1], -1, np.int64)
        within = np.arange(by_reviewer.size) - np.repeat(_starts(n_held)[:-1], n_held)
        held[held_start[self.reviewer[by_reviewer]] + within] = by_reviewer
        return Network(
            item=self.item.copy(),
            reviewer=self.reviewer.copy(),
            item_start=_starts(np.bincount(self.item, minlength=self.n_items)),
            assigned=chosen.copy(),
            locked=self.given.copy(),
            held_start=held_start,
            n_held=n_held,
            held=held,
            panel_start=panel_start,
            n_panel=n_panel,
            panel=by_item.copy(),
            least=self.least.copy(),
            panels=self.panels,
            bound=self.bound & self.panels.binding,
            bonus=np.zeros(self.panels.different.size, np.int64) if bonus is None else bonus,
            rival_start=self.rivals.start,
            rival=self.rivals.rival,
            n_rivals=self.rivals.count_among(chosen),
            value=whole_values(self.affinity),
            floor=np.full(self.n_items, NO_FLOOR),
            peak=np.where(self.served, whole_floor(self.floors.best, self.affinity, 1), NO_FLOOR),
            floored=np.array([self.floors.best is not None]),
            potential=np.zeros(self.n_items + self.n_reviewers + 1, np.int64),
        )


def _starts(sizes: IntArray) -> IntArray:
    start = np.zeros(sizes.size + 1, np.int64)
    np.cumsum(sizes, out=start[1:])
    return start
