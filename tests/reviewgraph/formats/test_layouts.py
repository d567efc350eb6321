"""Tables as people lay them out: titles, two header rows, merged cells, a sheet per judge, JSON, pairs."""

import io
import random

import openpyxl
import pyarrow
import pyarrow.parquet
import pytest

from reviewgraph import read_reviews
from reviewgraph.formats import delimited
from reviewgraph.formats.side import read_affinity
from tests.reviewgraph.formats.exports import as_spreadsheet_xml, as_xlsx
from tests.reviewgraph.reading_cases import read, refused, rows

WANTED = [("ann", "p1", 3.0), ("ann", "p2", 5.0), ("bob", "p1", 4.0)]


def workbook(change, sheets=None):
    """A workbook of the reviews, or of sheets of cells, changed by hand."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    table = {"Reviews": [["judge", "entry", "score"], ["ann", "p1", 3], ["ann", "p2", 5], ["bob", "p1", 4]]}
    for title, cells in (sheets or table).items():
        sheet = book.create_sheet(title)
        for row in cells:
            sheet.append(row)
    change(book)
    data = io.BytesIO()
    book.save(data)
    return data.getvalue()


def test_a_row_of_numbers_is_no_header(write):
    book = write(as_xlsx({"S": [["Name", "Ann", "Bob"], ["Points", 10, 10], ["p1", 3, 4]]}), "book.xlsx")
    assert read_reviews(book, format="gradebook", columns={"item": "Name"}).reviewers == ("Ann", "Bob")


@pytest.mark.parametrize("rows_below", [[], [",,"]])
def test_one_column_of_a_large_file_serves_two_purposes(write, rows_below, monkeypatch):
    monkeypatch.setattr(delimited, "LARGE", 0)
    draw = random.Random(1)
    lines = [f"Movie number {draw.randint(0, 90)} part {row % 7},{row % 30},1" for row in range(600)]
    text = "\n".join(["title,critic,score", *lines, *rows_below, ""])
    options = {"columns": {"item": "title"}, "duplicates": "mean"}
    reviews = read_reviews(write(text), **options)
    assert set(reviews.items) == {line.partition(",")[0] for line in lines}
    table = pyarrow.table({"title": ["a", "b"], "critic": ["x", "x"], "score": [1.0, 2.0]})
    pyarrow.parquet.write_table(table, "a.parquet")
    assert read_reviews("a.parquet", **options).titles == {"a": "a", "b": "b"}


def test_hidden_rows_and_columns_are_read_and_counted(write):
    def hide(book):
        book["Reviews"].row_dimensions[3].hidden = True
        book["Reviews"].column_dimensions["C"].hidden = True

    told = "book.xlsx, sheet Reviews: 1 hidden row and 1 hidden column ('score') read; delete what is not to count"
    assert read(write(workbook(hide), "book.xlsx")) == (WANTED, [told])
    xml = as_spreadsheet_xml({"R": [["judge", "entry", "score"], ["ann", "p1", 3]]}).decode()
    assert xml.count("<Row") == 2 or xml.count("<ss:Row") == 2
    before, mark, after = xml.rpartition("Row>")[0].rpartition("Row")
    hidden = f'{before}{mark} ss:Hidden="1"{after}Row>{xml.rpartition("Row>")[2]}'
    _, notes = read(write(hidden, "book.xls"))
    assert notes == ["book.xls, sheet R: 1 hidden row read; delete what is not to count"]


def test_two_header_rows_are_one(write):
    cells = [
        ["Team", "Ann", "", "Bob", ""],
        ["", "Impact", "Craft", "Impact", "Craft"],
        ["p1", 3, 1, 4, 2],
        ["p2", 5, 6],
    ]

    def merge(book):
        for area in ("A1:A2", "B1:C1", "D1:E1"):
            book["S"].merge_cells(area)

    wanted = [("Ann", "p1", 3.0), ("Ann", "p2", 5.0), ("Bob", "p1", 4.0)]
    options = {"format": "gradebook", "score": "Impact"}
    text = "\n".join(",".join(map(str, [*row, *[""] * (5 - len(row))])) for row in cells)
    for name in (write(workbook(merge, {"S": cells}), "book.xlsx"), write(text)):
        notes = []
        reviews = read_reviews(name, note=notes.append, **options)
        assert rows(reviews) == wanted
        assert {name: values.tolist() for name, values in reviews.criteria.items()} == {"Craft": [1.0, 6.0, 2.0]}
        assert any("the reviewers are the columns 'Ann', 'Bob'" in note for note in notes)


@pytest.mark.parametrize("filled", [True, False])
def test_a_row_of_scores_below_the_header_is_part_of_it(write, filled):
    below = ["Proposal", "Title", "Reviewer"] if filled else ["", "", ""]
    cells = [
        ["Proposal", "Title", "Reviewer", "Scores", "", ""],
        [*below, "Merit", "Impact", "Overall"],
        ["p1", "A", "ann", 4, 3, 3],
        ["p2", "B", "ann", 2, 1, 5],
        ["p1", "A", "bob", 3, 3, 4],
    ]

    def merge(book):
        for area in ("A1:A2", "B1:B2", "C1:C2", "D1:F1"):
            book["S"].merge_cells(area)

    text = "\n".join(",".join(map(str, row)) for row in cells)
    for name in (write(workbook(merge, {"S": cells}), "book.xlsx"), write(text)):
        reviews = read_reviews(name)
        assert rows(reviews) == WANTED
        assert list(reviews.criteria) == ["Merit", "Impact"]


@pytest.mark.parametrize(
    ("columns", "role"),
    [(["entry", "score"], "reviewer"), (["judge", "score"], "item"), (["Team", "Design"], "reviewer")],
)
def test_a_sheet_for_each_judge_or_paper(write, columns, role):
    by_title = {"ann": [("p1", 3), ("p2", 5)], "bob": [("p1", 4)]}
    if role == "item":
        by_title = {"p1": [("ann", 3), ("bob", 4)], "p2": [("ann", 5)]}
    sheets = {title: [["Sheet of:", title], [], columns, *cells] for title, cells in by_title.items()}
    found, notes = read(write(as_xlsx(sheets), "book.xlsx"), score=columns[1])
    assert found == WANTED
    assert notes[0] == f"book.xlsx: the {role} is the name of the sheet"
    unnamed = {f"Sheet{place}": cells for place, cells in enumerate(sheets.values(), 1)}
    assert f"name each sheet after its {role}" in refused(write(as_xlsx(unnamed), "book.xlsx"))


def test_a_summary_beside_a_sheet_for_each_judge_is_no_judge(write):
    cells = {"ann": [["entry", "score"], ["p1", 3], ["p2", 5]], "bob": [["entry", "score"], ["p1", 4]]}
    more = {"Summary": [["entry", "score"], ["p1", 3.5], ["p2", 5]], "Template": [["entry", "score"], ["p1"]]}
    found, notes = read(write(workbook(lambda book: None, cells | more), "book.xlsx"))
    assert found == WANTED
    assert any("except 'Summary', 'Template', left out; rename a sheet that counts" in note for note in notes)


def test_a_list_of_papers_is_no_table_of_reviews(write):
    cells = {
        "Reviews": [["judge", "entry", "score"], ["ann", "p1", 3], ["ann", "p2", 5], ["bob", "p1", 4]],
        "Entries": [["entry", "title", "email"], ["p1", "A", "a@x.org"], ["p2", "B", "b@x.org"]],
    }
    assert read(write(workbook(lambda book: None, cells), "book.xlsx")) == (WANTED, [])


def test_formulas_without_values_in_columns_that_nobody_needs(write):
    head = ["Team", "Design", "Impact", "Total"]
    sheets = {
        "ann": [head, ["p1", 3, 1, "=SUM(B2:C2)"], ["p2", 5, 6, "=SUM(B3:C3)"]],
        "bob": [head, ["p1", 4, 2, "=SUM(B2:C2)"]],
    }
    found, notes = read(write(as_xlsx(sheets), "book.xlsx"), score="Design")
    assert found == WANTED
    assert any("book.xlsx: 'Total' holds formulas without values and is not read" in note for note in notes)
    sheets["bob"][1][2] = "=1+1"
    assert "sheet bob, row 2: the formula '=1+1' has no value" in refused(
        write(as_xlsx(sheets), "book.xlsx"), score="Impact"
    )


def test_sheets_of_one_judge_each_are_one_table(write):
    head = ["judge", "entry", "score"]
    sheets = {"A": [head, ["ann", "p1", 3], ["ann", "p2", 5]], "B": [head, ["bob", "p1", 4]]}
    assert read(write(as_xlsx(sheets), "book.xlsx"))[0] == WANTED
    sheets["B"].append(["ann", "p3", 1])
    assert "may be in any of the sheets" in refused(write(as_xlsx(sheets), "book.xlsx"))


def test_numbers_shown_as_percent_are_percentages(write):
    def show(*places):
        def change(book):
            for place in places:
                book["Reviews"][place].value /= 10
                book["Reviews"][place].number_format = "0.0%"

        return change

    found, notes = read(write(workbook(show("C2", "C3", "C4")), "book.xlsx"))
    assert [score for *_, score in found] == [30.0, 50.0, 40.0]
    assert notes == ["book.xlsx, sheet Reviews: scores are out of 100"]
    assert "the score '30%' has its maximum, and other scores of the column have none" in refused(
        write(workbook(show("C2")), "book.xlsx")
    )
    side = write(workbook(show("C2", "C3", "C4")), "fit.xlsx")
    assert read_affinity(side, columns={"affinity": "score"}).score.tolist() == [0.3, 0.5, 0.4]


@pytest.mark.parametrize("header", ["Students,E-mail,Marker,Mark", "Candidates,Email,Marker,Mark"])
def test_addresses_beside_those_who_are_judged_are_not_of_reviewers(header, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(f"{header}\ns1,s1@x.org,ann,3\ns2,s2@x.org,ann,4\ns1,s1@x.org,bob,5\n")
    assert set(read_reviews(path).reviewers) == {"ann", "bob"}
