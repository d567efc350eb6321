"""From a path to text."""

from __future__ import annotations

import codecs

import pytest

from reviewgraph import InputError, read_reviews
from reviewgraph.formats import files
from tests.reviewgraph.reading_cases import refused, rows


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
