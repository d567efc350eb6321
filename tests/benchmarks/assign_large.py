"""Assignments of real sizes against a flow and linear programmes: affinity lost, seconds and memory.

``python -m tests.benchmarks.assign_large [ROW ...] --data FOLDER`` measures each row in a process of its own, the
product first and then what it is compared with, which is written here and shares nothing with it. FOLDER has
``midl-scores.npy``, which is ``data/midl/scores.npy`` of ``iesl/fair-matching``, and ``preflib3.in`` of
``YixuanEvenXu/perturbed-maximization``; rows of other instances need none.

Lost is affinity in percent of the best without a level: by a flow of OR-tools where there are no rules, else by a
linear programme with priced columns and lazy rows. Seconds are of the processor, peak is the memory of the process
before the comparison begins. An assignment that breaks a demand, load or rule, or misses its level, ends the command
with status 1.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from reviewgraph import Search

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

ROOT = Path(__file__).parents[2]
#: Topics of papers and reviewers, institutions, and share of senior reviewers.
TOPICS = 25
INSTITUTIONS = 60
SENIOR = 0.3
#: Share of pairs in conflict.
CONFLICTS = 0.02


class Market(NamedTuple):
    """Pairs with affinities, demand and load, and institutions and seniority of reviewers."""

    reviewer: Ints
    item: Ints
    affinity: Floats
    n_reviewers: int
    n_items: int
    demand: int
    load: int
    institution: Ints
    senior: Flags


# Instances.


def topics(
    n_items: int,
    n_reviewers: int,
    candidates: int,
    seed: int,
    sizes: tuple[int, int],
    *,
    communities: bool = False,
    senior: float = SENIOR,
) -> Market:
    """Return similarities of mixtures of topics, the best ``candidates`` of each paper, but for conflicts.

    Of two communities no pair across has any affinity.
    """
    rng = np.random.default_rng(seed)
    papers = rng.dirichlet(np.full(TOPICS, 0.15), n_items)
    people = rng.dirichlet(np.full(TOPICS, 0.15), n_reviewers)
    similarity = people @ papers.T
    similarity = np.sqrt(similarity / similarity.max()) * 0.9 + 0.1 * rng.random((n_reviewers, n_items))
    if communities:
        same = (np.arange(n_reviewers) % 2)[:, None] == (np.arange(n_items) % 2)[None]
        similarity = np.where(same, similarity, 0.0)
    kept = np.ones(similarity.shape, np.bool_)
    if candidates < n_reviewers:
        kept[:] = False
        kept[np.argpartition(-similarity, candidates, axis=0)[:candidates], np.arange(n_items)] = True
    kept &= rng.random(kept.shape) >= CONFLICTS
    reviewer, item = np.nonzero(kept)
    affinity = np.round(similarity[reviewer, item], 6)
    institution = rng.integers(0, INSTITUTIONS, n_reviewers)
    is_senior = rng.random(n_reviewers) < senior
    return Market(reviewer, item, affinity, n_reviewers, n_items, *sizes, institution, is_senior)


def random_affinities() -> Market:
    """Return 60 random candidates of each of 1,000 papers, at random affinities."""
    rng = np.random.default_rng(3)
    reviewer = np.concatenate([rng.choice(1000, 60, replace=False) for _ in range(1000)])
    item = np.repeat(np.arange(1000), 60)
    affinity = rng.random(reviewer.size)
    institution = rng.integers(0, INSTITUTIONS, 1000)
    return Market(reviewer, item, affinity, 1000, 1000, 3, 5, institution, rng.random(1000) < SENIOR)


def clusters() -> Market:
    """Return 20,000 papers and reviewers in clusters, 100 candidates for each paper."""
    from tests.benchmarks.harness.tables import clustered_affinities

    rng = np.random.default_rng(0)
    matrix = clustered_affinities(20_000, 100)
    reviewer, item = (side.astype(np.int64) for side in matrix.coords)
    institution = rng.integers(0, INSTITUTIONS, 20_000)
    return Market(reviewer, item, matrix.data, 20_000, 20_000, 4, 6, institution, rng.random(20_000) < SENIOR)


def of_matrix(matrix: Floats, demand: int, load: int) -> Market:
    """Return all pairs of a reviewers x items matrix."""
    rng = np.random.default_rng(0)
    reviewer, item = np.indices(matrix.shape).reshape(2, -1)
    institution = rng.integers(0, 40, len(matrix))
    senior = rng.random(len(matrix)) < SENIOR
    return Market(reviewer, item, matrix.ravel(), *matrix.shape, demand, load, institution, senior)


def midl(data: Path) -> Market:
    return of_matrix(np.load(data / "midl-scores.npy").astype(float), 3, 4)


def preflib(data: Path) -> Market:
    return of_matrix(np.loadtxt(data / "preflib3.in", skiprows=1).T.copy(), 3, 6)


# What the product is compared with.


def cheapest_flow(market: Market) -> float:
    """Return the most affinity within demands and loads, by OR-tools, in millionths."""
    from ortools.graph.python import min_cost_flow

    flow = min_cost_flow.SimpleMinCostFlow()
    source = market.n_items + market.n_reviewers
    papers = np.arange(market.n_items)
    people = market.n_items + np.arange(market.n_reviewers)
    cost = -np.rint(market.affinity * 1e6).astype(np.int64)
    ones = np.ones(cost.size, np.int64)
    flow.add_arcs_with_capacity_and_unit_cost(market.item, market.n_items + market.reviewer, ones, cost)
    loads = np.full(people.size, market.load)
    flow.add_arcs_with_capacity_and_unit_cost(people, np.full(people.size, source), loads, np.zeros_like(people))
    flow.set_nodes_supplies(papers, np.full(papers.size, market.demand))
    flow.set_nodes_supplies(np.array([source]), np.array([-market.demand * market.n_items]))
    if flow.solve() != flow.OPTIMAL:
        return float("nan")
    return -flow.optimal_cost() / 1e6


class Relaxation:
    """The linear programme of demands and loads, one of an institution and a senior reviewer on each paper.

    Columns begin with the best of each paper and reviewer, others are added while their reduced gain is positive; rows
    for institutions are added where they are violated. Slacks keep it feasible.
    """

    #: Best pairs of each paper, and of each reviewer, to begin with.
    BEGIN = 15
    PRICED = 4

    def __init__(self, market: Market, *, rules: bool, floor: float | None = None) -> None:
        import highspy

        self.market = market
        self.rules = rules
        self.floor = floor
        self.infinite = highspy.kHighsInf
        self.highs = highspy.Highs()
        self.highs.setOptionValue("output_flag", False)
        self.highs.setOptionValue("threads", 1)
        self.highs.changeObjectiveSense(highspy.ObjSense.kMaximize)
        n_items = market.n_items
        self._rows(np.full(n_items, market.demand), np.full(n_items, market.demand))
        self._rows(np.zeros(market.n_reviewers), np.full(market.n_reviewers, market.load))
        asked = [1.0] * rules + [floor] * (floor is not None)
        for least in asked:
            self._rows(np.full(n_items, least), np.full(n_items, self.infinite))
        self.n_rows = n_items + market.n_reviewers + n_items * len(asked)
        # A slack for each demand, senior reviewer and floor.
        soft = np.concatenate([np.arange(n_items), np.arange(n_items + market.n_reviewers, self.n_rows)])
        self.n_slacks = soft.size
        price = -10.0 * (1 + float(np.abs(market.affinity).max()))
        self._columns(np.full(soft.size, price), self.infinite, [[row] for row in soft.tolist()], None)
        self.lazy = np.full(n_items * (int(market.institution.max()) + 1), -1)
        self.cell = market.item * (int(market.institution.max()) + 1) + market.institution[market.reviewer]
        self.active = np.empty(0, np.int64)
        self._add(np.flatnonzero(self._first()))

    def _rows(self, low: Floats | Ints, high: Floats | Ints) -> None:
        none = np.empty(0, np.int32)
        empty = np.zeros(low.size, np.int32)
        self.highs.addRows(low.size, low.astype(float), high.astype(float), 0, empty, none, none.astype(float))

    def _columns(self, cost: Floats, high: float, rows: list[list[int]], values: list[list[float]] | None) -> None:
        index = np.array([row for part in rows for row in part], np.int32)
        start = np.concatenate([[0], np.cumsum([len(part) for part in rows])[:-1]]).astype(np.int32)
        value = np.ones(index.size) if values is None else np.array([entry for part in values for entry in part])
        zeros = np.zeros(cost.size)
        self.highs.addCols(cost.size, cost, zeros, np.full(cost.size, high), index.size, start, index, value)

    def _first(self) -> Flags:
        market = self.market
        first = (self._rank(market.item) < self.BEGIN) | (self._rank(market.reviewer) < self.BEGIN // 2)
        if self.rules:
            seniors = np.flatnonzero(market.senior[market.reviewer])
            first[seniors[self._rank(market.item[seniors], market.affinity[seniors]) < 3]] = True
        return np.asarray(first)

    def _rank(self, side: Ints, affinity: Floats | None = None) -> Ints:
        """Return the rank of each pair among those of its paper or reviewer, the best first."""
        order = np.lexsort((-(self.market.affinity if affinity is None else affinity), side))
        rank = np.empty(side.size, np.int64)
        rank[order] = np.arange(side.size) - np.searchsorted(side[order], side[order])
        return rank

    def _add(self, pairs: Ints) -> None:
        market = self.market
        rows = []
        values = []
        first = market.n_items + market.n_reviewers
        for pair in pairs.tolist():
            item = int(market.item[pair])
            row = [item, market.n_items + int(market.reviewer[pair])]
            value = [1.0, 1.0]
            if self.rules and market.senior[market.reviewer[pair]]:
                row.append(first + item)
                value.append(1.0)
            if self.floor is not None:
                row.append(first + item + market.n_items * self.rules)
                value.append(float(market.affinity[pair]))
            if self.lazy[self.cell[pair]] >= 0:
                row.append(int(self.lazy[self.cell[pair]]))
                value.append(1.0)
            rows.append(row)
            values.append(value)
        self._columns(market.affinity[pairs], 1.0, rows, values)
        self.active = np.concatenate([self.active, pairs])

    def best(self) -> float:
        """Return the optimum; NaN where demands, seniors or floors cannot be met."""
        while True:
            self.highs.run()
            solution = self.highs.getSolution()
            value = np.array(solution.col_value)
            if self.rules and self._cut(value[self.n_slacks :]):
                continue
            gain = self._reduced(np.array(solution.row_dual))
            gain[self.active] = 0.0
            new = np.flatnonzero(gain > 1e-7)
            if not new.size:
                return float(self.highs.getObjectiveValue()) if value[: self.n_slacks].max() < 1e-6 else float("nan")
            self._add(new[np.argsort(-gain[new], kind="stable")[: self.PRICED * self.market.n_items]])

    def _cut(self, value: Floats) -> bool:
        """Add rows for institutions that have more than one reviewer on a paper."""
        cells = self.cell[self.active]
        total = np.bincount(cells, value, self.lazy.size)
        violated = np.flatnonzero((total > 1 + 1e-6) & (self.lazy < 0))
        order = np.argsort(cells, kind="stable")
        for cell in violated.tolist():
            members = order[np.searchsorted(cells[order], cell) : np.searchsorted(cells[order], cell, "right")]
            columns = (self.n_slacks + members).astype(np.int32)
            self.highs.addRow(-self.infinite, 1.0, columns.size, columns, np.ones(columns.size))
            self.lazy[cell] = self.n_rows
            self.n_rows += 1
        return violated.size > 0

    def _reduced(self, dual: Floats) -> Floats:
        """Return the reduced gain of every pair."""
        market = self.market
        gain = market.affinity - dual[market.item] - dual[market.n_items + market.reviewer]
        first = market.n_items + market.n_reviewers
        if self.rules:
            gain -= np.where(market.senior[market.reviewer], dual[first + market.item], 0.0)
        if self.floor is not None:
            gain -= market.affinity * dual[first + market.n_items * self.rules + market.item]
        row = self.lazy[self.cell]
        return np.asarray(gain - np.where(row >= 0, dual[row], 0.0))


#: Best pairs of a paper in integer programmes, and their seconds.
NEAREST = 25
MOST_SECONDS = 40.0


def with_floor(market: Market, floor: float) -> float:
    """Return the most affinity with no paper below a floor, by an integer programme over the best pairs of each."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array

    order = np.lexsort((-market.affinity, market.item))
    rank = np.arange(order.size) - np.searchsorted(market.item[order], market.item[order])
    pairs = order[rank < NEAREST]
    column = np.arange(pairs.size)
    worth = market.affinity[pairs]

    def rows(side: Ints, values: Floats, size: int) -> Any:
        return coo_array((values, (side[pairs], column)), shape=(size, pairs.size)).tocsc()

    ones = np.ones(pairs.size)
    by_item = rows(market.item, ones, market.n_items)
    solution = milp(
        -worth,
        constraints=[
            LinearConstraint(by_item, market.demand, market.demand),
            LinearConstraint(rows(market.reviewer, ones, market.n_reviewers), 0, market.load),
            LinearConstraint(rows(market.item, worth, market.n_items), floor, np.inf),
        ],
        integrality=ones,
        bounds=Bounds(0, 1),
        options={"time_limit": MOST_SECONDS, "mip_rel_gap": 1e-6},
    )
    return float(-solution.fun) if solution.fun is not None else float("nan")


def largest_minimum(market: Market) -> tuple[float, float]:
    """Return the largest minimum by bisection over integer programmes, as FairFlow seeks it, and the most affinity."""
    order = np.lexsort((-market.affinity, market.item))
    best = market.affinity[order].reshape(market.n_items, -1)[:, : market.demand].sum(axis=1)
    low = 0.0
    high = float(best.min())
    total = with_floor(market, low)
    trial = high
    for _ in range(8):
        value = with_floor(market, trial)
        if np.isfinite(value):
            low = trial
            total = value
        else:
            high = trial
        if high - low < 1e-4 * high:
            break
        trial = (low + high) / 2
    return low, total


# Rows of the table.


@dataclass(frozen=True)
class Row:
    """An instance, whether it has rules, and what else is asked; ``seeds`` are so many runs, of which one is a line."""

    words: str
    market: Callable[[Path], Market]
    rules: bool = False
    options: tuple[tuple[str, Any], ...] = ()
    seeds: int = 1
    compared: bool = True


MIDL = "MIDL 2018"
THOUSAND = "1,000 x 800 topics"
FIVE_THOUSAND = "5,000 x 4,500, 294,000 pairs"
TWENTY_THOUSAND = "20,000 x 20,000, 2 million pairs"
t1000 = partial(topics, 1000, 800, 60, 1, (3, 5))
c1000 = partial(topics, 1000, 800, 800, 1, (3, 5), communities=True)
# With 30 % seniors 249 papers lack one in the linear programme.
t5000 = partial(topics, 5000, 4500, 60, 2, (3, 4), senior=0.35)

ROWS = {
    "midl": Row(MIDL, midl),
    "midl-rules": Row(MIDL, midl, rules=True),
    "topics": Row(THOUSAND, lambda data: t1000()),
    "topics-rules": Row(THOUSAND, lambda data: t1000(), rules=True),
    "communities": Row("two communities, 784,000 pairs", lambda data: c1000()),
    "five-thousand": Row(FIVE_THOUSAND, lambda data: t5000()),
    "five-thousand-rules": Row(FIVE_THOUSAND, lambda data: t5000(), rules=True),
    "random": Row("1,000 of random affinities", lambda data: random_affinities()),
    "random-rules": Row("1,000 of random affinities", lambda data: random_affinities(), rules=True),
    "preflib": Row("PrefLib 3, ties", preflib),
    "floor-none": Row(MIDL, midl, options=(("floor", 0.944), ("target", "none"))),
    "floor": Row(MIDL, midl, options=(("floor", 0.944),)),
    "maximin-none": Row(MIDL, midl, options=(("fair", "maximin"), ("target", "none"))),
    "maximin": Row(MIDL, midl, options=(("fair", "maximin"),)),
    "seeds": Row(MIDL, midl, seeds=10),
    "twenty-thousand": Row(TWENTY_THOUSAND, lambda data: clusters()),
    "twenty-thousand-rules": Row(TWENTY_THOUSAND, lambda data: clusters(), rules=True, compared=False),
}


def asked_of(row: Row, market: Market) -> dict[str, Any]:
    options: dict[str, Any] = {"demand": market.demand, "load": market.load, **dict(row.options)}
    if row.rules:
        options["institutions"] = dict(enumerate(market.institution.tolist()))
        options["senior"] = np.flatnonzero(market.senior).tolist()
    return options


def broken(row: Row, market: Market, chosen: Any) -> str:
    """Say what is wrong with an assignment; empty where nothing is."""
    from reviewgraph.graph import doubly_connected_components

    table = chosen.reviews
    wrong = [] if chosen.status.reached else [f"{chosen.status}: {chosen.explanation[:60]}"]
    if (np.bincount(table.item, minlength=market.n_items) != market.demand).any():
        wrong.append("a demand is not met")
    if np.bincount(table.reviewer).max(initial=0) > market.load:
        wrong.append("a load is exceeded")
    known = market.reviewer * market.n_items + market.item
    if not np.isin(table.reviewer * market.n_items + table.item, known).all():
        wrong.append("a pair may not be")
    if row.rules:
        cell = table.item * INSTITUTIONS + market.institution[table.reviewer]
        if np.unique(cell).size < cell.size:
            wrong.append("two of an institution")
        if (np.bincount(table.item, market.senior[table.reviewer], market.n_items) < 1).any():
            wrong.append("no senior")
    if dict(row.options).get("target") != "none" and not doubly_connected_components(table).covers_all:
        wrong.append("not double")
    return ", ".join(wrong)


def seconds_of(call: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    answer = call()
    return answer, time.process_time() - start


def measure(name: str, data: Path) -> dict[str, Any]:
    """Measure a row in this process."""
    from scipy.sparse import coo_array

    from planner import assign

    row = ROWS[name]
    market = row.market(data)
    pairs = (market.reviewer, market.item)
    affinity = coo_array((market.affinity, pairs), shape=(market.n_reviewers, market.n_items))
    options = asked_of(row, market)
    # Modules are imported and kernels loaded.
    few = {"institutions": dict(enumerate(range(12))), "senior": [0, 1, 2, 3, 4, 5]} if row.rules else {}
    assign(np.random.default_rng(0).random((12, 9)), demand=3, load=6, **few)
    runs = []
    for seed in range(row.seeds):
        chosen, seconds = seconds_of(lambda seed=seed: assign(affinity, search=Search(seed=seed), **options))
        scores = np.bincount(chosen.reviews.item, chosen.affinities, market.n_items).astype(float)
        runs.append(
            {
                "affinity": chosen.affinity,
                "seconds": seconds,
                "status": str(chosen.status),
                "smallest": float(scores.min()),
                "wrong": broken(row, market, chosen),
                "stated": [chosen.least_price, chosen.gap],
            }
        )
    measured: dict[str, Any] = {"runs": runs, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}
    measured["flow"], measured["flow_seconds"] = seconds_of(lambda: cheapest_flow(market))
    asked = dict(row.options)
    if (row.rules or "floor" in asked or market.n_items <= 1000) and row.compared:
        programme = partial(Relaxation, market, rules=row.rules, floor=asked.get("floor"))
        measured["linear"], measured["linear_seconds"] = seconds_of(lambda: programme().best())
    if "floor" in asked:
        measured["integer"], measured["integer_seconds"] = seconds_of(lambda: with_floor(market, asked["floor"]))
    if "fair" in asked:
        (measured["minimum"], measured["integer"]), measured["integer_seconds"] = seconds_of(
            lambda: largest_minimum(market)
        )
    return measured


HEAD = (
    "instance", "asked", "status", "lost, % of the LP", "lost, % of the flow", "CPU s", "peak MB",
    "LP: lost, % of the flow", "LP, CPU s", "flow, CPU s", "more",
)  # fmt: skip


def lines(name: str, measured: dict[str, Any]) -> list[str]:
    """Return the lines of a row."""
    row = ROWS[name]
    flow = measured["flow"]
    linear = measured.get("linear", flow if not row.rules else float("nan"))
    asked = ["institution, senior"] if row.rules else []
    asked += [f"{option} {value}" for option, value in row.options]

    def lost(value: float, best: float) -> str:
        return f"{100 * (best - value) / abs(best):.4f}"

    rows = []
    for seed, run in enumerate(measured["runs"]):
        more = [run["wrong"]] if run["wrong"] else []
        if "integer" in measured:
            more.append(f"MILP lost {lost(measured['integer'], flow)} in {measured['integer_seconds']:.2f} s")
            more.append(f"smallest {run['smallest']:.4f}")
        if "minimum" in measured:
            more.append(f"MILP smallest {measured['minimum']:.4f}")
        cells = [
            row.words,
            ", ".join([*asked, *([f"seed {seed}"] if row.seeds > 1 else [])]) or "-",
            run["status"],
            lost(run["affinity"], linear),
            lost(run["affinity"], flow),
            f"{run['seconds']:.2f}",
            f"{measured['peak']:.0f}",
            lost(linear, flow),
            f"{measured['linear_seconds']:.2f}" if "linear_seconds" in measured else "",
            f"{measured['flow_seconds']:.2f}",
            "; ".join(more),
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return rows


def main() -> int:
    """Measure rows, each in a process of its own, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"of {', '.join(ROWS)} (all)")
    parser.add_argument("--data", type=Path, default=Path(), help="folder of the public instances")
    parser.add_argument("--limit", type=float, default=580, help="seconds for a row (580)")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        print(json.dumps(measure(options.inside, options.data)))
        return 0
    print(f"| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}", flush=True)
    wrong = False
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    for name in options.rows or ROWS:
        command = [sys.executable, "-m", "tests.benchmarks.assign_large", "--data", str(options.data), "--inside", name]
        try:
            run = subprocess.run(
                command, capture_output=True, text=True, timeout=options.limit, env=environment, cwd=ROOT, check=True
            )
        except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
            wrong = True
            print(f"| {ROWS[name].words} | {name} | {type(error).__name__} |", flush=True)
            print(getattr(error, "stderr", ""), file=sys.stderr)
            continue
        measured = json.loads(run.stdout.splitlines()[-1])
        wrong |= any(part["wrong"] for part in measured["runs"])
        print(*lines(name, measured), sep="\n", flush=True)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
