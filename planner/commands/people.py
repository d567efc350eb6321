"""The options on people that commands share, and the files they name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from reviewgraph.cli.command import option
from reviewgraph.cli.numbers import Number
from reviewgraph.cli.options import read_side, with_options
from reviewgraph.cli.output import say
from reviewgraph.words import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    Decorator = Callable[..., Any]

OPTIONS = (
    option(
        "Preferences", "--affinity", metavar="FILE", help="How well a reviewer fits a paper (item,reviewer,affinity)."
    ),
    option("Rules", "--min-affinity", type=Number(), metavar="X", help="No pairs below X, or without affinity."),
    option(
        "Rules",
        "--institutions",
        metavar="FILE",
        old="--reviewers FILE --at-most institution=1",
        help="No new review by a colleague of one who reviews the paper (reviewer,institution).",
    ),
    option(
        "Rules",
        "--senior",
        metavar="FILE",
        old="--reviewers FILE --at-least senior=1, with a column senior of yes and no",
        help="Every paper has, or gets, a senior reviewer (reviewer[,senior]).",
    ),
    option("Rules", "--willing", metavar="FILE", help="Only these are asked (reviewer[,willing])."),
    option(
        "Rules",
        "--min-reviews",
        everyday=True,
        type=click.IntRange(0),
        default=0,
        show_default=True,
        metavar="K",
        help="Every paper has K reviews in the end, or more.",
    ),
)


def people_options(command: Decorator) -> Decorator:
    """Add the options on people to a command.

    >>> @click.command()
    ... @people_options
    ... def invite(**people): ...
    >>> [option.name for option in invite.params][:3]
    ['affinity', 'min_affinity', 'institutions']
    """
    return with_options(OPTIONS, command)


def read_people(
    known: Collection[Any],
    affinity: str | None,
    institutions: str | None,
    senior: str | None,
    willing: str | None,
) -> dict[str, Any]:
    """Read the files on people that are given; who is willing and reviews nothing yet is counted on stderr.

    Parameters
    ----------
    known
        The reviewers of the reviews and of the capacities.
    affinity, institutions, senior, willing
        Files, or None.
    """
    from reviewgraph.formats import side

    given: dict[str, Any] = {}
    if willing:
        given["willing"] = read_side(side.read_chosen, willing, "willing")
        new = sum(label not in known for label in given["willing"])
        if new:
            say(f"{willing}: {counted(new, 'reviewer is', 'reviewers are')} in no review; emergency reviewers")
    if institutions:
        given["institutions"] = read_side(side.read_institutions, institutions)
    if senior:
        given["senior"] = read_side(side.read_chosen, senior, "senior")
    if affinity:
        given["affinity"] = read_side(side.read_affinity, affinity)
    return given
