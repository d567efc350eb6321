"""Pictures of reports as SVG: marks that the style sheet colours, axes, labels; bars, errors, intervals, shifts, steps.

Functions that draw return a :class:`Drawing` of a width in pixels, with a description in words.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple, TypeAlias
from xml.etree import ElementTree as Tree

from reviewgraph._base.text import visible

#: Widths, in pixels, at which every picture is drawn: for a phone, and for a screen or paper.
NARROW = 350
WIDE = 760
#: Width of a letter of the labels, in pixels, slightly more than the mean.
LETTER = 6.4
#: Height of a line of labels.
LINE = 15
#: Margin around a file of its own, and room above it for its title.
MARGIN = 16
HEAD = 44


#: Left, top, right, bottom.
Box: TypeAlias = tuple[float, float, float, float]


class Drawing:
    """An SVG element under construction; places are pixels from the upper left.

    >>> drawing = Drawing(10, 5)
    >>> drawing.circle(5, 2.5, 2, "dot", "paper <1>")
    >>> drawing.markup("a", "One dot", "A dot in the middle.")
    '<svg viewBox="0 0 10 5" role="img" aria-labelledby="a-title a-words"><title id="a-title">One dot</title><desc
    id="a-words">A dot in the middle.</desc><circle cx="5" cy="2.5" r="2" class="dot"><title>paper
    &lt;1&gt;</title></circle></svg>'
    """

    def __init__(self, width: float, height: float) -> None:
        self.width = width
        self.height = height
        self._marks: list[Tree.Element] = []

    def circle(self, x: float, y: float, radius: float, kind: str, tooltip: str = "") -> None:
        """Draw a circle with a tooltip."""
        self._add("circle", tooltip, cx=_number(x), cy=_number(y), r=_number(radius), **{"class": kind})

    def box(self, x: float, y: float, width: float, height: float, kind: str, tooltip: str = "") -> None:
        """Draw a rectangle from its upper left corner."""
        size = {"width": _number(max(width, 0)), "height": _number(max(height, 0))}
        self._add("rect", tooltip, x=_number(x), y=_number(y), **size, **{"class": kind})

    def path(self, points: str, kind: str, tooltip: str = "") -> None:
        """Draw a path in SVG's own notation."""
        if points:
            self._add("path", tooltip, d=points, **{"class": kind})

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str, tooltip: str = "") -> None:
        """Draw a straight line."""
        self.path(f"M{_number(x1)} {_number(y1)}L{_number(x2)} {_number(y2)}", kind, tooltip)

    def dots(self, places: Iterable[tuple[float, float]], kind: str) -> None:
        """Draw many dots as one path: much smaller than circles."""
        self.path("".join(f"M{_number(x)} {_number(y)}h0" for x, y in places), f"dots {kind}")

    def text(self, x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> Tree.Element:
        """Write words; ``anchor`` is start, middle or end."""
        mark = self._add("text", "", x=_number(x), y=_number(y), **{"class": kind, "text-anchor": anchor})
        mark.text = visible(words)
        return mark

    def markup(self, name: str, title: str, words: str) -> str:
        """Return the element; ``name`` is unique on the page, ``title`` and ``words`` describe the picture."""
        root = self._frame(name, title, words, (0, 0, self.width, self.height))
        root.extend(self._marks)
        return Tree.tostring(root, encoding="unicode")

    def alone(self, name: str, title: str, words: str, style: str) -> str:
        """Return the element as a file of its own: with its style sheet, a background and its title."""
        width = self.width + 2 * MARGIN
        height = self.height + HEAD + MARGIN
        root = self._frame(name, title, words, (-MARGIN, -HEAD, width, height))
        root.attrib |= {"xmlns": "http://www.w3.org/2000/svg", "width": _number(width), "height": _number(height)}
        root.set("font-family", "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif")
        Tree.SubElement(root, "style").text = style
        background = Drawing(width, height)
        background.box(-MARGIN, -HEAD, width, height, "sheet")
        background.text(0, -HEAD + 24, title, "heading")
        root.extend([*background._marks, *self._marks])
        return Tree.tostring(root, encoding="unicode")

    def _frame(self, name: str, title: str, words: str, box: tuple[float, float, float, float]) -> Tree.Element:
        root = Tree.Element("svg", {"viewBox": " ".join(map(_number, box)), "role": "img"})
        root.set("aria-labelledby", f"{name}-title {name}-words")
        Tree.SubElement(root, "title", {"id": f"{name}-title"}).text = visible(title)
        Tree.SubElement(root, "desc", {"id": f"{name}-words"}).text = visible(words)
        return root

    def _add(self, tag: str, tooltip: str, **attributes: str) -> Tree.Element:
        mark = Tree.Element(tag, {name: value for name, value in attributes.items() if value})
        if tooltip:
            Tree.SubElement(mark, "title").text = visible(tooltip)
        self._marks.append(mark)
        return mark


def _number(value: float) -> str:
    """Return a coordinate with one digit after the point; halves are rounded alike on every machine."""
    return f"{round(round(float(value), 6), 1) + 0.0:g}"


class Scale(NamedTuple):
    """A linear map from values (``low`` to ``high``) to pixels (``start`` to ``end``).

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
        """Return round values, about ``most`` of them and at least two.

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
        return next(marks for step in steps[place::-1] if len(marks := self._multiples(step)) > 1 or step == steps[0])

    def _multiples(self, step: float) -> list[float]:
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [round(place * step, 10) + 0.0 for place in range(first, last + 1)]


def across(
    drawing: Drawing, scale: Scale, top: float, bottom: float, name: str, most: int, *, whole: bool = False
) -> None:
    """Draw a horizontal axis: grid lines, numbers below and its name; with ``whole`` for integers."""
    most = max(1, min(most, int(scale.high - scale.low))) if whole else most
    for value in scale.ticks(most):
        x = scale(value)
        drawing.line(x, top, x, bottom, "grid")
        drawing.text(x, bottom + 16, f"{value:,g}", "tick", "middle")
    drawing.text((scale.start + scale.end) / 2, bottom + 36, name, "axis", "middle")


def upward(drawing: Drawing, scale: Scale, left: float, right: float, name: str) -> None:
    """Draw a vertical axis, its name above it."""
    for value in scale.ticks():
        y = scale(value)
        drawing.line(left, y, right, y, "grid")
        drawing.text(left - 8, y + 4, f"{value:,g}", "tick", "end")
    drawing.text(0, min(scale.start, scale.end) - 12, name, "axis")


#: Definitions of a style sheet's colours: a block for all media, or for one.
_NAMES = re.compile(r"(?:(@media [^{]*?) \{\s*)?:root \{([^}]*)\}(?(1)\s*\})")
_NAMED = re.compile(r"--([\w-]+): ([^;]*);")
_USED = re.compile(r"var\(--([\w-]+)\)")


@cache
def written_out(style: str) -> str:
    """Return a style sheet, one rule per line, with colours in place of variables.

    Programs that convert pictures know no variables. A rule that has a colour is written once for all media, and once
    for each medium that has colours of its own.

    >>> style = ":root { --ink: #000; } @media print { :root { --ink: #111; } } p { fill: var(--ink); }"
    >>> print(written_out(style))
    p { fill: #000; }
    @media print {
    p { fill: #111; }
    }
    """
    rules = re.sub(r"/\*.*?\*/", "", _NAMES.sub("", style), flags=re.S).strip()
    usual = dict(_NAMED.findall(style[: style.find("}")]))
    blocks = [_with(usual, rules)]
    coloured = "\n".join(line for line in rules.splitlines() if _USED.search(line))
    for medium, names in _NAMES.findall(style):
        if medium:
            blocks.append(f"{medium} {{\n{_with(usual | dict(_NAMED.findall(names)), coloured)}\n}}")
    return "\n".join(blocks)


def _with(colours: dict[str, str], rules: str) -> str:
    return _USED.sub(lambda use: colours[use[1]], rules)


#: Marks up to which each has a tooltip; more become one path.
NAMED = 400


def mark(drawing: Drawing, x: float, y: float, kind: str, tooltip: str = "", size: float = 3.5) -> None:
    """Draw a mark.

    Kinds are ``apart`` (a square), ``up``, ``down``, ``diamond``, ``paper``, ``link extra`` and ``cut`` (lines),
    ``zone`` (an area), or else a circle.
    """
    if kind in ("diamond", "paper"):
        drawing.path(f"M{x:.1f} {y - 4.5:.1f}l4.5 4.5-4.5 4.5-4.5-4.5z", kind, tooltip)
    elif kind in ("up", "down"):
        turn = 1 if kind == "up" else -1
        drawing.path(f"M{x:.1f} {y - 5 * turn:.1f}l5 {9 * turn}h-10z", kind, tooltip)
    elif kind in ("link extra", "cut"):
        drawing.line(x - 8, y, x + 5, y, kind, tooltip)
    elif kind == "zone":
        drawing.box(x - 5, y - 5, 10, 10, kind, tooltip)
    elif kind == "apart":
        side = 1.77 * size  # of equal area
        drawing.box(x - side / 2, y - side / 2, side, side, kind, tooltip)
    else:
        drawing.circle(x, y, size, kind, tooltip)


def legend(drawing: Drawing, entries: Sequence[tuple[str, str]]) -> float:
    """Write the meanings of marks, in as many lines as needed; return the height below them."""
    x = 8.0
    y = 10.0
    for kind, words in entries:
        length = LETTER * len(words)
        if x > 8.0 and x + length + 12 > drawing.width:
            x = 8.0
            y = y + LINE + 2
        mark(drawing, x, y, kind)
        drawing.text(x + 10, y + 4, words, "tick")
        x += length + 30
    return y + 12


class Labels:
    """Labels beside marks, below ``top``, that overlap neither boxes ``taken`` nor each other."""

    def __init__(self, drawing: Drawing, top: float, taken: Sequence[Box] = ()) -> None:
        self.taken = list(taken)
        self.drawing = drawing
        self.top = top

    def write(self, x: float, y: float, words: str, radius: float = 4.0) -> bool:
        """Write beside a mark of this radius: right, left, below or above; return whether there was room."""
        length = LETTER * len(words)
        half = LINE / 2
        off = radius + 5
        # Text is anchored at its mark, so that letters wider than the mean never reach it.
        corners = [
            (x + off, y - half, x + off, "start"),
            (x - off - length, y - half, x - off, "end"),
            (x - length / 2, y + off - 2, x, "middle"),
            (x - length / 2, y - off - LINE + 2, x, "middle"),
        ]
        for left, top, at, anchor in corners:
            box = (left, top, left + length, top + LINE)
            inside = left >= 0 and box[2] <= self.drawing.width and top >= self.top and box[3] <= self.drawing.height
            if inside and not any(_overlap(box, occupied) for occupied in self.taken):
                self.drawing.text(at, box[3] - 4, words, "label", anchor)
                self.taken.append(box)
                return True
        return False


def _overlap(first: Box, second: Box) -> bool:
    # Two labels on one line need a gap, or they read as one.
    return first[0] - 4 < second[2] and second[0] < first[2] + 4 and first[1] < second[3] and second[1] < first[3]
