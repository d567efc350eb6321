"""One spelling for each person and paper: labels that people take for one are joined, or asked about."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from reviewgraph.errors import InputError
from reviewgraph.formats.problems import LISTED, quote
from reviewgraph.formats.tables import Aside, Column, Rows, Table, recoded
from reviewgraph.labels import identity, natural_key
from reviewgraph.words import counted

if TYPE_CHECKING:
    from reviewgraph.formats.problems import Problems

Note = Callable[[str], object]

#: The roles of labels.
PERSON, PAPER = "reviewer", "paper"
#: What answers the question whether labels are one.
ANSWERS = (
    "Say --merge all to join such labels, --merge none to keep them apart, or --merge FILE, a table label,as that says "
    "which"
)


class Spellings:
    """How each reviewer and paper was spelled first; all files of one command share it.

    Labels are alike where they differ in letter case, blanks, characters that nobody sees or Unicode form alone.
    Addresses that are alike are one, and a note counts them. Other labels may be two people or papers all the same.

    Parameters
    ----------
    merge
        What becomes of others that are alike: True makes them one, False keeps them apart, a mapping says which label
        becomes which. By default, and where a mapping says nothing of them, they are refused.

    Examples
    --------
    >>> known, notes = Spellings(), []
    >>> known.respelled(["Ann@x.org"], "reviewer", "reviews.csv", notes.append)
    ['Ann@x.org']
    >>> known.respelled(["ann@X.org", "bob"], "reviewer", "conflicts.csv", notes.append)
    ['Ann@x.org', 'bob']
    >>> notes
    ["conflicts.csv: 1 address is spelled as before, which differs in letter case alone ('ann@X.org' as 'Ann@x.org')"]
    >>> known.respelled(["Bob"], "reviewer", "loads.csv", notes.append)
    Traceback (most recent call last):
        ...
    reviewgraph.errors.InputError: loads.csv: 'Bob' and 'bob' differ in letter case alone. One reviewer or two? Say
    --merge all to join such labels, --merge none to keep them apart, or --merge FILE, a table label,as that says which
    """

    def __init__(self, merge: Mapping[str, str] | bool | None = None) -> None:
        self._merge = merge
        self._first: dict[tuple[str, str], str] = {}

    def respelled(self, labels: Sequence[str], role: str, file: str, note: Note) -> list[str]:
        """Return labels as they were first spelled, those that are alike joined; says what was changed.

        Raises
        ------
        InputError
            If labels are alike, and nobody said whether they are one.
        """
        named = self._merge if isinstance(self._merge, Mapping) else {}
        alike: dict[str, set[str]] = {}
        for label in {named.get(label, label) for label in labels}:
            alike.setdefault(identity(label), set()).add(label)
        changed: dict[str, str] = {}
        for key, texts in alike.items():
            before = self._first.get((role, key))
            if not key or texts == {before}:
                continue
            first = min(texts, key=natural_key) if before is None else before
            changed |= dict.fromkeys(texts - {first}, first)
            self._first[role, key] = first
        if self._merge is False:
            changed = {label: first for label, first in changed.items() if "@" in label}
        if changed:
            self._judge(changed, role, file, note)
        joined = {label: changed.get(named.get(label, label), named.get(label, label)) for label in labels}
        return [joined[label] for label in labels]

    def _judge(self, changed: Mapping[str, str], role: str, file: str, note: Note) -> None:
        """Refuse labels of which nobody said that they are one; count the others."""
        pairs = sorted(changed.items(), key=lambda pair: natural_key(pair[0]))
        asked = [pair for pair in pairs if "@" not in pair[0]] if self._merge is not True else []
        if asked:
            lines = [
                f"{quote(label)} and {quote(first)} differ in {_how(label, first)} alone" for label, first in asked
            ]
            lines = [*lines[:LISTED], *([f"... and {len(asked) - LISTED:,} more"] if len(asked) > LISTED else [])]
            several = len(asked) > 1
            question = f"{'Each one' if several else 'One'} {role} or two? {ANSWERS}"
            message = "\n".join([*lines, question]) if several else f"{lines[0]}. {question}"
            raise InputError(f"{file}: {message}")  # noqa: TRY003 (made above)
        (label, first), noun = pairs[0], ("address", "addresses") if "@" in pairs[0][0] else ("label", "labels")
        count = counted(len(pairs), f"{noun[0]} is", f"{noun[1]} are")
        example = f"{quote(label)} as {quote(first)}"
        note(f"{file}: {count} spelled as before, which differs in {_how(label, first)} alone ({example})")


def _how(label: str, other: str) -> str:
    """Return in what two labels that are alike differ."""
    if label.casefold() == other.casefold():
        return "letter case"
    if label.split() == other.split():
        return "blanks"
    return "characters that look alike or are not seen"


class Respelled(Table):
    """A table whose reviewers and papers are spelled as files before it spelled them.

    Parameters
    ----------
    table
        The table.
    places
        The position of the column of each role, ``"reviewer"`` and ``"paper"``.
    spellings
        What is known of spellings.
    note
        Told what was changed.
    """

    def __init__(self, table: Table, places: Mapping[str, int], spellings: Spellings, note: Note) -> None:
        self.table, self.spellings, self.note = table, spellings, note
        self.roles = {place: role for role, place in places.items()}
        self.name, self.header, self.decimal_comma = table.name, table.header, table.decimal_comma
        self.columns, self.source, self.provenance = table.columns, table.source, table.provenance

    def place(self, line: int) -> str:
        """Return how a message names a line."""
        return self.table.place(line)

    def read(self, positions: Sequence[int], problems: Problems, file: int = 0) -> Rows:
        """Return the columns at these positions."""
        rows = self.table.read(positions, problems, file)
        columns = zip(positions, rows.columns, strict=True)
        return rows._replace(columns=[self._spelled(one, self.roles.get(place)) for place, one in columns])

    def aside(self, reviewer: int, item: int, title: int | None) -> Aside:
        """Return what rows left out say of papers."""
        said = self.table.aside(reviewer, item, title)
        people, papers = ([pair[place] for pair in said.meta] for place in range(2))
        return said._replace(
            listed=dict(zip(self._quietly(said.listed, PAPER), said.listed.values(), strict=True)),
            out=self._quietly(said.out, PAPER),
            unseen=self._quietly(said.unseen, PAPER),
            meta=list(zip(self._quietly(people, PERSON), self._quietly(papers, PAPER), strict=True)),
            members=self._quietly(said.members, PERSON),
        )

    def _quietly(self, labels: Iterable[str], role: str) -> list[str]:
        return self.spellings.respelled(list(labels), role, self.name, lambda message: None)

    def _spelled(self, column: Column, role: str | None) -> Column:
        if role is None:
            return column
        values = self.spellings.respelled(column.values, role, self.name, self.note)
        return column if values == column.values else recoded(column, values)
