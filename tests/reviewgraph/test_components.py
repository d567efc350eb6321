import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewgraph import Reviews
from reviewgraph.graph import CertificateError, connected_components, doubly_connected_components, verify_merges
from tests import naive
from tests.strategies import Rows, tables, to_reviews


def parts(labels: np.ndarray) -> list[list[int]]:
    return sorted(np.flatnonzero(labels == label).tolist() for label in np.unique(labels))


@given(tables())
def test_connected_components_equal_repeated_merging(table: tuple[Rows, int]) -> None:
    rows, n_items = table
    found = connected_components(to_reviews(rows, n_items, scored=False))
    assert parts(found.labels) == naive.repeat_union(rows, 1)
    unreviewed = set(range(n_items)) - set().union(*rows)
    assert len(found) == len(naive.repeat_union(rows, 1)) + len(unreviewed)
    assert sorted(found.cover_item.tolist()) == list(range(n_items))


@given(tables(), st.randoms(use_true_random=False))
def test_order_of_rows_and_kind_of_labels_do_not_matter(table: tuple[Rows, int], random: object) -> None:
    rows, n_items = table
    triples = [(j, i, y) for j, row in enumerate(rows) for i, y in row.items()]
    plain = to_reviews(rows, n_items)
    random.shuffle(triples)  # type: ignore[attr-defined]
    text = Reviews(
        [(str(j), str(i), y) for j, i, y in triples],
        reviewers=map(str, range(len(rows))),
        items=map(str, range(n_items)),
    )
    a = doubly_connected_components(plain)
    b = doubly_connected_components(text)
    assert (a.labels == b.labels).all()
    assert (a.merges == b.merges).all()


def test_a_chain_in_which_each_merge_enables_the_next() -> None:
    n = 3000
    chain = [(j, i) for j in range(1, n) for i in (j, j + 2, j + 3)]
    start = [(0, 0), (0, 1), (0, 2), (0, 3)]
    found = doubly_connected_components(Reviews(start + chain))
    assert len(found) == 1
    assert len(verify_merges(found.reviews, found.merges)) == n


def test_covers_count_and_not_edges() -> None:
    three_on_one = Reviews([(j, i) for j in range(3) for i in (0, 1 + j)])
    assert len(doubly_connected_components(three_on_one)) == 3
    share_with_both = Reviews([(1, "u"), (1, "v"), (2, "u"), (2, "v"), (3, "u"), (3, "w")])
    share_with_each = Reviews([(1, "u"), (1, "v"), (2, "u"), (2, "v"), (1, "w"), (2, "x"), (3, "w"), (3, "x")])
    assert len(doubly_connected_components(share_with_both)) == 2
    assert len(doubly_connected_components(share_with_each)) == 1


def test_small_tables() -> None:
    empty = Reviews([], items=[])
    assert (len(connected_components(empty)), len(doubly_connected_components(empty))) == (0, 0)
    assert doubly_connected_components(empty).covers == ()
    one = Reviews([("a", "p", 1.0)])
    assert doubly_connected_components(one).covers_all
    assert doubly_connected_components(one).covers_all
    singles = Reviews([("a", "p"), ("b", "q")])
    assert not doubly_connected_components(singles).covers_all
    assert len(connected_components(singles)) == 2
    nobody = Reviews([], items=["p"])
    assert len(connected_components(nobody)) == 1
    assert not doubly_connected_components(nobody).covers_all


@pytest.mark.parametrize(
    "row",
    [[0, 0, 0, 1], [0, 1, 0, 0], [0, 2, 0, 1], [0, 1, 0, 2], [0, 1, 0, 3]],
    ids=["one reviewer", "one item", "not shared", "covered by one", "no such item"],
)
def test_false_certificates_are_refused(row: list[int]) -> None:
    reviews = Reviews([(0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (2, 2)])
    with pytest.raises(CertificateError, match="row 0 does not join"):
        verify_merges(reviews, np.array([row]))
