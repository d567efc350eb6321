"""CP-SAT and HiGHS within counted work, interruptible by Ctrl-C.

Limits in seconds would give other results on another machine. CP-SAT counts its own work; that of HiGHS is counted
here, by nodes, iterations and entries. By default CP-SAT installs its own handler of Ctrl-C, and afterwards restores
that of the system, which ends the process without a result.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reviewgraph._base import Clock


#: Seconds between two checks whether to stop.
POLL = 0.05

#: Minimum work of a call, enough for small problems.
LEAST = 0.1

#: Work of HiGHS for one entry of a matrix: at the root of an integer programme and at each node; to start the simplex
#: method, and in each iteration, which also takes some by itself.
ROOT = 1e-4
NODE = 1e-6
READ = 2e-7
STEP = 1e-10
ITERATION = 1e-5

#: Work of a unit of CP-SAT's own count.
UNIT = 10.0

#: Maximum number of nodes: solvers count in 32 bits.
MOST = 2**31 - 2


def never() -> bool:
    """Return False: no other end than the limits of the solver."""
    return False


def solve_stoppably(solver: Any, model: Any, over: Callable[[], bool] = never) -> Any:
    """Solve a model of CP-SAT within the limits of the solver; returns the status.

    ``over`` is polled for an earlier end. Ctrl-C raises KeyboardInterrupt after the solver has stopped.

    >>> from ortools.sat.python import cp_model
    >>> model = cp_model.CpModel()
    >>> model.maximize(sum(model.new_bool_var("") for _ in range(3)))
    >>> solver = cp_model.CpSolver()
    >>> solve_stoppably(solver, model) == cp_model.OPTIMAL, solver.objective_value
    (True, 3.0)
    """
    solver.parameters.catch_sigint_signal = False
    # Signals reach only the main thread.
    if threading.current_thread() is not threading.main_thread():
        return solver.solve(model)
    with ThreadPoolExecutor(1) as pool:
        status = pool.submit(solver.solve, model)
        try:
            while wait([status], POLL).not_done:
                if over():
                    solver.stop_search()
        except KeyboardInterrupt:
            # The search may not have begun, so stop it repeatedly until it has ended.
            while not status.done():
                solver.stop_search()
                wait([status], POLL)
            raise
    return status.result()


def solve_within(solver: Any, model: Any, effort: Clock, unit: float = UNIT) -> Any:
    """Solve a model by CP-SAT on one thread, within counted work; returns the status."""
    solver.parameters.num_workers = 1
    solver.parameters.max_deterministic_time = max(effort.work, LEAST) / unit
    # Without a time limit there are no seconds to exceed.
    solver.parameters.max_time_in_seconds = _seconds(effort)
    status = solve_stoppably(solver, model, lambda: effort.work > 0 and effort.over())
    _spend(effort, unit * solver.response_proto.deterministic_time)
    return status


def integer_programme(
    cost: Any, effort: Clock, *, gap: float, constraints: Any, root: float = ROOT, **limits: Any
) -> Any:
    """Solve an integer programme by HiGHS within counted work, ``root`` for an entry there; returns SciPy's answer.

    The root is always solved, even beyond the work: it ends by itself.

    >>> import numpy as np
    >>> from scipy.optimize import Bounds, LinearConstraint
    >>> from scipy.sparse import csc_array
    >>> from reviewgraph._base.clock import Clock
    >>> rows = LinearConstraint(csc_array(np.ones((1, 3))), 0, 2)
    >>> options = {"gap": 0.0, "constraints": rows, "bounds": Bounds(0, 1), "integrality": np.ones(3)}
    >>> float(integer_programme(-np.ones(3), Clock(None).effort(1.0), **options).fun)
    -2.0
    """
    from scipy.optimize import milp

    entries = max(constraints.A.nnz, 1)
    nodes = max(int(min((effort.work - root * entries) / (NODE * entries), MOST)), 1)
    options = {"node_limit": nodes, "time_limit": _seconds(effort), "mip_rel_gap": gap}
    answer = milp(cost, constraints=constraints, options=options, **limits)
    _spend(effort, (root + NODE * (answer.mip_node_count or 0)) * entries)
    return answer


def simplex_work(entries: int, iterations: int) -> float:
    """Return the work of the simplex method on a matrix of ``entries`` non-zero entries.

    >>> simplex_work(10**6, 10**4)
    1.3
    """
    return round(READ * entries + (STEP * entries + ITERATION) * max(iterations, 0), 9)


def _seconds(effort: Clock) -> float:
    return max(effort.left(), LEAST)


def _spend(effort: Clock, work: float) -> None:
    """Count work, and note an end by the clock; solvers stop a little before their time limit."""
    effort.spend(work)
    if not effort.interrupted and effort.left() < POLL:
        effort.note_end()
