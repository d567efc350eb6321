"""Drawings on Matplotlib axes: the same marks as in SVG, in pixels from the upper left, with the light colours."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeAlias
from xml.etree import ElementTree as Tree

from reviewgraph._base.errors import InputError
from reviewgraph.report.svg import HEAD, MARGIN, written_out

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reviewgraph.report.svg import Drawing

#: Points per pixel of a saved figure, and its resolution.
POINT = 0.75
DPI = 160
#: What ``python -m pip install`` takes to install Matplotlib.
EXTRA = "'reviewgraph[plots]'"

Style: TypeAlias = dict[str, str]

_RULE = re.compile(r"([^{}]+)\{([^}]*)\}")
_COMMAND = re.compile(r"([MmLlHhVvZz])([^A-Za-z]*)")
_NUMBER = re.compile(r"-?\d*\.?\d+(?:e-?\d+)?")


def figure_of(drawing: Drawing, title: str) -> Any:
    """Return a figure of a drawing with its title, at the size of the SVG file.

    >>> from reviewgraph.report.svg import Drawing
    >>> figure_of(Drawing(288, 144), "Nothing").get_size_inches().round(2).tolist()
    [3.33, 2.12]
    """
    figure_class = _matplotlib("figure").Figure
    width = drawing.width + 2 * MARGIN
    height = drawing.height + HEAD + MARGIN
    figure = figure_class(figsize=(width / 96, height / 96), dpi=DPI, facecolor=_style("rect", ["sheet"])["fill"])
    axes = figure.add_axes((MARGIN / width, MARGIN / height, drawing.width / width, drawing.height / height))
    draw_on(axes, drawing)
    style = _style("text", ["heading"])
    figure.text(MARGIN / width, 1 - 24 / height, title, fontsize=15 * POINT, fontweight="bold", color=style["fill"])
    return figure


def draw_on(axes: Any, drawing: Drawing, title: str = "") -> None:
    """Draw on axes, whose coordinates become the pixels of the drawing; their own ticks and frame are switched off."""
    axes.set_xlim(0, drawing.width)
    axes.set_ylim(drawing.height, 0)
    axes.set_aspect("equal")
    axes.axis("off")
    if title:
        axes.set_title(title)
    # Points per pixel on these axes, by which letters and lines shrink or grow.
    box = axes.get_window_extent()
    share = min(box.width / drawing.width, box.height / drawing.height) * 72 / axes.figure.dpi
    for order, mark in enumerate(drawing.marks):
        _draw(axes, mark, _style(mark.tag, mark.get("class", "").split()), share, order + 1)


def width_of(axes: Any) -> float:
    """Return the width of axes in pixels of 1/96 inch."""
    return float(axes.get_window_extent().width) / float(axes.figure.dpi) * 96


def _matplotlib(module: str) -> Any:
    try:
        return __import__(f"matplotlib.{module}", fromlist=["_"])
    except ImportError as error:
        message = f"expected the package matplotlib, found none; to install: python -m pip install {EXTRA}"
        raise InputError(message) from error


def _draw(axes: Any, mark: Tree.Element, style: Style, share: float, order: int) -> None:
    patches = _matplotlib("patches")
    value = mark.attrib
    given = {
        "facecolor": _colour(style.get("fill", "#000"), float(style.get("fill-opacity", 1))),
        "edgecolor": _colour(style.get("stroke", "none")),
        "linewidth": float(style.get("stroke-width", "1").removesuffix("px")) * share if "stroke" in style else 0,
        "zorder": order,
    }
    if "stroke-dasharray" in style:
        given["linestyle"] = (0, [float(one) * share / given["linewidth"] for one in style["stroke-dasharray"].split()])
    if mark.tag == "circle":
        axes.add_patch(patches.Circle((float(value["cx"]), float(value["cy"])), float(value["r"]), **given))
    elif mark.tag == "rect":
        x, y, width, height = (float(value[name]) for name in ("x", "y", "width", "height"))
        axes.add_patch(patches.Rectangle((x, y), width, height, **given))
    elif mark.tag == "path" and "dots" in value["class"].split():
        places = [(float(x), float(y)) for x, y in re.findall(r"M(-?[\d.]+) (-?[\d.]+)h0", value["d"])]
        size = given["linewidth"] ** 2
        axes.scatter(*zip(*places, strict=True), s=size, color=given["edgecolor"], linewidths=0, zorder=order)
    elif mark.tag == "path":
        path, codes = _path(value["d"])
        axes.add_patch(patches.PathPatch(_matplotlib("path").Path(path, codes), **given))
    elif mark.tag == "text":
        _write(axes, mark, style, share, order)


def _write(axes: Any, mark: Tree.Element, style: Style, share: float, order: int) -> None:
    effects = []
    if "stroke" in style and style.get("paint-order") == "stroke":
        width = float(style["stroke-width"].removesuffix("px")) * share
        effects = [_matplotlib("patheffects").withStroke(linewidth=width, foreground=style["stroke"])]
    axes.text(
        *(float(mark.attrib["x"]), float(mark.attrib["y"]), mark.text or ""),
        fontsize=float(style.get("font-size", "12px").removesuffix("px")) * share,
        fontweight="bold" if style.get("font-weight") == "600" else "normal",
        color=style.get("fill", "#000"),
        ha={"middle": "center", "end": "right"}.get(mark.get("text-anchor", ""), "left"),
        va="baseline",
        path_effects=effects,
        parse_math=False,
        zorder=order,
    )


def _colour(colour: str, opacity: float = 1.0) -> Any:
    return "none" if colour == "none" else (colour, opacity)


def _path(data: str) -> tuple[list[tuple[float, float]], list[int]]:
    """Return the vertices and Matplotlib's codes of a path of straight lines.

    >>> _path("M1 2l3 4H0z")
    ([(1.0, 2.0), (4.0, 6.0), (0.0, 6.0), (1.0, 2.0)], [1, 2, 2, 79])
    """
    vertices: list[tuple[float, float]] = []
    codes: list[int] = []
    x = y = 0.0
    start = (0.0, 0.0)
    for letter, rest in _COMMAND.findall(data):
        numbers = [float(one) for one in _NUMBER.findall(rest)]
        relative = letter.islower()
        for k, (dx, dy) in enumerate(_steps(letter.upper(), numbers, (0.0, 0.0) if relative else (x, y))):
            x, y = (x + dx, y + dy) if relative else (dx, dy)
            # Pairs after the first of a move are lines.
            moves = letter.upper() == "M" and k == 0
            start = (x, y) if moves else start
            vertices.append((x, y))
            codes.append(1 if moves else 2)
        if letter.upper() == "Z":
            x, y = start
            vertices.append(start)
            codes.append(79)
    return vertices, codes


def _steps(letter: str, numbers: list[float], at: tuple[float, float]) -> Iterator[tuple[float, float]]:
    if letter in "ML":
        yield from zip(numbers[::2], numbers[1::2], strict=True)
    for number in numbers if letter in "HV" else ():
        yield (number, at[1]) if letter == "H" else (at[0], number)


def _style(tag: str, classes: list[str]) -> Style:
    """Return the style of a mark from the style sheet: rules of more classes count more, and later ones of as many."""
    text, rules = _styles()
    chosen: Style = dict(text) if tag == "text" else {}
    for needed, declared in rules:
        if needed <= set(classes):
            chosen |= declared
    return chosen


@cache
def _styles() -> tuple[Style, list[tuple[set[str], Style]]]:
    """Return the rules of the style sheet of pictures for all media: of text, and by classes, most of them last."""
    sheet = (files("reviewgraph.report") / "pictures.css").read_text("utf-8")
    light = written_out(sheet).partition("@media")[0]
    rules: list[tuple[set[str], Style]] = []
    text: Style = {}
    for heads, body in _RULE.findall(light):
        declared = dict(part.strip().split(": ", 1) for part in body.split(";") if ": " in part)
        for head in heads.split(","):
            classes = set(re.findall(r"\.([\w-]+)", head))
            if classes:
                rules.append((classes, declared))
            elif head.strip().endswith("text"):
                text = declared
    rules.sort(key=lambda rule: len(rule[0]))
    return text, rules
