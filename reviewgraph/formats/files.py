"""From a path to bytes: files, folders and zip archives, and the encoding of text."""

from __future__ import annotations

import codecs
import hashlib
import io
import os
import re
import stat
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from reviewgraph.errors import InputError
from reviewgraph.formats.limits import MEMBERS, STREAMED, UNPACKED
from reviewgraph.formats.problems import cut, quote

#: What an archive begins with, and an empty one.
_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
#: Folders and files that systems of computers leave in archives.
_LITTER = ("__MACOSX", ".", "~$")


class Members(Mapping[str, bytes]):
    """The files of an archive or a folder.

    Parameters
    ----------
    name
        How messages name it.
    reads
        What reads each file, by its name inside.
    """

    def __init__(self, name: str, reads: Mapping[str, Callable[[], bytes]]) -> None:
        MEMBERS.expect(name, len(reads))
        self.name = name
        self._reads = {inside: read for inside, read in reads.items() if not _is_litter(inside)}
        self._digests: dict[str, str] = {}

    def __getitem__(self, inside: str) -> bytes:
        data = self._reads[inside]()
        self._digests[inside] = hashlib.sha256(data).hexdigest()
        return data

    def __iter__(self) -> Iterator[str]:
        return iter(self._reads)

    def __len__(self) -> int:
        return len(self._reads)

    @property
    def sha256(self) -> str:
        """SHA-256 of the one file that was read; of several, that of the lines that ``sha256sum`` prints of them."""
        if len(self._digests) == 1:
            return next(iter(self._digests.values()))
        lines = [f"{digest}  {inside}\n" for inside, digest in sorted(self._digests.items())]
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    def find(self, base: str) -> str | None:
        """Return the one file of this name, in whatever folder and letter case; None where there is none or several."""
        found = [inside for inside in self if inside.rpartition("/")[2].casefold() == base.casefold()]
        return found[0] if len(found) == 1 else None


def is_zip(data: bytes) -> bool:
    """Return whether a file begins as a zip archive does."""
    return data.startswith(_MAGIC)


def open_zip(name: str, data: bytes) -> Members:
    """Return the files of a zip archive.

    Raises
    ------
    InputError
        If the archive is damaged, unpacks to more than a file may, or has several files of one name.
    """
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        entries = [entry for entry in archive.infolist() if not entry.is_dir()]
    except Exception as error:  # a damaged directory surfaces as whatever the code that meets it raises
        message = f"{name}: damaged ({cut(error)}), though it begins like a spreadsheet or a zip archive: save "
        message += "the sheet as CSV, or pack the archive anew"
        raise InputError(message) from error
    UNPACKED.expect(name, sum(entry.file_size for entry in entries))
    twice = [inside for inside, count in Counter(entry.filename for entry in entries).items() if count > 1]
    if twice:
        message = f"{name}: {quote(twice[0])} stands in the archive twice, and nothing tells which one counts; pack it "
        message += "anew with one file of each name"
        raise InputError(message)

    def reading(entry: zipfile.ZipInfo) -> Callable[[], bytes]:
        def read() -> bytes:
            try:
                return archive.read(entry)
            except Exception as error:  # damaged, encrypted, or packed in a way that Python does not know
                why = f"{cut(entry.filename)} cannot be unpacked ({cut(error)})"
                message = f"{name}: {why}; pack the archive anew"
                raise InputError(message) from error

        return read

    return Members(name, {entry.filename: reading(entry) for entry in entries})


def open_folder(path: str | os.PathLike[str]) -> Members:
    """Return the files of a folder, those in folders inside it left out.

    Raises
    ------
    InputError
        If the folder cannot be read.
    """
    name = os.fspath(path)
    try:
        files = sorted(entry for entry in Path(path).iterdir() if entry.is_file())
        UNPACKED.expect(name, sum(file.stat().st_size for file in files if not _is_litter(file.name)))
    except OSError as error:
        message = f"{name}: cannot be read ({error.strerror or error})"
        raise InputError(message) from error
    return Members(name, {file.name: partial(read_bytes, file) for file in files})


def _is_litter(inside: str) -> bool:
    return any(part.startswith(_LITTER) for part in inside.split("/"))


#: Bytes that no text file begins with, and what to do about the file.
_NO_TEXT = {
    b"\xd0\xcf\x11\xe0": "an old spreadsheet: save the sheet as CSV (in UTF-8) and read that",
    b"\x1f\x8b": "compressed: unpack it first",
    b"%PDF": "a PDF document: export the reviews as CSV and read that",
}
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_LOOKED_AT = 1 << 16


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a file.

    Raises
    ------
    InputError
        If it is missing, a folder, unreadable or empty; or no plain file and endless.
    """
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
    except OSError as error:
        message = f"{path}: cannot be read ({error.strerror or error})"
        raise InputError(message) from error
    if not plain:
        STREAMED.expect(os.fspath(path), len(data))
    if not data.strip(b"\r\n\t \xef\xbb\xbf"):
        message = f"{path}: the file is empty; expected a header that names the columns, and rows below it"
        raise InputError(message)
    return data


def find_encoding(data: bytes, name: str, note: Callable[[str], object]) -> str:
    """Return the encoding of a text file: UTF-8, UTF-16 with its mark, or else a guess, which is said.

    The guess is Windows-1252, in which spreadsheets of Western Europe save; Latin-1, which any bytes are, where the
    file has one of the five bytes that mean nothing there.

    Raises
    ------
    InputError
        If the file is not text.
    """
    for start, advice in _NO_TEXT.items():
        if data.startswith(start):
            message = f"{name}: expected a text or Parquet file, found {advice}"
            raise InputError(message)
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return _checked_utf16(data, name)
    if _CONTROL.search(data, 0, _LOOKED_AT) or b"\0" in data:
        raise InputError(_say_binary(name))
    if data.isascii() or _decodes(data, "utf-8"):
        return "utf-8-sig"
    guess, known_as = ("cp1252", "Windows-1252") if _decodes(data, "cp1252") else ("latin-1", "Latin-1")
    note(f"{name}: the file is not UTF-8 and was read as {known_as}; if names look wrong, save it as UTF-8")
    return guess


def _checked_utf16(data: bytes, name: str) -> str:
    if not _decodes(data, "utf-16") or "\0" in data.decode("utf-16"):
        raise InputError(_say_binary(name))
    return "utf-16"


def _decodes(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _say_binary(name: str) -> str:
    return f"{name}: expected a CSV, TSV or Parquet file, found a binary file; export the table as CSV and read that"
