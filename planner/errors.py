"""What can go wrong in planning, hung on the tree of :mod:`reviewgraph.errors`.

::

    ReviewGraphError
    ├── InputError             an argument, a label or a side file that cannot be used
    └── CertificateError
        └── InvalidPlan        a plan that does not do what it claims
"""

from __future__ import annotations

from reviewgraph.errors import CertificateError


class InvalidPlan(CertificateError):
    """A plan that breaks a constraint, misses its target or claims a bound it does not have."""
