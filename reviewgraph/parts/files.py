"""Files of reviews that may be larger than memory, which DuckDB reads as one table."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import os
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from glob import escape, glob, has_magic
from itertools import islice
from pathlib import Path as Folder
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias, TypeVar, overload

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from reviewgraph._base.errors import InputError
from reviewgraph._base.storing import FileRead
from reviewgraph.formats.columns import CRITERION, ITEM, REVIEWER, SCORE, columns_of, locate, recognised, require_named
from reviewgraph.formats.delimited import Delimited, refused, say_quoting
from reviewgraph.formats.files import LISTED, Problems, cut, quote, quote_all
from reviewgraph.formats.values import are_scores, missing_labels, read_scores, say_bad_score
from reviewgraph.parts.parts import no_room

if TYPE_CHECKING:
    from reviewgraph.formats.tables import Path

Result = TypeVar("Result")

Note: TypeAlias = Callable[[str], object]

ROLES = (REVIEWER, ITEM, SCORE)
LABELS = (REVIEWER.name, ITEM.name)
#: Types of keys and of text.
TYPES = (pa.uint64(), pa.large_string())
#: Bytes of a text file in which its header is looked for.
HEAD = 1 << 18

#: SQL: numbers whose order is the natural order of labels, 0, 1, 2, ..., then -1, -2, ...
KEY = "CASE WHEN {0} < 0 THEN (-({0} + 1))::UBIGINT + 9223372036854775808 ELSE {0}::UBIGINT END"
#: SQL: a cell without the apostrophe by which :func:`~reviewgraph._base.storing.guarded` keeps spreadsheets off it.
CELL = "CASE WHEN starts_with({0}, '''') THEN regexp_replace({0}, '^''([=+@\\t\\r-])', '\\1') ELSE {0} END"
#: SQL: a cell with a decimal comma, as one with a point.
POINT = "CASE WHEN contains({0}, ',') THEN regexp_replace({0}, '([0-9]),([0-9])', '\\1.\\2') ELSE {0} END"


# DuckDB, which reads, codes and sorts; what it spills is in a folder that is deleted.

#: What ``python -m pip install`` takes to install DuckDB.
EXTRA = "'reviewgraph[stream]'"
#: Memory of DuckDB: bytes per row of a batch, and the least that it needs per thread, in MB.
ROW_BYTES = 256
LEAST_MEMORY = 64
#: Words of errors of DuckDB, or of the system in them, that stand for a full disk, and for a lack of memory.
NO_ROOM = ("No space left", "max_temp_directory_size", "quota")
NO_MEMORY = "Out of Memory Error"


class Engine:
    """A database in memory, and its temporary folder.

    Queries run in a thread of their own, so that Ctrl-C ends them at once.
    """

    def __init__(self, connection: Any, folder: Folder, pool: Executor) -> None:
        self.connection = connection
        self.folder = folder
        self._pool = pool

    def run(self, query: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        return self._wait(lambda: self.connection.execute(query).fetchall())

    def first(self, query: str) -> tuple[Any, ...]:
        """Return the one row that a query returns."""
        return self.run(query)[0]

    def batches(self, query: str) -> Iterator[Any]:
        """Return the rows of a query in batches of Arrow, as they are computed."""
        reader = self._wait(lambda: pa.RecordBatchReader.from_stream(self.connection.sql(query)))
        while (batch := self._wait(lambda: next(reader, None))) is not None:
            yield batch

    def _wait(self, task: Callable[[], Result]) -> Result:
        future = self._pool.submit(task)
        try:
            return future.result()
        except Exception as error:
            if any(word in str(error) for word in NO_ROOM):
                raise no_room(error) from error
            if NO_MEMORY in str(error):
                raise MemoryError(cut(error)) from error
            raise
        except BaseException:
            self.connection.interrupt()
            raise


@contextmanager
def engine_of(batch: int) -> Iterator[Engine]:
    """Open an engine that takes memory in proportion to the rows of a batch.

    >>> with engine_of(1000) as engine:
    ...     engine.first("SELECT 1 + 1")
    (2,)
    """
    try:
        import duckdb
    except ImportError as error:
        message = f"tables larger than memory: expected the package duckdb, found none; to install: pip install {EXTRA}"
        raise InputError(message) from error
    try:
        temporary = TemporaryDirectory(prefix="reviewgraph-", ignore_cleanup_errors=True)
    except OSError as error:
        raise no_room(error) from error
    with temporary as folder:
        memory = max(LEAST_MEMORY, batch * ROW_BYTES >> 20)
        settings = {
            "memory_limit": f"{memory}MB",
            # Each thread takes memory that cannot be spilled.
            "threads": str(max(1, min(os.cpu_count() or 1, memory // LEAST_MEMORY))),
            "temp_directory": folder,
            "arrow_large_buffer_size": "true",
            # Nothing is fetched from elsewhere.
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
        }
        with duckdb.connect(":memory:", config=settings) as connection, ThreadPoolExecutor(1) as pool:
            connection.execute("SET enable_progress_bar = false")  # which would be among the output
            yield Engine(connection, Folder(folder), pool)


# The files of reviews.


class Labels(Sequence[str]):
    """Labels in natural order, held by Arrow or NumPy and converted to text on access."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return list(map(str, self.values[place].tolist()))
        label = self.values[place]
        return str(label.as_py() if isinstance(label, pa.Scalar) else label)


# Files by name, and patterns.


def expanded(paths: Iterable[Path]) -> list[str]:
    """Return the names of files, patterns such as ``part-*.parquet`` replaced by the files that match, in order.

    Files are read more than once, so addresses and pipes are refused.

    >>> expanded(["scores.parquet"])
    ['scores.parquet']
    """
    names: list[str] = []
    for name in map(str, paths):
        if "://" in name or Folder(name).is_fifo():
            message = f"{name}: cannot be read (expected a file on this machine); download it, or save it, first"
            raise InputError(message)
        if not has_magic(name) or os.path.exists(name):
            names.append(name)
            continue
        matching = sorted(glob(name, recursive=True))
        if not matching:
            message = f"{name}: expected a file or a pattern that matches files, found none"
            raise InputError(message)
        names += matching
    return names


# Files by format: where DuckDB finds their rows.


class Parquet:
    """A Parquet file: its header, and where DuckDB finds its columns, by role, and their types."""

    def __init__(self, name: str, path: str) -> None:
        self.name = name
        self.path = path
        with refused(name):
            self.schema = pyarrow.parquet.read_schema(path)
        self.header: list[str] = list(self.schema.names)
        self.rows = _parquet(path, [f"c{place}" for place in range(len(self.header))])
        self.refused = refused
        self.decimal_comma = False
        self.other: str | None = None

    def read(self, engine: Engine, places: Mapping[str, int], number: int, note: Note) -> None:
        """Look up the columns at the places of the roles."""
        self.places = places
        self.cells = {role: f"c{place}" for role, place in places.items()}
        kinds = {role: self.schema.field(place).type for role, place in places.items()}
        self.kinds = {role: kind.value_type if pa.types.is_dictionary(kind) else kind for role, kind in kinds.items()}

    def further_scores(self, places: Mapping[str, int]) -> list[str]:
        """Return the names of columns that may be further criteria."""
        beside = [field for place, field in enumerate(self.schema) if place not in places.values()]
        return [field.name for field in beside if _is_number(field.type)]

    def place(self, row: int) -> str:
        """Return how a message names a row, counted from 0."""
        return f"{self.name}: row {row + 1}"


def _parquet(path: str, names: Sequence[str]) -> str:
    """Return the SQL for the rows of a Parquet file, its columns renamed, and numbered by ``file_row_number``."""
    options = "file_row_number = true, hive_partitioning = false"
    return f"read_parquet({_quoted(escape(path))}, {options}) AS cells({', '.join(names)})"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _is_number(kind: Any) -> bool:
    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind))


class Text:
    """A file of delimited text, UTF-8, perhaps compressed by gzip, which DuckDB rewrites as Parquet.

    So it is parsed once, and its rows have numbers.
    """

    def __init__(self, name: str, path: str, columns: Mapping[str, str]) -> None:
        self.name = name
        self.path = path
        with refused_text(name), self._bytes() as file:
            head = file.read(HEAD)
        if not head.strip(b"\r\n\t \xef\xbb\xbf"):
            message = f"{name}: the file is empty; expected a header that names the columns, and rows below it"
            raise InputError(message)
        if len(head) == HEAD:
            head = head[: max(head.rfind(b"\n"), head.rfind(b"\r")) + 1]
        self.table = Delimited(name, head, ROLES, columns, lambda _: None)
        if self.table.encoding != "utf-8-sig":
            raise _no_utf8(name)
        self.header, self.refused, self.decimal_comma = self.table.header, refused_text, self.table.decimal_comma
        self.other: str | None = None

    def read(self, engine: Engine, places: Mapping[str, int], number: int, note: Note) -> None:
        """Write the columns as Parquet: labels as text, scores as numbers or else in the column ``other``."""
        self.places = places
        stored = str(engine.folder / f"{number}.parquet")
        self._write(engine, places, stored)
        self.rows = _parquet(stored, [*LABELS, SCORE.name, "other"])
        self.cells = {role: role for role in places}
        test = "bool_and({0} IS NULL OR coalesce({0} = TRY_CAST({0} AS BIGINT)::VARCHAR, false))"
        whole = engine.first(f"SELECT {', '.join(map(test.format, LABELS))} FROM {self.rows}")
        self.kinds = {
            role: pa.int64() if is_whole else pa.string() for role, is_whole in zip(LABELS, whole, strict=True)
        }
        self.kinds[SCORE.name] = pa.float64()
        # Scores such as "8: accept" mean what they mean in memory.
        texts = [text for [text] in engine.run(f"SELECT DISTINCT other FROM {self.rows} WHERE other IS NOT NULL")]
        if texts:
            # A number beside them tells scores such as 8/10 that not all have their maxima.
            [plain] = engine.first(f"SELECT count(score) FROM {self.rows}")
            meaning = read_scores([*texts, *["0"] * bool(plain)], decimal_comma=self.table.decimal_comma)
            meaning = meaning.first(len(texts))
            if meaning.unit:
                note(f"{self.name}: {meaning.unit}")
            meant = pa.array(meaning.number, mask=~meaning.scored)
            self.other = f"other_{os.path.basename(stored).partition('.')[0]}"
            if meaning.spelled.any():
                words = [text for text, is_word in zip(texts, meaning.spelled, strict=True) if is_word]
                among = ", ".join(map(_quoted, words))
                [total] = engine.first(f"SELECT count(*) FROM {self.rows} WHERE other IN ({among})")
                named = quote_all(sorted(words))
                note(f"{self.name}: {total:,} scores read as missing ({named}): these reviews count as planned")
            engine.connection.register(self.other, pa.table({"text": texts, "number": meant, "bad": meaning.bad}))

    def _write(self, engine: Engine, places: Mapping[str, int], target: str) -> None:
        names = ", ".join(f"'c{n}': 'VARCHAR'" for n in range(len(self.header)))
        options = f"delim = {_quoted(self.table.delimiter)}, quote = '\"', escape = '\"', columns = {{{names}}}"
        options += f", auto_detect = false, header = false, skip = {self.table.header_lines}"
        options += f", compression = {_quoted('gzip' if self._is_gzip else 'none')}"
        cells = {role: CELL.format(f"c{place}") for role, place in places.items()}
        score = f"trim({cells[SCORE.name]})" if SCORE.name in cells else "NULL::VARCHAR"
        content = " OR ".join(f"trim(c{place}) <> ''" for place in range(len(self.header)))
        number = POINT.format("written") if self.table.decimal_comma else "written"
        number = f"CASE WHEN NOT contains(written, '_') THEN TRY_CAST({number} AS DOUBLE) END"
        query = f"""
            SELECT reviewer, item, CASE WHEN isfinite(number) THEN number END AS score,
                CASE WHEN number IS NULL OR NOT isfinite(number) THEN written END AS other
            FROM (SELECT *, {number} AS number FROM (
                SELECT {cells[LABELS[0]]} AS reviewer, {cells[LABELS[1]]} AS item, {score} AS written
                FROM read_csv({_quoted(escape(self.path))}, {options}) WHERE {content}))
        """
        try:
            with refused_text(self.name):
                engine.run(f"COPY ({query}) TO {_quoted(target)} (FORMAT parquet)")
        except InputError:
            self._expect_whole()  # which names the lines
            raise

    def further_scores(self, places: Mapping[str, int]) -> list[str]:
        """Return the names of columns that may be further criteria, by the first rows."""
        beside = [place for place in range(len(self.header)) if place not in places.values()]
        columns = self.table.read(beside, Problems()).columns
        comma = self.table.decimal_comma
        return [self.header[n] for n, column in zip(beside, columns, strict=True) if are_scores(column.values, comma)]

    def place(self, row: int) -> str:
        """Return how a message names a row, counted from 0."""
        return self.table.place(next(islice(self._rows(), row, None))[0])

    def _expect_whole(self) -> None:
        """Name the first rows that have another width than the header."""
        problems = Problems()
        width = len(self.header)
        for line, cells in islice(((line, len(row)) for line, row in self._rows() if len(row) != width), LISTED):
            problems.add(0, line, f"{self.table.place(line)}: expected {width} cells as in the header, found {cells}")
        problems.raise_any()

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """Read all rows below the header, each with its line, as slowly as the standard library does."""
        with self._bytes() as file, io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as text:
            reader = csv.reader(text, delimiter=self.table.delimiter, strict=True)
            last = 0
            try:
                for row in reader:
                    if last >= self.table.header_lines and any(map(str.strip, row)):
                        yield last + 1, row
                    last = reader.line_num
            except csv.Error as error:
                message = f"{self.table.place(last + 1)}: {say_quoting(error)}"
                raise InputError(message) from error
            except UnicodeDecodeError as error:
                raise _no_utf8(self.name) from error

    @property
    def _is_gzip(self) -> bool:
        with open(self.path, "rb") as file:
            return file.read(2) == b"\x1f\x8b"

    def _bytes(self) -> BinaryIO:
        return gzip.open(self.path) if self._is_gzip else open(self.path, "rb")  # type: ignore[return-value]


def _no_utf8(name: str) -> InputError:
    return InputError(f"{name}: expected text in UTF-8 from a table larger than memory; save it as UTF-8 or Parquet")


@contextmanager
def refused_text(name: str) -> Iterator[None]:
    """Refuse a text file that cannot be read, whatever the library raises."""
    try:
        yield
    except (InputError, MemoryError):
        raise
    except FileNotFoundError as error:
        message = f"{name}: no such file; expected a table with a header"
        raise InputError(message) from error
    except Exception as error:
        lines = [line for line in str(error).splitlines() if line.strip()]
        message = f"{name}: the text cannot be read ({cut(' '.join(lines[:3]))}); correct it, or write it as Parquet"
        raise InputError(message) from error


# All files as one table.


class Source:
    """Files as the view ``rows`` of an engine: reviewer, item, score, row; labels of a role are all text or all keys.

    A key is a number; keys are in the natural order of the labels. Of a planned review the score is null.
    """

    def __init__(self, engine: Engine, paths: Sequence[Path], columns: Mapping[str, str], note: Note) -> None:
        self.names = expanded(paths)
        self.engine = engine
        self.paths = list(map(os.path.abspath, self.names))
        self.files = [_opened(name, path, columns) for name, path in zip(self.names, self.paths, strict=True)]
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
        self.scored = list[int]()
        self.note = note
        self.starts = [0]
        self._odd = 0
        self.largest = 0  # key of an item

    def read(self) -> None:
        """Find the rows of all files, count them, and create the view."""
        for number, (file, places) in enumerate(zip(self.files, self.places, strict=True)):
            with self._reading():
                file.read(self.engine, places, number, self.note)
            if SCORE.name in places and (beside := file.further_scores(places)):
                self.note(_say_left_out(file.name, beside))
        self.kinds = {role: self._kind(role) for role in LABELS}
        self._expect_numbers()
        for file in self.files:
            self._look(file)
        self.engine.run(f"CREATE VIEW rows AS {' UNION ALL '.join(map(self._select, range(len(self.files))))}")

    @property
    def n_rows(self) -> int:
        """Rows of all files."""
        return int(self.starts[-1])

    def is_text(self, role: str) -> bool:
        """Whether the labels of a role are text."""
        return bool(self.kinds[role] == pa.large_string())

    def labels(self, role: str) -> Any:
        """Return the distinct labels of a role, text or keys."""
        batches = self.batches(f"SELECT DISTINCT {role} FROM rows WHERE {role} IS NOT NULL")
        return pa.chunked_array([batch.column(0) for batch in batches], TYPES[self.is_text(role)]).combine_chunks()

    def batches(self, query: str) -> Iterator[Any]:
        """Return the rows of a query in batches of Arrow, as they are computed."""
        with self._reading(), self.files[0].refused(", ".join(self.names)):
            yield from self.engine.batches(query)

    def labels_of(self, role: str, keys: Any) -> Labels:
        """Return the labels that are these keys."""
        if pa.types.is_unsigned_integer(self.kinds[role]):
            return Labels(keys)
        values = keys.view(np.int64)
        most = np.int64(2**63 - 1)
        return Labels(np.where(values < 0, ~(values & most), values))

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
        if not self._odd and not any(blank.values()):
            return
        problems = Problems()
        for number, file in enumerate(self.files):
            for role in LABELS:
                empty = "".join(f" OR {role} = {_quoted(text)}" for text in blank.get(role, ()))
                if self._note(problems, number, f"{role} IS NULL{empty}", f"the {role} is empty".format):
                    problems.hint(f"If the {role} stands in another column, name it with --columns {role}=NAME")
            self._note(problems, number, "bad", partial(say_bad_score, scale=(), decimal_comma=file.decimal_comma))
        problems.raise_any()

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

    def _look(self, file: Parquet | Text) -> None:
        """Count the rows of the next file, those with a score, and malformed ones."""
        number = len(self.starts) - 1
        counts = "count(*), count(score), coalesce(count_if(reviewer IS NULL OR item IS NULL OR bad), 0)"
        counts += ", 0" if self.is_text(ITEM.name) else ", coalesce(max(item), 0)"
        with self._reading(), file.refused(file.name):
            rows, scored, odd, most = self.engine.first(f"SELECT {counts} FROM ({self._select(number)})")
        self.starts.append(self.starts[-1] + rows)
        self.scored.append(scored)
        self._odd += odd
        self.largest = max(self.largest, most)

    def _select(self, number: int) -> str:
        """Return the SQL for the rows of a file."""
        file = self.files[number]
        columns = [f"{self._label(file, role)} AS {role}" for role in LABELS]
        score = "NULL::DOUBLE"
        written = "NULL::VARCHAR"
        rows = file.rows
        bad = "false"
        if SCORE.name in file.cells:
            score = f"{file.cells[SCORE.name]}::DOUBLE"
            written = f"{score}::VARCHAR"
            bad = f"coalesce(NOT isfinite({score}), false)"
        if file.other is not None:
            rows += f" LEFT JOIN {file.other} ON other = text"
            score = f"coalesce({score}, number)"
            written = "other"
            bad = f"coalesce({file.other}.bad, false)"
        columns += [f"{score} AS score", f"file_row_number + {self.starts[number]} AS row"]
        return f"SELECT {', '.join(columns)}, {written} AS written, {bad} AS bad FROM {rows}"

    def _label(self, file: Parquet | Text, role: str) -> str:
        cell = file.cells[role]
        if self.is_text(role):
            return f"{cell}::VARCHAR"
        if pa.types.is_unsigned_integer(self.kinds[role]):
            return f"{cell}::UBIGINT"
        return KEY.format(f"{cell}::BIGINT")

    def _note(self, problems: Problems, number: int, condition: str, say: Callable[[str], str]) -> int:
        """Note the rows of a file that meet a condition; returns their number."""
        rows = f"FROM ({self._select(number)}) WHERE {condition}"
        count = int(self.engine.first(f"SELECT count(*) {rows}")[0])
        for row, written in self.engine.run(f"SELECT row, written {rows} ORDER BY row LIMIT {LISTED}"):
            problems.add(number, row, f"{self.place(row)}: {say(written)}")
        problems.count += max(0, count - LISTED)
        return count

    def _types(self, role: str) -> Iterator[tuple[str, str, Any]]:
        for file in self.files:
            if role in file.cells:
                yield file.name, file.header[file.places[role]], file.kinds[role]

    def _kind(self, role: str) -> Any:
        """Return the type of the labels of a role: whole numbers if all files have them, otherwise text."""
        numbers = True
        for name, header, kind in self._types(role):
            text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
            if not text and not pa.types.is_integer(kind):
                message = (
                    f"{name}: column {quote(header)}: expected text or whole numbers in a table read by batches, "
                    f"found {kind}; write the column as text, or leave out --stream"
                )
                raise InputError(message)
            numbers = numbers and not text
        unsigned = all(pa.types.is_unsigned_integer(kind) for _, _, kind in self._types(role))
        return (pa.uint64() if unsigned else pa.int64()) if numbers else pa.large_string()

    def _expect_numbers(self) -> None:
        for name, header, kind in self._types(SCORE.name):
            if not _is_number(kind) and not pa.types.is_null(kind):
                message = (
                    f"{name}: column {quote(header)}: expected numbers as scores in a table read by batches, found "
                    f"{kind}; write the column as numbers, or leave out --stream"
                )
                raise InputError(message)


def _opened(name: str, path: str, columns: Mapping[str, str]) -> Parquet | Text:
    with refused(name), open(path, "rb") as file:
        magic = file.read(4)
    return Parquet(name, path) if magic == b"PAR1" else Text(name, path, columns)


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
