"""The command line: subcommands are entry points, so the packages do not depend on each other."""

from __future__ import annotations

from functools import cached_property
from importlib.abc import InspectLoader
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from types import CodeType
from typing import Any

import click

from reviewgraph._version import __version__
from reviewgraph.cli.output import (
    INTERRUPTED,
    REFUSED,
    answered_interrupts,
    discard_the_rest,
    ended_by_failure,
    ended_by_streams,
    say,
)

GROUP = "reviewgraph.commands"


class Commands(click.Group):
    """A group whose commands are the entry points of :data:`GROUP`."""

    def main(self, *args: Any, **options: Any) -> Any:
        """Run the command line, and end with its status: after Ctrl-C 130 in all cases, even if stderr is full."""
        if not options.get("standalone_mode", True):
            return super().main(*args, **options)
        try:
            raise SystemExit(self._status(*args, **{**options, "standalone_mode": False}))
        except OSError as error:
            if error.filename is not None:
                raise
            discard_the_rest()
            raise SystemExit(REFUSED) from None

    def _status(self, *args: Any, **options: Any) -> int:
        try:
            ended = super().main(*args, **options)
        except click.ClickException as error:
            error.show()
            return error.exit_code
        except (click.Abort, KeyboardInterrupt):
            say("Interrupted, no result.")
            return INTERRUPTED
        return ended if isinstance(ended, int) else 0

    def make_context(self, *args: Any, **options: Any) -> click.Context:
        """Parse the command line; print help on request."""
        try:
            with ended_by_streams():
                return super().make_context(*args, **options)
        except KeyboardInterrupt:
            say("Interrupted, no result.")
            raise SystemExit(INTERRUPTED) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; Ctrl-C without a result, closed pipes, full disks and failures have their exit statuses."""
        with ended_by_failure(), ended_by_streams(), answered_interrupts() as answers:
            try:
                return super().invoke(ctx)
            except (KeyboardInterrupt, ImportError, AttributeError) as error:
                answers.end()
                # A module whose import Ctrl-C interrupts stays incomplete, and later imports of it fail.
                if not isinstance(error, KeyboardInterrupt) and not answers.interrupted.is_set():
                    raise
                say("Interrupted, no result.")
                ctx.exit(INTERRUPTED)

    @cached_property
    def _found(self) -> dict[str, EntryPoint]:
        # entry_points searches all installed packages at every call.
        return {point.name: point for point in entry_points(group=GROUP)}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order of the work: check, plan, assign, calibrate, verify, then the others."""
        first = ("demo", "check", "plan", "assign", "calibrate", "verify")
        return sorted(self._found, key=lambda name: (first.index(name) if name in first else len(first), name))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands with the first sentences of their docstrings, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, first_sentence(self._found[name])) for name in self.list_commands(ctx)])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load one command."""
        point = self._found.get(cmd_name)
        return None if point is None else point.load()


def first_sentence(point: EntryPoint) -> str:
    """Return the first sentence of the docstring of a command from its compiled module, without the slow import."""
    spec = find_spec(point.module)
    code = spec.loader.get_code(point.module) if spec and isinstance(spec.loader, InspectLoader) else None
    for part in code.co_consts if code else ():
        if isinstance(part, CodeType) and part.co_name == point.attr and part.co_consts:
            text = str(part.co_consts[0] or "").split("\n\n")[0]
            return " ".join(text.split()).partition(". ")[0].rstrip(".")
    return ""


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="reviewgraph")
def main() -> None:
    """Can these review scores be compared, and if not, what is the least we must add?"""
