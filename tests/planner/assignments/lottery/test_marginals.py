import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from planner import AtLeast, AtMost, assign
from planner._assign.lottery import UNITS, best_marginals, cap_of, support_of, through_rules
from planner._assign.why_none import why_capped
from reviewgraph import Reviews
from tests.planner.assignments import naive_assignment as naive
from tests.planner.assignments.cases import problem_of, ruled_of
from tests.planner.assignments.test_assigning import pairs_of
from tests.trials import examples, sampled, trials


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


N, M = 12, 10


def affinity(seed=0):
    return np.random.default_rng(seed).random((M, N))


def probabilities(result):
    columns = result.randomised.to_columns()
    pairs = zip(columns["reviewer"], columns["item"], strict=True)
    return dict(zip(pairs, columns["probability"], strict=True))


def communities():
    """Two communities without a good pair between them: the best affinity links nothing."""
    side = np.arange(M)[:, None] % 2 == np.arange(N) % 2
    return np.where(side, affinity(), -1.0)


@pytest.mark.slow
@pytest.mark.parametrize("cap", [1.0, 0.5])
def test_links_come_into_the_support_with_a_probability(cap):
    assert not naive.doubly_connected(pairs_of(assign(communities(), demand=2, load=5, target="none")), range(N))
    result = assign(communities(), demand=2, load=5, max_probability=cap)
    assert result.status.reached
    assert naive.doubly_connected(pairs_of(result), range(N))
    published = probabilities(result)
    assert any((reviewer - item) % 2 for reviewer, item in published)
    assert max(published.values()) <= cap
    assert set(pairs_of(result)) <= set(published)
    assert result.randomised.gap >= 0


def test_caps_of_one_leave_the_assignment_as_it_is():
    plain, certain = assign(affinity(), demand=3, load=5), assign(affinity(), demand=3, load=5, max_probability=1.0)
    assert pairs_of(plain) == pairs_of(certain)
    assert set(probabilities(certain).values()) == {1.0}
    assert certain.randomised.percent == pytest.approx(100.0 * plain.affinity / plain.affinity_unconstrained)


def test_a_first_phase_links_and_is_not_drawn():
    first = Reviews.from_codes(np.arange(5), np.arange(5), reviewers=range(M), items=range(N))
    result = assign(affinity(), demand=2, load=4, phase_one=first, max_probability=0.6)
    assert result.status.reached
    assert not {(k, k) for k in range(5)} & set(probabilities(result))
    assert (result.reviews.reviews_per_item == 2).all()


def test_pairs_that_are_to_be_few_stay_few():
    first = assign(affinity(), demand=3, load=5, target="none")
    previous = pairs_of(first)
    result = assign(affinity(3), demand=3, load=5, target="none", previous=previous, max_probability=0.9)
    published = probabilities(result)
    # Without a change every pair would have probability 1; the cap takes a tenth of it.
    assert sum(published[pair] for pair in previous) == pytest.approx(0.9 * len(previous))
    assert result.changes is not None


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


def best_worth(problem, caps):
    """Largest worth by a linear programme over all probabilities; None where there are none."""
    import cvxpy as cp

    size = problem.item.size
    if not size:
        return None if problem.demand.any() or problem.least.any() else 0.0
    x = cp.Variable(size)
    by_item, by_reviewer = (
        np.equal.outer(np.arange(count), codes).astype(float)
        for count, codes in ((problem.n_items, problem.item), (problem.n_reviewers, problem.reviewer))
    )
    asked = [x >= problem.given.astype(float), x <= np.where(problem.given, 1.0, caps), by_item @ x == problem.demand]
    asked += [by_reviewer @ x <= problem.load, by_reviewer @ x >= problem.least]
    programme = cp.Problem(cp.Maximize(problem.affinity @ x), asked)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "the solution may be inaccurate": the status says so
        programme.solve(solver=cp.CLARABEL)
    return float(programme.value) if programme.status in ("optimal", "optimal_inaccurate") else None
