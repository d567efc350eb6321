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
    """Polyhedron ``equal @ v == right``, ``inequality @ v >= least``; v are the qualities and further variables."""

    equal: sp.csr_array
    right: FloatArray
    inequality: sp.csr_array
    least: FloatArray

    def with_equal(self, matrix: sp.csr_array, right: FloatArray) -> Face:
        import scipy.sparse as sp

        return self._replace(
            equal=sp.vstack([self.equal, matrix], format="csr"), right=np.concatenate([self.right, right])
        )

    def with_inequality(self, matrix: sp.csr_array, least: FloatArray) -> Face:
        import scipy.sparse as sp

        return self._replace(
            inequality=sp.vstack([self.inequality, matrix], format="csr"), least=np.concatenate([self.least, least])
        )


def nearest_to_lines(programme: Programme, solution: Minimiser) -> Minimiser:
    """Return, among the minimisers of a programme, the one nearest to lines, then to one common line.

    First minimise the sum, over reviewers who are not linear, of the squared distances of their qualities from a line
    in their scores; then the squared distance of all reviews from one common line. ``solution`` is any minimiser; it is
    returned where Clarabel ends without a solution.

    >>> from reviewgraph import Reviews
    >>> from lsc._model.formulation import formulate
    >>> programme, _ = formulate(Reviews.from_pairs([("ann", "p1", 1.0), ("ann", "p2", 2.0), ("bob", "p3", 1.0)]))
    >>> x = np.array([0.0, 0.1, 0.7])
    >>> chosen = nearest_to_lines(programme, Minimiser(x, x[programme.item], 0.0, 0, True, "optimal")).quality
    >>> bool(abs(chosen[2] - chosen[0]) < 1e-6)  # one line through all scores
    True
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
    face = _face(programme, quality, perceived)
    start = quality
    item = pick(programme.item, size)
    lines = _own_lines(programme, item)
    if lines is not None:
        lines, face = _extend(lines, face, size)
        straight = _minimise_over(lines, face, start)
        if straight is None:
            return None
        start = straight
        face = face.with_equal(lines, lines @ straight)
    line = sp.csr_array(np.column_stack([-programme.score, -np.ones(programme.item.size)]))
    common, face = _extend(sp.hstack([item, line], format="csr"), face, size)
    # The slope of the common line, the last variable but one, is at least the lowest bound. (Where all slopes are fixed
    # only shifts of groups are open, which the reported scale settles.)
    width = face.equal.shape[1]
    face = face.with_inequality(pick(np.array([width - 2]), width), np.array([float(programme.lower.min())]))
    chosen = _minimise_over(common, face, start)
    return None if chosen is None else chosen[:size]


def _extend(distance: sp.csr_array, face: Face, size: int) -> tuple[sp.csr_array, Face]:
    """Return distances over qualities and variables of their own, and a face, over the variables of both."""
    import scipy.sparse as sp

    padding = sp.csr_array((distance.shape[0], face.equal.shape[1] - size))
    more = distance.shape[1] - size
    wide = sp.hstack([distance[:, :size], padding, distance[:, size:]], format="csr")
    equal, inequality = (
        sp.hstack([rows, sp.csr_array((rows.shape[0], more))], format="csr") for rows in (face.equal, face.inequality)
    )
    return wide, face._replace(equal=equal, inequality=inequality)


def _face(programme: Programme, quality: FloatArray, perceived: FloatArray) -> Face:
    """Return the constraints given the noise, relaxed by as much as the solution violates them."""
    import scipy.sparse as sp

    item = pick(programme.item, programme.n_items)
    noise = perceived - quality[programme.item]
    empty = sp.csr_array((0, programme.n_items))
    equal = [empty]
    right = [np.empty(0)]
    inequality = [empty]
    least = [np.empty(0)]
    for rows in equalities(programme):
        equal.append(rows.matrix @ item)
        right.append(rows.matrix @ quality[programme.item])
    for rows in inequalities(programme):
        inequality.append(rows.matrix @ item)
        least.append(np.minimum(rows.low, rows.matrix @ perceived) - rows.matrix @ noise)
    references = np.flatnonzero(programme.is_reference)
    equal.append(pick(references, programme.n_items))
    right.append(programme.reference[references])
    return Face(
        sp.vstack(equal, format="csr"),
        np.concatenate(right),
        sp.vstack(inequality, format="csr"),
        np.concatenate(least),
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
    matrix = sp.csc_matrix(sp.vstack([face.equal, -face.inequality]))
    values = np.concatenate([face.right - face.equal @ origin, face.inequality @ origin - face.least])
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
