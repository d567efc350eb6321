"""Errors of papers, the largest first, and what more reviews buy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from reviewgraph.report.pictures.axes import Scale, across, upward
from reviewgraph.report.pictures.svg import LETTER, Drawing

if TYPE_CHECKING:
    from reviewgraph.arrays import FloatArray

#: Papers up to which each dot tells its name to who points at it.
NAMED = 400
#: Papers that have their names written beside them.
WRITTEN = 5


def sorted_errors(
    error: FloatArray, more: FloatArray, average: FloatArray, names: Sequence[str], width: int, unit: str
) -> Drawing:
    """Draw the expected error of each paper, the largest first, with one more review, and of plain averages.

    Parameters
    ----------
    error, more, average
        Shapes (N,), in the order of ``names``, the largest error first.
    names
        Of the papers.
    width
        Of the picture.
    unit
        Of the errors.
    """
    height, left, right, top = 300, 40, width - 10, 54
    bottom = height - 44
    drawing = Drawing(width, height)
    x = Scale(1.0, max(len(names), 2), left + 6, right - 6)
    y = Scale(0.0, float(max(error.max(), average.max())) * 1.04, bottom, top)
    upward(drawing, y, left, right, f"expected error, {unit}")
    across(drawing, x._replace(low=0.0, start=x(0.0)), bottom, bottom, "papers, the largest error first", width // 90)
    _legend(drawing, [("dot", "error"), ("hollow", "with one more review"), ("cross", "of the plain average")], right)
    places = np.array([x(place) for place in range(1, len(names) + 1)])
    for values, kind in ((average, "cross"), (more, "hollow"), (error, "dot")):
        _series(drawing, places, [y(value) for value in values.tolist()], values, kind, names)
    return drawing


def _series(
    drawing: Drawing, x: FloatArray, y: Sequence[float], values: FloatArray, kind: str, names: Sequence[str]
) -> None:
    if len(names) > NAMED:
        drawing.dots(zip(x.tolist(), y, strict=True), kind)
        return
    for place, height, value, name in zip(x.tolist(), y, values.tolist(), names, strict=True):
        mark(drawing, place, height, kind, f"{name}: {value:.2f}")


def mark(drawing: Drawing, x: float, y: float, kind: str, told: str = "") -> None:
    """Draw a mark of a series: a dot, a hollow one or a cross, so that no colour is needed to tell them apart."""
    if kind == "cross":
        drawing.path(f"M{x - 2.5:.1f} {y - 2.5:.1f}l5 5m0-5l-5 5", "cross", told)
    else:
        drawing.circle(x, y, 3, kind, told)


def _legend(drawing: Drawing, entries: Sequence[tuple[str, str]], right: float) -> None:
    """Write what marks mean, in a row that ends at the right, below the name of the axis."""
    x = right - sum(LETTER * len(words) + 26 for _, words in entries)
    x = max(x, 6.0)
    for kind, words in entries:
        mark(drawing, x, 38, kind)
        drawing.text(x + 8, 42, words, "tick")
        x += LETTER * len(words) + 26


def shares(counts: Sequence[int], share: Sequence[float], width: int) -> Drawing:
    """Draw the expected share of right selections against reviews added."""
    height, left, right, top = 220, 40, width - 30, 34
    bottom = height - 44
    drawing = Drawing(width, height)
    x = Scale(0.0, float(max(counts[-1], 1)), left + 8, right)
    y = Scale(0.0, 100.0, bottom, top)
    upward(drawing, y, left, right, "expected to be right, %")
    across(drawing, x, bottom, bottom, "reviews added, one each to the weakest papers", width // 90)
    places = [(x(count), y(100 * part)) for count, part in zip(counts, share, strict=True)]
    drawing.path("M" + "L".join(f"{px:.1f} {py:.1f}" for px, py in places), "curve")
    for (px, py), count, part in zip(places, counts, share, strict=True):
        drawing.circle(px, py, 4, "dot", f"{count:,} added: {part:.0%}")
        drawing.text(px, py - 10, f"{part:.0%}", "value", "middle")
    return drawing
