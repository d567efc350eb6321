"""Tables in parts on a Dask cluster: reviewers on the workers, vectors over items with the caller.

Every task is a function of its arguments, so that Dask repeats those of a worker that died; parts, vectors and, every
few steps, what steps have changed are in files that all workers see, so that little is repeated.
"""

from __future__ import annotations

import pickle
import re
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from itertools import count
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from reviewgraph._base.arguments import checked
from reviewgraph._base.arrays import CodeArray
from reviewgraph._base.errors import InputError
from reviewgraph.formats.columns import Origin, locate
from reviewgraph.formats.files import cut
from reviewgraph.parts.disk import BATCH, sorted_reviews
from reviewgraph.parts.files import ROLES
from reviewgraph.parts.parts import Answer, Part, PartedReviews, Parts, Vectors, opened, pieces

if TYPE_CHECKING:
    from reviewgraph._base.results import Progress
    from reviewgraph.formats.spellings import Merge
    from reviewgraph.table.rows import Duplicates

#: A result on the cluster, or one yet to come.
Future: TypeAlias = Any

#: Steps after which what they changed is stored in files: the most that are repeated when a worker dies.
STORE_AFTER = 5


@contextmanager
def reporting() -> Iterator[None]:
    """Turn the errors of a cluster that is not there, or no longer, into one message."""
    try:
        from distributed import CancelledError, client
        from distributed.comm import CommClosedError
        from distributed.scheduler import KilledWorker
    except ImportError as error:
        message = f"cluster: needs dask and distributed ({error}): pip install 'reviewgraph[cluster]'"
        raise InputError(message) from error
    closed = getattr(client, "ClosedClientError", CancelledError)  # of newer versions
    try:
        yield
    except (CancelledError, CommClosedError, TimeoutError, ConnectionError, closed) as error:
        raise InputError(
            f"cluster: expected a Dask scheduler that answers, found none ({str(error) or type(error).__name__}); "
            "start it with 'dask scheduler', or check its address"
        ) from error
    except KilledWorker as error:
        message = f"cluster: workers died again and again at one task ({error}): more memory or partitions are needed"
        raise InputError(message) from error


@contextmanager
def cluster_at(address: str) -> Iterator[Any]:
    """Open a client of the scheduler at an address."""
    with reporting():
        from distributed import Client

        try:
            client = Client(address, timeout="10s")
        except (ValueError, OSError) as error:
            message = f"cluster: expected the address of a Dask scheduler that answers, found {address!r} ({error})"
            raise InputError(message) from error
    with client:
        yield client


class Cluster:
    """A client of a cluster, and a folder that it and all workers see.

    Parameters
    ----------
    client
        Client of the scheduler.
    folder
        The folder.
    """

    def __init__(self, client: Any, folder: Path) -> None:
        self.client = client
        self.folder = folder
        self._numbers = count()

    def each(self, function: Callable[..., Any], *values: Sequence[Any], **same: Any) -> list[Future]:
        """Apply a function to the values of every part; ``same`` goes to all of them."""
        with reporting():
            return list(self.client.map(function, *map(list, values), pure=False, **same))

    def fetch(self, futures: Sequence[Future]) -> Iterator[Any]:
        """Return values to the caller, one after another; an interrupt cancels what is left."""
        for future in futures:
            try:
                with reporting():
                    [value] = self.client.gather([future])
            except KeyboardInterrupt:
                self.client.cancel(list(futures), force=True)
                raise
            yield value

    def put(self, values: Iterable[Any]) -> Stored:
        """Write values of the caller to files."""
        number = next(self._numbers)
        return Stored([_store(value, str(self.folder / f"{number}-{n}")) for n, value in enumerate(values)])

    def store(self, values: Sequence[Future]) -> Stored:
        """Write values of workers to files; what led to the values can be forgotten by the scheduler."""
        number = next(self._numbers)
        paths = [str(self.folder / f"{number}-{place}") for place in range(len(values))]
        return Stored(list(self.fetch(self.each(_store, values, paths))))


class Stored:
    """Files with a value each, which are removed with the last reference to this object."""

    def __init__(self, paths: list[str]) -> None:
        self.paths = paths
        weakref.finalize(self, _remove, paths)


def _remove(paths: Sequence[str]) -> None:
    for path in paths:
        Path(path).unlink(missing_ok=True)


def _store(value: Any, path: str) -> str:
    """Write a value to a file, whole or not at all."""
    folder = Path(path).parent
    try:
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            pickle.dump(value, file, protocol=5)
        Path(file.name).replace(path)
    except OSError as error:
        raise InputError(
            f"folder: {folder.parent} cannot be written ({error.strerror or error}); a table needs about 25 bytes per "
            "review there, and its posterior up to 200 more"
        ) from error
    return path


def _load(path: str) -> Any:
    with open(path, "rb") as file:
        return pickle.load(file)  # noqa: S301 - written by the workers of this table


class ClusterParts(Parts):
    """States on the workers of a cluster: what is fixed, and what steps change, which is stored every few of them.

    Parameters
    ----------
    cluster
        The cluster.
    fixed
        Of each part the reviews, in a file: a state that changes has them as its field ``part``.
    changing
        Of each part the rest of its state, on the cluster; None where nothing changes.
    items
        Of each part the codes of its items in the table, ascending: it has codes of its own.
    n_items
        Number of items.
    """

    def __init__(
        self,
        cluster: Cluster,
        fixed: Stored,
        changing: Sequence[Future] | None,
        items: Sequence[CodeArray],
        n_items: int,
    ) -> None:
        self.cluster = cluster
        self.fixed = fixed
        self.changing = changing
        self.items = items
        self.n_items = n_items
        self._loaded = cluster.each(_load, fixed.paths)
        # Steps since states were stored, and the files from which they can be repeated.
        self._age = 0
        self._files: list[Any] = []

    def close(self) -> None:
        super().close()
        self._loaded = []
        self._files = []
        self.changing = None

    def each(self, step: Callable[..., tuple[Vectors, Any]], vectors: Vectors = (), *shared: Any) -> Iterator[Answer]:
        self._expect_open()
        cluster = self.cluster
        sent = self._send(vectors)
        if self.changing is None:
            answers = cluster.each(_look, self._loaded, sent.paths, step=step, shared=shared)
        else:
            self._files.append(sent)
            done = cluster.each(_change, self._loaded, self.changing, sent.paths, step=step, shared=shared)
            self.changing = cluster.each(itemgetter(0), done)
            answers = cluster.each(itemgetter(1), done)
        for items, answer in zip(self.items, cluster.fetch(answers), strict=True):
            yield Answer(items, *answer)
        self._age += 1
        if self.changing is not None and self._age >= STORE_AFTER:
            stored = cluster.store(self.changing)
            self.changing = cluster.each(_load, stored.paths)
            list(cluster.fetch(cluster.each(id, self.changing)))  # files may be removed once they are read
            self._files = [stored]
            self._age = 0

    def derive(self, make: Callable[..., Any], vectors: Vectors = (), *shared: Any) -> ClusterParts:
        self._expect_open()
        cluster = self.cluster
        sent = self._send(vectors)
        made = cluster.each(_make, self._loaded, sent.paths, make=make, shared=shared)
        fixed = cluster.store(cluster.each(itemgetter(0), made))
        changes = any(cluster.fetch(cluster.each(_is_there, made)))
        changing = cluster.each(itemgetter(1), made) if changes else None
        derived = ClusterParts(cluster, fixed, changing, self.items, self.n_items)
        derived._files += [sent, self]  # from which the state is made again if a worker dies
        return derived

    def _send(self, vectors: Vectors) -> Stored:
        """Write to files what each part sees of vectors over all items."""
        return self.cluster.put(
            tuple(vector[items] if vector.size else vector for vector in vectors) for items in self.items
        )


def _look(fixed: Any, path: str, step: Callable[..., Any], shared: tuple[Any, ...]) -> Any:
    """Apply a step to a state that it does not change."""
    return step(fixed, _load(path), *shared)


def _change(fixed: Any, rest: Any, path: str, step: Callable[..., Any], shared: tuple[Any, ...]) -> tuple[Any, Any]:
    """Apply a step to a copy of a state, without its reviews; returns what it changed, and its answer."""
    state = deepcopy(rest)._replace(part=fixed)
    answer = step(state, _load(path), *shared)
    return state._replace(part=None), answer


def _make(fixed: Any, path: str, make: Callable[..., Any], shared: tuple[Any, ...]) -> tuple[Any, Any]:
    """Return the reviews of a new state, and the rest of it; None without any."""
    state = make(fixed, _load(path), *shared)
    if "part" in getattr(state, "_fields", ()):
        return state.part, state._replace(part=None)
    return state, None


def _is_there(made: tuple[Any, Any]) -> bool:
    return made[1] is not None


@contextmanager
@checked
def cluster_reviews(
    source: Any,
    client: Any,
    folder: str | Path,
    *,
    partitions: int | None = None,
    columns: Mapping[str, str] | None = None,
    lower_is_better: bool = False,
    duplicates: Duplicates = "error",
    merge: Merge | None = None,
    batch: int = BATCH,
    note: Callable[[str], object] | None = None,
    progress: Callable[[Progress], object] | None = None,
) -> Iterator[PartedReviews]:
    """Read reviews into the memory of a Dask cluster, in parts by reviewer.

    They are read and sorted here, as by :func:`reviewgraph.stream_reviews`; steps over them are on the workers.

    Parameters
    ----------
    source
        A Dask data frame, or a file, a folder of Parquet files or a pattern, or a list of these. One row per review;
        columns are found by name as by :func:`reviewgraph.read_reviews`. Labels are text or whole numbers, scores
        numbers.
    client
        A ``distributed.Client``, such as ``Client("tcp://host:8786")``.
    folder
        A folder that the client and all workers see, for the table and for checkpoints: about 25 bytes per review, and
        up to 200 more for a posterior. What is written there is removed at the end.
    partitions
        Number of parts; by default one per thread of the workers. Results do not depend on it, up to rounding.
    columns, lower_is_better, duplicates, merge, batch, note, progress
        As those of :func:`reviewgraph.stream_reviews`.

    Yields
    ------
    PartedReviews
        The table, which :func:`reviewgraph.check`, :func:`lsc.posterior` and :func:`lsc.calibrate` take.

    Raises
    ------
    InputError
        If no scheduler answers, the table has no rows, rows are malformed, or a disk is full.
    DuplicateReview
        If a pair has two scores and ``duplicates`` is ``"error"``; the message names both rows.

    Examples
    --------
    A cluster of one thread in this process; elsewhere, ``Client("tcp://host:8786")`` and a folder on a shared disk:

    >>> import pandas, dask.dataframe
    >>> from distributed import Client
    >>> from reviewgraph import check
    >>> from tempfile import TemporaryDirectory
    >>> rows = dask.dataframe.from_pandas(pandas.DataFrame({"reviewer": [1, 1, 2], "item": [1, 2, 3]}), npartitions=2)
    >>> local = {"processes": False, "n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}
    >>> with Client(**local) as client, TemporaryDirectory() as folder:
    ...     with cluster_reviews(rows, client, folder, partitions=1) as table:
    ...         table, check(table)
    (<PartedReviews: 2 reviewers, 3 items, 3 reviews>, <Connection: 3 items, 2 pieces>)
    """
    if partitions is not None and partitions < 1:
        raise InputError(f"partitions: expected one or more, found {partitions}")
    if not Path(folder).is_dir():
        raise InputError(f"folder: expected a folder that the client and all workers see, found {str(folder)!r}")
    if not all(hasattr(client, name) for name in ("gather", "map", "nthreads")) or isinstance(client, type):
        raise InputError(f"client: expected a distributed.Client, as Client('tcp://host:8786'), found {client!r:.80}")
    # Workers have folders of their own: paths are absolute.
    home = Path(tempfile.mkdtemp(prefix="reviewgraph-", dir=Path(folder).resolve()))
    try:
        with reporting():
            number = partitions or max(1, sum(client.nthreads().values()))
        is_frame = hasattr(source, "to_parquet") and hasattr(source, "columns")
        paths = source if isinstance(source, list | tuple) else [source]
        if is_frame:
            paths = [_written(source, columns or {}, client, home / "rows")]
        try:
            read = sorted_reviews(
                paths, columns, duplicates, merge, batch, note, progress, lower_is_better=lower_is_better
            )
        except InputError as error:
            message = re.sub(rf"{re.escape(str(home))}\S*part\.(\d+)\.parquet", r"partition \1", str(error))
            raise type(error)(message) from error
        origin = Origin() if is_frame else read.origin
        parts = _sent(pieces(read.table, number), Cluster(client, home), len(read.items))
        try:
            yield opened(read.reviewers, read.items, parts, lower_is_better=lower_is_better, origin=origin)
        finally:
            parts.close()
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _written(frame: Any, columns: Mapping[str, str], client: Any, folder: Path) -> Path:
    """Let the workers write the columns of a data frame as Parquet, and return the folder."""
    header = [str(name) for name in frame.columns]
    places = locate(header, ROLES, columns, "table", lambda message: None)
    chosen = frame[[frame.columns[place] for place in places.values()]]
    try:
        with reporting():
            client.gather(client.compute([chosen.to_parquet(str(folder), write_index=False, compute=False)]))
    except (TypeError, ValueError) as error:
        message = f"source: expected labels of one type in each column and numbers as scores, found {cut(error)}"
        raise InputError(message) from error
    return folder


def _sent(table: Iterable[Part], cluster: Cluster, n_items: int) -> ClusterParts:
    """Send parts to the cluster, each with codes of its own for its items."""
    used: list[CodeArray] = []

    def coded() -> Iterator[Part]:
        for part in table:
            seen = np.zeros(n_items, np.bool_)
            seen[part.item] = True
            code = np.cumsum(seen, dtype=np.uint32) - np.uint32(1)
            used.append(np.flatnonzero(seen).astype(np.uint32))
            yield Part(part.first, part.start, code[part.item], np.array(part.score))

    stored = cluster.put(coded())
    return ClusterParts(cluster, stored, None, used, n_items)
