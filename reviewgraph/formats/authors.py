"""Who wrote what, from a table: a row for each item and author, or one cell with several authors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from reviewgraph.columns import Columns
from reviewgraph.errors import InputError
from reviewgraph.formats.headers import Role
from reviewgraph.formats.side.fields import PAPER, Field
from reviewgraph.formats.side.reading import Options, read_columns
from reviewgraph.formats.spellings import PERSON, Spellings
from reviewgraph.labels import encode

if TYPE_CHECKING:
    from reviewgraph.formats.tables import Path

AUTHOR = Role(
    "author", ("authors", "author_id", "author_ids", "author_email", "authorids", "email", "e_mail", "person")
)

#: Between authors in one cell.
SEPARATOR = ";"


def read_authors(path: Path, **options: Unpack[Options]) -> Columns:
    """Return who wrote what, authors in the place of reviewers, from a file ``item,author``.

    A cell of ``author`` may name several, separated by semicolons; an item may stand in several rows. Exports that list
    authors do as well.

    Raises
    ------
    InputError
        As :func:`reviewgraph.formats.side.reading.read_columns`; also if nobody is named.
    """
    fields = (PAPER, Field(AUTHOR, str, "one author, or several separated by semicolons"))
    rows = read_columns(path, fields, key=("item", "author"), kind="authors", unique=False, **options)
    named = [
        (author.strip(), item)
        for item, cell in zip(rows["item"], rows["author"], strict=True)
        for author in cell.split(SEPARATOR)
        if author.strip()
    ]
    if not named:
        message = f"{path}: a header but no authors below it; expected a row for each paper and author"
        raise InputError(message)
    known, say = Spellings.of(options.get("merge")), options.get("note")
    author, authors = encode(known.respelled([author for author, _ in named], PERSON, str(path), say))
    item, items = encode([item for _, item in named])
    return Columns(author, item, authors, items)
