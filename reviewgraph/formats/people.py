"""Cells that name people: words that stand for nobody, and several people in one cell."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from reviewgraph._base.provenance import LeftOut
from reviewgraph._base.text import counted
from reviewgraph.formats.files import Problems, quote
from reviewgraph.formats.tables import Aside, Column, Rows, Table, Wrapped, of_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reviewgraph._base.arrays import IntArray
    from reviewgraph._base.labels import Label

#: Words in the place of a person who is not known, or not there, compared without case, blanks and marks around them.
NOBODY = frozenset(
    (
        *(
            "tbd",
            "tba",
            "tbc",
            "tbn",
            "n.n",
            "nn",
            "n/n",
            "n/a",
            "na",
            "#n/a",
            "nan",
            "null",
            "none",
            "nobody",
            "no one",
        ),
        *("unknown", "anonymous", "anonym", "anon", "unassigned", "not assigned", "to be assigned", "not yet assigned"),
        *(
            "to be determined",
            "to be decided",
            "to be announced",
            "to be confirmed",
            "to be named",
            "pending",
            "vacant",
        ),
        *(
            "open",
            "empty",
            "missing",
            "placeholder",
            "reviewer needed",
            "needs reviewer",
            "unbekannt",
            "offen",
            "niemand",
        ),
        *("nicht zugewiesen", "inconnu", "anonyme", "personne", "desconocido", "por asignar", "nadie", "sconosciuto"),
    )
)
_AROUND = re.compile(r"^[\s(\[<{*\"'.]+|[\s)\]>}*\"'.:]+$")
_MARKS = re.compile(r"[\W_]*")
_ADDRESS = re.compile(r"[^\s@,;<>]+@[^\s@,;<>]+")
#: One address, or an id with a digit: one person, whom the rest of this module need not look at.
_PLAIN = re.compile(r"[\w.+-]+@[\w.-]+|\w*[0-9]\w*")
#: What may separate people, or be part of a name.
_PERHAPS = re.compile(r"\s*(?:[,/&]|\b(?:and|und|et|y|e)\b)\s*")


def is_nobody(cell: str) -> bool:
    """Return whether a cell stands for nobody: a word such as TBD or unknown, or marks alone.

    >>> [is_nobody(cell) for cell in ("TBD", "(n.n.)", "?", "--", "to be  assigned", "Ann", "Noone")]
    [True, True, True, True, True, False, False]
    """
    if _MARKS.fullmatch(cell):
        return True
    return " ".join(_AROUND.sub("", cell).casefold().split()) in NOBODY


def split_people(cell: str, known: Collection[Label] = ()) -> list[str]:
    """Return the people in a cell: separated by semicolons, bars or line ends, and addresses also by commas or blanks.

    Other commas may be part of a name ("Lee, Ann") and separate nobody, unless all that they separate are ``known``
    people. A cell that is a known label is one person.

    >>> split_people("Ann Lee; Bob"), split_people("a@x.org, b@x.org"), split_people("Lee, Ann")
    (['Ann Lee', 'Bob'], ['a@x.org', 'b@x.org'], ['Lee, Ann'])
    >>> split_people("Ann <a@x.org>, Bob <b@x.org>"), split_people("Ann, Bob", ["Ann", "Bob"])
    (['Ann <a@x.org>', 'Bob <b@x.org>'], ['Ann', 'Bob'])
    """
    if cell.strip() in known:
        return [cell]
    parts = [part.strip() for part in re.split(r"[;|\r\n]", cell)]
    people: list[str] = []
    for part in filter(None, parts):
        pieces = [piece.strip() for piece in part.split(",") if piece.strip()]
        addresses = _ADDRESS.findall(part)
        perhaps = _PERHAPS.split(part) if known and part not in known else [part]
        if len(addresses) > 1 and len(pieces) == len(addresses):
            people.extend(pieces)
        elif len(addresses) > 1 and " ".join(addresses) == " ".join(part.split()):
            people.extend(addresses)
        elif len(perhaps) > 1 and all(piece in known for piece in perhaps):
            people.extend(perhaps)
        else:
            people.append(part)
    return people


class Parted(NamedTuple):
    """The people in a column of cells."""

    row: IntArray  #: The row of each person, ascending.
    column: Column  #: The people, one each.
    several: list[str]  #: Distinct cells that name several people.
    nobody: list[str]  #: Distinct cells, not empty, that name nobody.
    rows: tuple[int, int]  #: The number of rows of several people, and of nobody.

    def notes(self, role: str) -> list[str]:
        """Return what to tell the user.

        >>> from reviewgraph.formats.tables import Column
        >>> import numpy as np
        >>> part_people(Column(np.array([0]), ["Ann; Bob"])).notes("reviewer")
        ["1 row names several reviewers ('Ann; Bob'), read as one each"]
        """
        notes = []
        if self.rows[0]:
            names = counted(self.rows[0], "row names", "rows name")
            notes.append(f"{names} several {role}s ({quote(self.several[0])}), read as one each")
        if self.rows[1]:
            left = counted(self.rows[1], "row left out that names", "rows left out that name")
            notes.append(f"{left} no {role} ({quote(self.nobody[0])})")
        return notes


def part_people(column: Column, known: Collection[Label] = ()) -> Parted | None:
    """Return the people in a column of cells; None if each cell names one, or is empty.

    Cells that name nobody have no person; labels that are ``known`` are persons, whatever they look like.

    >>> from reviewgraph.formats.tables import Column
    >>> import numpy as np
    >>> parted = part_people(Column(np.array([0, 1, 2]), ["Ann; Bob", "TBD", "Bob"]))
    >>> parted.row.tolist(), [parted.column.values[code] for code in parted.column.codes.tolist()]
    ([0, 0, 2], ['Ann', 'Bob', 'Bob'])
    """
    import numpy as np

    from reviewgraph._base.arrays import spread

    people: list[list[str]] = []
    for cell in column.values:
        if _PLAIN.fullmatch(cell):
            people.append([cell])
            continue
        names = list(dict.fromkeys(split_people(cell, known))) if cell.strip() else [cell]
        people.append([name for name in names if name in known or not name.strip() or not is_nobody(name)])
    if all(names == [cell.strip() or cell] for names, cell in zip(people, column.values, strict=True)):
        return None
    codes: dict[str, int] = {}
    listed = [[codes.setdefault(name, len(codes)) for name in names] for names in people]
    size = np.array([len(names) for names in people], np.int64)
    count = size[column.codes]
    first = (np.cumsum(size) - size)[column.codes]
    flat = np.array([code for part in listed for code in part], np.int64)
    return Parted(
        np.repeat(np.arange(column.codes.size), count),
        Column(flat[spread(first, count)], list(codes)),
        [cell for cell, names in zip(column.values, people, strict=True) if len(names) > 1],
        [cell for cell, names in zip(column.values, people, strict=True) if not names],
        (int((count > 1).sum()), int((count == 0).sum())),
    )


class People(Wrapped):
    """A table with one row for each of several people in a cell, and none for a cell that names nobody."""

    def __init__(
        self, table: Table, role: str, place: int, known: Collection[Label], note: Callable[[str], object]
    ) -> None:
        super().__init__(table)
        self.columns, self.source, self.provenance = table.columns, table.source, table.provenance
        self.role, self.at, self.known, self.note = role, place, known, note
        self.size = 0  # the rows of the table, once it is read

    def read(self, positions: Sequence[int], problems: Problems, file: int = 0) -> Rows:
        rows = self.table.read(positions, problems, file)
        self.size = len(rows.lines)
        if self.at not in positions:
            return rows
        parted = part_people(rows.columns[list(positions).index(self.at)], self.known)
        if parted is None:
            return rows
        # In the files of a system several in a cell are nothing unusual.
        for words in parted.notes(self.role) if self.source is None else ():
            self.note(f"{self.name}: {words}")
        places = zip(positions, rows.columns, strict=True)
        columns = [parted.column if at == self.at else of_rows(column, parted.row) for at, column in places]
        nobody = [LeftOut(parted.rows[1], f"that name no {self.role}")] if parted.rows[1] else []
        lines = [rows.lines[row] for row in parted.row.tolist()]
        return Rows(columns, lines, [*rows.left_out, *nobody])

    def aside(self, reviewer: int, item: int, title: int | None) -> Aside:
        return self.table.aside(reviewer, item, title)
