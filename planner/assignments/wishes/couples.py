"""Couples of pairs that an authors' file does not let be assigned together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reviewgraph.arrays import spread

if TYPE_CHECKING:
    from planner.assignments.wishes.written import Written
    from reviewgraph.labels import IntArray


def cycles_of_two(item: IntArray, reviewer: IntArray, wrote: Written) -> IntArray:
    """Couples of pairs (q, a) and (p, b) where a is an author of p and b of q, shape (K, 2).

    Takes O(A log A) for A pairs, each counted once for every author of its paper, and the couples themselves.
    """
    # Entry (q, a) by b says: a may review a paper of b. Sorted by {a, b}, both directions stand beside each other.
    size = wrote.n_authors[item]
    pair = np.repeat(np.arange(item.size), size)
    by = wrote.author[spread(wrote.start[item], size)]
    judge = reviewer[pair]
    fine = (by < wrote.n_reviewers) & wrote.writes[judge] & (by != judge)
    pair, by, judge = pair[fine], by[fine], judge[fine]
    low, high = np.minimum(by, judge), np.maximum(by, judge)
    order = np.argsort(((low * wrote.n_reviewers + high) << 1) | (judge > by), kind="stable")
    two, up = (low * wrote.n_reviewers + high)[order], (judge > by)[order]
    edge = np.flatnonzero(np.append(True, two[1:] != two[:-1])) if two.size else np.zeros(0, np.int64)
    length = np.diff(np.append(edge, two.size))
    n_up = np.add.reduceat(up.astype(np.int64), edge) if edge.size else length
    return _products(pair[order], edge, length - n_up, n_up)


def _products(pair: IntArray, first: IntArray, n_left: IntArray, n_right: IntArray) -> IntArray:
    """Every left one with every right one of each group; the right ones follow the left ones."""
    number = n_left * n_right
    at = spread(np.zeros_like(number), number)
    width, begin = np.repeat(n_right, number), np.repeat(first, number)
    left = pair[begin + at // np.maximum(width, 1)]
    right = pair[begin + np.repeat(n_left, number) + at % np.maximum(width, 1)]
    return np.column_stack([left, right])


def coauthors_together(item: IntArray, reviewer: IntArray, wrote: Written) -> IntArray:
    """Couples of pairs (p, a) and (p, b) where a and b are authors of one paper, shape (K, 2).

    Pairs are sorted by (item, reviewer). Takes O(C log P) for C co-authors, each counted once for every pair.
    """
    shares = wrote.coauthors()
    start, other = shares.indptr.astype(np.int64), shares.indices.astype(np.int64)
    size = start[reviewer + 1] - start[reviewer]
    first = np.repeat(np.arange(item.size), size)
    other = other[spread(start[reviewer], size)]
    upper = other > reviewer[first]
    first, other = first[upper], other[upper]
    key = item * wrote.n_reviewers + reviewer
    wanted = item[first] * wrote.n_reviewers + other
    second = np.minimum(np.searchsorted(key, wanted), max(key.size - 1, 0))
    both = key[second] == wanted if key.size else np.zeros(0, np.bool_)
    return np.column_stack([first[both], second[both]])
