"""The errors and warnings of calibration.

::

    reviewgraph.graph.ReviewGraphError
    ├── reviewgraph.InputError    malformed input: a hypothesis, a reference, a bound
    └── CalibrationError
        ├── Incomparable          a selection across groups that no review connects
        └── SolverFailed          a solver that ended without any solution
    UndeterminedWarning           qualities that the reviews do not determine (a UserWarning)
    ConvergenceWarning            a posterior that did not converge (a UserWarning)

Every message names the argument, the expected and the actual value, and a remedy.
"""

from __future__ import annotations

from reviewgraph._base import ReviewGraphError


class CalibrationError(ReviewGraphError):
    """A calibration that the data do not support, or that failed."""


class Incomparable(CalibrationError):
    """A selection or ranking across groups of items that no review connects."""


class SolverFailed(CalibrationError):
    """A solver that ended without a solution; the message holds its status."""


class UndeterminedWarning(UserWarning):
    """Qualities, or a selection among them, that the reviews do not determine."""

    #: Commands print the message on stderr.
    on_stderr = True


class ConvergenceWarning(UserWarning):
    """A posterior that did not converge; the message estimates how far off qualities may be."""

    on_stderr = True
