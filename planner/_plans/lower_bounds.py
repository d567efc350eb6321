"""Lower bounds on the number of extra reviews, each with its proof in words.

Every bound holds for the target *double*; degrees of freedom and loads hold for *recoverable* as well, because
*double* implies it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner._plans.constraints import UNLIMITED, Constraints
from planner._plans.target import Bound
from reviewgraph.graph import recoverability

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from reviewgraph._base import Clock, FloatArray, IntArray
    from reviewgraph.table import Reviews


#: Items up to which the expansion bound is computed: one eigenvalue of an N x N matrix, by Lanczos.
EXPANSION_UP_TO = 5_000
#: Items below which all eigenvalues are computed.
DENSE = 64
#: Tolerance of the computed eigenvalue, relative to the largest; Lanczos converges to 1e-9 here.
EIGENVALUE_SLACK = 1e-6
#: Proof by expansion in words.
HALF_WAY = "the graph of reviews expands too fast: an intermediate group of papers needs {} new reviews"


def missing_links(reviews: Reviews, constraints: Constraints, spare: IntArray) -> Bound | None:
    """Degrees of freedom, plus the wasted reviews of needed reviewers with fewer than two reviews.

    None if spare loads are too small for the missing links, wherever they go.

    A reviewer of d < 2 reviews wastes 2 - d new ones: p new reviews remove at most p - (2 - d) degrees of freedom. If
    the others' ``spare`` loads do not suffice, the cheapest set of such reviewers is added. Takes the time of the
    pebble game.
    """
    degrees = recoverability(reviews).degrees_of_freedom
    missing = "1 link is missing" if degrees == 1 else f"{degrees} links are missing"
    # Extra reviews that each reviewer can take, also limited by the items that they may read.
    readable = constraints.reviews.n_items - np.diff(constraints.barred_start)
    waste = least_waste(reviews.loads, np.maximum(np.minimum(spare, readable), 0), degrees)
    if waste is None:
        return None
    if waste == 0:
        return Bound(degrees, "degrees of freedom", f"{missing} (degrees of freedom)")
    lost = "1 review" if waste == 1 else f"{waste} reviews"
    words = f"{missing}, plus {lost} to attach reviewers of fewer than two reviews"
    return Bound(degrees + waste, "loads", words)


def least_waste(loads: IntArray, usable: IntArray, needed: int) -> int | None:
    """Fewest wasted reviews among reviewers whose useful reviews reach ``needed``; None if none suffice.

    >>> least_waste(np.array([3, 0, 1]), np.array([1, 4, 2]), 3)
    2
    """
    short = needed - int(np.minimum(usable[loads >= 2], UNLIMITED).sum())
    if short <= 0:
        return 0
    totals = []
    for d in (1, 0):
        gain = np.sort(np.maximum(usable[loads == d] - (2 - d), 0))[::-1]
        totals.append(np.concatenate([np.zeros(1, np.int64), np.cumsum(gain)]))
    least: int | None = None
    for ones, total in enumerate(totals[0].tolist()):
        zeros = int(np.searchsorted(totals[1], short - total))
        if zeros < totals[1].size and (least is None or ones + 2 * zeros < least):
            least = ones + 2 * zeros
    return least


# Bounds from the expansion of the graph, for the target *double*.
#
# A doubly connected block whose cover B grew from components c, merged by two shared items each, took at least
# ``|B| - 2 - sum over components inside B of (n_c - 2)`` new reviews. Give each item of c the *share*
# ``(n_c - 2) / n_c``: that sum is the sum of the shares of B, minus those in components that B cuts. A *slope* s bounds
# these from below by ``s |B| (N - |B|) / N``. Some block of t items or more is first, joined from two smaller ones; the
# bound is the best t. A block that grows by a review of its own counts as one joined with a block of one item.
#
# Two slopes use different parts of the shares, and add up. Send one unit from every item to every other along paths of
# components, at most ``share / theta`` of it from any one item into any one component: the flow out of B leaves it by
# an item of B that sends into a component cut, so ``N theta`` is a slope [LeightonRao99]_. What the flow does not use
# may go straight to the other items of the component; the second eigenvalue of the Laplacian of these weights is a
# slope, too.

#: Items up to which the flow is sent: a dozen matrices of N x N and components x N.
FLOW_UP_TO = 1_500
#: Rounds in which weights divert flow from crowded paths, the exponent, and the range of weights.
ROUNDS = 12
STRENGTH = 1.5
RANGE = 1e4
#: Steps of the longest path: products of that many weights do not overflow.
LONGEST = 25
#: Work, see :class:`reviewgraph._base.clock.Clock`, of a round, per slot and item.
SENT = 5e-8
#: The flow is a sum of positive floats, each after a few thousand roundings: it is off by less than this, relatively.
FLOW_SLACK = 1e-9


@dataclass(frozen=True)
class Slots:
    """Components of three items or more, item by item.

    Component c has the slots ``start[c]`` to ``start[c + 1]``; ``owner`` and ``item`` (E,) are the component and the
    item of each slot, and ``share`` (E,) is the bound ``(n - 2) / n`` on the flow of an item into a component of n
    items.
    """

    start: IntArray
    owner: IntArray
    item: IntArray
    share: FloatArray
    n_items: int

    def matrix(self, values: FloatArray) -> csr_array:
        """Shape (C, N): one value per slot."""
        from scipy.sparse import csr_array

        return csr_array((values, self.item, self.start), shape=(self.start.size - 1, self.n_items))


def slots(cover_start: IntArray, cover_item: IntArray, n_items: int) -> Slots:
    """Drop components of fewer than three items, whose share is 0."""
    sizes = np.diff(cover_start)
    large = sizes[sizes > 2]
    start = np.concatenate([np.zeros(1, np.int64), np.cumsum(large)])
    owner = np.repeat(np.arange(large.size), large)
    kept = np.repeat(sizes > 2, sizes)
    return Slots(start, owner, cover_item[kept], np.repeat((large - 2) / large, large), n_items)


def expansion(cover_start: IntArray, cover_item: IntArray, n_items: int, clock: Clock | None = None) -> Bound | None:
    """Bound from the second eigenvalue; with a clock from a flow and the second eigenvalue of its residual.

    None if the table is too large, too dense or, for a flow, in pieces. Takes the time of a few hundred products with
    the Laplacian, and O(N^2); a flow :data:`ROUNDS` times O(E N) for each step of its longest path.
    """
    sizes = np.diff(cover_start)
    if not 8 <= n_items <= (EXPANSION_UP_TO if clock is None else FLOW_UP_TO) or sizes.size < 3:
        return None
    graph = slots(cover_start, cover_item, n_items)
    # The least of b items less their shares, for b = 1, ..., N.
    surplus = np.cumsum(np.sort(1.0 - np.bincount(graph.item, weights=graph.share, minlength=n_items)))
    if not graph.item.size or surplus[n_items // 2 - 1] < -0.25 * n_items:
        return None
    theta = 0.0
    weights = np.empty(0)
    used = np.zeros(graph.item.size)
    if clock is not None:
        theta, weights, used = _best_flow(graph, clock)
        if not theta:
            return None
    flow = n_items * theta
    slope = second_eigenvalue(_left_over(graph, graph.share - used))
    b = np.arange(1, n_items + 1)
    alone = np.maximum(surplus + (flow + slope) * b * (n_items - b) / n_items - 2.0, 0.0)
    value = _first_large_block(alone, int(sizes.max()))
    how = f"flow of {flow:.4f} and second eigenvalue" if theta else "expansion, second eigenvalue"
    return Bound(
        value,
        "flow" if theta else "expansion",
        f"{HALF_WAY.format(value)} ({how} {slope:.4f})",
        weights=tuple(weights.tolist()),
    )


def _best_flow(graph: Slots, clock: Clock) -> tuple[float, FloatArray, FloatArray]:
    """Return the largest theta found, the weights of its paths, and the shares used; 0 if no flow is found.

    Rounds of reweighting divert the flow from crowded slots.
    """
    weight = np.ones(graph.item.size)
    best = (0.0, weight, np.zeros(graph.item.size))
    for _ in range(ROUNDS):
        sent = send(graph, weight)
        if sent is None:
            break
        clock.spend(SENT * graph.item.size * graph.n_items)
        crowd = sent / graph.share
        theta = (1.0 - FLOW_SLACK) / float(crowd.max())
        if best[0] < theta:
            best = (theta, weight, theta * sent)
        if clock.over():
            break
        diverted = (crowd.mean() / np.maximum(crowd, crowd.mean() / RANGE)) ** STRENGTH
        weight = np.clip(weight * diverted, 1 / RANGE, RANGE)
    return best


def _first_large_block(alone: FloatArray, largest: int) -> int:
    """Most, over thresholds t, of the least two blocks below t that make one of t or more need together."""
    n_items = alone.size
    best_value = 0.0
    for t in np.unique(np.linspace(max(largest + 1, n_items // 4), n_items - 1, 24).astype(int)):
        below = alone[: t - 1]  # blocks of 1..t-1 items
        tail = np.minimum.accumulate(below[::-1])[::-1]  # least need among blocks of at least that many items
        partner = tail[np.maximum(t - np.arange(1, t), 1) - 1]
        best_value = max(best_value, float((below + partner).min()))
    return int(np.ceil(best_value - 1e-9))


def second_eigenvalue(together: csr_array) -> float:
    """Second smallest eigenvalue of the Laplacian of weights on pairs of items, rounded down."""
    from scipy.sparse import diags_array

    n_items = together.shape[0]
    degree = np.asarray(together.sum(axis=1)).ravel()
    top = 2.0 * float(degree.max())
    flipped = diags_array(top - degree) + together
    if n_items < DENSE:
        second = np.linalg.eigvalsh(flipped.toarray())[-2]
    else:
        from scipy.sparse.linalg import eigsh

        start = np.random.default_rng(0).standard_normal(n_items)
        second = eigsh(flipped, k=2, which="LA", v0=start, tol=1e-9, return_eigenvectors=False).min()
    return float(max(top - second - EIGENVALUE_SLACK * top, 0.0))


def send(graph: Slots, weight: FloatArray) -> FloatArray | None:
    """Shape (E,): flow through each slot if every item sends one unit to every other; None if it cannot.

    A unit takes the ways of fewest components, each in proportion to the product of the weights of the slots by which
    it enters and leaves components: dependencies as [Brandes01]_ accumulates them, all sources side by side.
    """
    matrix = graph.matrix(weight)
    N = graph.n_items
    back = matrix.T.tocsr()
    # Column u holds the search from item u: levels of items and components, and the weight of the ways to them.
    level = np.full((N, N), -1, np.int16)
    turn = np.full((graph.start.size - 1, N), -1, np.int16)
    np.fill_diagonal(level, 0)
    ways = np.eye(N)
    front = np.eye(N)
    step = 0
    while front.any():
        if step > LONGEST:
            return None
        passed = np.where(turn < 0, matrix @ front, 0.0)
        turn[passed > 0.0] = step
        front = np.where(level < 0, back @ passed, 0.0)
        step += 1
        level[front > 0.0] = step
        ways += front
    if (level < 0).any():
        return None
    # Backwards, each item hands what it takes and passes on to the components before it.
    passed_on = np.zeros((N, N))
    asked = np.zeros(turn.shape)
    for now in range(step - 1, 0, -1):
        per_way = np.where(level == now, (1.0 + passed_on) / ways, 0.0)
        asked += np.where(turn == now - 1, matrix @ per_way, 0.0)
        before = np.where(turn == now - 1, asked, 0.0)
        passed_on += np.where(level == now - 1, ways * (back @ before), 0.0)
    leaving = (level[graph.item] == turn[graph.owner]) * ways[graph.item]
    sent: FloatArray = weight * np.einsum("su,su->s", leaving, asked[graph.owner])
    return sent


def _left_over(graph: Slots, left: FloatArray) -> csr_array:
    """Shape (N, N): weights on pairs, of which no item gives more than is left at its slots."""
    from scipy.sparse import coo_array

    rows = []
    columns = []
    values = []
    for first, last in zip(graph.start[:-1].tolist(), graph.start[1:].tolist(), strict=True):
        mine = np.maximum(left[first:last], 0.0)
        least = np.minimum.outer(mine, mine) / (last - first - 1)
        np.fill_diagonal(least, 0.0)
        rows.append(np.repeat(graph.item[first:last], last - first))
        columns.append(np.tile(graph.item[first:last], last - first))
        values.append(least.ravel())
    shape = (graph.n_items, graph.n_items)
    return coo_array((np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=shape).tocsr()
