"""Files of reviews that may be larger than memory, which DuckDB reads as one table."""

from __future__ import annotations

import gzip
import hashlib
import os
import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from functools import partial
from glob import escape, glob, has_magic
from itertools import islice
from pathlib import Path as Folder
from typing import TYPE_CHECKING, Any, TypeAlias, overload

import numpy as np

from reviewgraph._base.errors import InputError
from reviewgraph._base.storing import FileRead
from reviewgraph.formats.audit.audit import Uncorrected
from reviewgraph.formats.columns import CRITERION, ITEM, REVIEWER, SCORE, columns_of, locate, recognised, require_named
from reviewgraph.formats.delimited import Delimited
from reviewgraph.formats.engine import FLOATS, NULLS, TEXT, WHOLE, Engine, ParquetFile, quoted, refused, text_rows
from reviewgraph.formats.files import LISTED, Problems, quote, quote_all
from reviewgraph.formats.opening import open_table
from reviewgraph.formats.parts import ROLES as FIELDS
from reviewgraph.formats.parts import Asked, Part, read_part, together
from reviewgraph.formats.systems.system import Wanted
from reviewgraph.formats.values import are_scores, missing_labels, read_scores, say_bad_score

if TYPE_CHECKING:
    from reviewgraph.formats.tables import Path, Table

Note: TypeAlias = Callable[[str], object]

ROLES = (REVIEWER, ITEM, SCORE)
LABELS = (REVIEWER.name, ITEM.name)
#: Bytes of a text file, and rows of another one, in which its header and mistakes are looked for.
HEAD = 1 << 18
FIRST = 10_000

#: SQL type of labels that are whole numbers; others are text, negative ones too.
KEY = "UBIGINT"
#: SQL: a cell without the apostrophe by which :func:`~reviewgraph._base.storing.guarded` keeps spreadsheets off it.
CELL = "CASE WHEN starts_with({0}, '''') THEN regexp_replace({0}, '^''([=+@\\t\\r-])', '\\1') ELSE {0} END"
#: SQL: a cell with a decimal comma, as one with a point.
POINT = "CASE WHEN contains({0}, ',') THEN regexp_replace({0}, '([0-9]),([0-9])', '\\1.\\2') ELSE {0} END"


class Labels(Sequence[str]):
    """Labels in natural order, held by NumPy as text or keys and converted to text on access."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        values = self.values[place]
        return list(map(str, values.tolist())) if isinstance(place, slice) else str(values)


# Files by name, and patterns.


def expanded(paths: Iterable[Path]) -> list[str]:
    """Return the names of files, folders and patterns such as ``part-*.parquet`` replaced by the files in them.

    Files are read more than once, so addresses and pipes are refused.

    >>> expanded(["scores.parquet"])
    ['scores.parquet']
    """
    names: list[str] = []
    for name in map(str, paths):
        if os.path.isdir(name):
            names += expanded([f"{escape(name)}/*.parquet"])
            continue
        if "://" in name or Folder(name).is_fifo():
            message = f"{name}: cannot be read (expected a file on this machine); download it, or save it, first"
            raise InputError(message)
        if not has_magic(name) or os.path.exists(name):
            names.append(name)
            continue
        matching = sorted(glob(name, recursive=True))
        if not matching:
            raise InputError(f"{name}: expected a file or a pattern that matches files, found none")
        names += matching
    return names


# Files by format: where DuckDB finds their rows.


class Parquet(ParquetFile):
    """A Parquet file."""

    refused = staticmethod(refused)
    decimal_comma = False
    other: str | None = None

    def __init__(self, engine: Engine, name: str, path: str) -> None:
        self.name = name
        with self.refused(name):
            super().__init__(engine, path)

    def read(self, engine: Engine, places: Mapping[str, int], note: Note) -> None:
        """Find out which labels are numbers; the file is read in place."""
        for place in (places[role] for role in LABELS):
            if self.kinds[place] in WHOLE:
                [least] = engine.first(f"SELECT min(c{place}) FROM {self.rows}")
                self.kinds[place] = TEXT if least is not None and least < 0 else KEY

    def first_rows(self, engine: Engine) -> tuple[str, bool]:
        """Return the path of a file of the first rows, and whether these are all."""
        path = engine.file()
        engine.run(f"COPY (SELECT * FROM {self.source} LIMIT {FIRST}) TO {quoted(path)} (FORMAT parquet)")
        [rows] = engine.first(f"SELECT count(*) FROM {self.rows}")
        return path, rows <= FIRST

    def further_scores(self, places: Mapping[str, int]) -> list[str]:
        """Return the names of columns that may be further criteria."""
        numbers = [place for place, kind in enumerate(self.kinds) if kind in WHOLE | FLOATS]
        return [self.header[place] for place in numbers if place not in places.values()]

    def place(self, row: int) -> str:
        """Return how a message names a row, counted from 0."""
        return f"{self.name}: row {row + 1}"


class Text:
    """A file of delimited text, UTF-8, perhaps compressed by gzip, which DuckDB rewrites as Parquet.

    So it is parsed once, and its rows have numbers.
    """

    refused = staticmethod(partial(refused, what="text", advice="correct it, or write it as Parquet"))
    other: str | None = None

    def __init__(self, name: str, path: str, columns: Mapping[str, str], *, is_gzip: bool) -> None:
        self.name = name
        self.path = path
        self.compression = "gzip" if is_gzip else "none"
        content: Callable[[], Any] = partial(gzip.open if is_gzip else open, path, "rb")
        with self.refused(name), content() as file:
            head = file.read(HEAD)
        if not head.strip(b"\r\n\t \xef\xbb\xbf"):
            raise InputError(f"{name}: the file is empty; expected a header that names the columns, and rows below it")
        self.is_long = len(head) == HEAD
        if self.is_long:
            head = head[: max(head.rfind(b"\n"), head.rfind(b"\r")) + 1]
        self.first = head
        self.head = Delimited(name, head, Wanted(ROLES, columns))
        if self.head.encoding != "utf-8-sig":
            raise _no_utf8(name)
        self.whole = copy(self.head)
        self.whole.open = content
        self.header = self.head.header
        self.decimal_comma = self.head.decimal_comma

    def read(self, engine: Engine, places: Mapping[str, int], note: Note) -> None:
        """Write the columns as Parquet: labels as text, scores as numbers or else in the column ``other``."""
        stored = engine.file()
        self._write(engine, places, stored)
        cells = ", ".join(f"{role} AS c{place}" for role, place in places.items())
        source = f"read_parquet({quoted(stored)}, file_row_number = true)"
        self.rows = f"(SELECT {cells}, other, file_row_number FROM {source})"
        test = "bool_and({0} IS NULL OR coalesce({0} = TRY_CAST({0} AS UBIGINT)::VARCHAR, false))"
        whole = engine.first(f"SELECT {', '.join(test.format(f'c{places[role]}') for role in LABELS)} FROM {self.rows}")
        self.kinds = dict.fromkeys(places.values(), "DOUBLE")
        for role, is_whole in zip(LABELS, whole, strict=True):
            self.kinds[places[role]] = KEY if is_whole else TEXT
        # Scores such as "8: accept" mean what they mean in memory.
        texts = [text for [text] in engine.run(f"SELECT DISTINCT other FROM {self.rows} WHERE other IS NOT NULL")]
        if texts:
            # A number beside them tells scores such as 8/10 that not all have their maxima.
            [plain] = engine.first(f"SELECT count(c{places[SCORE.name]}) FROM {self.rows}")
            meaning = read_scores([*texts, *["0"] * bool(plain)], decimal_comma=self.decimal_comma)
            if meaning.unit:
                note(f"{self.name}: {meaning.unit}")
            if meaning.spelled.any():
                words = [text for text, is_word in zip(texts, meaning.spelled, strict=False) if is_word]
                among = ", ".join(map(quoted, words))
                [total] = engine.first(f"SELECT count(*) FROM {self.rows} WHERE other IN ({among})")
                named = quote_all(sorted(words))
                note(f"{self.name}: {total:,} scores read as missing ({named}): these reviews count as planned")
            self.other = f"other_{Folder(stored).name}"
            meant = {"number": meaning.number, "scored": meaning.scored, "bad": meaning.bad}
            meant = {name: values[: len(texts)] for name, values in meant.items()}
            engine.connection.register(self.other, {"text": np.array(texts, object), **meant})

    def first_rows(self, engine: Engine) -> tuple[str, bool]:
        """Return the path of a file of the first rows, and whether these are all."""
        return engine.file(self.first), not self.is_long

    def _write(self, engine: Engine, places: Mapping[str, int], target: str) -> None:
        table = self.head
        width = len(self.header)
        source = text_rows(self.path, table.delimiter, width, table.header_lines, '"', self.compression)
        cells = {role: CELL.format(f"c{place}") for role, place in places.items()}
        score = f"trim({cells[SCORE.name]})" if SCORE.name in cells else "NULL::VARCHAR"
        content = " OR ".join(f"trim(c{place}) <> ''" for place in range(width))
        number = POINT.format("written") if self.decimal_comma else "written"
        number = f"CASE WHEN NOT contains(written, '_') THEN TRY_CAST({number} AS DOUBLE) END"
        query = f"""
            SELECT reviewer, item, CASE WHEN isfinite(number) THEN number END AS score,
                CASE WHEN number IS NULL OR NOT isfinite(number) THEN written END AS other
            FROM (SELECT *, {number} AS number FROM (
                SELECT {cells[LABELS[0]]} AS reviewer, {cells[LABELS[1]]} AS item, {score} AS written
                FROM {source} WHERE {content}))
        """
        try:
            with self.refused(self.name):
                engine.run(f"COPY ({query}) TO {quoted(target)} (FORMAT parquet)")
        except InputError:
            self._expect_whole()  # which names the lines
            raise

    def further_scores(self, places: Mapping[str, int]) -> list[str]:
        """Return the names of columns that may be further criteria, by the first rows."""
        beside = [place for place in range(len(self.header)) if place not in places.values()]
        columns = self.head.read(beside, Problems()).columns
        comma = self.decimal_comma
        return [self.header[n] for n, column in zip(beside, columns, strict=True) if are_scores(column.values, comma)]

    def place(self, row: int) -> str:
        """Return how a message names a row, counted from 0."""
        return self.whole.place(next(islice(self.whole.numbered_rows(Problems()), row, None))[0])

    def _expect_whole(self) -> None:
        """Name the first rows that have another width than the header, reading as slowly as the standard library."""
        problems = Problems()
        width = len(self.header)
        rows = self.whole.numbered_rows(problems)
        try:
            for line, cells in islice(((line, len(row)) for line, row in rows if len(row) != width), LISTED):
                place = self.whole.place(line)
                problems.add(line, f"{place}: expected {width} cells as in the header, found {cells}")
        except UnicodeDecodeError as error:
            raise _no_utf8(self.name) from error
        problems.raise_any()


def _no_utf8(name: str) -> InputError:
    return InputError(f"{name}: expected text in UTF-8 from a table larger than memory; save it as UTF-8 or Parquet")


# All files as one table.


class Source:
    """Files as the view ``rows`` of an engine: file, row, reviewer, item and score, null where planned.

    Labels of a role are all text or all numbers.
    """

    def __init__(self, engine: Engine, paths: Iterable[Path], columns: Mapping[str, str], note: Note) -> None:
        self.names = expanded(paths)
        self.name = ", ".join(self.names)
        self.engine = engine
        self.paths = list(map(os.path.abspath, self.names))
        self.files = [_opened(engine, name, path, columns) for name, path in zip(self.names, self.paths, strict=True)]
        self.stamps = [_stamp(name, path) for name, path in zip(self.names, self.paths, strict=True)]
        headers = [file.header for file in self.files]
        for name, header in zip(self.names, headers, strict=True):
            if recognised(header, [CRITERION], columns):
                message = f"{name}: expected one row per review, as --stream reads them, found a column of criteria; "
                message += "write the rows of one criterion to a file of their own, or leave --stream out"
                raise InputError(message)
        require_named(headers, ROLES, columns)
        self.places = [
            locate(header, ROLES, columns_of(columns, name), name, note)
            for name, header in zip(self.names, headers, strict=True)
        ]
        self.note = note

    def read(self) -> None:
        """Find the rows of all files, create the view, and count."""
        self.starts = [0]
        for file, places in zip(self.files, self.places, strict=True):
            with self._reading(), file.refused(file.name):
                file.read(self.engine, places, self.note)
                self.starts.append(self.starts[-1] + self.engine.first(f"SELECT count(*) FROM {file.rows}")[0])
            if SCORE.name in places and (beside := file.further_scores(places)):
                self.note(_say_left_out(file.name, beside))
        self.n_rows: int = self.starts[-1]
        self._expect_types(SCORE.name, {NULLS, *WHOLE, *FLOATS}, "numbers as scores", "numbers")
        self.is_text = {role: TEXT in self._expect_types(role, {TEXT, KEY}, *_LABEL_TYPES) for role in LABELS}
        self.engine.run(f"CREATE VIEW rows AS {' UNION ALL '.join(map(self._select, range(len(self.files))))}")
        most = "0" if self.is_text[ITEM.name] else "coalesce(max(item), 0)"
        odd = "count_if(reviewer IS NULL OR item IS NULL OR bad)"
        with self.reading():
            counts = self.engine.run(f"SELECT file, count(score), {odd}, {most} FROM rows GROUP BY file")
        scored = {number: count for number, count, _, _ in counts}
        self.scored = [scored.get(number, 0) for number in range(len(self.files))]
        self.is_odd = any(odd for _, _, odd, _ in counts)
        self.largest = max((most for *_, most in counts), default=0)  # number of an item

    def labels(self, role: str) -> Any:
        """Return the distinct labels of a role, text or numbers, in the order of the table ``ROLE_labels``."""
        with self.reading():
            distinct = f"SELECT DISTINCT {role} AS label FROM rows WHERE {role} IS NOT NULL"
            self.engine.run(f"CREATE TABLE {role}_labels AS {distinct}")
            return self.engine.arrays(f"SELECT label FROM {role}_labels")[0]

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Refuse files that cannot be read."""
        with self._reading(), self.files[0].refused(self.name):
            yield

    def place(self, row: int) -> str:
        """Return the name of a row in messages."""
        file = bisect_right(self.starts, row) - 1
        return self.files[file].place(row - self.starts[file])

    def expect_whole(self, labels: Mapping[str, Sequence[str]]) -> None:
        """List the first rows with a missing label, or a score that is no number; ``labels`` are those in text."""
        blank = {
            role: [text for text, is_blank in zip(texts, missing_labels(texts), strict=True) if is_blank]
            for role, texts in labels.items()
        }
        if not self.is_odd and not any(blank.values()):
            return
        problems = Problems()
        for role in LABELS:
            empty = "".join(f" OR {role} = {quoted(text)}" for text in blank.get(role, ()))
            if self._note(problems, f"{role} IS NULL{empty}", partial(_say_empty, role)):
                problems.hint(f"If the {role} stands in another column, name it with --columns {role}=NAME")
        self._note(problems, "bad", lambda file, written: say_bad_score(written, (), self.files[file].decimal_comma))
        problems.raise_any()

    def _note(self, problems: Problems, condition: str, say: Callable[[int, str], str]) -> int:
        """Note the rows that meet a condition; returns their number."""
        count = int(self.engine.first(f"SELECT count(*) FROM rows WHERE {condition}")[0])
        first = f"SELECT file, row, written FROM rows WHERE {condition} ORDER BY row LIMIT {LISTED}"
        for file, row, written in self.engine.run(first):
            problems.file = file
            problems.add(row, f"{self.place(row)}: {say(file, written)}")
        problems.count += max(0, count - LISTED)
        return count

    def expect_uncorrected(self, columns: Mapping[str, str], duplicates: str, *, lower_is_better: bool) -> bool:
        """Refuse files in whose first rows the audit of a table in memory would correct or ask something.

        Findings about a table as a whole are looked for where the first rows are all, which is returned.
        """
        firsts: list[tuple[str, bool]] = []
        for file in self.files:
            with self._reading(), file.refused(file.name):
                firsts.append(file.first_rows(self.engine))
        names = dict(zip([path for path, _ in firsts], self.names, strict=True))

        def named(message: object) -> str:
            """Return a message with the names of the files that were asked for."""
            text = str(message)
            for path, name in names.items():
                text = text.replace(path, name)
            return re.sub("^reviews:", f"{self.name}:", text)

        audit = Uncorrected(note=lambda message: self.note(named(message)))
        are_whole = all(is_whole for _, is_whole in firsts)
        parts: list[Part] = []
        try:
            for path, name in names.items():
                own = columns_of(columns, name)
                table = open_table(path, FIELDS, own, _say_nothing, kind="reviews")
                _expect_plain(name, table)
                asked = Asked(own, (), duplicates, lower_is_better)
                parts.append(read_part(table, asked, audit, Problems(), _say_nothing))
            if are_whole:
                audit.of_table(together(parts))
        except InputError as error:
            raise InputError(named(error)) from error
        return are_whole

    def files_read(self) -> tuple[FileRead, ...]:
        """Return the files as they were read.

        They are read out of order, so SHA-256 takes another pass over their bytes.
        """
        read = []
        for number, (name, path, file) in enumerate(zip(self.names, self.paths, self.files, strict=True)):
            with file.refused(name), open(path, "rb") as opened:
                digest = hashlib.file_digest(opened, "sha256").hexdigest()
            rows = self.starts[number + 1] - self.starts[number]
            read.append(FileRead(name, (), rows, self.scored[number], (), digest, None, tuple(file.header)))
        self._expect_unchanged()
        return tuple(read)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Let the message be that a file has changed, where that is why it cannot be read."""
        try:
            yield
        except InputError:
            self._expect_unchanged()
            raise

    def _expect_unchanged(self) -> None:
        for name, path, stamp in zip(self.names, self.paths, self.stamps, strict=True):
            if _stamp(name, path) != stamp:
                message = f"{name}: expected a file that stays unchanged, found it changed while it was read; read it "
                message += "again once it is complete"
                raise InputError(message)

    def _select(self, number: int) -> str:
        """Return the SQL for the rows of a file."""
        file = self.files[number]
        cells = {role: f"c{place}" for role, place in self.places[number].items()}
        columns = [f"{cells[role]}::{TEXT if self.is_text[role] else KEY} AS {role}" for role in LABELS]
        score = "NULL::DOUBLE"
        written = "NULL::VARCHAR"
        rows = file.rows
        bad = "false"
        if SCORE.name in cells:
            score = f"{cells[SCORE.name]}::DOUBLE"
            written = f"{score}::VARCHAR"
            bad = f"coalesce(NOT isfinite({score}), false)"
        if file.other is not None:
            rows += f" LEFT JOIN {file.other} ON other = text"
            score = f"coalesce({score}, CASE WHEN scored THEN number END)"
            written = "other"
            bad = f"coalesce({file.other}.bad, false)"
        columns += [f"{score} AS score", f"file_row_number + {self.starts[number]} AS row", f"{number} AS file"]
        return f"SELECT {', '.join(columns)}, {written} AS written, {bad} AS bad FROM {rows}"

    def _expect_types(self, role: str, types: Collection[str], expected: str, advice: str) -> set[str]:
        """Return the types of the columns of a role, all among ``types``."""
        kinds = set()
        for file, places in zip(self.files, self.places, strict=True):
            kind = file.kinds[places[role]] if role in places else None
            if kind is not None and kind not in types:
                raise InputError(
                    f"{file.name}: column {quote(file.header[places[role]])}: expected {expected} in a table read by "
                    f"batches, found {kind.lower()}; write the column as {advice}, or leave out --stream"
                )
            kinds.add(kind or "")
        return kinds


#: What labels have to be, and what to do.
_LABEL_TYPES = ("text or whole numbers", "text")


def _opened(engine: Engine, name: str, path: str, columns: Mapping[str, str]) -> Parquet | Text:
    with refused(name, "file", "expected Parquet or text"), open(path, "rb") as file:
        magic = file.read(4)
    if magic == b"PAR1":
        return Parquet(engine, name, path)
    return Text(name, path, columns, is_gzip=magic.startswith(b"\x1f\x8b"))


def _say_nothing(message: object) -> None:
    pass


def _expect_plain(name: str, table: Table) -> None:
    if table.source is not None:
        raise InputError(f"{name}: expected a plain table, found a file of {table.source.system}; leave out --stream")


def _say_empty(role: str, file: int, written: str) -> str:
    return f"the {role} is empty"


def _say_left_out(name: str, beside: Sequence[str]) -> str:
    """Return a note on columns of numbers beside the score, which may be criteria."""
    verb = "is a column" if len(beside) == 1 else "are columns"
    return (
        f"{name}: of each review, --stream uses the score alone: {quote_all(beside)} {verb} of numbers that would "
        "otherwise be tried as further criteria, or as confidence"
    )


def _stamp(name: str, path: str) -> tuple[int, int, int]:
    """Return values that change if a file is written to or replaced."""
    with refused(name):
        status = os.stat(path)
    return status.st_ino, status.st_size, status.st_mtime_ns
