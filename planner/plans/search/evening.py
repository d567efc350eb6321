"""The same reviews of each item by other reviewers, so that extra loads are as even as they can be.

minimise    the largest extra load, then the number of reviewers who have it, then the next largest, and so on
subject to  as many reviews of each item as before, at the same cost; conflicts, spare loads, rules on reviewers

A way leads from a heavy reviewer, who hands a review to another one, who hands one on in turn, to somebody with at
least two reviews fewer. Loads are as even as they can be once there is no such way [Harvey06]_. Where reviews have
costs, only steps that are tight for potentials of a cheapest choice are taken: each way of these costs nothing, and
every way that costs nothing consists of these ([Ahuja93]_, chapter 9).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reviewgraph.arrays import distinct

if TYPE_CHECKING:
    from planner.plans.model.task import Task
    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray

#: Reviewers up to which potentials are worked out; beyond, only exchanges of equal costs are made.
POTENTIALS_UP_TO = 2_000
#: Larger than any sum of costs, by far.
FAR = 2**60
#: Work, see :class:`reviewgraph.clock.Clock`, of a look for takers of a review: in all, and for each reviewer.
LOOK, EACH = 3e-5, 1e-8


class Evened(NamedTuple):
    """Reviews, shape (P, 2), and whether no others of the same items and cost have a smaller largest extra load."""

    pairs: IntArray
    proved: bool


def even(task: Task, pairs: IntArray, clock: Clock, tied: BoolArray | None = None, group: object = None) -> Evened:
    """Hand reviews on along ways until no reviewer can be relieved by somebody with two extra reviews fewer.

    Takes O(P M) for each way and at the end, for P reviews and M reviewers; with costs O(M^2) more for each round of
    the potentials.

    Parameters
    ----------
    task
        Who may read what. Its fixed reviews count in loads, and stay.
    pairs
        The reviews beside these, shape (P, 2).
    clock
        When to end.
    tied, group
        Reviews, shape (P,), that stay within a group of reviewers, and the group of each reviewer, shape (M,). By
        default everybody may take over any review.
    """
    if not len(pairs):
        return Evened(pairs, True)
    ways = _Ways(task, pairs, tied, group)
    done = ways.relieve_all(clock)
    return Evened(np.column_stack([ways.owner, ways.item]), done and ways.exact)


def takers(task: Task, pairs: IntArray, place: int) -> IntArray:
    """Return who may have one of some reviews instead of its reviewer, at the same cost, of fewest reviews first."""
    ways = _Ways(task, pairs, None, None, priced=False)
    able = np.flatnonzero(ways.takers(place))
    able = able[ways.left.spare[able] > 0]
    return able[np.argsort(ways.load[able], kind="stable")]


def share(task: Task, count: int) -> int:
    """Return the least largest extra load, that of fixed reviews among them, with which so many reviews can be given.

    A count: spare loads alone, whatever conflicts say.
    """
    fixed = np.bincount(task.constraints.fixed[:, 0], minlength=task.spare.size)
    low, high = int(fixed.max(initial=0)), int(fixed.max(initial=0)) + count
    while low < high:
        middle = (low + high) // 2
        if int(np.clip(middle - fixed, 0, np.maximum(task.spare, 0)).sum()) >= count:
            high = middle
        else:
            low = middle + 1
    return low


class _Ways:
    """Who has which review, and the ways by which reviews are handed on.

    ``owner`` and ``item`` (P,) are the reviews, ``held`` the reviews of each reviewer, ``on`` the reviewers of each
    item, ``load`` (M,) extra reviews with fixed ones, ``left`` what may still be added, ``looked`` the reviews whose
    takers were looked for since the work was last counted.
    """

    def __init__(
        self, task: Task, pairs: IntArray, tied: BoolArray | None, group: object, *, priced: bool = True
    ) -> None:
        rules, M, N = task.constraints, task.spare.size, task.n_items
        self.rules, self.n_items = rules, N
        self.owner, self.item = pairs[:, 0].copy(), pairs[:, 1].copy()
        self.tied = np.zeros(len(pairs), np.bool_) if tied is None else tied
        self.group = np.zeros(M, np.int64) if group is None else np.asarray(group, np.int64)
        self.able: BoolArray = rules.spare > 0
        self.load = np.bincount(np.concatenate([self.owner, rules.fixed[:, 0]]), minlength=M)
        self.left = task.left(pairs)
        self.held: list[list[int]] = [[] for _ in range(M)]
        for place, j in enumerate(self.owner.tolist()):
            self.held[j].append(place)
        self.on: dict[int, set[int]] = {i: set() for i in self.item.tolist()}
        for j, i in pairs.tolist():
            self.on[i].add(j)
        barred = distinct(rules.barred_pairs, rules.fixed[:, 0] * N + rules.fixed[:, 1])
        order = np.argsort(barred % max(N, 1), kind="stable")
        self.barred, by_item = barred[order] // max(N, 1), barred[order] % max(N, 1)
        self.barred_start = np.searchsorted(by_item, np.arange(N + 1))
        self.asked = _asked(task)
        self.prices: dict[int, IntArray] = {}
        self.looked = 0
        # Zeros let steps of equal cost alone be tight.
        self.potential, settled = self._potentials() if priced else (np.zeros(M + 1, np.int64), False)
        whole = not self.left.places.any and self.asked is None and not self.tied.any()
        self.exact = settled and whole and task.needs.exact

    def relieve_all(self, clock: Clock) -> bool:
        """Relieve the heaviest reviewers first; false where time is over."""
        closed, free = np.zeros(self.load.size, np.bool_), self.potential[:-1] == self.potential[-1]
        for load in range(int(self.load.max()), 1, -1):
            for j in np.flatnonzero((self.load == load) & free).tolist():
                if clock.over():
                    return False
                # Who can be reached from somebody who was not relieved needs no second look: no way leads out of there.
                seen = closed.copy()
                if not closed[j] and not self._relieve(j, seen):
                    closed = seen
                clock.spend(self.looked * (LOOK + EACH * self.load.size))
                self.looked = 0
        return True

    def _relieve(self, reviewer: int, seen: BoolArray) -> bool:
        """Go a shortest way from a reviewer to somebody with two fewer; false if there is none."""
        waiting, came, load = [reviewer], dict[int, int](), int(self.load[reviewer])
        seen[reviewer] = True
        for j in waiting:
            for place in self.held[j]:
                if self.left.places.any and self.item[place] in self._passed(j, came):
                    continue
                self.looked += 1
                new = np.flatnonzero(self.takers(place) & ~seen)
                came.update(dict.fromkeys(new.tolist(), place))
                free = (self.left.spare[new] > 0) & (self.potential[new] == self.potential[-1])
                light = new[free & (self.load[new] <= load - 2)]
                if light.size:
                    self._hand_on(int(light[np.argmin(self.load[light])]), came)
                    return True
                seen[new] = True
                waiting += new.tolist()
        return False

    def takers(self, place: int, *, tight: bool = True) -> BoolArray:
        """Shape (M,): who may have a review instead of its owner, at the cost that potentials allow."""
        j, i = int(self.owner[place]), int(self.item[place])
        able = self.able.copy()
        able[self.barred[self.barred_start[i] : self.barred_start[i + 1]]] = False
        able[list(self.on[i])] = False
        if self.tied[place]:
            able &= self.group == self.group[j]
        if self.asked is not None:
            able &= (self.asked | ~self.asked[j]).all(axis=1)
        if self.rules.cost and tight:
            price = self._price(i)
            able &= self.potential[j] + price - price[j] == self.potential[:-1]
        if self.left.places.any:
            for other in np.flatnonzero(able).tolist():
                able[other] = self._finds_place(other, j, i)
        return able

    def _finds_place(self, reviewer: int, leaving: int, item: int) -> bool:
        """Whether the panel groups of a reviewer have places on an item that somebody leaves."""
        places, gone = self.left.places, self.left.places.of(leaving)
        return all(
            places.free[item, group] - self.left.taken[item, group] + (group in gone) > 0
            for group in places.of(reviewer)
        )

    def _passed(self, reviewer: int, came: dict[int, int]) -> set[int]:
        """Items of the reviews that the way to a reviewer hands on."""
        found = set()
        while reviewer in came:
            place = came[reviewer]
            found.add(int(self.item[place]))
            reviewer = int(self.owner[place])
        return found

    def _hand_on(self, reviewer: int, came: dict[int, int]) -> None:
        """Go a way back from its end, everybody taking the review that leads there."""
        self.load[reviewer] += 1
        while reviewer in came:
            place = came[reviewer]
            before, i = int(self.owner[place]), int(self.item[place])
            self.left.give_back(before, i)
            self.left.take(reviewer, i)
            self.held[before].remove(place)
            self.held[reviewer].append(place)
            self.on[i] ^= {before, reviewer}
            self.owner[place] = reviewer
            reviewer = before
        self.load[reviewer] -= 1

    def _price(self, item: int) -> IntArray:
        """Shape (M,): what an item costs by each reviewer, in whole units."""
        if item not in self.prices:
            self.prices[item] = self.rules.cost.whole(np.arange(self.load.size) * self.n_items + item)
        return self.prices[item]

    def _potentials(self) -> tuple[IntArray, bool]:
        """Shape (M + 1,), the last one of free loads; and whether they prove that no exchange is cheaper.

        Bellman-Ford: a step hands a review on, free loads come from who has some and go to who gives one up. Zeros,
        for which only steps of equal cost are tight, where there are no costs or an exchange would be cheaper.
        """
        M = self.load.size
        potential = np.zeros(M + 1, np.int64)
        if not self.rules.cost:
            return potential, True
        if M > POTENTIALS_UP_TO:
            return potential, False
        step = np.full((M, M), FAR)
        for place, j in enumerate(self.owner.tolist()):
            able, price = self.takers(place, tight=False), self._price(int(self.item[place]))
            step[j, able] = np.minimum(step[j, able], price[able] - price[j])
        gives, takes = np.array([bool(held) for held in self.held]), self.left.spare > 0
        for _ in range(M + 2):
            before = potential.copy()
            potential[:M] = np.minimum(potential[:M], (potential[:M, np.newaxis] + step).min(axis=0))
            potential[M] = min(int(potential[M]), int(potential[:M][takes].min(initial=0)))
            potential[:M][gives] = np.minimum(potential[:M][gives], potential[M])
            if (potential == before).all():
                return potential, True
        return np.zeros(M + 1, np.int64), False


def _asked(task: Task) -> BoolArray | None:
    """Shape (M, G): the panel groups of each reviewer that items must have; None where they need none."""
    people = task.constraints.people
    panels = people.panels
    wanted = (panels.least > 0) | (panels.different > 0)[panels.attribute] if panels.n_groups else panels.least > 0
    if not wanted.any():
        return None
    found = np.zeros((task.spare.size, panels.n_groups), np.bool_)
    place, group = people.groups_of(np.arange(task.spare.size))
    found[place, group] = wanted[group]
    return found
