"""A plan step by step: how far each review gets."""

from __future__ import annotations

from collections.abc import Sequence

from reviewgraph.report.pictures.axes import Scale, across, upward
from reviewgraph.report.pictures.marks import NAMED
from reviewgraph.report.pictures.svg import Drawing


def steps(
    before: int, numbers: Sequence[int], names: Sequence[str], most: int, width: int, what: str, unit: str
) -> Drawing:
    """Draw a number after each step as stairs.

    Parameters
    ----------
    before
        Before the first step.
    numbers
        After each step.
    names
        What each step is.
    most
        What the number is at most; a line marks it.
    width
        Of the picture.
    what, unit
        What the numbers count, for the axis and in the plural.
    """
    drawing = Drawing(width, 300)
    left, right, top, bottom = 52, width - 12, 34, 256
    x, y = Scale(0.0, float(max(len(numbers), 1)), left, right), Scale(0.0, float(max(most, 1)), bottom, top)
    upward(drawing, y, left, right, what, whole=True)
    across(drawing, x, bottom, bottom, "extra reviews", width // 90, whole=True)
    drawing.line(left, y(most), right, y(most), "level", f"{most:,} {unit}")
    stairs = "".join(f"H{x(place + 1):.1f}V{y(number):.1f}" for place, number in enumerate(numbers))
    drawing.path(f"M{x(0):.1f} {y(before):.1f}{stairs}", "curve")
    for place, (number, name) in enumerate(zip(numbers, names, strict=True)):
        if len(numbers) <= NAMED:
            drawing.circle(x(place + 1), y(number), 3, "dot", f"{place + 1}. {name}: {number:,} {unit}")
    return drawing
