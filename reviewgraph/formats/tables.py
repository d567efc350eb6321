"""Tables in files of any format: a header, and columns of text in dictionary form."""

from __future__ import annotations

import codecs
import copy
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Protocol, Self, overload

from reviewgraph._base.errors import InputError
from reviewgraph._base.storing import FileRead, LeftOut
from reviewgraph._base.text import in_full
from reviewgraph.formats.columns import (
    CONFIDENCE,
    CRITERION,
    ITEM,
    REVIEWER,
    SCORE,
    TITLE,
    Unlisted,
    is_weak,
    named,
    naming,
    normalise,
)
from reviewgraph.formats.files import COLUMNS, DEPTH, Problems, cut, quote, quote_all
from reviewgraph.formats.values import are_scores, plain_numbers

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from reviewgraph._base.arrays import BoolArray, FloatArray, IntArray
    from reviewgraph.formats.columns import Tally

Path = str | os.PathLike[str]


class Column(NamedTuple):
    """A column of cells: ``values[codes[row]]`` is that of the row; distinct, text in files, labels in frames."""

    codes: IntArray
    values: list[Any]


class Numbers(NamedTuple):
    """A column of numbers, which need not be understood: one in each row, and which rows have one."""

    values: FloatArray
    known: BoolArray


def recoded(column: Column, values: Sequence[str]) -> Column:
    import numpy as np

    known: dict[str, int] = {}
    codes = np.array([known.setdefault(value, len(known)) for value in values], np.int64)
    return Column(codes[column.codes], list(known))


def text_column(column: Column | Numbers) -> Column:
    """Return any column as one of text, of numbers in all their digits."""
    import numpy as np

    if isinstance(column, Column):
        from reviewgraph._base.labels import is_null

        return Column(column.codes, ["" if is_null(value) else str(value) for value in column.values])
    values, codes = np.unique(np.where(column.known, column.values, np.nan), return_inverse=True)
    texts = ["" if np.isnan(value) else in_full(value) for value in values.tolist()]
    return Column(codes.astype(np.int64), texts)


def numeric(column: Column | Numbers, decimal_comma: bool = False) -> Column | Numbers:
    """Return a column as numbers if its cells are plain ones, or empty; others as they are."""
    import numpy as np

    if isinstance(column, Numbers) or set(map(type, column.values)) != {str}:
        return column
    numbers = plain_numbers(column.values, decimal_comma)
    if numbers is None:
        return column
    values = numbers[column.codes]
    return Numbers(values, ~np.isnan(values))


def by_row(column: Column) -> list[Any]:
    return [column.values[code] for code in column.codes.tolist()]


@overload
def of_rows(column: Column, rows: IntArray) -> Column: ...
@overload
def of_rows(column: Column | Numbers, rows: IntArray) -> Column | Numbers: ...
def of_rows(column: Column | Numbers, rows: IntArray) -> Column | Numbers:
    """Return a column of some rows only, and of their cells."""
    import numpy as np

    if isinstance(column, Numbers):
        return Numbers(column.values[rows], column.known[rows])
    codes, inverse_codes = np.unique(column.codes[rows], return_inverse=True)
    return Column(inverse_codes.astype(np.int64), [column.values[code] for code in codes.tolist()])


class Rows(NamedTuple):
    """Some columns of a table, the line (in Parquet the row, from 1) that each row begins on, and what was left out."""

    columns: list[Any]  #: Each a Column; of a data frame also Numbers.
    lines: Sequence[int]
    left_out: Sequence[LeftOut] = ()


class Source(NamedTuple):
    """The recognised system and file of a table."""

    system: str  #: The name of the conference system, as ``--format`` takes it.
    what: str  #: What messages call the file.
    kind: str  #: What it serves for here, such as "reviews".
    extras: Collection[str] = ()  #: Normalised names of its columns that hold no scores.
    #: The full text of short names of columns; if there are any, no other columns may hold scores.
    explained: Mapping[str, str] = MappingProxyType({})
    #: Which papers cannot be in it, and which download holds them; nothing where it lists all papers, or nobody
    #: knows.
    unlisted: Unlisted | None = None
    proposes: bool = False  #: Whether its reviews exist only once it is uploaded.


class Aside(NamedTuple):
    """Papers and people in the rows of a file that are not reviews."""

    listed: Mapping[str, str] = MappingProxyType({})  #: Papers that it lists, with their titles where it has any.
    out: Collection[str] = ()  #: What is no paper any more, or not yet: withdrawn, a draft.
    unseen: Collection[str] = ()  #: Papers hidden from the person who downloaded the file.
    meta: Collection[tuple[str, str]] = ()  #: Pairs of a reviewer and a paper that are meta reviews.
    members: Collection[str] = ()  #: People known to be of the committee.
    tells: bool = False  #: Whether the others are known not to be.
    tally: Tally | None = None  #: The number of reviews of each paper that it lists; None if it counts none.


class Table(Protocol):
    """An open table; if its system is recognised, ``source`` names it and ``columns`` has the names of columns by role.

    ``provenance`` is its file, the rows not yet counted. A row with fewer cells than the header is malformed, except in
    files of systems that omit empty cells at the end of a row or write blanks after delimiters (``lenient``). Columns
    at the places ``unread`` are neither text nor numbers.
    """

    name: str
    header: list[str]
    decimal_comma: bool
    columns: Mapping[str, str] = MappingProxyType({})
    source: Source | None = None
    provenance: FileRead = FileRead()
    lenient: bool = False
    unread: Collection[int] = ()
    labels: Collection[int] = ()  #: The places of labels, which data frames hold in any type.

    def place(self, line: int) -> str:
        """Return how a message names a line."""
        ...

    def read(self, positions: Sequence[int], problems: Problems) -> Rows:
        """Return the columns at these positions; ragged rows are left out and noted as problems."""
        ...

    def note_cells(
        self, problems: Problems, lines: Sequence[int], column: Column, bad: BoolArray, say: Callable[[int], str]
    ) -> bool:
        """Note a problem for each row whose cell is bad, if any; ``say`` describes the cell of a code."""
        import numpy as np

        at = np.flatnonzero(bad[column.codes]).tolist() if bad.any() else []
        problems.add_rows(
            [lines[row] for row in at], lambda n: f"{self.place(int(lines[at[n]]))}: {say(int(column.codes[at[n]]))}"
        )
        return bool(at)

    def rows_below(self) -> Iterator[Line]:
        """Yield the rows below the header, whatever their width."""
        return iter(())

    def leniently(self) -> Self:
        """Return the table with empty cells at the end of rows that are too short, and no blanks before cells."""
        table = copy.copy(self)
        table.lenient = True
        return table

    def aside(self, reviewer: int, item: int, title: int | None) -> Aside:
        """Return papers and people of rows left out, given the places of the columns among those that were read."""
        return Aside()


# The column of scores, if none has a usual name: ask if several qualify.

ROLES = (REVIEWER, ITEM, SCORE, TITLE, CONFIDENCE, CRITERION)
#: Columns without scores that plans and assignments have.
NO_SCORES = (
    *("affinity", "cost", "joins"),
    *("submitted_at", "submission_date", "date_submitted", "asked_at", "assigned_at"),
)


def say_which_score(name: str, columns: Sequence[str]) -> str:
    words = {word for known in SCORE.names for word in known.split("_")}
    example = next((column for column in columns if words & set(normalise(column).split("_"))), columns[0])
    return (
        f"{name}: no score column is known; it may be any of {quote_all(columns)}: say which one, for example with "
        f"{naming('', SCORE, example)}; or that there is none, with --columns {SCORE.name}="
    )


def may_hold_scores(name: str) -> bool:
    return bool(name.strip()) and normalise(name) not in {
        *NO_SCORES,
        *(known for role in ROLES for known in role.names),
    }


def ask_score(table: Table) -> None:
    """Refuse reviews of a recognised system if several columns may be the score."""
    unused = unused_columns([table])
    if table.source and table.source.explained:
        unused = list(table.source.explained)
    if table.source is None or table.source.kind != "reviews" or not unused:
        return
    raise InputError(say_which_score(f"{table.name}: {table.source.what}", unused))


def ask_criteria(table: Table, columns: Mapping[str, str]) -> list[str]:
    """Return the column that may be the score of a table without a score column, if there is one; refuse several."""
    unused = unused_columns([table]) if table.source is None else []
    taken = {place for name in columns.values() for place in named(table.header, name)}
    places = [place for place, name in enumerate(table.header) if name in unused and place not in taken]
    if not places:
        return []
    read = zip(places, map(text_column, table.read(places, Problems()).columns), strict=True)
    candidates = [table.header[place] for place, column in read if are_scores(column.values, table.decimal_comma)]
    if len(candidates) > 1:
        raise InputError(say_which_score(table.name, candidates))
    return candidates


def unused_columns(tables: Sequence[Table]) -> list[str]:
    """Return the names of the columns that may hold scores: those of no role, in files that may have any."""
    return list(
        dict.fromkeys(
            text
            for table in tables
            if table.source is None or table.source.kind == "reviews"
            for text in table.header
            if may_hold_scores(text)
            and not any(normalise(text) in role.weak and is_weak(table.header, role) for role in (REVIEWER, ITEM))
            and text not in table.columns.values()
            and not (table.source and normalise(text) in table.source.extras)
        )
    )


class Wrapped(Table):
    """A table that reads another and changes what it returns."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.name = table.name
        self.header = table.header
        self.decimal_comma = table.decimal_comma
        self.columns = table.columns
        self.source = table.source
        self.provenance = table.provenance
        self.unread = table.unread

    def aside(self, reviewer: int, item: int, title: int | None) -> Aside:
        return self.table.aside(reviewer, item, title)

    def place(self, line: int) -> str:
        return self.table.place(line)

    def rows_below(self) -> Iterator[Line]:
        return self.table.rows_below()


class Line(NamedTuple):
    """A row: its cells, and how a message names it."""

    cells: list[str]
    place: str


class Grid(Table):
    """A table of rows of text."""

    decimal_comma = False

    def __init__(self, name: str, header: Sequence[str], lines: Iterable[Line]) -> None:
        COLUMNS.expect(name, len(header))
        self.name = name
        self.header = list(header)
        self.lines = [line for line in lines if any(map(str.strip, line.cells))]
        #: Notes for the user on how it was made.
        self.notes: list[str] = []
        #: Rows of the file that are not among the lines.
        self.left_out: list[LeftOut] = []
        #: The full text of short column names, for messages.
        self.explained: dict[str, str] = {}

    def place(self, line: int) -> str:
        return self.lines[line - 1].place

    def rows_below(self) -> Iterator[Line]:
        return iter(self.lines)

    def read(self, positions: Sequence[int], problems: Problems) -> Rows:
        width = len(self.header)
        longer = [
            number
            for number, (cells, _) in enumerate(self.lines, 1)
            if len(cells) > width and any(map(str.strip, cells[width:]))
        ]
        problems.add_rows(
            longer, lambda n: f"{self.place(longer[n])}: expected {width} cells as in the header, found a further one"
        )
        odd = set(longer)
        kept = [number for number in range(1, len(self.lines) + 1) if number not in odd]
        return Rows([self._column(place, kept) for place in positions], kept, self.left_out)

    def position(self, name: str) -> int | None:
        """Return the position of the column of a name, up to normalisation; None if there is none."""
        places = [place for place, text in enumerate(self.header) if normalise(text) == normalise(name)]
        if len(places) > 1:
            message = f"{self.name}: {len(places)} columns are called {quote(name)}; rename all but the one that counts"
            raise InputError(message)
        return places[0] if places else None

    def column(self, column: str | int) -> list[str]:
        """Return the cells of a column by position or name, empty ones if no column has the name."""
        place = self.position(column) if isinstance(column, str) else column
        if place is None:
            return [""] * len(self.lines)
        return [line.cells[place] if place < len(line.cells) else "" for line in self.lines]

    def with_column(self, name: str, cells: Iterable[str]) -> Grid:
        width = len(self.header)
        rows = ([*line.cells[:width], *[""] * (width - len(line.cells))] for line in self.lines)
        lines = (Line([*row, cell], line.place) for row, cell, line in zip(rows, cells, self.lines, strict=True))
        return self._like(Grid(self.name, [*self.header, name], lines))

    def with_lines(self, lines: Iterable[Line]) -> Grid:
        return self._like(Grid(self.name, self.header, lines))

    def _like(self, grid: Grid) -> Grid:
        grid.notes, grid.left_out, grid.explained = list(self.notes), list(self.left_out), dict(self.explained)
        grid.decimal_comma = self.decimal_comma
        return grid

    def _column(self, place: int, kept: Sequence[int]) -> Column:
        import numpy as np

        cells = [self.lines[number - 1].cells for number in kept]
        texts = [row[place] if place < len(row) else "" for row in cells]
        return recoded(Column(np.arange(len(texts)), texts), texts)


class Changed(Wrapped):
    """A table whose column at each place is ``change`` of distinct cells of its one or two sources."""

    def __init__(self, table: Table, sources: Mapping[int, Sequence[int]], change: Callable[..., str]) -> None:
        super().__init__(table)
        self.sources = sources
        self.change = change

    def read(self, positions: Sequence[int], problems: Problems) -> Rows:
        places = [self.sources.get(place, [place]) for place in positions]
        read = list(dict.fromkeys(source for several in places for source in several))
        rows = self.table.read(read, problems)
        column_at = dict(zip(read, rows.columns, strict=True))
        columns = [
            self._changed([column_at[source] for source in several]) if place in self.sources else column_at[place]
            for place, several in zip(positions, places, strict=True)
        ]
        return rows._replace(columns=columns)

    def _changed(self, sources: Sequence[Column]) -> Column:
        import numpy as np

        if len(sources) == 1:
            return recoded(sources[0], list(map(self.change, sources[0].values)))
        left, right = sources
        width = len(right.values)
        pairs, codes = np.unique(left.codes * width + right.codes, return_inverse=True)
        cells = [self.change(left.values[pair // width], right.values[pair % width]) for pair in pairs.tolist()]
        return recoded(Column(codes.astype(np.int64), cells), cells)


def to_grid(table: Table) -> Grid:
    problems = Problems()
    rows = table.read(range(len(table.header)), problems)
    problems.raise_any()
    cells = zip(*map(by_row, rows.columns), strict=True)
    grid = Grid(table.name, table.header, map(Line, map(list, cells), map(table.place, rows.lines)))
    grid.decimal_comma = table.decimal_comma
    return grid


def from_records(name: str, records: Sequence[dict[str, Any]], noun: str = "record") -> Grid:
    """Return objects as a table, with a column for each key in order of first occurrence."""
    header = list(dict.fromkeys(key for record in records for key in record))
    lines = (
        Line([as_text(record.get(key)) for key in header], f"{name}: {noun} {number}")
        for number, record in enumerate(records, 1)
    )
    return Grid(name, header, lines)


def as_text(value: Any) -> str:
    """Return a value of a spreadsheet or of JSON as the text of a cell, the entries of a list separated by semicolons.

    >>> as_text(7.0), as_text(4.5), as_text(None), as_text(True), as_text(["a", "b"])
    ('7', '4.5', '', 'true', 'a;b')
    """
    if value is None or isinstance(value, dict):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1 << 53:
        return str(int(value))
    if isinstance(value, list | tuple):
        return ";".join(map(as_text, value))
    return str(value)


# JSON and XML, read whole and refused if they are damaged or would exhaust memory.

# An object, or a list of objects, lists or texts; the header of a CSV file may begin with a bracket, but not like this.
JSON = re.compile(r'\ufeff?\s*(?:\{\s*["}]|\[\s*[\[{"\]])')
XML = re.compile(r"\ufeff?\s*<[?!A-Za-z]")
#: A surrogate, usually followed by its other half.
_HALF = re.compile(r"\\u[dD][89a-fA-F]")
#: Bytes searched for the beginning.
_LOOKED_AT = 1 << 12


def begins(data: bytes, pattern: re.Pattern[str]) -> bool:
    return bool(pattern.match(data[:_LOOKED_AT].decode(_encoding(data), errors="replace")))


def _encoding(data: bytes) -> str:
    return "utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"


def read_json(name: str, data: bytes) -> Any:
    """Return the content of a JSON file; a file with one object per line is a list of them."""
    try:
        text = data.decode(_encoding(data))
        try:
            content = _loads(text)
        except json.JSONDecodeError as error:
            if error.msg != "Extra data":
                raise
            content = [_loads(line) for line in text.split("\n") if line.strip()]
        if _HALF.search(text):
            json.dumps(content, ensure_ascii=False).encode()
    except RecursionError as error:
        raise InputError(f"{name}: the limit is {DEPTH.most} {DEPTH.what}, found more; {DEPTH.advice}") from error
    except ValueError as error:
        where = name
        why = cut(error)
        if isinstance(error, UnicodeEncodeError):
            why = "a surrogate without its other half"
        elif isinstance(error, json.JSONDecodeError):
            where = f"{name}:{error.lineno}"
            why = error.msg
        raise InputError(f"{where}: the JSON is damaged ({why}); export the file again") from error
    # The depth, level by level.
    level = [content]
    depth = 0
    while level := [value for value in level if isinstance(value, dict | list)]:
        depth += 1
        DEPTH.expect(name, depth)
        level = [inner for value in level for inner in (value.values() if isinstance(value, dict) else value)]
    return content


def _loads(text: str) -> Any:
    def refuse(word: str) -> NoReturn:
        raise ValueError(f"{word} is not a number")

    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        content = dict(pairs)
        if len(content) < len(pairs):
            twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
            raise ValueError(f"the name {quote(twice)} occurs twice in one object")
        return content

    return json.loads(text, parse_constant=refuse, object_pairs_hook=distinct)


def objects(content: Any) -> list[dict[str, Any]]:
    """Return a list of objects; an empty one where it is anything else."""
    return content if isinstance(content, list) and all(isinstance(entry, dict) for entry in content) else []


def read_xml(name: str, data: bytes) -> Element:
    from xml.etree.ElementTree import ParseError

    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    try:
        root: Element = fromstring(data, forbid_dtd=True)
    except DefusedXmlException as error:
        message = f"{name}: the XML declares a document type or entities, which can blow up and are not read; "
        message += "export the file again, or save it as CSV"
        raise InputError(message) from error
    except (ParseError, ValueError, LookupError) as error:  # the latter two: encodings that do not exist
        message = f"{name}: the XML is damaged ({cut(error)}); export the file again, or save it as CSV"
        raise InputError(message) from error
    return root


def plain_tag(element: Element) -> str:
    """Return the name of an element without its namespace, in lower case."""
    return str(element.tag).rpartition("}")[2].casefold()


def attribute(element: Element, name: str) -> str:
    values = (value for key, value in element.attrib.items() if key.rpartition("}")[2].casefold() == name.casefold())
    return next(values, "")


def children(element: Element, tag: str) -> Iterator[Element]:
    return (child for child in element if plain_tag(child) == tag)
