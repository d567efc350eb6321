"""What is written comes back unchanged, and no cell is a formula."""

import csv
import io
import time
from pathlib import Path

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewgraph import read_reviews
from reviewgraph._base import csv_text, write_whole
from reviewgraph._base.labels import is_null
from reviewgraph._base.storing import guarded, unguarded
from reviewgraph.formats import Outgoing, delimited
from reviewgraph.formats.opening import format_to_write
from reviewgraph.formats.people import is_nobody, split_people
from reviewgraph.formats.side import read_conflicts
from reviewgraph.formats.systems.known import SYSTEMS
from reviewgraph.formats.workbooks import read_xlsx, write_xlsx
from tests.trials import examples

WIDE = "\N{FULLWIDTH EQUALS SIGN}\N{FULLWIDTH PLUS SIGN}\N{FULLWIDTH HYPHEN-MINUS}\N{FULLWIDTH COMMERCIAL AT}"
#: What spreadsheets take for the beginning of a formula.
SIGNS = tuple(f"=+-@\t\r{WIDE}")
NASTY = [
    *(f"{sign}wide" for sign in WIDE),
    "=1+1",
    "+x",
    "-x",
    "@x",
    "\tx",
    "\rx",
    "'=x",
    "''@x",
    "-",
    "=",
    "it's",
    "'x",
    "-1.5",
    "+2",
    "-1e9",
    "1-2",
    "",
]

texts = st.text(st.sampled_from(f"'=+-@\t\r{WIDE}1.eEx ,\"\n"), max_size=6)


@given(texts)
def test_cells_come_back_unchanged_and_begin_like_no_formula(text: str) -> None:
    written = guarded(text)
    assert unguarded(written) == text
    if written[:1] in SIGNS:
        float(written)


@pytest.mark.parametrize("text", ["-1.5", "+2", "-1e9", "7", "-.5", "-0"])
def test_numbers_stay_numbers(text: str) -> None:
    assert guarded(text) == text


def test_written_tables_hold_no_formula_but_numbers() -> None:
    rows = csv.reader(io.StringIO(csv_text({"a": NASTY, "b": [-1.5] * len(NASTY)}), newline=""))
    for first, second in list(rows)[1:]:
        assert second == "-1.5"
        assert first[:1] not in SIGNS or float(first) is not None


@pytest.mark.parametrize("large", [False, True])
def test_readers_give_back_labels_as_they_were(tmp_path: Path, large: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if large:
        monkeypatch.setattr(delimited, "LARGE", 0)
    labels = [label for label in NASTY if label and split_people(label) == [label] and not is_nobody(label)]
    path = tmp_path / "pairs.csv"
    path.write_text(csv_text({"item": [f"p{n}" for n, _ in enumerate(labels)], "reviewer": labels}), "utf-8")
    found = read_conflicts(path)
    assert [found.reviewers[code] for code in found.reviewer.tolist()] == labels


#: What ends lines somewhere, what parts cells, what a spreadsheet runs, and what readers may take away.
ODD = ["\r", "\n", "\r\n", "\x85", "\u2028", "\ufeff", "\xa0", *"\",;\t|'=- 1aZ"]
labels = st.lists(st.sampled_from(ODD), min_size=1, max_size=4).map("".join)
labels = labels.filter(lambda text: not is_null(text) and not is_nobody(text) and len(split_people(text)) == 1)


@examples(20)
@given(pairs=st.lists(st.tuples(labels, labels), min_size=1, max_size=6, unique=True))
@pytest.mark.parametrize("large", [False, True])
def test_any_labels_come_back_from_a_plan(
    tmp_path_factory: pytest.TempPathFactory, large: bool, pairs: list[tuple[str, str]]
) -> None:
    path = tmp_path_factory.mktemp("back") / "plan"
    reviewer, item = map(list, zip(*pairs, strict=True))
    columns = {"item": item, "reviewer": reviewer, "joins": item}
    uploads = [SYSTEMS[name].write(Outgoing(columns)) for name in ("csv", "openreview")]
    for content in (*uploads, format_to_write("f.xlsx").write(columns)):
        write_whole(path, content)
        with pytest.MonkeyPatch.context() as patch:
            if large:
                patch.setattr(delimited, "LARGE", 0)
            found = read_reviews(path, merge="none").to_dict()
        assert sorted(zip(found["reviewer"], found["item"], strict=True)) == sorted(pairs)


# Excel.


def test_a_workbook_holds_texts_numbers_and_empty_cells_and_no_formula() -> None:
    labels = [*NASTY, "_x000D_", "a\rb", "007", "12", "\x01"]
    numbers = [0.1 + 0.2, None, float("nan"), -1e-9, 2**60, True, 3, *[1.0] * (len(labels) - 7)]
    data = write_xlsx({"label": labels, "number": numbers})
    sheet = openpyxl.load_workbook(io.BytesIO(data)).active
    assert sheet is not None
    cells = list(sheet.iter_rows(min_row=2))
    assert {cell.data_type for row in cells for cell in row} == {"s", "n"}
    shown = dict(zip(labels, (row[0] for row in cells), strict=True))
    assert (shown["=1+1"].value, shown["=1+1"].quotePrefix) == ("=1+1", True)
    assert (shown["007"].value, shown["12"].value, shown["it's"].quotePrefix) == ("007", 12, False)
    assert [row[1].value for row in cells[:7]] == [0.1 + 0.2, None, None, -1e-9, str(2**60), "True", 3]
    rows = [row for _, row in read_xlsx("a.xlsx", data)[0].rows]
    assert [row[0] for row in rows] == ["label", *labels]
    assert float(rows[1][1]) == 0.1 + 0.2


def test_equal_tables_are_equal_workbooks_at_any_time(monkeypatch: pytest.MonkeyPatch) -> None:
    before = write_xlsx({"item": ["a"]})
    monkeypatch.setattr(time, "time", lambda: 2e9)
    assert write_xlsx({"item": ["a"]}) == before
    assert b"2026" not in before
    assert before != write_xlsx({"item": ["b"]})
