"""Plans for a level where items are short of reviews as well: of so many, or of a senior one.

minimise    the number of new reviews, then their cost
subject to  the constraints; the level; every item has the reviews that it needs

What items are short of is a bound, and so is what the level takes. Plans are made both ways: the cheapest reviews
that fill the needs, those first that let the largest group grow, and the level on top; and the level, with the needs on
top. Small tables go to the integer programme of :mod:`planner.plans.proof.hitting_set`, which heeds both at once.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from planner.plans.model.ledger import Bound, Ledger
from planner.plans.model.missing import what_is_missing
from planner.plans.model.tables import no_pairs
from planner.plans.model.task import new_task
from planner.plans.proof.shortage import why_uncovered
from planner.plans.search import budget
from planner.plans.search.covering import cover
from planner.plans.targets.evenly import lighten
from planner.plans.targets.exactly import settle
from reviewgraph.clock import TimeOver
from reviewgraph.words import counted, noun

if TYPE_CHECKING:
    from planner.plans.model.ledger import PlanProgress
    from planner.plans.model.target import Target
    from planner.plans.model.task import Task
    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray

#: Shares of the time left for the level on top of the needs, and for the level alone.
ON_TOP, ALONE = 0.5, 0.5
#: Candidate reviews up to which the integer programme is stated.
EXACT_UP_TO = 1_500
#: Entries times starts in search of reviews that fill needs and serve the level; one start is always tried.
STARTS = 100_000


def fill(target: Target, task: Task, ledger: Ledger, rng: np.random.Generator) -> None:
    """Write the best plan and bounds into the ledger; where nothing is short, the target does so alone.

    Among reviewers who do the same loads are evened in the end.
    """
    with suppress(TimeOver):
        _fill(target, task, ledger, rng)
    lighten(target, task, ledger)


def _fill(target: Target, task: Task, ledger: Ledger, rng: np.random.Generator) -> None:
    """As :func:`fill`, whatever the loads."""
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
    if first.pairs is not None:
        ledger.fills = first.pairs, first.least_load
    if ledger.out_of_reach:
        return
    # Most affinity among the fewest reviews, if these happen to reach the level: then nothing is left to say.
    if first.pairs is not None and _offer(target, task, ledger, first.pairs) and ledger.closed:
        ledger.cheapest = first.cheapest or not task.constraints.cost
        return
    _plans(target, task, ledger, rng)
    if not ledger.infeasible and not (ledger.closed and ledger.cheapest):
        _exact(target, task, ledger, rng)


def holds(target: Target, task: Task, pairs: IntArray, clock: Clock) -> bool:
    """Whether some more reviews are known in time to reach the level and give every item what it needs."""
    table = task.table(pairs)
    needs = task.constraints.people.needs(table)
    return needs.total == 0 and target.reaches_in_time(table, clock, use_scores=task.use_scores)


def best_few(
    target: Target, task: Task, whole: IntArray | None, allowed: int | None, clock: Clock
) -> tuple[IntArray, bool]:
    """As :func:`planner.plans.search.budget.best_few`; where items are short of reviews these come first.

    If not all of them fit in, items of fewest reviews are served first. Where time is over, what is known is taken.
    """
    if not task.needs.total:
        return budget.best_few(task, target, whole, allowed, clock)
    # Without a budget this is what time has left: another programme would find no more than is known.
    chosen = whole if allowed is None else cover(task, starts(target, task, clock), clock).pairs
    if chosen is None:
        chosen = no_pairs() if whole is None else whole
    if allowed is not None and len(chosen) >= allowed:
        order = np.argsort(task.table(no_pairs()).reviews_per_item[chosen[:, 1]], kind="stable")
        return chosen[order][:allowed], False
    more, _ = budget.best_few(
        _on(task, chosen), target, None, None if allowed is None else allowed - len(chosen), clock
    )
    return np.concatenate([chosen, more]), False


def _bound(task: Task) -> Bound:
    """Items' own needs: no review serves two items."""
    needs, people = task.needs, task.constraints.people
    short = int((needs.reviews > 0).sum())
    said = []
    if short:
        said.append(
            f"{counted(short, 'paper has', 'papers have')} fewer than {counted(people.min_reviews, 'review')} and "
            f"{noun(short, 'needs', 'need')} {int(needs.each[needs.reviews > 0].sum())} more"
        )
    other = "other " if short else ""
    for missing, kind in what_is_missing(people, needs, needs.reviews == 0):
        said.append(f"{counted(missing, f'{other}paper has', f'{other}papers have')} {kind}")
    return Bound(needs.total, "coverage", ", and ".join(said))


def _plans(target: Target, task: Task, ledger: Ledger, rng: np.random.Generator) -> None:
    """Offer the level on top of the needs, and the needs on top of the level; prove what the level takes."""
    ledger.clock.check()
    chosen = cover(task, starts(target, task, ledger.clock), ledger.clock).pairs
    if chosen is not None:
        ledger.part = chosen
        _complete(target, task, ledger, chosen, rng)
        if ledger.pairs is not None and ledger.closed and not task.constraints.cost:
            ledger.cheapest = True
            return
    ledger.clock.check()
    level = new_task(task.constraints.without_needs(), task.start.room, use_scores=task.use_scores)
    alone = _part(ledger, ALONE)
    with suppress(TimeOver):
        target.fill(level, alone, rng)
    if alone.infeasible:
        ledger.infeasible, ledger.short, ledger.explained = True, alone.short, alone.explained
        ledger.reasons += alone.reasons
        return
    for bound in alone.bounds:
        ledger.prove(bound)
    if alone.pairs is not None and not ledger.closed:
        ledger.clock.check()
        rest = cover(_on(task, alone.pairs), no_pairs(), ledger.clock).pairs
        if rest is not None:
            _offer(target, task, ledger, np.concatenate([alone.pairs, rest]))
    ledger.cheapest = ledger.pairs is not None and not task.constraints.cost


def starts(target: Target, task: Task, clock: Clock) -> IntArray:
    """Reviews of items that are short which let the largest group grow most."""
    rules = task.constraints
    room = np.minimum(task.needs.each, task.room) + rules.room - task.room
    short = new_task(replace(rules.without_needs(), room=room), task.start.room, use_scores=task.use_scores)
    best, most = no_pairs(), 0
    tried = max(STARTS // max(task.start.size, 1), 1)
    for pairs in islice(target.starts(short, task.needs.total, clock), tried):
        papers = target.papers(short, pairs, clock)
        if papers > most:
            best, most = pairs, papers
        if papers == task.n_items:
            break
    return best


def _on(task: Task, pairs: IntArray) -> Task:
    """Return the task with some more reviews fixed."""
    return new_task(task.constraints.with_fixed(pairs), task.start.room, use_scores=task.use_scores)


def _part(ledger: Ledger, share: float, beside: int = 0) -> Ledger:
    """Return a ledger for a part of the problem, ``beside`` reviews being chosen already."""
    allowed = None if ledger.budget is None else ledger.budget - beside
    # What fills the needs is a part of the way already: no plan is worth going beyond the time.
    return Ledger(ledger.clock.share(share), budget=allowed, part=no_pairs())


def _complete(target: Target, task: Task, ledger: Ledger, chosen: IntArray, rng: np.random.Generator) -> None:
    """Offer the level on top of some reviews, every plan as it is found."""
    part = _part(ledger, ON_TOP, len(chosen))

    def found(progress: PlanProgress) -> None:
        if part.pairs is not None:
            ledger.offer(np.concatenate([chosen, part.pairs]))

    part.report = found
    with suppress(TimeOver):
        target.fill(_on(task, chosen), part, rng)
    if part.pairs is not None:
        _offer(target, task, ledger, np.concatenate([chosen, part.pairs]))


def _offer(target: Target, task: Task, ledger: Ledger, pairs: IntArray) -> bool:
    """Offer a plan without what it can do without; whether it does what is asked for."""
    if not task.constraints.places.hold(pairs) or not holds(target, task, pairs, ledger.clock):
        return False
    place = len(pairs) - 1
    while place >= 0 and len(pairs) > ledger.lower_bound and ledger.in_time:
        fewer = np.delete(pairs, place, axis=0)
        pairs = fewer if holds(target, task, fewer, ledger.clock) else pairs
        place -= 1
    if ledger.pairs is not None and len(pairs) == len(ledger.pairs) and _cost(task, pairs) < _cost(task, ledger.pairs):
        ledger.pairs = pairs
    ledger.offer(pairs)
    return True


def _cost(task: Task, pairs: IntArray) -> float:
    return sum(task.constraints.cost_of(j, i) for j, i in pairs.tolist())


def _exact(target: Target, task: Task, ledger: Ledger, rng: np.random.Generator) -> None:
    """Run the implicit hitting set with the needs in it, where it is small enough."""
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
