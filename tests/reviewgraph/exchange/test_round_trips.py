"""Graphs and matrices: there and back without loss, and what other people's graphs may look like."""

from collections import Counter
from collections.abc import Callable
from itertools import combinations
from typing import Any

import igraph
import networkx as nx
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from reviewgraph import InputError, Reviews
from reviewgraph.graph import DuplicateReview
from reviewgraph.io.exchange import review_multigraph, to_biadjacency, to_igraph, to_networkx

# Few labels, so that reviewers and items share them, and near-twins: 7, "7" and "007" are three labels.
LABELS: list[Any] = [0, 7, "7", "007", "ann", ("item", 1), ("reviewer", "ann"), 12, "-a"]


@st.composite
def tables(draw: st.DrawFn) -> Reviews:
    """Tables with hubs, unreviewed items, reviewers without reviews, zeros, planned reviews and titles."""
    reviewers = draw(st.lists(st.sampled_from(LABELS), unique_by=repr, max_size=6))
    items = draw(st.lists(st.sampled_from(LABELS), unique_by=repr, max_size=6))
    pairs = [(reviewer, item) for reviewer in reviewers for item in items]
    chosen = draw(st.lists(st.sampled_from(pairs), unique_by=repr)) if pairs else []
    score = st.none() | st.sampled_from([0.0, -1.5, 3.0]) | st.floats(-1e9, 1e9)
    return Reviews(
        [(*pair, draw(score)) for pair in chosen],
        reviewers=reviewers,
        items=items,
        titles={item: f"title of {item}" for item in items if draw(st.booleans())},
        lower_is_better=draw(st.booleans()),
        merge="none",
    )


def content(reviews: Reviews) -> tuple[Any, ...]:
    """All that a table says, compared as text so that 7, 7.0 and "7" differ."""
    columns = reviews.to_dict()
    return (
        Counter(map(repr, zip(columns["reviewer"], columns["item"], map(_plain, columns["score"]), strict=True))),
        list(map(repr, reviews.reviewers)),
        list(map(repr, reviews.items)),
        dict(reviews.titles),
        reviews.lower_is_better,
    )


def _plain(score: float | None) -> float | None:
    return score if score is None else score + 0.0  # -0.0 is 0.0


def through_matrix(reviews: Reviews) -> Reviews:
    return Reviews.from_biadjacency(
        to_biadjacency(reviews),
        nan_is_planned=True,
        reviewers=reviews.reviewers,
        items=reviews.items,
        titles=reviews.titles,
        lower_is_better=reviews.lower_is_better,
        merge="none",
    )


ROADS = {
    "networkx": lambda reviews: Reviews(to_networkx(reviews), merge="none"),
    "igraph": lambda reviews: Reviews(to_igraph(reviews), merge="none"),
    "matrix": through_matrix,
}


@pytest.mark.slow
@pytest.mark.parametrize("road", ROADS)
@given(reviews=tables())
def test_there_and_back_nothing_is_lost(road: str, reviews: Reviews) -> None:
    assert content(ROADS[road](reviews)) == content(reviews)


@given(reviews=tables())
def test_multigraph_has_an_edge_for_each_item_of_two_reviewers(reviews: Reviews) -> None:
    sets = {
        label: {reviews.items[i] for i in reviews.items_of(code).tolist()}
        for code, label in enumerate(reviews.reviewers)
    }
    expected = Counter(
        (frozenset({repr(a), repr(b)}), repr(item))
        for a, b in combinations(reviews.reviewers, 2)
        for item in sets[a] & sets[b]
    )
    graph = review_multigraph(reviews)
    assert Counter((frozenset({repr(a), repr(b)}), repr(item)) for a, b, item in graph.edges(keys=True)) == expected


def hub() -> Reviews:
    return Reviews([(reviewer, "hub") for reviewer in range(50)] + [(0, "p1"), (1, "p1")])


def test_quadratic_graphs_are_refused_with_the_item_to_blame() -> None:
    with pytest.raises(InputError, match=r"at most 1,000 edges, found 1,226, of which 'hub' with its 50 .* 1,225"):
        review_multigraph(hub(), max_edges=1000)
    assert review_multigraph(hub(), max_edges=1226).number_of_edges() == 1226


def test_a_million_reviewers_on_one_item_are_refused_at_once() -> None:
    size = 1_000_000
    reviews = Reviews.from_codes(np.arange(size), np.zeros(size, np.int64), reviewers=size, items=1)
    with pytest.raises(InputError, match="found 499,999,500,000"):
        review_multigraph(reviews)


def test_graphs_of_other_people_are_read() -> None:
    graph = nx.DiGraph([("p1", "ann"), ("bob", "p1")])
    nx.set_node_attributes(graph, {"ann": 0, "bob": 0, "p1": 1}, "bipartite")
    graph.edges["bob", "p1"]["rating"] = 4
    assert Reviews(graph, score="rating").to_dict() == {
        "reviewer": ["ann", "bob"],
        "item": ["p1", "p1"],
        "score": [None, 4.0],
    }
    nameless = igraph.Graph.Bipartite([1, 0, 0], [(1, 0), (0, 2)])
    assert Reviews(nameless).to_dict()["reviewer"] == [1, 2]


def test_labels_of_matrices_keep_the_order_given() -> None:
    reviews = Reviews.from_biadjacency(
        np.array([[1.0, 2.0]]), reviewers=["z"], items=["p2", "p1"], lower_is_better=True
    )
    assert reviews.items == ["p2", "p1"]
    assert reviews.score.tolist() == [-1.0, -2.0]
    assert to_biadjacency(reviews).toarray().tolist() == [[1.0, 2.0]]


def test_what_counts_as_a_review_in_a_matrix() -> None:
    dense = np.array([[0.0, np.nan], [np.nan, 3.0]])
    assert Reviews.from_biadjacency(dense).to_dict()["score"] == [0.0, 3.0]
    assert Reviews.from_biadjacency(dense, nan_is_planned=True).to_dict()["score"] == [0.0, None, None, 3.0]
    assert Reviews.from_biadjacency(np.eye(2, dtype=bool), scored=False).to_dict()["score"] == [None, None]
    stored_zero = scipy.sparse.coo_array(([0, 5], ([0, 1], [1, 1])), shape=(2, 2))
    assert Reviews.from_biadjacency(stored_zero).to_dict()["score"] == [0.0, 5.0]
    assert Reviews.from_biadjacency(scipy.sparse.csc_matrix(stored_zero), scored=False).n_reviews == 2
    assert to_biadjacency(Reviews.from_biadjacency(stored_zero), scored=False).toarray().tolist() == [[0, 1], [0, 1]]


@pytest.mark.parametrize(
    ("matrix", "options", "message"),
    [
        (np.zeros(3), {}, r"matrix: expected real numbers in reviewers x items, found float64 in 1 dimensions"),
        (np.array([["a"]]), {}, r"found <U1 in 2 dimensions"),
        (np.zeros((1, 2)), {"items": ["p1"]}, r"expected 1 and 2 labels, .* found 1 and 1"),
        (scipy.sparse.csr_array(np.array([[np.nan]])), {}, r"finite number, found nan in row 0, column 0 of the matr"),
        (np.array([[1.0, np.inf]]), {}, r"found inf in row 0, column 1"),
    ],
)
def test_matrices_that_are_no_tables_are_refused(matrix: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Reviews.from_biadjacency(matrix, **options)


def test_an_entry_stored_twice_is_a_duplicate() -> None:
    twice = scipy.sparse.coo_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=(1, 2))
    with pytest.raises(DuplicateReview, match=r"row 0, column 1 of the matrix and row 0, column 1"):
        Reviews.from_biadjacency(twice)
    assert Reviews.from_biadjacency(twice, duplicates="mean").score.tolist() == [1.5]


def bipartite(edges: list[tuple[Any, ...]], **sides: int | str) -> nx.MultiGraph:
    graph = nx.MultiGraph()
    for node, side in sides.items():
        graph.add_node(node, bipartite=side)
    for a, b, *score in edges:
        graph.add_edge(a, b, **({"score": score[0]} if score else {}))
    return graph


@pytest.mark.parametrize(
    ("graph", "error", "message"),
    [
        (bipartite([("a", "p")], a="left", p=1), InputError, r"found 'left' at vertex 'a'"),
        (bipartite([("p", "p")], p=1), InputError, r"found 'p' and 'p', both items"),
        (bipartite([("a", "p", 1), ("a", "p", 2)], a=0, p=1), DuplicateReview, r"edge 0 \('a', 'p'\) and edge 1"),
        (bipartite([("a", "p", "good")], a=0, p=1), InputError, r"score: expected numbers, found something else"),
        (bipartite([("a", "p", np.inf)], a=0, p=1), InputError, r"found inf in edge 0 \('a', 'p'\)"),
    ],
)
def test_graphs_that_are_not_bipartite_are_refused(graph: nx.MultiGraph, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        Reviews(graph)


def test_one_label_for_two_vertices_of_a_side_is_refused() -> None:
    graph = nx.Graph()
    graph.add_node("ann", bipartite=0)
    graph.add_node(("reviewer", "ann"), bipartite=0)
    with pytest.raises(InputError, match=r"reviewer: expected one vertex per label, found two vertices .* 'ann'"):
        Reviews(graph)


@pytest.mark.parametrize("build", [to_networkx, review_multigraph])
def test_labels_that_are_equal_keys_are_refused(build: Callable[[Reviews], Any]) -> None:
    with pytest.raises(InputError, match=r"reviewers: labels 1 and 1.0 are equal in Python"):
        build(Reviews([(1, "p"), (1.0, "p")], merge="none"))
    with pytest.raises(InputError, match=r"items: labels 1 and 1.0 are equal"):
        build(Reviews([("a", 1), ("a", 1.0)], merge="none"))


def test_none_is_no_label_of_a_networkx_multigraph() -> None:
    with pytest.raises(InputError, match="labels: expected something other than None"):
        review_multigraph(Reviews.from_codes([0], [0], reviewers=[None], items=["p"]))
