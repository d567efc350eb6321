"""Words that every page and message needs: counted nouns, ranges, and lists that stop after the first few.

Nothing heavy is imported here, so commands and kernels' messages may use it alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

#: What steers a terminal, or turns the direction of writing, and shows nothing: C0, C1, line ends, bidirectional marks.
HIDDEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
#: Where Unicode has pictures of the characters 0 to 31, and that of 127.
_PICTURES, _DELETE = 0x2400, "\u2421"

#: How many names a list tells before it says "..." or "and n more".
LISTED = 5

#: Characters of a name that a list shows.
SHOWN = 40


def counted(count: int, one: str, many: str = "") -> str:
    """Return a number and its noun, in the singular where there is one.

    Parameters
    ----------
    count
        How many.
    one
        The noun for one.
    many
        The noun for any other number; by default ``one`` with an "s".

    Examples
    --------
    >>> counted(1, "paper"), counted(1200, "paper"), counted(0, "piece has", "pieces have")
    ('1 paper', '1,200 papers', '0 pieces have')
    """
    return f"{count:,} {noun(count, one, many)}"


def noun(count: int, one: str, many: str = "") -> str:
    """Return the noun alone, in the number that fits.

    >>> noun(1, "it"), noun(2, "it", "they"), noun(2, "review")
    ('it', 'they', 'reviews')
    """
    return one if count == 1 else many or f"{one}s"


def ranging(least: int, most: int) -> str:
    """Return what numbers lie between.

    >>> ranging(2, 2), ranging(2, 1000)
    ('2', '2 to 1,000')
    """
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def listed(names: Iterable[Any], most: int = LISTED) -> str:
    """Return names separated by commas, long ones cut, and dots where there are more than a list should hold.

    >>> listed(["ann", "bob"]), listed("abcdefg"), listed(["a" * 50])
    ('ann, bob', 'a, b, c, d, e, ...', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…')
    """
    known: Sequence[Any] = names if isinstance(names, Sequence) else list(names)
    shown = ", ".join(shortened(str(name)) for name in known[:most])
    return f"{shown}, ..." if len(known) > most else shown


def shortened(name: str) -> str:
    """Return a name, cut where it is long.

    >>> shortened("ann")
    'ann'
    """
    shown = visible(name)
    return shown if len(shown) <= SHOWN else f"{shown[: SHOWN - 1]}…"


def visible(text: str, but: str = "") -> str:
    r"""Return a text in which what steers a terminal stands as a picture or a number, and does nothing.

    Parameters
    ----------
    text
        Any text.
    but
        Characters that are meant, such as the end of a line; none by default.

    Examples
    --------
    >>> visible("ann\x1b[2J"), visible("\x9b\u202e"), visible("a\nb", but="\n")
    ('ann␛[2J', '\\x9b\\u202e', 'a\nb')
    """
    return HIDDEN.sub(lambda found: found[0] if found[0] in but else _picture(found[0]), text)


def _picture(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(_PICTURES + code)
    return _DELETE if code == 0x7F else f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
