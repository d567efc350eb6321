"""Microsoft CMT: its spreadsheets, tab-separated lists and XML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from reviewgraph.formats.grids import Grid, Line, from_records, to_grid
from reviewgraph.formats.systems.export import Export, Rule, System, Use
from reviewgraph.formats.tables import Table
from reviewgraph.formats.trees import attribute, plain_tag

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

NAME = "cmt"
_EXTRAS = ("paper_title", "reviewer_number", "created", "last_modified", "track_name", "track")

# "Q10 (Please provide an overall score - Value)": its number, its text, and whether the column holds its value.
_QUESTION = re.compile(r"\s*(?P<number>Q[0-9]+)\s*\((?P<text>.*?)(?P<value>\s*-\s*Value\s*)?\)\s*", re.DOTALL | re.I)


def _questions(header: Sequence[str]) -> dict[int, tuple[str, str]]:
    """Return number and text by position of the questions that have values, or of all where none has."""
    found = {place: match for place, name in enumerate(header) if (match := _QUESTION.fullmatch(name))}
    valued = {place: match for place, match in found.items() if match["value"]} or found
    return {place: (match["number"].upper(), " ".join(match["text"].split())) for place, match in valued.items()}


def _reviews(name: str, table: Table) -> Grid:
    """Return reviews with a further column for each question that has values, called by its number alone."""
    grid = to_grid(table)
    questions = _questions(grid.header)
    for place, (number, _) in questions.items():
        grid = grid.with_column(number, grid.column(place))
    grid.explained = dict(questions.values())
    return grid


def _scores(table: Table) -> Mapping[str, Sequence[str]]:
    """Return the questions that may be the score."""
    numbers = [number for number, _ in _questions(table.header).values()]
    return {"score": numbers} if numbers else {}


def _conflicts(name: str, table: Table) -> Table | None:
    """Return the table if it is the list of conflicts, whose header begins as a comment does and has two columns."""
    return table if len(table.header) == 2 and table.header[0].lstrip("\ufeff ").startswith("#") else None


def _assigned(table: Table) -> Grid:
    """Return a row for each reviewer whose address stands in the list of a paper."""
    grid = to_grid(table)
    records = (
        Line([paper, title, address.strip()], line.place)
        for line, paper, title, cell in zip(
            grid.lines,
            grid.column("Paper ID"),
            grid.column("Paper Title"),
            grid.column("Reviewer Emails"),
            strict=True,
        )
        for address in re.split(r"[;,]", cell)
        if address.strip()
    )
    return Grid(grid.name, ["Paper ID", "Paper Title", "Reviewer Email"], records)


#: Stands in the place of a reviewer where a submission has none; an empty address is a mistake.
_NOBODY = "(nobody)"
_USED = Rule("email", lambda email: email != _NOBODY)


def _users(root: Element) -> Iterator[tuple[str, Element | None]]:
    """Return the people that stand in submissions, with the submission's number; None where nobody does."""
    for submission in root.iter():
        if plain_tag(submission) == "submission":
            for user in [*submission] or [None]:
                yield attribute(submission, "submissionId"), user


def _xml_assignments(name: str, root: Element) -> Grid | None:
    """Return the pairs of an assignment, those that stand twice once: some tools write a submission for each pair."""
    users = list(_users(root))
    bids = (user is not None and attribute(user, "bid") for _, user in users)
    if plain_tag(root) not in ("assignments", "assignment") or any(bids):
        return None
    pairs = dict.fromkeys((paper, _NOBODY if user is None else attribute(user, "email")) for paper, user in users)
    lines = (Line([*pair], f"{name}: user {number}") for number, pair in enumerate(pairs, 1))
    return Grid(name, ["submissionId", "email"], lines)


def _xml_bids(name: str, root: Element) -> Grid | None:
    users = [
        (paper, user)
        for paper, user in _users(root)
        if user is not None and "bid" in {key.casefold() for key in user.attrib}
    ]
    records = [
        {"submissionId": paper, "email": attribute(user, "email"), "bid": attribute(user, "bid")}
        for paper, user in users
    ]
    return from_records(name, records, "bid") if records else None


def _is_kept(status: str) -> bool:
    return not any(word in status.casefold() for word in ("desk reject", "withdrawn"))


_KEPT = Rule("Status", _is_kept, "status says they are out")

CMT = System(
    NAME,
    "CMT",
    (
        Export(
            NAME,
            "CMT's reviews",
            (Use("reviews", {"reviewer": ("Reviewer Email",)}, find=_scores), Use("papers")),
            ("paper_id", "paper_title", "reviewer_email", "reviewer_name|reviewer_number"),
            extract=_reviews,
            extras=_EXTRAS,
        ),
        Export(
            NAME,
            "CMT's papers",
            (Use("papers", rules=(_KEPT,)), Use("assignments", reshape=_assigned)),
            ("paper_id", "paper_title", "reviewer_emails"),
        ),
        Export(
            NAME,
            "CMT's conflicts",
            (Use("conflicts"),),
            ("paper_id", "reviewer_email|meta_reviewer_email|senior_meta_reviewer_email"),
            extract=_conflicts,
        ),
        Export(
            NAME,
            "scores of the Toronto Paper Matching System",
            (Use("affinities", {"affinity": ("TPMS Score",)}),),
            ("paper_id|paper|submission_id", "tpms_score"),
        ),
        Export(
            NAME,
            "CMT's users",
            (Use("reviewers", {"reviewer": ("E-mail", "Email"), "institution": ("Organization",)}),),
            ("first_name", "last_name", "e_mail|email", "organization"),
            ("paper_id", "paper", "score", "submission"),
        ),
        Export(
            NAME,
            "CMT's assignments",
            (Use("assignments", rules=(_USED,)), Use("papers")),
            container="xml",
            extract=_xml_assignments,
            lists=".+",
        ),
        Export(NAME, "CMT's bids", (Use("bids"),), container="xml", extract=_xml_bids),
    ),
)
