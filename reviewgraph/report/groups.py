"""The doubly connected components of a table by number, and their map: circles, linked by the papers they share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from reviewgraph._base.arrays import FloatArray, IntArray
from reviewgraph._base.errors import InputError
from reviewgraph._base.labels import first_labels
from reviewgraph._base.text import listed
from reviewgraph.graph.components import Structure, by_size
from reviewgraph.report.pictures import Drawing, Labels, legend, mark

#: Part of the frame that circles fill, and pixels between them.
FILLED = 0.13
APART = 4.0
#: The largest and the smallest circle, and the radius from which one holds its number.
LARGEST = 62.0
SMALLEST = 2.5
INSIDE = 9.0
#: Part of the way by which many nodes are moved to evenly spaced ranks, and least part of the box that nodes fill.
EVEN = 0.5
THIN = 0.4
#: Maximum steps of the layout per node.
STEPS = 10
#: Maximum rounds in which overlapping circles are pushed apart, and rounds times nodes.
ROUNDS = 150
MOVES = 40_000
#: Nodes that all have labels, groups up to which shared papers have marks of their own, and groups that a map shows.
LABELLED = 12
FEW = 40
MOST = 600
#: Reviewers in the name of a group.
NAMED = 3


class Groups(NamedTuple):
    """The doubly connected components of two papers or more, the largest first; those of one paper link nothing."""

    order: IntArray  # Shape (G,): which components they are
    number: IntArray  # Shape (C,): number of each component from 1, 0 for one of a single paper
    sizes: IntArray  # Shape (G,): papers of each group
    island: IntArray  # Shape (G,): number of the connected component of each group, 1 for that of most papers


def groups_of(structure: Structure) -> Groups:
    """Return the groups of a table.

    >>> from reviewgraph import Reviews
    >>> from reviewgraph.graph.components import structure_of
    >>> rows = [("ann", 1), ("ann", 2), ("ann", 3), ("bob", 3), ("bob", 4), ("cleo", 5), ("cleo", 6), ("dan", 6)]
    >>> groups = groups_of(structure_of(Reviews(rows)))
    >>> groups.sizes.tolist(), groups.island.tolist()
    ([3, 2, 2], [1, 1, 2])
    """
    components = structure.doubly_connected
    order = components.largest_first
    order = order[components.cover_sizes[order] > 1]
    number = np.zeros(len(components), np.int64)
    number[order] = np.arange(1, order.size + 1)
    island = np.zeros(len(components), np.int64)
    island[components.labels] = by_size(structure.connected)
    return Groups(order, number, components.cover_sizes[order], island[order])


@dataclass(frozen=True, eq=False)
class Map:
    """What a map shows: ``sizes``, ``islands`` and ``names`` ("1: ann, bob") of groups (G,), the largest first.

    ``papers`` are the names of the papers that groups share, nodes numbered after the groups, ``links`` pairs of a
    group and such a paper (L, 2), and ``extra`` planned reviews, pairs of a group and another node (K, 2).
    """

    sizes: IntArray
    islands: IntArray
    names: Sequence[str]
    papers: Sequence[str]
    links: IntArray
    extra: IntArray

    def on(self, ax: Any, worded: Any) -> None:
        """Refuse axes: places on a map have no unit."""
        message = "plot: the map of groups has no axes, and is drawn as SVG alone; write it with save('map.svg')"
        raise InputError(message)

    @cached_property
    def spread(self) -> FloatArray:
        """Places of linked nodes near each other (Kamada and Kawai), without random numbers; shape (nodes, 2)."""
        import igraph

        n = len(self.names) + len(self.papers)
        # From a sunflower; other layouts of igraph draw from its random numbers, which belong to the user.
        angle = np.arange(n) * math.pi * (3.0 - math.sqrt(5.0))
        seed = np.sqrt(np.arange(n) + 0.5)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
        layout = igraph.Graph(n, self.links.tolist()).layout_kamada_kawai(seed=seed.tolist(), maxiter=STEPS * n)
        return np.array(layout.coords)

    def __call__(self, width: int) -> Drawing:
        """Return the map as SVG."""
        n = len(self.names)
        drawing = Drawing(width, 0)
        meanings = [("group", "group, as large as its papers")]
        meanings += [("apart", "on another island")] if (self.islands > 1).any() else []
        meanings += [("link extra", "extra review")] if self.extra.size else []
        top = legend(drawing, meanings) + 10
        box = (width - 2.0, _height(n, width))
        drawing.height = top + box[1] + 8
        # Circles, whose areas are proportional to papers, and marks of shared papers are fitted into the box.
        radius = np.concatenate([_radii(self.sizes, *box), np.full(len(self.papers), 4.0 if n <= FEW else 0.5)])
        place = _pushed_apart(_fitted(self.spread, radius, box), radius, box) + np.array([1.0, top])
        _lines(drawing, place[self.links], "link" if len(self.links) < 600 else "link faint")
        _lines(drawing, place[self.extra], "link extra")
        if n <= FEW:
            for name, (x, y) in zip(self.papers, place[n:].tolist(), strict=True):
                mark(drawing, x, y, "paper", name)
        for number, ((x, y), rim) in enumerate(zip(place[:n].tolist(), radius[:n].tolist(), strict=True)):
            kind = "apart" if self.islands[number] > 1 else "group"
            mark(drawing, x, y, kind, self.names[number], rim)
            if rim >= INSIDE:
                drawing.text(x, y + 4, str(number + 1), f"inside {kind}", "middle")
        if radius.size <= LABELLED:
            margin = radius[:, None]
            labels = Labels(drawing, top, list(map(tuple, np.hstack([place - margin, place + margin]).tolist())))
            for name, (x, y), rim in zip([*self.names, *self.papers], place.tolist(), radius.tolist(), strict=True):
                labels.write(x, y, name, rim)
        return drawing


def map_of(structure: Structure, extra: IntArray | None = None) -> Map:
    """Return the map of the largest groups; ``extra`` are reviewers and items of planned reviews, shape (K, 2)."""
    reviews = structure.reviews
    components = structure.doubly_connected
    groups = groups_of(structure)
    n = min(groups.order.size, MOST)
    names = []
    for number, component in enumerate(groups.order[:n].tolist(), 1):
        members = np.flatnonzero(components.labels == component)
        names.append(f"{number}: {listed(first_labels(reviews.reviewers, members, NAMED + 1), NAMED)}")
    # The papers that the groups shown cover, and those that two of them share.
    group = groups.number[np.repeat(np.arange(len(components)), components.cover_sizes)] - 1
    shown = (group >= 0) & (group < n)
    group = group[shown]
    item = components.cover_item[shown]
    is_shared = np.bincount(item, minlength=reviews.n_items)[item] > 1
    papers, place = np.unique(item[is_shared], return_inverse=True)
    # The node of a paper that groups share is its own, otherwise that of the group that covers it.
    node = np.full(reviews.n_items, -1)
    node[item] = group
    node[papers] = n + np.arange(papers.size)
    pairs = np.empty((0, 2), np.int64)
    if extra is not None:
        pairs = np.column_stack([groups.number[components.labels[extra[:, 0]]] - 1, node[extra[:, 1]]])
        pairs = pairs[(pairs >= 0).all(axis=1) & (pairs[:, 0] < n) & (pairs[:, 0] != pairs[:, 1])]
    return Map(
        groups.sizes[:n],
        groups.island[:n],
        names,
        [str(reviews.items[code]) for code in papers.tolist()],
        np.column_stack([group[is_shared], n + place]),
        pairs,
    )


def _height(n_groups: int, width: float) -> int:
    """Return a suitable height for a number of circles."""
    share = 0.42
    if n_groups > 60:
        share = 0.68
    elif n_groups > 12:
        share = 0.5
    return round(width * share * (1.3 if width < 500 else 1.0))


def _radii(sizes: IntArray, width: float, height: float) -> FloatArray:
    """Return radii whose areas are proportional to sizes, within what is visible and fits."""
    area = FILLED * width * height / (math.pi * max(float(sizes.sum()), 1.0))
    largest = min(LARGEST, width / 7)
    scale = min(math.sqrt(area), largest / math.sqrt(float(sizes.max(initial=1))))
    return np.maximum(scale * np.sqrt(sizes), SMALLEST)


def _fitted(place: FloatArray, radius: FloatArray, box: tuple[float, float]) -> FloatArray:
    """Rotate the longer side to that of the box, and fill it with the circles' rims inside; for two nodes or more."""
    centred = place - place.mean(axis=0)
    turned = centred @ np.linalg.svd(centred, full_matrices=False)[2].T
    # From 0 to 1 in each direction, and less in one in which nodes hardly differ.
    extent = np.ptp(turned, axis=0)
    share = 0.5 + (turned - turned.min(axis=0) - extent / 2) / np.maximum(extent, THIN * extent.max())
    if len(place) > FEW:
        # Part of the way to evenly spaced ranks: outliers would squeeze all others together.
        rank = np.argsort(np.argsort(turned, axis=0, kind="stable"), axis=0, kind="stable") / (len(place) - 1)
        share = (1 - EVEN) * share + EVEN * rank
    margin = radius[:, None]
    return np.asarray(margin + share * np.maximum(np.array(box) - 2 * margin, 0.0))


def _pushed_apart(place: FloatArray, radius: FloatArray, box: tuple[float, float]) -> FloatArray:
    """Push overlapping circles apart, each by half of the overlap, until none is left."""
    from scipy.spatial import cKDTree

    most = np.maximum(np.array(box) - radius[:, None], radius[:, None])
    for _ in range(min(ROUNDS, MOVES // radius.size)):
        pairs = cKDTree(place).query_pairs(2 * radius.max() + APART, output_type="ndarray")
        first, second = pairs[np.lexsort(pairs.T)].T
        between = place[first] - place[second]
        distance = np.maximum(np.hypot(*between.T), 1e-6)
        lack = radius[first] + radius[second] + APART - distance
        near = lack > 0
        if not near.any():
            break
        push = (0.5 * lack / distance)[near, None] * between[near]
        np.add.at(place, first[near], push)
        np.subtract.at(place, second[near], push)
        place = np.clip(place, radius[:, None], most)
    return place


def _lines(drawing: Drawing, ends: FloatArray, kind: str) -> None:
    drawing.path("".join(f"M{a:g} {b:g}L{c:g} {d:g}" for (a, b), (c, d) in ends.round(1).tolist()), kind)
