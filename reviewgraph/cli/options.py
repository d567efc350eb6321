"""The options that every command shares which reads REVIEWS."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from reviewgraph.cli.output import Refusal, expect_writable, refusing, say
from reviewgraph.errors import InputError

if TYPE_CHECKING:
    from reviewgraph.reviews import Reviews

Command = TypeVar("Command", bound=Callable[..., Any])
_KEY, _READER = "reviewgraph.table", "reviewgraph.reader"


def with_options(options: Sequence[Callable[[Command], Command]], command: Command) -> Command:
    """Add options to a command, in their order.

    >>> options = (click.option("--first"), click.option("--second"))
    >>> @click.command()
    ... @functools.partial(with_options, options)
    ... def show(**given): ...
    >>> [option.name for option in show.params]
    ['first', 'second']
    """
    for option in reversed(options):
        command = option(command)
    return command


def _columns(ctx: click.Context, param: click.Parameter, value: Sequence[str]) -> dict[str, str]:
    """Return the name of the column by role; a comma that no role follows belongs to a name."""
    found: dict[str, str] = {}
    for given in value:
        role = ""
        for part in given.split(","):
            before, sign, after = part.partition("=")
            if sign:
                role = before.strip()
                found[role] = after
            elif role:
                found[role] += f",{part}"
            else:
                message = f"expected reviewer=NAME,item=NAME,score=NAME (any of them), found {part!r}"
                raise click.BadParameter(message, ctx, param)
    return found


def _scale(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Refuse one grade alone: without quotes a shell takes the rest for a file to write."""
    if value is not None and ">" not in value:
        message = f'expected all grades in quotes, best first, as in --scale "A>B>C"; found {value!r}'
        raise click.BadParameter(message, ctx, param)
    return value


_PARAMETERS = (
    click.argument("paths", nargs=-1, required=True, metavar="REVIEWS..."),
    click.option(
        "--columns",
        callback=_columns,
        multiple=True,
        metavar="ROLE=NAME,...",
        help="Which column is which, where the names are not usual: reviewer=NAME,item=NAME,score=NAME.",
    ),
    click.option("--items", metavar="FILE", help="All papers (item[,demand,title]), those nobody reviews included."),
    click.option(
        "--scale", callback=_scale, metavar='"A>B>C"', help="Scores are grades: all of them in order, best first."
    ),
    click.option("--lower-is-better", is_flag=True, help="1 is the best score."),
    click.option(
        "--duplicates",
        type=click.Choice(["error", "last", "mean"]),
        default="error",
        show_default=True,
        help="When a reviewer has reviewed a paper twice: refuse, take the last score, or the mean.",
    ),
)


def table_options(command: Command) -> Command:
    """Add REVIEWS and its options to a command, and call it with ``reviews``, the table they describe.

    What a person should know about the files goes to stderr; bad input ends the command with one message and exit
    status 2. :func:`given_table` tells inside the command how the table was asked for.

    >>> @click.command()
    ... @table_options
    ... def count(reviews):
    ...     click.echo(reviews.n_reviews)
    >>> sorted(parameter.name for parameter in count.params)
    ['columns', 'duplicates', 'items', 'lower_is_better', 'paths', 'scale']
    """

    @functools.wraps(command)
    def with_table(
        *args: Any,
        paths: Sequence[str],
        columns: dict[str, str],
        items: str | None,
        scale: str | None,
        lower_is_better: bool,
        duplicates: Any,
        **others: Any,
    ) -> Any:
        from reviewgraph.reading import read_reviews

        # Kept for given_table, which offers the next command with the same words.
        click.get_current_context().meta[_KEY] = _as_typed(paths, columns, items, scale, lower_is_better, duplicates)
        read = functools.partial(
            read_reviews,
            columns=columns,
            scale=scale,
            lower_is_better=lower_is_better,
            duplicates=duplicates,
            note=say,
        )
        click.get_current_context().meta[_READER] = read
        return command(*args, reviews=read(*paths, items=items), **others)

    decorated: Any = refusing(with_table)
    for parameter in reversed(_PARAMETERS):
        decorated = parameter(decorated)
    return decorated  # type: ignore[no-any-return]


def writable(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Refuse a file that cannot be written before the command begins to work."""
    try:
        if value is not None:
            expect_writable(value)
    except InputError as error:
        raise Refusal(str(error)) from error
    return value


def output_option(text: str) -> Callable[[Command], Command]:
    """Return the option ``-o FILE``, which is refused at once where the file cannot be written."""
    return click.option("-o", "--output", callback=writable, metavar="FILE", help=text)


def given_table() -> str:
    """Return REVIEWS and its options as a shell would take them, for the next command to type.

    Raises
    ------
    Refusal
        If the running command reads no REVIEWS.
    """
    try:
        return str(click.get_current_context().meta[_KEY])
    except KeyError as error:
        message = "this command reads no REVIEWS"
        raise Refusal(message) from error


def given_options(left_out: Collection[str] = (), dropped: Collection[str] = ()) -> list[str]:
    """Return the options of the running command as words of a command line, for the next command to type.

    Parameters
    ----------
    left_out
        Parameters to pass over, by name.
    dropped
        Values that are left out of options that may be given repeatedly.
    """
    context, words = click.get_current_context(), []
    for option in context.command.params:
        name = option.name or ""
        typed = context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
        if typed and isinstance(option, click.Option) and name not in left_out:
            value, flag = context.params[name], option.opts[-1]
            values = [each for each in value if each not in dropped] if option.multiple else [value]
            words += [flag] if option.is_flag else [part for each in values for part in (flag, f"{each}")]
    return words


def read_likewise(path: str) -> Reviews:
    """Read another table with the columns, the scale and the direction that were given for REVIEWS."""
    reviews: Reviews = click.get_current_context().meta[_READER](path)
    return reviews


def _as_typed(
    paths: Sequence[str], columns: dict[str, str], items: str | None, scale: str | None, lower: bool, duplicates: str
) -> str:
    words = list(paths)
    if columns:
        words += ["--columns", ",".join(f"{role}={name}" for role, name in columns.items())]
    words += ["--items", items] if items else []
    words += ["--scale", scale] if scale else []
    words += ["--lower-is-better"] if lower else []
    words += ["--duplicates", duplicates] if duplicates != "error" else []
    return shlex.join(words)
