"""Zip archives and folders: the files inside by name, read when they are asked for."""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from reviewgraph.errors import InputError
from reviewgraph.formats.encodings import read_bytes
from reviewgraph.formats.limits import MEMBERS, UNPACKED
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
