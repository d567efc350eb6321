"""``--gone``, ``--conflicts``, ``--reviewers``, ``--load``, ``--demand``: what an assignment should keep to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from reviewgraph.cli.options import given_columns, read_side, with_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from reviewgraph.sides.leaving import Gone

    Command = Callable[..., Any]

OPTIONS = (
    click.option("--conflicts", metavar="FILE", help="Pairs that may not be (item,reviewer): says which are."),
    click.option("--reviewers", metavar="FILE", help="Reviewers with their loads (reviewer,load): says who has more."),
    click.option(
        "--load", type=click.IntRange(0), metavar="N", help="Most a reviewer has, where the file says nothing."
    ),
    click.option(
        "--demand",
        type=click.IntRange(0),
        metavar="N",
        help="Fewest a paper has, where --items FILE says nothing: says which have fewer.",
    ),
)


def duty_options(command: Command) -> Command:
    """Add the options on what an assignment should keep to.

    >>> @click.command()
    ... @duty_options
    ... def look(**duties): ...
    >>> [option.name for option in look.params]
    ['conflicts', 'reviewers', 'load', 'demand']
    """
    return with_options(OPTIONS, command)


def gone_option(command: Command) -> Command:
    """Add ``--gone FILE`` to a command.

    >>> @click.command()
    ... @gone_option
    ... def look(gone): ...
    >>> [option.name for option in look.params]
    ['gone']
    """
    return click.option(
        "--gone",
        metavar="FILE",
        help="Who will not deliver (reviewer, or item,reviewer): their reviews without a score are left out, and they "
        "are asked for no others.",
    )(command)


def read_gone(path: str | None) -> Gone | None:
    """Read who will not deliver."""
    from reviewgraph.formats import side
    from reviewgraph.sides.leaving import Gone

    return Gone(*read_side(side.read_gone, path)) if path else None


def read_duties(
    items: str | None, conflicts: str | None, reviewers: str | None, load: int | None, demand: int | None
) -> dict[str, Any]:
    """Read the files, as arguments of :func:`reviewgraph.check`; what was not asked is left out.

    Parameters
    ----------
    items
        The file of ``--items``, which may say how many reviews a paper needs.
    conflicts, reviewers, load, demand
        What the options gave.
    """
    from reviewgraph.formats import side

    asked: dict[str, Any] = {}
    if conflicts:
        asked["conflicts"] = read_side(side.read_conflicts, conflicts)
    if reviewers:
        loads = {label: one.load for label, one in read_side(side.read_reviewers, reviewers).items()}
        asked["load"] = {label: load if own is None else own for label, own in loads.items()}
    elif load is not None:
        asked["load"] = load
    # Read for its papers before, and what is to be known of it was said then.
    needs = (
        {label: one.demand for label, one in side.read_items(items, columns=given_columns()).items()} if items else {}
    )
    if demand is not None or any(need is not None for need in needs.values()):
        asked["demand"] = {label: demand if need is None else need for label, need in needs.items()} or demand
    return asked
