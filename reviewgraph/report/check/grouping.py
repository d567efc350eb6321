"""Groups of reviewers by number, how they are linked, and which of them are weakly so."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from reviewgraph.labels import first_labels
from reviewgraph.report.pictures.groups import Groups
from reviewgraph.words import listed

if TYPE_CHECKING:
    import igraph

    from reviewgraph.arrays import BoolArray, IntArray
    from reviewgraph.structure import Structure

#: Groups that a map shows.
MOST = 600
#: Reviewers that the name of a group tells.
TOLD = 3

#: How a group is linked, in words, by what the map calls it.
LINKED = {"group": "by several papers", "hanging": "hangs by one paper", "apart": "cut off"}


@dataclass(frozen=True, eq=False)
class Grouping:
    """The doubly connected components of a table, those of one paper aside: they link nothing.

    Parameters
    ----------
    structure
        Of the table.
    order
        Components of two papers or more, the largest first; a group's number is its place, from 1.
    """

    structure: Structure
    order: IntArray

    def __len__(self) -> int:
        return int(self.order.size)

    @cached_property
    def number(self) -> IntArray:
        """Number of each component, 0 for one of a single paper."""
        found = np.zeros(len(self.structure.doubly_connected), np.int64)
        found[self.order] = np.arange(1, self.order.size + 1)
        return found

    @property
    def sizes(self) -> IntArray:
        """Papers of each group."""
        return self.structure.doubly_connected.cover_sizes[self.order]

    @property
    def reviewers(self) -> IntArray:
        """Reviewers of each group."""
        return self.structure.doubly_connected.sizes[self.order]

    @cached_property
    def piece(self) -> IntArray:
        """Piece of each group, 0 for the one of most papers."""
        components, connected = self.structure.doubly_connected, self.structure.connected
        rank = np.empty(len(connected), np.int64)
        rank[connected.largest_first] = np.arange(len(connected))
        of = np.zeros(len(components), np.int64)
        of[components.labels] = rank[connected.labels]
        return np.unique(of[self.order], return_inverse=True)[1]

    @cached_property
    def _shares(self) -> tuple[IntArray, IntArray]:
        """Groups and papers, pair by pair, where at least two groups cover the paper."""
        components = self.structure.doubly_connected
        group = self.number[np.repeat(np.arange(len(components)), components.cover_sizes)] - 1
        item = components.cover_item[group >= 0]
        group = group[group >= 0]
        shared = np.bincount(item, minlength=self.structure.reviews.n_items)[item] > 1
        return group[shared], item[shared]

    @cached_property
    def cut(self) -> IntArray:
        """Papers by which groups hang, ascending: without one of them what is linked falls apart."""
        group, item = self._shares
        papers, place = np.unique(item, return_inverse=True)
        found = np.array(self._graph(group, place, papers.size).articulation_points(), np.int64)
        return papers[np.sort(found[found >= len(self)]) - len(self)]

    @cached_property
    def hanging(self) -> BoolArray:
        """Groups of the largest piece that one paper alone links to the part with most papers."""
        group, item = self._shares
        stay = ~np.isin(item, self.cut)
        papers, place = np.unique(item[stay], return_inverse=True)
        part = np.array(self._graph(group[stay], place, papers.size).connected_components().membership, np.int64)
        part = part[: len(self)]
        weight = np.bincount(part, weights=np.where(self.piece == 0, self.sizes, 0))
        found: BoolArray = (self.piece == 0) & (part != (int(weight.argmax()) if weight.size else 0))
        return found

    def _graph(self, group: IntArray, paper: IntArray, papers: int) -> igraph.Graph:
        import igraph

        return igraph.Graph(len(self) + papers, np.column_stack([group, len(self) + paper]).tolist())

    def map(self, extra: IntArray | None = None) -> Groups:
        """Return what the map shows: the largest groups, as many as it holds.

        Parameters
        ----------
        extra
            Shape (P, 2): reviewers and items of reviews that are not there yet, with whose links weak spots are not
            marked; none by default.
        """
        reviews, components = self.structure.reviews, self.structure.doubly_connected
        group, item = self._shares
        shown = group < MOST
        papers, place, count = np.unique(item[shown], return_inverse=True, return_counts=True)
        kept = count[place] > 1
        group, item = group[shown][kept], item[shown][kept]
        papers, place = np.unique(item, return_inverse=True)
        names = []
        for number, component in enumerate(self.order[:MOST].tolist(), 1):
            members = np.flatnonzero(components.labels == component)
            names.append(f"{number}: {listed(first_labels(reviews.reviewers, members, TOLD + 1), TOLD)}")
        found = Groups(
            sizes=self.sizes[:MOST],
            names=names,
            links=np.column_stack([group, place]),
            papers=[str(reviews.items[i]) for i in papers.tolist()],
            piece=np.unique(self.piece[:MOST], return_inverse=True)[1],
            hanging=self.hanging[:MOST],
            cut=np.isin(papers, self.cut),
        )
        if extra is None:
            return found
        none, joined = np.zeros(len(names), np.bool_), self._joined(extra, papers, len(names))
        return replace(found, hanging=none, cut=np.zeros_like(found.cut), extra=joined)

    def _joined(self, extra: IntArray, papers: IntArray, n: int) -> IntArray:
        """Return the groups of reviewers with the nodes of their papers, where both are shown and apart.

        That of a paper which several groups share is its own, that of another the group that covers it.
        """
        reviews, components = self.structure.reviews, self.structure.doubly_connected
        group = self.number[np.repeat(np.arange(len(components)), components.cover_sizes)] - 1
        shown = (group >= 0) & (group < n)
        node = np.full(reviews.n_items, -1)
        node[components.cover_item[shown]] = group[shown]
        node[papers] = n + np.arange(papers.size)
        pairs = np.column_stack([self.number[components.labels[extra[:, 0]]] - 1, node[extra[:, 1]]])
        there = (pairs[:, 0] >= 0) & (pairs[:, 0] < n) & (pairs[:, 1] >= 0) & (pairs[:, 0] != pairs[:, 1])
        return np.asarray(pairs[there])

    @property
    def linked(self) -> list[str]:
        """How each group is linked, in words, as the map's kinds of circles say it."""
        states = zip(self.piece.tolist(), self.hanging.tolist(), strict=True)
        return [LINKED["apart" if piece else "hanging" if hanging else "group"] for piece, hanging in states]


def grouping_of(structure: Structure) -> Grouping:
    """Return the groups of a table by number.

    >>> from reviewgraph import Reviews
    >>> from reviewgraph.structure import structure_of
    >>> rows = [("ann", 1), ("ann", 2), ("ann", 3), ("bob", 3), ("bob", 4), ("cleo", 5), ("cleo", 6), ("dan", 6)]
    >>> groups = grouping_of(structure_of(Reviews.from_pairs(rows)))
    >>> groups.sizes.tolist(), groups.linked
    ([3, 2, 2], ['by several papers', 'hangs by one paper', 'cut off'])
    """
    components = structure.doubly_connected
    order = components.largest_first
    return Grouping(structure, order[components.cover_sizes[order] > 1])
