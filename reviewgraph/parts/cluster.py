"""Tables in parts on a Dask cluster: reviewers on the workers, vectors over items with the caller.

Every task is a function of its arguments, so that Dask repeats those of a worker that died; parts, vectors and, every
few steps, what steps have changed are in files that all workers see, so that little is repeated.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from glob import escape
from itertools import chain, count, pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from reviewgraph._base.arguments import checked
from reviewgraph._base.arrays import BoolArray, CodeArray, FloatArray, IntArray
from reviewgraph._base.errors import DuplicateReview, InputError
from reviewgraph._base.labels import Whole, encode
from reviewgraph._base.storing import FileRead
from reviewgraph.formats.columns import ITEM, REVIEWER, SCORE, Origin, columns_of, locate
from reviewgraph.parts.parts import Answer, Part, Parts, Vectors, borders
from reviewgraph.parts.table import PartedReviews, opened
from reviewgraph.table.rows import merge_duplicates

#: A result on the cluster, or one yet to come.
Future: TypeAlias = Any

ROLES = (REVIEWER, ITEM, SCORE)
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
        message = (
            f"cluster: expected a Dask scheduler that answers, found none ({str(error) or type(error).__name__}); "
            "start it with 'dask scheduler', or check its address"
        )
        raise InputError(message) from error
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
        """Return values to the caller, one after another."""
        for future in futures:
            with reporting():
                [value] = self.client.gather([future])
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
        message = (
            f"folder: {folder.parent} cannot be written ({error.strerror or error}); a table needs about 25 bytes per "
            "review there, and its posterior up to 200 more"
        )
        raise InputError(message) from error
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


# Reading: labels become codes, and reviews go to the parts of their reviewers.


class Coded(NamedTuple):
    """A piece of the input, of reviewers and items: codes by row within the piece, and distinct labels; scores."""

    codes: tuple[IntArray, IntArray]
    labels: tuple[Sequence[Any], Sequence[Any]]
    score: FloatArray


@contextmanager
@checked
def cluster_reviews(
    source: Any,
    client: Any,
    folder: str | Path,
    *,
    partitions: int | None = None,
    columns: dict[str, str] | None = None,
    lower_is_better: bool = False,
) -> Iterator[PartedReviews]:
    """Read reviews into the memory of a Dask cluster, in parts by reviewer.

    Parameters
    ----------
    source
        A Dask data frame, or a Parquet file, a folder or pattern of such files, or a list of paths. One row per review;
        columns are found by name as by :func:`reviewgraph.read_reviews`. Labels are text or whole numbers, scores
        numbers.
    client
        A ``distributed.Client``, such as ``Client("tcp://host:8786")``.
    folder
        A folder that the client and all workers see, for the table and for checkpoints: about 25 bytes per review, and
        up to 200 more for a posterior. What is written there is removed at the end.
    partitions
        Number of parts; by default one per thread of the workers. Results do not depend on it, up to rounding.
    columns
        Names of columns by role.
    lower_is_better
        1 is the best score; false by default.

    Yields
    ------
    PartedReviews
        The table, which :func:`reviewgraph.check`, :func:`lsc.posterior` and :func:`lsc.calibrate` take.

    Raises
    ------
    InputError
        If no scheduler answers, the table has no rows, a label is missing, or a score is not finite.
    DuplicateReview
        If a pair has two scores.

    Notes
    -----
    A worker holds some pieces of the input and some parts at a time; the caller holds the labels, and vectors over
    items and reviewers.

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
        message = f"partitions: expected one or more, found {partitions}"
        raise InputError(message)
    if not Path(folder).is_dir():
        message = f"folder: expected a folder that the client and all workers see, found {str(folder)!r}"
        raise InputError(message)
    if not all(hasattr(client, name) for name in ("gather", "map", "nthreads")) or isinstance(client, type):
        message = f"client: expected a distributed.Client, as Client('tcp://host:8786'), found {client!r:.80}"
        raise InputError(message)
    # Workers have folders of their own: paths are absolute.
    home = Path(tempfile.mkdtemp(prefix="reviewgraph-", dir=Path(folder).resolve()))
    try:
        with reporting():
            number = partitions or max(1, sum(client.nthreads().values()))
        sign = -1.0 if lower_is_better else 1.0
        table = _read(source, columns or {}, Cluster(client, home), number, sign)
        try:
            yield table
        finally:
            table.parts.close()
    finally:
        shutil.rmtree(home, ignore_errors=True)


class Input(NamedTuple):
    """Pieces of the input on the cluster; of each the names of reviewer, item and score, and the place of its file."""

    frames: list[Future]
    names: list[list[str]]
    file: list[int]
    files: list[FileRead]


def _input(source: Any, columns: dict[str, str], client: Any) -> Input:
    """Send a data frame, or a task for each row group of each Parquet file, to the cluster."""
    if hasattr(source, "to_delayed") and hasattr(source, "columns"):
        names = _names([str(name) for name in source.columns], columns, "table")
        frames = client.compute(source[names].to_delayed())
        return Input(frames, [names] * len(frames), [], [])
    import pyarrow
    import pyarrow.parquet

    from reviewgraph.parts.files import expanded

    groups: list[tuple[str, int, list[str]]] = []
    owner: list[int] = []
    files: list[FileRead] = []
    for path in source if isinstance(source, list | tuple) else [source]:
        for name in expanded([f"{escape(str(path))}/*.parquet" if Path(path).is_dir() else path]):
            try:
                file = pyarrow.parquet.ParquetFile(name)
            except (OSError, pyarrow.ArrowInvalid) as error:
                message = f"{name}: expected a Parquet file, found one that cannot be read ({error})"
                raise InputError(message) from error
            header = file.schema_arrow.names
            names = _names(header, columns_of(columns, name), name)
            groups += [(os.path.abspath(name), group, names) for group in range(file.num_row_groups)]
            owner += [len(files)] * file.num_row_groups
            files.append(FileRead(name, rows=file.metadata.num_rows, header=tuple(header)))
    if not groups:
        message = f"source: expected a Dask data frame or Parquet files with rows, found {source!r:.80}"
        raise InputError(message)
    frames = client.map(_read_group, *zip(*groups, strict=True), pure=False)
    return Input(frames, [names for _, _, names in groups], owner, files)


def _names(header: Sequence[str], columns: dict[str, str], name: str) -> list[str]:
    places = locate(header, ROLES, columns, name, lambda message: None)
    return [header[places[role.name]] for role in ROLES if role.name in places]


def _read_group(path: str, group: int, names: Sequence[str]) -> Any:
    """Read a row group of a Parquet file."""
    import pyarrow.parquet

    return pyarrow.parquet.ParquetFile(path).read_row_group(group, columns=list(names)).to_pandas()


def _read(source: Any, columns: dict[str, str], cluster: Cluster, number: int, sign: float) -> PartedReviews:
    """Code the labels, and route the reviews to their parts."""
    with reporting():
        frames, names, owner, files = _input(source, columns, cluster.client)
    coded = cluster.each(_coded, frames, names, range(len(frames)), sign=sign)
    del frames  # rows stay on the workers only as long as they are needed
    digests = cluster.each(_digest, [os.path.abspath(file.file) for file in files])
    scored = np.zeros(len(files), np.int64)
    np.add.at(scored, owner, list(cluster.fetch(cluster.each(_n_scored, coded[: len(owner)]))))
    read = tuple(
        replace(file, scored=number, sha256=digest)
        for file, number, digest in zip(files, scored.tolist(), cluster.fetch(digests), strict=True)
    )
    reviewers, codes_of_reviewers = _joined(cluster.fetch(cluster.each(_labels, coded, side=0)))
    items, codes_of_items = _joined(cluster.fetch(cluster.each(_labels, coded, side=1)))
    if not len(reviewers):
        message = "cluster: expected one row per review, found a table without rows"
        raise InputError(message)

    # Parts of about as many reviews each.
    load = np.zeros(len(reviewers), np.int64)
    for codes, counts in zip(codes_of_reviewers, cluster.fetch(cluster.each(_counts, coded)), strict=True):
        load[codes] += counts
    ends = borders(np.concatenate([[0], np.cumsum(load)]), number)
    routed = cluster.each(_route, coded, codes_of_reviewers, codes_of_items, ends=ends)
    parts = []
    for place, (first, last) in enumerate(pairwise(ends)):
        pieces = cluster.each(itemgetter(place), routed)
        parts.append(cluster.each(_assembled, [pieces], first=first, last=last)[0])
    for pair in cluster.fetch(cluster.each(_twice, parts)):
        if pair is not None:
            reviewer = reviewers[pair[0]]
            item = items[pair[1]]
            message = f"reviewer {reviewer} and item {item}: expected one score, found two; leave one of them out"
            raise DuplicateReview(message)
    stored = cluster.store(cluster.each(itemgetter(0), parts))
    used = list(cluster.fetch(cluster.each(itemgetter(1), parts)))
    table = ClusterParts(cluster, stored, None, used, len(items))
    return opened(reviewers, items, table, lower_is_better=sign < 0.0, origin=Origin(files=read))


def _coded(frame: Any, names: Sequence[str], number: int, sign: float) -> Coded:
    """Code the labels of a data frame and check its cells; ``names`` of columns, the score's missing without one."""
    codes: list[IntArray] = []
    labels: list[Any] = []
    for role, name in zip((REVIEWER, ITEM), names, strict=False):
        column = frame[name]
        _expect_none(column.isna().to_numpy(), number, f"the {role.name} is empty")
        whole = column.dtype.kind in "iu"
        if column.dtype.kind in "fbcmM":
            message = f"column {name!r}: expected text or whole numbers as labels, found {column.dtype}"
            raise InputError(message)
        code, distinct = encode(column.to_numpy() if whole else column.to_numpy(object))
        if not whole:
            blank = np.array([isinstance(label, str) and not label.strip() for label in distinct], np.bool_)
            _expect_none(blank[code], number, f"the {role.name} is empty")
        codes.append(code)
        labels.append(np.asarray(distinct, np.uint64) if isinstance(distinct, Whole) else distinct)
    score = np.full(len(frame), np.nan)
    if len(names) > 2:
        try:
            score = sign * frame[names[2]].to_numpy(np.float64, na_value=np.nan)
        except (TypeError, ValueError) as error:
            message = f"column {names[2]!r}: expected numbers as scores, found {frame[names[2]].dtype}"
            raise InputError(message) from error
        _expect_none(np.isinf(score), number, "the score is not finite")
    return Coded((codes[0], codes[1]), (labels[0], labels[1]), score)


def _expect_none(bad: BoolArray, number: int, problem: str) -> None:
    if bad.any():
        message = f"partition {number}: row {int(np.flatnonzero(bad)[0]) + 1}: {problem} (partitions count from 0)"
        raise InputError(message)


def _digest(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _n_scored(coded: Coded) -> int:
    return int(np.count_nonzero(~np.isnan(coded.score)))


def _labels(coded: Coded, side: int) -> Sequence[Any]:
    return coded.labels[side]


def _counts(coded: Coded) -> IntArray:
    return np.bincount(coded.codes[0], minlength=len(coded.labels[0]))


def _joined(pieces: Iterable[Sequence[Any]]) -> tuple[Sequence[Any], list[IntArray]]:
    """Return the labels of all pieces in natural order, and the codes of those of each piece."""
    every = list(pieces)
    sizes = np.cumsum([len(labels) for labels in every])[:-1]
    if all(isinstance(labels, np.ndarray) for labels in every):
        code, distinct = encode(np.concatenate(every))
        return distinct, np.split(code, sizes)
    listed = list(chain.from_iterable(np.asarray(labels, object).tolist() for labels in every))
    if any(isinstance(label, str) for label in listed):
        # Numbers in one file and text in another are text.
        listed = list(map(str, listed))
    code, distinct = encode(listed)
    return distinct, np.split(code, sizes)


def _route(
    coded: Coded, reviewers: IntArray, items: IntArray, ends: list[int]
) -> list[tuple[IntArray, IntArray, FloatArray]]:
    """Return the rows of each part, by code: reviewers, items and scores."""
    reviewer = reviewers[coded.codes[0]]
    item = items[coded.codes[1]]
    order = np.argsort(reviewer, kind="stable")
    cuts = np.searchsorted(reviewer[order], ends[1:-1])
    rows = np.split(order, cuts)
    return [(reviewer[some], item[some], coded.score[some]) for some in rows]


def _assembled(pieces: Sequence[Any], first: int, last: int) -> tuple[Any, Any]:
    """Return a part and the codes of its items, ascending; or None and the codes of a pair that has two scores."""
    reviewer, code, score = (np.concatenate(values) for values in zip(*pieces, strict=True))
    order = np.lexsort((code, reviewer))
    row = np.arange(reviewer.size)
    scored = ~np.isnan(score[order])
    try:
        reviewer, code, score, _ = merge_duplicates(
            reviewer[order], code[order], score[order], scored, "error", lambda before, after: str(before), row
        )
    except DuplicateReview as error:
        place = order[int(str(error))]
        return None, (int(reviewer[place]), int(code[place]))
    items, item = np.unique(code, return_inverse=True)
    start = np.concatenate([[0], np.cumsum(np.bincount(reviewer - first, minlength=last - first))])
    return Part(first, start, item.astype(np.uint32), score), items.astype(np.uint32)


def _twice(assembled: tuple[Any, Any]) -> Any:
    return assembled[1] if assembled[0] is None else None
