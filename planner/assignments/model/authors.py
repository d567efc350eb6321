"""Who wrote what: the papers a reviewer may not review for that, and the rivals that it makes of pairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.assignments.findings.authored import Authored
from planner.assignments.findings.changed import Reason
from planner.assignments.model.comparing import concerns_among
from planner.assignments.wishes.couples import coauthors_together, cycles_of_two
from planner.assignments.wishes.pairs import LISTS
from planner.assignments.wishes.rivals import rivals_of
from planner.assignments.wishes.written import Authors, Written
from reviewgraph.arguments import LABELS, refuse
from reviewgraph.errors import InputError
from reviewgraph.sides.given import pairs_of
from reviewgraph.sides.matching import match_labels

if TYPE_CHECKING:
    from planner.assignments.model.problem import Problem
    from planner.assignments.wishes.pairs import Scored
    from reviewgraph.columns import Columns
    from reviewgraph.formats.spellings import Spellings
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray


def written_by(authors: Authors, scored: Scored) -> Written | None:
    """Give codes to an authors' file; None where it is empty.

    Raises
    ------
    InputError
        If no author in it is a reviewer, or no paper is among the items.
    """
    named = _table(authors.pairs, scored.spellings)
    if not named.reviewer.size:
        return None
    # Authors need not review, nor papers be among those to assign, but some must.
    author = match_labels(named.reviewers, scored.reviewers, "authors", "author", unknown="expected", where=LISTS)
    item = match_labels(named.items, scored.items, "authors", "paper", unknown="expected", where=LISTS)
    # Who and what is not known gets codes behind the others: it may still make two reviewers co-authors.
    for codes, known in ((author, scored.reviewers), (item, scored.items)):
        new = np.flatnonzero(codes < 0)
        codes[new] = len(known) + np.arange(new.size)
    pairs = np.unique(np.column_stack([item[named.item], author[named.reviewer]]), axis=0)
    return Written(authors, pairs[:, 0], pairs[:, 1], (len(scored.items), len(scored.reviewers)))


def _table(pairs: Any, spellings: Spellings) -> Columns:
    if isinstance(pairs, Mapping):
        for item, names in pairs.items():
            refuse(f"authors of {item!r}", names, [LABELS])
        pairs = [(author, item) for item, names in pairs.items() for author in names]
    return pairs_of(pairs, "authors", spellings)


def check_fixed(scored: Scored, fixed: tuple[IntArray, IntArray], barred: IntArray) -> None:
    """Refuse a fixed review of one's own paper or, at distance 1, of a co-author's.

    Raises
    ------
    InputError
        If there is one.
    """
    clash = np.flatnonzero(np.isin(fixed[1] * len(scored.reviewers) + fixed[0], barred))
    if clash.size:
        pair = scored.reviewers[int(fixed[0][clash[0]])], scored.items[int(fixed[1][clash[0]])]
        message = (
            f"fixed: the pair {pair!r} may not be by the authors' file: the reviewer wrote the paper, or shares one "
            "with an author of it; remove it from fixed or from authors"
        )
        raise InputError(message)


def with_rivals(problem: Problem, wrote: Written) -> Problem:
    """Note which pairs may not both be assigned, and leave out those that may not beside a given one.

    Raises
    ------
    InputError
        If two fixed pairs, or one and a review of the first phase, may not be together.
    """
    couples = [np.empty((0, 2), np.int64)]
    if not wrote.asked.allow_cycles:
        couples.append(cycles_of_two(problem.item, problem.reviewer, wrote))
    if not wrote.asked.allow_coauthors:
        couples.append(coauthors_together(problem.item, problem.reviewer, wrote))
    rivals = rivals_of(problem.item.size, np.concatenate(couples))
    _check_given(problem, rivals.couples_among(problem.given))
    kept = problem.given | (rivals.count_among(problem.given) == 0)
    if problem.given.any():
        couples_left = rivals.couples_among(kept & ~problem.given)
        rivals = rivals_of(int(kept.sum()), (np.cumsum(kept) - 1)[couples_left])
    return replace(
        problem,
        item=problem.item[kept],
        reviewer=problem.reviewer[kept],
        affinity=problem.affinity[kept],
        given=problem.given[kept],
        old=problem.old[kept],
        rivals=rivals,
        concerns=concerns_among(problem, kept, Reason.CONFLICT),
    )


def _check_given(problem: Problem, couples: IntArray) -> None:
    # What the first phase did stands.
    bad = couples[~problem.old[couples].all(axis=1)]
    if bad.size:
        one, other = (
            f"reviewer {problem.reviewers[problem.reviewer[p]]!r} on item {problem.items[problem.item[p]]!r}"
            for p in bad[0].tolist()
        )
        message = (
            f"fixed: {one} and {other} may not both be, by the authors' file; remove one of the pairs, or allow cycles "
            "or co-authors"
        )
        raise InputError(message)


def authored(problem: Problem, assigned: BoolArray, rivals: int, best: float, bound: float) -> Authored | None:
    """Sum up what an authors' file asked for and came to; None without one."""
    wrote = problem.wrote
    if wrote is None:
        return None
    three = wrote.cycles_of_three(problem.item[assigned], problem.reviewer[assigned])
    asked = wrote.asked
    return Authored(
        asked.distance,
        asked.allow_cycles,
        asked.allow_coauthors,
        int(problem.barred.sum()),
        rivals,
        three,
        best,
        bound,
    )
