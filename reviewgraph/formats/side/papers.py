"""Side files on papers: all of them with demand and title, known or true qualities."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from reviewgraph.errors import InputError
from reviewgraph.formats.headers import TITLE, Role
from reviewgraph.formats.problems import quote
from reviewgraph.formats.side.reading import (
    DEMAND,
    PAPER,
    QUALITY,
    TRUTH,
    Field,
    Options,
    by_label,
    coded_of,
    decoded,
    expect_papers,
    expect_rows,
    open_side,
)
from reviewgraph.formats.tables import Aside
from reviewgraph.labels import natural_key
from reviewgraph.words import LISTED, counted, listed, noun

if TYPE_CHECKING:
    from reviewgraph.columns import Unlisted
    from reviewgraph.formats.tables import Path


_LABEL, _AS = (Field(Role(name), str, "a label") for name in ("label", "as"))


class Item(NamedTuple):
    """An item: how many reviews it needs (None: as all others), and its title."""

    demand: int | None
    title: str


class Listing(NamedTuple):
    """The items of a file, what it says of papers that are none, and which it cannot hold."""

    items: dict[str, Item]
    aside: Aside = Aside()
    unlisted: Unlisted | None = None


def read_items(path: Path, **options: Unpack[Options]) -> dict[str, Item]:
    """Return the items of a file ``item[,demand,title]``, or of any export that lists papers.

    A paper may stand in many rows, as in an export of reviews; of several titles the first in the alphabet counts.
    What the export of a system says of papers decides: those that are withdrawn are no items.

    Raises
    ------
    InputError
        As :func:`read_columns`; also if rows of an item disagree on its demand, or there is no item.
    """
    items, aside, _ = read_listing(path, **options)
    say = options.get("note")
    if aside.unseen and say:
        say(f"{path}: {say_unseen(aside.unseen)}")
    return items


def say_unseen(papers: Collection[str]) -> str:
    """Say that papers are left out, since whoever downloaded the files may not see who reviews them.

    >>> say_unseen(["9", "12"])
    '2 papers (9, 12) left out: whoever downloaded the files may not see who reviews them'
    """
    which = f"{counted(len(papers), 'paper')} ({listed(sorted(papers, key=natural_key), LISTED)})"
    return f"{which} left out: whoever downloaded the files may not see who reviews {noun(len(papers), 'it', 'them')}"


def read_listing(path: Path, **options: Unpack[Options]) -> Listing:
    """Return the items of :func:`read_items`, and what else the file says of papers."""
    fields = (PAPER, DEMAND, Field(TITLE, str.strip, "text"))
    table, found = open_side(path, [field.role for field in fields], "papers", options)
    check = partial(expect_papers, path, table, found, ("item",), options)
    rows = decoded(coded_of(table, found, fields, options, key=("item",), kind="papers", unique=None, check=check))
    place = list(found).index("item")
    unlisted = table.source.unlisted if table.source else None
    return Listing(_items(path, rows), table.aside(place, place, None), unlisted and unlisted._replace(file=table.name))


def _items(path: Path, rows: Mapping[str, list[Any]]) -> dict[str, Item]:
    """Return the item of each label."""
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


def read_merges(path: Path, **options: Unpack[Options]) -> dict[str, str]:
    """Return which label becomes which, from a file ``label,as``.

    Raises
    ------
    InputError
        As :func:`read_columns`; also if a label stands twice.
    """
    return by_label(path, _LABEL, _AS, **options)


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
