"""The targets *connected* and *recoverable*, whose links are independent sets of a matroid.

Reviews are offered in the order of their costs and taken if independent of the present ones: the fewest and, unless
loads or limits stop one, the cheapest. Without costs, loads grow one review at a time.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import ClassVar

import numpy as np

from planner._plans import cascade
from planner._plans.cascade import cascades, joined_pieces
from planner._plans.constraints import as_pairs, no_pairs, pieces
from planner._plans.covering import settle
from planner._plans.kernels.cascade import may_read, take_independent, use
from planner._plans.kernels.trials import extend
from planner._plans.lower_bounds import missing_links
from planner._plans.target import Bound, Groups, Ledger, Target
from planner._plans.task import AT_ONCE, Cut, Oracle, Task, looked_at, minimal
from reviewgraph._base import Clock, IntArray, distinct, noun
from reviewgraph.graph import Game, Level, connected_components, level_named, play, recoverability
from reviewgraph.table import Reviews

#: Work, see :class:`reviewgraph._base.clock.Clock`, per pair offered to the pebble game, and to a forest.
OFFER = 1e-6
JOIN = 2e-8


def greedy_recoverable(oracle: Oracle, wanted: int, ledger: Ledger) -> tuple[IntArray, bool]:
    """Return up to ``wanted`` independent reviews, and whether no load or limit stopped a cheaper one.

    Reviewers of fewer than two reviews are left out.
    """
    task = oracle.task
    table = task.table(no_pairs())
    live = np.flatnonzero(table.loads >= 2)
    body_of = np.full(table.n_reviewers, -1, np.int64)
    body_of[live] = np.arange(live.size)
    start = np.concatenate([np.zeros(1, np.int64), np.cumsum(table.loads[live])])
    game = Game(live.size, task.n_items)
    item = table.item[body_of[table.reviewer] >= 0]
    play(game, start, item, np.arange(live.size), np.zeros(live.size, np.int64))
    board = task.board(no_pairs())

    def take(pairs: IntArray, step: IntArray, more: int) -> IntArray:
        reviewer, item = (np.ascontiguousarray(side) for side in pairs.T)
        taken = np.zeros(len(pairs), np.bool_)
        ledger.clock.spend(OFFER * len(pairs))
        board.spare = step
        take_independent(game, board, body_of[reviewer], reviewer, item, taken, more)
        return pairs[taken]

    return _greedy(oracle, live, wanted, ledger, take)


def greedy_connected(oracle: Oracle, ledger: Ledger) -> tuple[IntArray, bool]:
    """Return reviews that join pieces, a spanning forest, and whether no load or limit stopped a cheaper one."""
    task = oracle.task
    table = task.table(no_pairs())
    forest = _Forest(task, table)

    def take(pairs: IntArray, step: IntArray, more: int) -> IntArray:
        taken = forest.join(pairs, step)
        ledger.clock.spend((1 + len(taken)) * JOIN * len(pairs))
        return taken

    return _greedy(oracle, np.flatnonzero(table.loads > 0), pieces(table) - 1, ledger, take)


def _greedy(
    oracle: Oracle,
    reviewers: IntArray,
    wanted: int,
    ledger: Ledger,
    take: Callable[[IntArray, IntArray, int], IntArray],
) -> tuple[IntArray, bool]:
    """Return what is taken of the candidates of some reviewers, and whether no load or limit stopped a cheaper one.

    ``take`` returns those of some pairs that are independent, within loads, up to a number. The ledger records partial
    plans; if its time is over, the reviews are fewer.
    """
    task = oracle.task
    chosen = [no_pairs()]
    count = 0
    for step in _steps(task.spare, bool(task.constraints.cost), wanted):
        for pairs in _in_turn(oracle, reviewers):
            if count >= wanted or not ledger.in_time:
                break
            chosen.append(take(pairs, step, wanted - count))
            count += len(chosen[-1])
            ledger.part = np.concatenate(chosen)
    pairs = np.concatenate(chosen)
    return pairs, count >= wanted and _nothing_bound(oracle, pairs)


class _Forest:
    """Pieces that grow together: those of reviewers and of items by number."""

    def __init__(self, task: Task, table: Reviews) -> None:
        components = connected_components(table)
        self.who = components.labels.copy()
        self.what = components.item_labels.copy()
        self.board = task.board(no_pairs())
        self.room = np.asarray(self.board.room)

    def join(self, pairs: IntArray, step: IntArray) -> IntArray:
        """Return the pairs that join two pieces, in order, within loads that are used up."""
        chosen = list[tuple[int, int]]()
        reviewer, item = pairs.T
        full = np.zeros(len(pairs), np.bool_)
        while True:
            apart = (self.who[reviewer] != self.what[item]) & (step[reviewer] > 0) & (self.room[item] > 0) & ~full
            if not apart.any():
                return as_pairs(chosen)
            place = int(np.argmax(apart))
            j, i = pairs[place].tolist()
            if may_read(self.board, j, i):
                chosen.append((j, i))
                step[j] -= 1
                use(self.board, j, i, 1)
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


# The order of the reviews of a plan in which the largest group grows fastest.

#: Work (reviews squared times entries) up to which a plan is ordered so that each step helps most.
ORDER_UP_TO = 100_000_000
#: Work, see :class:`reviewgraph._base.clock.Clock`, of a review tried.
TRY = 2e-6


def by_effect(task: Task, pairs: IntArray, clock: Clock) -> IntArray:
    """Order in which the largest doubly connected group grows fastest, ties in the order given.

    Long plans keep their order, and so do the remaining reviews once the clock is over. Takes the time of a growth for
    every pair of reviews.
    """
    if not len(pairs) or len(pairs) ** 2 * task.start.size > ORDER_UP_TO:
        return np.arange(len(pairs))
    blocks = task.start.copy()
    left = list(range(len(pairs)))
    order = []
    while left and not clock.over():
        # What a review brings is one growth, which is undone.
        before = blocks.n_trail
        sizes = []
        for k in left:
            sizes.append(extend(blocks, task.trial, task.home[pairs[k, 0]], pairs[k, 1]))
            blocks.undo(before)
        clock.spend(task.worked() + len(left) * TRY)
        chosen = left.pop(int(np.argmax(sizes)))
        blocks.add(task.home[pairs[chosen, 0]], pairs[chosen, 1])
        order.append(chosen)
    return np.array(order + left, np.int64)


class SearchedTarget(Target):
    """A target whose largest group roughly grows as the largest doubly connected group does."""

    def order(self, task: Task, pairs: IntArray, clock: Clock) -> IntArray:
        return by_effect(task, pairs, clock)

    def starts(self, task: Task, most: int, clock: Clock) -> Iterator[IntArray]:
        return cascades(task, most, clock)


# Targets whose links are independent sets of a matroid.

#: Candidate reviews up to which the integer programme is stated.
EXACT_UP_TO = 20_000


class MatroidTarget(SearchedTarget):
    """A target whose plans are greedy: optimal if they meet their bound, and no load or limit stopped a cheaper one."""

    oracle_of: ClassVar[type[Oracle]]

    def oracle(self, task: Task, rng: np.random.Generator) -> Oracle | None:
        return self.oracle_of(task)

    @abstractmethod
    def bound(self, task: Task) -> Bound | None:
        """Bound by missing links; None if these cannot be made."""

    @abstractmethod
    def greedy(self, oracle: Oracle, wanted: int, ledger: Ledger) -> tuple[IntArray, bool]:
        """Return up to ``wanted`` independent reviews, and whether no load or limit stopped a cheaper one."""

    def fill(self, task: Task, ledger: Ledger, rng: np.random.Generator) -> None:
        """Greedy; if that is not the end, a cascade and the integer programme with rank cuts."""
        oracle = self.oracle_of(task)
        if oracle.reaches(no_pairs()):
            ledger.nothing_to_do()
            return
        bound = self.bound(task)
        if bound is None:
            ledger.infeasible = True
            return
        ledger.prove(bound)
        pairs, free = self.greedy(oracle, bound.value, ledger)
        if oracle.reaches(pairs):
            ledger.offer(pairs)
        ledger.cheapest = free and ledger.pairs is not None
        if ledger.out_of_reach or ledger.settled(task):
            return
        ledger.clock.check()
        if ledger.pairs is None and not self.can_reach(task, ledger.clock):
            ledger.infeasible = True
            return
        if ledger.pairs is None:
            self._cascade(oracle, ledger)
        if not ledger.settled(task) and task.candidates_up_to <= EXACT_UP_TO:
            # The greedy plan is cheapest only if the programme proves it.
            ledger.cheapest = False
            settle(oracle, ledger, "papers unlinked")

    def _cascade(self, oracle: Oracle, ledger: Ledger) -> None:
        """Plan for doubly connected groups, which are linked, and remove reviews that are not needed."""
        task = oracle.task
        search, done = cascade.begin(task, task.most, 0, clock=ledger.clock)
        if not done:
            return
        ledger.offer(search.pairs)
        cascade.prune_search(search, ledger.clock)
        pairs = search.pairs

        def suffices(fewer: IntArray) -> bool:
            ledger.clock.spend(looked_at(task.constraints.reviews))
            return oracle.reaches(fewer)

        pairs = minimal(pairs, range(len(pairs)), suffices, lambda count: count > ledger.lower_bound and ledger.in_time)
        ledger.offer(pairs)


# Maximal recoverable blocks, and when they become one as the reviews of a plan arrive.
#
# Blocks only grow, and a block depends on its reviews alone. So the plan is halved: blocks are processed separately,
# and those of the half-way table are one body each for the second half. Every review is in about log P contracted
# tables, which gives the total time of the pebble games.


def recoverable_groups(reviews: Reviews) -> Groups:
    """Maximal recoverable blocks of reviewers, numbered by their first reviewers; others are groups alone.

    >>> table = Reviews([("ann", 1), ("ann", 2), ("bob", 2), ("bob", 1), ("cleo", 3)])
    >>> recoverable_groups(table).labels.tolist()
    [0, 0, 1]
    """
    blocks = recoverability(reviews)
    label = blocks.block_labels.copy()
    alone = np.flatnonzero(label < 0)
    label[alone] = len(blocks.block_covers) + np.arange(alone.size)
    covers = [*blocks.block_covers, *(reviews.items_of(j) for j in alone.tolist())]
    first = np.unique(label, return_index=True)[1]
    rank = np.empty(first.size, np.int64)
    rank[np.argsort(first)] = np.arange(first.size)
    return Groups(rank[label], tuple(covers[k] for k in np.argsort(first).tolist()))


def merges(reviews: Reviews, pairs: IntArray) -> list[list[int]]:
    """For each review in turn, one reviewer of each further block that becomes one with the reviewer's.

    Reviewers of fewer than two items count as blocks once they are part of one. Takes the time of the pebble game on
    the blocks, times the logarithm of the number of reviews.
    """
    groups = recoverable_groups(reviews)
    first = np.unique(groups.labels, return_index=True)[1]
    joined: list[list[int]] = [[] for _ in range(len(pairs))]
    bodies = {int(j): cover for j, cover in zip(first, groups.covers, strict=True)}
    _halve(bodies, first[groups.labels][pairs[:, 0]], pairs[:, 1], np.arange(len(pairs)), joined)
    return joined


def _halve(
    bodies: dict[int, IntArray], owner: IntArray, item: IntArray, place: IntArray, joined: list[list[int]]
) -> dict[int, int]:
    """Find what reviews of some bodies join, ``joined`` by ``place``; return the block of each body, after its first.

    A body is named after one of its reviewers and has the items it covers; the reviews are by ``owner``.
    """
    names = sorted(bodies)
    reader = np.append(np.repeat(names, [bodies[name].size for name in names]), owner).astype(np.int64)
    known, things = np.unique(np.concatenate([*(bodies[name] for name in names), item]), return_inverse=True)
    rows = np.divmod(distinct(np.searchsorted(names, reader) * max(known.size, 1) + things), max(known.size, 1))
    labels = recoverable_groups(Reviews.from_codes(*rows, reviewers=len(names), items=known.size)).labels
    block_of = dict(zip(names, np.array(names)[np.unique(labels, return_index=True)[1][labels]].tolist(), strict=True))
    block = np.array([block_of[name] for name in owner.tolist()], np.int64)
    members: dict[int, list[int]] = {}
    for name in names:
        members.setdefault(block_of[name], []).append(name)
    for first, several in members.items():
        own = np.flatnonzero(block == first)
        if len(several) == 1:
            continue
        if own.size == 1:
            joined[int(place[own[0]])] = [name for name in several if name != owner[own[0]]]
            continue
        half, rest = np.split(own, [own.size // 2])
        inner = _halve({name: bodies[name] for name in several}, owner[half], item[half], place[half], joined)
        covers: dict[int, list[IntArray]] = {}
        for name in several:
            covers.setdefault(inner[name], []).append(bodies[name])
        for k in half.tolist():
            covers[inner[int(owner[k])]].append(item[k : k + 1])
        merged = {name: distinct(*parts) for name, parts in covers.items()}
        _halve(merged, np.array([inner[name] for name in owner[rest].tolist()]), item[rest], place[rest], joined)
    return block_of


# The target *connected*: one piece of the reviewer-item graph holds all items.


def _is_one_piece(table: Reviews) -> bool:
    return pieces(table) <= 1 and bool((table.reviews_per_item > 0).all())


class ConnectedOracle(Oracle):
    def reaches(self, pairs: IntArray) -> bool:
        return _is_one_piece(self.task.table(pairs))

    def cuts(self, pairs: IntArray) -> Iterator[Cut]:
        """Require one review fewer between pieces than there are pieces."""
        table = self.task.table(pairs)
        components = connected_components(table)
        leaves = components.labels[self.allowed[:, 0]] != components.item_labels[self.allowed[:, 1]]
        yield Cut(leaves.astype(np.int64), max(1, pieces(table) - 1))


class ConnectedTarget(MatroidTarget):
    """Groups are pieces of the graph; a review between two of them makes them one."""

    level: ClassVar[Level] = level_named("connected")
    apart = "linked to the others"
    oracle_of = ConnectedOracle

    def reaches(self, reviews: Reviews) -> bool:
        return _is_one_piece(reviews)

    def groups(self, reviews: Reviews) -> Groups:
        components = connected_components(reviews)
        return Groups(components.labels, components.covers)

    def merges(self, task: Task, pairs: IntArray) -> Iterator[list[int]]:
        M = task.home.size
        components = connected_components(task.table(no_pairs()))
        piece = np.concatenate([components.labels, components.item_labels])
        piece = np.unique(piece, return_index=True)[1][piece]  # each by its first vertex, a reviewer's if any
        for j, i in pairs.tolist():
            reader_piece = int(piece[j])
            item_piece = int(piece[M + i])
            piece[piece == max(reader_piece, item_piece)] = min(reader_piece, item_piece)
            yield [item_piece] if reader_piece != item_piece < M else []

    def bound(self, task: Task) -> Bound | None:
        missing = max(1, pieces(task.table(no_pairs())) - 1)
        words = f"{missing + 1} pieces need {missing} {noun(missing, 'link')}"
        return Bound(missing, "pieces", words if task.n_items > 1 else "the paper is not reviewed")

    def greedy(self, oracle: Oracle, wanted: int, ledger: Ledger) -> tuple[IntArray, bool]:
        return greedy_connected(oracle, ledger)

    def starts(self, task: Task, most: int, clock: Clock) -> Iterator[IntArray]:
        yield joined_pieces(task, most, clock)


# The target *recoverable*: no degrees of freedom, almost every vector of qualities can be recovered.


class RecoverableOracle(Oracle):
    """No degrees of freedom; the structures are the maximal recoverable blocks."""

    def reaches(self, pairs: IntArray) -> bool:
        return recoverability(self.task.table(pairs)).recoverable

    def cuts(self, pairs: IntArray) -> Iterator[Cut]:
        """Reviews inside a recoverable block do not help; the others must be as many as the degrees of freedom."""
        table = self.task.table(pairs)
        blocks = recoverability(table)
        label = blocks.block_labels
        inside = {(int(b), int(i)) for b, cover in enumerate(blocks.block_covers) for i in cover}
        existing = set(zip(table.reviewer.tolist(), table.item.tolist(), strict=True))
        leaves = np.array(
            [(int(label[j]), i) not in inside and (j, i) not in existing for j, i in self.allowed.tolist()], np.int64
        )
        yield Cut(leaves, max(1, blocks.degrees_of_freedom))


class RecoverableTarget(MatroidTarget):
    """Groups are maximal recoverable blocks; one review may make many of them one."""

    level: ClassVar[Level] = level_named("recoverable")
    apart = "comparable, coincidences aside"
    oracle_of = RecoverableOracle

    def reaches(self, reviews: Reviews) -> bool:
        return recoverability(reviews).recoverable

    def groups(self, reviews: Reviews) -> Groups:
        return recoverable_groups(reviews)

    def merges(self, task: Task, pairs: IntArray) -> Iterator[list[int]]:
        yield from merges(task.constraints.reviews, pairs)

    def bound(self, task: Task) -> Bound | None:
        return missing_links(task.table(no_pairs()), task.constraints, task.spare)

    def greedy(self, oracle: Oracle, wanted: int, ledger: Ledger) -> tuple[IntArray, bool]:
        return greedy_recoverable(oracle, wanted, ledger)
