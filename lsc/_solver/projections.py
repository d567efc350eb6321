"""Projections of one reviewer's perceived qualities on the set that the class of scoring functions allows.

The kernels work on a chain of levels, ascending by score. Rows of ``work`` hold a score ``Y``, a value ``Z`` and a
weight ``W`` of each level, and receive the projection ``FIT``. The lower bound on the slope has been subtracted from
the values (``z - lower * y``), so lower bounds are 0 here. One array for input and output: passing an array to a kernel
takes longer than projecting five reviews.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from lsc._model.formulation import Programme
from lsc._model.hypotheses import CONCAVE, CONVEX, IDLE, LINEAR
from reviewgraph._base import BoolArray, FloatArray, IntArray
from reviewgraph.graph import kernel

#: Relative size below which a descent direction is rounding: sums of a few thousand doubles are accurate to 1e-13.
ROUNDING = 1e-13


# Rows of ``work`` (floats) and of ``iwork`` (integers); a column is a level, a node or a block. Of a level: score,
# value, weight, fit, cap of the step into it, share of its right node, drop in slope, coefficient of its hinge; of a
# node: its position, value and factors.
Y, Z, W, FIT, CAP, SHARE, PIVOT, LINK, CHANGE, AT, VALUE, COEFFICIENT, LOWEST, SPARE = range(14)
FIRST, BEGIN, NODE, BENT, LEVEL, RANK = range(6)
WORK_ROWS, IWORK_ROWS = 14, 6


@kernel
def isotonic(n: int, work: FloatArray, iwork: IntArray) -> int:
    """Project on non-decreasing sequences; pool adjacent violators, O(n).

    ::

        minimise  sum_l w_l (fit_l - z_l)^2   subject to  fit_0 <= fit_1 <= ... <= fit_(n-1)

    Writes ``FIT`` and the first level of each block into ``FIRST``; returns the number of blocks. 4 to 5 microseconds
    for 770 levels, against 11 of SciPy, which kernels cannot call.
    """
    # Invariant: the means of the blocks so far increase strictly. FIT and SPARE hold mean and weight of a block.
    blocks = 0
    for level in range(n):
        # A new block of this level alone; pool it with preceding blocks of no smaller mean.
        v, u, start = work[Z, level], work[W, level], level
        while blocks > 0 and work[FIT, blocks - 1] >= v:
            blocks -= 1
            total = work[SPARE, blocks] + u
            v = (work[FIT, blocks] * work[SPARE, blocks] + v * u) / total
            u = total
            start = iwork[FIRST, blocks]
        work[FIT, blocks], work[SPARE, blocks], iwork[FIRST, blocks] = v, u, start
        blocks += 1
    # Expand the means to the levels, from the last block down; a block's number is at most its first level.
    end = n
    for block in range(blocks - 1, -1, -1):
        v = work[FIT, block]
        for level in range(iwork[FIRST, block], end):
            work[FIT, level] = v
        end = iwork[FIRST, block]
    return blocks


@kernel
def bounded_isotonic(n: int, work: FloatArray, iwork: IntArray) -> int:
    """Project on sequences with steps between 0 and a cap; dynamic programming, O(n^2) at worst.

    ::

        minimise  sum_l w_l (fit_l - z_l)^2   subject to  0 <= fit_l - fit_(l-1) <= cap_l

    The derivative of the cost of levels 0..l as a function of ``fit_l`` is piecewise linear and increasing: a step
    splits it at its zero and shifts the right part by the cap (Johnson 2013, "A dynamic programming algorithm for the
    fused lasso", with two caps in place of one penalty). A block is a run of levels joined by steps at a bound.
    """
    best = np.empty(n)
    at = np.empty(2 * n)  # breakpoints of the derivative, ascending
    bend = np.empty(2 * n)  # changes of its slope there
    bends = 0
    slope, offset = 0.0, 0.0  # the derivative left of the first breakpoint: slope * v + offset
    for level in range(n):
        # Add the derivative of this level's own cost, a line.
        slope += work[W, level]
        offset -= work[W, level] * work[Z, level]
        # Its zero: the best fit of this level without the levels above.
        s, o, left = slope, offset, 0
        while left < bends and s * at[left] + o < 0.0:
            o -= bend[left] * at[left]
            s += bend[left]
            left += 1
        zero = -o / s
        if left > 0 and zero < at[left - 1]:
            zero = at[left - 1]
        best[level] = zero
        # Minimise over this level given the next: left of the zero both are equal, right of it the step is the cap.
        if level + 1 < n:
            for k in range(bends - 1, left - 1, -1):
                at[k + 2] = at[k] + work[CAP, level + 1]
                bend[k + 2] = bend[k]
            at[left], bend[left] = zero, -s
            at[left + 1], bend[left + 1] = zero + work[CAP, level + 1], s
            bends += 2
    # Backward: each level takes its best fit, clipped by the bounds on the step to the next.
    work[FIT, n - 1] = best[n - 1]
    free = np.zeros(n, np.bool_)  # the step into this level lies strictly between its bounds
    for level in range(n - 2, -1, -1):
        low = work[FIT, level + 1] - work[CAP, level + 1]
        work[FIT, level] = min(max(best[level], low), work[FIT, level + 1])
        free[level + 1] = low < work[FIT, level] < work[FIT, level + 1]
    # A block ends where the step lies strictly between its bounds.
    blocks = 0
    for level in range(n):
        if level == 0 or free[level]:
            iwork[FIRST, blocks] = level
            blocks += 1
    return blocks


@kernel
def spline_fit(base: int, n: int, rise: float, work: FloatArray, iwork: IntArray) -> int:
    """Fit by least squares a continuous broken line with bends where ``BENT``, constant after the last bend; O(n).

    For levels ``base`` to ``n - 1``. With a finite ``rise`` the slope before the first bend is fixed at it. Level l
    lies between the nodes ``NODE`` and ``NODE + 1`` with weight ``SHARE`` on the second; the normal equations of the
    node values are tridiagonal, factored as L D L' into ``PIVOT`` (D) and ``LINK`` (L). Writes ``FIT`` and into
    ``CHANGE`` the drop in slope at each bend; returns the number of nodes.
    """
    # Nodes are the first level and the bends; after the last bend the line is constant, before the first its slope is
    # free, or fixed at the bound, which then replaces a node.
    nodes, last, first_bend = 0, base, base
    for level in range(base + 1, n):
        if iwork[BENT, level] > 0:
            last = level
            if first_bend == base:
                first_bend = level
    fixed = rise < np.inf and first_bend > base
    for level in range(base, n):
        if iwork[BENT, level] > 0 if level > base else not fixed:
            work[AT, nodes], work[VALUE, nodes], work[PIVOT, nodes], work[LINK, nodes] = work[Y, level], 0.0, 0.0, 0.0
            nodes += 1
    # Normal equations: each level lies between nodes k and k + 1 with weight s on the second.
    left = 0
    for level in range(base, n):
        target, k, s = work[Z, level], nodes - 1, 0.0
        if fixed and level < first_bend:
            k = 0
            target += rise * (work[Y, first_bend] - work[Y, level])
        elif level < last:
            while work[AT, left + 1] <= work[Y, level]:
                left += 1
            k = left
            s = (work[Y, level] - work[AT, left]) / (work[AT, left + 1] - work[AT, left])
        iwork[NODE, level], work[SHARE, level] = k, s
        w = work[W, level]
        work[PIVOT, k] += w * (1.0 - s) * (1.0 - s)
        work[VALUE, k] += w * (1.0 - s) * target
        if s > 0.0:
            work[PIVOT, k + 1] += w * s * s
            work[LINK, k] += w * s * (1.0 - s)
            work[VALUE, k + 1] += w * s * target
    # Factor the tridiagonal matrix as L D L', forward; then solve backward.
    for k in range(nodes - 1):
        off = work[LINK, k]
        work[LINK, k] = off / work[PIVOT, k]
        work[PIVOT, k + 1] -= off * work[LINK, k]
        work[VALUE, k + 1] -= work[LINK, k] * work[VALUE, k]
    work[VALUE, nodes - 1] /= work[PIVOT, nodes - 1]
    for k in range(nodes - 2, -1, -1):
        work[VALUE, k] = work[VALUE, k] / work[PIVOT, k] - work[LINK, k] * work[VALUE, k + 1]
    # Interpolate the fit between the nodes.
    for level in range(base, n):
        k, s = iwork[NODE, level], work[SHARE, level]
        work[FIT, level] = work[VALUE, k]
        if s > 0.0:
            work[FIT, level] += s * (work[VALUE, k + 1] - work[VALUE, k])
        if fixed and level < first_bend:
            work[FIT, level] -= rise * (work[Y, first_bend] - work[Y, level])
    _changes(base, n, nodes, rise if fixed else np.inf, work, iwork)
    return nodes


@kernel
def _changes(base: int, n: int, nodes: int, rise: float, work: FloatArray, iwork: IntArray) -> None:
    """Write the drop in slope at each bend of the broken line into ``CHANGE``."""
    before, node = rise, 0
    for level in range(base, n):
        work[CHANGE, level] = 0.0
        if iwork[BENT, level] > 0 if level > base else rise == np.inf:
            after = 0.0
            if node + 1 < nodes:
                after = (work[VALUE, node + 1] - work[VALUE, node]) / (work[AT, node + 1] - work[AT, node])
            if level > base:
                work[CHANGE, level] = before - after
            before = after
            node += 1


@kernel
def concave_fit(base: int, n: int, start: int, rise: float, work: FloatArray, iwork: IntArray) -> int:
    """Project on concave non-decreasing sequences with slopes of at most ``rise`` (infinite: no bound).

    ::

        minimise    sum_l w_l (fit_l - z_l)^2,   l = base, ..., n - 1
        subject to  fit = b + sum_k c_k min(y, y_k),  c >= 0,  sum_k c_k <= rise,  k = start, ..., n - 1

    The hinges are linearly independent, so the active-set method of Lawson and Hanson for non-negative least squares
    (1974, "Solving least squares problems", chapter 23) is finite; here with one more bound. ``BENT`` marks the active
    hinges, on entry a guess, on exit those of the solution; 2 at level ``base`` means that the bound ``rise`` is
    active. Returns the number of nodes (see :func:`spline_fit`); a step costs O(n).
    """
    # Zero is the only slope allowed: no hinge may enter.
    if rise <= 0.0:
        rise, start = np.inf, n
    capped, guessing, entered, nodes = iwork[BENT, base] == 2 and rise < np.inf, True, 0, 0
    for k in range(base, n):
        work[COEFFICIENT, k] = 0.0
        if k < start:
            iwork[BENT, k] = 0
    # Invariant (Lawson and Hanson, NNLS): the coefficients are feasible, and 0 outside the hinges in use.
    for _ in range(30 * n + 30):
        nodes = spline_fit(base, n, rise if capped else np.inf, work, iwork)
        step, hits = _reach(start, n, rise, capped, work, iwork)
        # Discard a guess whose fit is infeasible.
        if guessing and step < 1.0:
            iwork[BENT, base:n] = 0
            capped = guessing = False
            continue
        # Inner loop: move as far as coefficients stay feasible, and drop the hinges that reach 0.
        guessing = False
        if step < 1.0:
            capped = capped or hits
            _advance(start, n, step, work, iwork)
            if entered > 0 and iwork[BENT, entered] == 0:
                start = n  # the hinge entered by rounding only: the fit without it is optimal
            entered = 0
            continue
        # Outer loop: the fit is feasible; add the hinge with the most negative multiplier, or release the bound.
        for k in range(start, n):
            work[COEFFICIENT, k] = work[CHANGE, k] if iwork[BENT, k] > 0 else 0.0
        entered = _entering(base, n, start, capped, work, iwork)
        if entered == 0:
            break
        if entered < 0:
            capped = False
        else:
            iwork[BENT, entered] = 1
    iwork[BENT, base] = 2 if capped else 0
    return nodes


@kernel
def _reach(start: int, n: int, rise: float, capped: bool, work: FloatArray, iwork: IntArray) -> tuple[float, bool]:
    """Return the largest feasible step towards ``CHANGE``, at most 1, and whether the bound limits it."""
    step, total, trial_total = 1.0, 0.0, 0.0
    for k in range(start, n):
        if iwork[BENT, k] > 0:
            current, trial = work[COEFFICIENT, k], work[CHANGE, k]
            total += current
            trial_total += trial
            if trial <= 0.0:
                step = min(step, current / (current - trial) if current > 0.0 else 0.0)
    if capped or trial_total <= rise * (1.0 + ROUNDING):
        return step, False
    reach = max(0.0, (rise - total) / (trial_total - total))
    return min(step, reach), reach <= step


@kernel
def _advance(start: int, n: int, step: float, work: FloatArray, iwork: IntArray) -> None:
    """Move the coefficients by ``step`` of the way to ``CHANGE`` and drop those that reach 0."""
    for k in range(start, n):
        if iwork[BENT, k] > 0:
            current, trial = work[COEFFICIENT, k], work[CHANGE, k]
            work[COEFFICIENT, k] += step * (trial - current)
            if trial <= 0.0 and (work[COEFFICIENT, k] <= ROUNDING * current or step * (current - trial) >= current):
                work[COEFFICIENT, k] = 0.0
                iwork[BENT, k] = 0


@kernel
def _entering(base: int, n: int, start: int, capped: bool, work: FloatArray, iwork: IntArray) -> int:
    """Return the hinge with the most negative multiplier, 0 at an optimum, -1 if the bound is to be released.

    The multiplier of hinge k is the price of the bound minus <residual, min(y, y_k)>; active hinges have 0.
    """
    # Sums over levels, from the lowest up: moment of hinge k is -<residual, min(y, y_k)> less a constant.
    scale, moment, below, price, best, entering = 0.0, 0.0, 0.0, 0.0, -np.inf, 0
    for level in range(base, n):
        gap = work[W, level] * (work[Z, level] - work[FIT, level])
        scale += abs(gap)
        if level > base:
            moment -= below * (work[Y, level] - work[Y, level - 1])
            if iwork[BENT, level] > 0:
                price = moment if capped else 0.0
            elif level >= start and moment > best:
                best, entering = moment, level
        below += gap
    rounding = ROUNDING * (scale + abs(work[Z, n - 1] - work[Z, base])) * (work[Y, n - 1] - work[Y, base])
    if price < -rounding:
        return -1
    return entering if best - price > rounding else 0


@kernel
def sort_ranks(left: int, right: int, work: FloatArray, iwork: IntArray) -> None:
    """Sort ``RANK[left:right]`` by the values ``LOWEST`` they refer to; shell sort, fast if almost sorted."""
    # Gaps 1, 4, 13, ... (Knuth); the last pass, with gap 1, is an insertion sort of what is nearly sorted.
    gap = 1
    while 3 * gap + 1 < right - left:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(left + gap, right):
            moving = iwork[RANK, i]
            j = i
            while j >= left + gap and work[LOWEST, iwork[RANK, j - gap]] > work[LOWEST, moving]:
                iwork[RANK, j] = iwork[RANK, j - gap]
                j -= gap
            iwork[RANK, j] = moving
        gap //= 3


# Data of the solver: the reviews in its units, and the faces of the projections.

#: Item codes: half the memory traffic of 64 bits, and no check for negative indices.
ItemArray: TypeAlias = npt.NDArray[np.uint32]

#: Seconds per array element of the solver's kernels in plain Python: small tables are solved without importing Numba,
#: a thousand papers are compiled after a few calls.
ELEMENT = 10e-6

#: Maximum number of reviews for which a reviewer's matrices over pairs of reviews are stored.
SMALL = 12


class Table(NamedTuple):
    """The reviews in the solver's units: scores centred per reviewer, ascending.

    ``unit``: centred scores divided by ``norm``, their length per reviewer (0 if constant); ``kind``: shape of a
    reviewer, :data:`IDLE` if unconstrained; ``tied``: whether a reviewer's tied scores share one perceived quality.
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
    """Face of each reviewer's set that holds the projection, on which it is affine.

    Linear: whether the slope is free, ``slope_free``. Monotone: reviews ``r`` to ``end[r] - 1`` are a block if ``r``
    begins one, in the order ``place``, with the items ``item``. Convex and concave: a broken line with bends at the
    levels ``bent``, each review between the nodes ``node`` and ``node + 1`` of its reviewer with weight ``share`` on
    the second (``node`` -1: free), ``nodes`` per reviewer, normal equations factored into ``pivot`` and ``link``; with
    few reviews, ``block`` is identity minus the projector, the entry of reviews a and b at ``begin[j] + a * size + b``,
    valid if ``known``; ``unchanged``: whose face is the previous one. ``changed`` is set whenever a face changes.
    """

    item: ItemArray
    place: IntArray
    slope_free: BoolArray
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
    unchanged: BoolArray
    changed: BoolArray


class Common(NamedTuple):
    """One line in the raw scores for all reviews; the distance from it selects among several minimisers.

    ``degree`` (N,): reviews of an item; ``tilt`` (N,): sums of its centred raw scores; ``spread``: sum of squares of
    all centred scores; ``reviews``: their number; bounds on the slope.
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
    """Convert a programme to the solver's units: scores of spread 1 within reviewers, typical lower slope 1."""
    start = np.ascontiguousarray(programme.start, dtype=np.int64)
    item = np.ascontiguousarray(programme.item, dtype=np.uint32)
    size = np.diff(start)
    reviewer = np.repeat(np.arange(len(size)), size)
    # Offsets are free, so only centred scores matter.
    score = centred(programme.score, start, reviewer)
    norm = np.sqrt(np.bincount(reviewer, score * score, len(size)))
    slope = float(np.median(programme.lower)) or 1.0
    # Units: scores of spread 1, median lower slope 1, references of range at most 1.
    known = programme.reference[programme.is_reference]
    origin = float(known.mean()) if len(known) else 0.0
    scale = slope * float(np.sqrt(np.sum(norm * norm) / len(item)))
    scale = max(scale, float(np.ptp(known)) if len(known) else 0.0)
    units = Units(origin, scale if scale > 0.0 else 1.0)
    score /= units.scale / slope
    norm /= units.scale / slope
    unit = score / np.where(norm > 0.0, norm, 1.0)[reviewer]
    # Constant scores make a line, or no constraint if ties are free.
    kind = np.where(norm == 0.0, LINEAR if programme.ties_equal else IDLE, programme.shape).astype(np.int64)
    kind[size < 2] = IDLE
    lower, upper = programme.lower / slope, programme.upper / slope
    table = Table(start, item, score, unit, norm, kind, lower, upper, (kind == LINEAR) | programme.ties_equal)
    # The common line uses raw scores, which retain differences between reviewers.
    raw = (programme.score - programme.score.mean()) / (units.scale / slope)
    degree = np.bincount(item, minlength=programme.n_items).astype(np.float64)
    tilt = np.bincount(item, weights=raw, minlength=programme.n_items).astype(np.float64)
    return (
        table,
        Common(degree, tilt, float(np.sum(raw * raw)), float(len(item)), float(lower.min()), float(upper.max())),
        units,
    )


def centred(score: FloatArray, start: IntArray, reviewer: IntArray) -> FloatArray:
    """Subtract each reviewer's mean, after their first score, so that a large common shift costs no digits.

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


def first_face(table: Table) -> Face:
    """Return a face for the projections to write, without blocks and bends."""
    # The face of a linear reviewer is only whether the slope is free.
    straight = bool(np.all((table.kind == LINEAR) | (table.kind == IDLE)))
    reviews, reviewers = 0 if straight else len(table.item), len(table.kind)
    begin = pairs_of(table, (table.kind == CONVEX) | (table.kind == CONCAVE))
    positions = np.arange(reviews, dtype=np.int64)
    return Face(
        item=table.item[:reviews].copy(),
        place=positions,
        slope_free=np.zeros(reviewers, dtype=np.bool_),
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
        unchanged=np.zeros(reviewers, dtype=np.bool_),
        changed=np.ones(reviewers, dtype=np.bool_),
    )


def pairs_of(table: Table, wanted: BoolArray) -> IntArray:
    """Return the first pair of reviews of each wanted reviewer with few reviews, shape (M + 1,)."""
    size = np.diff(table.start)
    pairs = np.where((size <= SMALL) & wanted, size * size, 0)
    return np.concatenate([[0], np.cumsum(pairs)]).astype(np.int64)
