"""Projections of reviewers' perceived qualities on the sets that their classes of scoring functions allow.

The kernels of one reviewer work on a chain of :class:`Levels`, ascending by score. The lower bound on the slope has
been subtracted from the values (``z - lower * y``), so lower bounds are 0 there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import cython
import numpy as np

if not cython.compiled:
    from math import fabs, inf

    from lsc._model.hypotheses import CONCAVE, CONVEX, IDLE, LINEAR, MONOTONE

    INFINITY = inf

if TYPE_CHECKING:
    from reviewgraph._base import BoolArray, CodeArray, FloatArray, IntArray

#: Maximum number of reviews for which a reviewer's matrices over pairs of reviews are stored.
SMALL = 12
#: Relative size below which a descent direction is rounding: sums of a few thousand doubles are accurate to 1e-13.
ROUNDING = 1e-13


@dataclass(eq=False, repr=False)
class Table:
    """The reviews in the solver's units: scores centred per reviewer, ascending."""

    start: IntArray
    item: CodeArray
    score: FloatArray
    unit: FloatArray  # Centred scores divided by their length per reviewer
    norm: FloatArray  # This length, 0 if constant
    kind: IntArray  # The shape of a reviewer, IDLE if unconstrained
    lower: FloatArray
    upper: FloatArray


@dataclass(eq=False, repr=False)
class Face:
    """Face of each reviewer's set that holds the projection, on which it is affine."""

    changed: BoolArray  # Set whenever a face changes
    # Linear: whether the slope is free
    slope_free: BoolArray
    # Monotone: reviews r to end[r] - 1 are a block if r begins one
    end: IntArray
    # Convex and concave: a broken line with bends at the levels ``bent``, each review between the nodes ``node`` and
    # ``node + 1`` of its reviewer with weight ``share`` on the second, ``nodes`` per reviewer, normal equations
    # factored into ``pivot`` and ``link``
    bent: IntArray
    node: IntArray
    share: FloatArray
    nodes: IntArray
    pivot: FloatArray
    link: FloatArray
    # With few reviews, ``block`` is identity minus the projector, the entry of reviews a and b at
    # ``begin[j] + a * size + b``, valid if ``known``
    begin: IntArray
    block: FloatArray
    known: BoolArray


@dataclass(eq=False, repr=False)
class Levels:
    """Workspace: the levels of one reviewer, in arrays of at least the largest load."""

    # Of a level: score, value, weight, fit, share of its right node and number of its left one, whether the line bends,
    # the drop in slope there, and the coefficient of its hinge
    score: FloatArray
    value: FloatArray
    weight: FloatArray
    fit: FloatArray
    share: FloatArray
    node: IntArray
    bent: IntArray
    change: FloatArray
    coefficient: FloatArray
    # Of a node: position, value, and factors
    at: FloatArray
    height: FloatArray
    pivot: FloatArray
    link: FloatArray
    # Of a review: its level, quality, projection, and the distance between them or the image on a node
    level: IntArray
    quality: FloatArray
    projection: FloatArray
    gap: FloatArray


def first_face(table: Table) -> Face:
    """Return a face for the projections to write, without blocks and bends."""
    kind = np.asarray(table.kind)
    reviews = len(table.item)
    reviewers = kind.size
    begin = pairs_of(np.asarray(table.start), (kind == CONVEX) | (kind == CONCAVE))
    return Face(
        changed=np.ones(reviewers, dtype=np.bool_),
        slope_free=np.zeros(reviewers, dtype=np.bool_),
        end=np.arange(1, reviews + 1, dtype=np.int64),
        bent=np.zeros(reviews, dtype=np.int64),
        node=np.zeros(reviews, dtype=np.int64),
        share=np.zeros(reviews),
        nodes=np.zeros(reviewers, dtype=np.int64),
        pivot=np.ones(reviews),
        link=np.zeros(reviews),
        begin=begin,
        block=np.zeros(begin[reviewers]),
        known=np.zeros(reviewers, dtype=np.bool_),
    )


def pairs_of(start: IntArray, wanted: BoolArray) -> IntArray:
    """Return the first pair of reviews of each wanted reviewer with few reviews, shape (M + 1,)."""
    size = np.diff(start)
    pairs = np.where((size <= SMALL) & wanted, size * size, 0)
    return np.concatenate([[0], np.cumsum(pairs)]).astype(np.int64)


def levels_of(table: Table) -> Levels:
    """Allocate the workspace for the reviewers of a table."""
    size = int(np.diff(np.asarray(table.start)).max(initial=0)) + 2
    arrays: dict[str, Any] = {name: np.empty(size) for name in Levels.__dataclass_fields__}
    arrays |= {name: np.empty(size, np.int64) for name in ("node", "bent", "level")}
    return Levels(**arrays)


def fit_spline(n: int, levels: Levels) -> int:
    """Fit by least squares a continuous broken line with bends where ``bent``, constant after the last bend; O(n).

    For levels 0 to ``n - 1``. Level l lies between the nodes ``node`` and ``node + 1`` with weight ``share`` on the
    second; the normal equations of the node values are tridiagonal, factored as L D L' into ``pivot`` (D) and ``link``
    (L). Writes ``fit`` and into ``change`` the drop in slope at each bend; returns the number of nodes.
    """
    # Nodes are the first level and the bends; after the last bend the line is constant.
    nodes = 0
    last = 0
    for level in range(n):
        if level == 0 or levels.bent[level] > 0:
            last = level
            levels.at[nodes] = levels.score[level]
            levels.height[nodes] = 0.0
            levels.pivot[nodes] = 0.0
            levels.link[nodes] = 0.0
            nodes += 1
    # Normal equations: each level lies between nodes k and k + 1 with weight s on the second.
    left = 0
    for level in range(n):
        target = levels.value[level]
        k = nodes - 1
        s = 0.0
        if level < last:
            while levels.at[left + 1] <= levels.score[level]:
                left += 1
            k = left
            s = (levels.score[level] - levels.at[left]) / (levels.at[left + 1] - levels.at[left])
        levels.node[level] = k
        levels.share[level] = s
        w = levels.weight[level]
        levels.pivot[k] += w * (1.0 - s) * (1.0 - s)
        levels.height[k] += w * (1.0 - s) * target
        if s > 0.0:
            levels.pivot[k + 1] += w * s * s
            levels.link[k] += w * s * (1.0 - s)
            levels.height[k + 1] += w * s * target
    # Factor the tridiagonal matrix as L D L', forward; then solve backward.
    for k in range(nodes - 1):
        off = levels.link[k]
        levels.link[k] = off / levels.pivot[k]
        levels.pivot[k + 1] -= off * levels.link[k]
        levels.height[k + 1] -= levels.link[k] * levels.height[k]
    levels.height[nodes - 1] /= levels.pivot[nodes - 1]
    for k in range(nodes - 2, -1, -1):
        levels.height[k] = levels.height[k] / levels.pivot[k] - levels.link[k] * levels.height[k + 1]
    # Interpolate the fit between the nodes, and write the drop in slope at each bend.
    before = INFINITY
    node = 0
    for level in range(n):
        k = levels.node[level]
        s = levels.share[level]
        levels.fit[level] = levels.height[k]
        if s > 0.0:
            levels.fit[level] += s * (levels.height[k + 1] - levels.height[k])
        levels.change[level] = 0.0
        if level == 0 or levels.bent[level] > 0:
            after = 0.0
            if node + 1 < nodes:
                after = (levels.height[node + 1] - levels.height[node]) / (levels.at[node + 1] - levels.at[node])
            if level > 0:
                levels.change[level] = before - after
            before = after
            node += 1
    return nodes


def fit_concave(n: int, levels: Levels) -> int:
    """Project on concave non-decreasing sequences.

    ::

        minimise    sum_l w_l (fit_l - z_l)^2,   l = 0, ..., n - 1
        subject to  fit = b + sum_k c_k min(y, y_k),  c >= 0,   k = 1, ..., n - 1

    The hinges are linearly independent, so the active-set method of Lawson and Hanson for non-negative least squares
    (1974, "Solving least squares problems", chapter 23) is finite. ``bent`` marks the active hinges, on entry a guess,
    on exit those of the solution. Returns the number of nodes (see :func:`fit_spline`); a step costs O(n).
    """
    start = 1
    guessing = True
    entered = 0
    nodes = 0
    levels.bent[0] = 0
    for k in range(n):
        levels.coefficient[k] = 0.0
    # Invariant (Lawson and Hanson, NNLS): the coefficients are feasible, and 0 outside the hinges in use.
    for _ in range(30 * n + 30):
        nodes = fit_spline(n, levels)
        # The largest feasible step towards the new coefficients.
        step = 1.0
        for k in range(start, n):
            if levels.bent[k] > 0 and levels.change[k] <= 0.0:
                current = levels.coefficient[k]
                step = min(step, current / (current - levels.change[k]) if current > 0.0 else 0.0)
        # Discard a guess whose fit is infeasible.
        if guessing and step < 1.0:
            for k in range(n):
                levels.bent[k] = 0
            guessing = False
            continue
        # Inner loop: move as far as coefficients stay feasible, and drop the hinges that reach 0.
        guessing = False
        if step < 1.0:
            advance(start, n, step, levels)
            if entered > 0 and levels.bent[entered] == 0:
                start = n  # the hinge entered by rounding only: the fit without it is optimal
            entered = 0
            continue
        # Outer loop: the fit is feasible; add the hinge with the most negative multiplier.
        for k in range(start, n):
            levels.coefficient[k] = levels.change[k] if levels.bent[k] > 0 else 0.0
        entered = entering(n, start, levels)
        if entered == 0:
            break
        levels.bent[entered] = 1
    return nodes


def advance(start: int, n: int, step: float, levels: Levels) -> None:
    """Move the coefficients by ``step`` of the way to ``change`` and drop those that reach 0."""
    for k in range(start, n):
        if levels.bent[k] > 0:
            current = levels.coefficient[k]
            trial = levels.change[k]
            levels.coefficient[k] += step * (trial - current)
            if trial <= 0.0 and (levels.coefficient[k] <= ROUNDING * current or step * (current - trial) >= current):
                levels.coefficient[k] = 0.0
                levels.bent[k] = 0


def entering(n: int, start: int, levels: Levels) -> int:
    """Return the hinge with the most negative multiplier -<residual, min(y, y_k)>, 0 at an optimum."""
    # Sums over levels, from the lowest up; the multipliers of active hinges are 0.
    scale = 0.0
    moment = 0.0
    below = 0.0
    best = -INFINITY
    hinge = 0
    for level in range(n):
        gap = levels.weight[level] * (levels.value[level] - levels.fit[level])
        scale += fabs(gap)
        if level > 0:
            moment -= below * (levels.score[level] - levels.score[level - 1])
            if levels.bent[level] == 0 and level >= start and moment > best:
                best = moment
                hinge = level
        below += gap
    width = levels.score[n - 1] - levels.score[0]
    rounding = ROUNDING * (scale + fabs(levels.value[n - 1] - levels.value[0])) * width
    return hinge if best > rounding else 0


# Projections of all reviewers of a shape, which write their faces.


def project_chains(table: Table, face: Face, levels: Levels, x: FloatArray, perceived: FloatArray) -> None:
    """Project monotone reviewers: pool adjacent violators, O(n).

    ::

        minimise  sum_r (fit_r - x_r + lower score_r)^2   subject to  fit non-decreasing, equal where tied
    """
    start = table.start
    item = table.item
    score = table.score
    end = face.end
    mean = levels.fit
    weight = levels.weight
    first = levels.level
    with cython.nogil:
        for j in range(len(table.kind)):
            if table.kind[j] != MONOTONE:
                continue
            stop = start[j + 1]
            lower = table.lower[j]
            # Invariant: the means of the blocks so far increase strictly.
            blocks = 0
            r = start[j]
            while r < stop:
                # A new block of this level alone; pool it with preceding blocks of no smaller mean.
                height = score[r]
                begin = r
                u = 1.0
                v = x[item[r]] - lower * height
                r += 1
                while r < stop and score[r] == height:
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
            for block in range(blocks):
                begin = first[block]
                if end[begin] != first[block + 1]:
                    end[begin] = first[block + 1]
                    face.changed[j] = True
                for r in range(begin, first[block + 1]):
                    perceived[r] = mean[block] + lower * score[r]


def read_levels(j: int, table: Table, face: Face, levels: Levels) -> int:
    """Read the levels of a reviewer, ascending by score, with both axes negated if concave; return their number."""
    start = table.start[j]
    size = table.start[j + 1] - start
    sign = 1.0
    r = 0
    step = 1
    if table.kind[j] == CONCAVE:
        sign = -1.0
        r = size - 1
        step = -1
    n = 0
    for _ in range(size):
        height = sign * table.score[start + r]
        quality = sign * levels.quality[r] - table.lower[j] * height
        if n == 0 or height != levels.score[n - 1]:
            levels.score[n] = height
            levels.value[n] = quality
            levels.weight[n] = 1.0
            levels.bent[n] = face.bent[start + n]
            n += 1
        else:
            levels.weight[n - 1] += 1.0
            levels.value[n - 1] += (quality - levels.value[n - 1]) / levels.weight[n - 1]
        levels.level[r] = n - 1
        r += step
    return n


def write_face(j: int, n: int, nodes: int, table: Table, face: Face, levels: Levels) -> None:
    """Write the bends, the nodes and their factors, and the projection of a reviewer."""
    start = table.start[j]
    size = table.start[j + 1] - start
    face.nodes[j] = nodes
    face.changed[j] = True
    for k in range(nodes):
        face.pivot[start + k] = levels.pivot[k]
        face.link[start + k] = levels.link[k]
    for level in range(n):
        face.bent[start + level] = levels.bent[level]
    sign = -1.0 if table.kind[j] == CONCAVE else 1.0
    for r in range(size):
        level = levels.level[r]
        face.node[start + r] = levels.node[level]
        face.share[start + r] = levels.share[level]
        levels.projection[r] = sign * (levels.fit[level] + table.lower[j] * levels.score[level])


def write_block(j: int, table: Table, face: Face, levels: Levels) -> None:
    """Write identity minus the projector on the broken lines of one reviewer as a matrix."""
    start = table.start[j]
    size = table.start[j + 1] - start
    begin = face.begin[j]
    for k in range(begin, begin + size * size):
        face.block[k] = 0.0
    for r in range(size):
        face.block[begin + r * (size + 1)] = 1.0
        levels.gap[r] = 0.0
    # The projector is W (L D L')^-1 W', W the weights on the nodes: subtract it node by node.
    for k in range(face.nodes[j]):  # row k of the inverse of L times the weights on the nodes
        before = levels.link[k - 1] if k > 0 else 0.0
        scale = 1.0 / levels.pivot[k]
        for r in range(size):
            node = face.node[start + r]
            s = face.share[start + r]
            part = -before * levels.gap[r]
            if node == k:
                part += 1.0 - s
            elif node == k - 1:
                part += s
            levels.gap[r] = part
        for r in range(size):
            part = scale * levels.gap[r]
            if part != 0.0:
                for c in range(size):
                    face.block[begin + r * size + c] -= part * levels.gap[c]


def stays(j: int, table: Table, face: Face, levels: Levels) -> bool:
    """Project a reviewer on the previous face; returns whether this is the projection on the set.

    Optimality: the line bends the right way at its bends, and no other bend has a wrong multiplier, the conditions that
    :func:`fit_concave` ends with. One product with a small matrix; most faces do not change between points.
    """
    start = table.start[j]
    size = table.start[j + 1] - start
    at = face.begin[j]
    middle = levels.quality[0]
    scale = 0.0
    for r in range(size):
        levels.value[r] = levels.quality[r] - middle - table.lower[j] * table.score[start + r]
    for r in range(size):
        total = 0.0
        for c in range(size):
            total += face.block[at + c] * levels.value[c]
        at += size
        levels.gap[r] = total
        scale += fabs(total)
        levels.projection[r] = levels.quality[r] - total
    # Levels by ascending score for convex reviewers, descending with both axes negated for concave ones.
    sign = 1.0
    q = 0
    last = size - 1
    step = 1
    if table.kind[j] == CONCAVE:
        sign = -1.0
        q = size - 1
        last = 0
        step = -1
    width = fabs(table.score[start + last] - table.score[start + q])
    rounding = ROUNDING * (scale + fabs(levels.value[last] - levels.value[q])) * width
    level = start
    bent = False
    height = 1.0
    before = INFINITY
    multiplier = 0.0
    below = 0.0
    for _ in range(1, size):
        r = q + step
        below += levels.gap[q]
        dy = table.score[start + r] - table.score[start + q]
        if dy != 0.0:
            # The multiplier where the line does not bend, the change of slope where it does.
            multiplier -= below * dy
            rise = sign * (levels.value[r] - levels.gap[r] - levels.value[q] + levels.gap[q])
            dy *= sign
            if bent and before * dy <= rise * height:
                return False
            level += 1
            bent = face.bent[level] > 0
            before = rise
            height = dy
            if not bent and multiplier > rounding:
                return False
        q = r
    return not (bent and before <= 0.0)


def project_bent(table: Table, face: Face, levels: Levels, x: FloatArray, perceived: FloatArray) -> None:
    """Project convex and concave reviewers on broken lines.

    Concave reviewers are treated as convex ones with both axes negated: slopes decrease in both.
    """
    with cython.nogil:
        for j in range(len(table.kind)):
            if table.kind[j] != CONVEX and table.kind[j] != CONCAVE:
                continue
            start = table.start[j]
            size = table.start[j + 1] - start
            for r in range(size):
                levels.quality[r] = x[table.item[start + r]]
            if not (face.known[j] and stays(j, table, face, levels)):
                n = read_levels(j, table, face, levels)
                nodes = fit_concave(n, levels)
                write_face(j, n, nodes, table, face, levels)
                if face.begin[j + 1] > face.begin[j]:
                    write_block(j, table, face, levels)
                    face.known[j] = True
            for r in range(size):
                perceived[start + r] = levels.projection[r]


def distances(
    table: Table, face: Face, with_lines: bool, x: FloatArray, perceived: FloatArray, fit_gradient: FloatArray,
    line_gradient: FloatArray,
) -> tuple[float, float]:  # fmt: skip
    """Project linear reviewers, and sum distances and gradients of all; O(E).

    ::

        F(x) = sum_j dist^2(x[I_j], K_j),    G(x) = sum_j dist^2(x[I_j], lines in the scores of j)

    The other reviewers have been projected to ``perceived`` (E,). Adds half the gradients of F and, ``with_lines``, of
    G (over reviewers who need not be linear) to ``fit_gradient`` and ``line_gradient`` (N,); returns F and G.
    """
    starts = table.start
    item = table.item
    unit = table.unit
    fit = 0.0
    line = 0.0
    with cython.nogil:
        for j in range(len(table.kind)):
            start = starts[j]
            end = starts[j + 1]
            if table.kind[j] == IDLE:
                for r in range(start, end):
                    perceived[r] = x[item[r]]
                continue
            # Mean and slope of the regression line: the projection of a linear reviewer, up to the bounds.
            linear = table.kind[j] == LINEAR
            mean = 0.0
            slope = 0.0
            if linear or with_lines:
                for r in range(start, end):
                    value = x[item[r]]
                    mean += value
                    slope += unit[r] * value
                mean /= end - start
            # Residuals are the gradient; separate sums per reviewer avoid one long chain of additions.
            squares = 0.0
            line_squares = 0.0
            if linear:
                # Clip the slope; a clipped or fixed slope is not free in the face.
                norm = table.norm[j]
                clipped = 0.0
                if norm > 0.0:
                    clipped = min(max(slope, table.lower[j] * norm), table.upper[j] * norm)
                free = norm > 0.0 and clipped == slope and table.lower[j] < table.upper[j]
                if face.slope_free[j] != free:
                    face.slope_free[j] = free
                    face.changed[j] = True
                for r in range(start, end):
                    i = item[r]
                    projected = mean + clipped * unit[r]
                    gap = x[i] - projected
                    perceived[r] = projected
                    fit_gradient[i] += gap
                    squares += gap * gap
            else:
                for r in range(start, end):
                    i = item[r]
                    gap = x[i] - perceived[r]
                    fit_gradient[i] += gap
                    squares += gap * gap
                    if with_lines:
                        gap = x[i] - mean - slope * unit[r]
                        line_gradient[i] += gap
                        line_squares += gap * gap
            fit += squares
            line += line_squares
    return fit, line
