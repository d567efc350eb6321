"""The map of groups: circles for groups, lines for the papers they share, weak spots in a form of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from reviewgraph.report.pictures.layout import lay_out, radii, spread_out
from reviewgraph.report.pictures.marks import Labels, legend, mark
from reviewgraph.report.pictures.svg import Drawing

if TYPE_CHECKING:
    from reviewgraph.arrays import BoolArray, FloatArray, IntArray

#: Groups up to which shared papers have marks of their own.
FEW = 40
#: Labels beside circles, at most.
LABELS = 24
#: Groups that have labels for their size, on a map of many.
LARGE = 5
#: Radius from which a circle holds its number.
INSIDE = 9.0


@dataclass(frozen=True, eq=False)
class Groups:
    """What a map shows, groups from the largest on.

    Parameters
    ----------
    sizes
        Shape (G,): papers of each group.
    names
        What each is called: "1: ann, bob".
    links
        Shape (L, 2): a group and a shared paper, the papers numbered from 0.
    papers
        Names of the shared papers.
    piece
        Shape (G,): the piece of each group, 0 for the one with most groups' papers.
    hanging
        Shape (G,): groups that one paper alone links to the others.
    cut
        Shape (number of shared papers,): the papers by which groups hang.
    extra
        Shape (K, 2): what reviews that are not there yet would link, a group and another node, the shared papers
        numbered after the groups; none by default.
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
        """Shape (G + number of shared papers,): the piece of each node."""
        papers = np.zeros(len(self.papers), np.int64)
        papers[self.links[:, 1]] = self.piece[self.links[:, 0]]
        return np.concatenate([self.piece, papers])

    @cached_property
    def spread(self) -> FloatArray:
        """Places of the nodes before they are fitted into a frame; what hangs is drawn to what it hangs by."""
        return spread_out(self.joined, np.where(self.thin, 4.0, 1.0), self.pieces)


def group_map(groups: Groups, width: int) -> Drawing:
    """Draw the map.

    Parameters
    ----------
    groups
        What it shows.
    width
        Of the picture.
    """
    n, few = len(groups.names), len(groups.names) <= FEW
    size = radii(groups.sizes, width)
    radius = np.concatenate([size, np.full(len(groups.papers), 4.0 if few else 0.5)])
    links = groups.joined
    layout = lay_out(groups.spread, radius, groups.pieces, width - 2)
    drawing = Drawing(width, 0)
    top = legend(drawing, _meanings(groups)) + 10
    drawing.height = top + layout.height + 18
    place = layout.place + np.array([1.0, top])
    _lines(drawing, place, links[~groups.thin], "link" if len(links) < 600 else "link faint")
    _lines(drawing, place, links[groups.thin], "link weak")
    _lines(drawing, place, groups.extra, "link extra")
    if few:
        _papers(drawing, groups, place[n:])
    _circles(drawing, groups, place[:n], size)
    _labels(drawing, groups, place if few else place[:n], radius if few else size, top - 6)
    return drawing


def _meanings(groups: Groups) -> list[tuple[str, str]]:
    entries = [("group", "group, as large as its papers")]
    entries += [("hanging", "hangs by one paper")] if groups.hanging.any() else []
    entries += [("apart", "cut off")] if groups.piece.any() else []
    entries += [("extra", "extra review")] if groups.extra.size else []
    return entries


def _lines(drawing: Drawing, place: FloatArray, links: IntArray, kind: str) -> None:
    ends = place[links].round(1).tolist()
    drawing.path("".join(f"M{a:g} {b:g}L{c:g} {d:g}" for (a, b), (c, d) in ends), kind)


def _papers(drawing: Drawing, groups: Groups, place: FloatArray) -> None:
    for name, cut, (x, y) in zip(groups.papers, groups.cut.tolist(), place.tolist(), strict=True):
        mark(drawing, x, y, "diamond" if cut else "paper", name)


def kinds_of(groups: Groups) -> list[str]:
    """Return how each group is linked: "group" where well, "hanging", or "apart" from the largest piece."""
    states = zip(groups.piece.tolist(), groups.hanging.tolist(), strict=True)
    return ["apart" if piece else "hanging" if hanging else "group" for piece, hanging in states]


def _circles(drawing: Drawing, groups: Groups, place: FloatArray, radius: FloatArray) -> None:
    kinds = kinds_of(groups)
    for number, ((x, y), size) in enumerate(zip(place.tolist(), radius.tolist(), strict=True)):
        mark(drawing, x, y, kinds[number], groups.names[number], size)
        if size >= INSIDE:
            drawing.text(x, y + 4, str(number + 1), f"inside {kinds[number]}", "middle")


def _labels(drawing: Drawing, groups: Groups, place: FloatArray, radius: FloatArray, top: float) -> None:
    """Write names beside circles, and papers by which groups hang, where there is room; those of weak spots first."""
    weak = groups.hanging | (groups.piece > 0)
    order = np.lexsort((np.arange(weak.size), -groups.sizes, ~weak))
    boxes = np.column_stack([place - radius[:, None], place + radius[:, None]]).tolist()
    labels, written = Labels(drawing, top, [(a, b, c, d) for a, b, c, d in boxes]), 0
    short = len(groups.names) > FEW
    for number in order.tolist():
        # On a map of many, numbers that stand in their circles suffice, and so does the place of who is well linked.
        if written == LABELS or (short and (radius[number] >= INSIDE or not (weak[number] or number < LARGE))):
            continue
        words = groups.names[number].partition(":")[0] if short else groups.names[number]
        x, y = place[number].tolist()
        written += labels.write(x, y, words, float(radius[number]))
    for paper in np.flatnonzero(groups.cut).tolist() if not short else []:
        x, y = place[len(groups.names) + paper].tolist()
        labels.write(x, y, groups.papers[paper])
