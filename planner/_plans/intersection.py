"""The cheapest plan for *recoverable* within loads: the intersection of two matroids.

minimise    sum of w(e) over e in I
subject to  I a base of the count matroid contracted by the existing reviews, over the reviewers of two reviews or more;
            at most cap(j) reviews of I by reviewer j (a partition matroid)

Reviews are vectors over a prime field: the equations ``z_i - s_j x_i - t_j`` at random qualities, on the null space
of the existing equations. Start with the cheapest base, whatever the loads; then, while somebody has too many reviews,
exchange along a shortest path of fewest arcs from somebody with spare load: a takes x, which replaces y of b in the
base, b takes another one, and so on (successive shortest paths, [Lawler75]_ and [Frank81]_).

Certificates, to be checked by the pebble game: prices p(j) >= 0, positive only for full loads, for which the plan is a
base of least w + p (weight splitting); or reviewers R whose reviews together have rank r(R) with
``r(R) + sum of cap outside R`` below the rank needed (the min-max theorem of [Edmonds70]_).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner._plans.constraints import no_pairs
from reviewgraph.graph import recoverability

if TYPE_CHECKING:
    from planner._plans.task import Oracle
    from reviewgraph._base import BoolArray, Clock, IntArray


# Linear algebra over a prime field: no rounding, and a random point misses a polynomial's zeros almost surely.

#: Products of two residues fit into 64 bits.
PRIME = 2_147_483_647


def null_space(matrix: IntArray) -> IntArray:
    """Return a basis of the solutions of ``matrix @ v = 0`` over the prime field, as columns.

    >>> null_space(np.array([[1, 2, 3]])).T.tolist() == [[PRIME - 2, 1, 0], [PRIME - 3, 0, 1]]
    True
    """
    reduced = matrix.copy()
    pivots: list[int] = []
    for column in range(matrix.shape[1]):
        rank = len(pivots)
        rows = np.flatnonzero(reduced[rank:, column])
        if rows.size:
            swap = np.array([rank, rank + int(rows[0])])
            reduced[swap] = reduced[swap[::-1]]
            clear(reduced, rank, column)
            pivots.append(column)
    free = np.setdiff1d(np.arange(matrix.shape[1]), pivots)
    basis = np.zeros((matrix.shape[1], free.size), np.int64)
    basis[free, np.arange(free.size)] = 1
    basis[np.array(pivots, np.int64)] = (PRIME - reduced[: len(pivots)][:, free]) % PRIME
    return basis


def clear(matrix: IntArray, row: int, column: int) -> None:
    """Pivot: make a column a unit vector, in place."""
    matrix[row] = matrix[row] * pow(int(matrix[row, column]), -1, PRIME) % PRIME
    others = np.flatnonzero(matrix[:, column])
    others = others[others != row]
    matrix[others] = (matrix[others] - matrix[others, column][:, np.newaxis] * matrix[row] % PRIME) % PRIME


#: Unknowns, and entries of the matrix of coordinates times rank, up to which it is computed.
UNKNOWNS = 800
WORK = 1_000_000_000
#: Work, see :class:`reviewgraph._base.clock.Clock`, per entry of a matrix.
ENTRY = 1e-8
#: Exceeds any length of a path.
FAR = 2**60


class Ground(NamedTuple):
    """Candidates: reviewer, item, weight, and column of ``vectors`` (rank + 2, columns)."""

    owner: IntArray
    item: IntArray
    weight: IntArray
    column: IntArray
    vectors: IntArray
    rank: int


class Answer(NamedTuple):
    """Reviews and their prices by reviewer; or, if there are no such reviews, the reviewers R who prove it."""

    pairs: IntArray | None
    prices: IntArray
    short: IntArray


def intersect(oracle: Oracle, clock: Clock) -> Answer | None:
    """Solve the problem; None if it is too large, has limits per item, or time runs out.

    Returns one of the cheapest plans with the smallest largest extra load. Takes O(r^2 K) for rank r and K pairs of a
    block and an item, and O(r K) for each exchange path.
    """
    task = oracle.task
    # Limits per item would be a third matroid; and weights must not overflow along an exchange path.
    if (task.room < task.spare.size).any() or task.n_items < 2:
        return None
    ground = _ground(oracle)
    if ground is None or int(np.abs(ground.weight).max()) * 4 * task.spare.size**2 > FAR // 4:
        return None
    fixed = np.bincount(task.constraints.fixed[:, 0], minlength=task.spare.size)
    answer = _within(ground, task.spare, clock)
    if answer is None or answer.pairs is None:
        return answer
    # The smallest largest load at this cost, by bisection: with more load, plans cost no more.
    price_of = task.constraints.price_of
    best = answer.pairs
    price = price_of(answer.pairs)
    high = int((np.bincount(best[:, 0], minlength=fixed.size) + fixed).max())
    low = max(int(fixed.max()), 1)
    while low < high:
        middle = (low + high) // 2
        less = _within(ground, np.minimum(task.spare, np.maximum(middle - fixed, 0)), clock)
        if less is None:
            break
        if less.pairs is not None and price_of(less.pairs) <= price:
            best = less.pairs
            high = middle
        else:
            low = middle + 1
    return Answer(best, answer.prices, answer.short)


def _ground(oracle: Oracle) -> Ground | None:
    """Write the candidates as vectors, one column for each recoverable block and item."""
    task = oracle.task
    table = task.table(no_pairs())
    graph = recoverability(table)
    label = graph.block_labels
    covers = graph.block_covers
    n_items = table.n_items
    rank = graph.degrees_of_freedom
    if not covers or rank == 0 or 2 * len(covers) > UNKNOWNS:
        return None
    inside = np.zeros((len(covers), n_items), np.bool_)
    for block, cover in enumerate(covers):
        inside[block, cover] = True
    unknowns = 2 * len(covers) + int((~inside.any(axis=0)).sum())
    chunks = [no_pairs()]
    listed = 0
    for pairs in oracle.candidates.chunks(np.flatnonzero((task.spare > 0) & (label >= 0))):
        chunks.append(pairs[~inside[label[pairs[:, 0]], pairs[:, 1]]])
        listed += len(chunks[-1])
        if unknowns > UNKNOWNS or rank * rank * listed > WORK:
            return None
    pairs = np.concatenate(chunks)
    classes, column = np.unique(label[pairs[:, 0]] * n_items + pairs[:, 1], return_inverse=True)
    if unknowns > UNKNOWNS or rank * rank * max(classes.size, len(pairs)) > WORK or not len(pairs):
        return None
    x = np.random.default_rng(0).integers(1, PRIME, n_items)
    slope, offset, value = _solutions(inside, x)
    b = classes // n_items
    i = classes % n_items
    vectors = (value[i] - x[i, np.newaxis] * slope[b] % PRIME - offset[b]) % PRIME
    weight = task.constraints.cost.whole(task.codes(pairs))
    return Ground(pairs[:, 0], pairs[:, 1], weight, column, np.ascontiguousarray(vectors.T), rank)


def _solutions(inside: BoolArray, x: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Slopes and offsets of blocks and values of items in a basis of the solutions, one row each."""
    B = len(inside)
    alone = np.flatnonzero(~inside.any(axis=0))
    rows = []
    for i in np.flatnonzero(inside.sum(axis=0) > 1).tolist():
        first, *others = np.flatnonzero(inside[:, i]).tolist()
        for other in others:
            row = np.zeros(2 * B + alone.size, np.int64)
            row[first], row[other] = x[i], PRIME - x[i]
            row[B + first] = 1
            row[B + other] = PRIME - 1
            rows.append(row)
    basis = null_space(np.array(rows, np.int64).reshape(-1, 2 * B + alone.size))
    first = np.argmax(inside, axis=0)
    value = (x[:, np.newaxis] * basis[:B][first] + basis[B : 2 * B][first]) % PRIME
    value[alone] = basis[2 * B :]
    return basis[:B], basis[B : 2 * B], value


def _within(ground: Ground, cap: IntArray, clock: Clock) -> Answer | None:
    """Return the cheapest base within some loads, or who proves that there is none; None if time runs out."""
    coordinates, base = _cheapest_base(ground, cap, clock)
    none = np.empty(0, np.int64)
    if len(base) < ground.rank:
        return Answer(None, none, np.unique(ground.owner))
    while True:
        load = np.bincount(ground.owner[base], minlength=cap.size)
        over = load > cap
        enter, arc = _arcs(ground, coordinates, base, cap.size)
        clock.spend(ENTRY * len(base) * (ground.owner.size + cap.size))
        if not over.any():
            start = np.where(load < cap, 0, int(np.ptp(ground.weight)) * (cap.size + 1))
            return Answer(
                np.column_stack([ground.owner[base], ground.item[base]]), _paths(start, arc, ground, base, 0)[0], none
            )
        if clock.over():
            return None
        length, by, out = _paths(np.where(load < cap, 0, FAR), arc, ground, base, 1)
        end = int(np.argmin(np.where(over, length, FAR)))
        if not over[end] or length[end] >= FAR:
            return Answer(None, none, np.flatnonzero(length < FAR))
        _exchange(coordinates, base, ground, enter, by, out, end)


def _cheapest_base(ground: Ground, cap: IntArray, clock: Clock) -> tuple[IntArray, list[int]]:
    """Greedy; among reviews of one cost those by the least loaded are first, if their loads allow them."""
    work = ground.vectors.copy()
    base = list[int]()
    load = np.zeros(cap.size, np.int64)
    for row in clock.watch(range(ground.rank)):
        clock.spend(ENTRY * work.size)
        useful: BoolArray = (work[row:] != 0).any(axis=0)
        free = useful[ground.column] & (cap[ground.owner] > 0)
        if not free.any():
            break
        cheapest = np.flatnonzero(free & (ground.weight == ground.weight[free].min()))
        over = np.maximum(load - cap + 1, 0)[ground.owner[cheapest]]
        element = int(cheapest[np.lexsort((load[ground.owner[cheapest]], over))[0]])
        place = row + int(np.flatnonzero(work[row:, ground.column[element]])[0])
        work[[row, place]] = work[[place, row]]
        clear(work, row, int(ground.column[element]))
        base.append(element)
        load[ground.owner[element]] += 1
    return work[: len(base)], base


def _arcs(ground: Ground, coordinates: IntArray, base: list[int], size: int) -> tuple[IntArray, IntArray]:
    """Shape (M, r) twice: the cheapest review by a reviewer that can replace one of the base, and its weight."""
    enter = np.full((size, len(base)), -1, np.int64)
    arc = np.full((size, len(base)), FAR, np.int64)
    free = np.ones(ground.owner.size, np.bool_)
    free[base] = False
    order = np.lexsort((ground.weight, ground.owner))
    order = order[free[order]]
    for own in np.split(order, np.flatnonzero(np.diff(ground.owner[order])) + 1):
        if own.size:
            can = coordinates[:, ground.column[own]] != 0
            first = np.argmax(can, axis=1)
            some = can[np.arange(len(base)), first]
            reviewer = int(ground.owner[own[0]])
            enter[reviewer, some] = own[first[some]]
            arc[reviewer, some] = ground.weight[own[first[some]]]
    return enter, arc


def _paths(start: IntArray, arc: IntArray, ground: Ground, base: list[int], step: int) -> tuple[IntArray, ...]:
    """Shortest paths to every reviewer (Bellman and Ford): lengths, the reviewer before, and what of the base leaves.

    With ``step`` the fewest arcs count second; reviewers whose start is far may not be entered from.
    """
    owner = ground.owner[base]
    leaves = ground.weight[base]
    scale = 2 * start.size if step else 1
    length = start.copy()
    by = np.full(start.size, -1, np.int64)
    out = np.full(start.size, -1, np.int64)
    cost = np.where(arc < FAR, (arc - leaves) * scale + step, FAR)
    for _ in range(start.size):
        through = np.where((cost < FAR) & (length[:, np.newaxis] < FAR), length[:, np.newaxis] + cost, FAR)
        before = np.argmin(through, axis=0)
        value = through[before, np.arange(len(base))]
        changed = False
        for k in np.flatnonzero(value < length[owner]).tolist():
            if value[k] < length[owner[k]]:
                length[owner[k]], by[owner[k]], out[owner[k]] = value[k], before[k], k
                changed = True
        if not changed:
            break
    return length, by, out


def _exchange(
    coordinates: IntArray, base: list[int], ground: Ground, enter: IntArray, by: IntArray, out: IntArray, end: int
) -> None:
    """Exchange the reviews along a path, in an order in which every step is an exchange of two."""
    rows = []
    new = []
    while by[end] >= 0:
        rows.append(int(out[end]))
        new.append(int(enter[by[end], out[end]]))
        end = int(by[end])
    while rows:
        row, element = next(
            (row, element) for row in rows for element in new if coordinates[row, ground.column[element]]
        )
        clear(coordinates, row, int(ground.column[element]))
        base[row] = element
        rows.remove(row)
        new.remove(element)
