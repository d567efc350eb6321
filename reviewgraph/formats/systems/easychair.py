"""EasyChair: the tables of its data download in the zip archive, a folder, or single files, with or without headers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import compress
from typing import Any, NamedTuple

from reviewgraph._base.errors import InputError, refused
from reviewgraph._base.storing import LeftOut
from reviewgraph._base.text import counted
from reviewgraph.formats.columns import normalise
from reviewgraph.formats.files import Members, quote, quote_all, terms
from reviewgraph.formats.systems.system import Export, Rule, System, Use, Wanted
from reviewgraph.formats.tables import Grid, Line, Table, to_grid
from reviewgraph.formats.values import parse_whole

#: Derived columns: the person responsible for a review, and its writer.
MEMBER = "PC member"
WRITER = "sub-reviewer"

#: The columns of each table, for downloads without a header.
_HEADERS = {
    "review.csv": terms(
        """#, submission #, member #, member name, number, version, text, scores, total score, reviewer first name,
        reviewer last name, reviewer email, reviewer person #, date, time, attachment?"""
    ),
    "submission.csv": terms(
        """#, title, authors, submitted, last updated, form fields, keywords, decision, notified, reviews sent,
        abstract, deleted?"""
    ),
    "committee.csv": (
        *("#", "person #", "first name", "last name", "email", "country", "affiliation", "Web page", "role"),
    ),
    "bidding.csv": ("member #", "member name", "submission #", "bid"),
    "author.csv": terms(
        "submission #, first name, last name, email, country, affiliation, Web page, person #, corresponding?"
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


class _Person(NamedTuple):
    """A member of the committee: the address, by which tables are joined, and the name."""

    label: str
    name: str


def _is_out(decision: str, deleted: str) -> bool:
    decided = decision.casefold()
    return "desk reject" in decided or "withdrawn" in decided or deleted.strip().casefold() in {"yes", "true", "1"}


def _rows(grid: Grid, *names: str) -> Iterator[tuple[Any, ...]]:
    return zip(*map(grid.column, names), strict=True)


def _table(members: Members, base: str) -> Grid:
    """Return a table of the download, with its usual header if it has none; an empty one if it is missing."""
    from reviewgraph.formats.delimited import Delimited  # loads NumPy

    inside = members.find(base)
    if inside is None:
        return Grid(base, (), ())
    name = f"{members.name}#{inside}"
    table = Delimited(name, members[inside], Wanted()).leniently()
    grid = to_grid(table)
    if not table.header[0].strip().isdecimal():
        missing = [column for column in _NEEDED[base] if grid.position(column) is None]
        if missing:
            message = f"{name}: no column {quote_all(missing)}; found the columns {quote_all(table.header)}; "
            message += "download the data again"
            raise InputError(message)
        return grid
    width = len(table.header)
    usual = _HEADERS[base]
    if not _FEWEST[base] <= width <= len(usual):
        message = f"{name}: no header, and expected {_FEWEST[base]} to {len(usual)} columns, found {width}; "
        message += "write a header of EasyChair's names above it"
        raise InputError(message)
    return Grid(name, usual[:width], [Line(table.header, table.place(1)), *grid.lines])


def _people(members: Members) -> dict[str, _Person]:
    rows = _rows(_table(members, "committee.csv"), "#", "first name", "last name", "email")
    return {
        number: _Person(email.strip(), f"{first} {last}".strip())
        for number, first, last, email in rows
        if email.strip()
    }


def _out(members: Members) -> set[str]:
    rows = _rows(_table(members, "submission.csv"), "#", "decision", "deleted?")
    return {number for number, decision, deleted in rows if _is_out(decision, deleted)}


def _filtered(grid: Grid, keeps: Iterable[bool], what: str, note: str, why: str) -> Grid:
    kept = grid.with_lines(compress(grid.lines, keeps))
    if left := len(grid.lines) - len(kept.lines):
        kept.notes.append(f"{counted(left, what)} {note}")
        kept.left_out.append(LeftOut(left, why))
    return kept


def _without(grid: Grid, out: set[str]) -> Grid:
    why = "of submissions that are deleted, withdrawn or rejected without review"
    keeps = (number not in out for number in grid.column("submission #"))
    return _filtered(grid, keeps, "row", f"left out, {why}", why)


def _last_versions(grid: Grid) -> Grid:
    versions = []
    for line, version in zip(grid.lines, grid.column("version"), strict=True):
        value = parse_whole(version) if version.strip() else 0
        if value is None:
            raise refused(f"{line.place}: version", "a whole number", quote(version))
        versions.append(value)
    keys = list(_rows(grid, "submission #", "member #", "reviewer email", "reviewer first name", "reviewer last name"))
    last: dict[tuple[str, ...], int] = {}
    for key, value in zip(keys, versions, strict=True):
        last[key] = max(value, last.get(key, 0))
    keeps = (value == last[key] for key, value in zip(keys, versions, strict=True))
    return _filtered(grid, keeps, "earlier version", "of reviews left out", "of earlier versions of reviews")


def _with_raters(grid: Grid, people: Mapping[str, _Person]) -> Grid:
    member = []
    writer = []
    rows = _rows(grid, "member #", "member name", "reviewer first name", "reviewer last name", "reviewer email")
    for number, name, first, last, email in rows:
        person = people.get(number, _Person(number, name.strip()))
        written = " ".join(f"{first} {last}".split())
        is_member = not (email.strip() or written) or email.strip() == person.label or written == person.name
        member.append(person.label)
        writer.append(person.label if is_member else email.strip() or written)
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
        for cell in grid.column("scores")
    ]
    labels = dict.fromkeys(label for part in parts for label in part)
    return {label: [part.get(label, "") for part in parts] for label in labels}


def _raters(table: Table) -> Mapping[str, Sequence[str]]:
    rows = _rows(table, MEMBER, WRITER) if isinstance(table, Grid) else iter(())
    return {"reviewer": [MEMBER, WRITER] if any(member != writer for member, writer in rows) else [MEMBER]}


def _reviews(grid: Grid, members: Members) -> Grid:
    out = _out(members)
    titles = dict(_rows(_table(members, "submission.csv"), "#", "title"))
    kept = _last_versions(_without(grid, out))
    reviewed = set(kept.column("submission #"))
    idle = [Line([number], f"{members.name}: submission {number}") for number in titles if number not in reviewed | out]
    reviews = _with_raters(kept, _people(members))
    further = Grid(members.name, ["submission #"], idle)
    rows = zip(*(further.column(text) for text in reviews.header), strict=True)
    reviews = reviews.with_lines([*reviews.lines, *map(Line, map(list, rows), (line.place for line in idle))])
    if titles:
        reviews = reviews.with_column("title", (titles.get(number, "") for number in reviews.column("submission #")))
    return reviews


def _bids(grid: Grid, members: Members) -> Grid:
    bids = _without(grid, _out(members))
    people = _people(members)
    labels = (people[number].label if number in people else number for number in bids.column("member #"))
    return bids.with_column(MEMBER, labels)


def _named_authors(grid: Grid, members: Members) -> Grid:
    """Return authors, those in the committee by their address there."""
    members_by_person = dict(_rows(_table(members, "committee.csv"), "person #", "email"))
    authors = _without(grid, _out(members))
    people = _rows(authors, "person #", "email", "first name", "last name")
    labels = (
        members_by_person.get(number, "").strip() or email.strip() or f"{first} {last}"
        for number, email, first, last in people
    )
    return authors.with_column(MEMBER, labels)


def _authors(label: str) -> tuple[Use, Use]:
    item = {"item": ("submission #",)}
    return Use("authors", {**item, "author": (label,)}), Use("conflicts", {**item, "reviewer": (label,)})


def _in_folder(
    what: str, base: str, *uses: Use, change: Callable[[Grid, Members], Grid] | None = None, lists: str = ""
) -> Export:
    def extract(name: str, members: Members) -> Grid | None:
        grid = _table(members, base) if members.find(base) else None
        return change(grid, members) if grid and change else grid

    return Export(what, uses, container="folder", extract=extract, lists=lists)


def _file(what: str, needs: str, *uses: Use, **options: Any) -> Export:
    return Export(what, uses, needs.split(), lenient=True, **options)


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
    extras = terms(
        """#, number, version, text, scores, reviewer_first_name, reviewer_last_name, reviewer_email, reviewer_person,
        date, time, attachment, member_name, pc_member, sub_reviewer, member"""
    )
    exports = (
        _in_folder("EasyChair's reviews", "review.csv", _SCORED, change=_reviews, lists=".+"),
        _in_folder("EasyChair's bids", "bidding.csv", Use("bids", {**_BIDS, "reviewer": (MEMBER,)}), change=_bids),
        _in_folder("EasyChair's authors", "author.csv", *_authors(MEMBER), change=_named_authors),
        _in_folder("EasyChair's submissions", "submission.csv", _PAPERS),
        _in_folder(
            "EasyChair's committee",
            "committee.csv",
            Use("reviewers", {"reviewer": ("email",), "institution": ("affiliation",)}),
        ),
        _file(
            "EasyChair's reviews",
            "submission member member_name total_score",
            _SCORED,
            extract=lambda name, table: _with_raters(_last_versions(to_grid(table)), {}),
            say="members by their numbers; the whole download knows addresses and desk rejects",
        ),
        _file(
            "EasyChair's bids", "member member_name submission bid", Use("bids", {**_BIDS, "reviewer": ("member #",)})
        ),
        _file("EasyChair's authors", "submission email person corresponding", *_authors("email")),
        _file("EasyChair's submissions", "title authors form_fields decision deleted", _PAPERS),
        _file(
            "EasyChair's committee",
            "person first_name last_name affiliation role",
            Use("reviewers", {"reviewer": ("#",), "institution": ("affiliation",)}),
        ),
    )
