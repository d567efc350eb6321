"""Small assignments by enumeration: the best at a level with a proof, or a proof that none reaches it.

An assignment is a row of integers, one per reviewer, whose bits are the items that the reviewer gets. All rows are
extended by the panels of one item after the other, and those beyond a load are dropped at once. Where there are too
many, a sample of them is kept that may still reach the level, which finds assignments and proves nothing.
"""

from __future__ import annotations

from functools import partial
from itertools import combinations
from math import comb, prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner._assign.programme import broken_items, rewards
from reviewgraph._base import snapped
from reviewgraph.table import Reviews

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner._assign.levels import Aim
    from planner._assign.problem import Problem
    from reviewgraph._base import BoolArray, Clock, FloatArray, IntArray

#: Maximum number of items, for which a row has bits; of products of panels; and of rows at a time.
MOST_ITEMS = 62
MOST_PRODUCTS = 10**9
MOST_ROWS = 100_000

#: Maximum number of rows whose level is tested one by one, where one component of all items is not necessary.
MOST_TESTS = 2_000

#: Rows tested at a time: the first ones, and the factor by which this number grows.
FIRST = 16
GROWTH = 16

#: Maximum number of free pairs of a problem of which rows are sampled, of rows kept, and of their extensions.
MOST_PAIRS = 80
KEPT = 1_000
EXTENDED = 5_000


class _Rows(NamedTuple):
    """Assignments, with the objectives of each in the order of importance; the first axis is the assignment."""

    covers: IntArray  # bits of the items of each reviewer, shape (R, M)
    ranks: IntArray  # cost of pairs that come before affinity, shape (R,)
    smallest: IntArray  # smallest score of a served item in whole units, shape (R,)
    worth: FloatArray  # affinity, less costs, and rewards, shape (R,)

    def some(self, rows: IntArray) -> _Rows:
        return _Rows(self.covers[rows], self.ranks[rows], self.smallest[rows], self.worth[rows])


class Best(NamedTuple):
    """The best assignment at the level, None where there is none, and with how many critical reviewers."""

    chosen: BoolArray | None
    exposed: int = 0


def best_at_level(
    problem: Problem, aim: Aim, clock: Clock, *, survive: bool, fairly: bool = False, most: int = MOST_ROWS
) -> Best | None:
    """Find the best assignment at a level by enumeration; None where there are too many.

    First come fewest pairs of the concerns, with ``fairly`` then the largest smallest score, then worth and rewards.
    With ``survive`` the level must also hold after the losses of the aim (by default of any one reviewer); where none
    survives them all, the best of those with fewest critical reviewers.
    """
    enumeration = _Enumeration(problem, aim, clock, survive)
    rows = enumeration.rows(most)
    return None if rows is None else enumeration.best(rows, fairly=fairly)


def all_at_level(problem: Problem, aim: Aim, clock: Clock, *, survive: bool, most: int) -> BoolArray | None:
    """Return all assignments at a level, shape (R, P); None where there are too many."""
    enumeration = _Enumeration(problem, aim, clock, survive)
    rows = enumeration.rows(most)
    return None if rows is None else enumeration.all(rows.covers)


def sampled_at_level(problem: Problem, aim: Aim, clock: Clock, *, survive: bool) -> BoolArray | None:
    """Return the best of a sample of assignments that reaches the level; None where none does, or pairs are many."""
    if np.count_nonzero(~problem.given) > MOST_PAIRS:
        return None
    enumeration = _Enumeration(problem, aim, clock, survive)
    rows = enumeration.rows(None)
    best = None if rows is None else enumeration.best(rows, fairly=False)
    return None if best is None or best.exposed else best.chosen


class _Enumeration:
    """The assignments of a problem as rows."""

    def __init__(self, problem: Problem, aim: Aim, clock: Clock, survive: bool) -> None:
        self.problem = problem
        self.aim = aim
        self.clock = clock
        self.survive = survive
        self.free = np.flatnonzero(~problem.given)
        self.ranks = np.zeros(problem.item.size, np.int64)
        if problem.concerns is not None:
            self.ranks = problem.concerns.ranks(int(problem.demand.sum()))
        self.rng = np.random.default_rng(0)

    def rows(self, most: int | None) -> _Rows | None:
        """Return all assignments, None where these are more than ``most`` at a time; a sample with ``most`` None."""
        problem = self.problem
        need = problem.open_demand()
        candidates = np.bincount(problem.item[self.free], minlength=problem.n_items)
        panels = list(map(comb, candidates.tolist(), need.clip(0).tolist()))
        if problem.n_items > MOST_ITEMS or (most is not None and prod(panels) > MOST_PRODUCTS):
            return None
        given = problem.given
        covers = np.zeros((1, problem.n_reviewers), np.int64)
        np.bitwise_or.at(covers[0], problem.reviewer[given], 1 << problem.item[given])
        rows = _Rows(
            covers,
            np.full(1, self.ranks[given].sum()),
            np.full(1, np.iinfo(np.int64).max),
            np.full(1, problem.worth[given].sum() + rewards(problem, given)),
        )
        # Items with few panels first: loads then drop most rows early.
        order = np.argsort(panels, kind="stable")
        for place, item in enumerate(order.tolist()):
            able = self._able(rows, item, int(need[item]))
            count = sum(able_rows.size for _, able_rows in able)
            if (most is not None and count > most) or self.clock.over():
                return None
            if not count:
                return rows.some(np.zeros(0, np.int64))
            if most is None:
                able = self._some(rows, able)
            rows = _Rows(*map(np.concatenate, zip(*self._extended(rows, item, able), strict=True)))
            if most is None:
                rows = self._sample(rows, order[place + 1 :])
        kept = (np.bitwise_count(rows.covers) >= problem.least).all(axis=1)
        for couple in problem.rivals.couples_among(np.ones(given.size, np.bool_)).tolist():
            reviewer = problem.reviewer[couple]
            kept &= ~(rows.covers[:, reviewer] >> problem.item[couple] & 1 == 1).all(axis=1)
        return rows.some(np.flatnonzero(kept))

    def best(self, rows: _Rows, *, fairly: bool) -> Best | None:
        """Return the best row at the level; None where too many must be tested one by one."""
        smallest = rows.smallest if fairly else np.zeros_like(rows.smallest)
        # Ties in random order: the first rows have chains of reviewers.
        tie = self.rng.random(rows.worth.size)
        order = np.lexsort((tie, -snapped(rows.worth), -smallest, rows.ranks))
        best = Best(None, self.problem.n_reviewers + 1)
        tests = MOST_TESTS
        first = 0
        size = FIRST
        while first < order.size and best.exposed:
            covers = rows.covers[order[first : first + size]]
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

    def all(self, covers: IntArray) -> BoolArray | None:
        """Return all rows at the level as assignments; None where too many must be tested one by one."""
        holds = self._covering(covers) if self.aim.core_suffices else np.zeros(len(covers), np.bool_)
        tested = [] if self.aim.core_decides else np.flatnonzero(~holds & self._enough(covers)).tolist()
        if len(tested) > MOST_TESTS:
            return None
        for place in tested:
            holds[place] = self._holds_early(covers[place])
        covers = covers[holds]
        covers = covers[self._exposed(covers) == 0]
        return np.asarray(covers[:, self.problem.reviewer] >> self.problem.item & 1 == 1)

    # Extensions by the panels of an item

    def _able(self, rows: _Rows, item: int, need: int) -> list[tuple[IntArray, IntArray]]:
        """Return each panel of an item, as pairs, with the rows whose loads have room for it."""
        held = np.bitwise_count(rows.covers)
        able = []
        for panel in self._panels(item, need):
            people = self.problem.reviewer[panel]
            able.append((panel, np.flatnonzero((held[:, people] < self.problem.load[people]).all(axis=1))))
        return able

    def _panels(self, item: int, need: int) -> Iterator[IntArray]:
        """Yield the pairs by which an item can get its reviews such that its rules and floors hold."""
        problem = self.problem
        ruled = problem.panels.binding or problem.rivals.any or problem.floors.asked
        chosen = problem.given.copy()
        for panel in combinations(self.free[problem.item[self.free] == item].tolist(), max(need, 0)):
            pairs = np.array(panel, np.int64)
            chosen[pairs] = True
            if not ruled or item not in broken_items(problem, chosen):
                yield pairs
            chosen[pairs] = False

    def _some(self, rows: _Rows, able: list[tuple[IntArray, IntArray]]) -> list[tuple[IntArray, IntArray]]:
        """Return panels with some of the rows that have room for them."""
        worth = [rows.worth[able_rows] + self.problem.worth[panel].sum() for panel, able_rows in able]
        kept = np.zeros(sum(map(len, worth)), np.bool_)
        kept[self._picked(np.concatenate(worth), EXTENDED)] = True
        parts = np.split(kept, np.cumsum(list(map(len, worth)))[:-1])
        return [(panel, able_rows[part]) for (panel, able_rows), part in zip(able, parts, strict=True)]

    def _picked(self, worth: FloatArray, number: int) -> IntArray:
        """Return this number of places, or all: half of them the best ones, half at random."""
        order = np.argsort(-worth, kind="stable")
        if order.size <= number:
            return order
        best = number // 2
        return np.append(order[:best], self.rng.choice(order[best:], number - best, replace=False))

    def _extended(
        self, rows: _Rows, item: int, able: list[tuple[IntArray, IntArray]]
    ) -> Iterator[tuple[IntArray, IntArray, IntArray, FloatArray]]:
        """Yield the rows with each panel of an item."""
        problem = self.problem
        chosen = problem.given.copy()
        before = rewards(problem, chosen)
        for panel, able_rows in able:
            chosen[panel] = True
            covers = rows.covers[able_rows]
            covers[:, problem.reviewer[panel]] |= 1 << item
            smallest = rows.smallest[able_rows]
            if problem.served[item]:
                smallest = np.minimum(smallest, problem.scores(chosen)[item])
            worth = problem.worth[panel].sum()
            if problem.panels.reward.any():
                worth += rewards(problem, chosen) - before
            yield covers, rows.ranks[able_rows] + self.ranks[panel].sum(), smallest, rows.worth[able_rows] + worth
            chosen[panel] = False

    def _sample(self, rows: _Rows, ahead: IntArray) -> _Rows:
        """Keep some of the rows that may reach the level with all pairs of the items ahead."""
        problem = self.problem
        covers = rows.covers.copy()
        room = np.bitwise_count(covers) < problem.load
        for pair in self.free[np.isin(problem.item[self.free], ahead)].tolist():
            j = problem.reviewer[pair]
            covers[:, j] |= np.where(room[:, j], 1 << problem.item[pair], 0)
        kept = np.flatnonzero(self._covering(covers) if self.aim.core_decides else self._enough(covers))
        kept = kept[self._exposed(covers[kept]) == 0]
        return rows.some(kept[self._picked(rows.worth[kept], KEPT)])

    # The level

    def _exposed(self, covers: IntArray) -> IntArray:
        """Return how many reviewers the level depends on after a loss, shape (R,); 0 where it need not survive any."""
        exposed = np.zeros(len(covers), np.int64)
        # A reviewer is lost as a whole, or one review after the other.
        lost = [1 << item for item in range(self.problem.n_items)] if self.aim.loses_reviews else [-1]
        for j in range(covers.shape[1] if self.survive else 0):
            safe = np.ones(len(covers), np.bool_)
            for bits in lost:
                tried = np.flatnonzero(safe & (covers[:, j] & bits != 0))
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
        covers = covers.copy()
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

    def _chosen(self, cover: IntArray) -> BoolArray:
        return np.asarray(cover[self.problem.reviewer] >> self.problem.item & 1 == 1)
