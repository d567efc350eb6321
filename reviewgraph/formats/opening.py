"""Which format a file has: told from what is in it, not from its name."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from reviewgraph.formats.encodings import read_bytes

if TYPE_CHECKING:
    from reviewgraph.formats.headers import Role
    from reviewgraph.formats.tables import Path, Table


def open_table(path: Path, roles: Sequence[Role], columns: Mapping[str, str], note: Callable[[str], object]) -> Table:
    """Open a file and read its header.

    Parameters
    ----------
    path
        CSV, TSV, semicolon-separated or Parquet, told apart by what is in it.
    roles, columns
        What will be looked for, and the user's names for it: they help to find the delimiter.
    note
        Told what a person should know about the file.

    Raises
    ------
    InputError
        If the file is missing, empty or not a table.
    """
    data = read_bytes(path)
    if data.startswith(b"PAR1"):
        from reviewgraph.formats.arrow import Parquet

        return Parquet(os.fspath(path), data)
    from reviewgraph.formats.delimited import Delimited

    return Delimited(os.fspath(path), data, roles, columns, note)
