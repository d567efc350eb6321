"""Levels of many tiny tables at once, by their definitions: the items of each reviewer are bits, shape (S, M)."""

from collections.abc import Iterator
from functools import cache
from itertools import combinations

import numpy as np
import numpy.typing as npt

from tests.planner.plans import naive_plans

Masks = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]

#: Number of items in each mask of up to eight.
SIZE = np.array([mask.bit_count() for mask in range(256)], np.int8)


def merged(covers: Masks, shared: int) -> Masks:
    """Merge the items of two reviewers, or groups, who share so many, until no two do; the other of the two is left
    without items."""
    groups = covers.copy()
    while True:
        changed = False
        for first, second in combinations(range(groups.shape[1]), 2):
            near = SIZE[groups[:, first] & groups[:, second]] >= shared
            if near.any():
                changed = True
                groups[near, first] |= groups[near, second]
                groups[near, second] = 0
        if not changed:
            return groups


def covered(covers: Masks, required: int, shared: int) -> Flags:
    """Whether one group of reviewers who share so many items has all that are required."""
    whole: Flags = (merged(covers, shared) & required == required).any(axis=1)
    return whole


@cache
def _recoverable(covers: tuple[int, ...], n_items: int) -> bool:
    return naive_plans.is_recoverable(list(covers), n_items)


def recoverable(covers: Masks, required: int) -> Flags:
    """Whether the equations of all scores have two degrees of freedom; double is enough for it, connected is needed."""
    enough = covered(covers, required, 2)
    open_rows = np.flatnonzero(~enough & covered(covers, required, 1))
    n_items = required.bit_length()
    for row in open_rows.tolist():
        enough[row] = _recoverable(tuple(sorted(covers[row].tolist())), n_items)
    return enough


def without_each_reviewer(covers: Masks) -> Iterator[Masks]:
    for place in range(covers.shape[1]):
        left = covers.copy()
        left[:, place] = 0
        yield left


def without_each_review(covers: Masks) -> Iterator[Masks]:
    for place in range(covers.shape[1]):
        for item in range(8):
            if (covers[:, place] >> item & 1).any():
                left = covers.copy()
                left[:, place] &= 255 - (1 << item)
                yield left


#: Items that two reviewers share to merge, by level.
SHARED = {"connected": 1, "double": 2, "survives-reviewer": 2, "survives-review": 2}


def at_level(covers: Masks, required: int, level: str) -> Flags:
    """Whether each of the tables is at a level on the required items."""
    if level == "none":
        return np.ones(len(covers), np.bool_)
    if level == "recoverable":
        return recoverable(covers, required)
    holds = covered(covers, required, SHARED[level])
    losses = without_each_reviewer if level == "survives-reviewer" else without_each_review
    if level.startswith("survives"):
        rows = np.flatnonzero(holds)
        for left in losses(covers[rows]):
            holds[rows] &= covered(left, required, SHARED[level])
    return holds
