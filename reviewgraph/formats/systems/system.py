"""Conference systems: the files that they export, which are recognised and read, and the one that they import."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from reviewgraph._base.errors import InputError, refused
from reviewgraph._base.storing import FileRead, LeftOut
from reviewgraph._base.text import Detail, counted, listed, shortened
from reviewgraph.formats.columns import ITEM, SCORE, Role, Tally, Unlisted, named, naming, normalise, recognised
from reviewgraph.formats.files import Note, Problems, cut, quote, quote_all
from reviewgraph.formats.tables import (
    Aside,
    Column,
    Line,
    Rows,
    Source,
    Table,
    Wrapped,
    by_row,
    of_rows,
    recoded,
    to_grid,
)
from reviewgraph.formats.values import parse_number, parse_whole

if TYPE_CHECKING:
    from reviewgraph._base.arrays import BoolArray
    from reviewgraph._base.labels import Label


#: Why rows are left out.
OUT = "of papers that are withdrawn, rejected without review or not submitted"
META = "of meta reviews"

#: The purposes of files, and the kinds of files that serve each; ``names`` lists the people behind aliases.
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
    #: Reason in the note on rows left out: "rows left out, whose action assigns no review". By default there is no
    #: note: the rows serve another purpose of the file.
    why: str = ""
    #: The field of :class:`~reviewgraph.formats.tables.Aside` for the paper of a row left out.
    means: Literal["listed", "out", "unseen", "meta"] = "listed"


@dataclass(frozen=True, eq=False)
class Use:
    """A purpose of a file."""

    kind: str  #: One of :data:`ACCEPTED`.
    #: Names of columns by role that the usual names do not cover, the best first.
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    rules: Sequence[Rule] = ()  #: Which rows count.
    #: Names of columns by role between which the user has to choose.
    choices: Mapping[str, Sequence[str]] = field(default_factory=dict)
    #: Returns such names for one table, if they vary.
    find: Callable[[Table], Mapping[str, Sequence[str]]] | None = None
    #: Converts the table in the file to the one that is read.
    reshape: Callable[[Table], Table] | None = None
    members: Rule | None = None  #: The rows whose reviewers are of the committee.
    tells: bool = False  #: Whether reviewers without such a row are not of it.
    #: The column with the number of reviews of each paper, and which downloads together hold all reviews.
    tally: tuple[str, str] | None = None


@dataclass(frozen=True, eq=False)
class Export:
    """One kind of file that a system exports."""

    what: str  #: Its name in messages.
    #: Its purposes, the main one first; none if it is recognised only to distinguish it from others.
    uses: Sequence[Use]
    #: Normalised names of the columns by which a table is recognised, as regular expressions.
    needs: Collection[str] = ()
    lacks: Collection[str] = ()  #: Names that it does not have.
    #: Its container: "table", "json", "xml", "folder", or "lines", a text without a header.
    container: str = "table"
    #: Converts the container to a table, or returns None if it is something else; by default it is the table.
    extract: Callable[[str, Any], Table | None] | None = None
    #: Converts a table as ``extract`` does, for what a caller wants, such as columns that the user names.
    shape: Callable[[Table, Wanted], Table | None] | None = None
    say: str = ""  #: A note for the user.
    #: The papers that it lists in rows that are not reviews, as a regular expression.
    lists: str = ""
    unlisted: Unlisted | None = None  #: The papers that cannot be in it.
    proposes: bool = False  #: Whether its reviews exist only once it is uploaded.
    lenient: bool = False  #: Whether its rows omit empty cells at their ends, or have blanks before cells.
    #: Other tables look like it, so it is recognised only if its system is named ("name"), or also if exactly its
    #: purpose is wanted ("kind").
    shy: Literal["", "kind", "name"] = ""
    system: str = ""  #: The name of the system, set by its class.
    extras: Collection[str] = ()  #: The columns of the system without scores, set by its class.

    def fits(self, header: Sequence[str]) -> bool:
        """Return whether a header has all that it needs and nothing that it lacks."""
        present = set(map(normalise, header))
        matches = (any(map(re.compile(name).fullmatch, present)) for name in self.needs)
        return all(matches) and not present & set(self.lacks)

    def use(self, kind: str | None) -> Use | None:
        """Return the best use for a kind, the main purpose if no kind is given."""
        if kind is None:
            return next(iter(self.uses), None)
        by_kind = {use.kind: use for use in self.uses}
        return next((by_kind[accepted] for accepted in ACCEPTED[kind] if accepted in by_kind), None)


def in_json(what: str, extract: Callable[[str, Any], Table | None], *uses: Use, **options: Any) -> Export:
    return Export(what, uses, container="json", extract=extract, **options)


#: Emails, for systems that identify people by them.
EMAIL = re.compile(r"[^\s@,;:<>\"'*#]+@[^\s@,;:<>\"'*#]+")


@dataclass(frozen=True)
class Outgoing:
    """Reviews to be written for a conference system."""

    #: The reviews as a table: ``item``, ``reviewer`` and further columns.
    columns: Mapping[str, Sequence[Any]]
    titles: Mapping[Label, str] = field(default_factory=dict)  #: Titles of items.
    weights: Sequence[float] | None = None  #: A number for each review, such as an affinity.
    #: The purpose of the reviews, if their reviewers are asked for them; None if they are assigned.
    helps: str | None = None
    #: Pairs of a reviewer and an item that need no letter.
    settled: Collection[tuple[Label, Label]] = ()
    #: Name of this run: the label of OpenReview's edges, the round of HotCRP's reviews; None for the system's own.
    label: str | None = None
    #: Name of the round of these reviews, where the system has a place for it and there is no label; None without one.
    stage: str | None = None
    invitation: str | None = None  #: Of OpenReview's edges; left out where it is None.
    #: All people, for systems that find them by a search; by default the reviewers.
    people: Collection[Label] = ()
    outsiders: Collection[Label] = ()  #: People who are not of the committee.

    @property
    def pairs(self) -> list[tuple[Label, Label]]:
        return list(zip(self.columns["reviewer"], self.columns["item"], strict=True))

    def by_item(self) -> dict[Label, list[Label]]:
        reviewers: dict[Label, list[Label]] = {}
        for reviewer, item in self.pairs:
            reviewers.setdefault(item, []).append(reviewer)
        return reviewers

    def part(self, rows: Sequence[int]) -> Outgoing:
        columns = {name: [column[row] for row in rows] for name, column in self.columns.items()}
        weights = None if self.weights is None else [self.weights[row] for row in rows]
        return replace(self, columns=columns, weights=weights)


class Accepted(NamedTuple):
    """The labels that a system accepts: a test, a description, and what to do about others."""

    fits: Callable[[str], object]
    words: str
    remedy: str

    def expect(self, labels: Iterable[Label], system: str) -> None:
        """Refuse labels that a system would not accept, or mistake for something else."""
        unfit = [label for label in dict.fromkeys(map(str, labels)) if not self.fits(label)]
        if unfit:
            raise refused(f"to {system}", self.words, f"{len(unfit)} other: {listed(unfit, 3)}", self.remedy)


ANY = Accepted(lambda label: True, "labels", "")


class System:
    """A conference system, or any other source or target of tables of reviews.

    A subclass has a name, and exports, an import format, or both; an instance of it in
    :data:`reviewgraph.formats.systems.known.SYSTEMS` is all that commands, help and messages need.
    """

    name: ClassVar[str]  #: Its name in ``--format`` and ``--to``.
    title: ClassVar[str] = ""  #: Its name in messages.
    exports: ClassVar[Sequence[Export]] = ()  #: The files that it exports, special kinds before general ones.
    #: Normalised names of columns of its exports that hold no score, beside those of the roles.
    extras: ClassVar[Collection[str]] = ()
    words: ClassVar[str] = ""  #: Description of the file that it imports; empty if it imports none.
    suffix: ClassVar[str] = ".csv"  #: The end of the name of that file.
    is_table: ClassVar[bool] = False  #: Whether no system imports it, so that it has any format of tables.
    options: ClassVar[Collection[str]] = ()  #: Fields of :class:`Outgoing` that the user may set for that file.
    read_back: ClassVar[bool] = True  #: Whether ``check`` reads that file.
    reviewers: ClassVar[Accepted] = ANY  #: The labels that it accepts.
    items: ClassVar[Accepted] = ANY
    place: ClassVar[str] = ""  #: Where that file is uploaded, and what this changes; empty if nobody knows.
    #: What may be wrong with that file, by the parameter of a command that prevents it.
    advice: ClassVar[Mapping[str, str]] = {
        "conflicts": "No conflicts given: --conflicts FILE keeps papers from their authors."
    }
    members: ClassVar[str] = ""  #: What it does with reviews by somebody who is not of the committee, if it matters.
    round_advice: ClassVar[str] = ""  #: Advice on the round that the file names in the braces; empty if it needs none.
    results: ClassVar[str] = ""  #: Description of its import of qualities and lists; empty if it has none.

    def __init_subclass__(cls) -> None:
        cls.exports = tuple(replace(export, system=cls.name, extras=cls.extras) for export in cls.exports)

    def write(self, outgoing: Outgoing) -> str:
        """Return the text of the file that it imports."""
        raise NotImplementedError

    def table(self, outgoing: Outgoing) -> Mapping[str, Sequence[Any]]:
        """Return the columns of a table for people."""
        raise NotImplementedError

    def write_results(self, columns: Mapping[str, Sequence[Any]]) -> str:
        """Return the text of the file of qualities and lists that it imports, from the columns of ``calibrate``."""
        raise NotImplementedError

    def parted(self, outgoing: Outgoing) -> tuple[Outgoing, list[tuple[Label, Label]]]:
        """Return the reviews whose labels are accepted, and the pairs of reviewer and item of the others."""
        taken = [bool(self.reviewers.fits(str(who)) and self.items.fits(str(what))) for who, what in outgoing.pairs]
        left = [pair for pair, here in zip(outgoing.pairs, taken, strict=True) if not here]
        return outgoing.part([row for row, here in enumerate(taken) if here]) if left else outgoing, left

    def expect_taken(self, outgoing: Outgoing) -> None:
        self.reviewers.expect(outgoing.columns["reviewer"], self.name)
        self.items.expect(outgoing.columns["item"], self.name)


def emails(system: str, shape: re.Pattern[str] = EMAIL) -> Accepted:
    remedy = f"name reviewers by the email that {system} knows them by, or write another form, such as --to csv"
    return Accepted(shape.fullmatch, "email addresses of reviewers", remedy)


# Aliases of anonymous reviewers, which differ from paper to paper, and the people behind them.

#: The columns of a file that lists the people behind aliases.
ALIAS = "alias"
MEMBER = "member"

_OF_PAPER = re.compile(
    r".*/(?:Submission|Paper)[0-9]+/(?:[A-Za-z_]*/)*(?:(?:Anon_?)?[A-Za-z_]*Reviewer_?[A-Za-z0-9]+|\w+_[A-Za-z0-9]{4})",
    re.I,
)
_BARE = re.compile(r"(?:AnonReviewer[0-9]+|Reviewer_(?=[0-9]*[A-Za-z])[A-Za-z0-9]{4})")


def is_alias(label: str) -> bool:
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
            for alias, person in zip(*map(by_row, rows.columns), strict=True):
                if names.setdefault(alias, person) != person:
                    people = f"{quote(names[alias])} and {quote(person)}"
                    raise refused(table.name, f"one person behind {quote(alias)}", people, "remove one")
    return [table for table in tables if not (table.source and table.source.kind == "names")], names, files


def resolved(column: Column, names: Mapping[str, str]) -> Column:
    """Return a column of labels with aliases replaced by people."""
    if not any(value in names for value in column.values):
        return column
    return recoded(column, [names.get(value, value) for value in column.values])


def refuse_aliases(columns: Sequence[tuple[str, Column]]) -> None:
    """Refuse reviewers who are signatures for one paper each: the reviewers of several papers are unknown."""
    for name, column in columns:
        aliases = [value for value in column.values if is_alias(value)]
        bare = [value for value in column.values if _BARE.fullmatch(value.strip())]
        # Labels without a paper are aliases if they are numbered anew for each paper, or never occur twice.
        numbered = any(value.strip().startswith("Anon") for value in bare)
        once = column.codes.size > 1 and column.codes.size == len(column.values)
        if bare and not aliases and len(bare) == len(column.values) and (numbered or once):
            aliases = bare
        if aliases:
            ends = listed(("/".join(label.strip().split("/")[-2:]) for label in aliases), 3)
            raise InputError(
                f"{name}: {counted(len(aliases), 'reviewer is a signature', 'reviewers are signatures')} that "
                f"{'changes' if len(aliases) == 1 else 'change'} from paper to paper ({ends}), so who "
                "reviewed several papers cannot be told. Give the groups as well, which say who stands behind them "
                '(a JSON file of client.get_all_groups(prefix="VENUE/Submission")), or check the file of assignments '
                "instead; to count each signature as a reviewer, name its column with --columns reviewer=NAME"
            )


# Recognition of exports.

#: The format of a table that is not to be recognised.
PLAIN = "table"
#: The first columns of the tables of ``plan`` and ``assign``, which are read together with exports of any format.
WRITTEN = ("item", "reviewer")
#: Why rows are left out, by their meaning, if their rule gives no reason; the braces are the purpose of the file.
_WHY = {
    "listed": "with no {}",
    "out": OUT,
    "unseen": "of papers that whoever downloaded the file may not see",
    "meta": META,
}


class Wanted(NamedTuple):
    """The request of a caller who opens a file."""

    roles: Sequence[Role] = ()  #: The columns.
    columns: Mapping[str, str] = MappingProxyType({})  #: The user's names for them.
    note: Note = lambda message: None  #: Called with notes on the file for the user.
    kind: str | None = None  #: What the file is to serve for; None where any will do.
    #: The name of the system that it is from, or :data:`PLAIN`; None to recognise it by content.
    format: str | None = None
    systems: Collection[System] = ()  #: The systems that it may be from.
    scale: Sequence[str] = ()  #: Grades, best first; none where scores are numbers.

    def completed_by(self, cells: Sequence[str]) -> bool:
        """Return whether a row names all columns that are needed; never where none are."""
        required = [role for role in self.roles if role.required]
        return bool(required) and recognised(cells, required, self.columns) == len(required)

    def knows(self, cells: Sequence[str]) -> bool:
        """Return whether a row is the header of an export."""
        return any(export.fits(cells) for export in self.exports("table"))

    def exports(self, container: str) -> Iterator[Export]:
        for system in self.systems:
            for export in system.exports if self.format in (None, system.name) else ():
                meant = export.shy == "kind" and any(use.kind == self.kind for use in export.uses)
                if export.container == container and (not export.shy or meant or self.format == system.name):
                    yield export


def recognise(table: Table, wanted: Wanted) -> Table:
    """Return a table as its system means it; unchanged if it is of no recognised system.

    If a required column is missing, the table may have no header: then its first row is a row like the others.
    """
    tables: dict[Export, Table] = {}
    if wanted.format is not None and tuple(table.header[:2]) == WRITTEN:
        return table
    for export in wanted.exports("table"):
        if export.fits(table.header):
            whole = table.leniently() if export.lenient else table
            changed: Table | None = whole
            if export.shape is not None:
                changed = export.shape(whole, wanted)
            elif export.extract is not None:
                changed = export.extract(whole.name, whole)
            if changed is not None:
                tables[export] = changed
    if tables:
        return _taken(table.name, tables, wanted)
    complete = wanted.completed_by(table.header) or not any(role.required for role in wanted.roles)
    lines = _lines(table) if wanted.format not in (None, PLAIN) or not complete else None
    headerless = extract("lines", table.name, lines, wanted) if lines else None
    if headerless is None and wanted.format not in (None, PLAIN):
        system = next(system for system in wanted.systems if system.name == wanted.format)
        kinds = ", ".join(dict.fromkeys(export.what for export in system.exports))
        raise refused(table.name, f"a file of {system.title} ({kinds})", f"the columns {quote_all(table.header)}")
    return headerless or table


def _lines(table: Table) -> list[Line] | None:
    whole = table.leniently()
    try:
        return [Line(whole.header, f"{table.name}, first row"), *to_grid(whole).lines]
    except InputError:
        return None


def extract(container: str, name: str, content: Any, wanted: Wanted) -> Table | None:
    """Return the table in content that is not a table itself, such as JSON; None if it is of no recognised system."""
    tables = {}
    for export in wanted.exports(container):
        grid = export.extract(name, content) if export.extract else None
        if grid is not None:
            tables[export] = grid
            if export.use(wanted.kind):
                break
    return _taken(name, tables, wanted) if tables else None


def _taken(name: str, tables: Mapping[Export, Table], wanted: Wanted) -> Table:
    for export, table in tables.items():
        use = export.use(wanted.kind)
        if use is not None:
            return Recognised(use.reshape(table) if use.reshape else table, export, use, wanted.note, wanted.columns)
    first = next(iter(tables))
    held = " or ".join(dict.fromkeys(use.kind for use in first.uses))
    holds = f", which holds {held}" if held else ""
    message = f"{name}: this is {first.what}{holds}; expected a file of {wanted.kind or 'a kind that is read'}"
    # Only reviews have an option for their format.
    advice = f" (if it is one all the same, say --format {PLAIN})" if wanted.kind in (None, "reviews") else ""
    raise InputError(message + advice)


class Recognised(Wrapped):
    """A table of a recognised system: its columns by role are known, and only rows that count are read."""

    def __init__(self, table: Table, export: Export, use: Use, note: Note, user_columns: Mapping[str, str]) -> None:
        super().__init__(table)
        self.export = export
        self.use = use
        self.note = note
        explained: Mapping[str, str] = getattr(table, "explained", {})
        self.source = Source(export.system, export.what, use.kind, export.extras, explained, export.unlisted)
        self.source = self.source._replace(proposes=export.proposes)
        seen = use.find(table) if use.find else {}
        choices = {**use.choices, **seen}
        present = {
            role: [self.header[places[0]] for name in names if (places := named(self.header, name))]
            for role, names in {**use.columns, **choices}.items()
        }
        self.columns = {**table.columns, **{role: names[0] for role, names in present.items() if names}}
        for role in choices:
            if len(present[role]) > 1 and role not in user_columns:
                names = ", ".join(_explained(name, explained) for name in present[role])
                example = present[role][0]
                way = naming("", SCORE, example) if role == SCORE.name else f'--columns "{role}={cut(example)}"'
                message = f"{self.name}: {export.what}: the {role} may be any of the columns {names}; "
                message += f"say which one, for example {way}"
                raise InputError(message)
        chosen = {role: self.columns[role] for role in seen if role in self.columns and role not in user_columns}
        self.left: list[tuple[str, list[Column]]] = []
        self.members: list[Column] = []
        self.counts: list[Column] = []
        self.is_read = False
        self.found = [f"the {role} is read from {_explained(name, explained)}" for role, name in chosen.items()]

    def read(self, positions: Sequence[int], problems: Problems) -> Rows:
        import numpy as np

        if self.is_read:
            # One more column of the same rows: what they leave out is known.
            again = copy(self)
            again.is_read = False
            again.left = []
            again.note = lambda _: None
            return again.read(positions, problems)
        self.is_read = True
        asked = [*self.use.rules, *([self.use.members] if self.use.members else [])]
        rules = [(rule, places[0]) for rule in asked if (places := named(self.header, rule.column))]
        counted_in = named(self.header, self.use.tally[0])[:1] if self.use.tally else []
        rows = self.table.read([*positions, *(place for _, place in rules), *counted_in], problems)
        if rules and rules[-1][0] is self.use.members:
            inside = _passing(rules.pop()[0], rows.columns[len(positions) + len(rules)])
            self.members = [of_rows(column, np.flatnonzero(inside)) for column in rows.columns[: len(positions)]]
        # The first rule that a row fails determines its meaning.
        for number, (rule, _) in enumerate(rules, len(positions)):
            rows = self._without(rule, number, rows)
        self.counts = rows.columns if counted_in else []
        words = "; ".join(filter(None, (f"{self.name}: read as {self.export.what}", *self.found, self.export.say)))
        # A column that was chosen among several is to be seen.
        self.note(words if self.found else Detail(words))
        for more in getattr(self.table, "notes", ()):
            self.note(f"{self.name}: {more}")
        return rows._replace(columns=rows.columns[: len(positions)])

    def aside(self, reviewer: int, item: int, title: int | None) -> Aside:
        left_out: dict[str, dict[tuple[str, ...], None]] = {}
        for means, columns in self.left:
            wanted = [columns[place] for place in (reviewer, item, item if title is None else title)]
            left_out.setdefault(means, {}).update(dict.fromkeys(zip(*map(by_row, wanted), strict=True)))
        shape = re.compile(self.export.lists or "(?!)")
        listed = {paper: name for _, paper, name in left_out.get("listed", ()) if shape.fullmatch(paper.strip())}
        out, unseen = ([paper for _, paper, _ in left_out.get(means, ())] for means in ("out", "unseen"))
        meta = [(who, paper) for who, paper, _ in left_out.get("meta", ())]
        members = self.members[reviewer].values if self.members else ()
        listed = dict.fromkeys(listed, "") if title is None else listed
        return Aside(listed, out, unseen, meta, members, self.use.tells and bool(self.members), self._tally(item))

    def _tally(self, item: int) -> Tally | None:
        """Return the number of reviews of each paper: the whole numbers of the column, ``1/3`` is 3."""
        if self.use.tally is None or not self.counts:
            return None
        papers = self.counts[item]
        cells = self.counts[-1]
        number = [parse_whole(cell.rpartition("/")[2]) for cell in cells.values]
        rows = zip(papers.codes.tolist(), cells.codes.tolist(), strict=True)
        reviews = {papers.values[paper]: number[cell] for paper, cell in rows}
        known = {paper: count for paper, count in reviews.items() if count is not None}
        return Tally(known, self.use.tally[1], self.name)

    def _without(self, rule: Rule, place: int, rows: Rows) -> Rows:
        """Leave out the rows whose cell in the column at a place fails a rule, and record them."""
        import numpy as np

        columns = rows.columns
        judged = rows.columns[place]
        failing = ~_passing(rule, judged)
        if not failing.any():
            return rows
        left = LeftOut(int(failing.sum()), f"whose {rule.why}" if rule.why else _WHY[rule.means].format(self.use.kind))
        if rule.why:
            cells = sorted({judged.values[code] for code in np.unique(judged.codes[failing])})
            self.note(Detail(f"{self.name}: {counted(left.rows, 'row')} left out, {left.why} ({quote_all(cells)})"))
        self.left.append((rule.means, [of_rows(column, np.flatnonzero(failing)) for column in columns]))
        kept = np.flatnonzero(~failing)
        lines = [rows.lines[row] for row in kept.tolist()]
        return Rows([of_rows(column, kept) for column in columns], lines, [*rows.left_out, left])


def _passing(rule: Rule, column: Column) -> BoolArray:
    import numpy as np

    return np.array([rule.keeps(value) for value in column.values], np.bool_)[column.codes]


def _explained(name: str, explained: Mapping[str, str]) -> str:
    return f"{quote(name)} ({shortened(explained[name])})" if name in explained else quote(name)


# The header of a table: below a title, over two rows, or further down in a file that holds several tables.

#: Rows in which the header may be; some systems and many people write a title above it.
LOOKED_AT = 10


def filled(cells: Iterable[str]) -> int:
    """Return the number of different texts in a row: a title merged over a whole row is one."""
    return len({cell.strip() for cell in cells} - {""})


def find_header(rows: Sequence[Sequence[str]], wanted: Wanted, *, bare: bool = True) -> int:
    """Return the place of the header among the first rows of a table, which are not empty.

    It is the row with most of the names looked for. Labels such as "Grader 1" below a complete header are none, nor
    is a row with numbers. Where the table may be ``bare``, without a header, a row of labels with one such word is
    none, either.
    """
    first = next((place for place, cells in enumerate(rows) if filled(cells) > 1), 0)
    if wanted.completed_by(rows[first]) and not wanted.columns:
        return first
    merits = [
        (
            sum(normalise(name) in {*map(normalise, cells)} for name in wanted.columns.values() if name.strip()),
            wanted.completed_by(cells) or wanted.knows(cells),
            recognised(cells, wanted.roles, wanted.columns),
            filled(cells) > 1,
        )
        for cells in rows
    ]
    best = merits.index(max(merits))
    wider = all(filled(cells) < filled(rows[best]) for cells in rows[:best])
    _, complete, names, _ = merits[best]
    numbers = any(parse_number(cell) is not None for cell in rows[best])
    return best if complete or (not numbers and (names > 1 or wider or not bare)) else first


def whole_header(rows: Sequence[Sequence[str]], place: int) -> tuple[int, list[str] | None]:
    """Return the last row of the header at a place, and the header if it is over two rows; otherwise None."""
    for top in (place, place - 1):
        joined = join_rows(rows[top], rows[top + 1]) if 0 <= top < len(rows) - 1 else None
        if joined is not None:
            return top + 1, joined
    return place, None


def join_rows(top: Sequence[str], below: Sequence[str]) -> list[str] | None:
    """Return one header of two rows, the first of which names what several columns share; None if it is one row.

    >>> join_rows(["Team", "Ann", "", "Bob", ""], ["", "Impact", "Craft", "Impact", "Craft"])
    ['Team', 'Ann / Impact', 'Ann / Craft', 'Bob / Impact', 'Bob / Craft']
    >>> join_rows(["Team", "Judge", "Scores", ""], ["", "", "Impact", "Craft"])
    ['Team', 'Judge', 'Impact', 'Craft']
    >>> join_rows(["Team", "Ann", "Bob"], ["T1", "yes", "no"]) is None
    True
    """
    width = max(len(top), len(below))
    above = [*map(str.strip, top), *[""] * (width - len(top))]
    under = [*map(str.strip, below), *[""] * (width - len(below))]
    if any(parse_number(cell) is not None for cell in under):
        return None
    # A name reaches over the columns without one to its right.
    for place in range(1, width):
        if not above[place] and under[place] and under[place - 1]:
            above[place] = above[place - 1]
    shared: dict[str, list[str]] = {}
    for name, part in zip(above, under, strict=True):
        if name and part and part != name:
            shared.setdefault(name, []).append(part)
    groups = {tuple(parts) for parts in shared.values()}
    crossed = len(shared) > 1 and len(groups) == 1
    spanning = bool(shared) and all(len(set(parts)) == len(parts) > 1 for parts in groups)
    single = [name for name, part in zip(above, under, strict=True) if name and part in ("", name)]
    if not spanning or len(single) < (1 if crossed else 2) or set(single) & set(shared):
        return None
    parts = [*single, *(part for group in groups for part in group)]
    alone = not crossed and len(set(parts)) == len(parts)
    return [
        name if part in ("", name) else f"{name} / {part}" if name and not alone else part
        for name, part in zip(above, under, strict=True)
    ]


def refuse_lower_table(table: Table, wanted: Wanted) -> None:
    """Refuse a table without the columns that are needed if one with them begins further down in its file."""
    if table.source is not None or wanted.completed_by(table.header):
        return
    lower = next((line for line in table.rows_below() if wanted.completed_by(line.cells)), None)
    if lower is not None:
        raise InputError(
            f"{table.name}: there are several tables in it, and the first has the columns {quote_all(table.header)}; "
            f"the one with {quote_all(filter(str.strip, lower.cells))} begins at {lower.place}: save that one as a "
            "file of its own"
        )


#: Columns of comparisons of two papers, by normalised names without "id" and "name" at their ends.
_WINNERS = ({"winner", "won", "better", "preferred", "chosen"}, {"loser", "lost", "worse", "rejected"})
_VERDICTS = {"winner", "preference", "preferred", "choice", "chosen", "better", "vote", "label"}
_SIDES = (("a", "b"), ("1", "2"), ("left", "right"))
_COMPARED = ("model", "item", "paper", "response", "option", "project", "team", "answer", "image")


def refuse_pairs(table: Table, wanted: Wanted) -> None:
    """Refuse comparisons of pairs, which are no scores."""
    if table.source is not None or ITEM.name in wanted.columns:
        return
    plain: dict[str, str] = {}
    for name in table.header:
        plain.setdefault(normalise(name).removesuffix("_id").removesuffix("_name"), name)
    # Columns that name no kind of papers, as a and b, may be anything beside papers.
    kinds = [f"{kind}_" for kind in _COMPARED] + ([] if wanted.completed_by(table.header) else [""])
    sides = [({f"{kind}{one}"}, {f"{kind}{other}"}, _VERDICTS) for kind in kinds for one, other in _SIDES]
    for groups in (_WINNERS, *sides):
        names = [plain[name] for group in groups for name in sorted(group & plain.keys())[:1]]
        if len(names) == len(groups):
            raise InputError(
                f"{table.name}: the columns {quote_all(names)} compare two papers with each other. Comparisons of "
                "pairs are not read: expected one row per review, with the score of one paper. Bradley-Terry models, "
                "as in the Python library choix, are for pairs. If a column holds the papers all the same, name it "
                f"with {naming('', ITEM)}"
            )
