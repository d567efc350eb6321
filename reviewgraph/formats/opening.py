"""Which format a file has and which system it is from: told from what is in it, not from its name."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from reviewgraph.errors import InputError
from reviewgraph.formats.archives import Members, is_zip, open_folder, open_zip
from reviewgraph.formats.encodings import read_bytes
from reviewgraph.formats.headers import PART, Role
from reviewgraph.formats.problems import cut, quote, quote_all
from reviewgraph.formats.recognising import Wanted, extract, recognise
from reviewgraph.formats.sheets import choose_sheet
from reviewgraph.formats.systems.known import SYSTEMS, check_format
from reviewgraph.formats.trees import is_json, is_xml, plain_tag, read_json, read_xml
from reviewgraph.formats.workbooks import INSIDE, is_workbook, read_spreadsheet_xml, read_xlsx

if TYPE_CHECKING:
    from reviewgraph.formats.tables import Path, Table


def open_table(
    path: Path,
    roles: Sequence[Role],
    columns: Mapping[str, str],
    note: Callable[[str], object],
    *,
    kind: str | None = None,
    format: str | None = None,  # noqa: A002 (as the option is called)
) -> Table:
    """Open a file and read its header.

    Parameters
    ----------
    path
        A file of any format that is known, a zip archive or a folder, told apart by what is in it; ``file#part`` is
        one sheet of a spreadsheet or one file of an archive.
    roles, columns
        What will be looked for, and the user's names for it: they help to find the delimiter, the header and the sheet.
    note
        Told what a person should know about the file.
    kind
        What the file is to serve for, one of :data:`reviewgraph.formats.systems.system.ACCEPTED`; by default any will
        do. A file known to serve for other things only is refused.
    format
        The system that it is from, one of :func:`reviewgraph.formats.systems.known.sources`; by default its content
        says it.

    Raises
    ------
    InputError
        If the file is missing, empty or not a table, or serves for something else.
    """
    check_format(format)
    wanted = Wanted(SYSTEMS.values(), roles, columns, kind, format, note)
    name, part = os.fspath(path), ""
    before, _, after = name.rpartition(PART)
    if before and not os.path.exists(name) and os.path.exists(before):
        name, part = before, after
    if os.path.isdir(name):
        members = open_folder(name)
        table, digest = _open_members(members, part, wanted), members.sha256
    else:
        data = read_bytes(name)
        table, digest = _open_bytes(name, data, part, wanted), hashlib.sha256(data).hexdigest()
    found, system = table.provenance, table.source.system if table.source else None
    file = found.file or name
    table.provenance = replace(found, file=file, sha256=digest, system=system, header=tuple(table.header))
    return table


def _open_bytes(name: str, data: bytes, part: str, wanted: Wanted) -> Table:
    if is_zip(data):
        members = open_zip(name, data)
        if INSIDE in members:
            return choose_sheet(name, read_xlsx(name, data), part, wanted)
        return _open_members(members, part, wanted)
    if is_xml(data):
        root = read_xml(name, data)
        if is_workbook(root):
            return choose_sheet(name, read_spreadsheet_xml(name, root), part, wanted)
        return _extracted("xml", name, root, wanted, f"XML of <{plain_tag(root)}>")
    if is_json(data):
        content = read_json(name, data)
        return _extracted(
            "json", name, content, wanted, "JSON of another shape" if content else "JSON without anything"
        )
    if data.startswith(b"PAR1"):
        from reviewgraph.formats.arrow import Parquet

        return recognise(Parquet(name, data), wanted)
    from reviewgraph.formats.delimited import Delimited

    return recognise(Delimited(name, data, wanted.roles, wanted.columns, wanted.note), wanted)


def _extracted(container: str, name: str, content: object, wanted: Wanted, found: str) -> Table:
    table = extract(container, name, content, wanted)
    if table is None:
        message = f"{name}: expected a table, or a file as a conference system exports it, found {found}; "
        message += "docs/reference/files.md lists the files that are read"
        raise InputError(message)
    return table


def _open_members(members: Members, part: str, wanted: Wanted) -> Table:
    if part:
        if part not in members:
            message = f"{members.name}: there is no file {quote(part)} inside; found {quote_all(members)}"
            raise InputError(message)
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
    """Open one file of an archive or a folder."""
    table = _open_bytes(f"{members.name}{PART}{cut(inside)}", members[inside], "", wanted)
    # What lies in an archive inside an archive has a name already.
    found = table.provenance
    table.provenance = replace(found, file=found.file or f"{members.name}{PART}{inside}")
    return table
