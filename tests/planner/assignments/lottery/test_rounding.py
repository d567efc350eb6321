import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from planner import AtMost
from planner._assign.lottery import UNITS, best_marginals, cap_of, support_of
from tests.planner.assignments.cases import problem_of, ruled_of
from tests.planner.assignments.lottery.test_marginals import problems
from tests.trials import examples, sampled, trials


def drawn(problem, units, rng):
    pairs = np.flatnonzero(units)
    chosen = np.zeros(units.size, bool)
    chosen[pairs] = support_of(problem, pairs).draw(units[pairs], UNITS, rng)
    return chosen


@given(problems(), st.sampled_from([1.0, 0.9, 0.5, 0.3]), st.integers(0, 99))
@examples(40)
def test_every_draw_meets_demands_and_loads(problem, cap, seed):
    found = best_marginals(problem, cap_of(cap))
    if found is None:
        return
    rng = np.random.default_rng(seed)
    for _ in range(5):
        chosen = drawn(problem, found.units, rng)
        assert (np.bincount(problem.item[chosen], minlength=problem.n_items) == problem.demand).all()
        held = np.bincount(problem.reviewer[chosen], minlength=problem.n_reviewers)
        # Not only within the loads: the expected load rounded down or up.
        expected = np.bincount(problem.reviewer, found.units, problem.n_reviewers) / UNITS
        assert (held >= np.floor(expected)).all()
        assert (held <= np.ceil(expected)).all()
        assert not chosen[found.units == 0].any()
        assert chosen[found.units == UNITS].all()


CASES = {
    "half each": ([(0, 0), (0, 1)], [5000, 5000], 1, 2),
    "thirds": ([(i, j) for i in range(2) for j in range(3)], [3333, 3333, 3334, 6667, 6667, 6666], 2, 3),
    "one in ten thousand": ([(0, 0), (0, 1)], [1, 9999], 1, 2),
    "a star": ([(i, 0) for i in range(4)] + [(i, i + 1) for i in range(4)], [2500] * 4 + [7500] * 4, 4, 5),
    "uneven": ([(i, j) for i in range(3) for j in range(4)], [1000, 2000, 3000, 4000] * 3, 3, 4),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", sampled(CASES, ["thirds", "one in ten thousand"]))
def test_frequencies_are_the_probabilities(case):
    pairs, units, n, m = CASES[case]
    table, units, count = np.array(pairs), np.array(units), trials(800)
    rng, times = np.random.default_rng(7), np.zeros(len(pairs))
    problem = problem_of(pairs, np.ones(len(pairs)), n, m, demand=np.bincount(table[:, 0], units) / UNITS, load=n)
    for _ in range(count):
        times += drawn(problem, units, rng)
    # Exact binomial bounds that all pairs together leave by chance once in a thousand.
    low, high = binom.interval(1 - 1e-3 / len(pairs), count, units / UNITS)
    assert (times >= low).all()
    assert (times <= high).all()


def test_rules_hold_in_every_draw():
    rng = np.random.default_rng(3)
    attributes = {j: {"home": f"u{j % 3}"} for j in range(9)}
    pairs = [(i, j) for i in range(6) for j in range(9)]
    ruled = ruled_of(9, 6, attributes, [AtMost("home", 1)])
    problem = problem_of(pairs, rng.random(54), 6, 9, demand=3, load=3, ruled=ruled)
    units = best_marginals(problem, cap_of(0.5)).units
    for _ in range(50):
        chosen = drawn(problem, units, rng)
        homes = problem.item[chosen] * 3 + problem.reviewer[chosen] % 3
        assert np.unique(homes).size == homes.size == 18
