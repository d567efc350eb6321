"""Provenance: the files that were read, the number of their rows that count, and those left out with reasons."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from reviewgraph._base.text import counted, listed, noun


class LeftOut(NamedTuple):
    """The number of rows of a file that do not count, and the reason without names: "of meta reviews"."""

    rows: int
    why: str


@dataclass(frozen=True)
class FileRead:
    """A file as it was read.

    >>> FileRead("scores.xlsx", ("Reviews",), 412, 409, (LeftOut(3, "in a hidden sheet"),)).words
    'scores.xlsx, sheet Reviews: 412 rows, 3 of them without a score (left out: 3 in a hidden sheet)'
    """

    # Its name as it was given; behind a # the file inside an archive or a folder, where one alone holds the table
    file: str = ""
    sheets: tuple[str, ...] = ()  # The sheets that were read, by title; none where it is no spreadsheet
    rows: int = 0  # Rows that count
    scored: int | None = None  # How many of them have a score; None where they are no reviews
    left_out: tuple[LeftOut, ...] = ()  # Rows that do not count
    # SHA-256 of the bytes that were read, in hexadecimal, of an archive as a whole; of a folder of which several
    # files were read, that of the lines that ``sha256sum`` prints of these, sorted by name
    sha256: str = ""
    # The name of the conference system that it is from; None where it is of none that is known
    system: str | None = None
    header: tuple[str, ...] = ()  # The names of its columns
    options: tuple[tuple[str, str], ...] = ()  # Of a conference file: the keys and values that the command used

    def with_rows(self, rows: int, left_out: Iterable[LeftOut] = (), scored: int | None = None) -> FileRead:
        """Return the same file with the counts of its rows; those left out for one reason are added up."""
        why: dict[str, int] = {}
        for left in (*self.left_out, *left_out):
            why[left.why] = why.get(left.why, 0) + left.rows
        kept = tuple(LeftOut(count, reason) for reason, count in why.items() if count)
        return replace(self, rows=rows, scored=scored, left_out=kept)

    @property
    def words(self) -> str:
        """The counts in words."""
        if self.options:
            return f"{self.file}: {', '.join(key for key, _ in self.options)}"
        sheets = f", {noun(len(self.sheets), 'sheet')} {listed(self.sheets)}" if self.sheets else ""
        without = 0 if self.scored is None else self.rows - self.scored
        those = f", {without:,} of them" if without < self.rows else ""
        state = f"{those} without a score" if without else ""
        left = ", ".join(f"{rows:,} {why}" for rows, why in self.left_out)
        return f"{self.file}{sheets}: {counted(self.rows, 'row')}{state}{f' (left out: {left})' if left else ''}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as ``--json`` prints it."""
        left = [left_out._asdict() for left_out in self.left_out]
        counts = {"rows": self.rows, "scored": self.scored, "left_out": left}
        taken = [{"option": option, "value": value} for option, value in self.options]
        options = {"options": taken} if taken else {}
        return {"file": self.file, "sheets": list(self.sheets), **counts, "sha256": self.sha256, **options}


def line_of(files: Iterable[FileRead]) -> str:
    """Return the files that were read as a sentence; nothing without files.

    >>> line_of([FileRead("reviews.csv", rows=128), FileRead("conflicts.csv", rows=1)])
    'Read reviews.csv: 128 rows; conflicts.csv: 1 row.'
    """
    words = "; ".join(file.words for file in files)
    return f"Read {words}." if words else ""


def record_of(files: Iterable[FileRead]) -> dict[str, Any]:
    """Return the files that were read as the key ``files`` of a result; nothing without files.

    >>> record_of([FileRead("a.csv", rows=3)])["files"][0]["rows"], record_of([])
    (3, {})
    """
    listing = [file.to_dict() for file in files]
    return {"files": listing} if listing else {}
