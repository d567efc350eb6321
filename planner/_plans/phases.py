"""Reviews in phases before there are scores, and phases played through on a table whose scores are known.

Before any score the papers are N(0, 1), in units of the spread of qualities, and the beliefs after a first phase are
drawn; from there :mod:`planner._plans.rounds` goes on. On a table with many scores per paper some are hidden, and
shown where a rule asks for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner._plans.constraints import no_pairs
from planner._plans.objectives import Decision, beliefs_of
from planner._plans.rounds import DEEP, Papers, expected_wrong, play, schedule, spend, step_rates
from reviewgraph._base import order_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner._plans.objectives import Beliefs
    from reviewgraph._base import BoolArray, FloatArray, IntArray
    from reviewgraph.graph import Assumptions
    from reviewgraph.table import Reviews

#: Steps of the fixed point of :func:`review_precision`, which converges by a factor of ten or more each.
STEPS = 60


def review_precision(assumptions: Assumptions, per_paper: float, load: float) -> float:
    """Return the precision of one review as a measurement of a quality, in units of the spread of qualities.

    ::

        p = 1 / (s^2 + b + a),  b = 1 / (1 / severity^2 + (k - 1) / (s^2 + v)),  a likewise of stretch,
        v = 1 / (1 + (r - 1) p)

    A score has the noise s, and what is still unknown of its reviewer once the other k - 1 of the k scores of the
    reviewer are in: the variances b of the severity and a of the stretch, at a quality one spread from the mean. Each
    of those scores is compared with a paper that is known to v from its other r - 1 reviews. So the expected error of
    a paper of r reviews is ``1 / sqrt(1 + r p)``, exact where the graph of reviews has no short cycles.

    >>> from reviewgraph import Assumptions
    >>> round(review_precision(Assumptions(noise=0.5, severity=0.0, stretch=0.0), 3, 5), 6)
    4.0
    >>> bool(review_precision(Assumptions(), 3, 10) > review_precision(Assumptions(), 3, 2))
    True
    """
    noise = assumptions.noise**2
    precision = 1.0 / (noise + assumptions.severity**2 + assumptions.stretch**2)
    for _ in range(STEPS):
        other = 1.0 / (1.0 + max(per_paper - 1.0, 0.0) * precision)
        learned = max(load - 1.0, 0.0) / (noise + other)
        unknown = [
            1.0 / (spread**-2 + learned) if spread else 0.0 for spread in (assumptions.severity, assumptions.stretch)
        ]
        precision = 1.0 / (noise + sum(unknown))
    return precision


#: Splits of a budget that are compared, at most, and the steps between them in reviews per paper.
MOST_SPLITS = 8
GRID = (0.05, 0.1, 0.2, 0.25, 0.5, 1.0, 2.0, 5.0)


def first_phases(n_items: int, n_reviews: int) -> list[int]:
    """Return numbers of reviews for a first phase: from one per paper to all but a few, and all, in equal steps.

    >>> first_phases(400, 1200)
    [400, 500, 600, 700, 800, 900, 1000, 1100, 1200]
    >>> first_phases(400, 400)
    [400]
    """
    room = n_reviews / n_items - 1.0
    step = next((step for step in GRID if room / step <= MOST_SPLITS), room / MOST_SPLITS)
    count = int(np.ceil(room / step - 1e-9))
    return sorted({*(round(n_items * (1.0 + place * step)) for place in range(count)), n_reviews})


class Outcome(NamedTuple):
    """Expected wrong selections at the end in each of D draws, shape (D,), and reviews asked for, shape (D,)."""

    wrong: FloatArray
    asked: IntArray


def after_phases(
    n_items: int,
    first: int,
    budgets: Sequence[int],
    select: int,
    precision: float,
    *,
    early: float | None = None,
    missing: float,
    draws: int,
    seed: int,
) -> Outcome:
    """Draw a first phase of ``first`` reviews and play rounds of some ``budgets`` after it, ``draws`` times.

    Papers are N(0, 1) and get ``first / n_items`` reviews each, rounded up for some of them and down for the others; a
    review fails to arrive with probability ``missing``. A review has the ``precision`` that it has once all are in, and
    until the first round that of the first phase alone, ``early``, at which less is known of its reviewer. The same
    ``seed`` gives the same qualities and noise for every split.

    >>> flat = after_phases(100, 300, [], 10, 0.8, missing=0.0, draws=20, seed=0)
    >>> split = after_phases(100, 200, [50, 50], 10, 0.8, missing=0.0, draws=20, seed=0)
    >>> bool(flat.wrong.mean() > split.wrong.mean()), split.asked.tolist() == [100] * 20
    (True, True)
    """
    wrong = np.empty(draws)
    asked = np.zeros(draws, np.int64)
    each, rest = divmod(first, n_items)
    now = precision if early is None else early
    for draw, sequence in enumerate(np.random.SeedSequence(seed).spawn(draws)):
        own, later = (np.random.default_rng(one) for one in sequence.spawn(2))
        quality = own.standard_normal(n_items)
        # Reviews are numbered by paper, so that a larger first phase adds to a smaller one.
        noise = own.standard_normal((n_items, each + 1))
        late = own.random((n_items, each + 1))
        order = own.permutation(n_items)
        count = np.full(n_items, each)
        count[order[:rest]] += 1
        comes = (np.arange(each + 1) < count[:, np.newaxis]) & (late >= missing)
        arrived = comes.sum(axis=1)
        known = 1.0 + arrived * now
        mean = (arrived * now * quality + np.sqrt(now) * (noise * comes).sum(axis=1)) / known
        # What later scores reveal about the reviewers of the first phase comes with the first round, whoever is late.
        pending = arrived * (precision - now) / (1.0 - missing)
        papers = Papers(mean, known**-0.5, pending, precision, select)
        if not budgets:
            wrong[draw] = expected_wrong(papers.mean, papers.sd, select)
            continue
        played = play(papers, budgets, later, arrive=1.0 - missing, rollouts=1)
        wrong[draw], asked[draw] = played.wrong[0, -1], played.asked.sum()
    return Outcome(wrong, asked)


def paired(values: FloatArray, other: FloatArray) -> tuple[float, float]:
    """Return the mean difference of two arrays of draws, and its standard error; 0 for a single draw.

    >>> paired(np.array([2.0, 4.0]), np.array([1.0, 1.0]))
    (2.0, 1.0)
    """
    difference = values - other
    if difference.size < 2:
        return float(difference.mean()), 0.0
    return float(difference.mean()), float(difference.std(ddof=1) / np.sqrt(difference.size))


# A table with its scores hidden, and shown where a rule asks for them.


class Hidden(NamedTuple):
    """The scored reviews of a table in the order in which they are shown.

    ``row`` (E,): their rows, by item and within an item in random order; ``place`` (E,): the place of each within its
    item; ``room`` (N,): scores of each item.
    """

    row: IntArray
    place: IntArray
    room: IntArray

    def shown(self, count: IntArray, size: int) -> BoolArray:
        """Return which of ``size`` rows are shown if of each item the first ``count``, shape (N,), are."""
        mask = np.zeros(size, np.bool_)
        item = np.repeat(np.arange(self.room.size), self.room)
        mask[self.row[self.place < count[item]]] = True
        return mask


def hide(reviews: Reviews, rng: np.random.Generator) -> Hidden:
    """Put the scores of each item into random order.

    >>> from reviewgraph import Reviews
    >>> table = Reviews.from_pairs([("ann", 1, 2.0), ("bob", 1, 3.0), ("ann", 2, 1.0), ("bob", 2)])
    >>> hidden = hide(table, np.random.default_rng(0))
    >>> hidden.room.tolist(), int(hidden.shown(np.array([1, 1]), 4).sum())
    ([2, 1], 2)
    """
    row = np.flatnonzero(reviews.scored)
    item = reviews.item[row]
    order = np.lexsort((rng.random(row.size), item))
    room = np.bincount(item, minlength=reviews.n_items)
    before = np.cumsum(room) - room
    return Hidden(row[order], np.arange(row.size) - np.repeat(before, room), room)


def spread_evenly(count: IntArray, room: IntArray, total: int, order: IntArray) -> IntArray:
    """Raise the lowest counts, ties in an ``order`` of the items, up to the ``room`` of each and a ``total`` of all.

    >>> spread_evenly(np.array([2, 2, 2]), np.array([2, 9, 9]), 9, np.array([2, 0, 1])).tolist()
    [2, 3, 4]
    """
    count = count.copy()
    remaining = total - int(count.sum())
    while remaining > 0:
        open_ = order[count[order] < room[order]]
        if not open_.size:
            break
        lowest = open_[count[open_] == count[open_].min()][:remaining]
        count[lowest] += 1
        remaining -= lowest.size
    return count


def asked_by_decision(beliefs: Beliefs, select: int, room: IntArray, budget: int) -> IntArray:
    """Return the number of further scores of each item by the rule of ``plan --for decision``, at most its ``room``."""
    aim = Decision(beliefs, select)
    every = np.arange(room.size)
    loss = np.array([aim.losses(every, np.minimum(step, room) * beliefs.typical) for step in range(DEEP + 1)])
    return np.minimum(spend(step_rates(loss), np.ones(room.size, np.int64), budget), room)


def selected_by(reviews: Reviews, select: int, eligible: BoolArray) -> tuple[IntArray, Beliefs]:
    """Return the ``select`` items of largest posterior mean among the ``eligible`` ones, and the beliefs."""
    beliefs = beliefs_of(reviews, no_pairs(), None)
    return order_of(-np.where(eligible, beliefs.mean, -np.inf))[:select], beliefs


class Replayed(NamedTuple):
    """A way of spending the scores on one draw: items selected, shape (n,), and scores of each, shape (N,)."""

    chosen: IntArray
    n_scores: IntArray


def replayed(reviews: Reviews, hidden: Hidden, start: IntArray, budgets: Sequence[int], select: int) -> Replayed:
    """Show scores in rounds of some ``budgets`` after ``start``, shape (N,), where the rule for decisions asks."""
    eligible = hidden.room > 0
    count = start
    table = reviews.subset(hidden.shown(count, reviews.n_reviews))
    chosen, beliefs = selected_by(table, select, eligible)
    saved = 0
    for place, budget in enumerate(budgets):
        asked = asked_by_decision(beliefs, select, hidden.room - count, budget + saved)
        saved += budget - int(asked.sum())
        count = count + asked
        if saved and place == len(budgets) - 1:
            # What no paper is worth goes to those with the fewest, so that all ways have the same number of scores.
            order = order_of(np.abs(beliefs.mean - np.sort(beliefs.mean)[::-1][select - 1]))
            count = spread_evenly(count, hidden.room, int(count.sum()) + saved, order)
        chosen, beliefs = selected_by(reviews.subset(hidden.shown(count, reviews.n_reviews)), select, eligible)
    return Replayed(chosen, count)


def at_once(reviews: Reviews, hidden: Hidden, count: IntArray, select: int) -> Replayed:
    """Show the first ``count`` scores of each item, shape (N,)."""
    table = reviews.subset(hidden.shown(count, reviews.n_reviews))
    return Replayed(selected_by(table, select, hidden.room > 0)[0], count)


def others(
    reviews: Reviews, hidden: Hidden, start: IntArray, total: int, select: int, rng: np.random.Generator
) -> dict[str, IntArray]:
    """Return the numbers of scores, shape (N,), of the ways without a model: flat, random, nearest the cut by average.

    ``random`` shows hidden scores at random; ``borderline`` two of each paper in turn, those first whose average of the
    scores shown is nearest to the cut of the averages.
    """
    size = start.size
    order = rng.permutation(start.size)
    flat = spread_evenly(np.zeros(size, np.int64), hidden.room, total, order)
    item = np.repeat(np.arange(size), hidden.room)
    unseen = item[hidden.place >= start[item]]
    drawn = rng.permutation(unseen)[: total - int(start.sum())]
    table = reviews.subset(hidden.shown(start, reviews.n_reviews))
    seen = np.bincount(table.item, minlength=size)
    average = np.bincount(table.item, table.score, size) / np.maximum(seen, 1)
    cut = np.sort(average[seen > 0])[::-1][select - 1 : select + 1].mean()
    near = order_of(np.where(seen > 0, np.abs(average - cut), np.inf))
    border = start.copy()
    remaining = total - int(start.sum())
    while remaining > 0:
        # One of each would be the same as flat, where there is one for each.
        more = np.minimum(hidden.room[near] - border[near], 2)
        more = np.minimum(more, np.maximum(remaining - (np.cumsum(more) - more), 0))
        border[near] += more
        remaining -= int(more.sum())
    return {"flat": flat, "random": start + np.bincount(drawn, minlength=size), "borderline": border}


def in_rounds(budget: int, rounds: int) -> list[int]:
    """Split a budget into equal rounds, as the rollouts do."""
    return schedule(budget, rounds)
