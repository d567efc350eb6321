"""Reports as HTML: documents of sections with figures, pictures, lists and tables, everything inlined, nothing loaded.

Tables are sorted, filtered and searched by a small script in the browser; :class:`Codes` replace names in reports
that are passed on.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeAlias, TypeVar

from reviewgraph._base.labels import Shuffled
from reviewgraph._base.results import Plot
from reviewgraph._version import __version__
from reviewgraph.report.pictures import NARROW, WIDE, Bar, bars, written_out
from reviewgraph.table.reviews import Reviews

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jinja2 import Template

    from reviewgraph._base.labels import Label
    from reviewgraph.report.pictures import Drawing


@dataclass(frozen=True, repr=False)
class Picture(Plot):
    """A picture, drawn once for phones and once for screens and paper.

    ``name`` is unique on the page; ``words`` are the caption and the description for readers who do not see it;
    ``draw`` takes a width in pixels; ``instead`` is the sentence that replaces a picture without information.
    """

    name: str
    title: str
    words: str
    draw: Callable[[int], Drawing]
    instead: str = ""

    @property
    def template(self) -> str:
        """A picture, or a paragraph."""
        return "prose" if self.instead else "picture"

    @property
    def paragraphs(self) -> Sequence[str]:
        """The sentence in its place."""
        return [self.instead]

    @property
    def narrow(self) -> str:
        """SVG for a phone."""
        return self.draw(NARROW).markup(f"{self.name}-narrow", self.title, self.words)

    @property
    def wide(self) -> str:
        """SVG for a screen or paper."""
        return self.draw(WIDE).markup(f"{self.name}-wide", self.title, self.words)

    @property
    def svg(self) -> str:
        """SVG for a notebook or a file of its own."""
        return self.draw(WIDE).alone(self.name, self.title, self.words, written_out(_asset("pictures.css")))


@dataclass(frozen=True)
class Prose:
    """Paragraphs."""

    paragraphs: Sequence[str]
    template: ClassVar[str] = "prose"


#: Lines up to which a list has one column, and characters up to which lines are short.
MANY = 6
SHORT = 16


@dataclass(frozen=True)
class Listed:
    """Short lines, the most important first, below an opening line; those beyond ``shown`` are folded."""

    opening: str
    lines: Sequence[str]
    shown: int | None = None
    template: ClassVar[str] = "listed"

    @property
    def folded(self) -> Sequence[str]:
        """The folded lines."""
        return [] if self.shown is None else self.lines[self.shown :]

    @property
    def seen(self) -> Sequence[str]:
        """The lines always visible."""
        return self.lines[: self.shown]

    def columns(self, lines: Sequence[str]) -> str:
        """Return the CSS class of lines: many are set in columns, short ones in more of them."""
        if len(lines) <= MANY:
            return ""
        return "many short" if max(map(len, self.lines)) <= SHORT else "many"


@dataclass(frozen=True)
class Printed:
    """Lines as the terminal shows them."""

    lines: Sequence[str]
    template: ClassVar[str] = "printed"


class Fold(NamedTuple):
    """Lines folded below a summary; links lead to ``name``."""

    name: str
    summary: str
    lines: Sequence[str]


@dataclass(frozen=True)
class Folded:
    """Folds, themselves folded, without a script; only open ones are printed."""

    opening: str
    folds: Sequence[Fold]
    template: ClassVar[str] = "folded"


Part: TypeAlias = "Picture | Prose | Listed | Printed | Folded | Table"


def pictures_among(sections: Iterable[Section]) -> list[Picture]:
    """Return the pictures of some sections, in their order."""
    return [part for section in sections for part in section.parts if isinstance(part, Picture)]


def parts_of(lines: Sequence[str]) -> list[Part]:
    """Return lines of a terminal as parts: paragraphs, and indented lines as the list of the line above them.

    An indented line below one that ends with a comma continues the sentence.

    >>> [part.template for part in parts_of(["Two are in:", "  p1", "  p2", "", "One is out.", "So be it."])]
    ['listed', 'prose']
    """
    parts: list[Part] = []
    paragraph: list[str] = []
    for line in lines:
        last = parts[-1] if parts and not paragraph else None
        if line.startswith("  ") and paragraph and paragraph[-1].endswith(","):
            paragraph[-1] = f"{paragraph[-1]} {line.strip()}"
        elif line.startswith("  ") and paragraph:
            *before, opening = paragraph
            parts += [Prose(before)] if before else []
            parts.append(Listed(opening, [line.strip()]))
            paragraph = []
        elif line.startswith("  ") and isinstance(last, Listed):
            parts[-1] = Listed(last.opening, [*last.lines, line.strip()])
        elif line.strip():
            paragraph.append(line.strip())
    return [*parts, Prose(paragraph)] if paragraph else parts


@dataclass(frozen=True)
class Section:
    """A heading with its parts; links lead to ``name``."""

    name: str
    heading: str
    parts: Sequence[Part]


@dataclass(frozen=True)
class Fact:
    """A number shown at the top, with what it counts and a note."""

    name: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Document:
    """A report.

    ``subject`` names the files, or nothing; ``good`` tells whether the verdict is what a chair hopes for, None where
    neither; ``headline`` is the verdict in a few words, ``verdict`` in one or two sentences, ``remarks`` come with it;
    ``closing`` is what the command adds: whether a required level is reached, and the next command; ``printed`` are the
    lines of the terminal; ``files`` describes what was read. Sections without parts are left out.
    """

    title: str
    subject: str
    good: bool | None
    headline: str
    verdict: str
    remarks: Sequence[str] = ()
    closing: Sequence[str] = ()
    facts: Sequence[Fact] = ()
    sections: Sequence[Section] = ()
    printed: Sequence[str] = ()
    files: str = ""

    @property
    def shown(self) -> list[Section]:
        """The sections that have parts; at the end the page of the terminal."""
        end = [Printed(self.printed)] if self.printed else []
        return [
            section for section in (*self.sections, Section("text", "As the terminal prints it", end)) if section.parts
        ]

    @property
    def acts(self) -> bool:
        """Whether the script has anything to do: live tables, or text that unfolds for printing."""
        parts = [part for section in self.shown for part in section.parts]
        return any(isinstance(part, Printed) or getattr(part, "live", getattr(part, "folded", False)) for part in parts)


def html(document: Document) -> str:
    """Return a document as HTML that loads nothing and runs nothing but its own script.

    >>> text = html(Document("Check", "<script>.csv", True, "Comparable", "All papers are comparable."))
    >>> text.startswith("<!doctype html>"), "&lt;script&gt;.csv" in text
    (True, True)
    """
    style = _asset("pictures.css") + _asset("style.css")
    script = _asset("script.js") if document.acts else ""
    return _template().render(
        document=document,
        version=__version__,
        style=style,
        script=script,
        style_hash=_hash(style),
        script_hash=_hash(script),
    )


@cache
def _template() -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("reviewgraph.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("document.html")


@cache
def _asset(name: str) -> str:
    return (files("reviewgraph.report") / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """Return the hash by which the content security policy admits the style sheet and the script."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def chart(name: str, title: str, words: str, rows: Sequence[Bar], unit: str) -> Picture:
    """Return a picture of bars, or a sentence where all have one length; ``unit`` is what their names count.

    >>> chart("loads", "Reviews per paper", "", [Bar("3", 40)], "reviews").instead
    'Reviews per paper: 3, for all 40.'
    >>> chart("loads", "Reviews per paper", "", [Bar("3", 7), Bar("4", 7)], "reviews").instead
    'Reviews per paper: 3 and 4, for 7 each.'
    """
    instead = ""
    if not rows:
        instead = f"{title}: none."
    elif len(rows) == 1:
        instead = f"{title}: {rows[0].name}, for all {rows[0].number:,}."
    elif len({bar.number for bar in rows}) < 2:
        *first_bars, last = rows
        instead = f"{title}: {', '.join(bar.name for bar in first_bars)} and {last.name}, for {last.number:,} each."
    return Picture(name, title, words, lambda width: bars(rows, width, unit), instead)


Kind: TypeAlias = Literal["text", "number", "choice"]

#: Rows shown at a time.
SHOWN = 25
#: Rows that are printed, where scripts may run.
PRINTED = 500


#: Further digits to which numbers are rounded first, so that halves are rounded alike on every machine.
FINER = 6


@dataclass(frozen=True)
class Column:
    """A column of cells: text, numbers (with ``digits`` after the point), or None.

    ``"text"`` is searched, ``"number"`` is filtered by minimum and maximum, ``"choice"`` is one of a few words.
    """

    name: str
    values: Sequence[Any]
    kind: Kind = "text"
    digits: int = 0

    def shown(self, value: Any) -> str:
        """Return a cell as text, as the script writes it."""
        if value is None or value == "":
            return "-"
        return f"{round(value, self.digits + FINER):,.{self.digits}f}" if self.kind == "number" else str(value)

    @property
    def cells(self) -> list[Any]:
        """The values, numbers rounded as shown, those that are not finite None."""
        if self.kind != "number":
            return [None if value is None else str(value) for value in self.values]
        finite = [None if value is None or not math.isfinite(value) else value for value in self.values]
        return [
            value if value is None else round(round(value, self.digits + FINER), self.digits) + 0 for value in finite
        ]


@dataclass(frozen=True)
class Table:
    """A table, whose first column names the rows, in their first order.

    ``name`` is unique on the page, ``noun`` the plural of what rows are, ``links`` are targets of the rows' names; with
    ``live`` readers can sort, filter and search.
    """

    name: str
    caption: str
    columns: Sequence[Column]
    noun: str = "rows"
    links: Sequence[str] = ()
    live: bool = True
    template: ClassVar[str] = "table"

    def __len__(self) -> int:
        return len(self.columns[0].values)

    @property
    def first_rows(self) -> list[list[str]]:
        """The rows visible without the script."""
        cells = [column.cells[: SHOWN if self.live else None] for column in self.columns]
        return [
            [column.shown(cell) for column, cell in zip(self.columns, row, strict=True)]
            for row in zip(*cells, strict=True)
        ]

    @property
    def data(self) -> str:
        """All data for the script, safe inside its element."""
        table = {
            "noun": self.noun,
            "shown": SHOWN,
            "printed": PRINTED,
            "links": list(self.links),
            "columns": [{"name": of.name, "kind": of.kind, "digits": of.digits} for of in self.columns],
            "cells": [column.cells for column in self.columns],
        }
        return safe_json(table)


def paper_columns(reviews: Reviews, papers: Iterable[int]) -> list[Column]:
    """Return the labels of papers, given by code, and their titles if there are any."""
    labels = [reviews.items[paper] for paper in papers]
    titles = [reviews.titles.get(label, "") for label in labels]
    return [Column("paper", labels), *([Column("title", titles)] if any(titles) else [])]


def safe_json(value: Any) -> str:
    r"""Return JSON that is safe inside a script element.

    >>> safe_json("</script>")
    '"\\u003c/script\\u003e"'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


Result = TypeVar("Result")


class Codes:
    """A random code for each reviewer and paper: codes in the order of names would reveal these.

    ``known`` are existing codes by ``"reviewer"`` or ``"paper"`` and label; they are kept. ``criteria`` are names of
    columns with further scores, which become numbers in their order.

    >>> codes = Codes(["ann"], ["p1", "p2"], {("paper", "p1"): "P2"})
    >>> codes.reviewer, codes.item
    ({'ann': 'R1'}, {'p1': 'P2', 'p2': 'P1'})
    """

    def __init__(
        self,
        reviewers: Iterable[Label],
        items: Iterable[Label],
        known: Mapping[tuple[str, str], str] | None = None,
        criteria: Iterable[str] = (),
    ) -> None:
        self.reviewer = _coded("R", "reviewer", reviewers, known or {})
        self.item = _coded("P", "paper", items, known or {})
        self.criterion = {name: f"criterion {number}" for number, name in enumerate(criteria, 1)}

    def table(self, reviews: Reviews) -> Reviews:
        """Return a table under codes, without titles, files and names of columns; indices stay."""
        return replace(
            reviews,
            reviewers=Shuffled(self.reviewer[label] for label in reviews.reviewers),
            items=Shuffled(self.item[label] for label in reviews.items),
            titles={},
            target=None if reviews.target is None else "score",
            criteria={self.criterion[name]: column for name, column in reviews.criteria.items()},
            origin=reviews.origin.coded(self.item),
        )

    def applied(self, result: Result) -> Result:
        """Return a result in which every table of reviews, and all that has names of columns, is under codes."""
        done: dict[int, Reviews] = {}

        def coded(value: Any) -> Any:
            if isinstance(value, Reviews):
                return done.setdefault(id(value), self.table(value))
            if hasattr(value, "with_names"):
                return value.with_names(self.criterion)
            if is_dataclass(value) and not isinstance(value, type):
                values = {entry.name: getattr(value, entry.name) for entry in fields(value) if entry.init}
                changed = {name: new for name, old in values.items() if (new := coded(old)) is not old}
                return replace(value, **changed) if changed else value
            return value

        return coded(result)  # type: ignore[no-any-return]

    def key(self, titles: Mapping[Label, str]) -> dict[str, list[Any]]:
        """Return the key by column: kind, code, label and title, in the order of the codes."""
        kinds = (("reviewer", self.reviewer), ("paper", self.item))
        rows = [
            (kind, code, label, titles.get(label, "") if kind == "paper" else "")
            for kind, codes in kinds
            for label, code in sorted(codes.items(), key=lambda entry: int(entry[1][1:]))
        ]
        return {name: [row[place] for row in rows] for place, name in enumerate(("kind", "code", "label", "title"))}


def _coded(letter: str, kind: str, labels: Iterable[Label], known: Mapping[tuple[str, str], str]) -> dict[Label, str]:
    all_labels = list(labels)
    kept = {label: known[kind, str(label)] for label in all_labels if (kind, str(label)) in known}
    taken = {code for (of, _), code in known.items() if of == kind}
    free = [code for number in range(1, len(all_labels) + len(taken) + 1) if (code := f"{letter}{number}") not in taken]
    new = [label for label in all_labels if label not in kept]
    codes = free[: len(new)]
    secrets.SystemRandom().shuffle(codes)
    return kept | dict(zip(new, codes, strict=True))
