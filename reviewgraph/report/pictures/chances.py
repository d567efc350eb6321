"""The grey zone around a cut: papers by their chance of being among the best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from reviewgraph.report.pictures.axes import Scale, across, upward
from reviewgraph.report.pictures.marks import Labels, around, legend, series
from reviewgraph.report.pictures.svg import Drawing

if TYPE_CHECKING:
    from reviewgraph.arrays import FloatArray

#: Papers on either side of the zone that are drawn.
BESIDE = 30
#: What marks mean.
MEANINGS = [("dot", "in"), ("diamond", "to discuss"), ("hollow", "out")]


def grey_zone(chance: FloatArray, kinds: Sequence[str], names: Sequence[str], error_rate: float, width: int) -> Drawing:
    """Draw papers from the likeliest on, the zone of doubt in grey.

    Parameters
    ----------
    chance
        Shape (n,): of being among the best, from high to low.
    kinds
        ``dot`` for papers that are in, ``diamond`` for those to discuss, ``hollow`` for those out.
    names
        Of the papers.
    error_rate
        Beyond it, and beyond 1 - it, no discussion is needed.
    width
        Of the picture.
    """
    first, last = _window(kinds)
    drawing = Drawing(width, 0)
    top = legend(drawing, MEANINGS) + 30
    left, right, bottom = 44, width - 10, top + 240
    drawing.height = bottom + 44
    x = Scale(float(first + 1), float(max(last, first + 2)), left + 8, right - 8)
    y = Scale(0.0, 100.0, bottom, top)
    drawing.box(left, y(100 * (1 - error_rate)), right - left, y(100 * error_rate) - y(100 * (1 - error_rate)), "zone")
    upward(drawing, y, left, right, "chance of being among the best, %")
    across(drawing, x, bottom, bottom, "papers, the likeliest first", max(4, width // 90), whole=True)
    shown = range(first, last)
    at = {place: (x(place + 1), y(100 * float(chance[place]))) for place in shown}
    for kind in ("hollow", "dot", "diamond"):
        chosen = [place for place in shown if kinds[place] == kind]
        told = [f"{names[place]}: {chance[place]:.0%}" for place in chosen]
        series(drawing, [at[place] for place in chosen], kind, told)
    labels = Labels(drawing, top, around([*at.values()]))
    doubtful = sorted(
        (place for place in shown if kinds[place] == "diamond"), key=lambda k: abs(float(chance[k]) - 0.5)
    )
    if len(doubtful) <= width / 12:
        for place in doubtful:
            labels.write(*at[place], names[place])
    return drawing


def _window(kinds: Sequence[str]) -> tuple[int, int]:
    """Return the first paper drawn and the one after the last."""
    doubtful = np.flatnonzero([kind == "diamond" for kind in kinds])
    if not doubtful.size:
        edge = sum(kind == "dot" for kind in kinds)
        doubtful = np.array([edge])
    return max(0, int(doubtful[0]) - BESIDE), min(len(kinds), int(doubtful[-1]) + 1 + BESIDE)
