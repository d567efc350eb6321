from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewgraph.kernels.union_find import find, union, union_pairs

ends = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=20)


def smallest_of_each(size: int, pairs: list[tuple[int, int]]) -> list[int]:
    """The smallest vertex of each vertex's set, by spreading it until nothing changes."""
    label = list(range(size))
    for _ in range(size):
        for a, b in pairs:
            label[a] = label[b] = min(label[a], label[b])
    return label


@pytest.mark.parametrize("form", ["python", "compiled"])
@given(pairs=ends)
def test_pairs_join_under_the_smallest_vertex(form: str, pairs: list[tuple[int, int]]) -> None:
    parent = np.arange(12)
    left, right = np.array(pairs, np.int64).reshape(-1, 2).T.copy()
    getattr(union_pairs, form)(parent, left, right)
    assert parent.tolist() == smallest_of_each(12, pairs)


@pytest.mark.parametrize("form", ["python", "compiled"])
def test_a_union_says_whether_it_joined(form: str) -> None:
    parent = np.arange(4)
    join, root = getattr(union, form), getattr(find, form)
    assert join(parent, 3, 2)
    assert join(parent, 2, 1)
    assert not join(parent, 1, 3)
    assert [root(parent, vertex) for vertex in range(4)] == [0, 1, 1, 1]
