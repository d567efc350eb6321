"""Extra reviews in rounds: what to ask for now, how much to hold back, and what each further round is expected to save.

A process has a budget of reviews and a number of rounds, that is of mailings. Each call plans one round from the scores
so far and decides by rollouts of the rest of the process; the next call has one round less, and what is left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from planner._plans.constraints import as_pairs, no_pairs
from planner._plans.covering import cover, why_uncovered
from planner._plans.kernels.cascade import may_read, use
from planner._plans.objectives import ERROR_RATE
from planner._plans.rounds import Expected, Match, Papers, matched, play, rollouts_for, schedule
from reviewgraph._base import TIE, FloatArray, IntArray, counted, largest, percent, snapped

if TYPE_CHECKING:
    from planner._plans.objectives import Decision
    from planner._plans.target import Ledger
    from planner._plans.task import Task

#: What reviews are for, in letters to reviewers.
OPEN = "decide on papers whose reviews so far leave it open whether they are selected"


class Terms(NamedTuple):
    """What a process may spend.

    ``left`` rounds with this one, 0 if a match finds their number; ``budget`` reviews in all, None likewise, or for
    what papers must have and one more for each open decision. Every paper gets ``least`` reviews first; ``match`` is
    the number of reviews per paper that the process is to match. With ``first_phase`` there are no scores yet, and this
    round asks for the reviews that every paper must have alone.
    """

    left: int
    budget: int | None
    least: int = 0
    match: int | None = None
    first_phase: bool = False
    stated: bool = True  # whether the budget was passed, or found by a match


@dataclass(frozen=True)
class Rounds:
    """A round of a process, and what the rest of it is expected to bring.

    Parameters
    ----------
    terms
        What the process may spend; rounds and budget are numbers.
    select
        Number of papers to be selected.
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
    select: int
    now: int
    required: int
    before: float
    after: tuple[Expected, ...]
    match: Match | None
    capacity: int
    rollouts: int
    seed: int

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
    def helps(self) -> str:
        """What completes "it helps us ..." in letters to reviewers."""
        if not self.required or not self.terms.least:
            return OPEN
        every = f"give every paper {counted(self.terms.least, 'review')} or more"
        return f"{every}, and {OPEN}" if self.now > self.required else every

    @property
    def stop(self) -> str | None:
        """Why the process ends here; None if it asks for something."""
        if self.now or self.terms.first_phase:
            return None
        return why_no_more(self.budget, self.capacity, stated=self.terms.stated)

    def to_dict(self) -> dict[str, Any]:
        return {
            "left": self.left,
            "budget": self.budget,
            "now": self.now,
            "required": self.required,
            "held_back": self.held_back,
            "select": self.select,
            "stop": self.stop,
            "before": self.before,
            "after": [expected._asdict() for expected in self.after],
            "capacity": self.capacity,
            "rollouts": self.rollouts,
            "seed": self.seed,
        }


def why_no_more(budget: int, capacity: int, *, stated: bool) -> str:
    """Return why no review is chosen, where loads, limits and conflicts allow ``capacity`` of them.

    ``budget`` is the number of open decisions unless it was ``stated``.
    """
    if not capacity:
        return "loads, limits and conflicts allow no further review"
    if budget:
        return "no further review that is allowed is expected to avoid a wrong selection"
    settled = f"every decision is settled, with an error probability of {percent(ERROR_RATE)} or less"
    return "the budget is spent" if stated else settled


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


def choose(aim: Decision, task: Task, taken: IntArray, most: int) -> IntArray:
    """Choose at most ``most`` reviews in addition to those ``taken``, shape (T, 2), that gain something.

    Returns them in the order chosen, shape (P, 2). Takes N evaluations at first, then the time of N + M per review.
    """
    board = task.board(taken)
    room = np.asarray(board.room)
    planned = set(map(tuple, taken.tolist()))
    extra = aim.beliefs.brought_by(taken)
    who = np.arange(task.spare.size)
    every = np.arange(task.n_items)
    open_ = np.ones(every.size, np.bool_)
    whole = float(aim.losses(every, extra).sum())
    precision = snapped(aim.beliefs.review_precision)
    rate = rates(aim, every, extra, room, most)
    pairs: list[tuple[int, int]] = []
    while len(pairs) < most:
        item = largest(np.where(open_, rate, -np.inf), whole)
        if not open_[item] or rate[item] <= TIE * whole:
            break
        order = np.lexsort((who, -precision, board.load, _prices(task, item)))
        able = (j for j in order.tolist() if may_read(board, j, item) and (j, item) not in planned)
        reviewer = next(able, None)
        if reviewer is None:
            open_[item] = False
            continue
        use(board, reviewer, item, 1)
        planned.add((reviewer, item))
        pairs.append((reviewer, item))
        extra[item] += aim.beliefs.review_precision[reviewer]
        # The last few reviews of the budget limit the number per paper.
        remaining = most - len(pairs)
        changed = every if remaining < TOGETHER else every[item : item + 1]
        rate[changed] = rates(aim, changed, extra[changed], room[changed], remaining)
    return as_pairs(pairs)


def rates(aim: Decision, item: IntArray, extra: FloatArray, room: IntArray, most: int) -> FloatArray:
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


def _prices(task: Task, item: int) -> IntArray:
    """Shape (M,): the cost of a review of an item by each reviewer."""
    cost = task.constraints.cost
    who = np.arange(task.spare.size)
    return cost.whole(who * task.n_items + item) if cost else np.zeros_like(who)


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
    room = task.capacity(first)
    sure = len(task.constraints.fixed) + len(first)
    beliefs = aim.beliefs
    pending = beliefs.pending + beliefs.brought_by(first)
    papers = Papers(beliefs.mean, beliefs.sd, pending, beliefs.typical, aim.n)
    # The first phase asks for required reviews alone.
    lead = int(terms.first_phase)
    match = None
    if terms.match is not None:
        count = task.table(first).reviews_per_item
        match = matched(papers, count, terms.match, terms.left, lead, seed, tell)
        terms = terms._replace(budget=sure + match.more, left=lead + match.needed.rounds)
    elif terms.budget is None:
        terms = terms._replace(budget=sure + aim.worth_reading, stated=False)
    parts = [0] * lead + schedule(min(int(terms.budget or 0) - sure, room), terms.left - lead)
    # Required reviews come first, and the share of this round in addition.
    picked = choose(aim, task, first, parts[0])
    rollouts = rollouts_for(beliefs.mean.size)
    played = play(papers, parts, np.random.default_rng(seed), rollouts=rollouts)
    shown = Rounds(
        terms=terms,
        select=aim.n,
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
