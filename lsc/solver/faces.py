"""Projections of all reviewers at once: perceived qualities, the faces they lie on, distances and gradients."""

from __future__ import annotations

import numpy as np

from lsc.model.hypotheses import CONCAVE, CONVEX, IDLE, LINEAR, MONOTONE
from lsc.solver.projections import (
    BEGIN,
    BENT,
    CAP,
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
    SPARE,
    WHOLE_ROWS,
    W,
    Y,
    Z,
    bounded_isotonic,
    concave_fit,
    isotonic,
    sort_ranks,
)
from lsc.solver.tables import ELEMENT, SMALL, Face, ItemArray, Table
from reviewgraph.kernels.compiling import Kernel, kernel
from reviewgraph.labels import IntArray
from reviewgraph.reviews import FloatArray


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
