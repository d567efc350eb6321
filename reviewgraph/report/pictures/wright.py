"""A Wright map: papers and reviewers on one scale."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reviewgraph.report.pictures.axes import Scale, across, upward
from reviewgraph.report.pictures.marks import Labels, around
from reviewgraph.report.pictures.ranked import Ranked, draw_intervals
from reviewgraph.report.pictures.svg import Drawing

if TYPE_CHECKING:
    from reviewgraph.arrays import FloatArray

#: Steps of the column of papers.
STEPS = 24


def wright_map(papers: FloatArray, reviewers: Ranked, width: int, up: str) -> Drawing:
    """Draw papers as a column of bars at the left, reviewers with intervals at the right, on the same scale.

    Parameters
    ----------
    papers
        Shape (N,): their qualities.
    reviewers
        Where on that scale each stands.
    width
        Of the picture.
    up
        Name of the scale.
    """
    top, bottom = 58.0, 398.0
    drawing = Drawing(width, bottom + 44)
    middle = 44 + 0.3 * (width - 54)
    seen = np.isfinite(reviewers.low) & np.isfinite(reviewers.high)
    ends = np.concatenate([papers, reviewers.value, reviewers.low[seen], reviewers.high[seen]])
    y = Scale(float(ends.min()), float(ends.max()) or 1.0, bottom, top)
    upward(drawing, y, 44, width - 10, up, most=8)
    drawing.text(44, 30, "papers", "value")
    drawing.text(middle + 16, 30, "reviewers", "value")
    _column(drawing, papers, y, 44, middle)
    drawing.line(middle + 8, top, middle + 8, bottom, "grid")
    x = Scale(1.0, max(float(len(reviewers.names)), 2.0), middle + 22, width - 18)
    across(drawing, x, bottom, bottom, "reviewers, from lenient to harsh", (width - int(middle)) // 90, whole=True)
    draw_intervals(drawing, reviewers, x, y)
    at = [(x(place + 1), y(float(reviewers.value[place]))) for place in reviewers.labelled]
    labels = Labels(drawing, top, around(at), left=middle + 10)
    for place, (px, py) in zip(reviewers.labelled, at, strict=True):
        labels.write(px, py, reviewers.names[place])
    return drawing


def _column(drawing: Drawing, papers: FloatArray, y: Scale, left: float, right: float) -> None:
    """Draw how many papers lie at each height, as bars from the left."""
    edges = np.linspace(y.low, y.high, STEPS + 1)
    count, _ = np.histogram(papers, edges)
    largest = max(int(count.max()), 1)
    for number, low, high in zip(count.tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        if number:
            length = (right - left - 24) * number / largest
            drawing.box(left, y(high) + 1, length, y(low) - y(high) - 2, "bar", f"{low:.2f} to {high:.2f}: {number:,}")
            drawing.text(left + length + 4, (y(low) + y(high)) / 2 + 4, f"{number:,}", "tick")
