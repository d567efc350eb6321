"""DuckDB, which reads, codes and sorts tables larger than memory; what it spills is in a folder that is deleted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import pyarrow as pa

from reviewgraph._base.arrays import FloatArray
from reviewgraph._base.errors import InputError
from reviewgraph.formats.files import cut
from reviewgraph.streams.spill import Spill, no_room

Result = TypeVar("Result")

#: What ``python -m pip install`` takes to install DuckDB.
EXTRA = "'reviewgraph[stream]'"
#: Memory of DuckDB: bytes per row of a batch, and the least that it needs, in MB.
ROW_BYTES, LEAST_MEMORY = 256, 64
#: Words of errors of DuckDB, or of the system in them, that stand for a full disk, and for a lack of memory.
NO_ROOM, NO_MEMORY = ("No space left", "max_temp_directory_size", "quota"), "Out of Memory Error"


class Engine:
    """A database in memory, and its temporary folder.

    Queries run in a thread of their own, so that Ctrl-C ends them at once.
    """

    def __init__(self, connection: Any, folder: Path, pool: Executor) -> None:
        self.connection, self.folder, self._pool = connection, folder, pool

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
def opened(batch: int) -> Iterator[Engine]:
    """Open an engine that takes memory in proportion to the rows of a batch.

    >>> with opened(1000) as engine:
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
        settings = {
            "memory_limit": f"{max(LEAST_MEMORY, batch * ROW_BYTES >> 20)}MB",
            "temp_directory": folder,
            "arrow_large_buffer_size": "true",
            # Nothing is fetched from elsewhere.
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
        }
        with duckdb.connect(":memory:", config=settings) as connection, ThreadPoolExecutor(1) as pool:
            connection.execute("SET enable_progress_bar = false")  # which would be among the output
            yield Engine(connection, Path(folder), pool)


def sort_numbers(parts: Callable[[], Iterable[FloatArray]], batch: int, into: Spill) -> None:
    """Write numbers in ascending order.

    >>> with Spill("<f8") as spill:
    ...     sort_numbers(lambda: [np.array([3.0, -1.0]), np.array([2.0])], 1000, spill)
    ...     spill.read(0, 3).tolist()
    [-1.0, 2.0, 3.0]
    """
    schema = pa.schema({"number": pa.float64()})
    batches = (pa.record_batch([pa.array(part)], schema=schema) for part in parts())
    with opened(batch) as engine:
        engine.connection.register("numbers", pa.RecordBatchReader.from_batches(schema, batches))
        for part in engine.batches("SELECT number FROM numbers ORDER BY number"):
            into.append(part.column(0).to_numpy())
