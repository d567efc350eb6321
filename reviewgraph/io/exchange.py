"""Reviews as graphs of networkx and igraph, as sparse matrices, and as the review multigraph of the paper.

Scores keep the scale they came in: where ``reviews.lower_is_better`` holds, 1 is the best here too. ``Reviews`` has the
inverse of each bipartite form, without loss except that labels are then in natural order.

The review multigraph has an edge for every item that two reviewers share (Definition 3.2 of [Tan21]_). An item with d
reviewers gives d (d - 1) / 2 edges, so a single item can make it quadratic; components and degrees of freedom are
computed without it. It does not determine covers either: three reviewers who share a single item have three edges
pairwise and share one item. So its nodes carry the reviews as attributes.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from reviewgraph._base.arguments import checked
from reviewgraph._base.errors import InputError
from reviewgraph._base.labels import Label
from reviewgraph.table.reviews import Reviews, ReviewsLike, as_reviews

if TYPE_CHECKING:
    import igraph
    import networkx as nx
    import scipy.sparse


def to_networkx(reviews: ReviewsLike) -> nx.Graph:
    """Return the bipartite graph of reviewers and items as a networkx graph.

    Nodes are ``("reviewer", label)`` with ``bipartite=0`` and ``("item", label)`` with ``bipartite=1``, so that a
    reviewer and an item may have the same label; ``title`` is an attribute of items that have one. An edge is a
    review; its attribute ``score`` is missing where the review is planned. ``criteria``, further scores by name, and
    ``confidence`` are attributes of the reviews that have them. The graph has the attribute ``lower_is_better``, and
    ``target``, the name of the score, if it has one.

    Parameters
    ----------
    reviews
        Who reviews what, or a data frame of it.

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
    >>> graph = to_networkx(Reviews([("ann", "p1", 6.0), ("bob", "p1", None)]))
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
    if reviews.target is not None:
        graph.graph["target"] = reviews.target
    graph.add_edges_from(
        (("reviewer", reviewer), ("item", item), {**({} if score is None else {"score": score}), **more})
        for (reviewer, item, score), more in zip(rows(reviews), _further(reviews), strict=True)
    )
    return graph


def to_igraph(reviews: ReviewsLike) -> igraph.Graph:
    """Return the bipartite graph of reviewers and items as an igraph graph.

    Vertices 0..M-1 are the reviewers and M..M+N-1 the items, in the order of their codes, with attributes ``name``
    (the label), ``type`` (False for reviewers, True for items, as igraph's bipartite functions expect) and
    ``title``. Edges are the reviews in the order of the table, with the attributes of :func:`to_networkx`.

    Parameters
    ----------
    reviews
        Who reviews what, or a data frame of it.

    Returns
    -------
    igraph.Graph
        With M + N vertices and E edges.

    Notes
    -----
    Running time O(M + N + E).

    Examples
    --------
    >>> graph = to_igraph(Reviews([("ann", "p1", 6.0), ("bob", "p1", None)]))
    >>> graph.vs["name"], graph.vs["type"], graph.es["score"]
    (['ann', 'bob', 'p1'], [False, False, True], [6.0, None])
    """
    reviews = as_reviews(reviews)
    import igraph

    edges = np.column_stack([reviews.reviewer, reviews.item + reviews.n_reviewers])
    graph = igraph.Graph(n=reviews.n_reviewers + reviews.n_items, edges=edges)
    graph["lower_is_better"] = reviews.lower_is_better
    graph["target"] = reviews.target
    graph.vs["name"] = [*reviews.reviewers, *reviews.items]
    graph.vs["type"] = [False] * reviews.n_reviewers + [True] * reviews.n_items
    graph.vs["title"] = [None] * reviews.n_reviewers + [reviews.titles.get(label) for label in reviews.items]
    graph.es["score"] = [score for _, _, score in rows(reviews)]
    further = _further(reviews)
    for name in sorted({name for fields in further for name in fields}):
        graph.es[name] = [fields.get(name) for fields in further]
    return graph


def _further(reviews: Reviews) -> list[dict[str, Any]]:
    """Return the further scores by name and the confidence of each review, without those that are missing."""
    fields = {name: reviews.printed(values).tolist() for name, values in reviews.criteria.items()}
    sure = [np.nan] * reviews.n_reviews if reviews.confidence is None else reviews.confidence.tolist()
    criteria = [
        {name: values[row] for name, values in fields.items() if values[row] == values[row]}
        for row in range(reviews.n_reviews)
    ]
    return [
        {**({"criteria": scores} if scores else {}), **({"confidence": confidence} if confidence == confidence else {})}
        for scores, confidence in zip(criteria, sure, strict=True)
    ]


def rows(reviews: Reviews) -> list[tuple[Label, Label, float | None]]:
    """Return (reviewer, item, score) triples with the scores as they came, None where planned."""
    columns = reviews.to_dict()
    return list(zip(columns["reviewer"], columns["item"], columns["score"], strict=True))


def refuse_equal_labels(reviews: Reviews) -> None:
    """Raise InputError for labels that are equal as dictionary keys, as nodes of networkx are, such as 1 and 1.0."""
    for labels, side in ((reviews.reviewers, "reviewers"), (reviews.items, "items")):
        if len(set(labels)) < len(labels):
            first: dict[Label, Label] = {}
            known, key = next((first[x], x) for x in labels if first.setdefault(x, x) is not x)
            message = f"{side}: labels {known!r} and {key!r} are equal in Python; give them as text to keep them apart"
            raise InputError(message)


@checked
def to_biadjacency(reviews: ReviewsLike, *, scored: bool = True) -> scipy.sparse.csr_array:
    """Return the reviewers x items matrix whose stored entries are the reviews.

    Parameters
    ----------
    reviews
        The table; rows and columns of the matrix are its codes.
    scored
        Whether values are scores, NaN where a review is planned (default), or all 1.

    Returns
    -------
    scipy.sparse.csr_array
        Shape (M, N) with E stored entries. A score of 0 is a stored zero: ``eliminate_zeros`` would lose it.

    Notes
    -----
    Running time O(M + E).

    Examples
    --------
    >>> from reviewgraph import Reviews
    >>> to_biadjacency(Reviews([("ann", "p1", 6.0), ("bob", "p2", 0.0)])).nnz
    2
    """
    reviews = as_reviews(reviews)
    import scipy.sparse

    values = reviews.printed(reviews.score) if scored else np.ones(reviews.n_reviews, np.int64)
    shape = (reviews.n_reviewers, reviews.n_items)
    return scipy.sparse.csr_array((values, reviews.item.copy(), reviews.reviewer_start.copy()), shape=shape)


#: Maximum edges of a multigraph by default: networkx takes about half a kilobyte per edge.
MAX_EDGES = 5_000_000


@checked
def review_multigraph(reviews: ReviewsLike, *, max_edges: int | None = MAX_EDGES) -> nx.MultiGraph:
    """Return the review multigraph as a networkx graph: one edge per item that two reviewers share.

    Parameters
    ----------
    reviews
        The table.
    max_edges
        Refuse to build more edges than this (default 5,000,000); None builds any number.

    Returns
    -------
    networkx.MultiGraph
        Nodes are the reviewers' labels; the node attribute ``scores`` maps each item of the reviewer to the score,
        None where planned. Edge keys are the labels of the shared items. Graph attributes: ``items`` (all of them),
        ``titles``, ``lower_is_better``.

    Raises
    ------
    InputError
        If there would be more than ``max_edges`` edges, a label is None, or two reviewers or two items have labels
        that Python holds equal, such as 1 and 1.0.

    Notes
    -----
    Running time and memory O(M + E + sum over items of d^2), d reviewers on an item.

    Examples
    --------
    >>> graph = review_multigraph(Reviews([("ann", "p1"), ("ann", "p2"), ("bob", "p1"), ("bob", "p2")]))
    >>> sorted(graph.edges(keys=True))
    [('ann', 'bob', 'p1'), ('ann', 'bob', 'p2')]
    """
    reviews = as_reviews(reviews)
    import networkx as nx

    refuse_equal_labels(reviews)
    if None in reviews.reviewers or None in reviews.items:
        raise InputError("labels: expected something other than None, which networkx cannot hold; rename it")
    sizes = reviews.reviews_per_item
    count = int((sizes * (sizes - 1) // 2).sum())
    if max_edges is not None and count > max_edges:
        widest = int(sizes.argmax())
        size = int(sizes[widest])
        raise InputError(
            f"max_edges: expected at most {max_edges:,} edges, found {count:,}, of which {reviews.items[widest]!r} "
            f"with its {size:,} reviews alone makes {size * (size - 1) // 2:,}; raise max_edges, or use to_networkx, "
            "which holds one edge per review"
        )
    graph = nx.MultiGraph(
        items=list(reviews.items), titles=dict(reviews.titles), lower_is_better=reviews.lower_is_better
    )
    scores = _scores(reviews)
    graph.add_nodes_from((label, {"scores": scores[j]}) for j, label in enumerate(reviews.reviewers))
    for i, item in enumerate(reviews.items):
        people = [reviews.reviewers[j] for j in reviews.reviewers_of(i).tolist()]
        graph.add_edges_from((*pair, item) for pair in combinations(people, 2))
    return graph


def _scores(reviews: Reviews) -> list[dict[Label, float | None]]:
    scores: list[dict[Label, float | None]] = [{} for _ in range(reviews.n_reviewers)]
    for j, (_, item, score) in zip(reviews.reviewer.tolist(), rows(reviews), strict=True):
        scores[j][item] = score
    return scores
