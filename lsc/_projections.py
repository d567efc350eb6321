"""Projections of one reviewer's perceived qualities on what her class of scoring functions allows.

All kernels work on a chain of levels, ascending by score, with a value ``z`` and a weight ``w`` each; the lower
bound on the slope has been taken out of ``z`` before (``z - lower * y``), so that lower bounds are 0 here.
"""

from __future__ import annotations

import numpy as np

from lsc._tables import CONVEX, IDLE, LINEAR, MONOTONE, Face, Table

from reviewgraph._compile import Kernel, kernel
from reviewgraph.labels import IntArray
from reviewgraph.reviews import FloatArray

#: A direction of descent smaller than this part of the data is rounding: sums of a few thousand doubles keep 1e-13.
ROUNDING = 1e-13


@kernel
def isotonic(n: int, z: FloatArray, w: FloatArray, fit: FloatArray, first: IntArray, weight: FloatArray) -> int:
    """Project on non-decreasing sequences; pool adjacent violators, O(n).

    ::

        minimise  sum_l w_l (fit_l - z_l)^2   subject to  fit_0 <= fit_1 <= ... <= fit_(n-1)

    Writes ``fit`` (n,) and the first level of each block into ``first``; returns the number of blocks. ``weight``
    is room for the weights of blocks.
    """
    blocks = 0
    for level in range(n):
        v, u, start = z[level], w[level], level
        while blocks > 0 and fit[blocks - 1] >= v:
            blocks -= 1
            total = weight[blocks] + u
            v = (fit[blocks] * weight[blocks] + v * u) / total
            u = total
            start = first[blocks]
        fit[blocks], weight[blocks], first[blocks] = v, u, start
        blocks += 1
    end = n
    for block in range(blocks - 1, -1, -1):  # block <= first[block], so nothing unread is overwritten
        v = fit[block]
        for level in range(first[block], end):
            fit[level] = v
        end = first[block]
    return blocks


@kernel
def bounded_isotonic(n: int, z: FloatArray, w: FloatArray, cap: FloatArray, fit: FloatArray, first: IntArray) -> int:
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
        slope += w[level]
        offset -= w[level] * z[level]
        s, o, left = slope, offset, 0
        while left < bends and s * at[left] + o < 0.0:
            o -= bend[left] * at[left]
            s += bend[left]
            left += 1
        zero = -o / s
        if left > 0 and zero < at[left - 1]:
            zero = at[left - 1]
        best[level] = zero
        if level + 1 < n:
            for k in range(bends - 1, left - 1, -1):
                at[k + 2] = at[k] + cap[level + 1]
                bend[k + 2] = bend[k]
            at[left], bend[left] = zero, -s
            at[left + 1], bend[left + 1] = zero + cap[level + 1], s
            bends += 2
    fit[n - 1] = best[n - 1]
    free = np.zeros(n, np.bool_)  # the step into this level lies strictly between its bounds
    for level in range(n - 2, -1, -1):
        low = fit[level + 1] - cap[level + 1]
        fit[level] = min(max(best[level], low), fit[level + 1])
        free[level + 1] = low < fit[level] < fit[level + 1]
    blocks = 0
    for level in range(n):
        if level == 0 or free[level]:
            first[blocks] = level
            blocks += 1
    return blocks


@kernel
def spline_fit(
    n: int,
    y: FloatArray,
    z: FloatArray,
    w: FloatArray,
    bent: IntArray,
    rise: float,
    fit: FloatArray,
    node: IntArray,
    share: FloatArray,
    pivot: FloatArray,
    link: FloatArray,
    change: FloatArray,
    at: FloatArray,
    value: FloatArray,
) -> int:
    """Fit by least squares the continuous broken line that may bend where ``bent`` and is constant after its last bend.

    With a finite ``rise`` the slope before the first bend is fixed at it. Level l lies between the nodes ``node[l]``
    and ``node[l] + 1`` with weight ``share[l]`` on the second; the normal equations of the node values are tridiagonal,
    factored as L D L' into ``pivot`` (D) and ``link`` (L). Writes ``fit`` and ``change[l]``, the drop in slope at each
    bend; returns the number of nodes. O(n).
    """
    fixed = rise < np.inf
    nodes = 0
    last = 0  # the last bend
    first_bend = 0
    for level in range(1, n):
        if bent[level] > 0:
            last = level
            if first_bend == 0:
                first_bend = level
    fixed = fixed and first_bend > 0
    for level in range(n):
        if bent[level] > 0 if level > 0 else not fixed:
            at[nodes], value[nodes], pivot[nodes], link[nodes] = y[level], 0.0, 0.0, 0.0
            nodes += 1
    left = 0
    for level in range(n):
        target = z[level]
        if fixed and level < first_bend:
            node[level], share[level] = 0, 0.0
            target += rise * (y[first_bend] - y[level])
        elif level >= last:
            node[level], share[level] = nodes - 1, 0.0
        else:
            while at[left + 1] <= y[level]:
                left += 1
            node[level] = left
            share[level] = (y[level] - at[left]) / (at[left + 1] - at[left])
        k, s = node[level], share[level]
        pivot[k] += w[level] * (1.0 - s) * (1.0 - s)
        value[k] += w[level] * (1.0 - s) * target
        if s > 0.0:
            pivot[k + 1] += w[level] * s * s
            link[k] += w[level] * s * (1.0 - s)
            value[k + 1] += w[level] * s * target
    for k in range(nodes - 1):
        off = link[k]
        link[k] = off / pivot[k]
        pivot[k + 1] -= off * link[k]
        value[k + 1] -= link[k] * value[k]
    value[nodes - 1] /= pivot[nodes - 1]
    for k in range(nodes - 2, -1, -1):
        value[k] = value[k] / pivot[k] - link[k] * value[k + 1]
    for level in range(n):
        k, s = node[level], share[level]
        fit[level] = (1.0 - s) * value[k] + s * value[k + 1] if s > 0.0 else value[k]
        if fixed and level < first_bend:
            fit[level] -= rise * (y[first_bend] - y[level])
        change[level] = 0.0
    before, k = rise, 0
    for level in range(n):
        if bent[level] > 0 if level > 0 else not fixed:
            after = (value[k + 1] - value[k]) / (at[k + 1] - at[k]) if k + 1 < nodes else 0.0
            if level > 0:
                change[level] = before - after
            before = after
            k += 1
    return nodes


@kernel
def concave_fit(
    n: int,
    y: FloatArray,
    z: FloatArray,
    w: FloatArray,
    rise: float,
    start: int,
    bent: IntArray,
    fit: FloatArray,
    node: IntArray,
    share: FloatArray,
    pivot: FloatArray,
    link: FloatArray,
    c: FloatArray,
    trial: FloatArray,
    at: FloatArray,
    value: FloatArray,
) -> int:
    """Project on concave non-decreasing sequences with slopes of at most ``rise`` (infinite: no bound).

    ::

        minimise    sum_l w_l (fit_l - z_l)^2
        subject to  fit = b + sum_k c_k min(y, y_k),  c >= 0,  sum_k c_k <= rise,  k = start, ..., n - 1

    The hinges are linearly independent, so Lawson and Hanson's active-set method for non-negative least squares
    ends after finitely many steps (1974, "Solving least squares problems", chapter 23), here with one bound more.
    ``bent`` marks the hinges in use: on entry a guess, on exit the answer; 2 in ``bent[0]`` says that the bound
    ``rise`` is active. Returns the number of nodes (see :func:`spline_fit`); a step costs O(n).
    """
    if rise <= 0.0:
        rise = np.inf
        start = n
    capped, guessing, entered, nodes = bent[0] == 2 and rise < np.inf, True, 0, 0
    bent[0:start] = 0
    c[0:n] = 0.0
    for _ in range(30 * n + 30):
        nodes = spline_fit(
            n, y, z, w, bent, rise if capped else np.inf, fit, node, share, pivot, link, trial, at, value
        )
        # Move the coefficients towards this fit; stop where one of them or the bound would be crossed.
        step, total, trial_total = 1.0, 0.0, 0.0
        for k in range(start, n):
            if bent[k] > 0:
                total += c[k]
                trial_total += trial[k]
                if trial[k] <= 0.0:
                    step = min(step, c[k] / (c[k] - trial[k]) if c[k] > 0.0 else 0.0)
        hits = (not capped) and trial_total > rise * (1.0 + ROUNDING)
        if guessing and (hits or step < 1.0):
            bent[0:n] = 0
            capped = guessing = False
            continue
        guessing = False
        if hits:
            reach = max(0.0, (rise - total) / (trial_total - total))
            hits = reach <= step
            step = min(step, reach)
        if hits or step < 1.0:
            capped = capped or hits
            for k in range(start, n):
                if bent[k] > 0:
                    was = c[k]
                    c[k] += step * (trial[k] - was)
                    if trial[k] <= 0.0 and (c[k] <= ROUNDING * was or step * (was - trial[k]) >= was):
                        c[k] = 0.0
                        bent[k] = 0
            if entered > 0 and bent[entered] == 0:
                start = n  # rounding alone asked for this hinge: the fit without it is the answer
            entered = 0
            continue
        for k in range(start, n):
            c[k] = trial[k] if bent[k] > 0 else 0.0
        entered = _entering(n, y, z, w, bent, start, capped, fit)
        if entered == 0:
            break
        if entered < 0:
            capped = False
        else:
            bent[entered] = 1
    bent[0] = 2 if capped else 0
    return nodes


@kernel
def _entering(
    n: int, y: FloatArray, z: FloatArray, w: FloatArray, bent: IntArray, start: int, capped: bool, fit: FloatArray
) -> int:
    """Return the hinge whose multiplier is most wrong, 0 where all are right, -1 where the bound must be let go.

    The multiplier of hinge k is the price of the bound minus <residual, min(y, y_k)>; hinges in use have 0.
    """
    scale, moment, below, price = 0.0, 0.0, 0.0, 0.0
    for level in range(n):
        gap = w[level] * (z[level] - fit[level])
        scale += abs(gap)
        if level > 0:
            moment -= below * (y[level] - y[level - 1])
            if capped and bent[level] > 0:
                price = moment
        below += gap
    best, entering = ROUNDING * (scale + w[0] * abs(z[n - 1] - z[0])) * (y[n - 1] - y[0]), 0
    if price < -best:
        return -1
    moment, below = 0.0, 0.0
    for level in range(n):
        if level > 0:
            moment -= below * (y[level] - y[level - 1])
            if level >= start and bent[level] == 0 and moment - price > best:
                best, entering = moment - price, level
        below += w[level] * (z[level] - fit[level])
    return entering


@kernel
def sort_by(value: FloatArray, index: IntArray, left: int, right: int) -> None:
    """Sort ``index[left:right]`` by the values they point at, ascending; shell sort, fast where almost sorted."""
    gap = 1
    while 3 * gap + 1 < right - left:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(left + gap, right):
            moving = index[i]
            j = i
            while j >= left + gap and value[index[j - gap]] > value[moving]:
                index[j] = index[j - gap]
                j -= gap
            index[j] = moving
        gap //= 3


@kernel
def _project_chain(
    start: int,
    end: int,
    lower: float,
    upper: float,
    tied: bool,
    item: IntArray,
    score: FloatArray,
    x: FloatArray,
    order: IntArray,
    place: IntArray,
    ends: IntArray,
    perceived: FloatArray,
    z: FloatArray,
    w: FloatArray,
    fit: FloatArray,
    cap: FloatArray,
    first: IntArray,
    begins: IntArray,
) -> None:
    """Project on the sequences whose steps are bounded below and above, levels in place of reviews where tied."""
    if not tied:
        _sort_levels(start, end, item, score, x, order, place, z)
    n = 0
    for r in range(start, end):
        value = x[order[r]] - lower * score[r]
        if r > start and tied and score[r] == score[r - 1]:
            w[n - 1] += 1.0
            z[n - 1] += (value - z[n - 1]) / w[n - 1]
        else:
            z[n], w[n], begins[n] = value, 1.0, r
            if r > start:
                cap[n] = (upper - lower) * (score[r] - score[r - 1])
            n += 1
    begins[n] = end
    blocks = isotonic(n, z, w, fit, first, cap) if upper == np.inf else bounded_isotonic(n, z, w, cap, fit, first)
    first[blocks] = n
    for block in range(blocks):
        ends[begins[first[block]]] = begins[first[block + 1]]
    for level in range(n):
        for r in range(begins[level], begins[level + 1]):
            perceived[place[r]] = fit[level] + lower * score[r]


@kernel
def _sort_levels(
    start: int,
    end: int,
    item: IntArray,
    score: FloatArray,
    x: FloatArray,
    order: IntArray,
    place: IntArray,
    value: FloatArray,
) -> None:
    """Order tied reviews by the present quality: then the partial order of levels is a chain (Kruskal 1964).

    The primary approach to ties of "Nonmetric multidimensional scaling: a numerical method", Psychometrika 29.
    """
    for r in range(start, end):
        value[r - start] = x[item[r]]
        place[r] -= start
    left = start
    while left < end:
        right = left + 1
        while right < end and score[right] == score[left]:
            right += 1
        sort_by(value, place, left, right)
        left = right
    for r in range(start, end):
        place[r] += start
        order[r] = item[place[r]]


@kernel
def _project_bent(
    start: int,
    end: int,
    lower: float,
    rise: float,
    sign: float,
    tied: bool,
    item: IntArray,
    score: FloatArray,
    x: FloatArray,
    bends: IntArray,
    nodes: IntArray,
    shares: FloatArray,
    pivot: FloatArray,
    link: FloatArray,
    perceived: FloatArray,
    y: FloatArray,
    z: FloatArray,
    w: FloatArray,
    fit: FloatArray,
    share: FloatArray,
    lowest: FloatArray,
    c: FloatArray,
    trial: FloatArray,
    at: FloatArray,
    value: FloatArray,
    levels: IntArray,
    node: IntArray,
    bent: IntArray,
    ranks: IntArray,
) -> int:
    """Project on broken lines with falling slopes; rising ones fall when both axes are turned round (``sign`` -1).

    Free reviews of the lowest level stay where they are if they lie below the beginning of the line: the highest of
    them join the line one after the other until the rest do.
    """
    size = end - start
    n, count = 0, 0
    for i in range(size):
        r = start + i if sign > 0.0 else end - 1 - i
        height = sign * score[r]
        quality = sign * x[item[r]] - lower * height
        if i == 0 or height != y[n - 1]:
            y[n], z[n], w[n] = height, quality, 1.0
            n += 1
        else:
            w[n - 1] += 1.0
            z[n - 1] += (quality - z[n - 1]) / w[n - 1]
        levels[i] = n - 1
        if n == 1 and not tied:
            lowest[count], ranks[count] = quality, count
            count += 1
    for level in range(n):
        bent[level] = bends[start + level] if tied else 0
    sort_by(lowest, ranks, 0, count)
    bound, found, total = np.inf, 0, 0.0
    for above in range(count + 1):
        skip = 1 if above == 0 and not tied else 0
        if above > 0:
            total += lowest[ranks[count - above]]
            z[0], w[0] = total / above, float(above)
            bent[0:n] = 0
        found = concave_fit(
            n - skip, y[skip:], z[skip:], w[skip:], rise, 1 if tied else 2 - skip, bent[skip:], fit[skip:],
            node[skip:], share[skip:], pivot[start:end], link[start:end], c, trial, at, value,
        )  # fmt: skip
        if skip > 0:
            slope = (fit[2] - fit[1]) / (y[2] - y[1]) if n > 2 else 0.0
            fit[0] = fit[1] - slope * (y[1] - y[0])
        if tied or above == count or lowest[ranks[count - 1 - above]] <= fit[0]:
            break
    if not tied:
        bound = fit[0]
    for level in range(n):
        bends[start + level] = bent[level]
    for i in range(size):
        r = start + i if sign > 0.0 else end - 1 - i
        level = levels[i]
        height = lower * y[level]
        if level == 0 and not tied and sign * x[item[r]] - height <= bound:
            nodes[r] = -1
            perceived[r] = x[item[r]]
        else:
            nodes[r], shares[r] = node[level], share[level]
            perceived[r] = sign * (fit[level] + height)
    return found


def _evaluate(
    table: Table, face: Face, straighten: bool, x: FloatArray, perceived: FloatArray, pull: FloatArray, bend: FloatArray
) -> tuple[float, float]:
    """Project every reviewer, and add up distances and gradients.

    ::

        F(x) = sum_j dist^2(x[I_j], K_j),    G(x) = sum_j dist^2(x[I_j], lines in the scores of j)

    Writes the perceived qualities (E,), half the gradients of F and, where ``straighten``, of G (over reviewers who
    need not be linear) into ``pull`` and ``bend`` (N,), and the faces; returns F and G. O(E) for linear and monotone
    reviewers.
    """
    starts, item, score, unit, norms, kinds, lowers, uppers, tied = table
    order, place, sloped, ends, bends, nodes, shares, count, pivot, link = face
    longest = 0
    for j in range(len(kinds)):
        longest = max(longest, starts[j + 1] - starts[j])
    room = np.empty((10, longest + 1))
    a0, a1, a2, a3, a4, a5, a6, a7, a8, a9 = (
        room[0], room[1], room[2], room[3], room[4], room[5], room[6], room[7], room[8], room[9]
    )  # fmt: skip
    whole = np.empty((4, longest + 2), np.int64)
    b0, b1, b2, b3 = whole[0], whole[1], whole[2], whole[3]
    pull[:] = 0.0
    bend[:] = 0.0
    fit, line = 0.0, 0.0
    for j in range(len(kinds)):
        kind, start, end, lower, upper = kinds[j], starts[j], starts[j + 1], lowers[j], uppers[j]
        if kind == IDLE:
            for r in range(start, end):
                perceived[r] = x[item[r]]
            continue
        mean, slope = 0.0, 0.0
        for r in range(start, end):
            value = x[item[r]]
            mean += value
            slope += unit[r] * value
        mean /= end - start
        if kind == LINEAR:
            steep = min(max(slope, lower * norms[j]), upper * norms[j])
            sloped[j] = steep == slope and norms[j] > 0.0
            for r in range(start, end):
                perceived[r] = mean + steep * unit[r]
        elif kind == MONOTONE:
            _project_chain(
                start, end, lower, upper, tied[j], item, score, x, order, place, ends, perceived, a0, a1, a2, a3, b0, b1
            )
        else:
            sign = 1.0 if kind == CONVEX else -1.0
            count[j] = _project_bent(
                start, end, lower, upper - lower, sign, tied[j], item, score, x, bends, nodes, shares, pivot, link,
                perceived, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3,
            )  # fmt: skip
        for r in range(start, end):
            gap = x[item[r]] - perceived[r]
            pull[item[r]] += gap
            fit += gap * gap
        if straighten and kind != LINEAR:
            for r in range(start, end):
                gap = x[item[r]] - mean - slope * unit[r]
                bend[item[r]] += gap
                line += gap * gap
    return fit, line


evaluate = Kernel(_evaluate, always=True)
