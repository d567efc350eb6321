"""Which column is which."""

from __future__ import annotations

import pytest

from reviewgraph import read_reviews
from reviewgraph.formats.headers import normalise
from tests.reviewgraph.reading_cases import HOTCRP, refused, rows


def test_scores_of_an_unknown_name_need_it_and_say_so(write):
    notes = []
    planned = read_reviews(write("paper,email,Merit of it,RevExp\n3,a,4,1\n"), note=notes.append)
    assert not planned.scored.any()
    assert len(notes) == 1
    assert "'Merit of it'" in notes[0]
    assert "RevExp" not in notes[0]
    assert "--columns score=NAME" in notes[0]
    named = read_reviews("reviews.csv", columns={"score": "merit of it"}, note=pytest.fail)
    assert rows(named) == [("a", "3", 4.0)]


def test_hotcrp_scores_are_known(write):
    notes = []
    scored = read_reviews(write(HOTCRP), note=notes.append)
    assert notes == ["reviews.csv: read as HotCRP's review scores"]
    assert rows(scored) == [("r1@example.org", "3", 4.0), ("r2@example.org", "3", 2.0)]
    assert scored.titles == {"3": "A paper"}


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
    ],
)
def test_columns_are_found_by_name_and_never_by_position(write, header, cells):
    assert rows(read_reviews(write(f"{header}\n{cells}\n"))) == [("r", "i", 1.0)]


def test_columns_of_our_own_are_not_taken_for_scores(write):
    notes = []
    read_reviews(write("item,reviewer,affinity\np1,ann,0.5\n"), note=notes.append)
    read_reviews(write("item,reviewer,cost,joins\np1,ann,1,x\n"), note=notes.append)
    assert notes == []


def test_two_score_columns_ask_which(write):
    name = write("reviewer,item,rating,recommendation\nr,i,1,2\n")
    assert "'rating', 'recommendation'" in refused(name)
    assert "--columns score=rating" in refused(name)
    assert rows(read_reviews(name, columns={"score": "recommendation"})) == [("r", "i", 2.0)]
    assert rows(read_reviews(name, columns={"score": ""})) == [("r", "i", None)]


def test_two_reviewer_columns_take_the_better_and_say_so(write):
    notes = []
    reviews = read_reviews(write("member #,reviewer email,paper\n7,r,i\n"), note=notes.append)
    assert reviews.reviewers == ("r",)
    assert "not from 'member #'" in notes[0]
    empty = write("member #,reviewer email,paper\n7,,i\n")
    assert refused(empty).endswith("--columns reviewer=NAME")
    assert read_reviews(empty, columns={"reviewer": "member #"}).reviewers == ("7",)


def test_twice_the_same_header_is_refused(write):
    assert "2 columns are called 'email'" in refused(write("email,email,paper\na,b,c\n"))


def test_columns_that_do_not_exist_list_those_that_do(write):
    message = refused(write(HOTCRP), columns={"score": "Overall"})
    assert "no column 'Overall'" in message
    assert "'OveMer'" in message
    assert "expected one of reviewer, item, score, title" in refused("reviews.csv", columns={"paper": "paper"})


def test_headers_are_normalised():
    assert [normalise(text) for text in ("# Paper ID", " E-Mail ", "submission #", "Straße")] == [
        *("paper_id", "e_mail", "submission", "strasse"),
    ]
