"""CP-SAT and Ctrl-C."""

import signal
import threading
import time
from itertools import combinations

import pytest

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
