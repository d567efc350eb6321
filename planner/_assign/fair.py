"""Fair assignments: floors, and the worst-served papers first.

In the order of use: an upper bound on the smallest score by duality, chains of exchanges that lift one paper, the
search that lifts the worst-served ones, the exact solution of small problems, a good reviewer for every paper by a
flow, and :class:`Fair`, the stage of :class:`planner._assign.stages.Run` that puts them together.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner._assign.core import around_rivals, largest_cover
from planner._assign.findings import WORST, Fairness
from planner._assign.flow import FAR, Shortfall, Via, flip, free_of_rivals, min_cut, serves, shortfall, toll
from planner._assign.panel_programme import MOST_COUPLES, Programme, Rows, programme_of, rival_rows, sat_model
from planner._assign.panels import through
from planner._assign.problem import NO_FLOOR, VALUE_BITS, unit_of, whole_floor
from planner.solving import integer_programme, solve_within
from reviewgraph._base import TIE, ranks, reaches, snapped
from reviewgraph.graph import kernel

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner._assign.levels import Way
    from planner._assign.linking import Linker
    from planner._assign.problem import Network, Problem
    from reviewgraph._base import BoolArray, Clock, FloatArray, IntArray


# An upper bound on the smallest score, by linear programming duality, over all allowed pairs.
#
# The largest smallest score over fractional assignments is
#
# .. math::
#     \max t \quad \text{subject to} \quad g_i + \sum_{p \ni i} a_p z_p \ge t, \quad
#     \sum_{p \ni i} z_p = d_i, \quad \sum_{p \ni j} z_p \le u_j, \quad 0 \le z_p \le 1
#
# with g the sum of an item's given pairs. For any non-negative weights of items that sum to one and any non-negative
# prices of reviewers, no assignment has a smallest score above
#
# .. math::
#     \sum_i \lambda_i g_i + \sum_j \beta_j u_j + \sum_i \text{(the } d_i \text{ largest } \lambda_i a_{ij} - \beta_j)
#
# so the bound is computed from the multipliers alone, without relying on the solver.

#: Maximum number of programmes, each with the pairs of positive reduced value at the last prices.
ROUNDS = 12

#: Pairs of each item to start with, those that join in a round at most, and items up to which it is tried.
FIRST = 8
MORE = 6
MOST_ITEMS = 3_000


class Bound(NamedTuple):
    """No assignment has a smallest score above ``value``, which the weights of these items prove."""

    value: float
    items: IntArray


class _Market(NamedTuple):
    """Free pairs of served items in the order of items, open demands and loads; ``given``: sums of fixed pairs."""

    item: IntArray
    reviewer: IntArray
    affinity: FloatArray
    demand: IntArray
    load: IntArray
    given: FloatArray
    served: BoolArray


def smallest_at_most(problem: Problem, reached: float, clock: Clock) -> Bound:
    """Bound the smallest score of a served item from above; stop where the bound meets the score ``reached``.

    First every item alone: the best that it could have. Then, up to 3,000 papers, the linear programme by column
    generation.
    """
    # Free pairs, and what fixed ones leave of demands and loads.
    served = problem.served
    load = problem.open_loads()[0]
    free = np.flatnonzero(~problem.given & served[problem.item] & (load[problem.reviewer] > 0))
    given = np.zeros(problem.n_items)
    np.add.at(given, problem.item[problem.given], problem.affinity[problem.given])
    demand = np.where(served, problem.open_demand(), 0)
    market = _Market(problem.item[free], problem.reviewer[free], problem.affinity[free], demand, load, given, served)
    # The maximum of each item if all others were left out.
    affinity = snapped(market.affinity)
    taken = ranks(market.item, affinity) < demand[market.item]
    alone = given + np.bincount(market.item[taken], market.affinity[taken], demand.size)
    alone = np.where(served, alone, np.inf)
    best = Bound(float(alone[served].min(initial=np.inf)), np.array([int(np.argmin(snapped(alone)))]))
    close = TIE * float(np.abs(problem.affinity).max(initial=0.0))
    if best.value <= reached + close or int(served.sum()) > MOST_ITEMS or not market.item.size:
        return best
    columns = ranks(market.item, affinity) < FIRST + demand[market.item]
    for _ in range(ROUNDS):
        multipliers = None if clock.over() else _solve(market, np.flatnonzero(columns), clock)
        if multipliers is None:
            break
        # The bound by weights of items and prices of reviewers, up to rounding of the sums.
        weight, price = multipliers
        value = snapped(weight[market.item] * market.affinity - price[market.reviewer])
        taken = ranks(market.item, value) < demand[market.item]
        total = float(value[taken].sum() + price @ load + weight @ given)
        if not reaches(total, best.value):
            best = Bound(total, np.flatnonzero(snapped(weight, 1.0) > 0))
        # Pairs of larger value at these prices join the programme, a few per item.
        new = (ranks(market.item, value) < demand[market.item] + MORE) & (weight[market.item] > 0) & ~columns
        if best.value <= reached + close or not new.any():
            break
        columns |= new
    return best


def _solve(market: _Market, pairs: IntArray, clock: Clock) -> tuple[FloatArray, FloatArray] | None:
    """Return weights of items and prices of reviewers by the programme over some pairs; None if it is not solved."""
    from scipy.optimize import linprog
    from scipy.sparse import block_array, csr_array, hstack

    items = np.flatnonzero(market.served)
    size = pairs.size
    n = items.size
    places = (np.cumsum(market.served) - 1)[market.item[pairs]]
    one = np.ones(size)
    column = np.arange(size)
    of_items = csr_array((one, (places, column)), shape=(n, size))
    of_reviewers = csr_array((one, (market.reviewer[pairs], column)), shape=(market.load.size, size))
    # Rows: t minus the affinities of each item; the load of each reviewer. The last column is t, which is maximised.
    free = np.append(np.zeros(size), np.inf)
    solution = linprog(
        np.append(np.zeros(size), -1.0),
        A_ub=block_array([[of_items * -market.affinity[pairs], np.ones((n, 1))], [of_reviewers, None]], format="csr"),
        b_ub=np.concatenate([market.given[items], market.load]),
        A_eq=hstack([of_items, csr_array((n, 1))], format="csr"),
        b_eq=market.demand[items],
        bounds=np.column_stack([-free, np.maximum(free, 1.0)]),
        method="highs",
        options={"time_limit": clock.left()},
    )
    if solution.status != 0:
        return None
    multiplier = np.maximum(-solution.ineqlin.marginals, 0.0)
    weight = np.zeros(market.demand.size)
    weight[items] = multiplier[:n]
    total = weight.sum()
    return (weight / total, multiplier[n:] / total) if total > 0 else None


# Kernels that find a chain of exchanges which lifts one item and leaves every other above its floor.


class Chains(NamedTuple):
    """Scratch space of the search."""

    ranked: IntArray  # pairs by item, those of largest value first, shape (P,)
    came: IntArray  # the pair by which each reviewer enters a panel, shape (M,); -1 where not reached
    instead: IntArray  # the pair that leaves that panel for it, shape (M,)
    root: IntArray  # the reviewer who leaves the first panel at the start of each reviewer's chain, shape (M,)
    queue: IntArray  # reviewers reached, in their order, shape (M,)
    path: IntArray  # pairs to flip, shape (2 M,)


def chains_of(net: Network) -> Chains:
    ranked = np.lexsort((np.arange(net.value.size), -net.value, net.item)).astype(np.int64)
    none = np.full(net.n_held.size, -1, np.int64)
    return Chains(ranked, none, none.copy(), none.copy(), none.copy(), np.full(2 * max(none.size, 1), -1, np.int64))


@kernel
def on_chain(net: Network, chains: Chains, reviewer: int, item: int, start: int) -> bool:
    """Whether a chain to a reviewer has changed an item."""
    j = reviewer
    while True:
        q = chains.instead[j]
        if net.item[q] == item:
            return True
        if net.item[q] == start:
            return False
        j = net.reviewer[q]


@kernel
def follow(net: Network, chains: Chains, score: IntArray, floor: IntArray, q: int, end: int, root: int) -> int:
    """Let whoever may replace a pair's reviewer enter; return the new end of the queue, negative where a chain ends.

    A chain ends with a reviewer who has room, or with the one who left the first panel; they are last in the queue.
    """
    item = net.item[q]
    need = floor[item] - score[item] + net.value[q]
    for slot in range(net.item_start[item], net.item_start[item + 1]):
        p = chains.ranked[slot]
        if net.value[p] < need:
            break
        j = net.reviewer[p]
        if chains.came[j] >= 0 or net.assigned[p] or net.locked[p]:
            continue
        if not serves(net, item, q, p) or not free_of_rivals(net, p, q) or toll(net, item, net.reviewer[q], j) >= FAR:
            continue
        chains.came[j] = p
        chains.instead[j] = q
        chains.root[j] = root
        chains.queue[end] = j
        end += 1
        room = net.n_held[j] < net.held_start[j + 1] - net.held_start[j] and net.n_held[root] > net.least[root]
        if j == root or room:
            return -end
    return end


@kernel
def lifting_chain(net: Network, chains: Chains, score: IntArray, floor: IntArray, item: int) -> int:
    """Find a chain with the fewest exchanges after which no item is below its floor, ``item`` included.

    A reviewer enters the panel of the item for one who leaves it, gives up another paper for that, which someone else
    takes, and so on. Returns the number of pairs to flip, written to ``chains.path``; 0 if no chain was found. Breadth
    first, every reviewer entered once: O(P + E L) for P pairs, E reviews and chains of length L.
    """
    now = 0
    end = 0
    # The first exchanges: each reviewer of the item may leave it.
    for slot in range(net.panel_start[item], net.panel_start[item] + net.n_panel[item]):
        q = net.panel[slot]
        if end >= 0 and not net.locked[q]:
            end = follow(net, chains, score, floor, q, end, net.reviewer[q])
    # The next ones: whoever entered a panel gives up another paper, which no exchange before has touched.
    while 0 <= now < end:
        j = chains.queue[now]
        now += 1
        for slot in range(net.held_start[j], net.held_start[j] + net.n_held[j]):
            q = net.held[slot]
            if end >= 0 and not net.locked[q] and not on_chain(net, chains, j, net.item[q], item):
                end = follow(net, chains, score, floor, q, end, chains.root[j])
    # Back along the chain that ended; then the scratch space is reset.
    length = 0
    if end < 0:
        j = chains.queue[-end - 1]
        while True:
            q = chains.instead[j]
            chains.path[length + 1] = chains.came[j]
            chains.path[length] = q
            length += 2
            if net.item[q] == item:
                break
            j = net.reviewer[q]
    for k in range(abs(end)):
        chains.came[chains.queue[k]] = -1
    return length


# Lift the worst-served papers by chains of exchanges: no other paper falls below the one that is lifted.
#
# A lift raises the score of its paper, and every other one keeps its score, or stays above the old score of the lifted
# one. So the sorted scores rise lexicographically, and since they are whole numbers the search ends. It changes one
# place of each panel at a time, so the end is a local optimum; :func:`smallest_at_most` bounds its distance from the
# best.

#: The minimum lift, in whole units: a millionth of the largest affinity.
STEP = 1 << (VALUE_BITS - 20)

#: Above every sum of affinities.
NO_CEILING = -NO_FLOOR

#: Rounds over papers that could not be lifted before others were.
LIFTING_ROUNDS = 5

#: Lifts between two reports of progress.
REPORTED = 100


def panel_scores(net: Network) -> IntArray:
    """Return the sum of the values of each item's reviewers, shape (N,); below 2**53, so float sums are exact."""
    assigned = np.flatnonzero(net.assigned)
    sums = np.bincount(net.item[assigned], net.value[assigned].astype(np.float64), net.item_start.size - 1)
    return sums.astype(np.int64)


@dataclass
class Lifting:
    """Lifts of the worst-served items."""

    linker: Linker  # the assignment, and its cheapest cycles
    counted: BoolArray  # items that are served, shape (N,); the others neither rise nor are protected
    reach: IntArray  # most that each item can reach, shape (N,)
    say: Callable[[int], object] = lambda count: None  # called with the number of lifts, now and then

    def __post_init__(self) -> None:
        self.score = panel_scores(self.linker.net)
        self.chains = chains_of(self.linker.net)
        self.lifts = 0

    def run(self, ceiling: int = NO_CEILING, keep: int = NO_FLOOR) -> None:
        """Lift items below a ceiling, the worst first, until none can be or time is up.

        Items at ``keep`` or above stay there, and those below lose nothing.
        """
        waiting = np.flatnonzero(self.counted)
        for _ in range(LIFTING_ROUNDS):
            lifts = self.lifts
            # Lifts of some items may have made room for others.
            waiting = self._round(waiting, ceiling, keep)
            if self.lifts == lifts or not waiting.size or self.linker.clock.over():
                break

    def _round(self, waiting: IntArray, ceiling: int, keep: int) -> IntArray:
        """Lift from the lowest score up; return the items that could not be lifted."""
        queue = [(int(self.score[i]), int(i)) for i in waiting]
        heapq.heapify(queue)
        stuck = np.zeros(self.counted.size, np.bool_)
        while queue and not self.linker.clock.over():
            score, item = heapq.heappop(queue)
            # An entry counts while it holds the item's present score.
            if score != self.score[item] or stuck[item] or score >= min(ceiling, self.reach[item] - STEP + 1):
                continue
            changed = self._lift(item, keep)
            stuck[item] = not changed.size
            for other in changed[self.counted[changed]].tolist():
                heapq.heappush(queue, (int(self.score[other]), other))
        return np.flatnonzero(stuck)

    def _lift(self, item: int, keep: int) -> IntArray:
        """Lift an item by the fewest exchanges; return the items that changed."""
        net = self.linker.net
        least = int(self.score[item]) + STEP
        floor = np.where(self.counted, np.minimum(self.score, max(least, keep)), NO_FLOOR)
        floor[item] = least
        # Where two rivals would come in together, another chain is tried.
        chains = self.chains
        pairs = around_rivals(net, lambda: chains.path[: lifting_chain(net, chains, self.score, floor, item)].copy())
        flip(net, pairs)
        np.add.at(self.score, net.item[pairs], np.where(net.assigned[pairs], net.value[pairs], -net.value[pairs]))
        self.lifts += pairs.size > 0
        if pairs.size and self.lifts % REPORTED == 0:
            self.say(self.lifts)
        return np.unique(net.item[pairs])


def reach_of(net: Network, demand: IntArray) -> IntArray:
    """Return the maximum score of each item alone: its locked pairs and the best of the others, shape (N,)."""
    given = net.locked & net.assigned
    free = np.flatnonzero(~net.locked)
    lack = demand - np.bincount(net.item[given], minlength=demand.size)
    taken = free[ranks(net.item[free], net.value[free]) < lack[net.item[free]]]
    best = np.concatenate([np.flatnonzero(given), taken])
    sums = np.bincount(net.item[best], net.value[best].astype(np.float64), demand.size)
    return sums.astype(np.int64)


# The fairest assignment of a small problem: one integer programme for each place of the sorted scores, solved twice.
#
# Given the k - 1 smallest scores, the k-th is the largest t such that at most k - 1 papers stay below t, while at most
# as many stay below each smaller score as before. One solver works in whole numbers (CP-SAT); the other one (HiGHS), of
# another kind, must find no larger t, or nothing counts as proved.

#: Maximum number of pairs and papers: most such programmes take some hundredths of a second.
SMALL_PAIRS = 300
SMALL_ITEMS = 30

#: Bits of the largest affinity that count, and units by which solvers may differ: HiGHS obeys rows to a millionth.
BITS = 20
AGREED = 16

#: Units by which HiGHS may fall short of a score: it has called rows met to the last bit infeasible.
SLACK = 4

#: Work of CP-SAT and of HiGHS for one programme.
WORK = 40.0
CHECK = 10.0

#: No upper limit on a row.
_FAR = 1 << 60

_NONE = np.empty(0, np.int64)


class _Small(NamedTuple):
    """A programme over all free pairs, their values, and the open places and given sum of each served item."""

    programme: Programme
    value: IntArray
    items: IntArray
    row: IntArray
    given: IntArray
    open: IntArray


def small(problem: Problem) -> bool:
    """Whether exact solutions are tried."""
    return problem.item.size <= SMALL_PAIRS and problem.n_items <= SMALL_ITEMS


def leximin(problem: Problem, clock: Clock) -> tuple[BoolArray | None, bool]:
    """Find the assignment of lexicographically largest sorted scores, to a millionth of the largest affinity.

    Returns its pairs, None if not found, and whether two solvers agree that there is none better.
    """
    reduced = _small(problem)
    chosen: BoolArray | None = None
    if reduced is None or not reduced.items.size:
        return None, False
    scores: list[tuple[int, int]] = []
    proved = True
    for below in range(reduced.items.size):
        programme = _next_score(reduced, scores, below)
        solution, sure = _solved(programme, clock)
        if solution is None or clock.over():
            return chosen, False
        proved = proved and sure and _agreed(programme, int(solution[-1]), clock)
        score = int(solution[-1] + _range(reduced)[0].min())
        chosen = programme.assigned(solution > 0, problem.given)
        if not scores or scores[-1][0] != score:
            scores.append((score, below))
    return chosen, proved


def with_floor(problem: Problem, floor: float, clock: Clock) -> tuple[BoolArray | None, bool]:
    """Find the assignment of most worth, rewards included, in which no served item's score is below a floor.

    Returns its pairs, None if there are none, and whether two solvers agree that there are none.
    """
    reduced = _small(problem)
    if reduced is None:
        return None, False
    least = int(np.floor(floor / _unit(problem))) - int(problem.demand.max())
    # Maximise the worth with no score below the floor.
    counted = np.flatnonzero(reduced.row >= 0)
    far = np.full(reduced.items.size, _FAR)
    rows = Rows(reduced.row[counted], counted, least - reduced.given, far, reduced.value[counted])
    programme = reduced.programme.under(rows)
    programme = programme._replace(value=np.rint(programme.value / _unit(problem)))
    solution, sure = _solved(programme, clock)
    if solution is not None:
        return programme.assigned(solution > 0, problem.given), False
    return None, sure and _agreed(programme, None, clock)


def _unit(problem: Problem) -> float:
    return unit_of(problem.affinity) * 2.0 ** (VALUE_BITS - BITS)


def _small(problem: Problem) -> _Small | None:
    programme = programme_of(problem, problem.given, np.ones(problem.n_items, np.bool_))
    if programme is None:
        return None
    coarse = np.rint(problem.affinity / _unit(problem)).astype(np.int64)
    items = np.flatnonzero(problem.served)
    row = np.where(problem.served, np.cumsum(problem.served) - 1, -1)
    given = np.zeros(problem.n_items, np.int64)
    np.add.at(given, problem.item[problem.given], coarse[problem.given])
    rows = row[problem.item[programme.pairs]]
    places = problem.open_demand()[items]
    # All couples, even where the programme has none written down; given pairs have no rivals.
    couples = problem.rivals.couples_among(np.ones(problem.item.size, np.bool_))
    if len(couples) > MOST_COUPLES:
        programme = programme.under(rival_rows(programme.pairs, couples))
    return _Small(programme, coarse[programme.pairs], items, rows, given[items], places)


def _range(reduced: _Small) -> tuple[IntArray, int]:
    """Return the least score that each item could have if all others were left out, and the largest of any."""
    down = reduced.given.copy()
    up = reduced.given.copy()
    for item in range(reduced.items.size):
        value = np.sort(reduced.value[reduced.row == item])
        down[item] += value[: reduced.open[item]].sum()
        up[item] += value[value.size - reduced.open[item] :].sum()
    return down, int(up.max())


def _next_score(reduced: _Small, scores: list[tuple[int, int]], below: int) -> Programme:
    """Maximise the score t that at most ``below`` items miss; t, the last column, counts from the least possible."""
    n = reduced.items.size
    first = reduced.programme.value.size
    counted = np.flatnonzero(reduced.row >= 0)
    everyone = np.arange(n)
    row = reduced.row[counted]
    value = reduced.value[counted]
    down, up = _range(reduced)
    last = first + n * (len(scores) + 1)
    far = np.full(n, _FAR)
    rows = list(reduced.programme.rows)

    def add(score: IntArray, slack: IntArray, count: int, more: tuple[IntArray, IntArray, IntArray]) -> None:
        """Require a score of each item, ``slack`` less of at most ``count`` of them, which further columns mark."""
        marks = first + everyone
        members = (row, counted, value), (everyone, marks, slack), more
        line, column, weight = (np.concatenate(part) for part in zip(*members, strict=True))
        rows.append(Rows(line, column, score - reduced.given, far, weight))
        rows.append(Rows(np.zeros_like(marks), marks, np.array([0]), np.array([count]), np.ones_like(marks)))

    for score, count in scores:
        add(np.full(n, score), np.maximum(score - down, 0), count, (_NONE, _NONE, _NONE))
        first += n
    add(np.full(n, down.min()), up - down, below, (everyone, np.full(n, last), np.full(n, -1)))
    most = np.ones(last + 1, np.int64)
    goal = np.zeros(last + 1)
    most[last] = up - down.min()
    goal[last] = 1
    return reduced.programme._replace(rows=tuple(rows), value=goal, most=most)


def _solved(programme: Programme, clock: Clock) -> tuple[IntArray | None, bool]:
    """Solve in whole numbers (CP-SAT); returns the solution, and whether it is optimal, or infeasibility certain."""
    from ortools.sat.python import cp_model

    model, columns = sat_model(programme)
    model.maximize(sum(int(programme.value[k]) * columns[k] for k in np.flatnonzero(programme.value)))
    solver = cp_model.CpSolver()
    status = solve_within(solver, model, clock.effort(WORK))
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return np.array([solver.value(column) for column in columns], np.int64), status == cp_model.OPTIMAL
    return None, status == cp_model.INFEASIBLE


def _agreed(programme: Programme, best: int | None, clock: Clock) -> bool:
    """Whether a second solver (HiGHS) finds nothing better either, or nothing at all if there is to be no solution.

    It solves a slight relaxation, so that its bound is valid.
    """
    from scipy.optimize import Bounds, LinearConstraint
    from scipy.sparse import diags_array

    matrix, low, high = programme.matrix()
    most = np.ones(programme.value.size) if programme.most is None else programme.most
    # Relative to the largest affinity, so that its tolerances are small beside values; t is not whole then.
    unit = 2.0**-BITS
    row = np.where(abs(matrix).max(axis=1).toarray().ravel() > 1, unit, 1.0)
    column = np.where(most > 1, 2.0**BITS, 1.0)
    result = integer_programme(
        -unit * column * programme.value,
        clock.effort(CHECK),
        gap=0.0,
        integrality=(most == 1).astype(int),
        bounds=Bounds(0, most / column),
        constraints=LinearConstraint(
            diags_array(row) @ matrix @ diags_array(column),
            row * low - np.where(row < 1, SLACK * unit, 0.0),
            np.where(high >= _FAR, np.inf, row * high),
        ),
    )
    if best is None:
        return bool(result.status == 2)
    return bool(result.status == 0 and -result.fun / unit <= best + AGREED)


# Which pairs a guard on papers' scores leaves.


def allowed(net: Network, guard: IntArray, demand: IntArray) -> BoolArray:
    """Return the pairs that keep their item at its guard if the rest of its panel is the best possible, shape (P,)."""
    one_less = np.maximum(demand - 1, np.bincount(net.item[net.locked & net.assigned], minlength=demand.size))
    rest = reach_of(net, np.minimum(one_less, demand))
    return np.asarray(net.assigned | (net.value + rest[net.item] >= guard[net.item]), np.bool_)


# A good reviewer for every paper: a flow with a node between each paper and the reviewers above the floor.


def sole(problem: Problem, chosen: BoolArray) -> BoolArray:
    """Return the pairs that are an item's only one at the floor for the best reviewer, shape (P,)."""
    if problem.floors.best is None:
        return np.zeros(chosen.size, np.bool_)
    good = chosen & problem.strong
    count = np.bincount(problem.item[good], minlength=problem.n_items)
    return np.asarray(good & (count == 1)[problem.item])


def best_with_good(problem: Problem, cost: IntArray) -> BoolArray | None:
    """Return the pairs of least cost with a good reviewer on every paper, exactly; None if there are none."""
    free = np.flatnonzero(~problem.given)
    wanted = problem.wanting
    items = np.flatnonzero(wanted)
    number = np.where(wanted, np.cumsum(wanted) - 1, -1)
    node = np.where(problem.strong[free], number[problem.item[free]], -1)
    demand = problem.open_demand()
    if (demand[items] < 1).any():
        return None
    nothing = np.zeros(items.size, np.int64)
    via = Via(node, items, nothing + 1, demand[items], nothing)
    return through(problem, free, cost[free], via)


def too_few_good(problem: Problem) -> Shortfall | None:
    """Return papers with too few good reviewers, whatever else they need: a cut of the flow of good pairs."""
    load, _ = problem.open_loads()
    pairs = np.flatnonzero(problem.strong & ~problem.given & (load[problem.reviewer] > 0))
    wanted = problem.wanting.astype(np.int64)
    return shortfall(problem.item[pairs], problem.reviewer[pairs], wanted, load, np.zeros_like(load))


def too_few_places(problem: Problem) -> Shortfall | None:
    """Return papers whose good places, and others (``rest``) whose other places, need more than reviewers can give."""
    free = np.flatnonzero(~problem.given)
    wanted = problem.wanting
    (load, _) = problem.open_loads()
    item = problem.item[free]
    person = problem.reviewer[free]
    n = problem.n_items
    m = problem.n_reviewers
    # Nodes: items, their good places, reviewers, source, sink. Beyond the first, good reviewers fill other places, too.
    items = np.arange(n)
    source = 2 * n + m
    rest = np.maximum(problem.open_demand() - wanted, 0)
    place = np.where(problem.strong[free] & wanted[item], n + item, item)
    arcs = (
        (np.full(n, source), items, rest),
        (np.full(n, source), n + items, wanted.astype(np.int64)),
        (items, n + items, np.where(wanted, rest, 0)),
        (place, 2 * n + person, np.ones(free.size, np.int64)),
        (2 * n + np.arange(m), np.full(m, source + 1), load),
    )
    inside = min_cut(arcs, source + 2, int(rest.sum() + wanted.sum()))
    if inside is None:
        return None
    good = np.flatnonzero(inside[n : 2 * n] & wanted)
    others = np.flatnonzero(inside[:n] & (rest > 0))
    people = np.flatnonzero(inside[2 * n : source])
    pairs = int((inside[place] & ~inside[2 * n + person]).sum())
    needed = int(good.size + rest[others].sum())
    return Shortfall(True, good, people, needed, int(load[people].sum()), pairs, others)


# The stage that serves papers fairly, between the best affinity and the level, and guards that afterwards.
#
# The level may need a review of a paper that is served badly. So the search for it runs under guards, the strictest
# first, without those that are proved to put the level out of reach:
#
# 1. The worst-served tenth lose nothing, and no other paper falls among them.
# 2. No paper falls below the smallest score.
# 3. No paper falls further below it than by a part of the spread of affinities, which grows.
# 4. Only the floor is kept: papers at the floor stay there, those below it lose nothing.
#
# Once the level holds no paper loses anything more, where a fair assignment was requested.

#: Parts of the spread of affinities by which papers may fall where the level needs it.
LOWER = (0.06, 0.12, 0.25, 0.5, 1.0)


@dataclass
class Fair:
    """The stage that serves papers fairly."""

    problem: Problem
    way: Way | None  # the criterion in addition to the floors, if any
    say: Callable[[str], object]  # called with a description of the current step
    # Results of the stage: an upper bound on the smallest score; papers none of which can reach the floor;
    # whether the floor is proved out of reach; whether the sorted scores before the level are proved the best possible;
    # the affinity given up; and the guards under which the level was sought, the strictest first, shape (N,) each.
    bound: Bound | None = None
    cannot: tuple[int, ...] = ()
    impossible: bool = False
    proved: bool = False
    lost: float = 0.0
    guards: list[IntArray] = field(default_factory=list)

    def serve(self, linker: Linker, best: BoolArray) -> None:
        """Make an assignment fair, or prove that a floor is impossible; ``best`` is the assignment of most affinity."""
        net = linker.net
        problem = self.problem
        self.before = panel_scores(problem.network(best))
        served = problem.served
        if not served.any():
            return
        # A floor above what some paper could have if all others were left out.
        self.say("the worst-served papers")
        reach = reach_of(net, problem.demand)
        self.cannot = tuple(np.flatnonzero(served & (reach < self.floor)).tolist())
        self.impossible = bool(self.cannot)
        if self.impossible:
            return
        # Exactly where that is possible, else by chains of exchanges.
        scored = self.way is not None or problem.floors.total is not None
        if scored and not (small(problem) and self._exactly(linker)):
            lifting = Lifting(linker, served, reach, lambda lifts: self.say(f"the worst-served papers: {lifts} lifted"))
            lifting.run(*([self.floor, self.floor] if self.way is None else []))
        linker.core.regroup()
        self.lost = float(problem.affinity[best].sum() - problem.affinity[net.assigned].sum())
        if scored:
            # Bound the smallest score, which may rule out a floor that was not reached.
            unit = unit_of(problem.affinity)
            smallest = int(panel_scores(net)[served].min())
            self.say("what the worst-served paper can have at most")
            self.bound = smallest_at_most(problem, unit * smallest, linker.clock)
            self.impossible |= smallest < self.floor and (self.proved or self.bound.value < unit * self.floor)

    def link(self, linker: Linker) -> bool:
        """Bring a fair assignment to the level, under the strictest guard that allows it."""
        net = linker.net
        net.floored[0] = True
        self.guards = self._guards(panel_scores(net))
        for guard in self.guards:
            net.floor[:] = guard
            barred = ~net.locked & ~net.assigned & ~allowed(net, guard, self.problem.demand)
            net.locked[barred] = True
            # One group must cover all papers if every pair that is not locked were assigned: else it is proved that
            # the level is out of reach, where one group decides.
            core = linker.core
            pairs = np.flatnonzero(net.assigned | ~net.locked)
            most = largest_cover(core.aim, core.table(pairs), core.required) if core.aim.core_decides else core.total
            reached = most >= core.total and linker.link()
            net.locked[barred] = False
            if reached:
                self.keep(net)
            if reached or linker.clock.over():
                return reached
        return False

    def keep(self, net: Network) -> None:
        """Let no paper lose anything from here on, where a fair assignment is requested."""
        if self.way is not None:
            net.floor[:] = np.where(self.problem.served, panel_scores(net), NO_FLOOR)

    def result(self, assigned: BoolArray) -> Fairness:
        problem = self.problem
        unit = unit_of(problem.affinity)
        served = problem.served
        after = panel_scores(problem.network(assigned))
        below = np.flatnonzero(served & (after < self.floor))
        first, worst = _lowest(self.before[served])
        last, better = _lowest(after[served])
        return Fairness(
            way=self.way.name if self.way else "",
            floors=problem.floors,
            smallest=(unit * first, unit * last),
            worst_tenth=(unit * worst, unit * better),
            at_most=None if self.bound is None else max(self.bound.value, unit * last),
            proved=self.proved,
            lost=self.lost,
            below=tuple(problem.items[int(i)] for i in below),
        )

    @cached_property
    def floor(self) -> int:
        """The floor on scores in whole units."""
        problem = self.problem
        return whole_floor(problem.floors.total, problem.affinity, int(problem.demand.max(initial=0)))

    def _exactly(self, linker: Linker) -> bool:
        """Use the solution of an integer programme, if there is one; true if nothing remains to be done."""
        problem = self.problem
        if self.way is not None:
            chosen, self.proved = leximin(problem, linker.clock)
        elif problem.floors.total is not None:
            chosen, self.impossible = with_floor(problem, problem.floors.total, linker.clock)
        if chosen is not None:
            flip(linker.net, np.flatnonzero(chosen != linker.net.assigned))
        return chosen is not None or self.impossible

    def _guards(self, score: IntArray) -> list[IntArray]:
        """Return lower bounds on the scores while the level is sought, the strictest first, shape (N,) each."""
        problem = self.problem
        if not problem.served.any():
            return [np.full(score.size, NO_FLOOR)]
        low = np.sort(score[problem.served])
        tenth = int(low[_worst(low.size) - 1])
        floor = self.floor
        spread = float(np.ptp(problem.affinity)) / unit_of(problem.affinity)
        steps = [int(low[0]) - round(part * spread) for part in LOWER]
        caps = [max(cap, floor) for cap in (tenth, int(low[0]), *steps, floor)] if self.way is not None else [floor]
        return [np.where(problem.served, np.minimum(score, cap), NO_FLOOR) for cap in caps]


def _worst(size: int) -> int:
    return max(1, round(WORST * size))


def _lowest(score: IntArray) -> tuple[float, float]:
    """Return the smallest score, and the mean of the lowest tenth; NaN without scores."""
    low = np.sort(score)[: _worst(score.size)]
    return (float(low[0]), float(low.mean())) if low.size else (float("nan"), float("nan"))
