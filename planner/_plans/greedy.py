"""Greedy plans for *recoverable* and *connected*, whose links are independent sets of a matroid; and by scores.

Reviews are offered in the order of their costs and taken if independent of the present ones: the fewest and, unless
loads or limits stop one, the cheapest. Without costs, loads grow one review at a time. Further sections plan for
*double* by scores, and order the reviews of a plan.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from planner._plans.constraints import as_pairs, no_pairs, pieces
from planner._plans.structure import arrive, copy_structure, find_block, overwrite
from planner._plans.task import AT_ONCE, looked_at, minimal
from reviewgraph._base import Clock
from reviewgraph.graph import Game, connected_components, doubly_connected_components, kernel, offer, play

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner._plans.structure import Structure
    from planner._plans.target import Ledger
    from planner._plans.task import Oracle, Task
    from reviewgraph._base import Clock, IntArray
    from reviewgraph.graph import Components
    from reviewgraph.table import Reviews


#: Work, see :class:`reviewgraph._base.clock.Clock`, per pair offered to the pebble game, and to a forest.
OFFER = 1e-6
JOIN = 2e-8


@kernel
def take_independent(
    game: Game,
    body: IntArray,
    item: IntArray,
    taken: IntArray,
    cap: IntArray,
    room: IntArray,
    owner: IntArray,
    group_start: IntArray,
    group: IntArray,
    free: IntArray,
    wanted: int,
) -> int:
    """Take reviews that are independent in the count matroid, in order, up to ``wanted``; return their number.

    ``cap`` (by reviewer, ``owner`` of the review) and ``room`` (by item) are used up; ``free`` are the places of an
    item by panel group, those of a reviewer as in :class:`~planner._plans.constraints.Places`; ``taken`` marks the
    reviews.
    """
    n_bodies = game.parent.size
    count = 0
    stamp = 0
    for vertex in range(game.seen.size):
        stamp = max(stamp, game.seen[vertex])
    nothing = np.empty(0, np.bool_)
    for r in range(body.size):
        if count == wanted:
            break
        if taken[r] or cap[owner[r]] <= 0 or room[item[r]] <= 0:
            continue
        first = group_start[owner[r]]
        last = group_start[owner[r] + 1]
        shut = False
        for place in range(first, last):
            shut = shut or free[item[r], group[place]] <= 0
        if shut:
            continue
        independent, stamp = offer(game, body[r], r, n_bodies + item[r], stamp, nothing)
        if independent:
            taken[r] = 1
            cap[owner[r]] -= 1
            room[item[r]] -= 1
            for place in range(first, last):
                free[item[r], group[place]] -= 1
            count += 1
    return count


def greedy_recoverable(oracle: Oracle, wanted: int, ledger: Ledger) -> tuple[IntArray, bool]:
    """Return up to ``wanted`` independent reviews, and whether no load or limit stopped a cheaper one.

    Reviewers of fewer than two reviews are left out. The ledger records partial plans; if its time is over, the reviews
    are fewer.
    """
    task = oracle.task
    table = task.table(no_pairs())
    live = np.flatnonzero(table.loads >= 2)
    body_of = np.full(table.n_reviewers, -1, np.int64)
    body_of[live] = np.arange(live.size)
    game = Game.new(live.size, task.n_items)
    keep = body_of[table.reviewer] >= 0
    start = np.concatenate([np.zeros(1, np.int64), np.cumsum(table.loads[live])])
    task.form(play)(game, start, np.ascontiguousarray(table.item[keep]), np.empty(0, np.bool_))
    chosen = [no_pairs()]
    room = task.room.copy()
    count = 0
    groups = task.places()
    for step in _steps(task.spare, bool(task.constraints.cost), wanted):
        for pairs in _in_turn(oracle, live):
            if count >= wanted or not ledger.in_time:
                break
            owner, item = (np.ascontiguousarray(side) for side in pairs.T)
            taken = np.zeros(len(pairs), np.int64)
            ledger.clock.spend(OFFER * len(pairs))
            count += task.form(take_independent)(
                game, body_of[owner], item, taken, step, room, owner, *groups, wanted - count
            )
            chosen.append(pairs[taken > 0])
            ledger.part = np.concatenate(chosen)
    pairs = np.concatenate(chosen)
    return pairs, count >= wanted and _nothing_bound(oracle, pairs)


def greedy_connected(oracle: Oracle, ledger: Ledger) -> tuple[IntArray, bool]:
    """Return reviews that join pieces, a spanning forest, and whether no load or limit stopped a cheaper one.

    The ledger records partial plans; if its time is over, the forest is incomplete.
    """
    task = oracle.task
    table = task.table(no_pairs())
    active = np.flatnonzero(table.loads > 0)
    wanted = pieces(table) - 1
    forest = _Forest(task, table)
    for step in _steps(task.spare, bool(task.constraints.cost), wanted):
        for pairs in _in_turn(oracle, active):
            if len(forest.chosen) == wanted or not ledger.in_time:
                break
            before = len(forest.chosen)
            grew = forest.join(pairs, step)
            ledger.clock.spend((1 + len(forest.chosen) - before) * JOIN * len(pairs))
            if grew:
                ledger.part = as_pairs(forest.chosen)
    pairs = as_pairs(forest.chosen)
    return pairs, len(pairs) == wanted and _nothing_bound(oracle, pairs)


class _Forest:
    """Pieces that grow together: those of reviewers and of items by number, and the reviews that joined them."""

    def __init__(self, task: Task, table: Reviews) -> None:
        components = connected_components(table)
        self.who, self.what = components.labels.copy(), components.item_labels.copy()
        self.left, self.chosen = task.left(no_pairs()), list[tuple[int, int]]()

    def join(self, pairs: IntArray, step: IntArray) -> bool:
        """Take the pairs that join two pieces, in order, within loads that are used up; whether any did."""
        before = len(self.chosen)
        (reviewer, item) = pairs.T
        full = np.zeros(len(pairs), np.bool_)
        while True:
            apart = (self.who[reviewer] != self.what[item]) & (step[reviewer] > 0) & (self.left.room[item] > 0) & ~full
            if not apart.any():
                return len(self.chosen) > before
            place = int(np.argmax(apart))
            j, i = pairs[place].tolist()
            if self.left.open(j, i):
                self.chosen.append((j, i))
                step[j] -= 1
                self.left.take(j, i)
                reader_tree = self.who[j]
                item_tree = self.what[i]
                self.who[self.who == item_tree] = reader_tree
                self.what[self.what == item_tree] = reader_tree
            else:
                full[place] = True


def _in_turn(oracle: Oracle, reviewers: IntArray) -> Iterator[IntArray]:
    """Yield the candidates of some reviewers in chunks: cheapest first, then by index."""
    cost = oracle.task.constraints.cost
    some = reviewers[oracle.task.spare[reviewers] > 0]
    if not cost:
        yield from oracle.candidates.chunks(some)
        return
    pairs = np.concatenate([no_pairs(), *oracle.candidates.chunks(some)])
    order = np.argsort(cost.whole(oracle.task.codes(pairs)), kind="stable")
    for first in range(0, order.size, AT_ONCE):
        yield pairs[order[first : first + AT_ONCE]]


def _steps(spare: IntArray, costs: bool, wanted: int) -> list[IntArray]:
    """Return the loads released at a time: all at once if costs decide, otherwise 1, 1, 2, 4, ... per reviewer."""
    if costs:
        return [spare.copy()]
    steps = []
    granted = 0
    while granted < min(int(spare.max(initial=0)), max(wanted, 1)):
        more = max(granted, 1)
        steps.append(np.clip(spare - granted, 0, more))
        granted += more
    return steps


def _nothing_bound(oracle: Oracle, pairs: IntArray) -> bool:
    """Whether no load, limit or rule can have stopped a review."""
    task = oracle.task
    if task.constraints.places.held_by(pairs)[0].size:
        return False
    load = np.bincount(pairs[:, 0], minlength=task.spare.size)
    used = np.bincount(pairs[:, 1], minlength=task.room.size)
    return bool(((load < task.spare) | (load == 0)).all() and ((used < task.room) | (used == 0)).all())


# Plans for the target *double* if tied scores carry no scale: greedy, with the score-aware closure in each step.
#
# A new review is assumed to be scored unlike the others of its reviewer. So a reviewer j of the main group who shares
# item u with a reviewer j' elsewhere joins the two groups by reading an item that j' scored differently from u; and one
# who shares nothing, by reading two items that j' scored differently.

#: Maximum number of reviews removed in an exchange.
TAKEN_OUT = 4
#: Work, see :class:`reviewgraph._base.clock.Clock`, of the next review of a plan, for each review of the table.
NEXT = 1e-5


def reached(task: Task, pairs: IntArray) -> bool:
    """Whether some more reviews, scored unlike all others, reach the target."""
    return doubly_connected_components(task.table(pairs), use_scores=True).covers_all


def merges(task: Task, pairs: IntArray) -> Iterator[list[int]]:
    """For each review in turn, yield one reviewer of each further group that joins the reviewer's.

    Scores join groups that no structure of covers joins: those of two reviewers who distinguish the same two items.
    """
    before = doubly_connected_components(task.table(pairs[:0]), use_scores=True).labels
    for place, (j, _) in enumerate(pairs.tolist()):
        after = doubly_connected_components(task.table(pairs[: place + 1]), use_scores=True).labels
        groups, first = np.unique(before, return_index=True)
        joined = (after[first] == after[j]) & (groups != before[j])
        yield first[joined].tolist()
        before = after


def completed(task: Task, pairs: IntArray, clock: Clock, rng: np.random.Generator | None = None) -> IntArray | None:
    """Add reviews until the target is reached; None if that gets stuck or time ends.

    ``rng`` orders groups, reviewers and items; by default the largest group comes first, then the lowest index.
    """
    while not clock.over():
        if reached(task, pairs):
            return pairs
        more = _next(task, pairs, rng)
        clock.spend(NEXT * task.constraints.reviews.n_reviews)
        if not more:
            return None
        pairs = np.vstack([pairs, as_pairs(more)])
    return None


def pruned(task: Task, pairs: IntArray, clock: Clock) -> IntArray:
    """Remove reviews that are not needed, the first ones first."""

    def suffices(fewer: IntArray) -> bool:
        clock.spend(looked_at(task.constraints.reviews))
        return reached(task, fewer)

    return minimal(pairs, range(len(pairs)), suffices, lambda count: not clock.over())


def exchanged(task: Task, pairs: IntArray, clock: Clock, rng: np.random.Generator) -> IntArray:
    """Remove some reviews at random and complete the plan again; the plan itself if that is longer."""
    gone = rng.permutation(len(pairs))[: rng.integers(1, min(TAKEN_OUT, len(pairs)) + 1)]
    plan = completed(task, rng.permutation(np.delete(pairs, gone, axis=0)), clock, rng)
    if plan is None:
        return pairs
    plan = pruned(task, plan, clock)
    return plan if len(plan) <= len(pairs) else pairs


def _next(task: Task, pairs: IntArray, rng: np.random.Generator | None) -> list[tuple[int, int]]:
    """One review that joins a group to the main one, or two, or one that brings an item; or none."""
    state = _ScoredGroups(task, pairs, doubly_connected_components(task.table(pairs), use_scores=True), rng)
    best = 0.0
    chosen = None
    for outsider in state.outside:
        gain = state.worth(outsider)
        if gain > best:
            join = state.join(outsider)
            if join is not None:
                best = gain
                chosen = [join]
    return chosen or state.join_by_two() or state.bring()


class _ScoredGroups:
    """Groups by scores after some reviews, and the allowed next reviews."""

    def __init__(self, task: Task, pairs: IntArray, groups: Components, rng: np.random.Generator | None) -> None:
        self.constraints = task.constraints
        self.groups = groups
        self.table = groups.reviews
        self.rng = rng
        self.main = self._main_group()
        self.left = task.left(pairs)
        self.spare = self.left.spare
        self.inside = set(groups.covers[self.main].tolist())
        self.outside = self._shuffled(np.flatnonzero(groups.labels != self.main))
        members = self._shuffled(np.flatnonzero(groups.labels == self.main))
        self.members = sorted(members, key=lambda j: -int(self.spare[j])) if rng is None else members
        pairs_read = zip(self.table.reviewer.tolist(), self.table.item.tolist(), strict=True)
        self.scores = dict(zip(pairs_read, self.table.score, strict=True))

    def _main_group(self) -> int:
        """Return the group to grow: the largest, or a random one with probability proportional to its squared size."""
        sizes = self.groups.cover_sizes
        if self.rng is None or not sizes.any():
            return int(np.argmax(sizes))
        return int(self.rng.choice(sizes.size, p=sizes**2 / (sizes**2).sum()))

    def _shuffled(self, codes: IntArray) -> list[int]:
        return (codes if self.rng is None else codes[self.rng.permutation(len(codes))]).tolist()  # type: ignore[no-any-return]

    def gain(self, group: int) -> int:
        return len(set(self.groups.covers[group].tolist()) - self.inside)

    def worth(self, outsider: int) -> float:
        """Items that the group of a reviewer would bring; times 1 to 2 at random, if orders are random."""
        return self.gain(int(self.groups.labels[outsider])) * (1.0 if self.rng is None else 1.0 + self.rng.random())

    def free(self, reviewer: int, item: int) -> bool:
        is_new = (reviewer, item) not in self.scores
        return self.left.open(reviewer, item) and is_new and self.constraints.may_read(reviewer, item)

    def join(self, outsider: int) -> tuple[int, int] | None:
        """Find a review by a member of either group that joins the main group and that of ``outsider``."""
        items = self._shuffled(self.table.items_of(outsider))
        for u in items:
            for j in self._shuffled(self.table.reviewers_of(u)):
                if self.groups.labels[j] != self.main:
                    continue
                for reader, things, seen in ((j, items, outsider), (outsider, self.table.items_of(j).tolist(), j)):
                    for i in things if self.spare[reader] > 0 else ():
                        if self.scores[seen, i] != self.scores[seen, u] and self.free(reader, i):
                            return reader, i
        return None

    def join_by_two(self) -> list[tuple[int, int]]:
        """Two reviews by one member of the main group, of items that an outsider scored differently."""
        for outsider in sorted(self.outside, key=lambda j: -self.worth(j)):
            items = self._shuffled(self.table.items_of(outsider))
            if self.gain(int(self.groups.labels[outsider])) < 2:
                continue
            for j in self.members:
                free = [i for i in items if self.free(j, i)] if self.spare[j] > 1 else []
                differ = [i for i in free if self.scores[outsider, i] != self.scores[outsider, free[0]]]
                if differ:
                    return [(j, free[0]), (j, differ[0])]
        return []

    def bring(self) -> list[tuple[int, int]]:
        """Find a review by the main group of an item that it lacks, or one that enlists an outsider."""
        lacking = self._shuffled(np.setdiff1d(np.arange(self.table.n_items), list(self.inside)))
        for j in self.members:
            for i in lacking:
                if self.free(j, i):
                    return [(j, i)]
        for j in self.outside:
            for i in self._shuffled(np.array(sorted(self.inside), np.int64)) if self.spare[j] > 1 else ():
                if self.free(j, i):
                    return [(j, i)]
        return []


# The order of the reviews of a plan in which the largest group grows fastest.

#: Work (reviews squared times entries) up to which a plan is ordered so that each step helps most.
ORDER_UP_TO = 100_000_000
#: Work, see :class:`reviewgraph._base.clock.Clock`, of a review tried: in all, and to copy an entry.
TRY = 2e-5
COPY = 5e-9


def by_effect(task: Task, pairs: IntArray, clock: Clock) -> IntArray:
    """Order in which the largest doubly connected group grows fastest, ties in the order given.

    Long plans keep their order, and so do the remaining reviews once the clock is over. Takes the time of a growth for
    every pair of reviews.
    """
    if not len(pairs) or len(pairs) ** 2 * task.start.size > ORDER_UP_TO:
        return np.arange(len(pairs))
    state = copy_structure(task.start)
    left = list(range(len(pairs)))
    order = []
    trial = copy_structure(state)
    while left and not clock.over():
        # The state is closed, so what a review brings is one growth, tried on a copy.
        sizes = []
        for k in left:
            overwrite(trial, state)
            read(task, trial, pairs[k])
            sizes.append(int(trial.cover[find_block.python(trial.root, int(task.home[pairs[k, 0]]))]))
        clock.spend(task.worked() + len(left) * (TRY + COPY * task.start.size))
        chosen = left.pop(int(np.argmax(sizes)))
        read(task, state, pairs[chosen])
        order.append(chosen)
    return np.array(order + left, np.int64)


def read(task: Task, state: Structure, pair: Any) -> bool:
    """Add a review to a closed structure; false, and no change, if its reviewer's block covers the item."""
    return bool(task.form(arrive)(state, task.space, int(task.home[pair[0]]), int(pair[1])))
