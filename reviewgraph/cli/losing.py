"""``--fragile`` and ``--missing``: what would be lost with a reviewer or a review."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from reviewgraph.cli.command import option
from reviewgraph.cli.options import read_side
from reviewgraph.cli.output import refusing

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


@refusing
def _missing(ctx: click.Context, param: click.Parameter, value: str | None) -> float | dict[str, float] | None:
    """Return the probability, or those by reviewer of a file."""
    if value is None:
        return None
    from reviewgraph.formats.side import read_missing

    try:
        chance = float(value)
    except ValueError:
        return read_side(read_missing, value)
    if not 0 <= chance <= 1:
        message = f"expected a probability from 0 to 1, or a file of reviewer,probability; found {value!r}"
        raise click.BadParameter(message, ctx, param)
    return chance


_PARAMETERS = (
    option(
        "Level",
        "--fragile/--no-fragile",
        default=None,
        help="Look for reviewers and reviews whose loss would lower the level. [default: in small tables]",
    ),
    option(
        "Level",
        "--missing",
        metavar="P|FILE",
        callback=_missing,
        help="How likely a level is kept if each review fails to arrive with this probability "
        "(a file: reviewer,probability).",
    ),
)


def losing_options(command: Decorated) -> Decorated:
    """Add the options to a command, which takes them as ``fragile`` and ``missing``.

    >>> @click.command()
    ... @losing_options
    ... def show(fragile, missing):
    ...     click.echo(missing)
    >>> sorted(parameter.name for parameter in show.params)
    ['fragile', 'missing']
    """
    decorated: Any = command
    for parameter in reversed(_PARAMETERS):
        decorated = parameter(decorated)
    return decorated  # type: ignore[no-any-return]
