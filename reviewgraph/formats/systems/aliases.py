"""Names that change from paper to paper, as anonymous reviewers sign: who stands behind them, or that nobody knows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from reviewgraph.errors import InputError
from reviewgraph.formats.problems import Problems, quote
from reviewgraph.formats.tables import Column, recoded
from reviewgraph.provenance import FileRead
from reviewgraph.words import counted, listed

if TYPE_CHECKING:
    from reviewgraph.formats.tables import Table

#: The columns of a file that tells who stands behind aliases.
ALIAS, MEMBER = "alias", "member"

_OF_PAPER = re.compile(
    r".*/(?:Submission|Paper)[0-9]+/(?:[A-Za-z_]*/)*(?:(?:Anon_?)?[A-Za-z_]*Reviewer_?[A-Za-z0-9]+|\w+_[A-Za-z0-9]{4})",
    re.I,
)
_BARE = re.compile(r"(?:AnonReviewer[0-9]+|Reviewer_(?=[0-9]*[A-Za-z])[A-Za-z0-9]{4})")


def is_alias(label: str) -> bool:
    """Return whether a label is a signature that holds for one paper only.

    >>> [is_alias(label) for label in ("V.cc/2026/Conference/Submission12/Reviewer_AbCd", "~Ann_Lee1", "Reviewer_12")]
    [True, False, False]
    >>> [is_alias(f"V.cc/2026/Conference/Submission12/{end}") for end in ("Program_Committee_Ab3d", "Area_Chairs")]
    [True, False]
    """
    return bool(_OF_PAPER.fullmatch(label.strip()))


def read_names(tables: Sequence[Table]) -> tuple[list[Table], dict[str, str], list[FileRead]]:
    """Return the tables that are no lists of names, person by alias from those that are, and these as they were read.

    Raises
    ------
    InputError
        If an alias has two people behind it.
    """
    names: dict[str, str] = {}
    files: list[FileRead] = []
    for table in tables:
        if table.source and table.source.kind == "names":
            problems = Problems()
            rows = table.read([table.header.index(ALIAS), table.header.index(MEMBER)], problems)
            problems.raise_any()
            files.append(table.provenance.with_rows(len(rows.lines), rows.left_out))
            alias, member = (map(column.values.__getitem__, column.codes.tolist()) for column in rows.columns)
            for one, person in zip(alias, member, strict=True):
                if names.setdefault(one, person) != person:
                    message = f"{table.name}: expected one person behind {quote(one)}, found {quote(names[one])} and "
                    message += f"{quote(person)}; remove one"
                    raise InputError(message)
    return [table for table in tables if not (table.source and table.source.kind == "names")], names, files


def resolved(column: Column, names: Mapping[str, str]) -> Column:
    """Return a column of labels with people in the place of their aliases."""
    if not any(value in names for value in column.values):
        return column
    return recoded(column, [names.get(value, value) for value in column.values])


def refuse_aliases(columns: Sequence[tuple[str, Column]]) -> None:
    """Refuse reviewers who are signatures of one paper each: who reviewed several papers cannot be told.

    Parameters
    ----------
    columns
        The name of each file, and its reviewers.

    Raises
    ------
    InputError
        Saying which file would tell who they are.
    """
    for name, column in columns:
        found = [value for value in column.values if is_alias(value)]
        bare = [value for value in column.values if _BARE.fullmatch(value.strip())]
        if not found and len(bare) == len(column.values) and _once(column, bare):
            found = bare
        if found:
            message = (
                f"{name}: {counted(len(found), 'reviewer is a signature', 'reviewers are signatures')} that "
                f"{'changes' if len(found) == 1 else 'change'} from paper to paper ({_short(found)}), so who "
                "reviewed several papers cannot be told. Give the groups as well, which say who stands behind them "
                '(a JSON file of client.get_all_groups(prefix="VENUE/Submission")), or check the file of assignments '
                "instead; to count each signature as a reviewer, name its column with --columns reviewer=NAME"
            )
            raise InputError(message)


def _short(found: Sequence[str]) -> str:
    """Return the first few signatures by their ends, which tell them apart."""
    return listed(("/".join(label.strip().split("/")[-2:]) for label in found), 3)


def _once(column: Column, bare: Sequence[str]) -> bool:
    """Return whether labels without a paper are aliases: numbered anew for each paper, or never seen twice."""
    numbered = any(value.strip().startswith("Anon") for value in bare)
    return bool(bare) and (numbered or (column.codes.size > 1 and column.codes.size == len(column.values)))
