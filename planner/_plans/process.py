"""Extra reviews in rounds: what to ask for now, how much to hold back, and what each further round is expected to save.

A process has a budget of reviews and a number of rounds, that is of mailings. Each call plans one round: it continues
the answer of the one before, learns from the scores that came in, and decides by rollouts of the rest of the process.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from planner._plans.constraints import no_pairs
from planner._plans.covering import cover
from planner._plans.lower_bounds import why_uncovered
from planner._plans.rounds import SHAPES, Papers, play, schedule
from reviewgraph._base import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from planner._plans.constraints import Constraints
    from planner._plans.objectives import Decision
    from planner._plans.rounds import Rollouts
    from planner._plans.target import Ledger
    from planner._plans.task import Task
    from reviewgraph._base import IntArray, Label
    from reviewgraph.io import Gone, Rules
    from reviewgraph.table import Reviews

#: Rollouts, and the papers times rollouts above which there are fewer.
ROLLOUTS, FEWEST_ROLLOUTS, MOST_PAPERS = 64, 16, 80_000
#: Paired standard errors by which another schedule must beat equal rounds.
SURE = 2.0


class Asked(NamedTuple):
    """A review that was asked for in some round."""

    round: int
    reviewer: Label
    item: Label


@dataclass(frozen=True)
class Terms:
    """What a process may spend, and what it has asked for so far.

    ``budget`` and ``left`` are the reviews and the rounds that remain, this round's included; a budget of None is the
    default of the objective. ``missing`` is the probability that a review does not arrive, ``worth`` the wrong
    selections that a review must be expected to avoid; ``rules`` are those that the next round inherits. ``earlier`` lists the reviews of earlier rounds that are not
    lost, ``outstanding`` those of them without a score, and ``lost`` those that will not come.
    """

    left: int
    budget: int | None
    select: int | None
    worth: float | None = None
    missing: float | None = None
    number: int = 1
    rules: Mapping[str, int | None] = field(default_factory=dict)
    earlier: tuple[Asked, ...] = ()
    outstanding: tuple[Asked, ...] = ()
    lost: tuple[Asked, ...] = ()

    @property
    def arrive(self) -> float:
        """Probability that a review arrives."""
        return 1.0 - (self.missing or 0.0)


class Expected(NamedTuple):
    """Expected number of wrong selections, its Monte Carlo error, and the expected number of reviews spent by then."""

    rounds: int
    reviews: float
    wrong: float
    error: float


class Tried(NamedTuple):
    """A schedule: its name, its reviews by round, and its gain over equal rounds in wrong selections, with the error."""

    name: str
    reviews: tuple[int, ...]
    gain: float
    error: float


@dataclass(frozen=True)
class Rounds:
    """A round of a process, and what the rest of it is expected to bring.

    Parameters
    ----------
    terms
        What the process may spend; its budget is a number.
    share
        Reviews that the schedule has for this round.
    now
        Reviews that are asked for.
    schedule
        The chosen schedule; the first round is this one.
    tried
        All schedules.
    before
        Expected wrong selections as things stand.
    after
        By round of the chosen schedule: expected wrong selections.
    reach
        With 1, 2, ... rounds of equal size: expected wrong selections in the end.
    capacity
        Upper bound on the reviews that loads and limits allow.
    rollouts, seed
        Number of rollouts, and their seed.
    """

    terms: Terms
    share: int
    now: int
    schedule: Tried
    tried: tuple[Tried, ...]
    before: float
    after: tuple[Expected, ...]
    reach: tuple[Expected, ...]
    capacity: int
    rollouts: int
    seed: int

    @property
    def budget(self) -> int:
        """Reviews that remain, this round's included."""
        return int(self.terms.budget or 0)

    @property
    def held_back(self) -> int:
        """Reviews that are kept for later rounds."""
        return self.budget - self.now

    @property
    def stop(self) -> str | None:
        """Why the process ends here; None if it asks for reviews."""
        if self.now:
            return None
        if not self.budget:
            return "the budget is spent"
        if self.terms.worth:
            return f"no further review is expected to avoid {self.terms.worth:g} wrong selections or more"
        return "no further review is expected to avoid a wrong selection, or none is allowed"

    def to_dict(self) -> dict[str, Any]:
        terms = self.terms
        return {
            "number": terms.number,
            "left": terms.left,
            "budget": self.budget,
            "now": self.now,
            "held_back": self.held_back,
            "select": terms.select,
            "worth": terms.worth,
            "missing": terms.missing,
            "stop": self.stop,
            "before": self.before,
            "after": [one._asdict() for one in self.after],
            "reach": [one._asdict() for one in self.reach],
            "schedule": self.schedule.name,
            "tried": [one._asdict() for one in self.tried],
            "capacity": self.capacity,
            "rules": dict(terms.rules),
            "earlier": [one._asdict() for one in terms.earlier],
            "outstanding": [one._asdict() for one in terms.outstanding],
            "lost": [one._asdict() for one in terms.lost],
            "rollouts": self.rollouts,
            "seed": self.seed,
        }


# A process from its arguments, and from the answer of its last round.


def continued(terms: Terms, after: Mapping[str, Any]) -> Terms:
    """Return the terms of the round after an answer; what is not stated is taken from it.

    ``terms.left`` 0, and a budget of None, are not stated. Reviews asked for so far are :attr:`Terms.earlier`.
    """
    last = after.get("rounds")
    if not isinstance(last, dict) or "number" not in last:
        message = "after: expected the answer of a round, as plan --rounds --json writes it, found no key rounds in it"
        raise InputError(message)
    number = int(last["number"])
    left = terms.left or int(last["left"]) - 1
    if left < 1:
        message = f"after: round {number} was the last one; state the rounds left for another"
        raise InputError(message)
    earlier = [Asked(one["round"], one["reviewer"], one["item"]) for one in last["earlier"]]
    earlier += [Asked(number, one["reviewer"], one["item"]) for one in after["reviews"]]
    return replace(
        terms,
        left=left,
        budget=last["held_back"] if terms.budget is None else terms.budget,
        select=last["select"] if terms.select is None else terms.select,
        worth=last["worth"] if terms.worth is None else terms.worth,
        missing=last["missing"] if terms.missing is None else terms.missing,
        number=number + 1,
        earlier=tuple(earlier),
    )


def received(terms: Terms, reviews: Reviews, rules: Rules, *, stated: bool) -> tuple[Terms, Reviews]:
    """Find what came of the earlier reviews; returned are the table with the outstanding ones as planned reviews.

    A review that will not come is lost: its reviewer is gone, or the pair is gone or in conflict. Unless the budget is
    ``stated``, it gets the lost reviews back.
    """
    if not terms.earlier:
        return terms, reviews
    unknown = [one.item for one in terms.earlier if one.item not in reviews.item_code]
    if unknown:
        message = (
            f"after: expected the answer for these reviews, found paper {unknown[0]!r} in it, which they do not have"
        )
        raise InputError(message)
    pairs = list(zip(reviews.reviewer.tolist(), reviews.item.tolist(), reviews.scored.tolist(), strict=True))
    there = {(reviews.reviewers[j], reviews.items[i]): scored for j, i, scored in pairs}
    gone = _lost_pairs(rules, reviews)
    open_ = [one for one in terms.earlier if not there.get((one.reviewer, one.item), False)]
    lost = [one for one in open_ if one.reviewer in gone.reviewers or (one.reviewer, one.item) in gone.pairs]
    outstanding = [one for one in open_ if one not in lost]
    table = _without(reviews, {(one.reviewer, one.item) for one in lost})
    table = table.with_labels([one.reviewer for one in outstanding])
    new = [one for one in outstanding if (one.reviewer, one.item) not in there]
    added = np.array([(table.reviewer_code[one.reviewer], table.item_code[one.item]) for one in new], np.int64)
    table = table.with_codes(*added.reshape(-1, 2).T) if new else table
    budget = terms.budget if stated or terms.budget is None else terms.budget + len(lost)
    earlier = tuple(one for one in terms.earlier if one not in lost)
    found = replace(terms, budget=budget, earlier=earlier, outstanding=tuple(outstanding), lost=tuple(lost))
    return found, table


#: Rules that a round takes from the answer of the last one.
INHERITED = ("spare", "min_reviews", "max_per_item")


def inherited(stated: Rules, after: Mapping[str, Any]) -> Rules:
    """Return rules in which numbers that are not stated are those of the last round."""
    last = after["rounds"]["rules"]
    missing = {name: last[name] for name in INHERITED if getattr(stated, name) is None and last[name] is not None}
    return replace(stated, **missing)


class _Lost(NamedTuple):
    reviewers: set[Label]
    pairs: set[tuple[Label, Label]]


def _lost_pairs(rules: Rules, reviews: Reviews) -> _Lost:
    """Return who, and which pairs, will not deliver."""
    from reviewgraph.io import gone_of, pairs_of

    spellings = reviews.spellings()
    gone: Gone = gone_of(rules.gone, spellings)
    tables = [
        pairs_of(rules.conflicts or (), "conflicts", spellings),
        *([gone.pairs] if gone.pairs is not None else []),
    ]
    pairs = {
        (table.reviewers[j], table.items[i])
        for table in tables
        for j, i in zip(table.reviewer.tolist(), table.item.tolist(), strict=True)
    }
    return _Lost(set(gone.reviewers), pairs)


def _without(reviews: Reviews, pairs: set[tuple[Label, Label]]) -> Reviews:
    """Return the table without some pairs, which have no scores."""
    if not pairs:
        return reviews
    codes = zip(reviews.reviewer.tolist(), reviews.item.tolist(), strict=True)
    keep = np.array([(reviews.reviewers[j], reviews.items[i]) not in pairs for j, i in codes], np.bool_)
    return reviews if keep.all() else reviews.subset(keep)


def within_limits(rules: Constraints, earlier: Iterable[Asked]) -> Constraints:
    """Return constraints in which the reviews of earlier rounds count toward the loads and limits of extra reviews."""
    table, spare, room = rules.reviews, rules.spare.copy(), rules.room.copy()
    for one in earlier:
        if one.reviewer in table.reviewer_code:
            spare[table.reviewer_code[one.reviewer]] -= 1
        room[table.item_code[one.item]] -= 1
    return replace(rules, spare=np.maximum(spare, 0), room=np.maximum(room, 0))


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


# The rest of the process, by rollouts.


class Outlook(NamedTuple):
    """What the rest of a process is expected to bring, before the reviews of this round are chosen."""

    chosen: Tried
    tried: tuple[Tried, ...]
    played: Rollouts
    reach: tuple[Expected, ...]
    seed: int
    capacity: int

    def round(self, terms: Terms, now: int) -> Rounds:
        """Return the round that asks for ``now`` reviews."""
        wrong, error, spent = self.played.mean, self.played.error, self.played.spent.mean(axis=0).cumsum()
        after = tuple(
            Expected(place + 1, float(spent[place]), float(wrong[place + 1]), float(error[place + 1]))
            for place in range(len(wrong) - 1)
        )
        return Rounds(
            terms,
            self.chosen.reviews[0],
            now,
            self.chosen,
            self.tried,
            float(wrong[0]),
            after,
            self.reach,
            self.capacity,
            len(self.played.wrong),
            self.seed,
        )


def outlook(aim: Decision, task: Task, terms: Terms, taken: IntArray, budget: int, rng: np.random.Generator) -> Outlook:
    """Choose the schedule of a budget, after reviews ``taken`` (T, 2) of this round, by rollouts with common draws."""
    beliefs, rules = aim.beliefs, task.constraints
    left = task.left(taken)
    capacity = int(min(left.spare.astype(float).sum(), left.room.astype(float).sum(), rules.reviews.n_items * 1e6))
    papers = Papers(
        beliefs.mean,
        beliefs.sd,
        (beliefs.pending + beliefs.brought_by(taken)) / terms.arrive,
        beliefs.typical / terms.arrive,
        aim.n,
    )
    seed, number = int(rng.integers(2**32)), rollouts_for(beliefs.mean.size)
    spendable = min(budget, capacity)

    def played(parts: Sequence[int]) -> Rollouts:
        draws = np.random.default_rng(seed)
        return play(papers, parts, draws, arrive=terms.arrive, worth=terms.worth or 0.0, rollouts=number)

    plain = [played(schedule(spendable, rounds)) for rounds in range(1, terms.left + 1)]
    reach = tuple(
        Expected(rounds, float(one.spent.sum(axis=1).mean()), float(one.mean[-1]), float(one.error[-1]))
        for rounds, one in enumerate(plain, 1)
    )
    equal = plain[-1]
    tried, best, chosen = [], equal, 0
    for name in SHAPES:
        parts = schedule(spendable, terms.left, name)
        one = equal if name == "equal" or parts == schedule(spendable, terms.left) else played(parts)
        gains = equal.wrong[:, -1] - one.wrong[:, -1]
        error = float(gains.std(ddof=1) / np.sqrt(gains.size))
        tried.append(Tried(name, tuple(parts), float(gains.mean()), error))
        if gains.mean() > SURE * error and gains.mean() > tried[chosen].gain:
            chosen, best = len(tried) - 1, one
    return Outlook(tried[chosen], tuple(tried), best, reach, seed, capacity)


def rollouts_for(papers: int) -> int:
    """Return the number of rollouts: the relative error falls with the papers, too.

    >>> rollouts_for(400), rollouts_for(5_000)
    (64, 16)
    """
    return int(np.clip(MOST_PAPERS // max(papers, 1), FEWEST_ROLLOUTS, ROLLOUTS))
