"""Plans against every plan, smallest first: rules, needs, fixed reviews, prices, affinities, budgets, what survives.

Sets of free pairs are rows of zeros and ones; loads, limits and rules are checked for all sets of one size at once.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt

import planner
from planner import AtLeast, AtMost
from reviewgraph import Reviews, Search
from tests.oracles.levels import SHARED, SIZE, Flags, Masks, at_level, merged
from tests.oracles.oracle import MOST_SECONDS, ROUNDING, TIME_LIMIT, Asked, Options, Oracle, Pair, Untold, draw_rules
from tests.planner.assignments import naive_rules
from tests.planner.plans.plan_cases import InvalidPlan, verify_plan

Floats = npt.NDArray[np.float64]

#: Sets of reviews that are tried at most, and free pairs up to which instances are drawn.
MOST_SETS = 200_000
MOST_PAIRS = 30
#: Above every load and limit.
UNLIMITED = 99
#: Share of instances that are kept although there is no plan.
IMPOSSIBLE = 0.15


# Instances.


def some_table(rng: np.random.Generator, *concerns: str) -> Options:
    """Return a tiny table and these options of a plan; most of those without a plan are drawn again."""
    while True:
        asked = any_table(rng)
        if not {*concerns} <= asked.keys():
            continue
        if len(World(asked).free) <= MOST_PAIRS and (rng.random() < IMPOSSIBLE or World(asked).possible):
            return asked


def any_table(rng: np.random.Generator) -> Options:
    """Return tight loads, conflicts, single reviews, emergency reviewers, rules, and some of all that can be asked."""
    n_reviewers = int(rng.integers(1, 7))
    items = [f"p{i}" for i in range(int(rng.integers(2, 7)))]
    reviewers = [f"r{j}" for j in range(n_reviewers + int(rng.integers(0, 3)))]
    most = int(rng.choice([0, 1, 2, 2, 3, 3]))
    table = []
    for r in reviewers[:n_reviewers]:
        table += [(r, items[i]) for i in rng.permutation(len(items))[: int(rng.integers(0, most + 1))].tolist()]
    pairs = [(r, p) for r in reviewers for p in items]
    new = [pair for pair in pairs if pair not in table]

    def some(share: float) -> list[Pair]:
        return [pair for pair in new if rng.random() < share]

    levels = ["connected", "recoverable", "double", "survives-reviewer", "survives-review"]
    asked: Options = {"table": table, "items": items, "reviewers": reviewers[:n_reviewers]}
    asked["target"] = str(rng.choice(levels, p=[0.15, 0.2, 0.35, 0.15, 0.15]))
    asked["conflicts"] = some(float(rng.choice([0.0, 0.1, 0.4])))
    if len(reviewers) > n_reviewers or rng.random() < 0.7:
        asked["capacity"] = {r: int(rng.integers(0, 4)) for r in reviewers}
    if rng.random() < 0.3:
        fixed = some(0.1)
        whole = rng.random() < 0.3
        asked["fixed"] = [pair for pair in fixed if whole or pair not in asked["conflicts"]]
    if rng.random() < 0.2:
        asked["max_per_item"] = int(rng.integers(1, 3))
    if rng.random() < 0.2:
        asked["willing"] = [r for r in reviewers if rng.random() < 0.7]
    if rng.random() < 0.3:
        asked["min_reviews"] = int(rng.integers(1, 4))
    _prices(rng, asked, pairs)
    draw_rules(rng, asked, reviewers, ruled=0.25, housed=0.7)
    if rng.random() < 0.15:
        asked["n"] = int(rng.integers(0, 6))
    if rng.random() < 0.15:
        asked["best_effort"] = True
    asked["seed"] = int(rng.integers(3))
    return asked


def _prices(rng: np.random.Generator, asked: Options, pairs: list[Pair]) -> None:
    kind = rng.random()
    if kind < 0.2:
        asked["cost"] = {pair: float(rng.integers(0, 4)) for pair in pairs if rng.random() < 0.5}
    elif kind < 0.45:
        levels = int(rng.choice([1, 3, 100]))
        asked["affinity"] = {pair: float(rng.integers(0, levels + 1)) / levels for pair in pairs if rng.random() < 0.8}
        if rng.random() < 0.25:
            asked["min_affinity"] = float(rng.choice([0.3, 0.5]))


# Every plan.


@dataclass(frozen=True)
class World(Asked):
    """What an instance allows, read from its options."""

    @cached_property
    def reviewers(self) -> list[str]:
        named = [*self.asked.get("capacity", ()), *self.asked.get("willing", ())]
        return list(dict.fromkeys([*self.asked["reviewers"], *named]))

    @cached_property
    def fixed(self) -> list[Pair]:
        return [pair for pair in dict.fromkeys(self.asked.get("fixed", ())) if pair not in self.asked["table"]]

    @cached_property
    def standing(self) -> list[Pair]:
        """Reviews of every plan: the existing and the fixed ones."""
        return [*self.asked["table"], *self.fixed]

    @cached_property
    def spare(self) -> dict[str, int]:
        """Loads of new reviews; who is not willing keeps what is fixed."""
        asked = self.asked
        capacity = asked.get("capacity")
        spare = {r: UNLIMITED if capacity is None else capacity.get(r, 0) for r in self.reviewers}
        for r in self.reviewers:
            if r not in asked.get("willing", self.reviewers):
                spare[r] = min(spare[r], sum(s == r for s, _ in self.fixed))
        if "willing" in asked and capacity is None:
            spare |= dict.fromkeys(asked["willing"], UNLIMITED)
        # Fixed reviews are kept, whatever limits they exceed.
        return {r: max(number, sum(s == r for s, _ in self.fixed)) for r, number in spare.items()}

    def room(self, item: str) -> int:
        """Return the most new reviews of an item."""
        return max(self.asked.get("max_per_item", UNLIMITED), sum(p == item for _, p in self.fixed))

    def crowded(self, pair: Pair) -> bool:
        """Whether a new review breaks a limit beside the standing ones."""
        panel = [r for r, p in self.standing if p == pair[1]]
        paper = self.paper(pair[1])
        for rule in self.rules:
            most = naive_rules.number_of(rule, paper)
            if isinstance(rule, AtMost) and most is not None:
                count = naive_rules.counted([*panel, pair[0]], rule, self.attributes, paper)
                own = naive_rules.counted([pair[0]], rule, self.attributes, paper)
                if any(count[value] > most for value in own):
                    return True
        return False

    @cached_property
    def free(self) -> list[Pair]:
        """Pairs that may be added to the standing ones."""
        asked = self.asked
        barred = {*asked["conflicts"], *self.standing}
        affinity = asked.get("affinity", {})
        floor = asked.get("min_affinity")
        return [
            (r, p)
            for r in self.reviewers
            for p in asked["items"]
            if (r, p) not in barred
            and self.spare[r] > 0
            and r in asked.get("willing", self.reviewers)
            and self.room(p) > 0
            and (floor is None or affinity.get((r, p), floor - 1) >= floor)
            and not self.crowded((r, p))
        ]

    def price(self, pair: Pair) -> float:
        """Cost of a pair; with affinities the distance to the highest."""
        affinity = self.asked.get("affinity")
        if affinity is None:
            return float(self.asked.get("cost", {}).get(pair, 1.0))
        return max([0.0, *affinity.values()]) - float(affinity.get(pair, 0.0))

    @cached_property
    def required(self) -> int:
        return (1 << len(self.asked["items"])) - 1

    @cached_property
    def possible(self) -> bool:
        """Whether all free pairs together, whatever the loads and rules, reach the level and give every review."""
        every_pair = np.ones((1, len(self.free)), np.uint8)
        level = at_level(Sets(self, every_pair).covers, self.required, self.asked["target"])
        return bool(level[0]) and bool(Sets(self, every_pair).served[0])


@dataclass(frozen=True)
class Sets:
    """Sets of free pairs, as zeros and ones of shape (S, F)."""

    world: World
    chosen: npt.NDArray[np.uint8]

    def counts(self, standing: list[float], columns: list[list[float]]) -> Floats:
        """Return sums over the pairs of each set, shape (S, K), from those of the standing pairs and of each pair."""
        matrix = np.array(columns, np.float32).reshape(len(self.world.free), len(standing))
        return np.asarray(self.chosen.astype(np.float32) @ matrix + np.array(standing, np.float32))

    @cached_property
    def covers(self) -> Masks:
        world = self.world
        bit = {p: 1 << i for i, p in enumerate(world.asked["items"])}
        standing = [float(sum(bit[p] for s, p in world.standing if s == r)) for r in world.reviewers]
        columns = [[float(bit[p] * (s == r)) for r in world.reviewers] for s, p in world.free]
        return self.counts(standing, columns).astype(np.uint8)

    @cached_property
    def loads(self) -> Floats:
        """New reviews of each reviewer, fixed ones included."""
        world = self.world
        fixed = [float(sum(s == r for s, _ in world.fixed)) for r in world.reviewers]
        return self.counts(fixed, [[float(s == r) for r in world.reviewers] for s, _ in world.free])

    @cached_property
    def within(self) -> Flags:
        """Whether loads, limits and rules hold; limits on values bind new reviews only."""
        world = self.world
        asked = world.asked
        items = asked["items"]
        fine = (self.loads <= np.array([world.spare[r] for r in world.reviewers])).all(axis=1)
        per_item = self.counts(
            [float(sum(q == p for _, q in world.fixed)) for p in items],
            [[float(q == p) for p in items] for _, q in world.free],
        )
        fine &= (per_item <= np.array([world.room(p) for p in items])).all(axis=1)
        for rule in world.rules:
            if isinstance(rule, AtMost):
                total, new = self.members(rule.attribute)
                most = []
                for p in items:
                    number = naive_rules.number_of(rule, world.paper(p))
                    limited = naive_rules.counted(world.reviewers, rule, world.attributes, world.paper(p))
                    limited = {} if number is None else limited
                    most += [number if value in limited else UNLIMITED for value in self.values(rule.attribute)]
                fine &= ((total <= np.array(most)) | (new == 0)).all(axis=1)
        return np.asarray(fine)

    def members(self, attribute: str) -> tuple[Floats, Floats]:
        """Return reviewers of each paper and value, shape (S, N * V), all and free ones; values by their text."""
        world = self.world
        cells = [(p, value) for p in world.asked["items"] for value in self.values(attribute)]

        def row(pair: Pair) -> list[float]:
            own = naive_rules.values_of(pair[0], attribute, world.attributes)
            return [float(pair[1] == p and value in own) for p, value in cells]

        columns = [row(pair) for pair in world.free]
        standing = np.sum([row(pair) for pair in world.standing] or [[0.0] * len(cells)], axis=0)
        new = self.counts([0.0] * len(cells), columns)
        return new + standing, new

    def values(self, attribute: str) -> list[Any]:
        world = self.world
        every_value = chain.from_iterable(
            naive_rules.values_of(r, attribute, world.attributes) for r in world.reviewers
        )
        return sorted(set(every_value), key=str)

    @cached_property
    def reviews(self) -> Floats:
        """Reviews of each paper."""
        world = self.world
        items = world.asked["items"]
        return self.counts(
            [float(sum(q == p for _, q in world.standing)) for p in items],
            [[float(q == p) for p in items] for _, q in world.free],
        )

    @cached_property
    def lacking(self) -> Floats:
        """Reviews that papers lack, shape (S,), by their number alone."""
        return np.asarray(np.maximum(self.world.asked.get("min_reviews", 0) - self.reviews, 0).sum(axis=1))

    @cached_property
    def served(self) -> Flags:
        """Whether every paper has its reviews, and whom rules ask for."""
        world = self.world
        fine = self.lacking == 0
        items = world.asked["items"]
        for rule in world.rules:
            if isinstance(rule, AtLeast):
                number = [naive_rules.number_of(rule, world.paper(p)) for p in items]
                if rule.value == "same":
                    own = [naive_rules.values_of("paper", rule.attribute, {"paper": world.paper(p)}) for p in items]
                    number = [least if values else None for least, values in zip(number, own, strict=True)]
                    have = self.sharing(rule.attribute, own)
                else:
                    have = self.having(rule)
                fine &= (have >= [least or 0 for least in number]).all(axis=1)
        return np.asarray(fine)

    def sharing(self, attribute: str, own: list[set[Any]]) -> Floats:
        """Return reviewers of each paper with any of some values of it, shape (S, N)."""
        world = self.world

        def row(pair: Pair) -> list[float]:
            shared = naive_rules.values_of(pair[0], attribute, world.attributes)
            return [float(pair[1] == p and bool(shared & values)) for p, values in zip(items, own, strict=True)]

        items = world.asked["items"]
        standing = np.sum([row(pair) for pair in world.standing] or [[0.0] * len(items)], axis=0)
        return self.counts(standing.tolist(), [row(pair) for pair in world.free])

    def having(self, rule: AtLeast) -> Floats:
        """Return reviewers of each paper with the value of a rule, shape (S, N)."""
        total, _ = self.members(rule.attribute)
        values = self.values(rule.attribute)
        table = total.reshape(len(total), len(self.world.asked["items"]), len(values))
        return np.asarray(table[:, :, values.index(True if rule.value is None else rule.value)])

    @cached_property
    def prices(self) -> Floats:
        cost = np.array([self.world.price(pair) for pair in self.world.free])
        return np.asarray(self.chosen @ cost) if cost.size else np.zeros(len(self.chosen))

    @cached_property
    def reached(self) -> Flags:
        """Whether everything holds."""
        holds = self.within & self.served
        rows = np.flatnonzero(holds)
        holds[rows] = at_level(self.covers[rows], self.world.required, self.world.asked["target"])
        return np.asarray(holds)

    @cached_property
    def largest_groups(self) -> Floats:
        """Papers of the largest group of each set."""
        groups = merged(self.covers, SHARED[self.world.asked["target"]])
        return np.asarray(SIZE[groups].max(axis=1, initial=0))


class Everything:
    """The smallest plans beside the fixed reviews: their number, and all of them; None where there are none."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.count: int | None = None
        self.complete = True
        self.by_size: list[Sets] = []
        self.smallest: Sets | None = None
        if not world.possible and "best_effort" not in world.asked:
            return
        tried = 0
        for size in range(len(world.free) + 1):
            tried += comb(len(world.free), size)
            if tried > MOST_SETS:
                self.complete = False
                return
            sets = self._of_size(size)
            if not len(sets.chosen):
                return
            self.by_size.append(sets)
            if self.smallest is None and sets.reached.any():
                self.count = size
                self.smallest = Sets(world, sets.chosen[sets.reached])
                if "best_effort" not in world.asked:
                    return

    def _of_size(self, size: int) -> Sets:
        """Return all sets of a size within loads and limits."""
        n_pairs = len(self.world.free)
        number = comb(n_pairs, size)
        places = np.fromiter(chain.from_iterable(combinations(range(n_pairs), size)), np.int64, number * size)
        chosen = np.zeros((number, n_pairs), np.uint8)
        chosen[np.arange(number)[:, None], places.reshape(number, size)] = 1
        return Sets(self.world, chosen[Sets(self.world, chosen).within])


# The product's answer against them.


def ours(asked: Options) -> Any:
    options = {name: value for name, value in asked.items() if name not in ("table", "items", "reviewers", "target")}
    table = Reviews(asked["table"], reviewers=asked["reviewers"], items=asked["items"])
    return planner.plan(
        table, target=asked["target"], search=Search(time_limit=TIME_LIMIT, seed=options.pop("seed", 0)), **options
    )


def every(asked: Options) -> Everything:
    return Everything(World(asked))


def differ(asked: Options, plan: Any, everything: Everything) -> str:
    """Return what is wrong, the worst first."""
    wrong = list(faults(plan, everything))
    if wrong:
        order = ["broken rule", "false claim", "not best", "missed"]
        wrong.sort(key=lambda fault: order.index(fault.split(":")[0]))
        return f"{' | '.join(wrong)} | {asked}"
    if everything.count is None and not everything.complete:
        raise Untold
    longer = str(plan.status) == "feasible" and everything.count is not None
    longer = longer and plan.count > everything.count + len(everything.world.fixed)
    return "feasible, below the best" if longer else ""


def faults(plan: Any, everything: Everything) -> Iterator[str]:
    """Yield what is wrong, each with its kind before a colon."""
    world = everything.world
    asked = world.asked
    status = str(plan.status)
    n_fixed = len(world.fixed)
    columns = plan.to_columns()
    pairs = list(zip(columns["reviewer"], columns["item"], strict=True))
    try:
        verify_plan(plan)
    except InvalidPlan as error:
        yield f"false claim: verify_plan: {error}"
    best = None if everything.count is None else everything.count + n_fixed
    if status == "infeasible":
        if best is not None and n_fixed <= asked.get("n", best):
            yield f"false claim: infeasible, and there is one of {best}"
        return
    added = [pair for pair in pairs if pair not in world.fixed]
    unknown = [pair for pair in added if pair not in world.free]
    chosen = np.array([[pair in added for pair in world.free]], np.uint8)
    sets = Sets(world, chosen)
    if unknown or len(set(pairs)) < len(pairs) or not {*world.fixed} <= {*pairs}:
        yield f"broken rule: {pairs}, of which {unknown} may not be"
        return
    if not sets.within[0]:
        yield f"broken rule: {pairs} exceed a load or limit"
        return
    if status in ("optimal", "feasible"):
        yield from faults_of_complete(plan, everything, sets, best)
    elif status == "best_effort":
        yield from faults_of_best_effort(plan, everything, sets)
    else:
        yield from faults_of_partial(plan, everything, sets, best)


def faults_of_complete(plan: Any, everything: Everything, sets: Sets, best: int | None) -> Iterator[str]:
    world = everything.world
    if not sets.reached[0]:
        yield "false claim: the level is not reached, or papers lack reviews"
        return
    if best is None:
        if everything.complete:
            yield "broken rule: there is none, so that the oracle cannot explain it"
        return
    smallest = everything.smallest
    if plan.count < best or smallest is None:
        yield "broken rule: shorter than the best, which the oracle cannot explain"
        return
    if plan.lower_bound > best:
        yield f"false claim: lower bound {plan.lower_bound}, there is one of {best}"
    optimal = str(plan.status) == "optimal"
    if optimal and plan.count > best:
        yield f"not best: called optimal with {plan.count}, there is one of {best}"
    if plan.count > best:
        return
    price = float(sets.prices[0])
    loads = smallest.loads.max(axis=1, initial=0)
    # Affinity comes after loads, of which a plan may have no more than one without affinities.
    fair = loads <= (plan.largest_load if "affinity" in world.asked else UNLIMITED)
    cheapest = float(smallest.prices[fair].min())
    if optimal and price > cheapest + ROUNDING:
        yield f"not best: called optimal at {price}, there is one at {cheapest}"
    least = plan.largest_load_lower_bound
    same_price = smallest.prices <= price + ROUNDING
    if least is not None and least > loads[same_price].min():
        yield f"false claim: largest load at least {least}, there is one of {loads[same_price].min()}"


def faults_of_best_effort(plan: Any, everything: Everything, sets: Sets) -> Iterator[str]:
    """Yield a claim that there is no plan where there is one, and missing reviews that need not be missing."""
    world = everything.world
    if everything.count is not None:
        yield f"false claim: best effort, and there is one of {everything.count + len(world.fixed)}"
    missing = dict(plan.shortage.missing)
    only_number = not any(isinstance(rule, AtLeast) for rule in world.rules)
    if only_number and sum(missing.values()) != sets.lacking[0]:
        yield f"false claim: shortage {missing}, it is {sets.lacking[0]}"
    if only_number and everything.complete and "n" not in world.asked:
        least = min(float(part.lacking.min()) for part in everything.by_size)
        if sets.lacking[0] > least:
            yield f"not best: {sets.lacking[0]} reviews are missing, {least} need be"


def faults_of_partial(plan: Any, everything: Everything, sets: Sets, best: int | None) -> Iterator[str]:
    world = everything.world
    asked = world.asked
    budget = asked.get("n", UNLIMITED)
    if plan.count > budget:
        yield f"broken rule: {plan.count} reviews, at most {budget}"
    if best is not None and best <= budget and not plan.timed_out:
        yield f"missed: {plan.status}, and there is one of {best}"
    if best is not None and plan.lower_bound > best:
        yield f"false claim: lower bound {plan.lower_bound}, there is one of {best}"
    tried = any("all choices within the budget were tried" in words for words in plan.explanation)
    if tried and asked["target"] in ("connected", "double") and not asked.get("min_reviews") and not world.rules:
        within = everything.by_size[: budget - len(world.fixed) + 1]
        most = max((int(part.largest_groups.max()) for part in within), default=0)
        # A paper alone is comparable with itself, also without a review.
        if max(sets.largest_groups[0], 1) < most:
            yield f"false claim: none is better than {sets.largest_groups[0]} papers, there is one of {most}"


ORACLES = [Oracle("plans", "every plan, smallest first", some_table, ours, every, differ, MOST_SECONDS)]
