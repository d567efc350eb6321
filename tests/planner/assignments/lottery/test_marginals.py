from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import AtLeast, AtMost
from planner._assign.marginals import UNITS, Gain, best_marginals, limits_of, through_rules
from planner._assign.why_none import why_capped
from tests.planner.assignments.cases import problem_of, ruled_of
from tests.planner.assignments.naive_lottery import best_gain
from tests.trials import examples


@st.composite
def problems(draw):
    """Small problems with ties, negative affinities, tight and least loads, missing pairs and a fixed one."""
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    n, m = draw(st.integers(1, 5)), draw(st.integers(1, 6))
    pairs = [(i, j) for i in range(n) for j in range(m) if rng.random() < draw(st.sampled_from([0.6, 1.0]))]
    levels = draw(st.sampled_from([1, 3, 1000]))
    problem = problem_of(
        pairs, rng.integers(-levels, levels + 1, len(pairs)) / levels, n, m,
        demand=rng.integers(0, 3, n), load=rng.integers(0, 4, m),
    )  # fmt: skip
    fixed = np.zeros(len(pairs), bool)
    if pairs and draw(st.booleans()):
        first = int(rng.integers(len(pairs)))
        fixed[first] = problem.demand[problem.item[first]] > 0 and problem.load[problem.reviewer[first]] > 0
    least = np.minimum(problem.load, rng.integers(0, 2, m)) * draw(st.integers(0, 1))
    return replace(problem, given=fixed, least=least)


@given(problems(), st.sampled_from([1.0, 0.9, 0.5, 0.3]), st.sampled_from([0.0, 0.1, 0.5]))
@examples(16)
def test_gain_is_that_of_the_quadratic_programme_within_the_gap(problem, cap, beta):
    found = best_marginals(problem, Gain(problem.affinity, beta), limits_of(problem, cap))
    best = best_gain(problem, cap, beta)
    if best is None:
        assert found is None
        assert why_capped(problem, np.full(problem.item.size, cap), UNITS)
        return
    assert found.value <= best + 1e-3
    assert found.bound >= best - 1e-3
    assert found.bound - found.value <= max(2e-3 * abs(best), 2e-3)
    kept(problem, found.units, cap)


def kept(problem, units, cap):
    """Demands, loads and caps, in units."""
    assert (np.bincount(problem.item, units, problem.n_items) == problem.demand * UNITS).all()
    total = np.bincount(problem.reviewer, units, problem.n_reviewers)
    assert (total <= problem.load * UNITS).all()
    assert (total >= problem.least * UNITS).all()
    assert (units[~problem.given] <= cap * UNITS).all()
    assert (units[problem.given] == UNITS).all()


@pytest.mark.parametrize("worth", [0.25, 0.0])
def test_pairs_of_equal_worth_share_equally(worth):
    """However many they are, and whether they are worth anything."""
    n, m = 3, 60
    pairs = [(i, j) for i in range(n) for j in range(m)]
    problem = problem_of(pairs, [1.0 if i == j else worth for i, j in pairs], n, m, demand=3, load=6)
    units = best_marginals(problem, Gain(problem.affinity, 0.1), limits_of(problem, 0.8)).units
    assert units.max() == 8000
    others = units[problem.item != problem.reviewer]
    assert others.min() >= 1
    assert np.ptp(others) <= 10


def test_concave_gain_is_the_largest_up_to_units():
    rng = np.random.default_rng(0)
    pairs = [(i, j) for i in range(20) for j in range(30)]
    for levels in (2, 5, 10_000):
        problem = problem_of(pairs, rng.integers(1, levels + 1, 600) / levels, 20, 30, demand=3, load=3)
        found = best_marginals(problem, Gain(problem.affinity, 0.3), limits_of(problem, 0.6))
        best = best_gain(problem, 0.6, 0.3)
        assert found.value == pytest.approx(best, rel=1e-6)
        assert best - 1e-6 <= found.bound <= best * (1 + 1e-4)


def test_caps_are_rounded_down():
    problem = problem_of([(0, 0), (0, 1)], [1.0, 1.0], 1, 2, demand=1, load=1)
    assert limits_of(problem, np.array([0.55559, 0.7])).most.tolist() == [5555, 7000]


RULED = {j: {"institution": "ab"[j % 2], "senior": j == 0} for j in range(4)}


@pytest.mark.parametrize("rule", [AtMost("institution", 1), AtLeast("senior", 1)])
def test_rules_on_one_attribute_are_nodes(rule):
    pairs = [(i, j) for i in range(2) for j in range(4)]
    ruled = ruled_of(4, 2, RULED, [rule])
    problem = problem_of(pairs, [0.0, 1, 0, 1] * 2, 2, 4, demand=2, load=2, ruled=ruled)
    units = best_marginals(problem, Gain(problem.affinity, 0.0), limits_of(problem, 1.0)).units
    share = np.bincount(problem.reviewer, units, 4) / UNITS
    if isinstance(rule, AtMost):
        assert share[[1, 3]].sum() == 2
    else:
        assert share[0] == 2
    assert through_rules(problem).item.size


def test_loads_and_caps_together_are_cut():
    problem = problem_of([(i, j) for i in range(3) for j in range(2)], np.ones(6), 3, 2, demand=1, load=[1, 9])
    words = why_capped(problem, np.full(6, 0.5), UNITS)
    assert "need 3 reviews" in words
    assert "> 2.5" in words
