"""Union-find on an array of parents, and covers that grow by parts of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cython

if TYPE_CHECKING:
    from reviewgraph._base.arrays import BoolArray, CodeArray, IntArray


def find(parent: IntArray | CodeArray, vertex: int) -> int:
    """Root of a vertex; the path to it is halved on the way."""
    while parent[vertex] != vertex:
        parent[vertex] = parent[parent[vertex]]
        vertex = parent[vertex]
    return vertex


def unite(parent: IntArray | CodeArray, a: int, b: int) -> bool:
    """Join two sets under the smaller root; false if they were one."""
    a = find(parent, a)
    b = find(parent, b)
    if a == b:
        return False
    if a < b:
        parent[b] = a
    else:
        parent[a] = b
    return True


def union_ends(parent: IntArray, left: IntArray, right: IntArray) -> None:
    """Join the ends of every pair."""
    with cython.nogil:
        for pair in range(len(left)):
            unite(parent, left[pair], right[pair])


def union_chunk(
    parent: IntArray | CodeArray, first: int, start: IntArray, items: int, item: IntArray | CodeArray
) -> None:
    """Join reviewers ``first``, ``first + 1``, ... with their items, which are the vertices from ``items`` on."""
    with cython.nogil:
        for j in range(len(start) - 1):
            for r in range(start[j], start[j + 1]):
                unite(parent, first + j, items + item[r])


def point_at_roots(parent: IntArray | CodeArray) -> None:
    """Point every vertex at its root."""
    with cython.nogil:
        for vertex in range(len(parent)):
            parent[vertex] = find(parent, vertex)


def grow_cover(covered: BoolArray, start: IntArray, item: CodeArray) -> None:
    """Add the items of every reviewer of a part who shares two items with the cover."""
    with cython.nogil:
        for j in range(len(start) - 1):
            shared = 0
            for r in range(start[j], start[j + 1]):
                if covered[item[r]]:
                    shared += 1
            if shared >= 2:
                for r in range(start[j], start[j + 1]):
                    covered[item[r]] = True
