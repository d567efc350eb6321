"""Plans for a level if items are short of reviews as well: of a number, or of a senior one.

minimise    the number of new reviews, then their cost
subject to  the constraints; the level; every item has the reviews that it needs

What items are short of is a bound, and so is the number for the level. Plans are made both ways: the cheapest reviews
that fill the needs, those first that grow the largest group, and the level on top; and the level, with the needs on
top. Small tables go to the integer programme of :mod:`planner._plans.lower_bounds`, which combines both.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice

import numpy as np

from planner._plans.constraints import no_pairs
from planner._plans.covering import Ways, cover, settle, share, waived, why_uncovered
from planner._plans.outcome import what_is_missing
from planner._plans.target import Bound, Ledger, Target
from planner._plans.task import Task, minimal, new_task
from reviewgraph._base import Clock, IntArray, counted, noun

# Even loads for a plan: the level, the number of reviews and the cost stay.
#
# Reviews that fill needs may be by anybody; those for the level by whoever keeps it.

#: Minimum seconds, and work, for evening loads.
LEAST = 1.0
#: Entries of the covers visited in search of reviewers who can take over a review.
TESTED = 200_000


def lighten(target: Target, task: Task, ledger: Ledger) -> None:
    """Let lighter reviewers take over reviews of the heaviest while level and needs stay, as far as time allows."""
    pairs = ledger.pairs
    if pairs is None or not len(pairs):
        return
    clock = ledger.clock.no_less_than(LEAST)
    least = max(least_load(task, ledger), 1)
    tries = iter(range(TESTED // max(task.start.size, 1)))
    while pairs is not None and task.loads(pairs).max() > least:
        ledger.pairs = pairs
        pairs = _relieved(target, task, pairs, clock, tries)


def _relieved(target: Target, task: Task, pairs: IntArray, clock: Clock, tries: Iterator[int]) -> IntArray | None:
    """Let a lighter reviewer take over a review of the heaviest; None if the level forbids it."""
    ways = Ways(task, pairs)
    for place in np.flatnonzero(ways.load[pairs[:, 0]] == ways.load.max()).tolist():
        for j in ways.lighter(place).tolist():
            if clock.over() or next(tries, None) is None:
                return None
            changed = pairs.copy()
            changed[place, 0] = j
            if holds(target, task, changed, clock):
                return changed
    return None


def least_load(task: Task, ledger: Ledger) -> int:
    """Return a lower bound on the largest extra load of a plan as short as the ledger's."""
    if ledger.pairs is None:
        return 0
    return share(task, len(ledger.pairs))


#: Shares of the time left for the level on top of the needs, and for the level alone.
ON_TOP = 0.5
ALONE = 0.5
#: Candidate reviews up to which the integer programme is stated.
EXACT_UP_TO = 1_500
#: Entries times starts in search of reviews that fill needs and serve the level; one start is always tried.
STARTS = 100_000


def fill(target: Target, task: Task, ledger: Ledger, rng: np.random.Generator) -> None:
    """Write the best plan and bounds into the ledger; if nothing is short, by the target alone, then even the loads."""
    with suppress(Clock.Over):
        _fill(target, task, ledger, rng)
    ledger.cheapest = ledger.cheapest or task.is_cheapest(ledger.pairs)
    lighten(target, task, ledger)


def _fill(target: Target, task: Task, ledger: Ledger, rng: np.random.Generator) -> None:
    """Do as :func:`fill`, whatever the loads."""
    needs = task.needs
    if not needs.total:
        target.fill(task, ledger, rng)
        return
    ledger.prove(_bound(task))
    first = cover(task, no_pairs(), ledger.clock)
    if first.impossible:
        ledger.infeasible = ledger.explained = True
        ledger.reasons += why_uncovered(task) or [
            "an integer programme finds no reviews that give every paper what it must have within loads, conflicts "
            "and rules on reviewers, though each of these alone would allow it"
        ]
        return
    ledger.part = first.pairs
    if ledger.out_of_reach:
        return
    # The cheapest of the fewest reviews are optimal if they happen to reach the level.
    if first.pairs is not None and _offer(target, task, ledger, first.pairs) and ledger.closed:
        ledger.cheapest = first.cheapest
        return
    _plans(target, task, ledger, rng)
    if not ledger.infeasible and not ledger.settled(task):
        _exact(target, task, ledger, rng)


def holds(target: Target, task: Task, pairs: IntArray, clock: Clock) -> bool:
    table = task.table(pairs)
    needs = task.constraints.people.needs(table)
    return needs.total == 0 and target.reaches_in_time(table, clock)


def _bound(task: Task) -> Bound:
    """Items' own needs: no review serves two items."""
    needs = task.needs
    people = task.constraints.people
    short = int((needs.reviews > 0).sum())
    reasons = []
    if short:
        reasons.append(
            f"{counted(short, 'paper has', 'papers have')} fewer than {counted(people.min_reviews, 'review')} and "
            f"{noun(short, 'needs', 'need')} {int(needs.each[needs.reviews > 0].sum())} more"
        )
    kind_of = "other " if short else ""
    for missing, kind in what_is_missing(people, needs, needs.reviews == 0):
        reasons.append(f"{counted(missing, f'{kind_of}paper has', f'{kind_of}papers have')} {kind}")
    return Bound(needs.total, "coverage", ", and ".join(reasons))


def _plans(target: Target, task: Task, ledger: Ledger, rng: np.random.Generator) -> None:
    """Offer the level on top of the needs, and the needs on top of the level; prove the bounds of the level."""
    ledger.clock.check()
    chosen = cover(task, starts(target, task, ledger.clock), ledger.clock).pairs
    if chosen is not None:
        ledger.part = chosen
        _complete(target, task, ledger, chosen, rng)
        if ledger.settled(task):
            return
    ledger.clock.check()
    level = new_task(task.constraints.without_needs(), task.most)
    alone = _part(ledger, ALONE)
    with suppress(Clock.Over):
        target.fill(level, alone, rng)
    if alone.infeasible:
        ledger.infeasible = True
        ledger.explained = alone.explained
        ledger.reasons += alone.reasons
        return
    for bound in alone.bounds:
        ledger.prove(bound)
    if alone.pairs is not None and not ledger.closed:
        ledger.clock.check()
        rest = cover(_on(task, alone.pairs), no_pairs(), ledger.clock).pairs
        if rest is not None:
            _offer(target, task, ledger, np.concatenate([alone.pairs, rest]))


def starts(target: Target, task: Task, clock: Clock) -> IntArray:
    """Reviews of items that are short which grow the largest group most."""
    rules = task.constraints
    room = np.minimum(task.needs.each, task.room) + rules.room - task.room
    short = new_task(replace(rules.without_needs(), room=room), task.most)
    best = no_pairs()
    most = 0
    tried = max(STARTS // max(task.start.size, 1), 1)
    for pairs in islice(target.starts(short, task.needs.total, clock), tried):
        papers = target.papers(short, pairs, clock)
        if papers > most:
            best = pairs
            most = papers
        if papers == task.n_items:
            break
    return best


def _on(task: Task, pairs: IntArray) -> Task:
    return new_task(task.constraints.with_fixed(pairs), task.most)


def _part(ledger: Ledger, share: float, chosen: int = 0) -> Ledger:
    """Return a ledger for a part of the problem, after ``chosen`` reviews were chosen."""
    allowed = None if ledger.budget is None else ledger.budget - chosen
    # A partial plan fills the needs already: none is worth exceeding the time.
    return Ledger(ledger.clock.share(share), budget=allowed, part=no_pairs())


def _complete(target: Target, task: Task, ledger: Ledger, chosen: IntArray, rng: np.random.Generator) -> None:
    """Offer the level on top of some reviews, also if Ctrl-C ends the search for it."""
    part = _part(ledger, ON_TOP, len(chosen))
    try:
        with suppress(Clock.Over):
            target.fill(_on(task, chosen), part, rng)
    finally:
        if part.pairs is not None:
            ledger.offer(np.concatenate([chosen, part.pairs]))
    if part.pairs is not None:
        _offer(target, task, ledger, np.concatenate([chosen, part.pairs]))


def _offer(target: Target, task: Task, ledger: Ledger, pairs: IntArray) -> bool:
    """Offer a plan without the reviews that it does not need; whether it meets level and needs."""
    if not task.constraints.places.hold(pairs) or not holds(target, task, pairs, ledger.clock):
        return False
    pairs = minimal(
        pairs,
        range(len(pairs) - 1, -1, -1),
        lambda fewer: holds(target, task, fewer, ledger.clock),
        lambda count: count > ledger.lower_bound and ledger.in_time,
    )

    price_of = task.constraints.price_of
    if ledger.pairs is not None and len(pairs) == len(ledger.pairs) and price_of(pairs) < price_of(ledger.pairs):
        ledger.pairs = pairs
    ledger.offer(pairs)
    return True


def _exact(target: Target, task: Task, ledger: Ledger, rng: np.random.Generator) -> None:
    """Run the implicit hitting set with the needs in it, if it is small enough."""
    oracle = target.oracle(task, rng) if task.candidates_up_to <= EXACT_UP_TO else None
    if oracle is None or not ledger.in_time:
        return
    settle(oracle, ledger, "papers apart, or short of reviews")
    if ledger.infeasible:
        ledger.explained = True
        ledger.reasons.append(
            "the level can be reached, and papers can have what they must have, but not both within the spare loads; "
            "raise loads, or ask more people"
        )


# The best few reviews if the budget does not suffice for the target.
#
# maximise    the papers in the largest group at the level of the target, then
# minimise    the number of reviews, then their cost
# subject to  the constraints, and at most ``allowed`` reviews
#
# Cascades that stop at the budget, and a complete plan in the order in which its reviews help most, make the group.

#: Reviews of a partial plan if no budget was set and time ran out.
AT_MOST = 64


def best_few(target: Target, task: Task, whole: IntArray | None, allowed: int | None, clock: Clock) -> IntArray:
    """Return the best reviews found within a budget.

    ``whole`` is a plan that reaches the target with more reviews, or a partial one, if known; ``allowed`` is None if
    time ran out without a plan. Reviews that items are short of come first; if not all of them fit in, items of fewest
    reviews are served first.
    """
    if task.needs.total:
        return _needed_first(target, task, whole, allowed, clock)
    if allowed is None:
        allowed = max(AT_MOST, 0 if whole is None else len(whole))
    most = min(task.most, allowed)
    options = [no_pairs()]
    with suppress(KeyboardInterrupt, Clock.Over):
        if whole is not None:
            options.append(whole[target.order(task, whole, clock)][:most])
        if whole is None or not clock.over():
            options += target.starts(task, most, clock)
    best = max(options, key=lambda pairs: target.papers(task, pairs))
    papers = target.papers(task, best)
    places = range(len(best) - 1, -1, -1)
    return minimal(best, places, lambda pairs: target.papers(task, pairs, clock) >= papers, lambda _: not clock.over())


def _needed_first(target: Target, task: Task, whole: IntArray | None, allowed: int | None, clock: Clock) -> IntArray:
    """Return the reviews that items are short of, then those that grow the largest group."""
    # Without a budget time is over: another programme would not improve the plan.
    chosen = whole if allowed is None else cover(task, starts(target, task, clock), clock).pairs
    if chosen is None:
        chosen = no_pairs() if whole is None else whole
    if allowed is not None and len(chosen) >= allowed:
        order = np.argsort(task.table(no_pairs()).reviews_per_item[chosen[:, 1]], kind="stable")
        return chosen[order][:allowed]
    budget = None if allowed is None else allowed - len(chosen)
    return np.concatenate([chosen, best_few(target, _on(task, chosen), None, budget, clock)])


# Best effort if there is no plan: as many needs as possible, then the level or the largest possible group.

#: Share of the time left for a plan that fills as many needs as possible, and reaches the level.
WHOLE = 0.3


def nearest(target: Target, task: Task, before: Ledger, clock: Clock, rng: np.random.Generator) -> IntArray:
    """Return reviews, shape (P, 2), that leave least missing, and then reach the level or grow the largest group.

    ``before`` is the ledger of the failed search; its budget holds. ``rng`` breaks ties.
    """
    lowered = _lowered(task, clock)
    ledger = Ledger(clock.share(WHOLE), budget=before.budget, part=before.part)
    with suppress(Clock.Over):
        fill(target, lowered, ledger, rng)
    if ledger.pairs is not None and (ledger.budget is None or len(ledger.pairs) <= ledger.budget):
        return ledger.pairs
    # Fill needs by reviews that grow the largest group, then add others that grow it.
    return best_few(target, lowered, None, task.most if ledger.budget is None else ledger.budget, clock)


def _lowered(task: Task, clock: Clock) -> Task:
    """Return the task in which items do without what they cannot have."""
    if not task.needs.total:
        return task
    gaps = waived(task, clock)
    rules = task.constraints
    if gaps is None:
        return new_task(rules.without_needs(), task.most)
    return new_task(replace(rules, people=replace(rules.people, waived=gaps)), task.most)
