"""CP-SAT and Ctrl-C, and solvers of others, held to a tiny problem that one release of HiGHS gets wrong."""

import signal
import subprocess
import sys
import threading
import time
from itertools import combinations

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

from planner.solving import solve_stoppably


def hard_model():
    """Pigeons without holes, which take the solver long, and a goal."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    sits = [[model.new_bool_var("") for _ in range(13)] for _ in range(14)]
    for row in sits:
        model.add(sum(row) >= 1)
    for hole in zip(*sits, strict=True):
        for a, b in combinations(hole, 2):
            model.add(a + b <= 1)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers, solver.parameters.max_time_in_seconds = 1, 60.0
    solver.parameters.cp_model_presolve, solver.parameters.symmetry_level = False, 0
    solver.parameters.linearization_level = 0
    return solver, model


def test_an_interrupt_reaches_who_listens_during_and_after():
    solver, model = hard_model()
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Timer(0.3, signal.raise_signal, [signal.SIGINT]).start()
        with pytest.raises(KeyboardInterrupt):
            solve_stoppably(solver, model)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, handler)


def test_it_stops_when_told():
    solver, model = hard_model()
    start = time.monotonic()
    solve_stoppably(solver, model, lambda: time.monotonic() > start + 0.2)
    assert solver.wall_time < 60.0
    assert solver.status_name == "UNKNOWN" if isinstance(solver.status_name, str) else solver.wall_time > 0.0


def test_elsewhere_it_solves_as_usual():
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    model.maximize(model.new_int_var(0, 7, ""))
    found = []
    thread = threading.Thread(target=lambda: found.append(solve_stoppably(cp_model.CpSolver(), model)))
    thread.start()
    thread.join()
    assert found == [cp_model.OPTIMAL]


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
