"""Tiny markets against all their assignments: levels, and demands where capacity is short, are missed if they must."""

from collections import Counter
from collections.abc import Iterator
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from planner import AtMost, assign
from planner._assign.assignment import AssignmentStatus
from planner._assign.enumeration import best_at_level
from planner._assign.levels import aim_named
from reviewgraph import Search
from reviewgraph._base import Clock
from tests.planner.assignments.cases import problem_of
from tests.planner.assignments.naive_assignment import connected, doubly_connected, survives
from tests.trials import examples


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


def spread(demand: list[int], chosen: tuple[tuple[int, int], ...]) -> list[int]:
    """Reviews that each item lacks, most first."""
    return sorted((need - sum(i == k for _, i in chosen) for k, need in enumerate(demand)), reverse=True)


@pytest.mark.slow
@given(st.data())
@examples(24)
def test_as_many_demands_as_can_be_are_met_evenly_and_with_most_affinity(data: st.DataObject) -> None:
    M, N = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4))
    demand = [data.draw(st.integers(0, 3)) for _ in range(N)]
    load = [data.draw(st.integers(0, 3)) for _ in range(M)]
    home = {j: data.draw(st.sampled_from("xyz")) for j in range(M)} if data.draw(st.booleans()) else {}
    affinity = {
        (j, i): data.draw(st.sampled_from([0.1, 0.5, 0.9]))
        for j in range(M)
        for i in range(N)
        if data.draw(st.booleans())
    }
    assume(affinity)
    options: dict[str, Any] = {"reviewers": range(M), "items": range(N), "target": "none"}
    options |= {"demand": dict(enumerate(demand)), "load": dict(enumerate(load)), "institutions": home or None}

    def obeys(chosen: tuple[tuple[int, int], ...]) -> bool:
        homes = [(home[j], i) for j, i in chosen if home]
        return (
            all(sum(j == k for j, _ in chosen) <= most for k, most in enumerate(load))
            and min(spread(demand, chosen)) >= 0
            and len(set(homes)) == len(homes)
        )

    every = [c for size in range(len(affinity) + 1) for c in combinations(affinity, size) if obeys(c)]
    best = min((sum(spread(demand, c)), spread(demand, c), -sum(affinity[p] for p in c)) for c in every)
    found = assign(affinity, best_effort=True, **options)
    plain = assign(affinity, **options)
    if best[0] == 0:
        assert found.status == plain.status == "optimal"
        assert found.shortage is None
        return
    assert plain.status == "infeasible"
    if found.status == "infeasible":
        assert best[0] == sum(demand)
        return
    chosen = tuple((r["reviewer"], r["item"]) for r in found.to_dict()["reviews"])
    assert obeys(chosen)
    gaps = spread(demand, chosen)
    assert (sum(gaps), gaps) == best[:2]
    assert found.affinity == pytest.approx(-best[2])
    assert found.status == "best_effort"
    assert found.shortage is not None
    assert sorted((n for _, n in found.shortage.missing), reverse=True) == [n for n in gaps if n]
    # With recruits as said all demands are met; with one fewer, or one review fewer in all, they are not.
    deal = found.shortage
    more = [f"new {k}" for k in range(deal.reviewers)]
    wide = {**affinity, **{(who, i): 0.0 for who in more for i in range(N)}}
    for count, room, enough in ((len(more), deal.load, True), (len(more) - 1, deal.load, False)):
        asked = [*range(M), *more[:count]]
        loads = dict(enumerate(load)) | dict.fromkeys(more[:count], room)
        scored = {pair: value for pair, value in wide.items() if pair[0] in asked}
        again = assign(scored, **{**options, "reviewers": asked, "load": loads})
        assert (again.status == "optimal") == enough


def test_what_cannot_be_met_is_said_and_recruited_for() -> None:
    affinity = np.ones((3, 4))
    found = assign(affinity, demand=2, load=2, best_effort=True, target="connected")
    assert (found.status, found.reviews.n_reviews) == ("best_effort", 6)
    assert sorted(found.reviews.reviews_per_item.tolist()) == [1, 1, 2, 2]
    assert found.shortage is not None
    assert (found.shortage.reviews, found.shortage.reviewers, found.shortage.load) == (2, 1, 2)
    told = found.to_dict()
    assert sum(short["missing"] for short in told["short"]) == 2
    assert told["explanation"].startswith("4 papers (0, 1, 2, 3) need 2 reviews each = 8 reviews; 3 reviewers")


def test_a_level_that_cannot_be_reached_is_missed_and_said() -> None:
    # Two blocks that nothing links, and one review too few.
    affinity = np.kron(np.eye(2), np.ones((3, 4)))
    affinity[affinity == 0] = np.nan
    found = assign(affinity, demand=2, load=3, best_effort=True)
    assert (found.status, found.reviews.n_reviews, found.shortage) == ("level_missed", 16, None)
    less = assign(affinity, demand=3, load=3, best_effort=True)
    assert (less.status, less.reviews.n_reviews) == ("best_effort", 18)
    assert less.explanation
    assert less.shortage is not None
    assert less.shortage.reviews == 6
    # Without the option nothing is assigned.
    assert assign(affinity, demand=2, load=3).status == "infeasible"


def test_rules_that_limit_are_kept() -> None:
    table = {("a", "p"): 1.0, ("b", "p"): 1.0, ("c", "p"): 0.5, ("a", "q"): 1.0, ("c", "q"): 1.0}
    told = {"attributes": {"a": {"home": "x"}, "b": {"home": "x"}, "c": {"home": "y"}}, "rules": [AtMost("home", 1)]}
    found = assign(table, demand=3, load=2, best_effort=True, target="none", **told)  # type: ignore[arg-type]
    assert found.status == "best_effort"
    assert found.shortage is not None
    assert dict(found.shortage.missing) == {"p": 1, "q": 1}
