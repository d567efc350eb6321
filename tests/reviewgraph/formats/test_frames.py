import pandas
import polars
import pyarrow as pa
import pytest

from reviewgraph import InputError, Reviews

BUILD = {"pandas": pandas.DataFrame, "polars": polars.DataFrame, "pyarrow": pa.table}


@pytest.fixture(params=list(BUILD))
def build(request):
    return BUILD[request.param]


def triples(reviews):
    columns = reviews.to_dict()
    return list(zip(columns["reviewer"], columns["item"], columns["score"], strict=True))


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


@pytest.mark.parametrize("role", ["item", "reviewer"])
def test_labels_that_are_no_numbers_are_missing(build, role):
    columns = {"item": [1.0, 2.0], "reviewer": [1.0, 2.0]} | {role: [1.0, float("nan")]}
    with pytest.raises(InputError, match=f"row 1: the {role} is null"):
        Reviews.from_frame(build(columns))
