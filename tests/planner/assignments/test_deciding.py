"""Tiny markets against all their assignments: a level is missed only where none reaches it, whatever the labels."""

from collections import Counter
from collections.abc import Iterator
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from planner import assign
from planner._assign.assignment import AssignmentStatus
from planner._assign.enumeration import best_at_level
from planner._assign.levels import aim_named
from reviewgraph import Search
from reviewgraph._base import Clock
from tests.planner.assignments.cases import problem_of
from tests.planner.assignments.naive_assignment import connected, doubly_connected, survives


def market(seed: int, *, dense: bool = False) -> dict[str, Any]:
    """Affinities of three to five papers and reviewers, with small demands and loads; dense ones may survive losses."""
    rng = np.random.default_rng(seed)
    n, m = (3, int(rng.integers(4, 6))) if dense else rng.integers(3, 6, 2).tolist()
    allowed = rng.random((m, n)) < rng.uniform(0.8 if dense else 0.5, 1.0)
    free = allowed.sum(axis=0)
    return {
        "affinity": {(j, i): float(rng.integers(0, 4)) for j, i in np.argwhere(allowed).tolist()},
        "items": list(range(n)),
        "reviewers": list(range(m)),
        "demand": {i: int(min(rng.integers(2 if dense else 1, 4), free[i])) for i in range(n)},
        "load": {j: int(rng.integers(2 if dense else 1, 5)) for j in range(m)},
    }


def every_assignment(case: dict[str, Any]) -> Iterator[list[tuple[int, int]]]:
    """All assignments of exactly the demands within loads."""
    panels = [
        list(combinations([j for j, i in case["affinity"] if i == item], case["demand"][item]))
        for item in case["items"]
    ]
    for chosen in product(*panels):
        count = Counter(j for panel in chosen for j in panel)
        if all(count[j] <= case["load"][j] for j in case["reviewers"]):
            yield [(j, i) for i, panel in enumerate(chosen) for j in panel]


@pytest.mark.parametrize("target", ["double", "connected", "survives-reviewer"])
def test_enumeration_finds_the_best_or_proves_that_there_is_none(target: str) -> None:
    """The status says optimal, with the affinity of the best of all assignments at the level."""
    found = Counter[bool]()
    for seed in range(40):
        case = market(seed, dense=target == "survives-reviewer")
        if next(every_assignment(case), None) is None or not all(case["demand"].values()):
            continue
        holds = {
            "double": lambda pairs, case=case: doubly_connected(pairs, case["items"]),
            "connected": lambda pairs, case=case: connected(pairs, case["items"]),
            "survives-reviewer": lambda pairs, case=case: survives(pairs, case["items"], case["reviewers"]),
        }[target]
        totals = [sum(map(case["affinity"].get, pairs)) for pairs in every_assignment(case) if holds(pairs)]
        answer = assign(**case, target=target, search=Search(seed=seed % 4))
        assert (answer.status is AssignmentStatus.OPTIMAL) == bool(totals), seed
        if totals:
            assert answer.affinity == max(totals), seed
        found[bool(totals)] += 1
    assert min(found[False], found[True]) > 1


def test_enumeration_ends_with_the_clock_and_leaves_large_problems_alone() -> None:
    """Nothing is known: the clock is over at once, or assignments are too many."""
    aim = aim_named("double")
    for size, clock in ((3, Clock(0.0)), (9, Clock(None))):
        pairs = np.array([(i, j) for i in range(size) for j in range(size)])
        problem = problem_of(pairs, np.zeros(len(pairs)), size, size, demand=np.full(size, 1), load=np.full(size, 1))
        assert best_at_level(problem, aim, clock) is None
