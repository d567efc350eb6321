"""Constraints by code: authors of papers, rivals among pairs, floors on affinity, and the scored pairs themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reviewgraph._base import InputError, as_numbers, encode, spread
from reviewgraph.formats import AFFINITY, ITEM, REVIEWER, Columns, Merge, Spellings
from reviewgraph.io import is_frame, labels_in, match_pairs, numbered_pairs

if TYPE_CHECKING:
    from reviewgraph._base import BoolArray, FloatArray, IntArray, Label
    from reviewgraph.io import Pairs, Rules, Unknown


class Authors(NamedTuple):
    """An authors' file, and its consequences."""

    # (author, item) pairs, a ``Columns``, or a mapping item -> authors; labels of authors are those of reviewers
    pairs: Pairs | Mapping[Any, Any] = ()
    distance: int = 0  # 0: nobody reviews their own paper; 1: nor one of a co-author
    allow_cycles: bool = False  # whether two may review a paper of each other
    allow_coauthors: bool = False  # whether two who share a paper may review the same one


def authors_of(rules: Rules) -> Authors:
    """Return the part of the rules on authors."""
    pairs = () if rules.authors is None else rules.authors
    return Authors(pairs, rules.author_distance or 0, bool(rules.allow_cycles), bool(rules.allow_coauthors))


class Written:
    """Papers and authors by code: the reviewers' and items' codes first, then those of other people and papers.

    ``item``, ``author``: who wrote what, each pair once; ``sizes``: items and reviewers of the problem.
    """

    def __init__(self, settings: Authors, item: IntArray, author: IntArray, sizes: tuple[int, int]) -> None:
        from scipy.sparse import coo_array

        self.settings = settings
        n_items, n_reviewers = sizes
        shape = (max(int(item.max(initial=-1)) + 1, n_items), max(int(author.max(initial=-1)) + 1, n_reviewers))
        self.n_items, self.n_reviewers = n_items, n_reviewers
        self.matrix = coo_array((np.ones(item.size, np.int32), (item, author)), shape=shape).tocsr()

    @property
    def start(self) -> IntArray:
        """The authors of item i are ``author[start[i]:start[i + 1]]``, shape (N + 1,)."""
        return np.asarray(self.matrix.indptr[: self.n_items + 1], np.int64)

    @property
    def author(self) -> IntArray:
        """Authors of the items, by item."""
        return np.asarray(self.matrix.indices, np.int64)

    @property
    def n_authors(self) -> IntArray:
        """Authors of each item, shape (N,)."""
        return np.diff(self.start)

    @property
    def writes(self) -> BoolArray:
        """Which reviewers wrote one of the items, shape (M,)."""
        mask = np.zeros(self.matrix.shape[1], np.bool_)
        mask[self.author[: self.start[-1]]] = True
        return mask[: self.n_reviewers]

    @cached_property
    def _shared(self) -> Any:
        """Number of papers that people share, people x people."""
        return (self.matrix.T @ self.matrix).tocsr()

    def coauthors(self) -> Any:
        """Return the reviewers who share a paper, M x M in rows; everybody who wrote one shares it with themselves."""
        return self._shared[: self.n_reviewers, : self.n_reviewers].tocsr()

    def barred(self) -> IntArray:
        """Return the pairs, item * M + reviewer, of authors of the item, or at distance 1 of co-authors; ascending."""
        wrote = self.matrix[: self.n_items]
        near = (wrote @ self._shared if self.settings.distance else wrote).tocsr()[:, : self.n_reviewers].tocoo()
        item, reviewer = near.coords
        return np.unique(item.astype(np.int64) * self.n_reviewers + reviewer)

    def cycles_of_three(self, item: IntArray, reviewer: IntArray) -> int:
        """Count circles of three reviewers in an assignment: each reviews a paper of the next.

        Takes the time of squaring the sparse matrix of who reviews whom.
        """
        from scipy.sparse import coo_array

        size = self.n_authors[item]
        judge = np.repeat(reviewer, size)
        judged = self.author[spread(self.start[item], size)]
        ours = (judged < self.n_reviewers) & (judged != judge)
        shape = (self.n_reviewers, self.n_reviewers)
        who = coo_array((np.ones(int(ours.sum()), np.int64), (judge[ours], judged[ours])), shape=shape).tocsr()
        who.data[:] = 1
        return int((who @ who).multiply(who.T).sum()) // 3


# Cliques that cover couples of rivals: of each, at most one pair may be assigned.


class Cliques(NamedTuple):
    """Pair ``member[e]`` is in clique ``row[e]``, shapes (E,)."""

    row: IntArray
    member: IntArray


def cliques_of(rivals: Rivals) -> Cliques:
    """Cover every couple by a maximal clique, greedily, smaller codes first.

    One row of a programme per clique leaves a tighter relaxation than rows for its couples (Padberg 1973: these rows
    are facets), and the cliques of an authors' file are large: the authors of one paper on one panel, or the authors
    of two papers each on the other. Takes O(K (D + log K)) for K couples and at most D rivals per pair.

    >>> cliques_of(rivals_of(4, np.array([[0, 1], [1, 2], [0, 2], [2, 3]])))
    Cliques(row=array([0, 0, 0, 1, 1]), member=array([0, 1, 2, 2, 3]))
    """
    near = [set(part.tolist()) for part in np.split(rivals.rival, rivals.start[1:-1])]
    remaining = [{other for other in others if other > pair} for pair, others in enumerate(near)]
    cliques: list[list[int]] = []
    for pair, others in enumerate(remaining):
        while others:
            clique = _grown([pair, min(others)], near)
            cliques.append(clique)
            for one in clique:
                remaining[one].difference_update(clique)
    size = [len(clique) for clique in cliques]
    members = np.array([pair for clique in cliques for pair in clique], np.int64)
    return Cliques(np.repeat(np.arange(len(cliques)), size), members)


def _grown(clique: list[int], near: list[set[int]]) -> list[int]:
    """Add pairs, smallest codes first, while one is a rival of all."""
    could = near[clique[0]] & near[clique[1]]
    for pair in sorted(could):
        if pair in could:
            clique.append(pair)
            could &= near[pair]
    return sorted(clique)


# Couples of pairs that an authors' file forbids together.


def cycles_of_two(item: IntArray, reviewer: IntArray, wrote: Written) -> IntArray:
    """Return couples of pairs (q, a) and (p, b) where a is an author of p and b of q, shape (K, 2).

    Takes O(A log A) for A pairs, each counted once for every author of its paper, and the couples themselves.
    """
    # Entry (q, a) by b: a may review a paper of b. Sorted by {a, b}, both directions are adjacent.
    size = wrote.n_authors[item]
    pair = np.repeat(np.arange(item.size), size)
    by = wrote.author[spread(wrote.start[item], size)]
    judge = reviewer[pair]
    fine = (by < wrote.n_reviewers) & wrote.writes[judge] & (by != judge)
    pair, by, judge = pair[fine], by[fine], judge[fine]
    low, high = np.minimum(by, judge), np.maximum(by, judge)
    order = np.argsort(((low * wrote.n_reviewers + high) << 1) | (judge > by), kind="stable")
    two, up = (low * wrote.n_reviewers + high)[order], (judge > by)[order]
    edge = np.flatnonzero(np.append(True, two[1:] != two[:-1])) if two.size else np.zeros(0, np.int64)
    length = np.diff(np.append(edge, two.size))
    n_up = np.add.reduceat(up.astype(np.int64), edge) if edge.size else length
    return _products(pair[order], edge, length - n_up, n_up)


def _products(pair: IntArray, first: IntArray, n_left: IntArray, n_right: IntArray) -> IntArray:
    """Return every left pair with every right one of each group; the right ones follow the left ones."""
    number = n_left * n_right
    at = spread(np.zeros_like(number), number)
    width, begin = np.repeat(n_right, number), np.repeat(first, number)
    left = pair[begin + at // np.maximum(width, 1)]
    right = pair[begin + np.repeat(n_left, number) + at % np.maximum(width, 1)]
    return np.column_stack([left, right])


def coauthors_together(item: IntArray, reviewer: IntArray, wrote: Written) -> IntArray:
    """Return couples of pairs (p, a) and (p, b) where a and b are authors of one paper, shape (K, 2).

    Pairs are sorted by (item, reviewer). Takes O(C log P) for C co-authors, each counted once for every pair.
    """
    shares = wrote.coauthors()
    start, other = shares.indptr.astype(np.int64), shares.indices.astype(np.int64)
    size = start[reviewer + 1] - start[reviewer]
    first = np.repeat(np.arange(item.size), size)
    other = other[spread(start[reviewer], size)]
    upper = other > reviewer[first]
    first, other = first[upper], other[upper]
    key = item * wrote.n_reviewers + reviewer
    wanted = item[first] * wrote.n_reviewers + other
    second = np.minimum(np.searchsorted(key, wanted), max(key.size - 1, 0))
    both = key[second] == wanted if key.size else np.zeros(0, np.bool_)
    return np.column_stack([first[both], second[both]])


# Floors: lower bounds on the sum of a paper's affinities, or on the best of them; in whole units.

#: Bits of the largest affinity in whole units: sums of them are exact, and are compared without rounding.
VALUE_BITS = 36

#: Below every sum of affinities.
NO_FLOOR = -(1 << 62)


class Floors(NamedTuple):
    """Minimum sum of the affinities of a paper's reviewers, and minimum affinity of its best one; None for no floor."""

    total: float | None = None
    best: float | None = None

    @property
    def asked(self) -> bool:
        """Whether there is any."""
        return self.total is not None or self.best is not None


#: No floors.
NO_FLOORS = Floors()


def unit_of(affinity: FloatArray) -> float:
    """Return one unit, in affinity."""
    largest = float(np.abs(affinity).max(initial=0.0))
    return (largest if largest > 0 else 1.0) * 2.0**-VALUE_BITS


def whole_values(affinity: FloatArray) -> IntArray:
    """Return affinities in whole units, each with an error of half a unit.

    >>> whole_values(np.array([1.0, 0.5, -0.25])) / 2**VALUE_BITS
    array([ 1.  ,  0.5 , -0.25])
    """
    return np.asarray(np.rint(affinity / unit_of(affinity)), np.int64)


def whole_floor(floor: float | None, affinity: FloatArray, most: int) -> int:
    """Return a floor in whole units, less the rounding error of a sum of ``most`` affinities."""
    if floor is None:
        return NO_FLOOR
    units = np.floor(np.clip(floor / unit_of(affinity), NO_FLOOR // 2, -(NO_FLOOR // 2)))
    return int(units) - most


# Pairs of a reviewer and an item as codes, from any input; labels are looked up once each, not once per pair.

#: How messages call the labels of an assignment.
LISTS = "the lists of papers and reviewers"


class Scored(NamedTuple):
    """Scored pairs by code, and the labels."""

    reviewer: IntArray
    item: IntArray
    affinity: FloatArray
    reviewers: Sequence[Label]
    items: Sequence[Label]
    spellings: Spellings


def scored_pairs(
    affinity: Any, reviewers: Iterable[Label] | None, items: Iterable[Label] | None, merge: Merge | None = None
) -> Scored:
    """Read affinities: pairs with a number, in any form but rows, or a matrix, dense or sparse.

    NaN in a dense matrix or a table is an unscored pair, in a sparse matrix an entry that is not stored.
    """
    spellings = Spellings.of(merge)
    people = None if reviewers is None else labels_in(list(reviewers), "reviewers", REVIEWER, spellings)
    papers = None if items is None else labels_in(list(items), "items", ITEM, spellings)
    if isinstance(affinity, Mapping | Columns) or is_frame(affinity):
        return _of_table(numbered_pairs(affinity, "affinity", AFFINITY.role, spellings), people, papers, spellings)
    return _of_matrix(affinity, people, papers, spellings)


def _of_matrix(
    affinity: Any, reviewers: Sequence[Label] | None, items: Sequence[Label] | None, spellings: Spellings
) -> Scored:
    if hasattr(affinity, "tocoo"):
        matrix = affinity.tocoo()
        row, column, value = matrix.coords[0], matrix.coords[1], matrix.data
    else:
        matrix = as_numbers("affinity", affinity)
        if matrix.ndim != 2:
            message = f"affinity: expected a mapping or a reviewers x items matrix, found {matrix.ndim} dimension(s)"
            raise InputError(message)
        row, column = np.nonzero(~np.isnan(matrix))
        value = matrix[row, column]
    labels: list[Sequence[Label]] = []
    for name, given, size in (("reviewers", reviewers, matrix.shape[0]), ("items", items, matrix.shape[1])):
        own = range(size) if given is None else given
        if len(own) != size:
            message = f"{name}: expected {size} labels, one for each line of affinity, found {len(own)}"
            raise InputError(message)
        if given is not None and len(set(given)) < size:
            twice = next(label for place, label in enumerate(given) if label in given[:place])
            message = f"{name}: expected a label of its own for each line of affinity, found {twice!r} twice"
            raise InputError(message)
        labels.append(own)
    return Scored(
        row.astype(np.int64), column.astype(np.int64), value.astype(np.float64), labels[0], labels[1], spellings
    )


def _of_table(
    table: Columns, reviewers: Sequence[Label] | None, items: Sequence[Label] | None, spellings: Spellings
) -> Scored:
    labels = _declared(table.reviewer, table.reviewers, reviewers), _declared(table.item, table.items, items)
    row, column = match_pairs(table, *labels, "affinity", where=LISTS)
    value = np.asarray(table.score, np.float64)
    scored = (row >= 0) & (column >= 0) & ~np.isnan(value)
    return Scored(row[scored], column[scored], value[scored], labels[0], labels[1], spellings)


def _declared(codes: IntArray, labels: Sequence[Label], given: Iterable[Label] | None) -> Sequence[Label]:
    """Return the labels that are declared, or else those of the rows, in natural order."""
    used = () if given is not None else [labels[code] for code in np.flatnonzero(np.bincount(codes)).tolist()]
    return encode(used, () if given is None else given)[1]


def codes_of(pairs: Columns, scored: Scored, name: str, *, unknown: Unknown = "left out") -> tuple[IntArray, IntArray]:
    """Return reviewer and item codes of distinct pairs, by reviewer, then item; ``unknown`` as for ``match_pairs``."""
    reviewer, item = match_pairs(pairs, scored.reviewers, scored.items, name, unknown=unknown, where=LISTS)
    matched = (reviewer >= 0) & (item >= 0)
    key = np.unique(reviewer[matched] * max(len(scored.items), 1) + item[matched])
    return key // max(len(scored.items), 1), key % max(len(scored.items), 1)


# Rivals: pairs that may not both be assigned, in rows by pair.


class Rivals(NamedTuple):
    """The rivals of pair x are ``rival[start[x]:start[x + 1]]``, shapes (P + 1,) and (R,); every couple is in twice."""

    start: IntArray
    rival: IntArray

    @property
    def any(self) -> bool:
        """Whether there are any."""
        return bool(self.rival.size)

    def count_among(self, chosen: BoolArray) -> IntArray:
        """Count the chosen rivals of each pair, shape (P,)."""
        before = np.zeros(self.rival.size + 1, np.int64)
        np.cumsum(chosen[self.rival], out=before[1:])
        return before[self.start[1:]] - before[self.start[:-1]]

    def couples_among(self, chosen: BoolArray) -> IntArray:
        """Return couples of rivals that are both chosen, x < y, shape (K, 2).

        >>> rivals_of(3, np.array([[2, 0], [0, 1]])).couples_among(np.array([True, False, True])).tolist()
        [[0, 2]]
        """
        held = np.flatnonzero(chosen & (self.start[1:] > self.start[:-1]))
        size = self.start[held + 1] - self.start[held]
        first, second = np.repeat(held, size), self.rival[spread(self.start[held], size)]
        both = chosen[second] & (first < second)
        return np.column_stack([first[both], second[both]]).astype(np.int64)

    def among(self, pairs: IntArray) -> Rivals:
        """Return the rivals within some of the pairs, given as ascending codes, by their places.

        >>> rivals_of(3, np.array([[2, 0], [0, 1]])).among(np.array([0, 2])).rival.tolist()
        [1, 0]
        """
        chosen = np.zeros(self.start.size - 1, np.bool_)
        chosen[pairs] = True
        return rivals_of(pairs.size, (np.cumsum(chosen) - 1)[self.couples_among(chosen)])


def rivals_of(n_pairs: int, couples: IntArray) -> Rivals:
    """Return rows by pair of distinct couples, shape (K, 2), in O(P + K)."""
    if not len(couples):
        return Rivals(np.zeros(n_pairs + 1, np.int64), np.empty(0, np.int64))
    from scipy.sparse import coo_array

    # Sorted by counting; the transpose of rows of x < y holds those of x > y, in order.
    low, high = couples.min(axis=1), couples.max(axis=1)
    rows = coo_array((np.ones(low.size, np.int8), (low, high)), shape=(n_pairs, n_pairs)).tocsr()
    rows = (rows + rows.T).tocsr()
    return Rivals(rows.indptr.astype(np.int64), rows.indices.astype(np.int64))
