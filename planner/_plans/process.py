"""Extra reviews in rounds: what to ask for now, how much to hold back, and what each further round is expected to save.

A process has a budget of reviews and a number of rounds, that is of mailings. Each call plans one round: it continues
the answer of the one before, learns from the scores that came in, and decides by rollouts of the rest of the process.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from planner._plans.constraints import as_pairs, no_pairs
from planner._plans.covering import cover, why_uncovered
from planner._plans.match import matched
from planner._plans.rounds import Expected, Papers, play, rollouts_for, schedule
from reviewgraph._base import TIE, InputError, counted, largest, snapped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from planner._plans.constraints import Constraints
    from planner._plans.match import Match
    from planner._plans.objectives import Decision, Objective
    from planner._plans.target import Ledger
    from planner._plans.task import Left, Task
    from reviewgraph._base import BoolArray, FloatArray, IntArray, Label
    from reviewgraph.io import Rules
    from reviewgraph.table import Reviews

#: What reviews are for, in letters to reviewers.
OPEN = "decide on papers whose reviews so far leave it open whether they are selected"


class Asked(NamedTuple):
    """A review that was asked for in some round."""

    round: int
    reviewer: Label
    item: Label


@dataclass(frozen=True)
class Terms:
    """What a process may spend, and what it has asked for so far.

    Parameters
    ----------
    left, budget
        Rounds and reviews that remain, this round's included; 0 and None where the answer before or a default decides.
    select
        Number of papers to be selected.
    worth
        Wrong selections that a review must be expected to avoid.
    number
        Number of this round; 0 for the first phase, before there are scores.
    match
        Reviews per paper of the assignment that the process is to match; its budget follows from it.
    rules
        Rules that the next round inherits.
    earlier
        Reviews of earlier rounds that are not lost.
    outstanding
        Those of them without a score.
    lost
        Those that will not come, as far as the round before did not know it.
    absent
        Outstanding reviews that are not among the reviews, planned ones included.
    """

    left: int
    budget: int | None
    select: int | None
    worth: float | None = None
    number: int = 1
    match: int | None = None
    rules: Mapping[str, int | None] = field(default_factory=dict)
    earlier: tuple[Asked, ...] = ()
    outstanding: tuple[Asked, ...] = ()
    lost: tuple[Asked, ...] = ()
    absent: tuple[Asked, ...] = ()


@dataclass(frozen=True)
class Rounds:
    """A round of a process, and what the rest of it is expected to bring.

    Parameters
    ----------
    terms
        What the process may spend; its budget is a number.
    now
        Reviews that are asked for.
    required
        The first of them, which papers short of reviews must have; the others are chosen by their gain.
    before
        Expected wrong selections as things stand.
    after
        By round: expected wrong selections.
    match
        What the process takes to decide as well as a number of reviews for every paper; None where nobody asked.
    capacity
        Upper bound on the reviews that loads and limits allow.
    rollouts, seed
        Number of rollouts, and their seed.
    """

    terms: Terms
    now: int
    required: int
    before: float
    after: tuple[Expected, ...]
    match: Match | None
    capacity: int
    rollouts: int
    seed: int

    @property
    def number(self) -> int:
        """Number of this round, 1 for the first after the first phase."""
        return self.terms.number

    @property
    def left(self) -> int:
        """Rounds that remain, this one included."""
        return self.terms.left

    @property
    def budget(self) -> int:
        """Reviews that remain, this round's included."""
        return int(self.terms.budget or 0)

    @property
    def unspent(self) -> int:
        """Reviews of the budget that remain after this round."""
        return max(self.budget - self.now, 0)

    @property
    def held_back(self) -> int:
        """Those of them that loads and limits allow, as far as the bound on these tells: they are kept for later."""
        return min(self.unspent, max(self.capacity - self.now, 0))

    @property
    def last(self) -> bool:
        """Whether no round can follow."""
        return self.left == 1 or not self.held_back or self.stop is not None

    @property
    def name(self) -> str:
        """Name of the round in conference systems."""
        return self.name_after(0)

    def name_after(self, more: int) -> str:
        """Return the name of the round that is ``more`` rounds later: R1 are the reviews before the first."""
        return f"R{1 + self.number + more}"

    @property
    def helps(self) -> str:
        """What completes "it helps us ..." in letters to reviewers."""
        least = self.terms.rules.get("min_reviews")
        if not self.required or not least:
            return OPEN
        every = f"give every paper {counted(int(least), 'review')} or more"
        return f"{every}, and {OPEN}" if self.now > self.required else every

    @property
    def stop(self) -> str | None:
        """Why the process ends here; None if it asks for something."""
        if self.now or not self.number:
            return None
        if not self.budget:
            return "the budget is spent"
        if not self.capacity:
            return "loads and limits allow no further review"
        if self.terms.worth:
            return f"no further review is expected to avoid {self.terms.worth:g} wrong selections or more"
        return "no further review that is allowed is expected to avoid a wrong selection"

    def to_dict(self) -> dict[str, Any]:
        terms = self.terms
        return {
            "number": self.number,
            "name": self.name,
            "left": self.left,
            "budget": self.budget,
            "now": self.now,
            "required": self.required,
            "held_back": self.held_back,
            "select": terms.select,
            "worth": terms.worth,
            "stop": self.stop,
            "before": self.before,
            "after": [expected._asdict() for expected in self.after],
            "capacity": self.capacity,
            "rules": dict(terms.rules),
            **{name: [review._asdict() for review in getattr(terms, name)] for name in PAST},
            "rollouts": self.rollouts,
            "seed": self.seed,
        }


#: Fields of :class:`Terms` with reviews of earlier rounds.
PAST = ("earlier", "outstanding", "lost", "absent")


# A process from the answer of its last round.

#: Rules that a round takes from the answer of the last one.
INHERITED = ("spare", "min_reviews", "max_per_item")
#: What the answer of a round has to have, so that it can be continued.
NEEDED = {"number", "left", "budget", "now", "held_back", "select", "worth", "rules", "earlier"}


def continued(terms: Terms, after: Mapping[str, Any]) -> Terms:
    """Return the terms of the round after an answer; what is not stated is taken from it.

    Reviews asked for so far are :attr:`Terms.earlier`, to be sorted out by :func:`received`.
    """
    last = after.get("rounds")
    lacking = NEEDED.difference(last) if isinstance(last, dict) else {"rounds"}
    if lacking or not isinstance(last, dict):
        message = (
            "after: expected the answer of a round, as plan --rounds --json writes it, found no "
            f"{', '.join(sorted(lacking))} in it; give the answer of the last round"
        )
        raise InputError(message)
    number = int(last["number"])
    left = terms.left or int(last["left"]) - 1
    if left < 1:
        message = f"after: round {number} was the last one; state the rounds left to plan another"
        raise InputError(message)
    earlier = [Asked(review["round"], review["reviewer"], review["item"]) for review in last["earlier"]]
    earlier += [Asked(number, review["reviewer"], review["item"]) for review in after["reviews"]]
    # The next round has what is unspent even if today's loads do not allow all of it.
    unspent = max(int(last["budget"]) - int(last["now"]), 0)
    return replace(
        terms,
        left=left,
        budget=unspent if terms.budget is None else terms.budget,
        select=last["select"] if terms.select is None else terms.select,
        worth=last["worth"] if terms.worth is None else terms.worth,
        number=number + 1,
        earlier=tuple(earlier),
    )


def inherited(stated: Rules, after: Mapping[str, Any]) -> Rules:
    """Return rules in which numbers that are not stated are those of the last round."""
    last = after["rounds"]["rules"]
    missing = {name: last[name] for name in INHERITED if getattr(stated, name) is None and last[name] is not None}
    return replace(stated, **missing)


def received(terms: Terms, reviews: Reviews, rules: Rules, *, stated: bool) -> tuple[Terms, Reviews]:
    """Find what came of the earlier reviews; returned are the table with the outstanding ones as planned reviews.

    A review that will not come is lost: its reviewer is gone, or the pair is gone or in conflict. The budget gets it
    back, unless it is ``stated``.
    """
    if unknown := [review.item for review in terms.earlier if review.item not in reviews.item_code]:
        message = (
            f"after: expected the answer for these reviews, found paper {unknown[0]!r} in it, which is not there; "
            "pass all reviews and papers that the last round was planned from, or the answer for these"
        )
        raise InputError(message)
    pairs = zip(reviews.reviewer.tolist(), reviews.item.tolist(), reviews.scored.tolist(), strict=True)
    is_scored = {(reviews.reviewers[j], reviews.items[i]): scored for j, i, scored in pairs}
    people, lost_pairs = _not_coming(rules, reviews)
    lost = list[Asked]()
    outstanding = list[Asked]()
    for review in terms.earlier:
        pair = review.reviewer, review.item
        if not is_scored.get(pair, False):
            (lost if review.reviewer in people or pair in lost_pairs else outstanding).append(review)
    table = _without(reviews, {(review.reviewer, review.item) for review in lost})
    table = table._with_labels([review.reviewer for review in outstanding])
    new = [review for review in outstanding if (review.reviewer, review.item) not in is_scored]
    if new:
        codes = np.array(
            [(table.reviewer_code[review.reviewer], table.item_code[review.item]) for review in new], np.int64
        )
        table = table._with_codes(codes[:, 0], codes[:, 1])
    budget = terms.budget if stated or terms.budget is None else terms.budget + len(lost)
    earlier = tuple(review for review in terms.earlier if review not in lost)
    terms_now = replace(
        terms, budget=budget, earlier=earlier, outstanding=tuple(outstanding), lost=tuple(lost), absent=tuple(new)
    )
    return terms_now, table


def _not_coming(rules: Rules, reviews: Reviews) -> tuple[set[Label], set[tuple[Label, Label]]]:
    """Return the reviewers, and the pairs, that will not deliver."""
    from reviewgraph.io import gone_of, pairs_of

    spellings = reviews._spellings()
    gone = gone_of(rules.gone, spellings)
    tables = [pairs_of(rules.conflicts or (), "conflicts", spellings)]
    tables += [] if gone.pairs is None else [gone.pairs]
    pairs = {
        (table.reviewers[j], table.items[i])
        for table in tables
        for j, i in zip(table.reviewer.tolist(), table.item.tolist(), strict=True)
    }
    return set(gone.reviewers), pairs


def _without(reviews: Reviews, pairs: set[tuple[Label, Label]]) -> Reviews:
    """Return the table without some pairs, which have no scores."""
    if not pairs:
        return reviews
    codes = zip(reviews.reviewer.tolist(), reviews.item.tolist(), strict=True)
    keep = np.array([(reviews.reviewers[j], reviews.items[i]) not in pairs for j, i in codes], np.bool_)
    return reviews if keep.all() else reviews.subset(keep)


def within_limits(rules: Constraints, earlier: Iterable[Asked]) -> Constraints:
    """Return constraints in which the reviews of earlier rounds count toward the loads and limits of extra reviews."""
    table = rules.reviews
    spare = rules.spare.copy()
    room = rules.room.copy()
    for review in earlier:
        if review.reviewer in table.reviewer_code:
            spare[table.reviewer_code[review.reviewer]] -= 1
        room[table.item_code[review.item]] -= 1
    return replace(rules, spare=np.maximum(spare, 0), room=np.maximum(room, 0))


# The choice of reviews, one after another, by their expected gain.
#
# 1. A paper's rate is the largest mean gain of its next few reviews: if a decision is far from open the first review
#    alone changes nothing, and two or three together do.
# 2. The paper of highest rate gets a review; of equals the first.
# 3. Among the allowed reviewers, the cheapest writes it, then one of fewest new reviews, then of highest precision.
#
# Gains of different papers add up. If every further review of a paper gains less than the one before, reviewers are
# alike and no load, conflict or limit binds, no other choice gains more; otherwise there is no guarantee.

#: Reviews of one paper that are evaluated together.
TOGETHER = 3


def choose(aim: Objective, task: Task, taken: IntArray, most: int, worth: float = 0.0) -> IntArray:
    """Choose at most ``most`` reviews in addition to those ``taken``, shape (T, 2), of rates above ``worth``.

    Returns them in the order chosen, shape (P, 2). Takes N evaluations at first, then the time of N + M per review.
    """
    left = task.left(taken)
    readers = _Readers(task, taken, left)
    extra = aim.beliefs.brought_by(taken)
    every = np.arange(task.constraints.reviews.n_items)
    open_ = np.ones(every.size, np.bool_)
    whole = float(aim.losses(every, extra).sum())
    least = max(TIE * whole, worth)
    precision = snapped(aim.beliefs.review_precision)
    rate = rates(aim, every, extra, left.room, most)
    pairs: list[tuple[int, int]] = []
    while len(pairs) < most:
        item = largest(np.where(open_, rate, -np.inf), whole)
        if not open_[item] or rate[item] <= least:
            break
        reviewer = readers.best(item, precision)
        if reviewer is None:
            open_[item] = False
            continue
        readers.take(reviewer, item)
        pairs.append((reviewer, item))
        extra[item] += aim.beliefs.review_precision[reviewer]
        # The last few reviews of the budget limit the number per paper.
        remaining = most - len(pairs)
        changed = every if remaining < TOGETHER else every[item : item + 1]
        rate[changed] = rates(aim, changed, extra[changed], left.room[changed], remaining)
    return as_pairs(pairs)


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

    def _may(self, item: int) -> BoolArray:
        may: BoolArray = (self.left.spare > 0) & (self.left.room[item] > 0)
        may[self.barred[self.first[item] : self.first[item + 1]]] = False
        may[self.new.get(item, [])] = False
        if self.left.places.any:
            may &= ~np.array([self.left.full(j, item) for j in range(may.size)])
        return may


# The reviews of this round.


def required(task: Task, ledger: Ledger) -> IntArray:
    """Return the fewest reviews that every paper must have, shape (P, 2), papers of fewest reviews first.

    They stay within the budget of the ledger, which records why they cannot be had.
    """
    if not task.needs.total:
        return no_pairs()
    filled = cover(task, no_pairs(), ledger.clock)
    if filled.impossible or filled.pairs is None:
        ledger.infeasible = ledger.explained = True
        ledger.reasons += why_uncovered(task) or ["no reviews were found that give every paper what it must have"]
        return no_pairs()
    order = np.argsort(task.table(no_pairs()).reviews_per_item[filled.pairs[:, 1]], kind="stable")
    return filled.pairs[order][: ledger.budget]


# The round, and the rest of the process by rollouts.


def at_most(spare: IntArray, room: IntArray, barred: IntArray) -> int:
    """Return an upper bound on the reviews that loads ``spare`` (M,), limits ``room`` (N,) and ``barred`` pairs allow.

    The smaller of two sums, over reviewers and over papers, of what each allows alone; the pairs, shape (P, 2), are
    distinct.

    >>> at_most(np.array([9, 1]), np.array([2, 2, 2]), np.array([[0, 0]]))
    3
    """
    who = spare > 0
    what = room > 0
    inside = barred[who[barred[:, 0]] & what[barred[:, 1]]]
    papers = what.sum() - np.bincount(inside[:, 0], minlength=spare.size)
    readers = who.sum() - np.bincount(inside[:, 1], minlength=room.size)
    return int(min(np.minimum(spare, papers)[who].sum(), np.minimum(room, readers)[what].sum()))


class Round(NamedTuple):
    """Reviews of a round: those ``first`` that are required, shape (P, 2), then those chosen by their gain."""

    first: IntArray
    more: IntArray
    rounds: Rounds


def round_of(
    aim: Decision, task: Task, terms: Terms, ledger: Ledger, seed: int, tell: Callable[[str], object]
) -> Round | None:
    """Plan the round of a process, see :class:`Terms`; None if papers cannot have what they must have.

    ``tell`` is called with lines on the progress.
    """
    first = required(task, ledger)
    if ledger.infeasible:
        return None
    rules = task.constraints
    left = task.left(first)
    closed = np.column_stack(np.divmod(rules.barred_pairs, max(rules.reviews.n_items, 1)))
    room = at_most(left.spare, left.room, np.concatenate([closed, first]))
    sure = len(rules.fixed) + len(first)
    beliefs = aim.beliefs
    pending = beliefs.pending + beliefs.brought_by(first)
    papers = Papers(beliefs.mean, beliefs.sd, pending, beliefs.typical, aim.n)
    # The first phase asks for required reviews alone.
    lead = int(terms.number == 0)
    match = None
    if terms.match is not None:
        count = task.table(first).reviews_per_item
        match = matched(papers, count, terms.match, terms.left, lead, seed, tell)
        terms = replace(terms, budget=sure + match.more, left=lead + match.needed.rounds)
    parts = [0] * lead + schedule(min(int(terms.budget or 0) - sure, room), terms.left - lead)
    # Required reviews come first, and the share of this round in addition.
    picked = choose(aim, task, first, parts[0], terms.worth or 0.0)
    rollouts = rollouts_for(beliefs.mean.size)
    played = play(papers, parts, np.random.default_rng(seed), worth=terms.worth or 0.0, rollouts=rollouts)
    shown = Rounds(
        terms=terms,
        now=sure + len(picked),
        required=sure,
        before=float(played.mean[0]),
        after=tuple(Expected.of(played, place, sure) for place in range(1, terms.left + 1)),
        match=match,
        capacity=room + sure,
        rollouts=rollouts,
        seed=seed,
    )
    return Round(first, picked, shown)
