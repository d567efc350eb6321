"""Side files on papers: all of them with demand and title, known or true qualities."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Unpack

from reviewgraph.errors import InputError
from reviewgraph.formats.headers import TITLE
from reviewgraph.formats.problems import quote
from reviewgraph.formats.side.fields import DEMAND, PAPER, QUALITY, TRUTH, Field
from reviewgraph.formats.side.reading import Options, by_label, expect_rows, read_columns

if TYPE_CHECKING:
    from reviewgraph.formats.tables import Path


class Item(NamedTuple):
    """An item: how many reviews it needs (None: as all others), and its title."""

    demand: int | None
    title: str


def read_items(path: Path, **options: Unpack[Options]) -> dict[str, Item]:
    """Return the items of a file ``item[,demand,title]``, or of any export that lists papers.

    A paper may stand in many rows, as in an export of reviews; of several titles the first in the alphabet counts.

    Raises
    ------
    InputError
        As :func:`read_columns`; also if rows of an item disagree on its demand, or there is no item.
    """
    fields = (PAPER, DEMAND, Field(TITLE, str.strip, "text"))
    rows = read_columns(path, fields, key=("item",), kind="papers", unique=None, **options)
    expect_rows(path, rows["item"], "item")
    found: dict[str, Item] = {}
    for item, demand, title in sorted(set(zip(*rows.values(), strict=True)), key=_first):
        before = found.setdefault(item, Item(demand, title or ""))
        if before.demand != demand and demand is not None:
            message = f"{path}: item {quote(item)}: demand {before.demand} in one row and {demand} in another"
            raise InputError(message)
    return {item: found[item] for item in dict.fromkeys(rows["item"])}


def _first(row: tuple[str, int | None, str | None]) -> tuple[str, bool, int, bool, str]:
    """Order the rows of an item: those with a demand first, then those with a title."""
    item, demand, title = row
    return item, demand is None, demand or 0, not title, title or ""


def read_references(path: Path, **options: Unpack[Options]) -> dict[str, float]:
    """Return known quality by item, from a file ``item,quality``.

    Raises
    ------
    InputError
        As :func:`read_columns`; also if an item stands twice.
    """
    return by_label(path, PAPER, QUALITY, **options)


def read_truth(path: Path, **options: Unpack[Options]) -> dict[str, float]:
    """Return true quality by item, from a file ``item,truth``.

    Raises
    ------
    InputError
        As :func:`read_columns`; also if an item stands twice.
    """
    return by_label(path, PAPER, TRUTH, **options)
