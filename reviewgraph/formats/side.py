"""Side files: tables of items, reviewers, affinities, conflicts, capacities, costs and the like.

Every reader takes a file of any supported format or the export of a conference system, finds columns by name and
reports malformed rows as :func:`reviewgraph.read_reviews` does. It returns dictionaries keyed by label; pairs of a
reviewer and an item, of which there may be millions, remain codes (:class:`~reviewgraph.formats.columns.Columns`).
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypedDict, Unpack

import numpy as np

from reviewgraph._base.arrays import BoolArray, IntArray
from reviewgraph._base.errors import InputError
from reviewgraph._base.labels import Label, encode, natural_key
from reviewgraph._base.storing import FileRead
from reviewgraph._base.text import LISTED, Detail, counted, listed, noun
from reviewgraph.formats import spellings
from reviewgraph.formats.audit.rows import is_status, papers_out
from reviewgraph.formats.columns import (
    ADDRESSES,
    FILE,
    ITEM,
    REVIEWER,
    SCORE,
    TITLE,
    Columns,
    Origin,
    Role,
    Unlisted,
    columns_of,
    locate,
    named,
    normalise,
    recognised,
    refuse_row_numbers,
)
from reviewgraph.formats.files import Note, Problems, quote, quote_all, terms
from reviewgraph.formats.opening import open_table
from reviewgraph.formats.people import People, melted
from reviewgraph.formats.spellings import Merge, Respelling, Spellings
from reviewgraph.formats.tables import Aside, Column, Path, Rows, by_row
from reviewgraph.formats.values import (
    A_BID,
    BLANK,
    missing_labels,
    parse_bid,
    parse_conflict,
    parse_flag,
    parse_number,
    parse_whole,
)


class Field(NamedTuple):
    """A column of a side file: its role, the parser of its cells, and the valid cells, for messages."""

    role: Role
    parse: Callable[[str], Any]
    expected: str
    #: What to do about other cells; the braces are the option that says that there is no such column.
    advice: str = ""


def _whole(name: str, *synonyms: str, required: bool = False) -> Field:
    return Field(Role(name, synonyms, required=required), parse_whole, "a whole number, 0 or more")


def _number(name: str, *synonyms: str) -> Field:
    return Field(Role(name, synonyms, ranked=False), parse_number, "a finite number")


def _text(role: Role) -> Field:
    return Field(role, str.strip, "text")


#: The columns of side files, in addition to labels.
DEMAND = _whole("demand", "reviews_needed", "num_reviews", "user_demand")
LOAD = _whole("load", "max_load", "max_papers", "max_reviews", "quota", "maximum")
MIN_LOAD = _whole("min_load", "min_papers", "min_reviews", "minimum")
INSTITUTION = _text(Role("institution", ("affiliation", "organization", "organisation"), required=False))
AFFINITY = _number(
    "affinity", "affinity_score", "similarity", "aggregate_score", "tpms_score", "preference", "score", "weight"
)
BID = Field(Role("bid", ("preference", "label"), required=False), parse_bid, A_BID)
SPARE = _whole("spare", "capacity", "spare_capacity", "extra", required=True)
COST = _number("cost", "price")
PROBABILITY = _number("probability", "missing", "chance")
WEIGHT = _number("weight", "confidence", "expertise", "revexp")
QUALITY = _number("quality", "true_quality", "reference", "truth")
SENIOR, WILLING = (Field(Role(name, required=False), parse_flag, "yes or no") for name in ("senior", "willing"))
PERSON = Field(REVIEWER, str, "a label")
PAPER = Field(ITEM, str, "a label")

CONFLICT = Field(
    Role(
        "conflict",
        terms(
            """coi, conflicted, conflict_of_interest, has_conflict, is_conflict, in_conflict, conflicts, interest,
            has_coi, is_coi, declared, declared_conflict, recused, recusal, befangen, befangenheit, interessenkonflikt,
            conflit, conflicto, 利益冲突, 利益相反"""
        ),
        required=False,
    ),
    parse_conflict,
    "yes or no",
    "If every row is a conflict whatever this column says, rename it or add {}",
)

_ON_REVIEWERS = (DEMAND, LOAD, MIN_LOAD, INSTITUTION, SENIOR, WILLING, SPARE)
_NUMBERS = (AFFINITY, BID, COST, PROBABILITY, WEIGHT, QUALITY)
#: Roles of all side files, in addition to those of reviews.
ROLES = (*(field.role for field in (*_ON_REVIEWERS, *_NUMBERS, CONFLICT)),)
#: Normalised names of columns beside reviews that are no judgement of an item by its reviewer.
NO_CRITERIA = frozenset(name for role in ROLES for name in role.names) - {QUALITY.role.name, SCORE.name, "interest"}
#: Roles of files of any kind: a column name given for one of them need not occur in every file.
SHARED = (REVIEWER.name, ITEM.name, TITLE.name)


class Options(TypedDict, total=False):
    """Options of every reader of a side file."""

    columns: Mapping[str, str]  #: Names of columns by role, or by ``file:role``, as ``--columns`` takes them.
    note: Note | None  #: Called with notes for the user.
    read: Callable[[FileRead], object]  #: Called with the file once it is read.
    #: Whether similar labels are one, or the spellings of files read before.
    merge: Merge


class _Opened:
    """A side file whose header is read: its table, and the positions of its columns by role."""

    def __init__(self, path: Path, fields: Sequence[Field], kind: str | None, options: Options) -> None:
        roles = [field.role for field in fields]
        self.path = path
        self.kind = kind
        self.options = options
        say = self.note = options.get("note") or (lambda message: None)
        columns = options.get("columns") or {}
        names = columns_of(columns, path)
        table = open_table(path, roles, names, say, kind=kind)
        # A name given for this file, or for a role that only files of this kind have, must be that of a column.
        for role in roles:
            name = names.get(role.name, "").strip()
            of_this_file = f"{path}{FILE}{role.name}" in columns
            if name and (of_this_file or role.name not in SHARED) and not named(table.header, name):
                message = f"{table.name}: there is no column {quote(name)} ({role.name}); found "
                raise InputError(message + quote_all(table.header))
        known = Spellings.of(options.get("merge"))
        #: The labels of earlier files, by role.
        self.known = {REVIEWER.name: known.known(spellings.PERSON), ITEM.name: known.known(spellings.PAPER)}
        self.matrix = None
        if kind in MATRICES:
            self.matrix = melted(table, names, self.known, MATRICES[kind].role, MATRICES[kind].parse, say)
        if self.matrix is not None:
            table = self.matrix
            names = {}
        # A column of conflicts may name the people.
        barred = [text for text in table.header if normalise(text) in CONFLICT.role.names]
        if kind == "conflicts" and barred and not recognised(table.header, [REVIEWER], {**table.columns, **names}):
            names = {**names, REVIEWER.name: barred[0]}
        self.chosen = {**table.columns, **names}
        self.places = locate(table.header, roles, self.chosen, table.name, say, prefix=f"{path}{FILE}")
        labels = {REVIEWER.name: spellings.PERSON, ITEM.name: spellings.PAPER}
        self.labels = {place: labels[role] for role, place in self.places.items() if role in labels}
        person = next((role for role in (REVIEWER.name, AUTHOR.name) if role in self.places), "")
        self.table = People(table, person, self.places.get(person, -1), self.known[REVIEWER.name], say)
        self.respelling = Respelling(table.name, known, options.get("note"))

    def rows(self, positions: Sequence[int], problems: Problems) -> Rows:
        rows = self.table.read(positions, problems)
        columns = zip(positions, rows.columns, strict=True)
        spelled = [self.respelling.spelled(column, self.labels.get(place)) for place, column in columns]
        if read := self.options.get("read"):
            size = self.table.size if self.matrix is None else self.matrix.size
            read(self.table.provenance.with_rows(size, rows.left_out))
        return rows._replace(columns=spelled)

    def coded(self, fields: Sequence[Field], key: Sequence[str], unique: bool | None = True) -> dict[str, Column]:
        """Return the columns as codes of values, None for empty cells of optional columns and for missing columns.

        ``key`` names the label columns that identify a row. A key that occurs twice is refused (``unique``), reduced to
        its first row (False), or kept (None); reviewers may have several equal rows. Up to ten malformed rows are
        listed in one error.
        """
        problems = Problems()
        rows = self.rows(list(self.places.values()), problems)
        columns = dict(zip(self.places, rows.columns, strict=True))
        values = {
            name: self._values(rows.lines, columns[name], field, problems)
            for field in fields
            if (name := field.role.name) in columns
        }
        # A list of papers may number them if it has each title once.
        title = columns.get(TITLE.name)
        size = len(rows.lines)
        is_list = REVIEWER.name not in key and (title is None or len(title.values) == size)
        if ITEM.name in columns and not is_list:
            labels = columns[ITEM.name].values
            prefix = f"{self.path}{FILE}"
            refuse_row_numbers(self.table.header, self.places, self.chosen, labels, size, self.table.name, prefix)
        # Exports list a reviewer once per paper: equal rows are one.
        same = rows.columns if self.kind == "reviewers" else ()
        kept = self.distinct(rows.lines, [columns[name] for name in key], unique, problems, same)
        problems.raise_any()
        absent = Column(np.zeros(kept.size, np.int64), [None])
        return {
            name: Column(columns[name].codes[kept], values[name]) if name in columns else absent
            for name in (field.role.name for field in fields)
        }

    def decoded(self, fields: Sequence[Field], key: Sequence[str], unique: bool | None = True) -> dict[str, list[Any]]:
        return {name: by_row(column) for name, column in self.coded(fields, key, unique).items()}

    def _values(self, lines: Sequence[int], column: Column, field: Field, problems: Problems) -> list[Any]:
        """Return the meanings of the distinct cells, noting the rows of invalid ones."""
        absent = {""} if field.role.required else BLANK
        cells = column.values
        blank = missing_labels(cells) if field.role.label else [cell.strip() in absent for cell in cells]
        meaning = [None if empty else field.parse(cell) for cell, empty in zip(cells, blank, strict=True)]
        wrong = [
            value is None and (field.role.required or not empty) for value, empty in zip(meaning, blank, strict=True)
        ]

        def say(code: int) -> str:
            if blank[code]:
                return f"the {field.role.name} is {cells[code].strip() or 'empty'}"
            return f"{field.role.name}: expected {field.expected}, found {quote(cells[code])}"

        self.table.note_cells(problems, lines, column, np.array(wrong, np.bool_), say)
        if field.advice and any(wrong) and self.matrix is None:
            problems.hint(field.advice.format(self.without(field)))
        return meaning

    def distinct(
        self,
        lines: Sequence[int],
        key: Sequence[Column],
        unique: bool | None,
        problems: Problems,
        same: Sequence[Column] = (),
    ) -> IntArray:
        """Return the first row of each key, all rows if ``unique`` is None.

        If it is true, a further row that differs from the first in a column of ``same`` is a problem; without such
        columns, every further row is.
        """
        if unique is None:
            return np.arange(len(lines))
        number = np.zeros(len(lines), np.int64)
        for column in key:
            number = number * max(len(column.values), 1) + column.codes
        _, kept, group = np.unique(number, return_index=True, return_inverse=True)
        first = kept[group]
        differs = [column.codes[first] != column.codes for column in same]
        again = np.flatnonzero(np.any(differs, axis=0) if differs else first != np.arange(first.size)).tolist()

        def say(n: int) -> str:
            before, row = (self.table.place(int(lines[int(one)])) for one in (first[again[n]], again[n]))
            labels = " and ".join(quote(column.values[int(column.codes[again[n]])]) for column in key)
            return f"{row}: {labels} occurred in {before} already; remove one of the two rows"

        if unique:
            problems.add_rows([lines[row] for row in again], say)
        return np.sort(kept)

    def without(self, field: Field) -> str:
        return f"--columns {shlex.quote(f'{self.path}{FILE}{field.role.name}=')}"

    def flagged(self, flag: Column) -> BoolArray:
        """Return which distinct cells of a column of conflicts say that there is one, and note the others.

        An empty cell says no beside cells that say yes; beside others it may be a conflict, and that is asked.
        """
        says = np.array([bool(value) for value in flag.values], np.bool_)
        empty = np.array([value is None for value in flag.values], np.bool_)
        count = np.bincount(flag.codes, minlength=says.size)
        where = f"{self.table.name}: the column {quote(self.table.header[self.places[CONFLICT.role.name]])}"
        every = self.without(CONFLICT)
        if count[empty].any() and not count[says].any():
            rows = counted(int(count[empty].sum()), "row")
            message = f"{where} has no yes, and {rows} without a word; if every row is a conflict, add {every}, "
            raise InputError(message + "otherwise write yes or no")
        free = int(count[~says].sum())
        if free and self.matrix is None:
            self.note(
                f"{where} says no in {free:,} of {counted(flag.codes.size, 'row')}, left out; to read all, add {every}"
            )
        return says

    def refuse_unread_flag(self) -> None:
        """Refuse a column of an unknown name that says no in some rows: these may be no conflicts."""
        passed_over = {*self.places.values(), *self.table.unread}
        unread = [place for place, name in enumerate(self.table.header) if name and place not in passed_over]
        if CONFLICT.role.name in {*self.places, *self.chosen} or self.matrix is not None or not unread:
            return
        for place, column in zip(unread, self.table.read(unread, Problems()).columns, strict=True):
            cells = sorted({cell.strip() for cell in column.values} - {""})
            free = [cell for cell in cells if parse_conflict(cell) is False]
            rest = [cell for cell in cells if cell not in free]
            if not free or not rest:
                continue
            name = self.table.header[place]
            column_is = f"--columns {shlex.quote(f'{self.path}{FILE}{CONFLICT.role.name}={name}')}"
            flagged = "write yes and no there, and " if None in map(parse_conflict, rest) else ""
            raise InputError(
                f"{self.table.name}: the column {quote(name)} holds {quote_all(free, 3)} beside {quote_all(rest, 3)}; "
                f"if it says which rows are conflicts, {flagged}add {column_is}; if every row is one, add "
                f"{self.without(CONFLICT)}"
            )

    def explained(self, pairs: Columns) -> frozenset[Label]:
        """Return the labels of pairs that are known although they may not be among the reviews."""
        if self.table.source is not None:
            return frozenset([*pairs.reviewers, *pairs.items])
        sides = ((pairs.reviewers, REVIEWER.name), (pairs.items, ITEM.name))
        return frozenset(label for labels, role in sides for label in labels if label in self.known[role])

    def aside(self, reviewer: int, item: int) -> Aside:
        """Return papers and people beside the rows; to be called after reading."""
        return self.respelling.aside(self.table.aside(reviewer, item, None))

    def meta(self) -> frozenset[tuple[str, str]]:
        """Return the pairs of the meta reviews among the rows that were left out; to be called after reading."""
        order = list(self.places)
        return frozenset(self.aside(order.index(REVIEWER.name), order.index(ITEM.name)).meta)

    def expect_rows(self, labels: Sequence[str], role: str) -> None:
        if not labels:
            raise InputError(f"{self.path}: a header but no {role}s below it; expected one row for each {role}")


# Side files on pairs of a reviewer and a paper.

KEY = (REVIEWER.name, ITEM.name)


def _pairs(columns: dict[str, Column]) -> Columns:
    reviewer = columns[REVIEWER.name]
    item = columns[ITEM.name]
    return Columns(reviewer.codes, item.codes, reviewer.values, item.values)


def _read_pairs(
    path: Path, *, kind: str | None = None, field: Field | None = None, **options: Unpack[Options]
) -> Columns:
    """Return distinct pairs, or, if there is a field, pairs with a number each, NaN where its cell is empty."""
    fields = (PERSON, PAPER, field) if field else (PERSON, PAPER)
    file = _Opened(path, fields, kind, options)
    columns = file.coded(fields, KEY, unique=field is not None)
    if field is None:
        return replace(_pairs(columns), origin=Origin(meta=file.meta()))
    codes, values = columns[field.role.name]
    numbers = np.array([np.nan if number is None else number for number in values], np.float64)
    return replace(_pairs(columns), score=numbers[codes])


def _by_label(
    path: Path, *, label: Field, value: Field, kind: str | None = None, **options: Unpack[Options]
) -> dict[str, Any]:
    fields = (label, value)
    rows = _Opened(path, fields, kind, options).decoded(fields, (label.role.name,))
    return dict(zip(*rows.values(), strict=True))


def read_conflicts(path: Path, **options: Unpack[Options]) -> Columns:
    """Return the distinct conflicts of a file ``item,reviewer[,conflict]``, of a matrix, or of an export.

    A column ``conflict`` of yes and no says which rows are conflicts; without one all are.
    """
    fields = (PERSON, PAPER, CONFLICT)
    file = _Opened(path, fields, "conflicts", options)
    # The rules of a system say which of its rows are conflicts, and a column of people is none of yes and no.
    named_there = file.places.get(CONFLICT.role.name) == file.places[REVIEWER.name]
    if file.table.source is not None or named_there:
        file.places.pop(CONFLICT.role.name, None)
    if file.table.source is None and not named_there:
        file.refuse_unread_flag()
    columns = file.coded(fields, KEY, unique=None)
    pairs = _pairs(columns)
    flag = columns[CONFLICT.role.name]
    if CONFLICT.role.name in file.places:
        barred = file.flagged(flag)[flag.codes]
        pairs = replace(pairs, reviewer=pairs.reviewer[barred], item=pairs.item[barred])
    _, first = np.unique(pairs.item * max(len(pairs.reviewers), 1) + pairs.reviewer, return_index=True)
    kept = np.sort(first)
    origin = Origin(meta=file.meta(), known=file.explained(pairs))
    return replace(pairs, reviewer=pairs.reviewer[kept], item=pairs.item[kept], origin=origin)


#: The distinct pairs of a file ``item,reviewer``: reviews, or the export of an assignment.
read_assigned = partial(_read_pairs, kind="assignments")
#: Pairs with numbers of a file ``item,reviewer,affinity`` (cost, weight: a confidence or an expertise).
read_affinity = partial(_read_pairs, field=AFFINITY, kind="affinities")
read_cost = partial(_read_pairs, field=COST)
read_weights = partial(_read_pairs, field=WEIGHT)

#: Values by reviewer of a file ``reviewer,spare`` (probability that a review fails to arrive).
read_capacity = partial(_by_label, label=PERSON, value=SPARE, kind="reviewers")
read_missing = partial(_by_label, label=PERSON, value=PROBABILITY)
#: Values by item of a file ``item,quality`` (known qualities), and labels by label of ``label,as``.
read_references = partial(_by_label, label=PAPER, value=QUALITY)
_LABEL, _AS = (Field(Role(name), str, "a label") for name in ("label", "as"))
read_merges = partial(_by_label, label=_LABEL, value=_AS)


#: The value of a cell in a matrix, by the purpose of the file.
MATRICES = {"conflicts": CONFLICT, "bids": BID, "affinities": AFFINITY}


class Bids(NamedTuple):
    """Bids as a table of pairs with numbers from -1 to 1, and the pairs that bid a conflict."""

    table: Columns
    conflicts: Columns


def read_bids(path: Path, **options: Unpack[Options]) -> Bids:
    """Return the bids of a file ``item,reviewer,bid`` in the words of :data:`reviewgraph.formats.values.BIDS`."""
    # Bids that say in a column of their own which pairs are conflicts; those of systems have them among the bids.
    flag = CONFLICT._replace(role=replace(CONFLICT.role, synonyms=("coi", "conflicted")), advice="")
    fields = (PERSON, PAPER, BID, flag)
    file = _Opened(path, fields, "bids", options)
    if file.table.source is not None:
        file.places.pop(flag.role.name, None)
    columns = file.coded(fields, KEY)
    bid = columns["bid"]
    pairs = replace(_pairs(columns), origin=Origin(known=file.explained(_pairs(columns))))
    if not any(bid.values):
        raise InputError(f"{path}: expected a column bid with {A_BID} in it, found none")
    value = np.array([np.nan if entry is None or entry.conflict else entry.value for entry in bid.values], np.float64)
    flags = columns[flag.role.name]
    barred = np.array([entry is not None and entry.conflict for entry in bid.values], np.bool_)[bid.codes]
    barred |= np.array([bool(entry) for entry in flags.values], np.bool_)[flags.codes]
    conflicts = replace(pairs, reviewer=pairs.reviewer[barred], item=pairs.item[barred])
    return Bids(replace(pairs, score=value[bid.codes]), conflicts)


def read_gone(path: Path, **options: Unpack[Options]) -> tuple[tuple[str, ...], Columns | None]:
    """Return who will not deliver: reviewers of rows without an item, and the pairs of the other rows."""
    fields = (PERSON, PAPER._replace(role=replace(ITEM, required=False)))
    file = _Opened(path, fields, None, options)
    pairs = _pairs(file.coded(fields, (REVIEWER.name,), unique=None))
    file.expect_rows(pairs.reviewer.tolist(), "reviewer")
    alone = np.array([not value for value in pairs.items], np.bool_)[pairs.item]
    people = tuple(dict.fromkeys(pairs.reviewers[code] for code in pairs.reviewer[alone].tolist()))
    paired = replace(pairs, reviewer=pairs.reviewer[~alone], item=pairs.item[~alone])
    return people, None if alone.all() else paired


AUTHOR = Role(
    "author", ("authors", "author_id", "author_ids", "author_email", "authorids", "email", "e_mail", "person")
)
_AUTHORS = Field(AUTHOR, str, "one author, or several separated by semicolons")


def read_authors(path: Path, **options: Unpack[Options]) -> Columns:
    """Return authors, in the place of reviewers, and their items, from a file ``item,author`` or an export of authors.

    A cell of ``author`` may name several, separated by semicolons; an item may occur in several rows.
    """
    fields = (PAPER, _AUTHORS)
    rows = _Opened(path, fields, "authors", options).decoded(fields, ("item", "author"), unique=False)
    pairs = list(dict.fromkeys(zip(rows["author"], rows["item"], strict=True)))
    if not pairs:
        raise InputError(f"{path}: a header but no authors below it; expected a row for each paper and author")
    spelling = Spellings.of(options.get("merge"))
    author, authors = encode(
        spelling.respelled([author for author, _ in pairs], spellings.PERSON, str(path), options.get("note"))
    )
    item, items = encode([item for _, item in pairs])
    return Columns(author, item, authors, items)


def read_author_attributes(path: Path, **options: Unpack[Options]) -> dict[str, dict[str, Any]]:
    """Return for each item what its authors have, from a file of authors: by column, such as country, all values."""
    file = _Opened(path, (PAPER, _AUTHORS), "authors", options)
    problems = Problems()
    rows = file.rows(range(len(file.table.header)), problems)
    problems.raise_any()
    place = file.places[ITEM.name]
    item = rows.columns[place]
    attributes: dict[str, dict[str, Any]] = {label: {} for label in item.values}
    for number, (header, column) in enumerate(zip(file.table.header, rows.columns, strict=True)):
        if number == place:
            continue
        parts = [[part.strip() for part in cell.split(";") if part.strip()] for cell in column.values]
        names = [AUTHOR.name] if number == file.places[AUTHOR.name] else [header.strip(), *_synonyms(header)]
        pairs = np.unique(np.stack([item.codes, column.codes]), axis=1).T
        for name in names:
            for code, cell in pairs.tolist():
                values = attributes[item.values[code]].setdefault(name, [])
                values += [part for part in parts[cell] if part not in values]
    return attributes


# Side files on papers.


class Item(NamedTuple):
    """An item: its number of reviews (None: as all others) and its title."""

    demand: int | None
    title: str


class Listing(NamedTuple):
    """The items of a file, its other papers, and those that it cannot hold."""

    items: dict[str, Item]
    aside: Aside = Aside()
    unlisted: Unlisted | None = None
    head: str = ""  #: The name of the column of items

    def origin(self, pairs: Collection[tuple[Label, Label]]) -> Origin:
        """Return which papers do not count, and which reviews that the list counts are not among some pairs."""
        hidden, withdrawn = (tuple(sorted({*some}, key=natural_key)) for some in (self.aside.unseen, self.aside.out))
        tally = self.aside.tally
        lacking = tally and tally.without(pairs, sorted(self.items, key=natural_key))
        lacking = lacking if lacking and lacking.reviews else None
        return Origin(hidden=hidden, withdrawn=withdrawn, lacking=lacking)


def read_items(path: Path, **options: Unpack[Options]) -> dict[str, Item]:
    """Return the items of a file ``item[,demand,title]``, or of any export that lists papers.

    A paper may occur in many rows, as in an export of reviews; of several titles the alphabetically first counts.
    Papers that an export marks as withdrawn are no items.
    """
    items, aside, *_ = read_listing(path, **options)
    say = options.get("note")
    if aside.unseen and say:
        say(Detail(f"{path}: {say_unseen(aside.unseen)}"))
    return items


def say_unseen(papers: Collection[str]) -> str:
    """Report papers left out because the person who downloaded the files may not see their reviewers."""
    which = f"{counted(len(papers), 'paper')} ({listed(sorted(papers, key=natural_key), LISTED)})"
    return f"{which} left out: whoever downloaded the files may not see who reviews {noun(len(papers), 'it', 'them')}"


def read_listing(path: Path, **options: Unpack[Options]) -> Listing:
    """Return the items of :func:`read_items`, and the other papers of the file."""
    fields = (PAPER, DEMAND, _text(TITLE))
    file = _Opened(path, fields, "papers", options)
    rows = file.decoded(fields, key=("item",), unique=None)
    file.expect_rows(rows["item"], "item")
    items: dict[str, Item] = {}
    # Of an item's rows those with a demand come first, then those with a title.
    for item, demand, title in sorted(
        set(zip(*rows.values(), strict=True)),
        key=lambda row: (row[0], row[1] is None, row[1] or 0, not row[2], row[2] or ""),
    ):
        before = items.setdefault(item, Item(demand, title or ""))
        if before.demand != demand and demand is not None:
            raise InputError(f"{path}: item {quote(item)}: demand {before.demand} in one row and {demand} in another")
    place = list(file.places).index("item")
    source = file.table.source
    unlisted = source.unlisted if source else None
    aside = file.aside(place, place)
    if source is None:
        aside = aside._replace(out=_withdrawn(file, rows["item"]))
    return Listing(
        {item: items[item] for item in dict.fromkeys(rows["item"]) if source or item not in aside.out},
        aside,
        unlisted and unlisted._replace(file=file.table.name),
        file.table.header[file.places["item"]],
    )


def _withdrawn(file: _Opened, items: Sequence[str]) -> list[str]:
    """Return the papers of a list that a column says are withdrawn, in all rows, and note them; of reviews none."""

    def column_at(place: int) -> Any:
        return file.table.read([place], Problems()).columns[0]

    people = {*REVIEWER.names} - ADDRESSES
    for place, name in enumerate(file.table.header):
        if normalise(name) in people and any(str(cell).strip() for cell in column_at(place).values):
            return []
    out: dict[str, None] = {}
    for place, name in enumerate(file.table.header):
        if place in file.places.values() or place in file.table.unread or not is_status(name):
            continue
        column = column_at(place)
        is_out = papers_out(name, column.values)
        rows = zip(items, column.codes.tolist(), strict=True)
        stays = {item for item, code in rows if not is_out[code]}
        gone = [item for item in dict.fromkeys(items) if item not in stays]
        out |= dict.fromkeys(gone)
        if gone:
            which = f"{counted(len(gone), 'paper')} ({listed(sorted(gone, key=natural_key), LISTED)})"
            cells = quote_all(cell for cell, says_so in zip(column.values, is_out, strict=True) if says_so)
            file.note(
                f"{file.path}: {which} left out, whose {quote(name)} is {cells}; to count all, rename this column"
            )
    return list(out)


# Side files on reviewers.

_FIELDS = (PERSON, LOAD, MIN_LOAD, INSTITUTION, SENIOR)
_SYNONYMOUS = (INSTITUTION.role, SENIOR.role)


class Reviewer(NamedTuple):
    """A reviewer: maximum and minimum load (None: as all others), institution, senior or not."""

    load: int | None
    min_load: int | None
    institution: str
    senior: bool


class Roster(NamedTuple):
    """The reviewers of a file, and attributes by reviewer."""

    reviewers: dict[str, Reviewer]
    attributes: dict[str, dict[str, Any]]
    head: str = ""  #: The name of the column of reviewers


def read_reviewers(path: Path, **options: Unpack[Options]) -> dict[str, Reviewer]:
    return _reviewers(_Opened(path, _FIELDS, "reviewers", options))


def read_roster(path: Path, **options: Unpack[Options]) -> Roster:
    file = _Opened(path, _FIELDS, "reviewers", options)
    return Roster(_reviewers(file), _attributes(file), file.table.header[file.places[REVIEWER.name]])


def read_attributes(path: Path, **options: Unpack[Options]) -> dict[str, dict[str, Any]]:
    """Return the attributes of each reviewer: for each column the text, or several in a list if ; separates them.

    A column with only yes and no gives True and False. Empty cells are left out. Columns are named as in the file, and
    synonyms of ``institution`` and ``senior`` also by these names. In an export with many rows per reviewer, such as
    one of bids, columns in which these rows differ are not attributes.
    """
    return _attributes(_Opened(path, [PERSON], "reviewers", options))


def read_item_attributes(path: Path, **options: Unpack[Options]) -> dict[str, dict[str, Any]]:
    return _attributes(_Opened(path, [PAPER], "papers", options), ITEM)


def _reviewers(file: _Opened) -> dict[str, Reviewer]:
    rows = file.decoded(_FIELDS, key=(REVIEWER.name,))
    file.expect_rows(rows[REVIEWER.name], "reviewer")
    reviewers = {
        label: Reviewer(load, least, institution or "", bool(senior))
        for label, load, least, institution, senior in zip(*rows.values(), strict=True)
    }
    for label, entry in reviewers.items():
        if entry.load is not None and entry.min_load is not None and entry.min_load > entry.load:
            message = f"{file.path}: reviewer {quote(label)}: min_load {entry.min_load} is above load {entry.load}"
            raise InputError(message)
    return reviewers


def _attributes(file: _Opened, role: Role = REVIEWER) -> dict[str, dict[str, Any]]:
    problems = Problems()
    table = file.table
    rows = file.rows(range(len(table.header)), problems)
    place = file.places[role.name]
    reviewer = rows.columns[place]
    # A recognised export may have many rows per reviewer or item; in any other table a second row is an error.
    kept = file.distinct(rows.lines, [reviewer], not table.source, problems)
    problems.raise_any()
    labels = [reviewer.values[code] for code in reviewer.codes[kept].tolist()]
    file.expect_rows(labels, role.name)
    attributes: dict[str, dict[str, Any]] = {label: {} for label in labels}
    for number, (header, column) in enumerate(zip(table.header, rows.columns, strict=True)):
        if number == place:
            continue
        # In an export only columns in which the rows of each label are equal.
        if table.source and np.unique(np.stack([reviewer.codes, column.codes]), axis=1).shape[1] != len(labels):
            continue
        same = _synonyms(header)
        meaning = _meanings(column.values, flag=SENIOR.role.name in same)
        names = [header.strip(), *same]
        for label, code in zip(labels, column.codes[kept].tolist(), strict=True):
            if meaning[code] is not None:
                attributes[label].update(dict.fromkeys(names, meaning[code]))
    return attributes


def _synonyms(header: str) -> list[str]:
    """Return the usual name of a column that has a synonym for a header."""
    return [role.name for role in _SYNONYMOUS if normalise(header) in map(normalise, role.names)]


def _meanings(cells: Sequence[str], *, flag: bool) -> list[Any]:
    """Return the meanings of cells: booleans if all are yes or no, otherwise text or lists; None if empty."""
    cells = ["" if cell.strip() in BLANK else cell for cell in cells]
    words = {cell.strip().casefold() for cell in cells} - {""}
    # Letters alone may be names; only together they are yes and no.
    if flag or words == {"y", "n"} or (words and words <= {"yes", "no", "true", "false", "1", "0"}):
        return [parse_flag(cell) if cell.strip() else None for cell in cells]
    texts = [[part.strip() for part in cell.split(";") if part.strip()] for cell in cells]
    return [(several if len(several) > 1 else several[0]) if several else None for several in texts]


def read_willing(path: Path, **options: Unpack[Options]) -> list[str]:
    """Return the reviewers with a yes in the column ``willing``; all if it has no yes or no."""
    fields = (PERSON, WILLING)
    file = _Opened(path, fields, "reviewers", options)
    rows = file.decoded(fields, key=(REVIEWER.name,))
    file.expect_rows(rows[REVIEWER.name], "reviewer")
    chosen = dict(zip(*rows.values(), strict=True))
    unmarked = all(flag is None for flag in chosen.values())
    return [label for label, flag in chosen.items() if flag or unmarked]
