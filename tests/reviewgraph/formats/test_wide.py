"""Tables with a column for each reviewer or each paper."""

import re

import pytest

from reviewgraph import read_reviews
from tests.reviewgraph.reading_cases import read, refused, rows

BOOK = {"format": "gradebook"}


def test_peer_grades_of_canvas(write):
    head = "Student sortable name,Student ID,Student Submission ID,Current Grade,Grade 1,Peer 1 ID,Grade 2,Peer 2 ID\n"
    found, notes = read(write(head + '"Doe, A",1000,5000,-,14,1001,11,1002\n"Doe, B",1001,5001,-,9,1002,-,1000\n'))
    assert found == [("1000", "1001", None), ("1001", "1000", 14.0), ("1002", "1000", 11.0), ("1002", "1001", 9.0)]
    assert any("add --conflicts with this file" in note for note in notes)


@pytest.mark.parametrize(
    "head", ["Reviewer 1 Name,Reviewer 1 Score,Reviewer 2 Name,Reviewer 2 Score", "Judge 1,Score 1,Judge 2,Score 2"]
)
def test_numbered_people_and_scores(write, head):
    assert read(write(f"Team,{head}\np1,ann,3,bob,4\np2,ann,5,TBD,-\n"))[0] == [
        ("ann", "p1", 3.0),
        ("ann", "p2", 5.0),
        ("bob", "p1", 4.0),
    ]


def test_numbers_in_columns_of_reviewers_are_asked_about(write):
    head = "paper,Reviewer 1,Reviewer 2,Reviewer 3\n"
    scores = write(head + "p1,7,6,6\np2,4,2,4\np3,8,7,\n")
    message = refused(scores)
    assert "hold numbers, such as '7', and equal ones in a row: scores, not reviewers" in message
    assert "reviewer=" not in message
    # What it proposes does what it says.
    assert "--format gradebook" in message
    assert read(scores, **BOOK)[0][0] == ("Reviewer 1", "p1", 7.0)
    unclear = write(head + "p1,7,6,5\np2,4,2,3\np3,8,7,\n")
    message = refused(unclear)
    assert "hold numbers, such as '7': reviewers or scores?" in message
    assert "--columns 'reviewer=Reviewer 1'" in message
    named = read_reviews(unclear, columns={"reviewer": "Reviewer 1"})
    assert (named.reviewers, named.n_reviews) == (("2", "3", "4", "5", "6", "7", "8"), 8)
    # Numbers of people, of which none comes twice in a row, or which are too large for scores.
    people = [f"p{row},{row % 5 + 1},{(row + 1) % 5 + 1},{(row + 3) % 5 + 1}\n" for row in range(20)]
    assert read_reviews(write(head + "".join(people))).n_reviewers == 5
    assert read_reviews(write(head + "p1,1001,1002,1003\n")).reviewers == ("1001", "1002", "1003")


def test_mark_is_a_person_who_scored_only_some(write):
    text = 'Student,Ann,Mark,"Total, Ed"\n' + "p1,3,1,4\np2,4,,5\np3,2,,\n"
    assert read_reviews(write(text), **BOOK).reviewers == ("Ann", "Mark", "Total, Ed")
    assert read_reviews(write(text.replace(",,", ",2,")), **BOOK).reviewers == ("Ann", "Total, Ed")


def test_the_user_names_columns_of_gradebooks(write):
    name = write("essay,essay_id,Ann,Bob\nDear,7,3,4\nDear,8,5,\n")
    assert read(name, columns={"item": "essay_id"}, **BOOK)[0] == [
        ("Ann", "7", 3.0),
        ("Ann", "8", 5.0),
        ("Bob", "7", 4.0),
    ]
    assert "there is no column 'essay_no'" in refused(name, columns={"item": "essay_no"}, **BOOK)


def test_a_column_for_each_category_and_judge(write):
    name = write("Team #,Team Name,Design - Ann,Design - Bob,Values - Ann,Values - Bob\n1,A,3,4,1,2\n2,B,5,,6,\n")
    options = {"columns": {"item": "Team #"}, "score": "Design", **BOOK}
    assert read(name, **options)[0] == [("Ann", "1", 3.0), ("Ann", "2", 5.0), ("Bob", "1", 4.0)]
    assert read_reviews(name, **options).criteria["Values"].tolist() == [1.0, 6.0, 2.0]
    asked = refused(write("Team,X - Ann,X - Bob,Y - Ann,Y - Bob\n1,3,4,1,2\n"), **BOOK)
    assert "--score X if 'Ann' is a reviewer, --score Ann if 'X' is one" in asked
    assert read_reviews("reviews.csv", score="X", **BOOK).reviewers == ("Ann", "Bob")
    assert read_reviews("reviews.csv", score="Ann", **BOOK).reviewers == ("X", "Y")


@pytest.mark.parametrize(
    ("head", "people"),
    [
        ("Judge 1 - X,Judge 1 - Y,Judge 2 - X,Judge 2 - Y", ("Judge 1", "Judge 2")),
        ("X: Ann,Y: Ann,X: Bob,Y: Bob", None),
        ("Ann (round 1),Bob (round 1),Ann (round 2),Bob (round 2)", None),
        ("Style_Ann,Style_Bob,Clarity_Ann,Clarity_Bob", ("Ann", "Bob")),
        ("Ann | Style,Ann | Clarity,Bob | Style,Bob | Clarity", ("Ann", "Bob")),
    ],
)
def test_which_part_is_the_criterion_is_known_or_asked(write, head, people):
    name = write(f"Team,{head}\np1,3,4,1,2\np2,2,2,1,1\n")
    first = head.partition(",")[0]
    if people is None:
        assert "have two parts, and either may be the criterion" in refused(name, **BOOK)
    else:
        label = next(part for part in re.split(r" - | \| |_", first) if part in ("X", "Style"))
        assert read_reviews(name, score=label, **BOOK).reviewers == people


FORM = "Timestamp,Email Address,{}\n2026/03/01 10:00:00,ann@x.org,3,5\n2026/03/01 10:01:00,bob@x.org,4,\n"


def test_answers_about_one_paper_are_none(write):
    about_one = refused(write(FORM.format("How good is it? [Novelty],How good is it? [Clarity]")))
    assert "no item column" in about_one
    assert "no item column" in refused(write(FORM.format("Novelty [1-5],Beauty [1-5]")))
    asked = "Timestamp,Email Address,Which paper?,Rate it [a],Rate it [b]\n2026/03/01 10:00:00,ann@x.org,p1,3,5\n"
    assert "--score 'Rate it [a]'" in refused(write(asked))


def test_papers_in_columns_have_criteria_as_well(write):
    head = "Timestamp,Judge name,Team 1 - Impact,Team 1 - Craft,Team 2 - Impact,Team 2 - Craft\n"
    name = write(head + "2026/03/01 10:00:00,ann,3,1,5,6\n2026/03/01 10:01:00,bob,4,2,,\n")
    assert "--score Impact" in refused(name)
    reviews = read_reviews(name, score="Impact")
    assert rows(reviews) == [("ann", "Team 1", 3.0), ("ann", "Team 2", 5.0), ("bob", "Team 1", 4.0)]
    assert reviews.criteria["Craft"].tolist() == [1.0, 6.0, 2.0]


def test_numbered_papers_keep_their_names(write):
    name = write(FORM.format("Score for Team 1,Score for Team 2").replace("Email Address", "Your name"))
    assert read_reviews(name).items == ("Team 1", "Team 2")
    turned = write("Your name,Team 1 - Impact,Team 2 - Impact\nann,3,5\nbob,4,\n")
    assert read_reviews(turned, **BOOK).items == ("Team 1", "Team 2")


def test_judges_in_rows_are_pointed_out_and_read(write):
    name = write("Judge,Team 1,Team 2\nann,3,5\nbob,4,\n")
    notes = []
    assert "no item column" in refused(name, note=notes.append)
    assert notes == ["reviews.csv: if each column holds the scores of one paper, say --format gradebook"]
    assert read(name, **BOOK)[0] == [("ann", "Team 1", 3.0), ("ann", "Team 2", 5.0), ("bob", "Team 1", 4.0)]


@pytest.mark.parametrize(
    ("head", "words"),
    [
        ("Score 1,Score 2,Score 3", "the columns 'Score 1', 'Score 2', 'Score 3' number the scores of a row"),
        ("R1,R2,R3", "do not say who gave them; expected one row per review"),
        ("Reviewer A1,Reviewer A2,Reviewer A3", "number the scores of a row"),
        ("novelty,style,rating", "no reviewer column"),
    ],
)
def test_positions_and_criteria_are_no_hint_at_a_gradebook(write, head, words):
    notes = []
    assert words in refused(write(f"paper,{head}\np1,3,4,5\np2,1,2,3\n"), note=notes.append)
    assert not [note for note in notes if "gradebook" in note]


def test_a_gradebook_with_semicolons_has_decimal_commas(write):
    assert read(write("Student;Ann;Bob\np1;3,5;4\n"), **BOOK)[0] == [("Ann", "p1", 3.5), ("Bob", "p1", 4.0)]
