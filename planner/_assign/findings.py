"""How the papers are served, the worst of them above all, and what that cost."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from reviewgraph._base.results import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner._assign.constraints import Floors
    from reviewgraph._base.arrays import BoolArray, FloatArray, IntArray
    from reviewgraph._base.labels import Label
    from reviewgraph.graph.precision import Assumptions


#: Part of the papers that counts as the worst served.
WORST = 0.1


@dataclass(frozen=True)
class Fairness:
    """Scores of papers, sums of the affinities of their reviewers, before and after, and the price of the difference.

    Parameters
    ----------
    way
        What was sought, such as ``leximin``; empty where only floors were.
    floors
        What no paper was to fall below.
    smallest
        Smallest score of a paper: by affinity alone, within the rules on panels and authors, and in the assignment.
    worst_tenth
        Mean score of the worst-served tenth of the papers, likewise.
    at_most
        No assignment within demands, loads and conflicts has a smallest score above this; None where only a floor for
        the best reviewer was asked for.
    proved
        Whether the sorted scores before the level were proved the best possible, by two solvers.
    lost
        Affinity given up for it, before the level.
    below
        Papers whose sum is below the floor.
    """

    way: str
    floors: Floors
    smallest: tuple[float, float]
    worst_tenth: tuple[float, float]
    at_most: float | None
    proved: bool
    lost: float
    below: tuple[Label, ...] = ()

    def under(self, wider: Fairness) -> Fairness:
        """Return the same beside what is known of a wider problem: scores by affinity alone, and the bound."""
        at_most = None if wider.at_most is None else max(wider.at_most, self.smallest[1])
        return replace(
            self,
            smallest=(wider.smallest[0], self.smallest[1]),
            worst_tenth=(wider.worst_tenth[0], self.worst_tenth[1]),
            at_most=at_most,
            proved=False,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as the command's ``--json`` prints them."""
        return {
            "way": self.way or None,
            "floor": self.floors.total,
            "floor_best": self.floors.best,
            "smallest": {"before": self.smallest[0], "after": self.smallest[1], "at_most": self.at_most},
            "worst_tenth": {"before": self.worst_tenth[0], "after": self.worst_tenth[1]},
            "proved": self.proved,
            "affinity": self.lost,
            "below_floor": list(self.below),
        }


# What an authors' file asked for and what is left of it in an assignment.


@dataclass(frozen=True)
class Authored:
    """Which rules of an authors' file hold, and what they came to.

    Parameters
    ----------
    author_distance
        0: nobody reviews a paper of her own; 1: nor one of a co-author.
    cycles_of_two, coauthors
        Whether two may review a paper of each other, and whether two who share a paper may review the same one.
    barred
        Scored pairs that the file rules out by themselves.
    rivals
        Couples of pairs that may not be together and that the most affinity alone would have.
    cycles_of_three
        Circles of three in the assignment: each reviews a paper of the next.
    affinity
        Affinity of the best assignment found within all rules before any level was asked for.
    bound
        What no assignment within all rules exceeds, in affinity and rewards, whatever its level.
    """

    author_distance: int
    cycles_of_two: bool
    coauthors: bool
    barred: int
    rivals: int
    cycles_of_three: int
    affinity: float
    bound: float

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as the command's ``--json`` prints them."""
        return asdict(self)


# What became of a previous assignment, and which pairs lie below a threshold.


class Reason(Status):
    """Why a pair of the previous assignment is dropped; the first that applies.

    >>> Reason.CONFLICT.text
    'in conflict'
    """

    REVIEWER = "reviewer", "reviewer gone"
    ITEM = "item", "paper gone"
    CONFLICT = "conflict", "in conflict"
    PHASE_ONE = "phase_one", "reviewed in the first phase"
    UNSCORED = "unscored", "without affinity"
    CHOICE = "choice", "by choice"


class Pair(NamedTuple):
    """A reviewer and an item."""

    reviewer: Label
    item: Label

    def to_dict(self) -> dict[str, Any]:
        """Return the labels by name."""
        return self._asdict()


class Dropped(NamedTuple):
    """A pair of the previous assignment that is assigned no more, and why."""

    reviewer: Label
    item: Label
    reason: Reason

    def to_dict(self) -> dict[str, Any]:
        """Return labels and reason by name."""
        return self._asdict()


@dataclass(frozen=True)
class Changes:
    """A previous assignment against the one that replaces it.

    Parameters
    ----------
    kept
        Pairs of both.
    dropped
        Pairs of the previous one alone, each with the reason; ``choice`` where it might have stayed.
    new
        Pairs of this one alone.
    fewest
        New pairs that demands, loads, conflicts, fixed pairs and the threshold make necessary, proved by a flow; None
        where a price was set on a change, or where the level takes more pairs below the threshold than they do.
    """

    kept: tuple[Pair, ...]
    dropped: tuple[Dropped, ...]
    new: tuple[Pair, ...]
    fewest: int | None

    def to_dict(self) -> dict[str, Any]:
        """Return the changes as the command's ``--json`` prints them: what is kept is counted."""
        return {
            "kept": len(self.kept),
            "dropped": [pair.to_dict() for pair in self.dropped],
            "new": [pair.to_dict() for pair in self.new],
            "fewest": self.fewest,
        }


class Below(NamedTuple):
    """Pairs assigned although their affinity is below the threshold.

    Parameters
    ----------
    min_affinity
        The threshold.
    pairs
        These pairs, by item.
    fewest
        How many of them demands, loads, conflicts and fixed pairs make necessary, proved by a flow.
    """

    min_affinity: float
    pairs: tuple[Pair, ...]
    fewest: int

    def to_dict(self) -> dict[str, Any]:
        """Return threshold and pairs as the command's ``--json`` prints them."""
        return {
            "min_affinity": self.min_affinity,
            "reviews": [pair.to_dict() for pair in self.pairs],
            "fewest": self.fewest,
        }


class Concerned(NamedTuple):
    """What became of the concerns of a problem.

    Parameters
    ----------
    lost
        Affinity that they cost before any level: the most without them less the most with them.
    changes, below
        The changes of a previous assignment, and the pairs below the threshold; None where not asked for.
    counts
        Number of pairs of each kind that is to be few before any affinity, the first kind first.
    paid
        Affinity that the changed pairs count, where each has a price.
    """

    lost: float = 0.0
    changes: Changes | None = None
    below: Below | None = None
    counts: tuple[int, ...] = ()
    paid: float = 0.0

    def under(self, wider: Concerned) -> Concerned:
        """Return the same with what is proved of a wider problem: fewest pairs, and the affinity lost for them.

        Pairs that only the stricter problem leaves out for want of an affinity are dropped by choice. Where nothing is
        known of the wider problem no changes are proved necessary, and no pairs below the threshold.
        """
        changes, below = self.changes, self.below
        few = 0 if wider.below is None else wider.below.fewest
        if below is not None:
            below = below._replace(fewest=few)
        if changes is not None:
            # Fewest changes are proved among the assignments with fewest pairs below the threshold.
            least = below is None or len(below.pairs) == few
            proved = wider.changes.fewest if wider.changes is not None and least else None
            dropped = (pair._replace(reason=_CHOSEN.get(pair.reason, pair.reason)) for pair in changes.dropped)
            changes = replace(changes, dropped=tuple(dropped), fewest=proved)
        return self._replace(lost=wider.lost, changes=changes, below=below)


#: What the reason of a dropped pair is where pairs without an affinity may be assigned.
_CHOSEN = {Reason.UNSCORED: Reason.CHOICE}


# What exchanges for smaller errors gave up and bought.

#: Part of the affinity that may be given up for smaller errors by default.
CONDITIONING = 0.0005

#: Part of the papers that a selection takes, where the share of right ones is given.
SELECTED = 0.1


@dataclass(frozen=True)
class Exchanges:
    """Figures before and after exchanges of reviews, under the same assumptions.

    Parameters
    ----------
    lost
        Affinity given up for them.
    error
        Expected standard error of a paper's quality once scores are in (root mean square over the papers), before and
        after, in points of the assumed spread.
    right
        Expected share of the best tenth of the papers among those selected, before and after.
    assumptions
        What is assumed of the scores.
    """

    lost: float
    error: tuple[float, float]
    right: tuple[float, float]
    assumptions: Assumptions

    @classmethod
    def of(cls, before: FloatArray, after: FloatArray, lost: float, assumptions: Assumptions) -> Exchanges:
        """Sum up error variances of the papers, in units of the variance of qualities, before and after."""
        import numpy as np

        from reviewgraph.graph.precision import expected_share

        count = max(1, round(SELECTED * before.size))
        error = tuple(assumptions.spread * float(np.sqrt(variance.mean())) for variance in (before, after))
        right = tuple(expected_share(variance, count) for variance in (before, after))
        return cls(lost, (error[0], error[1]), (right[0], right[1]), assumptions)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as the command's ``--json`` prints them."""
        return {
            "affinity": self.lost,
            "expected_error": {"before": self.error[0], "after": self.error[1]},
            "expected_right": {"before": self.right[0], "after": self.right[1]},
            "assumptions": dict(vars(self.assumptions)),
        }


# Rules in the result: which hold, what they cost, and how far from the best the assignment can be.


class KeptRule(NamedTuple):
    """A rule that holds on every paper; or a reward, and what earned it.

    Parameters
    ----------
    option
        As an option of the command.
    words
        What holds on each paper, or is rewarded there.
    papers
        Papers that it is about; of a reward those that earn it.
    earned
        Different values that earn a reward, over all papers; None for what is no reward.
    """

    option: str
    words: str
    papers: int
    earned: int | None = None


@dataclass(frozen=True)
class Kept:
    """The rules that an assignment keeps, and what they cost.

    Parameters
    ----------
    rules
        Each of them.
    affinity
        Affinity of the best assignment found under the rules before any level was asked for.
    rewards
        What the assignment earns by different values, in affinity; no part of its affinity.
    bound
        What affinity and rewards together are at most under the rules, whatever the assignment.
    """

    rules: tuple[KeptRule, ...]
    affinity: float
    rewards: float
    bound: float

    def to_list(self) -> list[dict[str, Any]]:
        """Return the rules as the command's ``--json`` prints them."""
        return [rule._asdict() for rule in self.rules]


# With what probability each pair is assigned, and the assignments of which one is drawn.

#: Assignments of which one is drawn, by default.
DRAWS = 100


@dataclass(frozen=True, eq=False)
class Listed:
    """Assignments of which one is drawn, each as likely as any other.

    Probabilities are the shares of the assignments that hold each pair, so they hold exactly, and with them the caps.

    Parameters
    ----------
    holds
        Whether each assignment holds each pair that may be drawn, shape (K, S).
    at_level, mended
        Share of the assignments at the level and within all rules as rounded from the best probabilities, and in the
        end.
    changed
        Pairs of an assignment that the level and the rules have changed, on average.
    lost
        Affinity of an assignment that they cost, on average; negative where it gains.
    """

    holds: BoolArray
    at_level: float
    mended: float
    changed: float
    lost: float

    @property
    def count(self) -> int:
        """K."""
        return len(self.holds)


@dataclass(frozen=True, eq=False)
class Randomised:
    """A lottery over assignments, by the probability of each pair.

    Parameters
    ----------
    item, reviewer, probability
        The pairs that may be drawn, by item: their codes and probabilities, shape (S,).
    items, reviewers
        Labels.
    max_probability
        The cap on every probability; None where it is a table.
    perturbation
        Weight of the square of a probability in the gain.
    certain
        Fixed pairs, whose probability is 1 whatever the cap.
    expected
        Expected affinity of a draw.
    best
        Affinity of the best assignment without a lottery and without a level.
    gap
        What no other probabilities within the caps can gain more than, in parts of the gain.
    listed
        The assignments of which one is drawn; None where the probabilities are rounded anew for each draw.
    """

    item: IntArray
    reviewer: IntArray
    probability: FloatArray
    items: Sequence[Label]
    reviewers: Sequence[Label]
    max_probability: float | None
    perturbation: float
    certain: int
    expected: float
    best: float
    gap: float
    listed: Listed | None

    @property
    def percent(self) -> float:
        """Expected affinity in percent of the best."""
        return 100.0 * self.expected / self.best if self.best else 100.0

    @property
    def support(self) -> int:
        """Pairs that may be drawn."""
        return int(self.probability.size)

    @property
    def entropy(self) -> float:
        """Sum of ``-x ln x`` over the probabilities x."""
        import numpy as np

        return abs(float((self.probability * np.log(self.probability)).sum()))

    @property
    def largest(self) -> float:
        """Largest probability."""
        return float(self.probability.max(initial=0.0))

    @property
    def mean_largest(self) -> float:
        """Largest probability of each item's pairs, on average."""
        import numpy as np

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

    def to_rows(self) -> list[dict[str, Any]]:
        """Return the same, a dictionary a pair."""
        columns = self.to_columns()
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as the command's ``--json`` prints them."""
        found = self.listed
        return {
            "max_probability": self.max_probability,
            "perturbation": self.perturbation,
            "certain": self.certain,
            "expected_affinity": self.expected,
            "expected_percent": self.percent,
            "gap_percent": 100.0 * self.gap,
            "support": self.support,
            "entropy": self.entropy,
            "largest_probability": self.largest,
            "mean_largest_probability": self.mean_largest,
            "assignments": None if found is None else found.count,
            "at_level": None if found is None else found.at_level,
            "at_level_mended": None if found is None else found.mended,
            "changed": None if found is None else found.changed,
            "lost_by_mending": None if found is None else found.lost,
        }


# Alternates: who can step in on a paper when somebody of its panel drops out, and why nobody can.


class Lack(Enum):
    """Why a paper has fewer alternates than asked for: what rules out the last who would be left."""

    NOBODY = "nobody else may review it"
    ROOM = "nobody else who may review it has room"
    RULES = "what must hold on each paper rules out those who have room"
    LEVEL = "the level would be lost with those who have room and fit"
    STOPPED = "the search was stopped before it came to them"


class Alternate(NamedTuple):
    """A reviewer who can take the place of some of a paper's panel.

    Parameters
    ----------
    item, reviewer
        The paper, and who can step in.
    affinity
        Her affinity with it; 0 where unscored.
    replaces
        Reviewers of the paper any one of whom she can replace.
    everyone
        Whether these are all of them.
    """

    item: Label
    reviewer: Label
    affinity: float
    replaces: tuple[Label, ...]
    everyone: bool


class Missing(NamedTuple):
    """A paper with fewer alternates for everyone than asked for: how many it has, and why not more."""

    item: Label
    found: int
    why: Lack


@dataclass(frozen=True)
class Alternates:
    """Alternates of all papers.

    Parameters
    ----------
    asked
        How many were asked for, for each paper.
    listed
        The alternates, paper by paper, the best first.
    missing
        Papers with fewer than asked who can replace everyone.
    """

    asked: int
    listed: tuple[Alternate, ...]
    missing: tuple[Missing, ...]

    def to_columns(self) -> dict[str, list[Any]]:
        """Return one row an alternate; ``replaces`` is ``all``, or names separated by semicolons."""
        rank: Counter[Label] = Counter()
        places = []
        for one in self.listed:
            rank[one.item] += 1
            places.append(rank[one.item])
        return {
            "item": [one.item for one in self.listed],
            "alternate": places,
            "reviewer": [one.reviewer for one in self.listed],
            "affinity": [one.affinity for one in self.listed],
            "replaces": ["all" if one.everyone else ";".join(map(str, one.replaces)) for one in self.listed],
        }

    def to_dict(self) -> dict[str, Any]:
        """Return what the command's ``--json`` prints of them."""
        return {
            "alternates": [one._asdict() | {"replaces": list(one.replaces)} for one in self.listed],
            "alternates_missing": [
                {"item": one.item, "found": one.found, "why": one.why.value} for one in self.missing
            ],
        }
