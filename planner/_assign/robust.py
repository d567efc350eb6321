"""Drop-outs: which reviewers are critical, a search that makes the level survive them, and alternates.

:class:`Watch` knows what is still covered after any one reviewer drops out; :func:`harden` changes the assignment until
the level survives, by a tabu search over cheapest cycles; :class:`Replacing` checks that the level is kept when another
reviewer takes a review over, and :func:`alternates_of` lists who can.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner._assign.core import Core, coverage, groups_of, largest_cover, nothing_grown, promise, seeds_of
from planner._assign.findings import Alternate, Alternates, Lack, Missing
from planner._assign.kernels.core import grow
from planner._assign.kernels.flow import flip, may_replace
from planner._assign.kernels.robust import clear, nothing_outside, reached, uncovered_without
from reviewgraph._base import Clock, order_of
from reviewgraph.graph import level_named

if TYPE_CHECKING:
    from planner._assign.core import Groups, Grown
    from planner._assign.levels import Aim
    from planner._assign.linking import Linker
    from planner._assign.problem import Problem
    from reviewgraph._base import BoolArray, Clock, IntArray


# Who must not drop out: growth from a few seeds with one reviewer left out, and the exact closure for the rest.

#: Disjoint seeds to grow from.
WATCHED = 4


class Watch:
    """Growth from a few disjoint seeds with one reviewer left out, so that no drop-out hits all of them.

    A seed is two reviewers who share two items, or one reviewer where there are too few of those; :meth:`sound`
    checks that they still do after the assignment has changed.
    """

    def __init__(self, core: Core) -> None:
        self.core = core
        reviews = core.table()
        label = np.arange(reviews.n_reviewers)
        used: set[int] = set()
        self.pairs: list[tuple[int, int]] = []
        merges = core.aim.groups(reviews).merges if core.aim.shared > 1 else np.empty((0, 4), np.int64)
        for a, b in seeds_of(reviews, merges):
            if not used & {a, b} and len(self.pairs) < WATCHED:
                used |= {a, b}
                label[b] = a
                self.pairs.append((a, b))
        busiest = np.argsort(-reviews.loads, kind="stable")[: 3 * WATCHED].tolist()
        first = [a for a, _ in self.pairs] + [j for j in busiest if j not in used]
        distinct, compact = np.unique(label, return_inverse=True)
        self.groups = groups_of(compact.astype(np.int64))
        self.seeds = np.searchsorted(distinct, np.array(first[:WATCHED], np.int64)).astype(np.int64)
        self.grown = nothing_grown(core.required.size, self.groups.start.size - 1)
        self.outside = nothing_outside(core.required.size, label.size)

    def sound(self) -> bool:
        """Whether the reviewers of each seed still share two items."""
        net = self.core.net

        def items_of(j: int) -> set[int]:
            first = int(net.held_start[j])
            return set(net.item[net.held[first : first + int(net.n_held[j])]].tolist())

        return all(len(items_of(a) & items_of(b)) > 1 for a, b in self.pairs)

    def reaches(self, least: int) -> bool:
        """Whether the component of some seed covers ``least`` required items; false where a seed has fallen apart."""
        return self.sound() and any(self._reached(seed, -1) >= least for seed in self.seeds.tolist())

    def missing(self, clock: Clock) -> IntArray:
        """Items that no growth reaches without each reviewer in turn, an upper bound; Clock.Over if time runs out."""
        core = self.core
        within = (core.net, self.groups, self.grown, self.outside, core.required)
        counts = np.full(core.net.n_held.size, -1, np.int64)
        good = [seed for seed in self.seeds.tolist() if clear(*within, seed, core.aim.shared, core.total, counts)]
        seeds = np.array(good, np.int64) if good else self.seeds[:1]
        # Growths with everybody clear most reviewers; the others are left out one after another.
        waiting = np.flatnonzero(counts < 0)
        for first, last in clock.pieces(waiting.size):
            uncovered_without(*within, seeds, core.aim.shared, core.total, waiting[first:last], counts)
        return counts

    def missing_one(self, reviewer: int) -> int:
        """Items that no growth reaches without one reviewer; ``grown`` is left in the state of the best growth."""
        counts = [self._reached(seed, reviewer) for seed in self.seeds.tolist()]
        best = int(np.argmax(counts))
        if best != len(counts) - 1:
            self._reached(int(self.seeds[best]), reviewer)
        return self.core.total - counts[best]

    def _reached(self, seed: int, without: int) -> int:
        core = self.core
        within = (core.net, self.groups, self.grown, self.outside, core.required)
        return reached(*within, seed, core.aim.shared, without)


def critical_without(core: Core, clock: Clock) -> BoolArray:
    """Reviewers without whom no component covers all required items, shape (M,), of an assignment where one does.

    Raises Clock.Over if the clock is over before the end.
    """
    if core.aim.shared < 2 or not core.required.all():
        return missing_without(core, clock) > 0
    mask = np.zeros(core.net.n_held.size, np.bool_)
    mask[level_named("double").part("finder").critical_reviewers(core.table(), clock)] = True
    return mask


def missing_without(core: Core, clock: Clock) -> IntArray:
    """Count required items outside the best component after each reviewer in turn drops out, shape (M,); exact.

    Growth from seeds in the core, one reviewer after another, clears most reviewers; the others get the full
    closure. Takes O(M E). Raises Clock.Over if the clock is over before the end.
    """
    counts = Watch(core).missing(clock)
    for reviewer in clock.watch(np.flatnonzero(counts > 0).tolist()):
        counts[reviewer] = truly_missing(core, reviewer)
    return counts


def truly_missing(core: Core, reviewer: int) -> int:
    """Count required items outside the best component after one reviewer drops out, by the full closure."""
    reviews = core.table()
    rest = reviews.subset(reviews.reviewer != reviewer)
    return core.total - largest_cover(core.aim, rest, core.required)


#: Candidates tried for a critical reviewer before the best of them is taken or the search moves on.
TRIES = 16

#: Candidates ranked for a critical reviewer.
RANKED = 256

#: Steps without progress after which the search returns to the best assignment so far, and restarts in all.
STALE = 40
RESTARTS = 12

#: Seconds for a final evaluation where time is over.
CLOSING = 0.3

#: Rounds of repair where repair may expose others.
ROUNDS = 4


class Hardened(NamedTuple):
    """Items missing without each reviewer, and without each exposed reviewer, 0 for the others; shapes (M,)."""

    missing: IntArray
    exposed: IntArray


def harden(linker: Linker, rng: np.random.Generator) -> Hardened | None:
    """Change the assignment until the level survives the losses of its aim; None if time ends before that is certain.

    Ends with the assignment of which least is missing, without forced pairs that turn out superfluous; it never gives
    up the level itself. The aim defines who is exposed: all reviewers, or those of critical reviews; repairing for
    these may expose others, who join them in the next round.
    """
    core = linker.core
    clock = linker.clock
    exposed = np.zeros(linker.net.n_held.size, np.bool_)
    locked = linker.net.locked.copy()
    locked[linker.forced] = False
    # Repair for those exposed, and again for those whom that exposes.
    with suppress(Clock.Over):
        for _ in range(ROUNDS):
            critical = core.aim.exposed(core.table(), clock)
            missing = missing_without(core, clock)
            if not missing[critical].any():
                return Hardened(missing, np.where(critical, missing, 0))
            exposed |= critical
            search = _Search(linker, rng, exposed, locked)
            if search.run():
                linker.release(Robust(core, clock, exposed).holds)
            linker.net.locked[:] = locked
            linker.net.locked[linker.forced] = True
            core.regroup()
            if critical.all():
                break
    # The result, for which there is a little time even where it is over.
    try:
        until = clock.no_less_than(CLOSING)
        critical = core.aim.exposed(core.table(), until)
        missing = missing_without(core, until)
    except Clock.Over:
        return None
    return Hardened(missing, np.where(critical, missing, 0))


class Robust:
    """Whether an assignment under change still survives any one of the exposed reviewers."""

    def __init__(self, core: Core, clock: Clock, exposed: BoolArray) -> None:
        self.watch = Watch(core)
        self.clock = clock
        self.core = core
        self.exposed = exposed

    def holds(self, pairs: IntArray) -> bool:
        """Whether nothing is missing after pairs were flipped; false where time is over before that is certain."""
        if not self.watch.sound():
            self.watch = Watch(self.core)
        try:
            return not self.watch.missing(self.clock)[self.exposed].any()
        except Clock.Over:
            return False


class _Search:
    """Tabu search for an assignment without critical reviewers.

    A step takes a critical reviewer, ranks the pairs that would join the missing items without them as the planner
    does, and forces the first one after which less is missing over all drop-outs; if none of those tried does, the
    one after which least is missing. Pairs forced stay, and pairs removed stay away, for some steps.
    """

    def __init__(self, linker: Linker, rng: np.random.Generator, exposed: BoolArray, locked: BoolArray) -> None:
        self.linker = linker
        self.rng = rng
        self.step = 0
        self.exposed = exposed
        self.locked = locked
        self.watch = Watch(linker.core)
        self.missing = self._missing(self.watch)
        self.base = linker.net.locked.copy()
        self.until = np.zeros(linker.cost.size, np.int64)
        self.noise = 0.0
        self.best = int(self.missing.sum())
        self.kept = (linker.net.assigned.copy(), list(linker.forced))

    def run(self) -> bool:
        """Search until nothing is missing, or time and restarts are used up; leaves the best assignment found."""
        stale = 0
        restarts = 0
        with suppress(Clock.Over):
            while self.best > 0 and not self.linker.clock.over() and restarts < RESTARTS:
                self.step += 1
                self._one_step()
                stale += 1
                # Keep the best so far; after STALE steps without progress return to it, and randomise the ranking.
                if int(self.missing.sum()) < self.best:
                    stale = 0
                    self.best = int(self.missing.sum())
                    self.kept = (self.linker.net.assigned.copy(), list(self.linker.forced))
                elif stale > STALE:
                    stale = 0
                    restarts = restarts + 1
                    self.noise = 0.5
                    self._back()
                    self.base = self.locked.copy()
                    self.watch = Watch(self.linker.core)
                    self.missing = self._missing(self.watch)
        self._back()
        return self.best == 0

    def _missing(self, watch: Watch) -> IntArray:
        """Count items missing without each exposed reviewer; 0 for the others."""
        return np.where(self.exposed, watch.missing(self.linker.clock), 0)

    def _back(self) -> None:
        linker = self.linker
        assigned, forced = self.kept
        flip(linker.net, np.flatnonzero(assigned != linker.net.assigned))
        linker.forced = list(forced)
        self.until[:] = 0

    def _one_step(self) -> None:
        # Tabu list: recently forced pairs stay (locked); recently removed pairs are left out of the ranking.
        linker = self.linker
        net = self.linker.net
        net.locked[:] = self.base | (net.assigned & (self.until > self.step))
        # A critical reviewer, more likely one without whom many items are missing.
        waiting = np.flatnonzero(self.missing > 0)
        weight = self.missing[waiting] * self.rng.random(waiting.size)
        reviewer = int(waiting[np.argmax(weight)])
        move = self._look(reviewer, self._ranked(reviewer))
        if move is None:
            return
        # The move is made even where it is for the worse: that leads out of local optima.
        pairs, self.missing, self.watch = move
        flip(net, pairs)
        linker.forced.append(int(pairs[0]))
        linker.forced = [p for p in dict.fromkeys(linker.forced) if net.assigned[p]]
        stay = 3 + int(self.rng.integers(1 + min(20, net.n_held.size // 4)))
        self.until[pairs[0]] = self.step + stay
        self.until[pairs[~net.assigned[pairs]]] = self.step + stay

    def _ranked(self, reviewer: int) -> IntArray:
        """Return pairs that would add items without this reviewer, least loss per item first."""
        linker = self.linker
        net = self.linker.net
        watch = self.watch
        watch.missing_one(reviewer)
        core = linker.core
        loss, follow, gain = promise(net, linker.cost, watch.groups, watch.grown, core.required, core.aim.shared, 1)
        useful = np.flatnonzero((gain > 0) & (net.reviewer != reviewer) & (self.until <= self.step))
        score = (loss + follow)[useful] / gain[useful]
        if self.noise:
            score *= np.exp(self.noise * self.rng.normal(size=score.size))
        return useful[np.argsort(score, kind="stable")[:RANKED]]

    def _look(self, reviewer: int, ranked: IntArray) -> tuple[IntArray, IntArray, Watch] | None:
        """Return the first change after which less is missing, or else the best one of those tried."""
        linker = self.linker
        net = self.linker.net
        now = int(self.missing.sum())
        alone = int(self.missing[reviewer])
        tried = 0
        best: tuple[int, tuple[IntArray, IntArray, Watch]] | None = None
        for pair in ranked.tolist():
            if tried >= TRIES or linker.clock.over():
                break
            pairs, _ = linker.change(pair)
            if pairs.size == 0:
                continue
            # Try the change, evaluate it, undo it. It is of no use if it loses the level or gains nothing here.
            flip(net, pairs)
            try:
                watch = self.watch if self.watch.sound() else Watch(linker.core)
                if watch.missing_one(-1) > 0 or watch.missing_one(reviewer) > alone:
                    continue
                missing = self._missing(watch)
            finally:
                flip(net, pairs)
            tried += 1
            total = int(missing.sum())
            if total < now:
                return pairs, missing, watch
            if best is None or total < best[0]:
                best = total, (pairs, missing, watch)
        return None if best is None else best[1]


# Whether the level survives another reviewer taking a review over: one closure per review, one growth per candidate.


class Replacing:
    """An assignment of which one review at a time is given to somebody else; after each query it is as before.

    Where the level holds it must hold afterwards; where it was missed, no component may cover fewer required items. A
    further review never separates a component. So a review that can be lost can be given to anybody, and growth from a
    few seeds clears most of them, in O(E) each. Without one of the others the components are computed once, in O(E) or
    little more. A pair that enters changes what its reviewer's component covers and no other one, so whatever merges
    does so with this component: growth from it decides, in O(E), exactly.
    """

    def __init__(self, core: Core) -> None:
        self.watch = Watch(core)
        self.core = core
        self.least = core.total if core.at_level() else core.count
        # Where groups do not suffice for a level, its own test decides every exchange.
        self.tested = core.at_level() and not core.aim.core_suffices
        # The components without each review, and space to grow from them; None where the level does without it.
        self.parts: dict[int, tuple[Groups, Grown] | None] = {}

    def keeps(self, gone: int, entering: int) -> bool:
        """Whether the level is kept when one pair takes the place of another."""
        net = self.core.net
        core = self.core
        exchange = np.array([gone, entering])
        if not self.tested and gone not in self.parts:
            self.parts[gone] = self._without(exchange[:1])
        parts = None if self.tested else self.parts[gone]
        if parts is None and not self.tested:
            return True
        flip(net, exchange)
        if parts is None:
            holds = core.at_level()
        else:
            seed = int(parts[0].label[net.reviewer[entering]])
            reached = grow(net, *parts, core.required, seed, core.aim.shared, -1)
            holds = reached >= self.least or (self.least == core.total and core.aim.holds_early(core.table))
        flip(net, exchange)
        return holds

    def _without(self, gone: IntArray) -> tuple[Groups, Grown] | None:
        core = self.core
        flip(core.net, gone)
        try:
            if self.watch.reaches(self.least):
                return None
            reviews = core.table()
            label = core.aim.groups(reviews).labels
            most = coverage(label, reviews.reviewer, reviews.item, core.required).max(initial=0)
            if most >= self.least or (self.least == core.total and core.aim.holds_early(core.table)):
                return None
            groups = groups_of(label)
            return groups, nothing_grown(core.required.size, groups.start.size - 1)
        finally:
            flip(core.net, gone)


# Alternates: for each paper the next best reviewers any one of whom can replace anybody of its panel.
#
# An alternate for a paper may review it, has room in their load, and can take one reviewer's place such that the rules
# hold on the paper and the level is kept. The place is checked against every reviewer of the panel: first come those
# who can replace everyone, by affinity, then those who can replace most. Each exchange is checked by itself, so two
# papers may list one person, who has room for one of them.

#: Candidates of a paper that are examined, the best first, where too few of them can replace everyone.
LOOKED = 20


def alternates_of(problem: Problem, assigned: BoolArray, aim: Aim, number: int, clock: Clock) -> Alternates:
    """Return the alternates of every paper, ``number`` each.

    Takes O(E) for each review, and for each candidate of a review on which the level depends; O(E^2) in all at worst.
    Papers without an open place in the assignment have none; once time is up, the rest is missing.
    """
    net = problem.network(assigned)
    level = Replacing(Core(net, problem.required, aim)) if aim.level is not None else None
    listed: list[Alternate] = []
    missing: list[Missing] = []
    for item in np.flatnonzero(problem.served).tolist():
        label = problem.items[item]
        if clock.over():
            missing.append(Missing(label, 0, Lack.STOPPED))
            continue
        # The panel without reviews of a first phase, and others who may review the item, of whom some have room.
        panel = np.sort(net.panel[net.panel_start[item] :][: net.n_panel[item]])
        panel = panel[~problem.old[panel]]
        first = net.item_start[item]
        last = net.item_start[item + 1]
        candidates = np.arange(first, last)[~net.assigned[first:last]]
        person = net.reviewer[candidates]
        room = candidates[net.n_held[person] < (net.held_start[1:] - net.held_start[:-1])[person]]
        # The reviews that each of the best could replace, until enough of them could replace any.
        alternates: list[tuple[int, IntArray]] = []
        why = Lack.RULES if room.size else Lack.ROOM
        if not candidates.size:
            why = Lack.NOBODY
        for pair in room[order_of(-problem.affinity[room])][:LOOKED].tolist():
            fitting = [q for q in panel.tolist() if may_replace(net, pair, q)]
            replaced = np.array([q for q in fitting if level is None or level.keeps(q, pair)], np.int64)
            why = Lack.LEVEL if len(fitting) > replaced.size else why
            if replaced.size:
                alternates.append((pair, replaced))
            if sum(part.size == panel.size for _, part in alternates) == number:
                break
        alternates.sort(key=lambda alternate: -alternate[1].size)
        full = sum(part.size == panel.size for _, part in alternates[:number])
        for pair, replaced in alternates[:number]:
            listed.append(
                Alternate(
                    item=label,
                    reviewer=problem.reviewers[int(problem.reviewer[pair])],
                    affinity=float(problem.affinity[pair]),
                    replaces=tuple(problem.reviewers[j] for j in problem.reviewer[replaced].tolist()),
                    everyone=replaced.size == panel.size,
                )
            )
        if full < number:
            missing.append(Missing(label, full, why))
    return Alternates(number, tuple(listed), tuple(missing))
