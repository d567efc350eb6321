"""The steps of the page: which command each runs, and its fields, the options that the command declares."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import click

from reviewgraph.cli.command import COLUMNS, OWN, Option, main

if TYPE_CHECKING:
    from reviewgraph.formats.columns import Role

#: What a file may be, by the option that takes it.
ROLES = {
    "reviews": "Reviews, scores or assignments",
    "items": "List of all papers",
    "reviewers": "List of all reviewers, with loads",
    "conflicts": "Conflicts",
    "affinity": "Affinities",
    "bids": "Bids or preferences",
    "capacity": "Maximum extra reviews by reviewer",
    "willing": "Reviewers who may be invited",
    "gone": "Reviewers who will not deliver",
    "fixed": "Extra reviews that are settled",
    "cost": "Costs of pairs",
    "authors": "Authors",
    "references": "Papers of known quality",
    "after": "Plan of the last round",
}
#: The roles of files of a conference system, by what its reader calls them.
KINDS = {
    "reviews": "reviews",
    "assignments": "reviews",
    "names": "reviews",
    "papers": "items",
    "reviewers": "reviewers",
    "conflicts": "conflicts",
    "bids": "bids",
    "affinities": "affinity",
    "authors": "authors",
}
#: Roles that several files may have.
SEVERAL = ("reviews", "affinity", "bids")
#: Commands that take a file of another role for one that is missing, where its system says that it serves for both.
INSTEAD = {"items": ("assign",), "reviewers": ("assign",), "conflicts": ("plan", "assign")}
#: What columns are called on the page, where not by their role.
COLUMN_WORDS = {"item": "paper", "bid": "preference", "spare": "maximum extra", "demand": "reviews needed"}
#: The columns that a file of a role may name.
WANTED = {
    "reviews": ("reviewer", "item", "score", "title", "confidence"),
    "items": ("item", "title", "demand"),
    "reviewers": ("reviewer", "load"),
    "conflicts": ("item", "reviewer", "conflict"),
    "affinity": ("item", "reviewer", "affinity"),
    "bids": ("item", "reviewer", "bid"),
    "capacity": ("reviewer", "spare"),
    "willing": ("reviewer", "willing"),
    "gone": ("reviewer", "item"),
    "fixed": ("item", "reviewer"),
    "cost": ("item", "reviewer", "cost"),
    "references": ("item", "quality"),
    "authors": ("item", "author"),
}


#: The word of ``--to`` for a table.
EXCEL = "csv"
#: Words of a hint, which ends with the first clause; what an option is for may stand before it.
HINT = 15
_CLAUSE = re.compile(r"((?:(?:With|For) [^:]*|\w+): )?.*?(?=[.;:](?:\s|$)|$)")
#: Options that are no fields: the page chooses columns by file, and what is written; it has no exit status.
NO_FIELDS = {"conference", "columns", "stream", "html", "anonymous", "json", "output", "require"}
NO_FIELDS |= {"verbose", "quiet", "color", "noun"}
#: Options that name files, and nothing else.
_FILES = re.compile(r"FILE\b[^|]*|DIR")


@dataclass(frozen=True)
class Field:
    """An option of a command as a field of a form."""

    option: Option

    @property
    def key(self) -> str:
        """The name of the option."""
        return self.option.key

    @property
    def label(self) -> str:
        """The name of the option in words."""
        return self.key.replace("-", " ").capitalize()

    @property
    def hint(self) -> str:
        """The first words of the help of the option; the documentation has the rest."""
        clause = _CLAUSE.match(re.sub(r"\s*\[default: .*?\]", "", self.option.help or ""))
        words = clause[0].split() if clause else []
        return " ".join(words) if len(words) <= HINT else f"{' '.join(words[:HINT]).rstrip(',')} ..."

    @property
    def choices(self) -> Sequence[str]:
        """The words that the option takes; empty where it takes any."""
        if self.key == "format":
            from reviewgraph.formats.systems.known import sources

            return sources()
        words = [*self.option.type.choices] if isinstance(self.option.type, click.Choice) else []
        # Every step has a table for Excel; commands that write no other file for people have no word for it.
        return [*words, *({EXCEL} - set(words))] if self.key == "to" else words

    def spelling(self, word: str) -> str:
        """Return a choice as the page shows it: systems have names of their own."""
        return title_of(word) if self.key in ("to", "format") else word

    def typed(self, value: str) -> Any:
        """Return a value as the conference file has it: a number where the option takes one."""
        if self.option.is_flag:
            return True
        kinds: list[type] = [int] if isinstance(self.option.type, click.IntRange | click.FloatRange) else []
        kinds += [float] if isinstance(self.option.type, click.FloatRange) else []
        for kind in kinds:
            with suppress(ValueError):
                return kind(value)
        return value


@dataclass(frozen=True)
class Step:
    """A command as a page; ``writes`` is the stem of its file for people."""

    command: str
    title: str
    action: str
    words: str
    writes: str = ""

    @cached_property
    def options(self) -> Mapping[str, click.Parameter]:
        """The parameters of the command by key."""
        command = main.get_command(click.Context(main), self.command)
        parameters = command.params if command else ()
        return {
            parameter.key if isinstance(parameter, Option) else "reviews": parameter
            for parameter in parameters
            if not getattr(parameter, "hidden", False)
        }

    @cached_property
    def roles(self) -> list[str]:
        """What its files may be."""
        return [role for role in ROLES if role in self.options]

    @cached_property
    def fields(self) -> list[Field]:
        """Its options but those that take files, and those on how tables are written."""
        table = {field.key for field in table_fields()}
        return [field for field in _fields(self) if field.key not in table]

    @property
    def has_reviews(self) -> bool:
        """Whether the command reads REVIEWS."""
        return "reviews" in self.options

    def opens(self, values: Mapping[str, str], about: str) -> bool:
        """Return whether one of the further fields has a value, or is the one that a message is about."""
        return any(values.get(field.key) or field.key == about for field in self.fields if not field.option.everyday)

    def filled(self, values: Mapping[str, str]) -> list[tuple[Field, str]]:
        """Return the fields with a value that counts; a plan selects papers only for an objective."""
        fields = [*(table_fields() if self.has_reviews else ()), *self.fields]
        unused = "select" if self.command == "plan" and not values.get("for") else ""
        return [(field, values[field.key]) for field in fields if values.get(field.key) and field.key != unused]


def _fields(step: Step) -> list[Field]:
    options = [option for option in step.options.values() if isinstance(option, Option)]
    no_fields = NO_FIELDS | set(ROLES)
    return [
        Field(option)
        for option in options
        if option.key not in no_fields and not _FILES.fullmatch(option.metavar or "")
    ]


@cache
def table_fields() -> list[Field]:
    """Return how the tables are written, for all commands."""
    return [field for field in _fields(STEPS["check"]) if field.option.group == "Input" and field.key != "gone-after"]


STEPS = {
    step.command: step
    for step in (
        Step(
            "check",
            "Check",
            "Check the reviews",
            "Can all papers be compared, and what is missing? Scores are not needed.",
        ),
        Step(
            "plan",
            "Plan",
            "Plan extra reviews",
            "The fewest extra reviews that make all papers comparable, or the most useful ones for the decision.",
            "plan",
        ),
        Step(
            "calibrate",
            "Calibrate",
            "Calibrate the scores",
            "Qualities on one scale, and the lists: in, to discuss, out.",
            "calibrated",
        ),
        Step(
            "assign",
            "Assign",
            "Assign reviewers",
            "A first assignment: it needs a list of all papers and a list of all reviewers.",
            "assignment",
        ),
    )
}


@cache
def column_role(name: str) -> Role:
    """Return the role of columns of a name."""
    from reviewgraph.formats import side, tables

    return {role.name: role for role in (*side.ROLES, side.AUTHOR, *tables.ROLES)}[name]


def takers_of(step: Step) -> list[str]:
    """Return the systems that the files of a command may be for."""
    kind = step.options["to"].type if "to" in step.options else None
    return [*kind.choices] if isinstance(kind, click.Choice) else []


def title_of(system: str) -> str:
    """Return the name of a system as it writes it itself."""
    from reviewgraph.formats.systems.known import SYSTEMS

    return SYSTEMS[system].title if system in SYSTEMS else f"a {system}"


def file_of(step: Step, system: str) -> str:
    """Return the name of a file for a system, without what all results begin with; of people, Excel opens it."""
    from reviewgraph.formats.systems.known import SYSTEMS

    suffix = ".xlsx" if SYSTEMS[system].is_table else SYSTEMS[system].suffix
    return f"{step.writes}{suffix}" if system == EXCEL else f"{step.writes}-{system}{suffix}"


def options_of(step: Step, values: Mapping[str, str]) -> list[str]:
    """Return the options of a step that have a value, as words of the command line.

    >>> options_of(STEPS["plan"], {"spare": "1", "select": "10%", "score": "Overall"})
    ['--score', 'Overall', '--spare', '1']
    """
    words: list[str] = []
    for field, value in step.filled(values):
        words += [f"--{field.key}"] if field.option.is_flag else [f"--{field.key}", value]
    return words


def field_of(message: str, step: Step) -> str:
    """Return the field that a message of the command is about, or nothing.

    >>> field_of("Invalid value for '--spare': -3 is not in the range x>=0.", STEPS["plan"])
    'spare'
    """
    keys = [field.key for field in (*table_fields(), *step.fields)]
    places = {key: place for key in keys if (place := f"{message} ".replace("'", " ").find(f"--{key} ")) >= 0}
    return min(places, key=places.__getitem__, default="")


def shown(words: Iterable[str]) -> str:
    """Return a command line as it is typed."""
    return shlex.join(["reviewgraph", *words])


def conference_of(roles: Mapping[str, Sequence[str]], columns: Mapping[str, str], values: Mapping[str, str]) -> str:
    """Return the choices as a conference file: files by role, columns by ``FILE:ROLE``, and fields with a value."""
    sections: dict[str, dict[str, Any]] = {}
    if columns:
        sections[COLUMNS] = dict(columns)
    for step in STEPS.values():
        chosen: dict[str, Any] = {role: files_of(roles[role]) for role in step.roles if roles.get(role)}
        chosen |= {field.key: field.typed(value) for field, value in step.filled(values) if field.key != "explain"}
        for key, value in chosen.items():
            option = step.options[key]
            group = option.group if isinstance(option, Option) else "Input"
            sections.setdefault(step.command if group in OWN else group.lower(), {})[key] = value
    order = ["input", COLUMNS, "rules", "preferences", "level", "selection"]
    names = sorted(sections, key=lambda name: (order.index(name) if name in order else len(order), name))
    return "\n".join(
        f"[{name}]\n" + "".join(f"{_key(key)} = {_toml(value)}\n" for key, value in sections[name].items())
        for name in names
    )


def files_of(files: Sequence[str]) -> Any:
    """Return files as the conference file has them: one, or a list."""
    return files[0] if len(files) == 1 else list(files)


def _toml(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _key(key: str) -> str:
    return key if key.replace("-", "").replace("_", "").isalnum() and key.isascii() else _toml(key)
