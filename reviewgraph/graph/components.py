"""Connected and doubly connected components of reviewers, with replayable certificates; generic recoverability.

The level *connected* is Repeat-Union of the paper, *double* is Repeat-Union2 (Algorithm 1): two sets of reviewers merge
when their covers, the items that they have reviewed between them, share one item, or two.
:mod:`reviewgraph.graph.closure` is the readable reference implementation; here compiled kernels compute the same.

The level *recoverable*: almost every vector of true qualities can be recovered from linear scores. Every review is one
equation ``z_i = s_j x*_i + t_j`` in the lifted value z of its item and the slope s and offset t of its reviewer. For
almost every x*, a set R of reviews is independent if and only if every non-empty subset R' obeys
``|R'| <= items(R') + 2 reviewers(R') - 2`` (Whiteley 1989). A pebble game (Lee and Streinu 2008) computes its rank.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from reviewgraph._base.arguments import checked
from reviewgraph._base.arrays import BoolArray, IntArray, distinct, starts
from reviewgraph._base.errors import InputError
from reviewgraph._base.labels import Shuffled, ranks
from reviewgraph._base.results import Result
from reviewgraph._base.text import counted
from reviewgraph.graph.kernels.blocks import Blocks
from reviewgraph.graph.kernels.pebbles import Game, RigidBlocks, join_blocks, play
from reviewgraph.graph.kernels.union_find import point_at_roots, union_chunk
from reviewgraph.graph.levels import Double, highest
from reviewgraph.table.reviews import Reviews, ReviewsLike, as_reviews


@dataclass(frozen=True, eq=False, repr=False)
class Components(Result):
    """A partition of the reviewers, each part with the items it covers and the merges that prove it one.

    Parameters
    ----------
    labels
        Shape (M,): the component of each reviewer, numbered in the order of their first reviewers.
    item_labels
        Shape (N,), for connected components: the piece of each item; unreviewed items are pieces of their own,
        numbered after those that have reviewers. Empty for doubly connected components, which share items.
    merges
        Shape (K, 4), for doubly connected components: the certificate, row by row (a, b, u, v): when its turn
        comes, the components of reviewers a and b both cover the items u and v.
    reviews
        The reviews.

    Examples
    --------
    >>> from reviewgraph import Reviews
    >>> from reviewgraph.graph import connected_components
    >>> pieces = connected_components(Reviews([("ann", 1), ("bob", 1), ("cleo", 2)]))
    >>> len(pieces), pieces.item_labels.tolist()
    (2, [0, 1])
    """

    labels: IntArray
    item_labels: IntArray
    merges: IntArray
    reviews: Reviews = field(repr=False)

    _rows_are: ClassVar[str] = "reviewers"

    def _tables(self) -> dict[str, Callable[[], Mapping[str, Sequence[Any]]]]:
        return {**super()._tables(), "items": self._items}

    def _items(self) -> dict[str, list[Any]]:
        """Return the items that each component covers."""
        component = np.repeat(np.arange(len(self)), self.cover_sizes)
        labels = [self.reviews.items[code] for code in self.cover_item.tolist()]
        return {"item": labels, "component": component.tolist()}

    def to_dict(self) -> dict[str, Any]:
        """Return the number of components, and that of items in the largest cover."""
        return {"components": len(self), "largest_cover": self.largest_cover}

    def to_columns(self) -> dict[str, list[Any]]:
        """Return one row per reviewer: label and component."""
        return {"reviewer": list(self.reviews.reviewers), "component": self.labels.tolist()}

    def to_mapping(self) -> dict[Any, int]:
        """Return the component of each node, which :func:`reviewgraph.graph.to_networkx` names ``("reviewer", label)``.

        An item of doubly connected components may be in several: it has that of its largest cover.

        Returns
        -------
        dict
            Component by node; items in no component are left out.

        Examples
        --------
        >>> from reviewgraph import Reviews
        >>> from reviewgraph.graph import connected_components
        >>> connected_components(Reviews([("ann", "p1"), ("bob", "p2")])).to_mapping()
        {('reviewer', 'ann'): 0, ('reviewer', 'bob'): 1, ('item', 'p1'): 0, ('item', 'p2'): 1}
        """
        table = self.reviews
        nodes = {("reviewer", label): code for label, code in zip(table.reviewers, self.labels.tolist(), strict=True)}
        component_of = np.full(table.n_items, -1, np.int64)
        for component in self.largest_first[::-1].tolist():
            component_of[self.covers[component]] = component
        covered = np.flatnonzero(component_of >= 0).tolist()
        return nodes | {("item", table.items[code]): int(component_of[code]) for code in covered}

    def headline(self) -> str:
        """Return both in words."""
        return f"{len(self):,}, the largest covers {self.largest_cover:,} of {counted(self.reviews.n_items, 'item')}"

    def __len__(self) -> int:
        """Return the number of components, unreviewed items included where they are pieces of their own."""
        return int(max(self.labels.max(initial=-1), self.item_labels.max(initial=-1))) + 1

    @property
    def covers_all(self) -> bool:
        """Whether one of the components covers all items."""
        return self.largest_cover >= self.reviews.n_items

    @property
    def is_one_piece(self) -> bool:
        """Of connected components: whether one piece holds all items, each with a review."""
        same = bool((self.item_labels == self.item_labels[:1]).all())
        return same and bool((self.reviews.reviews_per_item > 0).all())

    @cached_property
    def sizes(self) -> IntArray:
        """Reviewers in each component."""
        return np.bincount(self.labels, minlength=len(self))

    @cached_property
    def _compressed(self) -> tuple[IntArray, IntArray]:
        n_items = max(self.reviews.n_items, 1)
        pairs = distinct(self.labels[self.reviews.reviewer] * n_items + self.reviews.item)
        if self.item_labels.size:
            pairs = distinct(self.item_labels * n_items + np.arange(self.reviews.n_items))
        return starts(pairs // n_items, len(self)), pairs % n_items

    @property
    def cover_start(self) -> IntArray:
        """Component c covers the items ``cover_item[cover_start[c]:cover_start[c + 1]]``."""
        return self._compressed[0]

    @property
    def cover_item(self) -> IntArray:
        """Covered items, component by component, ascending."""
        return self._compressed[1]

    @property
    def cover_sizes(self) -> IntArray:
        """Items that each component covers."""
        return np.diff(self.cover_start)

    @property
    def largest_cover(self) -> int:
        """Items that the component with the largest cover covers."""
        return int(self.cover_sizes.max(initial=0))

    @cached_property
    def largest_first(self) -> IntArray:
        """All components by items, then by reviewers, both descending, then by the first reviewer."""
        first = np.arange(len(self))
        if isinstance(self.reviews.reviewers, Shuffled):
            first += self.reviews.n_reviewers
            np.minimum.at(first, self.labels, ranks(self.reviews.reviewers))
        return np.lexsort((first, -self.sizes, -self.cover_sizes))

    @cached_property
    def covers(self) -> tuple[IntArray, ...]:
        """Covered items of each component, ascending."""
        return tuple(np.split(self.cover_item, self.cover_start[1:-1])) if len(self) else ()


@checked
def connected_components(reviews: ReviewsLike) -> Components:
    """Pieces of the reviewer-item graph (Repeat-Union), comparable inside if reviewers differ in severity only.

    An item without a review is a piece of its own. Takes time near-linear in M + N + E.

    Parameters
    ----------
    reviews
        Who reviews what, or a data frame of it.

    Returns
    -------
    Components
        The pieces, with the piece of each reviewer and item.

    Examples
    --------
    >>> from reviewgraph import Reviews
    >>> pieces = connected_components(Reviews([("ann", 1), ("bob", 1), ("cleo", 2)], items=[3]))
    >>> len(pieces), pieces.labels.tolist(), pieces.item_labels.tolist()
    (3, [0, 0, 1], [0, 1, 2])
    """
    reviews = as_reviews(reviews)
    M = reviews.n_reviewers
    N = reviews.n_items
    parent = np.arange(M + N)
    union_chunk(parent, 0, reviews.reviewer_start, M, reviews.item)
    point_at_roots(parent)
    labels = _numbered(parent)
    return Components(labels[:M], labels[M:], np.empty((0, 4), np.int64), reviews)


def _numbered(first: IntArray) -> IntArray:
    """Return the number of the set of each member, sets being in the order of their first members, ``first``."""
    return (np.cumsum(first == np.arange(first.size)) - 1)[first]


@checked
def doubly_connected_components(reviews: ReviewsLike) -> Components:
    """Doubly connected components (Repeat-Union2, Algorithm 1 of the paper), with the merges as certificate.

    Start with every reviewer alone; merge two components while their covers share two items, as
    :func:`reviewgraph.graph.closure.repeat_union` does step by step, in any order. Takes time near-linear in the number
    of reviews unless many reviewers of many items share single items pairwise.

    Parameters
    ----------
    reviews
        Who reviews what; scores do not count.

    Returns
    -------
    Components
        The components with the items that each covers, and the merges as a certificate.

    Examples
    --------
    >>> from reviewgraph import Reviews
    >>> rows = [("ann", 1), ("ann", 2), ("bob", 1), ("bob", 2), ("bob", 3), ("cleo", 3)]
    >>> groups = doubly_connected_components(Reviews(rows))
    >>> groups.labels.tolist(), groups.merges.tolist()
    ([0, 0, 1], [[0, 1, 0, 1]])
    """
    reviews = as_reviews(reviews)
    blocks = Blocks(reviews.reviewer, reviews.item, reviews.n_reviewers, reviews.n_items)
    blocks.enter_rows()
    root = blocks.labels()
    first = np.empty(root.size, np.int64)  # the first reviewer of each block
    first[root[::-1]] = np.arange(root.size)[::-1]
    return Components(_numbered(first[root]), np.empty(0, np.int64), blocks.unions(), reviews)


@checked
def components(reviews: ReviewsLike, kind: Literal["connected", "double"] = "double") -> Components:
    """Components of the reviewers and the items that they cover, inside which scores can be compared.

    Parameters
    ----------
    reviews
        Who reviews what: a table, a data frame, or a bipartite graph of networkx or igraph.
    kind
        ``"double"`` (default): components that share two items are one, comparable whatever the severity and slope of
        reviewers; ``"connected"``: pieces of the graph, comparable if reviewers differ in severity only.

    Returns
    -------
    Components
        As :func:`reviewgraph.graph.doubly_connected_components` and :func:`reviewgraph.graph.connected_components`
        return them.

    Raises
    ------
    InputError
        If there is no such kind.

    Examples
    --------
    >>> import networkx as nx
    >>> graph = nx.Graph([("ann", 1), ("ann", 2), ("bob", 1), ("bob", 2), ("bob", 3), ("cleo", 3)])
    >>> nx.set_node_attributes(graph, {node: int(node in (1, 2, 3)) for node in graph}, "bipartite")
    >>> components(graph).labels.tolist(), components(graph, "connected").labels.tolist()
    ([0, 0, 1], [0, 0, 0])
    """
    if kind not in KINDS:
        raise InputError(f"kind: expected {' or '.join(map(repr, KINDS))}, found {kind!r}")
    return KINDS[kind](reviews)


#: Functions that compute components, by kind.
KINDS: dict[str, Callable[..., Components]] = {
    "double": doubly_connected_components,
    "connected": connected_components,
}


@dataclass(frozen=True, eq=False, repr=False)
class Recoverability(Result):
    """Rank, missing links and blocks of a table in the count matroid.

    Parameters
    ----------
    rank
        Independent equations among the reviews of reviewers with two or more.
    degrees_of_freedom
        Missing links: ``N + 2 M' - min(N, 2) - rank``, with M' the reviewers of two or more reviews.
    reviews
        The table.

    Examples
    --------
    >>> from reviewgraph import Reviews
    >>> from reviewgraph.graph import recoverability
    >>> recoverability(Reviews([("ann", 1), ("ann", 2), ("bob", 2), ("bob", 3)])).recoverable
    False
    """

    rank: int
    degrees_of_freedom: int
    reviews: Reviews = field(repr=False)
    _components: Components = field(repr=False)

    _rows_are: ClassVar[str] = "reviewers"

    def _tables(self) -> dict[str, Callable[[], Mapping[str, Sequence[Any]]]]:
        return {
            **super()._tables(),
            "reviews": lambda: {**self.reviews._pairs(), "redundant": self.redundant.tolist()},
        }

    @property
    def recoverable(self) -> bool:
        """No degrees of freedom left, every item reviewed and, for two items or more, someone reviews two."""
        reviews = self.reviews
        linked = reviews.n_items < 2 or bool((reviews.loads >= 2).any())
        return self.degrees_of_freedom == 0 and linked and bool((reviews.reviews_per_item > 0).all())

    def to_dict(self) -> dict[str, Any]:
        """Return rank, degrees of freedom and the verdict."""
        return {"rank": self.rank, "degrees_of_freedom": self.degrees_of_freedom, "recoverable": self.recoverable}

    def to_columns(self) -> dict[str, list[Any]]:
        """Return one row per reviewer: label and maximal recoverable block (None for fewer than two reviews)."""
        blocks = [None if block < 0 else block for block in self.block_labels.tolist()]
        return {"reviewer": list(self.reviews.reviewers), "block": blocks}

    def headline(self) -> str:
        """Return whether it is recoverable, or the number of missing links."""
        missing = f"{counted(self.degrees_of_freedom, 'link')} missing"
        return "recoverable" if self.recoverable else f"not recoverable, {missing}"

    @cached_property
    def block_labels(self) -> IntArray:
        """Shape (M,): the maximal recoverable block of each reviewer, -1 for those with fewer than two reviews.

        Blocks are numbered in the order of their first reviewers. Two blocks share at most one item.
        """
        # Play the whole game, then grow a block from each body.
        start, item, bodies = _contracted(self._components)
        game = Game(bodies.size, self.reviews.n_items)
        play_all(game, start, item)
        # The bodies of each item, from the reviews sorted by item.
        body_by_item = np.repeat(np.arange(bodies.size), np.diff(start))[np.argsort(item, kind="stable")]
        item_start = starts(item, self.reviews.n_items)
        blocks = RigidBlocks(bodies.size, self.reviews.n_items)
        join_blocks(game, blocks, start, item, item_start, body_by_item)
        block_of = np.full(len(self._components), -1, np.int64)
        block_of[bodies] = np.unique(game.parent, return_inverse=True)[1]
        return block_of[self._components.labels]

    @cached_property
    def block_covers(self) -> tuple[IntArray, ...]:
        """Items of each maximal recoverable block, ascending."""
        label = self.block_labels[self.reviews.reviewer]
        n_items = max(self.reviews.n_items, 1)
        pairs = np.unique(label[label >= 0] * n_items + self.reviews.item[label >= 0])
        sizes = np.bincount(pairs // n_items, minlength=int(self.block_labels.max(initial=-1)) + 1)
        return tuple(np.split(pairs % n_items, np.cumsum(sizes)[:-1])) if sizes.size else ()

    @cached_property
    def redundant(self) -> BoolArray:
        """Shape (E,): reviews that lie in a circuit; without any one of them the rank stays."""
        # Reviewers are bodies here, not components: a circuit may lie inside one.
        keep = self.reviews.loads[self.reviews.reviewer] >= 2
        loads = self.reviews.loads[self.reviews.loads >= 2]
        start = np.concatenate([np.zeros(1, np.int64), np.cumsum(loads)])
        game = Game(loads.size, self.reviews.n_items, marked=int(keep.sum()))
        play_all(game, start, self.reviews.item[keep])
        redundant = np.zeros(self.reviews.n_reviews, np.bool_)
        redundant[keep] = game.redundant
        return redundant


@checked
def recoverability(reviews: ReviewsLike, *, components: Components | None = None) -> Recoverability:
    """Rank, degrees of freedom, maximal recoverable blocks and redundant reviews of a table.

    The pebble game runs on the graph in which every doubly connected component is one reviewer. Takes time of the
    order of (M + N) E at the very worst; on real and random tables near-linear. Blocks and redundant reviews are
    computed on first use.

    Parameters
    ----------
    reviews
        Who reviews what; scores do not count.
    components
        Their doubly connected components, if computed already.

    Returns
    -------
    Recoverability
        Degrees of freedom, blocks of reviewers and items that are on one scale, and a certificate.

    Examples
    --------
    Three reviewers on a triangle of items: no two share two items, yet all but coincidences can be recovered.

    >>> from reviewgraph import Reviews
    >>> rows = [("a", 1), ("a", 2), ("a", 3), ("b", 1), ("b", 4), ("b", 5), ("c", 2), ("c", 4), ("c", 6)]
    >>> recoverability(Reviews(rows)).degrees_of_freedom
    1
    >>> full = recoverability(Reviews([*rows, ("d", 3), ("d", 5), ("d", 6)]))
    >>> full.degrees_of_freedom, full.recoverable, full.block_labels.tolist()
    (0, True, [0, 0, 0, 0])
    """
    reviews = as_reviews(reviews)
    groups = doubly_connected_components(reviews) if components is None else components
    start, item, bodies = _contracted(groups)
    accepted = play_all(Game(bodies.size, reviews.n_items), start, item)
    # Each reviewer whom a component absorbed adds the two equations of their slope and offset.
    n_counted = int((reviews.loads >= 2).sum())
    rank = accepted + 2 * (n_counted - bodies.size)
    degrees = reviews.n_items + 2 * n_counted - min(reviews.n_items, 2) - rank
    return Recoverability(rank, degrees, reviews, groups)


def play_all(game: Game, start: IntArray, item: IntArray) -> int:
    """Offer the reviews of all bodies; return the rank."""
    n_bodies = start.size - 1
    return play(game, start, item, np.arange(n_bodies), np.zeros(n_bodies, np.int64))


def _contracted(components: Components) -> tuple[IntArray, IntArray, IntArray]:
    """Covers of the components with two items or more, compressed, and which components they are."""
    bodies = np.flatnonzero(components.cover_sizes >= 2)
    keep = np.repeat(components.cover_sizes >= 2, components.cover_sizes)
    start = np.concatenate([np.zeros(1, np.int64), np.cumsum(components.cover_sizes[bodies])])
    return start, components.cover_item[keep], bodies


# All of it together, and the levels that hold.


@dataclass(frozen=True, eq=False, repr=False)
class Structure(Result):
    """Components, missing links and levels of a table, scores left aside.

    Parameters
    ----------
    reviews
        The reviews that count.
    connected
        Pieces of the reviewer-item graph.
    doubly_connected
        Doubly connected components and their certificate.
    recoverability
        Rank, degrees of freedom, blocks.
    """

    reviews: Reviews
    connected: Components
    doubly_connected: Components
    recoverability: Recoverability

    @property
    def recovery_resilient(self) -> bool:
        """Level ``double``: comparable for certain (Theorem 3.4)."""
        return self.doubly_connected.covers_all

    @property
    def recoverable(self) -> bool:
        """Level ``recoverable``: comparable unless qualities line up by coincidence."""
        return self.recoverability.recoverable

    @property
    def degrees_of_freedom(self) -> int:
        """Missing links."""
        return self.recoverability.degrees_of_freedom

    @property
    def is_connected(self) -> bool:
        """Level ``connected``: comparable only if reviewers differ just in severity."""
        return self.connected.is_one_piece

    @cached_property
    def survives_any_reviewer(self) -> bool:
        """Level ``survives-reviewer``: comparable for certain without any one reviewer."""
        return self.recovery_resilient and not Double().part("finder").critical_reviewers(self.reviews).size

    @cached_property
    def survives_any_review(self) -> bool:
        """Level ``survives-review``: comparable for certain without any one review."""
        return self.recovery_resilient and not Double().part("finder").critical_reviews(self.reviews).size

    @cached_property
    def level(self) -> str | None:
        """The name of the highest level that holds, or None."""
        level = highest(self)
        return None if level is None else level.name

    def to_dict(self) -> dict[str, Any]:
        """Return sizes and findings as the command's ``--json`` prints them."""
        return {
            "reviewers": self.reviews.n_reviewers,
            "items": self.reviews.n_items,
            "reviews": self.reviews.n_reviews,
            "connected": {"components": len(self.connected)},
            "doubly_connected": self.doubly_connected.to_dict(),
            "recovery_resilient": self.recovery_resilient,
            "recoverable": self.recoverable,
            "degrees_of_freedom": self.degrees_of_freedom,
            "level": self.level,
        }

    def groups(self) -> dict[str, list[Any]]:
        """Return columns role, label, group: one row per reviewer, and per paper in each of its groups.

        Groups are numbered by size, from 1; the group of a paper in none is None.
        """
        double = self.doubly_connected
        number = {component: rank for rank, component in enumerate(double.largest_first.tolist(), 1)}
        rows: list[tuple[str, Any, int | None]] = [
            ("reviewer", label, number.get(component))
            for label, component in zip(self.reviews.reviewers, double.labels.tolist(), strict=True)
        ]
        groups_of: list[list[int]] = [[] for _ in self.reviews.items]
        for component, rank in number.items():
            for item in double.covers[component].tolist():
                groups_of[item].append(rank)
        for label, numbers in zip(self.reviews.items, groups_of, strict=True):
            rows += [("item", label, rank) for rank in numbers] or [("item", label, None)]
        return {name: [row[column] for row in rows] for column, name in enumerate(("role", "label", "group"))}

    def to_columns(self) -> dict[str, list[Any]]:
        """Return one row per reviewer: reviews, piece (connected component), group (doubly connected component).

        Pieces and groups are numbered by size, from 1, as in :meth:`groups`.
        """
        return {
            "reviewer": list(self.reviews.reviewers),
            "reviews": self.reviews.loads.tolist(),
            "piece": by_size(self.connected),
            "group": by_size(self.doubly_connected),
        }

    def headline(self) -> str:
        """Return the level, and the number of missing links."""
        n_items = self.reviews.n_items
        missing = self.degrees_of_freedom
        lacking = f", {counted(missing, 'link')} missing" if missing else ""
        return f"{counted(n_items, 'item')}, {self.level or 'not connected'}{lacking}"


def by_size(components: Components) -> list[int]:
    """Return the number of each reviewer's component, the largest being 1."""
    number = np.empty(len(components), np.int64)
    number[components.largest_first] = np.arange(1, len(components) + 1)
    numbers: list[int] = number[components.labels].tolist()
    return numbers


def structure_of(reviews: ReviewsLike) -> Structure:
    """Compute components and missing links of a table, in near-linear time on real and random tables."""
    reviews = as_reviews(reviews)
    double = doubly_connected_components(reviews)
    return Structure(reviews, connected_components(reviews), double, recoverability(reviews, components=double))
