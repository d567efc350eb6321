"""Random assignments, and random assignments that are doubly connected: Algorithms 2 and 3 of [Tan21]_.

Both give every reviewer a set number of items and return planned reviews, for simulations; for real conferences, with
affinities and conflicts, use the planner.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np

from reviewgraph._base.arguments import checked, count_of
from reviewgraph._base.arrays import IntArray
from reviewgraph._base.errors import ImpossibleDesign, InputError
from reviewgraph.table.reviews import Reviews

#: Items a reviewer must share with a doubly connected component to join it (Algorithm 1 of [Tan21]_).
SHARED = 2


@checked
def random_assignment(
    n_items: int, n_reviewers: int, load: int | Sequence[int], seed: int | np.random.Generator = 0
) -> Reviews:
    """Assign items at random, so that each gets at least floor(sum of loads / N) reviews (Algorithm 2).

    Reviewers are served in turn. Each takes items that are still below the minimum b = floor(sum of loads / N),
    and others only when too few of those remain; within either kind all choices are equally likely. As printed this
    does not guarantee the minimum (N = M = 3, load 2): where an item stays below it, reviews move to it one at a time
    from items above it, drawn at random, which is always possible.

    Parameters
    ----------
    n_items, n_reviewers
        N and M.
    load
        Items per reviewer, k: one number for all, or M numbers in the order of the reviewers.
    seed
        Seed or generator: the same one gives the same assignment.

    Returns
    -------
    Reviews
        All planned; reviewers are labelled 0..M-1 and items 0..N-1.

    Raises
    ------
    ImpossibleDesign
        If a load exceeds N.
    InputError
        If a size or load is negative or no whole number, the loads are not M, or ``seed`` is neither a
        whole number from 0 on nor a Generator.

    Notes
    -----
    Running time O(N + E) for E reviews, and O(b) for each review moved (a handful at equal loads).
    Source: Algorithm 2 (Appendix B) of [Tan21]_, where the printed ``I_i`` and ``T_i`` are the same set.

    Examples
    --------
    >>> reviews = random_assignment(10, 5, 4, seed=0)
    >>> reviews.loads.tolist(), reviews.reviews_per_item.tolist()
    ([4, 4, 4, 4, 4], [2, 2, 2, 2, 2, 2, 2, 2, 2, 2])
    """
    loads = _loads(n_items, n_reviewers, load)
    rng = np.random.default_rng(seed)
    least = sum(loads) // max(n_items, 1)
    usage = [0] * n_items
    below = _Urn(range(n_items), n_items, rng)
    met = _Urn((), n_items, rng)
    chosen: list[list[int]] = []
    for k in loads:
        # Items below the minimum first; others only when too few of those remain.
        needy = below.draw(min(k, len(below)))
        chosen.append(needy + met.draw(k - len(needy)))
        for item in chosen[-1]:
            usage[item] += 1
        for item in needy:
            if usage[item] >= least:
                below.remove(item)
                met.add(item)
    _raise_to(least, chosen, usage, rng)
    return _planned(chosen, loads, n_items)


@checked
def doubly_connected_assignment(
    n_items: int, n_reviewers: int, load: int | Sequence[int], seed: int | np.random.Generator = 0
) -> Reviews:
    """Assign items at random so that all reviewers are doubly connected and cover every item (Algorithm 3).

    The first reviewer takes any items. Every later one takes k items: up to k - 2 that nobody has; up to 2 that
    are assigned but below the minimum b = floor(sum of loads / N); and the rest among the other assigned items.

    So every reviewer after the first shares two items or more with the cover of the previous ones, and the reviewers
    served are one doubly connected component (Theorem 3.4). The minimum b is preferred, not guaranteed.

    Parameters
    ----------
    n_items, n_reviewers, load, seed
        As in :func:`random_assignment`.

    Returns
    -------
    Reviews
        Likewise.

    Raises
    ------
    ImpossibleDesign
        If there is no reviewer, a load exceeds N, a load is below 2 while M >= 2, or
        sum over reviewers of (k - 2), plus 2, is below N.
    InputError
        As in :func:`random_assignment`.

    Notes
    -----
    Running time O(N + E) for E reviews. Source: Algorithm 3 (Appendix B) of [Tan21]_ with its errors corrected:
    the number of new items is ``min(k - 2, N - |T|)``, the last items come from the assigned ones not yet chosen,
    and the first reviewer's items count towards the minimum.

    Examples
    --------
    >>> reviews = doubly_connected_assignment(8, 3, 4, seed=0)
    >>> [reviews.items_of(reviewer).tolist() for reviewer in range(3)]
    [[2, 3, 4, 6], [0, 2, 4, 5], [0, 1, 2, 7]]
    """
    loads = _loads(n_items, n_reviewers, load)
    rng = np.random.default_rng(seed)
    _refuse_unless_connectable(n_items, loads)
    least = sum(loads) // max(n_items, 1)
    usage = [0] * n_items
    unassigned = _Urn(range(n_items), n_items, rng)
    assigned = _Urn((), n_items, rng)
    below = _Urn((), n_items, rng)  # assigned items that have not met the minimum
    chosen: list[list[int]] = []
    for k in loads:
        # Two items or more are of the component so far, so that the reviewer joins it.
        new = unassigned.draw(min(k - SHARED if chosen else k, len(unassigned)))
        needy = below.draw(min(SHARED, len(below)))
        assigned_before = assigned.draw(k - len(new) - len(needy), besides=needy)
        chosen.append(new + needy + assigned_before)
        # What was new is assigned now, and stays below the minimum until it has met it.
        for item in new:
            unassigned.remove(item)
            assigned.add(item)
            below.add(item)
        for item in chosen[-1]:
            usage[item] += 1
            if usage[item] >= least and item in below:
                below.remove(item)
    return _planned(chosen, loads, n_items)


class _Urn:
    """A set of items with random samples without replacement; changes and draws take constant time per item."""

    def __init__(self, items: Iterable[int], n_items: int, rng: np.random.Generator) -> None:
        self.items = list(items)
        self.place = [-1] * n_items
        self.rng = rng
        for place, item in enumerate(self.items):
            self.place[item] = place

    def __len__(self) -> int:
        return len(self.items)

    def __contains__(self, item: int) -> bool:
        return self.place[item] >= 0

    def add(self, item: int) -> None:
        self.place[item] = len(self.items)
        self.items.append(item)

    def remove(self, item: int) -> None:
        last = self.items.pop()
        place = self.place[item]
        self.place[item] = -1
        if last != item:
            self.items[place] = last
            self.place[last] = place

    def draw(self, count: int, besides: Collection[int] = ()) -> list[int]:
        """``choose(S, count)`` of [Tan21]_ among the items other than ``besides``; all items stay in the set."""
        if count <= 0:
            return []
        for item in besides:
            self.remove(item)
        places = self.rng.choice(len(self.items), count, replace=False, shuffle=False).tolist()
        drawn = [self.items[place] for place in places]
        for item in besides:
            self.add(item)
        return drawn


def _raise_to(least: int, chosen: list[list[int]], usage: list[int], rng: np.random.Generator) -> None:
    """Move reviews from items above the minimum to items below it, in place."""
    short = [item for item, count in enumerate(usage) if count < least]
    if not short:
        return
    surplus = _Urn([item for item, count in enumerate(usage) if count > least], len(usage), rng)
    reviewers: list[set[int]] = [set() for _ in usage]
    for reviewer, items in enumerate(chosen):
        for item in items:
            reviewers[item].add(reviewer)
    # A review moves from an item above the minimum, by a reviewer who does not review the other item yet.
    for taker in short:
        while usage[taker] < least:
            (giver,) = surplus.draw(1)
            able = sorted(reviewers[giver] - reviewers[taker])
            reviewer = able[rng.integers(len(able))]
            chosen[reviewer][chosen[reviewer].index(giver)] = taker
            reviewers[giver].remove(reviewer)
            reviewers[taker].add(reviewer)
            usage[taker] += 1
            usage[giver] -= 1
            if usage[giver] == least:
                surplus.remove(giver)


def _planned(chosen: list[list[int]], loads: list[int], n_items: int) -> Reviews:
    item: IntArray = np.fromiter((item for items in chosen for item in items), np.int64, sum(loads))
    return Reviews.from_codes(np.repeat(np.arange(len(loads)), loads), item, reviewers=len(loads), items=n_items)


def _loads(n_items: int, n_reviewers: int, load: int | Sequence[int]) -> list[int]:
    """Return one load per reviewer, each at most N."""
    n_items = count_of(n_items, "n_items")
    n_reviewers = count_of(n_reviewers, "n_reviewers")
    if isinstance(load, int | np.integer):
        loads = [count_of(load, "load")] * n_reviewers
    else:
        loads = [count_of(k, f"load of reviewer {reviewer}") for reviewer, k in enumerate(load)]
    if len(loads) != n_reviewers:
        message = f"load: expected one number, or n_reviewers = {n_reviewers} numbers, found {len(loads)} numbers"
        raise InputError(message)
    most = max(loads, default=0)
    if most > n_items:
        raise ImpossibleDesign(
            f"load <= n_items fails: reviewer {loads.index(most)} has load {most} and there are {n_items} items; "
            "lower the load or add items"
        )
    return loads


def _refuse_unless_connectable(n_items: int, loads: list[int]) -> None:
    """Refuse loads with which no doubly connected component holds all reviewers and covers all items."""
    if not loads:
        raise ImpossibleDesign("n_reviewers >= 1 fails: without reviewers nothing is connected")
    least = min(loads)
    if len(loads) > 1 and least < SHARED:
        raise ImpossibleDesign(
            f"load >= {SHARED} fails: reviewer {loads.index(least)} has load {least}, and to be doubly connected "
            f"every reviewer shares at least {SHARED} items with the others; raise the load"
        )
    reach = sum(k - SHARED for k in loads) + SHARED
    if reach < n_items:
        raise ImpossibleDesign(
            f"sum over reviewers of (load - {SHARED}) + {SHARED} >= n_items fails: "
            f"{reach - SHARED} + {SHARED} = {reach} < {n_items}; raise loads, add reviewers or drop items"
        )
