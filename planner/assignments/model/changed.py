"""What became of a previous assignment, and which pairs lie below a threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from planner.assignments.model.pairs import codes_among
from reviewgraph.results import Status

if TYPE_CHECKING:
    from planner.assignments.model.pairs import Scored
    from planner.assignments.model.problem import Problem
    from planner.assignments.model.worth import Concerns
    from reviewgraph.columns import Columns
    from reviewgraph.labels import IntArray, Label
    from reviewgraph.reviews import BoolArray


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
    CHOICE = "choice", "to make the rest fit"


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
        where a price was set on a change.
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
    """

    lost: float = 0.0
    changes: Changes | None = None
    below: Below | None = None


class Keys(NamedTuple):
    """Pairs as numbers, item * M + reviewer: all that may be assigned, conflicts, and those of a first phase."""

    all: IntArray
    barred: IntArray
    old: IntArray


def missing_pairs(previous: Columns, scored: Scored, keys: Keys) -> tuple[Dropped, ...]:
    """Pairs of a previous assignment that may not be assigned again, each with the first reason that applies."""
    reviewer = codes_among(previous.reviewers, scored.reviewers)[previous.reviewer]
    item = codes_among(previous.items, scored.items)[previous.item]
    pair = item * len(scored.reviewers) + reviewer
    # The last that applies is written first.
    reason = np.full(pair.size, "", dtype=object)
    for why, applies in (
        (Reason.UNSCORED, ~np.isin(pair, keys.all)),
        (Reason.PHASE_ONE, np.isin(pair, keys.old)),
        (Reason.CONFLICT, np.isin(pair, keys.barred)),
        (Reason.ITEM, item < 0),
        (Reason.REVIEWER, reviewer < 0),
    ):
        reason[applies] = why
    _, first = np.unique(previous.item * len(previous.reviewers) + previous.reviewer, return_index=True)
    gone = first[reason[first] != ""]
    return tuple(
        Dropped(previous.reviewers[previous.reviewer[row]], previous.items[previous.item[row]], reason[row])
        for row in gone.tolist()
    )


def concerned(problem: Problem, assigned: BoolArray, fewest: tuple[int, ...], lost: float) -> Concerned:
    """Say what became of the concerns of a problem, given the fewest pairs of each kind and the affinity they cost."""
    if problem.concerns is None:
        return Concerned()
    below, changed = fewest[0], fewest[1] if len(fewest) > 1 else None
    return Concerned(
        lost, _changes(problem, problem.concerns, assigned, changed), _below(problem, problem.concerns, assigned, below)
    )


def _changes(problem: Problem, concerns: Concerns, assigned: BoolArray, fewest: int | None) -> Changes | None:
    """Compare an assignment with the previous one; None where there is none."""
    if concerns.gone is None:
        return None
    before, now = ~concerns.changed & ~problem.old, assigned & ~problem.old
    chosen = tuple(Dropped(*pair, Reason.CHOICE) for pair in pairs_of(problem, before & ~now))
    return Changes(pairs_of(problem, before & now), concerns.gone + chosen, pairs_of(problem, now & ~before), fewest)


def _below(problem: Problem, concerns: Concerns, assigned: BoolArray, fewest: int) -> Below | None:
    """List the pairs assigned below the threshold; None where there is none."""
    if concerns.min_affinity is None:
        return None
    return Below(concerns.min_affinity, pairs_of(problem, assigned & concerns.below), fewest)


def pairs_of(problem: Problem, chosen: BoolArray) -> tuple[Pair, ...]:
    """Labels of some pairs, by item."""
    return tuple(
        Pair(problem.reviewers[problem.reviewer[p]], problem.items[problem.item[p]])
        for p in np.flatnonzero(chosen).tolist()
    )
