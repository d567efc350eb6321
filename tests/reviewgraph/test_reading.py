import codecs
import csv
import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reviewgraph
from reviewgraph import DuplicateReview, InputError, read_reviews
from reviewgraph.formats import delimited
from reviewgraph.formats.headers import normalise
from reviewgraph.formats.side import read_reviewers
from reviewgraph.formats.values import parse_number
from reviewgraph.labels import encode, natural_key, natural_order


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write a file and be in its folder, so that messages name it shortly."""
    monkeypatch.chdir(tmp_path)

    def write(content, name="reviews.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return name

    return write


def refused(*args, **options):
    with pytest.raises(InputError) as caught:
        read_reviews(*args, **options)
    return str(caught.value)


def rows(reviews):
    columns = reviews.to_dict()
    return list(zip(columns["reviewer"], columns["item"], columns["score"], strict=True))


DATA = Path(__file__).parents[3] / "shared" / "data"

HOTCRP = """paper,title,decision,review,reviewername,email,OveMer,RevExp
3,A paper,Accepted,3A,Reviewer One,r1@example.org,4,2
3,A paper,Accepted,3B,Reviewer Two,r2@example.org,2,
"""


# Columns


def test_hotcrp_scores_need_their_name_and_say_so(write):
    notes = []
    planned = read_reviews(write(HOTCRP), note=notes.append)
    assert not planned.scored.any()
    assert len(notes) == 1
    assert "'OveMer', 'RevExp'" in notes[0]
    assert "--columns score=NAME" in notes[0]
    scored = read_reviews("reviews.csv", columns={"score": "OveMer"}, note=pytest.fail)
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


def test_a_plan_is_readable_as_reviews_beside_them(write):
    write("paper,email,OveMer\n1,a,3\n2,b,4\n")
    write("item,reviewer,cost,joins\n2,a,1.0,two groups\n", "plan.csv")
    both = read_reviews("reviews.csv", "plan.csv", columns={"score": "OveMer"}, note=pytest.fail)
    assert rows(both) == [("a", "1", 3.0), ("a", "2", None), ("b", "2", 4.0)]
    write("item,reviewer,cost,joins\n", "plan.csv")
    notes = []
    assert read_reviews("reviews.csv", "plan.csv", note=notes.append).n_reviews == 2
    assert "plan.csv: a header but no reviews below it" in notes


ASSIGNMENTS = """paper,action,email,round,title
3,clearreview,#pc,any,A paper
3,primaryreview,r1@example.org,R1,A paper
3,Pri,r2@example.org,R1,A paper
4,clearreview,#pc,any,B paper
4,review,r1@example.org,R1,B paper
4,conflict,r3@example.org,,B paper
5,,r1@example.org,,C paper
"""


def test_rows_of_hotcrp_that_assign_no_review_are_left_out_and_counted(write):
    notes = []
    reviews = read_reviews(write(ASSIGNMENTS), note=notes.append)
    assert reviews.reviewers == ("r1@example.org", "r2@example.org")
    pairs = [("r1@example.org", "3"), ("r1@example.org", "4"), ("r1@example.org", "5"), ("r2@example.org", "3")]
    assert rows(reviews) == [(*pair, None) for pair in pairs]
    assert notes[0] == "reviews.csv: 3 rows left out, whose action assigns no review ('clearreview', 'conflict')"
    message = refused(write("paper,action,email\n3,clearreview,#pc\n"))
    assert "a header but no reviews below it" in message


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


# Scores


@pytest.mark.parametrize(
    ("cell", "score"),
    [
        ("8: accept, good paper", 8.0),
        ("3 good", 3.0),
        ("5. Accept", 5.0),
        ("4 (weak accept)", 4.0),
        ("2 - weak", 2.0),
        ("4.5", 4.5),
        (".5", 0.5),
        ("-2", -2.0),
        ("+1", 1.0),
        (" 7 ", 7.0),
        ("1e1", 10.0),
        ("0", 0.0),
    ],
)
def test_score_strings(cell, score):
    assert parse_number(cell) == score


@pytest.mark.parametrize("cell", ["inf", "-Infinity", "nan", "1e999", "8/10", "12:30", "7 8", "4,5", "1,234", "B", "٣"])
def test_scores_refused(write, cell):
    message = refused(write(f'reviewer,item,score\nr,i,2\nr,j,"{cell}"\n'))
    assert message.startswith("reviews.csv:3: the score ")


def test_decimal_commas_where_the_delimiter_is_none(write):
    assert rows(read_reviews(write("reviewer;item;score\nr;i;4,5\n"))) == [("r", "i", 4.5)]
    assert rows(read_reviews(write("reviewer\titem\tscore\nr\ti\t-0,25\n"))) == [("r", "i", -0.25)]
    assert "write decimals with a point" in refused(write('reviewer,item,score\nr,i,"4,5"\n'))


def test_missing_scores_are_planned_and_the_spelled_ones_counted(write):
    notes = []
    cells = ["", " ", "n/a", "None", "no entry", "-", "\N{EN DASH}", "4"]
    text = "".join(f"r,{place},{cell}\n" for place, cell in enumerate(cells))
    reviews = read_reviews(write(f"reviewer,item,score\n{text}"), note=notes.append)
    assert reviews.scored.tolist() == [False] * 7 + [True]
    assert len(notes) == 1
    assert notes[0].startswith("reviews.csv: 5 scores read as missing")


def test_letters_ask_for_their_direction_and_a_scale_answers(write):
    name = write("reviewer,item,score\nr,i,A\nr,j,C\ns,i,B\n")
    message = refused(name)
    assert message.startswith("reviews.csv:2: the score 'A' is not a number\n")
    assert '--scale "A>B>C"' in message
    assert "best first" in message
    assert [score for *_, score in rows(read_reviews(name, scale="A>B>C"))] == [3.0, 1.0, 2.0]
    assert [score for *_, score in rows(read_reviews(name, scale=["C", "B", "A"]))] == [1.0, 3.0, 2.0]
    assert refused(name, scale="A > B") == "reviews.csv:3: the score 'C' is not on the scale A>B"


def test_words_ask_for_their_direction(write):
    message = refused(write("reviewer,item,score\nr,i,good\nr,j,bad\n"))
    assert "If 'bad', 'good' are grades" in message
    assert "--scale" in message


@pytest.mark.parametrize("scale", ["A", "A>A", "A>", [], ""])
def test_a_scale_has_distinct_grades(write, scale):
    assert refused(write(HOTCRP), scale=scale).startswith("--scale: expected two or more distinct grades")


def test_a_scale_tells_the_direction_alone(write):
    assert "leave it out" in refused(write(HOTCRP), scale="A>B", lower_is_better=True)


def test_lower_is_better_negates_inside_only(write):
    reviews = read_reviews(write("reviewer,item,score\nr,i,1\nr,j,5\n"), lower_is_better=True)
    assert reviews.score.tolist() == [-1.0, -5.0]
    assert reviews.to_dict()["score"] == [1.0, 5.0]


# What is wrong, and where


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the file is empty"),
        ("\n\n \n", "the file is empty"),
        ("\ufeff", "the file is empty"),
        ("reviewer,item\n", "a header but no reviews below it"),
        ("reviewer,item\n\n\n", "a header but no reviews below it"),
        ("who,item\nr,i\n", "no reviewer column (reviewer, reviewer_id"),
        ("who,item\nr,i\n", "found the columns 'who', 'item'; say which one it is with --columns reviewer=NAME"),
        ("reviewer,score\nr,1\n", "no item column"),
        ("reviewer\nr\n", "no item column"),
        (b"\x89PNG\r\n\x1a\n\0\0\0", "found a binary file"),
        (b"reviewer,item\nr,i" + b"x" * 100_000 + b"\0", "found a binary file"),
        (codecs.BOM_UTF16_LE + b"a", "found a binary file"),
        (b"PK\x03\x04rest", "a spreadsheet or a zip archive: save the sheet as CSV"),
        ("<?xml version='1.0'?>", "XML"),
        (b"PAR1 and then nothing", "the Parquet file cannot be read"),
        ('reviewer,"item\nr,i\n', "the header cannot be read: a quoted cell that begins in this row never ends"),
    ],
)
def test_files_that_are_no_tables(write, content, message):
    found = refused(write(content))
    assert found.startswith("reviews.csv")
    assert message in found
    assert "\n" not in found


def test_missing_files_and_folders(tmp_path):
    assert "no such file" in refused(tmp_path / "none.csv")
    assert "found a folder" in refused(tmp_path)
    assert "one or more files" in refused()


def test_files_that_the_system_refuses(write, monkeypatch):
    name = write(HOTCRP)

    def read_bytes(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", read_bytes)
    assert refused(name) == "reviews.csv: cannot be read (Permission denied)"


def test_a_label_of_ten_thousand_characters(write):
    label = "p" * 10_000
    assert read_reviews(write(f"reviewer,item\nr,{label}\n")).items == (label,)
    assert len(refused(write(f"reviewer,item,score\nr,i,{label}\n"))) < 600


def test_malformed_rows_are_named_by_physical_line_in_one_message(write):
    text = 'reviewer,item,score\nr,"two\nlines",1\n\nr\n,i,2\nr,,x\nr,j,inf\nr,k,1,2\n'
    assert refused(write(text)).splitlines()[:6] == [
        "reviews.csv:5: expected 3 cells as in the header, found 1",
        "reviews.csv:6: the reviewer is empty",
        "reviews.csv:7: the item is empty",
        "reviews.csv:7: the score 'x' is not a number",
        "reviews.csv:8: the score 'inf' is not a finite number; leave the cell empty where there is no score",
        "reviews.csv:9: expected 3 cells as in the header, found 4",
    ]


def test_ten_problems_are_named_and_the_rest_counted_over_all_files(write):
    write("reviewer,item,score\n" + "r\n" * 4 + ",i,1\n" * 4)
    write("reviewer,item,score\n" + "r,i,?\n" * 30, "more.csv")
    lines = refused("reviews.csv", "more.csv").splitlines()
    assert [line.split(": ")[0] for line in lines[:10]] == [
        *(f"reviews.csv:{line}" for line in range(2, 10)),
        *("more.csv:2", "more.csv:3"),
    ]
    assert lines[10] == "... and 28 more"


def test_unclosed_quotes_do_not_swallow_rows(write):
    message = refused(write('reviewer,item,title\nr,i,"an open end\nr,j,second\n'))
    assert message == "reviews.csv:2: a quoted cell that begins in this row never ends; is a closing quote missing?"
    long = write('reviewer,item,title\nr,i,"' + "an open end\n" * 20_000)
    assert refused(long).startswith("reviews.csv:2: a cell that begins in this row is very long")
    stray = write('reviewer,item,title\nr,i,"said "no" twice"\n')
    assert refused(stray).startswith("reviews.csv:2: text follows a closing quote")


def test_duplicates_name_both_places_across_files(write):
    write('title,reviewer,item,score\n"two\nlines",r,i,1\n,s,i,1\n')
    write("reviewer,item,score\n\nr,i,2\n", "more.csv")
    with pytest.raises(DuplicateReview, match=r"reviews\.csv:2 and more\.csv:3"):
        read_reviews("reviews.csv", "more.csv")
    assert rows(read_reviews("reviews.csv", "more.csv", duplicates="last"))[0] == ("r", "i", 2.0)
    assert rows(read_reviews("reviews.csv", "more.csv", duplicates="mean"))[0] == ("r", "i", 1.5)


# Encodings and delimiters


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_encodings_delimiters_and_line_ends(write, encoding, delimiter, newline):
    notes = []
    text = newline.join(delimiter.join(row) for row in [("Reviewer", "Paper", "Score"), ("Zoë", "Größe", "4")])
    reviews = read_reviews(write((text + newline).encode(encoding)), note=notes.append)
    assert rows(reviews) == [("Zoë", "Größe", 4.0)]
    assert [note.split(";")[0] for note in notes] == (
        ["reviews.csv: the file is not UTF-8 and was read as Windows-1252"] if encoding == "cp1252" else []
    )


def test_what_spreadsheets_write_beside_latin_1(write):
    notes = []
    reviews = read_reviews(write("reviewer,item,score\nO\u2019Hara,10 \u20ac \u2013 plan,1\n".encode("cp1252")))
    assert rows(reviews) == [("O\u2019Hara", "10 \u20ac \u2013 plan", 1.0)]
    odd = b"reviewer,item,score\nann\x81\xe9,i,1\n"  # 0x81 means nothing in Windows-1252
    assert rows(read_reviews(write(odd), note=notes.append)) == [("ann\x81\xe9", "i", 1.0)]
    assert "was read as Latin-1" in notes[0]


def test_the_delimiter_is_the_one_under_which_columns_have_their_names(write):
    header = "Reviewer Email\tPaper ID\tQ1 (clarity, novelty, depth, rigour)"
    assert rows(read_reviews(write(f"{header}\nr\ti\t3, 4, 5\n"))) == [("r", "i", None)]


def test_headers_may_hold_new_lines(write):
    header = 'Paper ID,Reviewer Email,"Q10 (Please provide an ""overall score""\n - Value)"'
    named = {"score": 'Q10 (Please provide an "overall score" - Value)'}
    message = refused(write(f"{header}\n1,r,7\n1,s,x\n"), columns=named)
    assert message.startswith("reviews.csv:4: the score 'x'")


# Labels and items


def test_labels_are_text_exactly_as_written(write):
    reviews = read_reviews(write("reviewer,item\nr,7\nr,007\nr, 7\nr,7.0\nr,+7\n"))
    assert set(reviews.items) == {"7", "007", " 7", "7.0", "+7"}


def test_items_nobody_reviews_and_items_nobody_knows(write):
    name = write("reviewer,item\nr,p2\nr,p10\n")
    reviews = read_reviews(name, items=["p10", "p1", "p2"])
    assert reviews.items == ("p1", "p2", "p10")
    assert reviews.reviews_per_item.tolist() == [0, 1, 1]
    assert refused(name, items=["p2"]).startswith("reviews.csv:3: the item 'p10' is not among the items given")
    write("paper,title,demand\np2,Second,3\np10,,\np1,,1\n", "items.csv")
    reviews = read_reviews(name, items="items.csv")
    assert reviews.items == ("p1", "p2", "p10")
    assert reviews.titles == {"p2": "Second"}


def test_titles_do_not_depend_on_the_order_of_rows(write):
    lines = ["r,i,beta\n", "s,i,alpha\n", "t,i,\n"]
    for order in (lines, lines[::-1]):
        assert read_reviews(write("reviewer,item,title\n" + "".join(order))).titles == {"i": "alpha"}


# Parquet


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
    ],
)
def test_parquet_problems_name_rows(tmp_path, column, message):
    columns = {"email": ["a", "b"], "paper": ["1", "2"]} | column
    pyarrow.parquet.write_table(pa.table(columns), tmp_path / "r.parquet")
    assert message in refused(tmp_path / "r.parquet")


def test_parquet_flags_and_damaged_columns(tmp_path):
    table = pa.table({"email": ["a", None], "paper": ["1", "2"], "senior": [True, None]})
    pyarrow.parquet.write_table(table, tmp_path / "r.parquet")
    with pytest.raises(InputError, match="row 2: the reviewer is empty"):
        read_reviewers(tmp_path / "r.parquet")
    pyarrow.parquet.write_table(table.slice(0, 1), tmp_path / "r.parquet")
    assert read_reviewers(tmp_path / "r.parquet")["a"].senior is True
    big = pa.table({"email": ["a"] * 999, "paper": [f"{n * n}" for n in range(999)]})
    pyarrow.parquet.write_table(big, tmp_path / "r.parquet", compression="none", use_dictionary=False)
    data = bytearray((tmp_path / "r.parquet").read_bytes())
    data[4:40] = b"\xff" * 36
    (tmp_path / "r.parquet").write_bytes(bytes(data))
    assert "the Parquet file cannot be read" in refused(tmp_path / "r.parquet")


def test_parquet_with_no_rows(tmp_path):
    pyarrow.parquet.write_table(pa.table({"email": pa.array([], pa.string()), "paper": []}), tmp_path / "r.parquet")
    assert "a header but no reviews" in refused(tmp_path / "r.parquet")


# Both ways to read, and what cannot matter

CELLS = st.text(st.sampled_from("aB7,;\t\"'\r\n é0\N{EN DASH}|"), max_size=3)
SCORES = st.sampled_from(["", "1", "2.5", "-", "n/a", "8: accept", "x", "4,5", "inf", " ", "3 good"])
ROWS = st.lists(st.lists(CELLS, min_size=2, max_size=2), max_size=6).flatmap(
    lambda ids: st.tuples(*(st.tuples(*map(st.just, pair), SCORES) for pair in ids))
)


def outcome(*paths):
    """What reading gives, as plain values: rows, labels and notes, or the message."""
    notes = []
    try:
        reviews = read_reviews(*paths, duplicates="last", note=notes.append)
    except InputError as error:
        return str(error), notes
    return rows(reviews), reviews.reviewers, reviews.items, reviews.titles, notes


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
    monkeypatch.setattr(delimited.Delimited, "_read_lines", None)  # Arrow alone
    name = write("\n\nreviewer;item;score\nZoë;i;1\nZoë;j;x\n\n".encode(encoding))
    assert refused(name).startswith("reviews.csv:5: the score 'x'")


REVIEW = st.tuples(st.sampled_from("abc"), st.sampled_from("123456"), SCORES)
SHUFFLED = st.lists(REVIEW, unique_by=lambda row: row[:2], min_size=1).flatmap(
    lambda table: st.tuples(st.just(table), st.permutations(table), st.integers(1, len(table)))
)


@given(SHUFFLED)
def test_the_order_of_rows_and_files_does_not_matter(tmp_path_factory, tables):
    table, shuffled, cut = tables
    folder = tmp_path_factory.mktemp("order")
    paths = [folder / name for name in ("whole.csv", "head.csv", "tail.csv")]
    for path, part in zip(paths, (table, shuffled[:cut], shuffled[cut:]), strict=True):
        body = [("reviewer", "item", "score"), *(row for row in part if row[2] not in ("x", "inf", "4,5"))]
        path.write_text("".join(f"{','.join(row)}\n" for row in body))
    whole, parts = outcome(paths[0]), outcome(*paths[1:])
    if isinstance(whole[0], list):
        assert parts[:3] == whole[:3]
    else:
        assert "a header but no reviews" in whole[0]
        assert "a header but no reviews" in parts[0]


TEXTS = st.text(st.sampled_from("0019aBé- \0\1"), max_size=5) | st.from_regex(r"P0{0,2}[0-9]{0,3}", fullmatch=True)
NUMBERED = st.tuples(st.sampled_from(["", "p", "no. "]), st.sampled_from(["", "@x", "\1"])).flatmap(
    lambda ends: st.lists(
        st.from_regex(r"0{0,3}[0-9]{1,3}", fullmatch=True).map(lambda digits: f"{ends[0]}{digits}{ends[1]}"),
        unique=True,
        max_size=12,
    )
)


@given(st.lists(TEXTS, unique=True, max_size=12) | NUMBERED)
def test_many_labels_sort_as_few_do(texts):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reviewgraph.labels, "_MANY", 1)
        quick = [texts[place] for place in natural_order(texts)]
    assert quick == sorted(texts, key=natural_key)


@given(st.lists(st.sampled_from([7, "7", "007", 7.0, True, 1, -1, None, "a"])), st.sampled_from([(), (7,), ("z", 7)]))
def test_labels_are_never_confused(labels, declared):
    codes, distinct = encode(labels, iter(declared))
    back = [distinct[code] for code in codes]
    assert list(map(repr, back)) == list(map(repr, labels))
    assert len(set(map(repr, distinct))) == len(distinct) == len({*map(repr, labels), *map(repr, declared)})
    if labels and set(map(type, labels)) == {int}:
        again, same = encode(np.array(labels), iter(declared))
        assert (again.tolist(), same) == (codes.tolist(), distinct)


def test_small_files_need_neither_arrow_nor_numba_nor_scipy(write):
    write(HOTCRP)
    code = (
        "import sys, reviewgraph; reviewgraph.read_reviews('reviews.csv');"
        "print(sorted({'pyarrow', 'numba', 'scipy', 'pandas', 'narwhals', 'networkx'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_large_file_of_one_reviewer(write):
    size = 600_000
    body = "".join(f"solo,item{place},{place % 10}\n" for place in range(size))
    name = write("reviewer,item,score\n" + body)
    assert len(body) > delimited.LARGE
    reviews = read_reviews(name)
    assert (reviews.n_reviewers, reviews.n_items, reviews.n_reviews) == (1, size, size)
    assert reviews.items[123_456] == "item123456"
    assert reviews.score[123_456] == 6.0


@pytest.mark.skipif(not DATA.exists(), reason="the shared score tables are not here")
@pytest.mark.parametrize(
    ("folder", "sizes"),
    [
        ("auckland", (305, 247, 741)),
        ("mooc_peer_grading", (636, 724, 2_084)),
        ("aibs_grants", (26, 72, 216)),
        ("skating_2018", (48, 250, 2_250)),
        ("strictly", (9, 1_719, 6_900)),
        ("nih_r01", (4_555, 2_076, 5_802)),
        ("vqeg_525_high", (70, 90, 6_300)),
    ],
)
def test_real_tables(folder, sizes):
    reviews = read_reviews(DATA / folder / "scores.csv", note=pytest.fail)
    assert (reviews.n_reviewers, reviews.n_items, reviews.n_reviews) == sizes
    assert reviews.scored.all()


@pytest.mark.parametrize("ends", ["\r\n\r\n", "\n\r\n\r", "\r\r\n\n", "\n\n\n\n", "\r\r\r\r"])
def test_lines_are_counted_alike_under_mixed_line_ends(write, monkeypatch, ends):
    name = write("".join(map("".join, zip(["reviewer,item,score", "r,i,1", "r,j,2", "r,k,x"], ends, strict=True))))
    small = refused(name)
    monkeypatch.setattr(delimited, "LARGE", 0)
    assert refused(name) == small
