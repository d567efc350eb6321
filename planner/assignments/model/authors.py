"""Who wrote what: the papers a reviewer may not review for that, and the rivals that it makes of pairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.assignments.findings.authored import Authored
from planner.assignments.wishes.couples import coauthors_together, cycles_of_two
from planner.assignments.wishes.pairs import codes_among, table_of
from planner.assignments.wishes.rivals import rivals_of
from planner.assignments.wishes.written import Authors, Written
from reviewgraph.errors import InputError
from reviewgraph.words import counted

if TYPE_CHECKING:
    from planner.assignments.model.problem import Problem
    from planner.assignments.wishes.pairs import Scored
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray


def written_by(authors: Authors, scored: Scored) -> Written | None:
    """Give codes to an authors' file; None where it is empty.

    Raises
    ------
    InputError
        If no author in it is a reviewer, or no paper is among the items.
    """
    named = _table(authors.pairs)
    if not named.reviewer.size:
        return None
    author, item = codes_among(named.reviewers, scored.reviewers), codes_among(named.items, scored.items)
    for what, codes, labels in (("authors", author, named.reviewers), ("papers", item, named.items)):
        if (codes < 0).all():
            whose = "reviewers" if what == "authors" else "items"
            message = (
                f"authors: none of the {counted(len(labels), what[:-1])} ({', '.join(map(str, labels[:3]))}"
                f"{', ...' if len(labels) > 3 else ''}) is among the {whose}; use the labels of the {whose}"
            )
            raise InputError(message)
    # Who and what is not known gets codes behind the others: it may still make two reviewers co-authors.
    for codes, known in ((author, scored.reviewers), (item, scored.items)):
        new = np.flatnonzero(codes < 0)
        codes[new] = len(known) + np.arange(new.size)
    pairs = np.unique(np.column_stack([item[named.item], author[named.reviewer]]), axis=0)
    return Written(authors, pairs[:, 0], pairs[:, 1], (len(scored.items), len(scored.reviewers)))


def _table(pairs: Any) -> Any:
    if isinstance(pairs, Mapping):
        pairs = [(author, item) for item, names in pairs.items() for author in names]
    return table_of(pairs)


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
        concerns=None if problem.concerns is None else problem.concerns.among(kept),
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
