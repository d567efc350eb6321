"""What a command prints when it is asked again: for what no other code tells, its sentences and figures of a model."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from reviewgraph.cli.targets import writable
from reviewgraph.errors import InputError
from reviewgraph.verify.answers import from_json

if TYPE_CHECKING:
    from reviewgraph.verify.answers import Answer


def asked_again(made: click.Context) -> Answer | None:
    """Return what a command prints with ``--json`` to the same words; None where it ends without an answer.

    What it writes is written into a folder that goes again, but for reports, which are not made; nothing is shown.

    Parameters
    ----------
    made
        The context of the command, with what it was asked; left as it was.
    """
    before = dict(made.params)
    files = {option.name or "" for option in made.command.params if option.callback is writable}
    printed = io.TextIOWrapper(io.BytesIO(), "utf-8")
    try:
        with TemporaryDirectory() as folder:
            made.params.update({name: str(Path(folder, name)) for name in files if before[name]}, as_json=True)
            made.params.update(
                {name: value for name, value in (("html", None), ("anonymous", False)) if name in before}
            )
            with redirect_stdout(printed), redirect_stderr(io.StringIO()), suppress(click.exceptions.Exit):
                made.command.invoke(made)
        printed.seek(0)
        return from_json("the answer asked for again", printed.read())
    except (click.ClickException, InputError):
        return None
    finally:
        made.params.update(before)
