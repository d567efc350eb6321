"""The check of a table on disk or on a cluster: components exactly, and levels that counts and a cover decide."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reviewgraph._base.arguments import checked
from reviewgraph._base.arrays import CodeArray, IntArray
from reviewgraph._base.errors import InputError
from reviewgraph._base.results import Result
from reviewgraph._base.text import counted, listed
from reviewgraph.graph.kernels.union_find import grow_cover, point_at_roots, union_chunk
from reviewgraph.graph.levels import LEVELS, NAMES, Connected, Double, LevelName, Recoverable, level_named
from reviewgraph.streams.cluster import ClusterTable, Future, Grid, Share
from reviewgraph.streams.files import Labels
from reviewgraph.streams.table import Stream

if TYPE_CHECKING:
    from reviewgraph._base.page import Page

#: Maximum passes in which the cover of the busiest reviewer grows.
PASSES = 30
#: Rows of a table converted to text at once.
ROWS = 1 << 18


def decided_levels(pieces: int, missing: int, *, covered: bool) -> dict[str, bool | None]:
    """Return whether each level holds, by name, the strongest first; None if it is not decided.

    ``missing`` is a lower bound on the degrees of freedom, ``covered`` whether one doubly connected component is known
    to cover all items.
    """
    decided = [level.decided(pieces=pieces, missing=missing, covered=covered) for level in LEVELS]
    # Each level implies those after it.
    levels: dict[str, bool | None] = {}
    for place, name in enumerate(NAMES):
        if any(decided[: place + 1]):
            levels[name] = True
        else:
            levels[name] = False if False in decided[place:] else None
    return levels


@dataclass(frozen=True, eq=False, repr=False)
class Connection(Result):
    """The check of a table larger than memory, see :func:`check_stream`.

    Parameters
    ----------
    stream
        The table.
    labels, item_labels
        Shapes (M,) and (N,): the piece (connected component) of each reviewer and item, numbered from 1: most items
        first, then most reviewers, then the one whose first reviewer comes first.
    pieces
        Their number.
    least_cover
        Items of one doubly connected component; the largest may have more.
    least_degrees_of_freedom
        Missing links by counting; there may be more.

    Examples
    --------
    See :func:`reviewgraph.check_stream`, which returns it.
    """

    stream: Stream = field(repr=False)
    labels: IntArray
    item_labels: IntArray
    pieces: int
    least_cover: int
    least_degrees_of_freedom: int

    @cached_property
    def known(self) -> dict[str, bool | None]:
        """Whether each level holds, by name, the strongest first; None if it is not decided."""
        covered = self.least_cover == self.stream.n_items
        return decided_levels(self.pieces, self.least_degrees_of_freedom, covered=covered)

    @property
    def level(self) -> str | None:
        """The highest level that is known to hold, or none."""
        return next((name for name, holds in self.known.items() if holds), None)

    @property
    def undecided(self) -> list[str]:
        """The levels that are not decided."""
        return [name for name, holds in self.known.items() if holds is None]

    def reaches(self, level: LevelName) -> bool:
        """Whether a level is known to hold.

        Parameters
        ----------
        level
            Name of the level.

        Returns
        -------
        bool
            Whether all items are at the level; InputError where that is not known.

        Examples
        --------
        With the result of the example of :func:`check_stream`, ``result.reaches("connected")`` is False.
        """
        asked = level_named(level)
        holds = self.known.get(asked.name, False if self.known[LEVELS[0].name] is False else None)
        if holds is None:
            message = (
                f"require: whether the level {asked.name!r} holds is not decided for a table larger than memory; ask "
                f"for {Connected.name!r}, or check a table that fits into memory without --stream"
            )
            raise InputError(message)
        return holds

    def to_dict(self) -> dict[str, Any]:
        """Return the keys of a check, None for unknown values, with their lower bounds under ``at_least``."""
        double = self.known[Double.name]
        recoverable = self.known[Recoverable.name]
        stream = self.stream
        return {
            "reviewers": stream.n_reviewers,
            "items": stream.n_items,
            "reviews": stream.n_reviews,
            "connected": {"components": self.pieces},
            "doubly_connected": None,
            "recovery_resilient": double,
            "recoverable": recoverable,
            "degrees_of_freedom": 0 if recoverable else None,
            "level": self.level,
            "undecided": self.undecided,
            "at_least": {"largest_cover": self.least_cover, "degrees_of_freedom": self.least_degrees_of_freedom},
            **stream.origin.to_dict(),
        }

    def to_columns(self) -> dict[str, list[Any]]:
        """Return all :meth:`parts` at once."""
        columns: dict[str, list[Any]] = {"role": [], "label": [], "group": []}
        for part in self.parts():
            for name, values in part.items():
                columns[name] += values
        return columns

    def parts(self, rows: int = ROWS) -> Iterator[dict[str, list[Any]]]:
        """Return a row for each reviewer and item (role, label, group: the piece), in parts of ``rows``.

        Parameters
        ----------
        rows
            Most rows per part.

        Yields
        ------
        dict
            Columns role, label and group by name.

        Examples
        --------
        ``next(result.parts(1000))`` are the first thousand rows of the result of :func:`check_stream`.
        """
        sides: tuple[tuple[str, Labels, IntArray], ...] = (
            ("reviewer", self.stream.reviewers, self.labels),
            ("item", self.stream.items, self.item_labels),
        )
        for role, labels, group in sides:
            for first in range(0, len(labels), rows):
                text = labels[first : first + rows]
                yield {"role": [role] * len(text), "label": text, "group": group[first : first + rows].tolist()}

    def headline(self) -> str:
        """Return the level, and what is missing."""
        return f"{counted(self.stream.n_items, 'item')}, {self.level or f'{self.pieces:,} pieces'}"


@checked
def check_stream(stream: Stream) -> Connection:
    """Check a table larger than memory: the pieces exactly, and bounds for the levels above.

    Doubly connected components and degrees of freedom take memory that grows with the reviews; here both have bounds,
    one by counting, one by a growing cover. The cover of the busiest reviewer grows pass by pass by all reviewers who
    share two items with it: if it covers all items, all are comparable for certain.

    Parameters
    ----------
    stream
        The table, open.

    Returns
    -------
    Connection
        The pieces exactly, and of the levels above what is known without holding the reviews.

    Notes
    -----
    Takes near-linear time, and about 30 bytes per reviewer and item.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet
    >>> from tempfile import TemporaryDirectory
    >>> from reviewgraph import stream_reviews
    >>> with TemporaryDirectory() as folder:
    ...     path = f"{folder}/scores.parquet"
    ...     pa.parquet.write_table(pa.table({"reviewer": [1, 1, 2, 2, 3], "item": [1, 2, 2, 3, 4]}), path)
    ...     with stream_reviews(path) as stream:
    ...         found = check_stream(stream)
    >>> found, found.labels.tolist(), found.item_labels.tolist(), found.least_degrees_of_freedom
    (<Connection: 4 items, 2 pieces>, [1, 1, 2], [1, 1, 1, 2], 2)
    """
    reviewers, items, pieces = _pieces(stream)
    loads = stream.loads
    linking = loads >= 2
    home = reviewers[linking] - 1
    missing = _least_missing(
        np.bincount(items - 1, minlength=pieces),
        np.bincount(home, minlength=pieces),
        np.bincount(home, loads[linking], pieces).astype(np.int64),
    )
    # A cover of all items needs one piece and no missing link.
    cover = _cover_of_busiest(stream) if pieces == 1 and not missing else int(loads.max(initial=0))
    return Connection(stream, reviewers, items, pieces, cover, missing)


def pieces_of(stream: Stream, *, scored: bool = False) -> tuple[CodeArray, int]:
    """Return the piece of each reviewer and then of each item, shape (M + N,), and the number of pieces.

    They are numbered from 0 in the order of their first reviewers, unreviewed items after them; with ``scored`` only
    reviews with a score connect.
    """
    M = stream.n_reviewers
    N = stream.n_items
    parent = np.arange(M + N, dtype=np.uint32)
    for every in stream.chunks():
        chunk = every.only_scored() if scored else every
        union_chunk(parent, chunk.first, chunk.start, M, chunk.item)
    point_at_roots(parent)
    # A root is the smallest vertex of its piece: pieces are numbered in the order of their first reviewers.
    is_root = parent == np.arange(M + N, dtype=np.uint32)
    pieces = int(np.count_nonzero(is_root))
    number = np.cumsum(is_root, dtype=np.uint32)
    del is_root
    return number[parent] - np.uint32(1), pieces


def _pieces(stream: Stream) -> tuple[IntArray, IntArray, int]:
    """Return the piece of each reviewer and item, from 1, the largest first, and their number."""
    M = stream.n_reviewers
    piece, pieces = pieces_of(stream)
    covers, sizes = (np.bincount(part, minlength=pieces) for part in (piece[M:], piece[:M]))
    place = np.empty(pieces, np.int64)
    place[np.lexsort((np.arange(pieces), -sizes, -covers))] = np.arange(1, pieces + 1)
    return place[piece[:M]], place[piece[M:]], pieces


def _least_missing(items: IntArray, linking: IntArray, reviews: IntArray) -> int:
    """Return a lower bound on the degrees of freedom, by counting in each component.

    A component of n items and m reviewers of two or more reviews has n + 2m unknowns; each of their reviews determines
    at most one, and all together at most all but two. ``items``, ``linking`` and ``reviews`` are n, m and the reviews.
    """
    unknown = items + 2 * linking
    rank = np.minimum(reviews, np.maximum(unknown - 2, 0))
    return int((unknown - rank).sum()) - min(int(items.sum()), 2)


def _cover_of_busiest(stream: Stream) -> int:
    """Return the size of the doubly connected cover that grows from the busiest reviewer, or of a part of it."""
    joined = np.zeros(stream.n_reviewers, np.bool_)
    covered = np.zeros(stream.n_items, np.bool_)
    busiest = int(np.argmax(stream.loads))
    for chunk in stream.chunks():
        j = busiest - chunk.first
        if 0 <= j < chunk.start.size - 1:
            joined[busiest] = True
            covered[chunk.item[chunk.start[j] : chunk.start[j + 1]]] = True
    for _ in range(PASSES):
        if not sum(grow_cover(joined, covered, chunk.first, chunk.start, chunk.item) for chunk in stream.chunks()):
            break
    return int(np.count_nonzero(covered))


def page_of(connection: Connection) -> Page:
    """Return the page of a check in batches: the verdict, and what is not decided."""
    from reviewgraph._base.page import Fact, Page
    from reviewgraph.report.check import sizes

    stream = connection.stream
    missing = connection.least_degrees_of_freedom
    level = None if connection.level is None else level_named(connection.level)
    papers = counted(stream.n_items, "paper")
    good: bool | None
    verdict, summary, good = "Not comparable:", f"{papers}, in {counted(connection.pieces, 'island')}", False
    if level is not None and level.compares:
        verdict, summary, good = "Comparable:", f"all {papers}, {level.words.removeprefix('comparable').strip()}", True
    if good and level is not None and level.name == Connected.name:
        verdict, good = "Not comparable for certain:", False
        summary = f"{papers}, {level.words.removeprefix('comparable').strip()}"
    if good and 0 < stream.n_scored < stream.n_reviews:
        summary, good = f"all {papers}, once all reviews are in", None
    facts = [Fact("Reviews", sizes(stream, stream.n_scored))]
    if missing:
        facts.insert(0, Fact("Needed", f"at least {counted(missing, 'more review')}"))
    if connection.undecided:
        facts.append(
            Fact(
                "Not decided",
                f"{listed(connection.undecided)}: that takes memory that grows with the reviews. One group of "
                f"{counted(connection.least_cover, 'paper')} is comparable for certain",
            )
        )
    return Page("Check of reviews", good, verdict, summary, facts)


# On a cluster.
#
# Connected components: the items of a partition that its reviewers join are one group; each item points at a smaller
# one of its component, the roots of a group are put under the smallest of them, and paths are halved, until all items
# point at the smallest of their component. Source: Shiloach and Vishkin (1982), as :func:`union_pairs`.


class Groups(NamedTuple):
    """The groups of items that the reviewers of a partition join: by item, and by reviewer (-1: no review)."""

    item: IntArray
    reviewer: IntArray


def local_groups(share: Share, scored: bool) -> Groups:
    """Join the reviewers of a partition with their items; with ``scored`` by reviews with a score only."""
    share = share.scored() if scored else share
    m = share.start.size - 1
    n = share.items.size
    parent = np.arange(m + n, dtype=np.uint32)
    union_chunk(parent, 0, share.start, m, share.item)
    point_at_roots(parent)
    _, group = np.unique(parent[m:], return_inverse=True)
    of = np.full(m, -1, np.int64)
    busy = np.flatnonzero(np.diff(share.start) > 0)
    of[busy] = group[share.item[share.start[busy]]]
    return Groups(group, of)


def group_roots(groups: Groups, roots: Sequence[IntArray]) -> tuple[IntArray, IntArray]:
    """Return the roots of the items of a partition, and the smallest of each group."""
    root = np.concatenate(roots)
    least = np.full(int(groups.item.max(initial=-1)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(least, groups.item, root)
    return root, least


def propose(groups: Groups, roots: Sequence[IntArray], first: IntArray) -> list[IntArray]:
    """Return pairs (root, smaller root of the same group), shape (n, 2), by shard of the larger one."""
    root, least = group_roots(groups, roots)
    lower = least[groups.item]
    pairs = np.unique(np.column_stack([root, lower])[root > lower], axis=0)
    return np.split(pairs, np.searchsorted(pairs[:, 0], first[1:-1]))


def hook(root: IntArray, pairs: Sequence[IntArray], first: int) -> tuple[IntArray, int]:
    """Put roots of a shard under the smallest proposed; returns the new parents, and the number of proposals."""
    every = np.concatenate(pairs)
    root = root.copy()
    np.minimum.at(root, every[:, 0] - first, every[:, 1])
    return root, len(every)


def ask(root: IntArray, first: IntArray) -> list[IntArray]:
    """Return the distinct parents of the items of a shard, by shard."""
    parents = np.unique(root)
    return np.split(parents, np.searchsorted(parents, first[1:-1]))


def answer(root: IntArray, asked: Sequence[IntArray], first: int) -> list[IntArray]:
    """Return the parents of the items that each shard asked for."""
    return [root[items - first] for items in asked]


def jump(root: IntArray, answers: Sequence[IntArray]) -> tuple[IntArray, int]:
    """Point items at the parents of their parents; returns how many changed, too."""
    _, place = np.unique(root, return_inverse=True)
    new = np.concatenate(answers)[place]
    return new, int(np.count_nonzero(new != root))


def roots_of(table: Grid, groups: Sequence[Future]) -> list[Future]:
    """Return the smallest item of the component of each item, by shard."""
    first = table.first_item
    starts = table.first_item[:-1].tolist()
    S = len(starts)
    root = table.each(np.arange, starts, first[1:].tolist())
    while True:
        proposed = table.sent(table.each(propose, groups, table.to_partitions(root), first=first), S)
        hooked = table.sent(table.each(hook, root, proposed, starts), 2)
        if not sum(table.fetch(hooked[1])):
            return root
        root = hooked[0]
        while True:
            asked = table.sent(table.each(ask, root, first=first), S)
            answers = table.sent(table.each(answer, root, asked, starts), S)
            root, changed = table.sent(table.each(jump, root, answers), 2)
            if not sum(table.fetch(changed)):
                break
        root = table.store(root)


class Pieces(NamedTuple):
    """Connected components, a row each, in the order of their first items: shapes (C,).

    ``root``: first item; ``items``, ``reviewers``: their numbers; ``first``: first reviewer, or -1; ``linking``:
    reviewers of two reviews or more, and ``reviews`` of these.
    """

    root: IntArray
    items: IntArray
    reviewers: IntArray
    first: IntArray
    linking: IntArray
    reviews: IntArray


@dataclass(frozen=True, eq=False)
class Components:
    """Connected components of a table: their sizes, and the root of each item and reviewer, on the cluster."""

    pieces: Pieces
    items: list[Future]
    reviewers: list[Future]

    @property
    def largest_first(self) -> IntArray:
        """The components by their numbers of items, ties by first item, shape (C,)."""
        return np.lexsort((self.pieces.root, -self.pieces.items))

    def groups(self, table: Grid) -> list[Future]:
        """Return the component of each item, from 1 for the largest, ties by first item, on the cluster."""
        number = np.empty(self.pieces.root.size, np.int64)
        number[self.largest_first] = np.arange(1, number.size + 1)
        return self.numbered(table, number)[1]

    def numbered(self, table: Grid, number: Any) -> tuple[list[Future], list[Future]]:
        """Return numbers of components (C,) by reviewer and by item, on the cluster; a component's rows only travel."""
        numbers = []
        for roots in (self.reviewers, self.items):
            distinct = table.fetch(table.each(np.unique, roots))
            places = [np.searchsorted(self.pieces.root, part[part >= 0]) for part in distinct]
            keys = [self.pieces.root[part] for part in places]
            numbers.append(table.each(_renumber, roots, keys, [number[part] for part in places]))
        return numbers[0], numbers[1]


def _renumber(root: IntArray, keys: IntArray, number: Any) -> Any:
    numbers = np.zeros(root.size, number.dtype)
    numbers[root >= 0] = number[np.searchsorted(keys, root[root >= 0])]
    return numbers


def _items_by_root(root: IntArray) -> IntArray:
    """Return roots and their numbers of items, shape (2, n)."""
    return np.array(np.unique(root, return_counts=True))


def _reviewers_by_root(root: IntArray, share: Share, first: int, scored: bool) -> IntArray:
    """Return root, number, first reviewer, reviewers of two reviews or more and their reviews, shape (5, n)."""
    load = np.diff(share.scored().start if scored else share.start)
    busy = np.flatnonzero(root >= 0)
    roots, place, number = np.unique(root[busy], return_inverse=True, return_counts=True)
    earliest = np.full(roots.size, np.iinfo(np.int64).max)
    np.minimum.at(earliest, place, first + busy)
    linking = load[busy] >= 2
    links, reviews = np.zeros((2, roots.size), np.int64)
    np.add.at(links, place, linking)
    np.add.at(reviews, place, np.where(linking, load[busy], 0))
    return np.array([roots, number, earliest, links, reviews])


def _root_of_reviewers(groups: Groups, roots: Sequence[IntArray]) -> IntArray:
    _, least = group_roots(groups, roots)
    return np.where(groups.reviewer >= 0, np.append(least, -1)[groups.reviewer], -1)


def components_of(table: Grid, *, scored: bool = False) -> Components:
    """Return the connected components of a table; with ``scored`` only reviews with a score connect."""
    groups = table.each(local_groups, table.shares, scored=scored)
    items = roots_of(table, groups)
    reviewers = table.each(_root_of_reviewers, groups, table.to_partitions(items))
    firsts = table.first_reviewer[:-1].tolist()
    by_item = np.concatenate(table.fetch(table.each(_items_by_root, items)), axis=1)
    by_reviewer = table.fetch(table.each(_reviewers_by_root, reviewers, table.shares, firsts, scored=scored))
    root, place = np.unique(by_item[0], return_inverse=True)
    sizes = np.zeros(root.size, np.int64)
    more = np.zeros((3, root.size), np.int64)
    first = np.full(root.size, -1)
    np.add.at(sizes, place, by_item[1])
    for part in reversed(by_reviewer):  # the last assignment is the first reviewer
        place = np.searchsorted(root, part[0])
        first[place] = part[2]
        more[:, place] += part[[1, 3, 4]]
    return Components(Pieces(root, sizes, more[0], first, more[1], more[2]), items, reviewers)


@dataclass(frozen=True, eq=False, repr=False)
class ClusterCheck(Result):
    """The check of a table on a cluster, see :func:`check_cluster`.

    Parameters
    ----------
    table
        The table.
    labels, item_labels
        The component of the reviewers of each partition and of the items of each shard, from 1, on the cluster.
    sizes
        Shape (C, 2): items and reviewers of each component, the largest first.
    least_degrees_of_freedom
        Missing links by counting; there may be more.

    Examples
    --------
    See :func:`check_cluster`, which returns it.
    """

    table: ClusterTable = field(repr=False)
    labels: list[Future] = field(repr=False)
    item_labels: list[Future] = field(repr=False)
    sizes: IntArray
    least_degrees_of_freedom: int

    @property
    def pieces(self) -> int:
        """Number of connected components."""
        return len(self.sizes)

    @property
    def known(self) -> dict[str, bool | None]:
        """Whether each level holds, by name, the strongest first; None if it is not decided."""
        return decided_levels(self.pieces, self.least_degrees_of_freedom, covered=self.table.n_items == 1)

    @property
    def undecided(self) -> list[str]:
        """The levels that are not decided."""
        return [name for name, holds in self.known.items() if holds is None]

    def to_dict(self) -> dict[str, Any]:
        """Return sizes, the number of components, and the levels by name, None where it is not decided."""
        table = self.table
        sizes = {"reviewers": table.n_reviewers, "items": table.n_items, "reviews": table.n_reviews}
        least = {"degrees_of_freedom": self.least_degrees_of_freedom}
        return {**sizes, "pieces": self.pieces, "levels": self.known, "undecided": self.undecided, "at_least": least}

    def to_columns(self) -> dict[str, list[Any]]:
        """Return the sizes of the components; those of reviewers and items are :meth:`frames`."""
        items, reviewers = self.sizes.T.tolist()
        return {"group": list(range(1, self.pieces + 1)), "items": items, "reviewers": reviewers}

    def frames(self) -> tuple[Any, Any]:
        """Return Dask data frames of reviewers and of items, with the columns label and group.

        Returns
        -------
        tuple of dask.dataframe.DataFrame
            One row per reviewer, and one per item, in the order of the codes.

        Examples
        --------
        ``check_cluster(table).frames()[1].to_parquet("pieces")`` writes the component of each item.
        """
        grid = self.table.grid
        by_reviewer = grid.frame(0, {"group": self.labels})
        return by_reviewer, grid.frame(1, {"group": self.item_labels})

    def headline(self) -> str:
        """Return the numbers of items and components, and what is undecided."""
        words = f"{counted(self.table.n_items, 'item')}, {counted(self.pieces, 'piece')}"
        return f"{words}, undecided: {listed(self.undecided)}" if self.undecided else words


@checked
def check_cluster(table: ClusterTable) -> ClusterCheck:
    """Check a table on a cluster: its connected components exactly, and a bound on the missing links.

    Doubly connected components need the whole graph in one memory, so the levels above ``connected`` are denied where
    links are missing by counting, and undecided otherwise.

    Parameters
    ----------
    table
        The table, open.

    Returns
    -------
    ClusterCheck
        Components of reviewers and items, and the levels that these decide.

    Notes
    -----
    O(log N) rounds, in each of which every partition and shard exchange 8 bytes per item that they share. The client
    holds 48 bytes per component.

    Examples
    --------
    >>> import pandas, dask.dataframe
    >>> from distributed import Client
    >>> from tempfile import TemporaryDirectory
    >>> from reviewgraph import cluster_reviews
    >>> rows = dask.dataframe.from_pandas(pandas.DataFrame({"reviewer": [1, 1, 2], "item": [1, 2, 3]}), npartitions=1)
    >>> local = {"processes": False, "n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}
    >>> with Client(**local) as client, TemporaryDirectory() as folder:
    ...     with cluster_reviews(rows, client, folder, partitions=1) as table:
    ...         check_cluster(table).to_columns()
    {'group': [1, 2], 'items': [2, 1], 'reviewers': [1, 1]}
    """
    components = components_of(table.grid)
    root, items, reviewers, first, linking, reviews = components.pieces
    order = np.lexsort((first, -reviewers, -items))
    number = np.empty(root.size, np.int64)
    number[order] = np.arange(1, root.size + 1)
    labels, item_labels = components.numbered(table.grid, number)
    missing = _least_missing(items, linking, reviews)
    return ClusterCheck(table, labels, item_labels, np.column_stack([items, reviewers])[order], missing)
