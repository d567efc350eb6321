"""Plans and bounds for the target *double*, in the order in which they cost time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from planner.plans.model.allowed import allowed_pairs
from planner.plans.model.ledger import Bound
from planner.plans.model.tables import no_pairs, with_extra
from planner.plans.proof import bounds, flow
from planner.plans.search import cascade, cascading
from planner.plans.search.substitutes import polish
from planner.plans.targets import by_groups
from planner.plans.targets.double_oracle import DoubleOracle
from planner.plans.targets.exactly import settle
from reviewgraph.components import doubly_connected_components, is_recovery_resilient

if TYPE_CHECKING:
    from planner.plans.model.ledger import Ledger
    from planner.plans.model.task import Task
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
#: Seconds, and work, for that where the time is over; and for the first plan where loading its kernels took all of the
#: time: a part of the way, put in order, would take as long.
GRACE, FIRST = 0.1, 2.0
#: Share of time and work left that groups may take where plan and bound are ``NEAR``, or the table is huge; and
#: otherwise, and improving.
GROUPS, SHARE, NEAR = 0.8, 0.35, 15
#: Share of time and work left that the weights of a flow may take.
FLOW = 0.25


def fill(task: Task, ledger: Ledger, rng: np.random.Generator) -> None:
    """Find a plan, prove bounds, improve the plan, until both meet or time is over."""
    if task.is_done:
        ledger.nothing_to_do(no_pairs())
        return
    ledger.prove(Bound(1, "unfinished", "the papers are not comparable yet"))
    if not task.home.size:
        ledger.infeasible = True
        return
    # A plan first, whatever its size, so that there is one if time ends here; then bounds, cheap ones first.
    found = _first_plan(task, ledger, rng)
    if ledger.infeasible:
        return
    cheap_bounds(task, ledger)
    _dear_bounds(task, ledger)
    # Where both are near each other, closing the gap is worth more of the time.
    if found is not None and not ledger.closed:
        near = ledger.pairs is not None and len(ledger.pairs) - ledger.lower_bound <= NEAR
        share = GROUPS if near or by_groups.is_huge(task) else SHARE
        found = by_groups.fill(task, ledger, ledger.clock.share(share)) or found
    if found is not None and not ledger.closed:
        task.warm_up()
        _improve(found, ledger, SHARE)
    # What is left of the time goes to the proof, then to the plan again.
    _exact(task, ledger, rng)
    if found is not None:
        _improve(found, ledger, 1.0)
    _settle(task, ledger)


def cheap_bounds(task: Task, ledger: Ledger) -> None:
    """Prove what the degrees of freedom and the loads say."""
    ledger.prove(bounds.missing_links(task.table(no_pairs()), task.constraints, task.spare))


def _first_plan(task: Task, ledger: Ledger, rng: np.random.Generator) -> cascading.Search | None:
    for attempt in range(ATTEMPTS):
        seed, grace = int(rng.integers(2**31)), FIRST if attempt == 0 and ledger.part is None else 0.0
        found, done = cascading.begin(task, task.start.room, seed, 4 * attempt, ledger.clock, grace)
        if done:
            ledger.offer(found.pairs)
            cascading.prune(found, ledger.clock)
            ledger.offer(found.pairs)
            return found
        ledger.part = found.pairs
        if not ledger.in_time:
            break
        if attempt == 0 and not _can_reach(task):
            ledger.infeasible = True
            return None
    return None


def _can_reach(task: Task) -> bool:
    """Whether the candidates together could do it; true where there are too many of them to say."""
    if task.candidates_up_to > RELAX_UP_TO:
        return True
    table = task.table(no_pairs())
    pairs = allowed_pairs(task.constraints, table, task.spare)
    pairs = pairs[task.room[pairs[:, 1]] > 0]
    return _one_grows_to_all(table, pairs) or is_recovery_resilient(with_extra(table, pairs))


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
    spread = bounds.expansion(live.cover_start, live.cover_item, task.n_items)
    ledger.prove(spread)
    # The flow takes longer: where the expansion says little, it would hardly say more.
    if spread is not None and spread.value >= ledger.lower_bound and not ledger.closed:
        ledger.prove(flow.bound(live.cover_start, live.cover_item, task.n_items, ledger.clock.share(FLOW)))


def _improve(found: cascading.Search, ledger: Ledger, share: float) -> None:
    """Shorten the plan until it meets the bound or its share of the time is over."""
    if not found.task.has_time(cascade.improve):
        return
    clock = ledger.clock.share(share)
    rounds = max(1, ROUND_WORK // max(found.task.start.size, 1))
    while not ledger.closed and not clock.over() and len(found.pairs) > 1:
        if cascading.improve(found, rounds):
            ledger.offer(found.pairs)
        clock.spend(found.task.worked())


def _exact(task: Task, ledger: Ledger, rng: np.random.Generator) -> None:
    """Run the implicit hitting set, where it is small enough."""
    costs = bool(task.constraints.cost)
    if not ledger.in_time or (ledger.closed and not costs) or task.candidates_up_to > EXACT_UP_TO:
        return
    settle(DoubleOracle(task, rng), ledger, "some group of papers apart", ledger.clock.share(0.5))


def _settle(task: Task, ledger: Ledger) -> None:
    """Exchange reviews for cheaper and lighter ones; without costs every plan of one length costs the same."""
    if not task.constraints.cost:
        ledger.cheapest = True
    if ledger.pairs is not None and len(ledger.pairs) and task.has_time(cascade.finishing_pairs):
        tries = math.inf if task.constraints.cost else POLISH // max(task.start.size, 1)
        # Where a plan is long, one look for stand-ins takes longer than there is.
        short = len(ledger.pairs) < cascading.LONG
        ledger.pairs = polish(task, ledger.pairs, ledger.clock.no_less_than(GRACE) if short else ledger.clock, tries)
