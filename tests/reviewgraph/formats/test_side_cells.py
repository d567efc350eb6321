"""Side files in the forms that people write: flags, several people in a cell, nobody, and matrices."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reviewgraph import InputError
from reviewgraph.formats import Columns, Spellings, side
from reviewgraph.formats.opening import format_to_write
from tests.reviewgraph.reading_cases import labelled, numbers_of

PEOPLE, PAPERS = ["Alba", "Bryn", "Cleo"], ["1", "2", "3"]


@pytest.fixture
def read(folder: Path) -> Callable[..., tuple[Any, list[str]]]:
    """Return what a reader makes of a text, beside reviewers and papers that are known, and its notes."""

    def read(text: str, reader: Any = side.read_conflicts, known: bool = True, **options: Any) -> Any:
        notes: list[str] = []
        Path("f.csv").write_text(text, encoding="utf-8")
        labels = {"reviewer": PEOPLE, "paper": PAPERS} if known else {}
        return reader("f.csv", note=notes.append, merge=Spellings(known=labels), **options), notes

    return read


def pairs_in(table: Columns) -> list[tuple[Any, Any]]:
    return sorted(labelled(table))


# Columns of yes and no.


@pytest.mark.parametrize("header", ["conflict", "COI", "Interest", "conflicted", "Befangen", "Conflict of interest"])
@pytest.mark.parametrize(
    ("yes", "no"),
    [("Yes", "No"), ("1", "0"), ("TRUE", "False"), ("x", ""), ("ja", "nein"), ("COI", "-"), ("1.0", "0.0"), ("y", "n")],
)
def test_rows_that_say_no_are_no_conflicts(read: Any, header: str, yes: str, no: str) -> None:
    table, notes = read(f"paper,reviewer,{header}\n1,Alba,{yes}\n1,Bryn,{no}\n2,Cleo,{no}\n2,Alba,{yes}\n1,Alba,{no}\n")
    assert pairs_in(table) == [("Alba", "1"), ("Alba", "2")]
    assert (
        f"f.csv: the column '{header}' says no in 3 of 5 rows, left out; to read all, add --columns f.csv:conflict="
        in notes
    )
    every, notes = read("paper,reviewer,conflict\n1,Alba,no\n1,Bryn,no\n", columns={"f.csv:conflict": ""})
    assert (len(pairs_in(every)), notes) == (2, [])


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (("yes", "co-author"), "f.csv:3: conflict: expected yes or no, found 'co-author'\nIf every row is a conflict"),
        (("no", ""), "the column 'conflict' has no yes, and 1 row without a word; if every row is a conflict, add "),
        (("", ""), "the column 'conflict' has no yes, and 2 rows without a word"),
    ],
)
def test_what_is_neither_yes_nor_no_is_asked_about_and_answered(
    read: Any, cells: tuple[str, str], message: str
) -> None:
    text = "paper,reviewer,conflict\n" + "".join(f"1,{who},{cell}\n" for who, cell in zip(PEOPLE, cells, strict=False))
    with pytest.raises(InputError) as asked:
        read(text)
    assert message in str(asked.value)
    assert "--columns f.csv:conflict=" in str(asked.value)
    assert len(pairs_in(read(text, columns={"f.csv:conflict": ""})[0])) == 2


# Several people in a cell, and nobody.


@pytest.mark.parametrize(
    "cell", ["Alba; Cleo", '"Alba\nCleo"', "Alba|Cleo", '"Alba, Cleo"', "Alba & Cleo", "Alba and Cleo"]
)
def test_several_people_in_a_cell_are_one_each(read: Any, cell: str) -> None:
    table, notes = read(f"paper,reviewer\n1,{cell}\n2,Bryn\n3,{cell}\n")
    assert pairs_in(table) == [("Alba", "1"), ("Alba", "3"), ("Bryn", "2"), ("Cleo", "1"), ("Cleo", "3")]
    assert [note for note in notes if "2 cells with several reviewers split, as 'Alba" in note]
    with_loads, _ = read("reviewer,load\nAlba; Cleo,3\nBryn,2\n", side.read_reviewers)
    assert {name: entry.load for name, entry in with_loads.items()} == {"Alba": 3, "Cleo": 3, "Bryn": 2}


@pytest.mark.parametrize("columns", [{}, {"reviewer": "Conflicts"}, {"f.csv:reviewer": "Conflicts"}])
def test_a_column_of_conflicts_may_name_people(read: Any, columns: dict[str, str]) -> None:
    table, _ = read("paper,Conflicts\n1,Alba; Cleo\n2,Bryn\n3,n/a\n", columns=columns)
    assert pairs_in(table) == [("Alba", "1"), ("Bryn", "2"), ("Cleo", "1")]


def test_authors_are_split_in_the_same_way(read: Any) -> None:
    text = 'paper,author\n1,"a@x.org, b@x.org"\n2,a@x.org;c@x.org\n3,TBA\n3,b@x.org\n'
    table, notes = read(text, side.read_authors)
    expected = [("a@x.org", "1"), ("a@x.org", "2"), ("b@x.org", "1"), ("b@x.org", "3"), ("c@x.org", "2")]
    assert pairs_in(table) == expected
    assert len(notes) == 2
    assert "1 row left out, whose author is a placeholder ('TBA')" in notes[1]


@pytest.mark.parametrize("word", ["TBD", "n.n.", "?", "unknown", "nicht zugewiesen", "--"])
def test_words_for_nobody_are_counted_and_left_out(read: Any, word: str) -> None:
    kept = []
    table, notes = read(f"paper,reviewer\n1,{word}\n2,Bryn\n", read=kept.append)
    assert pairs_in(table) == [("Bryn", "2")]
    assert notes == [f"f.csv: 1 row left out, whose reviewer is a placeholder ('{word}')"]
    assert (kept[0].rows, [left.rows for left in kept[0].left_out]) == (2, [1])
    assert list(read(f"reviewer,load\n{word},3\nBryn,2\n", side.read_reviewers)[0]) == ["Bryn"]


def test_a_known_label_is_one_person_whatever_it_looks_like(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("paper,reviewer\n1,Open\n2,A|B\n")
    known = Spellings(known={"reviewer": ["Open", "A|B"]})
    assert pairs_in(side.read_conflicts(tmp_path / "f.csv", merge=known)) == [("A|B", "2"), ("Open", "1")]


# Matrices.

CONFLICTS = {("Alba", "1"), ("Bryn", "3")}


def matrix(first: str, rows: list[str], columns: list[str], cell: Callable[[str, str], str]) -> str:
    lines = [[first, *columns], *([row, *(cell(row, column) for column in columns)] for row in rows)]
    return "".join(f"{','.join(line)}\n" for line in lines)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("first", ["paper", "reviewer", "", "id", "Paper \\ Reviewer", "Reviewer / paper", "what"])
@pytest.mark.parametrize(("yes", "no"), [("X", ""), ("1", "0"), ("yes", "no"), ("COI", "-"), ("conflict", "ok")])
def test_matrices_of_conflicts_by_their_labels(read: Any, turned: bool, first: str, yes: str, no: str) -> None:
    rows, columns = (PEOPLE, PAPERS) if turned else (PAPERS, PEOPLE)

    def cell(row: str, column: str) -> str:
        return yes if ((row, column) if turned else (column, row)) in CONFLICTS else no

    table, notes = read(matrix(first, rows, columns, cell))
    assert set(pairs_in(table)) == CONFLICTS
    axes = "reviewers in rows and papers in columns" if turned else "papers in rows and reviewers in columns"
    assert notes == [f"f.csv: read as a matrix with {axes}, {2 if not no else 9} of 9 cells not empty"]


@pytest.mark.parametrize(
    ("first", "reviewer", "conflicts"),
    [("paper", "7", {("8", "9"), ("7", "8")}), ("reviewer", "9", {("9", "8"), ("8", "7")})],
)
def test_matrices_without_known_labels_are_turned_by_their_first_cell(
    read: Any, first: str, reviewer: str, conflicts: set[tuple[str, str]]
) -> None:
    table, _ = read(f"{first},7,8\n8,X,\n9,,X\n", known=False)
    assert set(pairs_in(table)) == conflicts
    with pytest.raises(InputError, match="write paper or reviewer in the place of 'what', above the first column"):
        read("what,7,8\n8,X,\n9,,X\n", known=False)


def test_matrices_of_bids_and_affinities(read: Any) -> None:
    bids, _ = read("paper,Alba,Bryn,Cleo\n1,want,ok,no\n2,conflict,rather not,\n", side.read_bids)
    assert pairs_in(bids.conflicts) == [("Alba", "2")]
    values = numbers_of(bids.table)
    assert {pair: values[pair] for pair in values if pair not in CONFLICTS | {("Alba", "2")}} == {
        ("Bryn", "1"): 0.5, ("Cleo", "1"): -1.0, ("Bryn", "2"): -0.5,
    }  # fmt: skip
    bids, _ = read("paper,reviewer,bid,COI\n1,Alba,want,no\n2,Bryn,ok,yes\n", side.read_bids)
    assert pairs_in(bids.conflicts) == [("Bryn", "2")]
    affinity, notes = read("reviewer,1,2\nAlba,0.5,\nBryn,,-1e-3\n", side.read_affinity)
    assert numbers_of(affinity) == {("Alba", "1"): 0.5, ("Bryn", "2"): -0.001}
    assert notes == ["f.csv: read as a matrix with reviewers in rows and papers in columns, 2 of 4 cells not empty"]


@pytest.mark.parametrize("suffix", ["csv", "xlsx"])
def test_matrices_of_any_format_name_the_cell_and_count_their_rows(tmp_path: Path, suffix: str) -> None:
    columns = {"paper": ["1", "2"], "title": ["A", "B"], "Alba": ["X", "7"], "Bryn": ["", "x"], "Notes": ["so", "so"]}
    content, path = format_to_write(f"f.{suffix}").write(columns), tmp_path / f"f.{suffix}"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    known, kept = Spellings(known={"reviewer": PEOPLE}), []
    with pytest.raises(InputError, match=r"f\..*3, column 'Alba': conflict: expected yes or no, found '7'"):
        side.read_conflicts(path, merge=known)
    notes: list[str] = []
    content = format_to_write(f"f.{suffix}").write({**columns, "Alba": ["X", "-"]})
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    table = side.read_conflicts(path, merge=known, note=notes.append, read=kept.append)
    assert (pairs_in(table), kept[0].rows) == ([("Alba", "1"), ("Bryn", "2")], 2)
    assert notes[0].endswith("not empty; left out: 'Notes'")


@pytest.mark.parametrize(
    ("header", "yes", "no", "named"),
    [("value", "1", "0", True), ("relationship", "co-author", "none", False), ("conflict_score", "-1", "0", False)],
)
def test_a_column_of_another_name_that_says_no_is_asked_about(
    tmp_path: Path, header: str, yes: str, no: str, named: bool
) -> None:
    path = tmp_path / "c.csv"
    path.write_text(f"paper,reviewer,{header}\nP1,Ann,{yes}\nP2,Ann,{no}\n", "utf-8")
    with pytest.raises(InputError, match=f"the column '{header}' holds '{no}' beside '{yes}'") as refused:
        side.read_conflicts(path, columns={})
    assert f"c.csv:conflict={header}" in str(refused.value)
    assert side.read_conflicts(path, columns={f"{path}:conflict": ""}).item.size == 2
    if named:
        assert side.read_conflicts(path, columns={f"{path}:conflict": header}).item.size == 1
