"""What commands write: whole files or none, one JSON object, tables, and refusals without a traceback."""

from __future__ import annotations

import functools
import json
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

import click

from reviewgraph.cli.refusal import Refusal as Refusal
from reviewgraph.cli.targets import expect_apart
from reviewgraph.cli.targets import expect_writable as expect_writable
from reviewgraph.errors import LabelWarning, ReviewGraphError
from reviewgraph.formats.writing import csv_parts as csv_parts
from reviewgraph.formats.writing import csv_text as csv_text
from reviewgraph.formats.writing import plain
from reviewgraph.storing import write_whole as write_whole
from reviewgraph.terminal import folded, terminal_width
from reviewgraph.words import HIDDEN, visible

P = ParamSpec("P")
R = TypeVar("R")


def write_table(path: str, columns: Mapping[str, Sequence[Any]]) -> None:
    """Write a table whole or not at all, in the format that its name ends in, or else as CSV.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    from reviewgraph.formats.opening import format_to_write

    write_whole(path, format_to_write(path).write(columns))


def refusing(callback: Callable[P, R]) -> Callable[P, R]:
    """Make a callback end with one message and exit status 2 where the library refuses its input.

    An argument that the message begins with is told as the option it came by, with its file or value. Labels that do
    not match, of which the library warns, are said on stderr.
    """

    @functools.wraps(callback)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            expect_apart(click.get_current_context(silent=True))
            with _saying_what_does_not_match():
                return callback(*args, **kwargs)
        except ReviewGraphError as error:
            raise Refusal(_by_option(str(error))) from error

    return wrapped


@contextmanager
def _saying_what_does_not_match() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("always", LabelWarning)
        otherwise = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, LabelWarning):
                say(_by_option(str(message)))
            else:
                otherwise(message, category, *where, **more)

        warnings.showwarning = show
        yield


def _by_option(message: str) -> str:
    """Return a message on an argument, such as ``fixed: ...``, as one on the option: ``--fixed pairs.csv: ...``."""
    context = click.get_current_context(silent=True)
    name, colon, rest = message.partition(": ")
    for option in context.command.params if context else ():
        called = (option.opts[0], f"--{option.name}".replace("_", "-"))
        if isinstance(option, click.Option) and colon and f"--{name.replace('_', '-')}" in called:
            value = context.params.get(option.name or "") if context else None
            return f"{option.opts[0]}{f' {value}' if isinstance(value, str) else ''}: {rest}"
    return message


def say(message: str) -> None:
    """Print a diagnostic on stderr."""
    _print(message, err=True)


def show(page: str = "", *, whole: bool = False) -> None:
    """Print lines on stdout, folded to the width of the terminal unless they are to be left ``whole``."""
    # What is made visible takes more room.
    lines, width = visible(page, but="\n").split("\n"), terminal_width()
    _print("\n".join(lines if whole else [part for line in lines for part in folded(line, width)]))


def offer(command: str, why: str = "") -> None:
    """Print the next command to type on a line of its own, never folded, and below it what it is for."""
    show()
    show(f"Next: {command}", whole=True)
    if why:
        show(f"  ({why})")


def offered(command: str, why: str = "") -> str:
    """Return the next command to type and what it is for as one line, for pages that fold themselves.

    >>> offered("reviewgraph plan reviews.csv", "to ask for less")
    'Next: reviewgraph plan reviews.csv   (to ask for less)'
    """
    return f"Next: {command}   ({why})" if why else f"Next: {command}"


def _print(text: str, *, err: bool = False) -> None:
    """Print a text in which nothing steers the terminal; what its encoding lacks is spelled out."""
    encoding = (sys.stderr if err else sys.stdout).encoding or "utf-8"
    shown = visible(text, but="\n").encode(encoding, "backslashreplace").decode(encoding)
    click.echo(shown, err=err)


def print_json(value: Any) -> None:
    """Print one JSON object on stdout; NumPy values become plain ones, what is not finite null.

    What steers a terminal is escaped, which changes no value.
    """
    text = json.dumps(plain(value), ensure_ascii=False, allow_nan=False)
    _print(HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text))
