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
from lsc._solver.faces import ELEMENT, SMALL, Face, Table
from reviewgraph._base import FloatArray, IntArray
from reviewgraph.graph import kernel

#: Relative size below which a descent direction is rounding: sums of a few thousand doubles are accurate to 1e-13.
ROUNDING = 1e-13


# Rows of ``work`` (floats) and of ``iwork`` (integers); a column is a level, a node or a block. Of a level: score,
# value, weight, fit, share of its right node, drop in slope, coefficient of its hinge; of a node: its position, value
# and factors.
Y, Z, W, FIT, SHARE, PIVOT, LINK, CHANGE, AT, VALUE, COEFFICIENT, SPARE = range(12)
FIRST, NODE, BENT, LEVEL = range(4)
WORK_ROWS = 12
IWORK_ROWS = 4


@kernel
def spline_fit(n: int, work: FloatArray, iwork: IntArray) -> int:
    """Fit by least squares a continuous broken line with bends where ``BENT``, constant after the last bend; O(n).

    For levels 0 to ``n - 1``. Level l lies between the nodes ``NODE`` and ``NODE + 1`` with weight ``SHARE`` on the
    second; the normal equations of the node values are tridiagonal, factored as L D L' into ``PIVOT`` (D) and ``LINK``
    (L). Writes ``FIT`` and into ``CHANGE`` the drop in slope at each bend; returns the number of nodes.
    """
    # Nodes are the first level and the bends; after the last bend the line is constant.
    nodes = 0
    last = 0
    for level in range(n):
        if level == 0 or iwork[BENT, level] > 0:
            last = level
            work[AT, nodes] = work[Y, level]
            work[VALUE, nodes] = 0.0
            work[PIVOT, nodes] = 0.0
            work[LINK, nodes] = 0.0
            nodes += 1
    # Normal equations: each level lies between nodes k and k + 1 with weight s on the second.
    left = 0
    for level in range(n):
        target = work[Z, level]
        k = nodes - 1
        s = 0.0
        if level < last:
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
    # Interpolate the fit between the nodes, and write the drop in slope at each bend.
    before = np.inf
    node = 0
    for level in range(n):
        k = iwork[NODE, level]
        s = work[SHARE, level]
        work[FIT, level] = work[VALUE, k]
        if s > 0.0:
            work[FIT, level] += s * (work[VALUE, k + 1] - work[VALUE, k])
        work[CHANGE, level] = 0.0
        if level == 0 or iwork[BENT, level] > 0:
            after = 0.0
            if node + 1 < nodes:
                after = (work[VALUE, node + 1] - work[VALUE, node]) / (work[AT, node + 1] - work[AT, node])
            if level > 0:
                work[CHANGE, level] = before - after
            before = after
            node += 1
    return nodes


@kernel
def concave_fit(n: int, work: FloatArray, iwork: IntArray) -> int:
    """Project on concave non-decreasing sequences.

    ::

        minimise    sum_l w_l (fit_l - z_l)^2,   l = 0, ..., n - 1
        subject to  fit = b + sum_k c_k min(y, y_k),  c >= 0,   k = 1, ..., n - 1

    The hinges are linearly independent, so the active-set method of Lawson and Hanson for non-negative least squares
    (1974, "Solving least squares problems", chapter 23) is finite. ``BENT`` marks the active hinges, on entry a guess,
    on exit those of the solution. Returns the number of nodes (see :func:`spline_fit`); a step costs O(n).
    """
    start = 1
    guessing = True
    entered = 0
    nodes = 0
    iwork[BENT, 0] = 0
    for k in range(n):
        work[COEFFICIENT, k] = 0.0
    # Invariant (Lawson and Hanson, NNLS): the coefficients are feasible, and 0 outside the hinges in use.
    for _ in range(30 * n + 30):
        nodes = spline_fit(n, work, iwork)
        # The largest feasible step towards the new coefficients.
        step = 1.0
        for k in range(start, n):
            if iwork[BENT, k] > 0 and work[CHANGE, k] <= 0.0:
                current = work[COEFFICIENT, k]
                step = min(step, current / (current - work[CHANGE, k]) if current > 0.0 else 0.0)
        # Discard a guess whose fit is infeasible.
        if guessing and step < 1.0:
            for k in range(n):
                iwork[BENT, k] = 0
            guessing = False
            continue
        # Inner loop: move as far as coefficients stay feasible, and drop the hinges that reach 0.
        guessing = False
        if step < 1.0:
            _advance(start, n, step, work, iwork)
            if entered > 0 and iwork[BENT, entered] == 0:
                start = n  # the hinge entered by rounding only: the fit without it is optimal
            entered = 0
            continue
        # Outer loop: the fit is feasible; add the hinge with the most negative multiplier.
        for k in range(start, n):
            work[COEFFICIENT, k] = work[CHANGE, k] if iwork[BENT, k] > 0 else 0.0
        entered = _entering(n, start, work, iwork)
        if entered == 0:
            break
        iwork[BENT, entered] = 1
    return nodes


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
def _entering(n: int, start: int, work: FloatArray, iwork: IntArray) -> int:
    """Return the hinge with the most negative multiplier -<residual, min(y, y_k)>, 0 at an optimum."""
    # Sums over levels, from the lowest up; the multipliers of active hinges are 0.
    scale = 0.0
    moment = 0.0
    below = 0.0
    best = -np.inf
    entering = 0
    for level in range(n):
        gap = work[W, level] * (work[Z, level] - work[FIT, level])
        scale += abs(gap)
        if level > 0:
            moment -= below * (work[Y, level] - work[Y, level - 1])
            if iwork[BENT, level] == 0 and level >= start and moment > best:
                best = moment
                entering = level
        below += gap
    rounding = ROUNDING * (scale + abs(work[Z, n - 1] - work[Z, 0])) * (work[Y, n - 1] - work[Y, 0])
    return entering if best > rounding else 0


# Projections of all reviewers of a shape, which write their faces.


@kernel(element=ELEMENT)
def longest_of(starts: IntArray) -> int:
    """Length of the longest sequence."""
    longest = 0
    for j in range(len(starts) - 1):
        longest = max(longest, starts[j + 1] - starts[j])
    return longest


@kernel(element=ELEMENT)
def project_chains(table: Table, face: Face, x: FloatArray, perceived: FloatArray) -> None:
    """Project monotone reviewers: pool adjacent violators, O(n).

    ::

        minimise  sum_r (fit_r - x_r + lower score_r)^2   subject to  fit non-decreasing, equal where tied

    One function without calls, whose array arguments would take longer than five reviews.
    """
    starts, item, scores, _, _, kinds, lowers, _ = table
    ends = face.end
    longest = longest_of(starts)
    work = np.empty((WORK_ROWS, longest + 2))
    iwork = np.empty((IWORK_ROWS, longest + 2), np.int64)
    mean = work[FIT]
    weight = work[W]
    first = iwork[FIRST]
    for j in range(len(kinds)):
        if kinds[j] != MONOTONE:
            continue
        start = starts[j]
        stop = starts[j + 1]
        lower = lowers[j]
        # Invariant: the means of the blocks so far increase strictly.
        blocks = 0
        r = start
        while r < stop:
            # A new block of this level alone; pool it with preceding blocks of no smaller mean.
            height = scores[r]
            begin = r
            u = 1.0
            v = x[item[r]] - lower * height
            r += 1
            while r < stop and scores[r] == height:
                u += 1.0
                v += (x[item[r]] - lower * height - v) / u
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
        changed = False
        for block in range(blocks):
            begin = first[block]
            end = first[block + 1]
            changed = changed or ends[begin] != end
            ends[begin] = end
            for r in range(begin, end):
                perceived[r] = mean[block] + lower * scores[r]
        if changed:
            face.changed[j] = True


@kernel
def _read_levels(j: int, table: Table, bent: IntArray, x: FloatArray, work: FloatArray, iwork: IntArray) -> int:
    """Read the levels of a reviewer; return their number."""
    starts, item, score, _, _, kinds, lowers, _ = table
    start = starts[j]
    size = starts[j + 1] - starts[j]
    lower = lowers[j]
    sign, begin, step = (1.0, start, 1) if kinds[j] == CONVEX else (-1.0, start + size - 1, -1)
    n = 0
    for i in range(size):
        r = begin + step * i
        height = sign * score[r]
        quality = sign * x[item[r]] - lower * height
        if n == 0 or height != work[Y, n - 1]:
            work[Y, n] = height
            work[Z, n] = quality
            work[W, n] = 1.0
            iwork[BENT, n] = bent[start + n]
            n += 1
        else:
            work[W, n - 1] += 1.0
            work[Z, n - 1] += (quality - work[Z, n - 1]) / work[W, n - 1]
        iwork[LEVEL, i] = n - 1
    return n


@kernel
def _write_block(
    start: int, size: int, count: int, node: IntArray, share: FloatArray, work: FloatArray, at: int, block: FloatArray
) -> None:
    """Write identity minus the projector on the broken lines of one reviewer as a matrix."""
    for k in range(at, at + size * size):
        block[k] = 0.0
    for r in range(size):
        block[at + r * (size + 1)] = 1.0
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
    starts, item, score, _, _, kinds, lowers, _ = table
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

    Concave reviewers are treated as convex ones with both axes negated (``sign`` -1).
    """
    starts, _, _, _, _, kinds, lowers, _ = table
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
        sign, begin, step = (1.0, start, 1) if kinds[j] == CONVEX else (-1.0, start + size - 1, -1)
        # Levels by ascending score for convex reviewers, both axes negated for concave ones: slopes decrease in both.
        n = _read_levels(j, table, bent, x, work, iwork)
        n_nodes = concave_fit(n, work, iwork)
        # Write the face: bends, nodes and factors.
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
            nodes[r] = iwork[NODE, level]
            shares[r] = work[SHARE, level]
            perceived[r] = sign * (work[FIT, level] + lower * work[Y, level])
        if face.begin[j + 1] > face.begin[j]:
            _write_block(start, size, n_nodes, nodes, shares, work, face.begin[j], face.block)
            face.known[j] = True
