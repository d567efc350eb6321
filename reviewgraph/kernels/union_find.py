"""Union-find on an array of parents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reviewgraph.kernels.compiling import kernel

if TYPE_CHECKING:
    from reviewgraph.arrays import BoolArray, CodeArray, IntArray


@kernel
def find(parent: IntArray | CodeArray, vertex: int) -> int:
    """Root of a vertex; the path to it is halved on the way."""
    while parent[vertex] != vertex:
        parent[vertex] = parent[parent[vertex]]
        vertex = parent[vertex]
    return vertex


@kernel
def union(parent: IntArray | CodeArray, a: int, b: int) -> bool:
    """Join two sets under the smaller root; false if they were one."""
    a, b = find(parent, a), find(parent, b)
    if a == b:
        return False
    if a < b:
        parent[b] = a
    else:
        parent[a] = b
    return True


def union_pairs(parent: IntArray, left: IntArray, right: IntArray) -> None:
    """Join the ends of every pair, all at once, and point every vertex at its root, the smallest vertex of its set.

    Every root with a smaller neighbour is put under the smallest, and paths are halved until each vertex points at its
    root. What is a root still has no smaller neighbour, so that at most half of those that have neighbours are: takes
    O(log n) rounds over the pairs that are apart. ``parent`` must point at roots. Source: Shiloach and Vishkin (1982).

    >>> parent = np.arange(5)
    >>> union_pairs(parent, np.array([4, 2]), np.array([2, 1]))
    >>> parent.tolist()
    [0, 1, 1, 3, 1]
    """
    one, other = parent[left], parent[right]
    while one.size:
        np.minimum.at(parent, np.maximum(one, other), np.minimum(one, other))
        while not np.array_equal(above := parent[parent], parent):
            parent[:] = above
        # From here on pairs of roots stand for the pairs; those that are joined are done with.
        one, other = parent[one], parent[other]
        apart = np.flatnonzero(one != other)
        one, other = one[apart], other[apart]


@kernel
def union_chunk(parent: CodeArray, first: int, start: IntArray, items: int, item: CodeArray) -> None:
    """Join reviewers ``first``, ``first + 1``, ... with their items, which are the vertices from ``items`` on."""
    for j in range(len(start) - 1):
        for r in range(start[j], start[j + 1]):
            union(parent, first + j, items + item[r])


@kernel(element=0.5e-6)
def point_at_roots(parent: CodeArray) -> None:
    """Point every vertex at its root."""
    for vertex in range(len(parent)):
        parent[vertex] = find(parent, vertex)


@kernel(element=0.5e-6)
def grow_cover(joined: BoolArray, covered: BoolArray, first: int, start: IntArray, item: CodeArray) -> int:
    """Join every reviewer of a chunk who shares two items with the cover, which grows by hers; return how many."""
    found = 0
    for j in range(len(start) - 1):
        if joined[first + j]:
            continue
        shared = 0
        for r in range(start[j], start[j + 1]):
            if covered[item[r]]:
                shared += 1
        if shared >= 2:
            joined[first + j] = True
            found += 1
            for r in range(start[j], start[j + 1]):
                covered[item[r]] = True
    return found
