"""The doubly connected components of a table by number, as maps and tables name them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from reviewgraph._base.labels import first_labels
from reviewgraph._base.text import listed
from reviewgraph.report.groups import Groups, kinds_of

if TYPE_CHECKING:
    import igraph

    from reviewgraph._base.arrays import BoolArray, IntArray
    from reviewgraph.graph.components import Structure


#: Groups that a map shows.
MOST = 600
#: Reviewers in the name of a group.
TOLD = 3
#: How a group is linked, in words, by the map's kinds.
LINKED = {"group": "by several papers", "hanging": "hangs by one paper", "apart": "cut off"}
#: How the only group of the first kind is linked, if there are others.
ALONE = "largest part"


@dataclass(frozen=True, eq=False)
class Grouping:
    """The doubly connected components of two papers or more, numbered from 1 by size, ``order`` their indices.

    Components of one paper link nothing.
    """

    structure: Structure
    order: IntArray

    def __len__(self) -> int:
        return int(self.order.size)

    @cached_property
    def number(self) -> IntArray:
        """Number of each component, 0 for one of a single paper."""
        number = np.zeros(len(self.structure.doubly_connected), np.int64)
        number[self.order] = np.arange(1, self.order.size + 1)
        return number

    @property
    def sizes(self) -> IntArray:
        """Papers per group."""
        return self.structure.doubly_connected.cover_sizes[self.order]

    @cached_property
    def piece(self) -> IntArray:
        """Connected component of each group, 0 for the one of most papers."""
        components = self.structure.doubly_connected
        connected = self.structure.connected
        rank = np.empty(len(connected), np.int64)
        rank[connected.largest_first] = np.arange(len(connected))
        of = np.zeros(len(components), np.int64)
        of[components.labels] = rank[connected.labels]
        return np.unique(of[self.order], return_inverse=True)[1]

    @cached_property
    def _shares(self) -> tuple[IntArray, IntArray]:
        """Pairs of a group and a paper that at least two groups cover."""
        components = self.structure.doubly_connected
        group = self.number[np.repeat(np.arange(len(components)), components.cover_sizes)] - 1
        item = components.cover_item[group >= 0]
        group = group[group >= 0]
        shared = np.bincount(item, minlength=self.structure.reviews.n_items)[item] > 1
        return group[shared], item[shared]

    @cached_property
    def cut(self) -> IntArray:
        """Papers by which groups hang, ascending: articulation points of the graph of groups and papers."""
        group, item = self._shares
        papers, place = np.unique(item, return_inverse=True)
        points = np.array(self._graph(group, place, papers.size).articulation_points(), np.int64)
        return papers[np.sort(points[points >= len(self)]) - len(self)]

    @cached_property
    def hanging(self) -> BoolArray:
        """Groups of the largest component that one paper alone links to the part with most papers."""
        group, item = self._shares
        stay = ~np.isin(item, self.cut)
        papers, place = np.unique(item[stay], return_inverse=True)
        part = np.array(self._graph(group[stay], place, papers.size).connected_components().membership, np.int64)
        part = part[: len(self)]
        weight = np.bincount(part, weights=np.where(self.piece == 0, self.sizes, 0))
        apart: BoolArray = (self.piece == 0) & (part != (int(weight.argmax()) if weight.size else 0))
        return apart

    def _graph(self, group: IntArray, paper: IntArray, papers: int) -> igraph.Graph:
        import igraph

        return igraph.Graph(len(self) + papers, np.column_stack([group, len(self) + paper]).tolist())

    def map(self, extra: IntArray | None = None) -> Groups:
        """Return the map of the largest groups.

        ``extra`` are reviewers and items of planned reviews, shape (P, 2); with their links weak spots are not marked.
        """
        reviews = self.structure.reviews
        components = self.structure.doubly_connected
        group, item = self._shares
        shown = group < MOST
        papers, place, count = np.unique(item[shown], return_inverse=True, return_counts=True)
        kept = count[place] > 1
        group = group[shown][kept]
        item = item[shown][kept]
        papers, place = np.unique(item, return_inverse=True)
        names = []
        for number, component in enumerate(self.order[:MOST].tolist(), 1):
            members = np.flatnonzero(components.labels == component)
            names.append(f"{number}: {listed(first_labels(reviews.reviewers, members, TOLD + 1), TOLD)}")
        shown_groups = Groups(
            sizes=self.sizes[:MOST],
            names=names,
            links=np.column_stack([group, place]),
            papers=[str(reviews.items[i]) for i in papers.tolist()],
            piece=np.unique(self.piece[:MOST], return_inverse=True)[1],
            hanging=self.hanging[:MOST],
            cut=np.isin(papers, self.cut),
        )
        if extra is None:
            return shown_groups
        none = np.zeros(len(names), np.bool_)
        joined = self._joined(extra, papers, len(names))
        return replace(shown_groups, hanging=none, cut=np.zeros_like(shown_groups.cut), extra=joined)

    def _joined(self, extra: IntArray, papers: IntArray, n: int) -> IntArray:
        """Return the groups of reviewers with the nodes of their papers, where both are shown and differ.

        The node of a paper that several groups share is its own, otherwise that of the group that covers it.
        """
        reviews = self.structure.reviews
        components = self.structure.doubly_connected
        group = self.number[np.repeat(np.arange(len(components)), components.cover_sizes)] - 1
        shown = (group >= 0) & (group < n)
        node = np.full(reviews.n_items, -1)
        node[components.cover_item[shown]] = group[shown]
        node[papers] = n + np.arange(papers.size)
        pairs = np.column_stack([self.number[components.labels[extra[:, 0]]] - 1, node[extra[:, 1]]])
        shown_pairs = (pairs[:, 0] >= 0) & (pairs[:, 0] < n) & (pairs[:, 1] >= 0) & (pairs[:, 0] != pairs[:, 1])
        return np.asarray(pairs[shown_pairs])

    @property
    def linked(self) -> list[str]:
        """How each group is linked, in words."""
        kinds = kinds_of(self.piece, self.hanging)
        # A group that all others hang on, or are cut off from, shares several papers with none.
        alone = len(kinds) > 1 and kinds.count("group") == 1
        return [ALONE if alone and kind == "group" else LINKED[kind] for kind in kinds]


def grouping_of(structure: Structure) -> Grouping:
    """Return the groups of a table by number.

    >>> from reviewgraph import Reviews
    >>> from reviewgraph.graph.components import structure_of
    >>> rows = [("ann", 1), ("ann", 2), ("ann", 3), ("bob", 3), ("bob", 4), ("cleo", 5), ("cleo", 6), ("dan", 6)]
    >>> groups = grouping_of(structure_of(Reviews(rows)))
    >>> groups.sizes.tolist(), groups.linked
    ([3, 2, 2], ['largest part', 'hangs by one paper', 'cut off'])
    """
    components = structure.doubly_connected
    order = components.largest_first
    return Grouping(structure, order[components.cover_sizes[order] > 1])
