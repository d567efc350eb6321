"""Union-find kernels on an array of parents."""

from __future__ import annotations

from typing import TYPE_CHECKING

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


@kernel(element=0.2e-6, in_lists=True)
def union_pairs(parent: IntArray, left: IntArray, right: IntArray) -> None:
    """Join the ends of every pair, then point every vertex at its root, the smallest vertex of its set."""
    for pair in range(len(left)):
        union(parent, left[pair], right[pair])
    for vertex in range(len(parent)):
        parent[vertex] = find(parent, vertex)


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
