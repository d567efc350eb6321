"""``--stream``: a command on Parquet larger than memory, with the options that can be answered by batches."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import click

from reviewgraph.cli.command import is_typed, option, taken_from_file
from reviewgraph.cli.options import given_spellings, keep_file
from reviewgraph.cli.output import refusing, say
from reviewgraph.cli.progress import telling
from reviewgraph.errors import InputError

if TYPE_CHECKING:
    from reviewgraph.results import Progress
    from reviewgraph.streams.table import Stream

Runner: TypeAlias = "Callable[[Stream, Mapping[str, Any], Callable[[Progress], None]], object]"
Decorated = TypeVar("Decorated", bound=Callable[..., Any])

#: Options of REVIEWS that a table read by batches knows.
TABLE = ("paths", "columns", "lower_is_better", "duplicates", "merge")


def stream_option(run: Runner, known: Collection[str], text: str) -> Callable[[Decorated], Decorated]:
    """Add ``--stream`` to a command that has the options of a table.

    Parameters
    ----------
    run
        What is called in place of the command: takes the open table, the options by name and a listener to progress.
    known
        The options of the command that it knows, by name; others are refused.
    text
        What the command answers of such a table, for its help.
    """

    def decorate(command: Decorated) -> Decorated:
        @functools.wraps(command)
        def chosen(*args: Any, stream: bool, **options: Any) -> Any:
            if not stream:
                return command(*args, **options)
            return _run(run, known, options)

        flag = option("Input", "--stream", is_flag=True, help=f"REVIEWS are Parquet larger than memory: {text}.")
        return flag(refusing(chosen))  # type: ignore[return-value]

    return decorate


def expect_none_given(names: Collection[str], among: str = "") -> None:
    """Refuse options, by name, that are not answered by batches (``among`` which, if not in general)."""
    ctx = click.get_current_context()
    for name in ctx.params:
        if is_typed(ctx, name) and name in names:
            option = next(param.opts[0] for param in ctx.command.params if param.name == name)
            message = (
                f"stream: expected no {option} with it{among}, which is not answered by batches; leave one of the two "
                "out"
            )
            raise InputError(message)


def _run(run: Runner, known: Collection[str], options: dict[str, Any]) -> Any:
    from reviewgraph.streams.table import stream_reviews

    ctx = click.get_current_context()
    unknown = set(ctx.params) - {*TABLE, *known, "stream"}
    expect_none_given(unknown)
    if aside := [one.key for name, one in taken_from_file(ctx).items() if name in unknown]:
        say(f"--stream: not answered by batches, and left aside: {', '.join(aside)}")
    table = {name: options[name] for name in TABLE if name != "paths"} | {"merge": given_spellings()}
    with telling() as tell, stream_reviews(*options["paths"], **table, note=say, progress=tell) as stream:
        for file in stream.files:
            keep_file(file)
        return run(stream, options, tell)
