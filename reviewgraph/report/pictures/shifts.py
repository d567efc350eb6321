"""Values before and after a correction, a line each, on one scale from left to right."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from reviewgraph.report.pictures.axes import Scale, across
from reviewgraph.report.pictures.marks import legend, mark
from reviewgraph.report.pictures.svg import LETTER, Drawing

#: From one line to the next.
STEP = 30


class Shift(NamedTuple):
    """A value before and after, perhaps with the ends of an interval around the latter.

    Parameters
    ----------
    name
        What it is of.
    before, after
        The values.
    low, high
        The interval; NaN where there is none.
    """

    name: str
    before: float
    after: float
    low: float = math.nan
    high: float = math.nan


def shifts(found: Sequence[Shift], scale: tuple[float, float], width: int, name: str, was: str, now: str) -> Drawing:
    """Draw a line each: a hollow mark before, a filled one after, and what lies between.

    Parameters
    ----------
    found
        What is drawn, from the top down.
    scale
        What the axis shows at least.
    width
        Of the picture.
    name
        Of the axis.
    was, now
        What the two marks mean.
    """
    drawing = Drawing(width, 96 + STEP * len(found))
    top = legend(drawing, [("hollow", was), ("dot", now)])
    values = [value for each in found for value in each[1:] if math.isfinite(value)]
    left = LETTER * max(len(each.name) for each in found) + 24
    x = Scale(min(*values, scale[0]), max(*values, scale[1]), left, width - 14.0)
    bottom = top + STEP * len(found)
    across(drawing, x, top, bottom, name, max(2, width // 90))
    for place, each in enumerate(found):
        y = top + STEP * (place + 0.5)
        drawing.text(0, y + 4, each.name, "tick")
        if math.isfinite(each.low):
            drawing.line(x(each.low), y, x(each.high), y, "interval", f"{each.low:.2f} to {each.high:.2f}")
        drawing.line(x(each.before), y, x(each.after), y, "link")
        mark(drawing, x(each.before), y, "hollow", f"{each.name}, {was}: {each.before:.4g}", 5.5)
        mark(drawing, x(each.after), y, "dot", f"{each.name}, {now}: {each.after:.2f}")
    return drawing
