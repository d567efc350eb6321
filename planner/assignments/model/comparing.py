"""A previous assignment against the problem at hand, and against the assignment that replaces it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner.assignments.findings.changed import Below, Changes, Concerned, Dropped, Pair, Reason
from reviewgraph.labels import encode
from reviewgraph.sides.matching import codes_among

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.assignments.model.problem import Problem
    from planner.assignments.model.worth import Concerns
    from planner.assignments.wishes.pairs import Scored
    from reviewgraph.columns import Columns
    from reviewgraph.labels import IntArray, Label
    from reviewgraph.reviews import BoolArray


class Keys(NamedTuple):
    """Pairs as numbers, item * M + reviewer.

    Parameters
    ----------
    all, barred, old
        All that may be assigned, conflicts, and those of a first phase.
    items, reviewers
        How many there are; codes from there on are of the first phase alone.
    """

    all: IntArray
    barred: IntArray
    old: IntArray
    items: int
    reviewers: int


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
        (Reason.ITEM, (item < 0) | (item >= keys.items)),
        (Reason.REVIEWER, (reviewer < 0) | (reviewer >= keys.reviewers)),
    ):
        reason[applies] = why
    # Each pair once, in the natural order of labels, whatever that of the rows.
    rows = _natural(previous.items)[previous.item] * len(previous.reviewers)
    _, first = np.unique(rows + _natural(previous.reviewers)[previous.reviewer], return_index=True)
    gone = first[reason[first] != ""]
    return tuple(
        Dropped(previous.reviewers[previous.reviewer[row]], previous.items[previous.item[row]], reason[row])
        for row in gone.tolist()
    )


def _natural(labels: Sequence[Label]) -> IntArray:
    """Place of each label in natural order."""
    return encode(labels)[0]


def concerns_among(problem: Problem, kept: BoolArray | IntArray, why: Reason) -> Concerns | None:
    """Return the concerns of some of the pairs; those of the previous assignment that are left out are gone for that.

    Parameters
    ----------
    problem
        With all pairs.
    kept
        Marked in shape (P,), or codes.
    why
        The reason.
    """
    concerns = problem.concerns
    if concerns is None or concerns.gone is None:
        return concerns and concerns.among(kept)
    left = ~concerns.changed & ~problem.old
    left[kept] = False
    gone = tuple(Dropped(*pair, why) for pair in pairs_of(problem, left))
    return concerns.among(kept)._replace(gone=concerns.gone + gone)


def concerned(problem: Problem, assigned: BoolArray, fewest: tuple[int, ...], lost: float) -> Concerned:
    """Say what became of the concerns of a problem, given the fewest pairs of each kind and the affinity they cost."""
    if problem.concerns is None:
        return Concerned()
    # Fewest changes are proved among the assignments with fewest pairs below the threshold.
    below, *rest = fewest
    proved = rest[0] if rest and problem.concerns.counts(assigned)[0] == below else None
    changed = int((problem.concerns.changed & assigned).sum())
    return Concerned(
        lost,
        _changes(problem, problem.concerns, assigned, proved),
        _below(problem, problem.concerns, assigned, below),
        problem.concerns.counts(assigned),
        changed * (problem.concerns.per_change or 0.0),
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
