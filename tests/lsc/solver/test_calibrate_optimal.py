"""The fast solver and the general one against each other and against certificates, over all classes and mixtures."""

import numpy as np
import pytest
from hypothesis import given

import lsc
from lsc.evidence.optimality import residuals
from tests.lsc import by_cvxpy
from tests.lsc.certificates import violations
from tests.lsc.strategies import Problem, problems
from tests.trials import examples

INSTANCES = 24


def units(problem: Problem) -> float:
    """Typical size of a difference in quality."""
    spread = np.std([y for _, _, y in problem.scores]) / min(rule.max_slope for rule in problem.rules.values())
    return max(float(spread), float(np.ptp([0.0, *problem.references.values()])), 0.01)


def assert_certified(problem: Problem, result: lsc.Calibration, tolerance: float) -> None:
    programme, row, quality, perceived, *_ = result.solution
    noise = np.empty(row.size)
    noise[row] = perceived - quality[programme.item]
    found = violations(problem.scores, problem.rules, problem.references, quality, noise)
    assert max(found) <= tolerance * units(problem)
    assert result.objective == pytest.approx(noise @ noise, rel=1e-9, abs=1e-18)


@pytest.mark.slow
@examples(INSTANCES)
@given(problems())
def test_the_fast_solver_is_optimal_and_agrees_with_the_programme_as_written(problem: Problem) -> None:
    fast = lsc.calibrate(problem.reviews, **problem.arguments)
    slow = by_cvxpy.calibrate(problem.reviews, **problem.arguments)
    assert fast.status == "optimal"
    squares = sum(y * y for _, _, y in problem.scores)
    assert fast.objective == pytest.approx(slow.objective, rel=1e-7, abs=1e-9 * max(squares, units(problem) ** 2))
    assert_certified(problem, fast, 1e-8)
    assert fast.is_optimal(1e-7)


@pytest.mark.slow
@examples(INSTANCES)
@given(problems())
def test_moving_the_solution_is_noticed(problem: Problem) -> None:
    result = by_cvxpy.calibrate(problem.reviews, **problem.arguments)
    programme, _, quality, perceived, *_ = result.solution
    step = units(problem)
    for r in range(perceived.size):
        moved = perceived.copy()
        moved[r] += step
        assert max(residuals(programme, quality, moved)) > 1e-3 * step * min(1.0, step)
