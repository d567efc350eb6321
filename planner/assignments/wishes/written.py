"""Who wrote what, by code."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reviewgraph.arrays import spread

if TYPE_CHECKING:
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray
    from reviewgraph.rules import Rules
    from reviewgraph.sides.given import Pairs


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


def authors_of(rules: Rules) -> Authors:
    """Return what rules say of authors."""
    pairs = () if rules.authors is None else rules.authors
    return Authors(pairs, rules.author_distance or 0, bool(rules.allow_cycles), bool(rules.allow_coauthors))


class Written:
    """Papers and authors by code: the reviewers' and items' codes first, then those of whom and what else is named.

    Parameters
    ----------
    asked
        What shall follow from it.
    item, author
        Who wrote what, by code, each pair once.
    sizes
        Items and reviewers of the problem; higher codes are other papers, and authors who do not review.
    """

    def __init__(self, asked: Authors, item: IntArray, author: IntArray, sizes: tuple[int, int]) -> None:
        from scipy.sparse import coo_array

        self.asked = asked
        n_items, n_reviewers = sizes
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

    def barred(self) -> IntArray:
        """Return the pairs, as item * M + reviewer ascending, of who wrote the item, or at distance 1 a co-author."""
        wrote = self.matrix[: self.n_items]
        near = (wrote @ self._shared if self.asked.distance else wrote).tocsr()[:, : self.n_reviewers].tocoo()
        item, reviewer = near.coords
        return np.unique(item.astype(np.int64) * self.n_reviewers + reviewer)

    def cycles_of_three(self, item: IntArray, reviewer: IntArray) -> int:
        """Count circles of three reviewers in an assignment: each reviews a paper of the next.

        Takes what multiplying the sparse matrix of who reviews whom by itself does.
        """
        from scipy.sparse import coo_array

        size = self.n_authors[item]
        judge = np.repeat(reviewer, size)
        judged = self.author[spread(self.start[item], size)]
        ours = (judged < self.n_reviewers) & (judged != judge)
        shape = (self.n_reviewers, self.n_reviewers)
        who = coo_array((np.ones(int(ours.sum()), np.int64), (judge[ours], judged[ours])), shape=shape).tocsr()
        who.data[:] = 1
        return int((who @ who).multiply(who.T).sum()) // 3
