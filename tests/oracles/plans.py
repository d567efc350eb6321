"""Plans against every plan, smallest first; assignments against every assignment."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from math import prod
from typing import Any

import numpy as np

from planner import InvalidPlan, assign, plan_extra_reviews, verify_plan
from reviewgraph import Reviews
from reviewgraph.graph.levels import NAMES
from tests.oracles.oracle import Oracle, Untold
from tests.planner.plans import naive_plans
from tests.planner.plans.plan_cases import Case

#: Sets of reviews, and assignments, that are tried at most.
PLANS, ASSIGNMENTS = 20_000, 60_000
ROUNDING = 1e-6


def some_case(rng: np.random.Generator) -> Case:
    """Return a tiny table with tight loads, conflicts, single reviews and emergency reviewers."""
    M, N, extra = int(rng.integers(1, 6)), int(rng.integers(1, 6)), int(rng.integers(0, 3))
    rows = [[int(i) for i in rng.permutation(N)[: int(rng.integers(0, 4))]] for _ in range(M)]

    def pairs(most: int) -> list[tuple[int, int]]:
        return [(int(rng.integers(M + extra)), int(rng.integers(N))) for _ in range(int(rng.integers(0, most + 1)))]

    options: dict[str, Any] = {"conflicts": pairs(int(rng.choice([0, 3, 12])))}
    if extra or rng.random() < 0.5:
        options["capacity"] = {j: int(rng.integers(0, 4)) for j in range(M + extra)}
    if rng.random() < 0.25:
        options["max_per_item"] = int(rng.integers(0, 3))
    if rng.random() < 0.25:
        options["cost"] = {pair: float(rng.integers(0, 4)) for pair in pairs(8)}
    table = [(j, i) for j, row in enumerate(rows) for i in row]
    return Case(Reviews.from_pairs(table, reviewers=range(M), items=range(N)), options)


Asked = tuple[Case, Any, Any, dict[str, Any]]


def plain(rng: np.random.Generator) -> Asked:
    case = some_case(rng)
    target = str(rng.choice(NAMES))
    return case, target, target, {}


def our_plan(asked: Asked) -> Any:
    case, target, _, more = asked
    plan = plan_extra_reviews(case.reviews, target, time_limit=20, **case.options, **more)
    try:
        verify_plan(plan)
    except InvalidPlan as error:
        return "no valid plan", str(error), 0
    return str(plan.status), plan.count, plan.cost


def smallest(asked: Asked) -> Any:
    case, _, target, _ = asked
    found = naive_plans.smallest_plan(*case.naive(), target, most_sets=PLANS)
    if found == "too many":
        raise Untold
    return found


def another_plan(asked: Asked, ours: Any, theirs: Any) -> str:
    status, count, cost = ours
    same = status == "infeasible" if theirs is None else status == "optimal" and count == theirs[0]
    if same and (theirs is None or abs(cost - theirs[1]) <= ROUNDING):
        return ""
    if status == "feasible" and theirs is not None and count >= theirs[0]:
        raise Untold  # the clock ended the search, and nothing is claimed
    case, target, *_ = asked
    table = list(zip(case.reviews.reviewer.tolist(), case.reviews.item.tolist(), strict=True))
    return f"{ours}, expected {theirs}: {target}, {table}, {case.options}"


# Assignments


def market(rng: np.random.Generator) -> dict[str, Any]:
    """Return a tiny market: ties in affinity, few or all pairs allowed, tight loads, conflicts."""
    n, m = int(rng.integers(1, 6)), int(rng.integers(2, 6))
    levels, density = int(rng.choice([1, 2, 1000])), float(rng.choice([0.5, 0.8, 1.0]))
    affinity = {
        (f"r{j}", f"p{i}"): float(rng.integers(0, levels + 1))
        for j in range(m)
        for i in range(n)
        if rng.random() < density
    }
    usual = int(rng.integers(1, 4))
    demand = {f"p{i}": usual if rng.random() < 0.8 else int(rng.integers(0, 4)) for i in range(n)}
    least = -(-sum(demand.values()) // m)
    load = {f"r{j}": max(0, least + int(rng.integers(-1, 3))) for j in range(m)}
    min_load = {who: int(rng.random() < 0.2 and most > 0) for who, most in load.items()}
    return {
        "affinity": affinity,
        "demand": demand,
        "load": load,
        "min_load": min_load,
        "conflicts": [pair for pair in affinity if rng.random() < 0.1],
        "target": str(rng.choice(["none", "connected", "double", "recoverable"])),
    }


def our_assignment(asked: dict[str, Any]) -> Any:
    rest = {name: value for name, value in asked.items() if name != "affinity"}
    found = assign(asked["affinity"], items=asked["demand"], reviewers=asked["load"], **rest)
    table = found.reviews
    pairs = [(table.reviewers[j], table.items[i]) for j, i in zip(table.reviewer, table.item, strict=True)]
    return found, pairs


def every_assignment(asked: dict[str, Any]) -> tuple[float | None, float | None]:
    """Return the largest affinity of all assignments, and of those at the level; None where there is none."""
    free = {*asked["affinity"]} - {*asked["conflicts"]}
    panels = {
        p: list(combinations([r for r in asked["load"] if (r, p) in free], k)) for p, k in asked["demand"].items()
    }
    if prod(map(len, panels.values())) > ASSIGNMENTS:
        raise Untold
    best: list[float | None] = [None, None]

    def extend(items: list[str], chosen: list[tuple[str, str]], load: Counter[str], total: float) -> None:
        if not items:
            if any(load[who] < least for who, least in asked["min_load"].items()):
                return
            for place in (0, 1):
                held = best[place]
                if (held is None or total > held) and (place == 0 or at_level(asked, chosen)):
                    best[place] = total
            return
        for panel in panels[items[0]]:
            if all(load[who] < asked["load"][who] for who in panel):
                pairs = [(who, items[0]) for who in panel]
                gain = sum(asked["affinity"][pair] for pair in pairs)
                extend(items[1:], chosen + pairs, load + Counter(panel), total + gain)

    extend(list(panels), [], Counter(), 0.0)
    return best[0], best[1]


def at_level(asked: dict[str, Any], pairs: list[tuple[str, str]]) -> bool:
    """Whether the pairs reach the level on all items."""
    if asked["target"] == "none":
        return True
    place, covers = {item: k for k, item in enumerate(asked["demand"])}, Counter[str]()
    for who, what in pairs:
        covers[who] |= 1 << place[what]
    return naive_plans.LEVELS[asked["target"]](list(covers.values()), len(place))


def another_assignment(asked: dict[str, Any], ours: Any, theirs: tuple[float | None, float | None]) -> str:
    found, pairs = ours
    free, best = theirs
    status, wrong = str(found.status), ""
    if status == "infeasible":
        wrong = "there is one" if best is not None else ""
    elif free is None:
        wrong = "there is none"
    elif broken(asked, pairs):
        wrong = "it breaks a rule"
    elif abs(found.affinity_unconstrained - free) > ROUNDING:
        wrong = f"unconstrained {found.affinity_unconstrained}, expected {free}"
    elif status == "level_missed":
        wrong = "the level can be reached" if best is not None else ""
    elif not at_level(asked, pairs):
        wrong = "the level is not reached"
    elif best is None or found.affinity > best + ROUNDING:
        wrong = f"affinity {found.affinity}, the best is {best}"
    elif status == "optimal" and found.affinity < best - ROUNDING:
        wrong = f"called optimal with {found.affinity}, the best is {best}"
    return f"{status}: {wrong}: {asked}" if wrong else ""


def broken(asked: dict[str, Any], pairs: list[tuple[str, str]]) -> bool:
    """Whether demands, loads or conflicts do not hold."""
    load, count = Counter(who for who, _ in pairs), Counter(what for _, what in pairs)
    return (
        any(count[what] != number for what, number in asked["demand"].items())
        or any(not asked["min_load"][who] <= load[who] <= most for who, most in asked["load"].items())
        or bool({*pairs} - {*asked["affinity"]} or {*pairs} & {*asked["conflicts"]})
        or len({*pairs}) < len(pairs)
    )


ORACLES = [
    Oracle("plans", "every plan, smallest first", plain, our_plan, smallest, another_plan),
    Oracle("assignments", "every assignment", market, our_assignment, every_assignment, another_assignment),
]
