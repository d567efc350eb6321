"""From a path to text."""

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
