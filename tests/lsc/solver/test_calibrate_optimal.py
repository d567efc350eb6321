"""The fast solver and the general one against certificates and each other, and which of several best fits it is."""

import numpy as np
import pytest
from hypothesis import given

import lsc
from lsc import calibration
from lsc._model.hypotheses import HYPOTHESES
from lsc.evidence.optimality import residuals
from reviewgraph import Reviews
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


Rows = list[tuple[int, int, float]]
#: Part of the range by which qualities may move.
MOST = 1e-6


def table(seed: int) -> Rows:
    """Few reviews of each reviewer, on a grid or not: much is left open."""
    rng = np.random.default_rng(seed)
    n, m, grid = int(rng.integers(4, 20)), int(rng.integers(3, 15)), rng.random() < 0.5
    quality, rows = rng.normal(5, 2, n), []
    for j in range(m):
        mine = rng.permutation(n)[: int(rng.integers(1, 5))]
        score = rng.normal() + rng.uniform(0.5, 2) * (quality[mine] + 0.5 * rng.normal(size=mine.size))
        rows += [(j, int(i), float(np.round(y) if grid else y)) for i, y in zip(mine, score, strict=True)]
    return rows


def qualities(rows: Rows, hypothesis: str, called: np.ndarray) -> np.ndarray:
    """Return qualities by the first names of papers, all being called otherwise and rows turned round."""
    named = [(f"who{called[j]}", f"what{called[i]}", y) for j, i, y in reversed(rows)]
    found = lsc.calibrate(Reviews(named), hypothesis)
    code = found.reviews.item_code
    return np.array([found.quality[code[f"what{called[i]}"]] for i in sorted({i for _, i, _ in rows})])


@pytest.mark.slow
@pytest.mark.parametrize("hypothesis", HYPOTHESES)
@pytest.mark.parametrize("seed", [5, 7, 13])
def test_names_and_the_order_of_rows_do_not_matter(hypothesis: str, seed: int) -> None:
    rows = table(seed)
    first = qualities(rows, hypothesis, np.arange(40))
    other = qualities(rows, hypothesis, np.random.default_rng(seed).permutation(40))
    assert np.abs(first - other).max() <= MOST * np.ptp(first)


@pytest.mark.slow
@pytest.mark.parametrize("hypothesis", HYPOTHESES)
def test_the_choice_keeps_the_objective_and_is_nearer_to_one_line(
    hypothesis: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reviews = Reviews(table(13))
    chosen = lsc.calibrate(reviews, hypothesis)
    monkeypatch.setattr(calibration, "CHOSEN", 0)
    plain = lsc.calibrate(reviews, hypothesis)
    assert chosen.objective == pytest.approx(plain.objective, rel=1e-6, abs=1e-9)
    assert chosen.is_optimal(1e-6)
    if hypothesis == "linear":
        assert _off_line(chosen) <= _off_line(plain) * (1 + 1e-9)


def _off_line(found: lsc.Calibration) -> float:
    """Squared distance of the programme's qualities from one line in all scores, of a slope within the bound."""
    programme, _, quality, *_ = found.solution
    y, x = programme.score - programme.score.mean(), quality[programme.item]
    slope = max(float(y @ x / (y @ y)), float(programme.lower.min()))
    return float(((x - x.mean() - slope * y) ** 2).sum())
