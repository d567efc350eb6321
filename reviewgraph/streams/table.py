"""The table of reviews on disk: labels and what there is one of a reviewer or paper in memory, reviews in a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from reviewgraph.arguments import checked
from reviewgraph.arrays import CodeArray, FloatArray, IntArray
from reviewgraph.clock import Clock
from reviewgraph.errors import InputError
from reviewgraph.formats.problems import Problems
from reviewgraph.formats.spellings import PAPER, PERSON, Merge, Spellings
from reviewgraph.results import Progress
from reviewgraph.rows import Duplicates, say_fulfilled, say_twice
from reviewgraph.streams.coding import Coder, Labels, coder_of, joined
from reviewgraph.streams.sorting import ROW, Sorted, sort_rows
from reviewgraph.streams.sources import LABELS, Source
from reviewgraph.streams.spill import Spill, ranges
from reviewgraph.words import counted

if TYPE_CHECKING:
    from reviewgraph.formats.tables import Path
    from reviewgraph.provenance import FileRead

#: Takes what is being done, and to how many rows.
Teller: TypeAlias = Callable[[str, int], None]

#: Rows read, sorted and passed over at once: 64 MB of them.
BATCH = 1 << 22
#: Reviewers and items are vertices of one graph, whose numbers take 32 bits.
MOST_VERTICES = 2**32 - 1


class Chunk(NamedTuple):
    """The reviews of the reviewers from ``first`` on: hers of number j are ``start[j]:start[j + 1]``, by item.

    Scores are NaN where a review is planned.
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
        How many are held in memory at once.
    lower_is_better
        The scores came with 1 as the best and were negated on the way in.
    files
        What was read.
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
        """How many reviewers there are."""
        return len(self.reviewers)

    @property
    def n_items(self) -> int:
        """How many items there are."""
        return len(self.items)

    @property
    def n_reviews(self) -> int:
        """How many reviews there are."""
        return len(self.table.item)

    @property
    def loads(self) -> IntArray:
        """Shape (M,): reviews a reviewer."""
        return np.diff(self.table.start)

    def chunks(self, most: int | None = None) -> Iterator[Chunk]:
        """Pass over the reviews once, reviewer by reviewer; at most so many at a time, if fewer than the batch."""
        start, item, score = self.table
        for first, last in ranges(start, min(self.batch, most or self.batch)):
            low, high = int(start[first]), int(start[last])
            yield Chunk(first, start[first : last + 1] - low, item.read(low, high), score.read(low, high))

    def printed(self, values: FloatArray) -> FloatArray:
        """Return values of the scale of the scores in the direction in which they came."""
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
    r"""Read reviews from Parquet files that may be larger than memory.

    Labels and what there is one of a reviewer or an item stay in memory; the reviews go to a temporary file, sorted by
    reviewer, which is deleted at the end of the ``with``. ``TMPDIR`` says where; it takes about 45 bytes a row.

    Parameters
    ----------
    paths
        Parquet files, one row a review; columns are found by name as :func:`reviewgraph.read_reviews` finds them.
        Labels are text or whole numbers, scores numbers.
    columns
        Names of columns by role.
    lower_is_better
        1 is the best score; false by default.
    duplicates
        What to do when a pair has two scores: ``"error"`` (default), ``"last"`` or ``"mean"``.
    merge
        What becomes of labels that are alike: ``"all"``, ``"none"`` or Spellings, as for
        :func:`reviewgraph.read_reviews`; a mapping is not taken.
    batch
        How many rows are held at once; no answer depends on it.
    note
        Called with each thing a person should know; by default nothing is said.
    progress
        Called batch by batch as rows are read and sorted.

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
    source = Source(paths, columns or {}, note or _say_nothing)
    tell = _teller(source.n_rows, progress or _say_nothing)
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


def _say_nothing(message: object) -> None:
    pass


def _teller(total: int, progress: Callable[[Progress], object]) -> Teller:
    clock = Clock(None)

    def tell(doing: str, rows: int) -> None:
        of = f"{rows:,} of {total:,} rows" if rows else f"{total:,} rows"
        progress(Progress(clock.elapsed(), f"{doing} {of}"))

    return tell


def _collected(source: Source, batch: int, tell: Teller) -> dict[str, Coder]:
    """Look at every row once: collect the labels, and refuse what is malformed in one message."""
    if not source.n_rows:
        message = f"{', '.join(source.names)}: a header but no reviews below it; expected one row a review"
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
    """Write all rows as codes, and count them by reviewer; returns how many of each file have a score."""
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
