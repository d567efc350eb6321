"""Marks that are told apart by their form, what they mean, and labels that find room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from reviewgraph.report.pictures.svg import LETTER, LINE, Drawing

#: Left, top, right, bottom.
Box: TypeAlias = tuple[float, float, float, float]

#: Marks up to which each tells what it is to who points at it; more become one path.
NAMED = 400


def mark(drawing: Drawing, x: float, y: float, kind: str, told: str = "", size: float = 3.5) -> None:
    """Draw a mark: ``cross``, ``apart`` (a square), ``up``, ``down``, ``diamond``, ``paper``, ``extra`` (a line).

    Anything else is a circle.
    """
    if kind == "cross":
        drawing.path(f"M{x - 2.5:.1f} {y - 2.5:.1f}l5 5m0-5l-5 5", kind, told)
    elif kind in ("diamond", "paper"):
        drawing.path(f"M{x:.1f} {y - 4.5:.1f}l4.5 4.5-4.5 4.5-4.5-4.5z", kind, told)
    elif kind in ("up", "down"):
        turn = 1 if kind == "up" else -1
        drawing.path(f"M{x:.1f} {y - 5 * turn:.1f}l5 {9 * turn}h-10z", kind, told)
    elif kind == "extra":
        drawing.line(x - 6, y, x + 7, y, "link extra", told)
    elif kind == "apart":
        side = 1.77 * size  # of equal area
        drawing.box(x - side / 2, y - side / 2, side, side, kind, told)
    else:
        drawing.circle(x, y, size, kind, told)


def series(drawing: Drawing, places: Sequence[tuple[float, float]], kind: str, told: Sequence[str]) -> None:
    """Draw marks of one kind, as one path where they are many and nobody could point at them."""
    if len(places) > NAMED and kind in ("dot", "hollow", "cross"):
        drawing.dots(places, kind)
        return
    for (x, y), words in zip(places, told, strict=True):
        mark(drawing, x, y, kind, words, 3.0)


def legend(drawing: Drawing, entries: Sequence[tuple[str, str]], top: float = 10.0) -> float:
    """Write what marks mean, in as many lines as it takes; returns the height below them."""
    x, y = 8.0, top
    for kind, words in entries:
        length = LETTER * len(words)
        if x > 8.0 and x + length + 12 > drawing.width:
            x, y = 8.0, y + LINE + 2
        mark(drawing, x, y, kind)
        drawing.text(x + 10, y + 4, words, "tick")
        x += length + 30
    return y + 12


class Labels:
    """Writes labels beside marks, where they lie on nothing else.

    Parameters
    ----------
    drawing
        To write on.
    top
        Above it nothing is written.
    taken
        Boxes that are not to be written on.
    left
        Left of it nothing is written.
    """

    def __init__(self, drawing: Drawing, top: float, taken: Sequence[Box] = (), left: float = 0.0) -> None:
        self.drawing, self.top, self.taken, self.left = drawing, top, list(taken), left

    def write(self, x: float, y: float, words: str, radius: float = 4.0) -> bool:
        """Write beside a mark of this radius: right, left, below or above; returns whether there was room."""
        length, half, off = LETTER * len(words), LINE / 2, radius + 5
        corners = [
            (x + off, y - half),
            (x - off - length, y - half),
            (x - length / 2, y + off - 2),
            (x - length / 2, y - off - LINE + 2),
        ]
        for left, top in corners:
            box = (left, top, left + length, top + LINE)
            inside = (
                left >= self.left and box[2] <= self.drawing.width and top >= self.top and box[3] <= self.drawing.height
            )
            if inside and not any(_overlap(box, other) for other in self.taken):
                self.drawing.text(left, box[3] - 4, words, "label")
                self.taken.append(box)
                return True
        return False


def around(places: Sequence[tuple[float, float]], radius: float = 4.0) -> list[Box]:
    """Return the boxes of marks, for labels to keep off."""
    return [(x - radius, y - radius, x + radius, y + radius) for x, y in places]


def _overlap(one: Box, other: Box) -> bool:
    # Two labels on one line need a gap, or they read as one.
    return one[0] - 4 < other[2] and other[0] < one[2] + 4 and one[1] < other[3] and other[1] < one[3]
