r"""The expansion bound once more, with a flow beside the eigenvalue: fewer reviews than by either alone do not do.

Let items B cut the component c: some, not all, of its n items lie in B. Then c is not inside B, and the items of B
keep their shares ``(n - 2) / n`` of it, ``|B and c| (n - 2) / n`` in all. Send one unit from every item to every other
along paths of components, at most ``(n - 2) / (n theta)`` of it from any one item into any one component. What leaves
B leaves it by an item of B that sends into a component cut, so ``theta |B| (N - |B|)`` is at most the shares kept: a
multicommodity flow bounds every cut at once [LeightonRao99]_. What the flow leaves of the shares may go straight to
the other items of the component, and the second eigenvalue of the Laplacian of that bounds it, as in
:func:`planner.plans.proof.bounds.expansion`. Both together are a slope ``N theta + lambda_2``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.plans.model.ledger import Bound
from planner.plans.proof.bounds import needed_half_way, second_eigenvalue, spreads

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import FloatArray

#: Items up to which the flow is sent: a dozen matrices of N x N and components x N.
FLOW_UP_TO = 1_500
#: Rounds in which weights move flow from crowded ways to others, how strongly they move it, and where they end.
ROUNDS, STRENGTH, RANGE = 12, 1.5, 1e4
#: Steps of the longest way: products of so many weights stay far from overflow.
LONGEST = 25
#: Work, see :class:`reviewgraph.clock.Clock`, of a round, for each slot and item.
SENT = 5e-8
#: The flow is a sum of positive floats, each after a few thousand roundings: it is off by less than this, relatively.
FLOW_SLACK = 1e-9


@dataclass(frozen=True)
class Slots:
    """Components of three items or more, item by item.

    Parameters
    ----------
    start
        Shape (C + 1,): component c has the slots ``start[c]`` to ``start[c + 1]``.
    owner, item
        Shape (E,): the component and the item of each slot.
    share
        Shape (E,): what an item may send into a component of n items, ``(n - 2) / n``.
    n_items
        N.
    """

    start: IntArray
    owner: IntArray
    item: IntArray
    share: FloatArray
    n_items: int

    def matrix(self, values: FloatArray) -> csr_array:
        """Shape (C, N): a value a slot."""
        from scipy.sparse import csr_array

        return csr_array((values, self.item, self.start), shape=(self.start.size - 1, self.n_items))


def slots(cover_start: IntArray, cover_item: IntArray, n_items: int) -> Slots:
    """Leave out components of fewer than three items, which have no share to give."""
    sizes = np.diff(cover_start)
    large = sizes[sizes > 2]
    start = np.concatenate([np.zeros(1, np.int64), np.cumsum(large)])
    owner, kept = np.repeat(np.arange(large.size), large), np.repeat(sizes > 2, sizes)
    return Slots(start, owner, cover_item[kept], np.repeat((large - 2) / large, large), n_items)


def bound(cover_start: IntArray, cover_item: IntArray, n_items: int, clock: Clock) -> Bound | None:
    """Bound from a flow and the second eigenvalue of what it leaves, for the target *double*.

    The flow goes by ways of fewest components, in proportion to the products of weights along them; rounds of
    reweighting take it from crowded slots. None where the graph is in pieces or its ways are too long.

    Takes ``ROUNDS`` times O(E N) for each step of the longest way, and the time of the eigenvalue.
    """
    if n_items > FLOW_UP_TO or not spreads(cover_start, cover_item, n_items):
        return None
    graph = slots(cover_start, cover_item, n_items)
    weight, best = np.ones(graph.item.size), (0.0, np.empty(0), np.empty(0))
    for _ in range(ROUNDS):
        sent = send(graph, weight)
        if sent is None:
            return None
        clock.spend(SENT * graph.item.size * n_items)
        crowd = sent / graph.share
        if best[0] < 1.0 / crowd.max():
            best = (1.0 / float(crowd.max()), weight, sent)
        if clock.over():
            break
        weight = np.clip(
            weight * (crowd.mean() / np.maximum(crowd, crowd.mean() / RANGE)) ** STRENGTH, 1 / RANGE, RANGE
        )
    theta = best[0] * (1.0 - FLOW_SLACK)
    slope = n_items * theta + second_eigenvalue(_left_over(graph, graph.share - theta * best[2]))
    value = needed_half_way(cover_start, cover_item, n_items, slope)
    words = (
        f"the reviews spread too widely for fewer: any group of papers half-way to all of them needs {value} new "
        f"reviews (flow of {n_items * theta:.4f} and second eigenvalue {slope - n_items * theta:.4f})"
    )
    return Bound(value, "flow", words, weights=tuple(best[1].tolist()))


def send(graph: Slots, weight: FloatArray) -> FloatArray | None:
    """Shape (E,): what goes through each slot if every item sends one unit to every other; None where it cannot.

    A unit takes the ways of fewest components, each in proportion to the product of the weights of the slots by which
    it enters and leaves components: dependencies as [Brandes01]_ accumulates them, all sources side by side.
    """
    matrix, N = graph.matrix(weight), graph.n_items
    back = matrix.T.tocsr()
    # Column u holds the search from item u: levels of items and components, and the weight of the ways to them.
    level, turn = np.full((N, N), -1, np.int16), np.full((graph.start.size - 1, N), -1, np.int16)
    np.fill_diagonal(level, 0)
    ways, front, step = np.eye(N), np.eye(N), 0
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
    passed_on, asked = np.zeros((N, N)), np.zeros(turn.shape)
    for now in range(step - 1, 0, -1):
        each = np.where(level == now, (1.0 + passed_on) / ways, 0.0)
        asked += np.where(turn == now - 1, matrix @ each, 0.0)
        before = np.where(turn == now - 1, asked, 0.0)
        passed_on += np.where(level == now - 1, ways * (back @ before), 0.0)
    leaving = (level[graph.item] == turn[graph.owner]) * ways[graph.item]
    sent: FloatArray = weight * np.einsum("su,su->s", leaving, asked[graph.owner])
    return sent


def _left_over(graph: Slots, left: FloatArray) -> csr_array:
    """Shape (N, N): weights on pairs, of which no item gives more than is left at its slots."""
    from scipy.sparse import coo_array

    rows, columns, values = [], [], []
    for first, last in zip(graph.start[:-1].tolist(), graph.start[1:].tolist(), strict=True):
        mine = np.maximum(left[first:last], 0.0)
        least = np.minimum.outer(mine, mine) / (last - first - 1)
        np.fill_diagonal(least, 0.0)
        rows.append(np.repeat(graph.item[first:last], last - first))
        columns.append(np.tile(graph.item[first:last], last - first))
        values.append(least.ravel())
    shape = (graph.n_items, graph.n_items)
    return coo_array((np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=shape).tocsr()
