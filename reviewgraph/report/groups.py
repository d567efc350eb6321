"""The doubly connected components of a table by number, and their map: circles, linked by the papers they share.

A map is laid out component by component: a force-directed layout, stretched into its box, then circles that overlap are
pushed apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from reviewgraph._base.errors import InputError
from reviewgraph._base.labels import first_labels
from reviewgraph._base.text import listed
from reviewgraph.report.pictures import Drawing, Labels, legend, mark

if TYPE_CHECKING:
    import igraph

    from reviewgraph._base.arrays import BoolArray, FloatArray, IntArray
    from reviewgraph.graph.components import Structure


#: Part of the frame that circles fill.
FILLED = 0.13
#: Pixels between circles, and between components.
APART = 4.0
GUTTER = 14.0
#: The largest and the smallest circle.
LARGEST = 62.0
SMALLEST = 2.5
#: Part of the way by which nodes are moved to evenly spaced ranks.
EVEN = 0.25
#: Maximum steps of the layout per node.
STEPS = 10
#: Maximum rounds in which overlapping circles are pushed apart, and rounds times nodes.
ROUNDS = 150
MOVES = 40_000


def radii(sizes: IntArray, width: float) -> FloatArray:
    """Return radii whose areas are proportional to sizes, within what is visible and fits."""
    area = FILLED * width * frame_height(sizes.size, width) / (math.pi * max(float(sizes.sum()), 1.0))
    largest = min(LARGEST, width / 7)
    scale = min(math.sqrt(area), largest / math.sqrt(max(float(sizes.max(initial=1)), 1.0)))
    return np.maximum(scale * np.sqrt(sizes), SMALLEST)


def frame_height(n_groups: int, width: float) -> int:
    """Return a suitable height for a number of circles."""
    share = 0.42
    if n_groups > 60:
        share = 0.68
    elif n_groups > 12:
        share = 0.5
    return round(width * share * (1.3 if width < 500 else 1.0))


def lay_out(place: FloatArray, radius: FloatArray, piece: IntArray, width: float) -> tuple[FloatArray, float]:
    """Fit spread-out nodes with their circles into a frame, by component, number 0 first.

    Returns places, shape (n, 2), and the height of the frame.
    """
    places = np.zeros_like(place)
    pieces = [np.flatnonzero(piece == number) for number in range(int(piece.max(initial=-1)) + 1)]
    x = y = row = 0.0
    for nodes in pieces:
        # Its room is proportional to its circles, or the whole width if it has most of them.
        share = nodes.size / radius.size
        part = 1.0 if len(pieces) == 1 or share > 0.6 else math.sqrt(share)
        box = part * width, part * frame_height(radius.size, width)
        # Places from the upper left corner of the component.
        local = np.full((1, 2), radius[nodes[0]])
        if nodes.size > 1:
            local = _pushed_apart(_fitted(place[nodes], radius[nodes], box), radius[nodes], box)
            local = local - (local - radius[nodes, None]).min(axis=0)
        # Components are set in rows like words in a text.
        extent = (local + radius[nodes, None]).max(axis=0)
        if x and x + extent[0] > width:
            x = 0.0
            y = y + row + GUTTER
            row = 0.0
        places[nodes] = local + np.array([x, y])
        x = x + float(extent[0]) + GUTTER
        row = max(row, float(extent[1]))
    return places, y + row


def _spread(n: int, links: IntArray) -> FloatArray:
    """Return places of linked nodes near each other (Kamada and Kawai), without random numbers."""
    import igraph

    # From a sunflower; other layouts of igraph draw from its random numbers, which belong to the user.
    angle = np.arange(n) * math.pi * (3.0 - math.sqrt(5.0))
    seed = np.sqrt(np.arange(n) + 0.5)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    layout = igraph.Graph(n, links.tolist()).layout_kamada_kawai(seed=seed.tolist(), maxiter=STEPS * n)
    return np.array(layout.coords)


def _fitted(place: FloatArray, radius: FloatArray, box: tuple[float, float]) -> FloatArray:
    """Rotate the longer side to that of the box, and fill it with the circles' rims inside."""
    centred = place - place.mean(axis=0)
    turned = centred @ np.linalg.svd(centred, full_matrices=False)[2].T
    # Part of the way to evenly spaced ranks: outliers would squeeze all others together.
    rank = np.argsort(np.argsort(turned, axis=0, kind="stable"), axis=0, kind="stable") / max(len(place) - 1, 1)
    low = turned.min(axis=0)
    high = turned.max(axis=0)
    even = (1 - EVEN) * (turned - low) / np.where(high > low, high - low, 1.0) + EVEN * rank
    margin = radius[:, None]
    return np.asarray(margin + even * np.maximum(np.array(box) - 2 * margin, 0.0))


def _pushed_apart(place: FloatArray, radius: FloatArray, box: tuple[float, float]) -> FloatArray:
    """Push overlapping circles apart, each by half of the overlap, until none is left."""
    most = np.maximum(np.array(box) - radius[:, None], radius[:, None])
    from scipy.spatial import cKDTree

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


#: Groups up to which shared papers have marks of their own.
FEW = 40
#: Lines that labels do not cross, at most, and boxes along each.
LINES = 60
BOXES = 60
#: Labels beside circles, at most.
LABELS = 24
#: Groups labelled for their size on a map of many.
LARGE = 5
#: Radius from which a circle holds its number.
INSIDE = 9.0


@dataclass(frozen=True, eq=False)
class Groups:
    """What a map shows, groups from the largest on.

    ``sizes`` are papers per group (G,), ``names`` labels ("1: ann, bob"), ``links`` pairs of a group and a shared paper
    (L, 2), ``papers`` the names of the shared papers, ``piece`` the component of each group (G,), 0 for the largest.
    ``hanging`` are groups that one paper alone links (G,), ``cut`` the shared papers by which they hang. ``extra`` are
    links of planned reviews (K, 2): a group and another node, the shared papers numbered after the groups.
    """

    sizes: IntArray
    names: Sequence[str]
    links: IntArray
    papers: Sequence[str]
    piece: IntArray
    hanging: BoolArray
    cut: BoolArray
    extra: IntArray = field(default_factory=lambda: np.empty((0, 2), np.int64))

    @cached_property
    def thin(self) -> BoolArray:
        """Shape (L,): links by which groups hang."""
        return self.cut[self.links[:, 1]]

    @property
    def joined(self) -> IntArray:
        """Shape (L, 2): the links as pairs of nodes, groups first and then shared papers."""
        return np.asarray(self.links + np.array([0, len(self.names)]))

    @cached_property
    def pieces(self) -> IntArray:
        """Shape (G + number of shared papers,): the component of each node."""
        papers = np.zeros(len(self.papers), np.int64)
        papers[self.links[:, 1]] = self.piece[self.links[:, 0]]
        return np.concatenate([self.piece, papers])

    @cached_property
    def spread(self) -> FloatArray:
        """Places of the nodes before they are fitted into a frame, linked ones near each other, by component."""
        place = np.zeros((self.pieces.size, 2))
        links = self.joined
        for number in range(int(self.pieces.max(initial=-1)) + 1):
            nodes = np.flatnonzero(self.pieces == number)
            inner = np.isin(links[:, 0], nodes)
            if nodes.size > 1:
                place[nodes] = _spread(nodes.size, np.searchsorted(nodes, links[inner]))
        return place

    def __call__(self, width: int) -> Drawing:
        """Return the map as SVG."""
        n = len(self.names)
        few = n <= FEW
        radius = node_radii(self, width)
        size = radius[:n]
        links = self.joined
        place, height = lay_out(self.spread, radius, self.pieces, width - 2)
        meanings = [("group", "group, as large as its papers")]
        meanings += [("hanging", "hangs by one paper")] if self.hanging.any() else []
        meanings += [("apart", "cut off")] if self.piece.any() else []
        meanings += [("link extra", "extra review")] if self.extra.size else []
        drawing = Drawing(width, 0)
        top = legend(drawing, meanings) + 10
        drawing.height = top + height + 18
        place = place + np.array([1.0, top])
        _lines(drawing, place, links[~self.thin], "link" if len(links) < 600 else "link faint")
        _lines(drawing, place, links[self.thin], "link weak")
        _lines(drawing, place, self.extra, "link extra")
        if few:
            for name, cut, (x, y) in zip(self.papers, self.cut.tolist(), place[n:].tolist(), strict=True):
                mark(drawing, x, y, "diamond" if cut else "paper", name)
        kinds = kinds_of(self.piece, self.hanging)
        for number, ((x, y), rim) in enumerate(zip(place[:n].tolist(), size.tolist(), strict=True)):
            mark(drawing, x, y, kinds[number], self.names[number], rim)
            if rim >= INSIDE:
                drawing.text(x, y + 4, str(number + 1), f"inside {kinds[number]}", "middle")
        _labels(drawing, self, place if few else place[:n], radius if few else size, top - 6)
        return drawing

    def on(self, ax: Any, worded: Any) -> None:
        """Refuse axes: places on a map have no unit."""
        message = "plot: the map of groups has no axes, and is drawn as SVG alone; write it with save('map.svg')"
        raise InputError(message)


def node_radii(groups: Groups, width: float) -> FloatArray:
    """Return the radii of the circles of groups, then of the marks of shared papers."""
    few = len(groups.names) <= FEW
    return np.concatenate([radii(groups.sizes, width), np.full(len(groups.papers), 4.0 if few else 0.5)])


def kinds_of(piece: IntArray, hanging: BoolArray) -> list[str]:
    """Return the mark of each group: ``apart`` from the largest piece, ``hanging`` by one paper, or ``group``."""
    kinds: list[str] = np.where(piece > 0, "apart", np.where(hanging, "hanging", "group")).tolist()
    return kinds


def _lines(drawing: Drawing, place: FloatArray, links: IntArray, kind: str) -> None:
    ends = place[links].round(1).tolist()
    drawing.path("".join(f"M{a:g} {b:g}L{c:g} {d:g}" for (a, b), (c, d) in ends), kind)


def _along(ends: FloatArray) -> list[FloatArray]:
    """Return small boxes along lines between ends, shape (L, 2, 2); none where there are many lines."""
    if not 0 < len(ends) <= LINES:
        return []
    share = np.linspace(0.0, 1.0, BOXES)[:, np.newaxis, np.newaxis]
    points = (ends[:, 0] + share * (ends[:, 1] - ends[:, 0])).reshape(-1, 2)
    return [np.column_stack([points - 2.0, points + 2.0])]


def _labels(drawing: Drawing, groups: Groups, place: FloatArray, radius: FloatArray, top: float) -> None:
    """Write names beside circles, and papers by which groups hang, where there is room; weak ones first."""
    weak = groups.hanging | (groups.piece > 0)
    order = np.lexsort((np.arange(weak.size), -groups.sizes, ~weak))
    boxes = np.column_stack([place - radius[:, None], place + radius[:, None]])
    if len(groups.names) <= FEW:
        boxes = np.concatenate([boxes, *_along(place[groups.joined]), *_along(place[groups.extra])])
    labels = Labels(drawing, top, [(a, b, c, d) for a, b, c, d in boxes.tolist()])
    written = 0
    short = len(groups.names) > FEW
    for number in order.tolist():
        # On a map of many groups, numbers inside circles suffice, and well-linked small groups need no label.
        if written == LABELS or (short and (radius[number] >= INSIDE or not (weak[number] or number < LARGE))):
            continue
        words = groups.names[number].partition(":")[0] if short else groups.names[number]
        x, y = place[number].tolist()
        written += labels.write(x, y, words, float(radius[number]))
    for paper in np.flatnonzero(groups.cut).tolist() if not short else []:
        x, y = place[len(groups.names) + paper].tolist()
        labels.write(x, y, groups.papers[paper])


# The groups of a table.

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
