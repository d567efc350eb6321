"""One document of sections: a verdict, figures, pictures, tables; everything inlined, nothing loaded."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeAlias, TypeVar

from reviewgraph._base.labels import Shuffled
from reviewgraph._base.results import Plot
from reviewgraph._version import __version__
from reviewgraph.report.pictures import Bar, bars
from reviewgraph.report.svg import NARROW, WIDE, written_out
from reviewgraph.table.reviews import Reviews

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jinja2 import Template

    from reviewgraph._base.labels import Label
    from reviewgraph.report.svg import Drawing


@dataclass(frozen=True, repr=False)
class Picture(Plot):
    """A picture, drawn once for a phone and once for a screen or paper.

    Parameters
    ----------
    name
        An identifier, unlike that of any other picture of the page.
    title
        What it is.
    words
        What it shows, for those who do not see it and as its caption.
    draw
        Draws it at a width in pixels.
    instead
        What a report says in its place, where there is nothing to see.
    """

    name: str
    title: str
    words: str
    draw: Callable[[int], Drawing]
    instead: str = ""
    template: ClassVar[str] = "picture"

    @property
    def narrow(self) -> str:
        """For a phone."""
        return self.draw(NARROW).markup(f"{self.name}-narrow", self.title, self.words)

    @property
    def wide(self) -> str:
        """For a screen or paper."""
        return self.draw(WIDE).markup(f"{self.name}-wide", self.title, self.words)

    @property
    def svg(self) -> str:
        """For a notebook or a file of its own."""
        return self.draw(WIDE).alone(self.name, self.title, self.words, _colours())


@dataclass(frozen=True)
class Prose:
    """Sentences, a paragraph each."""

    paragraphs: Sequence[str]
    template: ClassVar[str] = "prose"


#: Lines up to which a list is one column, and characters up to which lines are short.
MANY, SHORT = 6, 16


@dataclass(frozen=True)
class Listed:
    """Short lines under a line that introduces them.

    Parameters
    ----------
    opening
        The line above.
    lines
        The lines, the most important first.
    shown
        How many of them are seen at once; the others unfold. All by default.
    """

    opening: str
    lines: Sequence[str]
    shown: int | None = None
    template: ClassVar[str] = "listed"

    @property
    def folded(self) -> Sequence[str]:
        """The lines that unfold."""
        return [] if self.shown is None else self.lines[self.shown :]

    @property
    def seen(self) -> Sequence[str]:
        """The lines that are seen at once."""
        return self.lines[: self.shown]

    def columns(self, lines: Sequence[str]) -> str:
        """Return the class of some of the lines: many stand in columns, short ones in more of them."""
        if len(lines) <= MANY:
            return ""
        return "many short" if max(map(len, self.lines)) <= SHORT else "many"


@dataclass(frozen=True)
class Printed:
    """Lines as the terminal shows them."""

    lines: Sequence[str]
    template: ClassVar[str] = "printed"


class Fold(NamedTuple):
    """Lines that open under a line that sums them up.

    Parameters
    ----------
    name
        An identifier that links lead to.
    summary
        What is seen at once.
    lines
        What opens.
    """

    name: str
    summary: str
    lines: Sequence[str]


@dataclass(frozen=True)
class Folded:
    """Many folds, themselves behind a line; they open without a script, and only open ones are printed."""

    opening: str
    folds: Sequence[Fold]
    template: ClassVar[str] = "folded"


Part: TypeAlias = "Picture | Prose | Listed | Printed | Folded | Table"


def pictures_among(parts: Iterable[Part]) -> list[Picture]:
    """Return the pictures among the parts of a section.

    >>> pictures_among([Prose(["There is nothing to see."])])
    []
    """
    return [part for part in parts if isinstance(part, Picture)]


def parts_of(lines: Sequence[str]) -> list[Part]:
    """Return lines of a terminal as parts: a paragraph each, indented lines as the list of the line above them.

    Below a line that ends with a comma an indented one goes on with the sentence.

    >>> [part.template for part in parts_of(["Two are in:", "  p1", "  p2", "", "One is out.", "So be it."])]
    ['listed', 'prose']
    """
    found: list[Part] = []
    plain: list[str] = []
    for line in lines:
        last = found[-1] if found and not plain else None
        if line.startswith("  ") and plain and plain[-1].endswith(","):
            plain[-1] = f"{plain[-1]} {line.strip()}"
        elif line.startswith("  ") and plain:
            *before, opening = plain
            found += [Prose(before)] if before else []
            found.append(Listed(opening, [line.strip()]))
            plain = []
        elif line.startswith("  ") and isinstance(last, Listed):
            found[-1] = Listed(last.opening, [*last.lines, line.strip()])
        elif line.strip():
            plain.append(line.strip())
    return [*found, Prose(plain)] if plain else found


@dataclass(frozen=True)
class Section:
    """A heading with what stands below it.

    Parameters
    ----------
    name
        An identifier that links lead to.
    heading
        Its heading.
    parts
        What stands below, in order.
    """

    name: str
    heading: str
    parts: Sequence[Part]


@dataclass(frozen=True)
class Fact:
    """A number that is to be seen at once.

    Parameters
    ----------
    name
        What it counts.
    value
        The number, as text.
    note
        What else to know of it.
    """

    name: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Document:
    """A report.

    Parameters
    ----------
    title
        Of what.
    subject
        What was looked at: the files.
    good
        Whether the verdict is what a chair hopes for; None where it is nothing to hope for.
    headline
        The verdict in a few words.
    verdict
        In one or two sentences.
    remarks
        Sentences that belong beside the verdict.
    closing
        What the command adds: whether a required level is reached, and what to type next.
    facts
        Numbers to be seen at once.
    sections
        The rest.
    files
        What was read, in a sentence.
    """

    title: str
    subject: str
    good: bool | None
    headline: str
    verdict: str
    remarks: Sequence[str] = ()
    closing: Sequence[str] = ()
    facts: Sequence[Fact] = ()
    sections: Sequence[Section] = field(default_factory=tuple)
    files: str = ""

    @property
    def acts(self) -> bool:
        """Whether there is anything for a script to do: tables that answer, text that unfolds for printing."""
        parts = [part for section in self.sections for part in section.parts]
        return any(isinstance(part, Printed) or getattr(part, "live", getattr(part, "folded", False)) for part in parts)


def html(document: Document) -> str:
    """Return a document as HTML that loads nothing and runs nothing but its own script.

    Examples
    --------
    >>> text = html(Document("Check", "<script>.csv", True, "Comparable", "All papers are comparable."))
    >>> text.startswith("<!doctype html>"), "&lt;script&gt;.csv" in text
    (True, True)
    """
    style, script = _asset("pictures.css") + _asset("style.css"), _asset("script.js") if document.acts else ""
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


@cache
def _colours() -> str:
    return written_out(_asset("pictures.css"))


def _hash(text: str) -> str:
    """Return what the policy of the page knows its one style sheet and its one script by."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


# Charts of bars, and sentences in place of those whose bars are all alike.


def chart(name: str, title: str, words: str, found: Sequence[Bar], unit: str) -> Picture:
    """Return a picture of bars, with a sentence instead where they are all of one length.

    Parameters
    ----------
    name, title, words
        Of the picture.
    found
        The bars.
    unit
        What the names of the bars count.

    Examples
    --------
    >>> chart("loads", "Reviews per paper", "", [Bar("3", 40)], "reviews").instead
    'Reviews per paper: 3, for all 40.'
    >>> chart("loads", "Reviews per paper", "", [Bar("3", 7), Bar("4", 7)], "reviews").instead
    'Reviews per paper: 3 and 4, for 7 each.'
    """
    alike = len({bar.number for bar in found}) < 2
    return Picture(name, title, words, lambda width: bars(found, width, unit), _sentence(title, found) if alike else "")


def _sentence(title: str, found: Sequence[Bar]) -> str:
    if not found:
        return f"{title}: none."
    *others, last = found
    if not others:
        return f"{title}: {last.name}, for all {last.number:,}."
    return f"{title}: {', '.join(bar.name for bar in others)} and {last.name}, for {last.number:,} each."


def worth_seeing(parts: Iterable[Part]) -> list[Part]:
    """Return parts of a report, sentences instead of pictures that show nothing.

    >>> worth_seeing([chart("loads", "Reviews per paper", "", [Bar("3", 40)], "reviews")])
    [Prose(paragraphs=['Reviews per paper: 3, for all 40.'])]
    """
    return [Prose([part.instead]) if isinstance(part, Picture) and part.instead else part for part in parts]


# Tables of a report: columns of plain values, which a small script sorts, filters and searches in the browser.

Kind: TypeAlias = Literal["text", "number", "choice"]

#: Rows that stand on the page at a time.
SHOWN = 25
#: Rows that are printed, where scripts may run.
PRINTED = 500


@dataclass(frozen=True)
class Column:
    """A column.

    Parameters
    ----------
    name
        Its heading.
    values
        A cell a row: text, numbers, or None where there is none.
    kind
        ``"text"`` is searched, ``"number"`` has a least and a most, ``"choice"`` is one of a few words.
    digits
        After the point, for numbers.
    """

    name: str
    values: Sequence[Any]
    kind: Kind = "text"
    digits: int = 0

    def shown(self, value: Any) -> str:
        """Return a cell as text, as the script writes it.

        >>> Column("error", [], "number", 2).shown(1234.5), Column("error", [], "number").shown(None)
        ('1,234.50', '-')
        """
        if value is None or value == "":
            return "-"
        return f"{value:,.{self.digits}f}" if self.kind == "number" else str(value)

    @property
    def cells(self) -> list[Any]:
        """The values, numbers rounded to what is shown, those that are not finite None."""
        if self.kind != "number":
            return [None if value is None else str(value) for value in self.values]
        known = [None if value is None or not math.isfinite(value) else value for value in self.values]
        return [value if value is None else round(value, self.digits) + 0 for value in known]


@dataclass(frozen=True)
class Table:
    """A table; the first column names the row.

    Parameters
    ----------
    name
        An identifier, unlike that of any other table of the page.
    caption
        What it holds.
    columns
        Its columns, rows in the order in which they stand first.
    noun
        What a row is, in the plural: "papers".
    links
        Identifiers to which the rows' names lead; none by default.
    live
        Whether a reader can sort, filter and search; a table of a few rows needs none of that.
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
        """The rows that stand there before the script runs, and where none does."""
        cells = [column.cells[: SHOWN if self.live else None] for column in self.columns]
        return [
            [column.shown(cell) for column, cell in zip(self.columns, row, strict=True)]
            for row in zip(*cells, strict=True)
        ]

    @property
    def data(self) -> str:
        """Everything, for the script; no cell can end the element that holds it."""
        found = {
            "noun": self.noun,
            "shown": SHOWN,
            "printed": PRINTED,
            "links": list(self.links),
            "columns": [{"name": each.name, "kind": each.kind, "digits": each.digits} for each in self.columns],
            "cells": [column.cells for column in self.columns],
        }
        return safe_json(found)


def safe_json(value: Any) -> str:
    r"""Return JSON that may stand in a script element, whatever its text says.

    >>> safe_json("</script>")
    '"\\u003c/script\\u003e"'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


# Codes in place of names: a report that may be passed on, and the key to it.

Result = TypeVar("Result")


class Codes:
    """A code for each reviewer and each paper, drawn at random: an order by name would give names away.

    Parameters
    ----------
    reviewers, items
        Labels.
    known
        Codes there are already, by ``"reviewer"`` or ``"paper"`` and label as text; they are kept.

    Examples
    --------
    >>> codes = Codes(["ann"], ["p1", "p2"], {("paper", "p1"): "P2"})
    >>> codes.reviewer, codes.item
    ({'ann': 'R1'}, {'p1': 'P2', 'p2': 'P1'})
    """

    def __init__(
        self, reviewers: Iterable[Label], items: Iterable[Label], known: Mapping[tuple[str, str], str] | None = None
    ) -> None:
        self.reviewer = _drawn("R", "reviewer", reviewers, known or {})
        self.item = _drawn("P", "paper", items, known or {})

    def table(self, reviews: Reviews) -> Reviews:
        """Return a table under codes, without titles; integers inside stay what they are."""
        return replace(
            reviews,
            reviewers=Shuffled(self.reviewer[label] for label in reviews.reviewers),
            items=Shuffled(self.item[label] for label in reviews.items),
            titles={},
        )

    def applied(self, result: Result) -> Result:
        """Return a result in which every table of reviews stands under codes."""
        done: dict[int, Reviews] = {}

        def coded(value: Any) -> Any:
            if isinstance(value, Reviews):
                return done.setdefault(id(value), self.table(value))
            if is_dataclass(value) and not isinstance(value, type):
                found = {entry.name: getattr(value, entry.name) for entry in fields(value) if entry.init}
                changed = {name: new for name, old in found.items() if (new := coded(old)) is not old}
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


def _drawn(letter: str, kind: str, labels: Iterable[Label], known: Mapping[tuple[str, str], str]) -> dict[Label, str]:
    all_labels = list(labels)
    found = {label: known[kind, str(label)] for label in all_labels if (kind, str(label)) in known}
    taken = {code for (of, _), code in known.items() if of == kind}
    free = [code for number in range(1, len(all_labels) + len(taken) + 1) if (code := f"{letter}{number}") not in taken]
    new = [label for label in all_labels if label not in found]
    codes = free[: len(new)]
    secrets.SystemRandom().shuffle(codes)
    return found | dict(zip(new, codes, strict=True))
