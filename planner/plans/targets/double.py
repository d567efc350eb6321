"""Plans and bounds for the target *double*, in the order in which they cost time."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import numpy as np

from planner.plans.check.verifying import allowed_pairs, reaches, with_extra
from planner.plans.model import oracles
from planner.plans.model.task import new_task
from planner.plans.proof import bounds, hitting_set
from planner.plans.search import cascading
from planner.plans.search.substitutes import polish
from planner.plans.targets import by_groups, scored
from reviewgraph.components import doubly_connected_components

if TYPE_CHECKING:
    from planner.plans.model.task import Task
    from planner.plans.planning import Ledger
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import Reviews

#: Candidate reviews up to which the integer programme is stated.
EXACT_UP_TO = 1_500
#: Cascades tried, more and more at random, before loads and conflicts are held to stand in the way.
ATTEMPTS = 8
#: Candidate reviews up to which it is tested whether all of them together reach the target.
RELAX_UP_TO = 3_000_000
#: Rounds of improvement between two looks at the clock, times entries.
ROUND_WORK = 2_000
#: Entries to look at for stand-ins where only loads can gain by it: a second or two, and the same on every machine.
POLISH = 3_000_000
#: Seconds for that where the time is over.
GRACE = 1.0
#: Share of the time left that listing groups may take where plan and bound are ``NEAR``; and otherwise, and improving.
GROUPS, SHARE, NEAR = 0.8, 0.35, 15


def fill(task: Task, ledger: Ledger, rng: np.random.Generator, *, use_scores: bool) -> None:
    """Find a plan, prove bounds, improve the plan, until both meet or time is over."""
    if use_scores:
        _fill_scored(task, ledger)
        return
    if task.is_done:
        _nothing_to_do(ledger)
        return
    ledger.prove(bounds.Bound(1, "unfinished", "the papers are not comparable yet"))
    if not task.home.size:
        ledger.infeasible = True
        return
    found = _first_plan(task, ledger, rng)
    if ledger.infeasible:
        return
    _cheap_bounds(task, ledger)
    _dear_bounds(task, ledger)
    if found is not None and not ledger.closed:
        near = ledger.pairs is not None and len(ledger.pairs) - ledger.lower_bound <= NEAR
        found = by_groups.fill(task, ledger, _until(ledger, GROUPS if near else SHARE)) or found
    if found is not None and not ledger.closed:
        task.warm_up()
        _improve(found, ledger, SHARE)
    _exact(task, ledger, rng)
    if found is not None:
        _improve(found, ledger, 1.0)
    _settle(task, ledger)


def _fill_scored(task: Task, ledger: Ledger) -> None:
    """Plan with the score-aware closure; the structure gives the bounds."""
    table = with_extra(task.constraints.reviews, task.constraints.fixed, use_scores=True)
    if reaches(table, "double", use_scores=True):
        _nothing_to_do(ledger)
        return
    structural = new_task(task.constraints, 4, use_scores=False)
    if structural.is_done:
        ledger.prove(bounds.Bound(1, "unfinished", "tied scores leave papers apart"))
    else:
        _cheap_bounds(structural, ledger)
    scored.fill(task, ledger)


def _nothing_to_do(ledger: Ledger) -> None:
    ledger.prove(bounds.Bound(0, "unfinished", "nothing is missing"))
    ledger.cheapest = True
    ledger.offer(np.empty((0, 2), np.int64))


def _cheap_bounds(task: Task, ledger: Ledger) -> None:
    with_fixed = with_extra(task.constraints.reviews, task.constraints.fixed)
    ledger.prove(bounds.missing_links(with_fixed, task.constraints, task.spare))


def _first_plan(task: Task, ledger: Ledger, rng: np.random.Generator) -> cascading.Search | None:
    length = task.start.item.size - int(task.start.entries[0]) - 2

    def keep_going() -> bool:
        return ledger.in_time

    for attempt in range(ATTEMPTS):
        found, done = cascading.begin(task, length, int(rng.integers(2**31)), 4 * attempt, keep_going)
        if done:
            cascading.prune(found)
            ledger.offer(found.pairs)
            return found
        if not ledger.in_time:
            break
        if attempt == 0 and not _can_reach(task):
            ledger.infeasible = True
            return None
    return None


def _can_reach(task: Task) -> bool:
    """Whether the candidates together could do it; true where there are too many of them to say."""
    if int((task.spare > 0).sum()) * task.n_items > RELAX_UP_TO:
        return True
    table = with_extra(task.constraints.reviews, task.constraints.fixed)
    pairs = allowed_pairs(task.constraints, table, task.spare)
    pairs = pairs[task.room[pairs[:, 1]] > 0]
    return _one_grows_to_all(table, pairs) or reaches(with_extra(table, pairs), "double")


def _one_grows_to_all(table: Reviews, pairs: IntArray) -> bool:
    """Whether the reviewer of most items, with all reviewers who share two with the group, covers all: a quick yes."""
    if not table.n_reviewers:
        return False
    reads = np.zeros((table.n_reviewers, table.n_items), np.bool_)
    reads[table.reviewer, table.item] = reads[pairs[:, 0], pairs[:, 1]] = True
    cover, before = reads[int(np.argmax(reads.sum(axis=1)))], -1
    while before < int(cover.sum()) < table.n_items:
        before = int(cover.sum())
        cover = cover | reads[reads[:, cover].sum(axis=1) >= 2].any(axis=0)
    return bool(cover.all())


def _dear_bounds(task: Task, ledger: Ledger) -> None:
    if ledger.closed or ledger.lower_bound > 64:
        return
    if not ledger.in_time:
        return
    rules = task.constraints
    live = doubly_connected_components(with_extra(rules.reviews, rules.fixed)) if len(rules.fixed) else task.components
    ledger.prove(bounds.expansion(live.cover_start, live.cover_item, task.n_items))


def _until(ledger: Ledger, share: float) -> float:
    now = time.monotonic()
    return now + share * max(ledger.deadline - now, 0.0)


def _improve(found: cascading.Search, ledger: Ledger, share: float) -> None:
    """Shorten the plan until it meets the bound or its share of the time is over."""
    until = _until(ledger, share)
    rounds = max(1, ROUND_WORK // max(int(found.task.start.entries[0]), 1))
    while not ledger.closed and time.monotonic() < until and len(found.pairs) > 1:
        if cascading.improve(found, rounds):
            ledger.offer(found.pairs)


def _exact(task: Task, ledger: Ledger, rng: np.random.Generator) -> None:
    """Run the implicit hitting set, where it is small enough."""
    costs = bool(task.constraints.cost)
    if not ledger.in_time or (ledger.closed and not costs) or _candidates_up_to(task) > EXACT_UP_TO:
        return
    oracle = oracles.Double(task, rng)
    outcome = hitting_set.solve(oracle, ledger.pairs, ledger.lower_bound, _until(ledger, 0.5))
    if outcome.infeasible and ledger.pairs is None:
        ledger.infeasible = True
        return
    ledger.prove(bounds.Bound(outcome.lower, "cuts", "every smaller plan leaves some group of papers apart (cuts)"))
    if outcome.pairs is not None:
        ledger.offer(outcome.pairs)
        if ledger.pairs is not None and len(outcome.pairs) == len(ledger.pairs):
            ledger.pairs = outcome.pairs
    ledger.cheapest = ledger.cheapest or outcome.proved


def _candidates_up_to(task: Task) -> int:
    return int((task.spare > 0).sum()) * task.n_items


def _settle(task: Task, ledger: Ledger) -> None:
    """Exchange reviews for cheaper and lighter ones; without costs every plan of one length costs the same."""
    if not task.constraints.cost:
        ledger.cheapest = True
    if ledger.pairs is not None and len(ledger.pairs):
        entries = max(int(task.start.entries[0]), 1)
        tries = iter(range(POLISH // entries if not task.constraints.cost else sys.maxsize))
        until = max(_until(ledger, 1.0), time.monotonic() + GRACE)
        ledger.pairs = polish(task, ledger.pairs, lambda: time.monotonic() < until and next(tries, None) is not None)
