"""The table of reviews as a bipartite graph of networkx or igraph, and back without loss.

Graphs hold scores on the scale they came in: where ``reviews.lower_is_better`` holds, 1 is the best
in them too. What comes back has its labels in natural order, whatever order the vertices stood in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from reviewgraph.errors import InputError
from reviewgraph.labels import Label, encode
from reviewgraph.reviews import FloatArray, Reviews

if TYPE_CHECKING:
    import igraph
    import networkx as nx

#: The two sides of the graph, in the order of networkx's ``bipartite`` 0, 1 and igraph's ``type`` False, True.
SIDES = ("reviewer", "item")


def to_networkx(reviews: Reviews) -> nx.Graph:
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


def from_networkx(graph: nx.Graph, *, score: str = "score", **options: Any) -> Reviews:
    """Build the table from a bipartite graph of networkx.

    Parameters
    ----------
    graph
        Every node has the attribute ``bipartite``: 0 for a reviewer, 1 for an item. Its label is the node itself,
        or ``label`` where the node is ``("reviewer", label)`` or ``("item", label)``. Edges are reviews, in either
        direction; the attribute ``title`` of items is kept.
    score
        Name of the edge attribute that holds the score. An edge without it, or with None, is a planned review.
    options
        ``duplicates`` and ``lower_is_better`` as in :meth:`Reviews.from_codes`; the latter is, by default,
        the graph's attribute of that name.

    Raises
    ------
    InputError
        If a node has no side, an edge joins two nodes of one side, two nodes have one label or a score is no
        finite number.
    DuplicateReview
        If parallel edges give a pair twice and ``duplicates`` is ``"error"``.

    Notes
    -----
    Running time O(M log M + N log N + E log E).

    Examples
    --------
    >>> import networkx as nx
    >>> graph = nx.Graph([("ann", "p1"), ("ann", "p2")])
    >>> nx.set_node_attributes(graph, {"ann": 0, "p1": 1, "p2": 1}, "bipartite")
    >>> from_networkx(graph)
    <Reviews: 1 reviewers, 2 items, 2 reviews>
    """
    nodes = list(graph)
    number = {node: index for index, node in enumerate(nodes)}
    side = [_side(attributes.get("bipartite"), node, "bipartite") for node, attributes in graph.nodes(data=True)]
    edges = list(graph.edges(data=True))
    return _from_vertices(
        [_unwrapped(node, SIDES[at]) for node, at in zip(nodes, side, strict=True)],
        side,
        [attributes.get("title") for _, attributes in graph.nodes(data=True)],
        [(number[a], number[b]) for a, b, _ in edges],
        [attributes.get(score) for _, _, attributes in edges],
        {"lower_is_better": bool(graph.graph.get("lower_is_better", False)), **options},
    )


def to_igraph(reviews: Reviews) -> igraph.Graph:
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
    import igraph

    edges = np.column_stack([reviews.reviewer, reviews.item + reviews.n_reviewers])
    graph = igraph.Graph(n=reviews.n_reviewers + reviews.n_items, edges=edges)
    graph["lower_is_better"] = reviews.lower_is_better
    graph.vs["name"] = [*reviews.reviewers, *reviews.items]
    graph.vs["type"] = [False] * reviews.n_reviewers + [True] * reviews.n_items
    graph.vs["title"] = [None] * reviews.n_reviewers + [reviews.titles.get(label) for label in reviews.items]
    graph.es["score"] = [score for _, _, score in rows(reviews)]
    return graph


def from_igraph(graph: igraph.Graph, *, score: str = "score", **options: Any) -> Reviews:
    """Build the table from a bipartite graph of igraph.

    Parameters
    ----------
    graph
        Every vertex has the attribute ``type``: False for a reviewer, True for an item. Its label is its ``name``,
        or its index where vertices have no names. Edges are reviews, in either direction.
    score
        Name of the edge attribute that holds the score. An edge without it, or with None, is a planned review.
    options
        As for :func:`from_networkx`.

    Raises
    ------
    InputError
        If a vertex has no type, an edge joins two vertices of one type, two vertices of one type have one name
        or a score is no finite number.
    DuplicateReview
        If parallel edges give a pair twice and ``duplicates`` is ``"error"``.

    Notes
    -----
    Running time O(M log M + N log N + E log E).

    Examples
    --------
    >>> import igraph
    >>> from_igraph(igraph.Graph.Full_Bipartite(2, 3))
    <Reviews: 2 reviewers, 3 items, 6 reviews>
    """
    size = graph.vcount()
    names = graph.vs["name"] if "name" in graph.vs.attributes() else list(range(size))
    types = graph.vs["type"] if "type" in graph.vs.attributes() else [None] * size
    known = score in graph.es.attributes()
    lower = bool(graph["lower_is_better"]) if "lower_is_better" in graph.attributes() else False
    return _from_vertices(
        names,
        [_side(value, name, "type") for value, name in zip(types, names, strict=True)],
        graph.vs["title"] if "title" in graph.vs.attributes() else [None] * size,
        graph.get_edgelist(),
        graph.es[score] if known else [None] * graph.ecount(),
        {"lower_is_better": lower, **options},
    )


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


def _unwrapped(node: Label, side: str) -> Label:
    label: Label = node[1] if isinstance(node, tuple) and len(node) == 2 and node[0] == side else node
    return label


def _side(value: Any, vertex: Any, attribute: str) -> int:
    if value is None or value not in (0, 1):
        message = f"{attribute}: expected 0 for a reviewer or 1 for an item, found {value!r} at vertex {vertex!r}"
        raise InputError(message)
    return int(value)


def _from_vertices(
    labels: Sequence[Label],
    side: Sequence[int],
    titles: Sequence[str | None],
    edges: Sequence[tuple[int, int]],
    scores: Sequence[float | None],
    options: dict[str, Any],
) -> Reviews:
    """Build the table from vertices 0, 1, ... with labels and sides, and edges between them with scores."""
    which = np.array(side, np.int64)
    code = np.empty(which.size, np.int64)
    distinct: list[Sequence[Label]] = []
    for at, name in enumerate(SIDES):
        members = np.flatnonzero(which == at)
        code[members], found = encode([labels[vertex] for vertex in members.tolist()])
        distinct.append(found)
        if len(found) < members.size:
            twice = found[int(np.flatnonzero(np.bincount(code[members]) > 1)[0])]
            message = f"{name}: expected one vertex a label, found two vertices with the label {twice!r}"
            raise InputError(message)
    ends = np.array(edges, np.int64).reshape(-1, 2)
    alike = np.flatnonzero(which[ends[:, 0]] == which[ends[:, 1]])
    if alike.size:
        a, b = ends[alike[0]].tolist()
        message = (
            f"edges: expected a reviewer and an item, found {labels[a]!r} and {labels[b]!r}, both {SIDES[side[a]]}s"
        )
        raise InputError(message)
    ends = np.where((which[ends[:, 0]] == 0)[:, None], ends, ends[:, ::-1])
    return Reviews.from_codes(
        code[ends[:, 0]],
        code[ends[:, 1]],
        _numbers(scores),
        scored=np.array([y is not None for y in scores], np.bool_),
        reviewers=distinct[0],
        items=distinct[1],
        row_name=lambda edge: "edge {} ({!r}, {!r})".format(edge, *(labels[end] for end in edges[edge])),
        titles={
            label: title for label, at, title in zip(labels, side, titles, strict=True) if at and title is not None
        },
        **options,
    )


def _numbers(scores: Sequence[float | None]) -> FloatArray:
    try:
        return np.array([0.0 if y is None else float(y) for y in scores], np.float64)
    except (TypeError, ValueError) as error:
        message = f"score: expected a number or None on every edge, found something else ({error})"
        raise InputError(message) from error
