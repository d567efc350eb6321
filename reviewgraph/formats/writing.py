"""Tables as CSV text: no spreadsheet takes a cell for a formula, and readers get back what it said."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

#: What a spreadsheet takes for the beginning of a formula, apostrophes before it aside; some take wide signs, too.
_FORMULA = re.compile(r"'*[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]")
#: What begins like a formula and is a number all the same.
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def guarded(cell: str) -> str:
    """Return a cell as it is written: an apostrophe before what would be a formula, numbers as they are.

    What begins with apostrophes and then like a formula gets one more, so that :func:`unguarded` takes none too many.

    >>> [guarded(cell) for cell in ("=1+1", "-1.5", "@ann", "'=x", "it's", "-")]
    ["'=1+1", '-1.5', "'@ann", "''=x", "it's", "'-"]
    """
    return f"'{cell}" if _FORMULA.match(cell) and not _NUMBER.fullmatch(cell) else cell


def unguarded(cell: str) -> str:
    """Return a cell as it was before :func:`guarded`.

    >>> [unguarded(cell) for cell in ("'=1+1", "-1.5", "''=x", "it's", "'tis")]
    ['=1+1', '-1.5', "'=x", "it's", "'tis"]
    """
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def csv_text(columns: Mapping[str, Sequence[Any]], *, guard: bool = True) -> str:
    r"""Return columns as CSV with a header; None and NaN are empty cells, and no text is a formula (:func:`guarded`).

    Without ``guard`` text goes out as it is, for programs that would take an apostrophe for a part of it.

    >>> csv_text({"item": ["p,1", "p2"], "quality": [0.5, None], "title": ["=1+1", ""]})
    'item,quality,title\n"p,1",0.5,\'=1+1\np2,,\n'
    """
    lines: list[str] = []
    # The end of a line decides what is quoted: carriage returns are, in cells, and lines end without them.
    writer = csv.writer(SimpleNamespace(write=lines.append), lineterminator="\r\n")
    writer.writerow(columns)
    writer.writerows(zip(*(map(_cell if guard else plain, column) for column in columns.values()), strict=True))
    return "".join(line.removesuffix("\r\n") + "\n" for line in lines)


def csv_parts(parts: Iterable[Mapping[str, Sequence[Any]]]) -> Iterator[str]:
    r"""Return columns that come in parts as CSV with one header, part by part.

    >>> list(csv_parts([{"item": ["p1"]}, {"item": ["p2", "p3"]}]))
    ['item\np1\n', 'p2\np3\n']
    """
    for number, columns in enumerate(parts):
        text = csv_text(columns)
        yield text if number == 0 else text[len(csv_text({name: [] for name in columns})) :]


def _cell(value: Any) -> Any:
    found = plain(value)
    return guarded(found) if isinstance(found, str) else found


def plain(value: Any) -> Any:
    """Return a value in the terms of JSON: numbers, text, lists, mappings with text as keys, None.

    >>> plain({"quality": (1.0, float("nan"))})
    {'quality': [1.0, None]}
    """
    if isinstance(value, str | bool | int | None):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if hasattr(value, "tolist"):  # NumPy arrays and scalars, without importing NumPy
        return plain(value.tolist())
    if isinstance(value, Iterable):
        return [plain(entry) for entry in value]
    return str(value)
