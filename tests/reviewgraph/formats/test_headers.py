"""Which column is which."""

import shlex

import pytest

from reviewgraph import InputError, read_reviews
from reviewgraph.formats import side
from tests.reviewgraph.formats.exports import as_xlsx
from tests.reviewgraph.reading_cases import refused, rows


def test_scores_of_an_unknown_name_need_it_and_say_so(write):
    notes = []
    planned = read_reviews(write("paper,email,Merit of it,RevExp\n3,a,4,1\n"), note=notes.append)
    assert not planned.scored.any()
    assert len(notes) == 1
    assert "'Merit of it'" in notes[0]
    assert "RevExp" not in notes[0]
    assert "--columns score=NAME" in notes[0]
    sure = []
    named = read_reviews("reviews.csv", columns={"score": "merit of it"}, note=sure.append)
    assert sure == [
        "reviews.csv: reviewers say how sure they are; calibrate uses it where it helps (or --no-confidence)"
    ]
    assert rows(named) == [("a", "3", 4.0)]


@pytest.mark.parametrize(
    ("header", "cells"),
    [
        ("reviewer,item,score", "r,i,1"),
        ("item,reviewer,score", "i,r,1"),
        ("Overall Merit,E-mail,Paper ID", "1,r,i"),
        ("Reviewer Name,Reviewer Email,# Paper ID,Rating", "Some One,r,i,1"),
        ("#,submission #,member #,member name,number,total score", "9,i,r,Some One,2,1"),
        ("head,tail,overall_assessment", "i,r,1"),
        ("REFEREE,Proposal,Grade", "r,i,1"),
        ("email,reviewername,pid,mark", "r,Some One,i,1"),
        ("Student,Email,Grader,Score", "i,s@x.org,r,1"),
        ("Applicant ID,Email,Score", "i,r,1"),
    ],
)
def test_columns_are_found_by_name_and_never_by_position(write, header, cells):
    assert rows(read_reviews(write(f"{header}\n{cells}\n"))) == [("r", "i", 1.0)]


@pytest.mark.parametrize("beside", ["question", "question_id", "Response"])
def test_a_model_beside_what_it_was_asked_may_be_the_item_or_not(write, beside):
    assert rows(read_reviews(write("model,judge,score\nm,a,4\n"))) == [("a", "m", 4.0)]
    text = f"{beside},model,judge,score\nq,m,a,4\n"
    assert f"the item may be any of the columns '{beside}', 'model'" in refused(write(text))
    assert rows(read_reviews(write(text), columns={"item": "model"})) == [("a", "m", 4.0)]
    assert rows(read_reviews(write(text), columns={"item": beside})) == [("a", "q", 4.0)]


def test_a_column_of_several_reviewers_is_not_proposed_as_the_score(write):
    notes = []
    reviews = read_reviews(write("Proposal,Reviewers\nG1,Ann;Bob\nG2,Ann;Bob\n"), note=notes.append)
    assert reviews.n_reviews == 4
    assert not any("score" in note for note in notes)


def test_two_score_columns_ask_which(write):
    name = write("reviewer,item,rating,recommendation\nr,i,1,2\n")
    assert "'rating', 'recommendation'" in refused(name)
    assert "--score rating" in refused(name)
    assert rows(read_reviews(name, columns={"score": "recommendation"})) == [("r", "i", 2.0)]
    assert rows(read_reviews(name, columns={"score": ""})) == [("r", "i", None)]


def test_twice_the_same_header_is_refused(write):
    assert "2 columns are called 'email'" in refused(write("email,email,paper\na,b,c\n"))


@pytest.mark.parametrize("number", ["#", "id", "ID"])
@pytest.mark.parametrize("first", [0, 1])
def test_row_numbers_beside_another_column_are_no_papers_unasked(write, number, first):
    cells = ["A paper,a,3", "A paper,b,4", "B paper,a,1"]
    body = "".join(f"{row},{text}\n" for row, text in enumerate(cells, first))
    name = write(f"{number},Essay name,email,score\n{body}")
    message = refused(name)
    assert message.startswith(f"reviews.csv: the column '{number}' numbers the rows, which may be no items; name the")
    assert "--columns 'item=Essay name'; if it is" in message
    assert shlex.quote(f"item={number}") in message
    assert read_reviews(name, columns={"item": "essay name"}).items == ("A paper", "B paper")
    assert read_reviews(name, columns={"item": number}).n_items == 3
    with pytest.raises(InputError, match=r"--columns 'reviews.csv:item=Essay name'; if it is"):
        side.read_conflicts(name)


def test_unspecific_columns_are_taken_with_a_note_where_they_may_be_papers(write):
    notes = []
    for text in (
        "id,title,email,score\n1,A,a,3\n1,A,b,4\n2,B,a,1\n",
        "id,email,score\n1,a,3\n2,a,4\n",
        "id,title,email,score\n17,A,a,3\n18,B,b,4\n",
        "id,title,email,score\n1,A,a,3\n",
    ):
        read_reviews(write(text), note=notes.append)
        assert "the item is read from the column 'id'" in notes.pop()


@pytest.mark.parametrize(
    ("header", "rows", "meant"),
    [
        ("id,email,question,score", ["u7,a,q0,5", "u1,b,q0,8", "u4,a,q1,6"], "question"),
        ("id,title,email,score", ["u7,T,a,5", "u1,T,b,8", "u4,S,a,6"], "title"),
        ("id,email,track,score", ["u7,a,x,5", "u1,b,x,8", "u4,a,x,6"], ""),  # twice with one reviewer: no paper
        ("id,email,status,score", ["u7,a,in,5", "u1,b,in,8", "u4,a,out,6"], ""),
        ("id,email,clarity,score", ["u7,a,3,5", "u1,b,3,8", "u4,a,4,6"], ""),
        ("id,email,track,score", ["u7,a,x,5", "u1,b,x,8", "u4,c,y,6"], ""),  # one row each: nothing is known
    ],
)
def test_ids_that_differ_in_every_row_are_no_papers_where_others_come_again(write, header, rows, meant):
    name = write("\n".join([header, *rows, ""]))
    if not meant:
        assert read_reviews(name).n_items == 3
        return
    message = refused(name)
    assert "the column 'id' differs in every row, which may be no items" in message
    assert f"for example --columns item={meant}; 'id' only if each row is about another item" in message
    assert read_reviews(name, columns={"item": meant}).n_items == 2
    assert read_reviews(name, columns={"item": "id"}).n_items == 3


def test_lists_of_papers_may_number_them_where_no_title_comes_again(write):
    assert list(side.read_items(write("#,title\n1,A\n2,B\n"))) == ["1", "2"]
    with pytest.raises(InputError, match="the column '#' numbers the rows"):
        side.read_items(write("#,title\n1,A\n2,A\n"))


def test_row_numbers_of_reviewers_are_not_their_names(write):
    assert list(side.read_reviewers(write("#,name,email,load\n1,Ann,a@x,3\n2,Bob,b@x,2\n"))) == ["a@x", "b@x"]
    with pytest.raises(InputError, match=r"no reviewer column .* found the columns '#', 'name', 'load'"):
        side.read_reviewers(write("#,name,load\n1,Ann,3\n2,Bob,2\n"))


@pytest.mark.parametrize("head", [["Student", "Grader", "Grade"], ["Name of it", "Panel member", "Points given"]])
def test_labels_such_as_grader_1_are_no_header_and_columns_of_one_workbook_count(tmp_path, head):
    path = tmp_path / "grades.xlsx"
    path.write_bytes(as_xlsx({"Grades": [head, *([f"s{i // 2}", f"Grader {i % 3}", i % 5] for i in range(12))]}))
    named = {f"{path}:{role}": name for role, name in zip(("item", "reviewer", "score"), head, strict=True)}
    for columns in ({}, named) if head[0] == "Student" else (named,):
        found = read_reviews(path, columns=columns)
        assert (found.n_reviews, sorted(set(found.to_dict()["reviewer"]))) == (12, ["Grader 0", "Grader 1", "Grader 2"])


def test_names_of_papers_that_may_be_criteria_are_papers_where_nothing_else_is(write):
    lines = "".join(f"p{row % 7},r{row},{row % 4},{row % 5},{row % 3}\n" for row in range(40))
    beside = read_reviews(write(f"paper,judge,Team,Pitch,score\n{lines}"))
    assert set(beside.criteria) == {"Team", "Pitch"}
    assert "the item may be any of the columns 'project', 'team'" in refused(write("judge,project,team\na,b,c\n"))
    assert read_reviews(write("judge,pitch,team,score\na,7,b,1\n")).items == ("b",)
    assert read_reviews(write("judge,team,team name\na,7,b\n")).items == ("7",)
    assert read_reviews(write("judges,models,score\na,b,1\n")).items == ("b",)
    assert read_reviews(write("judge,model,score\na,b,1\n")).items == ("b",)
    for two in ("judge,prompt,model", "annotator,prompts,models"):
        assert "the item may be any of the columns 'prompt" in refused(write(f"{two},score\na,b,c,1\n"))
    assert "no reviewer column" in refused(write("prompt,model,score\na,b,1\n"))
    for unclear in ("question", "name", "response"):
        assert "no item column" in refused(write(f"judge,{unclear},score\na,b,1\n"))
