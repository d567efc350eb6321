"""Every download of a real HotCRP, byte for byte, against what its database held: versions 3.2 and 3.4, two stages."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest

from reviewgraph._base import InputError
from reviewgraph.formats import Columns, Spellings, side
from reviewgraph.formats.side import read_authors
from reviewgraph.io import read_reviews
from reviewgraph.table import Reviews

EXPORTS = Path(__file__).parents[2] / "hotcrp" / "exports"
EVERY = [f"{version}/stage{stage}" for version in ("3.2", "3.4") for stage in (1, 2)]
SCORED = [place for place in EVERY if place.endswith("2")]
COMMITTEE = {"primary", "secondary", "pc"}

Pair = tuple[str, str]


def truth(place: str, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader((EXPORTS / place / "truth" / f"{name}.csv").read_text("utf-8").splitlines()))


def hidden(place: str) -> set[str]:
    """The papers whose reviews the chair may not see, as HotCRP says it."""
    text = (EXPORTS / place / "labconf-pcassignments.csv").read_text("utf-8")
    return set(re.findall(r"^(\d+),none,", text, re.M))


def live(place: str) -> set[str]:
    return {row["id"] for row in truth(place, "papers") if row["status"] == "submitted"} - hidden(place)


def reviewed(place: str, types: set[str], papers: set[str], *, submitted: bool = False) -> set[Pair]:
    rows = [row for row in truth(place, "reviews") if row["type"] in types and row["paper"] in papers]
    return {(row["email"], row["paper"]) for row in rows if row["status"] == "submitted" or not submitted}


def pairs(found: Reviews | Columns, rows: np.ndarray | None = None) -> set[Pair]:
    kept = np.full(found.reviewer.size, True) if rows is None else rows
    codes = zip(found.reviewer[kept].tolist(), found.item[kept].tolist(), strict=True)
    return {(str(found.reviewers[j]), str(found.items[i])) for j, i in codes}


def read(place: str, *names: str, items: str | None = None) -> tuple[Reviews, list[str]]:
    notes: list[str] = []
    paths = [str(EXPORTS / place / name) for name in names]
    return read_reviews(*paths, items=str(EXPORTS / place / items) if items else None, note=notes.append), notes


@pytest.mark.parametrize("papers", ["labconf-data.csv", "labconf-data-submitted.csv", "labconf-data.json"])
@pytest.mark.parametrize("place", EVERY)
def test_assignments_of_the_committee_hold_every_live_paper(place: str, papers: str) -> None:
    if papers == "labconf-data-submitted.csv" and place in SCORED:
        pytest.skip("reviews of withdrawn papers are among the assignments, and this list does not say what they are")
    found, notes = read(place, "labconf-pcassignments.csv", items=papers)
    assert set(found.items) == live(place)
    assert pairs(found) == reviewed(place, COMMITTEE, live(place))
    assert found.origin.unlisted is None
    meta = [row for row in truth(place, "reviews") if row["type"] == "meta"]
    assert f"{len(meta)} meta reviews left out" in notes
    (paper,) = hidden(place)
    assert f"1 paper ({paper}) left out: whoever downloaded the files may not see who reviews it" in notes


@pytest.mark.parametrize("place", EVERY)
def test_assignments_alone_say_that_papers_nobody_reviews_cannot_be_in_them(place: str) -> None:
    found, _ = read(place, "labconf-pcassignments.csv")
    assert found.origin.unlisted is not None
    assert found.origin.unlisted.beside == str(EXPORTS / place / "labconf-data.csv")
    assert live(place) - set(found.items)
    assert found.origin.outsiders == frozenset()
    assert found.titles["1"] == "On fast paths 1"


@pytest.mark.parametrize("place", EVERY)
def test_reviews_of_the_interface_hold_external_ones_and_who_is_outside(place: str) -> None:
    found, _ = read(place, "api-reviews.json", items="labconf-data.csv")
    every = {*COMMITTEE, "external"}
    assert set(found.items) == live(place)
    assert pairs(found) == reviewed(place, every, live(place))
    assert pairs(found, found.scored) == reviewed(place, every, live(place), submitted=True)
    committee = {row["email"] for row in truth(place, "pc")}
    assert set(found.origin.outsiders or ()) == set(found.reviewers) - committee


@pytest.mark.parametrize("place", EVERY)
def test_the_file_for_review_quality_is_refused_with_what_is_read_in_its_place(place: str) -> None:
    with pytest.raises(InputError, match=r"in whose place the JSON of its API \(GET /reviews\) is read"):
        read(place, "labconf-rqc.json")


@pytest.mark.parametrize("name", ["labconf-scores.csv", "labconf-reviews.csv"])
@pytest.mark.parametrize("place", SCORED)
def test_scores_are_those_of_submitted_reviews(place: str, name: str) -> None:
    # Neither tells meta reviews; beside the assignments they are known.
    found, _ = read(place, name, "labconf-pcassignments.csv", items="labconf-data.csv")
    external = reviewed(place, {"external"}, live(place), submitted=True)
    assert pairs(found) == reviewed(place, COMMITTEE, live(place)) | external
    assert pairs(found, found.scored) == reviewed(place, COMMITTEE, live(place), submitted=True) | external
    assert set(found.origin.outsiders or ()) == {who for who, _ in external}
    alone, _ = read(place, name)
    assert alone.origin.unlisted is not None


@pytest.mark.parametrize("name", ["batch-wide", "batch-wide-site", "batch-narrow"])
@pytest.mark.parametrize("place", SCORED)
def test_the_tables_of_site_administrators_hide_nothing(place: str, name: str) -> None:
    every = {*COMMITTEE, "external", "meta"}
    papers = live(place) | hidden(place)
    found, _ = read(place, f"{name}.csv", items="labconf-data.csv")
    assert set(found.items) == papers
    assert pairs(found) == reviewed(place, every, papers, submitted=True)
    if name != "batch-wide-site":
        started, _ = read(place, f"{name}-all.csv")
        assert pairs(started, started.scored) == pairs(found)
        assert pairs(started) > pairs(found)


@pytest.mark.parametrize("place", EVERY)
def test_conflicts_are_those_of_the_papers_that_the_chair_may_see(place: str) -> None:
    expected = {(row["email"], row["paper"]) for row in truth(place, "conflicts") if row["paper"] not in hidden(place)}
    assert pairs(side.read_conflicts(EXPORTS / place / "labconf-pcconflicts.csv")) == expected
    assert pairs(side.read_conflicts(EXPORTS / place / "labconf-data.json")) >= expected


@pytest.mark.parametrize("place", EVERY)
def test_preferences_of_nothing_are_zero(place: str) -> None:
    path = EXPORTS / place / "labconf-allprefs.csv"
    rows = list(csv.DictReader(path.read_text("utf-8").splitlines()))
    table = side.read_bids(path).table
    assert table.score is not None
    barred = {(row["email"], row["paper"]) for row in rows if float(row["preference"] or 0) <= -100}
    conflicts = barred | {(row["email"], row["paper"]) for row in rows if row["conflict"]}
    assert pairs(table, np.isnan(table.score)) == conflicts
    blank = {(row["email"], row["paper"]) for row in rows if not row["preference"]} - conflicts
    assert pairs(table, table.score == 0) >= blank
    assert blank
    for column in ("preference", "topic_score"):
        affinity = side.read_affinity(path, columns={"affinity": column})
        assert affinity.score is not None
        assert affinity.score.tolist() == [float(row[column] or 0) for row in rows]
    committee = {row["email"] for row in truth(place, "pc")}
    assert set(side.read_reviewers(path)) <= committee


@pytest.mark.parametrize("place", EVERY)
def test_authors_are_those_of_the_papers(place: str) -> None:
    table = read_authors(EXPORTS / place / "labconf-authors.csv")
    listed = read_authors(EXPORTS / place / "labconf-data.json")
    assert pairs(table) == pairs(listed)
    assert ("au1.0@x.example", "1") in pairs(table)


@pytest.mark.parametrize("place", EVERY)
def test_what_holds_no_reviews_is_refused_by_name(place: str) -> None:
    for name, told in {
        "labconf-data.csv": "this is HotCRP's list of papers, which holds papers",
        "labconf-data.json": "this is HotCRP's papers, which holds papers",
        "labconf-authors.csv": "this is HotCRP's authors, which holds authors or papers",
        "labconf-topics.csv": "this is HotCRP's topics, which holds papers",
        "labconf-leads.csv": "this is HotCRP's discussion leads or shepherds; expected a file of reviews",
        "labconf-pcconflicts.csv": "this is HotCRP's PC conflicts",
        "labconf-allprefs.csv": "this is HotCRP's review preferences",
        "labconf-aureviews.csv": "without reviewers" if place in SCORED else "before the first is submitted",
        **({} if place in SCORED else {"labconf-reviews.csv": "before the first is submitted"}),
    }.items():
        with pytest.raises(InputError) as refused:
            read(place, name)
        assert told in str(refused.value), name


def test_addresses_are_one_whatever_their_letter_case(tmp_path: Path) -> None:
    place, spellings, notes = EVERY[0], Spellings(), list[str]()
    path = EXPORTS / place / "labconf-pcassignments.csv"
    found = read_reviews(path, merge=spellings)
    lower = tmp_path / "pcconflicts.csv"
    lower.write_text((EXPORTS / place / "labconf-pcconflicts.csv").read_text("utf-8").lower(), "utf-8")
    barred = side.read_conflicts(lower, merge=spellings, note=notes.append)
    assert {who for who, _ in pairs(barred)} & set(found.reviewers) >= {"PC.Three+conf@U3.Example"}
    assert any("1 address is spelled as before, which differs in letter case alone" in note for note in notes)
