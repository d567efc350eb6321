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
def replay(start: Structure, state: Structure, space: Growth, left: IntArray, right: IntArray, stack: IntArray, size: int) -> int:
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
def some_plan(
    start: Structure,
    state: Structure,
    space: Growth,
    left: IntArray,
    right: IntArray,
    price: IntArray,
    enough: int,
    budget: int,
    first: int,
) -> bool:
    """Whether joins of total price ``budget`` or less, the first of them number ``first``, let a block cover enough."""
    stack = np.empty(budget + 1, np.int64)
    stack[0], depth, spent = first, 1, price[first]
    while depth > 0:
        most = -1
        if spent <= budget:
            most = replay(start, state, space, left, right, stack, depth)
        if most >= enough:
            return True
        top, deeper = stack[depth - 1], False
        if most >= 0 and budget - spent == 1:
            drop_anchor(state, space)
            for k in range(top + 1, left.size):
                if price[k] == 1:
                    a, b = find_block(state.root, left[k]), find_block(state.root, right[k])
                    if a != b and try_join(state, space, a, b) >= enough:
                        return True
        elif most >= 0 and budget > spent:
            deeper = top + 1 < left.size
        if deeper:
            stack[depth] = top + 1
            spent += price[top + 1]
            depth += 1
            continue
        while depth > 0:
            spent -= price[stack[depth - 1]]
            if depth > 1 and stack[depth - 1] + 1 < left.size:
                stack[depth - 1] += 1
                spent += price[stack[depth - 1]]
                break
            depth -= 1
    return False
