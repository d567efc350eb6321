"""Microsoft CMT: its spreadsheets, tab-separated lists and XML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from reviewgraph.formats.systems.system import Export, Outgoing, Rule, System, Use, emails
from reviewgraph.formats.tables import Grid, Line, Table, attribute, from_records, plain_tag, to_grid

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


# "Q10 (Please provide an overall score - Value)": its number, its text, and whether the column holds its value.
_OVERALL, _SURE = (re.compile(rf"\b(?:{words})\b", re.I) for words in ("overall", "confiden(?:t|ce)|expertise"))
_QUESTION = re.compile(r"\s*(?P<number>Q[0-9]+)\s*\((?P<text>.*?)(?P<value>\s*-\s*Value\s*)?\)\s*", re.DOTALL | re.I)


def _questions(header: Sequence[str]) -> dict[int, tuple[str, str]]:
    """Return number and text by position of the questions with values, or of all if none has."""
    questions = {place: match for place, name in enumerate(header) if (match := _QUESTION.fullmatch(name))}
    valued = {place: match for place, match in questions.items() if match["value"]} or questions
    return {place: (match["number"].upper(), " ".join(match["text"].split())) for place, match in valued.items()}


def _reviews(name: str, table: Table) -> Grid:
    """Return reviews with a further column for each question with values, named by its number."""
    grid = to_grid(table)
    questions = _questions(grid.header)
    for place, (number, _) in questions.items():
        grid = grid.with_column(number, grid.column(place))
    grid.explained = dict(questions.values())
    return grid


def _scores(table: Table) -> Mapping[str, Sequence[str]]:
    """Return the only question about an overall score, or the possible scores, for the user to choose."""
    questions = [(number, text) for number, text in _questions(table.header).values() if not _SURE.search(text)]
    overall = [number for number, text in questions if _OVERALL.search(text)]
    numbers = overall if len(overall) == 1 else [number for number, _ in questions]
    return {"score": numbers} if numbers else {}


def _listed(column: str, becomes: str, table: Table) -> Grid:
    """Return a row for each person whose address a column lists for a paper, without the star that marks contacts."""
    grid = to_grid(table)
    cells = zip(grid.lines, *map(grid.column, ("Paper ID", "Paper Title", column)), strict=True)
    records = (
        Line([paper, title, address], line.place)
        for line, paper, title, several in cells
        for address in [person.replace("*", "").strip() for person in re.split(r"[;,]", several)]
        if address
    )
    return Grid(grid.name, ["Paper ID", "Paper Title", becomes], records)


#: The reviewer of a submission without reviewers; an empty address is an error.
_NOBODY = "(nobody)"
_USED = Rule("email", lambda email: email != _NOBODY)


def _users(root: Element) -> Iterator[tuple[str, Element | None]]:
    """Return the people of submissions with the submission's number; None for a submission without people."""
    for submission in root.iter():
        if plain_tag(submission) == "submission":
            for user in [*submission] or [None]:
                yield attribute(submission, "submissionId"), user


def _xml_assignments(name: str, root: Element) -> Grid | None:
    """Return the distinct pairs of an assignment: some tools write a submission for each pair."""
    users = list(_users(root))
    bids = (user is not None and attribute(user, "bid") for _, user in users)
    if plain_tag(root) not in ("assignments", "assignment") or any(bids):
        return None
    pairs = dict.fromkeys((paper, _NOBODY if user is None else attribute(user, "email")) for paper, user in users)
    lines = (Line([*pair], f"{name}: user {number}") for number, pair in enumerate(pairs, 1))
    return Grid(name, ["submissionId", "email"], lines)


def _xml_bids(name: str, root: Element) -> Grid | None:
    records = [
        {"submissionId": paper, "email": attribute(user, "email"), "bid": attribute(user, "bid")}
        for paper, user in _users(root)
        if user is not None and "bid" in {key.casefold() for key in user.attrib}
    ]
    return from_records(name, records, "bid") if records else None


_OUT = ("desk reject", "withdrawn")
_KEPT = Rule(
    "Status", lambda status: not any(map(status.casefold().__contains__, _OUT)), "status says they are out", means="out"
)


class CMT(System):
    """Microsoft CMT: spreadsheets, lists and XML, and the XML of assignments that it imports."""

    name = "cmt"
    title = "CMT"
    exports = (
        Export(
            "CMT's bids",
            (Use("bids", {"reviewer": ("Reviewer Email",)}),),
            ("paper_id", "reviewer_email", "bid", "paper_title|reviewer_name"),
        ),
        Export("CMT's suggestions of reviewers", (), ("paper_id", "meta_reviewer_email", "reviewer_email", "rank")),
        Export(
            "CMT's reviews",
            (Use("reviews", {"reviewer": ("Reviewer Email",)}, find=_scores), Use("papers")),
            ("paper_id", "paper_title", "reviewer_email", "reviewer_name|reviewer_number"),
            ("bid",),
            extract=_reviews,
        ),
        Export(
            "CMT's papers",
            (
                Use("papers", {"item": ("Paper ID",)}, rules=(_KEPT,)),
                Use("assignments", reshape=partial(_listed, "Reviewer Emails", "Reviewer Email")),
                Use("authors", reshape=partial(_listed, "Author Emails", "author")),
            ),
            ("paper_id", "paper_title", "reviewer_emails"),
        ),
        Export(
            "CMT's conflicts",
            (Use("conflicts"),),
            ("paper_id", "reviewer_email|meta_reviewer_email|senior_meta_reviewer_email"),
            extract=lambda _, table: (
                table if len(table.header) == 2 and table.header[0].lstrip("\ufeff ").startswith("#") else None
            ),
        ),
        Export(
            "scores of the Toronto Paper Matching System",
            (Use("affinities", {"affinity": ("TPMS Score",)}),),
            ("paper_id|paper|submission_id", "tpms_score"),
        ),
        Export(
            "CMT's users",
            (Use("reviewers", {"reviewer": ("E-mail", "Email"), "institution": ("Organization",)}),),
            ("first_name", "last_name", "e_mail|email", "organization"),
            ("paper_id", "paper", "score", "submission"),
        ),
        Export(
            "CMT's assignments",
            (Use("assignments", rules=(_USED,)), Use("papers")),
            container="xml",
            extract=_xml_assignments,
            lists=".+",
        ),
        Export("CMT's bids", (Use("bids"),), container="xml", extract=_xml_bids),
    )
    extras = ("paper_title", "reviewer_number", "created", "last_modified", "track_name", "track")
    words = "Microsoft CMT's assignments, as XML"
    place = "CMT, Actions, Import, Assignments"
    suffix = ".xml"
    reviewers = emails("cmt")

    def write(self, outgoing: Outgoing) -> str:
        """Return one ``submission`` per paper with one ``user`` per reviewer.

        >>> print(CMT().write(Outgoing({"item": [4, 4], "reviewer": ["ann@example.org", "bob@example.org"]})), end="")
        <assignments>
          <submission submissionId="4">
            <user email="ann@example.org" />
            <user email="bob@example.org" />
          </submission>
        </assignments>
        """
        from xml.sax.saxutils import quoteattr  # loads much of the network library

        self.expect_taken(outgoing)
        lines = ["<assignments>"]
        for item, reviewers in outgoing.by_item().items():
            lines.append(f"  <submission submissionId={quoteattr(str(item))}>")
            lines += [f"    <user email={quoteattr(str(reviewer))} />" for reviewer in reviewers]
            lines.append("  </submission>")
        return "\n".join([*lines, "</assignments>", ""])
