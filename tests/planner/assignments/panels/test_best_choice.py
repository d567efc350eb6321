"""The programme against plain integer programmes, written down row by row, on tiny problems of every kind."""

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

from planner._assign import programme as module
from planner._assign.programme import Relaxation, best_choice, programme_of
from reviewgraph._base import Clock
from tests.planner.assignments import naive_rules as naive
from tests.planner.assignments.cases import problem_of, ruled_of
from tests.trials import NIGHTLY


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
