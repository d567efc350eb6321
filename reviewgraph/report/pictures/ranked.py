"""Values in order, each with its interval: papers by quality, reviewers by severity or stretch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from reviewgraph.report.pictures.axes import Scale, across, upward
from reviewgraph.report.pictures.marks import Labels, around, legend, series
from reviewgraph.report.pictures.svg import Drawing

if TYPE_CHECKING:
    from reviewgraph.arrays import FloatArray

#: Height of the plot.
HEIGHT = 260


@dataclass(frozen=True, eq=False)
class Ranked:
    """Values in the order in which they are drawn.

    Parameters
    ----------
    value, low, high
        Shapes (n,): values and the ends of their intervals.
    kinds
        The kind of each mark.
    names
        What each is called.
    labelled
        Which have their names written beside them, as far as there is room, the most important first.
    """

    value: FloatArray
    low: FloatArray
    high: FloatArray
    kinds: Sequence[str]
    names: Sequence[str]
    labelled: Sequence[int] = ()

    @property
    def told(self) -> list[str]:
        """What each mark tells."""
        rows = zip(self.names, self.value.tolist(), self.low.tolist(), self.high.tolist(), strict=True)
        return [f"{name}: {value:.2f} ({low:.2f} to {high:.2f})" for name, value, low, high in rows]


def ranked(
    found: Ranked,
    width: int,
    up: str,
    along: str,
    meanings: Sequence[tuple[str, str]],
    *,
    first: int = 1,
    cut: int | None = None,
    line: tuple[float, str] | None = None,
    zone: tuple[int, int, str] | None = None,
    level: float | None = None,
    logarithmic: bool = False,
) -> Drawing:
    """Draw values from left to right with their intervals.

    Parameters
    ----------
    found
        The values.
    width
        Of the picture.
    up, along
        Names of the axes.
    meanings
        Kinds of marks, and what they mean.
    first
        The rank of the first value.
    cut
        How many stand left of a line; none by default.
    line
        A value at which a line divides them, and its name; none by default.
    zone
        The first and the last rank of those before a grey ground, and what they are; none by default.
    level
        A value at which a line is drawn; none by default.
    logarithmic
        Whether equal ratios are equally far apart.
    """
    drawing = Drawing(width, 0)
    top = legend(drawing, meanings) + 30
    drawing.height = top + HEIGHT + 44
    left, right, bottom = 44, width - 8, top + HEIGHT
    seen = np.isfinite(found.low) & np.isfinite(found.high)
    ends = np.concatenate([found.value, found.low[seen], found.high[seen]])
    y = value_scale(ends, bottom, top, logarithmic=logarithmic)
    x = Scale(float(first), max(float(first + len(found.names) - 1), first + 1.0), left + 8, right - 8)
    if zone is not None:
        start, end = (min(max(x(rank), left), right) for rank in (zone[0] - 0.5, zone[1] + 0.5))
        drawing.box(start, top, end - start, HEIGHT, "zone", zone[2])
        drawing.text((start + end) / 2, top + 14, zone[2], "tick", "middle")
    upward(drawing, y, left, right, up, logarithmic=logarithmic)
    across(drawing, x, bottom, bottom, along, max(4, width // 90), whole=True)
    height = _heights(y, found.value, logarithmic=logarithmic)
    draw_intervals(drawing, found, x, y, logarithmic=logarithmic, first=first)
    if line is not None:
        drawing.line(left, y(line[0]), right, y(line[0]), "cut", line[1])
        # At the left where values fall, so that the name stands clear of the marks.
        falls = len(found.value) > 1 and found.value[0] > found.value[-1]
        side, anchor = (right - 6, "end") if falls else (left + 6, "start")
        drawing.text(side, y(line[0]) - 6, line[1], "label", anchor)
    if level is not None:
        at = _heights(y, np.array([level]), logarithmic=logarithmic)[0]
        drawing.line(left, at, right, at, "level")
    if cut is not None:
        drawing.line(x(cut + 0.5), top, x(cut + 0.5), bottom, "cut", f"the best {cut}")
        drawing.text(x(cut + 0.5) + 6, bottom - 8, f"best {cut}", "label")
    labels = Labels(drawing, top, around([(x(place + first), height[place]) for place in found.labelled]))
    for place in found.labelled:
        labels.write(x(place + first), height[place], found.names[place])
    return drawing


def value_scale(values: FloatArray, bottom: float, top: float, *, logarithmic: bool = False) -> Scale:
    """Return a scale that holds all values, logarithms where ``logarithmic``."""
    values = np.log(values) if logarithmic else values
    low, high = float(values.min()), float(values.max())
    margin = 0.04 * (high - low) or 1.0
    return Scale(low - margin, high + margin, bottom, top)


def draw_intervals(
    drawing: Drawing, found: Ranked, x: Scale, y: Scale, *, logarithmic: bool = False, first: int = 1
) -> None:
    """Draw all intervals as one path, and the marks upon it."""
    places = [x(place) for place in range(first, len(found.names) + first)]
    seen = np.flatnonzero(np.isfinite(found.low) & np.isfinite(found.high)).tolist()
    ends = [_heights(y, values, logarithmic=logarithmic) for values in (found.low, found.high)]
    many = " many" if len(places) > (drawing.width - 60) / 4 else ""
    drawing.path("".join(f"M{places[k]:.1f} {ends[0][k]:.1f}V{ends[1][k]:.1f}" for k in seen), f"interval{many}")
    height, told = _heights(y, found.value, logarithmic=logarithmic), found.told
    for kind in dict.fromkeys(found.kinds):
        chosen = [place for place, of in enumerate(found.kinds) if of == kind]
        series(drawing, [(places[k], height[k]) for k in chosen], kind, [told[k] for k in chosen])


def _heights(y: Scale, values: FloatArray, *, logarithmic: bool) -> list[float]:
    return [y(value) for value in (np.log(values) if logarithmic else values).tolist()]
