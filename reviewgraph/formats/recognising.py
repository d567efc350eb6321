"""What a file is taken for: a table as it stands, or an export of a conference system."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from reviewgraph.errors import InputError
from reviewgraph.formats.grids import Line, to_grid
from reviewgraph.formats.headers import Role, named, recognised
from reviewgraph.formats.problems import cut, quote, quote_all
from reviewgraph.formats.systems.system import META, OUT, Export, Rule, System, Use
from reviewgraph.formats.tables import Aside, Column, Rows, Source, Table, of_rows
from reviewgraph.provenance import LeftOut
from reviewgraph.words import counted, shortened

if TYPE_CHECKING:
    from reviewgraph.arrays import BoolArray
    from reviewgraph.formats.problems import Problems

#: The format of a table that is taken as it stands, whatever it looks like.
PLAIN = "table"

#: How the tables begin that ``plan`` and ``assign`` write; they are read beside exports, whatever format these have.
WRITTEN = ("item", "reviewer")


#: Why rows are left out, by what they mean, where nothing else is said of them; the braces are what a file serves for.
_WHY = {
    "listed": "with no {}",
    "out": OUT,
    "unseen": "of papers that whoever downloaded the file may not see",
    "meta": META,
}


class Wanted(NamedTuple):
    """What someone who opens a file looks for.

    Parameters
    ----------
    systems
        The systems that it may be from.
    roles
        The columns.
    columns
        The user's names for them.
    kind
        What the file is to serve for; None where any will do.
    format
        The name of the system that it is from, or :data:`PLAIN`; None where the file's content says it.
    note
        Told what a person should know about the file.
    """

    systems: Collection[System]
    roles: Sequence[Role]
    columns: Mapping[str, str]
    kind: str | None
    format: str | None
    note: Callable[[str], object]

    def exports(self, container: str) -> Iterator[Export]:
        """Return the exports that may be in a container of this sort."""
        for system in self.systems:
            if self.format in (None, system.name):
                fitting = (export for export in system.exports if export.container == container)
                yield from (export for export in fitting if not export.shy or self.asks_for(export))

    def asks_for(self, export: Export) -> bool:
        """Return whether the system of an export is named, or just what it serves for is wanted."""
        wanted = export.shy == "kind" and any(use.kind == self.kind for use in export.uses)
        return wanted or self.format == export.system


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
    system = next(system for system in wanted.systems if system.name == wanted.format)
    known = ", ".join(dict.fromkeys(export.what for export in system.exports))
    message = f"{name}: expected a file of {system.title} ({known}), found {found}"
    raise InputError(message)


class Recognised(Table):
    """A table of a known system: its columns by role are known, and only rows that count are read.

    Parameters
    ----------
    table
        The table as it stands in the file.
    export, use
        What it was taken for.
    note
        Told what it was taken for and how many rows were left out.
    given
        The user's names of columns by role.

    Raises
    ------
    InputError
        If a role may be any of several columns and the user has not said which.
    """

    def __init__(
        self, table: Table, export: Export, use: Use, note: Callable[[str], object], given: Mapping[str, str]
    ) -> None:
        self.table, self.export, self.use, self.note = table, export, use, note
        self.name, self.header, self.decimal_comma = table.name, table.header, table.decimal_comma
        explained: Mapping[str, str] = getattr(table, "explained", {})
        self.source = Source(export.system, export.what, use.kind, export.extras, explained, export.unlisted)
        seen = use.find(table) if use.find else {}
        choices = {**use.choices, **seen}
        found = {role: _present(self.header, names) for role, names in {**use.columns, **choices}.items()}
        self.columns = {role: names[0] for role, names in found.items() if names}
        for role in choices:
            if len(found[role]) > 1 and role not in given:
                names = ", ".join(_explained(name, explained) for name in found[role])
                message = (
                    f"{self.name}: {export.what}: the {role} may be any of the columns {names}; "
                    f'say which one, for example --columns "{role}={cut(found[role][0])}"'
                )
                raise InputError(message)
        chosen = {role: self.columns[role] for role in seen if role in self.columns and role not in given}
        self.left: list[tuple[str, list[Column]]] = []
        self.members: list[Column] = []
        self.found = [f"the {role} is read from {_explained(name, explained)}" for role, name in chosen.items()]

    def place(self, line: int) -> str:
        """Return how a message names a line."""
        return self.table.place(line)

    def read(self, positions: Sequence[int], problems: Problems, file: int = 0) -> Rows:
        """Return the columns at these positions, in the rows that count."""
        asked = [*self.use.rules, *([self.use.members] if self.use.members else [])]
        rules = [(rule, places[0]) for rule in asked if (places := named(self.header, rule.column))]
        rows = self.table.read([*positions, *(place for _, place in rules)], problems, file)
        if rules and rules[-1][0] is self.use.members:
            inside = _passing(rules.pop()[0], rows.columns[-1])
            self.members = [of_rows(column, np.flatnonzero(inside)) for column in rows.columns[: len(positions)]]
        # The first rule that a row does not pass says what it means.
        for number, (rule, _) in enumerate(rules, len(positions)):
            rows = self._without(rule, number, rows)
        self.note("; ".join(filter(None, (f"{self.name}: read as {self.export.what}", *self.found, self.export.say))))
        for more in getattr(self.table, "notes", ()):
            self.note(f"{self.name}: {more}")
        return rows._replace(columns=rows.columns[: len(positions)])

    def aside(self, reviewer: int, item: int, title: int | None) -> Aside:
        """Return what rows left out say of papers, given the places of the columns among those that were read."""
        said: dict[str, dict[tuple[str, ...], None]] = {}
        for means, columns in self.left:
            wanted = [columns[place] for place in (reviewer, item, item if title is None else title)]
            cells = (map(column.values.__getitem__, column.codes.tolist()) for column in wanted)
            said.setdefault(means, {}).update(dict.fromkeys(zip(*cells, strict=True)))
        shape = re.compile(self.export.lists or "(?!)")
        listed = {paper: name for _, paper, name in said.get("listed", ()) if shape.fullmatch(paper.strip())}
        out, unseen = ([paper for _, paper, _ in said.get(means, ())] for means in ("out", "unseen"))
        meta = [(who, paper) for who, paper, _ in said.get("meta", ())]
        members = self.members[reviewer].values if self.members else ()
        listed = dict.fromkeys(listed, "") if title is None else listed
        return Aside(listed, out, unseen, meta, members, self.use.tells and bool(self.members))

    def _without(self, rule: Rule, place: int, rows: Rows) -> Rows:
        """Leave out the rows whose cell in the column at a place does not pass; say so, and keep what they mean."""
        columns, judged = rows.columns, rows.columns[place]
        other = ~_passing(rule, judged)
        if not other.any():
            return rows
        left = LeftOut(int(other.sum()), f"whose {rule.why}" if rule.why else _WHY[rule.means].format(self.use.kind))
        if rule.why:
            cells = sorted({judged.values[code] for code in np.unique(judged.codes[other])})
            self.note(f"{self.name}: {counted(left.rows, 'row')} left out, {left.why} ({quote_all(cells)})")
        self.left.append((rule.means, [of_rows(column, np.flatnonzero(other)) for column in columns]))
        kept = np.flatnonzero(~other)
        lines = [rows.lines[row] for row in kept.tolist()]
        return Rows([of_rows(column, kept) for column in columns], lines, [*rows.left_out, left])


def _passing(rule: Rule, column: Column) -> BoolArray:
    """Return which rows pass."""
    return np.array([rule.keeps(value) for value in column.values], np.bool_)[column.codes]


def _explained(name: str, explained: Mapping[str, str]) -> str:
    return f"{quote(name)} ({shortened(explained[name])})" if name in explained else quote(name)


def _present(header: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return those of some names that a header has, as they stand there."""
    places = (named(header, name) for name in names)
    return [header[found[0]] for found in places if found]
