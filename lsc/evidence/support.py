"""What the reviews determine: groups and blocks of the graph, standard errors, the reported scale, and uniqueness."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsc._model.formulation import Programme, equalities, inequalities, pick
from lsc._model.hypotheses import Shape
from reviewgraph._base import BoolArray, CodeArray, FloatArray, IntArray
from reviewgraph.graph import Level, connected_components, error_variances, projections, recoverability
from reviewgraph.table import Reviews

if TYPE_CHECKING:
    import scipy.sparse as sp


@dataclass(frozen=True, eq=False)
class Support:
    """The blocks of the graph of scored reviews, at the level that the hypothesis classes need.

    ``degrees_of_freedom`` is the number of missing links, 0 at the level; ``main_block`` (G,) the block that covers
    most items of each group, -1 if no reviewer links two items; ``block`` (M,) that of each reviewer, -1 for those with
    fewer than two scores; ``determined`` (N,) whether an item has a score and is in the main block of its group, or its
    only item.
    """

    level: Level
    degrees_of_freedom: int
    main_block: IntArray
    block: IntArray
    determined: BoolArray


def groups_of(reviews: Reviews) -> IntArray:
    """Return the connected component of each item, shape (N,), numbered from 1, the largest first, ties by first item.

    >>> groups_of(Reviews([("ann", 1), ("bob", 2), ("bob", 3)], items=[4])).tolist()
    [2, 1, 1, 3]
    """
    return numbered(connected_components(reviews).item_labels)


def numbered(piece: IntArray | CodeArray) -> IntArray:
    """Renumber the pieces of items from 1: the largest first, ties by first item.

    >>> numbered(np.array([7, 2, 2, 0])).tolist()
    [2, 1, 1, 3]
    """
    count = np.bincount(piece)
    held = np.flatnonzero(count)
    first = np.empty(count.size, np.int64)
    first[piece[::-1]] = np.arange(piece.size)[::-1]  # the last assignment is the first item
    number = np.empty(count.size, np.int64)
    number[held[np.lexsort((first[held], -count[held]))]] = np.arange(1, held.size + 1)
    return number[piece]


def support_of(reviews: Reviews, group: IntArray, level: Level) -> Support:
    """Return the support of reviews that all have scores; ``group`` (N,) are the connected components, from 1.

    Takes the time of :func:`reviewgraph.graph.recoverability` at the level recoverable, O(E) at the level connected.

    >>> from reviewgraph.graph.levels import level_named
    >>> rows = [("ann", 1, 5.0), ("ann", 2, 6.0), ("bob", 1, 5.0), ("bob", 2, 7.0), ("bob", 3, 8.0), ("cleo", 3, 1.0)]
    >>> reviews, group = Reviews([*rows, ("cleo", 4, 2.0)]), np.ones(4, np.int64)
    >>> support = support_of(reviews, group, level_named("recoverable"))
    >>> support.degrees_of_freedom, support.determined.tolist()
    (1, [True, True, True, False])
    >>> support_of(reviews, group, level_named("connected")).determined.tolist()
    [True, True, True, True]
    """
    if level.name not in _BY_LEVEL:
        message = f"level of a hypothesis class: expected one of {', '.join(_BY_LEVEL)}, found {level.name!r}"
        raise NotImplementedError(message)
    missing, main, block, determined = _BY_LEVEL[level.name](reviews, group)
    alone = np.bincount(group - 1)[group - 1] == 1
    return Support(level, missing, main, block, (determined | alone) & (reviews.reviews_per_item > 0))


def _recoverable(reviews: Reviews, group: IntArray) -> tuple[int, IntArray, IntArray, BoolArray]:
    """Return missing links, the largest block of each group, each reviewer's block, and the items of the largest."""
    blocks = recoverability(reviews)
    covers = blocks.block_covers
    sizes = np.array([cover.size for cover in covers], np.int64)
    home = np.array([group[cover[0]] - 1 for cover in covers], np.int64)
    main = np.full(int(group.max(initial=0)), -1, np.int64)
    order = np.lexsort((-np.arange(sizes.size), sizes, home))  # the largest of each group is last, ties: the first
    main[home[order]] = order
    determined = np.zeros(group.size, np.bool_)
    for block in main[main >= 0].tolist():
        determined[covers[block]] = True
    return blocks.degrees_of_freedom, main, blocks.block_labels, determined


def _connected(reviews: Reviews, group: IntArray) -> tuple[int, IntArray, IntArray, BoolArray]:
    """Return the same with groups as blocks."""
    groups = int(group.max(initial=0))
    block = np.full(reviews.n_reviewers, -1, np.int64)
    block[reviews.reviewer] = group[reviews.item] - 1
    block[reviews.loads < 2] = -1
    main = np.full(groups, -1, np.int64)
    main[block[block >= 0]] = block[block >= 0]
    return groups - 1, main, block, np.ones(group.size, np.bool_)


_BY_LEVEL: Mapping[str, Callable[[Reviews, IntArray], tuple[int, IntArray, IntArray, BoolArray]]] = {
    "recoverable": _recoverable,
    "connected": _connected,
}


# Standard errors, if all scoring functions are lines, with or without a slope.

#: Relative distance from its bound at which a slope is on it.
ON_BOUND = 1e-6
#: Minimum residual degrees of freedom of an estimate of the noise.
LEAST_DIVISOR = 10


def standard_errors(
    programme: Programme, quality: FloatArray, perceived: FloatArray, support: Support, parameters: int
) -> FloatArray:
    """Return the standard error of each quality, shape (N,), in the units of the programme.

    ``parameters`` p determine a reviewer's function: 2 for slope and offset, 1 for an offset alone.

    For the main block of each group, with E' scores, N' items and M' reviewers::

        sigma^2 = sum of squared noise / (E' - N' - sum_j p_j + p),   standard error_i = sigma sqrt((L^+)_ii),

    L the sum over reviewers of identity minus the projection on span(1, quality), or on span(1) if p_j is 1: to first
    order in sigma, relative to the shift and scale of the block, or its shift alone. A slope at its bound is not a
    parameter of the fit, so p_j is 1: with noise many reviewers are at the bound, and errors that count their slopes
    are too wide. NaN for items outside these blocks, or if the divisor is below 10.
    """
    owner = np.repeat(np.arange(programme.shape.size), np.diff(programme.start))
    block = support.block[owner]
    noise = (perceived - quality[programme.item]) ** 2
    sloped = ~_at_bound(programme, perceived, owner)
    errors = np.full(programme.n_items, np.nan)
    order = np.argsort(block, kind="stable")
    for main in support.main_block[support.main_block >= 0].tolist():
        # The reviews of the block, with its items and reviewers renumbered.
        here = order[slice(*np.searchsorted(block[order], [main, main + 1]))]
        items, item = np.unique(programme.item[here], return_inverse=True)
        reviewers, reviewer = np.unique(owner[here], return_inverse=True)
        # Degrees of freedom that the fit of the block leaves.
        free = sloped[reviewers] if parameters > 1 else np.zeros(reviewers.size, np.bool_)
        scale_free = int(parameters > 1 and bool(free.all()))
        divisor = here.size - items.size - reviewers.size - int(free.sum()) + 1 + scale_free
        if divisor >= LEAST_DIVISOR:
            variance = float(noise[here].sum()) / divisor
            spread = error_variances(reviewer, item, quality[items] if parameters > 1 else None, sloped=free)
            errors[items] = np.sqrt(variance * spread)
    return errors


def _at_bound(programme: Programme, perceived: FloatArray, owner: IntArray) -> BoolArray:
    """Whether the slope of each reviewer's line is at its bound, shape (M,)."""
    size = programme.shape.size
    score = programme.score
    count = np.maximum(np.bincount(owner, minlength=size), 1)

    def centred(value: FloatArray) -> FloatArray:
        return np.asarray(value - (np.bincount(owner, value, size) / count)[owner])

    across = np.bincount(owner, centred(score) ** 2, size)
    along = np.bincount(owner, centred(score) * centred(perceived), size)
    slope = np.divide(along, across, out=np.full(size, np.inf), where=across > 0)
    return np.asarray(slope <= programme.lower * (1.0 + ON_BOUND))


# The reported scale.

#: Deviations below this part of that of the scores are rounding: solvers agree to 1e-9 and better.
FLAT = 1e-8


class ReportingScale(NamedTuple):
    """``reported = slope * quality + offset``, shapes (G,), or a constant for a group that is ``flat``."""

    slope: FloatArray
    offset: FloatArray
    flat: BoolArray

    def apply(self, quality: FloatArray, group: IntArray) -> FloatArray:
        """Map qualities of items in these groups (from 1) to the reported scale."""
        place = group - 1
        return np.where(self.flat, 0.0, self.slope)[place] * quality + self.offset[place]


def reporting_scale(
    quality: FloatArray,
    average: FloatArray,
    spread: FloatArray,
    group: IntArray,
    is_reference: BoolArray,
    max_slope: float,
    fixed: BoolArray | None = None,
) -> ReportingScale:
    """Map each group to the mean and standard deviation of its plain averages; with two references keep their scale.

    A group with a ``fixed`` unit (G,) is only shifted to the mean of its plain averages, or with one reference not at
    all. ``average`` is NaN without a score; ``spread`` (G,), the standard deviation of the scores, replaces that of the
    averages if these are all equal. Qualities that differ by less than ``FLAT * spread / max_slope`` are equal.
    """
    groups = int(group.max(initial=0))
    # Mean and deviation of qualities and of plain averages, over the items with a score.
    counts = np.isfinite(average)
    places = group[counts] - 1
    middle, width = moments(quality[counts], places, groups)
    mean, deviation = moments(average[counts], places, groups)
    kept = np.zeros(groups, np.bool_) if fixed is None else fixed
    on_references = np.bincount(group - 1, is_reference, groups) >= np.where(kept, 1, 2)
    deviation = np.where(deviation > FLAT * spread, deviation, spread)
    # Which groups have no width, which are on the scale of their references, and which are stretched.
    flat = (width <= FLAT * spread / max_slope) & ~kept
    stretched = ~(on_references | kept)
    slope = np.divide(deviation, width, out=np.full(width.size, max_slope), where=stretched & ~flat)
    slope[~stretched] = 1.0
    offset = np.where(on_references, 0.0, mean - np.where(flat, 0.0, slope * middle))
    return ReportingScale(slope, offset, flat & ~on_references)


def moments(value: FloatArray, place: IntArray, size: int) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation by place, shapes (size,)."""
    count = np.maximum(np.bincount(place, minlength=size), 1)
    mean = np.bincount(place, value, size) / count
    off = value - mean[place]
    return mean, np.sqrt(np.bincount(place, off * off, size) / count)


# Uniqueness of the minimiser, decided at a solution by the directions that keep the objective.

#: A constraint with less slack than this part of the spread of qualities binds: interior point solvers end 1e-9 from a
#: bound, the fast solver 1e-14; slacks in data are above 1e-4 of the spread.
BINDING = 1e-6
#: A fit with root mean squared noise below this part of the spread of qualities is noiseless: solvers end below 1e-8.
NOISELESS = 1e-7
#: Minimum component of a direction with components bounded by 1: linear programmes are solved to 1e-7, and an existing
#: direction has a component at its bound.
MOVES = 1e-4
#: Relative residual that a system without a solution cannot reach: the component of a random vector of a million
#: entries along any direction is about 1e-3. Graphs whose smallest eigenvalue is 1e-4 take a few hundred steps.
SOLVED = 1e-7
STEPS = 1000


class Directions(NamedTuple):
    """The directions d (N,) that keep the objective: ``equal @ d = 0``, ``rising @ d >= 0``, ``d[fixed] = 0``."""

    equal: sp.csr_array
    rising: sp.csr_array
    fixed: BoolArray


def is_unique(programme: Programme, quality: FloatArray, perceived: FloatArray) -> bool:
    """Whether the minimiser is unique up to one common shift, and up to scale if there is no noise.

    The noise of all minimisers is the same, so they differ by directions d of the qualities along which all binding
    constraints hold. If these constraints only order qualities they form a directed graph, and all d are constant if
    and only if it is strongly connected; otherwise a linear programme maximises d along a random vector.
    """
    trivial = [np.ones(programme.n_items)]
    if is_noiseless(programme, quality, perceived):
        trivial.append(quality - quality.mean())
    if _lines_fix_all(programme, trivial):
        return True
    # Parts without a common constraint, binding or not, have separate shifts; with two items that is a scale, too.
    if _pieces(_directions(programme, quality, perceived, np.inf)) > 1:
        return False
    directions = _directions(programme, quality, perceived, BINDING * scale(programme, quality))
    if max(np.diff(rows.indptr).max(initial=0) for rows in (directions.equal, directions.rising)) <= 2:
        return _orders_fix_all(directions, trivial)
    return not _moves(directions, trivial)


def _lines_fix_all(programme: Programme, trivial: list[FloatArray]) -> bool:
    """Whether the lines of linear reviewers alone exclude all but trivial directions; False may mean unknown.

    A direction d that keeps all lines solves ``L d = 0``, L the sum over linear reviewers of I - P_j, P_j the
    projection on lines in their scores. If ``L d = g`` has a solution for a random g orthogonal to the trivial
    directions, then L has no other null vectors: one would have to be orthogonal to g.
    """
    from scipy.sparse.linalg import LinearOperator, cg

    loads = np.diff(programme.start)
    owner = np.repeat(np.arange(loads.size), loads)
    counts = programme.shape[owner] == Shape.LINEAR
    if programme.is_reference.any() or not counts.any():
        return False
    matrix, count = projections(owner[counts], programme.item[counts], programme.score[counts], programme.n_items)
    if not count.all():
        return False
    transposed = matrix.T.tocsr()
    shape = (count.size, count.size)
    # If each of two parts has one quality, the shift of one part looks like a scale, but is not trivial.
    if len(trivial) > 1 and _parts(transposed) > 1:
        return False
    basis, _ = np.linalg.qr(np.column_stack(trivial))
    probe = np.random.default_rng(0).standard_normal(count.size)
    probe -= basis @ (basis.T @ probe)
    lines = LinearOperator(shape, matvec=lambda d: count * d - matrix @ (transposed @ d), dtype=np.float64)
    scaled = LinearOperator(shape, matvec=lambda d: d / count, dtype=np.float64)
    with np.errstate(all="ignore"):  # without a solution the method divides by zero
        direction, _ = cg(lines, probe, rtol=SOLVED, maxiter=STEPS, M=scaled)
        residual = np.linalg.norm(lines @ direction - probe)
    return bool(residual <= 2 * SOLVED * np.linalg.norm(probe))


def scale(programme: Programme, quality: FloatArray) -> float:
    """Return the unit of residuals: the standard deviation of qualities, or of the scores over C if that is larger.

    1 / C if both are 0.
    """
    lower = programme.median_lower
    return max(float(np.std(quality)), lower * float(np.std(programme.score))) or lower


def is_noiseless(programme: Programme, quality: FloatArray, perceived: FloatArray, *, part: float = NOISELESS) -> bool:
    """Whether the root mean squared noise is at most this part of the spread of qualities."""
    noise = perceived - quality[programme.item]
    return float(np.sqrt(np.mean(noise**2))) <= part * scale(programme, quality)


def _directions(programme: Programme, quality: FloatArray, perceived: FloatArray, tolerance: float) -> Directions:
    """Return the directions that keep all constraints with less slack than ``tolerance``."""
    import scipy.sparse as sp

    item = pick(programme.item, programme.n_items)
    none = sp.csr_array((0, programme.n_items))
    # Rows on perceived qualities become rows on qualities, since all minimisers have the same noise.
    equal = [rows.matrix @ item for rows in equalities(programme)]
    # Only binding constraints restrict a small step.
    rising = [rows.matrix[rows.matrix @ perceived - rows.low <= tolerance] @ item for rows in inequalities(programme)]
    return Directions(
        sp.vstack([*equal, none], format="csr"), sp.vstack([*rising, none], format="csr"), programme.is_reference
    )


def _pieces(directions: Directions) -> int:
    """Count the sets of qualities that have separate shifts; all references are in one."""
    import scipy.sparse as sp

    rows = sp.vstack([directions.equal, directions.rising], format="csr")
    references = np.flatnonzero(directions.fixed)
    together = sp.csr_array(
        (np.ones(references.size), (np.zeros(references.size, np.int64), references)), shape=(1, rows.shape[1])
    )
    return _parts(sp.vstack([rows, together], format="csr"))


def _parts(touched: sp.csr_array) -> int:
    """Count the connected sets of columns."""
    import scipy.sparse as sp
    from scipy.sparse import csgraph

    graph = sp.block_array([[None, touched], [touched.T, None]], format="csr")
    _, part = csgraph.connected_components(graph, directed=False)
    return int(np.unique(part[touched.shape[0] :]).size)


def _orders_fix_all(directions: Directions, trivial: list[FloatArray]) -> bool:
    """Whether the binding order, as a directed graph, is strongly connected, or has two parts of one scale."""
    import scipy.sparse as sp
    from scipy.sparse import csgraph

    # A row is an arc: d of one quality is at least that of another. All d of a cycle are equal.
    rows = sp.vstack([directions.equal, -directions.equal, directions.rising], format="coo")
    up = rows.data > 0
    down = rows.data < 0
    high, low = np.empty((2, rows.shape[0]), np.int64)
    row, column = rows.coords
    high[row[up]] = column[up]
    low[row[down]] = column[down]
    # The d of references are 0: a cycle through all of them.
    references = np.flatnonzero(directions.fixed)
    ring = np.roll(references, 1)
    tails = np.concatenate([low, references])
    heads = np.concatenate([high, ring])
    graph = sp.csr_array((np.ones(tails.size), (tails, heads)), shape=(rows.shape[1],) * 2)
    count, part = csgraph.connected_components(graph, connection="strong")
    if count == 1:
        return True
    if count > 2 or len(trivial) == 1:
        return False
    # Two parts are allowed if the trivial directions, shift and scale, are constant on each.
    sizes = np.bincount(part)
    means = np.bincount(part, trivial[1]) / np.maximum(sizes, 1)
    off = float(np.abs(trivial[1] - means[part]).max())
    return off <= BINDING * float(np.abs(trivial[1]).max())


def _moves(directions: Directions, trivial: list[FloatArray]) -> bool:
    """Whether some direction is outside the span of the trivial ones: two linear programmes."""
    import scipy.sparse as sp
    from scipy.optimize import linprog

    # A random vector, orthogonal to the trivial directions, is orthogonal to any other with probability 0.
    basis, _ = np.linalg.qr(np.column_stack(trivial))
    probe = np.random.default_rng(0).standard_normal(directions.fixed.size)
    probe -= basis @ (basis.T @ probe)
    bound = np.where(directions.fixed, 0.0, 1.0)
    # The cone may contain a direction and not its opposite.
    for sign in (1.0, -1.0):
        solution = linprog(
            -sign * probe,
            A_ub=-directions.rising if directions.rising.shape[0] else None,
            b_ub=np.zeros(directions.rising.shape[0]) if directions.rising.shape[0] else None,
            A_eq=sp.csr_array(directions.equal) if directions.equal.shape[0] else None,
            b_eq=np.zeros(directions.equal.shape[0]) if directions.equal.shape[0] else None,
            bounds=np.column_stack([-bound, bound]),
            method="highs",
        )
        if solution.status != 0:
            return True
        step = solution.x
        if float(np.abs(step - basis @ (basis.T @ step)).max()) > MOVES:
            return True
    return False
