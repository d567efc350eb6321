"""All systems that are known, and what a file is taken for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from reviewgraph.errors import InputError
from reviewgraph.formats.grids import Line, to_grid
from reviewgraph.formats.headers import Role, recognised
from reviewgraph.formats.problems import quote_all
from reviewgraph.formats.systems.cmt import CMT
from reviewgraph.formats.systems.easychair import EASYCHAIR
from reviewgraph.formats.systems.export import Export, Recognised, System, Use
from reviewgraph.formats.systems.hotcrp import HOTCRP
from reviewgraph.formats.systems.openreview import OPENREVIEW
from reviewgraph.formats.systems.people import FORMS, GRADEBOOK, WORKSHOP
from reviewgraph.formats.systems.start import START

if TYPE_CHECKING:
    from reviewgraph.formats.tables import Table

SYSTEMS: tuple[System, ...] = (HOTCRP, OPENREVIEW, CMT, EASYCHAIR, START, FORMS, WORKSHOP, GRADEBOOK)

#: The format of a table that is taken as it stands, whatever it looks like.
PLAIN = "table"

#: What ``--format`` takes.
FORMATS = (*(system.name for system in SYSTEMS), PLAIN)


class Wanted(NamedTuple):
    """What someone who opens a file looks for.

    Parameters
    ----------
    roles
        The columns.
    columns
        The user's names for them.
    kind
        What the file is to serve for; None where any will do.
    format
        One of :data:`FORMATS`; None where the file's content says it.
    note
        Told what a person should know about the file.
    """

    roles: Sequence[Role]
    columns: Mapping[str, str]
    kind: str | None
    format: str | None
    note: Callable[[str], object]

    def exports(self, container: str) -> Iterator[Export]:
        """Return the exports that may be in a container of this sort."""
        for system in SYSTEMS:
            if self.format in (None, system.name):
                fitting = (export for export in system.exports if export.container == container)
                yield from (export for export in fitting if not export.shy or self.asks_for(export))

    def asks_for(self, export: Export) -> bool:
        """Return whether the system of an export is named, or just what it serves for is wanted."""
        wanted = export.shy == "kind" and any(use.kind == self.kind for use in export.uses)
        return wanted or self.format == export.system


#: How the tables begin that ``plan`` and ``assign`` write; they are read beside exports, whatever format these have.
WRITTEN = ("item", "reviewer")


def check_format(name: str | None) -> None:
    """Refuse the name of a format that is none.

    Raises
    ------
    InputError
        Listing those there are.
    """
    if name is not None and name not in FORMATS:
        message = f"format: expected one of {', '.join(FORMATS)}, found {name!r}"
        raise InputError(message)


def recognise(table: Table, wanted: Wanted) -> Table:
    """Return a table as what its system means by it; as it is where it is of no known system.

    A table without a column that has to be there may have no header: then its first row is one of the others.

    Raises
    ------
    InputError
        If it is known and serves for something else than is wanted, or it is not of the system that was named.
    """
    found: dict[Export, Table] = {}
    if wanted.format is not None and tuple(table.header[:2]) == WRITTEN:
        return table
    for export in wanted.exports("table"):
        if export.fits(table.header):
            whole = table.leniently() if export.lenient else table
            changed = export.extract(whole.name, whole) if export.extract else whole
            if changed is not None:
                found[export] = changed
    if found:
        export, use = _chosen(table.name, list(found), wanted)
        return _taken(found[export], export, use, wanted)
    required = [role for role in wanted.roles if role.required]
    complete = recognised(table.header, required, wanted.columns) == len(required)
    lines = _lines(table) if wanted.format not in (None, PLAIN) or not complete else None
    headerless = extract("lines", table.name, lines, wanted) if lines else None
    if headerless is None and wanted.format not in (None, PLAIN):
        _refuse_format(table.name, wanted, f"the columns {quote_all(table.header)}")
    return headerless or table


def _lines(table: Table) -> list[Line] | None:
    """Return the header and the rows as rows, short ones filled up; None where a row is longer than the first."""
    whole = table.leniently()
    try:
        return [Line(whole.header, f"{table.name}, first row"), *to_grid(whole).lines]
    except InputError:
        return None


def extract(container: str, name: str, content: Any, wanted: Wanted) -> Table | None:
    """Return the table inside content that is none itself, such as JSON; None where nothing is known in it.

    Raises
    ------
    InputError
        As :func:`recognise`.
    """
    found = {}
    for export in wanted.exports(container):
        grid = export.extract(name, content) if export.extract else None
        if grid is not None:
            found[export] = grid
            if export.use(wanted.kind):
                break
    if not found:
        return None
    export, use = _chosen(name, list(found), wanted)
    return _taken(found[export], export, use, wanted)


def _chosen(name: str, fitting: Sequence[Export], wanted: Wanted) -> tuple[Export, Use]:
    for export in fitting:
        use = export.use(wanted.kind)
        if use is not None:
            return export, use
    held = " or ".join(dict.fromkeys(use.kind for use in fitting[0].uses))
    holds = f", which holds {held}" if held else ""
    message = f"{name}: this is {fitting[0].what}{holds}; expected a file of {wanted.kind or 'a kind that is read'}"
    # Only reviews have an option for their format.
    advice = f" (if it is one all the same, say --format {PLAIN})" if wanted.kind in (None, "reviews") else ""
    raise InputError(message + advice)


def _taken(table: Table, export: Export, use: Use, wanted: Wanted) -> Table:
    return Recognised(use.reshape(table) if use.reshape else table, export, use, wanted.note, wanted.columns)


def _refuse_format(name: str, wanted: Wanted, found: str) -> NoReturn:
    system = next(system for system in SYSTEMS if system.name == wanted.format)
    known = ", ".join(dict.fromkeys(export.what for export in system.exports))
    message = f"{name}: expected a file of {system.title} ({known}), found {found}"
    raise InputError(message)
