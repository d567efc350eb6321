"""Scales from values to pixels, with marks at round numbers."""

from __future__ import annotations

import math
from typing import NamedTuple

from reviewgraph.report.pictures.svg import Drawing

#: Ratios that are marked on an axis of ratios.
RATIOS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
#: Those that are marked where fewer than three of these lie on it.
FINE = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.4, 1.6, 1.8, 2.0)


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
        """Return round values, about so many at most, and two at least: one alone gives no scale.

        >>> Scale(0.0, 10.0, 0.0, 1.0).ticks(6)
        [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
        >>> Scale(0.9, 1.9, 0.0, 1.0).ticks(1)
        [1.0, 1.5]
        """
        span = (self.high - self.low) or 1.0
        power = 10.0 ** math.floor(math.log10(span / most))
        steps = [factor * power for factor in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20)]
        # The widest steps that leave two marks or more; there are some, since the span is ten of the narrowest.
        place = next(place for place, step in enumerate(steps) if place > 2 and span / step <= most)
        return next(found for step in steps[place::-1] if len(found := self._multiples(step)) > 1 or step == steps[0])

    def _multiples(self, step: float) -> list[float]:
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
    drawing: Drawing,
    scale: Scale,
    left: float,
    right: float,
    name: str,
    most: int = 6,
    *,
    logarithmic: bool = False,
    whole: bool = False,
) -> None:
    """Draw an axis of values from the bottom up, its name above it; of ratios where the scale is of logarithms."""
    most = max(1, min(most, int(scale.high - scale.low))) if whole else most
    marks = _ratios(scale) if logarithmic else [(value, value) for value in scale.ticks(most)]
    for at, value in marks:
        y = scale(at)
        drawing.line(left, y, right, y, "grid")
        drawing.text(left - 8, y + 4, f"{value:,g}", "tick", "end")
    drawing.text(0, min(scale.start, scale.end) - 12, name, "axis")


def _ratios(scale: Scale) -> list[tuple[float, float]]:
    """Return ratios to be marked on a scale of logarithms, each with its logarithm."""
    for ratios in (RATIOS, FINE):
        found = [(math.log(ratio), ratio) for ratio in ratios if scale.low <= math.log(ratio) <= scale.high]
        if len(found) > 2:
            return found
    # Nearly equal ratios are marked as plain values are.
    least, most = math.exp(scale.low), math.exp(scale.high)
    return [(math.log(ratio), ratio) for ratio in Scale(least, most, 0.0, 1.0).ticks()]
