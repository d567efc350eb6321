from itertools import product

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

from planner import assign
from planner._assign import programme as module
from planner._assign.programme import Relaxation, best_choice, programme_of, solve
from reviewgraph._base import Clock
from tests.benchmarks import assign_exact as exact
from tests.planner.assignments import naive_rules as naive
from tests.planner.assignments.cases import problem_of, ruled_of
from tests.planner.assignments.naive_assignment import violations
from tests.trials import NIGHTLY


def tiny(rng):
    n, m = int(rng.integers(1, 4)), int(rng.integers(2, 5))
    pairs = [(i, j) for i in range(n) for j in range(m) if rng.random() < 0.85][:10]
    attributes = naive.random_attributes(rng, range(m))
    rules = naive.random_rules(rng, attributes) if rng.random() < 0.9 else []
    problem = problem_of(
        pairs, rng.random(len(pairs)).round(2), n, m,
        demand=rng.integers(0, 3, n), load=rng.integers(1, 4, m), least=rng.integers(0, 2, m),
        ruled=ruled_of(m, n, attributes, rules),
    )  # fmt: skip
    return problem, attributes, rules


def panel(problem, picked, item):
    return problem.reviewer[np.flatnonzero(picked & (problem.item == item))].tolist()


def worth(problem, picked, attributes, rules):
    return problem.affinity[picked].sum()


def allowed(problem, picked, attributes, rules):
    pairs = [(int(problem.reviewer[p]), int(problem.item[p])) for p in np.flatnonzero(picked)]
    return not violations(
        pairs,
        demand=dict(enumerate(problem.demand.tolist())),
        load=dict(enumerate(problem.load.tolist())),
        min_load=dict(enumerate(problem.least.tolist())),
    ) and not any(
        naive.broken(panel(problem, picked, i), attributes, rules) for i in np.flatnonzero(problem.demand).tolist()
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(150 if NIGHTLY else 75))
def test_the_solver_agrees_with_all_choices(seed):
    problem, *asked = tiny(np.random.default_rng(seed))
    size = problem.item.size
    choices = [np.array(bits, bool) for bits in product([False, True], repeat=size)]
    good = [picked for picked in choices if allowed(problem, picked, *asked)]
    programme = programme_of(problem)
    if programme is None:
        assert not good
        return
    obeys = [programme.obeyed_by(picked[programme.pairs]) for picked in choices]
    assert obeys == [allowed(problem, picked, *asked) for picked in choices]
    if not size:
        return
    found = solve(programme, Clock(None).effort(10.0))
    assert (found.picked is None, found.proved) == (not good, not good)
    if good:
        best = max(worth(problem, picked, *asked) for picked in good)
        assert worth(problem, found.picked, *asked) == pytest.approx(best, rel=1e-3)
        assert allowed(problem, found.picked, *asked)


@pytest.mark.slow
def test_equal_to_highs_and_to_enumeration_and_monotone():
    for oracle, sizes, number in ((exact.by_highs, (8, 12, 6, 10), 3), (exact.by_enumeration, (1, 5, 2, 6), 20)):
        generators = [np.random.default_rng(10_000 + seed) for seed in range(number)]
        cases = [exact.instance(rng, *(int(rng.integers(*sizes[k : k + 2])) for k in (0, 2))) for rng in generators]
        _, gaps, wrong, _ = exact.compare(cases, oracle)
        assert wrong == []
        assert gaps == [0.0]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_at_every_level_the_rules_hold(seed):
    rng = np.random.default_rng(seed)
    case = exact.instance(rng, 8, 7)
    result = exact.solved(case, target="double")
    if result.reviews.n_reviews:
        assert exact.faults(result, case) == []
        assert result.affinity <= result.bound + 1e-6
        assert [rule.option for rule in result.kept.rules] == [rule.text for rule in case["rules"]]


def test_left_behind_papers_are_not_bound():
    """Paper "old" of a first phase has two reviewers of one institution, and no new review."""
    first = [("a", "old"), ("b", "old"), ("a", "p")]
    homes = {"a": "u", "b": "u", "c": "v"}
    affinity = {("a", "p"): 1.0, ("b", "p"): 1.0, ("c", "p"): 0.5}
    result = assign(affinity, demand=1, load=2, phase_one=first, institutions=homes, target="none")
    assert [result.reviews.reviewers[j] for j in result.reviews.reviewer] == ["c"]


def market(seed):
    """A problem with rules, floors, fixed pairs and minimum loads, or some of these, and its rules in words."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 7)), int(rng.integers(3, 8))
    pairs = [(i, j) for i in range(n) for j in range(m) if rng.random() < 0.85]
    attributes = naive.random_attributes(rng, range(m))
    rules = naive.random_rules(rng, attributes) if rng.random() < 0.8 else []
    size = len(pairs)
    given = np.zeros(size, bool)
    given[rng.integers(size, size=int(rng.integers(3)))] = True
    held = np.bincount([j for (_, j), yes in zip(pairs, given, strict=True) if yes], minlength=m)
    stood = np.bincount([i for (i, _), yes in zip(pairs, given, strict=True) if yes], minlength=n)
    problem = problem_of(
        pairs, rng.random(size).round(2), n, m, demand=np.maximum(rng.integers(1, 4, n), stood),
        load=np.maximum(rng.integers(1, 4, m), held),
        least=rng.integers(0, 2, m), ruled=ruled_of(m, n, attributes, rules), given=given,
        least_score=None if rng.random() < 0.5 else round(float(rng.random()), 2),
    )  # fmt: skip
    return problem, attributes, rules


def plain_optimum(problem, attributes, rules):
    """Affinity of the best assignment, by one integer programme; None if there is none."""
    size = problem.item.size
    panels = {i: np.flatnonzero(problem.item == i) for i in range(problem.n_items)}
    values = [{a: naive.values_of(j, a, attributes) for a in ("region", "topic", "senior")} for j in problem.reviewer]
    rows, low, high = [], [], []

    def row(columns, weights, least, most):
        line = np.zeros(size)
        np.add.at(line, columns, weights)
        rows.append(line)
        low.append(least)
        high.append(most)

    def having(i, attribute, value):
        return [p for p in panels[i] if value in values[p][attribute]]

    for i, panel in panels.items():
        row(panel, 1, problem.demand[i], problem.demand[i])
        if problem.least_score is not None:
            row(panel, problem.affinity[panel], problem.least_score - 1e-9, np.inf)
    for j in range(problem.n_reviewers):
        row(np.flatnonzero(problem.reviewer == j), 1, problem.least[j], problem.load[j])
    for rule in rules:
        for i, panel in panels.items():
            if isinstance(rule, naive.AtMost):
                for value in {v for p in panel for v in values[p][rule.attribute]}:
                    row(having(i, rule.attribute, value), 1, 0, rule.number)
            else:
                value = True if rule.value is None else rule.value
                row(having(i, rule.attribute, value), 1, rule.number, np.inf)
    limits = LinearConstraint(np.array(rows), low, high)
    bounds = Bounds(problem.given.astype(float), 1)
    result = milp(-problem.affinity, constraints=limits, integrality=np.ones(size), bounds=bounds)
    return None if result.x is None else -result.fun


@pytest.mark.parametrize("few", [True, False])
@pytest.mark.parametrize("seed", range(400 if NIGHTLY else 120))
def test_the_best_choice_is_that_of_a_plain_programme(seed, few, monkeypatch):
    if few:
        for name, value in (("FEW", 0), ("START", 1), ("START_OF_REVIEWER", 1), ("AT_ONCE", 1)):
            monkeypatch.setattr(module, name, value)
    problem, *stated = market(seed)
    expected = plain_optimum(problem, *stated)
    programme = programme_of(problem)
    if programme is None or module.crowded_items(problem, problem.given).size:
        assert expected is None
        return
    beside = module.objective(problem, problem.given)
    start = module.first_columns(problem, programme, problem.given)
    best = best_choice(Relaxation(programme, start, Clock(None)), Clock(None))
    if expected is None:
        assert (best.picked, best.proved) == (None, True)
        return
    chosen = programme.assigned(best.picked, problem.given)
    assert not module.broken_items(problem, chosen).size
    assert module.objective(problem, chosen) == pytest.approx(expected, abs=1e-6)
    assert best.bound + beside >= expected - 1e-6
    assert best.bound + beside == pytest.approx(expected, abs=1e-6)
