"""Draw docs/explanation/architecture.svg from the plan of the house: ``python -m tests.draw_rooms``.

A box is a room, or several with the same arrows, and stands a floor above all that it imports. An arrow that a longer
way implies is left out, and so are the errors of each package, which anyone may raise.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import igraph

from tests.rooms import ROOMS

PICTURE = Path(__file__).parents[1] / "docs" / "explanation" / "architecture.svg"
TITLES = {
    "planner": "planner: which reviews to add or assign",
    "reviewgraph": "reviewgraph: who reviews what",
    "lsc": "lsc: scores on one scale",
}
#: Rooms that anyone may use, or nobody does.
LEFT_OUT = {"errors", "_version", "__main__"}
#: Sizes in pixels: a letter, one of titles, a line of a box, height of a layer, margins, the top of a package, gaps.
LETTER, TITLE_LETTER, LINE, FLOOR, MARGIN, TOP, GAP = 7.2, 9.2, 17, 62, 14, 46, 4

Arrows = dict[str, set[str]]

HEAD = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" \
role="img" font-family="Helvetica, Arial, sans-serif">
<title>The rooms of planner, reviewgraph and lsc, and who imports from whom</title>
<style>
  .page {{ fill: #ffffff }} .package {{ fill: #f3f5f8; stroke: #b8c0cc }} .room {{ fill: #ffffff; stroke: #4a5568 }}
  text {{ fill: #1a202c; text-anchor: middle; font-size: 12px }} .title {{ font-size: 15px; font-weight: bold }}
  .arrow {{ stroke: #4a5568; stroke-width: 1.2; fill: none }} .head {{ fill: #4a5568 }}
  .bridge {{ stroke: #2b6cb0; stroke-width: 4; fill: none }} .bridgehead {{ fill: #2b6cb0 }}
  @media (prefers-color-scheme: dark) {{
    .page {{ fill: #14181f }} .package {{ fill: #1d232d; stroke: #4a5568 }} .room {{ fill: #29313d; stroke: #a0aec0 }}
    text {{ fill: #edf2f7 }} .arrow {{ stroke: #cbd5e0 }} .head {{ fill: #cbd5e0 }}
    .bridge {{ stroke: #63b3ed }} .bridgehead {{ fill: #63b3ed }}
  }}
</style>
<defs>
  <marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">\
<path class="head" d="M0 0 8 4 0 8z"/></marker>
  <marker id="bridge" viewBox="0 0 8 8" refX="5" refY="4" markerWidth="3.5" markerHeight="3.5" orient="auto">\
<path class="bridgehead" d="M0 0 8 4 0 8z"/></marker>
</defs>
<rect class="page" width="{width}" height="{height}" rx="10"/>"""


def reduced(package: str) -> Arrows:
    """Return the arrows of a package that no longer way implies."""
    rooms = {room: set(below.split()) - LEFT_OUT for room, below in ROOMS[package].items() if room not in LEFT_OUT}
    reach: Arrows = {}

    def under(room: str) -> set[str]:
        if room not in reach:
            reach[room] = set(rooms[room]).union(*(under(below) for below in rooms[room]))
        return reach[room]

    return {room: {b for b in below if not any(b in under(o) for o in below - {b})} for room, below in rooms.items()}


def merged(arrows: Arrows) -> Arrows:
    """Return the same with one box for rooms of the same arrows, again and again."""
    while True:
        alike: dict[tuple[frozenset[str], frozenset[str]], list[str]] = {}
        for room, below in arrows.items():
            above = frozenset(other for other in arrows if room in arrows[other])
            alike.setdefault((frozenset(below), above), []).append(room)
        group = next((rooms for rooms in alike.values() if len(rooms) > 1), None)
        if group is None:
            return arrows
        new = {room: " ".join(group) if room in group else room for room in arrows}
        arrows = {new[room]: {new[b] for b in below} for room, below in arrows.items()}


def floors(arrows: Arrows) -> dict[str, int]:
    """Return the floor of each box, 0 for those that import from no other."""
    level: dict[str, int] = {}

    def floor(room: str) -> int:
        if room not in level:
            level[room] = 1 + max((floor(below) for below in arrows[room]), default=-1)
        return level[room]

    return {room: floor(room) for room in arrows}


class Package:
    """The boxes of a package with their places, from the left of the package and from its highest floor."""

    def __init__(self, name: str) -> None:
        self.name, self.arrows = name, merged(reduced(name))
        self.level = floors(self.arrows)
        self.lines = {room: [" · ".join(room.split())] for room in self.arrows}
        self.wide = {room: max(map(len, self.lines[room])) * LETTER + 16 for room in self.arrows}
        self.top = max(self.level.values())
        self.ways = [self._way(room, below) for room in self.arrows for below in sorted(self.arrows[room])]
        self.x = self._spread(self._ordered())
        taken = max(self.x[place] + self.wide[place] / 2 for place in self.x) + MARGIN
        # The title has room, and the boxes stand in the middle below it.
        self.width = max(taken, len(TITLES[name]) * TITLE_LETTER + 2 * MARGIN)
        self.x = {place: x + (self.width - taken) / 2 for place, x in self.x.items()}
        self.height = (self.top + 1) * FLOOR

    def _way(self, room: str, below: str) -> list[str]:
        """Return the places that an arrow passes, one a floor: where there is no box, a gap of its own."""
        gaps = [f"{room} > {below} {floor}" for floor in range(self.level[room] - 1, self.level[below], -1)]
        for number, gap in enumerate(gaps):
            self.level[gap], self.wide[gap] = self.level[room] - 1 - number, GAP
        return [room, *gaps, below]

    def _ordered(self) -> dict[str, float]:
        """Return where each place wishes to stand on its floor, with few crossings."""
        places = list(self.level)
        number = {place: n for n, place in enumerate(places)}
        graph = igraph.Graph(n=len(places), directed=True)
        graph.add_edges([(number[a], number[b]) for way in self.ways for a, b in pairwise(way)])
        layers = [self.top - self.level[place] for place in places]
        layout = graph.layout_sugiyama(layers=layers, maxiter=2000)
        return {place: float(layout[number[place]][0]) for place in places}

    def _spread(self, wish: dict[str, float]) -> dict[str, float]:
        """Keep the order of each floor, and put places where they wish as far as they have room."""
        rows = {
            floor: sorted((p for p in wish if self.level[p] == floor), key=wish.__getitem__)
            for floor in range(self.top + 1)
        }
        need = {floor: sum(self.wide[place] + MARGIN for place in row) for floor, row in rows.items()}
        widest = max(need.values())
        scale = widest / (max(wish.values()) + 1.0)
        found: dict[str, float] = {}
        for floor, row in rows.items():
            right, rest = 0.0, need[floor]
            for place in row:
                half = self.wide[place] / 2
                least, most = right + MARGIN + half, widest - rest + MARGIN + half
                found[place] = max(least, min((wish[place] + 0.5) * scale, most))
                right, rest = found[place] + half, rest - self.wide[place] - MARGIN
        return found

    def drawn(self, left: float) -> list[str]:
        """Return boxes over arrows."""
        parts = []
        for way in self.ways:
            points = [(left + self.x[place], TOP + self._y(place)) for place in way]
            x, y = points[0][0], points[0][1] + 6 + self._tall(way[0])
            path = f"M{x:.0f} {y:.0f}"
            for number, (to, high) in enumerate(points[1:], 2):
                end = high + 4 if number == len(points) else high + FLOOR / 4
                bend = (end - y) / 2
                path += f"C{x:.0f} {y + bend:.0f} {to:.0f} {end - bend:.0f} {to:.0f} {end:.0f}"
                x, y = to, end
            parts.append(f'<path class="arrow" marker-end="url(#head)" d="{path}"/>')
        for room, lines in self.lines.items():
            x, y, wide = left + self.x[room], TOP + self._y(room) + 6, self.wide[room]
            box = f'x="{x - wide / 2:.0f}" y="{y:.0f}" width="{wide:.0f}" height="{self._tall(room)}" rx="5"'
            parts.append(f'<rect class="room" {box}/>')
            parts += [
                f'<text x="{x:.0f}" y="{y + LINE * number + 16:.0f}">{line.replace(".", "/")}</text>'
                for number, line in enumerate(lines)
            ]
        return parts

    def _y(self, place: str) -> float:
        return (self.top - self.level[place]) * FLOOR

    def _tall(self, room: str) -> int:
        return LINE * len(self.lines[room]) + 8


def picture() -> str:
    """Return the picture as SVG."""
    packages = [Package(name) for name in TITLES]
    tall = max(package.height for package in packages) + TOP
    parts, left, edges = [], float(MARGIN), []
    for package in packages:
        right = left + package.width
        edges.append((left, right))
        box = f'x="{left:.0f}" y="10" width="{package.width:.0f}" height="{tall:.0f}" rx="8"'
        title = f'<text class="title" x="{(left + right) / 2:.0f}" y="34">{TITLES[package.name]}</text>'
        parts += [f'<rect class="package" {box}/>', title, *package.drawn(left)]
        left = right + 3 * MARGIN
    # Both outer packages import from the one between them.
    (_, first), (start, end), (last, _) = edges
    for x, to in ((first, start), (last, end)):
        path = f"M{x:.0f} {tall / 2:.0f}L{to:.0f} {tall / 2:.0f}"
        parts.append(f'<path class="bridge" marker-end="url(#bridge)" d="{path}"/>')
    head = HEAD.format(width=round(left - 2 * MARGIN), height=round(tall + 20))
    return "\n".join([head, *parts, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
