"""The options of ``assign`` on fairness, floors and alternates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from planner.assignments.fair.ways import WAYS
from reviewgraph.cli.command import option
from reviewgraph.cli.numbers import Number
from reviewgraph.cli.options import with_options
from reviewgraph.cli.targets import writable

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.assignments.assignment import Assignment

    Decorator = Callable[..., Any]

OPTIONS = (
    option(
        "Preferences",
        "--fair",
        type=click.Choice([way.name for way in WAYS]),
        help="Serve papers fairly, at a price in affinity: "
        + "; ".join(f"{way.words} ({way.name})" for way in WAYS)
        + ".",
    ),
    option("Preferences", "--floor", type=Number(), metavar="X", help="No paper's affinities sum to less than X."),
    option(
        "Preferences",
        "--floor-best",
        type=Number(),
        metavar="X",
        help="Every paper has a reviewer of affinity X or more.",
    ),
    option(
        "Result",
        "--alternates",
        type=click.IntRange(1),
        metavar="N",
        help="For each paper the next best N who can take the place of anyone on its panel.",
    ),
    option(
        "Result",
        "--alternates-file",
        callback=writable,
        metavar="FILE",
        help="Write them as CSV (item,alternate,reviewer,affinity,replaces).  [default of --alternates: 2]",
    ),
)

#: Names of the options, as the command has them.
NAMES = ("fair", "floor", "floor_best", "alternates", "alternates_file")

#: Alternates of a paper where only a file for them is named.
ALTERNATES = 2


def fair_options(command: Decorator) -> Decorator:
    """Add the options on fairness, floors and alternates to a command.

    >>> @click.command()
    ... @fair_options
    ... def invite(**options): ...
    >>> [option.name for option in invite.params]
    ['fair', 'floor', 'floor_best', 'alternates', 'alternates_file']
    """
    return with_options(OPTIONS, command)


def read_fair(options: dict[str, Any]) -> dict[str, Any]:
    """Return what :func:`planner.assign` is to be told."""
    number, path = options["alternates"], options["alternates_file"]
    return {
        "fair": options["fair"],
        "floor": options["floor"],
        "floor_best": options["floor_best"],
        "alternates": number or (ALTERNATES if path else 0),
    }


def write_alternates(chosen: Assignment, path: str | None) -> None:
    """Write the alternates of an assignment, if that is asked for and there are any."""
    from reviewgraph.cli.output import say, write_table

    if not path:
        return
    if chosen.alternates is None:
        say(f"{path}: not written, since there is no assignment")
    else:
        write_table(path, chosen.alternates.to_columns())
