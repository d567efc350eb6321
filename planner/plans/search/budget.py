"""The best few reviews when the target is out of reach of a budget.

maximise    the papers in the largest group at the level of the target, then
minimise    their expected error, then the number of reviews, then their cost
subject to  the constraints, and at most ``allowed`` reviews

Where there are few sets of reviews all are tried. Elsewhere cascades that stop at the budget, and a whole plan in the
order in which its reviews help most, make the group; exchanges one review at a time then lower the error.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import comb
from typing import TYPE_CHECKING

from planner.plans.model.tables import as_pairs, no_pairs
from planner.plans.search.exchanges import sharpened
from planner.plans.search.judge import Judge
from reviewgraph.clock import TimeOver

if TYPE_CHECKING:
    from planner.plans.model.target import Target
    from planner.plans.model.task import Task
    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray

#: Reviews of a partial plan where no budget was set and time ran out.
AT_MOST = 64
#: The same by scores, times reviews of the table: what each of them joins takes a closure of all.
BY_SCORES = 500_000
#: Pairs and sets of reviews up to which all sets are tried.
LISTED, SETS = 5_000, 3_000


def best_few(
    task: Task, target: Target, whole: IntArray | None, allowed: int | None, clock: Clock
) -> tuple[IntArray, bool]:
    """Return the best reviews within a budget that were found, and whether all sets were tried.

    Parameters
    ----------
    task, target
        What is planned.
    whole
        A plan that reaches the target with more reviews, or the part of one that there was time for, if known.
    allowed
        Reviews at most; None where time ran out without a plan.
    clock
        When to end.
    """
    known = 0 if whole is None else len(whole)
    most = min(task.start.room, max(_part(task), known) if allowed is None else allowed)
    judge = Judge(task, target, clock)
    if task.candidates_up_to <= LISTED and _sets(len(judge.allowed), most) <= SETS:
        return _try_all(judge, most, clock)
    found = whole[:most] if whole is not None else no_pairs()
    try:
        found = _grown(judge, whole, most, clock)
        found = sharpened(judge, found, most, clock)
    except (KeyboardInterrupt, TimeOver):
        pass
    return found, False


def _part(task: Task) -> int:
    """Return how many reviews a plan holds at most of which time leaves a part only."""
    if not task.use_scores:
        return AT_MOST
    return min(AT_MOST, max(BY_SCORES // max(task.constraints.reviews.n_reviews, 1), 1))


def _sets(pairs: int, most: int) -> int:
    return sum(comb(pairs, size) for size in range(min(most, 8) + 1))


def _try_all(judge: Judge, most: int, clock: Clock) -> tuple[IntArray, bool]:
    """Try every set of reviews within the constraints; errors are compared among those of most papers only."""
    best = -1
    kept: list[IntArray] = []
    for pairs in _subsets(judge, most):
        papers = judge.papers(pairs)
        if papers > best:
            best, kept = papers, []
        if papers == best:
            kept.append(pairs)
        if clock.over():
            return kept[0], False
    chosen, value = kept[0], judge.worth(kept[0])
    for pairs in kept[1:]:
        if clock.over():
            return chosen, False
        now = judge.worth(pairs)
        if now > value:
            chosen, value = pairs, now
    return chosen, True


def _subsets(judge: Judge, most: int) -> Iterator[IntArray]:
    """Give the sets of allowed pairs within loads and limits, smaller ones first, by index."""
    pairs = [tuple(pair) for pair in judge.allowed.tolist()]
    left = judge.task.left(no_pairs())

    def extend(first: int, size: int, chosen: list[tuple[int, ...]]) -> Iterator[IntArray]:
        if size == 0:
            yield as_pairs(chosen)
            return
        for k in range(first, len(pairs)):
            j, i = pairs[k]
            if left.open(j, i):
                left.take(j, i)
                yield from extend(k + 1, size - 1, [*chosen, (j, i)])
                left.give_back(j, i)

    for size in range(min(most, len(pairs)) + 1):
        yield from extend(0, size, [])


def _grown(judge: Judge, whole: IntArray | None, most: int, clock: Clock) -> IntArray:
    """Reviews that let the largest group grow: the better of a whole plan's first ones and the target's own starts."""
    task, target = judge.task, judge.target
    options = [no_pairs()]
    if whole is not None:
        options.append(whole[target.order(task, whole, clock)][:most])
    if whole is None or not clock.over():
        options += target.starts(task, most, clock)
    return max(options, key=judge.papers)
