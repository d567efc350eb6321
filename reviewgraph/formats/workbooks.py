"""Spreadsheets: .xlsx by openpyxl, read row by row and written, and the XML of 2003 that some systems call .xls."""

from __future__ import annotations

import contextlib
import datetime
import io
import re
import warnings
import zipfile
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple

from reviewgraph._base.errors import InputError
from reviewgraph._base.storing import FileRead, LeftOut, guarded, plain
from reviewgraph._base.text import counted
from reviewgraph.formats.columns import ADDRESSES, ITEM, REVIEWER, SCORE, Role, is_usual, normalise, recognised
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
    terms,
)
from reviewgraph.formats.people import is_summary
from reviewgraph.formats.systems.system import LOOKED_AT, PLAIN, Wanted, filled, find_header, recognise, whole_header
from reviewgraph.formats.tables import Grid, Line, Table, as_text, attribute, children

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


#: A file inside every .xlsx.
INSIDE = "[Content_Types].xml"
#: What Excel allows a sheet and a cell, and numbers: whole ones above it have no exact value there.
MOST_ROWS = 1_048_576
MOST_CHARACTERS = 32_767
EXACT = 2**53
#: The date of all that is written, so that equal tables are equal files.
DATE = datetime.datetime(1980, 1, 1)
#: Characters that XML lacks or changes, and what would be taken for one of them, which is written in the same way.
_UNWRITABLE = re.compile("[\x00-\x08\x0b-\x1f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")
_ESCAPED = re.compile("_x(00[01][0-9A-Fa-f]|005[Ff]|[Ff]{3}[EeFf])_")
#: Labels that stay the same as numbers, which Excel sorts better.
_NUMERAL = re.compile("0|[1-9][0-9]{0,14}")
#: Texts in the code of a number's format, which show a percent sign without meaning it.
_LITERAL = re.compile(r'"[^"]*"|\\.')
#: What says yes in an attribute.
_TRUE = ("1", "true")
#: What a formula without a value begins with here; no text in a spreadsheet may.
_UNSOLVED = "\0"
_HOLD = ("holds formulas without values and is not read", "hold formulas without values and are not read")
#: Names that spreadsheet programs give sheets, in several languages.
_UNNAMED = re.compile(r"(?:sheet|tabelle|table|feuil(?:le)?|hoja|foglio|planilha|folha|blad|ark|arkusz)[ _]?\d*|\d*")
#: Names of sheets that are nobody's, beside a sheet per person.
_OF_NOBODY = frozenset(
    terms(
        """summary, overview, template, example, instructions, results, total, totals, all, zusammenfassung, übersicht,
        vorlage, muster, beispiel, ergebnis, ergebnisse, résumé, modèle, résultats, resumen, plantilla, resultados"""
    )
)
#: Visibility of shown sheets in the XML of 2003.
_SHOWN = ("", "SheetVisible")


class Area(NamedTuple):
    """A block of cells, by the numbers of its first and last row and column."""

    top: int
    left: int
    bottom: int
    right: int


class Sheet(NamedTuple):
    """A sheet: its title, its non-empty rows by number, and what a reader of it sees of them."""

    title: str
    rows: list[tuple[int, list[str]]]
    shown: bool = True  #: Whether it is visible.
    hidden_rows: frozenset[int] = frozenset()  #: The numbers of rows that a filter or a person hides.
    hidden_columns: frozenset[int] = frozenset()
    merged: int = 0  #: Blocks of merged cells, whose value stands in all of their cells.


class _Budget:
    """The size of a sheet so far; cells are counted as they are declared, empty or not."""

    def __init__(self, name: str, cells: Limit = CELLS) -> None:
        self.name = name
        self.rows = 0
        self.cells = 0
        self.most = cells

    def spend(self, cells: int, rows: int = 1) -> None:
        self.rows += rows
        self.cells += cells
        ROWS.expect(self.name, self.rows)
        self.most.expect(self.name, self.cells)


def is_xlsx(data: bytes) -> bool:
    try:
        return INSIDE in zipfile.ZipFile(io.BytesIO(data)).namelist()
    except Exception:  # a damaged directory can raise anything
        return False


def read_xlsx(name: str, data: bytes, *, percents: bool = False) -> list[Sheet]:
    """Return the sheets of a workbook of Excel, with the stored values of formulas.

    With ``percents`` a number that is shown as a percentage is a text such as ``70%``.
    """
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
            styles = _percent_styles(book) if percents else frozenset[int]()
            return [_xlsx_sheet(name, sheet, cells, styles) for sheet in book.worksheets]
    except InputError:
        raise
    except Exception as error:  # a damaged part can raise anything
        message = f"{name}: the spreadsheet is damaged ({type(error).__name__}: {cut(error)}); save it anew, or as CSV"
        raise InputError(message) from error


def _percent_styles(book: Any) -> frozenset[int]:
    from openpyxl.styles.numbers import BUILTIN_FORMATS, BUILTIN_FORMATS_MAX_SIZE

    custom = dict(enumerate(book._number_formats, BUILTIN_FORMATS_MAX_SIZE))
    codes = {**BUILTIN_FORMATS, **custom}
    shown = {place for place, code in codes.items() if "%" in _LITERAL.sub("", code)}
    return frozenset(place for place, style in enumerate(book._cell_styles) if style.numFmtId in shown)


def _xlsx_sheet(name: str, sheet: Any, cells: Limit, percents: frozenset[int]) -> Sheet:
    """Return a sheet; only rows, hidden columns and merged cells are parsed, whatever else the sheet declares."""
    from openpyxl.utils import range_boundaries
    from openpyxl.worksheet._reader import COL_TAG, ROW_TAG, WorkSheetParser
    from openpyxl.xml.functions import iterparse

    place = f"{name}, sheet {sheet.title}"
    book = sheet.parent
    budget = _Budget(place, cells)
    before = 0
    rows: list[tuple[int, list[str]]] = []
    areas: list[Area] = []
    hidden_rows: set[int] = set()
    hidden_columns: set[int] = set()
    for text in sheet._shared_strings:
        CHARACTERS.expect(name, len(text))
    with sheet._get_source() as source:
        formats = {"date_formats": book._date_formats, "timedelta_formats": book._timedelta_formats}
        parser = WorkSheetParser(source, sheet._shared_strings, data_only=True, epoch=book.epoch, **formats)
        for _, element in iterparse(source):
            if element.tag == COL_TAG and element.get("hidden") in _TRUE:
                last = min(int(element.get("max")), COLUMNS.most)
                hidden_columns.update(range(int(element.get("min")), last + 1))
            elif element.tag == ROW_TAG.removesuffix("row") + "mergeCell":
                left, top, right, bottom = range_boundaries(element.get("ref"))
                if left and top and right and bottom:  # not whole rows or columns
                    areas.append(Area(top, left, bottom, right))
            if element.tag != ROW_TAG:
                continue
            number, row_cells = parser.parse_row(element)
            _mark_formulas(element, row_cells)
            if element.get("hidden") in _TRUE:
                hidden_rows.add(number)
            element.clear()
            if number <= before:
                raise ValueError(f"row {number} follows row {before}")
            # Gaps between cells count as well: a cell far to the right makes the row wide.
            texts = {cell["column"]: _cell(cell["value"], cell["style_id"] in percents) for cell in row_cells}
            row = {column: text for column, text in texts.items() if text.strip()}
            width = max(row, default=0)
            COLUMNS.expect(place, width)
            budget.spend(max(width, len(row_cells)), number - before)
            before = number
            if row:
                rows.append((number, [row.get(column, "") for column in range(1, width + 1)]))
    merged = _spread(rows, areas, budget)
    shown = sheet.sheet_state == "visible"
    return Sheet(sheet.title, rows, shown, frozenset(hidden_rows), frozenset(hidden_columns), merged)


def _spread(rows: Sequence[tuple[int, list[str]]], areas: Iterable[Area], budget: _Budget) -> int:
    """Write the value of merged cells, which a file has once, into all of them, and return the number of areas.

    A row without any content of its own stays out.
    """
    cells_of = dict(rows)
    numbers = list(cells_of)
    widest = max((len(cells) for cells in cells_of.values()), default=0)
    count = 0
    for area in areas:
        anchor = cells_of.get(area.top, [])
        value = anchor[area.left - 1] if len(anchor) >= area.left else ""
        within = numbers[bisect_left(numbers, area.top) : bisect_right(numbers, area.bottom)]
        right = min(area.right, widest)
        budget.spend(len(within) * max(0, right - area.left + 1), 0)
        empty = 0
        for number in within if value.strip() else ():
            cells = cells_of[number]
            cells.extend(repeat("", right - len(cells)))
            for column in range(area.left - 1, right):
                if not cells[column].strip():
                    cells[column] = value
                    empty += 1
        count += empty > 0
    return count


def _mark_formulas(row: Any, cells: Sequence[dict[str, Any]]) -> None:
    """Give a formula without a computed value a mark; one whose value is an empty text is an empty cell."""
    for element, cell in zip(row, cells, strict=True):
        formula = element.find("{*}f") if cell["value"] is None else None
        if formula is not None and not (element.get("t") == "str" and element.find("{*}v") is not None):
            cell["value"] = f"{_UNSOLVED}={formula.text or ''}"


def _without_formulas(grid: Grid, wanted: Wanted) -> list[str]:
    """Empty the columns of no role that hold only formulas without values, such as totals, and return their names.

    Other formulas without values are refused.
    """
    needed = {normalise(name) for name in wanted.columns.values()}
    needed |= {name for role in wanted.roles for name in (*role.names, *role.weak)}
    left: list[str] = []
    for place in range(max((len(line.cells) for line in grid.lines), default=0)):
        name = grid.header[place] if place < len(grid.header) else ""
        cells = [(line, line.cells[place]) for line in grid.lines if place < len(line.cells) and line.cells[place]]
        formulas = [(line, cell.removeprefix(_UNSOLVED)) for line, cell in cells if cell.startswith(_UNSOLVED)]
        if formulas and (normalise(name) in needed or len(formulas) < len(cells)):
            line, formula = formulas[0]
            message = f"{line.place}: the formula {quote(formula)} has no value; open the file in a spreadsheet "
            message += "program and save it"
            raise InputError(message)
        for line, _ in formulas:
            line.cells[place] = ""
        left += [name] if formulas else []
    return left


def _cell(value: Any, percent: bool) -> str:
    if percent and isinstance(value, int | float) and not isinstance(value, bool):
        return f"{as_text(round(value * 100, 9))}%"
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    text = as_text(value)
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text) if "_x" in text else text


class _Undated(zipfile.ZipFile):
    """An archive without dates, and without what depends on the machine."""

    def writestr(self, name: Any, data: Any, *how: Any, **more: Any) -> None:  # type: ignore[override]
        info = zipfile.ZipInfo(name, DATE.timetuple()[:6])
        info.compress_type = zipfile.ZIP_DEFLATED
        info.create_system = 0
        super().writestr(info, data)

    def write(self, filename: Any, arcname: Any = None, *how: Any, **more: Any) -> None:
        with open(filename, "rb") as file:
            self.writestr(arcname, file.read())


def write_xlsx(columns: Mapping[str, Sequence[Any]]) -> bytes:
    """Return columns as a workbook of Excel with one sheet; no text is a formula, and equal tables are equal bytes."""
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.styles import Font
    from openpyxl.utils import get_column_letter
    from openpyxl.writer.excel import ExcelWriter

    listed = [[name, *column] for name, column in columns.items()]
    if any(len(column) > MOST_ROWS for column in listed):
        raise InputError(f"a sheet of Excel holds {MOST_ROWS - 1:,} rows and a header, found more; write CSV instead")
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
    text = _UNWRITABLE.sub(lambda match: f"_x{ord(match[0]):04X}_", text)
    if len(text) > MOST_CHARACTERS:
        message = f"a cell of Excel holds {MOST_CHARACTERS:,} characters, found {len(text):,}; write CSV instead"
        raise InputError(message)
    return _Entry(text, is_number=False)


def xml_sheet(name: str, sheet: Element) -> Sheet:
    """Return a sheet in the XML of 2003."""
    title = attribute(sheet, "Name")
    place = f"{name}, sheet {title}"
    budget = _Budget(place)
    number = 0
    rows: list[tuple[int, list[str]]] = []
    areas: list[Area] = []
    hidden_rows: set[int] = set()
    hidden_columns: set[int] = set()
    for table in children(sheet, "table"):
        column = 0
        for element in children(table, "column"):
            column = _index(place, attribute(element, "Index"), column + 1)
            last = column + _count(attribute(element, "Span"))
            if attribute(element, "Hidden") in _TRUE:
                hidden_columns.update(range(column, min(last, COLUMNS.most) + 1))
            column = last
        for row in children(table, "row"):
            step = _index(place, attribute(row, "Index"), number + 1) - number
            number += step
            cells = _xml_cells(place, row, number, areas)
            budget.spend(len(cells), step)
            while cells and not cells[-1].strip():
                cells.pop()
            COLUMNS.expect(place, len(cells))
            if attribute(row, "Hidden") in _TRUE:
                hidden_rows.add(number)
            if cells:
                rows.append((number, cells))
    merged = _spread(rows, areas, budget)
    options = (option for part in children(sheet, "worksheetoptions") for option in children(part, "visible"))
    shown = "".join("".join(option.itertext()).strip() for option in options) in _SHOWN
    return Sheet(title, rows, shown, frozenset(hidden_rows), frozenset(hidden_columns), merged)


def _count(text: str) -> int:
    """Return the number of further rows or columns that an attribute declares."""
    return int(text) if text.isdecimal() and text.isascii() and len(text) < 12 else 0


def _xml_cells(place: str, row: Element, number: int, areas: list[Area]) -> list[str]:
    """Return the cells of a row, and add those that are merged to the areas."""
    cells: list[str] = []
    for cell in children(row, "cell"):
        start = _index(place, attribute(cell, "Index"), len(cells) + 1)
        COLUMNS.expect(place, start)
        cells.extend(repeat("", start - 1 - len(cells)))
        cells.append("".join(text for data in children(cell, "data") for text in data.itertext()))
        wide = _count(attribute(cell, "MergeAcross"))
        high = _count(attribute(cell, "MergeDown"))
        COLUMNS.expect(place, start + wide)
        cells.extend(repeat("", wide))
        if wide or high:
            areas.append(Area(number, start, number + high, start + wide))
    return cells


def _index(place: str, text: str, least: int) -> int:
    if not text:
        return least
    value = int(text) if text.isdecimal() and text.isascii() and len(text) < 12 else 0
    if value < least:
        raise InputError(f"{place}: the spreadsheet is damaged: expected an index of {least} or more, found {text!r}")
    return value


def choose_sheet(name: str, sheets: Sequence[Sheet], part: str, wanted: Wanted) -> Table:
    """Return the table of the only sheet with the required columns, or of all tracks of an export.

    Hidden sheets are read only if they are named; otherwise they are left out with a note. Sheets that lack only the
    reviewer, or only the item, are read as one table if they are alike: it is the name of the sheet.
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
        raise InputError(f"{name}: {what}; found the sheets {quote_all(titles) or 'none'}")
    # The sheets with all columns that are needed, or the only one.
    any_will_do = len(grids) == 1 or not any(role.required for role in wanted.roles)
    headers = [grid.header for grid in grids]
    fitting = [
        place
        for place, header in enumerate(headers)
        if any_will_do or wanted.knows(header) or wanted.completed_by(header)
    ]
    # A list of papers with addresses is no table of reviews beside one with reviewers and scores.
    people = {*REVIEWER.names} - ADDRESSES
    sure = [place for place in fitting if recognised(headers[place], [SCORE], wanted.columns)]
    if wanted.kind == "reviews" and len(sure) == 1 and len(fitting) > 1 and _has(headers[sure[0]], people):
        fitting = [place for place in fitting if place in sure or _has(headers[place], people)]
    named = {} if fitting else _named_by_sheets(name, meant, grids, wanted)
    fitting = list(named) or fitting
    alike = len({tuple(map(normalise, grids[place].header)) for place in fitting}) == 1
    # Sheets with the same recognised header are tracks of one export; other sheets are ambiguous.
    tracks = alike and all(wanted.knows(grids[place].header) for place in fitting)
    tracks = tracks or bool(named) or (alike and _by_reviewer([grids[place] for place in fitting], wanted))
    asked = [sheet.title for place, sheet in enumerate(meant) if not fitting or place in fitting]
    if len(fitting) != 1 and not tracks:
        message = f"{name}: the table may be in any of the sheets {quote_all(asked)}; "
        message += f"say which one, for example {name}#{asked[0]}"
        if alike and wanted.kind == "reviews":
            message += f", or all that count, as in {name}#{asked[0]} {name}#{asked[1]}"
        raise InputError(message)
    if len(fitting) > 1:
        wanted.note(f"{name}: {len(fitting)} sheets are read as one table: {quote_all(asked)}")
    for place in fitting:
        _say_unseen(name, meant[place], grids[place], wanted)
    used = [named.get(place, grids[place]) for place in fitting]
    formulas = list(dict.fromkeys(column for grid in used for column in _without_formulas(grid, wanted)))
    if formulas:
        what = f"{quote_all(formulas)} {_HOLD[len(formulas) > 1]}"
        wanted.note(f"{name}: {what}; to read formulas, open the file in a spreadsheet program and save it")
    lines = [line for grid in used for line in grid.lines]
    table = recognise(Grid(name if len(used) > 1 else used[0].name, used[0].header, lines), wanted)
    unseen = sum(len(_grid(name, sheet, wanted).lines) for sheet in hidden)
    rows_elsewhere = sum(len(grid.lines) for place, grid in enumerate(grids) if place not in fitting)
    left = (LeftOut(unseen, "in hidden sheets"), LeftOut(rows_elsewhere, "in sheets without the columns looked for"))
    table.provenance = FileRead(sheets=tuple(asked), left_out=tuple(part_left for part_left in left if part_left.rows))
    return table


def _named_by_sheets(name: str, sheets: Sequence[Sheet], grids: Sequence[Grid], wanted: Wanted) -> dict[int, Grid]:
    """Return the sheets whose names are the reviewers, or else the items, by place, with a column of the name.

    They are alike, and lack this column alone.
    """
    required = {role.name: role for role in wanted.roles if role.required}
    if wanted.kind != "reviews" or wanted.format not in (None, PLAIN) or required.keys() != {REVIEWER.name, ITEM.name}:
        return {}
    titles = [sheet.title for sheet in sheets]
    for missing, present in ((REVIEWER, ITEM), (ITEM, REVIEWER)):
        by_header: dict[tuple[str, ...], list[int]] = {}
        alike = [place for place, grid in enumerate(grids) if _lacks(grid.header, missing, present, wanted)]
        others = [titles[place] for place in alike if _is_of_nobody(titles[place])]
        for place in alike:
            if titles[place] not in others:
                by_header.setdefault(tuple(map(normalise, grids[place].header)), []).append(place)
        places = max(by_header.values(), key=len, default=[])
        if len(places) < 2:
            continue
        used = [titles[place] for place in places]
        if any(_UNNAMED.fullmatch(title.casefold().strip()) for title in used):
            raise InputError(
                f"{name}: the sheets {quote_all(used)} have no {missing.name} column, and their names are no "
                f"{missing.name}s; name each sheet after its {missing.name}, or say which sheet is the table, for "
                f"example {name}#{used[0]}"
            )
        but = f", except {quote_all(others)}, left out; rename a sheet that counts" if others else ""
        wanted.note(f"{name}: the {missing.name} is the name of the sheet{but}")
        return {
            place: grids[place].with_column(missing.name, [titles[place]] * len(grids[place].lines)) for place in places
        }
    return {}


def _lacks(header: Sequence[str], missing: Role, present: Role, wanted: Wanted) -> bool:
    """Return whether a header has scores and all columns that are needed but one."""
    if recognised(header, [missing], wanted.columns) or not recognised(header, [present], wanted.columns):
        return False
    scores = recognised(header, [SCORE], wanted.columns) > 0 or any(map(is_usual, header))
    return scores or filled(header) == 2


def _is_of_nobody(title: str) -> bool:
    return normalise(title) in _OF_NOBODY or is_summary(title)


def _has(header: Sequence[str], names: Collection[str]) -> bool:
    return any(normalise(text) in names for text in header)


def _by_reviewer(grids: Sequence[Grid], wanted: Wanted) -> bool:
    """Return whether each of several sheets has the reviews of one reviewer, another one each."""
    names = {*REVIEWER.names, normalise(wanted.columns.get(REVIEWER.name, ""))} - {""}
    places = [place for place, text in enumerate(grids[0].header) if normalise(text) in names]
    if wanted.kind != "reviews" or not places:
        return False
    people = [set(grid.column(places[0])) for grid in grids]
    return all(len(names_in) == 1 for names_in in people) and len(set().union(*people)) == len(grids)


def _say_unseen(name: str, sheet: Sheet, grid: Grid, wanted: Wanted) -> None:
    """Note what is read although nobody sees it: hidden rows and columns, and the cells behind merged ones."""
    below = [number for number, _ in sheet.rows][len(sheet.rows) - len(grid.lines) :]
    rows = sum(number in sheet.hidden_rows for number in below)
    columns = [text for place, text in enumerate(grid.header, 1) if place in sheet.hidden_columns and text.strip()]
    hidden = [
        *([counted(rows, "hidden row")] if rows else []),
        *([f"{counted(len(columns), 'hidden column')} ({quote_all(columns)})"] if columns else []),
    ]
    if hidden:
        wanted.note(f"{grid.name}: {' and '.join(hidden)} read; delete what is not to count")
    if sheet.merged:
        blocks = counted(sheet.merged, "block of merged cells", "blocks of merged cells")
        wanted.note(f"{grid.name}: {blocks} read, with the value in each cell")


def _grid(name: str, sheet: Sheet, wanted: Wanted) -> Grid:
    first = [cells for _, cells in sheet.rows[:LOOKED_AT]]
    top, joined = whole_header(first, find_header(first, wanted, bare=False))
    header = first[top] if joined is None else joined
    place = f"{name}, sheet {sheet.title}"
    lines = (Line(cells, f"{place}, row {number}") for number, cells in sheet.rows[top + 1 :])
    return Grid(place, header, lines)
