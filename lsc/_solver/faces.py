"""Projections of all reviewers at once: perceived qualities, the faces they lie on, distances and gradients."""

from __future__ import annotations

import numpy as np

from lsc._model.hypotheses import CONCAVE, CONVEX, IDLE, LINEAR, MONOTONE
from lsc._solver.projections import (
    BEGIN,
    BENT,
    CAP,
    ELEMENT,
    FIRST,
    FIT,
    LEVEL,
    LINK,
    LOWEST,
    NODE,
    PIVOT,
    RANK,
    ROOM_ROWS,
    ROUNDING,
    SHARE,
    SMALL,
    SPARE,
    WHOLE_ROWS,
    Common,
    Face,
    ItemArray,
    Table,
    W,
    Y,
    Z,
    bounded_isotonic,
    concave_fit,
    isotonic,
    sort_ranks,
)
from reviewgraph._base.arrays import BoolArray, FloatArray, IntArray
from reviewgraph.graph.kernels.compiling import Kernel, kernel


@kernel
def _sort_levels(
    start: int,
    end: int,
    item: ItemArray,
    score: FloatArray,
    x: FloatArray,
    order: ItemArray,
    place: IntArray,
    room: FloatArray,
    whole: IntArray,
) -> None:
    """Order tied reviews by the present quality: then the partial order of levels is a chain (Kruskal 1964).

    The primary approach to ties of "Nonmetric multidimensional scaling: a numerical method", Psychometrika 29.
    """
    # The order of the last time is a good beginning: few qualities change places from step to step.
    for r in range(start, end):
        room[LOWEST, r - start] = x[item[r]]
        whole[RANK, r - start] = place[r] - start
    left = start
    while left < end:
        right = left + 1
        while right < end and score[right] == score[left]:
            right += 1
        sort_ranks(left - start, right - start, room, whole)
        left = right
    for r in range(start, end):
        place[r] = start + whole[RANK, r - start]
        order[r] = item[place[r]]


def _project_chains(table: Table, face: Face, x: FloatArray, perceived: FloatArray) -> None:
    """Project monotone reviewers on sequences whose steps are bounded, levels in place of reviews where tied."""
    starts, item, scores, _, _, kinds, lowers, uppers, ties = table
    order, place, ends = face.item, face.place, face.end
    longest = np.max(starts[1:] - starts[:-1])
    room, whole = np.empty((ROOM_ROWS, longest + 2)), np.empty((WHOLE_ROWS, longest + 2), np.int64)
    for j in range(len(kinds)):
        if kinds[j] != MONOTONE:
            continue
        start, end, lower, upper, tied = starts[j], starts[j + 1], lowers[j], uppers[j], ties[j]
        # With free ties the partial order of levels becomes a chain of reviews.
        if not tied:
            _sort_levels(start, end, item, scores, x, order, place, room, whole)
        # Levels take out the lower bound on the slope; where tied, a level is the mean of its reviews.
        n, before = 0, np.inf
        for r in range(start, end):
            score = scores[r]
            value = x[order[r]] - lower * score
            if tied and score == before:
                room[W, n - 1] += 1.0
                room[Z, n - 1] += (value - room[Z, n - 1]) / room[W, n - 1]
            else:
                room[Z, n], room[W, n], whole[BEGIN, n] = value, 1.0, r
                if n > 0 and upper < np.inf:
                    room[CAP, n] = (upper - lower) * (score - before)
                n += 1
            before = score
        # Project, write the blocks as the face, and put the lower bound back.
        whole[BEGIN, n] = end
        blocks = isotonic(n, room, whole) if upper == np.inf else bounded_isotonic(n, room, whole)
        whole[FIRST, blocks] = n
        moved = not tied
        for block in range(blocks):
            r, end = whole[BEGIN, whole[FIRST, block]], whole[BEGIN, whole[FIRST, block + 1]]
            moved = moved or ends[r] != end
            ends[r] = end
        if moved:
            face.moved[j] = True
        for level in range(n):
            for r in range(whole[BEGIN, level], whole[BEGIN, level + 1]):
                perceived[place[r]] = room[FIT, level] + lower * scores[r]


project_chains = Kernel(_project_chains, element=ELEMENT)


@kernel
def _read_bent(
    j: int, table: Table, bends: IntArray, x: FloatArray, room: FloatArray, whole: IntArray
) -> tuple[int, int]:
    """Fill the levels of a reviewer, and the free values of the lowest; return how many there are of both."""
    starts, item, score, _, _, kinds, lowers, _, ties = table
    start, size, lower, tied = starts[j], starts[j + 1] - starts[j], lowers[j], ties[j]
    sign, begin, step = (1.0, start, 1) if kinds[j] == CONVEX else (-1.0, start + size - 1, -1)
    n, free = 0, 0
    for i in range(size):
        r = begin + step * i
        height = sign * score[r]
        quality = sign * x[item[r]] - lower * height
        if n == 0 or height != room[Y, n - 1]:
            room[Y, n], room[Z, n], room[W, n] = height, quality, 1.0
            whole[BENT, n] = bends[start + n] if tied else 0
            n += 1
        else:
            room[W, n - 1] += 1.0
            room[Z, n - 1] += (quality - room[Z, n - 1]) / room[W, n - 1]
        whole[LEVEL, i] = n - 1
        if n == 1 and not tied:
            room[LOWEST, free], whole[RANK, free] = quality, free
            free += 1
    return n, free


@kernel
def _fit_free(n: int, free: int, rise: float, room: FloatArray, whole: IntArray) -> int:
    """Fit a broken line to a chain whose lowest level is free; return the number of nodes.

    The highest values of the lowest level join the line one after the other until the rest lie below it.
    """
    sort_ranks(0, free, room, whole)
    nodes, total = 0, 0.0
    for above in range(free + 1):
        base = 1 if above == 0 else 0
        if above > 0:
            total += room[LOWEST, whole[RANK, free - above]]
            room[Z, 0], room[W, 0] = total / above, float(above)
        nodes = concave_fit(base, n, 2, rise, room, whole)
        if base > 0:
            slope = (room[FIT, 2] - room[FIT, 1]) / (room[Y, 2] - room[Y, 1]) if n > 2 else 0.0
            room[FIT, 0] = room[FIT, 1] - slope * (room[Y, 1] - room[Y, 0])
        if above == free or room[LOWEST, whole[RANK, free - 1 - above]] <= room[FIT, 0]:
            break
    return nodes


@kernel
def _write_block(
    start: int, size: int, count: int, node: IntArray, share: FloatArray, room: FloatArray, at: int, block: FloatArray
) -> None:
    """Write identity minus the projector on the broken lines of one reviewer as a matrix."""
    # Identity, but for reviews that are free and so move nothing.
    for k in range(at, at + size * size):
        block[k] = 0.0
    for r in range(size):
        block[at + r * (size + 1)] = 0.0 if node[start + r] < 0 else 1.0
        room[SPARE, r] = 0.0
    # The projector is W (L D L')^-1 W', W the weights on the nodes: subtract it node by node.
    for k in range(count):  # row k of the inverse of L times the weights on the nodes
        before = room[LINK, k - 1] if k > 0 else 0.0
        scale = 1.0 / room[PIVOT, k]
        for r in range(size):
            mine, s = node[start + r], share[start + r]
            part = -before * room[SPARE, r]
            if mine == k:
                part += 1.0 - s
            elif mine == k - 1 and k > 0:
                part += s
            room[SPARE, r] = part
        for r in range(size):
            part = scale * room[SPARE, r]
            if part != 0.0:
                for c in range(size):
                    block[at + r * size + c] -= part * room[SPARE, c]


@kernel
def _stay(table: Table, face: Face, x: FloatArray, perceived: FloatArray) -> None:
    """Project reviewers on the faces of the last time; ``stays`` says of whom this is the projection.

    It is where the line bends the right way at its bends and no other bend is asked for: what :func:`concave_fit` ends
    with. One product with a small matrix, where most faces stay what they were from point to point.
    """
    starts, item, score, _, _, kinds, lowers, _, _ = table
    bends, block = face.bent, face.block
    value, gap = np.empty(SMALL), np.empty(SMALL)
    for j in range(len(kinds)):
        face.stays[j] = False
        if not face.known[j]:
            continue
        start, size, at = starts[j], starts[j + 1] - starts[j], face.begin[j]
        middle, scale = x[item[start]], 0.0
        for r in range(size):
            value[r] = x[item[start + r]] - middle - lowers[j] * score[start + r]
        for r in range(size):
            total = 0.0
            for c in range(size):
                total += block[at + c] * value[c]
            at += size
            gap[r] = total
            scale += abs(total)
        # Levels by rising score for convex reviewers, turned round for concave ones.
        sign, q, step = (1, 0, 1) if kinds[j] == CONVEX else (-1, size - 1, -1)
        last = size - 1 - q
        width = abs(score[start + last] - score[start + q])
        rounding = ROUNDING * (scale + abs(value[last] - value[q])) * width
        level, bent, height, before, moment, below = start, False, 1.0, np.inf, 0.0, 0.0
        stays = True
        for _ in range(1, size):
            r = q + step
            below += gap[q]
            dy = score[start + r] - score[start + q]
            if dy != 0.0:
                # The multiplier where the line does not bend, the change of slope where it does.
                moment -= below * dy
                rise = sign * (value[r] - gap[r] - value[q] + gap[q])
                dy *= sign
                stays = stays and not (bent and before * dy <= rise * height)
                level += 1
                bent, before, height = bends[level] > 0, rise, dy
                stays = stays and (bent or moment <= rounding)
            q = r
        face.stays[j] = stays and not (bent and before <= 0.0)
        for r in range(size):
            perceived[start + r] = x[item[start + r]] - gap[r]


def _project_bents(table: Table, face: Face, x: FloatArray, perceived: FloatArray) -> None:
    """Project convex and concave reviewers on broken lines.

    Slopes fall; rising ones fall when both axes are turned round (``sign`` -1). Free reviews of the lowest level
    stay where they are if they lie below the beginning of the line.
    """
    starts, item, _, _, _, kinds, lowers, uppers, ties = table
    bends, nodes, shares = face.bent, face.node, face.share
    longest = np.max(starts[1:] - starts[:-1])
    room, whole = np.empty((ROOM_ROWS, longest + 2)), np.empty((WHOLE_ROWS, longest + 2), np.int64)
    _stay(table, face, x, perceived)
    for j in range(len(kinds)):
        if kinds[j] != CONVEX and kinds[j] != CONCAVE:
            continue
        if face.stays[j]:
            continue
        start, size, lower, rise, tied = starts[j], starts[j + 1] - starts[j], lowers[j], uppers[j] - lowers[j], ties[j]
        sign, begin, step = (1.0, start, 1) if kinds[j] == CONVEX else (-1.0, start + size - 1, -1)
        # Levels by rising score for convex reviewers, turned round for concave ones: slopes fall in both.
        n, free = _read_bent(j, table, bends, x, room, whole)
        found = concave_fit(0, n, 1, rise, room, whole) if tied else _fit_free(n, free, rise, room, whole)
        # Write the face: bends, nodes and factors; free reviews below the line are no part of it.
        bound = np.inf if tied else room[FIT, 0]
        face.nodes[j], face.moved[j] = found, True
        for k in range(found):
            face.pivot[start + k], face.link[start + k] = room[PIVOT, k], room[LINK, k]
        for level in range(n):
            bends[start + level] = whole[BENT, level]
        for i in range(size):
            r, level = begin + step * i, whole[LEVEL, i]
            height = lower * room[Y, level]
            if level == 0 and not tied and sign * x[item[r]] - height <= bound:
                nodes[r] = -1
                perceived[r] = x[item[r]]
            else:
                nodes[r], shares[r] = whole[NODE, level], room[SHARE, level]
                perceived[r] = sign * (room[FIT, level] + height)
        if face.begin[j + 1] > face.begin[j]:
            _write_block(start, size, found, nodes, shares, room, face.begin[j], face.block)
            face.known[j] = tied and rise == np.inf


project_bents = Kernel(_project_bents, element=ELEMENT)


def _distances(
    table: Table, face: Face, straighten: bool, x: FloatArray, perceived: FloatArray, pull: FloatArray, bend: FloatArray
) -> tuple[float, float]:
    """Project linear reviewers, and add up distances and gradients of all.

    ::

        F(x) = sum_j dist^2(x[I_j], K_j),    G(x) = sum_j dist^2(x[I_j], lines in the scores of j)

    The others have been projected to ``perceived`` (E,). Adds half the gradients of F and, where ``straighten``, of G
    (over reviewers who need not be linear) to ``pull`` and ``bend`` (N,); returns F and G. O(E).
    """
    starts, item, _, unit, norms, kinds, lowers, uppers, _ = table
    sloped, moved = face.sloped, face.moved
    fit, line = 0.0, 0.0
    for j in range(len(kinds)):
        start, end = starts[j], starts[j + 1]
        if kinds[j] == IDLE:
            for r in range(start, end):
                perceived[r] = x[item[r]]
            continue
        # Mean and slope of the best line in her scores: the projection of a linear reviewer, but for the bounds.
        linear = kinds[j] == LINEAR
        mean, slope = 0.0, 0.0
        if linear or straighten:
            for r in range(start, end):
                value = x[item[r]]
                mean += value
                slope += unit[r] * value
            mean /= end - start
        # The slope is clipped; where it is clipped, or given, the face has no slope.
        if linear:
            steep = 0.0
            if norms[j] > 0.0:
                steep = min(max(slope, lowers[j] * norms[j]), uppers[j] * norms[j])
            free = norms[j] > 0.0 and steep == slope and lowers[j] < uppers[j]
            if sloped[j] != free:
                sloped[j], moved[j] = free, True
            for r in range(start, end):
                perceived[r] = mean + steep * unit[r]
        # Residuals are the gradient; sums over all reviews would wait for each addition.
        squares, bent = 0.0, 0.0
        for r in range(start, end):
            gap = x[item[r]] - perceived[r]
            pull[item[r]] += gap
            squares += gap * gap
            if straighten and not linear:
                gap = x[item[r]] - mean - slope * unit[r]
                bend[item[r]] += gap
                bent += gap * gap
        fit += squares
        line += bent
    return fit, line


distances = Kernel(_distances, element=ELEMENT)


# The Newton system where all reviewers are linear: conjugate gradients by passes over the reviews.


def _common_line(common: Common, x: FloatArray, gradient: FloatArray) -> tuple[float, bool]:
    """Squared distance of all qualities from one line in the raw scores, and whether its slope is free.

    ::

        T(x) = min over a, b of sum_r (x[item_r] - a score_r - b)^2,   lower <= a <= upper

    Writes half the gradient. O(N).
    """
    # The best line, its slope clipped; scores are centred, so mean and slope do not mix.
    mean, slope = 0.0, 0.0
    for i in range(len(x)):
        mean += common.degree[i] * x[i]
        slope += common.tilt[i] * x[i]
    mean /= common.reviews
    moment = slope
    slope = slope / common.spread if common.spread > 0.0 else common.lower
    free = common.spread > 0.0 and common.lower < slope < common.upper
    slope = min(max(slope, common.lower), common.upper)
    # Squares and gradient: sum of squares about the mean less what the slope explains.
    distance = slope * (slope * common.spread - 2.0 * moment)
    for i in range(len(x)):
        distance += common.degree[i] * (x[i] - mean) * (x[i] - mean)
        gradient[i] = common.degree[i] * (x[i] - mean) - slope * common.tilt[i]
    return distance, free


common_line = Kernel(_common_line, element=ELEMENT)


@kernel
def common_diagonal(common: Common, common_free: bool, common_weight: float, diagonal: FloatArray) -> None:
    """Write the diagonal of the common line's part: identity minus a projector of rank one or two."""
    for i in range(len(diagonal)):
        diagonal[i] = common.degree[i] - common.degree[i] * common.degree[i] / common.reviews
        if common_free:
            diagonal[i] -= common.tilt[i] * common.tilt[i] / common.spread
        diagonal[i] *= common_weight


@kernel
def add_diagonal(table: Table, sloped: BoolArray, diagonal: FloatArray) -> None:
    """Add that of each reviewer: 1 - 1 / k_j, less the square of the unit score where her slope is free."""
    starts, item, _, unit, _, kinds, _, _, _ = table
    for j in range(len(kinds)):
        if kinds[j] != LINEAR:
            continue
        share, bent = 1.0 - 1.0 / (starts[j + 1] - starts[j]), 1.0 if sloped[j] else 0.0
        for r in range(starts[j], starts[j + 1]):
            diagonal[item[r]] += share - bent * unit[r] * unit[r]


@kernel
def multiply_lines(table: Table, sloped: BoolArray, pair: FloatArray) -> float:
    """Add the product of ``pair[:, 0]`` with identity minus the projectors on lines to ``pair[:, 1]``.

    Returns the inner product of both. One vector beside the other: an item's two numbers are in one cache line.
    """
    starts, item, _, unit, _, kinds, _, _, _ = table
    total = 0.0
    for j in range(len(kinds)):
        if kinds[j] != LINEAR:
            continue
        start, end = starts[j], starts[j + 1]
        mean, slope = 0.0, 0.0
        for r in range(start, end):
            value = pair[item[r], 0]
            mean += value
            slope += unit[r] * value
        mean /= end - start
        if not sloped[j]:
            slope = 0.0
        squares = 0.0  # summed up by reviewer: one sum over all reviews would wait for each addition
        for r in range(start, end):
            i = item[r]
            gap = pair[i, 0] - mean - slope * unit[r]
            pair[i, 1] += gap
            squares += gap * gap
        total += squares
    return total


@kernel
def begin_descent(
    fixed: BoolArray,
    gradient: FloatArray,
    inverse: FloatArray,
    residual: FloatArray,
    heading: FloatArray,
    direction: FloatArray,
    first: int,
    last: int,
) -> float:
    """Begin conjugate gradients at 0 with the diagonal in ``inverse``; returns the square of the residual's norm.

    The residual is the gradient turned round, entries of fixed items stay 0; a diagonal that vanishes counts as 1. This
    kernel, :func:`aim` and :func:`advance` see to the items ``first`` to ``last - 1``.
    """
    rho = 0.0
    for i in range(first, last):
        inverse[i] = 0.0 if fixed[i] else (1.0 / inverse[i] if inverse[i] > 0.0 else 1.0)
        residual[i] = 0.0 if fixed[i] else -gradient[i]
        direction[i], heading[i] = 0.0, 0.0
        rho += residual[i] * inverse[i] * residual[i]
    return rho


@kernel
def aim(
    common: Common,
    common_weight: float,
    beta: float,
    inverse: FloatArray,
    residual: FloatArray,
    heading: FloatArray,
    image: FloatArray,
    first: int,
    last: int,
) -> tuple[float, float, float]:
    """Write the next step's heading, and the diagonal part of its image under the common line's part.

    Returns the sums that :func:`common_image` takes.
    """
    squares, mean, slope = 0.0, 0.0, 0.0
    for i in range(first, last):
        value = inverse[i] * residual[i] + beta * heading[i]
        part = common.degree[i] * value
        heading[i], image[i] = value, common_weight * part
        mean += part
        slope += common.tilt[i] * value
        squares += part * value
    return squares, mean, slope


@kernel
def common_image(
    common: Common, common_free: bool, common_weight: float, squares: float, mean: float, slope: float
) -> tuple[float, float, float]:
    """Return the curvature of the common line's part, and what its part of rank two multiplies degrees and tilts by."""
    mean /= common.reviews
    slope_weight = common_weight / common.spread if common_free else 0.0
    curvature = common_weight * (squares - mean * mean * common.reviews) - slope_weight * slope * slope
    return curvature, common_weight * mean, slope_weight * slope


@kernel
def advance(
    common: Common,
    alpha: float,
    mean: float,
    slope: float,
    inverse: FloatArray,
    residual: FloatArray,
    heading: FloatArray,
    image: FloatArray,
    direction: FloatArray,
    first: int,
    last: int,
) -> float:
    """Step to the minimum along the direction; returns the square of the new residual's norm."""
    fresh = 0.0
    for i in range(first, last):
        direction[i] += alpha * heading[i]
        left = residual[i] - alpha * (image[i] - mean * common.degree[i] - slope * common.tilt[i])
        residual[i] = left
        fresh += left * left * inverse[i]
    return fresh


def _lines_direction(
    table: Table,
    sloped: BoolArray,
    common: Common,
    common_free: bool,
    common_weight: float,
    fixed: BoolArray,
    gradient: FloatArray,
    tolerance: float,
    max_steps: int,
    direction: FloatArray,
    vectors: FloatArray,
) -> tuple[int, float]:
    """Solve the Newton system of linear reviewers by conjugate gradients, preconditioned with its diagonal.

    ::

        H direction = -gradient,   until  |H direction + gradient| <= tolerance  in the norm of the inverse diagonal

    Returns the number of steps and the norm reached. A step costs O(E). ``vectors`` is room, of shape (4N,).
    """
    n = len(gradient)
    pair, inverse, residual = vectors[: 2 * n].reshape((n, 2)), vectors[2 * n : 3 * n], vectors[3 * n :]
    heading, image = pair[:, 0], pair[:, 1]
    common_diagonal(common, common_free, common_weight, inverse)
    add_diagonal(table, sloped, inverse)
    rho, beta, step = begin_descent(fixed, gradient, inverse, residual, heading, direction, 0, n), 0.0, 0
    while step < max_steps and rho > tolerance * tolerance:
        squares, mean, slope = aim(common, common_weight, beta, inverse, residual, heading, image, 0, n)
        curvature, mean, slope = common_image(common, common_free, common_weight, squares, mean, slope)
        curvature += multiply_lines(table, sloped, pair)
        if curvature <= 0.0:
            break
        fresh = advance(common, rho / curvature, mean, slope, inverse, residual, heading, image, direction, 0, n)
        beta, rho = fresh / rho, fresh
        step += 1
    return step, np.sqrt(rho)


lines_direction = Kernel(_lines_direction, element=ELEMENT)
