"""Who wrote what: the papers a reviewer may not review for that, and the rivals that it makes of pairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from planner.assignments.model.pairs import codes_among, table_of
from planner.assignments.model.rivals import coauthors_together, cycles_of_two, rivals_of
from reviewgraph.errors import InputError
from reviewgraph.words import counted

if TYPE_CHECKING:
    from planner.assignments.model.pairs import Pairs, Scored
    from planner.assignments.model.problem import Problem
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray


class Authors(NamedTuple):
    """Who wrote what, as given, and what shall follow from it.

    Parameters
    ----------
    pairs
        (author, item) pairs, a ``Columns``, or a mapping item -> authors; labels of authors are those of reviewers.
    distance
        0: nobody reviews a paper of her own; 1: nor one of somebody with whom she shares a paper.
    allow_cycles
        Whether two may review a paper of each other.
    allow_coauthors
        Whether two who share a paper may review the same one.
    """

    pairs: Pairs | Mapping[Any, Any] = ()
    distance: int = 0
    allow_cycles: bool = False
    allow_coauthors: bool = False


class Written:
    """Papers and authors by code: the reviewers' and items' codes first, then those of whom and what else is named.

    Parameters
    ----------
    item, author
        Who wrote what, by code, each pair once.
    n_items, n_reviewers
        Items and reviewers of the problem; higher codes are other papers, and authors who do not review.
    """

    def __init__(self, item: IntArray, author: IntArray, n_items: int, n_reviewers: int) -> None:
        from scipy.sparse import coo_array

        shape = (max(int(item.max(initial=-1)) + 1, n_items), max(int(author.max(initial=-1)) + 1, n_reviewers))
        self.n_items, self.n_reviewers = n_items, n_reviewers
        self.matrix = coo_array((np.ones(item.size, np.int32), (item, author)), shape=shape).tocsr()

    @property
    def start(self) -> IntArray:
        """The authors of item i are ``author[start[i]:start[i + 1]]``, shape (N + 1,)."""
        return np.asarray(self.matrix.indptr[: self.n_items + 1], np.int64)

    @property
    def author(self) -> IntArray:
        """Authors of the items, one item behind the other."""
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
        """Papers that people share, people x people."""
        return (self.matrix.T @ self.matrix).tocsr()

    def coauthors(self) -> Any:
        """Reviewers who share a paper, M x M in rows; everybody who wrote one shares it with herself."""
        return self._shared[: self.n_reviewers, : self.n_reviewers].tocsr()

    def barred(self, distance: int) -> IntArray:
        """Return the pairs, as item * M + reviewer ascending, of who wrote the item, or with distance 1 a co-author."""
        wrote = self.matrix[: self.n_items]
        near = (wrote @ self._shared if distance else wrote).tocsr()[:, : self.n_reviewers].tocoo()
        item, reviewer = near.coords
        return np.unique(item.astype(np.int64) * self.n_reviewers + reviewer)


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
    return Written(pairs[:, 0], pairs[:, 1], len(scored.items), len(scored.reviewers))


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


def with_rivals(problem: Problem, wrote: Written, authors: Authors) -> Problem:
    """Note which pairs may not both be assigned, and leave out those that may not beside a given one.

    Raises
    ------
    InputError
        If two fixed pairs, or one and a review of the first phase, may not be together.
    """
    couples = [np.empty((0, 2), np.int64)]
    if not authors.allow_cycles:
        couples.append(cycles_of_two(problem.item, problem.reviewer, wrote))
    if not authors.allow_coauthors:
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
