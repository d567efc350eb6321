"""Is the minimiser the only one? Decided at a solution, by the directions in which the objective stays the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsc.evidence.optimality import scale
from lsc.model.constraints import LevelRows, equalities, free_ties, inequalities, pick
from lsc.model.hypotheses import Shape
from lsc.model.programme import Programme
from reviewgraph.precision.conditioning import projections
from reviewgraph.reviews import BoolArray, FloatArray

if TYPE_CHECKING:
    import scipy.sparse as sp

#: A constraint with less slack than this part of the spread of qualities binds: interior point solvers end 1e-9 off a
#: bound, the fast solver 1e-14; slacks that occur in data are above 1e-4 of the spread.
BINDING = 1e-6
#: The noise of a fit counts as none below this part of the spread of qualities (root mean square): solvers end below
#: 1e-8 where there is none.
NOISELESS = 1e-7
#: Movement of some quality, where all may move by one, from which a direction counts: linear programmes are solved
#: to 1e-7, and a direction that exists takes some quality to its bound.
MOVES = 1e-4
#: Relative residual that a system without a solution cannot reach: a random vector of a million entries has a part of
#: 1e-3 along any direction. Graphs whose smallest eigenvalue is 1e-4 take a few hundred steps.
SOLVED, STEPS = 1e-7, 1000


class Directions(NamedTuple):
    """The directions that keep the objective: ``equal @ d = 0``, ``rising @ d >= 0``, ``d[fixed] = 0``.

    Entries of d beyond the N qualities are thresholds between levels of tied scores.
    """

    equal: sp.csr_array
    rising: sp.csr_array
    fixed: BoolArray
    size: int


def is_unique(programme: Programme, quality: FloatArray, perceived: FloatArray) -> bool:
    """Whether the minimiser is unique up to one common shift, and up to scale where there is no noise.

    The noise of all minimisers is the same, so they differ by directions d of the qualities along which no binding
    constraint is left. Where these constraints only order qualities they form a directed graph, and all d are constant
    exactly where it is strongly connected; otherwise a linear programme looks for a d along a random vector.

    Parameters
    ----------
    programme, quality, perceived
        The programme and a solution.

    Examples
    --------
    >>> from reviewgraph import Reviews
    >>> from lsc.model.formulation import formulate
    >>> programme, _ = formulate(Reviews.from_pairs([("ann", "p1", 1.0), ("ann", "p2", 2.0), ("bob", "p3", 1.0)]))
    >>> is_unique(programme, np.array([0.0, 0.1, 0.3]), np.array([0.0, 0.1, 0.3]))  # bob's paper may stand anywhere
    False
    """
    trivial = [np.ones(programme.n_items)]
    if is_noiseless(programme, quality, perceived):
        trivial.append(quality - quality.mean())
    if _lines_fix_all(programme, trivial):
        return True
    # What no constraint joins, whether it binds or not, may be shifted on its own; with two items that is a scale, too.
    if _pieces(_directions(programme, quality, perceived, np.inf)) > 1:
        return False
    directions = _directions(programme, quality, perceived, BINDING * scale(programme, quality))
    if _only_orders(directions):
        return _orders_fix_all(directions, trivial)
    return not _moves(directions, trivial)


def _lines_fix_all(programme: Programme, trivial: list[FloatArray]) -> bool:
    """Whether the lines of linear reviewers alone leave the trivial directions only; False may mean "not known".

    A direction d that keeps all lines solves ``L d = 0``, L the sum over linear reviewers of I - P_j, P_j the
    projection on lines in her scores. If ``L d = g`` has a solution for a random g orthogonal to the trivial
    directions, then L has no other null vectors: one would have to be orthogonal to g.
    """
    from scipy.sparse.linalg import LinearOperator, cg

    loads = np.diff(programme.start)
    owner = np.repeat(np.arange(loads.size), loads)
    constant = programme.score[programme.start[owner]] == programme.score[programme.start[owner + 1] - 1]
    counts = (programme.shape[owner] == Shape.LINEAR) & (programme.ties_equal | ~constant)
    if programme.is_reference.any() or not counts.any():
        return False
    matrix, count = projections(owner[counts], programme.item[counts], programme.score[counts], programme.n_items)
    if not count.all():
        return False
    transposed, shape = matrix.T.tocsr(), (count.size, count.size)
    # Where each of two pieces is of one quality, a shift of one alone has the form of a scale, and is none.
    if len(trivial) > 1 and _parts(transposed) > 1:
        return False
    basis, _ = np.linalg.qr(np.column_stack(trivial))
    probe = np.random.default_rng(0).standard_normal(count.size)
    probe -= basis @ (basis.T @ probe)
    lines = LinearOperator(shape, matvec=lambda d: count * d - matrix @ (transposed @ d), dtype=np.float64)
    scaled = LinearOperator(shape, matvec=lambda d: d / count, dtype=np.float64)
    with np.errstate(all="ignore"):  # without a solution the method divides by nothing
        found, _ = cg(lines, probe, rtol=SOLVED, maxiter=STEPS, M=scaled)
        left = np.linalg.norm(lines @ found - probe)
    return bool(left <= 2 * SOLVED * np.linalg.norm(probe))


def is_noiseless(programme: Programme, quality: FloatArray, perceived: FloatArray, *, part: float = NOISELESS) -> bool:
    """Whether a solution explains all scores but for this part of the spread of qualities."""
    noise = perceived - quality[programme.item]
    return float(np.sqrt(np.mean(noise**2))) <= part * scale(programme, quality)


def _directions(programme: Programme, quality: FloatArray, perceived: FloatArray, tolerance: float) -> Directions:
    """Return the directions that keep all constraints with less slack than ``tolerance``."""
    import scipy.sparse as sp

    item = pick(programme.item, programme.n_items)
    loose = free_ties(programme)
    levels = loose[0].on_level.shape[1] if loose else 0
    none = sp.csr_array((0, programme.n_items + levels))

    def widen(matrix: sp.csr_array) -> sp.csr_array:
        return sp.hstack([matrix @ item, sp.csr_array((matrix.shape[0], levels))], format="csr")

    # Rows on perceived qualities become rows on qualities: noise of a minimiser is the same in all of them.
    equal = [widen(rows.matrix) for rows in equalities(programme)]
    rising = []
    for rows in inequalities(programme):
        # Only constraints that bind forbid a small step.
        binding = rows.matrix @ perceived - rows.low <= tolerance
        rising.append(widen(rows.matrix[binding]))
    # Free ties have levels of their own, which may move with the qualities.
    middle = middle_levels(loose, perceived)
    for level_rows in loose:
        slack = level_rows.matrix @ perceived + level_rows.on_level @ middle - level_rows.low
        chosen = slack <= tolerance
        rising.append(sp.hstack([level_rows.matrix[chosen] @ item, level_rows.on_level[chosen]], format="csr"))
    fixed = np.concatenate([programme.is_reference, np.zeros(levels, np.bool_)])
    return Directions(
        sp.vstack([*equal, none], format="csr"), sp.vstack([*rising, none], format="csr"), fixed, programme.n_items
    )


def middle_levels(loose: list[LevelRows], perceived: FloatArray) -> FloatArray:
    """Return thresholds half-way between what bounds them from below and from above."""
    if not loose:
        return np.empty(0)
    below, above = loose
    levels = below.on_level.shape[1]
    top, bottom = np.full(levels, -np.inf), np.full(levels, np.inf)
    np.maximum.at(top, below.on_level.indices, -(below.matrix @ perceived))
    np.minimum.at(bottom, above.on_level.indices, above.matrix @ perceived - above.low)
    return (top + bottom) / 2


def _pieces(directions: Directions) -> int:
    """Count the sets of qualities that may be shifted on their own; references stand together."""
    import scipy.sparse as sp

    rows = sp.vstack([directions.equal, directions.rising], format="csr")
    known = np.flatnonzero(directions.fixed)
    together = sp.csr_array((np.ones(known.size), (np.zeros(known.size, np.int64), known)), shape=(1, rows.shape[1]))
    return _parts(sp.vstack([rows, together], format="csr"), directions.size)


def _parts(touched: sp.csr_array, size: int | None = None) -> int:
    """Count the sets of columns that no row joins, of the first so many, or of all."""
    import scipy.sparse as sp
    from scipy.sparse.csgraph import connected_components

    graph = sp.block_array([[None, touched], [touched.T, None]], format="csr")
    _, part = connected_components(graph, directed=False)
    return int(np.unique(part[touched.shape[0] :][:size]).size)


def _only_orders(directions: Directions) -> bool:
    counts = [np.diff(rows.indptr).max(initial=0) for rows in (directions.equal, directions.rising)]
    return bool(max(counts) <= 2)


def _orders_fix_all(directions: Directions, trivial: list[FloatArray]) -> bool:
    """Whether the order that binds, as a directed graph, is strongly connected (or nearly, without noise)."""
    import scipy.sparse as sp
    from scipy.sparse.csgraph import connected_components

    # A row says that one quality falls no faster than another: an arc. A circle of arcs moves as one.
    rows = sp.vstack([directions.equal, -directions.equal, directions.rising], format="coo")
    up, down = rows.data > 0, rows.data < 0
    high, low = np.empty((2, rows.shape[0]), np.int64)
    high[rows.coords[0][up]], low[rows.coords[0][down]] = rows.coords[1][up], rows.coords[1][down]
    # References do not move at all, so they are on one circle.
    known = np.flatnonzero(directions.fixed)
    ring = np.roll(known, 1)
    tails, heads = np.concatenate([low, known]), np.concatenate([high, ring])
    graph = sp.csr_array((np.ones(tails.size), (tails, heads)), shape=(rows.shape[1],) * 2)
    count, part = connected_components(graph, connection="strong")
    part = part[: directions.size]
    count = np.unique(part).size
    if count == 1:
        return True
    if count > 2 or len(trivial) == 1:
        return False
    # Two parts are allowed where the trivial directions, shift and scale, hold each of them together.
    sizes = np.bincount(part)
    means = np.bincount(part, trivial[1]) / np.maximum(sizes, 1)
    off = float(np.abs(trivial[1] - means[part]).max())
    return off <= BINDING * float(np.abs(trivial[1]).max())


def _moves(directions: Directions, trivial: list[FloatArray]) -> bool:
    """Whether some direction has a part outside the span of the trivial ones: two linear programmes."""
    import scipy.sparse as sp
    from scipy.optimize import linprog

    # A random probe, orthogonal to the trivial directions, sees any other with probability 1.
    basis, _ = np.linalg.qr(np.column_stack(trivial))
    probe = np.random.default_rng(0).standard_normal(directions.size)
    probe -= basis @ (basis.T @ probe)
    width = directions.fixed.size
    bound = np.where(directions.fixed, 0.0, 1.0)
    # The cone may hold a direction and not its opposite, so both are asked.
    for sign in (1.0, -1.0):
        found = linprog(
            np.concatenate([-sign * probe, np.zeros(width - directions.size)]),
            A_ub=-directions.rising if directions.rising.shape[0] else None,
            b_ub=np.zeros(directions.rising.shape[0]) if directions.rising.shape[0] else None,
            A_eq=sp.csr_array(directions.equal) if directions.equal.shape[0] else None,
            b_eq=np.zeros(directions.equal.shape[0]) if directions.equal.shape[0] else None,
            bounds=np.column_stack([-bound, bound]),
            method="highs",
        )
        if found.status != 0:
            return True
        step = found.x[: directions.size]
        if float(np.abs(step - basis @ (basis.T @ step)).max()) > MOVES:
            return True
    return False
