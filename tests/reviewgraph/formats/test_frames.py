import pandas
import polars
import pyarrow as pa
import pytest

from reviewgraph import DuplicateReview, InputError, Reviews

BUILD = {"pandas": pandas.DataFrame, "polars": polars.DataFrame, "pyarrow": pa.table}


@pytest.fixture(params=list(BUILD))
def build(request):
    return BUILD[request.param]


def triples(reviews):
    columns = reviews.to_dict()
    return list(zip(columns["reviewer"], columns["item"], columns["score"], strict=True))


def test_columns_by_name_and_null_as_planned(build):
    frame = build({"rating": [3.0, None], "Paper ID": [9, 10], "email": ["a", "a"], "title": ["T", None]})
    reviews = Reviews.from_frame(frame)
    assert triples(reviews) == [("a", 9, 3.0), ("a", 10, None)]
    assert reviews.titles == {9: "T"}


def test_objects_keep_their_types():
    frame = pandas.DataFrame({"reviewer": ["r"] * 3, "item": pandas.Series([7, "7", "007"], dtype=object)})
    with pytest.raises(InputError, match="'7' and 7 differ in type alone"):
        Reviews.from_frame(frame)
    assert {(type(label), label) for label in Reviews.from_frame(frame, merge="none").items} == {
        (int, 7),
        (str, "7"),
        (str, "007"),
    }


def test_nan_is_null_in_pandas_and_refused_elsewhere():
    columns = {"reviewer": ["r", "s"], "item": ["i", "i"], "score": [1.0, float("nan")]}
    assert Reviews.from_frame(pandas.DataFrame(columns)).scored.tolist() == [True, False]
    for build in (polars.DataFrame, pa.table):
        with pytest.raises(InputError, match="finite number, found nan in row 1"):
            Reviews.from_frame(build(columns))


def test_score_text_is_read_as_in_a_file(build):
    frame = build({"reviewer": ["r", "r", "r"], "item": [1, 2, 3], "score": ["8: accept", "3 good", None]})
    assert [score for *_, score in triples(Reviews.from_frame(frame))] == [8.0, 3.0, None]
    frame = build({"reviewer": ["r", "r"], "item": [1, 2], "score": ["A", "B"]})
    with pytest.raises(InputError, match=r"row 0: the score 'A' is not a number") as caught:
        Reviews.from_frame(frame)
    assert "with --scale (in Python scale=), best first" in str(caught.value)
    assert [score for *_, score in triples(Reviews.from_frame(frame, scale="A>B"))] == [2.0, 1.0]


def test_what_is_refused(build):
    frame = build({"who": ["r", None], "item": ["i", "i"], "score": [1, 2]})
    with pytest.raises(InputError, match="no reviewer column"):
        Reviews.from_frame(frame)
    with pytest.raises(InputError, match="row 1: the reviewer is null"):
        Reviews.from_frame(frame, columns={"reviewer": "who"})
    with pytest.raises(InputError, match="no column 'name'"):
        Reviews.from_frame(frame, columns={"reviewer": "name"})
    with pytest.raises(InputError, match="expected a data frame"):
        Reviews.from_frame([("r", "i")])
    with pytest.raises(DuplicateReview, match="row 0 and row 1"):
        Reviews.from_frame(build({"reviewer": ["r", "r"], "item": ["i", "i"], "score": [1, 2]}))
    with pytest.raises(DuplicateReview, match=r"item 'p{40}\.\.\.' \(300 characters\) twice"):
        Reviews.from_frame(build({"reviewer": ["r", "r"], "item": ["p" * 300] * 2, "score": [1, 2]}))


def test_options_reach_the_table(build):
    frame = build({"reviewer": ["r", "r"], "item": ["i", "i"], "score": [1, 3]})
    reviews = Reviews.from_frame(frame, duplicates="mean", lower_is_better=True, items=["j"], reviewers=["s"])
    assert (reviews.items, reviews.reviewers, reviews.score.tolist()) == (("i", "j"), ("r", "s"), [-2.0])


@pytest.mark.parametrize("role", ["item", "reviewer"])
def test_labels_that_are_no_numbers_are_missing(build, role):
    columns = {"item": [1.0, 2.0], "reviewer": [1.0, 2.0]} | {role: [1.0, float("nan")]}
    with pytest.raises(InputError, match=f"row 1: the {role} is null"):
        Reviews.from_frame(build(columns))
