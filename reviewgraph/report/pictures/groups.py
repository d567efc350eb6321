"""The map of groups: circles for groups, lines for the papers they share, weak spots in a form of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from reviewgraph.report.pictures.layout import lay_out, radii, spread_out
from reviewgraph.report.pictures.svg import LETTER, LINE, Drawing

if TYPE_CHECKING:
    from reviewgraph.arrays import BoolArray, FloatArray, IntArray

#: Groups up to which shared papers have marks of their own.
FEW = 40
#: Labels beside circles, at most.
LABELS = 24
#: Groups that have labels for their size, on a map of many.
LARGE = 5
#: Room above the map, for what marks mean.
TOP = 34


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
    """

    sizes: IntArray
    names: Sequence[str]
    links: IntArray
    papers: Sequence[str]
    piece: IntArray
    hanging: BoolArray
    cut: BoolArray

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
    place = layout.place + np.array([1.0, TOP])
    drawing = Drawing(width, TOP + layout.height + 4)
    _legend(drawing, groups, few)
    _lines(drawing, place, links[~groups.thin], "link" if len(links) < 600 else "link faint")
    _lines(drawing, place, links[groups.thin], "link weak")
    if few:
        _papers(drawing, groups, place[n:])
    _circles(drawing, groups, place[:n], size)
    _labels(drawing, groups, place[:n], size)
    return drawing


def _legend(drawing: Drawing, groups: Groups, few: bool) -> None:
    x = 8.0
    entries = [("group", "group, as large as its papers")]
    entries += [("hanging", "hangs by one paper")] if groups.hanging.any() else []
    entries += [("apart", "cut off")] if groups.piece.any() else []
    # On a phone the first entry alone fills a line.
    y = 10.0
    for kind, words in entries:
        if x + LETTER * len(words) + 20 > drawing.width:
            x, y = 8.0, y + LINE + 1
        _mark(drawing, kind, x, y, 5.0)
        drawing.text(x + 10, y + 4, words, "tick")
        x += LETTER * len(words) + 34


def _mark(drawing: Drawing, kind: str, x: float, y: float, radius: float, told: str = "") -> None:
    if kind == "apart":
        side = 1.77 * radius  # of equal area
        drawing.box(x - side / 2, y - side / 2, side, side, "apart", told)
    else:
        drawing.circle(x, y, radius, kind, told)


def _lines(drawing: Drawing, place: FloatArray, links: IntArray, kind: str) -> None:
    ends = place[links].round(1).tolist()
    drawing.path("".join(f"M{a:g} {b:g}L{c:g} {d:g}" for (a, b), (c, d) in ends), kind)


def _papers(drawing: Drawing, groups: Groups, place: FloatArray) -> None:
    for name, cut, (x, y) in zip(groups.papers, groups.cut.tolist(), place.tolist(), strict=True):
        drawing.path(f"M{x:.1f} {y - 4.5:.1f}l4.5 4.5-4.5 4.5-4.5-4.5z", "paper weak" if cut else "paper", name)
        if cut:
            drawing.text(x + 8, y - 5, name, "label tick")


def kinds_of(groups: Groups) -> list[str]:
    """Return how each group is linked: "group" where well, "hanging", or "apart" from the largest piece."""
    states = zip(groups.piece.tolist(), groups.hanging.tolist(), strict=True)
    return ["apart" if piece else "hanging" if hanging else "group" for piece, hanging in states]


def _circles(drawing: Drawing, groups: Groups, place: FloatArray, radius: FloatArray) -> None:
    kinds = kinds_of(groups)
    for number, ((x, y), size) in enumerate(zip(place.tolist(), radius.tolist(), strict=True)):
        _mark(drawing, kinds[number], x, y, size, groups.names[number])
        if size >= 9:
            drawing.text(x, y + 4, str(number + 1), f"inside {kinds[number]}", "middle")


def _labels(drawing: Drawing, groups: Groups, place: FloatArray, radius: FloatArray) -> None:
    """Write names beside circles where there is room, those of weak spots first."""
    weak = groups.hanging | (groups.piece > 0)
    order = np.lexsort((np.arange(weak.size), -groups.sizes, ~weak))
    boxes = np.column_stack([place - radius[:, None], place + radius[:, None]])
    taken = [tuple(box) for box in boxes.tolist()]
    written = 0
    for number in order.tolist():
        if written == LABELS:
            break
        short = len(groups.names) > FEW
        words = groups.names[number].partition(":")[0] if short else groups.names[number]
        if short and (radius[number] >= 9 or not (weak[number] or number < LARGE)):
            continue
        (x, y), size = place[number].tolist(), float(radius[number])
        spot = _free(x, y, size, LETTER * len(words), taken, drawing)
        if spot is not None:
            drawing.text(spot[0], spot[3] - 4, words, "label")
            taken.append(spot)
            written += 1


def _free(
    x: float, y: float, radius: float, length: float, taken: list[tuple[float, ...]], drawing: Drawing
) -> tuple[float, float, float, float] | None:
    """Return the first box beside a circle that lies within the picture and on no other box; None if there is none."""
    half, off = LINE / 2, radius + 5
    corners = [
        (x + off, y - half),
        (x - off - length, y - half),
        (x - length / 2, y + off - 2),
        (x - length / 2, y - off - LINE + 2),
    ]
    for left, top in corners:
        box = (left, top, left + length, top + LINE)
        inside = box[0] >= 0 and box[2] <= drawing.width and box[1] >= TOP - 4 and box[3] <= drawing.height
        if inside and not any(_overlap(box, other) for other in taken):
            return box
    return None


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    # Two labels on one line need a gap, or they read as one.
    return one[0] - 4 < other[2] and other[0] < one[2] + 4 and one[1] < other[3] and other[1] < one[3]
