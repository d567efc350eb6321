from itertools import combinations
from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reviewgraph import Reviews
from reviewgraph.graph import doubly_connected_components, recoverability
from tests import naive
from tests.strategies import Rows, fano, tables, to_reviews
from tests.trials import examples

seeds = st.integers(0, 2**32 - 1)


def system(rows: Rows, n_items: int, seed: int) -> list[list[int]]:
    random = Random(seed)
    return naive.equations(rows, [random.randrange(1, naive.PRIME) for _ in range(n_items)])


@examples(16)
@given(tables(6), seeds)
def test_redundant_reviews_leave_the_rank(table: tuple[Rows, int], seed: int) -> None:
    rows, n_items = table
    reviews = to_reviews(rows, n_items, scored=False)
    equations, rank = system(rows, n_items, seed), recoverability(reviews).rank
    counted = iter(range(len(equations)))
    for review, redundant in enumerate(recoverability(reviews).redundant.tolist()):
        if len(rows[reviews.reviewer[review]]) < 2:
            assert not redundant
            continue
        row = next(counted)
        assert redundant == (naive.rank(equations[:row] + equations[row + 1 :]) == rank)


@examples(16)
@given(tables(6), seeds)
def test_blocks_are_the_reviewers_of_one_line(table: tuple[Rows, int], seed: int) -> None:
    rows, n_items = table
    found = recoverability(to_reviews(rows, n_items, scored=False))
    label, equations = found.block_labels, system(rows, n_items, seed)
    assert [label[j] >= 0 for j in range(len(rows))] == [len(row) >= 2 for row in rows]
    for a, b in combinations(np.flatnonzero(label >= 0).tolist(), 2):
        forced = naive.rank(equations + naive.same_line(a, b, n_items, len(rows))) == found.rank
        assert forced == (label[a] == label[b])
    for left, right in combinations(found.block_covers, 2):
        assert np.intersect1d(left, right).size <= 1


def test_fano_plane_is_recoverable_without_being_doubly_connected() -> None:
    found = recoverability(fano())
    assert (found.degrees_of_freedom, found.recoverable) == (0, True)
    assert not doubly_connected_components(fano()).covers_all
    assert set(found.block_labels.tolist()) == {0}


def test_small_tables() -> None:
    assert recoverability(Reviews([], items=[])).recoverable
    assert recoverability(Reviews([("a", "p")])).recoverable
    assert not recoverability(Reviews([], items=["p"])).recoverable
    singles = recoverability(Reviews([("a", "p"), ("b", "q")]))
    assert (singles.degrees_of_freedom, singles.recoverable) == (0, False)
    assert singles.block_covers == ()
    missing = recoverability(Reviews([("a", "p"), ("a", "q")], items=["r"]))
    assert missing.degrees_of_freedom == 1
