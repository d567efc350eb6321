"""The table of reviews as a bipartite graph of networkx or igraph.

Graphs hold scores on the scale they came in: where ``reviews.lower_is_better`` holds, 1 is the best in them too.
``Reviews.from_networkx`` and its siblings lead back without loss; labels then stand in natural order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reviewgraph.errors import InputError
from reviewgraph.framed import as_reviews
from reviewgraph.labels import Label
from reviewgraph.reviews import Reviews

if TYPE_CHECKING:
    import igraph
    import networkx as nx

    from reviewgraph.framed import ReviewsLike


def to_networkx(reviews: ReviewsLike) -> nx.Graph:
    """Return the bipartite graph of reviewers and items as networkx holds it.

    Nodes are ``("reviewer", label)`` with ``bipartite=0`` and ``("item", label)`` with ``bipartite=1``, so that a
    reviewer and an item may bear the same label; ``title`` is an attribute of items that have one. An edge is a
    review; its attribute ``score`` is missing where the review is planned. The graph's attribute
    ``lower_is_better`` says which way its scores point.

    Returns
    -------
    networkx.Graph
        With M + N nodes and E edges.

    Raises
    ------
    InputError
        If two reviewers, or two items, have labels that Python holds equal, such as 1 and 1.0.

    Notes
    -----
    Running time O(M + N + E).

    Examples
    --------
    >>> graph = to_networkx(Reviews.from_pairs([("ann", "p1", 6.0), ("bob", "p1", None)]))
    >>> graph.edges[("reviewer", "ann"), ("item", "p1")], graph.edges[("reviewer", "bob"), ("item", "p1")]
    ({'score': 6.0}, {})
    """
    reviews = as_reviews(reviews)
    import networkx as nx

    refuse_equal_labels(reviews)
    graph = nx.Graph(lower_is_better=reviews.lower_is_better)
    graph.add_nodes_from((("reviewer", label) for label in reviews.reviewers), bipartite=0)
    graph.add_nodes_from((("item", label) for label in reviews.items), bipartite=1)
    for label, title in reviews.titles.items():
        graph.nodes["item", label]["title"] = title
    graph.add_edges_from(
        (("reviewer", reviewer), ("item", item), {} if score is None else {"score": score})
        for reviewer, item, score in rows(reviews)
    )
    return graph


def to_igraph(reviews: ReviewsLike) -> igraph.Graph:
    """Return the bipartite graph of reviewers and items as igraph holds it.

    Vertices 0..M-1 are the reviewers and M..M+N-1 the items, in the order of their codes, with attributes ``name``
    (the label), ``type`` (False for reviewers, True for items, as igraph's bipartite functions expect) and
    ``title``. Edges are the reviews in the order of the table; their attribute ``score`` is None where planned.

    Returns
    -------
    igraph.Graph
        With M + N vertices and E edges.

    Notes
    -----
    Running time O(M + N + E).

    Examples
    --------
    >>> graph = to_igraph(Reviews.from_pairs([("ann", "p1", 6.0), ("bob", "p1", None)]))
    >>> graph.vs["name"], graph.vs["type"], graph.es["score"]
    (['ann', 'bob', 'p1'], [False, False, True], [6.0, None])
    """
    reviews = as_reviews(reviews)
    import igraph

    edges = np.column_stack([reviews.reviewer, reviews.item + reviews.n_reviewers])
    graph = igraph.Graph(n=reviews.n_reviewers + reviews.n_items, edges=edges)
    graph["lower_is_better"] = reviews.lower_is_better
    graph.vs["name"] = [*reviews.reviewers, *reviews.items]
    graph.vs["type"] = [False] * reviews.n_reviewers + [True] * reviews.n_items
    graph.vs["title"] = [None] * reviews.n_reviewers + [reviews.titles.get(label) for label in reviews.items]
    graph.es["score"] = [score for _, _, score in rows(reviews)]
    return graph


def rows(reviews: Reviews) -> list[tuple[Label, Label, float | None]]:
    """Return (reviewer, item, score) triples with the scores as they came, None where planned."""
    columns = reviews.to_dict()
    return list(zip(columns["reviewer"], columns["item"], columns["score"], strict=True))


def refuse_equal_labels(reviews: Reviews) -> None:
    """Refuse labels that are different here and equal as dictionary keys, which nodes of networkx are.

    Raises
    ------
    InputError
        Naming the two labels.
    """
    for labels, side in ((reviews.reviewers, "reviewers"), (reviews.items, "items")):
        if len(set(labels)) < len(labels):
            first: dict[Label, Label] = {}
            one, other = next((first[x], x) for x in labels if first.setdefault(x, x) is not x)
            message = f"{side}: labels {one!r} and {other!r} are equal in Python; give them as text to keep them apart"
            raise InputError(message)
