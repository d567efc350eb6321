"""Choice among several minimisers: nearest to straight lines, then to one common line.

All minimisers have the same noise, so their qualities form a polyhedron. Two quadratic programmes over it select one
point, independent of labels and of the solver's path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

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


#: Tolerances, tried in turn where rounding prevents the tighter.
TOLERANCES = (1e-13, 1e-11, 1e-9)
MAX_ITERATIONS = 300


class Face(NamedTuple):
    """Polyhedron ``equal @ v == right``, ``rising @ v >= least``; v are the qualities and further variables."""

    equal: sp.csr_array
    right: FloatArray
    rising: sp.csr_array
    least: FloatArray

    def over(self, n_variables: int) -> Face:
        """Return the polyhedron over further variables, which are free."""
        for matrix in (self.equal, self.rising):
            matrix.resize(matrix.shape[0], n_variables)
        return self


def nearest_to_lines(programme: Programme, solution: Minimiser) -> Minimiser:
    """Return, among the minimisers of a programme, the one nearest to lines, then to one common line.

    First minimise the sum, over reviewers who are not linear, of the squared distances of their qualities from a line
    in their scores; then the squared distance of all reviews from one common line. ``solution`` is any minimiser; it is
    returned where Clarabel ends without a solution.
    """
    scaled, units = in_units(programme)
    quality, perceived = ((value - units.origin) / units.unit for value in (solution.quality, solution.perceived))
    chosen = _nearest(scaled, quality, perceived)
    if chosen is None:
        return solution
    noise = solution.perceived - solution.quality[programme.item]
    quality_chosen = units.origin + units.unit * chosen
    quality_chosen[programme.is_reference] = programme.reference[programme.is_reference]
    return solution._replace(quality=quality_chosen, perceived=quality_chosen[programme.item] + noise)


def _nearest(programme: Programme, quality: FloatArray, perceived: FloatArray) -> FloatArray | None:
    """Return the qualities, in units in which scores are of order one."""
    import scipy.sparse as sp

    size = programme.n_items
    item = pick(programme.item, size)
    face = _face(programme, item, quality, perceived)
    start = quality
    lines = _own_lines(programme, item)
    if lines is not None:
        face = face.over(lines.shape[1])
        straight = _minimise_over(lines, face, start)
        if straight is None:
            return None
        start = straight
        equal = sp.vstack([face.equal, lines], format="csr")
        face = face._replace(equal=equal, right=np.append(face.right, lines @ straight))
    # The slope of the common line, the last variable but one, is at least the lowest bound. (Where all slopes are fixed
    # only shifts of groups are open, which the reported scale settles.)
    width = face.equal.shape[1] + 2
    between = sp.csr_array((programme.item.size, width - 2 - size))
    line = np.column_stack([-programme.score, -np.ones(programme.item.size)])
    common = sp.hstack([item, between, sp.csr_array(line)], format="csr")
    face = face.over(width)
    rising = sp.vstack([face.rising, pick(np.array([width - 2]), width)], format="csr")
    face = face._replace(rising=rising, least=np.append(face.least, programme.lower.min()))
    chosen = _minimise_over(common, face, start)
    return None if chosen is None else chosen[:size]


def _face(programme: Programme, item: sp.csr_array, quality: FloatArray, perceived: FloatArray) -> Face:
    """Return the constraints given the noise, relaxed by as much as the solution violates them."""
    import scipy.sparse as sp

    noise = perceived - quality[programme.item]
    references = np.flatnonzero(programme.is_reference)
    equal = []
    right = []
    rising = [sp.csr_array((0, programme.n_items))]
    least = [np.empty(0)]
    for rows in equalities(programme):
        equal.append(rows.matrix @ item)
        right.append(rows.matrix @ quality[programme.item])
    for rows in inequalities(programme):
        rising.append(rows.matrix @ item)
        least.append(np.minimum(rows.low, rows.matrix @ perceived) - rows.matrix @ noise)
    equal.append(pick(references, programme.n_items))
    right.append(programme.reference[references])
    return Face(
        sp.vstack(equal, format="csr"), np.concatenate(right), sp.vstack(rising, format="csr"), np.concatenate(least)
    )


def _own_lines(programme: Programme, item: sp.csr_array) -> sp.csr_array | None:
    """Return the distances of the qualities of reviewers who need not be linear from a line in their scores.

    Over qualities, slopes and offsets, (N + 2M,); None without such reviewers.
    """
    import scipy.sparse as sp

    loads = np.diff(programme.start)
    owner = np.repeat(np.arange(loads.size), loads)
    highest = np.full(loads.size, -np.inf)
    highest[owner] = programme.score  # ascending: the last assignment is the largest
    not_straight = (programme.shape != LINEAR) & (loads > 0)
    not_straight[not_straight] &= highest[not_straight] > programme.score[programme.start[:-1][not_straight]]
    review = np.flatnonzero(not_straight[owner])
    if not review.size:
        return None
    reviewer_of = pick(np.searchsorted(np.flatnonzero(not_straight), owner[review]), int(not_straight.sum()))
    rise = programme.score[review] - programme.score[programme.start[owner[review]]]
    return sp.hstack([item[review], -sp.diags_array(rise) @ reviewer_of, -reviewer_of], format="csr")


def _minimise_over(distance: sp.csr_array, face: Face, start: FloatArray) -> FloatArray | None:
    """Minimise squared distances over a face, from a point padded with zeros; None if that fails."""
    import clarabel
    import scipy.sparse as sp

    # In differences from a solution: zeros stay exactly zero.
    origin = np.zeros(distance.shape[1])
    origin[: start.size] = start
    sparse = sp.csc_array(distance)
    square = sp.csc_matrix(sp.triu(sparse.T @ sparse))
    linear = sparse.T @ (sparse @ origin)
    matrix = sp.csc_matrix(sp.vstack([face.equal, -face.rising]))
    values = np.concatenate([face.right - face.equal @ origin, face.rising @ origin - face.least])
    cones = [clarabel.ZeroConeT(face.right.size), clarabel.NonnegativeConeT(face.least.size)]
    for tolerance in TOLERANCES:
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.max_iter = MAX_ITERATIONS
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
        solution = clarabel.DefaultSolver(square, linear, matrix, values, cones, settings).solve()
        if str(solution.status) == "Solved":
            break
    if str(solution.status) not in ("Solved", "AlmostSolved"):
        return None
    return origin + np.asarray(solution.x, np.float64)
