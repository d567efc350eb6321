"""The steps of the page: which command each runs, and its fields, all of them options of the command.

Hints, choices and sections are those that the commands declare, so that page, help and conference file agree.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import click

from reviewgraph._base.errors import InputError
from reviewgraph.cli.command import COLUMNS, main

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


@dataclass(frozen=True)
class Field:
    """An option of a command as a field of a form; it counts only where the field ``needs`` has a value."""

    key: str
    label: str
    needs: str = ""
    slider: tuple[str, str, str, str] | None = None
    said: str = ""  #: The hint, where the help of the option is no help on a page.

    def parameter(self, command: str) -> click.Option | None:
        """Return the option of a command, if it has one."""
        of_step = command_of(command)
        return next(
            (
                parameter
                for parameter in of_step.params
                if isinstance(parameter, click.Option) and f"--{self.key}" in parameter.opts
            ),
            None,
        )

    def hint(self, command: str) -> str:
        """Return the help of the option in the words of the page, without the choices that the field lists."""
        parameter = self.parameter(command)
        text = (parameter.help or "" if parameter else "").removeprefix("Exit with status 1 if this level is missed. ")
        return on_page(self.said or text.split("  [")[0], STEPS[command])

    def choices(self, command: str) -> Sequence[str]:
        """Return the words that the option takes; empty where it takes any."""
        if self.key == "format":
            from reviewgraph.formats.systems.known import sources

            return sources()
        parameter = self.parameter(command)
        words = [*parameter.type.choices] if parameter and isinstance(parameter.type, click.Choice) else []
        # Every step has a table for Excel; commands that write no other file for people have no word for it.
        return [*words, *({EXCEL} - set(words))] if self.key == "to" else words

    def spelling(self, word: str) -> str:
        """Return a choice as the page shows it: systems have names of their own."""
        return title_of(word) if self.key in ("to", "format") else word

    def is_flag(self, command: str) -> bool:
        """Whether the option takes no value."""
        parameter = self.parameter(command)
        return parameter is not None and parameter.is_flag


#: The word of ``--to`` for a table.
EXCEL = "csv"
#: What to do about a file with several tables.
INSIDE = 'select one under "Table inside", or drop in files with one table each'
#: A slider: minimum, maximum, step, and what follows its number in the field.
_PERCENT = ("1", "60", "1", "%")
_RATE = ("0.01", "0.45", "0.01", "")
#: How the tables are written; for all commands.
TABLE = (
    Field(
        *("format", "System that the reviews are from", "", None),
        "Usually found by the content of the files. A gradebook with a column of scores for each grader has to be "
        "selected here.",
    ),
    Field("score", "Score that counts, if there are several"),
    Field("scale", "Grades, best first"),
    Field("lower-is-better", "1 is the best score"),
    Field("duplicates", "Two scores of a reviewer for a paper"),
    Field(
        *("merge", "Labels that differ only in letter case, blanks or leading zeros", "", None),
        "all: they are one reviewer or one paper; none: they are different ones.",
    ),
    Field(
        *("accept", "Findings about the reviews that are right as they are", "", None),
        "The names that messages give, with commas between them, such as placeholders.",
    ),
)


_FILE_FOR = Field("to", "File for", "", None, "The system that it is uploaded to, or a table.")


@dataclass(frozen=True)
class Step:
    """A command as a page: its files by role, and its fields, the first ``everyday`` of them always visible."""

    command: str
    title: str
    action: str
    words: str
    roles: Sequence[str]
    fields: Sequence[Field]
    everyday: int
    writes: str = ""
    updates: bool = False  #: Whether its sliders run the command again; it is quick, and nothing is sent to anybody.

    @property
    def has_reviews(self) -> bool:
        """Whether the command reads REVIEWS."""
        return "reviews" in self.roles

    def opens(self, values: Mapping[str, str], field: str) -> bool:
        """Return whether one of the further fields has a value, or is the one that a message is about."""
        return any(values.get(further.key) or further.key == field for further in self.fields[self.everyday :])

    def counts(self, field: Field, values: Mapping[str, str]) -> bool:
        """Return whether a field has a value, and what it needs has one."""
        return bool(values.get(field.key)) and (not field.needs or bool(values.get(field.needs)))


STEPS = {
    step.command: step
    for step in (
        Step(
            "check",
            "Check",
            "Check the reviews",
            "Can all papers be compared, and what is missing? Scores are not needed.",
            ("reviews", "items", "conflicts", "reviewers", "gone"),
            (
                Field("require", "Level that is required"),
                Field("select", "Papers to be selected", "", _PERCENT),
                Field("load", "Maximum reviews per reviewer"),
                Field("demand", "Minimum reviews per paper"),
                Field(
                    *("missing", "Probability that a review fails to arrive", "", None),
                    "The probability that each level holds, if each review fails to arrive with this probability.",
                ),
            ),
            2,
            updates=True,
        ),
        Step(
            "plan",
            "Plan",
            "Plan extra reviews",
            "The fewest extra reviews that make all papers comparable, or the most useful ones for the decision.",
            (
                "reviews",
                "items",
                "conflicts",
                "reviewers",
                "affinity",
                "bids",
                "capacity",
                "willing",
                "gone",
                "fixed",
                "cost",
                "after",
            ),
            (
                Field("target", "Level to reach"),
                Field("for", "Objective"),
                Field("spare", "Maximum extra reviews per reviewer"),
                Field("min-reviews", "Minimum reviews per paper"),
                Field("max-reviews", "Maximum extra reviews in total"),
                _FILE_FOR,
                Field("select", "Papers to be selected", "for", _PERCENT),
                Field("rounds", "Number of rounds", "for"),
                Field("worth", "Least gain of a review, in wrong selections", "for"),
                Field("max-per-item", "Maximum extra reviews per paper"),
                Field("label", "Label of edges (OpenReview), or review round (HotCRP)"),
                Field("invitation", "Invitation of the edges (OpenReview)"),
                Field("time-limit", "Time limit in seconds"),
                Field("best-effort", "The closest plan, if there is none"),
            ),
            6,
            "plan",
        ),
        Step(
            "calibrate",
            "Calibrate",
            "Calibrate the scores",
            "Qualities on one scale, and the lists: in, to discuss, out.",
            ("reviews", "items", "references"),
            (
                Field("select", "Papers to be selected", "", _PERCENT),
                Field("error-rate", "Error rate of the lists", "select", _RATE),
                Field(
                    *("explain", "Paper to explain", "", None),
                    "Its scores and their contributions to its quality, with the names of the reviewers.",
                ),
                Field("to", "File for", "", None, "For HotCRP, tags of qualities and lists that only chairs see."),
                Field("method", "Method"),
                Field("by-group-average", "Select across groups that no review connects"),
                Field("lottery", "Lottery among papers that cannot be distinguished", "select"),
                Field("seed", "Seed of the lottery", "lottery"),
            ),
            4,
            "calibrated",
            updates=True,
        ),
        Step(
            "assign",
            "Assign",
            "Assign reviewers",
            "A first assignment: it needs a list of all papers and a list of all reviewers.",
            ("items", "reviewers", "conflicts", "affinity", "bids", "authors", "fixed"),
            (
                Field("demand", "Reviews per paper"),
                Field("load", "Maximum reviews per reviewer"),
                _FILE_FOR,
                Field("target", "Level to reach"),
                Field("label", "Label of edges (OpenReview), or review round (HotCRP)"),
                Field("invitation", "Invitation of the edges (OpenReview)"),
                Field("best-effort", "The closest assignment, if there is none"),
            ),
            3,
            "assignment",
        ),
    )
}


def lists_reviewers(path: Path) -> bool:
    """Return whether a file of bids can serve as the list of reviewers, as HotCRP's preferences do."""
    from reviewgraph.formats.side import read_roster

    with suppress(InputError):
        return bool(read_roster(path).reviewers)
    return False


@cache
def command_of(name: str) -> click.Command:
    """Return a command of the command line."""
    command = main.get_command(click.Context(main), name)
    if command is None:
        message = f"there is no command {name}"
        raise LookupError(message)
    return command


def takers_of(command: str) -> list[str]:
    """Return the systems that the files of a command may be for."""
    parameter = Field("to", "").parameter(command)
    return [*parameter.type.choices] if parameter and isinstance(parameter.type, click.Choice) else []


def title_of(system: str) -> str:
    """Return the name of a system as it writes it itself.

    >>> title_of("hotcrp"), title_of(EXCEL), title_of("table")
    ('HotCRP', 'Excel', 'a table')
    """
    from reviewgraph.formats.systems.known import SYSTEMS

    return SYSTEMS[system].title if system in SYSTEMS else f"a {system}"


def file_of(step: Step, system: str) -> str:
    """Return the name of a file for a system, without what all results begin with; of people, Excel opens it.

    >>> file_of(STEPS["plan"], "openreview"), file_of(STEPS["plan"], EXCEL)
    ('plan-openreview.json', 'plan.xlsx')
    """
    from reviewgraph.formats.systems.known import SYSTEMS

    suffix = ".xlsx" if SYSTEMS[system].is_table else SYSTEMS[system].suffix
    return f"{step.writes}{suffix}" if system == EXCEL else f"{step.writes}-{system}{suffix}"


def on_page(text: str, step: Step) -> str:
    """Return a text of the command in the words of the page: fields and kinds of files for options.

    >>> on_page("With --for decision, not in --capacity FILE.", STEPS["plan"])
    'With "Objective" decision, not in a file used as "Maximum extra reviews by reviewer".'
    >>> on_page("say which one it is with --columns reviewer=NAME", STEPS["check"])
    'say which one it is under "Columns" of the file'
    >>> on_page("select: no review connects the papers; --by-group-average (in Python x=True)", STEPS["calibrate"])
    'Papers to be selected: no review connects the papers; "Select across groups that no review connects"'
    """
    text = re.sub(r" \(in Python [^)]*\)", "", text)
    text = re.sub(r"(?:name the one that holds the table, as in|say which one, for example) \S+#.*", INSIDE, text)
    text = re.sub(r"\b([Ff]or) (hotcrp|openreview):", lambda match: f"{match[1]} {title_of(match[2])}:", text)
    text = re.sub(r"(?:with )?--columns \"?[^\s\"]+\"?", 'under "Columns" of the file', text)
    fields = {
        field.key: field.label
        for field in (*(any_field for any_step in STEPS.values() for any_field in any_step.fields), *TABLE)
    }
    fields |= {field.key: field.label for field in step.fields}

    def said(match: re.Match[str]) -> str:
        key = match[1]
        if key in ROLES:
            return f'a file used as "{ROLES[key]}"'
        value = f": {match[2]}" if match[2] else ""
        return f'"{fields[key]}"{value}' if key in fields else match[0]

    text = re.sub(r"--([a-z][a-z-]*[a-z])(?: (?:(?:FILE|NAME|N|P)\b|\"([^\"]*)\"))?", said, text)
    key, colon, rest = text.partition(": ")
    return f"{fields[key]}{colon}{rest}" if key in fields else text


def options_of(step: Step, values: Mapping[str, str]) -> list[str]:
    """Return the options of a step that have a value, as words of the command line.

    >>> options_of(STEPS["plan"], {"spare": "1", "select": "10%", "score": "Overall"})
    ['--score', 'Overall', '--spare', '1']
    """
    words: list[str] = []
    for field in (*(TABLE if step.has_reviews else ()), *step.fields):
        if field.parameter(step.command) is not None and step.counts(field, values):
            words += [f"--{field.key}"] if field.is_flag(step.command) else [f"--{field.key}", values[field.key]]
    return words


def field_of(message: str, step: Step) -> str:
    """Return the field that a message of the command is about, or nothing.

    >>> field_of("Invalid value for '--spare': -3 is not in the range x>=0.", STEPS["plan"])
    'spare'
    """
    keys = [field.key for field in (*TABLE, *step.fields)]
    places = {key: place for key in keys if (place := f"{message} ".replace("'", " ").find(f"--{key} ")) >= 0}
    return min(places, key=places.__getitem__, default="")


def shown(words: Iterable[str]) -> str:
    """Return a command line as it is typed.

    >>> shown(["check", "my scores.csv"])
    "reviewgraph check 'my scores.csv'"
    """
    return shlex.join(["reviewgraph", *words])


def conference_of(
    roles: Mapping[str, Sequence[str]],
    columns: Mapping[str, str],
    values: Mapping[str, str],
    own: Mapping[str, Mapping[str, str]],
) -> str:
    """Return the choices as a conference file: files by role, columns by ``FILE:ROLE``, and fields with a value.

    ``own`` has further files by command and role.
    """
    sections: dict[str, dict[str, Any]] = {}
    if columns:
        sections[COLUMNS] = dict(columns)
    for step in STEPS.values():
        homes = command_of(step.command).sections()  # type: ignore[attr-defined]
        chosen: dict[str, Any] = {role: roles[role] for role in step.roles if roles.get(role)}
        fields = {field.key: field for field in (*(TABLE if step.has_reviews else ()), *step.fields)}
        chosen |= {key: values[key] for key, field in fields.items() if step.counts(field, values) and key != "explain"}
        for key, value in chosen.items():
            home = next((name for name, keys in homes.items() if key in keys), None)
            if home is not None:
                sections.setdefault(home, {})[key] = _typed(homes[home][key], value)
    for command, files in own.items():
        sections.setdefault(command, {}).update(files)
    order = ["input", COLUMNS, "rules", "preferences", "level", "selection"]
    names = sorted(sections, key=lambda name: (order.index(name) if name in order else len(order), name))
    return "\n".join(
        f"[{name}]\n" + "".join(f"{_key(key)} = {_toml(value)}\n" for key, value in sections[name].items())
        for name in names
    )


def _typed(parameter: click.Parameter, value: Any) -> Any:
    """Return a value as the conference file has it: a number where the option takes one."""
    if isinstance(parameter, click.Option) and parameter.is_flag:
        return True
    if isinstance(value, str):
        kinds: list[type] = [int] if isinstance(parameter.type, click.IntRange) else []
        kinds += [int, float] if isinstance(parameter.type, click.FloatRange) else []
        for kind in kinds:
            try:
                return kind(value)
            except ValueError:
                continue
        return value
    return value[0] if len(value) == 1 else list(value)


def _toml(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _key(key: str) -> str:
    return key if key.replace("-", "").replace("_", "").isalnum() and key.isascii() else _toml(key)
