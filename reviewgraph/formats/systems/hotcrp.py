"""HotCRP: what a chair downloads from a search, the tables of its site administrators, and JSON of reviews."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from reviewgraph.errors import InputError
from reviewgraph.formats.grids import Combined, Grid, Line, as_text, from_records, to_grid
from reviewgraph.formats.headers import Role, locate, normalise
from reviewgraph.formats.systems.export import Export, Rule, System, Use
from reviewgraph.formats.tables import Table
from reviewgraph.formats.trees import objects
from reviewgraph.formats.values import is_no_review
from reviewgraph.words import counted

NAME = "hotcrp"
_PAPER = "paper|pid|paperid|paper_id"
_PERSON = ("given_name", "family_name", "first", "last", "reviewername", "reviewer")
_PREFERENCE, _CONFLICT = Role("preference"), Role("conflict", required=False)
#: Columns of reviews that are no fields of the review form.
_NO_FIELDS = (
    *("sitename", "siteclass", "pid", "paper", "title", "decision", "review", "email", "round", "submitted_at", "vtag"),
    *("status", "rid", "rtype", "ordinal", "object", *_PERSON),
)
_EXTRAS = (*_NO_FIELDS, "revexp", "reviewer_expertise")
#: States of a review whose scores count; tables without the column hold submitted reviews only.
_SUBMITTED = frozenset({"approved", "complete", "submitted"})


def _is_conflict(cell: str) -> bool:
    return cell.strip().casefold() == "conflict"


def _says_conflict(cell: str) -> bool:
    return cell.strip().casefold() not in {"", "no", "none", "0", "false"}


def _with_bids(table: Table) -> Table:
    """Return preferences with a column of bids, which says conflict where the column of conflicts does."""
    places = locate(table.header, (_PREFERENCE, _CONFLICT), {}, table.name, lambda note: None)
    both = places[_PREFERENCE.name], places.get(_CONFLICT.name)
    if both[1] is None:
        return table
    return Combined(table, "bid", (both[0], both[1]), lambda bid, cell: "conflict" if _says_conflict(cell) else bid)


def _of_submitted(table: Table) -> Grid:
    """Return reviews without the fields of those that are not submitted, which count as planned."""
    grid = to_grid(table)
    if grid.position("status") is not None:
        draft = [cell.strip().casefold() not in _SUBMITTED for cell in grid.column("status")]
    elif grid.position("submitted_at") is not None:
        draft = [not cell.strip() for cell in grid.column("submitted_at")]
    else:
        return grid
    own = {number for number, name in enumerate(grid.header) if normalise(name) in _NO_FIELDS}
    lines = [
        Line([cell if number in own else "" for number, cell in enumerate(line.cells)], line.place) if blank else line
        for line, blank in zip(grid.lines, draft, strict=True)
    ]
    found = grid.with_lines(lines)
    if any(draft):
        found.notes = [f"{counted(sum(draft), 'review')} not submitted, read as planned"]
    return found


def _widened(table: Table) -> Grid:
    """Return the narrow table of reviews, one row a field, as one row a review.

    Raises
    ------
    InputError
        If a field stands twice in a review, or two columns have one name.
    """
    grid = to_grid(table)
    narrow = {grid.position(name) for name in ("field", "format", "data")}
    kept = [number for number in range(len(grid.header)) if number not in narrow]
    fields: dict[tuple[str, ...], dict[str, str]] = {}
    where: dict[tuple[str, ...], str] = {}
    for line, name, data in zip(grid.lines, grid.column("field"), grid.column("data"), strict=True):
        key = tuple(line.cells[number] for number in kept)
        if name in fields.setdefault(key, {}):
            message = f"{line.place}: the field {name!r} stands twice in one review; export the reviews again"
            raise InputError(message)
        fields[key][name] = data
        where.setdefault(key, line.place)
    names = [name for name in dict.fromkeys(name for known in fields.values() for name in known) if name]
    lines = (Line([*key, *(known.get(name, "") for name in names)], where[key]) for key, known in fields.items())
    return _of_submitted(Grid(grid.name, [*(grid.header[number] for number in kept), *names], lines))


def _from_json(name: str, content: Any) -> Grid | None:
    """Return the reviews of ``GET /reviews``, or of the file for reviewqualitycollector.org."""
    form: Mapping[str, Any] = {}
    if isinstance(content, dict) and "hotcrp_version" in content:
        form = content["reviewform"] if isinstance(content.get("reviewform"), dict) else {}
        reviews = [
            {**review, "pid": paper.get("pid"), "title": paper.get("title")}
            for paper in objects(content.get("papers"))
            for review in objects(paper.get("reviews"))
        ]
    else:
        reviews = objects(content.get("reviews") if isinstance(content, dict) else content)
    if not reviews or not all("pid" in one and _is_review(one) for one in reviews):
        return None
    names = {uid: field["name"] for uid, field in form.items() if isinstance(field, dict) and field.get("name")}
    records = [{_role(key, names): value for key, value in review.items()} for review in reviews]
    return _of_submitted(from_records(name, records, "review"))


def _is_review(one: Mapping[str, Any]) -> bool:
    return one.get("object") == "review" or bool({"reviewer_email", "reviewer", "rid"} & set(one))


def _role(key: str, names: Mapping[str, Any]) -> str:
    return {"pid": "paper", "reviewer_email": "email"}.get(key) or as_text(names.get(key, key))


def _table(what: str, needs: Collection[str], *uses: Use, **options: Any) -> Export:
    return Export(NAME, what, uses, needs, extras=_EXTRAS, **options)


_EMAIL = {"reviewer": ("email",)}
_PAPERS, _REVIEWERS = Use("papers"), Use("reviewers")
_ASSIGNED = Rule("action", lambda action: not is_no_review(action), "action assigns no review")
_CONFLICTED = Rule("action", _is_conflict)
_BARRED = Rule("conflict", _says_conflict)
_ACTIONS = ("action", f"{_PAPER}|id|search|item|submission", "email|user|name|reviewer|reviewer_email")
_ASSIGNMENTS = (Use("assignments", rules=(_ASSIGNED,)), Use("conflicts", rules=(_CONFLICTED,)), _PAPERS)

HOTCRP = System(
    NAME,
    "HotCRP",
    (
        _table(
            "HotCRP's bulk assignment",
            (*_ACTIONS, "reviewtype"),
            *_ASSIGNMENTS,
            lists="[0-9]+",
        ),
        _table(
            "HotCRP's PC assignments",
            _ACTIONS,
            *_ASSIGNMENTS,
            say="external reviewers are not in it",
            lists="[0-9]+",
        ),
        _table(
            "HotCRP's review preferences",
            ("paper", "title", "email", "preference"),
            Use("bids", {"bid": ("bid", "preference")}, reshape=_with_bids),
            Use("affinities", choices={"affinity": ("preference", "topic_score")}),
            Use("conflicts", rules=(_BARRED,)),
            _PAPERS,
            _REVIEWERS,
        ),
        _table(
            "HotCRP's PC conflicts",
            ("paper", "title", "email", "conflicttype|conflict_type"),
            Use("conflicts"),
            _PAPERS,
        ),
        _table(
            "HotCRP's reviews, a row for each field",
            (_PAPER, "email", "field", "data"),
            Use("reviews", _EMAIL, reshape=_widened),
            _PAPERS,
        ),
        _table(
            "HotCRP's reviews",
            ("pid", "email", "submitted_at|status|vtag"),
            Use("reviews", _EMAIL, reshape=_of_submitted),
            _PAPERS,
        ),
        _table(
            "HotCRP's review scores",
            ("paper", "title", "email", "review|reviewername|ovemer|overall_merit"),
            Use("reviews", _EMAIL),
            _PAPERS,
            lacks=("action", "preference", "conflicttype"),
        ),
        _table("HotCRP's reviews", (), Use("reviews", _EMAIL), _PAPERS, container="json", extract=_from_json),
    ),
)
