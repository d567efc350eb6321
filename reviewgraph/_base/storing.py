"""Files: those that are written, whole or not at all, tables as CSV text, and the record of those that were read."""

from __future__ import annotations

import contextlib
import csv
import json
import math
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeAlias

from reviewgraph._base.errors import InputError
from reviewgraph._base.text import HIDDEN, counted, listed, noun

#: The content of a file, whole or in parts.
Content: TypeAlias = str | bytes | Iterable[str] | Iterable[bytes]

#: Names of open streams: a file behind one must be neither replaced nor truncated.
_STREAM = re.compile(r"/dev/(?:fd/(\d+)|(stdout)|(stderr))|/proc/self/fd/(\d+)")


def write_whole(path: str | os.PathLike[str], content: Content, *, private: bool = False) -> None:
    """Write a file, text in UTF-8, whole or not at all.

    The content is written to a new file in the same folder, which then takes the name and the permissions of the old
    one; a ``private`` one is readable only by its owner. Streams such as ``/dev/stdout``, and everything else that is
    no plain file, are written directly.
    """
    with _refused(path):
        data = _parts(content)
        stream = stream_of(path)
        if stream is not None:
            sys.stdout.flush()
            with open(stream, "wb", closefd=False) as file:
                file.writelines(data)
        elif os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
            with open(path, "wb") as file:
                file.writelines(data)
        else:
            _replace({os.path.realpath(path): data}, private=private)


def write_together(folder: str | os.PathLike[str], files: Mapping[str, Content]) -> None:
    """Write files that belong together, all or none: old and new ones are never mixed.

    All are complete before the first takes its name, and the old ones are deleted by then.
    """
    with _refused(folder):
        os.makedirs(folder, exist_ok=True)
        place = os.path.realpath(folder)
        _replace({os.path.join(place, name): _parts(content) for name, content in files.items()})


def stream_of(path: str | os.PathLike[str]) -> int | None:
    """Return the number of the open stream that a path names; None where it names none."""
    match = _STREAM.fullmatch(os.fspath(path))
    if match is None:
        return None
    number = match[1] or match[4]
    if number:
        return int(number)
    return 1 if match[2] else 2


def draft_beside(target: str) -> str:
    """Return a new name in the folder of a file or folder; what a killed run left under such a name is never read."""
    return os.path.join(os.path.dirname(target), f".reviewgraph-{os.urandom(6).hex()}.part")


def _parts(content: Content) -> Iterable[bytes]:
    """Return content as bytes, part by part where it came so."""
    whole = (content,) if isinstance(content, str | bytes) else content
    return (part.encode() if isinstance(part, str) else part for part in whole)


def _replace(files: Mapping[str, Iterable[bytes]], *, private: bool = False) -> None:
    """Let contents take the names of files, all of which are complete before."""
    drafts: dict[str, str] = {}
    try:
        for target, data in files.items():
            if os.path.isdir(target):
                raise IsADirectoryError(None, f"{os.path.basename(target)} is a folder")
            drafts[target] = draft_beside(target)
            _write(drafts[target], data, target, private=private)
        # A single file is replaced atomically; of several, old ones must not remain next to new ones.
        for target in files if len(files) > 1 else ():
            with contextlib.suppress(FileNotFoundError):
                os.unlink(target)
        for target, draft in drafts.items():
            os.replace(draft, target)
    finally:
        for draft in drafts.values():
            with contextlib.suppress(OSError):
                os.unlink(draft)


def _write(draft: str, data: Iterable[bytes], target: str, *, private: bool) -> None:
    """Write a new file with the permissions of another, or those of any new file; on the disk when this returns."""
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666), "wb") as file:
        if not private:
            with contextlib.suppress(FileNotFoundError):
                os.chmod(draft, stat.S_IMODE(os.stat(target).st_mode))
        file.writelines(data)
        file.flush()
        os.fsync(file.fileno())


@contextlib.contextmanager
def _refused(path: str | os.PathLike[str]) -> Iterator[None]:
    """Raise errors of the system as InputError that names the path, except a broken pipe."""
    try:
        yield
    except BrokenPipeError:
        raise
    except UnicodeEncodeError as error:
        message = f"{path}: cannot be written ({error.object[error.start : error.end]!r} is no character)"
        raise InputError(message) from error
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or error})") from error


# Tables as CSV text, whose cells no spreadsheet interprets as formulas and readers get back unchanged.

#: The beginning of a formula for spreadsheets, after apostrophes; some interpret wide signs, too.
_FORMULA = re.compile(r"'*[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]")
#: Numbers, some of which begin like a formula.
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def guarded(cell: str) -> str:
    """Return a cell with an apostrophe before a formula; numbers are unchanged.

    Apostrophes before a formula get one more, so that :func:`unguarded` is the inverse.

    >>> [guarded(cell) for cell in ("=1+1", "-1.5", "@ann", "'=x", "it's", "-")]
    ["'=1+1", '-1.5', "'@ann", "''=x", "it's", "'-"]
    """
    return f"'{cell}" if _FORMULA.match(cell) and not _NUMBER.fullmatch(cell) else cell


def unguarded(cell: str) -> str:
    """Return a cell as it was before :func:`guarded`."""
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
    entry = plain(value)
    return guarded(entry) if isinstance(entry, str) else entry


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


def json_text(value: Any) -> str:
    r"""Return a value as JSON: null for what is not finite, control characters escaped.

    >>> json_text({"item": "p\u202e1", "quality": float("nan")})
    '{"item": "p\\u202e1", "quality": null}'
    """
    text = json.dumps(plain(value), ensure_ascii=False, allow_nan=False)
    return HIDDEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


# The files that were read, the number of their rows that count, and those left out with reasons.


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
        return {"file": self.file, "sheets": list(self.sheets), **counts, "sha256": self.sha256}


def line_of(files: Iterable[FileRead]) -> str:
    """Return the files that were read as a sentence; nothing without files."""
    words = "; ".join(file.words for file in files)
    return f"Read {words}." if words else ""


def record_of(files: Iterable[FileRead]) -> dict[str, Any]:
    """Return the files that were read as the key ``files`` of a result; nothing without files."""
    listing = [file.to_dict() for file in files]
    return {"files": listing} if listing else {}
