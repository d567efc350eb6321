"""The closure by the reference, held to the loop of the paper; the kernels and components, held to it."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewgraph import Reviews
from reviewgraph.graph import (
    CertificateError,
    Components,
    connected_components,
    doubly_connected_components,
    random_assignment,
    verify_merges,
)
from reviewgraph.graph.closure import Group, repeat_union, replay
from tests import naive
from tests.strategies import Rows, fano, tables, to_reviews


def parts(found: list[Group]) -> list[list[int]]:
    return sorted(sorted(group.reviewers) for group in found)


def of_kernels(found: Components) -> list[tuple[list[int], list[int]]]:
    """Reviewers and items of each component."""
    members = [np.flatnonzero(found.labels == label).tolist() for label in range(len(found.covers))]
    covers = [cover.tolist() for cover in found.covers]
    return sorted((who, what) for who, what in zip(members, covers, strict=True) if who)


def of_reference(found: list[Group]) -> list[tuple[list[int], list[int]]]:
    return sorted((sorted(group.reviewers), sorted(group.items)) for group in found)


@pytest.mark.slow
@given(tables(), st.sampled_from([1, 2, 3]))
def test_the_reference_is_the_loop_of_the_paper(table: tuple[Rows, int], shared: int) -> None:
    rows, _ = table
    assert parts(repeat_union(dict(enumerate(rows)), shared).components) == naive.repeat_union(rows, shared)


@given(tables())
def test_merges_of_the_reference_replay_and_lead_to_its_components(table: tuple[Rows, int]) -> None:
    own = dict(enumerate(table[0]))
    found, merges = repeat_union(own)
    wrong, replayed = replay(own, merges)
    assert wrong == -1
    assert of_reference(replayed) == of_reference(found)
    assert len(merges) == len(own) - len(found)


@given(tables(), st.integers(0, 20), st.integers(0, 3))
def test_a_merge_with_one_code_changed_leads_to_no_other_components(
    table: tuple[Rows, int], place: int, column: int
) -> None:
    """A replay accepts what is true, whatever the row says, so that nothing it accepts joins too much."""
    own = dict(enumerate(table[0]))
    found, merges = repeat_union(own)
    if not merges:
        return
    row = list(merges[place % len(merges)])
    row[column] = (row[column] + 1) % (len(own) if column < 2 else table[1])
    merges[place % len(merges)] = tuple(row)
    wrong, replayed = replay(own, merges)
    if wrong == -1:
        assert of_reference(replayed) == of_reference(found)
    for group in replayed:
        assert any(group.reviewers <= whole.reviewers for whole in found)


@pytest.mark.parametrize(
    "reviews",
    [
        Reviews([(j, i) for j in range(300) for i in (-1, j // 2)]),
        Reviews([(0, 0), (0, 1), *((j, i) for j in range(400) for i in (j, j + 2, j + 3))]),
        Reviews([(j, 2 * j + k) for j in range(200) for k in range(2)]),
        random_assignment(400, 400, 4, np.random.default_rng(1)),
        random_assignment(300, 300, 5, np.random.default_rng(2)),
        fano(),
    ],
    ids=["hub", "chain", "alone", "sparse", "dense", "fano"],
)
def test_kernels_return_the_components_of_the_reference_on_larger_tables(reviews: Reviews) -> None:
    own = {j: reviews.items_of(j).tolist() for j in range(reviews.n_reviewers)}
    assert of_kernels(doubly_connected_components(reviews)) == of_reference(repeat_union(own).components)
    assert of_kernels(connected_components(reviews)) == of_reference(repeat_union(own, 1).components)


def test_the_reference_shares_no_code_with_the_kernels() -> None:
    text = (Path(__file__).parents[2] / "reviewgraph/graph/closure.py").read_text("utf-8")
    assert "import reviewgraph" not in text
    assert "from reviewgraph" not in text


def pieces(labels: np.ndarray) -> list[list[int]]:
    return sorted(np.flatnonzero(labels == label).tolist() for label in np.unique(labels))


@given(tables())
def test_connected_components_equal_repeated_merging(table: tuple[Rows, int]) -> None:
    rows, n_items = table
    found = connected_components(to_reviews(rows, n_items, scored=False))
    assert pieces(found.labels) == naive.repeat_union(rows, 1)
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
