from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from planner import AtMost, assign
from planner._assign import programme as module
from planner._assign.programme import Solution, improved, solve
from planner._assign.rows import programme_of
from reviewgraph._base import Clock
from tests.planner.assignments import naive_rules as naive
from tests.planner.assignments.cases import problem_of, ruled_of
from tests.planner.assignments.naive_assignment import violations
from tests.trials import NIGHTLY


def effort():
    return Clock(None).effort(10.0)


def solved(programme):
    return solve(programme, np.ones(programme.value.size, bool), np.empty(0, int), effort())


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
def test_both_solvers_agree_with_all_choices(seed):
    problem, *asked = tiny(np.random.default_rng(seed))
    size = problem.item.size
    choices = [np.array(bits, bool) for bits in product([False, True], repeat=size)]
    good = [picked for picked in choices if allowed(problem, picked, *asked)]
    programme = programme_of(problem)
    if programme is None:
        assert not good
        return
    obeys = [programme.obeyed_by(programme.choice(picked[programme.pairs])) for picked in choices]
    assert obeys == [allowed(problem, picked, *asked) for picked in choices]
    if not size:
        return
    first, second = solved(programme), improved(programme, effort(), valued=False)
    assert (first.picked is None, first.proved) == (not good, not good)
    assert (second.picked is None, second.proved) == (not good, not good)
    if good:
        best = max(worth(problem, picked, *asked) for picked in good)
        assert worth(problem, first.picked[:size], *asked) == pytest.approx(best, rel=1e-3)
        assert allowed(problem, second.picked[:size], *asked)


MARKET = {
    "affinity": np.array([[3.0, 3.0], [3.0, 3.0], [1.0, 1.0]]),
    "demand": 2,
    "load": 2,
    "attributes": {0: {"topic": ["u", "v"]}, 1: {"topic": ["u", "v"]}, 2: {"topic": "w"}},
    "rules": [AtMost("topic", 1)],
    "target": "none",
}


def test_infeasible_on_the_word_of_one_solver_is_no_proof(monkeypatch):
    """A solver that calls everything infeasible: the other one finds the assignment."""
    right = assign(**MARKET)
    monkeypatch.setattr(module, "solve", lambda *arguments, **options: Solution(None, True))
    answer = assign(**MARKET)
    # The prices prove that what the second solver found is the best.
    assert (right.status, answer.status) == ("optimal", "optimal")
    assert all(2 in answer.reviews.reviewers_of(item) for item in (0, 1))


def test_an_answer_that_breaks_a_rule_counts_as_none(monkeypatch):
    import scipy.optimize

    class Wrong:
        status = 0
        mip_dual_bound = None
        mip_node_count = 1

        def __init__(self, size):
            self.x = np.ones(size)

    monkeypatch.setattr(scipy.optimize, "milp", lambda value, **options: Wrong(value.size))
    problem = problem_of([(0, 0), (0, 1)], [1, 1], 1, 2, demand=1, load=1)
    programme = programme_of(problem)
    assert solved(programme) == Solution(None, False)
