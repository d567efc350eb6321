"""A plan step by step: how far each review gets."""

from __future__ import annotations

from collections.abc import Sequence

from reviewgraph.report.pictures.axes import Scale, across, upward
from reviewgraph.report.pictures.marks import NAMED
from reviewgraph.report.pictures.svg import Drawing


def steps(covers: Sequence[int], names: Sequence[str], papers: int, width: int) -> Drawing:
    """Draw the size of the largest group after each step as stairs.

    Parameters
    ----------
    covers
        Papers in the largest group after each step.
    names
        What each step is.
    papers
        How many there are.
    width
        Of the picture.
    """
    drawing = Drawing(width, 300)
    left, right, top, bottom = 52, width - 12, 34, 256
    x, y = Scale(0.0, float(len(covers)), left, right), Scale(0.0, float(max(papers, 1)), bottom, top)
    upward(drawing, y, left, right, "papers in the largest group")
    across(drawing, x, bottom, bottom, "extra reviews", min(width // 90, max(len(covers), 1)))
    drawing.line(left, y(papers), right, y(papers), "level", f"all {papers:,} papers")
    stairs = "".join(f"H{x(place + 1):.1f}V{y(cover):.1f}" for place, cover in enumerate(covers))
    drawing.path(f"M{x(1):.1f} {y(covers[0]):.1f}{stairs}" if covers else "", "curve")
    for place, (cover, name) in enumerate(zip(covers, names, strict=True)):
        if len(covers) <= NAMED:
            drawing.circle(x(place + 1), y(cover), 3, "dot", f"{place + 1}. {name}: {cover:,} papers")
    return drawing
