"""The options on people that commands share, and the files they name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from reviewgraph.cli.options import with_options
from reviewgraph.cli.output import say
from reviewgraph.words import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from reviewgraph.reviews import Reviews

    Command = Callable[..., Any]

OPTIONS = (
    click.option("--affinity", metavar="FILE", help="How well a reviewer fits a paper (item,reviewer,affinity)."),
    click.option("--min-affinity", type=float, metavar="X", help="No pairs below X, or without affinity."),
    click.option(
        "--institutions",
        metavar="FILE",
        help="No new review by a colleague of one who reviews the paper (reviewer,institution).",
    ),
    click.option("--senior", metavar="FILE", help="Every paper has, or gets, a senior reviewer (reviewer[,senior])."),
    click.option("--willing", metavar="FILE", help="Only these are asked (reviewer[,willing])."),
    click.option(
        "--min-reviews",
        type=click.IntRange(0),
        default=0,
        show_default=True,
        metavar="K",
        help="Every paper has K reviews in the end, or more.",
    ),
)


def people_options(command: Command) -> Command:
    """Add the options on people to a command.

    >>> @click.command()
    ... @people_options
    ... def invite(**people): ...
    >>> [option.name for option in invite.params][:3]
    ['affinity', 'min_affinity', 'institutions']
    """
    return with_options(OPTIONS, command)


def read_people(
    reviews: Reviews,
    known: Collection[Any],
    affinity: str | None,
    institutions: str | None,
    senior: str | None,
    willing: str | None,
) -> dict[str, Any]:
    """Read the files on people that are given; names that are unknown are counted on stderr.

    Parameters
    ----------
    reviews, known
        The table, and the reviewers of it and of the capacities.
    affinity, institutions, senior, willing
        Files, or None.
    """
    from planner.assignments.wishes.pairs import count_unknown
    from reviewgraph.formats import side

    given: dict[str, Any] = {}
    everyone = set(known)
    if willing:
        given["willing"] = side.read_chosen(willing, "willing", note=say)
        new = sum(label not in everyone for label in given["willing"])
        if new:
            say(f"{willing}: {counted(new, 'reviewer is', 'reviewers are')} in no review; emergency reviewers")
        everyone.update(given["willing"])
    if institutions:
        given["institutions"] = side.read_institutions(institutions, note=say)
        _count_strangers(institutions, given["institutions"], everyone)
    if senior:
        given["senior"] = side.read_chosen(senior, "senior", note=say)
        _count_strangers(senior, given["senior"], everyone)
    if affinity:
        given["affinity"] = side.read_affinity(affinity, note=say)
        unknown = count_unknown(given["affinity"], everyone, reviews.items)
        if unknown:
            rows = counted(unknown, "row names", "rows name")
            say(f"{affinity}: {rows} a reviewer or paper that is not in the reviews; ignored")
    return given


def _count_strangers(path: str, labels: Collection[Any], known: set[Any]) -> None:
    unknown = sum(label not in known for label in labels)
    if unknown:
        listed = counted(len(labels), "reviewer")
        say(f"{path}: {unknown} of {listed} {'is' if unknown == 1 else 'are'} not in the reviews; ignored")
