"""What calibration refuses to do, as one tree.

::

    reviewgraph.ReviewGraphError
    ├── reviewgraph.InputError    malformed input: a hypothesis, a reference, a bound
    └── CalibrationError
        ├── Incomparable          a selection across groups that no review connects
        └── SolverFailed          a solver that ended without any solution

Every message names the argument, what was expected, what was found and what to do.
"""

from __future__ import annotations

from reviewgraph._base.errors import ReviewGraphError


class CalibrationError(ReviewGraphError):
    """A calibration that the data cannot support, or that failed."""


class Incomparable(CalibrationError):
    """A selection or ranking across groups of items that no review connects."""


class SolverFailed(CalibrationError):
    """A solver that ended without a solution; the message holds its status."""


class UndeterminedWarning(UserWarning):
    """A selection among items whose places the reviews do not determine."""
