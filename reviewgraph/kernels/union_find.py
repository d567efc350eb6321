"""Union-find kernels on an array of parents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reviewgraph.kernels.compiling import kernel

if TYPE_CHECKING:
    from reviewgraph.labels import IntArray


@kernel
def find(parent: IntArray, vertex: int) -> int:
    """Root of a vertex; the path to it is halved on the way."""
    while parent[vertex] != vertex:
        parent[vertex] = parent[parent[vertex]]
        vertex = parent[vertex]
    return vertex


@kernel
def union(parent: IntArray, a: int, b: int) -> bool:
    """Join two sets under the smaller root; false if they were one."""
    a, b = find(parent, a), find(parent, b)
    if a == b:
        return False
    if a < b:
        parent[b] = a
    else:
        parent[a] = b
    return True


@kernel(element=0.2e-6, in_lists=True)
def union_pairs(parent: IntArray, left: IntArray, right: IntArray) -> None:
    """Join the ends of every pair, then point every vertex at its root, the smallest vertex of its set."""
    for pair in range(len(left)):
        union(parent, left[pair], right[pair])
    for vertex in range(len(parent)):
        parent[vertex] = find(parent, vertex)
