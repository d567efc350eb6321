from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import AtLeast, AtMost
from planner._assign.lottery import UNITS, best_marginals, cap_of, through_rules
from planner._assign.why_none import why_capped
from tests.planner.assignments.cases import problem_of, ruled_of
from tests.planner.assignments.naive_lottery import best_worth
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


@given(problems(), st.sampled_from([1.0, 0.9, 0.5, 0.3]))
@examples(16)
def test_worth_is_that_of_a_linear_programme(problem, cap):
    found = best_marginals(problem, cap_of(cap))
    best = best_worth(problem, cap)
    if best is None:
        assert found is None
        assert why_capped(problem, cap_of(cap), UNITS)
        return
    assert found.value == pytest.approx(best, abs=1e-3)
    kept(problem, found.units, cap)


def kept(problem, units, cap):
    """Demands, loads and caps, in units."""
    assert (np.bincount(problem.item, units, problem.n_items) == problem.demand * UNITS).all()
    total = np.bincount(problem.reviewer, units, problem.n_reviewers)
    assert (total <= problem.load * UNITS).all()
    assert (total >= problem.least * UNITS).all()
    assert (units[~problem.given] <= cap * UNITS).all()
    assert (units[problem.given] == UNITS).all()


def test_caps_are_rounded_down():
    assert [cap_of(cap) for cap in (0.55559, 0.7)] == [5555, 7000]


RULED = {j: {"institution": "ab"[j % 2], "senior": j == 0} for j in range(4)}


@pytest.mark.parametrize("rule", [AtMost("institution", 1), AtLeast("senior", 1)])
def test_rules_on_one_attribute_are_nodes(rule):
    pairs = [(i, j) for i in range(2) for j in range(4)]
    ruled = ruled_of(4, 2, RULED, [rule])
    problem = problem_of(pairs, [0.0, 1, 0, 1] * 2, 2, 4, demand=2, load=2, ruled=ruled)
    units = best_marginals(problem, UNITS).units
    share = np.bincount(problem.reviewer, units, 4) / UNITS
    if isinstance(rule, AtMost):
        assert share[[1, 3]].sum() == 2
    else:
        assert share[0] == 2
    assert through_rules(problem).item.size


def test_loads_and_caps_together_are_cut():
    problem = problem_of([(i, j) for i in range(3) for j in range(2)], np.ones(6), 3, 2, demand=1, load=[1, 9])
    words = why_capped(problem, cap_of(0.5), UNITS)
    assert "need 3 reviews" in words
    assert "> 2.5" in words
