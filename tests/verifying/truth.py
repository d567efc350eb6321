"""Whether an answer to a small question is true, by trying everything: nothing of the product, nor of its verifier."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import combinations, product
from typing import Any

import numpy as np

from tests.naive import PRIME, equations, rank
from tests.planner.plans import naive_plans
from tests.verifying.cases import Case, read

Pair = tuple[str, str]
Scores = dict[Pair, float | None]


class TooMany(Exception):
    """There is too much to be tried."""


class Question:
    """The files of a case, by name."""

    def __init__(self, case: Case) -> None:
        self.case, self.score = case, dict[Pair, float | None]()
        if case.command == "assign":
            self.items = [row["item"] for row in read("papers.csv")]
            self.reviewers = [row["reviewer"] for row in read("reviewers.csv")]
            return
        self.items = [row["item"] for row in read("items.csv")]
        for row in read("reviews.csv"):
            self.score[row["reviewer"], row["item"]] = float(row["score"]) if row["score"] else None
        self.reviewers = sorted({who for who, _ in self.score})
        named = [case.option(option) for option in ("--capacity", "--willing")]
        self.reviewers += sorted({row["reviewer"] for name in named if name for row in read(name)} - {*self.reviewers})

    def pairs(self, option: str) -> list[Pair]:
        name = self.case.option(option)
        return [(row["reviewer"], row["item"]) for row in read(name)] if name else []

    def number(self, option: str) -> int | None:
        given = self.case.option(option)
        return None if given is None else int(given)


def rows_of(score: Scores, reviewers: list[str], items: list[str]) -> list[dict[int, float]]:
    code = {item: place for place, item in enumerate(items)}
    return [{code[what]: value or 0.0 for (who, what), value in score.items() if who == one} for one in reviewers]


def links(rows: list[dict[int, float]], n_items: int) -> int:
    """Degrees of freedom, by the rank of the equations for random qualities."""
    rng = np.random.default_rng(0)
    quality = [int(value) for value in rng.integers(1, PRIME, n_items)]
    counted = sum(len(row) >= 2 for row in rows)
    return n_items + 2 * counted - min(n_items, 2) - rank(equations(rows, quality))


def at_level(level: str, score: Scores, reviewers: list[str], items: list[str]) -> bool:
    covers = [sum(1 << place for place in row) for row in rows_of(score, reviewers, items)]
    return naive_plans.LEVELS[level](covers, len(items))


# Plans


class PlanQuestion(Question):
    """What a plan was to respect, each rule once more."""

    def __init__(self, case: Case) -> None:
        super().__init__(case)
        self.fixed = [pair for pair in dict.fromkeys(self.pairs("--fixed")) if pair not in self.score]
        capacity = case.option("--capacity")
        stated = {row["reviewer"]: int(row["spare"]) for row in read(capacity)} if capacity else {}
        least = self.number("--spare")
        usual = (0 if capacity else 99) if least is None else least
        self.spare = {who: stated.get(who, usual) for who in self.reviewers}
        people = read(case.option("--reviewers") or "none") if "--reviewers" in case.words else []
        homes = people if "institution=1" in case.words else []
        self.home = {row["reviewer"]: row["institution"] for row in homes}
        seniors = {row["reviewer"] for row in people if row["senior"] == "yes"}
        self.senior = seniors if "senior=1" in case.words else None
        cost, affinity = case.option("--cost"), case.option("--affinity")
        self.value = (
            {
                (row["reviewer"], row["item"]): float(row["cost" if cost else "affinity"])
                for row in read(cost or affinity or "none")
            }
            if cost or affinity
            else {}
        )
        self.value = {pair: v for pair, v in self.value.items() if pair[0] in self.reviewers and pair[1] in self.items}
        self.best = max([0.0, *self.value.values()]) if affinity else None
        floor = case.option("--min-affinity")
        self.floor = None if floor is None else float(floor)
        self.barred = set(self.pairs("--conflicts"))

    def cost(self, pair: Pair) -> float:
        value = self.value.get(pair, 1.0 if self.best is None else 0.0)
        return value if self.best is None else self.best - value

    def allowed(self, pairs: Iterable[Pair]) -> bool:
        new = list(pairs)
        load, count = Counter(who for who, _ in new), Counter(what for _, what in new)
        room = self.number("--max-per-item")
        if any(number > self.spare.get(who, -1) for who, number in load.items()):
            return False
        if room is not None and any(number > room for number in count.values()):
            return False
        if len({*new}) < len(new) or not {*self.fixed} <= {*new}:
            return False
        return all(self._may(pair, new) for pair in new)

    def _may(self, pair: Pair, new: list[Pair]) -> bool:
        if pair in self.barred or pair in self.score or pair[1] not in self.items:
            return False
        if pair in self.fixed:
            return True
        if self.floor is not None and self.value.get(pair, -math.inf) < self.floor:
            return False
        home = self.home.get(pair[0])
        beside = {who for who, what in [*self.score, *new] if what == pair[1] and who != pair[0]}
        return not (home and any(self.home.get(who) == home for who in beside))

    def reached(self, level: str, new: Iterable[Pair]) -> bool:
        added = list(new)
        all_pairs = {**self.score, **dict.fromkeys(added)}
        least, count = self.number("--min-reviews") or 0, Counter(what for _, what in all_pairs)
        if any(count[item] < least for item in self.items):
            return False
        if self.senior is not None and {what for who, what in all_pairs if who in self.senior} < {*self.items}:
            return False
        return at_level(level, all_pairs, self.reviewers, self.items)

    def plans(self, size: int) -> Iterator[list[Pair]]:
        """Yield all sets of so many new reviews beside the fixed ones."""
        open_pairs = [
            (who, what)
            for who in self.reviewers
            for what in self.items
            if (who, what) not in self.score and (who, what) not in self.fixed and self.spare[who] > 0
        ]
        if math.comb(len(open_pairs), max(min(size, len(open_pairs)), 0)) > 4_000:
            raise TooMany
        for chosen in combinations(open_pairs, max(size, 0)):
            if self.allowed([*self.fixed, *chosen]):
                yield [*self.fixed, *chosen]

    def smallest(self, level: str, most: int) -> int | None:
        """The fewest reviews of a plan of at most so many, fixed ones included; None where there is none."""
        for size in range(most - len(self.fixed) + 1):
            if any(self.reached(level, new) for new in self.plans(size)):
                return size + len(self.fixed)
        return None


def plan_is_false(case: Case, answer: dict[str, Any]) -> str:
    """Say what is false about an answer of ``plan``, empty where nothing is."""
    ask, status, level = PlanQuestion(case), answer["status"], answer["target"]
    new = [(row["reviewer"], row["item"]) for row in answer["reviews"]]
    if level != case.option("--target"):
        return "target"
    least, values = answer["lower_bound"], [bound["value"] for bound in answer["bounds"]]
    budget = ask.number("--max-reviews")
    if answer["count"] != len(new) or least != max([0, *values]):
        return "counts"
    if not math.isclose(answer["cost"], sum(map(ask.cost, new)), abs_tol=1e-9):
        return "cost"
    if answer["largest_load"] != max([0, *Counter(who for who, _ in new).values()]):
        return "largest_load"
    if status != "infeasible" and (not ask.allowed(new) or (budget is not None and len(new) > budget)):
        return "not allowed"
    reached = ask.reached(level, new)
    if status in ("optimal", "feasible", "extended") and not reached:
        return "not reached"
    if status in ("budget_exhausted", "level_missed") and reached:
        return "reached"
    if least > len(ask.fixed) and ask.smallest(level, least - 1) is not None:
        return "bound"
    if status == "infeasible":
        most = len(ask.reviewers) * len(ask.items) if budget is None else budget
        return "a plan exists" if new or ask.smallest(level, most) is not None else ""
    if status == "optimal":
        if len(new) != least:
            return "status"
        own = sum(map(ask.cost, new))
        cheaper = (
            sum(map(ask.cost, other)) < own - 1e-9
            for other in ask.plans(len(new) - len(ask.fixed))
            if ask.reached(level, other)
        )
        if any(cheaper):
            return "cheaper"
    return _merges(ask, answer, new, level)


def _merges(ask: PlanQuestion, answer: dict[str, Any], new: list[Pair], level: str) -> str:
    """Replay merges on sets."""
    rows = rows_of({**ask.score, **dict.fromkeys(new)}, sorted(ask.reviewers), ask.items)
    parts = [({j}, set(row)) for j, row in enumerate(rows)]
    for a, b, u, v in answer["merges"]:
        left, right = (next((part for part in parts if j in part[0]), None) for j in (a, b))
        if left is None or right is None or left is right or not {u, v} <= left[1] & right[1] or u == v:
            return "merges"
        parts = [part for part in parts if part is not left and part is not right]
        parts.append((left[0] | right[0], left[1] | right[1]))
    reaching = answer["status"] in ("optimal", "feasible", "extended")
    short = max((len(part[1]) for part in parts), default=0) < len(ask.items)
    return "merges" if reaching and level == "double" and short else ""


# Assignments


def assignment_is_false(case: Case, answer: dict[str, Any]) -> str:
    """Say what is false about an answer of ``assign``, empty where nothing is."""
    ask, status, level = Question(case), answer["status"], answer["target"]
    need, most, least = ask.number("--demand"), ask.number("--load"), ask.number("--min-load") or 0
    affinity = case.option("--affinity")
    worth = {(row["reviewer"], row["item"]): float(row["affinity"]) for row in read(affinity)} if affinity else {}
    any_pair = not affinity or "--allow-unscored" in case.words
    first = {*ask.pairs("--phase-one")}
    barred, fixed = {*ask.pairs("--conflicts"), *first}, {*ask.pairs("--fixed")} - first
    worth = {pair: value for pair, value in worth.items() if pair not in barred}
    home = {row["reviewer"]: row["institution"] for row in read("reviewers.csv")}
    one_each = "--at-most" in case.words
    if level != case.option("--target"):
        return "target"

    def panels(item: str, *, rules: bool) -> list[tuple[str, ...]]:
        readers = [
            who
            for who in ask.reviewers
            if (who, item) in fixed or ((who, item) not in barred and (any_pair or (who, item) in worth))
        ]
        must = {who for who, what in fixed if what == item}
        found = [panel for panel in combinations(readers, need or 0) if must <= {*panel}]
        return [panel for panel in found if not (rules and one_each) or len({home[who] for who in panel}) == len(panel)]

    def every(*, rules: bool) -> Iterator[list[Pair]]:
        choices = [panels(item, rules=rules) for item in ask.items]
        if math.prod(map(len, choices)) > 20_000:
            raise TooMany
        for chosen in product(*choices):
            pairs = [(who, item) for item, panel in zip(ask.items, chosen, strict=True) for who in panel]
            load = Counter(who for who, _ in pairs)
            if all(least <= load[who] <= (most or 0) for who in ask.reviewers):
                yield pairs

    def total(pairs: Iterable[Pair]) -> float:
        return sum(worth.get(pair, 0.0) for pair in pairs)

    def reached(pairs: Iterable[Pair]) -> bool:
        return level == "none" or at_level(
            level, dict.fromkeys([*ask.pairs("--phase-one"), *pairs]), ask.reviewers, ask.items
        )

    pairs = [(row["reviewer"], row["item"]) for row in answer["reviews"]]
    if status == "infeasible" or not pairs:
        # Under rules on panels a search may end without an answer, and then claims nothing.
        if pairs or not (status == "infeasible" or (status == "level_missed" and one_each)):
            return "status"
        if status == "level_missed":
            return ""
        return "there is one" if any(reached(other) for other in every(rules=True)) else ""
    if sorted(pairs) not in (sorted(other) for other in every(rules=True)):
        return "not allowed"
    if any(abs(row["affinity"] - worth.get((row["reviewer"], row["item"]), 0.0)) > 1e-9 for row in answer["reviews"]):
        return "affinity of a review"
    if abs(answer["affinity"] - total(pairs)) > 1e-6:
        return "affinity"
    if reached(pairs) is (status == "level_missed"):
        return "level"
    if abs(answer["affinity_unconstrained"] - max(map(total, every(rules=False)))) > 1e-6:
        return "affinity_unconstrained"
    if answer["bound"] < max(map(total, every(rules=True))) - 1e-6:
        return "bound"
    if status == "optimal" and total(pairs) < max(total(other) for other in every(rules=True) if reached(other)) - 1e-6:
        return "optimal"
    return ""


# Calibrations


def calibration_is_false(case: Case, answer: dict[str, Any]) -> str:
    """Say what is false about a changed answer of ``calibrate``."""
    before, after = ({row["item"]: row for row in found["items"]} for found in (case.answer, answer))
    for item, row in after.items():
        other = before[item]
        if (row["average"], row["group"]) != (other["average"], other["group"]):
            return "average or group"
        if row.get("probability") != other.get("probability") or row.get("interval") != other.get("interval"):
            return "interval or probability"
    ranks, others = ([row["rank"] for row in found["items"]] for found in (answer, case.answer))
    return "" if (ranks, answer["selected"]) == (others, case.answer["selected"]) else "rank or selection"
