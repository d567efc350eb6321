"""``--like``, ``--noise``, ``--severity``, ``--stretch``: what is assumed of scores that nobody has given yet."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from reviewgraph.cli.command import option
from reviewgraph.cli.numbers import Number
from reviewgraph.cli.options import read_likewise

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

_PARAMETERS = (
    option(
        "Assumptions",
        "--like",
        metavar="FILE",
        help="A table with scores, such as last year's, from which noise, severity and stretch are learned.",
    ),
    option(
        "Assumptions",
        "--noise",
        type=Number(),
        help="Noise of a score, in units of the spread of qualities. [default: 1, or learned]",
    ),
    option(
        "Assumptions",
        "--severity",
        type=Number(),
        help="Spread of the severities of reviewers. [default: 0.5, or learned]",
    ),
    option(
        "Assumptions",
        "--stretch",
        type=Number(),
        help="Spread of how widely they spread scores (log). [default: 0.2, or learned]",
    ),
)


def assumption_options(command: Decorated) -> Decorated:
    """Add the options to a command that reads REVIEWS, and call it with ``assumptions``.

    >>> import click
    >>> @click.command()
    ... @assumption_options
    ... def show(assumptions):
    ...     click.echo(assumptions)
    >>> sorted(parameter.name for parameter in show.params)
    ['like', 'noise', 'severity', 'stretch']
    """

    @functools.wraps(command)
    def with_assumptions(*args: Any, like: str | None, **others: Any) -> Any:
        from dataclasses import replace

        from reviewgraph.precision.expected import assumed

        given = {name: others.pop(name) for name in ("noise", "severity", "stretch")}
        learned = assumed(read_likewise(like) if like else None, None)
        changed = {name: value for name, value in given.items() if value is not None}
        return command(*args, assumptions=replace(learned, **changed), **others)

    decorated: Any = with_assumptions
    for parameter in reversed(_PARAMETERS):
        decorated = parameter(decorated)
    return decorated  # type: ignore[no-any-return]
