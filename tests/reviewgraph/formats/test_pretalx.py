"""Real exports of two versions of pretalx are read as their databases are; what looks like them is left alone."""

from pathlib import Path

import pytest

from reviewgraph import read_reviews
from tests.reviewgraph.formats.exports import as_csv, as_json
from tests.reviewgraph.formats.pretalx_exports import Event, expect_api_read, expect_pages_read
from tests.reviewgraph.reading_cases import found

#: Written by tests/live/pretalx_site.py.
FOLDERS = sorted((Path(__file__).parent / "pretalx").iterdir())

every_event = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)


@every_event
def test_exports_of_the_pages_are_read(folder):
    expect_pages_read(Event(folder))


@every_event
def test_answers_of_the_api_are_read(folder):
    expect_api_read(Event(folder))


def test_a_table_of_proposals_of_somebody_else_is_a_table(write):
    taken = []
    head = ["Proposal ID", "Reviewer email", "Score"]
    other = write(as_csv(head, [["12", "ann@x.org", 3], ["13", "ann@x.org", 4]]), "grants.csv")
    read = read_reviews(other, read=taken.append)
    assert taken[0].system is None
    assert found(read) == {("ann@x.org", "12"): 3, ("ann@x.org", "13"): 4}


def test_which_way_assignments_go_is_told_by_addresses(write):
    by_person = write(as_json({"ann@x.org": ["TALKAA", "TALKAB"], "bob@x.org": []}), "a.json")
    by_paper = write(as_json({"TALKAA": ["ann@x.org"], "TALKAB": ["ann@x.org"]}), "b.json")
    wanted = dict.fromkeys([("ann@x.org", "TALKAA"), ("ann@x.org", "TALKAB")])
    assert found(read_reviews(by_person)) == found(read_reviews(by_paper)) == wanted
    by_code = write(as_json({"PERSAA": ["TALKAA"]}), "c.json")
    assert found(read_reviews(by_code)) == {("PERSAA", "TALKAA"): None}


def test_a_category_called_as_a_field_is_leaves_the_field_alone(write):
    scores = [{"category": {"name": {"en": name}}, "value": "1.00"} for name in ("user", "score", "Fit")]
    one = {"submission": "TALKAA", "user": "PERSAA", "score": "7.00", "scores": scores}
    read = read_reviews(write(as_json({"next": None, "results": [one]}), "reviews.json"))
    assert found(read) == {("PERSAA", "TALKAA"): 7}
    fit = read_reviews("reviews.json", columns={"score": "Fit"})
    assert found(fit) == {("PERSAA", "TALKAA"): 1}
