"""The most that one file may ask for: what is beyond is a bomb or a mistake, and is refused with the limit's name."""

from __future__ import annotations

from typing import NamedTuple

from reviewgraph.errors import InputError


class Limit(NamedTuple):
    """A limit: what it counts, the most of it, and what to do about a file beyond it."""

    what: str
    most: int
    advice: str

    def expect(self, name: str, found: int) -> None:
        """Refuse a file beyond the limit.

        Raises
        ------
        InputError
            Naming the file, the limit and what was found.
        """
        if found > self.most:
            message = f"{name}: the limit is {self.most:,} {self.what}, found {found:,} or more; {self.advice}"
            raise InputError(message)


_SHORTER = "delete what is empty or needless, or save the table as CSV"

#: Columns of a table: of a sheet whose rows are students there may be hundreds.
COLUMNS = Limit("columns of a table", 5_000, "give one row a review instead of one column a paper")
#: Rows of a sheet, those that are empty included; no spreadsheet has more.
ROWS = Limit("rows of a sheet", 1_048_576, _SHORTER)
#: Cells of a sheet, those that are empty included.
CELLS = Limit("cells of a sheet", 20_000_000, _SHORTER)
#: Cells that a sheet may have however small its file is; beyond, :data:`TIMES` as many as the file has bytes.
SPARSE = 1_000_000
#: Elements of XML that a workbook may have however small it is; beyond, so many for each byte of the file.
ELEMENTS, ELEMENTS_A_BYTE = Limit("elements in a workbook of its size", 50_000, _SHORTER), 10
#: Characters of a text in a spreadsheet; Excel has 32,767.
CHARACTERS = Limit("characters of a cell", 100_000, _SHORTER)
#: Files of an archive or a folder.
MEMBERS = Limit("files in an archive or a folder", 10_000, "give the one file that holds the table")
#: What an archive or a spreadsheet, which is one, may unpack to.
UNPACKED = Limit("bytes unpacked", 256 << 20, "unpack it and give the one file that holds the table, or save it as CSV")
#: What a Parquet file may unpack to: this, or so many times its own size.
PARQUET, TIMES = Limit("bytes unpacked", 256 << 20, "write the table anew, or as CSV"), 100
#: Objects within objects; the systems' own files have five.
DEPTH = Limit("levels of objects within objects", 100, "give the file as the system exports it")
#: Bytes of what is no plain file, such as a pipe: a device may have no end.
STREAMED = Limit("bytes of a pipe or a device", 256 << 20, "save it as a file and give that")
