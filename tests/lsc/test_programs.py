"""The programmes as the paper writes them."""

from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import lsc
from lsc.programs import least_squares_program
from lsc.simulation import simulate
from reviewgraph import Reviews
from tests.lsc import by_cvxpy


def half_linear_half_convex(rng: np.random.Generator) -> tuple[Reviews, dict[int, str]]:
    truth = rng.uniform(0.5, 10, 12)
    rows, kinds = [], {}
    for j in range(12):
        kinds[j] = "convex" if j % 2 else "linear"
        f = (lambda x: x**2 / 10) if j % 2 else (lambda x, j=j: (0.3 + 0.1 * j) * x + j)
        rows += [(j, int(i), float(f(truth[i]))) for i in rng.choice(12, 6, replace=False)]
    return Reviews(rows), kinds


@pytest.mark.parametrize("calibrate", [lsc.calibrate, by_cvxpy.calibrate])
def test_convex_scoring_functions_make_the_slopes_of_the_inverse_decrease(calibrate: Any) -> None:
    reviews, kinds = half_linear_half_convex(np.random.default_rng(0))
    squares = float(reviews.score @ reviews.score)
    right = calibrate(reviews, kinds)
    wrong = calibrate(reviews, {j: kind.replace("convex", "concave") for j, kind in kinds.items()})
    assert right.objective <= 1e-9 * squares
    assert wrong.objective > 1e-5 * squares


def test_users_add_constraints_and_choose_solvers() -> None:
    reviews = simulate(20, 20, 4, noise=0.5, seed=np.random.default_rng(2)).reviews
    program = least_squares_program(reviews, "monotone")
    assert {variable.name() for variable in program.problem.variables()} == {"quality", "noise"}
    best = program.problem.solve(solver="OSQP", eps_abs=1e-7, eps_rel=1e-7, max_iter=200_000)
    assert best == pytest.approx(lsc.calibrate(reviews, "monotone").objective, rel=1e-3)
    tied = cp.Problem(
        program.problem.objective, [*program.problem.constraints, program.quality[0] == program.quality[1]]
    )
    assert tied.solve(solver="CLARABEL") >= best - 1e-6
    assert program.quality.value[0] == pytest.approx(program.quality.value[1])
