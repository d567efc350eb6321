"""Files made to blow up are refused with the limit they are beyond, quickly and in little memory."""

import io
import re
import time
import tracemalloc
import zipfile

import pytest

from reviewgraph import read_reviews
from reviewgraph.formats import files
from tests.fuzz_readers import A_BYTE, SECONDS
from tests.reviewgraph.formats.exports import as_json, as_spreadsheet_xml, as_xlsx, as_zip
from tests.reviewgraph.reading_cases import refused, rows
from tests.trials import sampled

HEAD = ["paper", "email", "rating"]


def with_sheet(old, new):
    """A workbook with its sheet's XML changed."""
    with zipfile.ZipFile(io.BytesIO(as_xlsx({"S": [HEAD, [1, "a", 3]]}))) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    sheet = next(name for name in files if name.startswith("xl/worksheets/"))
    assert re.search(old, files[sheet])
    return as_zip({**files, sheet: re.sub(old, new, files[sheet])})


def xml_rows(row):
    return as_spreadsheet_xml({"S": [HEAD]}).replace(b"</Table>", row + b"</Table>")


ENTITIES = b'<!DOCTYPE a [<!ENTITY b "bbbbbbbbbb"><!ENTITY c "&b;&b;&b;&b;">]>'
WIDE = [f"c{number}" for number in range(10_000)]

#: Large files are made when they are asked for.
BOMBS = {
    "ten thousand columns of text": (",".join(WIDE).encode() + b"\n", "5,000 columns of a table, found 10,000"),
    "ten thousand columns of a sheet": (lambda: as_xlsx({"S": [WIDE]}), "5,000 columns of a table, found 10,000"),
    "ten thousand names in JSON": (
        as_json([{"object": "review", "pid": 1, "rid": 1, **dict.fromkeys(WIDE, 1)}]),
        "5,000 columns of a table",
    ),
    "a zip that unpacks to a gigabyte": (lambda: as_zip({"a.csv": b"0" * (300 << 20)}), "268,435,456 bytes unpacked"),
    "a zip of many files": (
        lambda: as_zip({f"{number}": b"" for number in range(10_001)}),
        "10,000 files in an archive",
    ),
    "a far cell": (with_sheet(rb'r="C2"', b'r="ZZZ2"'), "5,000 columns of a table"),
    "a far row of XML": (xml_rows(b'<Row ss:Index="99999999"/>'), "1,048,576 rows of a sheet"),
    "a far cell of XML": (xml_rows(b'<Row><Cell ss:Index="9999999"/></Row>'), "5,000 columns of a table"),
    "a wide cell of XML": (xml_rows(b'<Row><Cell ss:MergeAcross="9999999"/></Row>'), "5,000 columns of a table"),
    "entities": (as_spreadsheet_xml({"S": [HEAD]}).replace(b"<Workbook", ENTITIES + b"<Workbook"), "can blow up"),
    "JSON within JSON": (b"[" * 200 + b"]" * 200, "100 levels of objects within objects"),
    "JSON within JSON without end": (b"[" * 100_000, "100 levels of objects within objects"),
}


#: What takes seconds to make; the limits are those of smaller files below, and of text.
LARGEST = {"ten thousand columns of a sheet", "a zip that unpacks to a gigabyte", "a zip of many files"}


@pytest.mark.slow
@pytest.mark.parametrize("name", sampled(BOMBS, BOMBS.keys() - LARGEST))
def test_bombs_are_refused_by_the_name_of_their_limit(write, name):
    data, message = BOMBS[name]
    name = write(data() if callable(data) else data)
    tracemalloc.start()
    found = refused(name)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert message in found
    assert "found" in found or "blow up" in found
    assert most < 200 << 20


def with_rows(body, after=b""):
    return with_sheet(rb"(?s)<sheetData>.*</sheetData>", b"<sheetData>" + body + b"</sheetData>" + after)


#: A header, and little files that ask for much: places between cells, rows, a long formula that many cells share.
TOP = b"".join(b'<c t="inlineStr"><is><t>%s</t></is></c>' % name.encode() for name in HEAD)
SHARED = b'<row r="2"><c><f t="shared" si="0" ref="A2:A9999">%s</f><v>1</v></c></row>' % b"+".join([b"A1"] * 2500)
SMALL = {
    "far cells": lambda: with_rows(b"".join(b'<row><c r="XFD%d"/></row>' % n for n in range(1, 1220))),
    "wide rows": lambda: with_rows(b"".join(b'<row><c r="GJH%d"><v>1</v></c></row>' % n for n in range(1, 4000))),
    "far rows": lambda: with_rows(b'<row r="1048576"><c/></row>'),
    "a formula that many share": lambda: with_rows(
        b"<row>%s</row>%s%s" % (TOP, SHARED, b'<row><c><f t="shared" si="0"/><v>1</v></c></row>' * 3000)
    ),
    "cells without anything": lambda: with_rows((b"<row>" + b"<c/>" * 400 + b"</row>") * 4000),
    "rows without anything": lambda: with_rows(b"<row/>" * 900_000),
    "merged ranges": lambda: with_rows(b"", b"<mergeCells>" + b'<mergeCell ref="A1:B2"/>' * 300_000 + b"</mergeCells>"),
}


@pytest.mark.parametrize("make", SMALL.values(), ids=SMALL)
def test_little_workbooks_cost_little(write, make):
    data = make()
    assert len(data) < 60_000
    name, start = write(data, "book.xlsx"), time.process_time()
    refused(name)
    assert time.process_time() - start < SECONDS + A_BYTE * len(data)


def test_a_formula_whose_value_is_an_empty_text_is_an_empty_cell(write):
    name = write(with_sheet(rb'<c r="C2".*?</c>', b'<c r="C2" t="str"><f>IF(A1="","",1)</f><v></v></c>'))
    assert rows(read_reviews(name)) == [("a", "1", None)]
    name = write(with_sheet(rb'<c r="C2".*?</c>', b'<c r="C2" t="str"><f>IF(A1="","",1)</f></c>'))
    assert 'row 2: the formula \'=IF(A1="","",1)\' has no value' in refused(name)


def test_archives_have_limits(write, monkeypatch):
    name = write(as_zip({"a.csv": b"0" * 1000, "b.csv": b"paper,email\n1,a\n"}), "r.zip")
    with monkeypatch.context() as less:
        less.setattr("reviewgraph.formats.files.UNPACKED", files.UNPACKED._replace(most=999))
        assert "the limit is 999 bytes unpacked, found " in refused(name)
    monkeypatch.setattr("reviewgraph.formats.files.MEMBERS", files.MEMBERS._replace(most=1))
    assert "the limit is 1 files in an archive or a folder, found 2" in refused(name)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_json_and_xml_may_have_a_mark_of_their_encoding(write, encoding):
    text = '[{"object": "review", "pid": 1, "reviewer_email": "a", "status": "complete", "S01": 3}]'
    assert rows(read_reviews(write(text.encode(encoding)), columns={"score": "S01"})) == [("a", "1", 3.0)]
    lines = "\n".join([text[1:-1], text[1:-1].replace("1,", "2,")])
    assert read_reviews(write(lines.encode(encoding)), columns={"score": "S01"}).n_items == 2
    xml = '<assignments><submission submissionId="1"><user email="a"/></submission></assignments>'
    assert rows(read_reviews(write(xml.encode(encoding)))) == [("a", "1", None)]
