"""What one kind of file of a conference system is: how it is recognised, what it serves for, which rows count."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from reviewgraph.errors import InputError
from reviewgraph.formats.headers import named, normalise
from reviewgraph.formats.problems import cut, quote, quote_all
from reviewgraph.formats.tables import Column, Rows, Source, Table
from reviewgraph.words import counted, shortened

if TYPE_CHECKING:
    from reviewgraph.arrays import IntArray
    from reviewgraph.formats.problems import Problems

Note = Callable[[str], object]

#: What a file can serve for, and the further kinds that do as well; ``names`` tells who stands behind an alias.
ACCEPTED = {
    "reviews": ("reviews", "assignments", "names"),
    "assignments": ("assignments", "reviews"),
    "papers": ("papers",),
    "reviewers": ("reviewers",),
    "conflicts": ("conflicts",),
    "bids": ("bids",),
    "affinities": ("affinities",),
    "authors": ("authors",),
}


class Rule(NamedTuple):
    """Which rows count: those whose cell in the first column of a name passes.

    Parameters
    ----------
    column
        The name of the column; a table without it keeps all its rows.
    keeps
        Whether a cell lets its row count.
    why
        What is said of the rows left out: "rows left out, whose action assigns no review". By default nothing: they
        are no odd ones, but what else the file is for.
    gone
        Whether the papers of the rows left out are no papers, whatever other files hold of them.
    """

    column: str
    keeps: Callable[[str], bool]
    why: str = ""
    gone: bool = False


@dataclass(frozen=True, eq=False)
class Use:
    """Something a file serves for.

    Parameters
    ----------
    kind
        One of :data:`ACCEPTED`.
    columns
        The name of the column by role, where the usual names would not find it; the first that is there counts.
    rules
        Which rows count.
    choices
        Names of columns by role of which a person has to choose one, where several are there.
    find
        Returns such names for one table, where they are not always the same.
    reshape
        Makes the table that is read of the one in the file, where they are not the same.
    """

    kind: str
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    rules: Sequence[Rule] = ()
    choices: Mapping[str, Sequence[str]] = field(default_factory=dict)
    find: Callable[[Table], Mapping[str, Sequence[str]]] | None = None
    reshape: Callable[[Table], Table] | None = None


@dataclass(frozen=True, eq=False)
class Export:
    """One kind of file that a system hands out.

    Parameters
    ----------
    system
        The name of the system, as ``--format`` takes it.
    what
        What messages call it.
    uses
        What it serves for, its own purpose first.
    needs
        Normalised names of columns by which a table is recognised, as regular expressions: each stands in its header.
    lacks
        Names that it does not have.
    container
        What it is found in: "table", "json", "xml", "folder", or "lines", a text without a header.
    extract
        Makes a table of the container, or returns None where it is something else; a table with a header serves as it
        is by default.
    say
        What a person should know about it.
    extras
        Normalised names of columns that hold no score, beside those of the roles.
    lists
        The papers that it lists in rows that are no reviews, as a regular expression; they are papers all the same. By
        default it lists none.
    shy
        Other tables look like it, so that it is recognised only where its system is named, or, if this is "kind",
        where just what it serves for is wanted; "" where nothing else looks like it.
    """

    system: str
    what: str
    uses: Sequence[Use]
    needs: Collection[str] = ()
    lacks: Collection[str] = ()
    container: str = "table"
    extract: Callable[[str, Any], Table | None] | None = None
    say: str = ""
    extras: Collection[str] = ()
    lists: str = ""
    shy: Literal["", "kind", "name"] = ""

    def fits(self, header: Sequence[str]) -> bool:
        """Return whether a header has all that it needs and nothing that it lacks."""
        present = set(map(normalise, header))
        found = (any(map(re.compile(name).fullmatch, present)) for name in self.needs)
        return all(found) and not present & set(self.lacks)

    def use(self, kind: str | None) -> Use | None:
        """Return what serves for a kind, the best first; its own purpose where no kind is given."""
        if kind is None:
            return self.uses[0]
        by_kind = {use.kind: use for use in self.uses}
        return next((by_kind[accepted] for accepted in ACCEPTED[kind] if accepted in by_kind), None)


@dataclass(frozen=True, eq=False)
class System:
    """A conference system, or another source of tables.

    Parameters
    ----------
    name
        As ``--format`` takes it.
    title
        As messages call it.
    exports
        Its files, the more particular before the more general.
    """

    name: str
    title: str
    exports: Sequence[Export]


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

    def __init__(self, table: Table, export: Export, use: Use, note: Note, given: Mapping[str, str]) -> None:
        self.table, self.export, self.use, self.note = table, export, use, note
        self.name, self.header, self.decimal_comma = table.name, table.header, table.decimal_comma
        explained: Mapping[str, str] = getattr(table, "explained", {})
        self.source = Source(export.system, export.what, use.kind, export.extras, explained)
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
        self.left: list[list[Column]] = []
        self.gone: set[str] = set()
        self.item = named(self.header, given.get("item") or self.columns.get("item") or "")[:1]
        self.found = [f"the {role} is read from {_explained(name, explained)}" for role, name in chosen.items()]

    def place(self, line: int) -> str:
        """Return how a message names a line."""
        return self.table.place(line)

    def read(self, positions: Sequence[int], problems: Problems, file: int = 0) -> Rows:
        """Return the columns at these positions, in the rows that count."""
        rules = [(rule, places[0]) for rule in self.use.rules if (places := named(self.header, rule.column))]
        asked = [*positions, *(place for place in self.item if place not in positions)]
        rows = self.table.read([*asked, *(place for _, place in rules)], problems, file)
        for rule, _ in reversed(rules):
            rows = self._without(rule, rows, [asked.index(place) for place in self.item])
        rows = Rows(rows.columns[: len(positions)], rows.lines)
        self.note("; ".join(filter(None, (f"{self.name}: read as {self.export.what}", *self.found, self.export.say))))
        for more in getattr(self.table, "notes", ()):
            self.note(f"{self.name}: {more}")
        return rows

    def idle(self, position: int) -> list[str]:
        """Return the papers that were listed in rows left out, from the column that was read at a position."""
        cells = {cell.strip(): None for columns in self.left for cell in columns[position].values}
        listed = [cell for cell in cells if self.export.lists and re.fullmatch(self.export.lists, cell)]
        return [cell for cell in listed if cell not in self.gone]

    def _without(self, rule: Rule, rows: Rows, item: Sequence[int]) -> Rows:
        """Leave out the rows whose cell in the last column does not pass, but for the papers they list; say so."""
        *columns, last = rows.columns
        other = np.array([not rule.keeps(value) for value in last.values], np.bool_)[last.codes]
        if not other.any():
            return Rows(columns, rows.lines)
        self.left.append([of_rows(column, np.flatnonzero(other)) for column in columns])
        papers = {cell.strip() for place in item for cell in self.left[-1][place].values} if rule.gone else set()
        self.gone |= papers
        if rule.why:
            left = sorted({last.values[code] for code in np.unique(last.codes[other])})
            count = counted(int(other.sum()), "row") + (f" of {counted(len(papers), 'paper')}" if papers else "")
            self.note(f"{self.name}: {count} left out, whose {rule.why} ({quote_all(left)})")
        kept = np.flatnonzero(~other)
        return Rows([of_rows(column, kept) for column in columns], [rows.lines[row] for row in kept.tolist()])


def _explained(name: str, explained: Mapping[str, str]) -> str:
    return f"{quote(name)} ({shortened(explained[name])})" if name in explained else quote(name)


def _present(header: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return those of some names that a header has, as they stand there."""
    places = (named(header, name) for name in names)
    return [header[found[0]] for found in places if found]


def of_rows(column: Column, rows: IntArray) -> Column:
    """Return a column of some rows only, and of the cells that stand in them."""
    codes, inverse_codes = np.unique(column.codes[rows], return_inverse=True)
    return Column(inverse_codes.astype(np.int64), [column.values[code] for code in codes.tolist()])
