"""Spreadsheets: .xlsx by openpyxl, read row by row and written, and the XML of 2003 that some systems call .xls."""

from __future__ import annotations

import contextlib
import datetime
import io
import re
import warnings
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple

from reviewgraph._base.errors import InputError
from reviewgraph._base.provenance import FileRead, LeftOut
from reviewgraph._base.storing import guarded, plain
from reviewgraph.formats.columns import normalise, recognised
from reviewgraph.formats.files import (
    CELLS,
    CHARACTERS,
    COLUMNS,
    ELEMENTS,
    ELEMENTS_A_BYTE,
    ROWS,
    SPARSE,
    TIMES,
    Limit,
    cut,
    quote,
    quote_all,
)
from reviewgraph.formats.systems.system import Wanted, recognise
from reviewgraph.formats.tables import Grid, Line, Table, as_text, attribute, children, plain_tag

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


#: A file inside every .xlsx.
INSIDE = "[Content_Types].xml"
#: Rows in which the header may be; some systems write a title above it.
LOOKED_AT = 10
#: What Excel allows a sheet and a cell, and numbers: whole ones above it have no exact value there.
MOST_ROWS, MOST_CHARACTERS, EXACT = 1_048_576, 32_767, 2**53
#: The date of all that is written, so that equal tables are equal files.
DATE = datetime.datetime(1980, 1, 1)
#: Characters that XML lacks or changes, and what would be taken for one of them, which is written in the same way.
_UNWRITABLE = re.compile("[\x00-\x08\x0b-\x1f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")
_ESCAPED = re.compile("_x(00[01][0-9A-Fa-f]|005[Ff]|[Ff]{3}[EeFf])_")
#: Labels that stay the same as numbers, which Excel sorts better.
_NUMERAL = re.compile("0|[1-9][0-9]{0,14}")
#: Visibility of shown sheets in the XML of 2003.
_SHOWN = ("", "SheetVisible")


class Sheet(NamedTuple):
    """A sheet: its title, its non-empty rows by number, and whether it is visible."""

    title: str
    rows: list[tuple[int, list[str]]]
    shown: bool = True


class _Budget:
    """The size of a sheet so far; cells are counted as they are declared, empty or not."""

    def __init__(self, name: str, cells: Limit = CELLS) -> None:
        self.name, self.rows, self.cells, self.most = name, 0, 0, cells

    def spend(self, cells: int, rows: int = 1) -> None:
        self.rows += rows
        self.cells += cells
        ROWS.expect(self.name, self.rows)
        self.most.expect(self.name, self.cells)


def is_xlsx(data: bytes) -> bool:
    """Return whether a zip archive is a workbook of Excel."""
    try:
        return INSIDE in zipfile.ZipFile(io.BytesIO(data)).namelist()
    except Exception:  # a damaged directory can raise anything
        return False


def read_xlsx(name: str, data: bytes) -> list[Sheet]:
    """Return the sheets of a workbook of Excel, with the stored values of formulas."""
    import openpyxl

    try:
        # Far more elements of XML than in a file of its size are refused before any is parsed.
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts = [inside for inside in archive.namelist() if inside.endswith(".xml")]
            elements = sum(archive.read(inside).count(b"<") for inside in parts)
        ELEMENTS._replace(most=max(ELEMENTS.most, ELEMENTS_A_BYTE * len(data))).expect(name, elements)
        # Warnings on styles and extensions do not touch the cells; one is printed where results go.
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
            cells = CELLS._replace(most=min(CELLS.most, max(SPARSE, TIMES * len(data))))
            return [
                Sheet(sheet.title, list(_xlsx_rows(name, sheet, cells)), sheet.sheet_state == "visible")
                for sheet in book.worksheets
            ]
    except InputError:
        raise
    except Exception as error:  # a damaged part can raise anything
        message = f"{name}: the spreadsheet is damaged ({type(error).__name__}: {cut(error)}); save it anew, or as CSV"
        raise InputError(message) from error


def _xlsx_rows(name: str, sheet: Any, cells: Limit) -> Iterator[tuple[int, list[str]]]:
    """Yield the non-empty rows of a sheet; only rows are parsed, whatever else the sheet declares."""
    from openpyxl.worksheet._reader import ROW_TAG, WorkSheetParser
    from openpyxl.xml.functions import iterparse

    place, book = f"{name}, sheet {sheet.title}", sheet.parent
    budget, before = _Budget(place, cells), 0
    for text in sheet._shared_strings:
        CHARACTERS.expect(name, len(text))
    with sheet._get_source() as source:
        formats = {"date_formats": book._date_formats, "timedelta_formats": book._timedelta_formats}
        parser = WorkSheetParser(source, sheet._shared_strings, data_only=True, epoch=book.epoch, **formats)
        for _, element in iterparse(source):
            if element.tag != ROW_TAG:
                continue
            number, row_cells = parser.parse_row(element)
            _expect_values(f"{place}, row {number}", element, row_cells)
            element.clear()
            if number <= before:
                message = f"row {number} follows row {before}"
                raise ValueError(message)
            # Gaps between cells count as well: a cell far to the right makes the row wide.
            row = {cell["column"]: text for cell in row_cells if (text := _cell(cell["value"])).strip()}
            width = max(row, default=0)
            COLUMNS.expect(place, width)
            budget.spend(max(width, len(row_cells)), number - before)
            before = number
            if row:
                yield number, [row.get(column, "") for column in range(1, width + 1)]


def _expect_values(place: str, row: Any, cells: Sequence[Mapping[str, Any]]) -> None:
    """Refuse a formula without a computed value; one whose value is an empty text is an empty cell."""
    for element, cell in zip(row, cells, strict=True):
        formula = element.find("{*}f") if cell["value"] is None else None
        if formula is not None and not (element.get("t") == "str" and element.find("{*}v") is not None):
            message = f"{place}: the formula {quote('=' + (formula.text or ''))} has no value; open the file in a "
            message += "spreadsheet program and save it"
            raise InputError(message)


def _cell(value: Any) -> str:
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    text = as_text(value)
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text) if "_x" in text else text


class _Undated(zipfile.ZipFile):
    """An archive without dates, and without what depends on the machine."""

    def writestr(self, name: Any, data: Any, *how: Any, **more: Any) -> None:  # type: ignore[override]
        info = zipfile.ZipInfo(name, DATE.timetuple()[:6])
        info.compress_type, info.create_system = zipfile.ZIP_DEFLATED, 0
        super().writestr(info, data)

    def write(self, filename: Any, arcname: Any = None, *how: Any, **more: Any) -> None:
        with open(filename, "rb") as file:
            self.writestr(arcname, file.read())


def write_xlsx(columns: Mapping[str, Sequence[Any]]) -> bytes:
    """Return columns as a workbook of Excel with one sheet; no text is a formula, and equal tables are equal bytes.

    >>> read_xlsx("plan.xlsx", write_xlsx({"item": [7, "=1+1"], "cost": [0.5, None]}))[0].rows
    [(1, ['item', 'cost']), (2, ['7', '0.5']), (3, ['=1+1'])]
    """
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.styles import Font
    from openpyxl.utils import get_column_letter
    from openpyxl.writer.excel import ExcelWriter

    listed = [[name, *column] for name, column in columns.items()]
    if any(len(column) > MOST_ROWS for column in listed):
        message = f"a sheet of Excel holds {MOST_ROWS - 1:,} rows and a header, found more; write CSV instead"
        raise InputError(message)
    table = [[_entry(value) for value in column] for column in listed]
    book = Workbook(write_only=True)
    book.properties.created = book.properties.modified = DATE
    sheet = book.create_sheet("Table")
    sheet.freeze_panes = "A2"
    for place, column in enumerate(table, 1):
        width = max((len(entry.text) for entry in column[:1000] if entry), default=0) + 2
        sheet.column_dimensions[get_column_letter(place)].width = min(width, 60)

    def cell(entry: _Entry | None, *, bold: bool) -> Any:
        if entry is None:
            return None
        made = WriteOnlyCell(sheet, entry.text)
        made.data_type = "n" if entry.is_number else "s"  # openpyxl takes texts for formulas, and rounds numbers
        if guarded(entry.text) != entry.text and not entry.is_number:
            made.quotePrefix = True  # Excel's own apostrophe: not even an edit makes it a formula
        if bold:
            made.font = Font(bold=True)
        return made

    for number, row in enumerate(zip(*table, strict=True)):
        sheet.append([cell(entry, bold=number == 0) for entry in row])
    data = io.BytesIO()
    ExcelWriter(book, _Undated(data, "w")).save()
    return data.getvalue()


class _Entry(NamedTuple):
    """The text of a cell, and whether Excel is to take it for a number."""

    text: str
    is_number: bool


def _entry(value: Any) -> _Entry | None:
    entry = plain(value)
    if entry is None or entry == "":
        return None
    text = str(entry)
    if _NUMERAL.fullmatch(text) or isinstance(entry, float) or (type(entry) is int and abs(entry) <= EXACT):
        return _Entry(text, is_number=True)
    text = _UNWRITABLE.sub(lambda found: f"_x{ord(found[0]):04X}_", text)
    if len(text) > MOST_CHARACTERS:
        message = f"a cell of Excel holds {MOST_CHARACTERS:,} characters, found {len(text):,}; write CSV instead"
        raise InputError(message)
    return _Entry(text, is_number=False)


def is_workbook(root: Element) -> bool:
    """Return whether XML is a workbook in the XML of 2003."""
    return plain_tag(root) == "workbook"


def read_spreadsheet_xml(name: str, root: Element) -> list[Sheet]:
    """Return the sheets of a workbook in the XML of 2003."""
    return [
        Sheet(title, list(_xml_rows(f"{name}, sheet {title}", sheet)), _visible(sheet) in _SHOWN)
        for sheet in children(root, "worksheet")
        for title in [attribute(sheet, "Name")]
    ]


def _visible(sheet: Element) -> str:
    options = (one for part in children(sheet, "worksheetoptions") for one in children(part, "visible"))
    return "".join("".join(one.itertext()).strip() for one in options)


def _xml_rows(place: str, sheet: Element) -> Iterator[tuple[int, list[str]]]:
    budget, number = _Budget(place), 0
    for table in children(sheet, "table"):
        for row in children(table, "row"):
            step = _index(place, attribute(row, "Index"), number + 1) - number
            number += step
            cells = _xml_cells(place, row)
            budget.spend(len(cells), step)
            while cells and not cells[-1].strip():
                cells.pop()
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
    """Return the number that a row or a cell declares, which may only skip places."""
    if not text:
        return least
    value = int(text) if text.isdecimal() and text.isascii() and len(text) < 12 else 0
    if value < least:
        message = f"{place}: the spreadsheet is damaged: expected an index of {least} or more, found {text!r}"
        raise InputError(message)
    return value


def choose_sheet(name: str, sheets: Sequence[Sheet], part: str, wanted: Wanted) -> Table:
    """Return the table of the only sheet with the required columns, or of all tracks of an export.

    Hidden sheets are read only if they are named; otherwise they are left out with a note.
    """
    titles = [sheet.title for sheet in sheets]
    meant = [sheet for sheet in sheets if sheet.rows and (sheet.title == part if part else sheet.shown)]
    hidden = [sheet for sheet in sheets if sheet.rows and not (part or sheet.shown)]
    if hidden:
        what = "a hidden sheet is" if len(hidden) == 1 else "hidden sheets are"
        which = quote_all(sheet.title for sheet in hidden)
        wanted.note(f"{name}: {what} left out: {which}; to read one, name it, as in {name}#{hidden[0].title}")
    grids = [_grid(name, sheet, wanted) for sheet in meant]
    if not grids:
        what = f"there is no sheet {quote(part)}" if part and part not in titles else "the sheet holds nothing"
        message = f"{name}: {what}; found the sheets {quote_all(titles) or 'none'}"
        raise InputError(message)
    required = [role for role in wanted.roles if role.required]
    fitting = [
        grid
        for grid in grids
        if len(grids) == 1
        or _merit(grid.header, wanted)[0]
        or recognised(grid.header, required, wanted.columns) == len(required)
    ]
    alike = len({tuple(map(normalise, grid.header)) for grid in fitting}) == 1
    # Sheets with the same recognised header are tracks of one export; other sheets are ambiguous.
    tracks = alike and all(_merit(grid.header, wanted)[0] for grid in fitting)
    asked = [sheet.title for sheet, grid in zip(meant, grids, strict=True) if grid in (fitting or grids)]
    if len(fitting) != 1 and not tracks:
        message = f"{name}: the table may be in any of the sheets {quote_all(asked)}; "
        message += f"say which one, for example {name}#{asked[0]}"
        if alike and wanted.kind == "reviews":
            message += f", or all that count, as in {name}#{asked[0]} {name}#{asked[1]}"
        raise InputError(message)
    if len(fitting) > 1:
        wanted.note(f"{name}: {len(fitting)} sheets are read as one table: {quote_all(asked)}")
    first = fitting[0]
    lines = [line for grid in fitting for line in grid.lines]
    table = recognise(Grid(name if len(fitting) > 1 else first.name, first.header, lines), wanted)
    unseen = sum(len(_grid(name, sheet, wanted).lines) for sheet in hidden)
    others = sum(len(grid.lines) for grid in grids if grid not in fitting)
    left = (LeftOut(unseen, "in hidden sheets"), LeftOut(others, "in sheets without the columns looked for"))
    table.provenance = FileRead(sheets=tuple(asked), left_out=tuple(one for one in left if one.rows))
    return table


def _grid(name: str, sheet: Sheet, wanted: Wanted) -> Grid:
    merits = [_as_header(cells, wanted) for _, cells in sheet.rows[:LOOKED_AT]]
    top = merits.index(max(merits))
    place = f"{name}, sheet {sheet.title}"
    lines = (Line(cells, f"{place}, row {number}") for number, cells in sheet.rows[top + 1 :])
    return Grid(place, sheet.rows[top][1], lines)


def _as_header(cells: Sequence[str], wanted: Wanted) -> tuple[int, bool, int, bool]:
    """Return how well a row does as the header: labels such as "Grader 1" below a complete one are no header."""
    known, count, several = _merit(cells, wanted)
    required = [role for role in wanted.roles if role.required]
    complete = bool(required) and recognised(cells, required, wanted.columns) == len(required)
    present = set(map(normalise, cells))
    return sum(normalise(name) in present for name in wanted.columns.values()), known or complete, count, several


def _merit(cells: Sequence[str], wanted: Wanted) -> tuple[bool, int, bool]:
    known = any(export.fits(cells) for export in wanted.exports("table"))
    # A title above the table is the only cell of its row.
    return known, recognised(cells, wanted.roles, wanted.columns), sum(bool(cell.strip()) for cell in cells) > 1
