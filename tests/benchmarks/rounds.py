"""Claim of `plan --for decision --rounds R`: the same reviews, asked for in rounds, leave fewer wrong selections.

``python -m tests.benchmarks.rounds -o results.jsonl``: worlds of several families, none of which anything was tuned on;
a first phase of equally many reviews per paper, calibrated; further reviews by each rule, with scores from the same
truth, calibrated again after every round. All rules of a draw have the same papers, reviewers, first phase and scores.
A killed run goes on where it ended; ``--table`` prints what there is. About ten CPU seconds a draw of 400 papers.

``--match``: does `plan --match 3` state the number of reviews that it takes? In three worlds and on two public panels,
whose true best are those by all scores, the process runs with the number stated and with others; the number needed is
where the mean of its wrong selections falls to that of three each. Five CPU seconds a draw.

Rounds should win most where many papers are far from the cut, and least where a review says little: with few papers
near the cut a flat assignment spends most reviews on papers that are decided.
"""

from __future__ import annotations

import argparse
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import planner
from lsc.estimate import plain_averages
from lsc.posteriors import PosteriorEstimate, posterior
from planner._plans import rounds as simulation
from reviewgraph import Reviews, Search, read_reviews
from reviewgraph._base import FloatArray, IntArray
from tests.benchmarks.harness.measures import summary
from tests.benchmarks.harness.running import markdown
from tests.benchmarks.harness.storing import append, records

#: Rollouts of a plan: enough for what is expected and stated to be compared with what came, over all draws.
simulation.ROLLOUTS = 16


class Cell(NamedTuple):
    """A family with its size: papers and reviewers, papers selected, reviews per paper first, further reviews."""

    family: str
    papers: int
    select: int
    first: int
    further: int


#: The cells: six families at 400 papers; small and large; few and many selected; extra reviews on three each, and most
#: reviews held back.
CELLS = (
    Cell("plain", 400, 40, 2, 400),
    Cell("plain", 400, 40, 3, 160),
    Cell("quiet", 400, 40, 2, 400),
    Cell("noisy", 400, 40, 2, 400),
    Cell("careless", 400, 40, 2, 400),
    Cell("heavy", 400, 40, 2, 400),
    Cell("whole", 400, 40, 2, 400),
    Cell("plain", 300, 30, 2, 300),
    Cell("whole", 200, 60, 2, 200),
    Cell("careless", 1000, 50, 2, 1000),
    Cell("heavy", 2000, 400, 2, 2000),
    Cell("plain", 400, 40, 1, 800),
)


#: The cells of ``--match``: papers and reviewers are those of the table for a public one.
MATCHED = (
    Cell("plain", 400, 40, 2, 400),
    Cell("coarse", 400, 40, 2, 400),
    Cell("severe", 400, 40, 2, 400),
    Cell("vqeg_525_high", 90, 9, 2, 90),
    Cell("skating_2018", 250, 25, 2, 250),
)
#: Further reviews per paper with which the process is run.
SHARES = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3)
DATA = Path(__file__).parents[3] / "shared" / "data"


class World:
    """Qualities, and the score that any reviewer would give to any paper.

    ::

        y = b + a x + s e,   x, e ~ N(0, 1),   log a ~ N(0, .2^2),   b ~ N(0, .5^2)

    s is 1 (``plain``), .6 (``quiet``) or 1.5 (``noisy``); log-normal over reviewers with deviation .5 (``careless``);
    x and e are Student's t with 3 and 4 degrees of freedom (``heavy``); scores are rounded to 1 to 10 (``whole``); the
    heavy ones to 1 to 5 (``coarse``); b has a deviation of 1.5 (``severe``).
    """

    def __init__(self, cell: Cell, draw: int) -> None:
        size = cell.papers
        rng = np.random.default_rng([zlib.crc32(repr(cell).encode()), draw])
        slope = rng.lognormal(0.0, 0.2, size)
        offset = rng.normal(0.0, 1.5 if cell.family == "severe" else 0.5, size)
        noise = np.full(size, {"quiet": 0.6, "noisy": 1.5}.get(cell.family, 1.0))
        if cell.family == "careless":
            noise *= rng.lognormal(-0.125, 0.5, size)
        if cell.family in ("heavy", "coarse"):
            self.truth = rng.standard_t(3, size) / np.sqrt(3)
            error = rng.standard_t(4, (size, size)) / np.sqrt(2)
        else:
            self.truth = rng.standard_normal(size)
            error = rng.standard_normal((size, size))
        error *= noise[:, None]
        self.cell = cell
        self.rng = rng
        self.score = offset[:, None] + slope[:, None] * self.truth + error
        if cell.family == "whole":
            self.score = np.clip(np.rint(5.5 + 1.3 * self.score), 1, 10)
        if cell.family == "coarse":
            self.score = np.clip(np.rint(3.0 + self.score), 1, 5)
        self.best = np.argsort(-self.truth, kind="stable")[: cell.select]

    #: Most extra reviews of a reviewer.
    spare = 3

    @property
    def size(self) -> int:
        """Number of papers."""
        return self.truth.size

    @property
    def conflicts(self) -> list[tuple[int, int]]:
        """Pairs without a score."""
        return [(j, i) for j, i in np.argwhere(np.isnan(self.score)).tolist()]

    def spread(self, table: IntArray, counts: IntArray) -> IntArray:
        """Give papers further reviews by reviewers of fewest reviews, at random among equals: pairs, shape (P, 2)."""
        has = np.isnan(self.score)
        has[table[:, 0], table[:, 1]] = True
        load = np.bincount(table[:, 0], minlength=len(has)).astype(np.float64)
        pairs = []
        for paper in self.rng.permutation(np.repeat(np.arange(self.size), counts)).tolist():
            order = load + self.rng.random(load.size)
            order[has[:, paper]] = np.inf
            reviewer = int(np.argmin(order))
            has[reviewer, paper] = True
            load[reviewer] += 1
            pairs.append((reviewer, paper))
        return np.array(pairs, np.int64).reshape(-1, 2)

    def reviews(self, table: IntArray) -> Reviews:
        """Return the scores of some pairs, by code."""
        who, what = table.T
        return Reviews.from_codes(who, what, self.score[who, what], reviewers=len(self.score), items=self.size)


class Panel(World):
    """The scores of a public table; a paper is as good as its mean score."""

    spare = 30

    def __init__(self, cell: Cell, draw: int) -> None:
        reviews = read_reviews(DATA / cell.family / "scores.csv")
        self.cell = cell
        self.rng = np.random.default_rng(draw)
        self.score = np.full((reviews.n_reviewers, reviews.n_items), np.nan)
        self.score[reviews.reviewer, reviews.item] = reviews.score
        self.truth = np.nanmean(self.score, axis=0)
        self.best = np.argsort(-self.truth, kind="stable")[: cell.select]


@dataclass(frozen=True, eq=False)
class State:
    """Pairs so far, their scores, and what is inferred from them."""

    pairs: IntArray
    reviews: Reviews
    found: PosteriorEstimate

    @staticmethod
    def of(world: World, pairs: IntArray) -> State:
        """Calibrate."""
        reviews = world.reviews(pairs)
        return State(pairs, reviews, posterior(reviews))

    def outcome(self, world: World) -> tuple[int, float]:
        """Return the wrong ones among the selected, and the number expected."""
        selection = self.found.selection(world.cell.select, across_groups=True)
        right = np.isin(selection.best_codes, world.best).sum()
        return int(world.cell.select - right), float(selection.expected_wrong)


def _counts(world: World, order: IntArray, number: int) -> IntArray:
    return np.asarray(np.bincount(np.resize(order, number), minlength=world.size), np.int64)


def _random(world: World, state: State, number: int) -> IntArray:
    return _counts(world, world.rng.permutation(world.size), number)


def _border(world: World, state: State, number: int) -> IntArray:
    average = plain_averages(state.reviews)
    n = world.cell.select
    distance = np.abs(average - np.sort(average)[::-1][n - 1 : n + 1].mean())
    near = np.lexsort((world.rng.permutation(world.size), distance))
    return _counts(world, near[: max(number // 2, 1)], number)


def _open(world: World, state: State, number: int) -> IntArray:
    chance = state.found.probability_in_top(world.cell.select)
    return _counts(world, np.argsort(-chance * (1 - chance), kind="stable")[: max(number // 2, 1)], number)


#: One batch by a rule on the papers; the borderline and P(1 - P) give two reviews each to half as many papers.
Rule = Callable[[World, State, int], IntArray]
SIMPLE: dict[str, Rule] = {"flat": _random, "borderline": _border, "P(1 - P)": _open}
#: Rounds of the plan.
ROUNDS = {"one batch": 1, "2 rounds": 2, "4 rounds": 4}


def played(world: World, state: State, rounds: int, budget: int) -> Iterator[dict[str, Any]]:
    """Plan and receive the rounds: after each the outcome, and what the plan expected of it."""
    for left in range(rounds, 0, -1):
        plan = planner.plan(
            state.reviews,
            goal="decision",
            n_selected=world.cell.select,
            n=budget,
            rounds=left,
            spare=world.spare,
            conflicts=world.conflicts,
            search=Search(seed=0),
        )
        said = plan.to_dict()["rounds"]["after"]
        budget -= plan.count
        state = State.of(world, np.concatenate([state.pairs, plan.pairs]))
        wrong, expected = state.outcome(world)
        yield {"reviews": plan.count, "wrong": wrong, "expected": expected, "said": said[0]["wrong"]}


def measured(cell: Cell, draw: int) -> dict[str, Any]:
    """Measure all rules on one draw."""
    started = time.process_time()
    world = World(cell, draw)
    first = world.spread(np.empty((0, 2), np.int64), np.full(world.size, cell.first))
    start = State.of(world, first)
    record: dict[str, Any] = {**cell._asdict(), "draw": draw, "before": start.outcome(world)}
    for name, rule in SIMPLE.items():
        more = world.spread(first, rule(world, start, cell.further))
        record[name] = State.of(world, np.concatenate([first, more])).outcome(world)[0]
    for name, number in ROUNDS.items():
        record[name] = list(played(world, start, number, cell.further))
    return record | {"seconds": time.process_time() - started}


def matched(cell: Cell, draw: int) -> dict[str, Any]:
    """State how many reviews decide as well as three each, and run the process with that number and with others."""
    world = Panel(cell, draw) if (DATA / cell.family).is_dir() else World(cell, draw)
    first = world.spread(np.empty((0, 2), np.int64), np.full(world.size, cell.first))
    third = world.spread(first, np.ones(world.size, np.int64))
    start = State.of(world, first)
    options = {"goal": "decision", "n_selected": cell.select, "match": cell.first + 1}
    options |= {"spare": world.spare, "conflicts": world.conflicts}
    planned = Reviews.from_codes(*first.T, reviewers=len(world.score), items=world.size)
    before = planner.plan(planned, **options).rounds.match.needed
    after = planner.plan(start.reviews, **options).rounds.match.needed

    def wrong(budget: int) -> int:
        return list(played(world, start, after.rounds, budget))[-1]["wrong"]

    return {
        **cell._asdict(),
        "draw": draw,
        "before": before.reviews,
        "stated": after.reviews,
        "error": after.error,
        "rounds": after.rounds,
        "look": start.outcome(world)[0],
        "each": State.of(world, np.concatenate([first, third])).outcome(world)[0],
        "plan": wrong(after.reviews - len(first)),
        "run": [wrong(round(share * world.size)) for share in SHARES],
    }


def needed(run: FloatArray, each: FloatArray, existing: int, papers: int) -> float:
    """Return the reviews at which the mean of wrong selections (draws, shares) falls to that of three each."""
    mean = np.minimum.accumulate(run.mean(axis=0))[::-1]
    more = np.interp(each.mean(), mean, np.array(SHARES)[::-1])
    return float(existing + more * papers)


def match_table(path: Path) -> str:
    """Return a row per cell: reviews stated and needed, and wrong selections paired with those of three each."""
    cells: dict[Cell, list[dict[str, Any]]] = {}
    for record in records(path):
        cells.setdefault(Cell(*(record[name] for name in Cell._fields)), []).append(record)
    rows = []
    rng = np.random.default_rng(0)
    for cell, draws in cells.items():
        column = {name: np.array([draw[name] for draw in draws], np.float64) for name in draws[0] if name != "family"}
        existing = cell.first * cell.papers
        really = needed(column["run"], column["each"], existing, cell.papers)
        again = [rng.integers(len(draws), size=len(draws)) for _ in range(500)]
        error = np.std([needed(column["run"][k], column["each"][k], existing, cell.papers) for k in again])
        stated = column["stated"].mean()
        rows.append(
            [
                cell.family,
                f"{cell.papers}",
                f"{cell.select}",
                f"{len(draws)}",
                f"{existing + cell.papers}",
                f"{column['before'].mean():.0f}",
                f"{stated:.0f} ({column['stated'].min():.0f} to {column['stated'].max():.0f})",
                f"{really:.0f} ± {error:.0f}",
                f"{stated / really:.2f}",
                f"{column['look'].mean():.1f}",
                f"{column['each'].mean():.1f}",
                f"{column['plan'].mean():.1f}",
                f"{summary(column['plan'] - column['each']):+.1f}",
            ]
        )
    reviews = ["three each", "stated before", "stated after", "needed", "stated / needed"]
    wrong = ["two each", "three each", "plan", "plan - three each"]
    return markdown(["family", "papers", "selected", "draws", *reviews, *wrong], rows)


def tables(path: Path) -> str:
    """Return two rows per cell: wrong selections by each rule, and those expected by plans over those counted after."""
    cells: dict[Cell, list[dict[str, Any]]] = {}
    for record in records(path):
        cells.setdefault(Cell(*(record[name] for name in Cell._fields)), []).append(record)
    outcomes = []
    kept = []
    for cell, draws in cells.items():
        asked = f"{cell.first} each + {cell.further}"
        title = [cell.family, f"{cell.papers}", f"{cell.select}", asked, f"{len(draws)}"]
        wrong = {name: np.array([draw[name] for draw in draws], np.float64) for name in SIMPLE}
        wrong |= {name: np.array([draw[name][-1]["wrong"] for draw in draws], np.float64) for name in ROUNDS}
        gains = [f"{summary(wrong['4 rounds'] - wrong[name]):+.1f}" for name in ("flat", "one batch")]
        outcomes.append([*title, *(f"{values.mean():.1f}" for values in wrong.values()), *gains])
        ratios = []
        for number in range(4):
            stated = np.array([draw["4 rounds"][number]["said"] for draw in draws])
            counted = np.array([draw["4 rounds"][number]["wrong"] for draw in draws])
            ratios.append(
                f"{stated.mean() / counted.mean():.2f} ± {summary(stated - counted).error / counted.mean():.2f}"
            )
        kept.append([*title, *ratios])
    heads = ["family", "papers", "selected", "reviews", "draws"]
    rules = [*SIMPLE, *ROUNDS, "4 rounds - flat", "4 rounds - one batch"]
    rounds = [f"round {number}" for number in range(1, 5)]
    return markdown([*heads, *rules], outcomes) + "\n\n" + markdown([*heads, *rounds], kept)


def main() -> int:
    """Measure what is missing, then print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, required=True, help="file of results, one line each")
    parser.add_argument("--draws", type=int, default=26, help="draws of each cell (26)")
    parser.add_argument("--only", type=int, nargs="*", help="numbers of the cells to measure (all)")
    parser.add_argument("--table", action="store_true", help="print the tables of what there is, measure nothing")
    parser.add_argument("--match", action="store_true", help="measure plan --match 3")
    options = parser.parse_args()
    cells = MATCHED if options.match else CELLS
    measure = matched if options.match else measured
    if not options.table:
        done = {tuple(record[name] for name in (*Cell._fields, "draw")) for record in records(options.output)}
        for draw in range(options.draws):
            for number, cell in enumerate(cells):
                if (options.only is None or number in options.only) and (*cell, draw) not in done:
                    append(options.output, measure(cell, draw))
                    print(cell, draw, file=sys.stderr, flush=True)
    print(match_table(options.output) if options.match else tables(options.output))
    return 0


if __name__ == "__main__":
    sys.exit(main())
