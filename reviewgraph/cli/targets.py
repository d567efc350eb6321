"""Files that a command is to write: that they can be written, and that nothing it reads is lost by it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import click

from reviewgraph.cli.refusal import Refusal
from reviewgraph.errors import InputError
from reviewgraph.storing import stream_of

#: Bytes that file systems allow a name.
LONGEST_NAME = 255


def expect_writable(path: str | os.PathLike[str]) -> None:
    """Refuse a file that cannot be written, so that no work is done in vain; nothing is written yet.

    Raises
    ------
    InputError
        If it is a folder, its name is too long, or its folder does not exist or cannot be written to.
    """
    if stream_of(path) is not None:
        return
    target = os.path.realpath(path)
    special = os.path.exists(path) and not os.path.isfile(path)
    folder, name = os.path.split(target)
    if os.path.isdir(target):
        why = "it is a folder"
    elif not special and not os.path.isdir(folder):
        why = "there is no such folder"
    elif not special and len(os.fsencode(name)) > LONGEST_NAME:
        why = f"a name has {LONGEST_NAME} bytes at most"
    elif not os.access(path if special else folder, os.W_OK):
        why = "permission denied"
    else:
        return
    message = f"{path}: cannot be written ({why}); name another file with -o"
    raise InputError(message)


def writable(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Refuse a file that cannot be written before the command begins to work."""
    try:
        if value is not None:
            expect_writable(value)
    except InputError as error:
        raise Refusal(str(error)) from error
    return value


def expect_apart(context: click.Context | None) -> None:
    """Refuse to write a file that the same command reads, or writes something else to.

    Raises
    ------
    InputError
        If an option that names a file to be written, one whose callback is :func:`writable`, names the file of another
        option or argument.
    """
    if context is None:
        return
    named = list(_files(context))
    for param, path in named:
        if param.callback is not writable:
            continue
        for other, also in named:
            if other is not param and same_file(path, also):
                told = other.opts[0] if isinstance(other, click.Option) else other.make_metavar(context)
                message = f"{param.opts[0]} {path}: {told} names the same file; write to another one"
                raise InputError(message)


def _files(context: click.Context) -> Iterator[tuple[click.Parameter, str]]:
    """All texts on the command line that may name a file, those that name columns of one too."""
    for param in context.command.params:
        given = context.params.get(param.name or "")
        for value in given if isinstance(given, tuple) else (given,):
            if isinstance(value, str):
                yield param, value


def same_file(path: str, other: str) -> bool:
    """Tell whether a file to be written is another one that is named, or the one that the other is a part of."""
    if stream_of(path) is not None or (os.path.exists(path) and not os.path.isfile(path)):
        return False
    return any(
        os.path.realpath(path) == os.path.realpath(name) or (os.path.exists(path) and _samefile(path, name))
        for name in (other, other.rpartition("#")[0])
        if name
    )


def _samefile(path: str, other: str) -> bool:
    try:
        return os.path.samefile(path, other)
    except OSError:
        return False
