"""What can go wrong in planning, hung on the tree of :mod:`reviewgraph._base.errors`.

::

    ReviewGraphError
    ├── InputError             an argument, a label or a side file that cannot be used
    └── InternalError          the planner broke a promise that its own proofs rest on
"""

from __future__ import annotations

from reviewgraph._base import ReviewGraphError


class InternalError(ReviewGraphError):
    """The planner broke a promise that its proofs rest on: a fault of the program, never of the input."""
