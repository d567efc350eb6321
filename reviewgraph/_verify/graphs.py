"""Tables of reviews as names, sets and dictionaries, and their levels, by plain algorithms.

Connected components by union-find, doubly connected components by the closure of :mod:`reviewgraph.graph.closure`,
degrees of freedom by a pebble game; :func:`verify_merges` replays the certificate of a closure. What would take too
long raises :class:`TooLarge`: it is not checked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from reviewgraph._base.arguments import checked
from reviewgraph._base.arrays import IntArray
from reviewgraph._base.errors import CertificateError, InputError
from reviewgraph.graph.closure import Classes, Group, repeat_union, replay
from reviewgraph.graph.levels import NAMES, level_named
from reviewgraph.table.reviews import Reviews, ReviewsLike, as_reviews

if TYPE_CHECKING:
    Rows = Mapping[Any, Set[Any]]


def pieces(rows: Rows, items: Sequence[Any]) -> Classes:
    """Return the connected components of the graph of reviewers and items, as classes of pairs (kind, name).

    >>> len(pieces({"ann": {"p"}, "bob": {"q"}}, ["p", "q", "r"]))
    3
    """
    classes = Classes([*((0, reviewer) for reviewer in rows), *((1, item) for item in items)])
    for reviewer, covered in rows.items():
        for item in covered:
            classes.join((0, reviewer), (1, item))
    return classes


def largest_cover(components: Iterable[Group]) -> int:
    return max((len(group.items) for group in components), default=0)


def groups(rows: Rows) -> list[Group]:
    """Return the doubly connected components: groups of reviewers merge while their items share two.

    >>> sorted(len(group.items) for group in groups({"ann": {"p", "q"}, "bob": {"p", "q", "r"}, "cleo": {"r"}}))
    [1, 3]
    """
    return repeat_union(rows).components


@checked
def verify_merges(reviews: ReviewsLike, merges: IntArray) -> IntArray:
    """Replay a certificate without the algorithm that made it; returns the labels it proves.

    Every row (a, b, u, v) must join two different components by two witness items: both covers hold u and v. Takes
    time near-linear in the number of reviews.

    Parameters
    ----------
    reviews
        Who reviews what, or a data frame of it.
    merges
        Shape (K, 4): rows of two reviewers and two witness items, by code.

    Returns
    -------
    ndarray
        Shape (M,): the proved component of each reviewer.

    Raises
    ------
    CertificateError
        If a row does not prove its merge or names a reviewer who is not there; the message names the row.

    Examples
    --------
    >>> from reviewgraph import Reviews
    >>> from reviewgraph.graph import doubly_connected_components
    >>> pair = Reviews([("ann", 1), ("ann", 2), ("bob", 1), ("bob", 2)])
    >>> verify_merges(pair, doubly_connected_components(pair).merges).tolist()
    [0, 0]
    """
    table = as_reviews(reviews)
    if merges.ndim != 2 or merges.shape[1] != len(("a", "b", "u", "v")):
        raise InputError(f"merges: expected rows (a, b, u, v), found an array of shape {merges.shape}")
    # Merges name reviewers that are there.
    size = table.n_reviewers
    steps = merges.tolist()
    for row, (a, b, _, _) in enumerate(steps):
        if not (0 <= a < size and 0 <= b < size):
            message = f"merges: row {row} names reviewers {a} and {b}, expected codes from 0 to {size - 1}"
            raise CertificateError(message)
    # Replay them by codes, and number the components that they lead to.
    wrong, components = replay({j: set(table.items_of(j).tolist()) for j in range(size)}, steps)
    if wrong >= 0:
        a, b, u, v = steps[wrong]
        message = f"merges: row {wrong} does not join the components of reviewers {a} and {b} by items {u} and {v}"
        raise CertificateError(message)
    label = {reviewer: number for number, group in enumerate(components) for reviewer in group.reviewers}
    return np.array([label[reviewer] for reviewer in range(size)], np.int64)


def missing_links(rows: Rows, items: Sequence[Any]) -> int:
    """Return the degrees of freedom: ``N + 2 M - min(N, 2) - rank``, M the reviewers of two items or more.

    The rank is that of the count matroid in which reviews are independent where no k of them lie on fewer than ``k +
    2`` items and reviewers, reviewers counted twice. A pebble game computes it: an item has one pebble, a reviewer two,
    and a review is independent if all three pebbles of its ends can be gathered there.

    >>> missing_links({"ann": {"p", "q"}, "bob": {"q", "r"}}, "pqr")
    1
    """
    bodies = [group.items for group in groups(rows) if len(group.items) >= 2]
    # A doubly connected group is as rigid as one reviewer of all its items.
    game = _Pebbles([*((item, 1) for item in items), *((("reviewer", number), 2) for number in range(len(bodies)))])
    rank = sum(game.add(("reviewer", number), item) for number, own in enumerate(bodies) for item in sorted(own))
    return len(items) + 2 * len(bodies) - min(len(items), 2) - rank


class _Pebbles:
    """The pebble game: an accepted review is an arrow from the end whose pebble covers it."""

    def __init__(self, pebbles: Iterable[tuple[Any, int]]) -> None:
        self._free = dict(pebbles)
        self._out: dict[Any, list[Any]] = {end: [] for end in self._free}

    def add(self, reviewer: Any, item: Any) -> bool:
        """Offer a review; return whether it is independent of those accepted."""
        while self._free[reviewer] < 2:
            if not self._fetch(reviewer, barred=item):
                return False
        if self._free[item] < 1 and not self._fetch(item, barred=reviewer):
            return False
        self._free[reviewer] -= 1
        self._out[reviewer].append(item)
        return True

    def _fetch(self, end: Any, barred: Any) -> bool:
        """Move a free pebble to one end along arrows, sparing the other end."""
        reached_from = {end: None}
        waiting = [end]
        while waiting:
            place = waiting.pop()
            for target in self._out[place]:
                if target in reached_from:
                    continue
                reached_from[target] = place
                if not self._free[target] or target == barred:
                    waiting.append(target)
                    continue
                # The arrows of the path turn round, so that the pebble moves to its beginning.
                self._free[target] -= 1
                self._free[end] += 1
                while target != end:
                    before = reached_from[target]
                    self._out[before].remove(target)
                    self._out[target].append(before)
                    target = before
                return True
        return False


#: The reviewer and the item of a review, by name.
Pair: TypeAlias = tuple[str, str]


@dataclass(frozen=True)
class Table:
    """Who reviews what, by name.

    ``score`` holds the score of each review, in its original direction, None where it is planned; with
    ``lower_is_better``, 1 is the best score.
    """

    reviewers: tuple[str, ...]
    items: tuple[str, ...]
    score: dict[Pair, float | None]
    lower_is_better: bool = False

    def rows(self) -> dict[str, set[str]]:
        """Return the items of each reviewer, of reviewers without any, too."""
        rows: dict[str, set[str]] = {reviewer: set() for reviewer in self.reviewers}
        for reviewer, item in self.score:
            rows[reviewer].add(item)
        return rows

    def scored(self) -> Table:
        return replace(self, score={pair: value for pair, value in self.score.items() if value is not None})

    def without(self, lost: Collection[Pair]) -> Table:
        return replace(self, score={pair: value for pair, value in self.score.items() if pair not in lost})

    def with_pairs(self, pairs: Iterable[Pair]) -> Table:
        """Return the table with more, planned reviews."""
        new = dict.fromkeys(pair for pair in pairs if pair not in self.score)
        reviewers = dict.fromkeys([*self.reviewers, *(reviewer for reviewer, _ in new)])
        return replace(self, reviewers=tuple(reviewers), score={**self.score, **new})

    def without_each(self, *, reviewer: bool) -> Iterator[Table]:
        """Yield the table without the reviews of each reviewer who has any, or without each review."""
        losses = dict[Any, set[Pair]]()
        for pair in self.score:
            losses.setdefault(pair[0] if reviewer else pair, set()).add(pair)
        # A table in which that takes too long is not tried.
        if len(losses) * len(self.score) > MOST_LOST:
            raise TooLarge(f"{len(losses)} losses of a table of {len(self.score)} reviews are too many to be tried")
        for lost in losses.values():
            yield self.without(lost)

    def loads(self) -> dict[str, int]:
        return dict.fromkeys(self.reviewers, 0) | Counter(reviewer for reviewer, _ in self.score)

    def reviews_of(self) -> dict[str, int]:
        return dict.fromkeys(self.items, 0) | Counter(item for _, item in self.score)


def names_of(labels: Iterable[Any]) -> tuple[str, ...]:
    """Return labels as text, and in Python's notation where the text of two is the same.

    >>> names_of([1, 2]), names_of([1, "1"])
    (('1', '2'), ('1', "'1'"))
    """
    names = tuple(map(str, labels))
    return names if len(set(names)) == len(names) else tuple(map(repr, labels))


def table_of(reviews: Reviews) -> Table:
    """Return a table of reviews by name.

    >>> from reviewgraph import Reviews
    >>> table_of(Reviews([("ann", 1, 2.0), ("bob", 1)])).score
    {('ann', '1'): 2.0, ('bob', '1'): None}
    """
    reviewers = names_of(reviews.reviewers)
    items = names_of(reviews.items)
    scores = zip(reviews.printed(reviews.score).tolist(), reviews.scored.tolist(), strict=True)
    codes = zip(reviews.reviewer.tolist(), reviews.item.tolist(), strict=True)
    pairs = [(reviewers[j], items[i]) for j, i in codes]
    score = {pair: value if scored else None for pair, (value, scored) in zip(pairs, scores, strict=True)}
    return Table(reviewers, items, score, reviews.lower_is_better)


# Levels.

#: Reviews, summed over all losses, up to which the levels that outlive a loss are tested.
MOST_LOST = 5_000_000


class TooLarge(InputError):
    """A question that the plain algorithms have no answer to, or would take too long over."""


def is_connected(table: Table) -> bool:
    """Whether all items have a review and lie in one component."""
    classes = pieces(table.rows(), table.items)
    return all(table.reviews_of().values()) and len({classes.of((1, item)) for item in table.items}) <= 1


def is_double(table: Table) -> bool:
    """Whether one doubly connected component covers all items."""
    return largest_cover(groups(table.rows())) >= len(table.items)


def is_recoverable(table: Table) -> bool:
    """Whether no links are missing, all items have reviews, and some reviewer has two unless N < 2."""
    rows = table.rows()
    linked = len(table.items) < 2 or any(len(items) >= 2 for items in rows.values())
    return linked and all(table.reviews_of().values()) and missing_links(rows, table.items) == 0


def survives_reviewer(table: Table) -> bool:
    return is_double(table) and all(map(is_double, table.without_each(reviewer=True)))


def survives_review(table: Table) -> bool:
    return is_double(table) and all(map(is_double, table.without_each(reviewer=False)))


def holds(level: str, table: Table) -> bool:
    """Whether a table is at a level."""
    test: Callable[[Table], bool] | None = level_named(level).part("verifier")
    if test is None:
        raise TooLarge(f"the level {level} has no test that shares no code with what made the answer")
    return test(table)


def highest_level(table: Table) -> str | None:
    """Return the highest level that holds, or None; raise TooLarge where a candidate has no test."""
    return next((name for name in NAMES if holds(name, table)), None)
