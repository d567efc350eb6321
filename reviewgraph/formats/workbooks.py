"""Spreadsheets: .xlsx by openpyxl, a row at a time, and the XML of 2003 that some systems call .xls."""

from __future__ import annotations

import contextlib
import datetime
import io
import re
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple

from reviewgraph.errors import InputError
from reviewgraph.formats.grids import as_text
from reviewgraph.formats.limits import CELLS, COLUMNS, ROWS
from reviewgraph.formats.problems import cut
from reviewgraph.formats.trees import attribute, children, plain_tag

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

#: The file that every .xlsx has inside.
INSIDE = "[Content_Types].xml"
_FORMULA = re.compile(rb"<(?:\w+:)?f[\s/>]")


class Sheet(NamedTuple):
    """A sheet: its title, and its rows that hold something, by their numbers."""

    title: str
    rows: list[tuple[int, list[str]]]


class _Budget:
    """What a sheet may still hold; cells are counted as they are declared, empty or not."""

    def __init__(self, name: str) -> None:
        self.name, self.rows, self.cells = name, 0, 0

    def spend(self, cells: Sequence[str], rows: int = 1) -> None:
        self.rows += rows
        self.cells += len(cells)
        ROWS.expect(self.name, self.rows)
        CELLS.expect(self.name, self.cells)


def read_xlsx(name: str, data: bytes) -> list[Sheet]:
    """Return the sheets of a workbook of Excel, formulas as the values they had when it was saved.

    Raises
    ------
    InputError
        If the workbook is damaged, has a formula without its value, or is beyond a limit.
    """
    import openpyxl

    try:
        # Warnings on styles and extensions do not touch the cells; one is printed where results go.
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
            # Where formulas are, the sheets are read with them as well: one that nobody has computed has no value.
            formulas = openpyxl.load_workbook(io.BytesIO(data), read_only=True) if _has_formulas(data) else book
            pairs = zip(book.worksheets, formulas.worksheets, strict=True)
            return [Sheet(sheet.title, list(_xlsx_rows(name, sheet, other))) for sheet, other in pairs]
    except InputError:
        raise
    except Exception as error:  # a damaged part surfaces as whatever the code that meets it raises
        message = f"{name}: the spreadsheet is damaged ({type(error).__name__}: {cut(error)}); save it anew, or as CSV"
        raise InputError(message) from error


def _has_formulas(data: bytes) -> bool:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        sheets = [name for name in archive.namelist() if name.startswith("xl/worksheets/")]
        return any(_FORMULA.search(archive.read(name)) for name in sheets)


def _xlsx_rows(name: str, sheet: Any, formulas: Any) -> Iterator[tuple[int, list[str]]]:
    budget, place = _Budget(f"{name}, sheet {sheet.title}"), f"{name}, sheet {sheet.title}"
    for one in {sheet, formulas}:
        one.reset_dimensions()  # the size that a file declares may be anything; rows are as long as their cells
    rows = sheet.iter_rows(values_only=True)
    others = () if formulas is sheet else formulas.iter_rows(values_only=True)
    pairs = zip(rows, others, strict=True) if others else ((row, row) for row in rows)
    for number, (values, sources) in enumerate(pairs, 1):
        budget.spend(values)
        unknown = [
            source for value, source in zip(values, sources, strict=True) if value is None and source is not None
        ]
        if unknown:
            message = f"{place}, row {number}: the formula {str(unknown[0])!r} has no value; open the file in a "
            message += "spreadsheet program and save it"
            raise InputError(message)
        cells = _trimmed([_cell(value) for value in values])
        COLUMNS.expect(place, len(cells))
        if cells:
            yield number, cells


def _cell(value: Any) -> str:
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    return as_text(value)


def _trimmed(cells: list[str]) -> list[str]:
    while cells and not cells[-1].strip():
        cells.pop()
    return cells


def is_workbook(root: Element) -> bool:
    """Return whether XML is a workbook in the XML of 2003."""
    return plain_tag(root) == "workbook"


def read_spreadsheet_xml(name: str, root: Element) -> list[Sheet]:
    """Return the sheets of a workbook in the XML of 2003.

    Raises
    ------
    InputError
        If it is damaged or beyond a limit.
    """
    return [
        Sheet(title, list(_xml_rows(f"{name}, sheet {title}", sheet)))
        for sheet in children(root, "worksheet")
        for title in [attribute(sheet, "Name")]
    ]


def _xml_rows(place: str, sheet: Element) -> Iterator[tuple[int, list[str]]]:
    budget, number = _Budget(place), 0
    for table in children(sheet, "table"):
        for row in children(table, "row"):
            step = _index(place, attribute(row, "Index"), number + 1) - number
            number += step
            cells = _xml_cells(place, row)
            budget.spend(cells, step)
            cells = _trimmed(cells)
            COLUMNS.expect(place, len(cells))
            if cells:
                yield number, cells


def _xml_cells(place: str, row: Element) -> list[str]:
    cells: list[str] = []
    for cell in children(row, "cell"):
        start = _index(place, attribute(cell, "Index"), len(cells) + 1)
        COLUMNS.expect(place, start)
        cells.extend(repeat("", start - 1 - len(cells)))
        cells.append("".join(text for data in children(cell, "data") for text in data.itertext()))
        across = attribute(cell, "MergeAcross") or "0"
        wide = int(across) if across.isdecimal() and across.isascii() else 0
        COLUMNS.expect(place, start + wide)
        cells.extend(repeat("", wide))
    return cells


def _index(place: str, text: str, least: int) -> int:
    """Return the number that a row or a cell declares, which may only leave places out."""
    if not text:
        return least
    value = int(text) if text.isdecimal() and text.isascii() and len(text) < 12 else 0
    if value < least:
        message = f"{place}: the spreadsheet is damaged: expected an index of {least} or more, found {text!r}"
        raise InputError(message)
    return value
