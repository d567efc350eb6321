"""The programme of Least Square Calibration as the paper writes it, in CVXPY.

It is the reference for the fast solver, and allows users to add constraints or to choose a solver.
"""

from __future__ import annotations

__all__ = [
    "LeastSquaresProgram",
    "least_squares_program",
]

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from lsc._model.formulation import (
    Programme,
    References,
    equalities,
    formulate,
    inequalities,
    pick,
)
from lsc._model.hypotheses import HypothesisLike
from reviewgraph._base import IntArray
from reviewgraph.table import as_reviews

if TYPE_CHECKING:
    import cvxpy as cp
    import scipy.sparse as sp

    from reviewgraph.table import ReviewsLike


@dataclass(frozen=True, eq=False)
class LeastSquaresProgram:
    """Programme (2) of [Tan21]_ for stated hypothesis classes, in the units of the scores.

    ::

        minimise    sum_r noise_r^2
        subject to  perceived_r = quality[item_r] + noise_r, and the constraints of every reviewer's class

    Parameters
    ----------
    problem
        Solve it with any solver, or add constraints:
        ``cvxpy.Problem(program.problem.objective, program.problem.constraints + more)``.
    quality
        Variable ``quality``, shape (N,).
    noise
        Variable ``noise``, shape (E',), one per scored review, ascending in score within a reviewer; see ``row``.
    perceived
        ``quality[item] + noise``.
    constraints
        The constraints by name: ``ties``, ``max_slope``, ``linear``, ``offset``, ``convex``, ``concave`` and
        ``references``; those that occur.
    row
        Shape (E',): the row of the table for each entry of ``noise``.
    """

    problem: cp.Problem
    quality: cp.Variable
    noise: cp.Variable
    perceived: cp.Expression
    constraints: dict[str, cp.Constraint] = field(repr=False)
    row: IntArray = field(repr=False)


def least_squares_program(
    reviews: ReviewsLike,
    hypothesis: HypothesisLike = "linear",
    *,
    max_slope: float | None = None,
    references: References | None = None,
) -> LeastSquaresProgram:
    """State programme (4) of [Tan21]_ and its siblings for other hypothesis classes.

    Parameters are those of :func:`lsc.calibrate`. With the reviews r = 1, 2, ... of one reviewer in ascending order of
    score, ``d_r = perceived_r - perceived_(r-1)`` and ``dy_r = score_r - score_(r-1)``::

        minimise    sum_r noise_r^2
        subject to  d_r >= dy_r / C                       max_slope, every class
                    d_r / dy_r = d_(r+1) / dy_(r+1)       linear
                    d_r = dy_r                            offset
                    d_r / dy_r >= d_(r+1) / dy_(r+1)      convex: the inverse of a convex function is concave
                    d_r / dy_r <= d_(r+1) / dy_(r+1)      concave
                    d_r = 0 where dy_r = 0                ties
                    quality[i] = reference[i]             references

    The paper's text has the opposite sign for the convex class; its code has it as above.

    Parameters
    ----------
    reviews
        With scores, or a data frame of them.
    hypothesis, max_slope, references
        As for :func:`lsc.calibrate`.

    Returns
    -------
    LeastSquaresProgram
        The CVXPY problem with its variables and constraints by name.

    Raises
    ------
    InputError
        As :func:`lsc.calibrate` does.

    Examples
    --------
    >>> from reviewgraph import Reviews
    >>> program = least_squares_program(Reviews([(0, 0, 1.0), (0, 1, 2.0), (1, 0, 4.0), (1, 1, 3.0)]))
    >>> round(float(program.problem.solve(solver="CLARABEL")), 4)
    0.01
    """
    reviews = as_reviews(reviews)
    programme, row = formulate(reviews, hypothesis, max_slope=max_slope, references=references)
    return state(programme, row)


def state(programme: Programme, row: IntArray | None = None) -> LeastSquaresProgram:
    """Write a programme of arrays in CVXPY; ``row`` is only passed on.

    Parameters
    ----------
    programme
        The programme in arrays.
    row
        Shape (E',): the row of the table of each review; only passed on.

    Returns
    -------
    LeastSquaresProgram
        The CVXPY problem with its variables and constraints by name.

    Examples
    --------
    >>> from lsc._model.formulation import formulate
    >>> from reviewgraph import Reviews
    >>> programme, row = formulate(Reviews([("ann", "p1", 1.0), ("ann", "p2", 2.0)]))
    >>> state(programme, row).quality.size
    2
    """
    import cvxpy as cp

    size = programme.item.size
    quality = cp.Variable(programme.n_items, name="quality")
    noise = cp.Variable(size, name="noise")
    item = pick(programme.item, programme.n_items)
    perceived = item @ quality + noise

    def of_perceived(matrix: sp.csr_array) -> cp.Expression:
        return (matrix @ item) @ quality + matrix @ noise

    constraints = {rows.name: of_perceived(rows.matrix) == rows.low for rows in equalities(programme)}
    constraints |= {rows.name: of_perceived(rows.matrix) >= rows.low for rows in inequalities(programme)}
    if programme.is_reference.any():
        references = np.flatnonzero(programme.is_reference)
        constraints["references"] = quality[references] == programme.reference[references]
    problem = cp.Problem(cp.Minimize(cp.sum_squares(noise)), list(constraints.values()))
    return LeastSquaresProgram(problem, quality, noise, perceived, constraints, np.arange(size) if row is None else row)


def __dir__() -> list[str]:
    return __all__
