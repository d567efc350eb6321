"""Exports of every format as their systems write them, and the smallest and oddest ones."""

import codecs

import pytest

from reviewgraph import InputError, read_reviews
from tests.reviewgraph.formats import exports
from tests.reviewgraph.formats.exports import EVERY, PAPERS, SCORES, as_json
from tests.reviewgraph.reading_cases import found, refused

ONE = ("bob@x.org", "7")
TEXTS = [export for export in EVERY if not export.name.endswith((".zip", ".xlsx"))]


@pytest.fixture
def every(monkeypatch):
    """Return all exports of another conference."""

    def every(scores, papers=PAPERS):
        monkeypatch.setattr(exports, "SCORES", scores)
        monkeypatch.setattr(exports, "PLANNED", dict.fromkeys(scores))
        monkeypatch.setattr(exports, "PAPERS", papers)
        forums = {(exports.profile(who), exports.note_of(of)): score for (who, of), score in scores.items()}
        monkeypatch.setattr(exports, "FORUMS", forums)
        return exports.every()

    return every


def outcome(write, export, data=None):
    """The reviews, or the message."""
    try:
        return found(read_reviews(write(export.data if data is None else data, export.name), **export.options))
    except InputError as error:
        return str(error)


@pytest.mark.parametrize("export", EVERY, ids=lambda export: export.name)
def test_every_export_gives_its_reviews(write, export):
    assert found(read_reviews(write(export.data, export.name), **export.options)) == export.reviews


@pytest.mark.parametrize(
    ("keeps", "papers"),
    [
        (lambda who, of: of == "3", {"3": PAPERS["3"]}),
        (lambda who, of: of == "3", PAPERS),
        (lambda who, of: who == "bob@x.org", PAPERS),
        (lambda who, of: (who, of) in {ONE, ("ann@x.org", "3")}, PAPERS),
    ],
    ids=["one paper", "one paper of several", "one reviewer", "two reviews"],
)
def test_few_reviews_are_read_as_many_are(write, every, keeps, papers):
    for export in every({pair: score for pair, score in SCORES.items() if keeps(*pair)}, papers):
        assert outcome(write, export) == export.reviews, export.name


def test_ties_and_titles_of_several_lines_are_read(write, every):
    titles = {paper: f'Line "one",\n=two\r\n\x85three; {paper}' for paper in PAPERS}
    for export in every(dict.fromkeys(SCORES, 3), titles):
        assert outcome(write, export) == export.reviews, export.name


@pytest.mark.parametrize("cell", ["NaN", "!", "inf", "7 or 8"])
def test_cells_that_are_no_scores_are_refused_in_one_line_of_their_place(write, every, cell):
    for export in every({**SCORES, ONE: cell}):
        if cell in export.reviews.values():
            told = outcome(write, export)
            assert told.startswith(export.name), export.name
            assert told.count("\n") == 0, export.name
            assert f"the score {cell!r} is not" in told


@pytest.mark.parametrize(
    "change",
    [
        lambda data: codecs.BOM_UTF8 + data,
        lambda data: data.replace(b"\n", b"\r\n"),
        lambda data: data.rstrip(b"\n"),
        lambda data: codecs.BOM_UTF8 + data.rstrip(b"\n").replace(b"\n", b"\r\n") + b"\r\n\r\n",
        lambda data: data.decode().encode("utf-16"),
    ],
    ids=["mark", "CRLF", "no last line end", "all", "UTF-16"],
)
def test_marks_and_line_ends_change_nothing(write, change):
    for export in TEXTS:
        assert outcome(write, export, change(export.data)) == export.reviews, export.name


def test_papers_of_an_assignment_that_nobody_reviews_are_papers(write):
    matched = as_json({"p1": [{"user": "~A1", "aggregate_score": 0.5}], "p2": []})
    assert read_reviews(write(matched, "assignments.json")).items == ("p1", "p2")
    xml = '<assignments><submission submissionId="1"><user email="a"/></submission><submission submissionId="2"/>'
    reviews = read_reviews(write(f"{xml}</assignments>"))
    assert (reviews.items, found(reviews)) == (("1", "2"), {("a", "1"): None})
    empty = '<assignments><submission submissionId="1"><user email=""/></submission></assignments>'
    assert "user 1: the reviewer is empty" in refused(write(empty))
    assert "empty JSON" in refused(write("[]", "a.json"))
