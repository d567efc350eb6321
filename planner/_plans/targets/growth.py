"""Plans and bounds for the target *double*, in the order of their time: by structure, and by groups."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from planner._plans import cascade, listing, lower_bounds
from planner._plans.cascade import polish
from planner._plans.constraints import no_pairs, with_extra
from planner._plans.kernels.trials import close, extend_unfinished, leaving
from planner._plans.listing import reduce
from planner._plans.target import Bound
from planner._plans.targets.searched import settle
from planner._plans.task import Cut, Oracle, allowed_pairs
from reviewgraph._base import counted
from reviewgraph.graph import doubly_connected_components, recoverability
from reviewgraph.table import Reviews

if TYPE_CHECKING:
    from planner._plans.listing import Levels, Reduction
    from planner._plans.target import Ledger
    from planner._plans.task import Task
    from reviewgraph._base import Clock, IntArray
    from reviewgraph.graph import Blocks


# Bounds from the groups that few joins make, part by part of the contracted graph.

#: Lower bound of a part above which listing is hopeless: each review multiplies the number of groups by four to ten.
DEEPEST = 8
#: A level that no listing reaches: groups multiply with every review.
FARTHEST = 2 * DEEPEST


def prove_by_groups(task: Task, ledger: Ledger, clock: Clock) -> None:
    """Prove bounds by parts until they meet the plan, room is short, or time is over."""
    if clock.over():
        return
    reduction = reduce(task)
    ledger.prove(_bound(reduction, [part.least for part in reduction.parts], 0))
    levels = [listing.new_levels(part) for part in reduction.parts]
    near = ledger.pairs is not None and len(ledger.pairs) - ledger.lower_bound <= NEAR
    while near and not ledger.closed and _rise(reduction, levels, ledger, clock):
        pass


def _rise(reduction: Reduction, levels: list[Levels], ledger: Ledger, clock: Clock) -> bool:
    """Raise the bound of the part where it is easiest; false if that is impossible or takes too long."""
    open_ = [level for level in levels if not level.closed and level.part.least <= DEEPEST]
    # A bound by other means that is beyond every listing cannot be raised by one.
    farthest = reduction.fringe + sum(max(level.value, FARTHEST) for level in levels)
    if not open_ or ledger.pairs is None or ledger.lower_bound >= farthest:
        return False
    level = min(open_, key=lambda level: level.effort)
    elsewhere = reduction.fringe + sum(bounded.value for bounded in levels if bounded is not level)
    last = elsewhere + len(level.pools) + 1 >= len(ledger.pairs) or level.is_full
    if not level.rise(store=not last, clock=clock):
        return False
    ledger.prove(_bound(reduction, [bounded.value for bounded in levels], sum(bounded.looked_at for bounded in levels)))
    return not last or level.closed


def _bound(reduction: Reduction, values: list[int], looked_at: int) -> Bound:
    total = reduction.fringe + sum(values)
    words = f"joining the groups takes {counted(sum(values), 'review')}"
    if reduction.fringe:
        rest = "" if not values else f", and {sum(values)} for the rest"
        words = f"{counted(reduction.fringe, 'review')} for groups attached by at most two papers{rest}"
    if looked_at:
        words += f" (no group that fewer reviews can make covers all papers; {looked_at} were listed)"
    return Bound(total, "groups" if looked_at else "parts", words, tuple(values))


# Cuts for the target *double*: blocks that miss the target.

#: Larger blocks made from some that was found unfinished.
LARGER = 8


class DoubleOracle(Oracle):
    def __init__(self, task: Task, rng: np.random.Generator, allowed: IntArray | None = None) -> None:
        super().__init__(task, allowed)
        self.rng = rng
        self.block = task.home[self.allowed[:, 0]].astype(np.int64)
        self.item = np.ascontiguousarray(self.allowed[:, 1])

    def reaches(self, pairs: IntArray) -> bool:
        return self.task.reaches(pairs)

    def cuts(self, pairs: IntArray) -> Iterator[Cut]:
        """Cut off the blocks of a plan by their degrees of freedom, and larger unfinished ones at random."""
        blocks = self.task.after(pairs)
        yield self._cut(blocks)
        for _ in range(LARGER):
            larger = blocks.copy()
            order = self.rng.permutation(len(self.allowed))
            extend_unfinished(larger, self.task.trial, self.block, self.item, order, np.zeros(len(order), np.int64))
            yield self._cut(larger)

    def _cut(self, blocks: Blocks) -> Cut:
        leaves = np.zeros(len(self.allowed), np.int64)
        leaving(blocks, self.block, self.item, leaves)
        cover = blocks.sizes()[self.task.home]
        return Cut(leaves, max(1, missing_links_of(self.task, blocks)), set(np.flatnonzero(cover < 2).tolist()))

    def possible(self) -> bool:
        task = self.task
        blocks = task.start.copy()
        return close(blocks, task.trial, self.block, self.item, self.block.size) >= task.n_items


def missing_links_of(task: Task, blocks: Blocks) -> int:
    """Degrees of freedom of the graph in which every block is one reviewer."""
    owner, item = blocks.entries()
    pairs = np.divmod(np.unique(owner * task.n_items + item), task.n_items)
    table = Reviews.from_codes(*pairs, reviewers=len(task.components), items=task.n_items)
    return recoverability(table).degrees_of_freedom


#: Candidate reviews up to which the integer programme is stated.
EXACT_UP_TO = 1_500
#: Cascades tried, with increasing randomness, before loads and conflicts are assumed to prevent a plan.
ATTEMPTS = 8
#: Candidate reviews up to which it is tested whether all of them together reach the target.
RELAX_UP_TO = 3_000_000
#: Rounds of improvement between two readings of the clock, times entries.
ROUND_WORK = 2_000
#: Entries visited for replacements that improve loads only: a second or two, and the same on every machine.
POLISH = 3_000_000
#: Seconds, and work, for that when time is over; and for the first plan if there was no time: ordering a partial plan
#: would take as long.
GRACE = 0.1
FIRST = 2.0
#: Share of time and work left for groups, which are listed if plan and bound are ``NEAR``; and for improving.
GROUPS = 0.8
NEAR = 15
SHARE = 0.35
#: Share of time and work left for the weights of a flow.
FLOW = 0.25


#: Candidates up to which a plan is proved before it is improved: that takes less than a second.
FEW = 64


def fill(task: Task, ledger: Ledger, rng: np.random.Generator) -> None:
    """Find a plan, prove bounds, improve the plan, until both meet or time is over."""
    if task.is_done:
        ledger.nothing_to_do(no_pairs())
        return
    ledger.prove(Bound(1, "unfinished", "the papers are not comparable yet"))
    if not task.home.size:
        ledger.infeasible = True
        return
    # First any plan, in case time ends here; then bounds, cheap ones first.
    search = _first_plan(task, ledger, rng)
    if ledger.infeasible:
        return
    cheap_bounds(task, ledger)
    _dear_bounds(task, ledger)
    if search is not None and not ledger.closed:
        prove_by_groups(task, ledger, ledger.clock.share(GROUPS))
    if search is not None and not ledger.closed and task.candidates_up_to <= FEW:
        _exact(task, ledger, rng)
    if search is not None and not ledger.closed:
        _improve(search, ledger, SHARE)
    # The rest of the time goes to the proof, then to the plan again.
    _exact(task, ledger, rng)
    if search is not None:
        _improve(search, ledger, 1.0)
    _settle(task, ledger)


def cheap_bounds(task: Task, ledger: Ledger) -> None:
    ledger.prove(lower_bounds.missing_links(task.table(no_pairs()), task.constraints, task.spare))


def _first_plan(task: Task, ledger: Ledger, rng: np.random.Generator) -> cascade.Search | None:
    for attempt in range(ATTEMPTS):
        seed = int(rng.integers(2**31))
        grace = FIRST if attempt == 0 and ledger.part is None else 0.0
        search, done = cascade.begin(task, task.most, seed, 4 * attempt, ledger.clock, grace)
        if done:
            ledger.offer(search.pairs)
            cascade.prune_search(search, ledger.clock)
            ledger.offer(search.pairs)
            return search
        ledger.part = search.pairs
        if not ledger.in_time:
            break
        if attempt == 0 and not _can_reach(task):
            ledger.infeasible = True
            return None
    return None


def _can_reach(task: Task) -> bool:
    """Whether the candidates together reach the target; true if they are too many to test."""
    if task.candidates_up_to > RELAX_UP_TO:
        return True
    table = task.table(no_pairs())
    pairs = allowed_pairs(task)
    return _one_grows_to_all(table, pairs) or doubly_connected_components(with_extra(table, pairs)).covers_all


def _one_grows_to_all(table: Reviews, pairs: IntArray) -> bool:
    """Whether the reviewer of most items, with all who share two with the group, covers all: a quick yes."""
    if not table.n_reviewers:
        return False
    reads = np.zeros((table.n_reviewers, table.n_items), np.bool_)
    reads[table.reviewer, table.item] = reads[pairs[:, 0], pairs[:, 1]] = True
    cover = reads[int(np.argmax(reads.sum(axis=1)))]
    before = -1
    while before < int(cover.sum()) < table.n_items:
        before = int(cover.sum())
        cover = cover | reads[reads[:, cover].sum(axis=1) >= 2].any(axis=0)
    return bool(cover.all())


def _dear_bounds(task: Task, ledger: Ledger) -> None:
    if ledger.closed or ledger.lower_bound > 64 or not ledger.in_time:
        return
    rules = task.constraints
    live = doubly_connected_components(with_extra(rules.reviews, rules.fixed)) if len(rules.fixed) else task.components
    spread = lower_bounds.expansion(live.cover_start, live.cover_item, task.n_items)
    ledger.prove(spread)
    # The flow takes longer, and gains little over a weak expansion bound.
    if spread is not None and spread.value >= ledger.lower_bound and not ledger.closed:
        ledger.prove(lower_bounds.bound(live.cover_start, live.cover_item, task.n_items, ledger.clock.share(FLOW)))


def _improve(search: cascade.Search, ledger: Ledger, share: float) -> None:
    """Shorten the plan until it meets the bound or its share of the time is over."""
    clock = ledger.clock.share(share)
    rounds = max(1, ROUND_WORK // max(search.task.start.size, 1))
    while not ledger.closed and not clock.over() and len(search.pairs) > 1:
        if cascade.improve_search(search, rounds):
            ledger.offer(search.pairs)
        clock.spend(search.task.worked())


def _exact(task: Task, ledger: Ledger, rng: np.random.Generator) -> None:
    proved = ledger.closed and task.is_cheapest(ledger.pairs)
    if not ledger.in_time or proved or task.candidates_up_to > EXACT_UP_TO:
        return
    settle(DoubleOracle(task, rng), ledger, "some group of papers apart", ledger.clock.share(0.5))


def _settle(task: Task, ledger: Ledger) -> None:
    """Exchange reviews for cheaper and lighter ones."""
    if ledger.pairs is not None and len(ledger.pairs):
        tries = math.inf if task.constraints.cost else POLISH // max(task.start.size, 1)
        # In a long plan one search for replacements exceeds the grace.
        short = len(ledger.pairs) < cascade.LONG
        ledger.pairs = polish(task, ledger.pairs, ledger.clock.no_less_than(GRACE) if short else ledger.clock, tries)
