"""Lotteries at a level: what is published holds in exact arithmetic, and every assignment of a list is at the level."""

from fractions import Fraction
from functools import cache
from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import linprog

from planner import AtLeast, AtMost, assign
from planner._assign import lottery, spanning
from planner._assign.lottery import support_of
from reviewgraph._base import Search
from tests.planner.assignments import naive_assignment as naive
from tests.planner.assignments.cases import problem_of
from tests.planner.assignments.test_assigning import pairs_of
from tests.trials import sampled

DEMAND, LOAD = 3, 4


def lists(result):
    """The (reviewer, item) pairs of each assignment of the list."""
    columns = result.randomised.to_columns()
    pairs = list(zip(columns["reviewer"], columns["item"], strict=True))
    return [[pair for pair, held in zip(pairs, row, strict=True) if held] for row in result.randomised.listed.holds]


def exact(result):
    """The share of the assignments that hold each pair, as fractions."""
    found = lists(result)
    held = [pair for pairs in found for pair in pairs]
    return {pair: Fraction(held.count(pair), len(found)) for pair in set(held)}


def tight():
    """A market where nearly all reviews are needed for the level: 10 papers, demand 3, loads 4, 14 reviewers."""
    return np.random.default_rng(3).random((14, 10))


@pytest.mark.slow
@pytest.mark.parametrize("cap", sampled([0.5, 0.7, 0.9]))
def test_what_is_published_is_exact(cap):
    affinity = tight()
    result = assign(affinity, demand=DEMAND, load=LOAD, max_probability=cap)
    assert result.status == "feasible"
    assert result.randomised.listed.reached == 1
    for pairs in lists(result):
        assert naive.doubly_connected(pairs, range(10))
        assert np.bincount([i for _, i in pairs], minlength=10).tolist() == [DEMAND] * 10
        assert np.bincount([j for j, _ in pairs], minlength=14).max() <= LOAD
    shares = exact(result)
    assert max(shares.values()) <= Fraction(str(cap))
    columns = result.randomised.to_columns()
    pairs = zip(columns["reviewer"], columns["item"], strict=True)
    published = dict(zip(pairs, columns["probability"], strict=True))
    assert {pair: float(share) for pair, share in shares.items()} == published
    assert result.randomised.expected == pytest.approx(sum(affinity[pair] * x for pair, x in published.items()))
    assert sorted(pairs_of(result)) in [sorted(pairs) for pairs in lists(result)]
    # The level costs little beside what caps do: the bound knows nothing of it.
    assert result.randomised.gap < 0.05


@cache
def at_level(n, m, demand, load):
    """All assignments at the level ``double``, by brute force."""
    found = []

    def go(item, loads, pairs):
        if item == n:
            found.extend([pairs] if naive.doubly_connected(pairs, range(n)) else [])
            return
        for panel in combinations(range(m), demand):
            if all(loads[j] < load for j in panel):
                taken = [count + (j in panel) for j, count in enumerate(loads)]
                go(item + 1, taken, pairs + [(j, item) for j in panel])

    go(0, [0] * m, [])
    return found


def best_expected(affinity, assignments, cap):
    """Most expected affinity of any lottery over the assignments under a cap; None where there is none."""
    m, n = affinity.shape
    holds = np.zeros((len(assignments), m * n))
    for row, pairs in zip(holds, assignments, strict=True):
        row[[j * n + i for j, i in pairs]] = 1
    found = linprog(
        *(-(holds @ affinity.ravel()), holds.T, np.full(m * n, cap), np.ones((1, len(holds))), [1]), method="highs"
    )
    return None if found.status else -found.fun


@pytest.mark.parametrize("cap", [0.3, 0.4, 0.6, 0.8, 1.0])
def test_a_small_lottery_is_near_the_best_over_all_assignments_at_the_level(cap):
    """Its gap is proved, and what it loses to multiples of a draw is little."""
    n, m, demand, load = 4, 5, 2, 3
    for seed in range(2):
        affinity = np.random.default_rng(seed).random((m, n))
        best = best_expected(affinity, at_level(n, m, demand, load), cap)
        result = assign(affinity, demand=demand, load=load, max_probability=cap)
        assert (result.status == "infeasible") == (best is None)
        if best is None:
            continue
        randomised = result.randomised
        assert randomised.largest <= cap + 1e-9
        assert 0.95 * best <= randomised.expected <= best + 1e-9 <= randomised.expected / (1 - randomised.gap) + 1e-6


@pytest.mark.parametrize(
    ("affinity", "cap"),
    [
        # All pairs are at their caps: assignments exchange pairs.
        ([[0.0, 1.0], [1.0, 0.0]], 0.5),
        # The first ones find no room, and the last ones leave some.
        ([[0.0, 0.5], [0.5, 0.0]], 0.75),
    ],
)
def test_every_assignment_of_a_list_is_at_the_level_where_caps_are_tight(affinity, cap):
    result = assign(np.array(affinity), demand=1, load=2, target="recoverable", max_probability=cap)
    assert result.status == "feasible"
    assert result.to_dict()["draws"]["at_level"] == 1.0
    assert max(exact(result).values()) <= Fraction(cap)


def test_rules_that_no_flow_says_hold_in_every_assignment():
    affinity = np.random.default_rng(0).random((10, 12))
    attributes = {j: {"home": j % 5, "senior": j < 5} for j in range(10)}
    rules = [AtMost("home", 1), AtLeast("senior", 1)]
    for target in ("none", "double"):
        result = assign(
            affinity, demand=3, load=5, attributes=attributes, rules=rules, max_probability=0.5,
            fixed=[(0, 0)], target=target,
        )  # fmt: skip
        for pairs in lists(result):
            wrong = naive.violations(
                pairs, demand=dict.fromkeys(range(12), 3), load=dict.fromkeys(range(10), 5),
                institutions={j: j % 5 for j in range(10)}, senior=range(5), fixed=[(0, 0)],
            )  # fmt: skip
            assert wrong == []
            assert target == "none" or naive.doubly_connected(pairs, range(12))
        shares = exact(result)
        assert shares.pop((0, 0)) == 1
        assert max(shares.values()) <= Fraction(1, 2)


def test_survivors_of_any_reviewer_are_all_of_a_list():
    affinity = np.random.default_rng(0).random((10, 12))
    result = assign(affinity, demand=4, load=6, target="survives-reviewer", max_probability=0.8)
    for pairs in lists(result):
        assert naive.survives(pairs, range(12), range(10))
    assert max(exact(result).values()) <= Fraction(8, 10)


def test_parts_have_the_frequencies_they_are_parted_from():
    rng = np.random.default_rng(2)
    for count in (1, 2, 7, 30):
        n, m = 6, 5
        table = [(i, j) for i in range(n) for j in range(m)]
        problem = problem_of(table, rng.random(n * m), n, m, demand=2, load=3)
        counts = np.zeros(n * m, np.int64)
        for _ in range(count):
            # Any two reviewers in turn: loads of 2 or 3.
            start = rng.integers(m)
            for i in range(n):
                counts[[i * m + (start + 2 * i + s) % m for s in range(2)]] += 1
        pairs = np.flatnonzero(counts)
        parts = support_of(problem, pairs).split(counts[pairs], count, rng)
        assert len(parts) == count
        assert (np.sum(parts, axis=0) == counts[pairs]).all()
        for part in parts:
            chosen = pairs[part]
            assert (np.bincount(problem.item[chosen], minlength=n) == 2).all()
            assert np.bincount(problem.reviewer[chosen], minlength=m).max() <= 3


@pytest.mark.slow
def test_where_many_papers_are_apart_a_skeleton_repairs_each_assignment(monkeypatch):
    monkeypatch.setattr(spanning, "FEWEST", 5)
    bridged = []

    def counted(*arguments, **options):
        bridged.append(spanning.span(*arguments, **options))
        return bridged[-1]

    monkeypatch.setattr(lottery, "span", counted)
    n, m, demand, load = 90, 88, 3, 4
    affinity = np.random.default_rng(1).random((m, n))
    result = assign(affinity, demand=demand, load=load, max_probability=0.7)
    assert result.randomised.listed.reached == 1
    # Each is repaired by a skeleton, not by one pair after the other.
    assert sum(bridged) == 10
    for pairs in lists(result):
        assert naive.doubly_connected(pairs, range(n))
        assert np.bincount([i for _, i in pairs], minlength=n).tolist() == [demand] * n
        assert np.bincount([j for j, _ in pairs], minlength=m).max() <= load
    assert max(exact(result).values()) <= Fraction(7, 10)
    # As dear as by one pair after the other, or little more.
    monkeypatch.setattr(spanning, "FEWEST", n + 1)
    slow = assign(affinity, demand=demand, load=load, max_probability=0.7)
    assert result.randomised.expected >= 0.99 * slow.randomised.expected


@pytest.mark.parametrize("seed", range(3))
def test_the_page_has_the_share_of_draws_at_the_level_also_of_one_that_is(seed):
    values = [("r0", 2.59, 0.46), ("r3", 2.11, -0.65), ("r4", 0.02, 2.36)]
    affinity = {(who, paper): value for who, *row in values for paper, value in zip(("p0", "p1"), row, strict=True)}
    affinity["r2", "p0"] = 1.05
    search = Search(seed=seed)
    chosen = assign(affinity, 2, 2, "double", max_probability=0.5, fixed=[("r3", "p1")], search=search)
    share = chosen.randomised.listed.reached
    assert share == 0.5
    assert f"only {100 * share:.0f} % of the draws have the level" in " ".join(str(chosen).split())
    whole = assign(affinity, 2, 2, "connected", max_probability=1.0, search=search)
    assert "of the draws" not in str(whole)
