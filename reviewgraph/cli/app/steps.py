"""The steps of the page: which command each runs, and its fields, the options that the command declares."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import click

from reviewgraph.cli.command import Option, main
from reviewgraph.formats import side, tables
from reviewgraph.formats.systems.known import SYSTEMS, sources


class FileRole(NamedTuple):
    """What a file may be: its name on the page, and the columns that it may have."""

    words: str
    columns: Sequence[str] = ()


#: What files may be, by the option that takes them.
ROLES = {
    "reviews": FileRole("Reviews, scores or assignments", ("reviewer", "item", "score", "title", "confidence")),
    "items": FileRole("List of all papers", ("item", "title", "demand")),
    "reviewers": FileRole("List of all reviewers, with loads", ("reviewer", "load")),
    "conflicts": FileRole("Conflicts", ("item", "reviewer", "conflict")),
    "affinity": FileRole("Affinities", ("item", "reviewer", "affinity")),
    "bids": FileRole("Bids or preferences", ("item", "reviewer", "bid")),
    "capacity": FileRole("Maximum extra reviews by reviewer", ("reviewer", "spare")),
    "willing": FileRole("Reviewers who may be invited", ("reviewer", "willing")),
    "gone": FileRole("Reviewers who will not deliver", ("reviewer", "item")),
    "fixed": FileRole("Extra reviews that are settled", ("item", "reviewer")),
    "cost": FileRole("Costs of pairs", ("item", "reviewer", "cost")),
    "authors": FileRole("Authors", ("item", "author")),
    "references": FileRole("Papers of known quality", ("item", "quality")),
}
#: The roles of files of a conference system whose readers call them otherwise.
KINDS = {"assignments": "reviews", "names": "reviews", "papers": "items", "affinities": "affinity"}
#: Roles that several files may have.
SEVERAL = ("reviews", "affinity", "bids")
#: Commands that take a file of another role for one that is missing, where its system says that it serves for both.
INSTEAD = {"items": ("assign",), "reviewers": ("assign",), "conflicts": ("plan", "assign")}
#: The roles of columns by name.
COLUMN_ROLES = {role.name: role for role in (*side.ROLES, side.AUTHOR, *tables.ROLES)}
#: What columns are called on the page, where not by their role.
COLUMN_WORDS = {"item": "paper", "bid": "preference", "spare": "maximum extra", "demand": "reviews needed"}
#: The word of ``--to`` for a table.
EXCEL = "csv"
#: Words of a hint, which ends with the first clause; what an option is for may stand before it.
HINT = 15
_CLAUSE = re.compile(r"((?:(?:With|For) [^:]*|\w+): )?.*?(?=[.;:](?:\s|$)|$)")
#: Options that are no fields: the page chooses columns by file, and what is written; it has no exit status.
NO_FIELDS = {"columns", "stream", "cluster", "html", "anonymous", "json", "output", "require"}
NO_FIELDS |= {"verbose", "quiet", "color"}
#: Options that name files, and nothing else.
_FILES = re.compile(r"FILE\b[^|]*|DIR")


@dataclass(frozen=True)
class Field:
    """An option of a command as a field of a form."""

    option: Option

    @property
    def key(self) -> str:
        return self.option.key

    @property
    def label(self) -> str:
        return self.key.replace("-", " ").capitalize()

    @property
    def hint(self) -> str:
        """The first words of the help of the option; the documentation has the rest."""
        clause = _CLAUSE.match(re.sub(r"\s*\[default: .*?\]", "", self.option.help or ""))
        words = clause[0].split() if clause else []
        return " ".join(words) if len(words) <= HINT else f"{' '.join(words[:HINT]).rstrip(',')} ..."

    @property
    def choices(self) -> Mapping[str, str]:
        """The words that the option takes, and how the page shows them; empty where it takes any."""
        words = [*self.option.type.choices] if isinstance(self.option.type, click.Choice) else []
        if self.key == "format":
            words = sources()
        elif self.key == "to":
            # Every step has a table for Excel; commands that write no other file for people have no word for it.
            words.append(EXCEL)
        return {word: title_of(word) if self.key in ("to", "format") else word for word in words}


@dataclass(frozen=True)
class Step:
    """A command as a page; ``writes`` is the stem of its file for people."""

    command: str
    action: str
    words: str
    writes: str = ""

    @cached_property
    def options(self) -> Mapping[str, click.Parameter]:
        command = main.get_command(click.Context(main), self.command)
        parameters = command.params if command else ()
        return {
            parameter.key if isinstance(parameter, Option) else "reviews": parameter
            for parameter in parameters
            if not getattr(parameter, "hidden", False)
        }

    @cached_property
    def roles(self) -> list[str]:
        return [role for role in ROLES if role in self.options]

    @cached_property
    def all_fields(self) -> list[Field]:
        """Its options but those that take files."""
        options = [option for option in self.options.values() if isinstance(option, Option)]
        options = [option for option in options if option.key not in {*NO_FIELDS, *ROLES}]
        return [Field(option) for option in options if not _FILES.fullmatch(option.metavar or "")]

    @cached_property
    def fields(self) -> list[Field]:
        """Its fields but those on how tables are written."""
        table = {field.key for field in table_fields()}
        return [field for field in self.all_fields if field.key not in table]

    @cached_property
    def takers(self) -> Sequence[str]:
        """The systems that its file may be for."""
        kind = self.options["to"].type if "to" in self.options else None
        return kind.choices if isinstance(kind, click.Choice) else ()

    def filled(self, values: Mapping[str, str]) -> list[tuple[Field, str]]:
        """Return the fields with a value that counts; a plan selects papers only for an objective."""
        fields = [*(table_fields() if "reviews" in self.roles else ()), *self.fields]
        unused = "select" if self.command == "plan" and not values.get("for") else ""
        return [(field, values[field.key]) for field in fields if values.get(field.key) and field.key != unused]


@cache
def table_fields() -> list[Field]:
    """Return how the tables are written, for all commands."""
    fields = STEPS["check"].all_fields
    return [field for field in fields if field.option.group == "Input"]


STEPS = {
    step.command: step
    for step in (
        Step("check", "Check the reviews", "Can all papers be compared, and what is missing? Scores are not needed."),
        Step(
            "plan",
            "Plan extra reviews",
            "The fewest extra reviews that make all papers comparable, or the most useful ones for the decision.",
            "plan",
        ),
        Step(
            "calibrate",
            "Calibrate the scores",
            "Qualities on one scale, and the lists: in, to discuss, out.",
            "calibrated",
        ),
        Step(
            "assign",
            "Assign reviewers",
            "A first assignment: it needs a list of all papers and a list of all reviewers.",
            "assignment",
        ),
    )
}


def title_of(system: str) -> str:
    """Return the name of a system as it writes it itself."""
    return SYSTEMS[system].title if system in SYSTEMS else f"a {system}"


def field_of(message: str, step: Step) -> str:
    """Return the field that a message of the command is about, or nothing.

    >>> field_of("Invalid value for '--spare': -3 is not in the range x>=0.", STEPS["plan"])
    'spare'
    """
    keys = [field.key for field in (*table_fields(), *step.fields)]
    places = {key: place for key in keys if (place := f"{message} ".replace("'", " ").find(f"--{key} ")) >= 0}
    return min(places, key=places.__getitem__, default="")
