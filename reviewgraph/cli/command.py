"""Commands whose help shows the everyday options in groups, and whose options a conference file may give."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import click
from click.core import ParameterSource

from reviewgraph.cli.conference import COLUMNS, FOUND, NONE, Conference, Sections, Taken, found_here, read_conference
from reviewgraph.cli.output import say
from reviewgraph.cli.refusal import Refusal
from reviewgraph.cli.targets import same_file, writable

#: The headings of options in help, in their order; in small letters, the sections of a conference file.
GROUPS: Final = (
    *("Input", "Rules", "Preferences", "Level", "Selection", "Randomisation", "Method", "Assumptions", "Search"),
    *("Result", "Help"),
)
_CONFERENCE, _ASKED, _WHOLE = (f"reviewgraph.{name}" for name in ("conference", "asked", "help"))
#: Groups whose options belong to one command: each writes files of its own.
OWN = ("Result",)

F = TypeVar("F", bound=Callable[..., Any])


class Option(click.Option):
    """An option with its heading in help.

    Parameters
    ----------
    group
        One of :data:`GROUPS`.
    everyday
        Whether ``--help`` shows it, or ``--help-all`` alone.
    old
        What is to be typed in its place, of an option that will go away.
    """

    def __init__(self, *args: Any, group: str, everyday: bool = False, old: str = "", **settings: Any) -> None:
        super().__init__(*args, **{"hidden": bool(old), **settings})
        self.group, self.everyday, self.old = group, everyday, old

    @property
    def key(self) -> str:
        """The name that it has in a conference file."""
        return next(word for word in self.opts if word.startswith("--")).removeprefix("--")

    def get_help_extra(self, ctx: click.Context) -> Any:
        """Return what help says of default and range; without bounds there is no range."""
        extra = super().get_help_extra(ctx)
        if getattr(self.type, "min", None) is None and getattr(self.type, "max", None) is None:
            extra.pop("range", None)
        return extra


def option(group: str, *names: str, **settings: Any) -> Callable[[F], F]:
    """Return the decorator that adds an :class:`Option` to a command, under a heading of its help.

    >>> @click.command()
    ... @option("Rules", "--load", everyday=True, type=int, help="Maximum reviews per reviewer.")
    ... def show(load): ...
    >>> [(each.group, each.key) for each in show.params]
    [('Rules', 'load')]
    """
    return click.option(*names, **{"cls": Option, "group": group, **settings})


#: The options that print help.
HELP_NAMES: Final = {"help_option_names": ["-h", "--help"]}


class Command(click.Command):
    """A command with grouped help, ``--help-all``, and ``--conference``.

    Parameters
    ----------
    renamed
        Old names of options, with the new name and what the old one will mean from the next release on.
    """

    def __init__(self, *args: Any, renamed: Mapping[str, tuple[str, str]] | None = None, **settings: Any) -> None:
        # Click keeps the names of help that the first context had: each command brings them along.
        super().__init__(*args, **{"context_settings": HELP_NAMES, **settings})
        self.renamed = renamed or {}
        self.params.insert(
            0,
            Option(
                ["--conference"],
                group="Input",
                everyday=True,
                metavar=f"FILE|{NONE}",
                expose_value=False,
                help=f"Options from this file, or from none.  [default: {FOUND}, if this folder has one]",
            ),
        )

    def sections(self) -> dict[str, dict[str, click.Parameter]]:
        """Return the parameters that a conference file may give, by section and key."""
        found: dict[str, dict[str, click.Parameter]] = {}
        for each in self.params:
            if isinstance(each, click.Argument):
                place, key = "Input", "reviews"
            elif isinstance(each, Option) and not each.old and each.key not in ("conference", COLUMNS):
                place, key = each.group, each.key
            else:
                continue
            if place not in OWN:
                found.setdefault(place.lower(), {})[key] = each
            found.setdefault(self.name or "", {})[key] = each
        return found

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters, with those that print help."""
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
        """Read the words of the command line, and take what they leave open from the conference file."""
        if ctx.resilient_parsing:
            return super().parse_args(ctx, args)
        args = self._spelled_anew(args)
        words = self._typed(ctx, args)
        helping = self.get_help_option(ctx)
        if not {"help_all", helping.name if helping else None} & set(words):
            args = [*args, *self._taken(ctx, words)]
        try:
            left = super().parse_args(ctx, args)
        except click.BadParameter as error:
            taken = taken_from_file(ctx).get(getattr(error.param, "name", None) or "")
            if taken is None:
                raise
            chosen = isinstance(getattr(error.param, "type", None), click.Choice) and not taken.own
            hint = " For one command alone, write it under the name of the command, as in [assign]." if chosen else ""
            message = f"{taken.place}: {error.message}{hint}"
            raise Refusal(message) from error
        self._expect_file_kept(ctx)
        for each in self.params:
            if isinstance(each, Option) and each.old and each.name in words:
                say(f"{each.opts[0]} goes away with the next release; write {each.old}")
        return left

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options under their headings: the everyday ones, or all where ``--help-all`` asked."""
        whole = bool(ctx.meta.get(_WHOLE))
        rows: dict[str, list[tuple[str, str]]] = {}
        for each in self.get_params(ctx):
            record = each.get_help_record(ctx) if isinstance(each, click.Option) else None
            if record is None:
                continue
            group = each.group if isinstance(each, Option) else "Help"
            if whole or group == "Help" or getattr(each, "everyday", False):
                rows.setdefault(group, []).append(record)
        for group in GROUPS:
            if group in rows:
                with formatter.section(group):
                    formatter.write_dl(rows[group])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, and where the other options are shown."""
        super().format_epilog(ctx, formatter)
        if not ctx.meta.get(_WHOLE):
            formatter.write_paragraph()
            formatter.write_text(f"More options: {ctx.command_path} --help-all")

    def _spelled_anew(self, args: list[str]) -> list[str]:
        """Return the words with new names for old ones, and print a note on each."""
        words = []
        for word in args:
            name, sign, value = word.partition("=")
            new, why = self.renamed.get(name, (name, ""))
            if why:
                say(f"{name} is called {new} now; {why}")
            words.append(f"{new}{sign}{value}")
        return words

    def _typed(self, ctx: click.Context, args: list[str]) -> dict[str, Any]:
        """Return what was typed, by the name of the parameter."""
        found = self.make_parser(ctx).parse_args([*args])[0]
        arguments = {each.name for each in self.params if isinstance(each, click.Argument)}
        return {name: value for name, value in found.items() if name not in arguments or isinstance(value, tuple | str)}

    def _taken(self, ctx: click.Context, typed: Mapping[str, Any]) -> list[str]:
        """Take from the conference file what was not typed; returns REVIEWS from there, as words."""
        asked = ctx.meta[_ASKED] = typed.get("conference")
        path = None if asked == NONE else asked or found_here()
        if path is None:
            return []
        conference, own = read_conference(path), self.sections()
        if not conference.is_within(own):
            conference.expect_known(_of_all_commands())
        columns = next((each for each in self.params if each.name == COLUMNS), None)
        conference.take(self.name or "", own, columns, [name for name, value in typed.items() if value != ()])
        if not conference.taken:
            return []
        ctx.meta[_CONFERENCE] = conference
        if not asked:
            keys = ", ".join(one.key for one in conference.taken.values())
            say(f"{path} gives {keys} (--conference {NONE}: without it)")
        values = {name: one.value for name, one in conference.taken.items()}
        paths = [
            values.pop(each.name) for each in self.params if isinstance(each, click.Argument) and each.name in values
        ]
        ctx.default_map = values
        return [os.path.join(".", word) if word.startswith("-") else word for words in paths for word in words]

    def _expect_file_kept(self, ctx: click.Context) -> None:
        """Refuse to write over the conference file."""
        conference: Conference | None = ctx.meta.get(_CONFERENCE)
        for each in self.params:
            path = ctx.params.get(each.name or "")
            if conference and each.callback is writable and path and same_file(path, conference.path):
                message = f"{each.opts[0]} {path}: --conference names the same file; write to another one"
                raise Refusal(message)


def taken_from_file(ctx: click.Context) -> Mapping[str, Taken]:
    """Return what the running command takes from the conference file, by the name of the parameter."""
    conference: Conference | None = ctx.meta.get(_CONFERENCE)
    return conference.taken if conference else {}


def given_conference() -> Conference | None:
    """Return the conference file of the running command, if it takes anything from one."""
    return click.get_current_context().meta.get(_CONFERENCE)


def conference_words() -> list[str]:
    """Return ``--conference`` as it was typed, for the next command to type."""
    asked = click.get_current_context().meta.get(_ASKED)
    return ["--conference", asked] if asked else []


def is_typed(ctx: click.Context, name: str) -> bool:
    """Whether a parameter was typed on the command line."""
    typed = ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
    return typed and name not in taken_from_file(ctx)


def is_given(ctx: click.Context, name: str, unless: str = "") -> bool:
    """Whether a parameter was typed, or stands in the conference file and ``unless`` was not typed."""
    return is_typed(ctx, name) or (name in taken_from_file(ctx) and not (unless and is_typed(ctx, unless)))


def is_shared(ctx: click.Context, name: str) -> bool:
    """Whether a parameter stands in a section for all commands: the next one need not be told."""
    taken = taken_from_file(ctx).get(name)
    return taken is not None and not taken.own


def _show_all(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.meta[_WHOLE] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


def _of_all_commands() -> dict[str, Sections]:
    """Return the sections of all commands that read a conference file."""
    from reviewgraph.cli import main

    context = click.Context(main)
    commands = [main.get_command(context, name) for name in main.list_commands(context)]
    return {each.name or "": each.sections() for each in commands if isinstance(each, Command)}
