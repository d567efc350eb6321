"""A table of reviews on a Dask cluster, and its check: reviewers in partitions, items in shards.

A partition holds the reviews of consecutive reviewers, a shard the values of consecutive items, both by code. Work on
reviewers needs the values of their items and adds to them: shards send each partition the entries it uses, partitions
send each shard the sums it owns. Pieces are added in the order of the partitions, so results do not depend on which
worker is faster. The client holds no labels: a few numbers per partition, shard and connected component, and vectors
over items at the end of a calibration.

Every task is a function of its arguments, so that Dask repeats those of a worker that died; what is needed for longer
is in files that all workers see (:meth:`Grid.store`), so that little is repeated.
"""

from __future__ import annotations

import pickle
import shutil
import tempfile
import weakref
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from glob import glob
from itertools import chain, count, pairwise
from operator import getitem
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from reviewgraph._base.arguments import checked
from reviewgraph._base.arrays import BoolArray, CodeArray, FloatArray, IntArray
from reviewgraph._base.errors import DuplicateReview, InputError
from reviewgraph._base.labels import Label, Whole, encode, natural_key, plain_label
from reviewgraph._base.text import counted
from reviewgraph.formats.columns import ITEM, REVIEWER, SCORE, locate
from reviewgraph.table.rows import merge_duplicates

#: A result on the cluster, or one yet to come.
Future: TypeAlias = Any

#: Labels per partition of the input from which the borders of partitions and shards are chosen.
SAMPLE = 500
#: Values that one task adds.
FAN_IN = 8
ROLES = (REVIEWER, ITEM, SCORE)


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


def _expect_client(client: Any) -> None:
    if not all(hasattr(client, name) for name in ("gather", "map", "nthreads")) or isinstance(client, type):
        message = f"client: expected a distributed.Client, as Client('tcp://host:8786'), found {client!r:.80}"
        raise InputError(message)


# Reading: labels become codes by rank, reviews go to the partitions of their reviewers.
#
# Labels are split at a few of them, chosen from samples, into ranges of the natural order; each range is sorted by
# itself, and the code of a label is its place there plus the sizes of the ranges before.


class Coded(NamedTuple):
    """A part of the input: codes by row within the part and distinct labels, of reviewers and items; scores."""

    codes: tuple[IntArray, IntArray]
    labels: tuple[Sequence[Label], Sequence[Label]]
    score: FloatArray


def code_frame(frame: Any, names: Sequence[str], number: int, sign: float) -> Coded:
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
        labels.append(np.asarray(distinct) if isinstance(distinct, Whole) else distinct)
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


def sample_labels(coded: Coded) -> tuple[list[Label], list[Label]]:
    """Return the labels of a few rows, evenly spaced in their order."""
    few = []
    for code, labels in zip(coded.codes, coded.labels, strict=True):
        order = np.sort(code)[:: max(1, code.size // SAMPLE)]
        few.append([plain_label(labels[place]) for place in order.tolist()])
    return few[0], few[1]


def borders(samples: Sequence[Sequence[Label]], ranges: int) -> list[Label]:
    """Return at most ``ranges - 1`` labels that split the sampled ones evenly."""
    code, distinct = encode(list(chain.from_iterable(samples)))
    code = np.sort(code)
    places = np.unique(code[[code.size * n // ranges for n in range(1, ranges)]]) if ranges > 1 else np.empty(0, int)
    return [distinct[place] for place in places.tolist() if place > 0]


def split_labels(coded: Coded, side: int, at: Sequence[Label]) -> list[Sequence[Label]]:
    """Return the labels of a part by range."""
    cuts = _cuts(coded.labels[side], at)
    return [coded.labels[side][low:high] for low, high in pairwise(cuts)]


def _cuts(labels: Sequence[Label], at: Sequence[Label]) -> list[int]:
    inner = [bisect_left(labels, natural_key(label), key=lambda entry: natural_key(plain_label(entry))) for label in at]
    return [0, *inner, len(labels)]


class Ranked(NamedTuple):
    """The labels of a range in natural order, and the places in it of those that each part of the input sent."""

    labels: Sequence[Label]
    places: list[IntArray]


def rank_labels(parts: Sequence[Sequence[Label]]) -> Ranked:
    """Merge the labels of a range from all parts."""
    if all(isinstance(part, np.ndarray) for part in parts):
        code, labels = encode(np.concatenate([np.asarray(part) for part in parts]))
    else:
        code, labels = encode(chain.from_iterable(map(_listed, parts)))
    return Ranked(labels, np.split(code, np.cumsum([len(part) for part in parts])[:-1]))


def _listed(labels: Any) -> list[Label]:
    return labels.tolist() if isinstance(labels, np.ndarray) else list(labels)


def route(
    coded: Coded, reviewers: Sequence[IntArray], items: Sequence[IntArray], offset: IntArray
) -> list[tuple[IntArray, IntArray, FloatArray]]:
    """Return the rows of each partition: reviewers by place in it, items by code, and scores.

    ``reviewers``, ``items``: places of the labels in their ranges; ``offset`` (S,): first code of each range of items.
    """
    partition = np.repeat(np.arange(len(reviewers)), [places.size for places in reviewers])[coded.codes[0]]
    reviewer = np.concatenate(reviewers)[coded.codes[0]]
    item = np.concatenate([first + places for first, places in zip(offset.tolist(), items, strict=True)])[
        coded.codes[1]
    ]
    order = np.argsort(partition, kind="stable")
    cuts = np.cumsum(np.bincount(partition, minlength=len(reviewers)))[:-1]
    split = (np.split(values[order], cuts) for values in (reviewer, item, coded.score))
    return list(zip(*split, strict=True))


class Share(NamedTuple):
    """The reviews of a partition, by reviewer and item: those of its reviewer j are ``start[j]:start[j + 1]``.

    ``item`` and ``score`` by review, NaN if planned: places in ``items``, the ascending codes of items used here, of
    which those of shard s are ``cut[s]:cut[s + 1]``.
    """

    start: IntArray
    item: CodeArray
    score: FloatArray
    items: IntArray
    cut: IntArray

    @property
    def reviewer(self) -> IntArray:
        """Shape (E,): place of the reviewer of each review."""
        return np.repeat(np.arange(self.start.size - 1), np.diff(self.start))

    def only(self, kept: BoolArray) -> Share:
        """Return some of the reviews, by a mask, with the same reviewers and items."""
        start = np.concatenate([[0], np.cumsum(kept)])[self.start]
        return self._replace(start=start, item=self.item[kept], score=self.score[kept])

    def scored(self) -> Share:
        """Return the reviews that have a score, with the same reviewers and items."""
        return self.only(~np.isnan(self.score))


def split(values: Any, cut: IntArray) -> list[Any]:
    """Return values by item (axis 0) of a partition, by shard."""
    return [values[low:high] for low, high in pairwise(cut)]


def assemble(
    pieces: Sequence[tuple[IntArray, IntArray, FloatArray]], n_reviewers: int, offset: IntArray
) -> Share | tuple[int, int]:
    """Sort the rows of a partition; returns a pair with two scores instead if there is one, by place and code.

    ``offset`` (S + 1,): first code of each shard, and the number of items.
    """
    reviewer, code, score = (np.concatenate(part) for part in zip(*pieces, strict=True))
    order = np.lexsort((code, reviewer))
    reviewer = reviewer[order]
    code = code[order]
    score = score[order]
    try:
        row = np.arange(reviewer.size)
        reviewer, code, score, _ = merge_duplicates(
            reviewer, code, score, ~np.isnan(score), "error", lambda first, second: str(first), row
        )
    except DuplicateReview as error:
        place = int(str(error))
        return int(reviewer[place]), int(code[place])
    items, item = np.unique(code, return_inverse=True)
    start = np.concatenate([[0], np.cumsum(np.bincount(reviewer, minlength=n_reviewers))])
    return Share(start, item.astype(np.uint32), score, items, np.searchsorted(items, offset))


def index_of(share: Share, offset: IntArray) -> list[CodeArray]:
    """Return the items that a partition uses, as places in each shard."""
    return [
        (part - first).astype(np.uint32) for part, first in zip(split(share.items, share.cut), offset, strict=False)
    ]


def serve(index: Sequence[CodeArray], values: Any) -> list[Any]:
    """Return the values of a shard (axis 0) that each partition uses."""
    return [values[places] for places in index]


def add_up(index: Sequence[CodeArray], pieces: Sequence[Any], size: int) -> Any:
    """Return the sums by item (axis 0) of a shard, from pieces of the partitions, in their order."""
    shape = pieces[0].shape[1:]
    total = np.zeros((size, *shape), np.result_type(*pieces))
    for places, piece in zip(index, pieces, strict=True):
        total[places] += piece  # a partition names an item once
    return total


def sizes_of(share: Share) -> tuple[int, int, IntArray]:
    """Count the reviews, and those with a score; and return where the items of each shard begin."""
    return share.item.size, int(np.count_nonzero(~np.isnan(share.score))), share.cut


def add(values: Sequence[Any]) -> Any:
    """Add values in their order."""
    total = values[0]
    for value in values[1:]:
        total = total + value
    return total


def store_part(value: Any, path: str) -> str:
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


def load_part(path: str) -> Any:
    """Read a value from a file of :func:`store_part`."""
    with open(path, "rb") as file:
        return pickle.load(file)  # noqa: S301 - written by the workers of this table


class Stored(list[Any]):
    """Values read from files, or the paths of these, which are removed with the last reference to this list."""

    def __init__(self, values: Sequence[Any], paths: Sequence[str]) -> None:
        super().__init__(values)
        weakref.finalize(self, _remove, list(paths))


def _remove(paths: Sequence[str]) -> None:
    for path in paths:
        Path(path).unlink(missing_ok=True)


@dataclass(frozen=True, eq=False, repr=False)
class Grid:
    """Partitions of reviewers and shards of items on a cluster, and what is sent between them.

    Parameters
    ----------
    client
        Client of the scheduler.
    folder
        Folder that the client and all workers see.
    shares
        Reviews of each partition, on the cluster.
    labels
        Files with the labels of the reviewers of each partition and of the items of each shard.
    first_reviewer, first_item
        Shapes (P + 1,) and (S + 1,): first code of each partition and shard, and the total.
    index
        Items of each shard that each partition uses, on the cluster.
    cuts
        Where the items of each shard begin among those of each partition, shapes (S + 1,).
    n_reviews, n_scored
        Numbers of reviews, and of those with a score.
    lower_is_better
        1 is the best score; scores were negated on the way in.
    """

    client: Any
    folder: Path
    shares: list[Future]
    labels: tuple[list[str], list[str]]
    first_reviewer: IntArray
    first_item: IntArray
    index: list[Future]
    cuts: list[IntArray]
    n_reviews: int
    n_scored: int
    lower_is_better: bool = False
    _numbers: Iterator[int] = field(default_factory=count)

    @property
    def n_reviewers(self) -> int:
        """Number of reviewers."""
        return int(self.first_reviewer[-1])

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(self.first_item[-1])

    def each(self, function: Callable[..., Any], *values: Sequence[Any], **same: Any) -> list[Future]:
        """Apply a function to every partition, or shard, of some values; ``same`` goes to all of them."""
        with reporting():
            return list(self.client.map(function, *map(list, values), pure=False, **same))

    def fetch(self, futures: Sequence[Future]) -> list[Any]:
        """Return values from the cluster to the client."""
        with reporting():
            return list(self.client.gather(list(futures)))

    def sent(self, outgoing: Sequence[Future], size: int) -> list[list[Future]]:
        """Transpose lists of ``size`` entries: the result has a list for each entry, of one piece from each sender."""
        entries = range(size)
        ends = [pieces for _ in entries for pieces in outgoing], [n for n in entries for _ in outgoing]
        pieces = self.each(getitem, *ends)
        return [pieces[n * len(outgoing) : (n + 1) * len(outgoing)] for n in entries]

    def total(self, *series: Sequence[Future]) -> Any:
        """Add values of the cluster in their order, by a tree, and return the sum, or one of each, to the client."""
        ends = []
        for futures in series:
            futures = list(futures)
            while len(futures) > 1:
                futures = self.each(add, [futures[at : at + FAN_IN] for at in range(0, len(futures), FAN_IN)])
            ends += futures
        sums = self.fetch(ends)
        return sums if len(series) > 1 else sums[0]

    def to_partitions(self, values: Sequence[Future]) -> list[list[Future]]:
        """Send values of shards to the partitions that use them: a list of pieces for each partition, by shard."""
        return self.sent(self.each(serve, self.index, values), len(self.shares))

    def to_shards(self, pieces: Sequence[Future]) -> list[Future]:
        """Add up what partitions have by item, as lists of :func:`split`."""
        return self.each(add_up, self.index, self.sent(pieces, len(self.index)), self.sizes)

    def labels_of(self, side: int) -> list[Future]:
        """Return the labels of reviewers by partition (side 0), or of items by shard (1), on the cluster."""
        return self.each(load_part, self.labels[side])

    def frame(self, side: int, columns: dict[str, Sequence[Future]]) -> Any:
        """Return a Dask data frame of labels and columns, a part for each partition (side 0) or shard (1)."""
        import dask
        import dask.dataframe

        parts = self.each(_frame, self.labels_of(side), *columns.values(), names=["label", *columns])
        [meta] = self.fetch(self.each(_frame_head, parts[:1]))
        return dask.dataframe.from_delayed([dask.delayed(part) for part in parts], meta=meta, verify_meta=False)

    @property
    def sizes(self) -> list[int]:
        """Number of items of each shard."""
        return [int(size) for size in np.diff(self.first_item)]

    def put(self, values: Iterable[Any]) -> list[str]:
        """Write values of the client to files, one after another, for :func:`load_part`; returns their paths."""
        number = next(self._numbers)
        return [store_part(value, str(self.folder / f"{number}-{place}")) for place, value in enumerate(values)]

    def written(self, values: Sequence[Future]) -> list[str]:
        """Write values to files; returns their paths."""
        number = next(self._numbers)
        paths = [str(self.folder / f"{number}-{place}") for place in range(len(values))]
        self.fetch(self.each(store_part, values, paths))
        return paths

    def store(self, values: Sequence[Future]) -> Stored:
        """Write values to files; the result is read from there if its worker dies.

        What led to the values can be forgotten by the scheduler.
        """
        paths = self.written(values)
        loaded = self.each(load_part, paths)
        self.fetch(self.each(id, loaded))  # files may be removed once they are read
        return Stored(loaded, paths)


class Vector(np.lib.mixins.NDArrayOperatorsMixin):
    """Values by item in shards, for functions of NumPy that work entry by entry, and inner products; see NEP 13 and 18.

    Arrays beside a vector are the same for all shards.
    """

    def __init__(self, table: Grid, parts: Sequence[Future]) -> None:
        self.table = table
        self.parts = list(parts)

    def __len__(self) -> int:
        return self.table.n_items

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any) -> Vector:
        return self._apply(ufunc, *inputs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        # Sums over the items end at the client.
        return self.table.total(self._apply(function, *args).parts)

    def _apply(self, function: Any, *inputs: Any) -> Vector:
        spread = [value.parts if isinstance(value, Vector) else [value] * len(self.parts) for value in inputs]
        return Vector(self.table, self.table.each(function, *spread))


@dataclass(frozen=True, eq=False, repr=False)
class ClusterTable:
    """Reviews on a Dask cluster, from :func:`cluster_reviews` and open within its ``with`` only.

    Parameters
    ----------
    grid
        Its partitions and shards.

    Examples
    --------
    See :func:`reviewgraph.cluster_reviews`, which opens it.
    """

    grid: Grid = field(repr=False)

    def __repr__(self) -> str:
        sizes = (self.n_reviewers, "reviewer"), (self.n_items, "item"), (self.n_reviews, "review")
        words = ", ".join(counted(size, noun) for size, noun in sizes)
        return f"<ClusterTable: {words} in {counted(len(self.grid.shares), 'partition')}>"

    @property
    def n_reviewers(self) -> int:
        """Number of reviewers."""
        return self.grid.n_reviewers

    @property
    def n_items(self) -> int:
        """Number of items."""
        return self.grid.n_items

    @property
    def n_reviews(self) -> int:
        """Number of reviews."""
        return self.grid.n_reviews

    @property
    def n_scored(self) -> int:
        """Number of reviews with a score."""
        return self.grid.n_scored


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
) -> Iterator[ClusterTable]:
    """Read reviews into the memory of a Dask cluster: reviewers in partitions, items in shards.

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
        Number of partitions of the reviewers, and of shards of the items; by default one per thread of the workers.
        Results do not depend on it, up to rounding.
    columns
        Names of columns by role.
    lower_is_better
        1 is the best score; false by default.

    Yields
    ------
    ClusterTable
        The table.

    Raises
    ------
    InputError
        If no scheduler answers, the table has no rows, a label is missing, or a score is not finite.
    DuplicateReview
        If a pair has two scores.

    Notes
    -----
    A worker holds some parts of the input, partitions and shards at a time: its memory grows with the size of these,
    not with that of the table.

    Examples
    --------
    A cluster of one thread in this process; elsewhere, ``Client("tcp://host:8786")`` and a folder on a shared disk:

    >>> import pandas, dask.dataframe
    >>> from distributed import Client
    >>> from reviewgraph import check_cluster
    >>> from tempfile import TemporaryDirectory
    >>> rows = dask.dataframe.from_pandas(pandas.DataFrame({"reviewer": [1, 1, 2], "item": [1, 2, 3]}), npartitions=2)
    >>> local = {"processes": False, "n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}
    >>> with Client(**local) as client, TemporaryDirectory() as folder:
    ...     with cluster_reviews(rows, client, folder, partitions=1) as table:
    ...         table, check_cluster(table)
    (<ClusterTable: 2 reviewers, 3 items, 3 reviews in 1 partition>, <ClusterCheck: 3 items, 2 pieces>)
    """
    if partitions is not None and partitions < 1:
        message = f"partitions: expected one or more, found {partitions}"
        raise InputError(message)
    if not Path(folder).is_dir():
        message = f"folder: expected a folder that the client and all workers see, found {str(folder)!r}"
        raise InputError(message)
    _expect_client(client)
    with reporting():
        frames, names = _frames(source, columns or {}, client)
    parts = partitions or max(1, sum(client.nthreads().values()))
    home = Path(tempfile.mkdtemp(prefix="reviewgraph-", dir=folder))
    try:
        yield ClusterTable(_read(frames, names, client, home, parts, lower_is_better=lower_is_better))
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _frames(source: Any, columns: dict[str, str], client: Any) -> tuple[list[Future], list[str]]:
    """Return the parts of the input on the cluster, and the names of its columns of reviewer, item and score."""
    if hasattr(source, "to_delayed") and hasattr(source, "columns"):
        names = _names([str(name) for name in source.columns], columns, "table")
        return client.compute(source[names].to_delayed()), names
    import pyarrow
    import pyarrow.parquet

    # A task for each row group of each file.
    paths = source if isinstance(source, list | tuple) else [source]
    names = []
    groups: list[tuple[str, int]] = []
    for path in map(str, paths):
        for name in sorted(glob(f"{path}/*.parquet" if Path(path).is_dir() else path)):
            try:
                file = pyarrow.parquet.ParquetFile(name)
            except (OSError, pyarrow.ArrowInvalid) as error:
                message = f"{name}: expected a Parquet file, found one that cannot be read ({error})"
                raise InputError(message) from error
            names = names or _names(file.schema_arrow.names, columns, name)
            groups += [(name, group) for group in range(file.num_row_groups)]
    if not groups:
        message = f"source: expected a Dask data frame or Parquet files with rows, found {source!r:.80}"
        raise InputError(message)
    return client.map(read_group, *zip(*groups, strict=True), names=names, pure=False), names


def _names(header: Sequence[str], columns: dict[str, str], name: str) -> list[str]:
    places = locate(header, ROLES, columns, name, lambda message: None)
    return [header[places[role.name]] for role in ROLES if role.name in places]


def read_group(path: str, group: int, names: Sequence[str]) -> Any:
    """Read a row group of a Parquet file."""
    import pyarrow.parquet

    return pyarrow.parquet.ParquetFile(path).read_row_group(group, columns=list(names)).to_pandas()


def _read(
    frames: list[Future], names: list[str], client: Any, folder: Path, parts: int, *, lower_is_better: bool
) -> Grid:
    """Code the labels, and route the reviews to their partitions."""
    empty = np.zeros(1, np.int64)
    table = Grid(client, folder, [], ([], []), empty, empty, [], [], 0, 0, lower_is_better)
    sign = -1.0 if lower_is_better else 1.0
    coded = table.each(code_frame, frames, [names] * len(frames), range(len(frames)), sign=sign)
    samples = table.fetch(table.each(sample_labels, coded))
    if not any(few[0] for few in samples):
        message = "cluster: expected one row per review, found a table without rows"
        raise InputError(message)
    labels = []
    places = []
    firsts = []
    for side in (0, 1):
        at = borders([few[side] for few in samples], parts)
        pieces = table.sent(table.each(split_labels, coded, side=side, at=at), len(at) + 1)
        ranked = table.each(rank_labels, pieces)
        distinct, place = table.sent(ranked, 2)
        labels.append(distinct)
        places.append(table.sent(place, len(frames)))
        firsts.append(np.concatenate([[0], np.cumsum(table.fetch(table.each(len, distinct)))]))
    P = len(labels[0])
    S = len(labels[1])
    routed = table.sent(table.each(route, coded, *places, offset=firsts[1][:-1]), P)
    shares = table.each(assemble, routed, np.diff(firsts[0]).tolist(), offset=firsts[1])
    again = table.fetch(table.each(_twice, shares))
    for p, pair in enumerate(again):
        if pair is not None:
            s = int(np.searchsorted(firsts[1], pair[1], "right")) - 1
            reviewers, items = table.fetch([labels[0][p], labels[1][s]])
            reviewer = reviewers[pair[0]]
            item = items[pair[1] - int(firsts[1][s])]
            message = f"reviewer {reviewer} and item {item}: expected one score, found two; leave one of them out"
            raise DuplicateReview(message)
    shares = table.store(shares)
    n_reviews, n_scored, cuts = zip(*table.fetch(table.each(sizes_of, shares)), strict=True)
    index = table.sent(table.each(index_of, shares, offset=firsts[1][:-1]), S)
    index = table.each(list, index)
    stored = table.written(labels[0]), table.written(labels[1])
    sizes = sum(n_reviews), sum(n_scored)
    return Grid(
        client, folder, shares, stored, firsts[0], firsts[1], index, list(cuts), *sizes, lower_is_better, table._numbers
    )


def _twice(share: Any) -> tuple[int, int] | None:
    return None if isinstance(share, Share) else share


def _frame(*values: Any, names: Sequence[str]) -> Any:
    import pandas

    return pandas.DataFrame(dict(zip(names, [list(values[0]), *values[1:]], strict=True)))


def _frame_head(frame: Any) -> Any:
    return frame.iloc[:0]
