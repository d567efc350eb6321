"""Drop-outs: which reviewers are critical, a search that makes the level survive them, and alternates.

:func:`missing_without` counts what is not covered after any one reviewer drops out; :func:`harden` changes the
assignment until the level survives, by a tabu search over cheapest cycles; :class:`Replacing` checks that the level is
kept when another reviewer takes a review over, and :func:`alternates_of` lists who can.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner._assign.core import Core, promise
from planner._assign.findings import Alternate, Alternates, Lack, Missing
from planner._assign.kernels.flow import flip
from planner._assign.programme import may_replace
from reviewgraph._base import Clock, order_of
from reviewgraph.graph import Units, missing_without_units
from reviewgraph.table import Reviews

if TYPE_CHECKING:
    from planner._assign.forcing import Forcing
    from planner._assign.levels import Aim
    from planner._assign.linking import Linker
    from planner._assign.problem import Problem
    from reviewgraph._base import BoolArray, Clock, IntArray


# What must not be lost: exact counts, by adding and undoing reviews.


def missing_without(core: Core, clock: Clock, who: BoolArray | None = None) -> IntArray:
    """Count required items outside the best component after each reviewer, or each of ``who``, drops out; shape (M,).

    Reviewers are divided and conquered in O(E log M) steps and joins, O(M E) joins at worst. Raises Clock.Over.
    """
    reviews, required = _sharing_two(core)
    tested = np.arange(core.net.n_held.size) if who is None else np.flatnonzero(who)
    units = Units(reviews.reviewer_start, np.arange(reviews.n_reviews))
    return missing_without_units(reviews, units, tested, required, clock)


def missing_without_reviews(core: Core, clock: Clock) -> IntArray:
    """Count required items outside the best component after each assigned pair is lost, shape (P,)."""
    reviews, required = _sharing_two(core)
    row = np.arange(reviews.n_reviews + 1)
    tested = np.flatnonzero(reviews.item < core.required.size)
    counts = np.zeros(core.net.assigned.size, np.int64)
    pairs = np.flatnonzero(core.net.assigned)
    pairs = pairs[np.argsort(core.net.reviewer[pairs], kind="stable")]
    counts[pairs] = missing_without_units(reviews, Units(row, row[:-1]), tested, required, clock)[tested]
    return counts


def exposed_of(core: Core, clock: Clock) -> BoolArray:
    """Return the reviewers by whose loss the level may fail where it must survive a loss, shape (M,).

    Only those of critical reviews where single reviews are lost: surviving a reviewer implies surviving their reviews.
    """
    exposed = np.ones(core.net.n_held.size, np.bool_)
    if core.aim.loses_reviews:
        exposed[:] = False
        exposed[core.net.reviewer[missing_without_reviews(core, clock) > 0]] = True
    return exposed


def _sharing_two(core: Core) -> tuple[Reviews, BoolArray]:
    """Return a table whose doubly connected components are those of the core, and the items that they must cover."""
    reviews = core.table()
    if core.aim.shared > 1:
        return reviews, core.required
    # Where one shared item suffices, everybody reviews one more, so that it makes two.
    common = reviews.n_items
    reviewer = np.concatenate([reviews.reviewer, np.arange(reviews.n_reviewers)])
    item = np.concatenate([reviews.item, np.full(reviews.n_reviewers, common)])
    more = Reviews.from_codes(reviewer, item, reviewers=reviews.n_reviewers, items=common + 1)
    return more, np.append(core.required, True)


#: Candidates tried for a critical reviewer before the best of them is taken or the search moves on.
TRIES = 16

#: Candidates ranked for a critical reviewer.
RANKED = 256

#: Steps without progress after which the search returns to the best assignment so far, and restarts in all.
STALE = 40
RESTARTS = 2

#: Seconds for a final evaluation where time is over.
CLOSING = 0.3

#: Rounds of repair where repair may expose others.
ROUNDS = 4


class Hardened(NamedTuple):
    """Items missing without each reviewer, and without each exposed reviewer, 0 for the others; shapes (M,)."""

    missing: IntArray
    exposed: IntArray


def harden(linker: Linker | Forcing, rng: np.random.Generator) -> Hardened | None:
    """Change the assignment until the level survives the losses of its aim; None if time ends before that is certain.

    Ends with the assignment of which least is missing, without forced pairs that turn out superfluous; it never gives
    up the level itself. All reviewers are exposed, or those of critical reviews; repairing for these may expose others,
    who join them in the next round.
    """
    core = linker.core
    clock = linker.clock
    exposed = np.zeros(linker.net.n_held.size, np.bool_)
    locked = linker.net.locked.copy()
    locked[linker.forced] = False
    # Repair for those exposed, and again for those whom that exposes.
    with suppress(Clock.Over):
        for _ in range(ROUNDS):
            critical = exposed_of(core, clock)
            missing = missing_without(core, clock)
            if not missing[critical].any():
                return Hardened(missing, np.where(critical, missing, 0))
            exposed |= critical
            search = _Search(linker, rng, exposed, locked)
            if search.run():
                linker.release(partial(survives, core, clock, exposed))
            linker.net.locked[:] = locked
            linker.net.locked[linker.forced] = True
            core.regroup()
            if critical.all():
                break
    # The result, for which there is a little time even where it is over.
    try:
        until = clock.no_less_than(CLOSING)
        critical = exposed_of(core, until)
        missing = missing_without(core, until)
    except Clock.Over:
        return None
    return Hardened(missing, np.where(critical, missing, 0))


def survives(core: Core, clock: Clock, exposed: BoolArray) -> bool:
    """Whether nothing is missing without any one of the exposed; false where time is over before that is certain."""
    try:
        return not missing_without(core, clock, exposed).any()
    except Clock.Over:
        return False


class _Search:
    """Tabu search for an assignment without critical reviewers.

    A step takes a critical reviewer, ranks the pairs that would join the missing items without them as the planner
    does, and forces the first one after which less is missing over all drop-outs; if none of those tried does, the
    one after which least is missing. Pairs forced stay, and pairs removed stay away, for some steps.
    """

    def __init__(
        self, linker: Linker | Forcing, rng: np.random.Generator, exposed: BoolArray, locked: BoolArray
    ) -> None:
        self.linker = linker
        self.rng = rng
        self.step = 0
        self.exposed = exposed
        self.locked = locked
        self.missing = self._missing()
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
                    self.missing = self._missing()
        self._back()
        return self.best == 0

    def _missing(self) -> IntArray:
        return missing_without(self.linker.core, self.linker.clock, self.exposed)

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
        pairs, self.missing = move
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
        core = linker.core
        parts = core.parts_with(without=reviewer)
        loss, follow, gain = promise(net, linker.cost, parts, core.required, core.aim.shared, 1)
        useful = np.flatnonzero((gain > 0) & (net.reviewer != reviewer) & (self.until <= self.step))
        score = (loss + follow)[useful] / gain[useful]
        if self.noise:
            score *= np.exp(self.noise * self.rng.normal(size=score.size))
        return useful[np.argsort(score, kind="stable")[:RANKED]]

    def _look(self, reviewer: int, ranked: IntArray) -> tuple[IntArray, IntArray] | None:
        """Return the first change after which less is missing, or else the best one of those tried."""
        linker = self.linker
        core = linker.core
        net = self.linker.net
        now = int(self.missing.sum())
        alone = int(self.missing[reviewer])
        tried = 0
        best: tuple[int, tuple[IntArray, IntArray]] | None = None
        for pair in ranked.tolist():
            if tried >= TRIES or linker.clock.over():
                break
            pairs, _ = linker.change(pair)
            if pairs.size == 0:
                continue
            # Try the change, evaluate it, undo it. It is of no use if it loses the level or gains nothing here.
            flip(net, pairs)
            try:
                if not core.holds_with() or core.total - core.parts_with(without=reviewer).count > alone:
                    continue
                missing = self._missing()
            finally:
                flip(net, pairs)
            tried += 1
            total = int(missing.sum())
            if total < now:
                return pairs, missing
            if best is None or total < best[0]:
                best = total, (pairs, missing)
        return None if best is None else best[1]


# Whether the level survives another reviewer taking a review over: one closure per review, one per candidate.


class Replacing:
    """An assignment of which one review at a time is given to somebody else; after each query it is as before.

    Where the level holds it must hold afterwards; where it was missed, no component may cover fewer required items. A
    further review never separates a component, so a review that can be lost can be given to anybody.
    """

    def __init__(self, core: Core) -> None:
        self.core = core
        self.least = core.total if core.at_level() else core.count
        # Where groups do not suffice for a level, its own test decides.
        self.tested = core.at_level() and not core.aim.core_suffices
        self.spared: dict[int, bool] = {}  # by review, whether the level does without it

    def keeps(self, gone: int, entering: int) -> bool:
        """Whether the level is kept when one pair takes the place of another."""
        if gone not in self.spared:
            self.spared[gone] = self._after([gone])
        return self.spared[gone] or self._after([gone, entering])

    def _after(self, pairs: list[int]) -> bool:
        """Whether the level is kept when pairs are flipped."""
        core = self.core
        exchange = np.array(pairs)
        flip(core.net, exchange)
        holds = not self.tested and core.parts_with().count >= self.least
        holds = holds or (self.least == core.total and core.aim.holds_early(core.table))
        flip(core.net, exchange)
        return holds


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

    Takes a closure for each review, and for each candidate of a review on which the level depends.
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
            fitting = [q for q in panel.tolist() if may_replace(problem, assigned, pair, q)]
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
