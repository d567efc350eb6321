"""Charts: each is drawn as SVG at a width in pixels, and with Matplotlib on axes in the units of its data."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reviewgraph._base.arrays import FloatArray, IntArray, snapped
from reviewgraph._base.page import Picture
from reviewgraph._base.text import ranging
from reviewgraph.report.pictures import LETTER, NAMED, Box, Drawing, Labels, Scale, across, legend, mark, upward

if TYPE_CHECKING:
    from matplotlib.axes import Axes


#: Marker, colour and filling of each kind of mark.
MARKERS = {
    "dot": ("o", "C0", "C0"),
    "hollow": ("o", "C0", "white"),
    "diamond": ("D", "C1", "C1"),
    "up": ("^", "C2", "C2"),
    "down": ("v", "C3", "C3"),
}

Worded = Callable[[str], str]


#: Bars of one picture; more values are binned.
MOST = 12
#: Bins of a histogram.
BINS = 10
#: Distance of bars.
BAR_STEP = 26
#: Maximum part of the width for names.
BARS_NAMED = 0.4


class Bar(NamedTuple):
    """A bar: its name, its length, whether it is emphasised, and the range of values that it counts, if any."""

    name: str
    number: float
    stands_out: bool = False
    edges: tuple[float, float] | None = None


def tally(numbers: IntArray, low: int = 0) -> list[Bar]:
    """Return a bar for each number that occurs, binned where there are many; those below ``low`` are emphasised.

    >>> [bar[:3] for bar in tally(np.array([3, 3, 1, 4]), low=2)]
    [('1', 1, True), ('3', 2, False), ('4', 1, False)]
    >>> [bar.name for bar in tally(np.arange(24))][:2]
    ['0 to 1', '2 to 3']
    """
    if not numbers.size:
        return []
    value, count = np.unique(numbers, return_counts=True)
    if value.size <= MOST:
        counts = zip(value.tolist(), count.tolist(), strict=True)
        return [Bar(f"{v:,}", c, v < low, (v - 0.4, v + 0.4)) for v, c in counts]
    least = int(value[0])
    most = int(value[-1])
    step = -(-(most - least + 1) // MOST)
    total = np.bincount((value - least) // step, weights=count)
    starts = [least + step * place for place in range(total.size)]
    return [
        Bar(
            ranging(start, min(start + step - 1, most)),
            int(number),
            start + step <= low,
            (start - 0.5, start + step - 0.5),
        )
        for start, number in zip(starts, total.tolist(), strict=True)
    ]


def histogram(values: FloatArray) -> list[Bar]:
    """Return bars of equal bins of some values; one where these are tied.

    >>> [(bar.name, bar.number) for bar in histogram(np.array([0.0, 0.5, 1.0]))][::5]
    [('0 to 0.1', 1), ('0.5 to 0.6', 1)]
    """
    rounded = snapped(values)
    if rounded.min() == rounded.max():
        return [Bar(f"{rounded.min():.3g}", rounded.size)]
    # A value that is tied with an edge is above it.
    edge = np.linspace(rounded.min(), rounded.max(), BINS + 1)
    tied = snapped(np.concatenate([edge, rounded]))
    place = np.searchsorted(tied[: edge.size], tied[edge.size :], "right") - 1
    count = np.bincount(np.minimum(place, BINS - 1), minlength=BINS).tolist()
    bins = zip(edge.tolist(), edge[1:].tolist(), count, strict=False)
    return [Bar(f"{low:.3g} to {high:.3g}", number, edges=(low, high)) for low, high, number in bins]


@dataclass(frozen=True)
class BarChart:
    """Bars: ``unit`` is what their names count, ``up`` what their lengths are."""

    rows: Sequence[Bar]
    unit: str
    up: str = "number"

    def __call__(self, width: int) -> Drawing:
        """Return the bars as SVG."""
        most = int(BARS_NAMED * width / LETTER)
        names = [bar.name if len(bar.name) <= most else f"{bar.name[: most - 1]}…" for bar in self.rows]
        # Addresses are wider than the mean of letters.
        left = max(map(len, [*names, self.unit])) * LETTER * 1.12 + 12
        room = width - left - 8 - LETTER * max((len(f"{bar.number:,}") for bar in self.rows), default=1)
        longest = max((bar.number for bar in self.rows), default=1) or 1
        drawing = Drawing(width, 24 + BAR_STEP * len(self.rows))
        drawing.text(left - 12, 12, self.unit, "axis", "end")
        for place, bar in enumerate(self.rows):
            y = 22 + BAR_STEP * place
            length = max(room * bar.number / longest, 1.0 if bar.number else 0.0)
            drawing.text(left - 12, y + 14, names[place], "tick", "end")
            kind = "bar stands-out" if bar.stands_out else "bar"
            drawing.box(left, y, length, 18, kind, f"{bar.name}: {bar.number:,}")
            drawing.text(left + length + 6, y + 14, f"{bar.number:,}", "value")
        return drawing

    def on(self, ax: Axes, worded: Worded) -> None:
        """Draw the bars where their values are, or side by side where they have none."""
        numbers = [bar.number for bar in self.rows]
        colours = ["C1" if bar.stands_out else "C0" for bar in self.rows]
        edges = [bar.edges for bar in self.rows if bar.edges is not None]
        if len(edges) == len(self.rows):
            low, high = np.array(edges, np.float64).reshape(-1, 2).T
            ax.bar(low, numbers, high - low, align="edge", color=colours, edgecolor="white")
            if all(bar.name.isdecimal() for bar in self.rows):
                ax.locator_params(axis="x", integer=True)
        else:
            ax.bar([bar.name for bar in self.rows], numbers, color=colours)
        ax.set_xlabel(worded(self.unit))
        ax.set_ylabel(worded(self.up))


def chart(name: str, title: str, words: str, rows: Sequence[Bar], unit: str, up: str = "number") -> Picture:
    """Return a picture of bars, or a sentence where there is one; ``unit`` is what their names count.

    >>> chart("loads", "Reviews per paper", "", [Bar("3", 40)], "reviews").instead
    'Reviews per paper: 3, for all 40.'
    """
    instead = ""
    if not rows:
        instead = f"{title}: none."
    elif len(rows) == 1:
        instead = f"{title}: {rows[0].name}, for all {rows[0].number:,}."
    return Picture(name, title, words, BarChart(rows, unit, up), instead)


#: Height of a plot of values by their ranks.
HEIGHT = 260


@dataclass(frozen=True, eq=False)
class ValueChart:
    """Values with their intervals, shapes (n,), NaN where unknown: from left to right by rank, or over other values.

    ``kinds`` are the marks, which ``meanings`` explain; ``labelled`` are those with labels as far as there is room, the
    most important first; ``up`` and ``along`` name the axes. With ``before``, shape (n,), values are drawn over these,
    with a line where both are equal; otherwise ``first`` is the rank of the first value. Optional: ``line``, a value
    and its name; ``zone``, first and last rank on a grey background, and its name.
    """

    value: FloatArray
    low: FloatArray
    high: FloatArray
    kinds: Sequence[str]
    names: Sequence[str]
    labelled: Sequence[int] = ()
    up: str = "quality"
    along: str = "rank"
    meanings: Sequence[tuple[str, str]] = ()
    before: FloatArray | None = None
    first: int = 1
    line: tuple[float, str] | None = None
    zone: tuple[int, int, str] | None = None

    @property
    def seen(self) -> list[int]:
        """Those with an interval."""
        return np.flatnonzero(np.isfinite(self.low) & np.isfinite(self.high)).tolist()

    @property
    def ranks(self) -> FloatArray:
        """The rank of each value, in the order drawn."""
        return np.arange(self.first, self.first + self.value.size, dtype=np.float64)

    def __call__(self, width: int) -> Drawing:
        """Return the chart as SVG."""
        before = self.before
        line = self.line
        zone = self.zone
        drawing = Drawing(width, 0)
        # What names a line or an area stands above the picture, where no mark is.
        named = [(kind, entry[-1]) for kind, entry in (("cut", line), ("zone", zone)) if entry is not None]
        top = legend(drawing, [*self.meanings, *named]) + 30
        bottom = top + (HEIGHT if before is None else min(0.62 * width, 460))
        drawing.height = bottom + 44
        left = 44
        right = width - (8 if before is None else 10)
        y = _roomy(np.concatenate([self.value, self.low[self.seen], self.high[self.seen]]), bottom, top)
        if before is None:
            last = max(float(self.first + self.value.size - 1), self.first + 1.0)
            x = Scale(float(self.first), last, left + 8, right - 8)
            places = [x(rank) for rank in self.ranks.tolist()]
            taken: list[Box] = [(0, top, left, bottom)]
        else:
            x = _roomy(before, left + 4, right)
            places = _beside(before, x)
            # Pixels grow downwards; labels keep off the intervals.
            taken = [(places[k] - 1, y(self.high[k]), places[k] + 1, y(self.low[k])) for k in self.seen]
        if zone is not None:
            start, end = (min(max(x(rank), left), right) for rank in (zone[0] - 0.5, zone[1] + 0.5))
            drawing.box(start, top, end - start, HEIGHT, "zone", zone[2])
        upward(drawing, y, left, right, self.up)
        grid_top = bottom if before is None else top
        across(drawing, x, grid_top, bottom, self.along, max(4, width // 90), whole=before is None)
        low = max(x.low, y.low)
        high = min(x.high, y.high)
        if before is not None and high > low:
            drawing.line(x(low), y(low), x(high), y(high), "level", "where both are equal")
        if line is not None:
            drawing.line(left, y(line[0]), right, y(line[0]), "cut", line[1])
        self._draw(drawing, places, y, Labels(drawing, top, taken))
        return drawing

    def _draw(self, drawing: Drawing, places: Sequence[float], y: Scale, labels: Labels) -> None:
        """Draw all intervals as one path, the marks on it, emphasised ones last, and their labels."""
        many = " many" if len(places) > (drawing.width - 60) / 4 else ""
        intervals = (f"M{places[k]:.1f} {y(self.low[k]):.1f}V{y(self.high[k]):.1f}" for k in self.seen)
        drawing.path("".join(intervals), f"interval{many}")
        marks = [(place, y(value)) for place, value in zip(places, self.value.tolist(), strict=True)]
        for kind in dict.fromkeys(sorted(self.kinds, key=lambda kind: kind in ("up", "down", "diamond"))):
            chosen = [place for place, of in enumerate(self.kinds) if of == kind]
            # Too many marks for tooltips are one path.
            if len(chosen) > NAMED and kind in ("dot", "hollow"):
                drawing.dots((marks[k] for k in chosen), kind)
                continue
            for k in chosen:
                mark(drawing, *marks[k], kind, self._tooltip(k), 3.0)
        labels.taken += [(x - 4.0, height - 4.0, x + 4.0, height + 4.0) for x, height in marks]
        for k in self.labelled:
            labels.write(*marks[k], self.names[k])

    def _tooltip(self, k: int) -> str:
        if self.before is not None:
            return f"{self.names[k]}: {self.before[k]:.2f}, then {self.value[k]:.2f}"
        interval = f" ({self.low[k]:.2f} to {self.high[k]:.2f})" if math.isfinite(self.low[k]) else ""
        return f"{self.names[k]}: {self.value[k]:.2f}{interval}"

    def on(self, ax: Axes, worded: Worded) -> None:
        """Draw values over their ranks, or over those before with a line where both are equal."""
        places = self.ranks if self.before is None else self.before
        if self.zone is not None:
            ax.axvspan(self.zone[0] - 0.5, self.zone[1] + 0.5, color="0.9", zorder=0, label=worded(self.zone[2]))
        if self.before is not None:
            middle = float(np.mean(self.before))
            ax.axline((middle, middle), slope=1, color="0.7", linewidth=1, zorder=0)
        ax.vlines(places[self.seen], self.low[self.seen], self.high[self.seen], color="0.7", linewidth=1, zorder=1)
        words = dict(self.meanings)
        for kind in dict.fromkeys(self.kinds):
            marker, edge, face = MARKERS[kind]
            chosen = [place for place, of in enumerate(self.kinds) if of == kind]
            ax.scatter(
                places[chosen],
                self.value[chosen],
                marker=marker,
                facecolor=face,
                edgecolor=edge,
                s=24,
                zorder=2,
                label=worded(words[kind]) if kind in words else None,
            )
        for k in self.labelled:
            at = (float(places[k]), float(self.value[k]))
            ax.annotate(self.names[k], at, (5, 4), textcoords="offset points", fontsize="small")
        if self.line is not None:
            ax.axhline(self.line[0], color="0.3", linestyle="--", linewidth=1, zorder=1, label=worded(self.line[1]))
        ax.set_xlabel(worded(self.along))
        ax.set_ylabel(worded(self.up))
        if ax.get_legend_handles_labels()[1]:
            ax.legend(fontsize="small")


def _roomy(values: FloatArray, start: float, end: float) -> Scale:
    """Return a scale with a margin around values."""
    margin = 0.04 * float(np.ptp(values)) or 0.5
    return Scale(float(values.min()) - margin, float(values.max()) + margin, start, end)


def _beside(values: FloatArray, x: Scale) -> list[float]:
    """Return the pixels of values, equal ones side by side."""
    value, group, count = np.unique(values, return_inverse=True, return_counts=True)
    room = 0.6 * float(np.diff(value).min(initial=np.inf)) if value.size > 1 else 0.0
    order = np.lexsort((np.arange(group.size), group))
    place = np.empty(group.size)
    place[order] = np.concatenate([np.arange(size) for size in count.tolist()])
    # From -1/2 to 1/2 of the room between two values.
    offset = (place + 0.5) / count[group] - 0.5
    return [x(at) for at in (values + room * offset).tolist()]
