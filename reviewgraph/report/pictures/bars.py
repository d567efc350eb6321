"""Bars: how many of each kind, with the number at the end of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reviewgraph.report.pictures.svg import LETTER, Drawing
from reviewgraph.words import ranging

if TYPE_CHECKING:
    from reviewgraph.arrays import IntArray

#: Bars of one picture; more values are put together.
MOST = 12
#: From one bar to the next.
STEP = 26
#: Part of the width that names may take.
NAMED = 0.4


class Bar(NamedTuple):
    """A bar.

    Parameters
    ----------
    name
        What it counts.
    number
        Its length.
    stands_out
        Whether it is what to look at.
    extra
        What is added to its length, in a part that stands out; none by default.
    """

    name: str
    number: int
    stands_out: bool = False
    extra: int = 0

    @property
    def said(self) -> str:
        """Its length in figures."""
        return f"{self.number:,} + {self.extra:,}" if self.extra else f"{self.number:,}"


def bars(found: Sequence[Bar], width: int, name: str) -> Drawing:
    """Draw bars from the top down.

    Parameters
    ----------
    found
        The bars.
    width
        Of the picture.
    name
        What the names at the left are.
    """
    most = int(NAMED * width / LETTER)
    names = [bar.name if len(bar.name) <= most else f"{bar.name[: most - 1]}…" for bar in found]
    left = max(map(len, [*names, name])) * LETTER + 14
    room = width - left - 8 - LETTER * max((len(bar.said) for bar in found), default=1)
    longest = max((bar.number + bar.extra for bar in found), default=1) or 1
    drawing = Drawing(width, 24 + STEP * len(found))
    drawing.text(left - 12, 12, name, "axis", "end")
    for place, bar in enumerate(found):
        y, told = 22 + STEP * place, f"{bar.name}: {bar.said}"
        length, extra = (max(room * part / longest, 1.0 if part else 0.0) for part in (bar.number, bar.extra))
        drawing.text(left - 12, y + 14, names[place], "tick", "end")
        drawing.box(left, y, length, 18, "bar stands-out" if bar.stands_out else "bar", told)
        if bar.extra:
            drawing.box(left + length, y, extra, 18, "bar stands-out", told)
        drawing.text(left + length + extra + 6, y + 14, bar.said, "value")
    return drawing


def tally(numbers: IntArray, low: int = 0) -> list[Bar]:
    """Return a bar for each number that occurs, neighbours put together where there are many; small ones stand out.

    Parameters
    ----------
    numbers
        Whole numbers from 0.
    low
        Numbers below it stand out; none by default.

    Examples
    --------
    >>> tally(np.array([3, 3, 1, 4]), low=2)
    [Bar(name='1', number=1, stands_out=True, extra=0), Bar(name='3', number=2, stands_out=False, extra=0),
    Bar(name='4', number=1, stands_out=False, extra=0)]
    >>> [bar.name for bar in tally(np.arange(24))][:2]
    ['0 to 1', '2 to 3']
    """
    if not numbers.size:
        return []
    value, count = np.unique(numbers, return_counts=True)
    if value.size <= MOST:
        return [Bar(f"{v:,}", c, v < low) for v, c in zip(value.tolist(), count.tolist(), strict=True)]
    least, most = int(value[0]), int(value[-1])
    step = -(-(most - least + 1) // MOST)
    total = np.bincount((value - least) // step, weights=count)
    starts = [least + step * place for place in range(total.size)]
    return [
        Bar(ranging(start, min(start + step - 1, most)), int(number), start + step <= low)
        for start, number in zip(starts, total.tolist(), strict=True)
    ]
