"""Bytes of files, folders and zip archives, the encoding of text, and messages on malformed files."""

from __future__ import annotations

import codecs
import hashlib
import io
import os
import re
import stat
import zipfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

from reviewgraph._base.errors import InputError

#: Called with messages for the user.
Note: TypeAlias = Callable[[str], object]


class Limit(NamedTuple):
    """A limit on one file (what it counts, the maximum, what to do): beyond it the file is a bomb or a mistake."""

    what: str
    most: int
    advice: str

    def expect(self, name: str, count: int) -> None:
        if count > self.most:
            raise InputError(f"{name}: the limit is {self.most:,} {self.what}, found {count:,} or more; {self.advice}")


_SHORTER = "delete what is empty or needless, or save the table as CSV"

#: Columns of a table: a sheet with one row per student may have hundreds.
COLUMNS = Limit("columns of a table", 5_000, "use one row per review instead of one column per paper")
#: Rows of a sheet, empty ones included; no spreadsheet has more.
ROWS = Limit("rows of a sheet", 1_048_576, _SHORTER)
#: Cells of a sheet, empty ones included.
CELLS = Limit("cells of a sheet", 20_000_000, _SHORTER)
#: Cells that a sheet may have in a file of any size; beyond, :data:`TIMES` the bytes of the file.
SPARSE = 1_000_000
#: Elements of XML that a workbook of any size may have; beyond, this number per byte of the file.
ELEMENTS = Limit("elements in a workbook of its size", 50_000, _SHORTER)
ELEMENTS_A_BYTE = 10
#: Characters of a text in a spreadsheet; Excel has 32,767.
CHARACTERS = Limit("characters of a cell", 100_000, _SHORTER)
#: Files of an archive or a folder.
MEMBERS = Limit("files in an archive or a folder", 10_000, "give the one file that holds the table")
#: Unpacked size of an archive or a spreadsheet, which is one.
UNPACKED = Limit("bytes unpacked", 256 << 20, "unpack it and give the one file that holds the table, or save it as CSV")
#: Unpacked size of a Parquet file: this, or this multiple of its own size.
PARQUET = Limit("bytes unpacked", 256 << 20, "write the table anew, or as CSV")
TIMES = 100
#: Objects within objects; the systems' own files have five.
DEPTH = Limit("levels of objects within objects", 100, "give the file as the system exports it")
#: Bytes of a pipe or a device, which may have no end.
STREAMED = Limit("bytes of a pipe or a device", 256 << 20, "save it as a file and give that")


#: Problems that one message lists; the rest are counted.
LISTED = 10
#: Maximum characters of a cell, and of an error of a library, in a message.
QUOTED = 40
SAID = 200


def quote(label: object) -> str:
    """Return text in quotes for a message, shortened if it is long, and other labels as Python writes them.

    >>> quote("p" * 10_000)
    "'pppppppppppppppppppppppppppppppppppppppp...' (10,000 characters)"
    """
    text = label if isinstance(label, str) else ""
    return repr(label) if len(text) <= QUOTED else f"{text[:QUOTED] + '...'!r} ({len(text):,} characters)"


def cut(error: object) -> str:
    """Return the first line of an error, shortened if it is long."""
    lines = str(error).splitlines() or [type(error).__name__]
    return lines[0] if len(lines[0]) <= SAID else f"{lines[0][:SAID]}..."


def quote_all(texts: Iterable[str], most: int = 20) -> str:
    """Return texts in quotes, separated by commas, only the first ones if there are many."""
    quoted = [quote(text) for text in texts]
    more = f" and {len(quoted) - most} more" if len(quoted) > most else ""
    return ", ".join(quoted[:most]) + more


def terms(text: str) -> tuple[str, ...]:
    """Return the terms of a list, separated by commas and line ends."""
    return tuple(term for part in text.split(",") if (term := " ".join(part.split())))


class Problems:
    """Malformed rows of one reading, over all its files."""

    def __init__(self) -> None:
        self.count = 0
        self.file = 0  #: The number of the file that is read.
        self._found: list[tuple[int, int, str]] = []
        self._hints: dict[str, None] = {}

    def add(self, line: int, message: str) -> None:
        """Note one problem; those of one file and kind must come in the order of lines."""
        self.count += 1
        self._found.append((self.file, line, message))

    def add_rows(self, lines: Sequence[int], message: Callable[[int], str]) -> None:
        """Note the same kind of problem for many rows; ``message(n)`` describes the n-th."""
        for number, line in enumerate(lines[:LISTED]):
            self.add(int(line), message(number))
        self.count += max(0, len(lines) - LISTED)

    def hint(self, message: str) -> None:
        self._hints[message] = None

    def raise_any(self) -> None:
        """Raise one InputError that lists the first problems by file and line and counts the rest."""
        if not self.count:
            return
        listed = [message for _, _, message in sorted(self._found)[:LISTED]]
        if self.count > len(listed):
            listed.append(f"... and {self.count - len(listed):,} more")
        raise InputError("\n".join([*listed, *self._hints]))


#: The end of the names of workbooks of Excel.
WORKBOOK = ".xlsx"
#: First bytes of archives and of empty archives.
ARCHIVE = (b"PK\x03\x04", b"PK\x05\x06")
#: Folders and files that operating systems leave in archives.
_LITTER = ("__MACOSX", ".", "~$")


class Members(Mapping[str, bytes]):
    """The files of an archive or a folder."""

    def __init__(self, name: str, names: Collection[str], read: Callable[[str], bytes]) -> None:
        MEMBERS.expect(name, len(names))
        self.name = name
        self._names = dict.fromkeys(inside for inside in names if not _is_litter(inside))
        self._read = read
        self._digests: dict[str, str] = {}

    def __getitem__(self, inside: str) -> bytes:
        data = self._read(inside)
        self._digests[inside] = hashlib.sha256(data).hexdigest()
        return data

    def __contains__(self, inside: object) -> bool:
        return inside in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    @property
    def sha256(self) -> str:
        """SHA-256 of the file that was read; of several, that of the lines that ``sha256sum`` prints of them."""
        if len(self._digests) == 1:
            return next(iter(self._digests.values()))
        lines = [f"{digest}  {inside}\n" for inside, digest in sorted(self._digests.items())]
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    def find(self, base: str) -> str | None:
        matches = [inside for inside in self if inside.rpartition("/")[2].casefold() == base.casefold()]
        return matches[0] if len(matches) == 1 else None


def open_zip(name: str, data: bytes) -> Members:
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        entries = [entry for entry in archive.infolist() if not entry.is_dir()]
    except Exception as error:  # a damaged directory can raise anything
        message = f"{name}: damaged ({cut(error)}), though it begins like a spreadsheet or a zip archive: save "
        message += "the sheet as CSV, or pack the archive anew"
        raise InputError(message) from error
    UNPACKED.expect(name, sum(entry.file_size for entry in entries))
    twice = [inside for inside, count in Counter(entry.filename for entry in entries).items() if count > 1]
    if twice:
        message = f"{name}: {quote(twice[0])} occurs twice in the archive; pack it anew with one file of each name"
        raise InputError(message)

    def read(inside: str) -> bytes:
        try:
            return archive.read(inside)
        except Exception as error:  # damaged, encrypted, or packed by an unsupported method
            message = f"{name}: {cut(inside)} cannot be unpacked ({cut(error)}); pack the archive anew"
            raise InputError(message) from error

    return Members(name, [entry.filename for entry in entries], read)


def open_folder(path: str | os.PathLike[str]) -> Members:
    """Return the files of a folder, without its subfolders."""
    name = os.fspath(path)
    try:
        files = sorted(entry for entry in Path(path).iterdir() if entry.is_file())
        UNPACKED.expect(name, sum(file.stat().st_size for file in files if not _is_litter(file.name)))
    except OSError as error:
        raise InputError(f"{name}: cannot be read ({error.strerror or error})") from error
    return Members(name, [file.name for file in files], lambda inside: read_bytes(os.path.join(name, inside)))


def _is_litter(inside: str) -> bool:
    return any(part.startswith(_LITTER) for part in inside.split("/"))


#: First bytes of files that are not text, and what to do about them.
_NO_TEXT = {
    b"\xd0\xcf\x11\xe0": "an old spreadsheet: save the sheet as CSV (in UTF-8) and read that",
    b"\x1f\x8b": "compressed: unpack it first",
    b"%PDF": "a PDF document: export the reviews as CSV and read that",
}
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_LOOKED_AT = 1 << 16


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    try:
        with open(path, "rb") as file:
            plain = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            data = file.read() if plain else file.read(STREAMED.most + 1)
    except FileNotFoundError as error:
        message = f"{path}: no such file; expected a table with a header, or what a conference system exports"
        raise InputError(message) from error
    except IsADirectoryError as error:
        message = f"{path}: expected a file, found a folder; name the CSV, TSV or Parquet file inside it"
        raise InputError(message) from error
    except (OSError, ValueError) as error:  # a null character, or half of a pair of surrogates
        raise InputError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from error
    if not plain:
        STREAMED.expect(os.fspath(path), len(data))
    if not data.strip(b"\r\n\t \xef\xbb\xbf"):
        raise InputError(f"{path}: the file is empty; expected a header that names the columns, and rows below it")
    return data


def find_encoding(data: bytes, name: str, note: Note) -> str:
    """Return the encoding of a text file: UTF-8, UTF-16 with a byte order mark, or a guess, which is noted.

    The guess is Windows-1252, in which spreadsheets of Western Europe save, or Latin-1, which accepts any bytes, if the
    file has one of the five bytes that Windows-1252 does not define.
    """
    for start, advice in _NO_TEXT.items():
        if data.startswith(start):
            raise InputError(f"{name}: expected a text or Parquet file, found {advice}")
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        if not _decodes(data, "utf-16") or "\0" in data.decode("utf-16"):
            raise InputError(_say_binary(name))
        return "utf-16"
    if _CONTROL.search(data, 0, _LOOKED_AT) or b"\0" in data:
        raise InputError(_say_binary(name))
    if data.isascii() or _decodes(data, "utf-8"):
        return "utf-8-sig"
    guess, known_as = ("cp1252", "Windows-1252") if _decodes(data, "cp1252") else ("latin-1", "Latin-1")
    note(f"{name}: the file is not UTF-8 and was read as {known_as}; if names look wrong, save it as UTF-8")
    return guess


def _decodes(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _say_binary(name: str) -> str:
    return f"{name}: expected a CSV, TSV or Parquet file, found a binary file; export the table as CSV and read that"
