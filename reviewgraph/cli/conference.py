"""``conference.toml``: options of all commands in one file, with the place of each for messages."""

from __future__ import annotations

import hashlib
import os
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from difflib import get_close_matches
from typing import Any, NamedTuple, NoReturn

import click

from reviewgraph.cli.numbers import Number
from reviewgraph.cli.refusal import Refusal
from reviewgraph.cli.targets import writable
from reviewgraph.provenance import FileRead

#: The file that a command finds in the current folder, and what names no file.
FOUND, NONE = "conference.toml", "none"
#: The section that names columns by role.
COLUMNS = "columns"
#: Metavars of options that take files; some take numbers or other words as well.
_FILES = re.compile(r"\b(FILE|DIR|REVIEWS)\b")

#: Parameters by key, by section.
Sections = Mapping[str, Mapping[str, click.Parameter]]


class Taken(NamedTuple):
    """A key that a command uses: where and how it is written, what the parameter gets, whether other commands do not.

    ``own`` says that it stands in the section of the command.
    """

    place: str
    key: str
    written: Any
    value: Any
    own: bool


@dataclass
class Conference:
    """A conference file, and what the running command takes from it.

    Parameters
    ----------
    path
        The file as it was named.
    text
        Its content.
    found
        Its sections, as TOML has them.
    taken
        What the command takes, by the name of the parameter.
    """

    path: str
    text: str
    found: Mapping[str, Any]
    taken: dict[str, Taken] = field(default_factory=dict)

    @property
    def file(self) -> FileRead:
        """The record of the file: its bytes and the options taken from it."""
        options = tuple((one.key, _shown(one.written)) for one in self.taken.values())
        digest = hashlib.sha256(self.text.encode("utf-8")).hexdigest()
        keys = sum(len(section) for section in self.found.values())
        return FileRead(self.path, rows=keys, sha256=digest, options=options)

    def is_within(self, sections: Sections) -> bool:
        """Whether there are no sections and keys but these."""
        return all(
            isinstance(keys, dict) and (name == COLUMNS or set(keys) <= set(sections.get(name, ())))
            for name, keys in self.found.items()
        )

    def expect_known(self, commands: Mapping[str, Sections]) -> None:
        """Refuse sections and keys of no command.

        Parameters
        ----------
        commands
            The sections of each command.
        """
        shared = {name for sections in commands.values() for name in sections} - set(commands) | {COLUMNS}
        for section, keys in self.found.items():
            if section not in {*shared, *commands} or not isinstance(keys, dict):
                known = [f"[{name}]" for name in (*sorted(shared), *commands)]
                found = f"the section [{section}]" if isinstance(keys, dict) else f"the key {section} outside sections"
                name = f"[{section}]" if isinstance(keys, dict) else section
                _refuse_unknown(self.place(section), known, found, _homes(section, commands), name)
            known = sorted({key for sections in commands.values() for key in sections.get(section, ())})
            for key in keys if section != COLUMNS else ():
                if key not in known:
                    _refuse_unknown(self.place(section, key), known, f"the key {key}", _homes(key, commands), key)

    def take(self, command: str, sections: Sections, columns: click.Parameter | None, typed: Collection[str]) -> None:
        """Take what a command knows and nobody typed; a section of the command's own comes before the others.

        Parameters
        ----------
        command
            Its name.
        sections
            Its parameters.
        columns
            The parameter that names columns, if it has one.
        typed
            Parameters that were typed.
        """
        names = self.found.get(COLUMNS)
        if columns is not None and names and columns.name not in typed:
            self.taken[columns.name or ""] = self._columns(names)
        for section in sorted(self.found, key=lambda name: name == command):
            for key, written in self.found[section].items() if section in sections else ():
                parameter = sections[section].get(key)
                if parameter is not None and parameter.name not in typed:
                    place = self.place(section, key)
                    value = self._value(parameter, written, place)
                    self.taken[parameter.name or ""] = Taken(place, key, written, value, section == command)

    def place(self, section: str, key: str = "") -> str:
        """Return where a section or a key stands, with its line where that is easily found."""
        here, name = "", rf"\s*[\"']?{re.escape(key or section)}[\"']?\s*"
        for number, line in enumerate(self.text.splitlines(), 1):
            heading = re.match(r"\s*\[\s*[\"']?([^\"'\]]+?)[\"']?\s*\]", line)
            here = heading[1] if heading else here
            found = heading and here == section if not key else here == section and re.match(rf"{name}=", line)
            if found or (not key and not here and re.match(rf"{name}[=.]", line)):
                return f"{self.path}, line {number}{f': [{section}] {key}' if key else ''}"
        return f"{self.path}{f': [{section}] {key}' if key else ''}"

    def _columns(self, names: Mapping[str, Any]) -> Taken:
        """Return ``ROLE=NAME`` for each role, that of one file with the path of this file."""
        words = []
        for role, name in names.items():
            if not isinstance(name, str):
                place = self.place(COLUMNS, role)
                message = f"{place}: expected the name of a column, a text; found {_said(name)}"
                raise Refusal(message)
            file, colon, of = role.rpartition(":")
            words.append(f"{self._from_here(file)}:{of}={name}" if colon else f"{role}={name}")
        return Taken(self.place(COLUMNS), COLUMNS, names, words, own=False)

    def _value(self, parameter: click.Parameter, written: Any, place: str) -> Any:
        """Return the value of a parameter, as its option would be typed."""
        if isinstance(parameter, click.Option) and parameter.is_flag:
            return _of_kind(written, bool, "true or false", place)
        if not (parameter.multiple or parameter.nargs == -1):
            return self._word(parameter, written, place)
        return [self._word(parameter, one, place) for one in (written if isinstance(written, list) else [written])]

    def _word(self, parameter: click.Parameter, written: Any, place: str) -> Any:
        if isinstance(parameter.type, click.IntRange):
            return _of_kind(written, int, "a whole number", place)
        if isinstance(parameter.type, Number):
            return _of_kind(written, (int, float), "a number", place)
        metavar = parameter.metavar or ""
        if not _FILES.search(metavar):
            word = written.isoformat() if isinstance(written, date) else written
            return str(_of_kind(word, (str, int, float), "a text or a number", place))
        others = metavar.split("|") if "|" in metavar else []
        if others and (isinstance(written, (int, float)) or written in others):
            return str(_of_kind(written, (str, int, float), metavar, place))
        path = self._from_here(_of_kind(written, str, "the name of a file, a text", place))
        # A file may be named with its weight, or with a part of it.
        names = (path, path.rpartition("=")[0], path.rpartition("#")[0])
        is_input = "DIR" not in metavar and parameter.callback is not writable
        if is_input and not any(name and os.path.exists(name) for name in names):
            what = "paths are relative to the conference file; correct it, or leave the key out"
            message = f"{place}: expected a file, found none of the name {path}; {what}"
            raise Refusal(message)
        return path

    def _from_here(self, path: str) -> str:
        """Return a path that is relative to this file as one relative to the current folder."""
        return os.path.join(os.path.dirname(self.path), path)


def read_conference(path: str) -> Conference:
    """Read a conference file.

    Raises
    ------
    Refusal
        If there is none, or it is no TOML.
    """
    try:
        with open(path, "rb") as file:
            text = file.read().decode("utf-8")
        return Conference(path, text, tomllib.loads(text))
    except OSError as error:
        message = f"--conference {path}: cannot be read ({error.strerror or error}); name another file, or {NONE}"
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        message = f"{path}: expected TOML, such as [rules] and below it load = 6; found otherwise: {error}"
    raise Refusal(message)


def found_here() -> str | None:
    """Return the conference file of the current folder, if there is one."""
    return FOUND if os.path.isfile(FOUND) else None


def _homes(key: str, commands: Mapping[str, Sections]) -> list[str]:
    """Return the sections in which a key may stand, those for one command alone only where there is no other."""
    homes = dict.fromkeys(name for sections in commands.values() for name, keys in sections.items() if key in keys)
    return [name for name in homes if name not in commands] or list(homes)


def _refuse_unknown(place: str, known: Collection[str], found: str, homes: Collection[str], name: str) -> NoReturn:
    """Refuse a section or a key, and say where it may stand or what may be meant."""
    if homes:
        message = f"{place}: expected {name} in {' or '.join(f'[{home}]' for home in homes)}; move it there"
    else:
        message = f"{place}: expected one of {', '.join(known)}; found {found}{near(name, known)}"
    raise Refusal(message)


def near(name: str, known: Iterable[str]) -> str:
    """Return the question whether a known name was meant, where one is near.

    >>> near("demnd", ["load", "demand"]), near("x", ["load"])
    ('; did you mean demand?', '')
    """
    close = get_close_matches(name, list(known), 1, 0.7)
    return f"; did you mean {close[0]}?" if close else ""


def _of_kind(value: Any, kinds: type | tuple[type, ...], words: str, place: str) -> Any:
    allowed = kinds if isinstance(kinds, tuple) else (kinds,)
    if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed):
        message = f"{place}: expected {words}, found {_said(value)}"
        raise Refusal(message)
    return value


def _said(value: Any) -> str:
    """Return a value of TOML with its kind."""
    if isinstance(value, bool):
        return "true" if value else "false"
    kinds: tuple[tuple[Any, str], ...] = ((str, "the text "), (list, "the list "), (dict, "the table "))
    return next((words for kind, words in kinds if isinstance(value, kind)), "") + repr(value)


def _shown(value: Any) -> str:
    """Return a value of TOML as an answer records it."""
    if isinstance(value, dict):
        return ", ".join(f"{key}={_shown(one)}" for key, one in value.items())
    if isinstance(value, list):
        return ", ".join(map(_shown, value))
    return ("true" if value else "false") if isinstance(value, bool) else str(value)
