"""What can go wrong in planning, hung on the tree of :mod:`reviewgraph._base.errors`.

::

    ReviewGraphError
    ├── InputError             an argument, a label or a side file that cannot be used
    ├── InternalError          the planner broke a promise that its own proofs rest on
    └── CertificateError
        └── InvalidPlan        a plan that does not do what it claims
"""

from __future__ import annotations

from reviewgraph._base import CertificateError, ReviewGraphError


class InternalError(ReviewGraphError):
    """The planner broke a promise that its proofs rest on: a fault of the program, never of the input."""


class InvalidPlan(CertificateError):
    """A plan that breaks a constraint, misses its target or claims a bound it does not have."""
