from itertools import product

import numpy as np
import pytest

from planner._assign.programme import programme_of, solve
from reviewgraph._base import Clock
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
