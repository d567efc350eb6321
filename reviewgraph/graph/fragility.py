"""What losses do to a level: the critical reviewers and reviews, and the probability that each level is kept.

A reviewer or review is critical for a level that holds if it fails without them. Each level names its :class:`Finder`;
those of the three levels come last, and work by articulation points and bridges (``connected``), by certificates and
then by division of the rest (``double``), and by bases of the count matroid and then by division (``recoverable``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from reviewgraph._base.arguments import as_numbers, checked
from reviewgraph._base.arrays import BoolArray, IntArray, starts
from reviewgraph._base.clock import Clock
from reviewgraph._base.errors import InputError
from reviewgraph._base.labels import Label
from reviewgraph._base.results import Result
from reviewgraph._base.text import counted, named
from reviewgraph.formats.columns import REVIEWER
from reviewgraph.formats.side import PROBABILITY
from reviewgraph.graph.components import (
    connected_components,
    doubly_connected_components,
    recoverability,
    structure_of,
)
from reviewgraph.graph.kernels.blocks import Blocks, Losses, Units, certify, divide_all, enter_all
from reviewgraph.graph.kernels.pebbles import Game, play
from reviewgraph.graph.levels import LEVELS, Level, LevelName
from reviewgraph.io.matching import match_labels
from reviewgraph.io.sides import Valued, by_label
from reviewgraph.table.reviews import Reviews, ReviewsLike, as_reviews

if TYPE_CHECKING:
    import igraph


class Finder(NamedTuple):
    """The test of a level, and its critical reviewers (codes) and reviews (rows), ascending, where it holds."""

    holds: Callable[..., bool]
    critical_reviewers: Callable[..., IntArray]
    critical_reviews: Callable[..., IntArray]


def _finder(level: Level) -> Any:
    """Return the finder of a level; where it names none, one that tests it without each reviewer and each review."""

    def holds(reviews: Reviews) -> bool:
        return level.holds(structure_of(reviews))

    def critical(reviews: Reviews, owner: IntArray) -> IntArray:
        losses = np.unique(owner).tolist()
        return np.array([loss for loss in losses if not holds(reviews.subset(owner != loss))], np.int64)

    return level.part("finder") or Finder(
        holds,
        lambda reviews: critical(reviews, reviews.reviewer),
        lambda reviews: critical(reviews, np.arange(reviews.n_reviews)),
    )


@dataclass(frozen=True, eq=False, repr=False)
class Fragile(Result):
    """Critical reviewers and reviews of a level, see :func:`fragile`.

    Parameters
    ----------
    level
        The name of the level.
    holds
        Whether it holds at all; where it does not, the two below are empty.
    critical_reviewer_codes
        Codes of the reviewers whose loss alone, with all their reviews, lowers the level; ascending.
    critical_review_rows
        Rows of the reviews whose loss alone lowers the level; ascending.
    reviews
        The reviews.

    Examples
    --------
    >>> from reviewgraph import Reviews
    >>> from reviewgraph.graph import fragile
    >>> fragile(Reviews([("ann", 1), ("ann", 2), ("bob", 2), ("bob", 3)]), "connected").level
    'connected'
    """

    level: str
    holds: bool
    critical_reviewer_codes: IntArray
    critical_review_rows: IntArray
    reviews: Reviews = field(repr=False)

    _rows_are: ClassVar[str] = "reviews"

    @property
    def critical_reviewers(self) -> list[Label]:
        """The reviewers whose loss alone, with all their reviews, lowers the level.

        Raises
        ------
        InputError
            If the level does not hold.
        """
        self._expect_level()
        return [self.reviews.reviewers[code] for code in self.critical_reviewer_codes.tolist()]

    @property
    def critical_reviews(self) -> list[tuple[Label, Label]]:
        """The reviews, pairs of a reviewer and an item, whose loss alone lowers the level.

        Raises
        ------
        InputError
            If the level does not hold.
        """
        self._expect_level()
        columns = self.to_columns()
        return list(zip(columns["reviewer"], columns["item"], strict=True))

    def to_dict(self) -> dict[str, Any]:
        """Return the labels as the command's ``--json`` prints them."""
        pairs = self.critical_reviews if self.holds else []
        return {
            "level": self.level,
            "holds": self.holds,
            "reviewers": self.critical_reviewers if self.holds else [],
            "reviews": [{"reviewer": reviewer, "item": item} for reviewer, item in pairs],
        }

    def to_columns(self) -> dict[str, list[Any]]:
        """Return one row per critical review."""
        return self.reviews.subset(self.critical_review_rows)._pairs()

    def _tables(self) -> dict[str, Callable[[], Mapping[str, Sequence[Any]]]]:
        return {**super()._tables(), "reviewers": lambda: {"reviewer": self.critical_reviewers}}

    def _expect_level(self) -> None:
        if not self.holds:
            raise InputError(
                f"fragile: expected reviews at the level {self.level}, found others, which no loss can lower further; "
                "ask of a part of them, as by reviews.subset(...)"
            )

    def headline(self) -> str:
        """Return the number of critical reviewers and reviews."""
        if not self.holds:
            return f"{self.level} does not hold"
        n_reviewers = self.critical_reviewer_codes.size
        n_reviews = self.critical_review_rows.size
        if not n_reviewers and not n_reviews:
            return f"{self.level} outlasts the loss of any one reviewer or review"
        losses = counted(n_reviewers, "reviewer"), counted(n_reviews, "review")
        return f"{self.level} falls with any of {' and any of '.join(losses)}"


@checked
def fragile(reviews: ReviewsLike, level: LevelName = "double") -> Fragile:
    """Return every reviewer and every review whose loss lowers a level: it does not hold for all items any more.

    Parameters
    ----------
    reviews
        Who reviews what; scores do not count.
    level
        ``"double"`` (default), ``"recoverable"`` or ``"connected"``.

    Returns
    -------
    Fragile
        The critical reviewers and reviews by label.

    Raises
    ------
    InputError
        If no such level bears the name.

    Notes
    -----
    Exact at all levels. Linear time at ``connected``, near-linear at ``recoverable`` on the tables measured; at
    ``double`` O(E log E) and O(c E) joins at worst, c being the losses that certificates do not clear: measured times
    rise up to fourfold where reviews double.

    Examples
    --------
    >>> from reviewgraph import Reviews
    >>> reviews = Reviews([(name, paper) for name in ("ann", "bob", "cleo") for paper in (1, 2, 4)])
    >>> fragile(reviews)
    <Fragile: double outlasts the loss of any one reviewer or review>
    >>> fragile(reviews.add([("ann", 3)])).to_dict()["reviews"]
    [{'reviewer': 'ann', 'item': 3}]
    """
    reviews = as_reviews(reviews)
    finder = _finder(named(LEVELS, level, "level"))
    if not finder.holds(reviews):
        nobody = np.empty(0, np.int64)
        return Fragile(level, False, nobody, nobody, reviews)
    return Fragile(level, True, finder.critical_reviewers(reviews), finder.critical_reviews(reviews), reviews)


# The probability that a table keeps each level when reviews fail to arrive, by simulation.


class Kept(NamedTuple):
    """The probability that a level is kept."""

    level: str  # Its name
    probability: float  # Share of the draws of losses after which it holds for all items
    # Of that share: half the width of Wilson's interval of one standard error to either side, above 0 also where
    # all draws agree
    standard_error: float


@dataclass(frozen=True, eq=False, repr=False)
class Keeps(Result):
    """The probability that each level is kept, see :func:`keeps`.

    Parameters
    ----------
    levels
        One entry per level, the strongest first.
    draws
        Number of simulated losses.
    reviews
        The reviews.

    Examples
    --------
    >>> from reviewgraph import Reviews
    >>> from reviewgraph.graph import keeps
    >>> keeps(Reviews([("ann", 1), ("ann", 2), ("bob", 2)]), 0.0, draws=5).levels[-1].probability
    1.0
    """

    levels: tuple[Kept, ...]
    draws: int
    reviews: Reviews = field(repr=False)

    _rows_are: ClassVar[str] = "levels"

    def to_dict(self) -> dict[str, Any]:
        """Return draws, and probabilities by level."""
        return {"draws": self.draws, "levels": [kept._asdict() for kept in self.levels]}

    def to_columns(self) -> dict[str, list[Any]]:
        """Return one row per level."""
        return {name: [getattr(kept, name) for kept in self.levels] for name in Kept._fields}

    def headline(self) -> str:
        """Return the probabilities."""
        return ", ".join(f"{kept.level} {kept.probability:.2f}" for kept in self.levels)


@checked
def keeps(
    reviews: ReviewsLike,
    missing: float | Valued,
    draws: int = 200,
    seed: int | np.random.Generator = 0,
) -> Keeps:
    """Simulate the probability that each level holds for all items when reviews fail to arrive.

    Parameters
    ----------
    reviews
        Who reviews what; scores do not count. Losses are independent of each other.
    missing
        The probability that a review fails to arrive: one number, or one by reviewer, in a mapping, a Series or
        a data frame; 0 for those not named.
    draws
        Number of simulations; 200 by default.
    seed
        Seed or generator of the simulations.

    Returns
    -------
    Keeps
        The probability of each level, with its standard error.

    Raises
    ------
    InputError
        If a probability is not between 0 and 1, no reviewer is known, or there is no draw.

    Notes
    -----
    A draw takes near-linear time in the number of reviews on real and random tables; levels are tested from the
    weakest on, until one fails.

    Examples
    --------
    >>> from reviewgraph import Reviews
    >>> reviews = Reviews([(reviewer, paper) for reviewer in "abcd" for paper in range(3)])
    >>> keeps(reviews, 0.0)
    <Keeps: double 1.00, recoverable 1.00, connected 1.00>
    >>> keeps(reviews, {"a": 1.0, "b": 1.0, "c": 1.0})
    <Keeps: double 1.00, recoverable 1.00, connected 1.00>
    >>> keeps(reviews, {"a": 1.0, "b": 1.0, "c": 1.0, "d": 0.5}, draws=100).levels[0].probability < 0.3
    True
    """
    reviews = as_reviews(reviews)
    if draws < 1:
        raise InputError(f"draws: expected 1 or more, found {draws}")
    rng = np.random.default_rng(seed)
    # The probability that each review fails to arrive, by way of its reviewer.
    by_reviewer = np.zeros(reviews.n_reviewers)
    if isinstance(missing, Real):
        by_reviewer[:] = missing
    else:
        of_label = by_label(missing, "missing", REVIEWER, PROBABILITY.role, reviews._spellings())
        code = match_labels(list(of_label), reviews.reviewers, "missing", "reviewer", other=reviews.items)
        by_reviewer[code[code >= 0]] = as_numbers("missing", list(of_label.values()))[code >= 0]
    wrong = by_reviewer[~((by_reviewer >= 0) & (by_reviewer <= 1))]
    if wrong.size:
        raise InputError(f"missing: expected probabilities from 0 to 1, found {wrong[0]:g}")
    probability = by_reviewer[reviews.reviewer]
    # Each level implies those after it: a level is tested only if the one after it holds.
    held = np.zeros((draws, len(LEVELS)), np.bool_)
    for draw in held:
        arrived = reviews.subset(rng.random(probability.size) >= probability)
        for place in reversed(range(len(LEVELS))):
            draw[place] = _finder(LEVELS[place]).holds(arrived)
            if not draw[place]:
                break
    shares = held.mean(axis=0)
    errors = np.sqrt(shares * (1 - shares) / draws + 0.25 / draws**2) / (1 + 1 / draws)
    rows = zip(LEVELS, shares.tolist(), errors.tolist(), strict=True)
    return Keeps(tuple(Kept(level.name, share, error) for level, share, error in rows), draws, reviews)


# ``connected``: all items lie in one piece, each with a review. Articulation points and bridges, in linear time.


def reviewers_connected_loses(reviews: Reviews) -> IntArray:
    """Return the articulation points: each part that one separates contains one of its neighbours, an item."""
    points = np.array(_graph(reviews).articulation_points(), np.int64)
    return np.union1d(points[points < reviews.n_reviewers], reviews.reviewer[_alone(reviews)])


def reviews_connected_loses(reviews: Reviews) -> IntArray:
    """Return the bridges: one separates items unless its reviewer has no other review."""
    bridges = np.array(_graph(reviews).bridges(), np.int64)
    parting = bridges[reviews.loads[reviews.reviewer[bridges]] >= 2]
    return np.union1d(parting, np.flatnonzero(_alone(reviews)))


def _alone(reviews: Reviews) -> BoolArray:
    return reviews.reviews_per_item[reviews.item] == 1  # type: ignore[no-any-return]


def _graph(reviews: Reviews) -> igraph.Graph:
    import igraph

    M = reviews.n_reviewers
    return igraph.Graph(M + reviews.n_items, np.column_stack([reviews.reviewer, M + reviews.item]))


CONNECTED_FINDER = Finder(
    lambda reviews: connected_components(reviews).is_one_piece, reviewers_connected_loses, reviews_connected_loses
)


# ``double``: one doubly connected component covers all items.

#: Maximum number of certificates.
CERTIFICATES = 24
#: Units that enter between two readings of the clock.
AT_ONCE = 10_000


def critical_reviewers(reviews: Reviews, clock: Clock | None = None) -> IntArray:
    """Return the reviewers without whom no doubly connected component covers all items, ascending codes; one does."""
    return _critical(reviews, Units(reviews.reviewer_start, np.arange(reviews.n_reviews)), clock or Clock(None))


def critical_reviews(reviews: Reviews, clock: Clock | None = None) -> IntArray:
    """Return the reviews without which no doubly connected component covers all items, ascending rows; one does.

    Certificates clear most in O(E log E) each; the remaining c enter O(log c) times each. Raises Clock.Over.
    """
    row = np.arange(reviews.n_reviews + 1)
    return _critical(reviews, Units(row, row[:-1]), clock or Clock(None))


def _critical(reviews: Reviews, units: Units, clock: Clock) -> IntArray:
    every = np.arange(units.start.size - 1)
    return np.flatnonzero(missing_without_units(reviews, units, every, np.ones(reviews.n_items, np.bool_), clock))


def missing_without_units(
    reviews: Reviews, units: Units, tested: IntArray, required: BoolArray, clock: Clock
) -> IntArray:
    """Count the required items outside the best component without each unit tested; 0 for units not tested.

    Raises Clock.Over when the clock ends before all are known.
    """
    n_units = units.start.size - 1
    unit_of = np.repeat(np.arange(n_units), np.diff(units.start))
    rng = np.random.default_rng(0)
    cleared = np.delete(np.arange(n_units), tested)
    # Units that a certificate does not need are not critical. Cleared ones enter first, so that it needs few others.
    for _ in clock.watch(range(CERTIFICATES)):
        blocks = _grown(reviews, units, np.concatenate([cleared, rng.permutation(tested)]), clock)
        needed = np.zeros(reviews.n_reviews, np.bool_)
        wanted = np.zeros(reviews.n_reviewers, np.bool_)
        # Where no block covers all even with everybody, only division counts what is missing.
        if not certify(blocks, required, needed, wanted):
            break
        keep = np.isin(tested, unit_of[needed])
        cleared = np.concatenate([cleared, tested[~keep]])
        tested = tested[keep]
        # Division enters each of the rest as often as it can be halved, another certificate everything once.
        if np.count_nonzero(~keep) * tested.size.bit_length() < n_units:
            break
    clock.check()
    # Each remaining unit is tested with all others present, by division.
    blocks = _grown(reviews, units, cleared, clock)
    losses = Losses(required, n_units, reviews.n_reviewers)
    divide_all(blocks, units, losses, tested, clock.check)
    return np.asarray(losses.missing)


def _grown(reviews: Reviews, units: Units, order: IntArray, clock: Clock) -> Blocks:
    blocks = Blocks(reviews.reviewer, reviews.item, reviews.n_reviewers, reviews.n_items)
    for low in range(0, order.size, AT_ONCE):
        clock.check()
        enter_all(blocks, units, order[low : low + AT_ONCE])
    return blocks


DOUBLE_FINDER = Finder(
    lambda reviews: doubly_connected_components(reviews).covers_all, critical_reviewers, critical_reviews
)


# ``recoverable``: no degrees of freedom remain.

#: Bases are computed while each clears at least this share of the remaining reviewers; and their maximum number.
GAME_SHARE = 0.05
BASES = 24


def reviews_recoverable_loses(reviews: Reviews) -> IntArray:
    """Return the reviews without which degrees of freedom appear or an item has no review; the level holds.

    Those of a reviewer of three or more are critical when they lie in no circuit of the count matroid. A reviewer of
    two says nothing about the scale of others: their own slope and offset take up both equations.
    """
    load = reviews.loads[reviews.reviewer]
    linking = int((reviews.loads >= 2).sum())
    last = (load == 2) & (linking == 1) & (reviews.n_items >= 2)
    return np.flatnonzero(_alone(reviews) | last | ((load >= 3) & ~recoverability(reviews).redundant))


def reviewers_recoverable_loses(reviews: Reviews) -> IntArray:
    """Return the reviewers without whom degrees of freedom appear or an item has no review; the level holds.

    A reviewer with two reviews in some basis, which their own slope and offset take up, is not critical: bases clear
    most. The remaining c are divided and conquered: each is offered O(log c) times, on a copy of the game, so that
    copies cost O(c (M + N)).
    """
    if reviews.n_items < 2:
        return np.unique(reviews.reviewer[_alone(reviews)])
    # The bodies of the game are the reviewers of two or more reviews.
    linking = reviews.loads >= 2
    bodies = np.flatnonzero(linking)
    n_items = reviews.n_items
    if bodies.size == 1:
        return bodies
    item = reviews.item[linking[reviews.reviewer]]
    start = starts(np.repeat(np.arange(bodies.size), reviews.loads[bodies]), bodies.size)

    def offer(game: Game, offered: IntArray, accepted: IntArray | None = None) -> int:
        count = np.zeros(bodies.size, np.int64) if accepted is None else accepted
        return play(game, start, item, offered, count)

    # A basis of the cleared ones, then the others in random order, clears those with two accepted reviews.
    rng = np.random.default_rng(0)
    cleared = np.empty(0, np.int64)
    remaining = np.arange(bodies.size)
    for _ in range(BASES):
        accepted = np.zeros(bodies.size, np.int64)
        offer(Game(bodies.size, n_items), np.concatenate([cleared, rng.permutation(remaining)]), accepted)
        spared = accepted[remaining] == 2
        cleared = np.concatenate([cleared, remaining[spared]])
        remaining = remaining[~spared]
        if spared.sum() <= GAME_SHARE * spared.size:
            break
    critical: list[int] = []

    def divide_range(game: Game, rank: int, n_in: int, remaining: IntArray) -> None:
        # Everybody outside the range is in the game. If it is rigid without the range, nobody in it is critical.
        if not remaining.size or (n_in and rank == n_items + 2 * n_in - 2):
            return
        if remaining.size == 1:
            critical.append(int(remaining[0]))
            return
        halves = np.array_split(remaining, 2)
        for half, added in (halves, halves[::-1]):
            copy = game.copy()
            divide_range(copy, rank + offer(copy, added), n_in + added.size, half)

    game = Game(bodies.size, n_items)
    divide_range(game, offer(game, cleared), cleared.size, remaining)
    return bodies[np.array(critical, np.int64)]


RECOVERABLE_FINDER = Finder(
    lambda reviews: recoverability(reviews).recoverable, reviewers_recoverable_loses, reviews_recoverable_loses
)
