"""What the reviews connect: which items the graph puts on one scale, whatever a solver returns for the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsc._model.formulation import LevelRows, Programme, equalities, free_ties, inequalities, pick
from lsc._model.hypotheses import Shape
from lsc.evidence.optimality import scale
from reviewgraph._base.arrays import BoolArray, CodeArray, FloatArray, IntArray
from reviewgraph.graph.components import recoverability
from reviewgraph.graph.covariance import error_variances, projections
from reviewgraph.graph.kernels.union_find import point_at_roots, union_chunk
from reviewgraph.graph.levels import Level
from reviewgraph.table.reviews import Reviews

if TYPE_CHECKING:
    import scipy.sparse as sp


#: Reviews from which joining them one by one, compiled, is faster than SciPy's search from vertex to vertex.
MANY = 500_000


@dataclass(frozen=True, eq=False)
class Support:
    """What the graph of scored reviews supports, at the level that the hypothesis classes ask for.

    Parameters
    ----------
    level
        That level.
    degrees_of_freedom
        Missing links of the whole table; 0 means that it is at the level.
    main_block
        Shape (G,): the block at the level that covers most items of each group, -1 where no reviewer links two items.
    block
        Shape (M,): the block of each reviewer, -1 for those with fewer than two scores.
    determined
        Shape (N,): whether the item lies in the main block of its group or is alone in it; False without a score.
    """

    level: Level
    degrees_of_freedom: int
    main_block: IntArray
    block: IntArray
    determined: BoolArray


def groups_of(reviews: Reviews) -> IntArray:
    """Return the connected component of each item, shape (N,), numbered from 1, the largest first, ties by first item.

    >>> groups_of(Reviews.from_pairs([("ann", 1), ("bob", 2), ("bob", 3)], items=[4])).tolist()
    [2, 1, 1, 3]
    """
    M = reviews.n_reviewers
    if reviews.n_reviews >= MANY:
        parent = np.arange(M + reviews.n_items, dtype=np.uint32)
        union_chunk(parent, 0, reviews.reviewer_start, M, reviews.item.astype(np.uint32))
        point_at_roots(parent)
        return numbered(parent[M:])
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    size = M + reviews.n_items
    start = np.concatenate([reviews.reviewer_start, np.full(reviews.n_items, reviews.n_reviews)])
    ones = np.ones(reviews.n_reviews, np.int8)
    graph = csr_array((ones, M + reviews.item, start), shape=(size, size))
    pieces, piece = connected_components(graph, directed=False)
    return np.ones(reviews.n_items, np.int64) if pieces == 1 else numbered(piece[M:])


def numbered(piece: IntArray | CodeArray) -> IntArray:
    """Return the pieces of items, whatever their numbers, numbered from 1: the largest first, ties by first item.

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
    """Return what reviews, all with scores, support; ``group`` (N,) are the connected components, from 1.

    Takes the time of :func:`reviewgraph.recoverability` where the level is recoverable, O(E) where it is connected.

    Examples
    --------
    >>> from reviewgraph.graph.levels import level_named
    >>> rows = [("ann", 1, 5.0), ("ann", 2, 6.0), ("bob", 1, 5.0), ("bob", 2, 7.0), ("bob", 3, 8.0), ("cleo", 3, 1.0)]
    >>> reviews, group = Reviews.from_pairs([*rows, ("cleo", 4, 2.0)]), np.ones(4, np.int64)
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
    found = recoverability(reviews)
    covers = found.block_covers
    sizes = np.array([cover.size for cover in covers], np.int64)
    home = np.array([group[cover[0]] - 1 for cover in covers], np.int64)
    main = np.full(int(group.max(initial=0)), -1, np.int64)
    order = np.lexsort((-np.arange(sizes.size), sizes, home))  # of each group the largest comes last, ties: the first
    main[home[order]] = order
    determined = np.zeros(group.size, np.bool_)
    for block in main[main >= 0].tolist():
        determined[covers[block]] = True
    return found.degrees_of_freedom, main, found.block_labels, determined


def _connected(reviews: Reviews, group: IntArray) -> tuple[int, IntArray, IntArray, BoolArray]:
    """Return the same where groups are the blocks."""
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


# Standard errors of recovered qualities where every reviewer's function is a line, with or without a slope.

#: A slope this close to its bound, relatively, lies on it.
ON_BOUND = 1e-6
#: Fewer residual degrees of freedom than this do not tell how noisy the scores are.
LEAST_DIVISOR = 10


def standard_errors(
    programme: Programme, quality: FloatArray, perceived: FloatArray, support: Support, parameters: int
) -> FloatArray:
    """Return the standard error of each quality, shape (N,), in the units of the programme.

    ``parameters`` p determine a reviewer's function: 2 for slope and offset, 1 for an offset alone.

    Block by block of those that are the main one of their group: with the E' scores, N' items and M' reviewers of the
    block::

        sigma^2 = sum of squared noise / (E' - N' - sum_j p_j + p),   standard error_i = sigma sqrt((L^+)_ii),

    L the sum over reviewers of identity minus the projection on span(1, quality), or on span(1) where p_j is 1: to
    first order in sigma, relative to the shift and scale of the block, or its shift alone. A slope at its bound is no
    parameter of the fit, so p_j is 1 there: under noise many reviewers sit at the bound, and errors that count their
    slopes are too wide. NaN for items outside these blocks and where the divisor is below 10.
    """
    owner = np.repeat(np.arange(programme.shape.size), np.diff(programme.start))
    block = support.block[owner]
    noise = (perceived - quality[programme.item]) ** 2
    sloped = ~_at_bound(programme, perceived, owner)
    found = np.full(programme.n_items, np.nan)
    order = np.argsort(block, kind="stable")
    for main in support.main_block[support.main_block >= 0].tolist():
        here = order[slice(*np.searchsorted(block[order], [main, main + 1]))]
        items, item = np.unique(programme.item[here], return_inverse=True)
        reviewers, reviewer = np.unique(owner[here], return_inverse=True)
        free = sloped[reviewers] if parameters > 1 else np.zeros(reviewers.size, np.bool_)
        scale_free = int(parameters > 1 and bool(free.all()))
        divisor = here.size - items.size - reviewers.size - int(free.sum()) + 1 + scale_free
        if divisor >= LEAST_DIVISOR:
            variance = float(noise[here].sum()) / divisor
            spread = error_variances(reviewer, item, quality[items] if parameters > 1 else None, sloped=free)
            found[items] = np.sqrt(variance * spread)
    return found


def _at_bound(programme: Programme, perceived: FloatArray, owner: IntArray) -> BoolArray:
    """Whether the slope of each reviewer's line lies on its bound, shape (M,)."""
    size = programme.shape.size
    score, count = programme.score, np.maximum(np.bincount(owner, minlength=size), 1)

    def centred(value: FloatArray) -> FloatArray:
        return np.asarray(value - (np.bincount(owner, value, size) / count)[owner])

    across = np.bincount(owner, centred(score) ** 2, size)
    along = np.bincount(owner, centred(score) * centred(perceived), size)
    slope = np.divide(along, across, out=np.full(size, np.inf), where=across > 0)
    return np.asarray(slope <= programme.lower * (1.0 + ON_BOUND))


# The scale on which qualities are reported.

#: Deviations below this part of that of the scores are rounding: solvers agree to 1e-9 and better.
FLAT = 1e-8


class ReportingScale(NamedTuple):
    """``reported = slope * quality + offset``, shapes (G,), or the same number for all of a group that is ``flat``.

    ``known`` says which groups are on the scale of their references.
    """

    slope: FloatArray
    offset: FloatArray
    flat: BoolArray
    known: BoolArray

    def apply(self, quality: FloatArray, group: IntArray) -> FloatArray:
        """Move qualities of items in these groups (from 1) to the reported scale."""
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
    """Give each group the mean and standard deviation of its plain averages, or leave it on that of its references.

    A group whose unit is fixed keeps it: it is only shifted to the mean of its plain averages, or with one reference
    not at all.

    Parameters
    ----------
    quality, average
        Shape (N,); items without a score have the average NaN and do not count.
    spread
        Shape (G,): standard deviation of the scores of each group, which stands in where its averages are all alike.
    group
        Shape (N,), from 1.
    is_reference
        Shape (N,); two references or more in a group set its scale.
    max_slope
        C: qualities of a group that differ by less than ``FLAT * spread / C`` do not differ.
    fixed
        Shape (G,): whether a point of quality is a point of score there; nowhere by default.

    Examples
    --------
    >>> one = np.array([1, 1])
    >>> scale = reporting_scale(np.array([0.0, 0.1]), np.array([4.0, 6.0]), np.ones(1), one, np.zeros(2, bool), 10.0)
    >>> scale.apply(np.array([0.0, 0.1]), one).tolist()
    [4.0, 6.0]
    """
    groups = int(group.max(initial=0))
    counts = np.isfinite(average)
    places = group[counts] - 1
    middle, width = _moments(quality[counts], places, groups)
    mean, deviation = _moments(average[counts], places, groups)
    deviation = np.where(deviation > FLAT * spread, deviation, spread)
    kept = np.zeros(groups, np.bool_) if fixed is None else fixed
    flat = (width <= FLAT * spread / max_slope) & ~kept
    own = np.bincount(group - 1, is_reference, groups) >= np.where(kept, 1, 2)
    stretched = ~(own | kept)
    slope = np.divide(deviation, width, out=np.full(groups, max_slope), where=stretched & ~flat)
    slope[~stretched] = 1.0
    offset = np.where(own, 0.0, mean - np.where(flat, 0.0, slope * middle))
    return ReportingScale(slope, offset, flat & ~own, own)


def _moments(value: FloatArray, place: IntArray, size: int) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation by place."""
    count = np.maximum(np.bincount(place, minlength=size), 1)
    mean = np.bincount(place, value, size) / count
    off = value - mean[place]
    return mean, np.sqrt(np.bincount(place, off * off, size) / count)


# Is the minimiser the only one? Decided at a solution, by the directions in which the objective stays the same.

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
    >>> from lsc._model.formulation import formulate
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
