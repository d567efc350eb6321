"""A drawing: marks with classes that the style sheet colours, in a frame that says in words what it shows."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as Tree

from reviewgraph.words import visible

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Widths, in pixels, at which every picture is drawn: for a phone, and for a screen or paper.
NARROW, WIDE = 350, 760
#: Width of a letter of the labels, in pixels, a little more than most have.
LETTER = 6.4
#: Height of a line of labels.
LINE = 15
#: Around a drawing that stands alone, and above it for its title.
MARGIN, HEAD = 16, 44


class Drawing:
    """An SVG element under construction; places are pixels from the upper left.

    Parameters
    ----------
    width, height
        Of the frame.

    Examples
    --------
    >>> drawing = Drawing(10, 5)
    >>> drawing.circle(5, 2.5, 2, "dot", "paper <1>")
    >>> drawing.markup("a", "One dot", "A dot in the middle.")
    '<svg viewBox="0 0 10 5" role="img" aria-labelledby="a-title a-words"><title id="a-title">One dot</title><desc
    id="a-words">A dot in the middle.</desc><circle cx="5" cy="2.5" r="2" class="dot"><title>paper
    &lt;1&gt;</title></circle></svg>'
    """

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height
        self._marks: list[Tree.Element] = []

    def circle(self, x: float, y: float, radius: float, kind: str, told: str = "") -> None:
        """Draw a circle; ``told`` is shown to who points at it."""
        self._add("circle", told, cx=_number(x), cy=_number(y), r=_number(radius), **{"class": kind})

    def box(self, x: float, y: float, width: float, height: float, kind: str, told: str = "") -> None:
        """Draw a rectangle from its upper left corner."""
        size = {"width": _number(max(width, 0)), "height": _number(max(height, 0))}
        self._add("rect", told, x=_number(x), y=_number(y), **size, **{"class": kind})

    def path(self, points: str, kind: str, told: str = "") -> None:
        """Draw a path, given in SVG's own letters."""
        if points:
            self._add("path", told, d=points, **{"class": kind})

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str, told: str = "") -> None:
        """Draw a straight line."""
        self.path(f"M{_number(x1)} {_number(y1)}L{_number(x2)} {_number(y2)}", kind, told)

    def dots(self, places: Iterable[tuple[float, float]], kind: str) -> None:
        """Draw many dots as one path, a fraction of the size of circles: ends of lines without length, made round."""
        self.path("".join(f"M{_number(x)} {_number(y)}h0" for x, y in places), f"dots {kind}")

    def text(self, x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> None:
        """Write words; ``anchor`` says whether they start, have their middle or end at the place."""
        mark = self._add("text", "", x=_number(x), y=_number(y), **{"class": kind, "text-anchor": anchor})
        mark.text = visible(words)

    def markup(self, name: str, title: str, words: str) -> str:
        """Return the element.

        Parameters
        ----------
        name
            Unlike that of any other picture of the page.
        title, words
            What it is, and what it shows, to those who do not see it.
        """
        root = self._frame(name, title, words, (0, 0, self.width, self.height))
        root.extend(self._marks)
        return Tree.tostring(root, encoding="unicode")

    def alone(self, name: str, title: str, words: str, style: str) -> str:
        """Return the element as a file of its own: with its style sheet, a ground, and its title above it."""
        width, height = self.width + 2 * MARGIN, self.height + HEAD + MARGIN
        root = self._frame(name, title, words, (-MARGIN, -HEAD, width, height))
        root.attrib |= {"xmlns": "http://www.w3.org/2000/svg", "width": _number(width), "height": _number(height)}
        root.set("font-family", "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif")
        Tree.SubElement(root, "style").text = style
        ground = Drawing(width, height)
        ground.box(-MARGIN, -HEAD, width, height, "sheet")
        ground.text(0, -HEAD + 24, title, "heading")
        root.extend([*ground._marks, *self._marks])
        return Tree.tostring(root, encoding="unicode")

    def _frame(self, name: str, title: str, words: str, box: tuple[float, float, float, float]) -> Tree.Element:
        root = Tree.Element("svg", {"viewBox": " ".join(map(_number, box)), "role": "img"})
        root.set("aria-labelledby", f"{name}-title {name}-words")
        Tree.SubElement(root, "title", {"id": f"{name}-title"}).text = visible(title)
        Tree.SubElement(root, "desc", {"id": f"{name}-words"}).text = visible(words)
        return root

    def _add(self, tag: str, told: str, **attributes: str) -> Tree.Element:
        mark = Tree.Element(tag, {name: value for name, value in attributes.items() if value})
        if told:
            Tree.SubElement(mark, "title").text = visible(told)
        self._marks.append(mark)
        return mark


def _number(value: float) -> str:
    """Return a coordinate with the one digit that can be seen."""
    return f"{round(float(value), 1) + 0.0:g}"
