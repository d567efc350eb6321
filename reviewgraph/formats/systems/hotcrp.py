"""HotCRP: what a chair downloads from a search, the tables of its site administrators, and JSON.

Tested with files written by HotCRP 3.1 to 3.4 and its newest source. Their rows omit empty cells at the end, a
preference or topic score of 0 is an empty cell, and only some downloads list which papers are withdrawn or drafts.

It imports a bulk assignment that only adds: an existing review is left unchanged, and none is ever cleared. Its help
page offers the review type ``none:primary``, but such a row adds nothing, and HotCRP reports success. A row adds a
review only if there is none when its paper is a search that excludes papers of the reviewer: ``6 -re:ann@example.org``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from reviewgraph._base.errors import InputError
from reviewgraph._base.storing import csv_text
from reviewgraph._base.text import counted
from reviewgraph.formats.columns import Role, Unlisted, locate, normalise
from reviewgraph.formats.systems.system import Accepted, Export, Outgoing, Rule, System, Use, emails, in_json
from reviewgraph.formats.tables import Changed, Grid, Line, Table, as_text, from_records, objects, to_grid

_PAPER = "paper|pid|paperid|paper_id"
#: The column of papers of a bulk assignment, and a search that finds a paper unless a reviewer already reviews it.
_PAPER_CELL = f"{_PAPER}|id|search|item|submission"
_ADD_ONLY = re.compile(r"\s*([0-9]+)\s+-re:\S+\s*")
_PERSON = ("given_name", "family_name", "first", "last", "reviewername", "reviewer")
_PREFERENCE = Role("preference")
_CONFLICT = Role("conflict", required=False)
#: Columns of preferences in which an empty cell is 0.
_ZERO = ("preference", "topic_score")
#: The column of the status of a paper, in tables made from JSON.
_STATE = "paper_status"
#: Columns of reviews that are not fields of the review form.
_NO_FIELDS = (
    *("sitename", "siteclass", "pid", "paper", "title", "decision", "review", "email", "round", "submitted_at", "vtag"),
    *("status", "rid", "rtype", "ordinal", "object", "version", "draft", "blind", "editable", "modified_at"),
    *("modified_at_text", "user_rating", "ghost", "review_token", *_PERSON),
)
#: States of a review whose scores count; tables without the column hold submitted reviews only.
_SUBMITTED = frozenset({"approved", "complete", "submitted"})
#: The type of a meta review in JSON.
_META = "5"


# Actions other than assigning a review.
_NO_REVIEW = re.compile(
    r"(clear|unassign|unsubmit).*|no(review|conflict)|conflict|contact|lead|shepherd|administrator|tag|pref(erence)?",
    re.IGNORECASE,
)


def _says_conflict(cell: str) -> bool:
    return cell.strip().casefold() not in {"", "no", "none", "0", "false"}


def _is_out(status: str) -> bool:
    """Return whether a paper of this status does not count: withdrawn, not submitted, or rejected without review."""
    plain = status.strip().casefold()
    return plain in {"withdrawn", "draft", "no submission"} or "desk reject" in plain


def _with_zeros(table: Table) -> Table:
    zero = [place for place, name in enumerate(table.header) if normalise(name) in _ZERO]
    return Changed(table, {place: [place] for place in zero}, lambda cell: cell.strip() or "0")


def _with_bids(given: Table) -> Table:
    """Return preferences with a column of bids, which is conflict if the column of conflicts has one."""
    table = _with_zeros(given)
    places = locate(table.header, (_PREFERENCE, _CONFLICT), {}, table.name, lambda note: None)
    if _CONFLICT.name not in places:
        return table
    sources = {len(table.header): [places[_PREFERENCE.name], places[_CONFLICT.name]]}
    bids = Changed(table, sources, lambda bid, cell: "conflict" if _says_conflict(cell) else bid)
    bids.header = [*table.header, "bid"]
    return bids


def _without_searches(table: Table) -> Table:
    """Return a bulk assignment with ``6`` in the place of ``6 -re:EMAIL`` (paper 6 unless EMAIL reviews it)."""
    papers = [place for place, name in enumerate(table.header) if re.fullmatch(_PAPER_CELL, normalise(name))]
    return Changed(table, {place: [place] for place in papers}, lambda cell: _ADD_ONLY.sub(r"\1", cell))


def _of_submitted(table: Table) -> Grid:
    """Return reviews without the fields of unsubmitted ones, which count as planned."""
    grid = to_grid(table)
    if grid.position("status") is not None:
        draft = [cell.strip().casefold() not in _SUBMITTED for cell in grid.column("status")]
    elif grid.position("submitted_at") is not None:
        draft = [not cell.strip() for cell in grid.column("submitted_at")]
    else:
        return grid
    planned = sum(
        blank and bool(who.strip()) and kind != _META
        for blank, who, kind in zip(draft, *map(grid.column, ("email", "rtype")), strict=True)
    )
    no_fields = {number for number, name in enumerate(grid.header) if normalise(name) in _NO_FIELDS}
    lines = [
        Line([cell if number in no_fields else "" for number, cell in enumerate(line.cells)], line.place)
        if blank
        else line
        for line, blank in zip(grid.lines, draft, strict=True)
    ]
    reviews = grid.with_lines(lines)
    reviews.notes = list(getattr(table, "notes", ()))
    if planned:
        reviews.notes.append(f"{counted(planned, 'review')} not submitted, read as planned")
    return reviews


def _widened(table: Table) -> Grid:
    """Return the narrow table of reviews, one row per field, as one row per review."""
    grid = to_grid(table)
    narrow = {grid.position(name) for name in ("field", "format", "data")}
    kept = [number for number in range(len(grid.header)) if number not in narrow]
    fields: dict[tuple[str, ...], dict[str, str]] = {}
    where: dict[tuple[str, ...], str] = {}
    for line, name, data in zip(grid.lines, grid.column("field"), grid.column("data"), strict=True):
        key = tuple(line.cells[number] for number in kept)
        if name in fields.setdefault(key, {}):
            raise InputError(f"{line.place}: the field {name!r} occurs twice in one review; export the reviews again")
        fields[key][name] = data
        where.setdefault(key, line.place)
    names = [name for name in dict.fromkeys(name for known in fields.values() for name in known) if name]
    lines = (Line([*key, *(known.get(name, "") for name in names)], where[key]) for key, known in fields.items())
    return _of_submitted(Grid(grid.name, [*(grid.header[number] for number in kept), *names], lines))


def _from_json(name: str, content: Any) -> Grid | None:
    if _papers_in(content) is not None:
        return None
    reviews = objects(content.get("reviews") if isinstance(content, dict) else content)
    marks = {"reviewer_email", "reviewer", "rid"}
    if not reviews or not all("pid" in one and (one.get("object") == "review" or marks & set(one)) for one in reviews):
        return None
    return _of_submitted(from_records(name, list(map(_record, reviews)), "review"))


def _papers_from_json(name: str, content: Any) -> Grid | None:
    papers = _papers_in(content)
    if papers is None:
        return None
    grid = from_records(name, list(map(_paper, papers)), "paper")
    if out := sum(_is_out(as_text(paper.get("status"))) for paper in papers):
        grid.notes.append(f"{counted(out, 'paper is', 'papers are')} withdrawn or not submitted, and left out")
    return grid


def _authors(paper: Mapping[str, Any]) -> list[dict[str, str]]:
    names = ("given_name", "family_name")
    return [
        {
            "email": as_text(author.get("email"))
            or " ".join(filter(None, (as_text(author.get(part)) for part in names))),
            "affiliation": as_text(author.get("affiliation")),
        }
        for author in objects(paper.get("authors"))
    ]


def _people(of: Callable[[Mapping[str, Any]], Iterable[dict[str, str]]], name: str, content: Any) -> Grid | None:
    papers = _papers_in(content)
    records = [{**_paper(paper), **person} for paper in papers or () for person in of(paper)]
    return from_records(name, records, "entry") if records else None


def _papers_in(content: Any) -> Sequence[Mapping[str, Any]] | None:
    """Return the papers of a list of papers; None for other JSON."""
    papers = objects(content)
    known = all("pid" in entry and (entry.get("object") == "paper" or "error" in entry) for entry in papers)
    return papers if papers and known else None


def _paper(paper: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of a paper; one that the person who downloads may not see has an error, no status."""
    state = "unseen" if "error" in paper else as_text(paper.get("status"))
    return {"paper": paper.get("pid"), "title": paper.get("title"), _STATE: state}


def _record(review: Mapping[str, Any]) -> dict[str, Any]:
    """Return a review by the names of its columns; a submitted one was submitted when it was last modified."""
    usual = {"pid": "paper", "reviewer_email": "email"}
    record = {usual.get(key, key): value for key, value in review.items()}
    submitted = as_text(review.get("status", "complete")).casefold() in _SUBMITTED
    return record | {"submitted_at": review.get("modified_at") if submitted else None}


def _unlisted(which: str) -> Unlisted:
    names = r"(pcassignments|scores|reviews)[.]csv", "data.csv"
    return Unlisted(which, 'HotCRP\'s download "Paper information, CSV"', names)


def _table(what: str, needs: str, *uses: Use, lacks: str = "", **options: Any) -> Export:
    """Return a download; blanks separate the columns that it needs or lacks."""
    return Export(what, uses, needs.split(), lacks.split(), lenient=True, **options)


_EMAIL = {"reviewer": ("email",)}
_PAPERS = Use("papers")
_REVIEWERS = Use("reviewers")
_CONFLICTED = Rule("action", lambda action: action.strip().casefold() == "conflict")
_BARRED = Rule("conflict", _says_conflict)
_ACTIONS = f"action {_PAPER_CELL} email|user|name|reviewer|reviewer_email"
#: Papers that the person who downloaded pcassignments may not see have the action none.
_SEEN = Rule("action", lambda action: action.strip().casefold() != "none", means="unseen")
_NO_META = Rule("action", lambda action: not re.fullmatch("meta(review)?", action.strip(), re.I), means="meta")
_NO_META_ROW = Rule("reviewtype", lambda kind: not re.fullmatch("meta(review)?", kind.strip(), re.I), means="meta")
_CLEARED = Rule("action", lambda action: action.strip().casefold() != "clearreview")
_ASSIGNED = Rule("action", lambda action: not _NO_REVIEW.fullmatch(action.strip()), "action assigns no review")
#: The same in JSON and lists of papers.
_NO_META_TYPE = Rule("rtype", lambda kind: kind != _META, means="meta")
_THERE = Rule(_STATE, lambda state: not _is_out(state), means="out")
_SHOWN = Rule(_STATE, lambda state: state != "unseen", means="unseen")
_LIVE = Rule("status", lambda status: not _is_out(status), "status says they are no submissions", means="out")
#: A hidden number of reviews is empty, not 0.
_COUNTED = Rule("# Reviews", lambda count: bool(count.strip()), means="unseen")
#: Each download lacks some of the reviews that a list of papers counts. HotCRP 3.1 counts only the submitted reviews of
#: papers that are in conflict with the person who downloads.
_ALL_REVIEWS = (
    "pcassignments.csv has no external reviewers, scores.csv no review before it is submitted; the JSON of HotCRP's "
    "API (GET /reviews) has all"
)
#: Reviews that only members of the PC can have.
_INSIDE = Rule("action", lambda action: bool(re.fullmatch("(primary|secondary|pc|meta)review", action.strip(), re.I)))
_INSIDE_ROW = Rule("reviewtype", lambda kind: kind.strip().casefold() in {"primary", "secondary", "pcreview", "meta"})
_INSIDE_TYPE = Rule("rtype", lambda kind: kind in {"2", "3", "4", _META})
_NUMBER = "[0-9]+"

#: A valid address; in a row HotCRP mistakes one that begins with # or - for a tag.
_ADDRESS = re.compile(r"(?![-#])[-!#$%&'*+./0-9=?A-Z^_`a-z{|}~]+@(?:_\.|(?:[-0-9A-Za-z]+\.)+)[0-9A-Za-z]+")
#: Anything but a number would be a search, which may find many papers.
_PAPER_NUMBER = re.compile(r"[1-9][0-9]*")
#: Names that HotCRP refuses for a round, as its own code does (``Conf::round_name_error``, the same in 3.2 to 3.4).
_NO_ROUND = re.compile(
    "none|any|all|span|default|undefined|unnamed|.*(?:draft|response|review)|(?:draft|response).*|"
    "primary|secondary|optional|pc|external|meta",
    re.IGNORECASE,
)
_ROUND_NAME = re.compile("[A-Za-z](?:[A-Za-z0-9]|[-_][A-Za-z0-9])*")
_ROUND = Accepted(
    lambda label: _ROUND_NAME.fullmatch(label) and not _NO_ROUND.fullmatch(label),
    "a label that HotCRP takes as the name of a round (letters and digits, single - or _ between them, the first a "
    "letter; reserved are any, all, none, unnamed, default, span, undefined, pc, primary, secondary, optional, "
    "external, meta, and what begins with draft or response or ends with draft, response or review)",
    "choose another --label, such as R2",
)
#: The parts of an address in a search: it finds subdomains and, except for these ends, longer domains too.
_PARTS = re.compile(r"(?P<name>.*)@(?P<domain>.*?)(?P<end>(?:[.](?:com|net|edu|org|us|uk|fr|be|jp|cn))?)", re.I)

_REFUSED = "HotCRP refuses a file with"
#: The tag of a quality, visible only to chairs, and the suffixes for lists.
TAG = "~~calibrated"
LISTS = ("in", "discuss", "out", "aside")
#: Decimals of a quality: HotCRP keeps six or seven digits, and a longer value would be a change each time.
DIGITS = 3


def _search(email: str, known: Collection[str]) -> str:
    """Return a search that finds the reviews of a person and of nobody else known.

    >>> _search("ann@mit.edu", ["bob@mit.edu"]), _search("ann@mit.edu", ["ann@csail.mit.edu", "ANN@mit.edu"])
    ('ann@mit.edu', 'ann@mit.ed*u')
    """
    known_others = [address for address in known if address.casefold() != email.casefold()]
    parts = _PARTS.fullmatch(email)
    if parts is None:
        return email
    # An address without a star also finds those of subdomains and longer domains.
    end = re.escape(parts["end"]) if parts["end"] else r"(?:[@.].*|)"
    finds = re.compile(f"{re.escape(parts['name'])}@(?:|.*[.]){re.escape(parts['domain'])}{end}", re.I)
    if not any(map(finds.fullmatch, known_others)):
        return email
    # With a star an address is a pattern, matched letter by letter.
    for place in range(len(email) - 1, 0, -1):
        pattern = re.compile(f"{re.escape(email[:place])}.*{re.escape(email[place:])}", re.I)
        if not any(map(pattern.fullmatch, known_others)):
            return f"{email[:place]}*{email[place:]}"
    return email


class HotCRP(System):
    """HotCRP: its downloads and JSON, bulk assignments, and tags."""

    name = "hotcrp"
    title = "HotCRP"
    exports = (
        _table(
            "HotCRP's bulk assignment",
            f"{_ACTIONS} reviewtype",
            Use(
                "assignments",
                rules=(_NO_META, _CLEARED, _ASSIGNED, _NO_META_ROW),
                reshape=_without_searches,
                members=_INSIDE_ROW,
            ),
            Use("conflicts", rules=(_CONFLICTED,)),
            _PAPERS,
            lists=_NUMBER,
            unlisted=_unlisted("papers that nobody reviews"),
            proposes=True,
        ),
        _table(
            "HotCRP's PC assignments",
            _ACTIONS,
            Use("assignments", rules=(_SEEN, _NO_META, _CLEARED, _ASSIGNED), members=_INSIDE, tells=True),
            Use("conflicts", rules=(_CONFLICTED,)),
            Use("papers", rules=(_SEEN,)),
            say="external reviewers are not in it",
            lists=_NUMBER,
            unlisted=_unlisted("papers that no PC member reviews"),
        ),
        _table(
            "HotCRP's review preferences",
            "paper title email preference",
            Use("bids", {"bid": ("bid", "preference")}, reshape=_with_bids),
            Use("affinities", choices={"affinity": _ZERO}, reshape=_with_zeros),
            Use("conflicts", rules=(_BARRED,)),
            _PAPERS,
            _REVIEWERS,
        ),
        _table("HotCRP's PC conflicts", "paper title email conflicttype|conflict_type", Use("conflicts"), _PAPERS),
        _table(
            "HotCRP's list of papers",
            "id status title|review|reviews",
            Use("papers", {"item": ("ID",)}, (_LIVE, _COUNTED), tally=("# Reviews", _ALL_REVIEWS)),
        ),
        _table("HotCRP's authors", "paper title email iscontact", Use("authors"), _PAPERS),
        _table("HotCRP's topics", "paper title topic", _PAPERS, lacks="email"),
        _table("HotCRP's discussion leads or shepherds", "paper title leademail|shepherdemail"),
        _table(
            "HotCRP's reviews, a row for each field",
            f"{_PAPER} email field data",
            Use("reviews", _EMAIL, reshape=_widened),
            _PAPERS,
            unlisted=_unlisted("papers without a review"),
        ),
        _table(
            "HotCRP's reviews",
            "pid email submitted_at|status|vtag",
            Use("reviews", _EMAIL, reshape=_of_submitted),
            _PAPERS,
            unlisted=_unlisted("papers without a review"),
        ),
        _table(
            "HotCRP's review scores",
            "paper title email review|reviewername|ovemer|overall_merit",
            Use("reviews", _EMAIL),
            _PAPERS,
            lacks="action preference conflicttype",
            unlisted=_unlisted("papers without a submitted review"),
        ),
        _table(
            "HotCRP's reviews as authors see them, without reviewers",
            "paper title review",
            _PAPERS,
            lacks="email reviewer reviewername action preference conflicttype",
        ),
        _table(
            "HotCRP's reviews before the first is submitted",
            "paper title",
            extract=lambda _, table: None if to_grid(table).lines or len(table.header) > 2 else table,
        ),
        in_json(
            "HotCRP's reviews",
            _from_json,
            Use("reviews", _EMAIL, (_NO_META_TYPE,), members=_INSIDE_TYPE, tells=True),
            _PAPERS,
            lists=_NUMBER,
            unlisted=_unlisted("papers that nobody reviews"),
        ),
        in_json(
            "HotCRP's rqc.json, in whose place the JSON of its API (GET /reviews) is read",
            lambda name, content: Grid(name, (), ()) if "hotcrp_version" in content else None,
        ),
        in_json("HotCRP's papers", _papers_from_json, Use("papers", rules=(_THERE, _SHOWN))),
        in_json(
            "HotCRP's conflicts",
            partial(_people, lambda paper: [{"email": who} for who in paper.get("pc_conflicts") or ()]),
            Use("conflicts", _EMAIL),
        ),
        in_json("HotCRP's authors", partial(_people, _authors), Use("authors", {"author": ("email",)})),
    )
    extras = (*_NO_FIELDS, "revexp", "reviewer_expertise")
    words = "HotCRP's bulk assignment, which only adds"
    options = ("label",)
    reviewers = emails("hotcrp", _ADDRESS)
    items = Accepted(
        _PAPER_NUMBER.fullmatch,
        "numbers of papers",
        "name papers by their numbers, or write another form, such as --to csv",
    )
    members = f"{_REFUSED} a primary review by somebody else."
    place = "HotCRP, Assignments, Bulk update (it only adds)"
    advice: ClassVar = {
        "conflicts": f'No conflicts given: --conflicts FILE (download "PC conflicts"); {_REFUSED} one.',
        "items": f'Withdrawn papers are unknown: --items FILE (download "Paper information, CSV"); {_REFUSED} one.',
        "willing": 'The committee is unknown: --willing FILE (download "PC review preferences"); ' + members,
        "bids": 'Preferences are not used: --bids FILE (download "PC review preferences").',
        "gone": "Declined reviews are in no download: list them in --gone FILE (paper,email).",
    }
    round_advice = 'add the round {} in Settings, Reviews, "Deadlines and rounds"; HotCRP refuses the file without it'
    results = "tags of qualities and lists that chairs see, as a bulk assignment"

    def write(self, outgoing: Outgoing) -> str:
        r"""Return one row per review, which HotCRP applies all together or not at all.

        Reviews are primary, or external if the reviewer is known not to be in the PC.

        >>> print(HotCRP().write(Outgoing({"item": [7], "reviewer": ["ann@example.org"]}, label="R2")), end="")
        paper,action,email,reviewtype,round
        7 -re:ann@example.org,review,ann@example.org,primary,R2
        """
        self.expect_taken(outgoing)
        if outgoing.label is not None:
            _ROUND.expect([outgoing.label], self.name)
        emails = list(map(str, outgoing.columns["reviewer"]))
        count = len(outgoing.pairs)
        known = {*map(str, outgoing.people), *emails}
        search = {email: _search(email, known) for email in dict.fromkeys(emails)}
        outside = set(map(str, outgoing.outsiders))
        # Addresses are not guarded: an apostrophe before one that begins like a formula would change it.
        return csv_text(
            {
                "paper": [
                    f"{paper} -re:{search[who]}" for paper, who in zip(outgoing.columns["item"], emails, strict=True)
                ],
                "action": ["review"] * count,
                "email": emails,
                "reviewtype": ["external" if email in outside else "primary" for email in emails],
                "round": [outgoing.label or outgoing.stage or ""] * count,
            },
            guard=False,
        )

    def write_results(self, columns: Mapping[str, Sequence[Any]]) -> str:
        """Return qualities and lists as tags for sorting (``rorder:~~calibrated``) and searching.

        A paper without a quality, or on no list, loses a former tag. With a column ``group`` papers of different groups
        cannot be compared: each group of two papers or more has a tag of its own, and none orders all.
        """
        papers = columns["item"]
        qualities = columns["quality"]
        self.items.expect(papers, self.name)
        known = [None if quality is None or quality != quality else f"#{quality:.{DIGITS}f}" for quality in qualities]
        lists = columns.get("list", [None] * len(papers))
        nothing = [None] * len(papers)
        group = columns.get("group", nothing)
        # The value of each tag on each paper, None if the paper must not have it; groups of a former run are cleared.
        values = {TAG: known if "group" not in columns else nothing, f"{TAG}-group*": nothing}
        values |= {f"{TAG}-{name}": ["" if paper_list == name else None for paper_list in lists] for name in LISTS}
        rows = [
            (paper, "cleartag" if value is None else "tag", f"{tag}{value or ''}")
            for tag, column in values.items()
            for paper, value in zip(papers, column, strict=True)
        ]
        has_quality = [value is not None for value in known]
        sizes = Counter(number for number, here in zip(group, has_quality, strict=True) if here)
        rows += [
            (paper, "tag", f"{TAG}-group{number}{value}")
            for paper, number, value in zip(papers, group, known, strict=True)
            if value is not None and number is not None and sizes[number] > 1
        ]
        return csv_text({name: [row[place] for row in rows] for place, name in enumerate(("paper", "action", "tag"))})
