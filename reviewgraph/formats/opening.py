"""The formats of files, one class each. A file is opened by its content, not by its name."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from reviewgraph._base.errors import InputError
from reviewgraph._base.storing import csv_text
from reviewgraph.formats.columns import PART, SCORE, Role, named, normalise
from reviewgraph.formats.files import (
    ARCHIVE,
    WORKBOOK,
    Members,
    Note,
    Problems,
    cut,
    open_folder,
    open_zip,
    quote,
    quote_all,
    read_bytes,
    terms,
)
from reviewgraph.formats.systems.known import SYSTEMS, refuse_letters, sources
from reviewgraph.formats.systems.system import Wanted, extract, recognise, refuse_lower_table, refuse_pairs
from reviewgraph.formats.tables import (
    JSON,
    XML,
    Changed,
    Path,
    Table,
    begins,
    children,
    from_records,
    objects,
    plain_tag,
    read_json,
    read_xml,
)
from reviewgraph.formats.values import parse_number
from reviewgraph.formats.workbooks import choose_sheet, is_xlsx, read_xlsx, write_xlsx, xml_sheet


class Format:
    """A format of files; an instance of a subclass in :data:`FORMATS` is all that reading needs."""

    name: ClassVar[str]
    #: The end of the names of files written in it; empty if tables are not written in it.
    suffix: ClassVar[str] = ""

    def fits(self, data: bytes) -> bool:
        """Return whether a file begins as this format does."""
        raise NotImplementedError

    def open(self, name: str, data: bytes, part: str, wanted: Wanted) -> Table:
        """Return the table in a file."""
        raise NotImplementedError

    def parts(self, name: str, data: bytes) -> list[str]:
        """Return the names of the parts of a file, each of which may be a table: sheets, or files in it."""
        return []

    def write(self, columns: Mapping[str, Sequence[Any]]) -> str | bytes:
        """Return columns as a file of this format."""
        raise NotImplementedError


class Text(Format):
    """Delimited text: any file that has no other format; binary files are refused when they are opened."""

    name = "csv"
    suffix = ".csv"

    def fits(self, data: bytes) -> bool:
        return True

    def open(self, name: str, data: bytes, part: str, wanted: Wanted) -> Table:
        from reviewgraph.formats.delimited import Delimited

        return recognise(Delimited(name, data, wanted), wanted)

    def write(self, columns: Mapping[str, Sequence[Any]]) -> str:
        return csv_text(columns)


class Arrow(Format):
    """Parquet, read by DuckDB."""

    name = "parquet"

    def fits(self, data: bytes) -> bool:
        return data.startswith(b"PAR1")

    def open(self, name: str, data: bytes, part: str, wanted: Wanted) -> Table:
        from reviewgraph.formats.engine import Parquet

        return recognise(Parquet(name, data), wanted)


class Json(Format):
    """JSON as conference systems export it, or a list of objects, or one on each line, as a table."""

    name = "json"

    def fits(self, data: bytes) -> bool:
        return begins(data, JSON)

    def open(self, name: str, data: bytes, part: str, wanted: Wanted) -> Table:
        content = read_json(name, data)
        records = _records(content)
        table = extract("json", name, content, wanted)
        if table is None and records and all(map(_is_flat, records)):
            table = recognise(from_records(name, records), wanted)
        if table is not None:
            return table
        kind = "JSON of another shape" if content else "empty JSON"
        raise InputError(_say_unknown(name, kind))


def _records(content: Any) -> list[dict[str, Any]]:
    """Return a list of objects, under any name, numbered, or as columns: lists, or numbered cells."""
    if not isinstance(content, dict):
        return objects(content)
    lengths = {len(value) if isinstance(value, list) else -1 for value in content.values()}
    if len(content) > 1 and len(lengths) == 1 and min(lengths) > 0 and not any(map(objects, content.values())):
        return [dict(zip(content, row, strict=True)) for row in zip(*content.values(), strict=True)]
    listed = [value for value in content.values() if objects(value)]
    if len(listed) == 1:
        return objects(listed[0])
    inner = objects(list(content.values()))
    if inner and all(key.isdecimal() for key in content):
        return inner
    rows = list(inner[0]) if inner else []
    if rows and all(key.isdecimal() for key in rows) and all(list(column) == rows for column in inner):
        return [{name: column[row] for name, column in content.items()} for row in rows]
    return []


def _is_flat(record: Mapping[str, Any]) -> bool:
    """Return whether an object is a row of a table: its values are no objects, nor lists of any."""
    return not any(
        isinstance(value, dict) or (isinstance(value, list) and any(isinstance(entry, dict | list) for entry in value))
        for value in record.values()
    )


class Xml(Format):
    """XML: a spreadsheet in the XML of 2003, or the export of a conference system."""

    name = "xml"

    def fits(self, data: bytes) -> bool:
        return begins(data, XML)

    def open(self, name: str, data: bytes, part: str, wanted: Wanted) -> Table:
        root = read_xml(name, data)
        if plain_tag(root) == "workbook":
            sheets = [xml_sheet(name, sheet) for sheet in children(root, "worksheet")]
            return choose_sheet(name, sheets, part, wanted)
        table = extract("xml", name, root, wanted)
        if table is None:
            raise InputError(_say_unknown(name, f"XML of <{plain_tag(root)}>"))
        return table


class Zip(Format):
    """A zip archive: the download of a system, or a single file, which is opened as if it were unpacked."""

    name = "zip"

    def fits(self, data: bytes) -> bool:
        return data.startswith(ARCHIVE)

    def open(self, name: str, data: bytes, part: str, wanted: Wanted) -> Table:
        return _open_members(open_zip(name, data), part, wanted)

    def parts(self, name: str, data: bytes) -> list[str]:
        return list(open_zip(name, data))


class Xlsx(Zip):
    """A workbook of Excel, which is a zip archive."""

    name = "xlsx"
    suffix = WORKBOOK

    def fits(self, data: bytes) -> bool:
        return data.startswith(ARCHIVE) and is_xlsx(data)

    def open(self, name: str, data: bytes, part: str, wanted: Wanted) -> Table:
        open_zip(name, data)  # refuses one that would unpack to more than the limit
        return choose_sheet(name, read_xlsx(name, data, percents=wanted.kind == "reviews"), part, wanted)

    def parts(self, name: str, data: bytes) -> list[str]:
        open_zip(name, data)
        return [sheet.title for sheet in read_xlsx(name, data) if sheet.rows]

    def write(self, columns: Mapping[str, Sequence[Any]]) -> bytes:
        return write_xlsx(columns)


#: All formats by name; if a file fits several, the last counts.
FORMATS: dict[str, Format] = {one.name: one for one in (Text(), Arrow(), Json(), Xml(), Zip(), Xlsx())}


def format_to_write(path: Path) -> Format:
    """Return the format in which a table is written: by the end of its name, otherwise CSV.

    >>> format_to_write("plan.csv").name, format_to_write("plan").name, format_to_write("plan.xlsx").name
    ('csv', 'csv', 'xlsx')
    """
    ends = (kind for kind in FORMATS.values() if kind.suffix and os.fspath(path).casefold().endswith(kind.suffix))
    return next(ends, FORMATS[Text.name])


def parts_of(path: Path) -> list[str]:
    """Return the names of the sheets of a workbook, or of the files of an archive; empty for other files."""
    data = read_bytes(os.fspath(path))
    return _format_of(data).parts(os.fspath(path), data)


def open_table(
    path: Path,
    roles: Sequence[Role],
    columns: Mapping[str, str],
    note: Note,
    *,
    kind: str | None = None,
    format: str | None = None,  # noqa: A002 (as the option is called)
    scale: Sequence[str] = (),
) -> Table:
    if format is not None and format not in sources():
        raise InputError(f"format: expected one of {', '.join(sources())}, found {format!r}")
    wanted = Wanted(roles, columns, note, kind, format, SYSTEMS.values(), scale)
    name = os.fspath(path)
    part = ""
    before, _, after = name.rpartition(PART)
    if before and not os.path.exists(name) and os.path.exists(before):
        name = before
        part = after
    if os.path.isdir(name):
        members = open_folder(name)
        table = _open_members(members, part, wanted)
        digest = members.sha256
    else:
        data = read_bytes(name)
        table = _format_of(data).open(name, data, part, wanted)
        digest = hashlib.sha256(data).hexdigest()
    if kind == "reviews":
        refuse_letters(table)
        refuse_pairs(table, wanted)
    refuse_lower_table(table, wanted)
    if kind == "reviews":
        table = _with_maxima(table, columns, note)
    provenance = table.provenance
    system = table.source.system if table.source else None
    file = provenance.file or name
    table.provenance = replace(provenance, file=file, sha256=digest, system=system, header=tuple(table.header))
    return table


#: Normalised names of columns with the maximum of each score.
_MAXIMA = terms(
    """out_of, max_points, maximum_points, max_score, maximum_score, max_marks, points_possible, possible_points,
    score_max, score_possible, total_possible, max_punkte"""
)


def _with_maxima(table: Table, columns: Mapping[str, str], note: Note) -> Table:
    """Return a table whose scores have their maxima, if a column of no system says them."""
    if table.source is not None and table.source.kind != "reviews":
        return table
    chosen = columns.get(SCORE.name, table.columns.get(SCORE.name))
    plain = list(map(normalise, table.header))
    scores = named(table.header, chosen) if chosen else [p for p, text in enumerate(plain) if text in SCORE.names]
    most = [place for place, text in enumerate(plain) if text in _MAXIMA]
    if len(scores) != 1 or len(most) != 1 or most == scores:
        return table
    [limits] = table.read(most, Problems()).columns
    if len(limits.values) > 1:
        note(f"{table.name}: the column {quote(table.header[most[0]])} is read as the maximum of each score")
        with_maximum = partial(_with_maximum, decimal_comma=table.decimal_comma)
        table = Changed(table, {scores[0]: [scores[0], most[0]]}, with_maximum)
    # The maxima themselves are no scores, and one of all scores changes nothing.
    table.unread = [*table.unread, *most]
    return table


def _with_maximum(score: str, most: str, decimal_comma: bool) -> str:
    """Return a score such as 8/10; unchanged where either is no number."""
    number = parse_number(score, decimal_comma)
    limit = parse_number(most, decimal_comma)
    return score if number is None or limit is None else f"{number:.15g}/{limit:.15g}"


def _format_of(data: bytes) -> Format:
    return next(kind for kind in reversed(FORMATS.values()) if kind.fits(data))


def _say_unknown(name: str, kind: str) -> str:
    return (
        f"{name}: expected a table, or a file as a conference system exports it, found {kind}; "
        "docs/reference/files.md lists the files that are read"
    )


def _open_members(members: Members, part: str, wanted: Wanted) -> Table:
    if part:
        if part not in members:
            raise InputError(f"{members.name}: there is no file {quote(part)} inside; found {quote_all(members)}")
        return _open_inside(members, part, wanted)
    table = extract("folder", members.name, members, wanted)
    if table is not None:
        return table
    if len(members) == 1 and not os.path.isdir(members.name):
        return _open_inside(members, next(iter(members)), wanted)
    held = "a folder" if os.path.isdir(members.name) else "an archive"
    message = f"{members.name}: expected a file, found {held} with {quote_all(members) or 'nothing'} in it; "
    message += f"name the one that holds the table, as in {members.name}{PART}NAME"
    raise InputError(message)


def _open_inside(members: Members, inside: str, wanted: Wanted) -> Table:
    data = members[inside]
    table = _format_of(data).open(f"{members.name}{PART}{cut(inside)}", data, "", wanted)
    # A file in an archive inside an archive already has a name.
    provenance = table.provenance
    table.provenance = replace(provenance, file=provenance.file or f"{members.name}{PART}{inside}")
    return table
