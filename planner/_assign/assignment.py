"""The result of an assignment: who reviews what, its affinity, and the cost of constraints and level; and its parts."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import numpy as np

from planner.facts import NOTHING_SHORT
from reviewgraph._base import TIE, Backend, InputError, Result, Status, check_draws, checked, counted
from reviewgraph.table import Reviews

if TYPE_CHECKING:
    from planner.facts import Facts, Pair, Shortage
    from reviewgraph._base import BoolArray, FloatArray, IntArray, Label
    from reviewgraph.formats import Outgoing


def _as_rows(parts: Sequence[Any]) -> list[dict[str, Any]]:
    return [part._asdict() for part in parts]


@dataclass(frozen=True)
class Fairness:
    """The smallest score of a paper (sum of its affinities) before and after fairness."""

    fairly: bool  #: whether the largest smallest score was requested, or floors alone
    floor: float | None  #: lower bound for each paper; None without one
    #: Smallest score of a paper: by affinity alone, within the rules on panels and authors, and in the assignment
    smallest: tuple[float, float]
    at_most: float | None  #: upper bound on it before the level; None where only floors were requested
    proved: bool  #: whether it is that bound, up to rounding
    bound: float  #: upper bound on affinity within rules and floors, the smallest score reached included

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as the command's ``--json`` prints them."""
        return {
            "way": "maximin" if self.fairly else None,
            "floor": self.floor,
            "smallest": {"before": self.smallest[0], "after": self.smallest[1], "at_most": self.at_most},
        }


class Changes(NamedTuple):
    """A previous assignment against the one that replaces it."""

    kept: tuple[Pair, ...]  #: pairs of both
    dropped: tuple[Pair, ...]  #: pairs of the previous one alone
    new: tuple[Pair, ...]  #: pairs of this one alone
    #: New pairs that demands, loads, conflicts and fixed pairs make necessary, proved by a flow
    fewest: int

    def to_dict(self) -> dict[str, Any]:
        """Return the changes as the command's ``--json`` prints them, with the number of pairs kept."""
        pairs = {"dropped": _as_rows(self.dropped), "new": _as_rows(self.new)}
        return {"kept": len(self.kept), **pairs, "fewest": self.fewest}


class UsualLoad(NamedTuple):
    """The maximum load of reviewers for whom none is stated."""

    load: int
    least: int  #: The smallest with which as many demands are met as with any; the level may need a larger one.


class KeptRule(NamedTuple):
    """A rule that holds on every paper."""

    option: str  #: as an option of the command
    words: str  #: what holds on each paper
    papers: int  #: papers that it is about


@dataclass(frozen=True)
class Kept:
    """The rules that an assignment keeps."""

    rules: tuple[KeptRule, ...]  #: each of them
    bound: float  #: upper bound on affinity under the rules


class Listed(NamedTuple):
    """Assignments of which one is drawn with equal probability.

    Probabilities are the shares of the assignments that hold each pair, so they hold exactly, and with them the caps.
    """

    holds: BoolArray  #: whether each assignment holds each pair that may be drawn, shape (K, S)
    reached: float  #: share of the assignments that are at the level and within all rules


class Rounding(Protocol):
    """What draws assignments with given probabilities, one independent of another."""

    def draw(self, n: int, rng: np.random.Generator) -> BoolArray:
        """Return whether each of ``n`` draws holds each pair that may be drawn, shape (n, S)."""


@dataclass(frozen=True, eq=False)
class Randomised:
    """A lottery over assignments, by the probability of each pair."""

    #: item, reviewer, probability: the pairs that may be drawn, by item: their codes and probabilities, shape (S,)
    item: IntArray
    reviewer: IntArray
    probability: FloatArray
    #: items, reviewers: labels
    items: Sequence[Label]
    reviewers: Sequence[Label]
    max_probability: float  #: the cap on every probability
    certain: int  #: fixed pairs, whose probability is 1 whatever the cap
    expected: float  #: expected affinity of a draw
    best: float  #: affinity of the best assignment without a lottery and without a level
    most: float  #: upper bound on the expected affinity of any probabilities within the caps; infinite if unknown
    #: The assignments of which one is drawn; None where the probabilities are rounded anew for each draw
    listed: Listed | None
    #: What draws where they are; None where one of ``listed`` is drawn, or all probabilities are 1
    rounding: Rounding | None = None

    def draw(self, n: int, rng: np.random.Generator) -> BoolArray:
        """Return whether each of ``n`` draws holds each pair, shape (n, S)."""
        if self.listed is not None:
            held: BoolArray = self.listed.holds[rng.integers(len(self.listed.holds), size=n)]
            return held
        return np.ones((n, self.support), np.bool_) if self.rounding is None else self.rounding.draw(n, rng)

    @property
    def percent(self) -> float | None:
        """Expected affinity in percent of the best; None if it is less than a best that is not positive."""
        lost = percent_of(self.best - self.expected, self.best)
        return None if lost is None else 100.0 - lost

    @property
    def gap(self) -> float | None:
        """Upper bound on what other probabilities within the caps could add, relative to ``most``; None likewise."""
        percent = percent_of(self.most - self.expected, self.most)
        return None if percent is None else percent / 100.0

    @property
    def support(self) -> int:
        """Pairs that may be drawn."""
        return int(self.probability.size)

    @property
    def largest(self) -> float:
        """Largest probability."""
        return float(self.probability.max(initial=0.0))

    @property
    def mean_largest(self) -> float:
        """Largest probability of each item's pairs, on average."""
        most = np.zeros(len(self.items))
        np.maximum.at(most, self.item, self.probability)
        served = most[most > 0]
        return float(served.mean()) if served.size else 0.0

    def to_columns(self) -> dict[str, list[Any]]:
        """Return ``item``, ``reviewer`` and ``probability`` of each pair that may be drawn, by item."""
        return {
            "item": [self.items[code] for code in self.item.tolist()],
            "reviewer": [self.reviewers[code] for code in self.reviewer.tolist()],
            "probability": self.probability.tolist(),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as the command's ``--json`` prints them."""
        listed = self.listed
        return {
            "max_probability": self.max_probability,
            "certain": self.certain,
            "expected_affinity": self.expected,
            "expected_percent": self.percent,
            "gap_percent": None if self.gap is None else 100.0 * self.gap,
            "support": self.support,
            "largest_probability": self.largest,
            "mean_largest_probability": self.mean_largest,
            "assignments": None if listed is None else len(listed.holds),
            "at_level": None if listed is None else listed.reached,
        }


class Lack(Enum):
    """Why a paper has fewer alternates than requested: what rules out the remaining candidates."""

    NOBODY = "nobody else may review it"
    ROOM = "nobody else who may review it has room"
    RULES = "the rules on each paper exclude those who have room"
    LEVEL = "the level would be lost with those who have room and fit"
    STOPPED = "the search was stopped before it came to them"


class Alternate(NamedTuple):
    """A reviewer who can replace members of a paper's panel."""

    #: item, reviewer: the paper, and the alternate
    item: Label
    reviewer: Label
    affinity: float  #: their affinity; 0 where unscored
    replaces: tuple[Label, ...]  #: reviewers of the paper any one of whom the alternate can replace
    everyone: bool  #: whether these are all of them


class Missing(NamedTuple):
    """A paper with fewer alternates for everyone than requested: their number, and why there are no more."""

    item: Label
    found: int
    why: Lack


class Alternates(NamedTuple):
    """Alternates of all papers."""

    asked: int  #: number requested per paper
    listed: tuple[Alternate, ...]  #: the alternates, paper by paper, the best first
    missing: tuple[Missing, ...]  #: papers with too few alternates who can replace everyone

    def to_columns(self) -> dict[str, list[Any]]:
        """Return one row per alternate; ``replaces`` is ``all``, or names separated by semicolons."""
        rank: defaultdict[Label, count[int]] = defaultdict(lambda: count(1))
        return {
            "item": [alternate.item for alternate in self.listed],
            "alternate": [next(rank[alternate.item]) for alternate in self.listed],
            "reviewer": [alternate.reviewer for alternate in self.listed],
            "affinity": [alternate.affinity for alternate in self.listed],
            "replaces": [
                "all" if alternate.everyone else ";".join(map(str, alternate.replaces)) for alternate in self.listed
            ],
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the alternates as the command's ``--json`` prints them."""
        missing = [paper._asdict() | {"why": paper.why.value} for paper in self.missing]
        return {"alternates": _as_rows(self.listed), "alternates_missing": missing}


class AssignmentStatus(Status):
    """How an assignment ended.

    >>> AssignmentStatus.INFEASIBLE.text
    'proved: no assignment satisfies all constraints'
    """

    OPTIMAL = (
        "optimal",
        "no assignment within the constraints that reaches the level has more affinity",
    )
    FEASIBLE = (
        "feasible",
        "the constraints hold and the level is reached; the affinity lost for rules or the level may not be the least",
    )
    LEVEL_MISSED = (
        "level_missed",
        "the search did not reach the level, or not all constraints on each paper; allow more time, or add reviews",
    )
    BEST_EFFORT = (
        "best_effort",
        "not all demands can be met: most are, and the shortage lists whom to recruit",
    )
    INFEASIBLE = "infeasible", "proved: no assignment satisfies all constraints"

    @property
    def reached(self) -> bool:
        """Whether there is an assignment that satisfies the request."""
        return self in (AssignmentStatus.OPTIMAL, AssignmentStatus.FEASIBLE)


def total_of(affinities: FloatArray) -> float:
    """Return a sum of affinities; 0 if it is tied with that, so that no loss is a share of a rounding error.

    >>> total_of(np.array([0.1, 0.2, -0.3]))
    0.0
    """
    total = math.fsum(affinities.tolist())
    return 0.0 if abs(total) <= TIE * float(np.abs(affinities).sum()) else total


def percent_of(lost: float, whole: float) -> float | None:
    """Return a loss in percent of a total, 0 if there is none; None if the total is not positive, or not known.

    >>> percent_of(1.0, 4.0), percent_of(0.0, 0.0), percent_of(1.0, 0.0)
    (25.0, 0.0, None)
    """
    if not math.isfinite(whole):
        return None
    if lost <= TIE * abs(whole):
        return 0.0
    return 100.0 * lost / whole if whole > 0 else None


def _rows(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


@dataclass(frozen=True, eq=False, repr=False)
class Probabilities(Result):
    """The probability of each (reviewer, item) pair that may be assigned."""

    columns: dict[str, list[Any]]
    backend: Backend | None = None

    def to_columns(self) -> dict[str, list[Any]]:
        """Return item, reviewer and probability."""
        return self.columns

    def to_dict(self) -> dict[str, Any]:
        """Return one object per pair."""
        return {"probabilities": _rows(self.columns)}

    def headline(self) -> str:
        """Return the number of pairs."""
        return counted(len(self), "pair")

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.columns["probability"])


@dataclass(frozen=True, eq=False, repr=False)
class Sample(Result, Sequence[Reviews]):
    """Sampled assignments: a sequence of reviews, and a table with a row for each draw and pair.

    Parameters
    ----------
    lottery
        The pairs and their probabilities.
    holds
        Shape (n, S): whether each draw holds each pair of the lottery.
    backend
        The kind of data frame that the affinities came in; None for other sources.
    """

    lottery: Randomised
    holds: BoolArray
    backend: Backend | None = None

    def __len__(self) -> int:
        """Return the number of draws."""
        return len(self.holds)

    def __getitem__(self, draw: Any) -> Any:
        """Return one draw as reviews, or several in a list."""
        if isinstance(draw, slice):
            return [self[k] for k in range(*draw.indices(len(self)))]
        lottery = self.lottery
        codes = lottery.reviewer[self.holds[draw]], lottery.item[self.holds[draw]]
        drawn = Reviews.from_codes(*codes, reviewers=lottery.reviewers, items=lottery.items)
        return replace(drawn, backend=self.backend)

    @property
    def shares(self) -> FloatArray:
        """Shape (S,): the share of the draws that hold each pair, in the order of the probabilities."""
        return np.asarray(self.holds.sum(axis=0) / max(len(self), 1))

    def to_columns(self) -> dict[str, list[Any]]:
        """Return draw, item and reviewer of each assigned pair."""
        draw, pair = np.nonzero(self.holds)
        lottery = self.lottery
        return {
            "draw": draw.tolist(),
            "item": [lottery.items[code] for code in lottery.item[pair].tolist()],
            "reviewer": [lottery.reviewers[code] for code in lottery.reviewer[pair].tolist()],
        }

    def to_dict(self) -> dict[str, Any]:
        """Return one object per draw and pair."""
        return {"reviews": _rows(self.to_columns())}

    def headline(self) -> str:
        """Return the number of draws and of pairs."""
        return f"{counted(len(self), 'draw')} from {counted(self.holds.shape[1], 'pair')}"


@dataclass(frozen=True, eq=False, repr=False)
class Assignment(Result):
    """Who reviews what, and the cost of making the scores comparable.

    Parameters
    ----------
    status
        ``optimal``, ``feasible``, ``level_missed``, ``best_effort`` or ``infeasible``; ``status.text`` explains it.
    target
        The requested level, or ``none``.
    reviews
        The assignment: planned reviews, without those of a first phase; no reviews when infeasible.
    affinities
        Affinity of each review, shape (E,); 0 where unscored.
    affinity_unconstrained
        The largest total under the same demands, loads, conflicts and fixed pairs without a connection level; NaN
        when there is none.
    affinity_before_level
        The total of the best assignment found under all that was asked for but the level; None if not known.
    critical
        Reviewers without whom the level would not hold; None if not determined.
    forced
        Pairs that the level forced in, beyond what affinity chose.
    explanation
        Why the assignment is infeasible or misses the level; empty otherwise.
    least_loss
        Lower bound on the affinity that the level costs; None if there is none.
    loads
        Reviews of each reviewer in the assignment, shape (M,).
    changes
        The changes of a previous assignment; None without one.
    kept
        The rules on the reviewers of one paper, and an upper bound on affinity under them; None without rules.
    fairness
        Scores of the papers, of the worst-served in particular; None if not requested.
    alternates
        Alternates of each paper; None if not requested.
    shortage
        Papers that lack reviews, and whom to recruit, for a best effort where demands cannot be met; else None.
    timed_out
        Whether a time limit stopped the search before its end.
    randomised
        The probability of each pair, and statistics of draws, where this assignment was drawn; None otherwise.
    facts
        The fixed pairs, and which demands, loads and conflicts they exceed; None without fixed pairs.
    usual_load
        The maximum load of reviewers for whom none was stated; None without such reviewers.

    Examples
    --------
    >>> from planner import assign
    >>> assign({("ann", 1): 1.0, ("bob", 2): 1.0}, demand=1, load=1, target="none").affinity
    2.0
    """

    status: AssignmentStatus
    target: str
    reviews: Reviews
    affinities: FloatArray
    affinity_unconstrained: float
    affinity_before_level: float | None = None
    critical: tuple[Label, ...] | None = None
    forced: int = 0
    explanation: str = ""
    least_loss: float | None = None
    loads: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    changes: Changes | None = None
    kept: Kept | None = None
    fairness: Fairness | None = None
    alternates: Alternates | None = None
    shortage: Shortage | None = None
    timed_out: bool = False
    randomised: Randomised | None = None
    facts: Facts | None = None
    usual_load: UsualLoad | None = None

    _paged_by: ClassVar[str] = "planner._assign.page:page_of"
    _verified_by: ClassVar[str] = "planner.verifying:of_assignment"
    _rows_are: ClassVar[str] = "reviews"

    def _tables(self) -> dict[str, Callable[[], Mapping[str, Sequence[Any]]]]:
        table = self.reviews
        people = {"reviewer": table.reviewers, "reviews": table.loads.tolist()}
        total = np.bincount(table.item, self.affinities, table.n_items)
        papers = {"item": table.items, "reviews": table.reviews_per_item.tolist(), "affinity": total.tolist()}
        alternates = {} if self.alternates is None else {"alternates": self.alternates.to_columns}
        return {
            **super()._tables(),
            **alternates,
            "reviewers": lambda: people,
            "items": lambda: papers,
            "probabilities": lambda: self.probabilities.to_columns(),
        }

    @property
    def probabilities(self) -> Probabilities:
        """The probability of each pair that may be assigned: 1 for those of an assignment that is not randomised."""
        self._refuse_none("probabilities")
        randomised = self.randomised
        columns = {**self.to_columns(), "probability": [1.0] * self.reviews.n_reviews}
        del columns["affinity"]
        return Probabilities(columns if randomised is None else randomised.to_columns(), self._backend)

    @checked
    def sample(self, n: int, seed: int | np.random.Generator = 0) -> Sample:
        """Draw assignments with the published :attr:`probabilities`, without solving the problem again.

        Where a level or rules are requested each is one of the listed assignments (``draws`` of
        :func:`planner.assign`), otherwise pairs are rounded anew, so that all satisfy demands, loads, conflicts and
        rules. The first draw is the assignment that ``assign`` returns for this seed.

        Parameters
        ----------
        n
            Number of draws, 0 or more.
        seed
            Seed or generator of the draws.

        Returns
        -------
        Sample
            A sequence of :class:`Reviews`; its data frame has the columns draw, item and reviewer.

        Raises
        ------
        InputError
            If the assignment is infeasible or not randomised, or ``n`` is negative.

        Examples
        --------
        >>> from planner import assign
        >>> affinity = {(j, i): 1.0 * (4 * j + i) for j in range(4) for i in range(4)}
        >>> chosen = assign(affinity, demand=2, load=2, target="none", max_probability=0.75)
        >>> sample = chosen.sample(100, seed=1)
        >>> len(sample), sample[0].n_reviews, bool(sample.shares.max() <= 0.9)
        (100, 8, True)
        """
        self._refuse_none("sample")
        if self.randomised is None:
            message = "sample: expected a randomised assignment, found one without; pass max_probability=0.5 to assign"
            raise InputError(message)
        check_draws(n, "n", least=0)
        return Sample(self.randomised, self.randomised.draw(n, np.random.default_rng(seed)), self._backend)

    def _short_of(self, shortage: Shortage) -> Assignment:
        """Return the same as a best effort, with its shortage; infeasible if no demand is met."""
        if not self.reviews.n_reviews:
            why = shortage.why or self.explanation
            return replace(self, status=AssignmentStatus.INFEASIBLE, affinity_unconstrained=math.nan, explanation=why)
        return replace(self, status=AssignmentStatus.BEST_EFFORT, shortage=shortage)

    @property
    def _why_none(self) -> str:
        """Why there is no assignment, empty where there is one."""
        none = self.status is AssignmentStatus.INFEASIBLE and not self.reviews.n_reviews
        return self.explanation if none else ""

    @property
    def why(self) -> str:
        """Why demands are not met, or the level is missed; empty otherwise."""
        return " ".join(filter(None, ("" if self.shortage is None else self.shortage.why, self.explanation)))

    def headline(self) -> str:
        """Return status, sizes and affinity, which reveal a matrix passed the wrong way round."""
        return f"{self.status}, {self.reviews.headline()}, affinity {self.affinity:.6g}"

    def to_columns(self) -> dict[str, list[Any]]:
        """Return ``item``, ``reviewer`` and ``affinity`` of each review, by item."""
        table = self.reviews
        order = table.by_item.tolist()
        return {
            "item": [table.items[table.item[e]] for e in order],
            "reviewer": [table.reviewers[table.reviewer[e]] for e in order],
            "affinity": [float(self.affinities[e]) for e in order],
        }

    def _outgoing(self) -> Outgoing:
        """Return the reviews for the writers of :mod:`reviewgraph.formats.systems`."""
        from reviewgraph.formats import Outgoing

        columns = self.to_columns()
        return Outgoing(columns, self.reviews.titles, columns["affinity"], people=self.reviews.reviewers)

    def to_dict(self) -> dict[str, Any]:
        """Return the assignment as the command's ``--json`` prints it."""
        return {
            "status": self.status,
            "target": self.target,
            "reviews": _rows(self.to_columns()),
            "affinity": self.affinity,
            "affinity_unconstrained": self.affinity_unconstrained,
            "price_percent": self.price,
            "price_percent_of_level": self.price_of_level,
            "price_percent_at_least": self.least_price,
            "mean_affinity": self.mean_affinity,
            "minimum_affinity": self.minimum_affinity,
            "rules": [] if self.kept is None else [rule._asdict() for rule in self.kept.rules],
            "bound": self.bound,
            "gap_percent": self.gap,
            "forced": self.forced,
            "critical": self.critical,
            "survives": self.survives,
            "changes": None if self.changes is None else self.changes.to_dict(),
            "fair": None if self.fairness is None else self.fairness.to_dict(),
            **({} if self.alternates is None else self.alternates.to_dict()),
            "explanation": self.why,
            "timed_out": self.timed_out,
            **(NOTHING_SHORT if self.shortage is None else self.shortage.to_dict()),
            "probabilities": None if self.randomised is None else _rows(self.randomised.to_columns()),
            "draws": None if self.randomised is None else self.randomised.to_dict(),
            **self.reviews.origin.to_dict(),
            "usual_load": None if self.usual_load is None else self.usual_load._asdict(),
            "fixed": None if self.facts is None else self.facts.to_dict(),
        }

    @property
    def affinity(self) -> float:
        """Total affinity of the assignment."""
        return total_of(self.affinities)

    @property
    def mean_affinity(self) -> float:
        """Mean affinity of a review; NaN without reviews."""
        return float(self.affinities.mean()) if self.affinities.size else float("nan")

    @property
    def minimum_affinity(self) -> float:
        """Least affinity of a review; NaN without reviews."""
        return float(self.affinities.min()) if self.affinities.size else float("nan")

    @property
    def price(self) -> float | None:
        """Affinity lost against the unconstrained optimum, in percent of it; an upper bound on the necessary loss.

        None for a loss from an optimum that is not positive, of which nothing is a share: compare the totals then.
        """
        if self.status is AssignmentStatus.INFEASIBLE:
            return float("nan")
        return percent_of(self.affinity_unconstrained - self.affinity, self.affinity_unconstrained)

    @property
    def price_of_level(self) -> float | None:
        """The part of the price that the level costs, beyond rules, fairness and few changes; None if not known."""
        if self.affinity_before_level is None:
            return None
        return percent_of(self.affinity_before_level - self.affinity, self.affinity_unconstrained)

    @property
    def bound(self) -> float:
        """Upper bound on affinity under rules and floors, whatever the level; infinite if unknown."""
        bounds = [part.bound for part in (self.kept, self.fairness) if part is not None]
        return min(bounds, default=self.affinity_unconstrained)

    @property
    def gap(self) -> float | None:
        """Maximum distance of affinity to the best without a level, in percent; 0 where proved optimal."""
        return 0.0 if self.status is AssignmentStatus.OPTIMAL else percent_of(self.bound - self.affinity, self.bound)

    @property
    def least_price(self) -> float | None:
        """Lower bound on the price, in percent; None if there is none."""
        return None if self.least_loss is None else percent_of(self.least_loss, self.affinity_unconstrained)

    @property
    def survives(self) -> bool | None:
        """Whether the level holds after any one reviewer drops out; None if not determined."""
        return None if self.critical is None else self.status.reached and not self.critical
