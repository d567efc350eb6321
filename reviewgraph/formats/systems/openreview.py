"""OpenReview: notes, edges and groups of its API, and the files of its matcher."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import Any

from reviewgraph._base.errors import InputError, refused
from reviewgraph.formats.columns import SCORE, normalise
from reviewgraph.formats.files import quote_all, terms
from reviewgraph.formats.systems.system import ALIAS, MEMBER, Export, Outgoing, Rule, System, Use, in_json, is_alias
from reviewgraph.formats.tables import Grid, Line, from_records, objects
from reviewgraph.formats.values import parse_number

#: Purposes of edges, by the last part of their invitation.
_ASSIGNED = ("assignment", "proposed_assignment", "invite_assignment")
_SCORED = ("affinity_score", "aggregate_score")
_NO_REVIEWS = ("meta", "ethics", "senior")
#: Start of the last part of the venue of submissions that were withdrawn or rejected without review.
_GONE = re.compile(r"(?:withdrawn|desk_?reject)", re.I)


def _listed(content: Any, name: str) -> list[dict[str, Any]]:
    """Return a list of objects, or that which an answer of the API holds under a name."""
    return objects(content.get(name) if isinstance(content, dict) else content)


def _invitations(note: dict[str, Any]) -> Iterator[str]:
    """Return the last parts of the invitations of a note or an edge, in lower case; API 1 has one, API 2 several."""
    invitations = note.get("invitations", note.get("invitation"))
    for invitation in invitations if isinstance(invitations, list) else [invitations]:
        if isinstance(invitation, str):
            yield invitation.rpartition("/-/")[2].casefold()


def _is_submission(note: dict[str, Any]) -> bool:
    """Return whether a note is a submission, whatever its venue calls submissions; API 2 has the venue of each."""
    return "venueid" in note["content"] or any(name.endswith("submission") for name in _invitations(note))


def _venue(note: dict[str, Any]) -> str:
    """Return the venue of a submission in API 2; in API 1 its invitation, which a withdrawal changes."""
    venue = _value(note["content"].get("venueid"))
    return venue if isinstance(venue, str) else str(note.get("invitation") or "")


def _stands(venue: str) -> bool:
    return not _GONE.match(venue.rpartition("/")[2])


def _notes(content: Any) -> list[dict[str, Any]]:
    """Return all notes that are not deleted, including the replies inside others."""
    notes = [note for note in _listed(content, "notes") if isinstance(note.get("content"), dict)]
    for note in list(notes):
        details = note.get("details")
        for replies in ("directReplies", "replies"):
            notes += objects(details.get(replies)) if isinstance(details, dict) else []
    return [note for note in notes if not note.get("ddate") and isinstance(note.get("content"), dict)]


def _name(entry: Any) -> str | None:
    return entry if isinstance(entry, str) else None


def _value(entry: Any) -> Any:
    """Return a value of a note's content, which API 2 wraps."""
    return entry.get("value") if isinstance(entry, dict) else entry


def _reviews(name: str, content: Any) -> Grid | None:
    """Return the reviews, with those fields of their content that begin with a number or have usual names of scores."""
    notes = _notes(content)
    reviews: dict[str | int, dict[str, Any]] = {}
    metas: dict[str | int, dict[str, Any]] = {}
    for number, note in enumerate(notes):
        kinds = [kind for kind in _invitations(note) if kind.endswith("review")]
        if any(not any(word in kind for word in _NO_REVIEWS) for kind in kinds):
            reviews[_name(note.get("id")) or number] = note
        if any("meta" in kind for kind in kinds):
            metas[_name(note.get("id")) or number] = note
    if not reviews:
        return None
    papers = {paper["forum"]: paper for paper in _submissions(notes)}
    fields = {
        key
        for note in reviews.values()
        for key, entry in note["content"].items()
        for value in [_value(entry)]
        if normalise(key) in SCORE.names
        or (isinstance(value, int | float | str) and parse_number(str(value)) is not None)
    } - {"title"}
    records = [
        {
            "forum": note.get("forum"),
            "signature": note.get("signatures"),
            "title": None,
            "venueid": None,
            **papers.get(_name(note.get("forum")), {}),
            "submitted_at": note.get("cdate") or note.get("tcdate"),
            **{key: _value(entry) for key, entry in note["content"].items() if key in fields},
        }
        for note in reviews.values()
    ]
    reviewed = {_name(note.get("forum")) for note in reviews.values()}
    idle = [paper for forum, paper in papers.items() if forum not in reviewed]
    above = [
        {"forum": note.get("forum"), "signature": note.get("signatures"), "of_meta_review": "yes"}
        for note in metas.values()
    ]
    return from_records(name, [*records, *idle, *above], "review")


def _submissions(notes: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"forum": _name(note.get("id")), "title": _value(note["content"].get("title")), "venueid": _venue(note)}
        for note in notes
        if _is_submission(note)
    ]


def _papers(name: str, content: Any) -> Grid | None:
    records = _submissions(_notes(content))
    return from_records(name, records, "submission") if records else None


def _edges(content: Any) -> list[dict[str, Any]]:
    """Return the edges that are not deleted, groups of edges split."""
    edges = _listed(content, "edges") or _listed(content, "groupedEdges")
    if edges and all(isinstance(group.get("id"), dict) and "values" in group for group in edges):
        edges = [{**group["id"], **edge} for group in edges for edge in objects(group["values"])]
    fitting = edges and all("head" in group and "tail" in group for group in edges)
    return [edge for edge in edges if not edge.get("ddate")] if fitting else []


def _edges_of(names: Collection[str], head: str, tail: str, name: str, content: Any) -> Grid | None:
    edges = [edge for edge in _edges(content) if set(names) & set(_invitations(edge) or ())]
    if not edges:
        return None
    runs = sorted({str(edge.get("label")) for edge in edges if "proposed_assignment" in _invitations(edge)})
    if len(runs) > 1:
        raise InputError(
            f"{name}: proposed assignments of {len(runs)} runs of the matcher ({quote_all(runs, 6)}); keep the edges "
            "of one, for example client.get_all_edges(invitation=..., label=...)"
        )
    records = [
        {
            head: edge["head"],
            tail: edge["tail"],
            "weight": edge.get("weight"),
            "label": edge.get("label"),
            **({"asked_at": asked} if (asked := edge.get("cdate") or edge.get("tcdate")) else {}),
        }
        for edge in edges
    ]
    return from_records(name, records, "edge")


def _bare_edges(name: str, content: Any) -> Grid | None:
    edges = [edge for edge in _edges(content) if not list(_invitations(edge))]
    keys = ("head", "tail", "weight", "label")
    return from_records(name, [{key: edge.get(key) for key in keys} for edge in edges], "edge") if edges else None


def _matched(name: str, content: Any) -> Grid | None:
    if not isinstance(content, dict) or not all(isinstance(users, list) for users in content.values()):
        return None
    users = [user for users in content.values() for user in users]
    if not users or not all(isinstance(user, dict) and "user" in user for user in users):
        return None
    records = [
        {"paper": paper, "user": user["user"], "aggregate_score": user.get("aggregate_score")}
        for paper, users in content.items()
        for user in users or [{"user": ""}]
    ]
    return from_records(name, records, "assignment")


def _groups(name: str, content: Any) -> Grid | None:
    """Return the person behind each anonymous group: an object of names, or groups with one member each."""
    if isinstance(content, dict) and content and all(isinstance(person, str) for person in content.values()):
        pairs = list(content.items())
    else:
        groups = _listed(content, "groups")
        members = [group.get("members") for group in groups]  # a group without read access has none
        pairs = [
            (str(group.get("id")), str(known[0]))
            for group, known in zip(groups, members, strict=True)
            if isinstance(known, list) and len(known) == 1
        ]
    known = [(alias, person) for alias, person in pairs if is_alias(alias) and not is_alias(person)]
    return from_records(name, [{ALIAS: alias, MEMBER: person} for alias, person in known], "group") if known else None


def _headerless(width: int, header: Sequence[str], name: str, rows: Sequence[Line]) -> Grid | None:
    if not all(len(line.cells) == width and parse_number(line.cells[-1]) is not None for line in rows):
        return None
    return Grid(name, header, rows) if any(line.cells[-2].startswith("~") for line in rows) else None


def _edge_export(what: str, names: Collection[str], *uses: Use, head: str = "head", tail: str = "tail") -> Export:
    return in_json(f"OpenReview's {what}", partial(_edges_of, names, head, tail), *uses)


_PAIRED = {"item": ("head",), "reviewer": ("tail",)}
#: A paper without users has no reviews.
_USED = Rule("user", bool)
#: A submission without a signature has no reviews.
_SIGNED = Rule("signature", bool)
_NO_META = Rule("of_meta_review", lambda cell: not cell, means="meta")
_STANDING = Rule("venueid", _stands, "submission is withdrawn or desk-rejected", means="out")
_CONFLICT = Rule("weight", lambda cell: parse_number(cell) == -1)

#: The default label of proposed edges.
LABEL = "reviewgraph"
#: Ends of the invitations of proposed and of deployed assignments.
_PROPOSED = "/-/Proposed_Assignment"
_DEPLOYED = "/-/Assignment"
#: The weight of an edge without an affinity.
WEIGHT = 1.0


class OpenReview(System):
    """OpenReview: notes, edges and groups, and edges as they are posted."""

    name = "openreview"
    title = "OpenReview"
    exports = (
        in_json(
            "OpenReview's reviews",
            _reviews,
            Use("reviews", {"item": ("forum",), "reviewer": ("signature",)}, rules=(_NO_META, _STANDING, _SIGNED)),
            lists=".+",
        ),
        in_json("OpenReview's submissions", _papers, Use("papers", {"item": ("forum",)}, rules=(_STANDING,))),
        _edge_export(
            "edges of assignment",
            _ASSIGNED,
            Use("assignments", _PAIRED),
            Use("papers", {"item": ("head",)}),
            Use("affinities", {**_PAIRED, "affinity": ("weight",)}),
        ),
        _edge_export("edges of conflict", ("conflict",), Use("conflicts", _PAIRED)),
        _edge_export("edges of bids", ("bid",), Use("bids", {**_PAIRED, "bid": ("label",)})),
        _edge_export("edges of affinity", _SCORED, Use("affinities", {**_PAIRED, "affinity": ("weight",)})),
        _edge_export(
            "quotas",
            ("custom_max_papers",),
            Use("reviewers", {"reviewer": ("tail",), "load": ("weight",)}),
            head="group",
        ),
        _edge_export(
            "demands", ("custom_user_demands",), Use("papers", {"item": ("head",), "demand": ("weight",)}), tail="group"
        ),
        in_json(
            "edges of OpenReview without an invitation",
            _bare_edges,
            Use("assignments", _PAIRED),
            Use("conflicts", _PAIRED),
            Use("bids", {**_PAIRED, "bid": ("label",)}),
            Use("affinities", {**_PAIRED, "affinity": ("weight",)}),
            Use("reviewers", {"reviewer": ("tail",), "load": ("weight",)}),
        ),
        in_json(
            "the assignment of OpenReview's matcher",
            _matched,
            Use("assignments", rules=(_USED,)),
            Use("affinities", rules=(_USED,)),
            Use("papers"),
            lists=".+",
            say="papers that got no reviewer are not in it; alternates.json of the same run, as --items, has all",
        ),
        in_json("OpenReview's groups", _groups, Use("names")),
        Export(
            "scores or constraints for OpenReview's matcher",
            (Use("affinities", {"affinity": ("weight",)}), Use("conflicts", rules=(_CONFLICT,))),
            container="lines",
            extract=partial(_headerless, 3, ("paper", "reviewer", "weight")),
        ),
        Export(
            "quotas for OpenReview's matcher",
            (Use("reviewers"),),
            container="lines",
            extract=partial(_headerless, 2, ("reviewer", "load")),
        ),
    )
    extras = terms(
        """title, number, confidence, reviewer_confidence, signature, forum, venueid, label, invitation, submitted_at,
        asked_at, of_meta_review"""
    )
    words = "OpenReview's edges, as JSON"
    place = "OpenReview, by client.post_edge of openreview-py, one edge after the other"
    suffix = ".json"
    options = ("label", "invitation")

    def write(self, outgoing: Outgoing) -> str:
        r"""Return a list of edges; their readers and writers come from the invitation under which they are posted.

        A label identifies a run of the matcher; the invitation of deployed edges does not accept one.

        >>> edges = Outgoing({"item": ["n1"], "reviewer": ["~Ann_Bo1"]}, weights=[0.5], label="run-2")
        >>> print(OpenReview().write(edges), end="")
        [
        {"head": "n1", "tail": "~Ann_Bo1", "weight": 0.5, "label": "run-2"}
        ]
        """
        invitation = outgoing.invitation or ""
        if outgoing.label is not None and invitation.endswith(_DEPLOYED):
            expected = f"no label under the invitation {invitation}, whose edges have none"
            remedy = f"leave --label out, or name the invitation that ends in {_PROPOSED}"
            raise refused(f"to {self.name}", expected, repr(outgoing.label), remedy)
        label = outgoing.label or ((outgoing.stage or LABEL) if invitation.endswith(_PROPOSED) else None)
        end = {} if label is None else {"label": label}
        weights = outgoing.weights or [WEIGHT] * len(outgoing.pairs)
        start: dict[str, Any] = {} if outgoing.invitation is None else {"invitation": outgoing.invitation}
        edges = [
            {**start, "head": str(item), "tail": str(reviewer), "weight": weight, **end}
            for (reviewer, item), weight in zip(outgoing.pairs, weights, strict=True)
        ]
        rows = ",\n".join(json.dumps(edge, ensure_ascii=False, allow_nan=False) for edge in edges)
        return f"[\n{rows}\n]\n" if edges else "[]\n"
