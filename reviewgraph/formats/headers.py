"""The header of a table: below a title, over two rows, or further down in a file that holds several tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from reviewgraph._base.errors import InputError
from reviewgraph.formats.columns import ITEM, naming, normalise, recognised
from reviewgraph.formats.files import quote_all
from reviewgraph.formats.values import parse_number

if TYPE_CHECKING:
    from reviewgraph.formats.columns import Role
    from reviewgraph.formats.systems.system import Export
    from reviewgraph.formats.tables import Table

#: Rows in which the header may be; some systems and many people write a title above it.
LOOKED_AT = 10


def filled(cells: Iterable[str]) -> int:
    """Return the number of different texts in a row: a title merged over a whole row is one."""
    return len({cell.strip() for cell in cells} - {""})


def is_complete(cells: Sequence[str], roles: Sequence[Role], columns: Mapping[str, str]) -> bool:
    """Return whether a row names all columns that are needed; never where none are."""
    required = [role for role in roles if role.required]
    return bool(required) and recognised(cells, required, columns) == len(required)


def is_known(cells: Sequence[str], exports: Iterable[Export]) -> bool:
    return any(export.fits(cells) for export in exports)


def find_header(
    rows: Sequence[Sequence[str]],
    roles: Sequence[Role],
    columns: Mapping[str, str],
    exports: Sequence[Export] = (),
    *,
    bare: bool = True,
) -> int:
    """Return the place of the header among the first rows of a table, which are not empty.

    It is the row with most of the names looked for. Labels such as "Grader 1" below a complete header are none, nor
    is a row with numbers. Where the table may be ``bare``, without a header, a row of labels with one such word is
    none, either.

    >>> from reviewgraph.formats.columns import ITEM, REVIEWER
    >>> find_header([["Midterm"], ["Judge", "Team"], ["Ann", "Paper"]], (REVIEWER, ITEM), {})
    1
    >>> find_header([["p1", "ann"], ["paper", "bob"]], (REVIEWER, ITEM), {})
    0
    """
    first = next((place for place, cells in enumerate(rows) if filled(cells) > 1), 0)
    if is_complete(rows[first], roles, columns) and not columns:
        return first
    merits = [
        (
            sum(normalise(name) in {*map(normalise, cells)} for name in columns.values() if name.strip()),
            is_complete(cells, roles, columns) or is_known(cells, exports),
            recognised(cells, roles, columns),
            filled(cells) > 1,
        )
        for cells in rows
    ]
    best = merits.index(max(merits))
    wider = all(filled(cells) < filled(rows[best]) for cells in rows[:best])
    _, complete, names, _ = merits[best]
    numbers = any(parse_number(cell) is not None for cell in rows[best])
    return best if complete or (not numbers and (names > 1 or wider or not bare)) else first


def whole_header(rows: Sequence[Sequence[str]], place: int) -> tuple[int, list[str] | None]:
    """Return the last row of the header at a place, and the header if it is over two rows; otherwise None."""
    for top in (place, place - 1):
        joined = join_rows(rows[top], rows[top + 1]) if 0 <= top < len(rows) - 1 else None
        if joined is not None:
            return top + 1, joined
    return place, None


def join_rows(top: Sequence[str], below: Sequence[str]) -> list[str] | None:
    """Return one header of two rows, the first of which names what several columns share; None if it is one row.

    >>> join_rows(["Team", "Ann", "", "Bob", ""], ["", "Impact", "Craft", "Impact", "Craft"])
    ['Team', 'Ann / Impact', 'Ann / Craft', 'Bob / Impact', 'Bob / Craft']
    >>> join_rows(["Team", "Ann", "Bob"], ["T1", "yes", "no"]) is None
    True
    """
    width = max(len(top), len(below))
    above = [*map(str.strip, top), *[""] * (width - len(top))]
    under = [*map(str.strip, below), *[""] * (width - len(below))]
    if any(parse_number(cell) is not None for cell in under):
        return None
    # A name reaches over the columns without one to its right.
    for place in range(1, width):
        if not above[place] and under[place] and under[place - 1]:
            above[place] = above[place - 1]
    shared: dict[str, list[str]] = {}
    for name, part in zip(above, under, strict=True):
        if name and part and part != name:
            shared.setdefault(name, []).append(part)
    alike = {tuple(parts) for parts in shared.values()}
    spanning = len(shared) > 1 and len(alike) == 1 and all(len(set(parts)) == len(parts) > 1 for parts in alike)
    single = [name for name, part in zip(above, under, strict=True) if name and part in ("", name)]
    if not spanning or not single or set(single) & set(shared):
        return None
    return [
        name if part in ("", name) else f"{name} / {part}" if name else part
        for name, part in zip(above, under, strict=True)
    ]


def refuse_lower_table(table: Table, roles: Sequence[Role], columns: Mapping[str, str]) -> None:
    """Refuse a table without the columns that are needed if one with them begins further down in its file."""
    if table.source is not None or is_complete(table.header, roles, columns):
        return
    lower = next((line for line in table.rows_below() if is_complete(line.cells, roles, columns)), None)
    if lower is not None:
        message = (
            f"{table.name}: there are several tables in it, and the first has the columns {quote_all(table.header)}; "
            f"the one with {quote_all(filter(str.strip, lower.cells))} begins at {lower.place}: save that one as a "
            "file of its own"
        )
        raise InputError(message)


#: Columns of comparisons of two papers, by normalised names without "id" and "name" at their ends.
_WINNERS = ({"winner", "won", "better", "preferred", "chosen"}, {"loser", "lost", "worse", "rejected"})
_VERDICTS = {"winner", "preference", "preferred", "choice", "chosen", "better", "vote", "label"}
_SIDES = (("a", "b"), ("1", "2"), ("left", "right"))
_COMPARED = ("model", "item", "paper", "response", "option", "project", "team", "answer", "image")
_PAIRS = (
    _WINNERS,
    *(({f"{kind}_{one}"}, {f"{kind}_{other}"}, _VERDICTS) for kind in _COMPARED for one, other in _SIDES),
)
#: Such columns where none names the papers; beside papers they may be anything.
_BARE_PAIRS = tuple(({one}, {other}, _VERDICTS) for one, other in _SIDES)


def refuse_pairs(table: Table, roles: Sequence[Role], columns: Mapping[str, str]) -> None:
    """Refuse comparisons of pairs, which are no scores."""
    if table.source is not None or ITEM.name in columns:
        return
    plain: dict[str, str] = {}
    for name in table.header:
        plain.setdefault(normalise(name).removesuffix("_id").removesuffix("_name"), name)
    for groups in (*_PAIRS, *(() if is_complete(table.header, roles, columns) else _BARE_PAIRS)):
        names = [plain[name] for group in groups for name in sorted(group & plain.keys())[:1]]
        if len(names) == len(groups):
            message = (
                f"{table.name}: the columns {quote_all(names)} compare two papers with each other. Comparisons of "
                "pairs are not read: expected one row per review, with the score of one paper. Bradley-Terry models, "
                "as in the Python library choix, are for pairs. If a column holds the papers all the same, name it "
                f"with {naming('', ITEM)}"
            )
            raise InputError(message)
