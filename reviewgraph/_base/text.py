"""Text of pages and messages: counted nouns, ranges, lists cut after the first few, folded lines and tables.

Nothing heavy is imported here.
"""

from __future__ import annotations

import re
import shutil
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise, takewhile
from operator import eq
from typing import Any, Protocol, TypeVar

from reviewgraph._base.errors import InputError

#: Invisible characters that control a terminal or the direction of writing: C0, C1, line ends, bidirectional marks.
HIDDEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
#: Where Unicode has pictures of the characters 0 to 31, and that of 127.
_PICTURES = 0x2400
_DELETE = "\u2421"

#: Maximum names in a list before "..." or "and n more".
LISTED = 5

#: Maximum characters of a name in a list.
SHOWN = 40


def counted(count: int, singular: str, many: str = "") -> str:
    """Return a number and its noun, in the singular where there is one.

    >>> counted(1, "paper"), counted(1200, "paper"), counted(0, "piece has", "pieces have")
    ('1 paper', '1,200 papers', '0 pieces have')
    """
    return f"{count:,} {noun(count, singular, many)}"


def noun(count: int, singular: str, many: str = "") -> str:
    """Return the noun alone, in the number that fits."""
    return singular if count == 1 else many or f"{singular}s"


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def in_full(number: float) -> str:
    """Return a number in all its digits, as a person would type it."""
    return str(float(number)).removesuffix(".0")


def ranging(least: int, most: int) -> str:
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def listed(names: Iterable[Any], most: int = LISTED, end: str = "") -> str:
    """Return names separated by commas, long ones cut, and dots if there are more than ``most``, else the ``end``.

    >>> listed(["ann", "bob"]), listed("abcdefg"), listed(["a" * 50])
    ('ann, bob', 'a, b, c, d, e, ...', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…')
    >>> listed("ab", end="."), listed("abcdefg", end=".")
    ('a, b.', 'a, b, c, d, e, ...')
    >>> listed(["paper-of-a-conference-with-a-long-name-11", "paper-of-a-conference-with-a-long-name-12"])
    'paper-of-a-conference-with-a-long-name-11, paper-of-a-conference-with-a-long-name-12'
    """
    known: Sequence[Any] = names if isinstance(names, Sequence) else list(names)
    # Different names stay different.
    whole = [visible(str(name)) for name in known[:most]]
    cut = [shortened(name) for name in whole]
    shown = ", ".join(cut if len({*cut}) == len({*whole}) else whole)
    return f"{shown}, ..." if len(known) > most else f"{shown}{end}"


class Detail(str):
    """A note that the page repeats, or on which nobody acts: only ``--verbose`` shows it."""

    __slots__ = ()


def shortened(name: str) -> str:
    """Return a name, cut where it is long."""
    shown = visible(name)
    return shown if len(shown) <= SHOWN else f"{shown[: SHOWN - 1]}…"


def visible(text: str, but: str = "") -> str:
    r"""Return a text with control characters, except those in ``but``, replaced by pictures or numbers.

    >>> visible("ann\x1b[2J"), visible("\x9b\u202e"), visible("a\nb", but="\n")
    ('ann␛[2J', '\\x9b\\u202e', 'a\nb')
    """
    return HIDDEN.sub(lambda match: match[0] if match[0] in but else _picture(match[0]), text)


def _picture(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(_PICTURES + code)
    if code == 0x7F:
        return _DELETE
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


class _Named(Protocol):
    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=_Named)


def named(known: Iterable[N], name: object, argument: str) -> N:
    """Return the object of a name; an unknown name raises InputError, which lists the valid ones.

    >>> from reviewgraph.graph.levels import LEVELS
    >>> named(LEVELS, "double", "level").term
    'doubly connected'
    """
    by_name = {entry.name: entry for entry in known}
    if isinstance(name, str) and name in by_name:
        return by_name[name]
    raise InputError(f"{argument}: expected one of {', '.join(by_name)}, found {name!r}")


# Lines for a terminal: sentences folded at its width, and tables whose columns of text are cut to fit.

#: The hanging indent of a sentence: its indentation, and a number before it.
_LEAD = re.compile(r" *(?:[-+<>]* ?[0-9][0-9.,]*(?: %)?  )?")
#: Spaces at which a line does not end: before a percent sign, and before a number that a name has in brackets.
_KEPT = re.compile(r" (?=%|\([0-9<>])")
_HARD_SPACE = "\N{NO-BREAK SPACE}"
#: Between two columns of a table, and the least that a column of text is cut to.
_GAP = "  "
_LEAST = 8


def terminal_width() -> int:
    """Return the columns of the terminal, 80 where there is none; the variable COLUMNS overrules both."""
    return shutil.get_terminal_size((80, 24)).columns


def folded(line: str, width: int) -> list[str]:
    """Fold a line to a width, with a hanging indent.

    >>> folded("  +0.40  ann gave 9, counts as 8.5", 24)
    ['  +0.40  ann gave 9,', '         counts as 8.5']
    """
    lead = _LEAD.match(line)
    hang = lead.end() if lead else 0
    if columns(line) <= width:
        return [line]
    # A list that is indented without a number goes on further in, so that its items are told apart.
    inner = hang + 2 if line[:hang].isspace() else hang
    first, *words = _KEPT.sub(_HARD_SPACE, line[hang:]).split(" ")
    lines = [line[:hang] + first]
    for word in words:
        if columns(lines[-1]) + 1 + columns(word) <= width:
            lines[-1] += f" {word}"
        elif word:
            lines.append(" " * inner + word)
    return [part.rstrip(" ").replace(_HARD_SPACE, " ") for part in lines]


def text_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    text: Collection[int],
    width: int | None = None,
    whole: Collection[int] = (),
    free: Collection[int] = (),
) -> list[str]:
    """Return a table, one line per row; columns at the places ``text`` are left-aligned, others right-aligned.

    Text is cut where the table is wider than the terminal, the widest column first, but never so far that two different
    cells of a column look the same, unless it is ``free``; headers, and columns at the places ``whole``, are not cut.

    >>> text_table(["paper", "rank"], [["p1", "10"], ["p2 On the comparison", "9"]], text=[0], width=16)
    ['paper       rank', 'p1            10', 'p2 On the…     9']
    """
    lines = [list(header), *([visible(cell) for cell in row] for row in rows)]
    sizes = [max(map(columns, column)) for column in zip(*lines, strict=True)]
    room = (terminal_width() if width is None else width) - len(_GAP) * (len(sizes) - 1)
    cut = [place for place in text if place not in whole] if sum(sizes) > room else []
    least = {place: _LEAST if place in free else _told_apart([line[place] for line in lines]) for place in cut}
    least = {place: max(size, columns(header[place])) for place, size in least.items()}
    while sum(sizes) > room and (longer := [place for place in least if sizes[place] > least[place]]):
        sizes[max(longer, key=lambda place: sizes[place])] -= 1
    return [
        _GAP.join(
            _filled(cell, size, left=place in text) for place, (cell, size) in enumerate(zip(line, sizes, strict=True))
        ).rstrip()
        for line in lines
    ]


def columns(text: str) -> int:
    """Return the width of a text in a terminal: two columns for wide characters, none for combining marks.

    >>> columns("p1"), columns("論文"), columns("e\N{COMBINING ACUTE ACCENT}")
    (2, 4, 1)
    """
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF") for c in text)


def _told_apart(cells: Sequence[str]) -> int:
    """Return the minimum width to which cells can be cut so that different ones still look different."""
    # Of sorted cells, neighbours have the most in common. After it come one more character, wide or not, and the dots.
    least = _LEAST
    for cell, following in pairwise(sorted(set(cells))):
        common = sum(takewhile(bool, map(eq, cell, following)))
        least = max(least, columns(cell[:common]) + 3)
    return least


def _filled(cell: str, size: int, *, left: bool) -> str:
    if columns(cell) > size:
        while columns(cell) >= size:
            cell = cell[:-1]
        cell = f"{cell.rstrip()}…"
    space = " " * (size - columns(cell))
    return f"{cell}{space}" if left else f"{space}{cell}"
