"""Scales from values to pixels, with marks at round numbers."""

from __future__ import annotations

import math
from typing import NamedTuple

from reviewgraph.report.pictures.svg import Drawing

#: Ratios that are marked on an axis of ratios; where fewer than three of them lie on it, round numbers are.
RATIOS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)


class Scale(NamedTuple):
    """A straight line from values to pixels.

    Parameters
    ----------
    low, high
        Values at the two ends.
    start, end
        Pixels there.

    Examples
    --------
    >>> Scale(0.0, 10.0, 100.0, 200.0)(5.0)
    150.0
    """

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return the pixel of a value."""
        span = self.high - self.low
        return self.start + (self.end - self.start) * ((value - self.low) / span if span else 0.5)

    def ticks(self, most: int = 6) -> list[float]:
        """Return round values, at most so many.

        >>> Scale(0.0, 10.0, 0.0, 1.0).ticks(6)
        [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
        """
        span = (self.high - self.low) or 1.0
        power = 10.0 ** math.floor(math.log10(span / most))
        steps = (factor * power for factor in (1, 2, 5, 10, 20))
        step = next(step for step in steps if span / step <= most)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [round(place * step, 10) + 0.0 for place in range(first, last + 1)]


def across(
    drawing: Drawing, scale: Scale, top: float, bottom: float, name: str, most: int = 6, *, whole: bool = False
) -> None:
    """Draw an axis of values from left to right: faint lines, numbers below, and its name; of ranks whole numbers."""
    most = max(1, min(most, int(scale.high - scale.low))) if whole else most
    for value in scale.ticks(most):
        x = scale(value)
        drawing.line(x, top, x, bottom, "grid")
        drawing.text(x, bottom + 16, f"{value:,g}", "tick", "middle")
    drawing.text((scale.start + scale.end) / 2, bottom + 36, name, "axis", "middle")


def upward(
    drawing: Drawing, scale: Scale, left: float, right: float, name: str, most: int = 6, *, logarithmic: bool = False
) -> None:
    """Draw an axis of values from the bottom up, its name above it; of ratios where the scale is of logarithms."""
    marks = _ratios(scale) if logarithmic else [(value, value) for value in scale.ticks(most)]
    for at, value in marks:
        y = scale(at)
        drawing.line(left, y, right, y, "grid")
        drawing.text(left - 8, y + 4, f"{value:,g}", "tick", "end")
    drawing.text(0, min(scale.start, scale.end) - 12, name, "axis")


def _ratios(scale: Scale) -> list[tuple[float, float]]:
    """Return ratios to be marked on a scale of logarithms, each with its logarithm."""
    found = [ratio for ratio in RATIOS if scale.low <= math.log(ratio) <= scale.high]
    if len(found) < 3:
        found = Scale(math.exp(scale.low), math.exp(scale.high), scale.start, scale.end).ticks()
    return [(math.log(ratio), ratio) for ratio in found]
