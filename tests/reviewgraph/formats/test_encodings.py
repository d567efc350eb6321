"""From a path to text, and from text to rows: encodings, the delimiter, the header, quotes."""

import pytest

from reviewgraph import InputError, read_reviews
from reviewgraph.formats import files
from tests.reviewgraph.reading_cases import refused, rows


def test_missing_files_and_folders(tmp_path):
    assert "no such file" in refused(tmp_path / "none.csv")
    for name in ("a\0.csv", "\ud800"):
        with pytest.raises(InputError, match="expected the name of a file, found"):
            read_reviews(name)
        with pytest.raises(InputError, match="cannot be read"):
            files.read_bytes(name)
    assert "found a folder" in refused(tmp_path)
    assert "one or more files" in refused()


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


def test_a_device_without_an_end_is_refused(monkeypatch):
    monkeypatch.setattr(files, "STREAMED", files.STREAMED._replace(most=1000))
    assert "the limit is 1,000 bytes of a pipe or a device" in refused("/dev/zero")


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


def test_the_line_below_a_header_of_markdown_is_no_row(write):
    text = "|reviewer|paper|score|\n|---|:--:|---|\n|r|i|3|\n"
    assert rows(read_reviews(write(text))) == [("r", "i", 3.0)]


def test_headers_may_hold_new_lines(write):
    header = 'Paper ID,Reviewer Email,"Q10 (Please provide an ""overall score""\n - Value)"'
    named = {"score": 'Q10 (Please provide an "overall score" - Value)'}
    message = refused(write(f"{header}\n1,r,7\n1,s,x\n"), columns=named)
    assert message.startswith("reviews.csv:4: the score 'x'")
