"""What one kind of file of a conference system is: how it is recognised, what it serves for, which rows count."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from reviewgraph.columns import Unlisted
from reviewgraph.errors import InputError
from reviewgraph.formats.headers import named, normalise
from reviewgraph.formats.problems import cut, quote, quote_all
from reviewgraph.formats.tables import Aside, Column, Rows, Source, Table
from reviewgraph.provenance import LeftOut
from reviewgraph.words import counted, shortened

if TYPE_CHECKING:
    from reviewgraph.arrays import BoolArray, IntArray
    from reviewgraph.formats.problems import Problems

Note = Callable[[str], object]

#: Why rows are left out, whichever file says so of their papers or of them.
OUT = "of papers that are withdrawn, rejected without review or not submitted"
META = "of meta reviews"

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


#: Why rows are left out, by what they mean, where nothing else is said of them; the braces are what a file serves for.
_WHY = {
    "listed": "with no {}",
    "out": OUT,
    "unseen": "of papers that whoever downloaded the file may not see",
    "meta": META,
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
    means
        What a row left out says of its paper, a field of :class:`~reviewgraph.formats.tables.Aside`: by default that
        it is one, where its export lists papers.
    """

    column: str
    keeps: Callable[[str], bool]
    why: str = ""
    means: Literal["listed", "out", "unseen", "meta"] = "listed"


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
    members
        The rows whose reviewers are of the committee, where it says of some.
    tells
        Whether reviewers without such a row are not of it.
    """

    kind: str
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    rules: Sequence[Rule] = ()
    choices: Mapping[str, Sequence[str]] = field(default_factory=dict)
    find: Callable[[Table], Mapping[str, Sequence[str]]] | None = None
    reshape: Callable[[Table], Table] | None = None
    members: Rule | None = None
    tells: bool = False


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
        What it serves for, its own purpose first; nothing where it is known only to be told from others.
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
    unlisted
        Which papers cannot be in it; None by default.
    lenient
        Whether its rows leave out empty cells at their ends, or have blanks before cells.
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
    unlisted: Unlisted | None = None
    lenient: bool = False
    shy: Literal["", "kind", "name"] = ""

    def fits(self, header: Sequence[str]) -> bool:
        """Return whether a header has all that it needs and nothing that it lacks."""
        present = set(map(normalise, header))
        found = (any(map(re.compile(name).fullmatch, present)) for name in self.needs)
        return all(found) and not present & set(self.lacks)

    def use(self, kind: str | None) -> Use | None:
        """Return what serves for a kind, the best first; its own purpose where no kind is given."""
        if kind is None:
            return next(iter(self.uses), None)
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


def of_rows(column: Column, rows: IntArray) -> Column:
    """Return a column of some rows only, and of the cells that stand in them."""
    codes, inverse_codes = np.unique(column.codes[rows], return_inverse=True)
    return Column(inverse_codes.astype(np.int64), [column.values[code] for code in codes.tolist()])
