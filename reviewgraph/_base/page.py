"""Pages: results as people read them, the same for terminals, browsers and notebooks.

What is seen first is the verdict, facts and short tables, and warnings; sections hold the details, and are made when
they are first read. :data:`RENDERERS` know no result.
"""

from __future__ import annotations

import base64
import io
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol, TypeAlias

from reviewgraph._base.errors import InputError
from reviewgraph._base.storing import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: What renders pages and pictures, as ``"module:name"`` by form; these modules import this one.
RENDERERS = {
    "text": "reviewgraph.report.text:in_terminal",
    "html": "reviewgraph.report.html:document",
    "notebook": "reviewgraph.report.html:fragment",
    "svg": "reviewgraph.report.html:svg_of",
}


def _rendered(form: str, *parts: Any, **options: Any) -> str:
    return str(resolve_name(RENDERERS[form])(*parts, **options))


# Parts of sections.


@dataclass(frozen=True)
class Prose:
    """Paragraphs."""

    paragraphs: Sequence[str]
    template: ClassVar[str] = "prose"


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


class Chart(Protocol):
    """What a picture shows: drawn as SVG at a width in pixels, or with Matplotlib."""

    def __call__(self, width: int) -> Any:
        """Return the chart as SVG."""

    def on(self, ax: Axes, worded: Callable[[str], str]) -> None:
        """Draw the chart in the units of its data, in changed words."""


@dataclass(frozen=True, repr=False)
class Picture:
    """A picture, drawn once for phones and once for screens and paper; a notebook shows it with its words.

    ``name`` is unique on the page; ``words`` are the caption and the description for readers who do not see it;
    ``draw`` is the chart; ``instead`` is the sentence that replaces a picture without information;
    ``worded`` changes the words that are written into the picture.
    """

    name: str
    title: str
    words: str
    draw: Chart
    instead: str = ""
    worded: Callable[[str], str] = str

    @property
    def template(self) -> str:
        """A picture, or a paragraph."""
        return "prose" if self.instead else "picture"

    @property
    def paragraphs(self) -> Sequence[str]:
        """The sentence in its place."""
        return [self.instead]

    @property
    def svg(self) -> str:
        """The picture as self-contained SVG, which follows the light or dark setting of the machine."""
        return _rendered("svg", self)

    def on(self, ax: Axes) -> Axes:
        """Draw the picture on axes of Matplotlib, in the units of its data, and return these."""
        if not hasattr(ax, "axhline"):
            raise InputError(f"ax: expected axes of Matplotlib, such as plt.gca(), found {type(ax).__name__}")
        self.draw.on(ax, self.worded)
        ax.set_title(self.title)
        return ax

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file, whole or not at all.

        Parameters
        ----------
        path
            Name of the file: ``.svg``, or ``.png`` or ``.pdf`` by Matplotlib.

        Raises
        ------
        InputError
            If the name has another ending, or Matplotlib is missing.
        """
        ending = Path(path).suffix.lower()
        if ending not in (".svg", ".png", ".pdf"):
            raise InputError(f"path: expected a name that ends with .svg, .png or .pdf, found {os.fspath(path)!r}")
        write_whole(path, self.svg if ending == ".svg" else self._by_matplotlib(ending))

    def _by_matplotlib(self, ending: str) -> bytes:
        try:
            from matplotlib.figure import Figure
        except ImportError as error:
            message = f"path: {ending} needs Matplotlib (python -m pip install matplotlib); .svg needs nothing"
            raise InputError(message) from error
        figure = Figure(layout="constrained")
        self.on(figure.subplots())
        file = io.BytesIO()
        figure.savefig(file, format=ending[1:], dpi=200)
        return file.getvalue()

    def __repr__(self) -> str:
        return f"<Picture {self.name}: {self.title}>"

    def _repr_html_(self) -> str:
        """Return the picture as an image, which keeps its styles and names apart from those of the page."""
        from html import escape

        data = base64.b64encode(self.svg.encode()).decode()
        image = f'<img src="data:image/svg+xml;base64,{data}" alt="{escape(self.title)}" style="max-width: 100%">'
        words = f'<figcaption style="max-width: 792px">{escape(self.words)}</figcaption>'
        return f'<figure style="margin: 0">{image}{words}</figure>'


# Tables.

Kind: TypeAlias = Literal["text", "number", "choice"]

#: The name of the table of a result's own rows.
ROWS = "rows"
#: Rows of a table shown at a time.
SHOWN = 25
#: Further digits to which numbers are rounded first, so that halves are rounded alike on every machine.
FINER = 6


@dataclass(frozen=True)
class Column:
    """A column of cells: text, numbers (with ``digits`` after the point), or None.

    ``"text"`` is searched, ``"number"`` is sorted from the largest on, ``"choice"`` is one of a few words. In a
    terminal a ``whole`` column is not cut, whatever the width, and a ``free`` one to whatever is left.
    """

    name: str
    values: Sequence[Any]
    kind: Kind = "text"
    digits: int = 0
    whole: bool = False
    free: bool = False

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
    ``live`` readers can sort, filter and search. ``shown`` rows are seen at first, and ``more`` says what follows,
    of which the ``section`` of that name has all.
    """

    name: str
    caption: str
    columns: Sequence[Column]
    noun: str = "rows"
    links: Sequence[str] = ()
    live: bool = True
    shown: int = SHOWN
    more: str = ""
    section: str = ""
    template: ClassVar[str] = "table"

    def __len__(self) -> int:
        return len(self.columns[0].values)

    @property
    def hidden(self) -> int:
        """The number of rows that are not seen at first."""
        return max(len(self) - self.shown, 0)

    @property
    def first_rows(self) -> list[list[str]]:
        """The rows seen at first."""
        cells = [replace(column, values=column.values[: self.shown]).cells for column in self.columns]
        return [
            [column.shown(cell) for column, cell in zip(self.columns, row, strict=True)]
            for row in zip(*cells, strict=True)
        ]


def paper_columns(reviews: Any, papers: Iterable[int]) -> list[Column]:
    """Return the labels of papers, given by code, and their titles if there are any."""
    labels = [reviews.items[paper] for paper in papers]
    titles = [reviews.titles.get(label, "") for label in labels]
    return [Column("paper", labels), *([Column("title", titles, free=True)] if any(titles) else [])]


Part: TypeAlias = "Picture | Prose | Listed | Folded | Table"


# The nouns of a page: it is written of papers and reviewers, and read of essays and graders.


@dataclass(frozen=True)
class Nouns:
    """What readers call papers and reviewers, in the singular.

    >>> Nouns("entry", "judge").worded("A paper of 3 papers; nobody reviews papers.csv.")
    'An entry of 3 entries; nobody reviews papers.csv.'
    """

    paper: str = "paper"
    reviewer: str = "reviewer"

    def worded(self, text: str) -> str:
        """Return one of our texts with these nouns; parts of the names of files and options stay."""
        for ours, theirs in (("paper", self.paper), ("reviewer", self.reviewer)):
            if ours != theirs:
                text = _OURS[ours].sub(lambda match, noun=theirs: _like(match, noun), text)  # type: ignore[misc]
        return text


_OURS = {
    # After --verbose stand the names of sections.
    ours: re.compile(rf"(?<![\w./#=-])(?<!--verbose )(?:(an?) )?({ours}s?)(?![\w/=-]|\.\w)", re.IGNORECASE)
    for ours in ("paper", "reviewer")
}


def plural(noun: str) -> str:
    """Return the plural of a noun.

    >>> plural("essay"), plural("entry"), plural("pitch")
    ('essays', 'entries', 'pitches')
    """
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    if noun.endswith("sis"):
        return f"{noun.removesuffix('is')}es"
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"


def _like(match: re.Match[str], noun: str) -> str:
    """Return a noun in the number and the case of the one that was found, with its article."""
    article = match[1] or ""
    found = match[2]
    word = plural(noun) if found.lower().endswith("s") else noun
    if found[0].isupper():
        word = word[0].upper() + word[1:]
    if not article:
        return word
    fitting = "an" if noun[0] in "aeiou" else "a"
    return f"{fitting.capitalize() if article[0].isupper() else fitting} {word}"


# The page.


@dataclass(frozen=True)
class Section:
    """Details under a heading, made when they are first read; ``name`` is what ``--verbose`` and links call it."""

    name: str
    heading: str
    make: Callable[[], Sequence[Part]]

    @cached_property
    def parts(self) -> Sequence[Part]:
        """The parts; a section without any is left out."""
        return self.make()


class Fact(NamedTuple):
    """A name of a few letters, and what a reader can check by counting."""

    name: str
    value: str


class Next(NamedTuple):
    """The next command to type, and its purpose.

    >>> print(Next("reviewgraph check plan.csv", "what it reaches"))
    reviewgraph check plan.csv   (what it reaches)
    """

    command: str
    why: str = ""

    def __str__(self) -> str:
        """Return both as one line."""
        return f"{self.command}   ({self.why})" if self.why else self.command

    @classmethod
    def of(cls, *parts: str, why: str = "") -> Next:
        """Return a command from its parts, without empty ones."""
        return cls(" ".join(filter(None, ("reviewgraph", *parts))), why)


@dataclass(frozen=True, repr=False)
class Page:
    """A result as people read it, before it is rendered.

    Parameters
    ----------
    title
        What kind of result it is.
    good
        Whether the verdict is what readers hope for; None where it is neither.
    verdict
        The answer in a few words, which stand out.
    summary
        The rest of its line.
    facts
        What is seen first, in order: facts and short tables.
    warnings
        Sentences that change what a reader does.
    sections
        The details.
    uploads
        What was written, and what to do with it.
    following
        The next commands, each of which runs as it stands.
    subject
        The files, as typed.
    nouns
        What readers call papers and reviewers; renderers change the words of the page accordingly.
    where
        How readers of a terminal get all rows of a section, whose name replaces ``{}``.
    """

    title: str
    good: bool | None
    verdict: str
    summary: str = ""
    facts: Sequence[Fact | Table] = ()
    warnings: Sequence[str] = ()
    sections: Sequence[Section] = ()
    uploads: Sequence[Fact] = ()
    following: Sequence[Next] = ()
    subject: str = ""
    nouns: Nouns = Nouns()
    where: str = "--verbose {}"

    def text(self, detail: str = "", width: int | None = None, *, colour: bool = False) -> str:
        """Return the page for a terminal.

        Parameters
        ----------
        detail
            Names of sections to add with all their rows, separated by commas, or ``"all"`` for the beginning of all;
            none by default.
        width
            Columns; by default those of the terminal.
        colour
            Whether to write bold text and colours.

        Returns
        -------
        str
            Lines.

        Raises
        ------
        InputError
            If there is no such section.
        """
        page = reworded(self)
        return _rendered("text", page, page.detailed(detail), width, colour=colour, whole=detail != "all")

    def html(self) -> str:
        """Return the page as one HTML file, which loads nothing."""
        return _rendered("html", reworded(self))

    def detailed(self, names: str) -> list[Section]:
        """Return the sections of some names, or all; those without parts are left out."""
        known = [section.name for section in self.sections]
        asked = known if names == "all" else [name.strip() for name in names.split(",") if name.strip()]
        for name in asked:
            if name not in known:
                argument = "detail" if self.where.startswith("summary") else "verbose"
                raise InputError(f"{argument}: expected names of sections ({', '.join(known)}), found {name!r}")
        return [section for section in self.sections if section.name in asked and section.parts]

    @property
    def pictures(self) -> list[Picture]:
        """The pictures of all sections, in their order."""
        sections = reworded(self).sections
        return [part for section in sections for part in section.parts if isinstance(part, Picture)]

    def __str__(self) -> str:
        """Return what is seen first."""
        return self.text()

    def __repr__(self) -> str:
        return f"<Page: {self.verdict} {self.summary}>"

    def _repr_html_(self) -> str:
        """Return what is seen first for notebooks."""
        return _rendered("notebook", reworded(self))


def reworded(page: Page) -> Page:
    """Return a page in the nouns of its readers; cells of tables and commands stay as they are."""
    if page.nouns == Nouns():
        return page
    changed: Page = _reworded(page, page.nouns.worded)
    return replace(changed, nouns=Nouns())


def reworded_by(page: Page, worded: Callable[[str], str]) -> Page:
    """Return a page with its sentences changed; cells of tables, charts and commands stay as they are."""
    changed: Page = _reworded(page, worded)
    return changed


def _reworded(value: Any, worded: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return worded(value)
    if isinstance(value, Next):
        return value._replace(why=worded(value.why))
    if isinstance(value, Fact | Fold):
        return type(value)(*(_reworded(part, worded) for part in value))
    if isinstance(value, list | tuple):
        return [_reworded(part, worded) for part in value]
    if isinstance(value, Section):
        return Section(value.name, worded(value.heading), lambda: _reworded(value.parts, worded))
    # Rows of a result have the names of its data frames.
    if not is_dataclass(value) or isinstance(value, type) or (isinstance(value, Table) and value.name == ROWS):
        return value
    kept = KEPT.get(type(value), ())
    # Choices are our words; other cells are data.
    if isinstance(value, Column) and value.kind == "choice":
        kept = ("kind", "digits")
    names = [entry.name for entry in fields(value) if entry.init and entry.name not in kept]
    changed = {name: _reworded(getattr(value, name), worded) for name in names}
    return replace(value, **changed, **({"worded": worded} if isinstance(value, Picture) else {}))


#: What is not said in our words: names, data, and pictures before they are drawn.
KEPT: Mapping[type, tuple[str, ...]] = {
    Page: ("subject", "nouns", "good", "where"),
    Table: ("name", "links", "live", "shown", "section"),
    Column: ("values", "kind", "digits"),
    Picture: ("name", "draw", "worded"),
}
