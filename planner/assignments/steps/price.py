"""What a connection level must cost at least."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.assignments.steps.flow import AFFINITY_BITS, TIE_BITS
from reviewgraph import Reviews, connected_components, doubly_connected_components
from reviewgraph.recoverable import recoverability

if TYPE_CHECKING:
    from planner.assignments.model.problem import Problem
    from planner.assignments.steps.linking import Linker
    from reviewgraph.labels import IntArray

#: Steps that narrow down how many cheap pairs leave the level out of reach.
STEPS = 5


def least_loss(linker: Linker, problem: Problem, *, recoverable: bool = False) -> float:
    """Bound from below what affinity the level costs, at the unconstrained optimum with settled potentials.

    Another assignment loses the reduced costs of its new pairs at least (linear programming duality). Take all pairs
    of reduced cost below some value as assigned: if components and covers still miss the level, some new pairs must
    be dearer and leave the cover of their reviewer's component, as many as there are degrees of freedom (for
    ``connected``: as pieces but one), because one pair lowers these by one at most. With ``recoverable`` the level is
    in reach as soon as there are none. The number of cheap pairs is raised until the level is in reach, then narrowed
    down, and the best bound counts. Takes O(log P) closures.
    """
    net = linker.net
    reduced = np.maximum(linker.cost + net.potential[net.item] - net.potential[problem.n_items + net.reviewer], 0)
    movable = np.flatnonzero(~net.assigned & ~net.locked)
    order = movable[np.argsort(reduced[movable], kind="stable")]
    now = _merge(linker, np.arange(problem.n_reviewers), np.unique(_keys(linker, np.flatnonzero(net.assigned))))
    best, low, high = _bound(linker, problem, reduced, now), 0, 1
    while high < order.size:
        then = _merge(linker, now[0], np.union1d(now[1], _keys(linker, order[low:high], now[0])))
        if _reached(linker, problem, then[1], recoverable=recoverable):
            break
        best, now, low, high = max(best, _bound(linker, problem, reduced, then)), then, high, 4 * high
    for _ in range(STEPS):
        middle = (low + min(high, order.size)) // 2
        if middle <= low:
            break
        then = _merge(linker, now[0], np.union1d(now[1], _keys(linker, order[low:middle], now[0])))
        if _reached(linker, problem, then[1], recoverable=recoverable):
            high = middle
        else:
            best, now, low = max(best, _bound(linker, problem, reduced, then)), then, middle
    best -= 2 * int(net.assigned.sum()) << TIE_BITS  # rounding and ties, of a pair that goes and of one that comes
    return max(best, 0) * float(np.abs(problem.affinity).max(initial=0.0)) * 2.0 ** -(AFFINITY_BITS + TIE_BITS)


def _keys(linker: Linker, pairs: IntArray, label: IntArray | None = None) -> IntArray:
    """Give a number to each pair's component (by default its reviewer) and item."""
    reviewer = linker.net.reviewer[pairs]
    keys: IntArray = (reviewer if label is None else label[reviewer]) * linker.required.size + linker.net.item[pairs]
    return keys


def _merge(linker: Linker, label: IntArray, inside: IntArray) -> tuple[IntArray, IntArray]:
    """Merge components, given with the items they cover; returns labels of reviewers and (component, item) numbers."""
    n_items, size = linker.required.size, int(label.max(initial=-1)) + 1
    table = Reviews.from_codes(inside // n_items, inside % n_items, reviewers=size, items=n_items)
    merged = (doubly_connected_components(table) if linker.shared > 1 else connected_components(table)).labels
    return merged[label], np.unique(merged[inside // n_items] * n_items + inside % n_items)


def _reached(linker: Linker, problem: Problem, inside: IntArray, *, recoverable: bool) -> bool:
    covered = np.bincount(inside // problem.n_items, problem.required[inside % problem.n_items].astype(float), 1)
    return bool(covered.max() >= linker.total) or (recoverable and _links(inside, problem.n_items, doubly=True) == 0)


def _bound(linker: Linker, problem: Problem, reduced: IntArray, now: tuple[IntArray, IntArray]) -> int:
    """Loss of the pairs that must come beside those already within the components."""
    (label, inside), net = now, linker.net
    keys = label[net.reviewer] * problem.n_items + net.item
    place = np.minimum(np.searchsorted(inside, keys), inside.size - 1)
    cross = reduced[~net.assigned & ~net.locked & (inside[place] != keys)]
    needed = 1 if problem.old.any() else max(_links(inside, problem.n_items, doubly=linker.shared > 1), 1)
    return int(np.partition(cross, needed - 1)[:needed].sum()) if cross.size >= needed else 0


def _links(inside: IntArray, n_items: int, *, doubly: bool) -> int:
    """Fewest new pairs that can bring the level, from the pairs of a component and an item that it covers."""
    component, item = inside // n_items, inside % n_items
    if doubly:
        size = int(component.max(initial=-1)) + 1
        return recoverability(Reviews.from_codes(component, item, reviewers=size, items=n_items)).degrees_of_freedom
    return int(np.unique(component).size - 1)
