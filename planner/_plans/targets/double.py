"""The target *double*, one doubly connected component covers all items, and those that survive a loss."""

from __future__ import annotations

import math
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from planner._plans import cascade, listing, lower_bounds
from planner._plans.cascade import Repairer, polish
from planner._plans.constraints import no_pairs, with_extra
from planner._plans.covering import settle
from planner._plans.kernels.cascade import follow
from planner._plans.kernels.trials import extend_unfinished, leaving
from planner._plans.listing import reduce
from planner._plans.target import Bound, Groups, Target
from planner._plans.targets.covered import least_load, lighten
from planner._plans.targets.searched import SearchedTarget
from planner._plans.task import (
    CALL,
    Cut,
    Losses,
    Oracle,
    after_loss,
    allowed_pairs,
    largest_cover,
    looked_at,
)
from reviewgraph._base import Clock, Mentions, counted
from reviewgraph.graph import Level, doubly_connected_components, level_named, recoverability
from reviewgraph.table import Reviews

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner._plans.listing import Levels, Part, Path, Reduction
    from planner._plans.target import Ledger
    from planner._plans.task import Task
    from reviewgraph._base import BoolArray, IntArray
    from reviewgraph.graph import Blocks


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
        return Cut(leaves, max(1, missing_links_of(self.task, blocks)))


def missing_links_of(task: Task, blocks: Blocks) -> int:
    """Degrees of freedom of the graph in which every block is one reviewer."""
    owner, item = blocks.entries()
    pairs = np.divmod(np.unique(owner * task.n_items + item), task.n_items)
    table = Reviews.from_codes(*pairs, reviewers=len(task.components), items=task.n_items)
    return recoverability(table).degrees_of_freedom


# Plans and bounds from the groups that few joins make, part by part of the contracted graph.

#: Largest groups kept per price, in turn, while width times the square of the joins is about below ``BEAM_WORK``.
WIDTHS = (30, 100, 300)
BEAM_WORK = 1_500_000
#: Entries of the covers from which a table is huge: a group has more neighbours.
HUGE = 20_000
#: Share of the time left for listing groups there, which cannot come near the plan.
HUGE_LISTING = 0.1
#: Lower bound of a part above which listing is hopeless: each review multiplies the number of groups by four to ten.
DEEPEST = 8
#: A level that no listing reaches: groups multiply with every review.
FARTHEST = 2 * DEEPEST


def fill_by_groups(task: Task, ledger: Ledger, clock: Clock) -> cascade.Search | None:
    """Offer a plan made of joins of parts, and prove bounds until they meet it, room is short, or time is over.

    Returns the search that holds the plan, if it was shorter than the best so far.
    """
    if clock.over():
        return None
    reduction = reduce(task)
    ledger.prove(_bound(reduction, [part.least for part in reduction.parts], 0))
    paths = [_path(task, part, clock) for part in reduction.parts]
    shorter = _offer(task, reduction, paths, ledger)
    clock = clock.share(HUGE_LISTING) if is_huge(task) else clock
    levels = [listing.new_levels(part) for part in reduction.parts]
    while not ledger.closed and _rise(reduction, levels, ledger, clock):
        joins = [level.path or path for level, path in zip(levels, paths, strict=True)]
        if any(level.path for level in levels):
            shorter = _offer(task, reduction, joins, ledger) or shorter
    return shorter


def is_huge(task: Task) -> bool:
    return task.start.size >= HUGE


def _rise(reduction: Reduction, levels: list[Levels], ledger: Ledger, clock: Clock) -> bool:
    """Raise the bound of the part where it is easiest; false if that is impossible or takes too long."""
    open_ = [level for level in levels if level.path is None and level.part.least <= DEEPEST]
    # A bound by other means that is beyond every listing cannot be raised by one, nor is there a shorter plan.
    farthest = reduction.fringe + sum(max(level.value, FARTHEST) for level in levels)
    if not open_ or ledger.lower_bound >= farthest:
        return False
    level = min(open_, key=lambda level: level.effort)
    elsewhere = reduction.fringe + sum(bounded.value for bounded in levels if bounded is not level)
    last = ledger.pairs is None or elsewhere + len(level.pools) + 1 >= len(ledger.pairs) or level.is_full
    if not level.rise(store=not last, clock=clock):
        return False
    ledger.prove(_bound(reduction, [bounded.value for bounded in levels], sum(bounded.looked_at for bounded in levels)))
    return not last or level.path is not None


def _bound(reduction: Reduction, values: list[int], looked_at: int) -> Bound:
    total = reduction.fringe + sum(values)
    words = f"joining the groups takes {counted(sum(values), 'review')}"
    if reduction.fringe:
        rest = "" if not values else f", and {sum(values)} for the rest"
        words = f"{counted(reduction.fringe, 'review')} for groups attached by at most two papers{rest}"
    if looked_at:
        words += f" (no group that fewer reviews can make covers all papers; {looked_at} were listed)"
    return Bound(total, "groups" if looked_at else "parts", words, tuple(values))


def _path(task: Task, part: Part, clock: Clock) -> Path | None:
    """Find joins for a part, the best of several beams."""
    best: Path | None = None
    for width in WIDTHS:
        if best is not None and (len(best) <= part.least + 1 or width * len(best) ** 2 > BEAM_WORK):
            break
        most = task.n_items + task.home.size if best is None else len(best) - 1
        best = listing.beam(part, width, most, clock) or best
    return best


def _offer(task: Task, reduction: Reduction, paths: list[Path | None], ledger: Ledger) -> cascade.Search | None:
    """Complete the joins of the parts to a plan, and offer it if it is shorter."""
    complete = [path for path in paths if path is not None]
    short = reduction.fringe + sum(map(len, complete))
    if not paths or len(complete) < len(paths) or ledger.pairs is None or short >= len(ledger.pairs):
        return None
    pairs = [part.blocks[np.array(path)] for part, path in zip(reduction.parts, complete, strict=True)]
    joins = np.concatenate([np.empty((0, 2), np.int64), *pairs])
    search = cascade.new_search(task, len(ledger.pairs))
    left = np.ascontiguousarray(joins[:, 0])
    right = np.ascontiguousarray(joins[:, 1])
    follow(search.blocks, task.trial, search.board, search.moves, left, right)
    if not cascade.grow(search, len(ledger.pairs) - 1, clock=ledger.clock):
        return None
    cascade.prune_search(search, ledger.clock)
    ledger.offer(search.pairs)
    return search


# The target *double*: a plan, bounds, and a better plan.
#
# 1. A cascade gives a plan, from which reviews that are not needed are removed.
# 2. Bounds: degrees of freedom, expansion with a flow, and lists of groups.
# 3. Reviews are taken out and the plan completed anew; small tables go to the integer programme.

#: Candidate reviews up to which the integer programme is stated, and a plan is proved before it is improved.
EXACT_UP_TO = 1_500
FEW = 64
#: Cascades tried, with increasing randomness, before loads and conflicts are assumed to prevent a plan.
ATTEMPTS = 8
#: Bounds above which no expansion is looked for.
WEAK = 64
#: Rounds of improvement between two readings of the clock, times entries.
ROUND_WORK = 2_000
#: Entries visited for replacements that improve loads only: a second or two, and the same on every machine.
POLISH = 3_000_000
#: Seconds, and work, for that when time is over; and for the first plan if there was no time: ordering a partial plan
#: would take as long.
GRACE = 0.1
FIRST = 2.0
#: Share of time and work left for groups if plan and bound are ``NEAR``, or the table is huge; otherwise, and for
#: improving; and for the weights of a flow.
GROUPS = 0.8
NEAR = 15
SHARE = 0.35
FLOW = 0.25


class DoubleTarget(SearchedTarget):
    """Groups are doubly connected components; a review grows one of them, and others follow."""

    level: ClassVar[Level] = level_named("double")
    apart = "comparable for certain"

    def reaches(self, reviews: Reviews) -> bool:
        return doubly_connected_components(reviews).covers_all

    def groups(self, reviews: Reviews) -> Groups:
        components = doubly_connected_components(reviews)
        return Groups(components.labels, components.covers)

    def merges(self, task: Task, pairs: IntArray) -> Iterator[list[int]]:
        """Grow one block per review."""
        blocks = task.start.copy()
        first = np.unique(task.home, return_index=True)[1]
        for reviewer, item in pairs.tolist():
            own = blocks.root_of(task.home[reviewer])
            before = blocks.n_trail
            blocks.add(own, item)
            joined = {*blocks.absorbed(before).tolist(), blocks.root_of(own)} - {own}
            yield [int(first[block]) for block in sorted(joined)]

    def oracle(self, task: Task, rng: np.random.Generator) -> Oracle | None:
        return DoubleOracle(task, rng)

    def fill(self, task: Task, ledger: Ledger, rng: np.random.Generator) -> None:
        """Find a plan, prove bounds, improve the plan, until both meet or time is over."""
        if task.is_done:
            ledger.nothing_to_do()
            return
        ledger.prove(Bound(1, "unfinished", "the papers are not comparable yet"))
        if not task.home.size:
            ledger.infeasible = True
            return
        # First any plan, in case time ends here; then bounds, cheap ones first.
        search = self._first_search(task, ledger, rng)
        if ledger.infeasible:
            return
        missing = lower_bounds.missing_links(task.table(no_pairs()), task.constraints, task.spare)
        if missing is None:
            ledger.infeasible = True
            return
        ledger.prove(missing)
        _prove_by_expansion(task, ledger)
        # If plan and bound are near each other, closing the gap is worth more of the time.
        if search is not None and not ledger.closed:
            near = ledger.pairs is not None and len(ledger.pairs) - ledger.lower_bound <= NEAR
            share = GROUPS if near or is_huge(task) else SHARE
            search = fill_by_groups(task, ledger, ledger.clock.share(share)) or search
        if search is not None and not ledger.closed and task.candidates_up_to <= FEW:
            _settle_exactly(task, ledger, rng)
        if search is not None and not ledger.closed:
            _improve(search, ledger, SHARE)
        # The rest of the time goes to the proof, then to the plan again.
        _settle_exactly(task, ledger, rng)
        if search is not None:
            _improve(search, ledger, 1.0)
        _polish(self, task, ledger)

    def _first_search(self, task: Task, ledger: Ledger, rng: np.random.Generator) -> cascade.Search | None:
        """Return a search that reaches the target, and offer its plan; None if none was found."""
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
            if attempt == 0 and not self.can_reach(task, ledger.clock):
                ledger.infeasible = True
                break
        return None

    def certificate(self, reviews: Reviews) -> IntArray:
        """Return merges of reviewers, see :func:`reviewgraph.graph.verify_merges`."""
        return doubly_connected_components(reviews).merges

    def papers(self, task: Task, pairs: IntArray, clock: Clock | None = None) -> int:
        covered = largest_cover(task.after(pairs))
        if clock is not None:
            clock.spend(CALL + task.worked())
        return covered


def _prove_by_expansion(task: Task, ledger: Ledger) -> None:
    if ledger.closed or ledger.lower_bound > WEAK or not ledger.in_time:
        return
    rules = task.constraints
    live = doubly_connected_components(with_extra(rules.reviews, rules.fixed)) if len(rules.fixed) else task.components
    spread = lower_bounds.expansion(live.cover_start, live.cover_item, task.n_items)
    ledger.prove(spread)
    # The flow takes longer, and gains little over a weak expansion bound.
    if spread is not None and spread.value >= ledger.lower_bound and not ledger.closed:
        ledger.prove(lower_bounds.expansion(live.cover_start, live.cover_item, task.n_items, ledger.clock.share(FLOW)))


def _improve(search: cascade.Search, ledger: Ledger, share: float) -> None:
    """Shorten the plan until it meets the bound or its share of the time is over."""
    clock = ledger.clock.share(share)
    rounds = max(1, ROUND_WORK // max(search.task.start.size, 1))
    while not ledger.closed and not clock.over() and len(search.pairs) > 1:
        if cascade.improve_search(search, rounds):
            ledger.offer(search.pairs)
        clock.spend(search.task.worked())


def _settle_exactly(task: Task, ledger: Ledger, rng: np.random.Generator) -> None:
    if ledger.in_time and not ledger.settled(task) and task.candidates_up_to <= EXACT_UP_TO:
        settle(DoubleOracle(task, rng), ledger, "some group of papers apart", ledger.clock.share(HALF))


def _polish(target: Target, task: Task, ledger: Ledger) -> None:
    """Exchange reviews for cheaper ones, and for lighter ones if other reviewers of the same papers do not suffice."""
    lighten(target, task, ledger)
    pairs = ledger.pairs
    if pairs is None or not (task.constraints.cost or task.loads(pairs).max() > least_load(task, ledger)):
        return
    tries = math.inf if task.constraints.cost else POLISH // max(task.start.size, 1)
    # In a long plan one search for replacements exceeds the grace.
    clock = ledger.clock.no_less_than(GRACE) if len(pairs) < cascade.LONG else ledger.clock
    ledger.pairs = polish(task, pairs, clock, tries)


# Cuts for the targets that survive a loss: those of *double* after each loss.
#
# After a loss a plan must cross every cut of *double* as often as links are missing, with reviews that are not lost.
# If one review is lost at a time, those of the plan included, it must cross a cut of the whole table once more: the
# lost review may be one that crosses.

#: Losses that are cut off in one round of the programme.
AT_ONCE = 3
#: Work, see :class:`reviewgraph._base.clock.Clock`, of a test of one loss.
PART = 5e-4


class _Part(NamedTuple):
    """One loss: the oracle of *double* after it, the remaining candidates, and the extra crossings of a cut."""

    oracle: DoubleOracle
    left: BoolArray
    more: int


class RobustOracle(Oracle):
    """*Double* after each loss."""

    def __init__(self, task: Task, losses: Losses, rng: np.random.Generator) -> None:
        super().__init__(task, allowed_pairs(task))
        self.parts = list[_Part]()
        self.single = losses.single
        for loss in losses.every(task.table(no_pairs())):
            left = ~loss.takes(self.allowed[:, 0], self.allowed[:, 1])
            oracle = DoubleOracle(after_loss(task, no_pairs(), loss), rng, self.allowed[left])
            self.parts.append(_Part(oracle, left, int(losses.single and loss.reviewer < 0)))

    @property
    def work(self) -> float:
        return super().work + PART * len(self.parts)

    def reaches(self, pairs: IntArray) -> bool:
        return next(self._failing(pairs), None) is None

    def cuts(self, pairs: IntArray) -> Iterator[Cut]:
        for part, rest in islice(self._failing(pairs), AT_ONCE):
            for cut in part.oracle.cuts(rest):
                leaves = np.zeros(len(self.allowed), np.int64)
                leaves[part.left] = cut.leaves
                yield Cut(leaves, cut.least + part.more)

    def _failing(self, pairs: IntArray) -> Iterator[tuple[_Part, IntArray]]:
        """Losses after which the target is missed, each with the remaining ones of the chosen reviews."""
        taken = np.isin(self.task.codes(self.allowed), self.task.codes(pairs))
        for part in self.parts:
            rest = self.allowed[taken & part.left]
            if not part.oracle.reaches(rest):
                yield part, rest
        if self.single:
            # Nothing is lost but one of the reviews chosen.
            for place in range(len(pairs)):
                rest = np.delete(pairs, place, axis=0)
                if not self.parts[0].oracle.reaches(rest):
                    yield self.parts[0], rest


# The targets that survive a loss: *double* after any one reviewer, or any one review, fails to arrive.
#
# 1. Bounds: two reviews per paper; the links missing after a loss, plus one if the plan's own may be lost.
# 2. A greedy by scenarios, :mod:`planner._plans.cascade`, and its improvement.
# 3. In small tables the implicit hitting set, with the cuts of *double* after each loss.

#: Candidate reviews times losses up to which the integer programme is stated.
EXACT_WORK = 100_000
#: Losses whose missing links are counted, and the shares of time and work for this and the integer programme.
COUNTED = 200
COUNTING = 0.2
HALF = 0.5


class RobustTarget(DoubleTarget):
    """Groups are those of *double*, with nothing lost."""

    tested_up_to = 200_000
    losses: ClassVar[Losses]
    #: Merges replay one table, not those after each loss.
    certificate = Target.certificate

    def reaches(self, reviews: Reviews) -> bool:
        return not self.losses.failing(reviews)

    def reaches_in_time(self, reviews: Reviews, clock: Clock) -> bool:
        with suppress(Clock.Over):
            return not self.losses.failing(reviews, clock)
        return False

    def fill(self, task: Task, ledger: Ledger, rng: np.random.Generator) -> None:
        if not self.losses.failing(task.table(no_pairs()), ledger.clock):
            ledger.nothing_to_do()
            return
        if not task.home.size:
            ledger.infeasible = True
            return
        self._prove(task, ledger)
        if ledger.infeasible:
            return
        repairer = Repairer(task, self, self.losses, rng, ledger.clock)
        self._first_plan(repairer, ledger)
        if ledger.infeasible:
            return
        oracle = None if ledger.settled(task) or not ledger.in_time else self.oracle(task, rng)
        if oracle is not None:
            settle(oracle, ledger, "some loss unrepaired", ledger.clock.share(HALF))
        repairer.improve(ledger)

    def papers(self, task: Task, pairs: IntArray, clock: Clock | None = None) -> int:
        """Items of the largest group; if these are all, rank by the number of losses that lower the level.

        So partial plans are ranked first by how far they get to *double*, then by the losses they survive, if there is
        time.
        """
        covered = super().papers(task, pairs, clock)
        if covered < task.n_items:
            return covered
        everything = task.n_items * (task.n_items + task.home.size + 1)
        with suppress(Clock.Over):
            return everything - len(self.losses.failing(task.table(pairs), clock))
        return covered

    def _prove(self, task: Task, ledger: Ledger) -> None:
        """Count the reviews that papers lack, and the links that are missing after losses."""
        table = task.table(no_pairs())
        ledger.prove(Bound(1, "unfinished", "there is a loss after which some papers are not comparable"))
        lacking = int(np.maximum(2 - table.reviews_per_item, 0).sum())
        words = f"each paper needs two reviews, to keep one if the other is lost, and {lacking} are missing"
        ledger.prove(Bound(lacking, "two a paper", words))
        clock = ledger.clock.share(COUNTING)
        # Nothing lost first, then reviewers of most reviews.
        size = np.append(table.loads, table.n_items + 1)
        for loss in sorted(self.losses.every(table), key=lambda loss: -size[loss.reviewer])[:COUNTED]:
            left = after_loss(task, no_pairs(), loss)
            clock.spend(2 * looked_at(table))
            missing = lower_bounds.missing_links(left.table(no_pairs()), left.constraints, left.spare)
            if missing is None:
                ledger.infeasible = True
                return
            value = missing.value
            words = missing.words
            what = "with nothing lost"
            if loss.reviewer >= 0:
                what = self.losses.words(loss, Mentions.REVIEWERS, Mentions.PAPERS)
            elif self.losses.single and not left.is_done:
                # The reviews of the plan that repair the table must do so without any one of them.
                words = words if value else "1 review is missing"
                value = max(value, 1) + 1
                words = f"{words}, and one review more, for one of these may be lost"
            ledger.prove(Bound(value, "a loss", words, lost=what))
            if clock.over():
                return

    def _first_plan(self, repairer: Repairer, ledger: Ledger) -> None:
        for attempt in range(ATTEMPTS):
            pairs = repairer.repaired(no_pairs(), 4 * attempt)
            if pairs is not None:
                ledger.offer(repairer.pruned(pairs))
                return
            if not ledger.in_time:
                return
            if attempt == 0 and not self.can_reach(repairer.task, ledger.clock):
                ledger.infeasible = True
                return

    def oracle(self, task: Task, rng: np.random.Generator) -> Oracle | None:
        candidates = task.candidates_up_to
        losses = len(self.losses.every(task.table(no_pairs())))
        few = candidates <= EXACT_UP_TO and candidates * losses <= EXACT_WORK
        return RobustOracle(task, self.losses, rng) if few else None


class SurvivesReviewerTarget(RobustTarget):
    level: ClassVar[Level] = level_named("survives-reviewer")
    apart = "comparable for certain if some reviewer dropped out"
    losses = Losses(single=False)


class SurvivesReviewTarget(RobustTarget):
    level: ClassVar[Level] = level_named("survives-review")
    apart = "comparable for certain if some review failed to arrive"
    losses = Losses(single=True)
