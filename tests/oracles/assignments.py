"""Assignments against every assignment: rules, floors, fairness, changes, lotteries, all levels, what survives.

All panels of each paper that rules allow are combined as arrays, loads being checked paper by paper. Levels are tested
for the best first. Lotteries are linear programmes over all assignments at the level.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb, inf, prod
from typing import Any

import numpy as np
import numpy.typing as npt

from planner import AtMost, assign
from reviewgraph import Search
from tests.oracles.levels import Flags, Masks, at_level
from tests.oracles.oracle import MOST_SECONDS, ROUNDING, TIME_LIMIT, Asked, Options, Oracle, Pair, Untold, draw_rules
from tests.planner.assignments import naive_rules

Floats = npt.NDArray[np.float64]

#: Choices of panels, whether loads allow them or not, up to which instances are drawn.
MOST_CHOICES = 200_000
#: Share of instances that are kept although no assignment is at the level.
IMPOSSIBLE = 0.1
#: Assignments at the level up to which a lottery is compared with all lotteries.
MOST_DRAWN = 2_500
#: Tables whose level is tested at once.
CHUNK = 2_048
#: Number of assignments of which one is drawn.
DRAWS = 100


# Instances.


def market(rng: np.random.Generator, *concerns: str) -> Options:
    """Return a tiny market with these options; most of those without an assignment at the level are drawn again."""
    while True:
        asked = any_market(rng)
        if not {*concerns} <= asked.keys():
            continue
        if rng.random() < IMPOSSIBLE or every(asked).best is not None:
            return asked


def any_market(rng: np.random.Generator) -> Options:
    """Return a tiny market: ties, few or all pairs scored, tight loads, and some of all that can be asked."""
    while True:
        n_items = int(rng.integers(2, 7))
        n_reviewers = int(rng.integers(2, 7))
        usual = int(rng.integers(1, 4))
        reviewers = [f"r{j}" for j in range(n_reviewers)]
        items = [f"p{i}" for i in range(n_items)]
        demand = {p: usual if rng.random() < 0.85 else int(rng.integers(0, 4)) for p in items}
        if prod(comb(n_reviewers, number) for number in demand.values()) <= MOST_CHOICES:
            break
    asked: Options = {"items": items, "reviewers": reviewers, "demand": demand, "seed": int(rng.integers(3))}
    asked["affinity"] = _affinity(rng, reviewers, items)
    pairs = [(r, p) for r in reviewers for p in items]

    def some(share: float) -> list[Pair]:
        return [pair for pair in pairs if rng.random() < share]

    least = -(-sum(demand.values()) // n_reviewers)
    asked["load"] = {r: max(0, least + int(rng.integers(-1, 3))) for r in reviewers}
    if rng.random() < 0.3:
        asked["min_load"] = {r: int(rng.random() < 0.4 and asked["load"][r] > 0) for r in reviewers}
    if rng.random() < 0.6:
        asked["conflicts"] = some(0.1)
    levels = ["none", "connected", "recoverable", "double", "survives-reviewer", "survives-review"]
    asked["target"] = str(rng.choice(levels, p=[0.2, 0.15, 0.15, 0.3, 0.1, 0.1]))
    if rng.random() < 0.1:
        asked["allow_unscored"] = True
    if rng.random() < 0.25:
        asked["fixed"] = some(0.08)
    if rng.random() < 0.15:
        asked["phase_one"] = _first_phase(rng, asked)
    draw_rules(rng, asked, reviewers, ruled=0.35, housed=0.8)
    _authors(rng, asked)
    if rng.random() < 0.25:
        _lottery(rng, asked)
    else:
        _concerns(rng, asked, pairs)
    return asked


def _affinity(rng: np.random.Generator, reviewers: list[str], items: list[str]) -> dict[Pair, float]:
    levels = int(rng.choice([1, 2, 5, 1000]))
    density = float(rng.choice([0.6, 0.85, 1.0]))
    lowest = -1 if rng.random() < 0.1 else 0
    affinity = {}
    for r in reviewers:
        for p in items:
            if rng.random() < density or not affinity:
                affinity[r, p] = int(rng.integers(lowest * levels, levels + 1)) / levels
    return affinity


def _first_phase(rng: np.random.Generator, asked: Options) -> list[Pair]:
    """Return reviews of a first phase, now and then by somebody, or of a paper, that is not there any more."""
    reviewers = [*asked["reviewers"], *(["gone"] if rng.random() < 0.3 else [])]
    left_behind = rng.random() < 0.3 and asked["target"] != "recoverable"
    items = [*asked["items"], *(["left"] if left_behind else [])]
    fixed = asked.get("fixed", ())
    return [(r, p) for r in reviewers for p in items if rng.random() < 0.15 and (r, p) not in fixed]


def _authors(rng: np.random.Generator, asked: Options) -> None:
    if rng.random() < 0.75:
        return
    authors = [(r, p) for r in asked["reviewers"] for p in asked["items"] if rng.random() < 0.15]
    if rng.random() < 0.3:
        authors += [(r, "elsewhere") for r in asked["reviewers"] if rng.random() < 0.3]
    if not any(p in asked["items"] for _, p in authors):
        return
    asked["authors"] = authors


def _lottery(rng: np.random.Generator, asked: Options) -> None:
    asked["max_probability"] = float(rng.choice([0.3, 0.5, 0.5, 0.75, 0.9, 1.0]))


def _concerns(rng: np.random.Generator, asked: Options, pairs: list[Pair]) -> None:
    """Ask for some of a floor, fairness, fewest changes, alternates, and a best effort."""
    values = sorted(asked["affinity"].values())
    middle = values[len(values) // 2]
    kind = rng.random()
    if kind < 0.15:
        asked["fair"] = "maximin"
    elif kind < 0.3:
        asked["previous"] = [pair for pair in pairs if rng.random() < 0.3]
    if rng.random() < 0.15:
        asked["floor"] = float(rng.choice([0.3, 0.7, 1.2])) * middle
    if rng.random() < 0.1:
        asked["alternates"] = int(rng.integers(1, 3))
    if rng.random() < 0.12:
        asked["best_effort"] = True


# Every assignment of an instance.


@dataclass(frozen=True)
class World(Asked):
    """What an instance allows, read from its options."""

    @cached_property
    def old(self) -> list[Pair]:
        return list(dict.fromkeys(self.asked.get("phase_one", ())))

    @cached_property
    def fixed(self) -> list[Pair]:
        return list(dict.fromkeys(self.asked.get("fixed", ())))

    @cached_property
    def reviewers(self) -> list[str]:
        """All reviewers, those of the first phase alone at the end; their place is their bit."""
        return list(dict.fromkeys([*self.asked["reviewers"], *(r for r, _ in self.old)]))

    @cached_property
    def items(self) -> list[str]:
        return list(dict.fromkeys([*self.asked["items"], *(p for _, p in self.old)]))

    @cached_property
    def demand(self) -> dict[str, int]:
        """Reviews of each paper beside those of the first phase; fixed pairs are kept even if they are more."""
        return {p: max(number, sum(q == p for _, q in self.fixed)) for p, number in self.asked["demand"].items()}

    @cached_property
    def load(self) -> dict[str, int]:
        return {r: max(number, sum(s == r for s, _ in self.fixed)) for r, number in self.asked["load"].items()}

    @cached_property
    def min_load(self) -> dict[str, int]:
        least: dict[str, int] = self.asked.get("min_load", {})
        return least

    @cached_property
    def candidates(self) -> set[Pair]:
        """Pairs that may be assigned, fixed ones not counted."""
        asked = self.asked
        barred = {*asked.get("conflicts", ()), *asked.get("authors", ()), *self.old}
        if asked.get("allow_unscored"):
            pairs = [(r, p) for r in asked["reviewers"] for p in asked["items"]]
        else:
            pairs = list(asked["affinity"])
        return {pair for pair in pairs if pair not in barred}

    def value(self, pair: Pair) -> float:
        return float(self.asked["affinity"].get(pair, 0.0))

    def served(self, item: str) -> bool:
        """Whether floors and fairness apply to a paper."""
        return self.demand.get(item, 0) > 0

    # A paper and its panel.

    def before(self, item: str) -> list[str]:
        return [r for r, p in self.old if p == item]

    def panel_breaks(self, item: str, panel: list[str]) -> bool:
        """Whether a panel breaks a rule on one paper; fixed and earlier reviews beyond a limit are kept."""
        earlier = self.before(item)
        if not earlier and not self.demand[item]:
            return False
        kept = [*earlier, *(r for r, p in self.fixed if p == item)]
        paper = self.paper(item)
        for rule in naive_rules.broken([*earlier, *panel], self.attributes, self.rules, paper):
            if not isinstance(rule, AtMost):
                return True
            most = naive_rules.number_of(rule, paper)
            count = naive_rules.counted([*earlier, *panel], rule, self.attributes, paper)
            standing = naive_rules.counted(kept, rule, self.attributes, paper)
            if any(number > max(most, standing.get(value, 0)) for value, number in count.items()):
                return True
        return False

    def panel_below_floors(self, item: str, panel: list[str]) -> bool:
        values = [self.value((r, item)) for r in panel]
        floor = self.asked.get("floor", -inf)
        return self.served(item) and sum(values) < floor - 1e-9

    @cached_property
    def all_assignments(self) -> Everything:
        return Everything(self)


class Everything:
    """All assignments within demands, loads, conflicts, fixed pairs, rules and floors, as arrays.

    ``covers`` (S, M) are the items of each reviewer as bits, earlier ones included, ``affinity`` and
    ``smallest`` (the smallest score of a paper) have shape (S,), as has ``changed``, a number of pairs.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        asked = world.asked
        n_reviewers = len(world.reviewers)
        place = {r: j for j, r in enumerate(world.reviewers)}
        previous = set(asked.get("previous", ()))
        loads = np.zeros((1, n_reviewers), np.int8)
        covers = np.zeros((1, n_reviewers), np.uint8)
        sums = np.zeros((1, 2))
        smallest = np.full(1, inf)
        most = np.array([world.load.get(r, 0) for r in world.reviewers], np.int8)
        for bit, item in enumerate(asked["items"]):
            panels = [panel for panel in self._panels(item) if not world.panel_below_floors(item, panel)]
            member = np.zeros((len(panels), n_reviewers), np.uint8)
            figures = np.zeros((len(panels), 2))
            scores = np.full(len(panels), inf)
            for number, panel in enumerate(panels):
                member[number, [place[r] for r in panel]] = 1
                values = [world.value((r, item)) for r in panel]
                changed = sum((r, item) not in previous for r in panel)
                figures[number] = sum(values), changed
                if world.served(item):
                    scores[number] = sum(values)
            fits = ((loads[:, None, :] + member[None, :, :].astype(np.int8)) <= most).all(axis=2)
            row, number = np.nonzero(fits)
            loads = loads[row] + member[number].astype(np.int8)
            covers = covers[row] | (member[number] << bit)
            sums = sums[row] + figures[number]
            smallest = np.minimum(smallest[row], scores[number])
        least = np.array([world.min_load.get(r, 0) for r in world.reviewers], np.int8)
        for r, p in world.old:
            covers[:, place[r]] |= 1 << world.items.index(p)
        fine = (loads >= least).all(axis=1)
        self.covers: Masks = covers[fine]
        self.affinity, self.changed = sums[fine].T
        self.smallest = smallest[fine]
        self.required = (1 << len(asked["items"])) - 1

    def _panels(self, item: str) -> Iterator[list[str]]:
        world = self.world
        must = [r for r, p in world.fixed if p == item]
        able = [r for r in world.asked["reviewers"] if (r, item) in world.candidates and r not in must]
        for others in combinations(able, world.demand[item] - len(must)):
            panel = [*must, *others]
            if not world.panel_breaks(item, panel):
                yield panel

    @property
    def worth(self) -> Floats:
        return np.asarray(self.affinity)

    @cached_property
    def rank(self) -> list[Floats]:
        """What is minimised, the first first."""
        asked = self.world.asked
        if "fair" in asked:
            return [-self.smallest, -self.worth]
        return [self.changed if "previous" in asked else 0 * self.changed, -self.worth]

    def holds(self, rows: Any) -> Flags:
        return at_level(self.covers[rows], self.required, self.world.asked["target"])

    @cached_property
    def best(self) -> int | None:
        """The best assignment at the level; None where there is none."""
        order = np.lexsort([np.round(part, 9) for part in reversed(self.rank)])
        for start in range(0, order.size, CHUNK):
            rows = order[start : start + CHUNK]
            holds = np.flatnonzero(self.holds(rows))
            if holds.size:
                return int(rows[holds[0]])
        return None

    def row_of(self, pairs: list[Pair]) -> int | None:
        """Return the place of an assignment; None where it breaks a rule."""
        world = self.world
        cover = np.zeros(len(world.reviewers), np.uint8)
        for r, p in [*pairs, *world.old]:
            cover[world.reviewers.index(r)] |= 1 << world.items.index(p)
        rows = np.flatnonzero((self.covers == cover).all(axis=1))
        return int(rows[0]) if rows.size else None


# The product's answer against them.


def ours(asked: Options) -> Any:
    options = {name: value for name, value in asked.items() if name != "affinity"}
    return assign(asked["affinity"], search=Search(time_limit=TIME_LIMIT, seed=options.pop("seed", 0)), **options)


def every(asked: Options) -> Everything:
    return World(asked).all_assignments


def pairs_of(table: Any) -> list[Pair]:
    return [(table.reviewers[j], table.items[i]) for j, i in zip(table.reviewer, table.item, strict=True)]


def differ(asked: Options, answer: Any, everything: Everything) -> str:
    """Return what is wrong, the worst first."""
    if answer is None:
        raise Untold
    wrong = list(faults(answer, everything))
    if not wrong:
        plain = answer.status.reached and answer.randomised is None
        row = everything.row_of(pairs_of(answer.reviews)) if plain else None
        best = everything.best
        below = row is not None and best is not None and worse(everything, row, best)
        return "feasible, below the best" if below else ""
    order = ["broken rule", "false claim", "not best", "missed", "missed draws"]
    wrong.sort(key=lambda fault: order.index(fault.split(":")[0]))
    return f"{' | '.join(wrong)} | {asked}"


def worse(everything: Everything, row: int, best: int) -> bool:
    """Whether an assignment is below the best, the first of what is minimised first."""
    for part in everything.rank:
        if abs(part[row] - part[best]) > ROUNDING * (1 + abs(part[best])):
            return bool(part[row] > part[best])
    return False


def faults(answer: Any, everything: Everything) -> Iterator[str]:
    """Yield what is wrong, each with its kind before a colon."""
    world = everything.world
    asked = world.asked
    status = str(answer.status)
    pairs = pairs_of(answer.reviews)
    if status == "best_effort":
        yield from faults_of_best_effort(answer, world, pairs)
        return
    if answer.randomised is not None or ("max_probability" in asked and not answer.status.reached):
        yield from faults_of_lottery(answer, everything)
        return
    if not answer.status.reached:
        if everything.best is not None and (status == "infeasible" or not answer.timed_out):
            kind = "false claim" if status == "infeasible" else "missed"
            yield f"{kind}: {status}, and there is {worth_of(everything, everything.best)}"
        return
    row = everything.row_of(pairs)
    if row is None:
        yield f"broken rule: {broken_by(world, pairs)}"
        return
    if not everything.holds([row])[0]:
        yield "false claim: the level is not reached"
        return
    best = everything.best
    if best is None or worse(everything, best, row):
        yield "broken rule: better than the best, which the oracle cannot explain"
        return
    if status == "optimal" and worse(everything, row, best):
        yield f"not best: called optimal with {worth_of(everything, row)}, the best is {worth_of(everything, best)}"
    if abs(answer.affinity - everything.affinity[row]) > ROUNDING:
        yield f"false claim: affinity {answer.affinity}, it is {everything.affinity[row]}"
    yield from faults_of_bounds(answer, everything, row, best)
    yield from faults_of_critical(answer, everything, row)
    if answer.alternates is not None:
        yield from faults_of_alternates(answer, world, pairs)


def worth_of(everything: Everything, row: int) -> str:
    return "rank " + ", ".join(f"{float(part[row]):.9g}" for part in everything.rank)


def broken_by(world: World, pairs: list[Pair]) -> str:
    """Say in words what an assignment breaks."""
    wrong = [f"{pair} may not be" for pair in pairs if pair not in world.candidates and pair not in world.fixed]
    wrong += [f"{pair} is fixed" for pair in world.fixed if pair not in pairs]
    for p, number in world.demand.items():
        panel = [r for r, q in pairs if q == p]
        wrong += [f"{p} has {len(panel)}"] if len(panel) != number else []
        wrong += [f"{p} with {panel} breaks a rule"] if world.panel_breaks(p, panel) else []
        wrong += [f"{p} with {panel} is below a floor"] if world.panel_below_floors(p, panel) else []
    for r, most in world.load.items():
        count = sum(s == r for s, _ in pairs)
        wrong += [f"{r} has {count}"] if not world.min_load.get(r, 0) <= count <= most else []
    return "; ".join(wrong)


def faults_of_bounds(answer: Any, everything: Everything, row: int, best: int) -> Iterator[str]:
    """Yield bounds that are refuted by an assignment."""
    asked = everything.world.asked
    concerned = "previous" in asked
    # Where fairness comes first, the bound is that of assignments as fair as any.
    as_fair = everything.smallest >= (everything.smallest.max() - ROUNDING if "fair" in asked else -inf)
    most = float(everything.worth[as_fair].max())
    if not concerned and answer.bound < most - ROUNDING:
        yield f"false claim: bound {answer.bound}, there is {most}"
    unconstrained = most_without_rules(everything.world)
    if abs(answer.affinity_unconstrained - unconstrained) > ROUNDING:
        yield f"false claim: affinity_unconstrained {answer.affinity_unconstrained}, it is {unconstrained}"
    cost = most - float(everything.worth[best])
    if not concerned and "fair" not in asked and answer.least_loss is not None and answer.least_loss > cost + ROUNDING:
        yield f"false claim: least_loss {answer.least_loss}, {cost} is enough"
    if answer.changes is not None:
        fewest = everything.changed.min()
        if len(answer.changes.new) != everything.changed[row] or answer.changes.fewest > fewest:
            yield f"false claim: fewest changes {answer.changes.fewest}, there is {fewest}"
        before, after = ({*pairs} for pairs in (asked["previous"], pairs_of(answer.reviews)))
        if {*answer.changes.kept} != before & after or {*answer.changes.new} != after - before:
            yield f"false claim: kept {answer.changes.kept}, new {answer.changes.new}"
    fairness = answer.fairness
    if fairness is not None and np.isfinite(everything.smallest[row]):
        if abs(fairness.smallest[1] - everything.smallest[row]) > ROUNDING:
            yield f"false claim: smallest score {fairness.smallest[1]}, it is {everything.smallest[row]}"
        if fairness.at_most is not None and fairness.at_most < everything.smallest.max() - ROUNDING:
            yield f"false claim: smallest score at most {fairness.at_most}, there is {everything.smallest.max()}"


def most_without_rules(world: World) -> float:
    """Return the most affinity within demands, loads, conflicts and fixed pairs, by a linear programme."""
    from scipy.optimize import linprog

    pairs = sorted({*world.candidates, *world.fixed})
    if not pairs:
        return 0.0
    by_item = np.array([[float(q == p) for _, q in pairs] for p in world.demand])
    by_reviewer = np.array([[float(s == r) for s, _ in pairs] for r in world.load])
    loads = [*world.load.values(), *(-world.min_load.get(r, 0) for r in world.load)]
    solution = linprog(
        [-world.value(pair) for pair in pairs],
        A_ub=np.concatenate([by_reviewer, -by_reviewer]),
        b_ub=loads,
        A_eq=by_item,
        b_eq=list(world.demand.values()),
        bounds=[(float(pair in world.fixed), 1.0) for pair in pairs],
    )
    return float(-solution.fun) if solution.status == 0 else np.nan


def faults_of_critical(answer: Any, everything: Everything, row: int) -> Iterator[str]:
    if answer.critical is None or everything.world.asked["target"] not in ("connected", "double"):
        return
    level = everything.world.asked["target"]
    critical = set()
    for place, reviewer in enumerate(everything.world.reviewers):
        left = everything.covers[[row]]
        left[:, place] = 0
        if not at_level(left, everything.required, level)[0]:
            critical.add(reviewer)
    if set(answer.critical) != critical:
        yield f"false claim: critical {answer.critical}, they are {sorted(critical)}"


def faults_of_alternates(answer: Any, world: World, pairs: list[Pair]) -> Iterator[str]:
    """Yield alternates who cannot replace whom they are said to, and those left out."""
    asked = world.asked
    number = asked["alternates"]
    short = {entry.item: entry.found for entry in answer.alternates.missing}
    for item in asked["items"]:
        panel = [r for r, p in pairs if p == item]
        if not world.served(item):
            continue
        able = {}
        for r in asked["reviewers"]:
            replaced = {gone for gone in panel if can_replace(world, pairs, item, r, gone)}
            if replaced:
                able[r] = replaced
        listed = {entry.reviewer: set(entry.replaces) for entry in answer.alternates.listed if entry.item == item}
        for r, replaced in listed.items():
            if replaced != able.get(r, set()):
                yield f"false claim: alternate {r} of {item} replaces {replaced}, it is {able.get(r)}"
        fits = [world.value((r, item)) for r, replaced in able.items() if len(replaced) == len(panel)]
        best = sorted(fits, reverse=True)[:number]
        full = len(best)
        chosen = [entry.affinity for entry in answer.alternates.listed if entry.item == item and entry.everyone]
        if short.get(item, number) != full or len(listed) != min(number, len(able)) or chosen != best:
            yield f"missed: alternates of {item} are {listed}, there are {able}"


def can_replace(world: World, pairs: list[Pair], item: str, entering: str, gone: str) -> bool:
    """Whether a reviewer can take over a review, the rest being as it is; who gives it up may be below a minimum."""
    if (entering, item) in pairs or (entering, item) not in world.candidates:
        return False
    if sum(r == entering for r, _ in pairs) >= world.load[entering]:
        return False
    after = [*(pair for pair in pairs if pair != (gone, item)), (entering, item)]
    panel = [r for r, p in after if p == item]
    if world.panel_breaks(item, panel) or world.panel_below_floors(item, panel):
        return False
    covers = np.zeros((1, len(world.reviewers)), np.uint8)
    for r, p in [*after, *world.old]:
        covers[0, world.reviewers.index(r)] |= 1 << world.items.index(p)
    required = (1 << len(world.asked["items"])) - 1
    # A loss that the level survives is one that has happened now.
    return bool(at_level(covers, required, ALTERNATE_LEVEL.get(world.asked["target"], world.asked["target"]))[0])


#: The level that is left when an alternate takes over, where the level must survive a loss.
ALTERNATE_LEVEL = {"survives-reviewer": "double", "survives-review": "double"}


def faults_of_best_effort(answer: Any, world: World, pairs: list[Pair]) -> Iterator[str]:
    """Yield what is wrong where demands cannot be met: too many reviews missing, or other constraints broken."""
    missing = dict(answer.shortage.missing)
    lowered = {p: number - missing.get(p, 0) for p, number in world.demand.items()}
    count = {p: sum(q == p for _, q in pairs) for p in world.demand}
    if count != lowered:
        yield f"false claim: shortage {missing}, reviews {count}"
    for pair in pairs:
        if pair not in world.candidates and pair not in world.fixed:
            yield f"broken rule: {pair} may not be"
    for r, most in world.load.items():
        if sum(s == r for s, _ in pairs) > most:
            yield f"broken rule: load of {r}"
    if world.rules or any(world.min_load.values()):
        return
    most = most_reviews(world)
    if len(pairs) < most:
        yield f"not best: {len(pairs)} reviews, {most} can be given"


def most_reviews(world: World) -> int:
    """Return the most reviews within demands and loads, by a linear programme."""
    from scipy.optimize import linprog

    pairs = sorted({*world.candidates, *world.fixed})
    by_item = [[float(q == p) for _, q in pairs] for p in world.demand]
    by_reviewer = [[float(s == r) for s, _ in pairs] for r in world.load]
    solution = linprog(
        -np.ones(len(pairs)),
        A_ub=np.array([*by_item, *by_reviewer]),
        b_ub=[*world.demand.values(), *world.load.values()],
        bounds=[(float(pair in world.fixed), 1.0) for pair in pairs],
    )
    return round(-solution.fun)


# Lotteries.


@dataclass(frozen=True)
class Lotteries:
    """All lotteries over the assignments at the level; pairs are those beside the first phase."""

    everything: Everything

    @cached_property
    def pairs(self) -> list[Pair]:
        return sorted({*self.everything.world.candidates, *self.everything.world.fixed})

    @cached_property
    def vertices(self) -> Floats:
        """Shape (K, S): whether each assignment at the level holds each pair."""
        everything = self.everything
        world = everything.world
        holds = np.zeros(len(everything.covers), np.bool_)
        for start in range(0, holds.size, CHUNK):
            rows = np.arange(start, min(start + CHUNK, holds.size))
            holds[rows] = everything.holds(rows)
        covers = everything.covers[holds]
        if len(covers) > MOST_DRAWN:
            raise Untold
        columns = [covers[:, world.reviewers.index(r)] >> world.items.index(p) & 1 for r, p in self.pairs]
        return np.array(columns, float).reshape(len(self.pairs), len(covers)).T

    def cap(self, pair: Pair) -> float:
        world = self.everything.world
        return 1.0 if pair in world.fixed else float(world.asked["max_probability"])

    def best(self) -> float | None:
        """Return the largest worth of a lottery within the caps; None where there is none."""
        from scipy.optimize import linprog

        vertices = self.vertices
        if not len(vertices):
            return None
        worth = np.array([self.everything.world.value(pair) for pair in self.pairs])
        solution = linprog(
            -(vertices @ worth),
            A_ub=vertices.T,
            b_ub=[self.cap(pair) for pair in self.pairs],
            A_eq=np.ones((1, len(vertices))),
            b_eq=[1.0],
            bounds=(0, 1),
        )
        return float(-solution.fun) if solution.status == 0 else None

    def listed(self, draws: int) -> bool:
        """Whether so many assignments at the level, one several times perhaps, keep the caps rounded down."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        vertices = self.vertices
        if not len(vertices):
            return False
        most = np.array([np.floor(self.cap(pair) * draws + 1e-9) for pair in self.pairs])
        number = LinearConstraint(np.ones((1, len(vertices))), draws, draws)
        constraints = [number, LinearConstraint(vertices.T, -np.inf, most)] if len(self.pairs) else [number]
        n_vertices = len(vertices)
        solution = milp(
            np.zeros(n_vertices),
            constraints=constraints,
            integrality=np.ones(n_vertices),
            bounds=Bounds(0, draws),
            options={"time_limit": 5.0},
        )
        if solution.status not in (0, 2):
            raise Untold
        return bool(solution.status == 0)


def faults_of_lottery(answer: Any, everything: Everything) -> Iterator[str]:
    world = everything.world
    asked = world.asked
    lotteries = Lotteries(everything)
    rounded = asked["target"] == "none" and not world.rules
    if not answer.status.reached:
        # A list has a whole number of each assignment; without a level or rules probabilities may be any.
        possible = lotteries.best() is not None if rounded else lotteries.listed(DRAWS)
        if possible and (str(answer.status) == "infeasible" or not answer.timed_out):
            kind = "false claim" if str(answer.status) == "infeasible" else "missed draws"
            yield f"{kind}: {answer.status}, and there is a lottery"
        return
    randomised = answer.randomised
    columns = randomised.to_columns()
    probability = dict(zip(zip(columns["reviewer"], columns["item"], strict=True), columns["probability"], strict=True))
    for pair, share in probability.items():
        if pair not in lotteries.pairs:
            yield f"broken rule: {pair} may not be"
        elif share > lotteries.cap(pair) + 1e-9:
            yield f"broken rule: probability {share} of {pair}, at most {lotteries.cap(pair)}"
    for item, number in world.demand.items():
        total = sum(share for (_, p), share in probability.items() if p == item)
        if abs(total - number) > 1e-6:
            yield f"broken rule: the probabilities of {item} are {total} in all"
    share = randomised.to_dict()["at_level"]
    if share is not None and share < 1:
        if lotteries.listed(DRAWS):
            yield f"missed draws: {share} of the draws reach the level within the rules, all can"
        return
    for table in [answer.reviews, *answer.sample(20)]:
        pairs = pairs_of(table)
        row = everything.row_of(pairs)
        if row is None:
            yield f"broken rule: drawn {broken_by(world, pairs)}"
            return
        if not everything.holds([row])[0]:
            yield "false claim: a draw misses the level"
            return
    best = lotteries.best()
    if best is None:
        yield "broken rule: a lottery that the oracle cannot explain"
        return
    if randomised.most < best - 1e-6 * (1 + abs(best)):
        yield f"false claim: no lottery has more than {randomised.most}, there is one of {best}"


ORACLES = [Oracle("assignments", "every assignment", market, ours, every, differ, MOST_SECONDS)]
