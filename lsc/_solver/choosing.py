"""Choice among several minimisers: nearest to straight lines, and a little to one common line.

All minimisers have the same noise, so their qualities form a polyhedron. A quadratic programme over it selects one
point, independent of labels and of the solver's path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lsc._model.formulation import (
    Minimiser,
    Programme,
    equalities,
    in_units,
    inequalities,
    pick,
)
from lsc._model.hypotheses import LINEAR
from reviewgraph._base import FloatArray

if TYPE_CHECKING:
    import scipy.sparse as sp


#: Weight of the distance from the common line, beside that from lines of the reviewers' own.
COMMON = 1e-6
#: Tolerances, tried in turn where rounding prevents the tighter.
TOLERANCES = (1e-13, 1e-11, 1e-9)
MAX_ITERATIONS = 300


def nearest_to_lines(programme: Programme, solution: Minimiser) -> Minimiser:
    """Return, among the minimisers of a programme, the one nearest to lines, and a little to one common line.

    It minimises the sum, over reviewers who are not linear, of the squared distances of their qualities from a line in
    their scores, plus ``COMMON`` times the squared distance of all reviews from one common line. ``solution`` is any
    minimiser; it is returned where Clarabel ends without a solution.
    """
    import clarabel
    import scipy.sparse as sp

    scaled, units = in_units(programme)
    quality = (solution.quality - units.origin) / units.unit
    perceived = (solution.perceived - units.origin) / units.unit
    distance = _distances(scaled)
    square = sp.csc_matrix(sp.triu(distance.T @ distance))
    # In differences from the solution: zeros stay exactly zero.
    linear = distance.T @ (distance[:, : quality.size] @ quality)
    equal, rising, slack = _constraints(scaled, perceived, distance.shape[1])
    matrix = sp.csc_matrix(sp.vstack([equal, -rising]))
    values = np.concatenate([np.zeros(equal.shape[0]), slack])
    cones = [clarabel.ZeroConeT(equal.shape[0]), clarabel.NonnegativeConeT(slack.size)]
    for tolerance in TOLERANCES:
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.max_iter = MAX_ITERATIONS
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
        chosen = clarabel.DefaultSolver(square, linear, matrix, values, cones, settings).solve()
        if str(chosen.status) == "Solved":
            break
    if str(chosen.status) not in ("Solved", "AlmostSolved"):
        return solution
    noise = solution.perceived - solution.quality[programme.item]
    moved = solution.quality + units.unit * np.asarray(chosen.x[: quality.size])
    moved[programme.is_reference] = programme.reference[programme.is_reference]
    return solution._replace(quality=moved, perceived=moved[programme.item] + noise)


def _distances(programme: Programme) -> sp.csc_array:
    """Return the distances of the qualities from lines as a matrix.

    Its columns are the qualities, slopes and offsets of the reviewers who need not be linear, and slope and offset of
    the common line.
    """
    import scipy.sparse as sp

    item = pick(programme.item, programme.n_items)
    start = programme.start
    owner = np.repeat(np.arange(start.size - 1), np.diff(start))
    rise = programme.score - programme.score[start[owner]]
    # Reviewers with one distinct score are on a line.
    bent = (programme.shape != LINEAR) & (np.bincount(owner, rise, start.size - 1) > 0.0)
    review = np.flatnonzero(bent[owner])
    reviewer_of = pick((np.cumsum(bent) - 1)[owner[review]], int(bent.sum()))
    common = -np.sqrt(COMMON) * sp.csr_array(np.column_stack([programme.score, np.ones(owner.size)]))
    blocks = [
        [item[review], -sp.diags_array(rise[review]) @ reviewer_of, -reviewer_of, None],
        [np.sqrt(COMMON) * item, None, None, common],
    ]
    return sp.csc_array(sp.block_array(blocks))


def _constraints(
    programme: Programme, perceived: FloatArray, n_variables: int
) -> tuple[sp.csr_array, sp.csr_array, FloatArray]:
    """Return ``equal @ v == 0`` and ``rising @ v >= -slack`` for differences from a solution, given the noise.

    A constraint is relaxed by as much as the solution violates it.
    """
    import scipy.sparse as sp

    item = pick(programme.item, programme.n_items)
    at_least = inequalities(programme)
    references = pick(np.flatnonzero(programme.is_reference), programme.n_items)
    none = sp.csr_array((0, programme.n_items))
    equal = sp.vstack([*(rows.matrix @ item for rows in equalities(programme)), references], format="csr")
    rising = sp.vstack([*(rows.matrix @ item for rows in at_least), none], format="csr")
    for matrix in (equal, rising):
        matrix.resize(matrix.shape[0], n_variables)
    # The slope of the common line, the last variable but one, is at least the lowest bound. (Where all slopes are fixed
    # only shifts of groups are open, which the reported scale settles.)
    slope = pick(np.array([n_variables - 2]), n_variables)
    slack = [np.maximum(rows.matrix @ perceived - rows.low, 0.0) for rows in at_least]
    return equal, sp.vstack([rising, slope]), np.concatenate([*slack, [-programme.lower.min()]])
