"""START (Softconf), Open Journal Systems, Indico and Label Studio."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from reviewgraph.formats.columns import normalise
from reviewgraph.formats.files import terms
from reviewgraph.formats.systems.system import Accepted, Export, Outgoing, Rule, System, Use, in_json
from reviewgraph.formats.tables import Changed, Grid, Line, Table, as_text, from_records, objects
from reviewgraph.formats.values import parse_flag

#: Words for no in the languages of reports; everything else says yes.
_NO = frozenset(("nein", "non", "não", "nao", "nee", "nej", "nei", "nie", "ne", "нет", "ні", "tidak", "いいえ", "否"))
#: What a reviewer says who leaves the decision to a text.
_NO_SCORE = "see comments"


def _is_no(cell: str) -> bool:
    return parse_flag(cell) is False or cell.strip().casefold() in _NO


def _scored(table: Table) -> Table:
    """Return the report without recommendations that say nothing."""
    places = {place: [place] for place, name in enumerate(table.header) if normalise(name) == "recommendation"}
    return Changed(table, places, lambda cell: "" if cell.strip().casefold() == _NO_SCORE else cell)


class OJS(System):
    """Open Journal Systems: invitations of reviewers, declined and cancelled ones among them."""

    name = "ojs"
    title = "Open Journal Systems"
    extras = terms(
        """stage, round, submission_title, given_name, family_name, orcid, country, affiliation, email,
        reviewing_interests, date_assigned, date_notified, date_confirmed, date_completed, unconsidered,
        date_acknowledged, date_reminded, declined, cancelled, comments, comments_on_submission, response_due_date,
        response_overdue, days_overdue, review_due_date, overdue, review_overdue"""
    )
    exports = (
        Export(
            "the review report of Open Journal Systems",
            (
                Use(
                    "reviews",
                    {"item": ("Submission ID",), "title": ("Submission Title",), "reviewer": ("Email", "Reviewer")},
                    (
                        Rule("declined", _is_no, "invitation was declined"),
                        Rule("cancelled", _is_no, "invitation was cancelled"),
                        Rule("unconsidered", _is_no, "review the editor does not consider"),
                    ),
                    reshape=_scored,
                ),
                Use("papers", {"item": ("Submission ID",), "title": ("Submission Title",)}),
            ),
            ("submission_id", "reviewer", "date_assigned", "declined|cancelled|unconsidered", "recommendation"),
            lists=".+",
        ),
    )


#: States of an abstract that is no paper any more.
_GONE = ("withdrawn", "duplicate", "merged", "invited")


def _abstracts(name: str, content: Any) -> Grid | None:
    """Return a row for each review of an abstract, and one without a reviewer for an abstract without any."""
    if not isinstance(content, dict) or not {"abstracts", "questions"} <= content.keys():
        return None
    questions = {
        as_text(question.get("id")): as_text(question.get("title")) or f"question {question.get('id')}"
        for question in objects(content["questions"])
    }
    records = []
    for abstract in objects(content["abstracts"]):
        paper = {
            "item": as_text(abstract.get("friendly_id", abstract.get("id"))),
            "title": as_text(abstract.get("title")),
            "state": as_text(abstract.get("state")),
        }
        for review in objects(abstract.get("reviews")) or [{}]:
            user = review.get("user")
            person = (
                user.get("email") or user.get("full_name") or user.get("identifier") if isinstance(user, dict) else ""
            )
            ratings = {
                questions.get(as_text(rating.get("question")), as_text(rating.get("question"))): rating.get("value")
                for rating in objects(review.get("ratings"))
            }
            records.append(
                {**paper, "reviewer": as_text(person), **{k: v for k, v in ratings.items() if k not in paper}}
            )
    return from_records(name, records, "review") if records else None


class Indico(System):
    """Indico: abstracts of an event and their reviews."""

    name = "indico"
    title = "Indico"
    extras = ("state",)
    exports = (
        in_json(
            "abstracts of Indico",
            _abstracts,
            Use(
                "reviews",
                rules=(
                    Rule("state", lambda cell: cell.casefold() not in _GONE, means="out"),
                    Rule("reviewer", lambda cell: bool(cell.strip())),
                ),
            ),
            Use("papers", rules=(Rule("state", lambda cell: cell.casefold() not in _GONE, means="out"),)),
            lists=".+",
        ),
    )


#: The value of an answer, by its type; the others are regions of texts and images.
_VALUES = ("rating", "number", "choices", "text")
_CANCELLED = Rule("was_cancelled", lambda cell: cell != "true", why="annotation was skipped")


def _annotations(name: str, content: Any) -> Grid | None:
    """Return a row for each annotation of each task, with a column for each of its questions."""
    tasks = objects(content)
    if not tasks or not all("data" in task and isinstance(task.get("annotations"), list) for task in tasks):
        return None
    records = []
    for task in tasks:
        data = task["data"] if isinstance(task["data"], dict) else {}
        for annotation in objects(task["annotations"]):
            answers: dict[str, Any] = {}
            for answer in objects(annotation.get("result")):
                value = answer.get("value")
                values = [value[kind] for kind in _VALUES if kind in value] if isinstance(value, dict) else []
                if values:
                    answers.setdefault(as_text(answer.get("from_name") or answer.get("type")), values[0])
            person = annotation.get("completed_by")
            if isinstance(person, dict):
                person = person.get("email") or person.get("id")
            record = {
                "item": as_text(task.get("id", data.get("id", data.get("text")))),
                "reviewer": as_text(person),
                "title": data.get("title") or data.get("text"),
                "was_cancelled": bool(annotation.get("was_cancelled")),
            }
            records.append({**record, **{f"{key} " if key in record else key: own for key, own in answers.items()}})
    return from_records(name, records, "annotation") if records else None


class LabelStudio(System):
    """Label Studio: annotations of tasks."""

    name = "labelstudio"
    title = "Label Studio"
    extras = ("was_cancelled",)
    exports = (
        in_json("annotations of Label Studio", _annotations, Use("reviews", rules=(_CANCELLED,)), Use("papers")),
    )


# Each part ends with its colon, so that a line matches in one way only: with two, a long one takes exponential time.
_LINE = re.compile(r"\s*(?:[^\s:,;]+:)+(?:[^\s:,;]+)?\s*")
#: A submission without users has no reviews.
_USED = Rule("user", bool)
#: The numbers in a matrix of bids.
_BIDS = {"1": "yes", "2": "maybe", "3": "no", "4": "conflict"}


def _assignments(name: str, rows: Sequence[Line]) -> Grid | None:
    """Return a row for each user of lines ``submission:user:user``, one without a user for a line without users."""
    if not all(len(line.cells) == 1 and _LINE.fullmatch(line.cells[0]) for line in rows):
        return None
    pairs = [
        Line([submission.strip(), user], line.place)
        for line in rows
        for submission, *users in [line.cells[0].split(":")]
        for user in [user.strip() for user in users if user.strip()] or [""]
    ]
    return Grid(name, ["submission", "user"], pairs) if any(line.cells[1] for line in pairs) else None


def _matrix(name: str, rows: Sequence[Line]) -> Grid | None:
    """Return a row for each bid of the matrix, whose rows are submissions and columns users."""
    users, *below = rows  # the last column may have no name, since each line ends in a comma
    bids = [cell.strip() for line in below for cell in line.cells[1:]]
    if len(users.cells) < 2 or not any(bids) or not set(bids) <= {"", *_BIDS} or _BIDS.keys() & set(users.cells[1:]):
        return None
    return Grid(
        name,
        ["submission", "user", "bid"],
        (
            Line([line.cells[0].strip(), user.strip(), _BIDS[cell.strip()]], line.place)
            for line in below
            for user, cell in zip(users.cells[1:], line.cells[1:], strict=True)
            if cell.strip() and user.strip()
        ),
    )


#: A name without separators.
_PART = re.compile(r"[^:\s]+")
_NAMES = Accepted(
    _PART.fullmatch,
    "names without colons and spaces",
    "name submissions by their numbers and reviewers by their user names, or write another form",
)


class START(System):
    """START: assignments, quotas and bids, and lines of assignments."""

    name = "start"
    title = "START"
    exports = (
        Export(
            "START's assignments",
            (Use("assignments", rules=(_USED,)), Use("papers")),
            container="lines",
            extract=_assignments,
            lists=".+",
        ),
        Export(
            "START's quotas",
            (Use("reviewers", {"reviewer": ("Username",), "load": ("Quota for Review",)}),),
            ("username", "quota_for_review"),
            lenient=True,
        ),
        Export(
            "START's bids",
            (Use("bids"), Use("conflicts", rules=(Rule("bid", lambda cell: cell == "conflict"),))),
            container="lines",
            extract=_matrix,
            shy="kind",
        ),
    )
    words = "START's lines, submission:user:user"
    suffix = ".txt"
    reviewers = items = _NAMES

    def write(self, outgoing: Outgoing) -> str:
        r"""Return lines ``submission:user:user``.

        >>> START().write(Outgoing({"item": [4, 7, 4], "reviewer": ["ann", "ann", "bob"]}))
        '4:ann:bob\n7:ann\n'
        """
        self.expect_taken(outgoing)
        return "".join(f"{item}:{':'.join(map(str, who))}\n" for item, who in outgoing.by_item().items())
