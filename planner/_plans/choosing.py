"""Choose reviews one after another by their expected gain.

1. A paper's rate is the largest mean gain of its next few reviews: if a decision is far from open the first review
   alone changes nothing, and two or three together do.
2. The paper of highest rate gets a review; of equals the first.
3. Among the allowed reviewers, the cheapest writes it, then one of fewest new reviews, then of highest precision.

Gains of different papers add up. If every further review of a paper gains less than the one before, reviewers are
alike and no load, conflict or limit binds, no other choice gains more; otherwise there is no guarantee.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner._plans.constraints import as_pairs
from reviewgraph._base import TIE, largest, reaches, snapped

if TYPE_CHECKING:
    from planner._plans.objectives import Objective
    from planner._plans.target import Target
    from planner._plans.task import Left, Task
    from reviewgraph._base import BoolArray, Clock, FloatArray, IntArray

#: Reviews of one paper that are evaluated together.
TOGETHER = 3


class Discussion(NamedTuple):
    """An action instead of a review: it costs ``price`` reviews, and tells as much of a paper as ``worth`` reviews."""

    price: float
    worth: float


class Chosen(NamedTuple):
    """Reviews ``pairs`` (P, 2) in the order chosen, and the precision of their items ``before`` and ``after`` each.

    ``talks`` lists the items to discuss, each with the number of reviews chosen before it.
    """

    pairs: IntArray
    before: FloatArray
    after: FloatArray
    talks: tuple[tuple[int, int], ...] = ()


def choose(
    aim: Objective,
    task: Task,
    taken: IntArray,
    most: int,
    worth: float = 0.0,
    discussion: Discussion | None = None,
    discussed: IntArray | None = None,
) -> Chosen:
    """Choose at most ``most`` reviews in addition to those ``taken``, shape (T, 2), of rates above ``worth``.

    With ``discussion`` papers are discussed where that has a higher rate, each at most once, those ``discussed``, codes
    (D,), not again. Takes N evaluations at first, then the time of N + M per review.
    """
    left = task.left(taken)
    rules = task.constraints
    readers = _Readers(task, taken, left)
    extra = aim.beliefs.brought_by(taken)
    every = np.arange(rules.reviews.n_items)
    open_ = np.ones(every.size, np.bool_)
    whole = float(aim.losses(every, extra).sum())
    least = max(TIE * whole, worth)
    precision = snapped(aim.beliefs.review_precision)
    rate = rates(aim, every, extra, left.room, most)
    talking = _Talks(aim, extra, discussion, discussed)
    pairs: list[tuple[int, int]] = []
    before = []
    after = []
    while (remaining := most - len(pairs) - talking.cost) >= min(1, talking.price):
        item = largest(np.where(open_, rate, -np.inf), whole)
        best = float(rate[item]) if open_[item] and remaining >= 1 else -np.inf
        if (paper := talking.better_than(max(best, least), remaining, whole)) is not None:
            talking.take(paper, len(pairs))
            item = paper
            extra[item] += talking.brings
        elif best <= least:
            break
        else:
            reviewer = readers.best(item, precision)
            if reviewer is None:
                open_[item] = False
                continue
            readers.take(reviewer, item)
            pairs.append((reviewer, item))
            before.append(extra[item])
            extra[item] += aim.beliefs.review_precision[reviewer]
            after.append(extra[item])
        # The last few reviews of the budget limit the number per paper.
        remaining = most - len(pairs) - talking.cost
        changed = every if remaining < TOGETHER else every[item : item + 1]
        rate[changed] = rates(aim, changed, extra[changed], left.room[changed], int(remaining))
        talking.look(item, extra)
    return Chosen(as_pairs(pairs), np.array(before), np.array(after), tuple(talking.taken))


class _Talks:
    """Discussions of papers, and the gain of each per review that it costs; none without a ``discussion``."""

    def __init__(
        self, aim: Objective, extra: FloatArray, discussion: Discussion | None, discussed: IntArray | None
    ) -> None:
        self.taken = list[tuple[int, int]]()
        self.aim = aim
        self.price = np.inf if discussion is None else discussion.price
        self.brings = 0.0 if discussion is None else discussion.worth * aim.beliefs.typical
        self.rate = np.full(extra.size, -np.inf)
        if discussion is not None:
            self.open = np.ones(extra.size, np.bool_)
            self.open[[] if discussed is None else discussed] = False
            self.rate = np.where(self.open, self._rates(np.arange(extra.size), extra), -np.inf)

    @property
    def cost(self) -> float:
        """Number of reviews that the discussions cost."""
        return self.price * len(self.taken) if self.taken else 0

    def better_than(self, rate: float, remaining: float, scale: float) -> int | None:
        """Return the paper whose discussion has the highest rate, if that is above another and within the budget."""
        if not self.rate.size or remaining < self.price:
            return None
        paper = largest(self.rate, scale)
        return None if reaches(rate, self.rate[paper], scale) else paper

    def take(self, item: int, place: int) -> None:
        self.taken.append((item, place))
        self.rate[item] = -np.inf
        self.open[item] = False

    def look(self, item: int, extra: FloatArray) -> None:
        """Compute the rate of a paper anew."""
        if self.brings and self.open[item]:
            self.rate[item] = self._rates(np.array([item]), extra[item : item + 1])[0]

    def _rates(self, item: IntArray, extra: FloatArray) -> FloatArray:
        return (self.aim.losses(item, extra) - self.aim.losses(item, extra + self.brings)) / self.price


def choose_alike(aim: Objective, task: Task, taken: IntArray, most: int, worth: float, group: IntArray) -> Chosen:
    """Choose as :func:`choose`, but papers of one ``group`` (N,) get the same number of reviews, or none.

    A group for one of whose papers no reviewer is found gets no further reviews.
    """
    left = task.left(taken)
    readers = _Readers(task, taken, left)
    extra = aim.beliefs.brought_by(taken)
    members = [np.flatnonzero(group == code) for code in range(int(group.max(initial=-1)) + 1)]
    open_ = np.array([bool(own.size) for own in members], np.bool_)
    whole = float(aim.losses(np.arange(group.size), extra).sum())
    least = max(TIE * whole, worth)
    precision = snapped(aim.beliefs.review_precision)
    pairs: list[tuple[int, int]] = []
    before = []
    after = []
    rate = np.zeros(len(members))
    sizes = np.array([own.size for own in members], np.int64)
    changed = list(range(len(members)))
    while open_.any():
        remaining = most - len(pairs)
        for code in changed:
            rate[code] = _rate_together(aim, members[code], extra, left.room, remaining)
        code = largest(np.where(open_, rate, -np.inf), whole)
        if not open_[code] or rate[code] <= least:
            break
        asked = readers.one_each(members[code].tolist(), precision)
        if asked is None:
            open_[code] = False
            changed = []
            continue
        for reviewer, item in asked:
            pairs.append((reviewer, item))
            before.append(extra[item])
            extra[item] += aim.beliefs.review_precision[reviewer]
            after.append(extra[item])
        # The budget limits the number per paper of the others, too, once it is small.
        small = np.flatnonzero(TOGETHER * sizes > remaining - len(asked))
        changed = sorted({code, *small.tolist()})
    return Chosen(as_pairs(pairs), np.array(before), np.array(after))


def _rate_together(aim: Objective, item: IntArray, extra: FloatArray, room: IntArray, most: int) -> float:
    """Return the best gain per review over the next few typical reviews of all papers of a group."""
    now = float(aim.losses(item, extra[item]).sum())
    best = 0.0
    size = item.size
    for count in range(1, min(TOGETHER, most // size, int(room[item].min())) + 1):
        then = float(aim.losses(item, extra[item] + count * aim.beliefs.typical).sum())
        best = max(best, (now - then) / (count * size))
    return best


def rates(aim: Objective, item: IntArray, extra: FloatArray, room: IntArray, most: int) -> FloatArray:
    """Return the best gain per review over the next few typical reviews of each item, shape (K,).

    ``extra`` is the precision beyond the pending one and ``room`` the number of reviews each item may get, shape (K,);
    ``most`` reviews are left in all.
    """
    now = aim.losses(item, extra)
    best = np.zeros(item.size)
    for count in range(1, min(TOGETHER, most) + 1):
        then = aim.losses(item, extra + count * aim.beliefs.typical)
        best = np.maximum(best, np.where(room >= count, (now - then) / count, 0.0))
    return best


class _Readers:
    """Reviewers who may still review an item, and the number of new reviews each has."""

    def __init__(self, task: Task, taken: IntArray, left: Left) -> None:
        self.rules = task.constraints
        self.left = left
        n_reviewers = left.spare.size
        n_items = left.room.size
        everything = np.concatenate([self.rules.fixed, taken])
        self.load = np.bincount(everything[:, 0], minlength=n_reviewers)
        who = np.concatenate([np.repeat(np.arange(n_reviewers), np.diff(self.rules.barred_start)), everything[:, 0]])
        what = np.concatenate([self.rules.barred, everything[:, 1]])
        order = np.argsort(what, kind="stable")
        self.first = np.searchsorted(what[order], np.arange(n_items + 1))
        self.barred = who[order]
        self.new: dict[int, list[int]] = {}

    def best(self, item: int, precision: FloatArray) -> int | None:
        who = np.flatnonzero(self._may(item))
        if not who.size:
            return None
        cost = self.rules.cost.whole(who * self.left.room.size + item) if self.rules.cost else np.zeros(who.size)
        return int(who[np.lexsort((who, -precision[who], self.load[who], cost))[0]])

    def take(self, reviewer: int, item: int) -> None:
        self.left.take(reviewer, item)
        self.load[reviewer] += 1
        self.new.setdefault(item, []).append(reviewer)

    def one_each(self, items: list[int], precision: FloatArray) -> list[tuple[int, int]] | None:
        """Take one review of each item; None, and nothing is taken, if one of them has no reviewer."""
        asked: list[tuple[int, int]] = []
        for item in items:
            reviewer = self.best(item, precision)
            if reviewer is None:
                for other, paper in asked:
                    self.left.give_back(other, paper)
                    self.load[other] -= 1
                    self.new[paper].pop()
                return None
            self.take(reviewer, item)
            asked.append((reviewer, item))
        return asked

    def _may(self, item: int) -> BoolArray:
        may: BoolArray = (self.left.spare > 0) & (self.left.room[item] > 0)
        may[self.barred[self.first[item] : self.first[item + 1]]] = False
        may[self.new.get(item, [])] = False
        if self.left.places.any:
            may &= ~np.array([self.left.full(j, item) for j in range(may.size)])
        return may


def favoured(aim: Objective, target: Target, task: Task, pairs: IntArray, clock: Clock) -> IntArray:
    """Exchange the reviews of a plan, one after another, for replacements that cost no more and gain more.

    The plan stays as long, costs no more, reaches the target, and no load rises above the largest so far. ``pairs`` (P,
    2) leave out the fixed reviews. Time is that of the target's replacements, once per review.
    """
    for place in range(len(pairs)):
        if clock.over():
            break
        other = _best(aim, target, task, pairs, place, clock)
        if other is not None:
            pairs = pairs.copy()
            pairs[place] = other
    return pairs


def _best(
    aim: Objective, target: Target, task: Task, pairs: IntArray, place: int, clock: Clock
) -> tuple[int, int] | None:
    """Return the replacement of largest gain, the first of equals; None if the review itself gains as much."""
    own = (int(pairs[place, 0]), int(pairs[place, 1]))
    load = task.loads(pairs)
    cost = task.constraints.whole_cost_of
    most = int(load.max())
    options = [
        other
        for other in target.stand_ins(task, pairs, place, clock)
        if cost(*other) <= cost(*own) and load[other[0]] + (other[0] != own[0]) <= most
    ]
    who, what = np.array([own, *options], np.int64).T
    extra = aim.beliefs.brought_by(np.delete(pairs, place, axis=0))[what]
    gain = aim.losses(what, extra) - aim.losses(what, extra + aim.beliefs.review_precision[who])
    best = largest(gain, float(aim.losses(what, extra).max()))
    return options[best - 1] if best else None
