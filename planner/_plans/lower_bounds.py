"""Lower bounds on the number of extra reviews, each with its proof in words, and the exact method.

Every bound holds for the target *double*; degrees of freedom and loads hold for *recoverable* as well, because
*double* implies it. Further sections explain uncovered papers, and solve small tasks as an implicit hitting set.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from planner._plans.constraints import UNLIMITED, no_pairs
from planner._plans.outcome import fewer, named_papers
from planner._plans.target import Bound
from planner._plans.task import short_pairs
from planner.errors import InternalError
from planner.rules import NAMED, AtMost
from planner.solving import solve_within
from reviewgraph._base import Mentions, counted, noun
from reviewgraph.graph import recoverability

if TYPE_CHECKING:
    from collections.abc import Callable

    from scipy.sparse import csr_array

    from planner._plans.constraints import Constraints
    from planner._plans.task import Cut, Oracle, Task
    from reviewgraph._base import Clock, FloatArray, IntArray
    from reviewgraph.table import Reviews


#: Items up to which the expansion bound is computed: one eigenvalue of an N x N matrix, by Lanczos.
EXPANSION_UP_TO = 5_000
#: Tolerance of the computed eigenvalue, relative to the largest; Lanczos converges to 1e-9 here.
EIGENVALUE_SLACK = 1e-6
#: Proof by expansion in words.
HALF_WAY = "the graph of reviews expands too fast: an intermediate group of papers needs {} new reviews"


def missing_links(reviews: Reviews, constraints: Constraints, spare: IntArray) -> Bound:
    """Degrees of freedom, plus the wasted reviews of needed reviewers with fewer than two reviews.

    A reviewer of d < 2 reviews wastes 2 - d new ones: p new reviews remove at most p - (2 - d) degrees of freedom. If
    the others' ``spare`` loads do not suffice, the cheapest set of such reviewers is added. Takes the time of the
    pebble game.
    """
    degrees = recoverability(reviews).degrees_of_freedom
    missing = "1 link is missing" if degrees == 1 else f"{degrees} links are missing"
    # Extra reviews that each reviewer can take, also limited by the items that they may read.
    readable = constraints.reviews.n_items - np.diff(constraints.barred_start)
    waste = least_waste(reviews.loads, np.maximum(np.minimum(spare, readable), 0), degrees)
    if waste is None or waste == 0:
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


def expansion(cover_start: IntArray, cover_item: IntArray, n_items: int) -> Bound | None:
    r"""Bound from the expansion of the graph, for the target *double*.

    A doubly connected block whose cover B grew from components c, merged by two shared items each, took at least
    ``|B| - 2 - sum over components inside B of (n_c - 2)`` new reviews. With weights
    ``(n_c - 2) / (n_c (n_c - 1))`` on the pairs of items of each component, that sum is the weight inside B, which
    ``lambda_2 |B| (N - |B|) / N`` bounds, lambda_2 the second smallest eigenvalue of their Laplacian. Some block of
    t items or more is first, joined from two smaller ones; the bound is the best t. A block that grows by a review
    of its own counts as one joined with a block of one item.

    Takes the time of a few hundred products with the Laplacian, and O(N^2).
    """
    sizes = np.diff(cover_start)
    if not spreads(cover_start, cover_item, n_items):
        return None
    weight = np.maximum(sizes - 2, 0) / np.maximum(sizes * (sizes - 1), 1)
    slope = second_eigenvalue(pairs_together(cover_start, cover_item, n_items, weight))
    value = needed_half_way(cover_start, cover_item, n_items, slope)
    words = f"{HALF_WAY.format(value)} (expansion, second eigenvalue {slope:.4f})"
    return Bound(value, "expansion", words)


def spreads(cover_start: IntArray, cover_item: IntArray, n_items: int) -> bool:
    """Whether a table's size, and its few small components, let its expansion give a bound."""
    sizes = np.diff(cover_start)
    if not 8 <= n_items <= EXPANSION_UP_TO or sizes.size < 3 or not (sizes > 2).any():
        return False
    return bool(_least_surplus(cover_start, cover_item, n_items)[n_items // 2 - 1] >= -0.25 * n_items)


def needed_half_way(cover_start: IntArray, cover_item: IntArray, n_items: int, slope: float) -> int:
    """Reviews needed if the components that b items cut weigh at least ``slope * b * (N - b) / N``, for all b."""
    b = np.arange(1, n_items + 1)
    surplus = _least_surplus(cover_start, cover_item, n_items)
    alone = np.maximum(surplus + slope * b * (n_items - b) / n_items - 2.0, 0.0)
    return _first_large_block(alone, int(np.diff(cover_start).max()))


def _least_surplus(cover_start: IntArray, cover_item: IntArray, n_items: int) -> FloatArray:
    """Shape (N,): least of b items less their shares ``(n_c - 2) / n_c`` of the components, for b = 1, ..., N."""
    sizes = np.diff(cover_start)
    share = np.repeat(np.maximum(sizes - 2, 0) / np.maximum(sizes, 1), sizes)
    surplus: FloatArray = np.cumsum(np.sort(1.0 - np.bincount(cover_item, weights=share, minlength=n_items)))
    return surplus


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


def pairs_together(cover_start: IntArray, cover_item: IntArray, n_items: int, weight: FloatArray) -> csr_array:
    """Shape (N, N): for each pair of items, the ``weight`` of the components that cover both."""
    from scipy.sparse import csr_array, diags_array

    member = csr_array((np.ones(cover_item.size), cover_item, cover_start), shape=(weight.size, n_items))
    return (member.T @ (diags_array(weight) @ member)).tocsr()


def second_eigenvalue(together: csr_array) -> float:
    """Second smallest eigenvalue of the Laplacian of weights on pairs of items, rounded down."""
    from scipy.sparse import diags_array
    from scipy.sparse.linalg import eigsh

    n_items = together.shape[0]
    degree = np.asarray(together.sum(axis=1)).ravel()
    top = 2.0 * float(degree.max())
    flipped = diags_array(top - degree) + together
    if n_items < 64:
        constant = np.ones(n_items) / np.sqrt(n_items)
        shifted = np.asarray(flipped - top * np.outer(constant, constant))
        return float(max(top - np.linalg.eigvalsh(shifted).max() - EIGENVALUE_SLACK * top, 0.0))
    start = np.random.default_rng(0).standard_normal(n_items)
    values = eigsh(flipped, k=2, which="LA", v0=start, tol=1e-9, return_eigenvectors=False)
    return float(max(top - values.min() - EIGENVALUE_SLACK * top, 0.0))


# The expansion bound with a flow in addition to the eigenvalue, which together may prove more than either alone.
#
# Let items B cut the component c: some, not all, of its n items are in B. Then c is not inside B, and the items of B
# keep their shares ``(n - 2) / n`` of it, ``|B and c| (n - 2) / n`` in all. Send one unit from every item to every
# other along paths of components, at most ``(n - 2) / (n theta)`` of it from any one item into any one component. The
# flow out of B leaves it by an item of B that sends into a component cut, so ``theta |B| (N - |B|)`` is at most the
# shares kept: a multicommodity flow bounds every cut at once [LeightonRao99]_. The shares that the flow does not use
# may go straight to the other items of the component; the second eigenvalue of their Laplacian bounds that, as in
# :func:`planner._plans.lower_bounds.expansion`. Both together are a slope ``N theta + lambda_2``.

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


def bound(cover_start: IntArray, cover_item: IntArray, n_items: int, clock: Clock) -> Bound | None:
    """Bound from a flow and the second eigenvalue of its residual, for the target *double*.

    The flow uses ways of fewest components, in proportion to the products of weights along them; rounds of reweighting
    divert it from crowded slots. None if the graph is in pieces or its ways are too long. Takes ``ROUNDS`` times O(E N)
    for each step of the longest way, and the time of the eigenvalue.
    """
    if n_items > FLOW_UP_TO or not spreads(cover_start, cover_item, n_items):
        return None
    graph = slots(cover_start, cover_item, n_items)
    weight = np.ones(graph.item.size)
    best = (0.0, np.empty(0), np.empty(0))
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
    flow = n_items * theta
    words = f"{HALF_WAY.format(value)} (flow of {flow:.4f} and second eigenvalue {slope - flow:.4f})"
    return Bound(value, "flow", words, weights=tuple(best[1].tolist()))


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


# Why items cannot get the reviews that they need: counts that can be verified by hand.

REMEDY = "raise loads or limits, lower what every paper must have, or ask more people"


def why_uncovered(task: Task) -> list[str]:
    """Name the papers that need more than their possible readers can give: one by one, then together.

    Counts the readers of each paper, within the limits on panel groups, and the members of the groups that it lacks;
    then looks for papers whose readers have too small loads together, a minimum cut (Hall's condition). Empty if
    neither finds anything.
    """
    pairs = short_pairs(task)
    needs = task.needs
    give, why = _at_hand(task, pairs)
    readable = np.minimum(give, task.room)
    few = np.flatnonzero(readable < needs.each)
    reasons = []
    for i in few[:NAMED].tolist():
        limit = ", with its limit," if task.room[i] < give[i] else f", {why}," if why else ""
        reasons.append(
            f"paper {Mentions.PAPERS[i]} needs {counted(int(needs.each[i]), 'more review')}, and those "
            f"who may read it{limit} give {readable[i]}; {REMEDY}"
        )
    reasons += _without_members(task, pairs, few)
    if few.size > NAMED:
        reasons.append(f"{few.size - NAMED} more papers have too few readers")
    return reasons or _too_small_loads(task, pairs)


def _at_hand(task: Task, pairs: IntArray) -> tuple[IntArray, str]:
    """Reviews that each item can get from its readers under the tightest rule, and that rule in words."""
    best = np.bincount(pairs[:, 1], minlength=task.n_items)
    why = ""
    people = task.constraints.people
    table = task.table(no_pairs())
    if not people.limits:
        return best, why
    panels = people.panels
    free = np.maximum(people.free(table), 0)
    place, group = people.groups_of(pairs[:, 0], pairs[:, 1])
    for number, name in enumerate(people.attribute_names):
        mine = panels.attribute[group] == number
        values = np.bincount(place[mine], minlength=len(pairs))
        key, count = np.unique(pairs[place[mine], 1] * panels.n_groups + group[mine], return_counts=True)
        # A reviewer of several values takes several places: then the count proves nothing.
        if values.max(initial=0) > 1 or (count <= free.ravel()[key]).all():
            continue
        alone = np.bincount(pairs[values == 0, 1], minlength=task.n_items)
        able = np.bincount(key // panels.n_groups, np.minimum(count, free.ravel()[key]), task.n_items)
        can = alone + able.astype(int)
        if (can < best).any():
            best = np.minimum(best, can)
            limits = [
                rule.words(attribute)
                for rule, attribute in zip(people.ruled.rules, people.ruled.attributes, strict=True)
                if attribute.name == name and isinstance(rule, AtMost)
            ]
            why = " and ".join(limits)
    return best, why


def _without_members(task: Task, pairs: IntArray, named: IntArray) -> list[str]:
    """Name further papers that lack a panel group none of whose members can read them."""
    people = task.constraints.people
    needs = task.needs
    reasons = []
    place, group = people.groups_of(pairs[:, 0], pairs[:, 1])
    for member_group in np.flatnonzero(needs.members.any(axis=0)).tolist():
        able = np.bincount(pairs[place[group == member_group], 1], minlength=task.n_items)
        bare = np.setdiff1d(np.flatnonzero(able < needs.members[:, member_group]), named)
        if bare.size:
            least = int(people.panels.least[bare, member_group].max())
            reasons.append(
                f"{fewer(people, member_group, least)} {noun(least, 'has', 'have')} reviewed, or may review, "
                f"{named_papers(bare)}; name more of them, raise loads, or ask for less"
            )
    for number, name in enumerate(people.attribute_names):
        of_attribute = people.panels.attribute[group] == number
        key = np.unique(pairs[place[of_attribute], 1] * people.panels.n_groups + group[of_attribute])
        fresh = key[people.counts(task.table(no_pairs())).ravel()[key] == 0]
        able = np.bincount(fresh // max(people.panels.n_groups, 1), minlength=task.n_items)
        bare = np.setdiff1d(np.flatnonzero(able < needs.different[:, number]), named)
        if bare.size:
            least = int(people.panels.different[bare, number].max())
            reasons.append(
                f"reviewers of fewer than {least} different values of {name} have reviewed, or may review, "
                f"{named_papers(bare)}; ask more people, or for less"
            )
    return reasons


def _too_small_loads(task: Task, pairs: IntArray) -> list[str]:
    """Name papers whose readers' loads together are too small, for reviews or for a panel group alone."""
    people = task.constraints.people
    needs = task.needs
    place, group = people.groups_of(pairs[:, 0], pairs[:, 1])
    demands: list[tuple[IntArray, IntArray, Callable[[int], str]]] = []
    for member_group in np.flatnonzero(needs.members.any(axis=0)).tolist():
        kind_of_review = partial(people.ruled.kind, member_group, what="review")
        demands.append((pairs[place[group == member_group]], needs.members[:, member_group], kind_of_review))
    demands.append((pairs, needs.each, partial(noun, singular="review", many="reviews")))
    for able, needed_by_item, kind in demands:
        short, give, use = _cut(task.spare, able, needed_by_item)
        if short.size:
            needed = int(needed_by_item[short].sum())
            return [
                f"{named_papers(short)} {noun(short.size, 'needs', 'need')} {needed} {kind(needed)} in all, and those "
                f"who may give them have {give + use} within their spare loads: {needed} > {give + use}; {REMEDY}"
            ]
    return []


def _cut(spare: IntArray, pairs: IntArray, needed: IntArray) -> tuple[IntArray, int, int]:
    """Items that need more than their readers can give, the loads of full readers, and pairs with the others."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order, maximum_flow

    M = spare.size
    N = needed.size
    source = M + N
    sink = M + N + 1
    start = np.concatenate([np.full(M, source), pairs[:, 0], M + np.arange(N)])
    end = np.concatenate([np.arange(M), M + pairs[:, 1], np.full(N, sink)])
    room = np.concatenate([np.minimum(np.maximum(spare, 0), N), np.ones(len(pairs), np.int64), needed]).astype(np.int32)
    graph = csr_array((room, (start, end)), shape=(sink + 1, sink + 1))
    flow = maximum_flow(graph, source, sink)
    if flow.flow_value == int(needed.sum()):
        return np.empty(0, np.int64), 0, 0
    # Items that the source does not reach in the residual network are short together (minimum cut).
    residual = csr_array(graph - flow.flow)
    residual.data = np.maximum(residual.data, 0)
    residual.eliminate_zeros()
    reached = np.zeros(sink + 1, np.bool_)
    reached[breadth_first_order(residual, source, return_predecessors=False)] = True
    short = np.flatnonzero(~reached[M : M + N] & (needed > 0))
    give = int(room[:M][~reached[:M]].sum())
    use = int((reached[pairs[:, 0]] & ~reached[M + pairs[:, 1]]).sum())
    return short, give, use


# The exact method: an implicit hitting set.
#
# minimise    the number of reviews, then their cost, then the largest extra load
# subject to  spare loads and limits, and for every closed structure X that misses the target:
#             the reviews that leave X (whose item the reviewer's block in X does not cover) are at least r(X)
#
# with r(X) = max(1, links missing in X). A review that only brings a reviewer to the number of items that a link takes
# is lost and does not count; this is sound as long as X has none of their new reviews. The structures come from an
# oracle: solve, close the chosen reviews, stop if the target is reached, otherwise cut the structure off, and for
# *double* larger ones made from it.

#: Work per unit that CP-SAT counts on such models.
UNIT = 1.0


@dataclass
class Outcome:
    """Plan of the exact method, or none, and what is proved about it."""

    pairs: IntArray | None = None
    lower: int = 0
    infeasible: bool = False
    proved: bool = False
    rounds: int = 0


class Master:
    """Integer programme over candidate reviews, in CP-SAT.

    ``take`` are the reviews, ``links`` those that count in cuts of more than one, ``heaviest`` is the largest load, and
    ``seen`` are the cuts so far. ``lost`` has for each reviewer of few items whether their new reviews link, and how
    many of them are lost if so.
    """

    def __init__(self, oracle: Oracle) -> None:
        from ortools.sat.python import cp_model

        self.oracle = oracle
        self.task = oracle.task
        self.candidates = oracle.allowed
        self.model: Any = cp_model.CpModel()
        self.take: list[Any] = [self.model.new_bool_var("") for _ in range(len(self.candidates))]
        self.links, self.lost = list(self.take), dict[int, tuple[Any, int]]()
        self.seen: set[tuple[bytes, int]] = set()
        task = self.task
        fixed = np.bincount(self.task.constraints.fixed[:, 0], minlength=self.task.home.size)
        self.heaviest = self.model.new_int_var(0, len(self.candidates) + int(fixed.max(initial=0)), "")
        for j, group in self._groups(0):
            total = sum(group)
            self.model.add(total <= int(min(task.spare[j], len(group))))
            self.model.add(self.heaviest >= total + int(fixed[j]))
        for i, group in self._groups(1):
            self.model.add(sum(group) <= int(min(task.room[i], len(group))))
        self._meet()
        self._activate()

    def _meet(self) -> None:
        """Limit panel groups, and require what items are short of."""
        task = self.task
        people = self.task.constraints.people
        needs = self.task.needs
        members: dict[tuple[int, int], list[Any]] = {}
        place, group = people.groups_of(self.candidates[:, 0], self.candidates[:, 1])
        for k, panel_group in zip(place.tolist(), group.tolist(), strict=True):
            members.setdefault((int(self.candidates[k, 1]), panel_group), []).append(self.take[k])
        table = task.table(no_pairs())
        free = people.free(table)
        counts = people.counts(table)
        for (i, panel_group), takes in members.items():
            if free[i, panel_group] < len(takes):
                self.model.add(sum(takes) <= max(0, int(free[i, panel_group])))
        readers = dict(self._groups(1))
        for i in np.flatnonzero(needs.each).tolist():
            self.model.add(sum(readers.get(i, [])) >= int(needs.each[i]))
        for i, panel_group in np.argwhere(needs.members > 0).tolist():
            self.model.add(sum(members.get((i, panel_group), [])) >= int(needs.members[i, panel_group]))
        for i, attribute in np.argwhere(needs.different > 0).tolist():
            new = np.flatnonzero((people.panels.attribute == attribute) & (counts[i] == 0)).tolist()
            held = [self._any(members[i, panel_group]) for panel_group in new if (i, panel_group) in members]
            self.model.add(sum(held) >= int(needs.different[i, attribute]))

    def _any(self, several: list[Any]) -> Any:
        """Return a variable that may be 1 if one of several is taken."""
        variable = self.model.new_bool_var("")
        self.model.add(variable <= sum(several))
        return variable

    def _groups(self, column: int) -> list[tuple[int, list[Any]]]:
        groups: dict[int, list[Any]] = {}
        for variable, key in zip(self.take, self.candidates[:, column].tolist(), strict=True):
            groups.setdefault(key, []).append(variable)
        return list(groups.items())

    def _activate(self) -> None:
        """Reviewers of d < t items: no new review links, or at least t + 1 - d do, of which t - d are lost.

        Reviewers without links need no reviews unless items are short of reviews: then ``links`` may be fewer.
        """
        number = {variable.index: k for k, variable in enumerate(self.take)}
        threshold = self.oracle.threshold
        cover = self.task.start.sizes()[self.task.home]
        for j, group in self._groups(0):
            if not cover[j] < threshold < self.task.n_items:
                continue
            least = int(threshold + 1 - cover[j])
            if self.task.needs.total:
                # A review that links must be taken.
                taken = group
                group = [self.model.new_bool_var("") for _ in group]
                for review, link in zip(taken, group, strict=True):
                    self.model.add_implication(link, review)
                    self.links[number[review.index]] = link
            if len(group) < least:
                self.model.add(sum(group) == 0)
                continue
            active = self.model.new_bool_var("")
            self.lost[j] = (active, least - 1)
            self.model.add(sum(group) >= least * active)
            self.model.add(sum(group) <= len(group) * active)

    def demand(self, cut: Cut) -> None:
        """Require ``least`` useful reviews among those marked; the first of the reviewers ``alone`` are lost.

        Raises InternalError if a reviewer alone has new reviews inside the structure: fewer of those outside would be
        lost then, and the cut would forbid plans.
        """
        reviewer = self.candidates[:, 0].tolist()
        leaves = np.flatnonzero(cut.leaves).tolist()
        linking = cut.alone if cut.least > 1 else set()
        terms = [self.links[k] if reviewer[k] in linking else self.take[k] for k in leaves]
        inside = set(self.candidates[cut.leaves == 0, 0].tolist())
        for j, (active, lost) in self.lost.items():
            if cut.least == 1 or j not in cut.alone:
                continue
            if j in inside:
                name = type(self.oracle).__name__
                message = f"{name}: a cut counts the first {lost} reviews of reviewer {j} as lost, and holds some"
                raise InternalError(message)
            terms.append(-lost * active)
        self.model.add(sum(terms) >= cut.least)

    def cut(self, pairs: IntArray) -> None:
        """Cut off the structure that some reviews make, and larger ones.

        Raises InternalError if no cut is new: the search would never end.
        """
        before = len(self.seen)
        for cut in self.oracle.cuts(pairs):
            key = (cut.leaves.tobytes(), cut.least)
            if key not in self.seen:
                self.seen.add(key)
                self.demand(cut)
        if len(self.seen) == before:
            message = f"{type(self.oracle).__name__}: no cut forbids {len(pairs)} reviews that miss the target"
            raise InternalError(message)

    def solve(self, clock: Clock, goal: Any, hint: IntArray | None, seed: int) -> tuple[str, IntArray, int]:
        """Return the status (optimal, feasible, infeasible, unknown), the reviews taken and the bound on the goal."""
        from ortools.sat.python import cp_model

        self.model.minimize(goal)
        if hint is not None:
            self.model.clear_hints()
            chosen = set(map(tuple, hint.tolist()))
            for variable, pair in zip(self.take, self.candidates.tolist(), strict=True):
                self.model.add_hint(variable, tuple(pair) in chosen)
        solver = cp_model.CpSolver()
        solver.parameters.random_seed = seed
        status = solve_within(solver, self.model, clock, UNIT)
        if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            taken = np.array([k for k, x in enumerate(self.take) if solver.value(x)], np.int64)
            name = "optimal" if status == cp_model.OPTIMAL else "feasible"
            return name, taken, int(np.ceil(solver.best_objective_bound - 1e-6))
        return ("infeasible" if status == cp_model.INFEASIBLE else "unknown"), np.empty(0, np.int64), 0


def solve(oracle: Oracle, best: IntArray | None, lower: int, clock: Clock) -> Outcome:
    """Find the best plan and prove it, as far as time allows; ``best`` (P, 2) and ``lower`` start the search."""
    master = Master(oracle)
    outcome = Outcome(best, lower)
    count: Any = sum(master.take)
    master.model.add(count >= lower)
    master.cut(no_pairs())
    costs = oracle.task.constraints.cost
    goals: list[Any] = [count]
    if costs:
        whole = costs.whole(oracle.task.codes(oracle.allowed))
        goals.append(sum(u * x for u, x in zip(whole.tolist(), master.take, strict=True)))
    goals.append(master.heaviest)
    for level, goal in enumerate(goals):
        value = _settle_goal(master, goal, outcome, level, clock)
        if value is None:
            break
        master.model.add(goal <= value)
        outcome.proved = level >= len(goals) - 2
    return outcome


def _settle_goal(master: Master, goal: Any, outcome: Outcome, level: int, clock: Clock) -> int | None:
    """Minimise one goal; None if time runs out or no plan exists."""
    while True:
        if clock.over():
            return None
        status, taken, bound = master.solve(clock, goal, outcome.pairs, outcome.rounds)
        outcome.rounds += 1
        clock.spend(master.oracle.work)
        if status == "infeasible":
            outcome.infeasible = level == 0
        if status in ("infeasible", "unknown"):
            return None
        if level == 0:
            outcome.lower = max(outcome.lower, bound)
            if outcome.pairs is not None and outcome.lower >= len(outcome.pairs):
                return len(outcome.pairs)
        pairs = master.candidates[taken]
        if not master.oracle.reaches(pairs):
            master.cut(pairs)
            continue
        if status == "optimal" or outcome.pairs is None or (level == 0 and len(pairs) < len(outcome.pairs)):
            outcome.pairs = pairs
        return bound if status == "optimal" else None
