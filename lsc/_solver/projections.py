"""Projections of one reviewer's perceived qualities on what her class of scoring functions allows.

The kernels work on a chain of levels, ascending by score. Rows of ``room`` hold a score ``Y``, a value
``Z`` and a weight ``W`` for each level, and receive the projection ``FIT``; the lower bound on the slope has been taken
out of the values before (``z - lower * y``), so that lower bounds are 0 here. One array for all that is read and
written, because passing an array to a kernel takes longer than projecting five reviews.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from lsc._model.formulation import Programme
from lsc._model.hypotheses import CONCAVE, CONVEX, IDLE, LINEAR
from reviewgraph._base.arrays import BoolArray, FloatArray, IntArray
from reviewgraph.graph.kernels.compiling import kernel

#: A direction of descent smaller than this part of the data is rounding: sums of a few thousand doubles keep 1e-13.
ROUNDING = 1e-13


# Rows of ``room`` (floats) and of ``whole`` (integers); a column is a level, a node or a block. A level has a score, a
# value and a weight, the fit, the cap of the step into it, the share of its right node, the drop in slope there and the
# coefficient of its hinge; a node has its place, its value and its factors.
Y, Z, W, FIT, CAP, SHARE, PIVOT, LINK, CHANGE, AT, VALUE, COEFFICIENT, LOWEST, SPARE = range(14)
FIRST, BEGIN, NODE, BENT, LEVEL, RANK = range(6)
ROOM_ROWS, WHOLE_ROWS = 14, 6


@kernel
def isotonic(n: int, room: FloatArray, whole: IntArray) -> int:
    """Project on non-decreasing sequences; pool adjacent violators, O(n).

    ::

        minimise  sum_l w_l (fit_l - z_l)^2   subject to  fit_0 <= fit_1 <= ... <= fit_(n-1)

    Writes ``FIT`` and the first level of each block into ``FIRST``; returns the number of blocks. It takes 4 to 5
    microseconds for 770 levels where SciPy's takes 11, and kernels cannot call SciPy.
    """
    # Invariant: the means of the blocks so far increase strictly. FIT and SPARE hold mean and weight of a block.
    blocks = 0
    for level in range(n):
        # The level is a block of its own; it swallows those before that do not lie below it.
        v, u, start = room[Z, level], room[W, level], level
        while blocks > 0 and room[FIT, blocks - 1] >= v:
            blocks -= 1
            total = room[SPARE, blocks] + u
            v = (room[FIT, blocks] * room[SPARE, blocks] + v * u) / total
            u = total
            start = whole[FIRST, blocks]
        room[FIT, blocks], room[SPARE, blocks], whole[FIRST, blocks] = v, u, start
        blocks += 1
    # Spread the means over the levels, from the last block down.
    end = n
    for block in range(blocks - 1, -1, -1):  # a block's number is at most its first level: nothing unread is lost
        v = room[FIT, block]
        for level in range(whole[FIRST, block], end):
            room[FIT, level] = v
        end = whole[FIRST, block]
    return blocks


@kernel
def bounded_isotonic(n: int, room: FloatArray, whole: IntArray) -> int:
    """Project on sequences whose steps lie between 0 and a cap; dynamic programming, O(n^2) at worst.

    ::

        minimise  sum_l w_l (fit_l - z_l)^2   subject to  0 <= fit_l - fit_(l-1) <= cap_l

    The derivative of the cost of levels 0..l as a function of ``fit_l`` is piecewise linear and increasing: a step
    cuts it at its zero and moves the right part by the cap (Johnson 2013, "A dynamic programming algorithm for the
    fused lasso", with two caps in place of one penalty). A block is a run of levels joined by steps at a bound.
    """
    best = np.empty(n)
    at = np.empty(2 * n)  # where the derivative bends, ascending
    bend = np.empty(2 * n)  # by how much its slope changes there
    bends = 0
    slope, offset = 0.0, 0.0  # the derivative left of the first bend: slope * v + offset
    for level in range(n):
        # Add the derivative of this level's own cost, a line.
        slope += room[W, level]
        offset -= room[W, level] * room[Z, level]
        # Find its zero: the best fit of this level if the levels above did not matter.
        s, o, left = slope, offset, 0
        while left < bends and s * at[left] + o < 0.0:
            o -= bend[left] * at[left]
            s += bend[left]
            left += 1
        zero = -o / s
        if left > 0 and zero < at[left - 1]:
            zero = at[left - 1]
        best[level] = zero
        # Minimise over the level given the next one: left of the zero both are equal, right of it the step is the cap.
        if level + 1 < n:
            for k in range(bends - 1, left - 1, -1):
                at[k + 2] = at[k] + room[CAP, level + 1]
                bend[k + 2] = bend[k]
            at[left], bend[left] = zero, -s
            at[left + 1], bend[left + 1] = zero + room[CAP, level + 1], s
            bends += 2
    # Go back: each level takes its best fit, as near as the step to the one above allows.
    room[FIT, n - 1] = best[n - 1]
    free = np.zeros(n, np.bool_)  # the step into this level lies strictly between its bounds
    for level in range(n - 2, -1, -1):
        low = room[FIT, level + 1] - room[CAP, level + 1]
        room[FIT, level] = min(max(best[level], low), room[FIT, level + 1])
        free[level + 1] = low < room[FIT, level] < room[FIT, level + 1]
    # A block ends where the step lies strictly between its bounds.
    blocks = 0
    for level in range(n):
        if level == 0 or free[level]:
            whole[FIRST, blocks] = level
            blocks += 1
    return blocks


@kernel
def spline_fit(base: int, n: int, rise: float, room: FloatArray, whole: IntArray) -> int:
    """Fit by least squares the continuous broken line that may bend where ``BENT`` and is constant after its last bend.

    Levels ``base`` to ``n - 1`` count. With a finite ``rise`` the slope before the first bend is fixed at it. Level l
    lies between the nodes ``NODE`` and ``NODE + 1`` with weight ``SHARE`` on the second; the normal equations of the
    node values are tridiagonal, factored as L D L' into ``PIVOT`` (D) and ``LINK`` (L). Writes ``FIT`` and into
    ``CHANGE`` the drop in slope at each bend; returns the number of nodes. O(n).
    """
    # Nodes are the first level and the bends; beyond the last bend the line is level, before the first one its slope
    # is free, or the bound, which then takes the place of a node.
    nodes, last, first_bend = 0, base, base
    for level in range(base + 1, n):
        if whole[BENT, level] > 0:
            last = level
            if first_bend == base:
                first_bend = level
    fixed = rise < np.inf and first_bend > base
    for level in range(base, n):
        if whole[BENT, level] > 0 if level > base else not fixed:
            room[AT, nodes], room[VALUE, nodes], room[PIVOT, nodes], room[LINK, nodes] = room[Y, level], 0.0, 0.0, 0.0
            nodes += 1
    # Add up the normal equations: each level lies between nodes k and k + 1 with the share s on the second.
    left = 0
    for level in range(base, n):
        target, k, s = room[Z, level], nodes - 1, 0.0
        if fixed and level < first_bend:
            k = 0
            target += rise * (room[Y, first_bend] - room[Y, level])
        elif level < last:
            while room[AT, left + 1] <= room[Y, level]:
                left += 1
            k = left
            s = (room[Y, level] - room[AT, left]) / (room[AT, left + 1] - room[AT, left])
        whole[NODE, level], room[SHARE, level] = k, s
        w = room[W, level]
        room[PIVOT, k] += w * (1.0 - s) * (1.0 - s)
        room[VALUE, k] += w * (1.0 - s) * target
        if s > 0.0:
            room[PIVOT, k + 1] += w * s * s
            room[LINK, k] += w * s * (1.0 - s)
            room[VALUE, k + 1] += w * s * target
    # Factor the tridiagonal matrix as L D L', forward; then solve backward.
    for k in range(nodes - 1):
        off = room[LINK, k]
        room[LINK, k] = off / room[PIVOT, k]
        room[PIVOT, k + 1] -= off * room[LINK, k]
        room[VALUE, k + 1] -= room[LINK, k] * room[VALUE, k]
    room[VALUE, nodes - 1] /= room[PIVOT, nodes - 1]
    for k in range(nodes - 2, -1, -1):
        room[VALUE, k] = room[VALUE, k] / room[PIVOT, k] - room[LINK, k] * room[VALUE, k + 1]
    # Read the fit off the nodes.
    for level in range(base, n):
        k, s = whole[NODE, level], room[SHARE, level]
        room[FIT, level] = room[VALUE, k]
        if s > 0.0:
            room[FIT, level] += s * (room[VALUE, k + 1] - room[VALUE, k])
        if fixed and level < first_bend:
            room[FIT, level] -= rise * (room[Y, first_bend] - room[Y, level])
    _changes(base, n, nodes, rise if fixed else np.inf, room, whole)
    return nodes


@kernel
def _changes(base: int, n: int, nodes: int, rise: float, room: FloatArray, whole: IntArray) -> None:
    """Write the drop in slope at each bend of the broken line through the nodes into ``CHANGE``."""
    before, node = rise, 0
    for level in range(base, n):
        room[CHANGE, level] = 0.0
        if whole[BENT, level] > 0 if level > base else rise == np.inf:
            after = 0.0
            if node + 1 < nodes:
                after = (room[VALUE, node + 1] - room[VALUE, node]) / (room[AT, node + 1] - room[AT, node])
            if level > base:
                room[CHANGE, level] = before - after
            before = after
            node += 1


@kernel
def concave_fit(base: int, n: int, start: int, rise: float, room: FloatArray, whole: IntArray) -> int:
    """Project on concave non-decreasing sequences with slopes of at most ``rise`` (infinite: no bound).

    ::

        minimise    sum_l w_l (fit_l - z_l)^2,   l = base, ..., n - 1
        subject to  fit = b + sum_k c_k min(y, y_k),  c >= 0,  sum_k c_k <= rise,  k = start, ..., n - 1

    The hinges are linearly independent, so Lawson and Hanson's active-set method for non-negative least squares
    ends after finitely many steps (1974, "Solving least squares problems", chapter 23), here with one bound more.
    ``BENT`` marks the hinges in use: on entry a guess, on exit the answer; 2 at level ``base`` says that the bound
    ``rise`` is active. Returns the number of nodes (see :func:`spline_fit`); a step costs O(n).
    """
    # No room for any slope: no hinge may enter.
    if rise <= 0.0:
        rise, start = np.inf, n
    capped, guessing, entered, nodes = whole[BENT, base] == 2 and rise < np.inf, True, 0, 0
    for k in range(base, n):
        room[COEFFICIENT, k] = 0.0
        if k < start:
            whole[BENT, k] = 0
    # Invariant (Lawson and Hanson, NNLS): the coefficients are feasible, and 0 outside the hinges in use.
    for _ in range(30 * n + 30):
        nodes = spline_fit(base, n, rise if capped else np.inf, room, whole)
        step, hits = _reach(start, n, rise, capped, room, whole)
        # A guess whose fit is not feasible is thrown away.
        if guessing and step < 1.0:
            whole[BENT, base:n] = 0
            capped = guessing = False
            continue
        # Inner loop: go as far as coefficients stay feasible, and drop the hinges that reach 0.
        guessing = False
        if step < 1.0:
            capped = capped or hits
            _advance(start, n, step, room, whole)
            if entered > 0 and whole[BENT, entered] == 0:
                start = n  # rounding alone asked for this hinge: the fit without it is the answer
            entered = 0
            continue
        # Outer loop: the fit is feasible; let in the hinge whose multiplier is most wrong, or let go of the bound.
        for k in range(start, n):
            room[COEFFICIENT, k] = room[CHANGE, k] if whole[BENT, k] > 0 else 0.0
        entered = _entering(base, n, start, capped, room, whole)
        if entered == 0:
            break
        if entered < 0:
            capped = False
        else:
            whole[BENT, entered] = 1
    whole[BENT, base] = 2 if capped else 0
    return nodes


@kernel
def _reach(start: int, n: int, rise: float, capped: bool, room: FloatArray, whole: IntArray) -> tuple[float, bool]:
    """Return how far the coefficients can move to ``CHANGE``, below 1 where one of them or the bound is crossed.

    Also whether the bound stops them.
    """
    step, total, trial_total = 1.0, 0.0, 0.0
    for k in range(start, n):
        if whole[BENT, k] > 0:
            was, trial = room[COEFFICIENT, k], room[CHANGE, k]
            total += was
            trial_total += trial
            if trial <= 0.0:
                step = min(step, was / (was - trial) if was > 0.0 else 0.0)
    if capped or trial_total <= rise * (1.0 + ROUNDING):
        return step, False
    reach = max(0.0, (rise - total) / (trial_total - total))
    return min(step, reach), reach <= step


@kernel
def _advance(start: int, n: int, step: float, room: FloatArray, whole: IntArray) -> None:
    """Move the coefficients by ``step`` of the way to ``CHANGE`` and drop those that reach 0."""
    for k in range(start, n):
        if whole[BENT, k] > 0:
            was, trial = room[COEFFICIENT, k], room[CHANGE, k]
            room[COEFFICIENT, k] += step * (trial - was)
            if trial <= 0.0 and (room[COEFFICIENT, k] <= ROUNDING * was or step * (was - trial) >= was):
                room[COEFFICIENT, k] = 0.0
                whole[BENT, k] = 0


@kernel
def _entering(base: int, n: int, start: int, capped: bool, room: FloatArray, whole: IntArray) -> int:
    """Return the hinge whose multiplier is most wrong, 0 where all are right, -1 where the bound must be let go.

    The multiplier of hinge k is the price of the bound minus <residual, min(y, y_k)>; hinges in use have 0.
    """
    # Sums over levels, from the lowest up: moment of hinge k is -<residual, min(y, y_k)> less a constant.
    scale, moment, below, price, best, entering = 0.0, 0.0, 0.0, 0.0, -np.inf, 0
    for level in range(base, n):
        gap = room[W, level] * (room[Z, level] - room[FIT, level])
        scale += abs(gap)
        if level > base:
            moment -= below * (room[Y, level] - room[Y, level - 1])
            if whole[BENT, level] > 0:
                price = moment if capped else 0.0
            elif level >= start and moment > best:
                best, entering = moment, level
        below += gap
    rounding = ROUNDING * (scale + abs(room[Z, n - 1] - room[Z, base])) * (room[Y, n - 1] - room[Y, base])
    if price < -rounding:
        return -1
    return entering if best - price > rounding else 0


@kernel
def sort_ranks(left: int, right: int, room: FloatArray, whole: IntArray) -> None:
    """Sort ``RANK[left:right]`` by the values ``LOWEST`` they point at; shell sort, fast where almost sorted."""
    # Gaps 1, 4, 13, ... (Knuth); the last pass, with gap 1, is an insertion sort of what is nearly sorted.
    gap = 1
    while 3 * gap + 1 < right - left:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(left + gap, right):
            moving = whole[RANK, i]
            j = i
            while j >= left + gap and room[LOWEST, whole[RANK, j - gap]] > room[LOWEST, moving]:
                whole[RANK, j] = whole[RANK, j - gap]
                j -= gap
            whole[RANK, j] = moving
        gap //= 3


# What the fast solver works on: the reviews as arrays in its own units, and the faces they have been projected to.

#: Item numbers: half the memory of 64 bits to read, and no check for a negative index.
ItemArray: TypeAlias = npt.NDArray[np.uint32]

#: Seconds that the solver's kernels take as plain Python for one element of their arrays: small tables are solved
#: before Numba is imported, and a thousand papers are compiled after a few calls.
ELEMENT = 10e-6

#: A reviewer with at most this many reviews has few: what belongs to pairs of them is written out.
SMALL = 12


class Table(NamedTuple):
    """The reviews as the kernels want them: scores in units of the solver, centred per reviewer, ascending.

    ``unit`` is the centred score divided by ``norm``, its length per reviewer (0 where scores are constant). ``kind``
    is the shape of a reviewer, :data:`IDLE` where no constraint binds her; ``tied`` says of each reviewer whether her
    tied scores share one perceived quality.
    """

    start: IntArray
    item: ItemArray
    score: FloatArray
    unit: FloatArray
    norm: FloatArray
    kind: IntArray
    lower: FloatArray
    upper: FloatArray
    tied: BoolArray


class Face(NamedTuple):
    """The face of each reviewer's set that holds her projection: what of it may move, to first order.

    Linear: ``sloped`` says whether the slope is free. Monotone: reviews ``r`` to ``end[r] - 1`` are one block where
    ``r`` begins a block, in the order ``place``, whose items are ``item``. Convex and concave: a broken line bent at
    the levels ``bent``, each review between the nodes ``node`` and ``node + 1`` of its reviewer with weight ``share``
    on the second (``node`` -1: free), ``nodes`` a reviewer, normal equations factored into ``pivot`` and ``link``. Of
    those with few reviews, identity minus the projector on it is ``block``, the entry of reviews a and b at
    ``begin[j] + a * size + b``; ``known`` says whose face it tells, and ``stays`` who was on hers still.
    ``moved`` is set for whoever changes hers.
    """

    item: ItemArray
    place: IntArray
    sloped: BoolArray
    end: IntArray
    bent: IntArray
    node: IntArray
    share: FloatArray
    nodes: IntArray
    pivot: FloatArray
    link: FloatArray
    begin: IntArray
    block: FloatArray
    known: BoolArray
    stays: BoolArray
    moved: BoolArray


class Common(NamedTuple):
    """One line in the raw scores for all reviews: the distance from it settles what reviewers leave open.

    ``degree`` (N,) reviews of an item, ``tilt`` (N,) sums of its centred raw scores, ``spread`` the sum of squares of
    all centred scores, ``reviews`` their number, and bounds on the slope.
    """

    degree: FloatArray
    tilt: FloatArray
    spread: float
    reviews: float
    lower: float
    upper: float


class Units(NamedTuple):
    """Quality of the programme = ``origin`` + ``scale`` times quality of the solver."""

    origin: float
    scale: float


def tabulate(programme: Programme) -> tuple[Table, Common, Units]:
    """Bring a programme into the solver's units: scores of spread 1 within reviewers, typical lower slope 1."""
    start = np.ascontiguousarray(programme.start, dtype=np.int64)
    item = np.ascontiguousarray(programme.item, dtype=np.uint32)
    size = np.diff(start)
    reviewer = np.repeat(np.arange(len(size)), size)
    # A reviewer's offset is free, so only centred scores matter.
    score = centred(programme.score, start, reviewer)
    norm = np.sqrt(np.bincount(reviewer, score * score, len(size)))
    slope = float(np.median(programme.lower)) or 1.0
    # Scores are divided by what makes their spread 1 and the median of the lower slopes 1.
    units = _units(programme, slope, float(np.sqrt(np.sum(norm * norm) / len(item))))
    score /= units.scale / slope
    norm /= units.scale / slope
    unit = score / np.where(norm > 0.0, norm, 1.0)[reviewer]
    kind, tied = _kinds(programme, size, norm)
    lower, upper = programme.lower / slope, programme.upper / slope
    table = Table(start, item, score, unit, norm, kind, lower, upper, tied)
    # The common line goes through raw scores, which keep the differences between reviewers.
    raw = (programme.score - programme.score.mean()) / (units.scale / slope)
    degree = np.bincount(item, minlength=programme.n_items).astype(np.float64)
    tilt = np.bincount(item, weights=raw, minlength=programme.n_items).astype(np.float64)
    return (
        table,
        Common(degree, tilt, float(np.sum(raw * raw)), float(len(item)), float(lower.min()), float(upper.max())),
        units,
    )


def centred(score: FloatArray, start: IntArray, reviewer: IntArray) -> FloatArray:
    """Subtract each reviewer's mean, after her first score, so that a large common shift costs no digits.

    >>> import numpy as np
    >>> centred(np.array([1e9, 1e9 + 1, 5.0]), np.array([0, 2, 3]), np.array([0, 0, 1])).tolist()
    [-0.5, 0.5, 0.0]
    """
    size = np.diff(start)
    first = np.zeros(len(size))
    first[size > 0] = score[start[:-1][size > 0]]
    rest = score - first[reviewer]
    mean = np.bincount(reviewer, rest, len(size)) / np.maximum(size, 1)
    return np.asarray(rest - mean[reviewer])


def _units(programme: Programme, slope: float, spread: float) -> Units:
    known = programme.reference[programme.is_reference]
    origin = float(known.mean()) if len(known) else 0.0
    scale = max(slope * spread, float(np.ptp(known)) if len(known) else 0.0)
    return Units(origin, scale if scale > 0.0 else 1.0)


def _kinds(programme: Programme, size: IntArray, norm: FloatArray) -> tuple[IntArray, BoolArray]:
    """Shapes as the kernels know them: constant scores make a line, or nothing when ties are free."""
    constant = norm == 0.0
    kind = np.where(constant, LINEAR if programme.ties_equal else IDLE, programme.shape).astype(np.int64)
    kind[size < 2] = IDLE
    return kind, (kind == LINEAR) | programme.ties_equal


def first_face(table: Table) -> Face:
    """Return a face to be written by the projections, with no block and no bend yet."""
    # Of a linear reviewer a face is but whether her slope is free.
    straight = bool(np.all((table.kind == LINEAR) | (table.kind == IDLE)))
    reviews, reviewers = 0 if straight else len(table.item), len(table.kind)
    begin = pairs_of(table, (table.kind == CONVEX) | (table.kind == CONCAVE))
    positions = np.arange(reviews, dtype=np.int64)
    return Face(
        item=table.item[:reviews].copy(),
        place=positions,
        sloped=np.zeros(reviewers, dtype=np.bool_),
        end=positions + 1,
        bent=np.zeros(reviews, dtype=np.int64),
        node=np.zeros(reviews, dtype=np.int64),
        share=np.zeros(reviews),
        nodes=np.zeros(reviewers, dtype=np.int64),
        pivot=np.ones(reviews),
        link=np.zeros(reviews),
        begin=begin,
        block=np.zeros(begin[-1]),
        known=np.zeros(reviewers, dtype=np.bool_),
        stays=np.zeros(reviewers, dtype=np.bool_),
        moved=np.ones(reviewers, dtype=np.bool_),
    )


def pairs_of(table: Table, wanted: BoolArray) -> IntArray:
    """Return where the pairs of reviews of each wanted reviewer with few begin, shape (M + 1,)."""
    size = np.diff(table.start)
    pairs = np.where((size <= SMALL) & wanted, size * size, 0)
    return np.concatenate([[0], np.cumsum(pairs)]).astype(np.int64)
