"""Which sheet of a spreadsheet holds the table, and in which of its rows the header stands."""

from __future__ import annotations

from collections.abc import Sequence

from reviewgraph.errors import InputError
from reviewgraph.formats.grids import Grid, Line
from reviewgraph.formats.headers import normalise, recognised
from reviewgraph.formats.problems import quote, quote_all
from reviewgraph.formats.recognising import Wanted, recognise
from reviewgraph.formats.tables import Table
from reviewgraph.formats.workbooks import Sheet
from reviewgraph.provenance import FileRead, LeftOut

#: Rows in which a header is looked for; some systems write a title above it.
LOOKED_AT = 10


def choose_sheet(name: str, sheets: Sequence[Sheet], part: str, wanted: Wanted) -> Table:
    """Return the table of the one sheet that has the columns looked for, or of all tracks of an export.

    Sheets that are hidden are read where they are named, and otherwise left out with a note.

    Parameters
    ----------
    name
        The file.
    sheets
        All its sheets.
    part
        The title of the one that is meant; empty where its columns say it.
    wanted
        What is looked for.

    Raises
    ------
    InputError
        If there is no such sheet, none that holds anything, or it is not clear which one is meant.
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
    fitting = [grid for grid in grids if _fits(grid, wanted)] if len(grids) > 1 else grids
    alike = len({tuple(map(normalise, grid.header)) for grid in fitting}) == 1
    # A system that writes a sheet a track has the same header on each; of other sheets nobody knows what they are.
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
    table = recognise(_joined(name, fitting), wanted)
    table.provenance = FileRead(sheets=tuple(asked), left_out=_unread(name, hidden, grids, fitting, wanted))
    return table


def _unread(
    name: str, hidden: Sequence[Sheet], grids: Sequence[Grid], fitting: Sequence[Grid], wanted: Wanted
) -> tuple[LeftOut, ...]:
    """Return the rows of sheets that are not read, those that are hidden and those that lack the columns."""
    unseen = sum(len(_grid(name, sheet, wanted).lines) for sheet in hidden)
    others = sum(len(grid.lines) for grid in grids if grid not in fitting)
    those = (LeftOut(unseen, "in hidden sheets"), LeftOut(others, "in sheets without the columns looked for"))
    return tuple(left for left in those if left.rows)


def _grid(name: str, sheet: Sheet, wanted: Wanted) -> Grid:
    merits = [_merit(cells, wanted) for _, cells in sheet.rows[:LOOKED_AT]]
    top = merits.index(max(merits))
    place = f"{name}, sheet {sheet.title}"
    lines = (Line(cells, f"{place}, row {number}") for number, cells in sheet.rows[top + 1 :])
    return Grid(place, sheet.rows[top][1], lines)


def _merit(cells: Sequence[str], wanted: Wanted) -> tuple[bool, int, bool]:
    known = any(export.fits(cells) for export in wanted.exports("table"))
    # A title above the table stands in a cell alone.
    return known, recognised(cells, wanted.roles, wanted.columns), sum(bool(cell.strip()) for cell in cells) > 1


def _fits(grid: Grid, wanted: Wanted) -> bool:
    required = [role for role in wanted.roles if role.required]
    known, *_ = _merit(grid.header, wanted)
    return known or recognised(grid.header, required, wanted.columns) == len(required)


def _joined(name: str, grids: Sequence[Grid]) -> Grid:
    first = grids[0]
    return Grid(name if len(grids) > 1 else first.name, first.header, [line for grid in grids for line in grid.lines])
