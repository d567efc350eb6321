"""A kernel that tries all small plans: is there one of at most so many reviews, constraints left aside?

A plan is as good as a list of joins of blocks: joining two that share an item costs one review, two that share
none costs two (the reviews that make them share two items). So plans of r reviews are sets of joins of price r.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner._growth import Growth, Structure, drop_anchor, find_block, grow, restore, settle, try_join
from reviewgraph._compile import kernel

if TYPE_CHECKING:
    from reviewgraph.labels import IntArray


@kernel
def replay(
    start: Structure, state: Structure, space: Growth, left: IntArray, right: IntArray, stack: IntArray, size: int
) -> int:
    """Do the joins of a stack; returns the largest cover made, or -1 if the last join was implied by the others."""
    restore(state, start)
    most = 0
    for level in range(size):
        a, b = find_block(state.root, left[stack[level]]), find_block(state.root, right[stack[level]])
        if a == b:
            if level == size - 1:
                return -1
            continue
        grow(state, space, a, b)
        most = max(most, space.extent[0])
        settle(state, space)
    return most


@kernel
def finishes(
    state: Structure, space: Growth, left: IntArray, right: IntArray, weight: IntArray, after: int, rest: IntArray
) -> bool:
    """Whether one join after number ``after``, of price ``rest[0]`` and loss up to ``rest[1]``, covers ``rest[2]``."""
    drop_anchor(state, space)
    for k in range(after + 1, left.size):
        if weight[k, 0] == rest[0] and weight[k, 1] <= rest[1]:
            a, b = find_block(state.root, left[k]), find_block(state.root, right[k])
            if a != b and try_join(state, space, a, b) >= rest[2]:
                return True
    return False


@kernel
def next_fit(weight: IntArray, after: int, rest: IntArray) -> int:
    """Next join whose price leaves something of ``rest[0]`` and whose loss is within ``rest[1]``."""
    k = after + 1
    while k < weight.shape[0] and (weight[k, 0] >= rest[0] or weight[k, 1] > rest[1]):
        k += 1
    return k


@kernel
def some_plan(
    start: Structure,
    state: Structure,
    space: Growth,
    left: IntArray,
    right: IntArray,
    weight: IntArray,
    limit: IntArray,
    first: int,
) -> int:
    """Whether joins, the first of them number ``first``, let a block cover enough: 1 yes, 0 no, -1 not decided.

    ``weight[k]`` is the price and the loss of join k; ``limit`` holds the most of both, the items to be covered, and
    how many sets of joins may be looked at.
    """
    stack, rest, depth, k = np.empty(limit[0] + 1, np.int64), limit.copy(), 0, first
    while True:
        stack[depth] = k
        depth += 1
        rest[0], rest[1] = rest[0] - weight[k, 0], rest[1] - weight[k, 1]
        top, k = k, left.size
        most = replay(start, state, space, left, right, stack, depth)
        if most >= limit[2]:
            return 1
        rest[3] -= 1
        if rest[3] < 0:
            return -1
        if most >= 0 and rest[0] > 0:
            if finishes(state, space, left, right, weight, top, rest):
                return 1
            k = next_fit(weight, top, rest)
        while k == left.size:
            depth -= 1
            if depth == 0:
                return 0
            top = stack[depth]
            rest[0], rest[1] = rest[0] + weight[top, 0], rest[1] + weight[top, 1]
            k = next_fit(weight, top, rest)
