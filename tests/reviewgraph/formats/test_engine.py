"""Large files and Parquet: what DuckDB reads is what is read line by line."""

import csv
import io
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewgraph import read_reviews, stream_reviews
from reviewgraph.formats import delimited, engine
from reviewgraph.formats.files import Problems
from reviewgraph.formats.systems.system import Wanted
from reviewgraph.formats.tables import by_row
from tests.reviewgraph.reading_cases import SCORES, outcome, refused, rows


def test_parquet(write, tmp_path):
    table = pa.table(
        {
            "email": pa.array(["b", "a", "a"]).dictionary_encode(),
            "paper": pa.array([10, 9, 10], pa.int32()),
            "rating": pa.array([3.5, None, 1.0]),
            "when": pa.array([0, 1, 2], pa.timestamp("s")),
        }
    )
    pyarrow.parquet.write_table(table, tmp_path / "reviews.bin")
    assert rows(read_reviews(tmp_path / "reviews.bin")) == [("a", "9", None), ("a", "10", 1.0), ("b", "10", 3.5)]
    assert "expected text or numbers, found timestamp" in refused(tmp_path / "reviews.bin", columns={"score": "when"})


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ({"rating": pa.array([1.0, float("nan")])}, "row 2: the score 'nan' is not a finite number"),
        ({"rating": pa.array(["8: accept", "good"])}, "row 2: the score 'good' is not a number"),
        ({"paper": pa.array(["1", None])}, "row 2: the item is empty"),
        ({"paper": pa.nulls(2)}, "row 1: the item is empty"),
        ({"paper": pa.array([7.0, float("nan")])}, "row 2: the item is nan"),
        ({"email": pa.array([float("nan")] * 2)}, "row 1: the reviewer is nan"),
        ({"paper": pa.array(["1", "2"]).cast(pa.binary())}, "column 'paper': expected text or numbers, found blob"),
        ({"paper": pa.array([1, 2]).cast(pa.decimal256(50))}, "column 'paper': expected text or numbers, found dec"),
    ],
)
def test_parquet_problems_name_rows(tmp_path, column, message):
    columns = {"email": ["a", "b"], "paper": ["1", "2"]} | column
    pyarrow.parquet.write_table(pa.table(columns), tmp_path / "r.parquet")
    assert message in refused(tmp_path / "r.parquet")


def test_durations_of_pandas_are_no_numbers(tmp_path):
    columns = {"email": ["a", "b"], "paper": ["1", "2"], "rating": pd.to_timedelta([1, 2], "s")}
    pd.DataFrame(columns).to_parquet(tmp_path / "r.parquet")
    assert "column 'rating': expected text or numbers, found durations" in refused(tmp_path / "r.parquet")


def test_a_column_of_parquet_may_have_the_name_of_its_row_numbers(tmp_path):
    table = pa.table({"file_row_number": [9, 8], "email": ["a", "b"], "paper": ["1", "2"], "rating": [3.0, 4.0]})
    pyarrow.parquet.write_table(table, tmp_path / "r.parquet")
    assert rows(read_reviews(tmp_path / "r.parquet")) == [("a", "1", 3.0), ("b", "2", 4.0)]
    with stream_reviews(tmp_path / "r.parquet") as table:
        assert table.n_reviews == 2


@pytest.mark.parametrize("role", ["email", "paper", "rating", "title"])
def test_parquet_that_is_no_text_is_refused(tmp_path, role):
    broken = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.py_buffer(np.array([0, 1, 3], np.int32)), pa.py_buffer(b"a\xff\xfe")]
    )
    columns = {"email": pa.array(["a", "b"]), "paper": pa.array(["1", "2"]), role: broken}
    pyarrow.parquet.write_table(pa.table(columns), tmp_path / "r.parquet")
    message = refused(tmp_path / "r.parquet")
    assert "r.parquet: the Parquet file cannot be read" in message
    assert "\n" not in message


def test_numbers_of_parquet_match_those_of_text(tmp_path):
    table = pa.table({"email": [1.0, 2.5], "paper": [0.0, -0.0], "rating": [3.0, 4.5]})
    pyarrow.parquet.write_table(table, tmp_path / "r.parquet")
    assert rows(read_reviews(tmp_path / "r.parquet")) == [("1", "0", 3.0), ("2.5", "-0", 4.5)]


def test_labels_that_begin_with_a_mark_are_read_alike(write, monkeypatch):
    name = write("\ufeffreviewer,item\n\ufeffann,1\nann,1\n")
    small = read_reviews(name, merge="none")
    assert "differ in characters that look alike or are not seen alone" in refused(name)
    monkeypatch.setattr(delimited, "LARGE", 0)
    assert read_reviews(name, merge="none").to_dict() == small.to_dict()
    assert small.reviewers == ("ann", "\ufeffann")


CELLS = st.text(st.sampled_from("\ufeffaB7,;\t\"'\r\n é0\N{EN DASH}|"), max_size=3)


ROWS = st.lists(st.lists(CELLS, min_size=2, max_size=2), max_size=6).flatmap(
    lambda ids: st.tuples(*(st.tuples(*map(st.just, pair), SCORES) for pair in ids))
)


@pytest.mark.slow
@given(
    table=ROWS,
    delimiter=st.sampled_from([",", "\t", ";"]),
    newline=st.sampled_from(["\n", "\r\n", "\r"]),
    quoting=st.booleans(),
    tail=st.sampled_from(["", "\n", "\n\n", "r\n", ",,,\n"]),
)
def test_large_and_small_files_are_read_alike(tmp_path_factory, table, delimiter, newline, quoting, tail):
    path = tmp_path_factory.mktemp("alike") / "t.csv"
    header = ("reviewer", "item", "score")
    if quoting:
        buffer = io.StringIO(newline="")
        csv.writer(buffer, delimiter=delimiter, lineterminator=newline).writerows([header, *table])
        text = buffer.getvalue()
    else:
        text = (
            newline.join(delimiter.join(cell.replace('"', "'") for cell in row) for row in [header, *table]) + newline
        )
    path.write_bytes((text + tail).encode())
    with pytest.MonkeyPatch.context() as patch:
        small = outcome(path)
        patch.setattr(delimited, "LARGE", 0)
        assert outcome(path) == small


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_large_files_give_lines_and_encodings(write, monkeypatch, encoding):
    monkeypatch.setattr(delimited, "LARGE", 0)
    monkeypatch.setattr(delimited.Delimited, "_read_lines", None)  # DuckDB alone
    name = write("\n\nreviewer;item;score\nZoë;i;1\nZoë;j;x\n\n".encode(encoding))
    assert refused(name).startswith("reviews.csv:5: the score 'x'")


def test_wide_files_are_read_in_groups_of_columns(monkeypatch):
    cells = [[str(row * column % 7) for column in range(100)] for row in range(1, 9)]
    lines = [",".join(row) for row in (map("c{}".format, range(100)), *cells)]
    table = delimited.Delimited("wide.csv", "\n".join(lines).encode(), Wanted())
    monkeypatch.setattr(delimited, "LARGE", 0)
    monkeypatch.setattr(delimited.Delimited, "_read_lines", None)  # DuckDB alone
    columns = table.read(range(100), Problems()).columns
    assert [list(row) for row in zip(*map(by_row, columns), strict=True)] == cells


@pytest.mark.parametrize("ends", ["\r\n\r\n", "\n\r\n\r", "\r\r\n\n", "\n\n\n\n", "\r\r\r\r"])
def test_lines_are_counted_alike_under_mixed_line_ends(write, monkeypatch, ends):
    name = write("".join(map("".join, zip(["reviewer,item,score", "r,i,1", "r,j,2", "r,k,x"], ends, strict=True))))
    small = refused(name)
    monkeypatch.setattr(delimited, "LARGE", 0)
    assert refused(name) == small


@pytest.mark.parametrize("column", [pa.array(["x" * 10_000] * 30), pa.array(np.zeros(100_000))], ids=["long", "many"])
def test_parquet_that_would_fill_memory_is_refused_undecoded(folder, monkeypatch, column):
    monkeypatch.setattr(engine, "PARQUET", engine.PARQUET._replace(most=100_000))
    plain = len(column) < 100
    table = pa.table({"reviewer": column, "paper": column})
    pyarrow.parquet.write_table(table, "bomb.parquet", compression="zstd", use_dictionary=not plain)
    assert "bytes unpacked, found " in refused("bomb.parquet")
    # What its own size explains is read.
    monkeypatch.setattr(engine, "TIMES", 10_000)
    assert read_reviews("bomb.parquet").n_reviews == 1


def test_dictionaries_of_parquet_hold_what_rows_have(folder):
    # Values that no row has, values twice, nulls, and another dictionary in each group of rows.
    who = pa.DictionaryArray.from_arrays(pa.array([1, 3, None, 1], pa.int32()), ["nobody", "a", "b", "a"])
    for stored in (who, who.cast(pa.string())):
        table = pa.table({"reviewer": stored, "paper": ["p", "q", "r", "s"]})
        pyarrow.parquet.write_table(table, "dictionary.parquet", row_group_size=2)
        assert "row 3: the reviewer is empty" in refused("dictionary.parquet")
        pyarrow.parquet.write_table(table.take([0, 1, 3]), "dictionary.parquet", row_group_size=2)
        assert rows(read_reviews("dictionary.parquet")) == [("a", "p", None), ("a", "q", None), ("a", "s", None)]


def test_labels_too_long_for_statistics_lose_no_row(tmp_path):
    """DuckDB 1.4.0 took the cut statistics of such columns for the longest labels, and dropped rows in joins."""
    pairs = [("y" * 9_000 + str(who), "z" * 9_000 + str(what)) for who in range(9) for what in range(3)]
    table = pa.table({"reviewer": [who for who, _ in pairs], "paper": [what for _, what in pairs]})
    pyarrow.parquet.write_table(table, tmp_path / "r.parquet", row_group_size=4, use_dictionary=False)
    assert read_reviews(tmp_path / "r.parquet").n_reviews == len(pairs)
    with stream_reviews(tmp_path / "r.parquet") as stream:
        assert stream.n_reviews == len(pairs)


def test_columns_whose_names_differ_in_case_are_two(tmp_path):
    """DuckDB gives the second another name."""
    table = pa.table({"reviewer": ["a", "b"], "Paper": ["1", "2"], "paper": ["3", "4"]})
    pyarrow.parquet.write_table(table, tmp_path / "r.parquet")
    assert "the item may be any of the columns 'Paper', 'paper'" in refused(tmp_path / "r.parquet")
    inner = {"reviewer": ["a", "b"], "more": [{"paper": 1, "list": [2]}] * 2, "item": [5, 6], "score": [1.0, 2.0]}
    pyarrow.parquet.write_table(pa.table(inner), tmp_path / "r.parquet")
    assert rows(read_reviews(tmp_path / "r.parquet")) == [("a", "5", 1.0), ("b", "6", 2.0)]


def test_parquet_is_read_and_written_without_pyarrow(folder):
    pyarrow.parquet.write_table(pa.table({"reviewer": ["a", "a"], "paper": [1, 2], "score": [1.0, 2.0]}), "r.parquet")
    code = (
        "import sys\nsys.modules['pyarrow'] = None\nimport lsc, reviewgraph\n"
        "assert reviewgraph.read_reviews('r.parquet').n_reviews == 2\n"
        "with reviewgraph.stream_reviews('r.parquet') as reviews:\n    lsc.calibrate(reviews).save('q.parquet')\n"
        "reviewgraph.graph.connected_components([{'reviewer': 'a', 'paper': 1}]).to_frame()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert pyarrow.parquet.read_table("q.parquet").column("item").to_pylist() == ["1", "2"]
