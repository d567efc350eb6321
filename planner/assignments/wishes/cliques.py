"""Cliques that cover couples of rivals: of each, one pair may be assigned."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from planner.assignments.wishes.rivals import Rivals
    from reviewgraph.labels import IntArray


class Cliques(NamedTuple):
    """Pair ``member[e]`` is in clique ``row[e]``, shapes (E,)."""

    row: IntArray
    member: IntArray


def cliques_of(rivals: Rivals) -> Cliques:
    """Cover every couple by a clique that nothing can be added to, greedily, smaller codes first.

    One row of a programme for a clique leaves its relaxation less than rows for its couples do (Padberg 1973: these
    rows are facets), and the cliques of an authors' file are large: whoever wrote one paper, on one panel; the authors
    of one paper on another one, and that one's authors on it.

    Takes O(K (D + log K)) for K couples and D rivals of a pair at most.

    >>> from planner.assignments.wishes.rivals import rivals_of
    >>> cliques_of(rivals_of(4, np.array([[0, 1], [1, 2], [0, 2], [2, 3]])))
    Cliques(row=array([0, 0, 0, 1, 1]), member=array([0, 1, 2, 2, 3]))
    """
    near = [set(part.tolist()) for part in np.split(rivals.rival, rivals.start[1:-1])]
    left = [{other for other in others if other > pair} for pair, others in enumerate(near)]
    cliques: list[list[int]] = []
    for pair, others in enumerate(left):
        while others:
            clique = _grown([pair, min(others)], near)
            cliques.append(clique)
            for one in clique:
                left[one].difference_update(clique)
    size = [len(clique) for clique in cliques]
    members = np.array([pair for clique in cliques for pair in clique], np.int64)
    return Cliques(np.repeat(np.arange(len(cliques)), size), members)


def _grown(clique: list[int], near: list[set[int]]) -> list[int]:
    """Add pairs, smallest codes first, while there is one that is a rival of all."""
    could = near[clique[0]] & near[clique[1]]
    for pair in sorted(could):
        if pair in could:
            clique.append(pair)
            could &= near[pair]
    return sorted(clique)
