"""Constraints as rows of matrices, and what hypothesis classes need to know to write theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    import scipy.sparse as sp

    from reviewgraph.reviews import FloatArray


class Rows(NamedTuple):
    """Constraints ``matrix @ perceived >= low`` (or ``== low``) that have a name."""

    name: str
    matrix: sp.csr_array
    low: FloatArray


class LevelRows(NamedTuple):
    """Constraints ``matrix @ perceived + on_level @ level >= low``, ``level`` a further variable."""

    name: str
    matrix: sp.csr_array
    on_level: sp.csr_array
    low: FloatArray


class Steps(Protocol):
    """The steps d from one score of a reviewer to her next higher one, of all reviewers of one class."""

    def bends(self, name: str, sign: float = 1.0) -> Rows:
        """Rows ``sign * (slope before - slope after)`` at each score with one below and one above, slopes ``d / dy``.

        Each is multiplied by a positive number; the right-hand side is 0.
        """

    def rises(self, name: str) -> Rows:
        """Rows ``d`` with the right-hand side ``dy`` times the lower bound on the slope."""
