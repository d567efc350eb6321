"""One document of sections: a verdict, figures, pictures, tables; everything inlined, nothing loaded."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeAlias

from reviewgraph._version import __version__
from reviewgraph.plots import Plot
from reviewgraph.report.pictures.colours import written_out
from reviewgraph.report.pictures.svg import NARROW, WIDE

if TYPE_CHECKING:
    from jinja2 import Template

    from reviewgraph.report.pictures.svg import Drawing
    from reviewgraph.report.tables import Table


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
