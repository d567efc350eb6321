"""The most of a plan that cannot be had: what items must have, then the level, or the largest group that is found."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from planner.plans.model.ledger import Ledger
from planner.plans.model.recruits import Recruits, recruits_load, with_recruits
from planner.plans.model.tables import no_pairs, with_extra
from planner.plans.model.task import new_task
from planner.plans.search.covering import cover
from planner.plans.search.lowering import waived
from planner.plans.targets import covered
from reviewgraph.clock import TimeOver

if TYPE_CHECKING:
    from planner.plans.model.target import Target
    from planner.plans.model.task import Task
    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray

#: Share of the time left for a plan that gives items as much as they can have, and reaches the level.
WHOLE = 0.3
#: Share of the time left for a plan with so many recruits.
WITH_RECRUITS = 0.25
#: Most recruits that are looked for, and reviews that one writes at least: whoever writes two joins nothing.
MOST, JOINING = 1_024, 3
#: Entries of a structure that a plan adds for each reviewer at most.
ENTRIES = 3


def nearest(target: Target, task: Task, before: Ledger, clock: Clock, rng: np.random.Generator) -> IntArray:
    """Return reviews, shape (P, 2), that leave least missing, and then reach the level or let the largest group grow.

    Parameters
    ----------
    target, task
        What is planned, and cannot be had.
    before
        How the search for it ended; its budget holds.
    clock
        When to end.
    rng
        Decides among equals.
    """
    lowered = _lowered(task, clock)
    ledger = Ledger(clock.share(WHOLE), budget=before.budget, part=before.part)
    with suppress(TimeOver):
        covered.fill(target, lowered, ledger, rng)
    if ledger.pairs is not None and (ledger.budget is None or len(ledger.pairs) <= ledger.budget):
        return ledger.pairs
    if ledger.budget is not None:
        return covered.best_few(target, lowered, None, ledger.budget, clock)[0]
    # The level cannot be reached: what can be filled, by reviews that let the largest group grow, and what does beside.
    chosen = cover(lowered, covered.starts(target, lowered, clock), clock).pairs if lowered.needs.total else no_pairs()
    chosen = no_pairs() if chosen is None else chosen
    beside = new_task(lowered.constraints.with_fixed(chosen), task.start.room, use_scores=task.use_scores)
    return np.concatenate([chosen, _growing(target, beside, clock)])


def recruited(target: Target, task: Task, pairs: IntArray, clock: Clock, rng: np.random.Generator) -> Recruits | None:
    """Return recruits with whom a plan beside some reviews is whole; None where none are found in time.

    Their number is doubled until there is a plan: half of them may be enough. Those without a review are left out.

    Parameters
    ----------
    target, task
        What is planned, and cannot be had.
    pairs
        The reviews that are kept, shape (P, 2).
    clock
        When to end.
    rng
        Decides among equals.
    """
    if task.use_scores:
        return None
    # All others write what they write: the recruits alone are to be enough.
    kept, M = task.constraints.with_fixed(pairs), task.spare.size
    kept = replace(kept, spare=np.bincount(kept.fixed[:, 0], minlength=M))
    load = max(recruits_load(kept), JOINING)
    lacks = kept.people.needs(with_extra(kept.reviews, kept.fixed)).each
    count = max(1, int(lacks.max(initial=0)), -(-int(lacks.sum()) // load))
    while count <= MOST and not clock.over():
        # Whoever joins takes up room as everybody does.
        more = new_task(with_recruits(kept, count, load), task.start.room + ENTRIES * count)
        ledger = Ledger(clock.share(WITH_RECRUITS))
        with suppress(TimeOver):
            covered.fill(target, more, ledger, rng)
        if ledger.pairs is not None:
            new = ledger.pairs[ledger.pairs[:, 0] >= M]
            return Recruits(int(np.unique(new[:, 0]).size), load, np.sort(new[:, 1]))
        count *= 2
    return None


def _lowered(task: Task, clock: Clock) -> Task:
    """Return the task in which items do without what they cannot have."""
    if not task.needs.total:
        return task
    gaps = waived(task, clock)
    if gaps is None:
        return new_task(task.constraints.without_needs(), task.start.room, use_scores=task.use_scores)
    return new_task(task.constraints.waiving(gaps), task.start.room, use_scores=task.use_scores)


def _growing(target: Target, task: Task, clock: Clock) -> IntArray:
    """Return reviews that let the largest group grow most, without those that do not help."""
    best, most = no_pairs(), target.papers(task, no_pairs(), clock)
    for pairs in target.starts(task, task.start.room, clock):
        papers = target.papers(task, pairs, clock)
        if papers > most:
            best, most = pairs, papers
    place = len(best) - 1
    while place >= 0 and not clock.over():
        fewer = np.delete(best, place, axis=0)
        best = fewer if target.papers(task, fewer, clock) == most else best
        place -= 1
    return best
