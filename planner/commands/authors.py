"""The options on authors, and the file they name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from reviewgraph.cli.command import option
from reviewgraph.cli.options import read_side, with_options
from reviewgraph.cli.output import say
from reviewgraph.words import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    Decorator = Callable[..., Any]

OPTIONS = (
    option(
        "Rules",
        "--authors",
        metavar="FILE",
        help="Who wrote what (item,author; several in a cell separated by ;). Nobody reviews a paper of her own, "
        "no two review a paper of each other, and no two co-authors review the same paper.",
    ),
    option(
        "Rules",
        "--author-distance",
        type=click.IntRange(0, 1),
        default=0,
        show_default=True,
        metavar="D",
        help="1: nobody reviews a paper of a co-author either.",
    ),
    option("Rules", "--allow-cycles", is_flag=True, help="Two may review a paper of each other."),
    option("Rules", "--allow-coauthors", is_flag=True, help="Two co-authors may review the same paper."),
)


def authors_options(command: Decorator) -> Decorator:
    """Add the options on authors to a command.

    >>> @click.command()
    ... @authors_options
    ... def invite(**authors): ...
    >>> [option.name for option in invite.params]
    ['authors', 'author_distance', 'allow_cycles', 'allow_coauthors']
    """
    return with_options(OPTIONS, command)


def read_who_wrote(
    authors: str | None, reviewers: Collection[str], author_distance: int, allow_cycles: bool, allow_coauthors: bool
) -> dict[str, Any]:
    """Read the authors' file, where there is one, as arguments of :func:`planner.assign`.

    Authors who do not review are counted on stderr.

    Raises
    ------
    InputError
        If the file cannot be read.
    Refusal
        If there are options on authors and no file.
    """
    from reviewgraph.cli.output import Refusal
    from reviewgraph.formats.side import read_authors

    rules = {"author_distance": author_distance, "allow_cycles": allow_cycles, "allow_coauthors": allow_coauthors}
    if not authors:
        if any(rules.values()):
            name = next(name for name, value in rules.items() if value).replace("_", "-")
            message = f"--{name}: expected --authors FILE with it, found none; add the file or drop the option"
            raise Refusal(message)
        return {}
    table = read_side(read_authors, authors)
    strangers = sum(author not in reviewers for author in table.reviewers)
    if 0 < strangers < len(table.reviewers):
        of = counted(len(table.reviewers), "author")
        say(f"{authors}: {strangers} of {of} are no reviewers; fine if they do not review, else mind the spelling")
    return {"authors": table, **rules}
