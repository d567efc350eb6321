"""Projections of reviewers' perceived qualities on the sets that their classes of scoring functions allow.

Kernels of one reviewer work on a chain of levels, ascending by score. Rows of ``work`` hold a score ``Y``, a value
``Z`` and a weight ``W`` of each level, and receive the projection ``FIT``. The lower bound on the slope has been
subtracted from the values (``z - lower * y``), so lower bounds are 0 here. One array for input and output: passing an
array to a kernel takes longer than projecting five reviews. Linear reviewers are projected by
:func:`lsc._solver.faces.distances`, which sums over all.
"""

from __future__ import annotations

import numpy as np

from lsc._model.hypotheses import CONCAVE, CONVEX, MONOTONE
from lsc._solver.faces import ELEMENT, SMALL, Face, ItemArray, Table
from reviewgraph._base import FloatArray, IntArray
from reviewgraph.graph import kernel

#: Relative size below which a descent direction is rounding: sums of a few thousand doubles are accurate to 1e-13.
ROUNDING = 1e-13


# Rows of ``work`` (floats) and of ``iwork`` (integers); a column is a level, a node or a block. Of a level: score,
# value, weight, fit, cap of the step into it, share of its right node, drop in slope, coefficient of its hinge; of a
# node: its position, value and factors.
Y, Z, W, FIT, CAP, SHARE, PIVOT, LINK, CHANGE, AT, VALUE, COEFFICIENT, LOWEST, SPARE = range(14)
FIRST, BEGIN, NODE, BENT, LEVEL, RANK = range(6)
WORK_ROWS = 14
IWORK_ROWS = 6


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
    # The derivative left of the first breakpoint: slope * v + offset
    slope = 0.0
    offset = 0.0
    for level in range(n):
        # Add the derivative of this level's own cost, a line.
        slope += work[W, level]
        offset -= work[W, level] * work[Z, level]
        # Its zero: the best fit of this level without the levels above.
        s = slope
        o = offset
        left = 0
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
            at[left] = zero
            bend[left] = -s
            at[left + 1] = zero + work[CAP, level + 1]
            bend[left + 1] = s
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
    nodes = 0
    last = base
    first_bend = base
    for level in range(base + 1, n):
        if iwork[BENT, level] > 0:
            last = level
            if first_bend == base:
                first_bend = level
    fixed = rise < np.inf and first_bend > base
    for level in range(base, n):
        if iwork[BENT, level] > 0 if level > base else not fixed:
            work[AT, nodes] = work[Y, level]
            work[VALUE, nodes] = 0.0
            work[PIVOT, nodes] = 0.0
            work[LINK, nodes] = 0.0
            nodes += 1
    # Normal equations: each level lies between nodes k and k + 1 with weight s on the second.
    left = 0
    for level in range(base, n):
        target = work[Z, level]
        k = nodes - 1
        s = 0.0
        if fixed and level < first_bend:
            k = 0
            target += rise * (work[Y, first_bend] - work[Y, level])
        elif level < last:
            while work[AT, left + 1] <= work[Y, level]:
                left += 1
            k = left
            s = (work[Y, level] - work[AT, left]) / (work[AT, left + 1] - work[AT, left])
        iwork[NODE, level] = k
        work[SHARE, level] = s
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
        k = iwork[NODE, level]
        s = work[SHARE, level]
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
    before = rise
    node = 0
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
        rise = np.inf
        start = n
    capped = iwork[BENT, base] == 2 and rise < np.inf
    guessing = True
    entered = 0
    nodes = 0
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
            for k in range(base, n):
                iwork[BENT, k] = 0
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
    step = 1.0
    total = 0.0
    trial_total = 0.0
    for k in range(start, n):
        if iwork[BENT, k] > 0:
            current = work[COEFFICIENT, k]
            trial = work[CHANGE, k]
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
            current = work[COEFFICIENT, k]
            trial = work[CHANGE, k]
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
    scale = 0.0
    moment = 0.0
    below = 0.0
    price = 0.0
    best = -np.inf
    entering = 0
    for level in range(base, n):
        gap = work[W, level] * (work[Z, level] - work[FIT, level])
        scale += abs(gap)
        if level > base:
            moment -= below * (work[Y, level] - work[Y, level - 1])
            if iwork[BENT, level] > 0:
                price = moment if capped else 0.0
            elif level >= start and moment > best:
                best = moment
                entering = level
        below += gap
    rounding = ROUNDING * (scale + abs(work[Z, n - 1] - work[Z, base])) * (work[Y, n - 1] - work[Y, base])
    if price < -rounding:
        return -1
    return entering if best - price > rounding else 0


@kernel
def sort_ranks(first: int, last: int, work: FloatArray, iwork: IntArray) -> None:
    """Sort ``RANK[left:right]`` by the values ``LOWEST`` they refer to; shell sort, fast if almost sorted."""
    # Gaps 1, 4, 13, ... (Knuth); the last pass, with gap 1, is an insertion sort of what is nearly sorted.
    gap = 1
    while 3 * gap + 1 < last - first:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(first + gap, last):
            moving = iwork[RANK, i]
            j = i
            while j >= first + gap and work[LOWEST, iwork[RANK, j - gap]] > work[LOWEST, moving]:
                iwork[RANK, j] = iwork[RANK, j - gap]
                j -= gap
            iwork[RANK, j] = moving
        gap //= 3


# Projections of all reviewers of a shape, which write their faces.


@kernel
def _sort_levels(
    start: int, end: int, item: ItemArray, score: FloatArray, x: FloatArray, order: ItemArray, place: IntArray,
    work: FloatArray, iwork: IntArray,
) -> None:  # fmt: skip
    """Order tied reviews by current quality: the partial order of levels becomes a chain.

    The primary approach to ties of Kruskal (1964), "Nonmetric multidimensional scaling: a numerical method",
    Psychometrika 29.
    """
    # Start from the previous order: few qualities change places between steps.
    for r in range(start, end):
        work[LOWEST, r - start] = x[item[r]]
        iwork[RANK, r - start] = place[r] - start
    level_start = start
    while level_start < end:
        level_end = level_start + 1
        while level_end < end and score[level_end] == score[level_start]:
            level_end += 1
        sort_ranks(level_start - start, level_end - start, work, iwork)
        level_start = level_end
    for r in range(start, end):
        place[r] = start + iwork[RANK, r - start]
        order[r] = item[place[r]]


@kernel(element=ELEMENT)
def longest_of(starts: IntArray) -> int:
    """Length of the longest sequence."""
    longest = 0
    for j in range(len(starts) - 1):
        longest = max(longest, starts[j + 1] - starts[j])
    return longest


@kernel(element=ELEMENT)
def project_chains(table: Table, face: Face, x: FloatArray, perceived: FloatArray) -> None:
    """Project monotone reviewers without an upper bound on slopes: pool adjacent violators, O(n).

    ::

        minimise  sum_r (fit_r - x_r + lower score_r)^2   subject to  fit non-decreasing, equal where tied

    One function without calls, whose array arguments would take longer than five reviews.
    """
    starts, item, scores, _, _, kinds, lowers, uppers, ties = table
    order = face.item
    place = face.place
    ends = face.end
    longest = longest_of(starts)
    work = np.empty((WORK_ROWS, longest + 2))
    iwork = np.empty((IWORK_ROWS, longest + 2), np.int64)
    mean = work[FIT]
    weight = work[W]
    first = iwork[FIRST]
    for j in range(len(kinds)):
        if kinds[j] != MONOTONE or uppers[j] < np.inf:
            continue
        start = starts[j]
        stop = starts[j + 1]
        lower = lowers[j]
        tied = ties[j]
        # With free ties the partial order of levels becomes a chain of reviews.
        if not tied:
            _sort_levels(start, stop, item, scores, x, order, place, work, iwork)
        # Invariant: the means of the blocks so far increase strictly.
        blocks = 0
        r = start
        while r < stop:
            # A new block of this level alone; pool it with preceding blocks of no smaller mean.
            height = scores[r]
            begin = r
            u = 1.0
            v = x[order[r]] - lower * height
            r += 1
            while tied and r < stop and scores[r] == height:
                u += 1.0
                v += (x[order[r]] - lower * height - v) / u
                r += 1
            while blocks > 0 and mean[blocks - 1] >= v:
                blocks -= 1
                total = weight[blocks] + u
                v = (mean[blocks] * weight[blocks] + v * u) / total
                u = total
                begin = first[blocks]
            mean[blocks] = v
            weight[blocks] = u
            first[blocks] = begin
            blocks += 1
        # The blocks are the face; add the lower bound again.
        first[blocks] = stop
        changed = not tied
        for block in range(blocks):
            begin = first[block]
            end = first[block + 1]
            changed = changed or ends[begin] != end
            ends[begin] = end
            for r in range(begin, end):
                perceived[place[r]] = mean[block] + lower * scores[r]
        if changed:
            face.changed[j] = True


@kernel(element=ELEMENT)
def project_bounded_chains(table: Table, face: Face, x: FloatArray, perceived: FloatArray) -> None:
    """Project monotone reviewers on sequences with bounded steps, whose tied reviews are equal."""
    starts, item, scores, _, _, kinds, lowers, uppers, _ = table
    ends = face.end
    longest = longest_of(starts)
    work = np.empty((WORK_ROWS, longest + 2))
    iwork = np.empty((IWORK_ROWS, longest + 2), np.int64)
    for j in range(len(kinds)):
        if kinds[j] != MONOTONE or uppers[j] == np.inf:
            continue
        start = starts[j]
        end = starts[j + 1]
        lower = lowers[j]
        upper = uppers[j]
        # Levels without the lower bound on the slope; a level is the mean of its reviews.
        n = 0
        previous = np.inf
        for r in range(start, end):
            score = scores[r]
            value = x[item[r]] - lower * score
            if score == previous:
                work[W, n - 1] += 1.0
                work[Z, n - 1] += (value - work[Z, n - 1]) / work[W, n - 1]
            else:
                work[Z, n] = value
                work[W, n] = 1.0
                iwork[BEGIN, n] = r
                if n > 0:
                    work[CAP, n] = (upper - lower) * (score - previous)
                n += 1
            previous = score
        # Project, write the blocks as the face, and add the lower bound again.
        iwork[BEGIN, n] = end
        blocks = bounded_isotonic(n, work, iwork)
        iwork[FIRST, blocks] = n
        for block in range(blocks):
            r = iwork[BEGIN, iwork[FIRST, block]]
            end = iwork[BEGIN, iwork[FIRST, block + 1]]
            if ends[r] != end:
                ends[r] = end
                face.changed[j] = True
        for level in range(n):
            for r in range(iwork[BEGIN, level], iwork[BEGIN, level + 1]):
                perceived[r] = work[FIT, level] + lower * scores[r]


@kernel
def _read_levels(
    j: int, table: Table, bent: IntArray, x: FloatArray, work: FloatArray, iwork: IntArray
) -> tuple[int, int]:
    """Read the levels of a reviewer, and the free values of the lowest; return the numbers of both."""
    starts, item, score, _, _, kinds, lowers, _, ties = table
    start = starts[j]
    size = starts[j + 1] - starts[j]
    lower = lowers[j]
    tied = ties[j]
    sign, begin, step = (1.0, start, 1) if kinds[j] == CONVEX else (-1.0, start + size - 1, -1)
    n = 0
    free = 0
    for i in range(size):
        r = begin + step * i
        height = sign * score[r]
        quality = sign * x[item[r]] - lower * height
        if n == 0 or height != work[Y, n - 1]:
            work[Y, n] = height
            work[Z, n] = quality
            work[W, n] = 1.0
            iwork[BENT, n] = bent[start + n] if tied else 0
            n += 1
        else:
            work[W, n - 1] += 1.0
            work[Z, n - 1] += (quality - work[Z, n - 1]) / work[W, n - 1]
        iwork[LEVEL, i] = n - 1
        if n == 1 and not tied:
            iwork[RANK, free] = free
            work[LOWEST, free] = quality
            free += 1
    return n, free


@kernel
def _fit_free(n: int, free: int, rise: float, work: FloatArray, iwork: IntArray) -> int:
    """Fit a broken line to a chain whose lowest level is free; return the number of nodes.

    The largest values of the lowest level join the line one by one until the others lie below it.
    """
    sort_ranks(0, free, work, iwork)
    nodes = 0
    total = 0.0
    for above in range(free + 1):
        base = 1 if above == 0 else 0
        if above > 0:
            total += work[LOWEST, iwork[RANK, free - above]]
            work[W, 0] = float(above)
            work[Z, 0] = total / above
        nodes = concave_fit(base, n, 2, rise, work, iwork)
        if base > 0:
            slope = (work[FIT, 2] - work[FIT, 1]) / (work[Y, 2] - work[Y, 1]) if n > 2 else 0.0
            work[FIT, 0] = work[FIT, 1] - slope * (work[Y, 1] - work[Y, 0])
        if above == free or work[LOWEST, iwork[RANK, free - 1 - above]] <= work[FIT, 0]:
            break
    return nodes


@kernel
def _write_block(
    start: int, size: int, count: int, node: IntArray, share: FloatArray, work: FloatArray, at: int, block: FloatArray
) -> None:
    """Write identity minus the projector on the broken lines of one reviewer as a matrix."""
    # Identity, but 0 for free reviews.
    for k in range(at, at + size * size):
        block[k] = 0.0
    for r in range(size):
        block[at + r * (size + 1)] = 0.0 if node[start + r] < 0 else 1.0
        work[SPARE, r] = 0.0
    # The projector is W (L D L')^-1 W', W the weights on the nodes: subtract it node by node.
    for k in range(count):  # row k of the inverse of L times the weights on the nodes
        before = work[LINK, k - 1] if k > 0 else 0.0
        scale = 1.0 / work[PIVOT, k]
        for r in range(size):
            node_of_review = node[start + r]
            s = share[start + r]
            part = -before * work[SPARE, r]
            if node_of_review == k:
                part += 1.0 - s
            elif node_of_review == k - 1 and k > 0:
                part += s
            work[SPARE, r] = part
        for r in range(size):
            part = scale * work[SPARE, r]
            if part != 0.0:
                for c in range(size):
                    block[at + r * size + c] -= part * work[SPARE, c]


@kernel
def _project_unchanged(table: Table, face: Face, x: FloatArray, perceived: FloatArray) -> None:
    """Project reviewers on their previous faces; ``unchanged`` marks those for whom this is the projection.

    Optimality: the line bends the right way at its bends, and no other bend has a wrong multiplier, the conditions that
    :func:`concave_fit` ends with. One product with a small matrix; most faces do not change between points.
    """
    starts, item, score, _, _, kinds, lowers, _, _ = table
    bends = face.bent
    block = face.block
    value = np.empty(SMALL)
    gap = np.empty(SMALL)
    for j in range(len(kinds)):
        face.unchanged[j] = False
        if not face.known[j]:
            continue
        start = starts[j]
        size = starts[j + 1] - starts[j]
        at = face.begin[j]
        middle = x[item[start]]
        scale = 0.0
        for r in range(size):
            value[r] = x[item[start + r]] - middle - lowers[j] * score[start + r]
        for r in range(size):
            total = 0.0
            for c in range(size):
                total += block[at + c] * value[c]
            at += size
            gap[r] = total
            scale += abs(total)
        # Levels by ascending score for convex reviewers, descending with both axes negated for concave ones.
        sign, q, step = (1, 0, 1) if kinds[j] == CONVEX else (-1, size - 1, -1)
        last = size - 1 - q
        width = abs(score[start + last] - score[start + q])
        rounding = ROUNDING * (scale + abs(value[last] - value[q])) * width
        level = start
        bent = False
        height = 1.0
        before = np.inf
        multiplier = 0.0
        below = 0.0
        unchanged = True
        for _ in range(1, size):
            r = q + step
            below += gap[q]
            dy = score[start + r] - score[start + q]
            if dy != 0.0:
                # The multiplier where the line does not bend, the change of slope where it does.
                multiplier -= below * dy
                rise = sign * (value[r] - gap[r] - value[q] + gap[q])
                dy *= sign
                unchanged = unchanged and not (bent and before * dy <= rise * height)
                level += 1
                bent = bends[level] > 0
                before = rise
                height = dy
                unchanged = unchanged and (bent or multiplier <= rounding)
            q = r
        face.unchanged[j] = unchanged and not (bent and before <= 0.0)
        for r in range(size):
            perceived[start + r] = x[item[start + r]] - gap[r]


@kernel(element=ELEMENT)
def project_bent(table: Table, face: Face, x: FloatArray, perceived: FloatArray) -> None:
    """Project convex and concave reviewers on broken lines.

    Concave reviewers are treated as convex ones with both axes negated (``sign`` -1). Free reviews of the lowest level
    keep their values if they lie below the beginning of the line.
    """
    starts, item, _, _, _, kinds, lowers, uppers, ties = table
    bent = face.bent
    nodes = face.node
    shares = face.share
    longest = longest_of(starts)
    work = np.empty((WORK_ROWS, longest + 2))
    iwork = np.empty((IWORK_ROWS, longest + 2), np.int64)
    _project_unchanged(table, face, x, perceived)
    for j in range(len(kinds)):
        if kinds[j] != CONVEX and kinds[j] != CONCAVE:
            continue
        if face.unchanged[j]:
            continue
        start = starts[j]
        size = starts[j + 1] - starts[j]
        lower = lowers[j]
        rise = uppers[j] - lowers[j]
        tied = ties[j]
        sign, begin, step = (1.0, start, 1) if kinds[j] == CONVEX else (-1.0, start + size - 1, -1)
        # Levels by ascending score for convex reviewers, both axes negated for concave ones: slopes decrease in both.
        n, free = _read_levels(j, table, bent, x, work, iwork)
        n_nodes = concave_fit(0, n, 1, rise, work, iwork) if tied else _fit_free(n, free, rise, work, iwork)
        # Write the face: bends, nodes and factors; free reviews below the line are not part of it.
        bound = np.inf if tied else work[FIT, 0]
        face.nodes[j] = n_nodes
        face.changed[j] = True
        for k in range(n_nodes):
            face.pivot[start + k] = work[PIVOT, k]
            face.link[start + k] = work[LINK, k]
        for level in range(n):
            bent[start + level] = iwork[BENT, level]
        for i in range(size):
            r = begin + step * i
            level = iwork[LEVEL, i]
            height = lower * work[Y, level]
            if level == 0 and not tied and sign * x[item[r]] - height <= bound:
                nodes[r] = -1
                perceived[r] = x[item[r]]
            else:
                nodes[r] = iwork[NODE, level]
                shares[r] = work[SHARE, level]
                perceived[r] = sign * (work[FIT, level] + height)
        if face.begin[j + 1] > face.begin[j]:
            _write_block(start, size, n_nodes, nodes, shares, work, face.begin[j], face.block)
            face.known[j] = tied and rise == np.inf
