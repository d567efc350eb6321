"""DuckDB: it reads Parquet and large text, sorts tables larger than memory, and writes Parquet.

It takes longer to load than a small file to read, so that it is imported where an engine is opened.
"""

from __future__ import annotations

import codecs
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from glob import escape
from itertools import count, islice
from pathlib import Path as Folder
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import numpy as np

from reviewgraph._base.errors import InputError
from reviewgraph.formats.files import COLUMNS, PARQUET, TIMES, Problems, cut, quote
from reviewgraph.formats.tables import Column, Rows, Table

Result = TypeVar("Result")

#: Memory of DuckDB in MB: the least that it needs per thread, and what it takes to write a file.
LEAST_MEMORY = 64
WRITING = 1_000
#: Rows of a batch, in vectors of DuckDB, which have 2,048 each.
VECTORS = 488
#: Tables that one query joins: the time to plan it grows far faster than their number.
JOINS = 30
#: Parts of error messages of DuckDB, or of the system, that mean a full disk, and a lack of memory.
NO_ROOM = ("No space left", "max_temp_directory_size", "quota")
NO_MEMORY = "Out of Memory Error"
#: A temporary file in an error.
PREFIX = "reviewgraph-"
_TEMPORARY = re.compile(rf"""["']?[^"'\s]*{PREFIX}[^"'\s]*["']?""")

#: Types of columns of labels, and of numbers.
TEXT = "VARCHAR"
WHOLE = {f"{sign}{size}INT" for sign in ("", "U") for size in ("TINY", "SMALL", "BIG")} | {"INTEGER", "UINTEGER"}
FLOATS = {"FLOAT", "DOUBLE"}
#: Digits of the longest decimal numbers; DuckDB rounds longer ones, so that labels would be merged.
DIGITS = 38
NULLS = '"NULL"'


class Engine:
    """A database in memory, and its temporary folder.

    Queries run in a thread of their own, so that Ctrl-C ends them at once.
    """

    def __init__(self, connection: Any, folder: Folder, pool: Executor) -> None:
        self.connection = connection
        self.folder = folder
        self._pool = pool
        self._numbers = count()

    def run(self, query: str) -> list[tuple[Any, ...]]:
        return self._wait(lambda: self.connection.execute(query).fetchall())

    def first(self, query: str) -> tuple[Any, ...]:
        return self.run(query)[0]

    def arrays(self, query: str) -> list[Any]:
        """Return the columns of a query as arrays, which are masked where a value is null."""
        return list(self._wait(lambda: self.connection.execute(query).fetchnumpy()).values())

    def batches(self, query: str) -> Iterator[list[Any]]:
        """Return the rows of a query in batches, as they are computed; null numbers are NaN."""
        self._wait(lambda: self.connection.execute(query))
        while len(frame := self._wait(lambda: self.connection.fetch_df_chunk(VECTORS))):
            yield [frame[name].to_numpy() for name in frame]

    def file(self, data: bytes | memoryview = b"") -> str:
        """Return the path of a new file in the folder, with this content."""
        path = self.folder / str(next(self._numbers))
        try:
            path.write_bytes(data)
        except OSError as error:
            raise no_room(error) from error
        return str(path)

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
def engine_of(memory: int | None = None) -> Iterator[Engine]:
    """Open an engine that takes up to ``memory`` MB; by default, nearly all that there is.

    >>> with engine_of(100) as engine:
    ...     engine.first("SELECT 1 + 1")
    (2,)
    """
    import duckdb

    # Nothing is fetched from elsewhere.
    settings = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
    if memory is not None:
        memory = max(LEAST_MEMORY, memory)
        settings["memory_limit"] = f"{memory}MB"
        # Each thread takes memory that cannot be spilled.
        settings["threads"] = str(max(1, min(os.cpu_count() or 1, memory // LEAST_MEMORY)))
    try:
        temporary = TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True)
    except OSError as error:
        raise no_room(error) from error
    with temporary as folder:
        settings["temp_directory"] = folder
        with duckdb.connect(":memory:", config=settings) as connection, ThreadPoolExecutor(1) as pool:
            connection.execute("SET enable_progress_bar = false")  # which would be among the output
            yield Engine(connection, Folder(folder), pool)


def no_room(error: object) -> InputError:
    """Return the error of a temporary file that cannot be written."""
    reason = getattr(error, "strerror", None) or cut(error)
    return InputError(
        f"{tempfile.gettempdir()}: the temporary file cannot be written ({reason}); a table larger than memory "
        "needs about 60 bytes per row on disk, its posterior 130: set TMPDIR to a folder with room"
    )


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


@contextmanager
def refused(name: str, what: str = "Parquet file", advice: str = "write it anew, or use CSV") -> Iterator[None]:
    """Refuse a file that cannot be read, whatever the library raises."""
    try:
        yield
    except (InputError, MemoryError):
        raise
    except FileNotFoundError as error:
        raise InputError(f"{name}: no such file; expected a table with a header") from error
    except Exception as error:
        lines = [line for line in str(error).splitlines() if line.strip()]
        reason = _TEMPORARY.sub("it", " ".join(lines[:3]))
        raise InputError(f"{name}: the {what} cannot be read ({cut(reason)}); {advice}") from error


class ParquetFile:
    """Names and types of the columns of a Parquet file.

    ``rows`` is the SQL of its rows, numbered from 0 by ``file_row_number``; their columns are ``c0``, ``c1``, ...
    """

    def __init__(self, engine: Engine, path: str) -> None:
        self.source = quoted(escape(path))
        # DuckDB renames columns whose names differ in case only: names are from the schema, without inner columns.
        nodes = engine.run(
            f"SELECT name, coalesce(num_children, 0), coalesce(precision, 0) FROM parquet_schema({self.source})"
        )
        self.header: list[str] = []
        precisions: list[int] = []
        inner = 0
        for name, children, precision in nodes[1:]:
            if not inner:
                self.header.append(name)
                precisions.append(precision)
            inner += children - bool(inner)
        cells = ", ".join(f"c{place}" for place in range(len(self.header)))
        self.rows = f"read_parquet({self.source}, hive_partitioning = false) AS cells({cells})"
        self.kinds: list[str] = [kind for _, kind, *_ in engine.run(f"DESCRIBE SELECT {cells} FROM {self.rows}")]
        for place, digits in enumerate(precisions):
            if digits > DIGITS:
                self.kinds[place] = f"decimal of {digits} digits (up to {DIGITS} are read)"
        # Parquet has no type of durations: pandas writes whole numbers, and their meaning beside them.
        for [content] in engine.run(f"SELECT value FROM parquet_kv_metadata({self.source}) WHERE key = 'pandas'"):
            for column in json.loads(content).get("columns", ()):
                if str(column.get("numpy_type")).startswith("timedelta") and column.get("name") in self.header:
                    self.kinds[self.header.index(column["name"])] = "durations"


def text_rows(path: str, delimiter: str, width: int, skip: int = 0, quote: str = "", compression: str = "none") -> str:
    """Return the SQL of the rows of delimited text, whose columns are ``c0``, ``c1``, ...; an empty cell is null."""
    cells = ", ".join(f"'c{place}': 'VARCHAR'" for place in range(width))
    options = f"delim = {quoted(delimiter)}, quote = {quoted(quote)}, escape = {quoted(quote)}, columns = {{{cells}}}"
    options += f", auto_detect = false, header = false, skip = {skip}, compression = {quoted(compression)}"
    return f"read_csv({quoted(escape(path))}, {options})"


def coded(engine: Engine, rows: str, number: str, cells: Sequence[str]) -> list[Column]:
    """Return columns of text: ``rows`` is the SQL of their rows, ``number`` of the number of each, ``cells`` of cells.

    Values are in the order of their first rows.

    >>> with engine_of() as engine:
    ...     [column] = coded(engine, "(VALUES (0, 'b'), (1, 'a'), (2, 'b')) AS rows(row, cell)", "row", ["cell"])
    >>> column.codes.tolist(), column.values
    ([0, 1, 0], ['b', 'a'])
    """
    if len(cells) > JOINS:
        return [*coded(engine, rows, number, cells[:JOINS]), *coded(engine, rows, number, cells[JOINS:])]
    for place, cell in enumerate(cells):
        distinct = f"(SELECT DISTINCT {cell} AS value FROM {rows})"
        numbered = f"SELECT value, row_number() OVER () - 1 AS code FROM {distinct}"
        engine.run(f"CREATE OR REPLACE TABLE values_{place} AS {numbered}")
    row_cells = ", ".join(f"{cell} AS cell_{place}" for place, cell in enumerate(cells))
    codes = ", ".join(f"values_{place}.code::UINTEGER AS code_{place}" for place in range(len(cells)))
    # A left join loses no row, whatever DuckDB concludes from statistics in the file.
    joins = " ".join(f"LEFT JOIN values_{place} ON cell_{place} = values_{place}.value" for place in range(len(cells)))
    row, *read = engine.arrays(f"SELECT row, {codes} FROM (SELECT {number} AS row, {row_cells} FROM {rows}) {joins}")
    columns = []
    for place, codes_read in enumerate(read):
        [values] = engine.arrays(f"SELECT value FROM values_{place} ORDER BY code")
        code = np.empty(row.size, np.int64)
        code[row] = codes_read
        first = np.empty(values.size, np.int64)
        first[code[::-1]] = np.arange(row.size)[::-1]
        order = np.argsort(first)
        rank = np.empty(values.size, np.int64)
        rank[order] = np.arange(values.size)
        columns.append(Column(rank[code], values[order].tolist()))
    return columns


# Tables by DuckDB: large delimited text without quotes, and Parquet.

_NEWLINE = re.compile(rb"\r\n|\r|\n")


def read_plain(
    data: bytes, delimiter: str, width: int, positions: Sequence[int], header_lines: int
) -> list[Column] | None:
    """Return the columns at ``positions`` of delimited UTF-8 text without quotes, whose rows have ``width`` cells.

    None if a line is ragged, blank or otherwise unusual.
    """
    ends = islice(_NEWLINE.finditer(data), header_lines - 1, None) if header_lines else iter(())
    start = next((end.end() for end in ends), len(data) if header_lines else 0)
    if header_lines and data.startswith(codecs.BOM_UTF8, start):
        return None  # DuckDB would skip the byte order mark, which is part of the first label
    try:
        with engine_of() as engine:
            rows = text_rows(engine.file(memoryview(data)[start:]), delimiter, width)
            # One column may serve two purposes, as when titles name the papers.
            wanted = list(dict.fromkeys(positions))
            cells = ", ".join(f"coalesce(c{place}, '') AS c{place}" for place in wanted)
            engine.run(f"CREATE TABLE rows AS SELECT {cells} FROM {rows}")
            # DuckDB skips blank lines; then the line numbers, which messages need, are lost.
            if engine.first("SELECT count(*) FROM rows")[0] != _count_lines(data, start):
                return None
            columns = dict(zip(wanted, coded(engine, "rows", "rowid", [f"c{n}" for n in wanted]), strict=True))
    except Exception:  # whatever is unusual, or no room for a file: the standard library reads it
        return None
    return [columns[place] for place in positions]


def _count_lines(data: bytes, start: int) -> int:
    """Count the lines from ``start`` on without blank ones at the end; -1 if line ends are of several kinds."""
    end = len(data)
    while end > start and data[end - 1] in b"\r\n":
        end -= 1
    returns = data.count(b"\r", start, end)
    feeds = data.count(b"\n", start, end)
    if returns and returns != data.count(b"\r\n", start, end):
        return -1
    return feeds + 1 if end > start else 0


class Parquet(Table):
    """A Parquet file; numbers become text, whole ones without a point, nulls empty cells."""

    decimal_comma = False

    def __init__(self, name: str, data: bytes) -> None:
        self.name = name
        self.data = data
        with self._opened() as (_, file):
            self.header = file.header
            self.kinds = file.kinds
        COLUMNS.expect(name, len(self.header))
        self.unread = [place for place, kind in enumerate(self.kinds) if not _is_read(kind)]

    @contextmanager
    def _opened(self) -> Iterator[tuple[Engine, ParquetFile]]:
        with engine_of() as engine, refused(self.name):
            yield engine, ParquetFile(engine, engine.file(self.data))

    def place(self, line: int) -> str:
        return f"{self.name}: row {line}"

    def read(self, positions: Sequence[int], problems: Problems) -> Rows:
        for place in positions:
            if not _is_read(self.kinds[place]):
                found = self.kinds[place].lower()
                message = f"{self.name}: column {quote(self.header[place])}: expected text or numbers, found {found}"
                raise InputError(message)
        wanted = list(dict.fromkeys(positions))
        cells = [f"coalesce(c{place}{'::DOUBLE' * (self.kinds[place] in FLOATS)}::VARCHAR, '')" for place in wanted]
        with self._opened() as (engine, source):
            self._expect_bounded(engine, source, len(positions))
            columns = dict(zip(wanted, coded(engine, source.rows, "file_row_number", cells), strict=True))
        for place, column in columns.items():
            if self.kinds[place] in FLOATS:
                column.values[:] = [str(float(text)) if text else "" for text in column.values]
            if self.kinds[place] != TEXT:
                column.values[:] = [text.removesuffix(".0") for text in column.values]
        rows = columns[wanted[0]].codes.size
        return Rows([columns[place] for place in positions], range(1, rows + 1))

    def _expect_bounded(self, engine: Engine, source: ParquetFile, n_columns: int) -> None:
        """Refuse a file that would take far more memory than it has bytes, by its metadata."""
        [unpacked] = engine.first(f"SELECT sum(total_uncompressed_size) FROM parquet_metadata({source.source})")
        [rows] = engine.first(f"SELECT num_rows FROM parquet_file_metadata({source.source})")
        # A cell takes eight bytes in memory, however few in the file.
        most = max(PARQUET.most, TIMES * len(self.data))
        PARQUET._replace(most=most).expect(self.name, max(unpacked or 0, 8 * n_columns * rows))


def _is_read(kind: str) -> bool:
    return kind in {TEXT, "BOOLEAN", NULLS, *FLOATS, *WHOLE} or kind.startswith("DECIMAL")


def parquet_parts(blocks: Iterable[Mapping[str, Sequence[Any]]], kinds: Mapping[str, str]) -> Iterator[bytes]:
    """Return columns that come in blocks of rows as one Parquet file, part by part.

    ``kinds`` are SQL types of columns by name; others are floating-point numbers.
    """
    with engine_of(WRITING) as engine:
        verb = "CREATE TABLE rows AS"
        for block in blocks:
            types = {name: kinds.get(name, "DOUBLE") for name in block}
            arrays = {name: np.array(block[name], object if types[name] == TEXT else np.float64) for name in block}
            engine.connection.register("block", arrays)
            cells = ", ".join(f'"{name}"::{kind} AS "{name}"' for name, kind in types.items())
            engine.run(f"{verb} SELECT {cells} FROM block")
            verb = "INSERT INTO rows"
        path = engine.file()
        engine.run(f"COPY rows TO {quoted(path)} (FORMAT parquet)")
        with open(path, "rb") as file:
            yield from iter(partial(file.read, 1 << 20), b"")
