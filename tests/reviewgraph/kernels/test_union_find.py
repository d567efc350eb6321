from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reviewgraph.graph.kernels.union_find import point_at_roots, union_ends

ends = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=20)


def smallest_of_each(size: int, pairs: list[tuple[int, int]]) -> list[int]:
    """The smallest vertex of each vertex's set, by spreading it until nothing changes."""
    label = list(range(size))
    for _ in range(size):
        for a, b in pairs:
            label[a] = label[b] = min(label[a], label[b])
    return label


@given(pairs=ends)
def test_pairs_join_under_the_smallest_vertex(pairs: list[tuple[int, int]]) -> None:
    parent = np.arange(12)
    left, right = np.array(pairs, np.int64).reshape(-1, 2).T.copy()
    union_ends(parent, left, right)
    point_at_roots(parent)
    assert parent.tolist() == smallest_of_each(12, pairs)
