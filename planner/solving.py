"""Solving by CP-SAT so that Ctrl-C reaches whoever listens for it, and nobody else.

Left to itself the solver takes the signal while it runs, and afterwards leaves it to the system, which ends the process
with all that was found.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

#: Seconds between two looks at whether to stop.
POLL = 0.05


def never() -> bool:
    """Tell a solver to go on until its own limits."""
    return False


def solve_stoppably(solver: Any, model: Any, over: Callable[[], bool] = never) -> Any:
    """Solve a model; returns the status.

    Parameters
    ----------
    solver, model
        Of CP-SAT; the solver's own limits hold.
    over
        Asked now and then whether to stop with what there is.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C where nobody else takes it, after the solver has stopped.

    Examples
    --------
    >>> from ortools.sat.python import cp_model
    >>> model = cp_model.CpModel()
    >>> model.maximize(sum(model.new_bool_var("") for _ in range(3)))
    >>> solver = cp_model.CpSolver()
    >>> solve_stoppably(solver, model) == cp_model.OPTIMAL, solver.objective_value
    (True, 3.0)
    """
    solver.parameters.catch_sigint_signal = False
    # Signals come to the main thread alone; whoever solves elsewhere cannot be interrupted.
    if threading.current_thread() is not threading.main_thread():
        return solver.solve(model)
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(solver.solve, model)
        try:
            while wait([found], POLL).not_done:
                if over():
                    solver.stop_search()
        except KeyboardInterrupt:
            # It may not have begun to search: ask until it has ended.
            while not found.done():
                solver.stop_search()
                wait([found], POLL)
            raise
    return found.result()
