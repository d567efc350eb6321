"""Which column holds the scores, where the name of none is known: a question, if several may be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reviewgraph.errors import InputError
from reviewgraph.formats.headers import ITEM, REVIEWER, SCORE, TITLE, named, naming, normalise
from reviewgraph.formats.problems import Problems, quote_all
from reviewgraph.formats.tables import Table
from reviewgraph.formats.values import are_scores

ROLES = (REVIEWER, ITEM, SCORE, TITLE)
#: Columns that hold no scores: expertise, and what we write ourselves into plans and assignments.
NO_SCORES = ("revexp", "affinity", "cost", "joins", "submitted_at", "asked_at")


def say_which_score(name: str, columns: Sequence[str]) -> str:
    """Return the question which of several columns holds the scores.

    >>> say_which_score("t.csv", ["merit", "style"])[:75]
    "t.csv: no score column is known; it may be any of 'merit', 'style': say whi"
    """
    return (
        f"{name}: no score column is known; it may be any of {quote_all(columns)}: say which one, for example with "
        f"{naming('', SCORE, columns[0])}; or that there is none, with --columns {SCORE.name}="
    )


def may_hold_scores(name: str) -> bool:
    """Whether a column of this name has none of the other roles.

    >>> may_hold_scores("style"), may_hold_scores("Paper ID"), may_hold_scores("affinity")
    (True, False, False)
    """
    return bool(name.strip()) and normalise(name) not in {
        *NO_SCORES,
        *(known for role in ROLES for known in role.names),
    }


def ask_score(table: Table) -> None:
    """Refuse reviews of a known system whose score may be any of several columns.

    Raises
    ------
    InputError
        Naming them.
    """
    unused = unused_columns([table])
    if table.source and table.source.explained:
        unused = list(table.source.explained)
    if table.source is None or table.source.kind != "reviews" or not unused:
        return
    raise InputError(say_which_score(f"{table.name}: {table.source.what}", unused))


def ask_criteria(table: Table, columns: Mapping[str, str]) -> None:
    """Refuse a table without a score column that has several columns of numbers: each may be the score.

    Parameters
    ----------
    table
        The table.
    columns
        Names of its columns by role that were given: these are no scores.

    Raises
    ------
    InputError
        Naming the columns.
    """
    unused = unused_columns([table])
    taken = {place for name in columns.values() for place in named(table.header, name)}
    places = [place for place, name in enumerate(table.header) if name in unused and place not in taken]
    if len(places) < 2:
        return
    read = zip(places, table.read(places, Problems()).columns, strict=True)
    found = [table.header[place] for place, column in read if are_scores(column.values, table.decimal_comma)]
    if len(found) > 1:
        raise InputError(say_which_score(table.name, found))


def unused_columns(tables: Sequence[Table]) -> list[str]:
    """Return the names of the columns that may hold scores: those of no role, in files that may have any."""
    mayhap = [table for table in tables if table.source is None or table.source.kind == "reviews"]
    return list(
        dict.fromkeys(
            text
            for table in mayhap
            for text in table.header
            if may_hold_scores(text)
            and text not in table.columns.values()
            and not (table.source and normalise(text) in table.source.extras)
        )
    )
