"""The table of reviews on disk: labels and values per reviewer or item in memory, reviews in a temporary file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from reviewgraph._base.arguments import checked
from reviewgraph._base.arrays import CodeArray, FloatArray, IntArray
from reviewgraph._base.clock import Clock
from reviewgraph._base.errors import InputError
from reviewgraph._base.labels import encode, identity, natural_order
from reviewgraph._base.provenance import FileRead
from reviewgraph._base.results import Progress
from reviewgraph._base.text import counted
from reviewgraph.formats.columns import ITEM, REVIEWER
from reviewgraph.formats.spellings import PAPER, PERSON, Merge, Spellings
from reviewgraph.streams.engine import opened
from reviewgraph.streams.files import LABELS, Labels, Source
from reviewgraph.streams.spill import Spill, ranges
from reviewgraph.table.rows import Duplicates, merge_duplicates, say_fulfilled, say_twice

if TYPE_CHECKING:
    from reviewgraph.formats.tables import Path


class Sorted(NamedTuple):
    """Rows sorted by reviewer and item: the first row of each reviewer, items and scores."""

    start: IntArray
    item: Spill
    score: Spill


#: Rows in memory at once; DuckDB takes a gigabyte of memory for them.
BATCH = 1 << 22
#: SQL that looks up the codes of a role.
JOIN = " JOIN {0}_codes ON rows.{0} = {0}_codes.label"
#: Bits of the number that an item and a row become.
KEY_BITS = 64
#: Reviewers and items are vertices of one graph, whose numbers take 32 bits.
MOST_VERTICES = 2**32 - 1


class Chunk(NamedTuple):
    """The reviews of the reviewers from ``first`` on: those of number j are ``start[j]:start[j + 1]``, by item.

    Scores of planned reviews are NaN.
    """

    first: int
    start: IntArray
    item: CodeArray
    score: FloatArray

    def only_scored(self) -> Chunk:
        """Return the reviews that have a score, of the same reviewers."""
        scored = ~np.isnan(self.score)
        if scored.all():
            return self
        start = np.concatenate([[0], np.cumsum(scored)])[self.start]
        return Chunk(self.first, start, self.item[scored], self.score[scored])


class Stream:
    """Reviews that are larger than memory, read from :func:`stream_reviews` and open within its ``with`` only.

    Parameters
    ----------
    reviewers, items
        Labels in the order of the codes.
    table
        The reviews on disk.
    batch
        Rows held in memory at once.
    lower_is_better
        The scores came with 1 as the best and were negated on the way in.
    files
        What was read.

    Examples
    --------
    See :func:`reviewgraph.stream_reviews`, which opens it.
    """

    def __init__(
        self,
        reviewers: Labels,
        items: Labels,
        table: Sorted,
        batch: int,
        *,
        lower_is_better: bool,
        files: tuple[FileRead, ...] = (),
    ) -> None:
        self.reviewers, self.items, self.table, self.batch = reviewers, items, table, batch
        self.lower_is_better, self.files = lower_is_better, files
        self.reviews_per_item, self.n_scored = np.zeros(len(items), np.int64), 0
        for chunk in self.chunks():
            np.add.at(self.reviews_per_item, chunk.item, 1)
            self.n_scored += int(np.count_nonzero(~np.isnan(chunk.score)))

    def __repr__(self) -> str:
        sizes = (self.n_reviewers, "reviewer"), (self.n_items, "item"), (self.n_reviews, "review")
        return f"<Stream: {', '.join(counted(size, noun) for size, noun in sizes)}>"

    @property
    def n_reviewers(self) -> int:
        """Number of reviewers."""
        return len(self.reviewers)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.items)

    @property
    def n_reviews(self) -> int:
        """Number of reviews."""
        return len(self.table.item)

    @property
    def loads(self) -> IntArray:
        """Shape (M,): reviews per reviewer."""
        return np.diff(self.table.start)

    def chunks(self, most: int | None = None) -> Iterator[Chunk]:
        """Iterate over the reviews by reviewer, in chunks of at most ``most`` rows if that is less than the batch.

        Parameters
        ----------
        most
            Most rows per chunk, if that is less than the batch; None (default) for the batch.

        Yields
        ------
        Chunk
            The reviews of some reviewers, in the order of codes.

        Examples
        --------
        ``sum(chunk.item.size for chunk in stream.chunks())`` is the number of reviews of an open stream.
        """
        start, item, score = self.table
        for first, last in ranges(start, min(self.batch, most or self.batch)):
            low, high = int(start[first]), int(start[last])
            yield Chunk(first, start[first : last + 1] - low, item.read(low, high), score.read(low, high))

    def printed(self, values: FloatArray) -> FloatArray:
        """Return values on the scale of the scores in the original direction.

        Parameters
        ----------
        values
            Numbers on the scale of the scores, of any shape.

        Returns
        -------
        ndarray
            The same shape, in the direction of the scores as passed.

        Examples
        --------
        Of an open stream with ``lower_is_better=True``, ``stream.printed(values)`` are the values negated.
        """
        return 0.0 - values if self.lower_is_better else values


@contextmanager
@checked
def stream_reviews(
    *paths: Path,
    columns: Mapping[str, str] | None = None,
    lower_is_better: bool = False,
    duplicates: Duplicates = "error",
    merge: Merge | None = None,
    batch: int = BATCH,
    note: Callable[[str], object] | None = None,
    progress: Callable[[Progress], object] | None = None,
) -> Iterator[Stream]:
    """Read reviews from Parquet files that may be larger than memory.

    Labels and values per reviewer or item stay in memory; the reviews are sorted by reviewer in a temporary file in
    ``TMPDIR``, about 45 bytes per row, which is deleted at the end of the ``with``.

    Parameters
    ----------
    *paths
        Parquet files, one row per review; columns are found by name as by :func:`reviewgraph.read_reviews`.
        Labels are text or whole numbers, scores numbers.
    columns
        Names of columns by role.
    lower_is_better
        1 is the best score; false by default.
    duplicates
        Treatment of pairs with two scores: ``"error"`` (default), ``"last"`` or ``"mean"``.
    merge
        Whether similar labels are one: ``"all"``, ``"none"`` or Spellings, as for :func:`reviewgraph.read_reviews`,
        but no mapping.
    batch
        Rows held in memory at once; results do not depend on it.
    note
        Called with notes for the user; by default there are none.
    progress
        Called batch by batch as rows are read and sorted.

    Yields
    ------
    Stream
        The open table, whose temporary files are removed at the end of the block.

    Raises
    ------
    InputError
        If a file is not as described, rows are malformed, or the disk is full.
    DuplicateReview
        If a pair has two scores and ``duplicates`` is ``"error"``; the message names both rows.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "scores.parquet"
    ...     pa.parquet.write_table(pa.table({"reviewer": [2, 2, 10], "item": ["a", "b", "b"]}), path)
    ...     with stream_reviews(path) as stream:
    ...         stream, stream.reviewers[:]
    (<Stream: 2 reviewers, 2 items, 3 reviews>, ['2', '10'])
    """
    if batch < 1:
        message = f"batch: expected one row or more, found {batch}"
        raise InputError(message)
    known = Spellings.of(merge)
    if isinstance(known.merge, Mapping):
        message = 'merge: expected "all" or "none" for a table read by batches, found which labels become which'
        raise InputError(message)
    clock = Clock(None)

    def tell(doing: str) -> None:
        if progress is not None:
            progress(Progress(clock.elapsed(), doing))

    with Spill("<u4") as item, Spill("<f8") as score:
        with opened(batch) as engine:
            source = Source(engine, paths, columns or {}, note or (lambda message: None))
            tell("reading the files")
            source.read()
            if not source.n_rows:
                message = f"{', '.join(source.names)}: a header but no reviews below it; expected one row per review"
                raise InputError(message)
            tell(f"reading the labels of {source.n_rows:,} rows")
            reviewers, items = _labels(source, known, note)
            tell(f"sorting {source.n_rows:,} rows")
            start, reviewers = _sort(source, reviewers, items, duplicates, (item, score), lower_is_better)
            if len(reviewers) + len(items) > MOST_VERTICES:
                message = f"{source.names[0]}: expected at most {MOST_VERTICES:,} reviewers and items, found more"
                raise InputError(message)
            tell(f"SHA-256 of {source.n_rows:,} rows")
            files = source.files_read()
        table = Sorted(start, item, score)
        stream = Stream(reviewers, items, table, batch, lower_is_better=lower_is_better, files=files)
        if note and (said := say_fulfilled(source.n_rows, sum(source.scored), stream.n_reviews, stream.n_scored)):
            note(said)
        yield stream


def _labels(source: Source, known: Spellings, note: Callable[[str], object] | None) -> tuple[Labels | None, Labels]:
    """Collect the labels of both roles; returns them, None for reviewers that are numbers, which sorting collects.

    The engine has the codes of the others in tables by role.
    """
    found = {role: source.labels(role) for role in LABELS if role != REVIEWER.name or source.is_text(role)}
    texts = {role: labels.to_pylist() for role, labels in found.items() if source.is_text(role)}
    source.expect_whole(texts)
    labels = dict[str, Labels]()
    for role, side in ((REVIEWER.name, PERSON), (ITEM.name, PAPER)):
        if role in texts:
            order = natural_order(texts[role])
            values = found[role].take(pa.array(order))
            gate = partial(known.respelled, role=side, name=", ".join(source.names), note=note)
            codes, labels[role] = _joined(values, gate)
        elif role in found:
            values = np.sort(found[role].to_numpy())
            codes, labels[role] = np.arange(values.size, dtype=np.uint32), source.labels_of(role, values)
        else:
            continue
        source.engine.connection.register(f"{role}_codes", pa.table({"label": values, "code": codes}))
    return labels.get(REVIEWER.name), labels[ITEM.name]


def _joined(values: Any, spelled: Callable[[list[str]], list[str]]) -> tuple[CodeArray, Labels]:
    """Return codes and labels of distinct text in natural order, similar labels joined by ``spelled``."""
    texts = values.to_pylist()
    # Only labels with equal hashes are compared: a number per label suffices if none are similar.
    key = np.fromiter((hash(identity(text)) for text in texts), np.int64, len(texts))
    order = np.argsort(key)
    same = np.flatnonzero(key[order][1:] == key[order][:-1])
    some = [texts[place] for place in np.unique(order[np.concatenate([same, same + 1])]).tolist()]
    becomes = dict(zip(some, spelled(some), strict=True))
    if all(label == one for label, one in becomes.items()):
        return np.arange(len(texts), dtype=np.uint32), Labels(values)
    codes, distinct = encode([becomes.get(text, text) for text in texts])
    return codes.astype(np.uint32), Labels(pa.array(distinct, pa.large_string()))


def _sort(
    source: Source,
    reviewers: Labels | None,
    items: Labels,
    duplicates: Duplicates,
    into: tuple[Spill, Spill],
    lower_is_better: bool,
) -> tuple[IntArray, Labels]:
    """Write items and scores by reviewer and item, those of one pair merged; returns starts and labels of reviewers."""
    (item, score), starts, keys, previous = into, [np.empty(0, np.int64)], [np.empty(0, np.uint64)], None
    for part in _pairs(source, len(items), by_key=reviewers is None):
        who, what, value, row = part

        def say(one: int, other: int, part: Pairs = part) -> str:
            at = np.flatnonzero(part.row == one)[0]
            who, what = part.reviewer[at : at + 1], items[int(part.item[at])]
            reviewer = source.labels_of(REVIEWER.name, who)[0] if reviewers is None else reviewers[int(who[0])]
            return say_twice(reviewer, what, source.place(one), source.place(other))

        value = -value if lower_is_better else value
        who, what, value, _ = merge_duplicates(who, what, value, ~np.isnan(value), duplicates, say, row)
        first = np.flatnonzero(np.concatenate([[who[0] != previous], who[1:] != who[:-1]]))
        starts.append(len(item) + first)
        keys.append(who[first])
        item.append(what)
        score.append(value)
        previous = who[-1]
    start = np.concatenate([*starts, [len(item)]])
    return start, source.labels_of(REVIEWER.name, np.concatenate(keys)) if reviewers is None else reviewers


class Pairs(NamedTuple):
    """Rows sorted by reviewer, a code or a key, item and row; score is NaN where planned."""

    reviewer: Any
    item: CodeArray
    score: FloatArray
    row: IntArray


def _pairs(source: Source, n_items: int, *, by_key: bool) -> Iterator[Pairs]:
    """Read all rows sorted, in parts that divide no pair."""
    # Item and row are one number of 64 bits, so that less is moved and spilled.
    bits = source.n_rows.bit_length()
    if bits + n_items.bit_length() > KEY_BITS:
        message = f"{source.names[0]}: expected fewer than 2^{KEY_BITS} pairs of a row and an item, found more"
        raise InputError(message)
    reviewer, join = ("rows.reviewer", "") if by_key else ("reviewer_codes.code", JOIN.format(REVIEWER.name))
    query = f"SELECT {reviewer} AS reviewer, score, (item_codes.code::UBIGINT << {bits}) | row::UBIGINT AS place"
    query += f" FROM rows{JOIN.format(ITEM.name)}{join} ORDER BY reviewer, place"
    kept: list[Any] = []
    for batch in source.batches(query):
        part = [column.to_numpy(zero_copy_only=False) for column in batch.columns]
        if kept:
            part = [np.concatenate(both) for both in zip(kept, part, strict=True)]
        reviewer, item = part[0], part[2] >> np.uint64(bits)
        others = np.flatnonzero((reviewer != reviewer[-1]) | (item != item[-1]))
        size = int(others[-1]) + 1 if others.size else 0
        if size:
            yield _unpacked(part, slice(size), bits)
        kept = [values[size:] for values in part]
    if kept:
        yield _unpacked(kept, slice(None), bits)


def _unpacked(part: list[Any], rows: slice, bits: int) -> Pairs:
    reviewer, score, place = (values[rows] for values in part)
    row = place & np.uint64((1 << bits) - 1)
    return Pairs(reviewer, (place >> np.uint64(bits)).astype(np.uint32), score, row.astype(np.int64))
