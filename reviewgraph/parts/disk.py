"""A table of reviews on disk: labels and values per reviewer or item in memory, reviews in temporary files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reviewgraph._base.arguments import checked
from reviewgraph._base.arrays import CodeArray, FloatArray, IntArray
from reviewgraph._base.clock import Clock
from reviewgraph._base.errors import InputError
from reviewgraph._base.labels import encode, identity, inverse, natural_order
from reviewgraph._base.results import Progress
from reviewgraph.formats.audit.audit import refuse_uncorrected
from reviewgraph.formats.audit.tables import sentinel_of
from reviewgraph.formats.columns import ITEM, REVIEWER, Origin
from reviewgraph.formats.engine import engine_of
from reviewgraph.formats.spellings import PAPER, PERSON, Merge, Spellings
from reviewgraph.parts.files import LABELS, Labels, Source
from reviewgraph.parts.parts import LARGE, PIECE, LocalParts, Part, PartedReviews, mapped, opened, pieces
from reviewgraph.table.rows import Duplicates, merge_duplicates, say_fulfilled, say_twice

if TYPE_CHECKING:
    from reviewgraph.formats.tables import Path


#: Rows in memory at once, and bytes of DuckDB for each, so that it takes a gigabyte.
BATCH = 1 << 22
ROW_BYTES = 256
#: Keys of items are looked up in a table of at most ``ROOM`` places per row of the files, larger ones by a join.
ROOM = 2
LEAST_ROOM = 1 << 20
#: Bits of the number that an item and a row become.
KEY_BITS = 64
#: Reviewers and items are vertices of one graph, whose numbers take 32 bits.
MOST_VERTICES = 2**32 - 1


@contextmanager
@checked
def stream_reviews(
    *paths: Path,
    columns: Mapping[str, str] | None = None,
    lower_is_better: bool = False,
    duplicates: Duplicates = "error",
    merge: Merge | None = None,
    batch: int = BATCH,
    piece: int = PIECE,
    note: Callable[[str], object] | None = None,
    progress: Callable[[Progress], object] | None = None,
) -> Iterator[PartedReviews]:
    r"""Read reviews from files that may be larger than memory.

    Labels and values per reviewer or item stay in memory; the reviews are sorted by reviewer in a temporary file in
    ``TMPDIR``, about 45 bytes per row, which is deleted at the end of the ``with``.

    Parameters
    ----------
    *paths
        Files of Parquet or delimited text, folders of Parquet files, or patterns, one row per review; columns are found
        by name as by :func:`reviewgraph.read_reviews`. Labels are text or whole numbers, scores numbers.
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
        Rows that are sorted in memory at once; results do not depend on it.
    piece
        About how many reviews a part has, two of which are in memory at once; results depend on it by rounding only.
    note
        Called with notes for the user; by default there are none.
    progress
        Called batch by batch as rows are read and sorted.

    Yields
    ------
    PartedReviews
        The open table, which :func:`reviewgraph.check`, :func:`lsc.posterior` and :func:`lsc.calibrate` take; its
        temporary files are removed at the end of the block.

    Raises
    ------
    InputError
        If a file is not as described, rows are malformed, or the disk is full.
    DuplicateReview
        If a pair has two scores and ``duplicates`` is ``"error"``; the message names both rows.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "scores.csv"
    ...     _ = path.write_text("reviewer,item\n2,a\n2,b\n10,b\n")
    ...     with stream_reviews(path) as stream:
    ...         stream, stream.reviewers[:]
    (<PartedReviews: 2 reviewers, 2 items, 3 reviews>, ['2', '10'])
    """
    read = sorted_reviews(paths, columns, duplicates, merge, batch, note, progress, lower_is_better=lower_is_better)
    # Vectors over items are to be small beside the reviews of a part; two parts are worked on at a time.
    size = read.table.item.size
    number = max(-(-size // max(piece, len(read.items))), 2 if size >= LARGE else 1)
    parts = LocalParts(pieces(read.table, number), len(read.items), on_disk=True)
    try:
        yield opened(read.reviewers, read.items, parts, lower_is_better=lower_is_better, origin=read.origin)
    finally:
        parts.close()


class Sorted(NamedTuple):
    """Reviews in files without a name, by reviewer and item, and their labels and source."""

    table: Part
    reviewers: Labels
    items: Labels
    origin: Origin


def sorted_reviews(
    paths: Iterable[Path],
    columns: Mapping[str, str] | None,
    duplicates: Duplicates,
    merge: Merge | None,
    batch: int,
    note: Callable[[str], object] | None,
    progress: Callable[[Progress], object] | None,
    *,
    lower_is_better: bool,
) -> Sorted:
    """Read and sort files; the arguments are those of :func:`stream_reviews`."""
    if batch < 1:
        raise InputError(f"batch: expected one row or more, found {batch}")
    spellings = Spellings.of(merge)
    if isinstance(spellings.merge, Mapping):
        raise InputError('merge: expected "all" or "none" for a table read by batches, found which labels become which')
    clock = Clock(None)

    def tell(doing: str) -> None:
        if progress is not None:
            progress(Progress(clock.elapsed(), doing))

    with engine_of(batch * ROW_BYTES >> 20) as engine:
        source = Source(engine, paths, columns or {}, note or (lambda message: None))
        tell("reading the files")
        source.read()
        if not source.n_rows:
            raise InputError(f"{source.name}: a header but no reviews below it; expected one row per review")
        tell(f"reading the labels of {source.n_rows:,} rows")
        is_audited = source.expect_uncorrected(columns or {}, duplicates, lower_is_better=lower_is_better)
        sides = _sides(source, spellings, note)
        if note and not is_audited and (odd := _sentinel(source)):
            note(odd)
        tell(f"sorting {source.n_rows:,} rows")
        table, reviewers, items = _sort(source, *sides, duplicates, -1.0 if lower_is_better else 1.0)
        if len(reviewers) + len(items) > MOST_VERTICES:
            raise InputError(f"{source.names[0]}: expected at most {MOST_VERTICES:,} reviewers and items, found more")
        tell(f"SHA-256 of {source.n_rows:,} rows")
        origin = Origin(files=source.files_read())
    n_scored = int(np.count_nonzero(~np.isnan(table.score)))
    if note and (fulfilled := say_fulfilled(source.n_rows, sum(source.scored), table.item.size, n_scored)):
        note(fulfilled)
    return Sorted(table, reviewers, items, origin)


#: Distinct scores in the first rows beyond which scores are no grades, and how many rows these are.
_GRADES = 200
_FIRST = 10_000


def _sentinel(source: Source) -> str:
    """Return the note of the audit on a number apart from all other scores; nothing if there is none."""
    few = f"SELECT count(DISTINCT score) FROM (SELECT score FROM rows LIMIT {_FIRST})"
    if source.engine.first(few)[0] > _GRADES:
        return ""
    counted_scores = source.engine.run("SELECT score, count(*) FROM rows WHERE score IS NOT NULL GROUP BY 1 ORDER BY 1")
    values = np.array([value for value, _ in counted_scores], np.float64)
    counts = np.array([count for _, count in counted_scores], np.int64)
    finite = np.isfinite(values)
    return sentinel_of(values[finite], counts[finite], None)


class Side(NamedTuple):
    """Labels of a role, and how rows sort by them: the SQL of a number, and of the tables that it takes.

    ``code`` has the code of each number; None if the number is the code, or labels are those that sorting finds.
    """

    labels: Labels | None
    number: str
    tables: str = ""
    code: CodeArray | None = None


def _sides(source: Source, spellings: Spellings, note: Callable[[str], object] | None) -> tuple[Side, Side]:
    """Collect the labels of reviewers and items."""
    texts = {role: source.labels(role).tolist() for role in LABELS if source.is_text[role]}
    source.expect_whole(texts)
    name = source.name
    refuse_uncorrected(name, texts.get(REVIEWER.name, ()), texts.get(ITEM.name, ()))
    sides = dict[str, Side]()
    for role, kind in zip(LABELS, (PERSON, PAPER), strict=True):
        if role in texts:
            gate = partial(spellings.respelled, role=kind, name=name, note=note)
            codes, labels = _joined(texts.pop(role), gate)
            spellings.without_near(labels, kind, name)
            held = Labels(np.array(labels, np.dtypes.StringDType()))
            sides[role] = _coded(source, role, codes, held)
        elif role == REVIEWER.name:
            sides[role] = Side(None, f"rows.{role}")
        elif source.largest < max(LEAST_ROOM, ROOM * source.n_rows):
            sides[role] = _dense(source, role)
        else:
            keys, codes = np.unique(source.labels(role), return_inverse=True)
            sides[role] = _coded(source, role, codes, Labels(keys))
    return sides[REVIEWER.name], sides[ITEM.name]


def _dense(source: Source, role: str) -> Side:
    """Return the side of keys that are dense: a table of codes takes a fifth of the time of a join."""
    seen = np.zeros(source.largest + 1, np.bool_)
    with source.reading():
        for [keys] in source.engine.batches(f"SELECT {role} FROM rows"):
            seen[keys] = True
    code = np.cumsum(seen, dtype=np.uint32) - np.uint32(1)
    return Side(Labels(np.flatnonzero(seen)), f"rows.{role}", code=code)


def _coded(source: Source, role: str, codes: IntArray, labels: Labels) -> Side:
    """Return the side of labels in a table of the engine, which have these codes."""
    source.engine.connection.register(f"{role}_codes", {"code": codes.astype(np.uint32)})
    coded = f"SELECT label, code FROM {role}_labels POSITIONAL JOIN {role}_codes"
    source.engine.run(f"CREATE TABLE {role}_coded AS {coded}")
    # A left join loses no row, whatever DuckDB concludes from statistics in the file.
    return Side(labels, f"{role}_coded.code", f" LEFT JOIN {role}_coded ON rows.{role} = {role}_coded.label")


def _joined(texts: list[str], spelled: Callable[[list[str]], list[str]]) -> tuple[IntArray, Sequence[str]]:
    """Return codes and labels of distinct text, similar labels joined by ``spelled``."""
    # Only labels with equal hashes are compared, since most are similar to none.
    key = np.fromiter((hash(identity(text)) for text in texts), np.int64, len(texts))
    order = np.argsort(key)
    same = np.flatnonzero(key[order][1:] == key[order][:-1])
    some = [texts[place] for place in np.unique(order[np.concatenate([same, same + 1])]).tolist()]
    becomes = dict(zip(some, spelled(some), strict=True))
    if any(label != spelled_label for label, spelled_label in becomes.items()):
        codes, distinct = encode([becomes.get(text, text) for text in texts])
        return codes, list(map(str, distinct))
    order = natural_order(texts)
    return inverse(order), list(map(texts.__getitem__, order.tolist()))


class Pairs(NamedTuple):
    """Rows sorted by reviewer (a code or a key), item (a code) and row; score is NaN where planned."""

    reviewer: Any
    item: Any
    score: FloatArray
    row: IntArray


def _sort(
    source: Source, reviewers: Side, items: Side, duplicates: Duplicates, sign: float
) -> tuple[Part, Labels, Labels]:
    """Write items and scores by reviewer and item, those of one pair merged; returns the table, and labels of both."""
    item = mapped(source.n_rows, np.uint32)
    score = mapped(source.n_rows, np.float64)
    size = 0
    starts = []
    previous = None
    keys: list[Any] = []
    labels: Any = items.labels
    for part in _pairs(source, reviewers, items):

        def say(row: int, other_row: int, part: Pairs = part) -> str:
            at = np.flatnonzero(part.row == row)[0]
            key = part.reviewer[at]
            reviewer = str(key) if reviewers.labels is None else reviewers.labels[int(key)]
            return say_twice(reviewer, labels[int(part.item[at])], source.place(row), source.place(other_row))

        scored = ~np.isnan(part.score)
        key, code, value, _ = merge_duplicates(*part[:2], sign * part.score, scored, duplicates, say, part.row)
        first = np.flatnonzero(np.concatenate([[key[0] != previous], key[1:] != key[:-1]]))
        starts.append(size + first)
        keys.append(key[first])
        item[size : size + code.size] = code
        score[size : size + code.size] = value
        size += code.size
        previous = key[-1]
    start = np.concatenate([*starts, [size]])
    names = reviewers.labels or Labels(np.concatenate(keys))
    return Part(0, start, item[:size], score[:size]), names, labels


def _pairs(source: Source, reviewers: Side, items: Side) -> Iterator[Pairs]:
    """Read all rows sorted, in parts that divide no pair."""
    # Item and row are one number of 64 bits, so that less is moved and spilled.
    bits = source.n_rows.bit_length()
    most = len(items.labels or ()) if items.code is None else items.code.size
    if bits + most.bit_length() > KEY_BITS:
        raise InputError(f"{source.names[0]}: expected fewer than 2^{KEY_BITS} pairs of a row and an item, found more")
    query = f"SELECT {reviewers.number} AS reviewer, score, ({items.number}::UBIGINT << {bits}) | row::UBIGINT AS place"
    query += f" FROM rows{reviewers.tables}{items.tables} ORDER BY reviewer, place"
    kept: list[Any] = []
    with source.reading():
        for batch in source.engine.batches(query):
            part = [np.concatenate(columns) for columns in zip(kept, batch, strict=True)] if kept else batch
            # The last pair may go on in the next batch.
            last = (part[0] == part[0][-1]) & (part[2] >> np.uint64(bits) == part[2][-1] >> np.uint64(bits))
            size = last.size - int(np.count_nonzero(last))
            if size:
                yield _unpacked([values[:size] for values in part], bits, items.code)
            kept = [values[size:] for values in part]
    if kept:
        yield _unpacked(kept, bits, items.code)


def _unpacked(part: Sequence[Any], bits: int, code: CodeArray | None) -> Pairs:
    reviewer, score, place = part
    number = place >> np.uint64(bits)
    row = place & np.uint64((1 << bits) - 1)
    return Pairs(reviewer, number.astype(np.uint32) if code is None else code[number], score, row.astype(np.int64))
