"""From a path to bytes, and from bytes to an encoding."""

from __future__ import annotations

import codecs
import os
import re
import stat
from collections.abc import Callable

from reviewgraph.errors import InputError
from reviewgraph.formats.limits import STREAMED

#: Bytes that no text file begins with, and what to do about the file.
_MAGIC = {
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
    for start, advice in _MAGIC.items():
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
