"""pretalx: the exports of its pages as CSV and JSON, answers of its API, and the assignments that it imports."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from reviewgraph._base.text import counted
from reviewgraph.formats.columns import normalise
from reviewgraph.formats.files import quote_all
from reviewgraph.formats.systems.system import ALIAS, MEMBER, Accepted, Export, Outgoing, Rule, System, Use, in_json
from reviewgraph.formats.tables import Grid, Line, Table, from_records, objects, to_grid

# The code of a proposal or a person: letters and digits that cannot be confused.
_CODE = re.compile(r"[A-HJ-NP-Z3789]{6,16}")
#: Columns of the export of reviews that are not answers to questions.
_FIXED = ("score", "text", "proposal_id", "proposal_title", "created", "updated", "reviewer_name", "reviewer_email")
#: "Score in “Impact”": pretalx leaves these columns empty, and adds others by the names of the categories.
_EMPTY = "score_in_"
#: States of proposals that are out, and of decided ones, which take no further review.
_GONE = ("withdrawn", "canceled", "draft")
_DECIDED = ("accepted", "confirmed", "rejected")


def is_code(label: str) -> bool:
    return bool(_CODE.fullmatch(label.strip()))


def _coded(column: str, grid: Grid) -> bool:
    return bool(grid.lines) and all(map(is_code, grid.column(column)))


def _page_reviews(name: str, table: Table) -> Grid | None:
    """Return the exported reviews of a page without its empty columns; None if they are of another system."""
    grid = to_grid(table)
    if not _coded("Proposal ID", grid):
        return None
    kept = [place for place, text in enumerate(grid.header) if not normalise(text).startswith(_EMPTY)]
    lines = (Line([line.cells[place] for place in kept], line.place) for line in grid.lines)
    reviews = Grid(name, [grid.header[place] for place in kept], lines)
    further = [text for text in reviews.header if normalise(text) not in _FIXED]
    if further and reviews.position("Score") is not None:
        reviews.notes.append(
            f"Score is the category of this name where there is one, and otherwise the total; {quote_all(further)} "
            "may be named instead, as in --score NAME"
        )
    return reviews


def _page_proposals(name: str, table: Table) -> Grid | None:
    grid = to_grid(table)
    return grid if _coded("ID", grid) else None


def _records(name: str, content: Any, needs: str, extract: Callable[[str, Table], Grid | None]) -> Grid | None:
    rows = objects(content)
    return extract(name, from_records(name, rows, "row")) if rows and all(needs in row for row in rows) else None


def _results(content: Any) -> list[dict[str, Any]]:
    """Return the objects of an answer of the API, or of a list of them."""
    return objects(content.get("results") if isinstance(content, dict) else content)


def _paged(grid: Grid, content: Any) -> Grid:
    """Note if an answer of the API is one page of several."""
    if isinstance(content, dict) and (content.get("next") or content.get("previous")):
        grid.notes.append(
            f"one page with {len(_results(content))} of {content.get('count')}; give all pages, or ask for more at a "
            "time (?page_size=250)"
        )
    return grid


def _one(value: Any, key: str) -> Any:
    """Return the value of an object for a key, or the object itself if it is not expanded."""
    return value.get(key) if isinstance(value, dict) else value


def _category(category: Any) -> str:
    """Return the name of a category of scores in any language, or its number if it is not expanded."""
    if not isinstance(category, dict):
        return f"category {category}"
    name = category.get("name")
    return str(next(iter(name.values()), "") if isinstance(name, dict) else name)


def _api_reviews(name: str, content: Any) -> Grid | None:
    reviews = _results(content)
    if not reviews or not all({"submission", "score", "scores"} <= set(review) for review in reviews):
        return None
    records = [
        {
            # A category may have the name of one of our fields, which then counts.
            **{_category(score.get("category")): score.get("value") for score in objects(review["scores"])},
            "submission": _one(review["submission"], "code"),
            **{key: submission.get(key) for key in ("title", "state")},
            "user": _one(review.get("user"), "code"),
            "score": review["score"],
        }
        for review in reviews
        for submission in [review["submission"] if isinstance(review["submission"], dict) else {}]
    ]
    return _paged(from_records(name, records, "review"), content)


def _api_proposals(name: str, content: Any) -> Grid | None:
    proposals = _results(content)
    if not proposals or not all({"code", "title", "state", "speakers"} <= set(proposal) for proposal in proposals):
        return None
    records = [
        {
            "submission": proposal["code"],
            "title": proposal["title"],
            "state": proposal["state"],
            "assigned_reviewers": [_one(who, "code") for who in _listed(proposal.get("assigned_reviewers"))],
            "speakers": [_one(who, "email") or _one(who, "code") for who in _listed(proposal["speakers"])],
        }
        for proposal in proposals
    ]
    return _paged(from_records(name, records, "submission"), content)


def _listed(content: Any) -> list[Any]:
    return content if isinstance(content, list) else []


def _each(column: str, becomes: str, table: Table) -> Grid:
    """Return a row for each person of a column; one without a name for a proposal without people there."""
    grid = to_grid(table)
    names = ("submission", "title", "state")
    cells = zip(grid.lines, grid.column(column), *map(grid.column, names), strict=True)
    lines = (Line([*paper, who], line.place) for line, several, *paper in cells for who in several.split(";"))
    people = Grid(grid.name, [*names, becomes], lines)
    people.notes = list(grid.notes)
    return _with_decided(people)


def _with_decided(table: Table) -> Grid:
    grid = table if isinstance(table, Grid) else to_grid(table)
    states = next((name for name in ("state", "Proposal state") if grid.position(name) is not None), "")
    papers = next(name for name in ("submission", "ID") if grid.position(name) is not None)
    decided = {
        paper for paper, state in zip(grid.column(papers), grid.column(states), strict=True) if state in _DECIDED
    }
    if states and decided:
        count = counted(len(decided), "paper is", "papers are")
        grid.notes.append(f"{count} decided on; pretalx takes no more reviews of them")
    return grid


def _api_teams(name: str, content: Any) -> Grid | None:
    """Return address by code of the members of reviewing teams."""
    teams = _results(content)
    if not teams or not all({"members", "is_reviewer"} <= set(team) for team in teams):
        return None
    people = [who for team in teams if team["is_reviewer"] for who in objects(team["members"])]
    known = {str(who.get("code")): str(who["email"]) for who in people if who.get("email")}
    if not known:
        return None
    return _paged(
        from_records(name, [{ALIAS: code, MEMBER: email} for code, email in known.items()], "member"), content
    )


def _assignments(name: str, content: Any) -> Grid | None:
    """Return the file that pretalx imports, proposals by reviewer or the reverse, distinguished by addresses."""
    if not isinstance(content, dict) or not content or not all(isinstance(value, list) for value in content.values()):
        return None
    pairs = [(key, entry) for key, several in content.items() for entry in several]
    if not all(isinstance(entry, str) and _is_person(key) and _is_person(entry) for key, entry in pairs):
        return None
    # Addresses are those of reviewers; without any the keys are reviewers.
    by_address, swapped = (any("@" in pair[place] for pair in pairs) for place in range(2))
    if not pairs or (swapped and by_address):
        return None
    records = [
        {"reviewer": entry, "item": key} if swapped else {"reviewer": key, "item": entry} for key, entry in pairs
    ]
    return from_records(name, records, "pair")


def _standing(column: str) -> Rule:
    return Rule(column, lambda state: state not in _GONE, "proposal is withdrawn, cancelled or a draft", means="out")


_REVIEWED = Use(
    "reviews",
    {
        "item": ("Proposal ID",),
        "reviewer": ("Reviewer email", "Reviewer name"),
        "score": ("Score",),
        "title": ("Proposal title",),
        "submitted_at": ("Created",),
    },
)
_PROPOSED = Use(
    "papers",
    {"item": ("ID",), "title": ("Proposal title",)},
    rules=(_standing("Proposal state"),),
    reshape=_with_decided,
)
_PAPER = {"item": ("submission",)}
_REVIEWERS = partial(_each, "assigned_reviewers", "reviewer")
_SPEAKERS = partial(_each, "speakers", "speaker")
#: A proposal without a reviewer has no reviews.
_USED = Rule("reviewer", bool)
_SPOKEN = Rule("speaker", bool)


def _is_person(label: str) -> bool:
    return "@" in label or is_code(label)


_REMEDY = "name proposals by the codes that pretalx's exports have, and reviewers by code or address"


class Pretalx(System):
    """pretalx: exports of its pages and its API, and the assignments that it imports."""

    name = "pretalx"
    title = "pretalx"
    exports = (
        Export(
            "pretalx's reviews", (_REVIEWED,), ("proposal_id", "reviewer_email|reviewer_name"), extract=_page_reviews
        ),
        Export("pretalx's proposals", (_PROPOSED,), ("id", "proposal_title|proposal_state"), extract=_page_proposals),
        in_json("pretalx's reviews", partial(_records, needs="Proposal ID", extract=_page_reviews), _REVIEWED),
        in_json("pretalx's proposals", partial(_records, needs="ID", extract=_page_proposals), _PROPOSED),
        in_json(
            "pretalx's reviews",
            _api_reviews,
            Use("reviews", {**_PAPER, "reviewer": ("user",), "score": ("score",)}, rules=(_standing("state"),)),
        ),
        in_json(
            "pretalx's proposals",
            _api_proposals,
            Use("assignments", _PAPER, (_standing("state"), _USED), reshape=_REVIEWERS),
            Use("papers", _PAPER, rules=(_standing("state"),), reshape=_with_decided),
            Use("conflicts", _PAPER | {"reviewer": ("speaker",)}, (_SPOKEN,), reshape=_SPEAKERS),
            Use("authors", _PAPER | {"author": ("speaker",)}, (_SPOKEN,), reshape=_SPEAKERS),
            lists=".+",
        ),
        in_json("pretalx's teams", _api_teams, Use("names"), Use("reviewers", {"reviewer": (MEMBER,)})),
        in_json("assignments for pretalx", _assignments, Use("assignments")),
    )
    extras = (*_FIXED[1:], "submission", "title", "state", "user", "assigned_reviewers", "speakers", "id")
    words = "pretalx's review assignments, as JSON"
    suffix = ".json"
    reviewers = Accepted(_is_person, "codes or addresses of reviewers", _REMEDY)
    items = Accepted(is_code, "codes of proposals", _REMEDY)
    place = 'pretalx, Assign reviewers, Actions, Import assignments ("Keep current assignments" only adds)'
    advice: ClassVar = {
        "conflicts": "No conflicts given: --conflicts submissions.json (?expand=speakers); pretalx assigns proposals "
        "to their speakers, too."
    }

    def write(self, outgoing: Outgoing) -> str:
        r"""Return an object of lists: the codes of proposals by the address or code of a reviewer.

        >>> print(Pretalx().write(Outgoing({"item": ["FCTN9J", "KEKMUV"], "reviewer": ["ann@x.org"] * 2})), end="")
        {
        "ann@x.org": ["FCTN9J", "KEKMUV"]
        }
        """
        self.expect_taken(outgoing)
        proposals: dict[str, list[str]] = {}
        for reviewer, item in outgoing.pairs:
            proposals.setdefault(str(reviewer), []).append(str(item))
        rows = ",\n".join(f"{json.dumps(who, ensure_ascii=False)}: {json.dumps(of)}" for who, of in proposals.items())
        return f"{{\n{rows}\n}}\n" if rows else "{}\n"
