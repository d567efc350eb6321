from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewgraph import Reviews
from reviewgraph.graph.components import tie_classes, unions
from reviewgraph.graph.kernels import blocks
from reviewgraph.graph.kernels.union_find import point_at_roots
from tests.strategies import Rows, tables, to_reviews


def closed(reviews: Reviews, class_of: np.ndarray, parent: np.ndarray, slots: int = 1024) -> blocks.Blocks:
    found = blocks.new_blocks(reviews.reviewer, reviews.item, reviews.reviewer_start, class_of, parent, slots)
    blocks.load(found)
    return found


def by_covers(rows: Rows, class_of: list[int], groups: list[set[int]]) -> set[frozenset[int]]:
    """Merge components that share items of two classes until none do, one component of two reviewers or more."""
    groups = [set(group) for group in groups]
    while True:
        cover = [set().union(*(rows[j] for j in group)) for group in groups]
        found = next(
            (
                (a, b)
                for a in range(len(groups))
                for b in range(a)
                if len(groups[a]) + len(groups[b]) > 2 and len({class_of[i] for i in cover[a] & cover[b]}) > 1
            ),
            None,
        )
        if found is None:
            return set(map(frozenset, groups))
        groups[found[1]] |= groups.pop(found[0])


@pytest.mark.slow
@given(table=tables(), use_scores=st.booleans(), data=st.data())
def test_components_merge_by_their_covers(
    table: tuple[Rows, int], use_scores: bool, data: st.DataObject
) -> None:
    rows, n_items = table
    reviews = to_reviews(rows, n_items)
    class_of = tie_classes(reviews) if use_scores else np.arange(n_items)
    # Reviewers that merge_pairs might have joined, who have items: some with one before them.
    able = [[k for k in range(j + 1) if k == j or (rows[k] and rows[j])] for j in range(len(rows))]
    parent = np.array([data.draw(st.sampled_from(some)) for some in able], np.int64)
    label = list(range(len(rows)))
    for j, earlier in enumerate(parent.tolist()):
        label[j] = label[earlier]
    groups = [{j for j, one in enumerate(label) if one == root} for root in sorted(set(label))]
    root = np.array(label, np.int64)
    state = closed(reviews, class_of, root)
    merges = unions(state)
    found = np.array(state.parent)
    point_at_roots(found)
    assert {frozenset(np.flatnonzero(found == root).tolist()) for root in found} == by_covers(
        rows, class_of.tolist(), groups
    )
    assert len(merges) == len(groups) - len(set(found.tolist()))


def test_a_table_with_too_few_slots_says_so() -> None:
    chain = Reviews.from_pairs([(j, i) for j in range(200) for i in (j, j + 1, j + 2)])
    parent = np.arange(200)
    parent[1] = 0
    assert closed(chain, np.arange(202), parent.copy(), 64).full
    state = closed(chain, np.arange(202), parent)
    assert not state.full
    assert len(unions(state)) == 198
