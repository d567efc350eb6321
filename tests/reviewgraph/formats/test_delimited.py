"""Delimited text: the delimiter, the header, quotes."""

from reviewgraph import read_reviews
from tests.reviewgraph.reading_cases import refused, rows


def test_unclosed_quotes_do_not_swallow_rows(write):
    message = refused(write('reviewer,item,title\nr,i,"an open end\nr,j,second\n'))
    assert message == "reviews.csv:2: a quoted cell that begins in this row never ends; is a closing quote missing?"
    long = write('reviewer,item,title\nr,i,"' + "an open end\n" * 20_000)
    assert refused(long).startswith("reviews.csv:2: a cell that begins in this row is very long")
    stray = write('reviewer,item,title\nr,i,"said "no" twice"\n')
    assert refused(stray).startswith("reviews.csv:2: text follows a closing quote")


def test_the_delimiter_is_the_one_under_which_columns_have_their_names(write):
    header = "Reviewer Email\tPaper ID\tQ1 (clarity, novelty, depth, rigour)"
    assert rows(read_reviews(write(f"{header}\nr\ti\t3, 4, 5\n"))) == [("r", "i", None)]


def test_headers_may_hold_new_lines(write):
    header = 'Paper ID,Reviewer Email,"Q10 (Please provide an ""overall score""\n - Value)"'
    named = {"score": 'Q10 (Please provide an "overall score" - Value)'}
    message = refused(write(f"{header}\n1,r,7\n1,s,x\n"), columns=named)
    assert message.startswith("reviews.csv:4: the score 'x'")
