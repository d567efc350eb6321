"""What is wanted of an assignment beside its rules: affinities, bids, a threshold, few changes; options and files."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from reviewgraph.cli.command import option
from reviewgraph.cli.numbers import Number
from reviewgraph.cli.options import read_side, with_options
from reviewgraph.cli.output import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from reviewgraph.columns import Columns

    Decorator = Callable[..., Any]

OPTIONS = (
    option(
        "Preferences",
        "--affinity",
        everyday=True,
        multiple=True,
        metavar="FILE[=WEIGHT]",
        help="How well a reviewer fits a paper (item,reviewer,affinity); several files add up, each times its weight.",
    ),
    option(
        "Preferences",
        "--bids",
        everyday=True,
        multiple=True,
        metavar="FILE[=WEIGHT]",
        help="Bids (item,reviewer,bid) in the words of OpenReview, EasyChair or CMT, or preferences of HotCRP; from -1 "
        "to 1 times the weight, they are added to the affinity.",
    ),
    option(
        "Preferences",
        "--avoid-below",
        "min_affinity",
        type=Number(),
        metavar="X",
        help="Pairs of affinity below X only where there is no other way.",
    ),
    option(
        "Preferences",
        "--previous",
        metavar="FILE",
        help="The assignment before (item,reviewer): as few pairs as possible change.",
    ),
    option(
        "Preferences",
        "--per-change",
        type=Number(0),
        metavar="C",
        help="With --previous: a pair changes where that brings more affinity than C.",
    ),
)

#: Parameters of these options.
NAMES = ("affinity", "bids", "min_affinity", "previous", "per_change")


class Wanted(NamedTuple):
    """Arguments of :func:`planner.assign` that the files give, and pairs whose bid is a conflict."""

    arguments: dict[str, Any]
    conflicts: Columns | None


def wanted_options(command: Decorator) -> Decorator:
    """Add the options to a command.

    >>> import click
    >>> @click.command()
    ... @wanted_options
    ... def ask(**wanted): ...
    >>> [option.name for option in ask.params] == list(NAMES)
    True
    """
    return with_options(OPTIONS, command)


def read_wanted(
    reviewers: Collection[str],
    items: Collection[str],
    *,
    affinity: Sequence[str],
    bids: Sequence[str],
    min_affinity: float | None,
    previous: str | None,
    per_change: float | None,
    allow_unscored: bool,
) -> Wanted:
    """Read the files of these options; rows that name nobody who is listed are counted on stderr."""
    from reviewgraph.formats import side

    if per_change is not None and not previous:
        message = "--per-change: expected --previous FILE with it, the assignment to change"
        raise Refusal(message)
    everything = allow_unscored or not affinity
    tables, wishes, barred = [], [], None
    for path, weight in map(weighed, affinity):
        table = read_side(side.read_affinity, path)
        tables.append((_of_those_here(table, reviewers, items, path), weight))
    for path, weight in map(weighed, bids):
        read = read_side(side.read_bids, path)
        wishes.append((_of_those_here(read.table, reviewers, items, path), weight))
        barred = joined(barred, read.conflicts)
    arguments = {
        "affinity": _merged(tables, wishes, everything),
        "allow_unscored": everything,
        "min_affinity": min_affinity,
        "previous": read_side(side.read_assigned, previous) if previous else None,
        "per_change": per_change,
    }
    return Wanted(arguments, barred)


def weighed(given: str) -> tuple[str, float]:
    """Part FILE=WEIGHT; the weight is 1 where there is none, or where a file has the whole name.

    >>> weighed("a.csv=0.5"), weighed("a.csv")
    (('a.csv', 0.5), ('a.csv', 1.0))
    """
    path, sign, weight = given.rpartition("=")
    if not sign or Path(given).exists():
        return given, 1.0
    try:
        number = float(weight)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        message = f"{given}: expected FILE or FILE=WEIGHT with a finite number, found the weight {weight!r}"
        raise Refusal(message)
    return path, number


def joined(first: Columns | None, second: Columns | None) -> Columns | None:
    """Put two tables of pairs one behind the other."""
    import numpy as np

    from reviewgraph.columns import Columns

    if first is None or second is None:
        return second if first is None else first
    return Columns(
        np.concatenate([first.reviewer, second.reviewer + len(first.reviewers)]),
        np.concatenate([first.item, second.item + len(first.items)]),
        [*first.reviewers, *second.reviewers],
        [*first.items, *second.items],
    )


def _merged(tables: list[tuple[Columns, float]], bids: list[tuple[Columns, float]], everything: bool) -> Any:
    """One file that is not weighed stays as it is."""
    from planner.assignments.wishes.merging import merge_affinities

    if not bids and len(tables) == 1 and tables[0][1] == 1.0:
        return tables[0][0]
    return merge_affinities(tables, bids, all_pairs=everything) if tables or bids else {}


def _of_those_here(table: Columns, reviewers: Collection[str], items: Collection[str], path: str) -> Columns:
    """Leave out rows that name a reviewer or a paper that is not listed."""
    from planner.assignments.wishes.pairs import LISTS
    from reviewgraph.sides.matching import match_pairs

    reviewer, item = match_pairs(table, reviewers, items, path, where=LISTS)
    here = (reviewer >= 0) & (item >= 0)
    score = None if table.score is None else table.score[here]
    return replace(table, reviewer=table.reviewer[here], item=table.item[here], score=score)
