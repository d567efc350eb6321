"""Columns that number the rows: no paper has such a number, unless somebody says so."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from reviewgraph.errors import InputError
from reviewgraph.formats.headers import ITEM, REVIEWER, ROW_NUMBERS, SCORE, TITLE, naming, normalise
from reviewgraph.formats.problems import quote


def number_rows(labels: Collection[str], size: int) -> bool:
    """Return whether distinct labels are those of rows counted from 1 or 0.

    >>> number_rows(["2", "1", "3"], 3), number_rows(["0", "1"], 2), number_rows(["1", "2"], 3), number_rows(["7"], 1)
    (True, True, False, False)
    """
    counts = ({str(row + first) for row in range(size)} for first in (0, 1))
    return 1 < size == len(labels) and set(labels) in counts


def refuse_row_numbers(
    header: Sequence[str],
    found: Mapping[str, int],
    chosen: Mapping[str, str],
    labels: Collection[str],
    size: int,
    name: str,
    prefix: str = "",
) -> None:
    """Refuse items from a column of an unspecific name that numbers the rows, beside one that may be the item.

    Parameters
    ----------
    header, name, prefix
        As :func:`reviewgraph.formats.headers.locate` takes them.
    found
        The positions of the columns by role.
    chosen
        Names of columns by role that are known or given by the user, who may mean the numbers.
    labels
        The distinct items.
    size
        How many rows there are.

    Raises
    ------
    InputError
        If nobody has chosen the column, and one stands beside it, those of reviewers and scores aside.
    """
    place = found[ITEM.name]
    if chosen.get(ITEM.name) or normalise(header[place]) not in ROW_NUMBERS or not number_rows(labels, size):
        return
    taken = {place, *(found.get(role.name) for role in (REVIEWER, SCORE))}
    others = [text for where, text in enumerate(header) if where not in taken and text.strip()]
    if others:
        best = header[found[TITLE.name]] if TITLE.name in found else others[0]
        message = (
            f"{name}: the column {quote(header[place])} numbers the rows, which may be no items; name the one that is, "
            f"for example {naming(prefix, ITEM, best)}; if it is {quote(header[place])}, say "
            f"{naming(prefix, ITEM, header[place])}"
        )
        raise InputError(message)
