"""What a cell means."""

import pytest

from reviewgraph import InputError, read_reviews
from reviewgraph.formats import parse_number
from reviewgraph.formats.values import parse_moment
from tests.reviewgraph.formats.exports import as_csv, as_xlsx
from tests.reviewgraph.reading_cases import HOTCRP, refused, rows

#: Cells by the number that they hold.
NUMBERS = {
    -2: ["-2"],
    0: ["0"],
    0.5: [".5"],
    1: ["+1"],
    2: ["2 - weak"],
    3: ["3 good", "3 - weak", "3 medium", "3 - weak accept"],
    4: ["4 (weak accept)", "4 halfway there", "4 ordinary"],
    4.5: ["4.5"],
    5: ["5. Accept", "5 pointless", "5 (borderline, 4-6)"],
    6: ["6: marginally above the acceptance threshold"],
    7: [" 7 ", "7: or better", "7: Good paper, accept"],
    8: ["8: accept, good paper"],
    9: ["9: Top 15% of accepted papers, strong accept"],
    10: ["1e1", "10 \N{EM DASH} top 5%"],
}


@pytest.mark.parametrize(("cell", "score"), [(cell, score) for score, cells in NUMBERS.items() for cell in cells])
def test_score_strings(cell, score):
    assert parse_number(cell) == score


@pytest.mark.parametrize("cell", ["inf", "-Infinity", "nan", "1e999", "8/10", "12:30", "7 8", "4,5", "1,234", "B", "٣"])
def test_scores_refused(write, cell):
    message = refused(write(f'reviewer,item,score\nr,i,2\nr,j,"{cell}"\n'))
    assert message.startswith("reviews.csv:3: the score ")


@pytest.mark.parametrize(
    "cell",
    [
        *("7 or 8", "6 bis 7", "6 to 7", "1 e5", "1 E 5", "7 (or 8)", "7 - or 8", "6: 7"),
        *("6-7", "6 - 7", "7 8", "3 oder\n4", "7 (oder: 8)", "4 pages 2"),
        *("7 or eight", "7 (or eight)", "7 to eight", "7 - bis acht", "7 ou huit", "7 point five", "7 minus"),
        *("7 half", "7 and a half", "7 - half", "7 \N{VULGAR FRACTION ONE HALF}", "7 ein halb"),
        *("7 et demi", "7 y medio"),
    ],
)
def test_scores_of_which_there_are_two_are_refused(write, cell):
    said = f"the score {cell!r} is not a single number; write one, or leave the cell empty"
    assert refused(write(f'reviewer,item,score\nr,i,2\nr,j,"{cell}"\n')) == f"reviews.csv:3: {said}"
    book = as_xlsx({"S": [["Reviewer", "Item", "Score"], ["r", "i", 2], ["r", "j", cell]]})
    assert refused(write(book, "a.xlsx")) == f"a.xlsx, sheet S, row 3: {said}"
    form = as_csv(["Timestamp", "Your email", "Paper", "Your score"], [["now", "r", "j", cell]])
    assert refused(write(form, "form.csv")) == f"form.csv:2: {said}"


def test_decimal_commas_where_the_delimiter_is_none(write):
    assert rows(read_reviews(write("reviewer;item;score\nr;i;4,5\n"))) == [("r", "i", 4.5)]
    assert rows(read_reviews(write("reviewer\titem\tscore\nr\ti\t-0,25\n"))) == [("r", "i", -0.25)]
    assert "write decimals with a point" in refused(write('reviewer,item,score\nr,i,"4,5"\n'))


def test_missing_scores_are_planned_and_the_spelled_ones_counted(write):
    notes = []
    cells = ["", " ", "n/a", "NA", "None", "no entry", "-", "\N{EN DASH}", "?", "4"]
    text = "".join(f"r,{place},{cell}\n" for place, cell in enumerate(cells))
    reviews = read_reviews(write(f"reviewer,item,score\n{text}"), note=notes.append)
    assert reviews.scored.tolist() == [False] * 9 + [True]
    assert len(notes) == 1
    assert notes[0].startswith("reviews.csv: 7 scores read as missing")


def test_letters_ask_for_their_direction_and_a_scale_answers(write):
    name = write("reviewer,item,score\nr,i,A\nr,j,C\ns,i,B\n")
    message = refused(name)
    assert message.startswith("reviews.csv:2: the score 'A' is not a number\n")
    assert "best first" in message
    assert [score for *_, score in rows(read_reviews(name, scale="A>B>C"))] == [3.0, 1.0, 2.0]
    assert [score for *_, score in rows(read_reviews(name, scale=["C", "B", "A"]))] == [1.0, 3.0, 2.0]
    assert refused(name, scale="A > B") == "reviews.csv:3: the score 'C' is not on the scale A>B"


@pytest.mark.parametrize("scale", ["A", "A>A", "A>", [], ""])
def test_a_scale_has_distinct_grades(write, scale):
    assert refused(write(HOTCRP), scale=scale).startswith("--scale: expected two or more distinct grades")


def read(write, cells, header="reviewer,item,score", delimiter=","):
    lines = [f"r{row % 2},i{row // 2},{cell}".replace(",", delimiter, 2) for row, cell in enumerate(cells)]
    notes = []
    reviews = read_reviews(write("\n".join([header.replace(",", delimiter), *lines])), note=notes.append)
    return [score for *_, score in sorted(rows(reviews), key=lambda row: (row[1], row[0]))], notes


@pytest.mark.parametrize(
    ("cells", "scores", "unit"),
    [
        (["8/10", "6 / 10", "", "7.5/10"], [8, 6, None, 7.5], "out of 10"),
        (["8 out of 10", "3 von 5", "4 of 5"], [80, 60, 80], "percent of 5, 10"),
        (["70 %", "65.5%"], [70, 65.5], "out of 100"),
        (["70%", "4/5"], [70, 80], "percent of 5, 100"),
    ],
)
def test_scores_with_their_maxima_are_on_one_scale(write, cells, scores, unit):
    found, notes = read(write, cells)
    assert found == scores
    assert notes == [f"reviews.csv: scores are {unit}"]


@pytest.mark.parametrize("cell", ["8/10", "70%", "3 out of 5", "3 von 5"])
def test_scores_with_a_maximum_beside_others_without_are_asked_about(write, cell):
    said = f"reviews.csv:3: the score {cell!r} has its maximum, and other scores of the column have none; write all"
    assert refused(write(f"reviewer,item,score\nr,i,2\nr,j,{cell}\n")).startswith(said)


@pytest.mark.parametrize("name", ["out of", "Max points", "Points Possible"])
def test_a_column_of_maxima_makes_scores_percentages(write, name):
    text = f"reviewer,item,score,{name}\na,p,4,5\na,q,,5\nb,p,80,100\nb,q,5,10\n"
    notes = []
    reviews = read_reviews(write(text), note=notes.append)
    assert [score for *_, score in rows(reviews)] == [80, None, 80, 50]
    assert notes == [
        f"reviews.csv: the column {name!r} is read as the maximum of each score",
        "reviews.csv: scores are percent of 5, 10, 100",
    ]
    assert not reviews.criteria
    same = "reviewer,item,score,out of\na,p,4,10\nb,q,5,10\n"
    one = read_reviews(write(same), note=notes.append)
    assert ([score for *_, score in rows(one)], dict(one.criteria), notes[2:]) == ([4, 5], {}, [])
    write(text)
    assert "has its maximum, and other scores" in refused(write(text.replace("5,10", "5,")))


def test_every_minus_is_one(write):
    assert read(write, ["\N{MINUS SIGN}1", "+1", "\N{FULLWIDTH HYPHEN-MINUS}2"])[0] == [-1, 1, -2]


@pytest.mark.parametrize(
    ("cells", "doubt"),
    [
        (["1,700", "900"], "'1,700' may be 1.7 or 1700"),
        (["7.142", "900"], "'7.142' may be 7.142 or 7142"),
        (["1,700", "4,5", "900"], ""),
        (["4,333", "5", "3,667"], ""),
        (["1,700", "1,200"], ""),
        (["87,125", "95", "100"], ""),
        (["1,700", "900", "9" * 300], "'1,700' may be 1.7 or 1700"),
    ],
)
def test_groups_of_digits_are_asked_about(write, cells, doubt):
    if doubt:
        with pytest.raises(InputError, match=doubt):
            read(write, cells, delimiter=";")
    else:
        assert read(write, cells, delimiter=";")[0] == [float(cell.replace(",", ".")) for cell in cells]


@pytest.mark.parametrize(
    "text",
    [
        "2026-03-01T16:00:00Z",
        "2026-03-01 17:00:00 +0100",
        "2026-03-01T17:00+01:00",
        "20260301T160000Z",
        " 2026-03-01 16:00 ",
        "1772380800",
        "1772380800000",
        "1.3.2026 16:00",
        "2026/03/01 5:00:00 PM GMT+1",
    ],
)
def test_times_of_every_writing_are_the_same_moment(text: str) -> None:
    moment = parse_moment(text)
    assert moment is not None
    assert moment.isoformat() == "2026-03-01T16:00:00+00:00"


@pytest.mark.parametrize(
    "text", ["", "soon", "01/03/2026", "2026-13-01", "12", "2026-02-30", "13/14/2026", "9999-12-31T23:00-20:00"]
)
def test_what_is_no_date_is_none(text: str) -> None:
    assert parse_moment(text) is None
