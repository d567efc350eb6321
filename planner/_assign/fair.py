"""Fair assignments: floors, and the worst-served papers first.

In the order of use: an upper bound on the smallest score by duality,
chains of exchanges that lift one paper, the search that lifts the worst-served ones, a good reviewer for every paper by
a flow, and :class:`Fair`, the stage of :class:`planner._assign.stages.Run` that puts them together.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner._assign.constraints import NO_FLOOR, VALUE_BITS, unit_of, whole_floor
from planner._assign.core import around_rivals, largest_cover
from planner._assign.findings import WORST, Fairness
from planner._assign.flow import FAR, Via, flip, free_of_rivals, serves, shortfall, toll
from planner._assign.leximin import small, with_floor
from planner._assign.panels import through
from reviewgraph._base import ranks
from reviewgraph.graph import kernel
from reviewgraph.table import Reviews

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner._assign.core import Core
    from planner._assign.flow import Shortfall
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

#: Pairs per item to start with, maximum that join per round, and maximum items.

#: Pairs of each item to start with, those that join in a round at most, and items up to which it is tried.
FIRST, MORE, MOST_ITEMS = 8, 6, 3_000

#: Tolerance, relative to the largest affinity, within which the bound counts as reached.
CLOSE = 1e-9


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
    served, load = problem.served, problem.open_loads()[0]
    free = np.flatnonzero(~problem.given & served[problem.item] & (load[problem.reviewer] > 0))
    given = np.zeros(problem.n_items)
    np.add.at(given, problem.item[problem.given], problem.affinity[problem.given])
    demand = np.where(served, problem.open_demand(), 0)
    market = _Market(problem.item[free], problem.reviewer[free], problem.affinity[free], demand, load, given, served)
    # The maximum of each item if all others were left out.
    taken = ranks(market.item, market.affinity) < demand[market.item]
    alone = given + np.bincount(market.item[taken], market.affinity[taken], demand.size)
    alone = np.where(served, alone, np.inf)
    best = Bound(float(alone[served].min(initial=np.inf)), np.array([int(np.argmin(alone))]))
    close = CLOSE * float(np.abs(problem.affinity).max(initial=0.0))
    if best.value <= reached + close or int(served.sum()) > MOST_ITEMS or not market.item.size:
        return best
    columns = ranks(market.item, market.affinity) < FIRST + demand[market.item]
    for _ in range(ROUNDS):
        multipliers = None if clock.over() else _solve(market, np.flatnonzero(columns), clock)
        if multipliers is None:
            break
        # The bound by weights of items and prices of reviewers, up to rounding of the sums.
        weight, price = multipliers
        value = weight[market.item] * market.affinity - price[market.reviewer]
        taken = ranks(market.item, value) < demand[market.item]
        total = float(value[taken].sum() + price @ load + weight @ given)
        best = min(best, Bound(total, np.flatnonzero(weight > 0)), key=lambda bound: bound.value)
        # Pairs of larger value at these prices join the programme, a few per item.
        new = (ranks(market.item, value) < demand[market.item] + MORE) & (weight[market.item] > 0) & ~columns
        if best.value <= reached + close or not new.any():
            break
        columns |= new
    return best


def _solve(market: _Market, pairs: IntArray, clock: Clock) -> tuple[FloatArray, FloatArray] | None:
    """Return weights of items and prices of reviewers by the programme over some pairs; None if it is not solved."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    items = np.flatnonzero(market.served)
    row = np.cumsum(market.served) - 1
    n, m, size = items.size, market.load.size, pairs.size
    item, reviewer, affinity = row[market.item[pairs]], market.reviewer[pairs], market.affinity[pairs]
    column, one = np.arange(size), np.ones(size)
    # Rows: t minus the affinities of each item; the load of each reviewer.
    upper = coo_array(
        (
            np.concatenate([-affinity, np.ones(n), one]),
            (np.concatenate([item, np.arange(n), n + reviewer]), np.concatenate([column, np.full(n, size), column])),
        ),
        shape=(n + m, size + 1),
    )
    equal = coo_array((one, (item, column)), shape=(n, size + 1))
    goal = np.zeros(size + 1)
    goal[size] = -1.0
    solution = linprog(
        goal,
        A_ub=upper.tocsr(),
        b_ub=np.concatenate([market.given[items], market.load]),
        A_eq=equal.tocsr(),
        b_eq=market.demand[items],
        bounds=np.column_stack([np.append(np.zeros(size), -np.inf), np.append(np.ones(size), np.inf)]),
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
    """Return scratch space for a network."""
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
        chains.came[j], chains.instead[j], chains.root[j] = p, q, root
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
    now, end = 0, 0
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
            chains.path[length], chains.path[length + 1] = q, chains.came[j]
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


# Which pairs a guard on papers' scores leaves, and whether the level is within reach of these.


def allowed(net: Network, guard: IntArray, demand: IntArray) -> BoolArray:
    """Return the pairs that keep their item at its guard if the rest of its panel is the best possible, shape (P,)."""
    one_less = np.maximum(demand - 1, np.bincount(net.item[net.locked & net.assigned], minlength=demand.size))
    rest = reach_of(net, np.minimum(one_less, demand))
    return np.asarray(net.assigned | (net.value + rest[net.item] >= guard[net.item]), np.bool_)


def within_reach(core: Core) -> bool:
    """Whether one group would cover all papers if every pair that is not locked were assigned.

    False is a proof that the level is out of reach of these pairs, where the level is decided by one group.
    """
    net = core.net
    if not core.aim.core_decides:
        return True
    pairs = np.flatnonzero(net.assigned | ~net.locked)
    table = Reviews.from_codes(
        net.reviewer[pairs], net.item[pairs], reviewers=net.n_held.size, items=net.item_start.size - 1
    )
    return largest_cover(core.aim, table, core.required) >= core.total


# A good reviewer for every paper: a flow with a node between each paper and the reviewers above the floor.


class Places(NamedTuple):
    """A proof by counting that not every paper can have a good reviewer in addition to its other ones.

    Good places of ``good`` and the other places of ``rest``, items both, need ``needed`` reviews; ``reviewers`` can
    give ``supply`` of them, and there are ``pairs`` further pairs.
    """

    good: IntArray
    rest: IntArray
    reviewers: IntArray
    needed: int
    supply: int
    pairs: int


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


def too_few_places(problem: Problem) -> Places | None:
    """Return places, good and others, that need more than their reviewers can give: a cut of the whole flow."""
    from ortools.graph.python import max_flow

    free = np.flatnonzero(~problem.given)
    wanted, (load, _) = problem.wanting, problem.open_loads()
    item, person = problem.item[free], problem.reviewer[free]
    n, m = problem.n_items, problem.n_reviewers
    # Nodes: items, their good places, reviewers, source, sink. Beyond the first, good reviewers fill other places, too.
    source, sink = 2 * n + m, 2 * n + m + 1
    rest = np.maximum(problem.open_demand() - wanted, 0)
    good = problem.strong[free] & wanted[item]
    flow = max_flow.SimpleMaxFlow()
    flow.add_arcs_with_capacity(np.full(n, source), np.arange(n), rest)
    flow.add_arcs_with_capacity(np.full(n, source), n + np.arange(n), wanted.astype(np.int64))
    flow.add_arcs_with_capacity(np.arange(n), n + np.arange(n), np.where(wanted, rest, 0))
    flow.add_arcs_with_capacity(np.where(good, n + item, item), 2 * n + person, np.ones(free.size, np.int64))
    flow.add_arcs_with_capacity(2 * n + np.arange(m), np.full(m, sink), load)
    flow.solve(source, sink)
    if flow.optimal_flow() == int(rest.sum() + wanted.sum()):
        return None
    inside = np.zeros(sink + 1, np.bool_)
    inside[flow.get_source_side_min_cut()] = True
    goods, others = np.flatnonzero(inside[n : 2 * n] & wanted), np.flatnonzero(inside[:n] & (rest > 0))
    people = np.flatnonzero(inside[2 * n : source])
    crossing = inside[np.where(good, n + item, item)] & ~inside[2 * n + person]
    supply, needed = int(load[people].sum()), int(goods.size + rest[others].sum())
    return Places(goods, others, people, needed, supply, int(crossing.sum()))


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
# Once the level holds no paper loses anything more, where a fair assignment was requested: exchanges for smaller errors
# are made only where both papers keep their scores.

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
        net, problem = linker.net, self.problem
        self.before, served = panel_scores(problem.network(best)), problem.served
        if not served.any():
            return
        self.say("the worst-served papers")
        lifting = Lifting(
            linker,
            served,
            reach_of(net, problem.demand),
            lambda lifts: self.say(f"the worst-served papers: {lifts} lifted"),
        )
        self.cannot = tuple(np.flatnonzero(served & (lifting.reach < self._floor())).tolist())
        self.impossible = bool(self.cannot)
        if self.impossible:
            return
        if not (small(problem) and self._exactly(linker)):
            if self.way is not None:
                self.way.lift(lifting)
            elif problem.floors.total is not None:
                lifting.run(self._floor(), self._floor())
        linker.core.regroup()
        self.lost = float(problem.affinity[best].sum() - problem.affinity[net.assigned].sum())
        if self.way is not None or problem.floors.total is not None:
            # Bound the smallest score, which may rule out a floor that was not reached.
            unit, score = unit_of(problem.affinity), panel_scores(net)
            smallest, floor = int(score[served].min()), self._floor()
            self.say("what the worst-served paper can have at most")
            self.bound = smallest_at_most(problem, unit * smallest, linker.clock)
            self.impossible |= smallest < floor and (self.proved or self.bound.value < unit * floor)

    def link(self, linker: Linker) -> bool:
        """Bring a fair assignment to the level, under the strictest guard that allows it."""
        net = linker.net
        net.floored[0] = True
        self.guards = self._guards(panel_scores(net))
        for guard in self.guards:
            net.floor[:] = guard
            barred = ~net.locked & ~net.assigned & ~allowed(net, guard, self.problem.demand)
            net.locked[barred] = True
            reached = within_reach(linker.core) and linker.link()
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
        """Sum up an assignment."""
        problem = self.problem
        unit, served = unit_of(problem.affinity), problem.served
        after = panel_scores(problem.network(assigned))
        below = np.flatnonzero(served & (after < self._floor()))
        (first, worst), (last, better) = (_lowest(score[served]) for score in (self.before, after))
        return Fairness(
            self.way.name if self.way else "",
            problem.floors,
            (unit * first, unit * last),
            (unit * worst, unit * better),
            None if self.bound is None else max(self.bound.value, unit * last),
            self.proved,
            self.lost,
            tuple(problem.items[int(i)] for i in below),
        )

    def _floor(self) -> int:
        problem = self.problem
        return whole_floor(problem.floors.total, problem.affinity, int(problem.demand.max(initial=0)))

    def _exactly(self, linker: Linker) -> bool:
        """Use the solution of an integer programme, if there is one; true if nothing remains to be done."""
        problem, total = self.problem, self.problem.floors.total
        if self.way is not None:
            chosen, self.proved = self.way.exactly(problem, linker.clock)
        elif total is not None:
            chosen, self.impossible = with_floor(problem, total, linker.clock)
        else:
            return True
        if chosen is not None:
            flip(linker.net, np.flatnonzero(chosen != linker.net.assigned))
        return chosen is not None or self.impossible

    def _guards(self, score: IntArray) -> list[IntArray]:
        """Return lower bounds on the scores while the level is sought, the strictest first, shape (N,) each."""
        problem = self.problem
        if not problem.served.any():
            return [np.full(score.size, NO_FLOOR)]
        low = np.sort(score[problem.served])
        tenth, floor = int(low[_worst(low.size) - 1]), self._floor()
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
