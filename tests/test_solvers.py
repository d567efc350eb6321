"""Solvers of others that the packages rely on, held to a tiny problem that one release of HiGHS gets wrong.

min 2x + 3z subject to x + z >= 4.5, x and z in [0, 10], z a whole number: x = 4.5 and z = 0 cost 9. HiGHS 1.14.0 calls
15 optimal.
"""

import subprocess
import sys

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp


def test_highs_within_scipy_is_right() -> None:
    answer = milp([2, 3], integrality=[0, 1], bounds=Bounds(0, 10), constraints=LinearConstraint([[1, 1]], 4.5))
    assert answer.status == 0
    assert answer.x == pytest.approx([4.5, 0.0])


def test_highs_by_itself_is_right() -> None:
    import highspy

    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    for column, cost in enumerate((2.0, 3.0)):
        highs.addVar(0, 10)
        highs.changeColCost(column, cost)
    highs.changeColIntegrality(1, highspy.HighsVarType.kInteger)
    highs.addRow(4.5, highspy.kHighsInf, 2, np.array([0, 1], np.int32), np.ones(2))
    highs.run()
    assert highs.getInfo().objective_function_value == pytest.approx(9.0)


def test_highs_by_way_of_cvxpy_is_right() -> None:
    x, z = cp.Variable(), cp.Variable(integer=True)
    rules = [x + z >= 4.5, x >= 0, z >= 0, x <= 10, z <= 10]
    problem = cp.Problem(cp.Minimize(2 * x + 3 * z), rules)
    assert problem.solve(solver=cp.HIGHS) == pytest.approx(9.0)


@pytest.mark.parametrize("order", ["import highspy, ortools.graph.python.min_cost_flow",
                                   "import ortools.sat.python.cp_model, highspy"])  # fmt: skip
def test_highs_loads_beside_ortools(order: str) -> None:
    subprocess.run([sys.executable, "-c", order], check=True, capture_output=True)
