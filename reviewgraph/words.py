"""Words that every page and message needs: counted nouns, ranges, and lists that stop after the first few.

Nothing heavy is imported here, so commands and kernels' messages may use it alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

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
    return name if len(name) <= SHOWN else f"{name[: SHOWN - 1]}…"
