"""The check of a table larger than memory as a page for people: the verdict first, then what is not known."""

from __future__ import annotations

from reviewgraph.levels import level_named
from reviewgraph.pages import PRECISE, facts
from reviewgraph.streams.connection import Connection
from reviewgraph.words import counted, listed


def page(connection: Connection) -> str:
    """Return the page."""
    stream = connection.stream
    late = 0 < stream.n_scored < stream.n_reviews
    state = [f"{stream.n_scored:,} of {counted(stream.n_reviews, 'review')} are in."] if late else []
    return "\n".join([*state, *opening(connection), "", *facts(stream, stream.n_scored)])


def opening(connection: Connection) -> list[str]:
    """Return the verdict, and what is not decided, a line each."""
    n_items, missing = connection.stream.n_items, connection.least_degrees_of_freedom
    papers = f"All {n_items:,} papers are" if n_items != 1 else "The one paper is"
    links = f"at least {counted(missing, 'link')} missing (degrees of freedom)"
    if connection.level is None:
        lines = [
            f"The {n_items:,} papers cannot all be compared: they fall into {connection.pieces:,} pieces without a "
            f"common reviewer (connected components); {links}."
        ]
    else:
        level = level_named(connection.level)
        lines = [f"{papers} {level.words} ({level.term})."]
        if missing:
            lines.append(f"If reviewers also stretch or compress the scale they are not: {links}.")
    lines.append(PRECISE)
    if connection.undecided:
        lines.append(
            f"Of {listed(connection.undecided)} it is not decided whether they hold: that takes memory that grows with "
            f"the reviews. One group of {counted(connection.least_cover, 'paper')} is comparable for certain."
        )
    return lines
