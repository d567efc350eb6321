"""The table of reviews on disk: labels and values per reviewer or item in memory, reviews in a temporary file."""

from __future__ import annotations

import hashlib
import os
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from reviewgraph._base.arguments import checked
from reviewgraph._base.arrays import CodeArray, FloatArray, IntArray
from reviewgraph._base.clock import Clock
from reviewgraph._base.errors import InputError
from reviewgraph._base.provenance import FileRead
from reviewgraph._base.results import Progress
from reviewgraph._base.text import counted
from reviewgraph.formats.columns import (
    CRITERION,
    ITEM,
    REVIEWER,
    SCORE,
    columns_of,
    locate,
    recognised,
    require_named,
)
from reviewgraph.formats.delimited import refused
from reviewgraph.formats.files import Problems, quote, quote_all
from reviewgraph.formats.spellings import PAPER, PERSON, Merge, Spellings
from reviewgraph.formats.values import say_bad_score
from reviewgraph.streams.coding import Coder, Labels, Spill, coder_of, joined, ranges
from reviewgraph.table.rows import Duplicates, merge_duplicates, order_of_pairs, say_fulfilled, say_twice

if TYPE_CHECKING:
    from reviewgraph.formats.tables import Path


# External sort by reviewer and item: a radix pass splits the rows into ranges of reviewers, each sorted in memory.

#: A row on disk: codes of 32 bits, and NaN as the score of a planned review.
ROW = np.dtype([("reviewer", "<u4"), ("item", "<u4"), ("score", "<f8")])


class Sorted(NamedTuple):
    """Rows sorted by reviewer and item: the first row of each reviewer, items and scores."""

    start: IntArray
    item: Spill
    score: Spill


def sort_rows(
    rows: Spill,
    load: IntArray,
    batch: int,
    duplicates: Duplicates,
    say: Callable[[int, int, int, int], str],
    into: tuple[Spill, Spill],
) -> Sorted:
    """Sort rows by pair, and merge those of one pair as :func:`reviewgraph.table.rows.merge_duplicates` does."""
    start = np.concatenate([[0], np.cumsum(load)])
    (item, score), sizes = into, np.zeros(load.size, np.int64)
    with Spill(ROW) as parted:
        cuts = list(ranges(start, batch))
        _part(rows, parted, np.array([first for first, _ in cuts], np.int64), start, batch)
        for first, last in cuts:
            part = parted.read(int(start[first]), int(start[last]))
            order = order_of_pairs(part["reviewer"], part["item"])
            part = part[order]

            def say_of(one: int, other: int, part: np.ndarray = part, order: IntArray = order) -> str:
                pair = part[np.flatnonzero(order == one)[0]]
                return say(int(pair["reviewer"]), int(pair["item"]), *_rows_of(rows, pair, batch))

            reviewer, items, scores, _ = merge_duplicates(
                part["reviewer"], part["item"], part["score"], ~np.isnan(part["score"]), duplicates, say_of, order
            )
            item.append(items)
            score.append(scores)
            sizes[first:last] = np.bincount(reviewer - np.uint32(first), minlength=last - first)
    return Sorted(np.concatenate([[0], np.cumsum(sizes)]), item, score)


def _part(rows: Spill, parted: Spill, firsts: IntArray, start: IntArray, batch: int) -> None:
    """Write rows to the range of their reviewers, in their original order within a range."""
    place = start[firsts].copy()
    for part in rows.parts(batch):
        home = np.searchsorted(firsts, part["reviewer"], "right") - 1
        order = np.argsort(home, kind="stable")
        home, part = home[order], part[order]
        bounds = np.flatnonzero(np.diff(home, prepend=-1))
        for low, high in zip(bounds.tolist(), [*bounds[1:].tolist(), home.size], strict=True):
            parted.write(int(place[home[low]]), part[low:high])
            place[home[low]] += high - low


def _rows_of(rows: Spill, pair: np.void, batch: int) -> tuple[int, int]:
    """Return the numbers of the first two rows that score a pair."""
    scored: list[int] = []
    for first, part in zip(range(0, len(rows), batch), rows.parts(batch), strict=True):
        same = (part["reviewer"] == pair["reviewer"]) & (part["item"] == pair["item"]) & ~np.isnan(part["score"])
        scored += (first + np.flatnonzero(same)).tolist()
    return scored[0], scored[1]


# Parquet files as batches of three columns: reviewer, item and score; rows are numbered through all files.

ROLES = (REVIEWER, ITEM, SCORE)
LABELS = (REVIEWER.name, ITEM.name)
#: Bytes of a column read at once.
BUFFER = 1 << 20


class Batch(NamedTuple):
    """Consecutive rows: labels in Arrow's form, and scores, NaN for planned reviews.

    ``no_number`` are the rows, from 0, whose score in the file is NaN, which is invalid: planned reviews are null.
    """

    labels: Mapping[str, Any]
    score: FloatArray
    no_number: IntArray


class Source:
    """Parquet files, which can be read batch by batch several times."""

    def __init__(self, paths: Sequence[Path], columns: Mapping[str, str], note: Callable[[str], object]) -> None:
        self.names = list(map(str, paths))
        self.files = list(map(_opened, self.names))
        headers = [list(file.schema_arrow.names) for file in self.files]
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
        self.stamps = list(map(_stamp, self.names))
        self.starts = np.cumsum([0, *(file.metadata.num_rows for file in self.files)]).tolist()
        self.kinds = {role: self._kind(role) for role in LABELS}
        self._expect_numbers()
        for message in filter(None, map(_say_left_out, self.names, self.files, self.places)):
            note(message)

    @property
    def n_rows(self) -> int:
        """Rows of all files."""
        return int(self.starts[-1])

    def file_of(self, row: int) -> int:
        """Return the number of the file that holds a row."""
        return bisect_right(self.starts, row) - 1

    def place(self, row: int) -> str:
        """Return the name of a row in messages."""
        file = self.file_of(row)
        return f"{self.names[file]}: row {row - self.starts[file] + 1}"

    def files_read(self, scored: Sequence[int]) -> tuple[FileRead, ...]:
        """Return the files as they were read, given the number of scored rows of each.

        Arrow reads a file out of order, so SHA-256 takes another pass over its bytes.
        """
        read = []
        for name, file, count in zip(self.names, self.files, scored, strict=True):
            with refused(name), open(name, "rb") as opened:
                digest = hashlib.file_digest(opened, "sha256").hexdigest()
            header = tuple(file.schema_arrow.names)
            read.append(FileRead(name, (), file.metadata.num_rows, int(count), (), digest, None, header))
        for name, stamp in zip(self.names, self.stamps, strict=True):
            if _stamp(name) != stamp:
                message = f"{name}: expected a file that stays unchanged, found it changed while it was read; read it "
                message += "again once it is complete"
                raise InputError(message)
        return tuple(read)

    def batches(self, rows: int) -> Iterator[Batch]:
        """Read all files in batches of ``rows``."""
        for name, file, places in zip(self.names, self.files, self.places, strict=True):
            names = {role: file.schema_arrow.names[place] for role, place in places.items()}
            with refused(name):
                for part in file.iter_batches(rows, columns=list(dict.fromkeys(names.values()))):
                    part.validate(full=True)  # UTF-8 of texts, among others, which is not checked later
                    labels = {}
                    for role in LABELS:
                        column = part.column(names[role])
                        if pa.types.is_dictionary(column.type):
                            column = column.cast(column.type.value_type)
                        labels[role] = column.cast(self.kinds[role])
                    yield Batch(labels, *_scores(part, names.get(SCORE.name)))
        pa.default_memory_pool().release_unused()

    def expect_whole(self, batch: Batch, first: int, problems: Problems) -> None:
        """Note the rows of a batch, which begins at row ``first``, with a missing label or an invalid score."""
        for role, labels in batch.labels.items():
            empty = pc.is_null(labels)
            if self.kinds[role] == pa.large_string():
                empty = pc.or_(empty, pc.equal(pc.utf8_trim_whitespace(labels), "").fill_null(True))
            at = (first + np.flatnonzero(empty.to_numpy(zero_copy_only=False))).tolist()
            self._note(at, f"the {role} is empty", problems)
            if at:
                problems.hint(f"If the {role} stands in another column, name it with --columns {role}=NAME")
        for text, bad in (
            ("nan", batch.no_number),
            ("inf", np.flatnonzero(batch.score == np.inf)),
            ("-inf", np.flatnonzero(batch.score == -np.inf)),
        ):
            self._note((first + bad).tolist(), say_bad_score(text, (), False), problems)

    def _note(self, rows: list[int], what: str, problems: Problems) -> None:
        if rows:  # all of one file
            file = self.file_of(rows[0])
            lines = [row - self.starts[file] + 1 for row in rows]
            problems.add_rows(file, lines, lambda n: f"{self.place(rows[n])}: {what}")

    def _types(self, role: str) -> Iterator[tuple[str, str, Any]]:
        for name, file, places in zip(self.names, self.files, self.places, strict=True):
            if role in places:
                column = file.schema_arrow.field(places[role])
                kind = column.type
                yield name, column.name, kind.value_type if pa.types.is_dictionary(kind) else kind

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


def _say_left_out(name: str, file: Any, places: Mapping[str, int]) -> str:
    """Return a note on columns of numbers beside the score, which may be criteria; "" if there are none."""
    beside = [field.name for place, field in enumerate(file.schema_arrow) if place not in places.values()]
    beside = [each for each in beside if _is_number(file.schema_arrow.field(each).type)]
    if SCORE.name not in places or not beside:
        return ""
    verb = "is a column" if len(beside) == 1 else "are columns"
    return (
        f"{name}: of each review, --stream uses the score alone: {quote_all(beside)} {verb} of numbers that would "
        "otherwise be tried as further criteria, or as confidence"
    )


def _is_number(kind: Any) -> bool:
    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind))


def _stamp(name: str) -> tuple[int, int, int]:
    """Return values that change if a file is written to or replaced."""
    with refused(name):
        status = os.stat(name)
    return status.st_ino, status.st_size, status.st_mtime_ns


def _opened(name: str) -> Any:
    with refused(name):
        with open(name, "rb") as file:
            magic = file.read(4)
        if magic != b"PAR1":
            message = f"{name}: expected a Parquet file, the one format that is read by batches; leave out --stream"
            raise InputError(message)
        # With the defaults Arrow would keep all that it has read in memory until the end.
        return pyarrow.parquet.ParquetFile(name, pre_buffer=False, buffer_size=BUFFER)


def _scores(part: Any, name: str | None) -> tuple[FloatArray, IntArray]:
    """Return scores, NaN if missing, and the rows whose score is NaN in the file."""
    if name is None:
        return np.full(part.num_rows, np.nan), np.empty(0, np.int64)
    column = part.column(name).cast(pa.float64())
    scores = np.array(column.to_numpy(zero_copy_only=False), np.float64)
    missing = column.is_null().to_numpy(zero_copy_only=False)
    no_number = np.flatnonzero(np.isnan(scores) & ~missing)
    scores[missing] = np.nan
    return scores, no_number


#: Called with a step and its number of rows.
Teller: TypeAlias = Callable[[str, int], None]

#: Rows read and sorted at once: 64 MB.
BATCH = 1 << 22
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
    source = Source(paths, columns or {}, note or (lambda message: None))
    clock = Clock(None)

    def tell(doing: str, rows: int) -> None:
        of = f"{rows:,} of {source.n_rows:,} rows" if rows else f"{source.n_rows:,} rows"
        if progress is not None:
            progress(Progress(clock.elapsed(), f"{doing} {of}"))

    coders = _collected(source, batch, tell)
    labels = {}
    for role, side in zip(LABELS, (PERSON, PAPER), strict=True):
        gate = partial(known.respelled, role=side, name=", ".join(source.names), note=note)
        coders[role], labels[role] = joined(coders[role], coders[role].settle(), gate)
    reviewers, items = (labels[role] for role in LABELS)
    if len(reviewers) + len(items) > MOST_VERTICES:
        message = f"{source.names[0]}: expected at most {MOST_VERTICES:,} reviewers and items, found more"
        raise InputError(message)

    def say(reviewer: int, item: int, one: int, other: int) -> str:
        return say_twice(reviewers[reviewer], items[item], source.place(one), source.place(other))

    with Spill("<u4") as item, Spill("<f8") as score:
        with Spill(ROW) as rows:
            load = np.zeros(len(reviewers), np.int64)
            scored = _spill(source, coders, rows, load, batch, tell, lower_is_better=lower_is_better)
            coders.clear()
            tell("sorting", 0)
            table = sort_rows(rows, load, batch, duplicates, say, (item, score))
        tell("SHA-256 of", 0)
        files = source.files_read(scored)
        stream = Stream(reviewers, items, table, batch, lower_is_better=lower_is_better, files=files)
        if note and (said := say_fulfilled(source.n_rows, sum(scored), stream.n_reviews, stream.n_scored)):
            note(said)
        yield stream


def _collected(source: Source, batch: int, tell: Teller) -> dict[str, Coder]:
    """Read every row once: collect the labels, and list malformed rows in one error."""
    if not source.n_rows:
        message = f"{', '.join(source.names)}: a header but no reviews below it; expected one row per review"
        raise InputError(message)
    coders, problems, first = {role: coder_of(source.kinds[role], source.n_rows) for role in LABELS}, Problems(), 0
    for part in source.batches(batch):
        source.expect_whole(part, first, problems)
        first += part.score.size
        tell("reading the labels of", first)
        if not problems.count:
            for role, coder in coders.items():
                coder.add(part.labels[role])
    problems.raise_any()
    return coders


def _spill(
    source: Source,
    coders: Mapping[str, Coder],
    rows: Spill,
    load: IntArray,
    batch: int,
    tell: Teller,
    *,
    lower_is_better: bool,
) -> list[int]:
    """Write all rows as codes, count them by reviewer in ``load``, and return the number of scored rows per file."""
    scored = [0] * len(source.files)
    for part in source.batches(max(batch, *(coder.together for coder in coders.values()))):
        spilled: Any = np.empty(part.score.size, ROW)
        for role, coder in coders.items():
            spilled[role] = coder.codes(part.labels[role])
        spilled["score"] = -part.score if lower_is_better else part.score
        np.add.at(load, spilled["reviewer"], 1)
        scored[source.file_of(len(rows))] += int(np.count_nonzero(~np.isnan(part.score)))
        rows.append(spilled)
        tell("reading", len(rows))
    return scored
