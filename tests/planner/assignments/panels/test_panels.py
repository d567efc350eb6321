from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from planner import AtLeast, AtMost, Reward, assign
from planner._assign import panel_programme
from planner._assign.flow import cost_scale, whole, whole_costs
from planner._assign.panel_programme import best_columns, objective, programme_of, solve
from planner._assign.panels import depending, partitions, route_of, routed, settle
from reviewgraph._base import Clock
from tests.benchmarks import assign_exact as exact
from tests.planner.assignments import naive_rules as naive
from tests.planner.assignments.cases import problem_of, ruled_of
from tests.planner.assignments.panels.test_programme import allowed, worth


def partitioned(seed):
    """A tiny problem with rules on one attribute of which nobody has two values, sometimes with a given pair."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 4)), int(rng.integers(2, 6))
    pairs = [(i, j) for i in range(n) for j in range(m) if rng.random() < 0.85][:10]
    attributes = naive.random_attributes(rng, range(m))
    name = ("region", "senior")[rng.integers(2)]
    rules = [rule for rule in naive.random_rules(rng, attributes, 8) if rule.attribute == name]
    given = np.arange(len(pairs)) == (rng.integers(len(pairs)) if pairs and rng.random() < 0.5 else -1)
    problem = problem_of(
        pairs, rng.random(len(pairs)).round(2), n, m, demand=rng.integers(1, 4, n), load=rng.integers(1, 4, m),
        least=rng.integers(0, 2, m), ruled=ruled_of(m, n, attributes, rules), given=given,
    )  # fmt: skip
    return problem, attributes, rules


@pytest.mark.parametrize("seed", range(150))
def test_the_flow_finds_the_best_under_the_rules_on_one_attribute(seed):
    problem, *asked = partitioned(seed)
    if not problem.panels.binding:
        return
    assert partitions(problem) == [0]
    choices = (np.array(bits, bool) for bits in product([False, True], repeat=problem.item.size))
    good = [p for p in choices if (p | ~problem.given).all() and allowed(problem, p, *asked)]
    route = route_of(problem, 0)
    scale = cost_scale(1.0, 0 if route is None else route.n_nodes)
    bonus = whole(problem.panels.reward, scale)
    cost = whole_costs(problem.affinity, 0, scale)
    found = None if route is None else routed(problem, route, bonus[:, 0], cost)
    if not good:
        # What stands already may break a rule by itself.
        assert found is None or not allowed(problem, found, *asked)
        return
    assert allowed(problem, found, *asked)
    assert worth(problem, found, *asked) == pytest.approx(max(worth(problem, p, *asked) for p in good), abs=1e-6)
    assert objective(problem, found) == pytest.approx(worth(problem, found, *asked))
    net = problem.network(found, bonus)
    assert settle(net, cost, depending(problem, found), exact=True)
    assert (net.locked == problem.given).all()


@pytest.mark.parametrize("seed", range(8))
def test_priced_columns_give_the_optimum_of_the_whole_programme(seed, monkeypatch):
    monkeypatch.setattr(panel_programme, "FEW", 0)
    monkeypatch.setattr(panel_programme, "START", 2)
    monkeypatch.setattr(panel_programme, "FIRST", 10)
    rng = np.random.default_rng(seed)
    n, m = 8, 7
    attributes = naive.random_attributes(rng, range(m))
    rules = [AtMost("topic", 2), AtLeast("region", 2), AtLeast("senior", 1), Reward("topic", 0.3)]
    pairs = [(i, j) for i in range(n) for j in range(m)]
    problem = problem_of(
        pairs,
        rng.random(len(pairs)),
        n,
        m,
        demand=3,
        load=rng.integers(3, 6, m),
        ruled=ruled_of(m, n, attributes, rules),
    )
    programme = programme_of(problem, problem.given, np.ones(n, bool))
    whole_one = solve(programme, Clock(None).effort(30.0), gap=0.0)
    found = best_columns(programme, problem.item, np.zeros(programme.value.size, bool), Clock(None).effort(30.0))
    if whole_one.picked is None:
        assert found.picked is None
        return
    best = programme.value[whole_one.picked].sum()
    assert programme.obeyed_by(found.picked)
    assert programme.value[found.picked].sum() == pytest.approx(best, abs=1e-6)
    assert found.bound == pytest.approx(best, abs=1e-6)


@pytest.mark.slow
def test_equal_to_highs_and_to_enumeration_and_monotone():
    for oracle, sizes, number in ((exact.by_highs, (8, 12, 6, 10), 3), (exact.by_enumeration, (1, 5, 2, 6), 20)):
        generators = [np.random.default_rng(10_000 + seed) for seed in range(number)]
        cases = [exact.instance(rng, *(int(rng.integers(*sizes[k : k + 2])) for k in (0, 2))) for rng in generators]
        _, gaps, wrong, _ = exact.compare(cases, oracle)
        assert wrong == []
        assert gaps == [0.0]


def test_what_the_first_solver_wrongly_calls_the_best_is_checked():
    """One where a release of HiGHS calls 8.0 the best; prices leave 8.5 open, and the second solver finds it."""
    rng = np.random.default_rng(191)
    case = exact.instance(rng, int(rng.integers(8, 25)), int(rng.integers(6, 20)))
    result = exact.solved({**case, "authors": []})
    assert (result.status, result.affinity, result.bound) == ("optimal", 8.5, 8.5)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_at_every_level_the_rules_hold(seed):
    rng = np.random.default_rng(seed)
    case = exact.instance(rng, 8, 7)
    result = exact.solved(case, target="double")
    if result.reviews.n_reviews:
        assert exact.faults(result, case) == []
        assert result.affinity + result.rewards <= result.bound + 1e-6
        assert [rule.option for rule in result.kept.rules] == [rule.text for rule in case["rules"]]


def test_left_behind_papers_are_not_bound():
    """Paper "old" of a first phase has two reviewers of one institution, and no new review."""
    first = [("a", "old"), ("b", "old"), ("a", "p")]
    homes = {"a": "u", "b": "u", "c": "v"}
    affinity = {("a", "p"): 1.0, ("b", "p"): 1.0, ("c", "p"): 0.5}
    result = assign(affinity, demand=1, load=2, phase_one=first, institutions=homes, target="none")
    assert [result.reviews.reviewers[j] for j in result.reviews.reviewer] == ["c"]
