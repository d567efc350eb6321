"""Two values of each paper against each other: averages and calibrated scores, and who moved."""

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


@dataclass(frozen=True, eq=False)
class Compared:
    """What a comparison shows.

    Parameters
    ----------
    before, after
        Shapes (n,): the two values of each paper.
    low, high
        Shapes (n,): ends of the interval of the second.
    kinds
        The kind of each mark.
    names
        Of the papers.
    labelled
        Which have their names written beside them, the most important first.
    """

    before: FloatArray
    after: FloatArray
    low: FloatArray
    high: FloatArray
    kinds: Sequence[str]
    names: Sequence[str]
    labelled: Sequence[int]

    def beside(self, x: Scale) -> list[float]:
        """Return pixels at which papers stand, those of equal first values side by side."""
        value, group, count = np.unique(self.before, return_inverse=True, return_counts=True)
        room = 0.6 * float(np.diff(value).min(initial=np.inf)) if value.size > 1 else 0.0
        order = np.lexsort((np.arange(group.size), group))
        place = np.empty(group.size)
        place[order] = np.concatenate([np.arange(size) for size in count.tolist()])
        # From -1/2 to 1/2 of the room between two values.
        offset = (place + 0.5) / count[group] - 0.5
        return [x(at) for at in (self.before + room * offset).tolist()]


def compared(
    found: Compared,
    width: int,
    along: str,
    up: str,
    meanings: Sequence[tuple[str, str]],
    cut: tuple[float, str] | None = None,
) -> Drawing:
    """Draw each paper at its two values, with a line where they are equal; with ``cut``, a line at one of the second.

    Parameters
    ----------
    found
        The papers.
    width
        Of the picture.
    along, up
        Names of the first and of the second value.
    meanings
        Kinds of marks, and what they mean.
    cut
        Where papers are divided, and what lies on the upper side; nowhere by default.
    """
    drawing = Drawing(width, 0)
    top = legend(drawing, meanings) + 30
    left, right, bottom = 44, width - 10, top + min(0.62 * width, 460)
    drawing.height = bottom + 44
    x, y = _scales(found, left, right, top, bottom)
    upward(drawing, y, left, right, up)
    across(drawing, x, top, bottom, along, width // 90)
    low, high = max(x.low, y.low), min(x.high, y.high)
    if high > low:
        drawing.line(x(low), y(low), x(high), y(high), "level", "where both are equal")
    if cut is not None:
        drawing.line(left, y(cut[0]), right, y(cut[0]), "cut")
        drawing.text(left + 6, y(cut[0]) - 5, cut[1], "label")
    _marks(drawing, found, x, y)
    at = [(found.beside(x)[place], y(float(found.after[place]))) for place in found.labelled]
    labels = Labels(drawing, top, around(at))
    for place, (px, py) in zip(found.labelled, at, strict=True):
        labels.write(px, py, found.names[place])
    return drawing


def _scales(found: Compared, left: float, right: float, top: float, bottom: float) -> tuple[Scale, Scale]:
    ends = [values[np.isfinite(values)] for values in (found.after, found.low, found.high)]
    up = np.concatenate(ends)
    margin_x = 0.04 * float(np.ptp(found.before)) or 0.5
    margin_y = 0.03 * float(np.ptp(up)) or 0.5
    x = Scale(float(found.before.min()) - margin_x, float(found.before.max()) + margin_x, left + 4, right)
    return x, Scale(float(up.min()) - margin_y, float(up.max()) + margin_y, bottom, top)


def _marks(drawing: Drawing, found: Compared, x: Scale, y: Scale) -> None:
    across_, up = found.beside(x), [y(value) for value in found.after.tolist()]
    seen = np.flatnonzero(np.isfinite(found.low) & np.isfinite(found.high)).tolist()
    low, high = found.low.tolist(), found.high.tolist()
    many = " many" if len(found.names) > drawing.width / 6 else ""
    drawing.path("".join(f"M{across_[k]:.1f} {y(low[k]):.1f}V{y(high[k]):.1f}" for k in seen), f"interval{many}")
    told = [
        f"{name}: {before:.2f}, then {after:.2f}"
        for name, before, after in zip(found.names, found.before.tolist(), found.after.tolist(), strict=True)
    ]
    for kind in dict.fromkeys(sorted(found.kinds, key=_in_front)):
        chosen = [place for place, of in enumerate(found.kinds) if of == kind]
        series(drawing, [(across_[k], up[k]) for k in chosen], kind, [told[k] for k in chosen])


def _in_front(kind: str) -> bool:
    """Whether a mark is drawn last, since it stands out."""
    return kind in ("up", "down", "diamond")
