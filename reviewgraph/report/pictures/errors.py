"""Errors of papers, the largest first, and what more reviews buy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from reviewgraph.report.pictures.axes import Scale, across, upward
from reviewgraph.report.pictures.marks import legend, series
from reviewgraph.report.pictures.svg import Drawing

if TYPE_CHECKING:
    from reviewgraph.arrays import FloatArray


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
    drawing = Drawing(width, 0)
    entries = [("dot", "error"), ("hollow", "with one more review"), ("cross", "of the plain average")]
    top = legend(drawing, entries) + 30
    left, right, bottom = 40, width - 10, top + 210
    drawing.height = bottom + 44
    x = Scale(1.0, max(len(names), 2), left + 8, right - 6)
    y = Scale(0.0, float(max(error.max(), average.max())) * 1.04, bottom, top)
    upward(drawing, y, left, right, f"expected error, {unit}")
    across(drawing, x, bottom, bottom, "papers, the largest error first", width // 90, whole=True)
    for values, kind in ((average, "cross"), (more, "hollow"), (error, "dot")):
        places = [(x(place), y(value)) for place, value in enumerate(values.tolist(), 1)]
        told = [f"{name}: {value:.2f}" for name, value in zip(names, values.tolist(), strict=True)]
        series(drawing, places, kind, told)
    return drawing


def shares(counts: Sequence[int], share: Sequence[float], width: int) -> Drawing:
    """Draw the expected share of right selections against reviews added, between the tens of percents around it."""
    height, left, right, top = 220, 40, width - 30, 34
    bottom = height - 44
    drawing = Drawing(width, height)
    x = Scale(0.0, float(max(counts[-1], 1)), left + 8, right)
    low, high = math.floor(10 * min(share)), math.ceil(10 * max(share))
    y = Scale(10.0 * low, 10.0 * max(high, low + 1), bottom, top)
    upward(drawing, y, left, right, "expected to be right, %")
    across(drawing, x, bottom, bottom, "reviews added, one each to the weakest papers", width // 90, whole=True)
    places = [(x(count), y(100 * part)) for count, part in zip(counts, share, strict=True)]
    drawing.path("M" + "L".join(f"{px:.1f} {py:.1f}" for px, py in places), "curve")
    for (px, py), count, part in zip(places, counts, share, strict=True):
        drawing.circle(px, py, 4, "dot", f"{count:,} added: {part:.0%}")
        drawing.text(px, py - 10, f"{part:.0%}", "value", "middle")
    return drawing
