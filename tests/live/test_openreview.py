"""What openreview-py writes is read, and what we write it takes; skipped where the package is not installed."""

from __future__ import annotations

import json
import shlex
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
from click.testing import CliRunner

from reviewgraph import read_reviews
from reviewgraph.cli import main
from reviewgraph.formats.side import read_conflicts, read_items, read_reviewers
from tests.conference_systems import OpenReview
from tests.reviewgraph.reading_cases import found

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    openreview = pytest.importorskip("openreview")
    from openreview.api import Edge, Group, Note, OpenReviewClient
    from openreview.venue import Venue
    from openreview.venue.invitation import InvitationBuilder

#: A chair saves what the package hands out either way.
FORMS = pytest.mark.parametrize("saved", [lambda one: one.to_json(), vars], ids=["to_json", "vars"])
Saved = Callable[[Any], dict[str, Any]]


@pytest.fixture
def venue() -> Any:
    client = MagicMock(baseurl="http://localhost:3001")
    venue = Venue(client, OpenReview.venue, "openreview.net/Support")
    venue.submission_stage = openreview.stages.SubmissionStage()
    return venue


@pytest.fixture
def posted() -> list[dict[str, Any]]:
    """What a server was sent."""
    return []


@pytest.fixture
def client(posted: list[dict[str, Any]]) -> Any:
    """Return a client of the package, but for the network."""
    client = OpenReviewClient.__new__(OpenReviewClient)
    client.headers, client.edges_url, client.bulk_edges_url = {}, "edges", "edges/bulk"

    def take(url: str, json: Any, headers: Any) -> Any:
        posted.extend(json if isinstance(json, list) else [json])
        return answered(json)

    client.session = MagicMock(post=take)
    return client


def answered(content: Any) -> Any:
    """Return the answer of a server."""
    return MagicMock(status_code=200, json=lambda: content)


def invited(venue: Any, *, deployed: bool) -> Mapping[str, Any]:
    """Return the fields that an edge of assignment may have, as the package sets them up for a venue."""
    reviewers = venue.get_reviewers_id()
    if deployed:
        saved: list[Any] = []
        builder = InvitationBuilder(venue)
        builder.save_invitation = lambda invitation, **_: saved.append(invitation)
        builder.set_assignment_invitation(reviewers)
        return saved[0].edge
    from openreview.venue.matching import Matching

    venue.client.get_group.return_value = Group(id=reviewers, members=[])
    venue.invitation_builder.save_invitation = MagicMock()
    Matching(venue, Group(id=reviewers, members=[]))._create_edge_invitation(venue.get_assignment_id(reviewers))
    return venue.invitation_builder.save_invitation.call_args.args[0].edge


def export(conference: OpenReview) -> None:
    for name, data in conference.files().items():
        Path(name).write_bytes(data)


@pytest.mark.parametrize("deployed", [True, False], ids=["assigned", "proposed"])
def test_the_upload_is_what_its_invitation_takes(
    deployed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, venue: Any, client: Any, posted: list[Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    export(OpenReview())
    invitation = venue.get_assignment_id(venue.get_reviewers_id(), deployed=deployed)
    command = "plan assignments.json --conflicts conflicts.json --to openreview -o edges.json --invitation"
    done = CliRunner().invoke(main, [*shlex.split(command), invitation])
    assert done.exit_code == 0, done.output
    written = json.loads(Path("edges.json").read_text())
    # As docs/how-to/upload.md posts it.
    for edge in written:
        client.post_edge(Edge(**edge, signatures=[venue.get_program_chairs_id()]))
    assert [Edge.from_json(edge).to_json() for edge in written] == written
    assert posted == [{**edge, "signatures": [venue.get_program_chairs_id()]} for edge in written]
    allowed = invited(venue, deployed=deployed)
    assert set(posted[0]) - {"invitation"} <= set(allowed)
    asked = {name for name, of in allowed.items() if isinstance(of, dict) and not of["param"].get("optional")}
    assert asked <= set(posted[0]), "a field that an edge has to have is missing"
    assert ("label" in allowed) is not deployed
    one_by_one, posted[:] = list(posted), []
    edges = [Edge.from_json({**edge, "signatures": [venue.get_program_chairs_id()]}) for edge in written]
    openreview.tools.post_bulk_edges(client, edges)
    assert posted == one_by_one


def test_the_rounds_of_a_process_are_deployed_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, venue: Any
) -> None:
    """Each round is a run of proposed edges, which the package's deployment adds under the label of the round."""
    from openreview.venue.matching import Matching

    monkeypatch.chdir(tmp_path)
    conference = OpenReview(scored=True)
    export(conference)
    reviewers = venue.get_reviewers_id()
    proposed, deployed = (venue.get_assignment_id(reviewers, deployed=of) for of in (False, True))
    before = {(edge["tail"], edge["head"]) for edge in json.loads(Path("assignments.json").read_text())}
    files = f"reviews.json groups.json assignments.json --conflicts conflicts.json --invitation {proposed}"
    store = [{**edge, "invitation": proposed} for edge in json.loads(Path("assignments.json").read_text())]
    store = [
        {**edge, "label": "reviewgraph", "readers": ["R"], "writers": ["W"], "signatures": ["S"]} for edge in store
    ]
    asked: list[set[tuple[str, str]]] = []
    budget = 12
    for left, title in ((2, "R2"), (1, "R3")):
        words = f"--for decision --select 3 --max-reviews {budget} --rounds {left} --label {title}"
        line = f"plan {files} {words} --to openreview -o edges.json --json"
        done = CliRunner().invoke(main, shlex.split(line))
        assert done.exit_code == 0, done.output
        budget -= json.loads(done.stdout)["rounds"]["now"]
        edges = [Edge.from_json(edge).to_json() for edge in json.loads(Path("edges.json").read_text())]
        assert edges
        assert {edge["label"] for edge in edges} == {title}
        # What a server adds to an edge that is posted.
        store += [{**edge, "readers": ["R"], "writers": ["W"], "signatures": ["S"]} for edge in edges]
        asked.append({(edge["tail"], edge["head"]) for edge in edges})
        made = deployed_by(venue, Matching(venue, Group(id=reviewers, members=[])), title, store, conference)
        assert {edge["invitation"] for edge in made} == {deployed}
        assert not any("label" in edge for edge in made)
        assert [(edge["tail"], edge["head"]) for edge in made] == sorted(asked[-1], key=lambda pair: (pair[1], pair[0]))
        old = json.loads(Path("assignments.json").read_text())
        Path("assignments.json").write_text(json.dumps([*old, *made]))
    assert not before & asked[0]
    assert not (before | asked[0]) & asked[1]


def deployed_by(venue: Any, matching: Any, title: str, store: list[Any], conference: OpenReview) -> list[Any]:
    """Return the edges that the package posts where it deploys a run, from a server that has the edges of a store."""
    made: list[Any] = []

    def grouped(invitation: str, label: str | None = None, **_: Any) -> list[Any]:
        here = [edge for edge in store if (edge["invitation"], edge.get("label")) == (invitation, label)]
        heads = dict.fromkeys(edge["head"] for edge in here)
        return [{"id": {"head": head}, "values": [edge for edge in here if edge["head"] == head]} for head in heads]

    venue.client.get_grouped_edges = grouped
    venue.client.get_invitation.return_value.content = {"submission_committee_name": {"value": "Reviewers"}}
    venue.client.get_all_groups.return_value = []
    papers = [
        Note(id=f"forum{paper}", number=int(paper), details={"directReplies": []}, invitations=[])
        for paper in conference.papers
    ]
    for paper in papers:
        paper.content = {}
    venue.get_submissions = lambda **_: papers
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(openreview.tools, "post_bulk_edges", lambda client, edges: made.extend(edges))
        matching.deploy_assignments(title, overwrite=False)
    return sorted((edge.to_json() for edge in made), key=lambda edge: (edge["head"], edge["tail"]))


@FORMS
def test_edges_of_the_package_are_read_as_the_plain_ones_are(
    saved: Saved, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, venue: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    reviewers = venue.get_reviewers_id()
    ids = {
        "assignments.json": venue.get_assignment_id(reviewers, deployed=True),
        "conflicts.json": venue.get_conflict_score_id(reviewers),
    }
    for name, data in OpenReview().files().items():
        if name in ids:
            Path(name).write_bytes(data)
            edges = [Edge(**{**edge, "invitation": ids[name]}, cdate=1) for edge in json.loads(data)]
            Path(f"own-{name}").write_text(json.dumps([saved(edge) for edge in edges]))
    assert found(read_reviews("own-assignments.json")) == found(read_reviews("assignments.json"))
    assert set(pairs(read_conflicts("own-conflicts.json"))) == set(pairs(read_conflicts("conflicts.json")))


def pairs(read: Any) -> list[tuple[str, str]]:
    return [(read.reviewers[j], read.items[i]) for j, i in zip(read.reviewer, read.item, strict=True)]


def test_grouped_edges_are_read_as_the_client_returns_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, client: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    wanted = {("~A1", "p"): None, ("~A1", "q"): None, ("~B1", "q"): None}
    by_tail = [
        {"id": {"tail": who}, "values": [{"head": of, "weight": 1} for one, of in wanted if one == who]}
        for who in ("~A1", "~B1")
    ]
    client.session.get = lambda *_, **__: answered({"groupedEdges": by_tail})
    answer = client.get_grouped_edges(invitation="V/Reviewers/-/Assignment", groupby="tail", select="head,weight")
    Path("grouped.json").write_text(json.dumps(answer))
    assert found(read_reviews("grouped.json")) == wanted
    quotas = [{"id": {"head": "V/Reviewers"}, "values": [{"tail": "~A1", "weight": 4}, {"tail": "~B1", "weight": 2}]}]
    client.session.get = lambda *_, **__: answered({"groupedEdges": quotas})
    answer = client.get_grouped_edges(invitation="V/Reviewers/-/Custom_Max_Papers", select="tail,weight")
    Path("quotas.json").write_text(json.dumps(answer))
    assert {who: one.load for who, one in read_reviewers("quotas.json").items()} == {"~A1": 4, "~B1": 2}


def notes_of(venue: Any) -> tuple[list[Any], list[Any], list[Any]]:
    """Return submissions, reviews and groups: one withdrawn, one desk-rejected, one that nobody reviews."""
    venues = {
        "n1": venue.get_submission_venue_id(),
        "n2": venue.get_withdrawn_submission_venue_id(),
        "n3": venue.get_desk_rejected_submission_venue_id(),
        "n4": f"{OpenReview.venue}/Rejected_Submission",
        "n5": venue.get_submission_venue_id(),
    }
    reviews, groups = [], []
    for number, forum in enumerate(["n1", "n1", "n2", "n3", "n4"], 1):
        signer = f"{OpenReview.venue}/Submission{forum[1]}/Reviewer_Ab{number}d"
        groups.append(Group(id=signer, members=[f"~Re_Viewer{1 + number % 2}"], anonids=None))
        content = {"rating": {"value": number}, "review": {"value": "Fine"}, "confidence": {"value": 3}}
        invitations = [f"{OpenReview.venue}/Submission{forum[1]}/-/Official_Review", f"{OpenReview.venue}/-/Edit"]
        made = Note(id=f"r{number}", forum=forum, replyto=forum, signatures=[signer], invitations=invitations)
        made.content, made.cdate = content, 1767225600000
        reviews.append(made)
    first = f"{OpenReview.venue}/Submission1"
    meta = Note(id="m1", forum="n1", replyto="n1", invitations=[f"{first}/-/Meta_Review"])
    meta.content, meta.signatures = {"recommendation": {"value": 4}}, [f"{first}/Area_Chair_X1yz"]
    groups.append(Group(id=f"{first}/Reviewers", members=["~Re_Viewer1", "~Re_Viewer2"]))
    groups.append(Group(id=f"{first}/Authors"))
    submissions = [
        Note(
            id=forum,
            forum=forum,
            number=int(forum[1]),
            invitations=[f"{OpenReview.venue}/-/Submission", f"{OpenReview.venue}/-/Post_Submission"],
            content={"title": {"value": f"On {forum}"}, "venue": {"value": "so"}, "venueid": {"value": of}},
            details={"directReplies": [one.to_json() for one in (*reviews, meta) if one.forum == forum]},
        )
        for forum, of in venues.items()
    ]
    return submissions, [*reviews, meta], groups


@FORMS
def test_notes_of_withdrawn_and_desk_rejected_submissions_are_left_out(
    saved: Saved, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, venue: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    submissions, reviews, groups = notes_of(venue)
    Path("groups.json").write_text(json.dumps([saved(group) for group in groups]))
    Path("reviews.json").write_text(json.dumps([saved(note) for note in (*submissions, *reviews)]))
    Path("submissions.json").write_text(json.dumps([saved(note) for note in submissions]))
    wanted = {("~Re_Viewer2", "n1"): 1, ("~Re_Viewer1", "n1"): 2, ("~Re_Viewer2", "n4"): 5}
    notes: list[str] = []
    read = read_reviews("reviews.json", "groups.json", note=notes.append)
    assert found(read) == wanted
    assert set(read.items) == {"n1", "n4", "n5"}
    assert "1 meta review left out" in notes
    assert {paper for _, paper in read.origin.meta} == {"n1"}
    (said,) = [note for note in notes if "withdrawn or desk-rejected" in note]
    assert said.startswith("reviews.json: 2 rows left out, whose submission is withdrawn or desk-rejected")
    assert set(read_items("submissions.json")) == {"n1", "n4", "n5"}
    edges = [Edge(forum, "~A1", "V/-/Assignment") for forum in ("n1", "n2", "n4")]
    Path("assigned.json").write_text(json.dumps([saved(edge) for edge in edges]))
    told: list[str] = []
    assigned = read_reviews("assigned.json", items="submissions.json", note=told.append)
    assert set(assigned.items) == {"n1", "n4", "n5"}
    assert found(assigned) == {("~A1", "n1"): None, ("~A1", "n4"): None}
    assert "1 review of papers that are withdrawn, rejected without review or not submitted left out" in told
