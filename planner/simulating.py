"""Reviews in rounds, simulated: how many to hold back before any score, and last year's table played through."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from planner._plans.phases import (
    after_phases,
    at_once,
    first_phases,
    hide,
    in_rounds,
    others,
    paired,
    replayed,
    review_precision,
    selected_by,
)
from reviewgraph._base import (
    Clock,
    InputError,
    Pictured,
    Progress,
    check_draws,
    checked,
    counted,
    natural_key,
    whole_seed,
)
from reviewgraph.graph import assumed, expected_errors, structure_of
from reviewgraph.table import as_reviews

if TYPE_CHECKING:
    from collections.abc import Callable

    from reviewgraph._base import BoolArray, FloatArray, IntArray, Label
    from reviewgraph.graph import Assumptions
    from reviewgraph.table import Reviews, ReviewsLike

#: Numbers of rounds that are compared.
ROUNDS = (1, 2, 4)
#: Reviews per reviewer where nothing tells, as in ``simulate``.
LOAD = 5.0
#: Papers drawn in all draws of a design, and the bounds of the number of draws: few large conferences tell as much as
#: many small ones.
DRAWN = 10_000
FEWEST_DRAWS = 8
MOST_DRAWS = 100
#: Draws of a replay.
REPLAYS = 10
#: The largest ratio of expected errors, with severities and stretches to be learned over known ones, after a first
#: phase from which a second one can be learned.
MOST_RATIO = 1.1


# Arguments.


def check_rounds(rounds: Collection[int]) -> tuple[int, ...]:
    """Return numbers of rounds in increasing order."""
    if (
        not isinstance(rounds, list | tuple | set | range)
        or not rounds
        or any(isinstance(one, bool) or not isinstance(one, int | np.integer) or one < 1 for one in rounds)
    ):
        message = f"rounds: expected whole numbers, 1 or more, found {rounds!r}"
        raise InputError(message)
    return tuple(sorted({int(one) for one in rounds}))


def check_range(name: str, value: float, low: float, high: float, words: str) -> None:
    """Refuse a number that is not from ``low`` to ``high``; ``words`` are what is expected."""
    if not low <= value <= high:
        message = f"{name}: expected {words}, found {value!r}"
        raise InputError(message)


#: Scores of a paper beyond its first, over all papers, from which the noise is learned to a sixth.
LEAST_TO_LEARN = 20


def check_like(like: ReviewsLike) -> None:
    """Refuse a table from whose scores hardly anything can be learned of those to come."""
    scored = as_reviews(like, "like").only_scored().reviews_per_item
    beyond = int(np.maximum(scored - 1, 0).sum())
    if beyond < LEAST_TO_LEARN:
        message = (
            f"like: expected {LEAST_TO_LEARN} scores or more beyond the first of each paper, from which the noise is "
            f"learned, found {beyond}; pass a larger table, or assume noise, severity and stretch"
        )
        raise InputError(message)


# Before any score.


@dataclass(frozen=True)
class Split:
    """A first phase and what is held back for some rounds after it.

    ``rounds`` 0 means that all reviews are in the first phase. ``connects`` tells whether there are enough reviews in
    the first phase to put all papers and reviewers in one piece. ``wrong`` is the expected number of wrong selections
    in the end, ``worse`` by how much it exceeds that of the best split for the same number of rounds, and ``saved`` by
    how much it falls below that of all reviews at once; each with its standard error, the differences over the same
    draws.
    """

    rounds: int
    first: float  # Reviews per paper in the first phase
    held_back: int
    connects: bool
    wrong: float
    error: float
    worse: float
    worse_error: float
    saved: float
    saved_error: float


@dataclass(frozen=True, eq=False, repr=False)
class RoundsDesign(Pictured):
    """Expected wrong selections against the reviews held back, before any score.

    Parameters
    ----------
    n_items, n_reviews, n_selected
        Papers, reviews in all, papers to be selected.
    splits
        First the one without rounds, then for each number of rounds all first phases, the smallest first.
    assumptions
        Of noise, severity, stretch and the spread of qualities.
    load
        Reviews per reviewer.
    precision
        Of one review, in units of the spread of qualities.
    missing
        Probability that a review fails to arrive.
    draws
        Simulated conferences behind each number.

    Examples
    --------
    >>> design_rounds(100, 300, 10, rounds=[2], draws=2).rounds
    [2]
    """

    _pictured_by: ClassVar[str] = "planner.rounds_report:design_pictures"

    n_items: int
    n_reviews: int
    n_selected: int
    splits: tuple[Split, ...]
    assumptions: Assumptions
    load: float
    precision: float
    missing: float
    draws: int

    @property
    def flat(self) -> Split:
        """All reviews at once."""
        return self.splits[0]

    @property
    def rounds(self) -> list[int]:
        """The numbers of rounds compared."""
        return sorted({split.rounds for split in self.splits[1:]})

    @checked
    def of(self, rounds: int) -> list[Split]:
        """Return the splits with a number of rounds.

        Parameters
        ----------
        rounds
            Number of rounds.

        Returns
        -------
        list
            The splits, the smallest first phase first; empty for a number that was not compared.

        Examples
        --------
        >>> [split.rounds for split in design_rounds(100, 300, 10, rounds=[2], draws=2).of(2)][:2]
        [2, 2]
        """
        return [split for split in self.splits if split.rounds == rounds]

    @checked
    def best(self, rounds: int) -> Split:
        """Return the split of fewest expected wrong selections for a number of rounds, of those that connect if any.

        Parameters
        ----------
        rounds
            Number of rounds.

        Returns
        -------
        Split
            Reviews per paper in the first phase, reviews held back, and expected wrong selections.

        Examples
        --------
        >>> design_rounds(100, 300, 10, rounds=[2], draws=2).best(2).rounds
        2
        """
        splits = self.of(rounds)
        if not splits:
            message = f"rounds: expected one of {', '.join(map(str, self.rounds)) or 'none'}, found {rounds!r}"
            raise InputError(message)
        return min([split for split in splits if split.connects] or splits, key=lambda split: split.wrong)

    @checked
    def neighbours(self, rounds: int) -> list[Split]:
        """Return the splits beside the best one: what it costs to miss it by one step.

        Parameters
        ----------
        rounds
            Number of rounds.

        Returns
        -------
        list
            One or two splits.

        Examples
        --------
        >>> len(design_rounds(100, 300, 10, rounds=[2], draws=2).neighbours(2)) in (1, 2)
        True
        """
        splits = self.of(rounds)
        best = self.best(rounds)
        place = splits.index(best)
        return [*splits[max(place - 1, 0) : place], *splits[place + 1 : place + 2]]

    def to_columns(self) -> dict[str, list[Any]]:
        """Return one row per split."""
        columns: dict[str, list[Any]] = {
            "rounds": [split.rounds for split in self.splits],
            "first": [split.first for split in self.splits],
            "held_back": [split.held_back for split in self.splits],
            "share": [split.held_back / self.n_reviews for split in self.splits],
            "connects": [split.connects for split in self.splits],
        }
        names = ("wrong", "error", "worse", "worse_error", "saved", "saved_error")
        return columns | {name: [getattr(split, name) for split in self.splits] for name in names}

    def to_dict(self) -> dict[str, Any]:
        """Return the content of ``simulate rounds --json``."""
        return {
            "papers": self.n_items,
            "reviews": self.n_reviews,
            "selected": self.n_selected,
            "load": self.load,
            "missing": self.missing,
            "assumptions": asdict(self.assumptions),
            "review_precision": self.precision,
            "draws": self.draws,
            "flat": asdict(self.flat),
            "best": [asdict(self.best(rounds)) for rounds in self.rounds],
            "splits": [asdict(split) for split in self.splits[1:]],
        }

    def headline(self) -> str:
        """Return the best split for the most rounds."""
        if not self.rounds:
            return f"{self.flat.wrong:.1f} of {self.n_selected} expected wrong; nothing to hold back"
        best = self.best(self.rounds[-1])
        return (
            f"{best.first:.3g} reviews per paper first, {best.held_back:,} held back for "
            f"{counted(best.rounds, 'round')}: {best.wrong:.1f} of {self.n_selected} expected wrong, "
            f"{self.flat.wrong:.1f} with all at once"
        )


@checked
def design_rounds(
    n_items: int,
    n_reviews: int,
    n_selected: int,
    *,
    like: ReviewsLike | None = None,
    assumptions: Assumptions | None = None,
    load: float | None = None,
    rounds: Sequence[int] = ROUNDS,
    missing: float = 0.0,
    draws: int | None = None,
    seed: int | np.random.Generator = 0,
    progress: Callable[[Progress], object] | None = None,
) -> RoundsDesign:
    """Compare, before any score, how many reviews to ask for first and how many to hold back.

    Parameters
    ----------
    n_items, n_reviews, n_selected
        Papers, reviews in all, at least one per paper, and papers to be selected.
    like
        A table whose scores the new ones are assumed to resemble, such as last year's.
    assumptions
        Assumed standard deviations where ``like`` is not passed: by default noise 1, severity 0.5, stretch 0.2.
    load
        Reviews per reviewer, of which severities are learned; by default those of ``like``, or 5.
    rounds
        Numbers of rounds to compare; held-back reviews are split over them evenly.
    missing
        Probability that a review fails to arrive.
    draws
        Simulated conferences; by default fewer the larger they are, at least 8.
    seed
        Of the draws, which are the same for all splits.
    progress
        Called with a :class:`reviewgraph.Progress` after each split.

    Returns
    -------
    RoundsDesign
        Expected wrong selections of each split, with errors.

    Raises
    ------
    InputError
        If there are fewer reviews than papers, or a number is out of range.

    Notes
    -----
    The best split is one whose first phase can put all papers and reviewers in one piece, which takes N + M - 1 reviews
    for M reviewers: a smaller one rests on the assumption that the reviewers of different pieces are alike.

    Qualities are N(0, 1) in units of their spread. After k reviews of precision p a paper is believed to be
    N(m, 1 / (1 + k p)); from there the rounds are played through, each review where it is expected to save most wrong
    selections. p comes from the noise and what is unknown of a reviewer at this load, in the first phase at the load
    of that.

    Examples
    --------
    >>> design = design_rounds(100, 300, 10, rounds=[2], draws=8)
    >>> design.flat.wrong > design.best(2).wrong
    True
    """
    check_range("n_items", n_items, 2, 10**7, "two papers or more")
    check_range("n_reviews", n_reviews, n_items, 1000 * n_items, f"{n_items:,}, one per paper, to 1,000 per paper")
    check_range("n_selected", n_selected, 1, n_items - 1, f"1 to {n_items - 1} papers")
    check_range("missing", missing, 0.0, math.nextafter(1.0, 0.0), "a probability, 0 or more and below 1")
    numbers = check_rounds(rounds)
    if like is not None:
        check_like(like)
    stated = assumed(like, assumptions)
    if load is None:
        load = LOAD if like is None else _mean_load(as_reviews(like, "like"))
    check_range("load", load, 1.0, 1e6, "1 review per reviewer or more")
    if draws is None:
        draws = min(max(DRAWN // n_items, FEWEST_DRAWS), MOST_DRAWS)
    check_draws(draws, least=2, most=10**6)
    precision = review_precision(stated, n_reviews / n_items, load)

    clock = Clock(None)
    start = whole_seed(seed)
    phases = first_phases(n_items, n_reviews)
    tried = [(0, n_reviews), *((number, first) for number in numbers for first in phases[:-1])]
    wrong: list[FloatArray] = []
    for place, (number, first) in enumerate(tried):
        budgets = in_rounds(n_reviews - first, number) if number else []
        # Loads grow with the reviews.
        early = review_precision(stated, first / n_items, max(load * first / n_reviews, 1.0))
        played = after_phases(
            n_items, first, budgets, n_selected, precision, early=early, missing=missing, draws=draws, seed=start
        )
        wrong.append(played.wrong)
        if progress is not None:
            progress(Progress(clock.elapsed(), f"split {place + 1} of {len(tried)}", (place + 1) / len(tried)))
    # A tree on all papers and reviewers.
    least = n_items + math.ceil(n_reviews / load) - 1
    splits = []
    for (number, first), values in zip(tried, wrong, strict=True):
        alike = [
            (size < least, float(other.mean()), other)
            for (of, size), other in zip(tried, wrong, strict=True)
            if of == number
        ]
        best = min(alike, key=lambda one: one[:2])[2]
        numbers_ = (*paired(values, np.zeros(draws)), *paired(values, best), *paired(wrong[0], values))
        splits.append(Split(number, first / n_items, n_reviews - first, first >= least, *numbers_))
    return RoundsDesign(n_items, n_reviews, n_selected, tuple(splits), stated, load, precision, missing, draws)


def _mean_load(reviews: Reviews) -> float:
    busy = reviews.loads[reviews.loads > 0]
    return float(busy.mean())


@dataclass(frozen=True, eq=False, repr=False)
class FirstPhase:
    """Whether a second phase can learn from a first one.

    It can if all papers are in one piece of the reviewer-item graph, every paper has a review, and the median expected
    error is at most 10 % above that of the same reviews by reviewers of known severity and stretch.

    Parameters
    ----------
    level
        The highest level of connection that holds, or None.
    n_items, n_reviews
        Papers and reviews.
    pieces
        Pieces of the reviewer-item graph that have papers.
    unreviewed
        Papers without a review.
    error, error_if_known
        Median expected error of a paper, and that with known severities and stretches, in points of the scores, or in
        units of the spread of qualities.

    Examples
    --------
    >>> from reviewgraph import Reviews
    >>> first_phase(Reviews.from_pairs([("ann", 1), ("bob", 2)])).enough
    False
    """

    level: str | None
    n_items: int
    n_reviews: int
    pieces: int
    unreviewed: tuple[Label, ...]
    error: float
    error_if_known: float

    @property
    def ratio(self) -> float:
        """``error / error_if_known``."""
        return self.error / self.error_if_known

    @property
    def enough(self) -> bool:
        """Whether a second phase can learn from it."""
        return self.pieces <= 1 and not self.unreviewed and self.ratio <= MOST_RATIO

    def to_dict(self) -> dict[str, Any]:
        """Return the content of ``first_phase`` in ``simulate rounds --json``.

        Returns
        -------
        dict
            Level, pieces, expected errors and whether they are enough.

        Examples
        --------
        >>> from reviewgraph import Reviews
        >>> first_phase(Reviews.from_pairs([("ann", 1), ("ann", 2), ("bob", 2), ("bob", 3)])).to_dict()["level"]
        'connected'
        """
        own = {name: value for name, value in asdict(self).items() if name != "unreviewed"}
        limits = {"ratio": self.ratio, "ratio_limit": MOST_RATIO, "enough": self.enough}
        return {**own, "unreviewed": list(self.unreviewed), **limits}

    def __repr__(self) -> str:
        return f"<FirstPhase: {'connected enough' if self.enough else 'not connected enough'}, ratio {self.ratio:.2f}>"


@checked
def first_phase(
    reviews: ReviewsLike, like: ReviewsLike | None = None, assumptions: Assumptions | None = None
) -> FirstPhase:
    """Return whether an assignment is connected enough for a second phase to learn from it.

    Parameters
    ----------
    reviews
        Who reviews what in the first phase, with scores or without.
    like, assumptions
        As in :func:`design_rounds`.

    Returns
    -------
    FirstPhase
        Level, pieces, papers without a review, and expected errors.

    Raises
    ------
    InputError
        If there are no papers, or ``like`` and ``assumptions`` are given both.

    Examples
    --------
    >>> from reviewgraph import Reviews
    >>> first_phase(Reviews.from_pairs([("ann", 1), ("ann", 2), ("bob", 2), ("bob", 3)]))
    <FirstPhase: connected enough, ratio 1.05>
    >>> first_phase(Reviews.from_pairs([("ann", 1), ("bob", 2)])).enough
    False
    """
    reviews = as_reviews(reviews)
    if not reviews.n_items:
        message = "reviews: expected papers of a first phase, found none"
        raise InputError(message)
    if like is not None:
        check_like(like)
    stated = assumed(like, assumptions)
    known = replace(stated, severity=0.0, stretch=0.0)
    structure = structure_of(reviews)
    unreviewed = sorted(
        (reviews.items[i] for i in np.flatnonzero(reviews.reviews_per_item == 0).tolist()), key=natural_key
    )
    return FirstPhase(
        structure.level,
        reviews.n_items,
        reviews.n_reviews,
        sum(cover.size > 0 for cover in structure.connected.covers),
        tuple(unreviewed),
        float(np.median(expected_errors(reviews, assumptions=stated))),
        float(np.median(expected_errors(reviews, assumptions=known))),
    )


# A year played through.


@dataclass(frozen=True)
class Way:
    """A way of spending the same number of scores.

    ``wrong`` is how many of the papers it selects are not in the selection of all scores, ``saved`` how many fewer than
    by ``flat``; ``refused`` how many of them were not accepted then, None where that is unknown. Each is a mean over
    draws with its standard error.
    """

    name: str
    rounds: int
    wrong: float
    error: float
    saved: float
    saved_error: float
    most: float  # Largest number of scores of a paper
    refused: float | None = None
    refused_error: float | None = None


@dataclass(frozen=True, eq=False, repr=False)
class RoundsReplay(Pictured):
    """Agreement with the selection of a full table at equal numbers of scores.

    Parameters
    ----------
    n_items, n_scores, n_selected
        Papers with scores, scores of the full table, papers selected.
    first, total
        Scores per paper in the first phase, and scores in all.
    ways
        ``flat`` (evenly, at once), ``random``, ``borderline`` (two each, those first whose average is nearest to the
        cut), and one per number of rounds.
    draws
        Random choices of the scores shown first, over which errors are.

    Examples
    --------
    See :func:`replay_rounds`, which returns it.
    """

    _pictured_by: ClassVar[str] = "planner.rounds_report:replay_pictures"

    n_items: int
    n_scores: int
    n_selected: int
    first: int
    total: int
    ways: tuple[Way, ...]
    draws: int

    @property
    def flat(self) -> Way:
        """Scores spread evenly, at once."""
        return self.ways[0]

    @property
    def in_rounds(self) -> list[Way]:
        """The ways in rounds."""
        return [way for way in self.ways if way.rounds]

    def to_columns(self) -> dict[str, list[Any]]:
        """Return one row per way."""
        names = ["way", "rounds", "wrong", "error", "saved", "saved_error", "most"]
        names += ["refused", "refused_error"] if self.flat.refused is not None else []
        return {name: [getattr(way, "name" if name == "way" else name) for way in self.ways] for name in names}

    def to_dict(self) -> dict[str, Any]:
        """Return the content of ``simulate rounds REVIEWS --json``."""
        return {
            "papers": self.n_items,
            "scores": self.n_scores,
            "selected": self.n_selected,
            "first": self.first,
            "total": self.total,
            "draws": self.draws,
            "ways": [asdict(way) for way in self.ways],
        }

    def headline(self) -> str:
        """Return the result of the most rounds."""
        last = self.in_rounds[-1]
        return (
            f"with {self.total:,} of {self.n_scores:,} scores, {last.wrong:.1f} of {self.n_selected} selected differ "
            f"from the full table in {counted(last.rounds, 'round')}, {self.flat.wrong:.1f} with all at once"
        )


@checked
def replay_rounds(
    reviews: ReviewsLike,
    n_selected: int,
    *,
    first: int = 2,
    rounds: Sequence[int] = ROUNDS,
    total: int | None = None,
    draws: int = REPLAYS,
    accepted: Collection[Label] | None = None,
    seed: int | np.random.Generator = 0,
    progress: Callable[[Progress], object] | None = None,
) -> RoundsReplay:
    """Play a year through on a table with many scores per paper: rounds beside as many scores spread evenly.

    Of each paper ``first`` scores are shown, drawn at random; then each round shows further scores of the table where
    ``plan --for decision`` would ask for reviews, as long as the paper has any. All ways show the same number of
    scores, and a paper's scores in the same order. Selections are compared with that of the full
    table's calibration.

    Parameters
    ----------
    reviews
        A table with scores, or a data frame of it; the more per paper the better.
    n_selected
        Number of papers to be selected.
    first
        Scores per paper in the first phase; papers with fewer show all.
    rounds
        Numbers of rounds to compare.
    total
        Scores shown in all; by default ``first + 1`` per paper.
    draws
        Random choices of the scores.
    accepted
        The papers accepted then, to count the selected papers that were not.
    seed
        Of the draws.
    progress
        Called with a :class:`reviewgraph.Progress` after each way of each draw.

    Returns
    -------
    RoundsReplay
        Selections that differ from those of the full table for each way, with errors.

    Raises
    ------
    InputError
        If a number is out of range, papers have no scores beyond the first, or an accepted paper is unknown.

    Notes
    -----
    Errors are over draws of one table: they tell how far chance in showing scores matters, not how tables differ. A
    paper that shows more of its scores agrees better with the full table by having them in common; all ways have as
    many in common in total.

    Examples
    --------
    >>> from reviewgraph import Reviews
    >>> rows = [(r, p, p + (5 * p + 11 * r + r * p * p) % 17 / 6) for r in range(5) for p in range(8)]
    >>> replay = replay_rounds(Reviews.from_pairs(rows), 3, rounds=[1], draws=2)
    >>> replay.total, [way.name for way in replay.ways]
    (24, ['flat', 'random', 'borderline', '1 round'])
    """
    reviews = as_reviews(reviews).only_scored()
    room = reviews.reviews_per_item
    known = room > 0
    n_known = int(known.sum())
    numbers = check_rounds(rounds)
    check_range(
        "n_selected", n_selected, 1, max(n_known - 1, 1), f"1 to {n_known - 1} papers, those with a score less one"
    )
    check_range("first", first, 1, 10**6, "1 score per paper or more")
    check_draws(draws, least=2, most=10**6)
    start = np.minimum(room, first)
    all_ = int(room.sum())
    least = int(start.sum())
    if n_known < 2 or least == all_:
        message = (
            f"reviews: expected papers with more than {counted(first, 'score')}, those shown first, found at most "
            f"{int(room.max(initial=0))}; pass a table of two scores per paper or more, and a lower first"
        )
        raise InputError(message)
    if total is None:
        total = int(np.minimum(room, first + 1).sum())
    check_range("total", total, least + 1, all_, f"{least + 1:,} to {all_:,} scores, beyond the first phase")
    was = None if accepted is None else _accepted(reviews, accepted)

    clock = Clock(None)
    steps = draws * (3 + len(numbers))

    def said(draw: int, name: str, done: int) -> None:
        if progress is not None:
            progress(Progress(clock.elapsed(), f"draw {draw + 1} of {draws}, {name}", done / steps))

    panel, _ = selected_by(reviews, n_selected, known)
    found: dict[str, list[tuple[IntArray, int]]] = {}
    for draw, sequence in enumerate(np.random.SeedSequence(whole_seed(seed)).spawn(draws)):
        rng = np.random.default_rng(sequence)
        hidden = hide(reviews, rng)
        ways = {}
        done = draw * (3 + len(numbers))
        for name, count in others(reviews, hidden, start, total, n_selected, rng).items():
            ways[name] = at_once(reviews, hidden, count, n_selected)
            said(draw, name, done + len(ways))
        for number in numbers:
            name = counted(number, "round")
            ways[name] = replayed(reviews, hidden, start, in_rounds(total - least, number), n_selected)
            said(draw, name, done + len(ways))
        for name, way in ways.items():
            found.setdefault(name, []).append((way.chosen, int(way.n_scores.max())))
    rounds_of = {counted(number, "round"): number for number in numbers}
    return RoundsReplay(
        n_known,
        all_,
        n_selected,
        first,
        total,
        _ways(found, rounds_of, np.isin(np.arange(room.size), panel), was),
        draws,
    )


def _is_label(value: object) -> bool:
    return isinstance(value, str | int | float | np.integer)


def _accepted(reviews: Reviews, accepted: Collection[Label]) -> BoolArray:
    """Return which items were accepted."""
    if not isinstance(accepted, list | tuple | set | frozenset | dict) or not all(map(_is_label, accepted)):
        message = f"accepted: expected a list of labels of papers, found {type(accepted).__name__}"
        raise InputError(message)
    code = {label: place for place, label in enumerate(reviews.items)}
    unknown = [label for label in accepted if label not in code]
    if unknown or not accepted:
        what = f"{len(unknown):,} unknown ones, such as {unknown[0]!r}" if unknown else "none"
        message = f"accepted: expected papers of the table, found {what}"
        raise InputError(message)
    mask = np.zeros(reviews.n_items, np.bool_)
    mask[[code[label] for label in accepted]] = True
    return mask


def _ways(
    found: dict[str, list[tuple[IntArray, int]]], rounds_of: dict[str, int], panel: BoolArray, was: BoolArray | None
) -> tuple[Way, ...]:
    """Compare the selections of each way, by draw, with the full table's and with the decisions then."""
    ways = []
    flat = np.zeros(0)
    for name, draws in found.items():
        wrong = np.array([(~panel[chosen]).sum() for chosen, _ in draws], float)
        flat = flat if flat.size else wrong
        refused: tuple[float, float] | tuple[()] = ()
        if was is not None:
            refused = paired(np.array([(~was[chosen]).sum() for chosen, _ in draws], float), np.zeros(len(draws)))
        most = float(np.mean([count for _, count in draws]))
        level = paired(wrong, np.zeros(len(draws)))
        saved = paired(flat, wrong)
        ways.append(Way(name, rounds_of.get(name, 0), *level, *saved, most, *refused))
    return tuple(ways)
