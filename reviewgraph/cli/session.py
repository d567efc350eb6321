"""The running command as one object: its options, the files it has read, what it prints, and the next command."""

from __future__ import annotations

import csv
import functools
import os
import re
import shlex
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from reviewgraph._base.errors import InputError
from reviewgraph._base.storing import csv_text, unguarded, write_whole
from reviewgraph.cli.output import (
    Refusal,
    expect_writable,
    note,
    notes_of,
    print_json,
    refusing,
    same_file,
    say,
    say_notes,
    show_lines,
    wants_colour,
)

if TYPE_CHECKING:
    from reviewgraph._base.page import Page
    from reviewgraph._base.storing import FileRead
    from reviewgraph.formats.spellings import Spellings
    from reviewgraph.report.codes import Codes
    from reviewgraph.table.reviews import Reviews

F = TypeVar("F", bound=Callable[..., Any])
R = TypeVar("R")

#: What checks the answer of a report, as ``"module:name"``: the module imports that of options, which imports this one.
CHECKER = "reviewgraph.cli.verify:checked"

#: Parameters for reading REVIEWS.
TABLE = ("paths", "columns", "score", "format", "items", "scale", "lower_is_better", "duplicates", "merge", "accept")


class Session:
    """The running command: the options it was given, and the files it has read.

    ``columns`` has the names of columns by role, and ``whole_help`` is whether help shows all options.
    """

    def __init__(self) -> None:
        self.columns: dict[str, str] = {}
        self.whole_help = False
        self._read: dict[FileRead, None] = {}

    @classmethod
    def of(cls, context: click.Context | None = None) -> Session:
        """Return the session of a context, by default of the running command."""
        session: Session = (context or click.get_current_context()).meta.setdefault("reviewgraph.session", cls())
        return session

    # Options.

    @property
    def params(self) -> dict[str, Any]:
        return click.get_current_context().params

    def is_typed(self, name: str) -> bool:
        return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE

    # Files.

    @property
    def table_columns(self) -> dict[str, str]:
        """The names of columns by role with that of the score."""
        from reviewgraph.formats.columns import choose_score

        return choose_score(self.columns, self.params.get("score"))

    @functools.cached_property
    def spellings(self) -> Spellings:
        """The spellings of labels in all files, and the rule of ``--merge`` for similar ones."""
        from reviewgraph.formats.spellings import BY_OPTION, Spellings

        return Spellings(ask=BY_OPTION)

    def expect_report_named(self) -> None:
        """Refuse codes without a report, and a key that cannot be written."""
        if self.params.get("anonymous"):
            if (report := self.params["html"]) is None:
                message = "--anonymous: expected --html FILE with it, found none; only reports have codes for names"
                raise Refusal(message)
            expect_writable(key_path(report))

    def keep(self, file: FileRead) -> None:
        self._read[file] = None

    @property
    def files(self) -> list[FileRead]:
        """The files that were read, in order, each once."""
        return [*self._read]

    @property
    def system(self) -> str | None:
        """The conference system of the files, the first that was detected."""
        return next((file.system for file in self.files if file.system), None)

    def unread(self, stem: str, suffix: str) -> str:
        """Return a name for a file to be written that no file has which was read."""
        read = {file.file for file in self.files}
        names = (f"{stem}{number or ''}{suffix}" for number in (0, *range(2, len(read) + 3)))
        return next(name for name in names if not any(same_file(name, file) for file in read))

    def plan_file(self) -> str:
        """Return a name for the file of a plan: what the system of the files reads, or a table."""
        from reviewgraph.formats import takers

        system = takers().get(self.system or "")
        return self.unread("plan", ".csv") if system is None else self.unread("upload", system.suffix)

    def is_export(self, path: str) -> bool:
        """Whether a file that was read is the export of a conference system."""
        return any(file.system and file.file.partition("#")[0] == path.partition("#")[0] for file in self.files)

    def read(self, name: str, path: str | None = None) -> Any:
        """Return the content of the file of an option, or of another one; None without a file. Notes go to stderr."""
        if path is None and not (path := self.params[name]):
            return None
        return _reader_of(name)(path, columns=self.table_columns, note=note, read=self.keep, merge=self.spellings)

    def could_read(self, name: str, path: str) -> bool:
        """Return whether a file can be read as that of another option; nothing is noted or kept."""
        try:
            _reader_of(name)(path, columns=self.table_columns, merge=self.spellings)
        except InputError:
            return False
        return True

    def read_given(self, *names: str) -> dict[str, Any]:
        """Return the contents of the files of these options, those that were given, by name."""
        return {name: self.read(name) for name in names if self.params[name]}

    def read_reviews(self, *paths: str, items: str | None = None) -> Reviews:
        """Read tables as the options say how REVIEWS are written."""
        from reviewgraph.io.reading import read_reviews

        options = {name: self.params[name] for name in ("format", "scale", "lower_is_better", "duplicates", "accept")}
        options |= {"columns": self.table_columns, "merge": self.spellings}
        reviews: Reviews = read_reviews(*paths, items=items, note=note, read=self.keep, **options)
        return reviews

    def expect_columns_used(self) -> None:
        """Refuse a name of ``--columns`` that is in none of the files; to be called after reading all."""
        from reviewgraph.formats.columns import named
        from reviewgraph.formats.files import quote

        for role, name in self.columns.items():
            if name.strip() and not any(named(file.header, name.strip()) for file in self.files):
                raise Refusal(f"--columns {role}={name}: no file that was read has a column {quote(name)}")

    # The next command.

    def words(self, *names: str) -> str:
        """Return parameters with their values for the shell, without defaults."""

        def is_needed(parameter: click.Parameter, name: str) -> bool:
            value = self.params[name]
            return name in names and value and value != parameter.default

        return shlex.join(self._worded(is_needed))

    def table(self, reviews: Reviews | None = None) -> str:
        """Return REVIEWS and its options for the shell, as :meth:`words` does.

        If ``reviews`` cannot contain all papers, the download that lists them is added.
        """
        unlisted = reviews.origin.unlisted if reviews is not None else None
        lists = shlex.join(["--items", unlisted.beside]) if unlisted else ""
        return " ".join(filter(None, (self.words(*TABLE), lists)))

    def again(self, left_out: Collection[str] = ()) -> str:
        """Return the typed options of the running command for the shell, without those ``left_out``, by name."""

        def is_repeated(parameter: click.Parameter, name: str) -> bool:
            return isinstance(parameter, click.Option) and name not in left_out and self.is_typed(name)

        return shlex.join(self._worded(is_repeated))

    def _worded(self, chosen: Callable[[click.Parameter, str], bool]) -> list[str]:
        """Return the chosen parameters with their values as words of a command line."""
        named = ((parameter, parameter.name or "") for parameter in click.get_current_context().command.params)
        return [
            word
            for parameter, name in named
            if name in self.params and chosen(parameter, name)
            for word in _as_words(parameter, self.params[name])
        ]

    # What the command prints and writes.

    def answer(
        self,
        result: R,
        reviews: Reviews | None,
        compose: Callable[[R, Codes | None], Page],
        content: Callable[[], Mapping[str, Any]] | None = None,
        *,
        holds: bool = True,
    ) -> None:
        """Tell a result: write the report, and print the page, or with ``--json`` one object.

        ``compose`` makes the page of a result, and of one under codes; ``reviews`` has all its labels; ``content`` is
        the object, by default that of the result. The command ends with status 1 unless the result holds.
        """
        from reviewgraph._base.page import Fact

        content = content or result.to_dict  # type: ignore[attr-defined]
        written: list[Fact] = []
        if self.params.get("html") and reviews is not None:
            self._report(result, reviews, compose, content)
            written.append(Fact("Written", f"{self.params['html']}: report"))
        if self.params["as_json"]:
            self.print_result(content())
        else:
            page = compose(result, None)
            self.show(replace(page, uploads=[*page.uploads, *written]))
        if not holds:
            click.get_current_context().exit(1)

    def show(self, page: Page) -> None:
        """Print a page, with the details that were asked for."""
        colour = wants_colour(self.params.get("color") or "auto")
        if self.params.get("quiet"):
            show_lines(replace(page, facts=(), warnings=(), uploads=(), following=()).text(colour=colour))
            return
        page = self._with_files(page)
        names = [section.name for section in page.sections]
        asked = (self.params.get("verbose") or "").split(",")
        # Some pages lack a section that others of the command have.
        detail = ",".join(name for name in asked if name in (*names, "all"))
        if {"all", "notes"} & set(asked):
            notes_of().most = 0
        say_notes()
        show_lines(page.text(detail, colour=colour))

    def _with_files(self, page: Page, coded: Mapping[str, str] | None = None) -> Page:
        """Return a page with sections on the files that were read, and the notes on them; under codes without notes."""
        from reviewgraph._base.page import Listed, Prose, Section
        from reviewgraph._base.storing import line_of

        files = self.files
        notes = list(notes_of().all)
        if coded is not None:
            files = [replace(file, file=coded[file.file], sheets=()) for file in files]
            notes = []
        own = [
            Section("notes", "Notes on the files", lambda: [Listed("While reading:", notes)] if notes else []),
            Section("files", "Files", lambda: [Prose([line_of(files)])] if files else []),
        ]
        return replace(page, sections=[*page.sections, *own])

    def print_result(self, content: Mapping[str, Any]) -> None:
        """Print a result as one JSON object, with all files that were read under ``files``."""
        from reviewgraph._base.storing import record_of

        print_json({**content, **record_of(self.files)})

    def _report(
        self,
        result: R,
        reviews: Reviews,
        compose: Callable[[R, Codes | None], Page],
        content: Callable[[], Mapping[str, Any]],
    ) -> None:
        """Write the report, with what independent code finds of the answer; with ``--anonymous`` under codes."""
        path = self.params["html"]
        load_igraph()
        if not self.params["anonymous"]:
            page = compose(result, None)
            checked = resolve_name(CHECKER)(self, page, content(), reviews.n_reviews)
            write_whole(path, self._with_files(checked).html())
            return
        from reviewgraph.report.codes import Codes

        key = key_path(path)
        codes = Codes(reviews.reviewers, reviews.items, read_key(key), reviews.criteria)
        page = compose(codes.applied(result), codes)
        write_whole(key, csv_text(codes.key(reviews.titles)), private=True)
        say(f"{key}: the key to the codes; keep it private")
        # Folders and files may name people: they become numbers, and commands and uploads, which name them, are left
        # out.
        names = dict.fromkeys(file.file for file in self.files)
        number = {name: f"file {place}" for place, name in enumerate(names, 1)}
        named = re.compile(rf"(?<![\w./-])(?:{'|'.join(map(re.escape, names))})(?![\w-])")
        warnings = [named.sub(lambda name: number[name[0]], text) for text in page.warnings]
        page = replace(page, warnings=warnings, uploads=(), following=(), subject="")
        write_whole(path, self._with_files(page, number).html())


def pass_session(command: F) -> F:
    """Call a command with its session as the first argument; bad input ends it with one message and status 2."""

    @functools.wraps(command)
    def with_session(*args: Any, **options: Any) -> Any:
        session = Session.of()
        session.expect_report_named()
        if session.params.get("quiet"):
            notes_of().most = 0
        # With --json there is no page that has all notes.
        if session.params.get("as_json") and session.params.get("verbose"):
            notes_of().most = None
        return command(session, *args, **options)

    return refusing(with_session)  # type: ignore[return-value]


def _as_words(parameter: click.Parameter, value: Any) -> list[str]:
    """Return a parameter with its value as words of a command line."""
    if isinstance(parameter, click.Argument):
        return [*value]
    flag = parameter.opts[-1]
    if isinstance(value, dict):
        return [flag, ",".join(f"{role}={name}" for role, name in value.items())]
    if isinstance(parameter, click.Option) and parameter.is_flag:
        return [flag if value or not parameter.secondary_opts else parameter.secondary_opts[-1]]
    return [word for entry in (value if parameter.multiple else [value]) for word in (flag, _as_typed(entry))]


def _as_typed(value: Any) -> str:
    """Return a value as it was typed: 60, not 60.0, and several separated by commas."""
    if isinstance(value, tuple | list):
        return ",".join(map(_as_typed, value))
    return str(value).removesuffix(".0") if isinstance(value, float) else str(value)


def _reader_of(name: str) -> Callable[..., Any]:
    """Return the function that reads the file of an option; most are called after it."""
    from reviewgraph.formats import side
    from reviewgraph.io.reading import read_reviews
    from reviewgraph.io.sides import Gone

    others: dict[str, Callable[..., Any]] = {
        "fixed": side.read_assigned,
        "gone": lambda *path, **options: Gone(*side.read_gone(*path, **options)),
        "like": read_reviews,
        # A review of a first phase that was revised counts once.
        "phase_one": functools.partial(read_reviews, duplicates="last"),
        "previous": side.read_assigned,
    }
    return others.get(name) or getattr(side, f"read_{name}")


# The key to the codes of an anonymous report, and what its pictures import.

#: The columns of a key.
COLUMNS = ("kind", "code", "label", "title")


def key_path(report: str) -> str:
    return f"{report}.key.csv"


def read_key(path: str) -> Mapping[tuple[str, str], str]:
    """Return the codes of an existing key, so that the reports of a conference agree."""
    if not os.path.exists(path):
        return {}
    why = "found none"
    try:
        with open(path, encoding="utf-8", newline="") as file:
            header, *rows = csv.reader(file)
        # Labels that begin like a formula have an apostrophe in the file.
        codes = {(kind, unguarded(label)): code for kind, code, label, _ in rows}
        if tuple(header) == COLUMNS and all(re.fullmatch("[RP][0-9]+", code) for code in codes.values()):
            return codes
    except (ValueError, csv.Error):
        pass
    except OSError as error:
        why = f"which cannot be read ({error.strerror or error})"
    # A file with other content is not overwritten.
    raise InputError(f"{path}: expected a key with the columns {', '.join(COLUMNS)}, {why}; move the file away")


def load_igraph() -> None:
    """Import igraph without Matplotlib, which maps do not use, and whose import takes longer than a check."""
    if not {"igraph", "matplotlib"} & set(sys.modules):
        sys.modules["matplotlib"] = None  # type: ignore[assignment]
        try:
            import igraph  # noqa: F401
        finally:
            del sys.modules["matplotlib"]
