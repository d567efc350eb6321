"""Commands with grouped help, and the group that finds them by entry point."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import cached_property
from importlib.abc import InspectLoader
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from types import CodeType
from typing import Any, Final, TypeVar

import click

from reviewgraph._base.errors import say_foreign
from reviewgraph._version import __version__
from reviewgraph.cli.output import Refusal, ended_early, say, writable
from reviewgraph.cli.session import Session


class Number(click.FloatRange):
    """The type of options that take a finite number within bounds.

    >>> Number(0).convert("0.5", None, None)
    0.5
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"expected a finite number, found {value}; leave the option out for no limit", param, ctx)
        return number

    def _describe_range(self) -> str:
        """Return the bounds as help has them; nothing where there are none."""
        return "" if self.min is None and self.max is None else super()._describe_range()


def near(name: str, known: Iterable[str]) -> str:
    """Return the suggestion of a similar name, if there is one."""
    close = get_close_matches(name, list(known), 1, 0.7)
    return f"; did you mean {close[0]}?" if close else ""


#: The headings of options in help, in order.
GROUPS: Final = (
    *("Input", "Rules", "Preferences", "Level", "Selection", "Randomisation", "Method", "Assumptions", "Search"),
    *("Result", "Help"),
)
F = TypeVar("F", bound=Callable[..., Any])


class Option(click.Option):
    """An option of a ``group`` of help, one of :data:`GROUPS`.

    Only ``everyday`` options are in ``--help``.
    """

    def __init__(self, *args: Any, group: str, everyday: bool = False, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.group = group
        self.everyday = everyday

    @property
    def key(self) -> str:
        """Its long name without dashes; empty if it has none."""
        return next((word for word in self.opts if word.startswith("--")), "").removeprefix("--")


def option(
    group: str, *names: str, minimum: int | None = None, writes: bool = False, **settings: Any
) -> Callable[[F], F]:
    """Return the decorator that adds an :class:`Option` to a command, under a heading of its help.

    A name may be followed by the metavar, as in ``"--load N"``. An option with a ``minimum`` takes whole numbers; one
    that ``writes`` names a file to be written. Defaults are shown in the help.
    """
    declared = []
    for name in names:
        name, blank, metavar = name.partition(" ")
        declared.append(name)
        settings |= {"metavar": metavar} if blank else {}
    settings |= {"type": click.IntRange(minimum)} if minimum is not None else {}
    settings |= {"callback": writable} if writes else {}
    return click.option(
        *declared, **{"cls": Option, "group": group, "show_default": settings.get("default") is not None, **settings}
    )


#: A file of options that commands of earlier releases read.
CONFERENCE = "conference.toml"


class Command(click.Command):
    """A command with grouped help, and ``--help-all``; ``gone`` maps options that went to what to do instead.

    ``verifier`` takes the session and an answer, and returns what independent code finds of it.
    """

    def __init__(
        self,
        *args: Any,
        gone: Mapping[str, str] | None = None,
        verifier: Callable[[Session, Any], Any] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(*args, **settings)
        self.verifier = verifier
        self.gone = {"--conference": "give the options of that file on the command line", **(gone or {})}

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        everything = Option(
            ["--help-all"],
            group="Help",
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_show_all,
            help="Show all options and exit.",
        )
        return [*super().get_params(ctx), everything]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line; options that went are refused with what to do, and a file that went is noted."""
        if os.path.isfile(CONFERENCE) and not ctx.resilient_parsing:
            say(f"{CONFERENCE} is no longer read: give its options on the command line")
        words = list(args)
        verbose = next((parameter for parameter in self.params if parameter.name == "verbose"), None)
        for place, word in enumerate(args):
            name = word.partition("=")[0]
            if name in self.gone and not ctx.resilient_parsing:
                raise Refusal(f"{name} is no longer an option: {self.gone[name]}")
            # What follows --verbose may be a file.
            following = args[place + 1] if place + 1 < len(args) else ""
            if word == "--verbose" and verbose is not None and not verbose.type.are_meant(following):  # type: ignore[attr-defined]
                words[place] = "--verbose=all"
        return super().parse_args(ctx, words)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options under their headings: the everyday ones, or all for ``--help-all``."""
        whole = Session.of(ctx).whole_help
        rows: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is None:
                continue
            group = parameter.group if isinstance(parameter, Option) else "Help"
            if whole or group == "Help" or getattr(parameter, "everyday", False):
                rows.setdefault(group, []).append(record)
        for group in GROUPS:
            if group in rows:
                with formatter.section(group):
                    formatter.write_dl(rows[group])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_epilog(ctx, formatter)
        if not Session.of(ctx).whole_help:
            formatter.write_paragraph()
            formatter.write_text(f"More options: {ctx.command_path} --help-all")


def _show_all(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        Session.of(ctx).whole_help = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


# The group finds its commands by entry point, so that no package has to know the others.

GROUP = "reviewgraph.commands"


class Commands(click.Group):
    """A group whose commands are the entry points of :data:`GROUP`."""

    def main(self, *args: Any, **options: Any) -> Any:
        """Run the command line, and end with its status, even if stderr is full."""
        if not options.get("standalone_mode", True):
            return super().main(*args, **options)
        with ended_early():
            try:
                status = super().main(*args, **{**options, "standalone_mode": False})
            except click.ClickException as error:
                error.show()
                status = error.exit_code
        raise SystemExit(status if isinstance(status, int) else 0)

    def make_context(self, *args: Any, **options: Any) -> click.Context:
        with ended_early():
            return super().make_context(*args, **options)

    def invoke(self, ctx: click.Context) -> Any:
        with ended_early():
            return super().invoke(ctx)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Return a command with its arguments; an unknown name raises an error that names the near one."""
        if args and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            known = self.list_commands(ctx)
            hint = near(args[0], known) or f"; there are {', '.join(known)}"
            ctx.fail(f"No such command {args[0]!r}{hint}")
        return super().resolve_command(ctx, args)

    @cached_property
    def commands_found(self) -> dict[str, EntryPoint]:
        """The entry points by name; they are searched among all installed packages once."""
        return {point.name: point for point in entry_points(group=GROUP)}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order of the work: check, plan, assign, calibrate, verify, then the others."""
        first = ("demo", "check", "plan", "assign", "calibrate", "verify")
        return sorted(self.commands_found, key=lambda name: (first.index(name) if name in first else len(first), name))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands with the first sentences of their docstrings, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, first_sentence(self.commands_found[name])) for name in self.list_commands(ctx)])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        point = self.commands_found.get(cmd_name)
        return None if point is None else load(point)


def load(point: EntryPoint) -> Any:
    """Return what an entry point names; a package of another distribution in the place of ours is one message."""
    if message := say_foreign(point.name, point.module):
        raise Refusal(message)
    return point.load()


def first_sentence(point: EntryPoint) -> str:
    """Return the first sentence of the docstring of a command from its compiled module, without the slow import."""
    try:
        spec = find_spec(point.module)
    except ImportError:  # The package is that of another project, which the command reports.
        return ""
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
