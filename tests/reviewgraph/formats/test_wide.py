"""Tables with a column for each reviewer or each paper."""

import re

import pandas
import pytest

from reviewgraph import InputError, Reviews, read_reviews
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


PAIRS = "{}\ns1,Ann,4,Bob,3\ns2,Ann,5,Cy,2\n"
READ = [("Ann", "s1", 4.0), ("Ann", "s2", 5.0), ("Bob", "s1", 3.0), ("Cy", "s2", 2.0)]


@pytest.mark.parametrize(
    "head",
    [
        "Grader,Grade,Grader 2,Grade 2",
        "Grader,Grade,Grader.1,Grade.1",
        "First marker,First mark,Second marker,Second mark",
        "Marker,Mark,Second marker,Second mark",
        "Primary reviewer,Primary score,Secondary reviewer,Secondary score",
        "Reviewer A,Score A,Reviewer B,Score B",
        "Reviewer 1,Merit 1,Reviewer 2,Merit 2",
        "Reviewer 1,Impact Score 1,Reviewer 2,Impact Score 2",
        "Reviewer 1,Total 1,Reviewer 2,Total 2",
        "Reviewer 1,Note 1,Reviewer 2,Note 2",
    ],
)
def test_pairs_of_reviewers_and_scores_have_many_names(write, head):
    found, notes = read(write(PAIRS.format(f"Student,{head}")))
    assert found == READ
    told = [note for note in notes if "the score is read from" in note]
    assert bool(told) == any(word in head for word in ("Merit", "Impact", "Total", "Note"))


@pytest.mark.parametrize(
    "head",
    [
        "Supervisor,Supervisor mark,Second marker,Second mark",
        "Lead reviewer,Lead score,Second reviewer,Second score",
        "Chair,Chair mark,Second marker,Second mark",
    ],
)
def test_people_without_a_first_one_are_refused(write, head):
    message = refused(write(PAIRS.format(f"Student,{head}")))
    assert "lacks a first one; number all people and what they say, as in 'Marker 1', 'Mark 1'" in message
    numbered = "Student,Marker 01,Mark 01,Marker 02,Mark 02"
    assert read(write(PAIRS.format(numbered)))[0] == READ


@pytest.mark.parametrize("field", ["Days", "Phone", "Room", "Rank", "Points date"])
def test_numbers_beside_reviewers_are_scores_only_if_called_so(write, field):
    name = write(PAIRS.format(f"Student,Reviewer 1,{field} 1,Reviewer 2,{field} 2"))
    message = refused(name)
    assert f"'{field} 1', '{field} 2' may be scores" in message
    assert "--score" in message
    assert "--columns score= if there are none" in message
    # What it proposes does what it says.
    assert read(name, score=field.lower())[0] == READ
    found, notes = read(name, columns={"score": ""})
    assert [score for *_, score in found] == [None] * 4
    assert not [note for note in notes if "the score is read from" in note]


def test_a_frame_with_several_reviewers_in_a_row_is_refused(write):
    for head in ("Grader,Grade,Grader 2,Grade 2", "Marker,Mark,Second marker,Second mark"):
        name = write(PAIRS.format(f"Student,{head}"))
        with pytest.raises(InputError, match="name several reviewers of a row"):
            Reviews(pandas.read_csv(name))
        assert "name several reviewers of a row" in refused(name, format="table")
        first = head.partition(",")[0]
        assert read_reviews(name, format="table", columns={"reviewer": first}).n_reviews == 2


@pytest.mark.parametrize("head", ["Reviewer 1,Grade,Reviewer 2,Grade", "Reviewer 1,Pages,Reviewer 2,Score"])
def test_a_score_beside_several_reviewers_is_asked_about(write, head):
    name = write(PAIRS.format(f"Student,{head}"))
    assert "does not say which of them gave it" in refused(name)
    assert [score for *_, score in read(name, columns={"score": ""})[0]] == [None] * 4
    only = {"format": "table", "columns": {"reviewer": "Reviewer 1"}}
    if "Score" in head:
        assert read_reviews(name, score="Score", **only).n_reviews == 2


def test_a_numbered_column_of_reviewers_in_a_long_table(write):
    name = write("Proposal,Reviewer 1,Score\nG1,Ann,3\nG2,Ann,2\n")
    assert "no reviewer column" in refused(name)
    assert read(name, columns={"reviewer": "Reviewer 1"})[0] == [("Ann", "G1", 3.0), ("Ann", "G2", 2.0)]


def test_all_numbered_fields_of_a_review_are_read(write):
    cells = "\ns1,Ann,4,9,2,Bob,3,8,1\ns2,Ann,5,7,3,Cy,2,6,1\n"
    head = "Student,Reviewer 1,Score 1,{} 1,Confidence 1,Reviewer 2,Score 2,{} 2,Confidence 2"
    reviews = read_reviews(write(head.format("Novelty", "Novelty") + cells))
    assert rows(reviews) == READ
    assert reviews.criteria["novelty"].tolist() == [9.0, 7.0, 8.0, 6.0]
    asked = write(head.format("Points", "Points") + cells)
    assert "--score score" in refused(asked)
    assert read_reviews(asked, score="points").score.tolist() == [9.0, 7.0, 8.0, 6.0]
    people = "Team,Member 1,Score 1,Judge 1,Member 2,Score 2,Judge 2\ns1,x,4,Ann,y,3,Bob\n"
    found, notes = read(write(people))
    assert found == [("Ann", "s1", 4.0), ("Bob", "s1", 3.0)]
    assert any("from the column 'Judge 1', not from 'Member 1', 'Member 2'" in note for note in notes)
    assert "2 columns are called 'Score 1'" in refused(write(people.replace("Member 2", "Score 1", 1)))


def test_students_without_a_review_are_noted_and_count_as_papers(write):
    numbers = write("Student,Grader 1,Grade 1,Grader 2,Grade 2\ns1,ann,70,bob,60\ns2,ann,50,bob,40\ns3,,,,\n")
    for name, options in ((numbers, {}), (write("Student,ann,bob\ns1,7,6\ns2,5,4\ns3,,\n", "wide.csv"), BOOK)):
        assert any("1 row without a review ('s3')" in note for note in read(name, **options)[1])
        assert read_reviews(name, items=name, **options).items == ("s1", "s2", "s3")


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
    graded = write("Team,Judge 1,Judge 2\nT1,A,B\nT2,B,A\n")
    assert "hold grades, such as 'A': reviewers or scores?" in refused(graded)
    assert read(graded, scale="A>B", **BOOK)[0][0] == ("Judge 1", "T1", 2.0)
    assert read_reviews(graded, columns={"reviewer": "Judge 1"}).reviewers == ("A", "B")
    # Numbers of people, of which none comes twice in a row, or which are too large for scores.
    people = [f"p{row},{row % 5 + 1},{(row + 1) % 5 + 1},{(row + 3) % 5 + 1}\n" for row in range(20)]
    assert read_reviews(write(head + "".join(people))).n_reviewers == 5
    assert read_reviews(write(head + "p1,1001,1002,1003\n")).reviewers == ("1001", "1002", "1003")


def test_mark_is_a_person_who_scored_only_some(write):
    text = 'Student,Ann,Mark,"Total, Ed"\n' + "p1,3,1,4\np2,4,,5\np3,2,,\n"
    assert read_reviews(write(text), **BOOK).reviewers == ("Ann", "Mark", "Total, Ed")
    assert read_reviews(write(text.replace(",,", ",2,")), **BOOK).reviewers == ("Ann", "Total, Ed")


def test_no_column_of_a_reviewer_is_lost(write):
    assert "2 columns are called 'Ann'" in refused(write("Team,Ann,Ann,Bob\nT1,8,2,7\n"), **BOOK)
    assert "the score '9-'" in refused(write("Team,Ann,Bob,Cy\nT1,8,7,9-\nT2,4,5,6+\n"), **BOOK)
    found, notes = read(write("Team,Ann,Bob,Cy\nT1,8,7,good\nT2,4,5,bad\n"), **BOOK)
    assert len(found) == 4
    assert any("not read as reviewers: the columns 'Cy' (without a score)" in note for note in notes)


def test_letters_in_a_gradebook_have_a_scale(write):
    name = write("Student,Total,Ann,Bob,Cy\nT1,7,A,B,\nT2,8,,A-,B\nT3,9,A,,B+\n")
    reviews = read_reviews(name, scale="A>A->B+>B", **BOOK)
    assert (reviews.reviewers, reviews.n_reviews) == (("Ann", "Bob", "Cy"), 6)
    assert "--scale" in refused(write("Student,Ann,Bob\nT1,A,B\nT2,,A-\n"), **BOOK)


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


@pytest.mark.parametrize(
    ("head", "cells", "items"),
    [
        ("Your name,Rate Alpha,Rate Beta,Anything else?", ["5,4,1", "3,2,2"], ("Alpha", "Beta")),
        ("Your name,Rate [Team 1],Rate [Team 2],Comments [Team 1]", ["5,4,so so", "3,2,"], ("Team 1", "Team 2")),
        ("Your name,Rate [Team 1],Rate [Team 2],On Team 1", ["5,4,so so", "3,2,"], ("Team 1", "Team 2")),
        ("Name,Rate each project [A],Rate each project [B]", ["5,", "3,"], ("A",)),
    ],
)
def test_questions_beside_those_for_scores(write, head, cells, items):
    rows_of_form = "".join(f"2026/03/01 10:00:00,{who},{scores}\n" for who, scores in zip("xy", cells, strict=True))
    reviews = read_reviews(write(f"Timestamp,{head}\n{rows_of_form}"))
    assert (reviews.items, reviews.reviewers) == (items, ("x", "y"))


def test_words_in_a_grid_have_a_scale(write):
    name = write("Timestamp,Your name,Rate [A],Rate [B]\n2026-01-01,ann,good,bad\n2026-01-02,bob,bad,good\n")
    assert "give all with --scale" in refused(name)
    assert read_reviews(name, scale="good>bad").items == ("A", "B")


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


def test_a_question_beside_those_about_numbered_papers_is_about_none(write):
    form = "Timestamp,Your name,Score for Team 1,Score for Team 2,Score for {}\n2026/03/01 10:00:00,ann,3,5,4\n"
    assert "the score may be any of the columns" in refused(write(form.format("the event")))
    assert read_reviews(write(form.format("Team 3"))).n_items == 3
    assert read_reviews(write(form.replace("Team 2", "Dune").format("Solaris"))).n_items == 3


@pytest.mark.parametrize("head", ["Lead marker,Lead mark,Vice marker,Vice mark", "Erstprüfer,Note,Zweitprüfer,Note 2"])
def test_columns_that_name_people_are_no_hint_at_a_gradebook(write, head):
    notes = []
    name = write(PAIRS.format(f"Student,{head}"))
    assert "no reviewer column" in refused(name, note=notes.append)
    assert not notes


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
