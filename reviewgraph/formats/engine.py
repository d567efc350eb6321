"""DuckDB: it reads Parquet and large text, sorts tables larger than memory, and writes Parquet.

It takes longer to load than a small file to read, so that it is imported where an engine is opened.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from glob import escape
from itertools import count
from pathlib import Path as Folder
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import numpy as np

from reviewgraph._base.errors import InputError
from reviewgraph.formats.files import cut
from reviewgraph.formats.tables import Column

Result = TypeVar("Result")

#: Memory of DuckDB in MB: the least that it needs per thread, and what it takes to write a file.
LEAST_MEMORY = 64
WRITING = 1_000
#: Rows of a batch, in vectors of DuckDB, which have 2,048 each.
VECTORS = 488
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
    for place, cell in enumerate(cells):
        distinct = f"SELECT DISTINCT {cell} AS value FROM {rows}"
        engine.run(f"CREATE TABLE values_{place} AS SELECT value, row_number() OVER () - 1 AS code FROM ({distinct})")
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
