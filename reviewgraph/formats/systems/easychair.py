"""EasyChair: the tables of its data download in the zip archive, a folder, or single files, with or without headers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from reviewgraph._base.errors import InputError
from reviewgraph._base.provenance import LeftOut
from reviewgraph._base.text import counted
from reviewgraph.formats.columns import normalise
from reviewgraph.formats.files import Members, quote, quote_all
from reviewgraph.formats.grids import Grid, Line, to_grid
from reviewgraph.formats.systems.system import Export, Rule, System, Use
from reviewgraph.formats.tables import Table
from reviewgraph.formats.values import parse_whole

#: Derived columns: the person responsible for a review, and its writer.
MEMBER, WRITER = "PC member", "sub-reviewer"

#: The columns of each table, for downloads without a header.
_HEADERS = {
    "review.csv": (
        *("#", "submission #", "member #", "member name", "number", "version", "text", "scores", "total score"),
        *("reviewer first name", "reviewer last name", "reviewer email", "reviewer person #", "date", "time"),
        "attachment?",
    ),
    "submission.csv": (
        *("#", "title", "authors", "submitted", "last updated", "form fields", "keywords", "decision", "notified"),
        *("reviews sent", "abstract", "deleted?"),
    ),
    "committee.csv": (
        *("#", "person #", "first name", "last name", "email", "country", "affiliation", "Web page", "role"),
    ),
    "bidding.csv": ("member #", "member name", "submission #", "bid"),
    "author.csv": (
        *("submission #", "first name", "last name", "email", "country", "affiliation", "Web page", "person #"),
        "corresponding?",
    ),
}
_FEWEST = {"review.csv": 9, "submission.csv": 12, "committee.csv": 9, "bidding.csv": 4, "author.csv": 8}
#: The required columns of tables with a header.
_NEEDED = {
    "review.csv": ("submission #", "member #", "version", "total score"),
    "submission.csv": ("#", "title", "decision", "deleted?"),
    "committee.csv": ("#", "email"),
    "bidding.csv": ("member #", "submission #", "bid"),
    "author.csv": ("submission #", "email"),
}
_EXTRAS = (
    *("#", "number", "version", "text", "scores", "reviewer_first_name", "reviewer_last_name", "reviewer_email"),
    *("reviewer_person", "date", "time", "attachment", "member_name", "pc_member", "sub_reviewer", "member"),
)


class _Person(NamedTuple):
    """A member of the committee: the address, by which tables are joined, and the name."""

    label: str
    name: str


def _is_out(decision: str, deleted: str) -> bool:
    decided = decision.casefold()
    return "desk reject" in decided or "withdrawn" in decided or deleted.strip().casefold() in {"yes", "true", "1"}


def _rows(grid: Grid, *names: str) -> Iterator[tuple[Any, ...]]:
    """Return the cells of some columns row by row, empty ones for missing columns."""
    return zip(*map(grid.column, names), strict=True)


def _member(members: Members, base: str) -> Grid | None:
    """Return a table of the download, with its usual header if it has none; None if it is missing."""
    from reviewgraph.formats.delimited import Delimited  # loads Arrow

    inside = members.find(base)
    if inside is None:
        return None
    name = f"{members.name}#{inside}"
    table = Delimited(name, members[inside], (), {}, lambda message: None).leniently()
    grid = to_grid(table)
    if not table.header[0].strip().isdecimal():
        missing = [column for column in _NEEDED[base] if grid.position(column) is None]
        if missing:
            message = f"{name}: no column {quote_all(missing)}; found the columns {quote_all(table.header)}; "
            message += "download the data again"
            raise InputError(message)
        return grid
    width, usual = len(table.header), _HEADERS[base]
    if not _FEWEST[base] <= width <= len(usual):
        message = f"{name}: no header, and expected {_FEWEST[base]} to {len(usual)} columns, found {width}; "
        message += "write a header of EasyChair's names above it"
        raise InputError(message)
    return Grid(name, usual[:width], [Line(table.header, table.place(1)), *grid.lines])


def _people(members: Members) -> dict[str, _Person]:
    committee = _member(members, "committee.csv")
    rows = _rows(committee, "#", "first name", "last name", "email") if committee else iter(())
    people = {number: _Person(email.strip(), f"{first} {last}".strip()) for number, first, last, email in rows}
    return {number: person for number, person in people.items() if person.label}


def _out(members: Members) -> set[str]:
    submissions = _member(members, "submission.csv")
    rows = _rows(submissions, "#", "decision", "deleted?") if submissions else iter(())
    return {number for number, decision, deleted in rows if _is_out(decision, deleted)}


def _last_versions(grid: Grid) -> Grid:
    versions = []
    for line, (version,) in zip(grid.lines, _rows(grid, "version"), strict=True):
        value = parse_whole(version) if version.strip() else 0
        if value is None:
            message = f"{line.place}: version: expected a whole number, found {quote(version)}"
            raise InputError(message)
        versions.append(value)
    keys = list(_rows(grid, "submission #", "member #", "reviewer email", "reviewer first name", "reviewer last name"))
    last: dict[tuple[str, ...], int] = {}
    for key, value in zip(keys, versions, strict=True):
        last[key] = max(value, last.get(key, 0))
    kept = [line for line, key, value in zip(grid.lines, keys, versions, strict=True) if value == last[key]]
    latest = grid.with_lines(kept)
    if len(kept) < len(grid.lines):
        latest.notes.append(f"{counted(len(grid.lines) - len(kept), 'earlier version')} of reviews left out")
        latest.left_out.append(LeftOut(len(grid.lines) - len(kept), "of earlier versions of reviews"))
    return latest


def _with_raters(grid: Grid, people: Mapping[str, _Person]) -> Grid:
    """Return reviews with columns of the person responsible, the writer, and each criterion."""
    member, writer = [], []
    rows = _rows(grid, "member #", "member name", "reviewer first name", "reviewer last name", "reviewer email")
    for number, name, first, last, email in rows:
        person = people.get(number, _Person(number, name.strip()))
        written = " ".join(f"{first} {last}".split())
        own = not (email.strip() or written) or email.strip() == person.label or written == person.name
        member.append(person.label)
        writer.append(person.label if own else email.strip() or written)
    for name, cells in ((MEMBER, member), (WRITER, writer), *_criteria(grid).items()):
        if normalise(name) not in map(normalise, grid.header):
            grid = grid.with_column(name, cells)
    return grid


def _criteria(grid: Grid) -> dict[str, list[str]]:
    """Return the values of each criterion from cells with a line per criterion such as ``Overall evaluation: 2``."""
    parts = [
        {
            label.strip(): value.strip()
            for line in cell.splitlines()
            for label, _, value in [line.partition(":")]
            if value
        }
        for (cell,) in _rows(grid, "scores")
    ]
    labels = dict.fromkeys(label for part in parts for label in part)
    return {label: [part.get(label, "") for part in parts] for label in labels}


def _raters(table: Table) -> Mapping[str, Sequence[str]]:
    """Return the possible reviewers: the PC member, and the writer if it is another person."""
    rows = _rows(table, MEMBER, WRITER) if isinstance(table, Grid) else iter(())
    return {"reviewer": [MEMBER, WRITER] if any(member != writer for member, writer in rows) else [MEMBER]}


def _without(grid: Grid, column: str, out: set[str]) -> Grid:
    """Return the rows of submissions that are not out."""
    kept = [line for line, (number,) in zip(grid.lines, _rows(grid, column), strict=True) if number not in out]
    remaining = grid.with_lines(kept)
    if len(kept) < len(grid.lines):
        count = counted(len(grid.lines) - len(kept), "row")
        why = "of submissions that are deleted, withdrawn or rejected without review"
        remaining.notes.append(f"{count} left out, {why}")
        remaining.left_out.append(LeftOut(len(grid.lines) - len(kept), why))
    return remaining


def _folder_reviews(name: str, members: Members) -> Grid | None:
    """Return the reviews, and a row without a member for each submission without a review."""
    grid = _member(members, "review.csv")
    if grid is None:
        return None
    submissions, out = _member(members, "submission.csv"), _out(members)
    titles = dict(_rows(submissions, "#", "title")) if submissions else {}
    kept = _last_versions(_without(grid, "submission #", out))
    reviewed = {number for (number,) in _rows(kept, "submission #")}
    idle = [Line([number], f"{name}: submission {number}") for number in titles if number not in reviewed | out]
    reviews = _with_raters(kept, _people(members))
    further = Grid(name, ["submission #"], idle)
    rows = zip(*(further.column(text) for text in reviews.header), strict=True)
    reviews = reviews.with_lines([*reviews.lines, *map(Line, map(list, rows), (line.place for line in idle))])
    if titles:
        reviews = reviews.with_column("title", (titles.get(number, "") for (number,) in _rows(reviews, "submission #")))
    return reviews


def _folder_bids(name: str, members: Members) -> Grid | None:
    grid = _member(members, "bidding.csv")
    if grid is None:
        return None
    grid, people = _without(grid, "submission #", _out(members)), _people(members)
    labels = [people.get(number, _Person(number, "")).label for (number,) in _rows(grid, "member #")]
    return grid.with_column(MEMBER, labels)


def _folder_authors(name: str, members: Members) -> Grid | None:
    """Return authors, those in the committee by their address there."""
    grid, committee = _member(members, "author.csv"), _member(members, "committee.csv")
    if grid is None:
        return None
    grid = _without(grid, "submission #", _out(members))
    known = dict(_rows(committee, "person #", "email")) if committee else {}
    people = _rows(grid, "person #", "email", "first name", "last name")
    labels = [
        known.get(number, "").strip() or email.strip() or f"{first} {last}" for number, email, first, last in people
    ]
    return grid.with_column(MEMBER, labels)


def _folder_table(base: str, name: str, members: Members) -> Grid | None:
    return _member(members, base)


def _authors(label: str) -> tuple[Use, Use]:
    """Return the uses of authors: authors, and conflicts with their own papers."""
    item = {"item": ("submission #",)}
    return Use("authors", {**item, "author": (label,)}), Use("conflicts", {**item, "reviewer": (label,)})


def _in_folder(what: str, extract: Callable[[str, Members], Grid | None], *uses: Use, lists: str = "") -> Export:
    return Export(what, uses, container="folder", extract=extract, extras=_EXTRAS, lists=lists)


#: A submission without a member has no reviews.
_WRITTEN = Rule(MEMBER, bool)
_SCORED = Use("reviews", {"item": ("submission #",), "score": ("total score",)}, rules=(_WRITTEN,), find=_raters)
_ALIVE = (
    Rule("deleted?", lambda cell: not _is_out("", cell), "submission is deleted", means="out"),
    Rule(
        "decision",
        lambda cell: not _is_out(cell, ""),
        "decision is a withdrawal or to reject without review",
        means="out",
    ),
)
_PAPERS = Use("papers", {"item": ("#",)}, _ALIVE)
_BIDS = {"item": ("submission #",), "bid": ("bid",)}


class EasyChair(System):
    """EasyChair: its data download; it imports nothing."""

    name = "easychair"
    title = "EasyChair"
    exports = (
        _in_folder("EasyChair's reviews", _folder_reviews, _SCORED, lists=".+"),
        _in_folder("EasyChair's bids", _folder_bids, Use("bids", {**_BIDS, "reviewer": (MEMBER,)})),
        _in_folder("EasyChair's authors", _folder_authors, *_authors(MEMBER)),
        _in_folder("EasyChair's submissions", partial(_folder_table, "submission.csv"), _PAPERS),
        _in_folder(
            "EasyChair's committee",
            partial(_folder_table, "committee.csv"),
            Use("reviewers", {"reviewer": ("email",), "institution": ("affiliation",)}),
        ),
        Export(
            "EasyChair's reviews",
            (_SCORED,),
            ("submission", "member", "member_name", "total_score"),
            extract=lambda name, table: _with_raters(_last_versions(to_grid(table)), {}),
            extras=_EXTRAS,
            say="members by their numbers; the whole download knows addresses and desk rejects",
            lenient=True,
        ),
        Export(
            "EasyChair's bids",
            (Use("bids", {**_BIDS, "reviewer": ("member #",)}),),
            ("member", "member_name", "submission", "bid"),
            lenient=True,
        ),
        Export(
            "EasyChair's authors",
            _authors("email"),
            ("submission", "email", "person", "corresponding"),
            lenient=True,
        ),
        Export(
            "EasyChair's submissions",
            (_PAPERS,),
            ("title", "authors", "form_fields", "decision", "deleted"),
            lenient=True,
        ),
        Export(
            "EasyChair's committee",
            (Use("reviewers", {"reviewer": ("#",), "institution": ("affiliation",)}),),
            ("person", "first_name", "last_name", "affiliation", "role"),
            lenient=True,
        ),
    )
