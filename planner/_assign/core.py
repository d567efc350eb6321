"""The core of an assignment: the group of reviewers that covers most required items, after changes and losses, too.

Also a lower bound on the affinity that a level costs, and alternates: who can replace a reviewer such that rules and
the level are kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner._assign.assignment import Alternate, Alternates, Lack, Missing
from planner._assign.flow import TIE_BITS
from planner._assign.kernels import core as kernels
from planner._assign.kernels.flow import flip
from planner._assign.programme import may_replace
from reviewgraph._base import BoolArray, Clock, FloatArray, IntArray, distinct, order_of
from reviewgraph.graph import Units, missing_without_units
from reviewgraph.table import Reviews

if TYPE_CHECKING:
    from planner._assign.levels import Aim
    from planner._assign.problem import Network, Problem


#: Beyond every limit on a path: distances stay below.
NO_LIMIT = 1 << 61

#: No pairs at all.
NO_PAIRS = np.empty(0, np.int64)


def largest_cover(aim: Aim, table: Reviews, required: BoolArray) -> int:
    """Count the required items that the largest group of a table covers."""
    covers = distinct(aim.groups(table).labels[table.reviewer] * table.n_items + table.item)
    return int(np.bincount(covers // table.n_items, required[covers % table.n_items], 1).max()) if covers.size else 0


@dataclass
class Core:
    """The group of reviewers that covers most required items of an assignment that changes."""

    net: Network
    required: BoolArray  # items that the core must cover, shape (N,)
    aim: Aim  # the level, which defines when two groups merge

    def __post_init__(self) -> None:
        self.total = int(self.required.sum())

    def count(self, more: IntArray = NO_PAIRS, without: int = -1) -> int:
        """Count required items that the core covers, with more pairs and without a reviewer (-1: with all)."""
        return int(kernels.largest_cover(self.net, more, without, self.required, self.aim.shared))

    def missing(self, more: IntArray = NO_PAIRS, without: int = -1) -> int:
        """Count required items outside the core, at least 1 where the level does not hold, and 0 where it does."""
        missing = self.total - self.count(more, without)
        if (not missing and self.aim.core_suffices) or (without < 0 and self.aim.holds_early(lambda: self.table(more))):
            return 0
        return max(missing, 1)

    def at_level(self) -> bool:
        return not self.missing()

    def growing(self) -> IntArray:
        """Return the pairs by which the core grows at once: further items of its reviewers, and further reviewers."""
        net = self.net
        table = self.table()
        groups = self.aim.groups(table).labels
        covers = distinct(groups[table.reviewer] * table.n_items + table.item)
        sizes = np.bincount(covers // table.n_items, self.required[covers % table.n_items])
        in_core = groups == np.argmax(sizes)
        covered = np.zeros(table.n_items, np.bool_)
        covered[table.item[in_core[table.reviewer]]] = True
        shared = np.bincount(table.reviewer, covered[table.item], net.n_held.size)
        joins = covered[net.item] & (shared[net.reviewer] >= self.aim.shared - 1)
        grows = np.where(in_core[net.reviewer], ~covered[net.item], joins)
        return np.flatnonzero(grows & ~np.asarray(net.assigned, np.bool_))

    def table(self, more: IntArray = NO_PAIRS) -> Reviews:
        """Return the pairs assigned, and more, as a table of reviews."""
        net = self.net
        assigned = net.assigned.copy()
        assigned[more] = True
        pairs = np.flatnonzero(assigned)
        return Reviews.from_codes(
            net.reviewer[pairs], net.item[pairs], reviewers=net.n_held.size, items=net.item_start.size - 1
        )


# What must not be lost: exact counts, by adding and undoing reviews.


def missing_without(core: Core, clock: Clock, who: BoolArray | None = None, more: IntArray = NO_PAIRS) -> IntArray:
    """Count required items outside the best component after each reviewer, or each of ``who``, drops out; shape (M,).

    Reviewers are divided and conquered in O(E log M) steps and joins, O(M E) joins at worst. Raises Clock.Over.
    """
    reviews, required = _sharing_two(core, more)
    tested = np.arange(core.net.n_held.size) if who is None else np.flatnonzero(who)
    units = Units(reviews.reviewer_start, np.arange(reviews.n_reviews))
    return missing_without_units(reviews, units, tested, required, clock)


def missing_without_reviews(core: Core, clock: Clock) -> IntArray:
    """Count required items outside the best component after each assigned pair is lost, shape (P,)."""
    reviews, required = _sharing_two(core)
    row = np.arange(reviews.n_reviews + 1)
    tested = np.flatnonzero(reviews.item < core.required.size)
    counts = np.zeros(core.net.assigned.size, np.int64)
    pairs = np.flatnonzero(core.net.assigned)
    pairs = pairs[np.argsort(core.net.reviewer[pairs], kind="stable")]
    counts[pairs] = missing_without_units(reviews, Units(row, row[:-1]), tested, required, clock)[tested]
    return counts


def exposed_of(core: Core, clock: Clock) -> BoolArray:
    """Return the reviewers by whose loss the level may fail where it must survive a loss, shape (M,).

    Only those of critical reviews where single reviews are lost: surviving a reviewer implies surviving their reviews.
    """
    exposed = np.ones(core.net.n_held.size, np.bool_)
    if core.aim.loses_reviews:
        exposed[:] = False
        exposed[core.net.reviewer[missing_without_reviews(core, clock) > 0]] = True
    return exposed


def _sharing_two(core: Core, more: IntArray = NO_PAIRS) -> tuple[Reviews, BoolArray]:
    """Return a table whose doubly connected components are those of the core, and the items that they must cover."""
    reviews = core.table(more)
    if core.aim.shared > 1:
        return reviews, core.required
    # Where one shared item suffices, everybody reviews one more, so that it makes two.
    common = reviews.n_items
    reviewer = np.concatenate([reviews.reviewer, np.arange(reviews.n_reviewers)])
    item = np.concatenate([reviews.item, np.full(reviews.n_reviewers, common)])
    extended = Reviews.from_codes(reviewer, item, reviewers=reviews.n_reviewers, items=common + 1)
    return extended, np.append(core.required, True)


# A lower bound on the affinity that a level costs, by linear programming duality and a count of missing links.

#: Steps of bisection for the number of cheap pairs that leave the level out of reach.
STEPS = 5


def least_loss(core: Core, losses: FloatArray, problem: Problem, clock: Clock) -> int:
    """Bound from below the cost of the level, in whole units, by the reduced costs of pairs at the optimum without it.

    Another assignment loses at least the reduced costs of its new pairs (linear programming duality). Take all pairs
    of reduced cost below some value as assigned: if groups and covers still miss the level, some new pairs must be
    dearer and leave the cover of their reviewer's group, at least the number of links that the level counts as missing,
    because one pair adds one link at most. The number of cheap pairs is increased until the level is in reach, then
    narrowed down by bisection, and the best bound counts. Takes O(log P) closures.
    """
    net = core.net
    reduced = np.maximum(losses, 0).astype(np.int64)
    order = np.flatnonzero(~net.assigned & ~net.locked)
    order = order[np.argsort(reduced[order], kind="stable")]
    # Papers left behind after a first phase need no links, so only one is certain there.
    single = bool(problem.old.any())
    groups = _Groups(core, np.arange(problem.n_reviewers)).joined(np.flatnonzero(net.assigned))
    best, high = groups.bound(reduced, order, single=single)
    # Fewer pairs than links cannot reach it; then four times as many each time, until they are enough for the level.
    low = 0
    while high < order.size and not clock.over():
        wider = groups.joined(order[low:high])
        if not wider.missing():
            break
        groups = wider
        low = high
        best = max(best, groups.bound(reduced, order[low:], single=single)[0])
        high *= 4
    # Bisection: the level is out of reach with ``low`` pairs and in reach with ``high``.
    high = min(high, order.size)
    for _ in range(STEPS):
        middle = (low + high) // 2
        if middle <= low or clock.over():
            break
        wider = groups.joined(order[low:middle])
        if wider.missing():
            groups = wider
            low = middle
            best = max(best, groups.bound(reduced, order[low:], single=single)[0])
        else:
            high = middle
    # Rounding and ties, per pair removed and added.
    return max(best - (2 * int(net.assigned.sum()) << TIE_BITS), 0)


class _Groups:
    """Groups of reviewers with some pairs: ``label`` of each reviewer, shape (M,), and sorted group * N + item."""

    def __init__(self, core: Core, label: IntArray, covers: IntArray = NO_PAIRS) -> None:
        self.core = core
        self.label = label
        self.covers = covers
        size = int(label.max(initial=-1)) + 1
        self.n_items = core.required.size
        self.table = Reviews.from_codes(
            covers // self.n_items, covers % self.n_items, reviewers=size, items=self.n_items
        )

    def joined(self, pairs: IntArray) -> _Groups:
        """Return the groups with more pairs."""
        more = _Groups(self.core, self.label, distinct(self.covers, self._numbers(pairs)))
        label = self.core.aim.groups(more.table).labels
        covers = distinct(label[more.table.reviewer] * self.n_items + more.table.item)
        return _Groups(self.core, label[self.label], covers)

    def _numbers(self, pairs: IntArray) -> IntArray:
        net = self.core.net
        return np.asarray(self.label[net.reviewer[pairs]] * self.n_items + net.item[pairs])

    def missing(self) -> bool:
        """Whether the level is missed."""
        covered = np.bincount(self.table.reviewer, self.core.required[self.table.item], 1)
        return bool(covered.max() < self.core.total) and not self.core.aim.holds_early(lambda: self.table)

    def bound(self, reduced: IntArray, order: IntArray, *, single: bool) -> tuple[int, int]:
        """Return the least loss of pairs that supply the missing links, the cheapest of an order, and their number."""
        links = 1 if single else max(self.core.aim.links(self.table), 1)
        cross = NO_PAIRS
        end = 0
        while cross.size < links and end < order.size:
            pairs = order[end : end + max(2 * links, end)]
            end += pairs.size
            numbers = self._numbers(pairs)
            # Beyond the last cover, of which there is none where nobody has a paper, stands no number.
            nearest = np.append(self.covers, -1)[np.searchsorted(self.covers, numbers)]
            cross = np.append(cross, pairs[nearest != numbers])
        return int(reduced[cross[:links]].sum()) if cross.size >= links else 0, links


# Whether the level survives another reviewer taking a review over: one closure per review, one per candidate.


class Replacing:
    """An assignment of which one review at a time is given to somebody else; after each query it is as before.

    Where the level holds it must hold afterwards; where it was missed, no component may cover fewer required items. A
    further review never separates a component, so a review that can be lost can be given to anybody.
    """

    def __init__(self, core: Core) -> None:
        self.core = core
        self.least = core.total if core.at_level() else core.count()
        # Where groups do not suffice for a level, its own test decides.
        self.tested = core.at_level() and not core.aim.core_suffices
        self.spared: dict[int, bool] = {}  # by review, whether the level does without it

    def keeps(self, gone: int, entering: int) -> bool:
        """Whether the level is kept when one pair takes the place of another."""
        if gone not in self.spared:
            self.spared[gone] = self._after([gone])
        return self.spared[gone] or self._after([gone, entering])

    def _after(self, pairs: list[int]) -> bool:
        """Whether the level is kept when pairs are flipped."""
        core = self.core
        exchange = np.array(pairs)
        flip(core.net, exchange)
        holds = not self.tested and core.count() >= self.least
        holds = holds or (self.least == core.total and core.aim.holds_early(core.table))
        flip(core.net, exchange)
        return holds


# Alternates: for each paper the next best reviewers any one of whom can replace anybody of its panel.
#
# An alternate for a paper may review it, has room in their load, and can take one reviewer's place such that the rules
# hold on the paper and the level is kept. The place is checked against every reviewer of the panel: first come those
# who can replace everyone, by affinity, then those who can replace most. Each exchange is checked by itself, so two
# papers may list one person, who has room for one of them.

#: Candidates of a paper that are examined, the best first, where too few of them can replace everyone.
LOOKED = 20


def alternates_of(problem: Problem, assigned: BoolArray, aim: Aim, number: int, clock: Clock) -> Alternates:
    """Return the alternates of every paper, ``number`` each.

    Takes a closure for each review, and for each candidate of a review on which the level depends.
    Papers without an open place in the assignment have none; once time is up, the rest is missing.
    """
    net = problem.network(assigned)
    level = Replacing(Core(net, problem.required, aim)) if aim.level is not None else None
    listed: list[Alternate] = []
    missing: list[Missing] = []
    for item in np.flatnonzero(problem.served).tolist():
        label = problem.items[item]
        if clock.over():
            missing.append(Missing(label, 0, Lack.STOPPED))
            continue
        # The panel without reviews of a first phase, and others who may review the item, of whom some have room.
        panel = np.sort(net.panel[net.panel_start[item] :][: net.n_panel[item]])
        panel = panel[~problem.old[panel]]
        first = net.item_start[item]
        last = net.item_start[item + 1]
        candidates = np.arange(first, last)[~net.assigned[first:last]]
        person = net.reviewer[candidates]
        room = candidates[net.n_held[person] < (net.held_start[1:] - net.held_start[:-1])[person]]
        # The reviews that each of the best could replace, until enough of them could replace any.
        alternates: list[tuple[int, IntArray]] = []
        why = Lack.RULES if room.size else Lack.ROOM
        if not candidates.size:
            why = Lack.NOBODY
        for pair in room[order_of(-problem.affinity[room])][:LOOKED].tolist():
            fitting = [q for q in panel.tolist() if may_replace(problem, assigned, pair, q)]
            replaced = np.array([q for q in fitting if level is None or level.keeps(q, pair)], np.int64)
            why = Lack.LEVEL if len(fitting) > replaced.size else why
            if replaced.size:
                alternates.append((pair, replaced))
            if sum(part.size == panel.size for _, part in alternates) == number:
                break
        alternates.sort(key=lambda alternate: -alternate[1].size)
        full = sum(part.size == panel.size for _, part in alternates[:number])
        for pair, replaced in alternates[:number]:
            listed.append(
                Alternate(
                    item=label,
                    reviewer=problem.reviewers[int(problem.reviewer[pair])],
                    affinity=float(problem.affinity[pair]),
                    replaces=tuple(problem.reviewers[j] for j in problem.reviewer[replaced].tolist()),
                    everyone=replaced.size == panel.size,
                )
            )
        if full < number:
            missing.append(Missing(label, full, why))
    return Alternates(number, tuple(listed), tuple(missing))
