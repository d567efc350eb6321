"""One spelling for each address: letter case does not count in addresses, whatever files make of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from reviewgraph.formats.problems import quote
from reviewgraph.formats.tables import Aside, Column, Rows, Table, recoded
from reviewgraph.labels import natural_key
from reviewgraph.words import counted

if TYPE_CHECKING:
    from reviewgraph.formats.problems import Problems

Note = Callable[[str], object]


class Spellings:
    """The spelling of each address that was read first; all files of one command share it.

    Examples
    --------
    >>> known, notes = Spellings(), []
    >>> known.respelled(["Ann@x.org"], "reviews.csv", notes.append)
    ['Ann@x.org']
    >>> known.respelled(["ann@X.org", "bob"], "conflicts.csv", notes.append)
    ['Ann@x.org', 'bob']
    >>> notes
    ["conflicts.csv: letter case does not count in addresses: 1 address read as another ('ann@X.org' as 'Ann@x.org')"]
    """

    def __init__(self) -> None:
        self._first: dict[str, str] = {}

    def respelled(self, labels: Sequence[str], file: str, note: Note) -> list[str]:
        """Return labels, addresses among them as they were first spelled; says what was changed."""
        addresses = sorted({label for label in labels if "@" in label}, key=natural_key)
        spelled = {label: self._first.setdefault(label.strip().casefold(), label) for label in addresses}
        changed = [(label, first) for label, first in spelled.items() if label != first]
        if changed:
            count, (label, first) = counted(len(changed), "address", "addresses"), changed[0]
            example = f"{quote(label)} as {quote(first)}"
            note(f"{file}: letter case does not count in addresses: {count} read as another ({example})")
        return [spelled.get(label, label) for label in labels]


class Respelled(Table):
    """A table whose reviewers are spelled as files before it spelled them.

    Parameters
    ----------
    table
        The table.
    places
        The positions of the columns of people.
    spellings
        What is known of spellings.
    note
        Told what was changed.
    """

    def __init__(self, table: Table, places: Iterable[int], spellings: Spellings, note: Note) -> None:
        self.table, self.places, self.spellings, self.note = table, set(places), spellings, note
        self.name, self.header, self.decimal_comma = table.name, table.header, table.decimal_comma
        self.columns, self.source = table.columns, table.source

    def place(self, line: int) -> str:
        """Return how a message names a line."""
        return self.table.place(line)

    def read(self, positions: Sequence[int], problems: Problems, file: int = 0) -> Rows:
        """Return the columns at these positions."""
        rows = self.table.read(positions, problems, file)
        return Rows(
            [self._spelled(one) if at in self.places else one for at, one in zip(positions, rows.columns, strict=True)],
            rows.lines,
        )

    def aside(self, reviewer: int, item: int, title: int | None) -> Aside:
        """Return what rows left out say of papers."""
        said = self.table.aside(reviewer, item, title)
        pairs = zip(self._quietly([who for who, _ in said.meta]), (paper for _, paper in said.meta), strict=True)
        return said._replace(meta=list(pairs), members=self._quietly(said.members))

    def _quietly(self, labels: Iterable[str]) -> list[str]:
        return self.spellings.respelled(list(labels), self.name, lambda message: None)

    def _spelled(self, column: Column) -> Column:
        values = self.spellings.respelled(column.values, self.name, self.note)
        return column if values == column.values else recoded(column, values)
