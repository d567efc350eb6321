"""What a conference system is: the files that it hands out, which are read, and the one that it takes."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, NoReturn

import numpy as np

from reviewgraph._base.errors import InputError
from reviewgraph._base.provenance import FileRead, LeftOut
from reviewgraph._base.text import counted, listed, shortened
from reviewgraph.formats.columns import Role, Unlisted, named, normalise, recognised
from reviewgraph.formats.files import Problems, cut, quote, quote_all
from reviewgraph.formats.grids import Line, to_grid
from reviewgraph.formats.tables import Aside, Column, Rows, Source, Table, of_rows, recoded

if TYPE_CHECKING:
    from reviewgraph._base.arrays import BoolArray
    from reviewgraph._base.labels import Label


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


class Rule(NamedTuple):
    """Which rows count: those whose cell in the first column of a name passes."""

    column: str  #: The name of the column; a table without it keeps all its rows.
    keeps: Callable[[str], bool]  #: Whether a cell lets its row count.
    #: What is said of the rows left out: "rows left out, whose action assigns no review". By default nothing: they
    #: are no odd ones, but what else the file is for.
    why: str = ""
    #: What a row left out says of its paper, a field of :class:`~reviewgraph.formats.tables.Aside`: by default that
    #: it is one, where its export lists papers.
    means: Literal["listed", "out", "unseen", "meta"] = "listed"


@dataclass(frozen=True, eq=False)
class Use:
    """Something a file serves for."""

    kind: str  #: One of :data:`ACCEPTED`.
    #: The name of the column by role, where the usual names would not find it; the first that is there counts.
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    rules: Sequence[Rule] = ()  #: Which rows count.
    #: Names of columns by role of which a person has to choose one, where several are there.
    choices: Mapping[str, Sequence[str]] = field(default_factory=dict)
    #: Returns such names for one table, where they are not always the same.
    find: Callable[[Table], Mapping[str, Sequence[str]]] | None = None
    #: Makes the table that is read of the one in the file, where they are not the same.
    reshape: Callable[[Table], Table] | None = None
    members: Rule | None = None  #: The rows whose reviewers are of the committee, where it says of some.
    tells: bool = False  #: Whether reviewers without such a row are not of it.


@dataclass(frozen=True, eq=False)
class Export:
    """One kind of file that a system hands out."""

    what: str  #: What messages call it.
    #: What it serves for, its own purpose first; nothing where it is known only to be told from others.
    uses: Sequence[Use]
    #: Normalised names of columns by which a table is recognised, as regular expressions: each stands in its
    #: header.
    needs: Collection[str] = ()
    lacks: Collection[str] = ()  #: Names that it does not have.
    #: What it is found in: "table", "json", "xml", "folder", or "lines", a text without a header.
    container: str = "table"
    #: Makes a table of the container, or returns None where it is something else; a table with a header serves as
    #: it is by default.
    extract: Callable[[str, Any], Table | None] | None = None
    say: str = ""  #: What a person should know about it.
    extras: Collection[str] = ()  #: Normalised names of columns that hold no score, beside those of the roles.
    #: The papers that it lists in rows that are no reviews, as a regular expression; they are papers all the same.
    #: By default it lists none.
    lists: str = ""
    unlisted: Unlisted | None = None  #: Which papers cannot be in it; None by default.
    lenient: bool = False  #: Whether its rows leave out empty cells at their ends, or have blanks before cells.
    #: Other tables look like it, so that it is recognised only where its system is named, or, if this is "kind",
    #: where just what it serves for is wanted; "" where nothing else looks like it.
    shy: Literal["", "kind", "name"] = ""
    system: str = ""  #: The name of the system, which its class fills in.

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


#: What every system that knows people by their email takes for one.
EMAIL = re.compile(r"[^\s@,;:<>\"'*#]+@[^\s@,;:<>\"'*#]+")


@dataclass(frozen=True)
class Outgoing:
    """Reviews to be written for a conference system."""

    #: The reviews as a table: ``item``, ``reviewer`` and what else is known of each.
    columns: Mapping[str, Sequence[Any]]
    titles: Mapping[Label, str] = field(default_factory=dict)  #: Titles of items, where they are known.
    weights: Sequence[float] | None = None  #: A number for each review, such as an affinity; None where there is none.
    #: What the reviews help to do, where their reviewers are asked for them; None where they are assigned.
    helps: str | None = None
    #: Pairs of a reviewer and an item about which nobody has to be written to.
    settled: Collection[tuple[Label, Label]] = ()
    #: Name of this run: the label of OpenReview's edges, the round of HotCRP's reviews; None for the system's own.
    label: str | None = None
    invitation: str | None = None  #: Of OpenReview's edges; left out where it is None.
    #: Everybody who is known, for systems that find people by a search; by default those of the reviews.
    people: Collection[Label] = ()
    outsiders: Collection[Label] = ()  #: Those of them who are known not to be of the committee.

    @property
    def pairs(self) -> list[tuple[Label, Label]]:
        """Reviewer and item of each review."""
        return list(zip(self.columns["reviewer"], self.columns["item"], strict=True))

    def by_item(self) -> dict[Label, list[Label]]:
        """Reviewers of each item, in the order in which they come."""
        found: dict[Label, list[Label]] = {}
        for reviewer, item in self.pairs:
            found.setdefault(item, []).append(reviewer)
        return found

    def part(self, rows: Sequence[int]) -> Outgoing:
        """Return some of the reviews."""
        columns = {name: [column[row] for row in rows] for name, column in self.columns.items()}
        weights = None if self.weights is None else [self.weights[row] for row in rows]
        return replace(self, columns=columns, weights=weights)


class Accepted(NamedTuple):
    """Which labels a system takes: those that fit; what they are, and what to do about others."""

    fits: Callable[[str], object]
    words: str
    remedy: str


#: Any labels.
ANY = Accepted(lambda label: True, "labels", "")


class System:
    """A conference system, or whoever else hands out tables of reviews or takes them.

    A subclass says its name, and then what it hands out, what it takes, or both; an instance of it in
    :data:`reviewgraph.formats.systems.known.SYSTEMS` is all that commands, help and messages need.
    """

    #: What ``--format`` and ``--to`` call it.
    name: ClassVar[str]
    #: What messages call it.
    title: ClassVar[str] = ""
    #: The files that it hands out, the more particular before the more general.
    exports: ClassVar[Sequence[Export]] = ()
    #: The file that it takes, for people; empty where it takes none.
    words: ClassVar[str] = ""
    #: How the name of such a file ends.
    suffix: ClassVar[str] = ".csv"
    #: Fields of :class:`Outgoing` that the user may set and that this file has a place for.
    options: ClassVar[Collection[str]] = ()
    #: Whether ``check`` reads such a file.
    read_back: ClassVar[bool] = True
    #: Which labels it takes.
    reviewers: ClassVar[Accepted] = ANY
    items: ClassVar[Accepted] = ANY
    #: What people have to know before they hand such a file over, by the parameter of a command that settles it; what
    #: none settles by an empty name.
    advice: ClassVar[Mapping[str, str]] = {}
    #: What it takes of qualities and lists, for people; empty where it takes none.
    results: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        cls.exports = tuple(replace(export, system=cls.name) for export in cls.exports)

    def write(self, outgoing: Outgoing) -> str:
        """Return the text of the file that it takes."""
        raise NotImplementedError

    def write_results(self, columns: Mapping[str, Sequence[Any]]) -> str:
        """Return the text of the file of qualities and lists that it takes, from the columns of ``calibrate``."""
        raise NotImplementedError

    def parted(self, outgoing: Outgoing) -> tuple[Outgoing, list[tuple[Label, Label]]]:
        """Return the reviews whose labels are taken, and the pairs of reviewer and item of the others."""
        taken = [bool(self.reviewers.fits(str(who)) and self.items.fits(str(what))) for who, what in outgoing.pairs]
        left = [pair for pair, here in zip(outgoing.pairs, taken, strict=True) if not here]
        return outgoing.part([row for row, here in enumerate(taken) if here]) if left else outgoing, left

    def expect_taken(self, outgoing: Outgoing) -> None:
        """Refuse labels that the system would not take, or take for something else."""
        for role, accepted in (("reviewer", self.reviewers), ("item", self.items)):
            expect(accepted.fits, outgoing.columns[role], self.name, accepted.words, accepted.remedy)


def expect(fits: Callable[[str], object], labels: Iterable[Label], system: str, wanted: str, remedy: str) -> None:
    """Refuse labels that a system would not take, or take for something else.

    >>> expect(EMAIL.fullmatch, ["ann@example.org"], "HotCRP", "email addresses", "")
    """
    unfit = [label for label in dict.fromkeys(map(str, labels)) if not fits(label)]
    if unfit:
        message = f"to {system}: expected {wanted}, found {len(unfit)} other: {listed(unfit, 3)}; {remedy}"
        raise InputError(message)


def emails(system: str) -> Accepted:
    """Return that a system knows reviewers by their email."""
    remedy = f"name reviewers by the email that {system} knows them by, or write another form, such as --to csv"
    return Accepted(EMAIL.fullmatch, "email addresses of reviewers", remedy)


# Names that change from paper to paper, as anonymous reviewers sign: who stands behind them, or that nobody knows.

#: The columns of a file that tells who stands behind aliases.
ALIAS, MEMBER = "alias", "member"

_OF_PAPER = re.compile(
    r".*/(?:Submission|Paper)[0-9]+/(?:[A-Za-z_]*/)*(?:(?:Anon_?)?[A-Za-z_]*Reviewer_?[A-Za-z0-9]+|\w+_[A-Za-z0-9]{4})",
    re.I,
)
_BARE = re.compile(r"(?:AnonReviewer[0-9]+|Reviewer_(?=[0-9]*[A-Za-z])[A-Za-z0-9]{4})")


def is_alias(label: str) -> bool:
    """Return whether a label is a signature that holds for one paper only.

    >>> [is_alias(label) for label in ("V.cc/2026/Conference/Submission12/Reviewer_AbCd", "~Ann_Lee1", "Reviewer_12")]
    [True, False, False]
    >>> [is_alias(f"V.cc/2026/Conference/Submission12/{end}") for end in ("Program_Committee_Ab3d", "Area_Chairs")]
    [True, False]
    """
    return bool(_OF_PAPER.fullmatch(label.strip()))


def read_names(tables: Sequence[Table]) -> tuple[list[Table], dict[str, str], list[FileRead]]:
    """Return the tables that are not lists of names, the person by alias from those that are, and their files."""
    names: dict[str, str] = {}
    files: list[FileRead] = []
    for table in tables:
        if table.source and table.source.kind == "names":
            problems = Problems()
            rows = table.read([table.header.index(ALIAS), table.header.index(MEMBER)], problems)
            problems.raise_any()
            files.append(table.provenance.with_rows(len(rows.lines), rows.left_out))
            alias, member = (map(column.values.__getitem__, column.codes.tolist()) for column in rows.columns)
            for one, person in zip(alias, member, strict=True):
                if names.setdefault(one, person) != person:
                    message = f"{table.name}: expected one person behind {quote(one)}, found {quote(names[one])} and "
                    message += f"{quote(person)}; remove one"
                    raise InputError(message)
    return [table for table in tables if not (table.source and table.source.kind == "names")], names, files


def resolved(column: Column, names: Mapping[str, str]) -> Column:
    """Return a column of labels with people in the place of their aliases."""
    if not any(value in names for value in column.values):
        return column
    return recoded(column, [names.get(value, value) for value in column.values])


def refuse_aliases(columns: Sequence[tuple[str, Column]]) -> None:
    """Refuse reviewers who are signatures of one paper each: who reviewed several papers cannot be told."""
    for name, column in columns:
        found = [value for value in column.values if is_alias(value)]
        bare = [value for value in column.values if _BARE.fullmatch(value.strip())]
        if not found and len(bare) == len(column.values) and _once(column, bare):
            found = bare
        if found:
            message = (
                f"{name}: {counted(len(found), 'reviewer is a signature', 'reviewers are signatures')} that "
                f"{'changes' if len(found) == 1 else 'change'} from paper to paper ({_short(found)}), so who "
                "reviewed several papers cannot be told. Give the groups as well, which say who stands behind them "
                '(a JSON file of client.get_all_groups(prefix="VENUE/Submission")), or check the file of assignments '
                "instead; to count each signature as a reviewer, name its column with --columns reviewer=NAME"
            )
            raise InputError(message)


def _short(found: Sequence[str]) -> str:
    """Return the first few signatures by their ends, which tell them apart."""
    return listed(("/".join(label.strip().split("/")[-2:]) for label in found), 3)


def _once(column: Column, bare: Sequence[str]) -> bool:
    """Return whether labels without a paper are aliases: numbered anew for each paper, or never seen twice."""
    numbered = any(value.strip().startswith("Anon") for value in bare)
    return bool(bare) and (numbered or (column.codes.size > 1 and column.codes.size == len(column.values)))


# What a file is taken for: a table as it stands, or an export of a conference system.

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
    """What someone who opens a file looks for."""

    systems: Collection[System]  #: The systems that it may be from.
    roles: Sequence[Role]  #: The columns.
    columns: Mapping[str, str]  #: The user's names for them.
    kind: str | None  #: What the file is to serve for; None where any will do.
    #: The name of the system that it is from, or :data:`PLAIN`; None where the file's content says it.
    format: str | None
    note: Callable[[str], object]  #: Told what a person should know about the file.

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
    """Return the table inside content that is none itself, such as JSON; None where nothing is known in it."""
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
    """A table of a known system: its columns by role are known, and only rows that count are read."""

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
        return self.table.place(line)

    def read(self, positions: Sequence[int], problems: Problems, file: int = 0) -> Rows:
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
