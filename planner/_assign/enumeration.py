"""Small assignments by enumeration: the best at a level with a proof, or a proof that none reaches it.

An assignment is a row of integers, one per reviewer, whose bits are the items that the reviewer gets. All rows are
extended by the panels of one item after the other, and those beyond a load are dropped at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import combinations
from math import comb, prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner._assign.programme import broken_items, depends_on_rules
from reviewgraph._base import BoolArray, Clock, IntArray, snapped
from reviewgraph.table import Reviews

if TYPE_CHECKING:
    from planner._assign.levels import Aim
    from planner._assign.problem import Problem

#: Maximum number of items, for which a row has bits; of products of panels; and of rows at a time.
MOST_ITEMS = 62
MOST_PRODUCTS = 10**9
MOST_ROWS = 100_000

#: Maximum number of rows whose level is tested one by one, where one component of all items is not necessary.
MOST_TESTS = 2_000

#: Rows tested at a time: the first ones, and the factor by which this number grows.
FIRST = 16
GROWTH = 16


class Best(NamedTuple):
    """The best assignment at the level, None where there is none, and with how many critical reviewers."""

    chosen: BoolArray | None
    exposed: int = 0


def best_at_level(
    problem: Problem, aim: Aim, clock: Clock, *, fairly: bool = False, most: int = MOST_ROWS
) -> Best | None:
    """Find the best assignment at a level by enumeration; None where there are too many.

    First come fewest pairs of the concerns, with ``fairly`` then the largest smallest score, then worth.
    Where the level must survive losses and none survives them all, it is the best of those with fewest critical
    reviewers.
    """
    enumeration = _Enumeration(problem, aim, clock)
    covers = enumeration.covers(most)
    return None if covers is None else enumeration.best(covers, fairly=fairly)


class _Enumeration:
    """The assignments of a problem as rows: bits of the items of each reviewer, shape (R, M)."""

    def __init__(self, problem: Problem, aim: Aim, clock: Clock) -> None:
        self.problem = problem
        self.aim = aim
        self.clock = clock
        self.free = np.flatnonzero(~problem.given)

    def covers(self, most: int) -> IntArray | None:
        """Return all assignments, None where these are more than ``most`` at a time."""
        problem = self.problem
        need = problem.open_demand()
        candidates = np.bincount(problem.item[self.free], minlength=problem.n_items)
        panels = list(map(comb, candidates.tolist(), need.clip(0).tolist()))
        if problem.n_items > MOST_ITEMS or prod(panels) > MOST_PRODUCTS:
            return None
        given = problem.given
        covers = np.zeros((1, problem.n_reviewers), np.int64)
        np.bitwise_or.at(covers[0], problem.reviewer[given], 1 << problem.item[given])
        # Items with few panels first: loads then drop most rows early.
        for item in np.argsort(panels, kind="stable").tolist():
            held = np.bitwise_count(covers)
            extended = [covers[:0]]
            count = 0
            for panel in self._panels(item, int(need[item])):
                people = problem.reviewer[panel]
                more = covers[(held[:, people] < problem.load[people]).all(axis=1)]
                count += len(more)
                if count > most or self.clock.over():
                    return None
                more[:, people] |= 1 << item
                extended.append(more)
            covers = np.concatenate(extended)
        return covers[(np.bitwise_count(covers) >= problem.least).all(axis=1)]

    def best(self, covers: IntArray, *, fairly: bool) -> Best | None:
        """Return the best row at the level; None where too many must be tested one by one."""
        ordered = covers[self._order(covers, fairly)]
        best = Best(None, self.problem.n_reviewers + 1)
        tests = MOST_TESTS
        first = 0
        size = FIRST
        while first < len(ordered) and best.exposed:
            covers = ordered[first : first + size]
            holds = np.zeros(len(covers), np.bool_)
            if self.aim.core_suffices:
                holds = self._covering(covers)
            # Also where no group covers all items the level may hold.
            for place in [] if self.aim.core_decides else np.flatnonzero(~holds & self._enough(covers)).tolist():
                if holds[:place].any():
                    break
                if not tests or self.clock.over():
                    return None
                tests -= 1
                holds[place] = self._holds_early(covers[place])
            covers = covers[holds]
            exposed = self._exposed(covers)
            if exposed.size and exposed.min() < best.exposed:
                best = Best(self._chosen(covers[np.argmin(exposed)]), int(exposed.min()))
            first += size
            size *= GROWTH
        return best

    def _order(self, covers: IntArray, fairly: bool) -> IntArray:
        """Order rows: fewest pairs of the concerns, largest smallest score if fair, then most worth."""
        problem = self.problem
        held = self._chosen(covers)
        ranks = np.zeros(len(covers), np.int64)
        if problem.concerns is not None:
            ranks = held.astype(np.int64) @ problem.concerns.changed
        smallest = np.zeros(len(covers))
        if fairly and problem.served.any():
            # In whole units equal sums may differ by their rounding, and the worth would not count.
            scores = held * problem.affinity
            served = np.flatnonzero(problem.served)
            smallest = np.min([scores[:, problem.item == i].sum(axis=1) for i in served], axis=0)
            smallest = snapped(smallest, np.abs(problem.affinity).max(keepdims=True))
        worth = held @ problem.worth
        # Ties in random order: the first rows have chains of reviewers.
        tie = np.random.default_rng(0).random(worth.size)
        return np.lexsort((tie, -snapped(worth), -smallest, ranks))

    def _panels(self, item: int, need: int) -> Iterator[IntArray]:
        """Yield the pairs by which an item can get its reviews such that its rules and floors hold."""
        problem = self.problem
        ruled = depends_on_rules(problem)
        chosen = problem.given.copy()
        for panel in combinations(self.free[problem.item[self.free] == item].tolist(), max(need, 0)):
            pairs = np.array(panel, np.int64)
            chosen[pairs] = True
            if not ruled or item not in broken_items(problem, chosen):
                yield pairs
            chosen[pairs] = False

    # The level

    def _exposed(self, covers: IntArray) -> IntArray:
        """Return how many reviewers the level depends on after a loss, shape (R,); 0 where it need not survive any."""
        exposed = np.zeros(len(covers), np.int64)
        # A reviewer is lost as a whole, or one review after the other.
        lost = [1 << item for item in range(self.problem.n_items)] if self.aim.loses_reviews else [-1]
        # Of reviewers without a review in any row there is nothing to lose.
        for j in np.flatnonzero(covers.any(axis=0)).tolist() if self.aim.outlives else []:
            safe = np.ones(len(covers), np.bool_)
            for bits in lost:
                tried = np.flatnonzero(safe & (covers[:, j] & bits != 0))
                if not tried.size:
                    continue
                remaining = covers[tried]
                remaining[:, j] &= ~bits
                safe[tried] = self._covering(remaining)
            exposed += ~safe
        return exposed

    def _covering(self, covers: IntArray) -> BoolArray:
        """Return whether one group of reviewers covers all required items, shape (R,).

        Two covers that share enough become their union, both of them, until nothing changes.
        """
        wanted = sum(1 << item for item in np.flatnonzero(self.problem.required).tolist())
        covers = covers[:, covers.any(axis=0)]
        changed = True
        while changed:
            changed = False
            for j, k in combinations(range(covers.shape[1]), 2):
                common = covers[:, j] & covers[:, k]
                # Without its lowest bit it is 0 where one item is shared.
                near = (common if self.aim.shared == 1 else common & (common - 1)) != 0
                near &= covers[:, j] != covers[:, k]
                if near.any():
                    changed = True
                    union = covers[near, j] | covers[near, k]
                    covers[near, j] = union
                    covers[near, k] = union
        return np.asarray((covers & wanted == wanted).any(axis=1))

    def _enough(self, covers: IntArray) -> BoolArray:
        """Return whether there are enough reviews for the level, shape (R,): a reviewer of k joins k - 2, or k - 1."""
        if not self.aim.counts_joins:
            return np.ones(len(covers), np.bool_)
        joined = np.bitwise_count(covers).astype(np.int64) - self.aim.shared
        needed = int(self.problem.required.sum()) - self.aim.shared
        return np.asarray(joined.clip(0).sum(axis=1) >= needed)

    def _holds_early(self, cover: IntArray) -> bool:
        problem = self.problem
        pairs = np.flatnonzero(self._chosen(cover))
        table = partial(Reviews.from_codes, problem.reviewer[pairs], problem.item[pairs])
        return self.aim.holds_early(lambda: table(reviewers=problem.n_reviewers, items=problem.n_items))

    def _chosen(self, covers: IntArray) -> BoolArray:
        return np.asarray(covers[..., self.problem.reviewer] >> self.problem.item & 1 == 1)
