"""Commands with grouped help, whose options can also be read from a conference file."""

from __future__ import annotations

import hashlib
import math
import os
import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from importlib.abc import InspectLoader
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from types import CodeType
from typing import Any, Final, NoReturn, TypeVar

import click

from reviewgraph._base.errors import InputError, say_foreign
from reviewgraph._base.storing import FileRead
from reviewgraph._version import __version__
from reviewgraph.cli.output import (
    Refusal,
    ended_early,
    same_file,
    say,
    writable,
)
from reviewgraph.cli.session import Session, Taken


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


# ``conference.toml``: options of all commands in one file.

#: The default file in the current folder, and the word for no file.
FOUND = "conference.toml"
NONE = "none"
#: The section that names columns by role.
COLUMNS = "columns"
#: Metavars of options that take files; some also take numbers or other words.
_FILES = re.compile(r"\b(FILE|DIR|REVIEWS)\b")

#: Parameters by key, by section.
Sections = Mapping[str, Mapping[str, click.Parameter]]


@dataclass
class Conference:
    """A conference file: its ``content`` by section, and the keys that the running command uses (``taken``)."""

    path: str
    text: str
    content: Mapping[str, Any]
    taken: dict[str, Taken] = field(default_factory=dict)

    @property
    def file(self) -> FileRead:
        """The record of the file: its hash and the options taken from it."""
        options = tuple((option.key, _shown(option.written)) for option in self.taken.values())
        digest = hashlib.sha256(self.text.encode("utf-8")).hexdigest()
        keys = sum(len(section) for section in self.content.values())
        return FileRead(self.path, rows=keys, sha256=digest, options=options)

    def unknown(self, sections: Sections) -> Iterator[tuple[str, str]]:
        """Yield the section and the key, or "", of what is in the file and in none of these sections."""
        for section, keys in self.content.items():
            if isinstance(keys, dict) and section in (COLUMNS, *sections):
                known = keys if section == COLUMNS else sections[section]
                yield from ((section, key) for key in keys if key not in known)
            else:
                yield section, ""

    def refuse(self, section: str, key: str, sections: Sections, gone: Mapping[str, str]) -> NoReturn:
        """Refuse a key or a section of no command, and say where it belongs, or what replaces an option that went."""
        place = self.place(section, key)
        if f"--{key}" in gone:
            message = f"{place} is no longer an option: {gone[f'--{key}']}"
            raise Refusal(message)
        name = key or (f"[{section}]" if isinstance(self.content[section], dict) else section)
        homes = [home for home, keys in sections.items() if name in keys]
        # Those of single commands only if there is no other.
        homes = [home for home in homes if home not in main.commands_found] or homes
        if homes:
            message = f"{place}: expected {name} in {' or '.join(f'[{home}]' for home in homes)}; move it there"
            raise Refusal(message)
        known = sorted(sections[section] if key else (f"[{home}]" for home in (COLUMNS, *sections)))
        message = f"{place}: expected one of {', '.join(known)}; found {name}{near(name, known)}"
        raise Refusal(message)

    def take(self, command: str, sections: Sections, columns: click.Parameter | None, typed: Collection[str]) -> None:
        """Take the options of a command that were not typed; the section of the command overrides the others."""
        names = self.content.get(COLUMNS)
        if columns is not None and names and columns.name not in typed:
            self.taken[columns.name or ""] = self._columns(names)
        for section in sorted(self.content, key=lambda name: name == command):
            for key, written in self.content[section].items() if section in sections else ():
                parameter = sections[section].get(key)
                if parameter is not None and parameter.name not in typed:
                    place = self.place(section, key)
                    value = self._value(parameter, written, place)
                    self.taken[parameter.name or ""] = Taken(place, key, written, value, section == command)

    def place(self, section: str, key: str = "") -> str:
        """Return the file, the line if a simple search finds it, and the key."""
        here = ""
        name = rf"\s*[\"']?{re.escape(key or section)}[\"']?\s*"
        for number, line in enumerate(self.text.splitlines(), 1):
            heading = re.match(r"\s*\[\s*[\"']?([^\"'\]]+?)[\"']?\s*\]", line)
            here = heading[1] if heading else here
            is_here = heading and here == section if not key else here == section and re.match(rf"{name}=", line)
            if is_here or (not key and not here and re.match(rf"{name}[=.]", line)):
                return f"{self.path}, line {number}{f': [{section}] {key}' if key else ''}"
        return f"{self.path}{f': [{section}] {key}' if key else ''}"

    def _columns(self, names: Mapping[str, Any]) -> Taken:
        """Return ``ROLE=NAME`` for each role; files are relative to this file."""
        words = []
        for role, name in names.items():
            if not isinstance(name, str):
                place = self.place(COLUMNS, role)
                message = f"{place}: expected the name of a column, a text; found {_shown(name)}"
                raise Refusal(message)
            file, colon, of = role.rpartition(":")
            words.append(f"{self._from_here(file)}:{of}={name}" if colon else f"{role}={name}")
        return Taken(self.place(COLUMNS), COLUMNS, names, words, own=False)

    def _value(self, parameter: click.Parameter, written: Any, place: str) -> Any:
        """Return the value of a parameter as its option takes it; its type checks numbers and choices."""
        if isinstance(parameter, click.Option) and parameter.is_flag:
            if not isinstance(written, bool):
                message = f"{place}: expected true or false, found {_shown(written)}"
                raise Refusal(message)
            return written
        if not (parameter.multiple or parameter.nargs == -1):
            return self._word(parameter, written, place)
        return [self._word(parameter, value, place) for value in (written if isinstance(written, list) else [written])]

    def _word(self, parameter: click.Parameter, written: Any, place: str) -> str:
        if isinstance(written, bool) or not isinstance(written, str | int | float):
            message = f"{place}: expected a text or a number, found {_shown(written)}"
            raise Refusal(message)
        metavar = parameter.metavar or ""
        is_word = "|" in metavar and (not isinstance(written, str) or written in metavar.split("|"))
        if is_word or not _FILES.search(metavar):
            return str(written)
        path = self._from_here(str(written))
        # The name of a file may be followed by =WEIGHT or #PART.
        names = (path, path.rpartition("=")[0], path.rpartition("#")[0])
        is_input = "DIR" not in metavar and parameter.callback is not writable
        if is_input and not any(name and os.path.exists(name) for name in names):
            message = f"{place}: expected a file, found none named {path}; paths are relative to the conference file"
            raise Refusal(message)
        return path

    def _from_here(self, path: str) -> str:
        """Return a path that is relative to this file as one relative to the current folder."""
        return os.path.join(os.path.dirname(self.path), path)


def read_conference(path: str) -> Conference:
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        message = f"--conference {path}: cannot be read ({error.strerror or error}); name another file, or {NONE}"
        raise Refusal(message) from None
    try:
        return Conference(path, *parsed(path, data))
    except InputError as error:
        raise Refusal(str(error)) from None


def parsed(name: str, data: bytes) -> tuple[str, dict[str, Any]]:
    """Return the text of a conference file and its sections."""
    try:
        text = data.decode("utf-8")
        return text, tomllib.loads(text)
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        message = f"{name}: expected TOML, such as [rules] and below it load = 6; found otherwise: {error}"
        raise InputError(message) from None


def found_here() -> str | None:
    return FOUND if os.path.isfile(FOUND) else None


def near(name: str, known: Iterable[str]) -> str:
    """Return the suggestion of a similar name, if there is one."""
    close = get_close_matches(name, list(known), 1, 0.7)
    return f"; did you mean {close[0]}?" if close else ""


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}={_shown(entry)}" for key, entry in value.items())
    if isinstance(value, list):
        return ", ".join(map(_shown, value))
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


#: The headings of options in help, in order; in lower case, the sections of a conference file.
GROUPS: Final = (
    *("Input", "Rules", "Preferences", "Level", "Selection", "Randomisation", "Method", "Assumptions", "Search"),
    *("Result", "Help"),
)
#: Groups whose options are allowed only in the section of a command.
OWN = ("Result",)

F = TypeVar("F", bound=Callable[..., Any])


class Option(click.Option):
    """An option of a ``group`` of help, one of :data:`GROUPS`.

    Only ``everyday`` options are in ``--help``. An ``old`` one will be removed: the value is what to write instead.
    """

    def __init__(self, *args: Any, group: str, everyday: bool = False, old: str = "", **settings: Any) -> None:
        super().__init__(*args, **{"hidden": bool(old), **settings})
        self.group = group
        self.everyday = everyday
        self.old = old

    @property
    def key(self) -> str:
        """Its key in a conference file; empty if it has no long name."""
        return next((word for word in self.opts if word.startswith("--")), "").removeprefix("--")

    def get_help_extra(self, ctx: click.Context) -> Any:
        """Return default and range for help; the range only where both bounds exist."""
        extra = super().get_help_extra(ctx)
        if getattr(self.type, "min", None) is None or getattr(self.type, "max", None) is None:
            extra.pop("range", None)
        return extra


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


HELP_NAMES: Final = {"help_option_names": ["-h", "--help"]}


class PlainCommand(click.Command):
    """A command without a conference file.

    ``renamed`` maps old names of options to the new name and the meaning of the old one from the next release on;
    ``gone`` those that went to what to do instead.
    """

    def __init__(
        self,
        *args: Any,
        renamed: Mapping[str, tuple[str, str]] | None = None,
        gone: Mapping[str, str] | None = None,
        **settings: Any,
    ) -> None:
        settings["context_settings"] = {**HELP_NAMES, **settings.get("context_settings", {})}
        super().__init__(*args, **settings)
        self.renamed = renamed or {}
        self.gone = gone or {}

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line; options that went are refused."""
        return super().parse_args(ctx, args if ctx.resilient_parsing else self.spelled_anew(args))

    def spelled_anew(self, args: list[str]) -> list[str]:
        """Replace old names of options, with a note on each, and refuse those that went."""
        words = list[str]()
        verbose = next((parameter for parameter in self.params if parameter.name == "verbose"), None)
        for place, word in enumerate(args):
            name, sign, value = word.partition("=")
            if name in self.gone:
                message = f"{name} is no longer an option: {self.gone[name]}"
                raise Refusal(message)
            new, why = self.renamed.get(name, (name, ""))
            if why:
                say(f"{name} is now called {new}; {why}")
            # What follows --verbose may be a file.
            following = args[place + 1] if place + 1 < len(args) else ""
            if word == "--verbose" and verbose is not None and not verbose.type.are_meant(following):  # type: ignore[attr-defined]
                new = "--verbose=all"
            words.append(f"{new}{sign}{value}")
        return words


class Command(PlainCommand):
    """A command with grouped help, ``--help-all``, and ``--conference``."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.params.insert(
            0,
            Option(
                ["--conference"],
                group="Input",
                everyday=True,
                metavar=f"FILE|{NONE}",
                expose_value=False,
                help=f"Read options from this file, or from no file.  [default: {FOUND}, if this folder has one]",
            ),
        )

    def sections(self) -> dict[str, dict[str, click.Parameter]]:
        """Return the parameters that a conference file may contain, by section and key."""
        by_section: dict[str, dict[str, click.Parameter]] = {}
        for parameter in self.params:
            if isinstance(parameter, click.Argument):
                place = "Input"
                key = "reviews"
            elif (
                isinstance(parameter, Option) and not parameter.old and parameter.key not in ("", "conference", COLUMNS)
            ):
                place = parameter.group
                key = parameter.key
            else:
                continue
            if place not in OWN:
                by_section.setdefault(place.lower(), {})[key] = parameter
            by_section.setdefault(self.name or "", {})[key] = parameter
        return by_section

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
        """Parse the command line, and take missing options from the conference file."""
        if ctx.resilient_parsing:
            return super().parse_args(ctx, args)
        args = self.spelled_anew(args)
        words = self._typed(ctx, args)
        helping = self.get_help_option(ctx)
        if not {"help_all", helping.name if helping else None} & set(words):
            args = [*args, *self._taken(ctx, words)]
        try:
            left = super().parse_args(ctx, args)
        except click.BadParameter as error:
            taken = Session.of(ctx).taken.get(getattr(error.param, "name", None) or "")
            if taken is None:
                raise
            chosen = isinstance(getattr(error.param, "type", None), click.Choice) and not taken.own
            hint = " For one command alone, write it under the name of the command, as in [assign]." if chosen else ""
            message = f"{taken.place}: {error.message}{hint}"
            raise Refusal(message) from error
        conference: Conference | None = Session.of(ctx).conference
        for parameter in self.params:
            path = ctx.params.get(parameter.name or "")
            if conference and parameter.callback is writable and path and same_file(path, conference.path):
                message = f"{parameter.opts[0]} {path}: --conference names the same file; write to another one"
                raise Refusal(message)
            if isinstance(parameter, Option) and parameter.old and parameter.name in words:
                say(f"{parameter.opts[0]} will be removed in the next release; use {parameter.old}")
        return left

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

    def _typed(self, ctx: click.Context, args: list[str]) -> dict[str, Any]:
        """Return the typed values by the name of the parameter."""
        values = self.make_parser(ctx).parse_args([*args])[0]
        arguments = {parameter.name for parameter in self.params if isinstance(parameter, click.Argument)}
        return {
            name: value for name, value in values.items() if name not in arguments or isinstance(value, tuple | str)
        }

    def _taken(self, ctx: click.Context, typed: Mapping[str, Any]) -> list[str]:
        """Take options that were not typed from the conference file; returns its REVIEWS."""
        session = Session.of(ctx)
        asked = session.asked = typed.get("conference")
        path = None if asked == NONE else asked or found_here()
        if path is None:
            return []
        conference = read_conference(path)
        sections = self.sections()
        if any(conference.unknown(sections)):
            every = main.sections(ctx)
            for section, key in conference.unknown(every):
                conference.refuse(section, key, every, self.gone)
        columns = next((parameter for parameter in self.params if parameter.name == COLUMNS), None)
        conference.take(self.name or "", sections, columns, [name for name, value in typed.items() if value != ()])
        if not conference.taken:
            return []
        session.conference = conference
        if not asked:
            keys = ", ".join(option.key for option in conference.taken.values())
            say(f"Options from {path}: {keys} (--conference {NONE} ignores it)")
        values = {name: option.value for name, option in conference.taken.items()}
        paths = [
            values.pop(parameter.name)
            for parameter in self.params
            if isinstance(parameter, click.Argument) and parameter.name in values
        ]
        ctx.default_map = values
        return [os.path.join(".", word) if word.startswith("-") else word for words in paths for word in words]


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

    def sections(self, ctx: click.Context) -> Sections:
        """Return the parameters that a conference file may contain for some command, by section and key."""
        by_section: dict[str, dict[str, click.Parameter]] = {}
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            for section, keys in command.sections().items() if isinstance(command, Command) else ():
                by_section.setdefault(section, {}).update(keys)
        return by_section

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


@click.group(cls=Commands, context_settings=HELP_NAMES)
@click.version_option(__version__, prog_name="reviewgraph")
def main() -> None:
    """Can these review scores be compared, and if not, what is the least we must add?"""
