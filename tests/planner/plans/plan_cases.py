"""Planning instances that aim at what breaks: tight loads, conflicts, single-review and emergency reviewers."""

from typing import Any, NamedTuple

from hypothesis import strategies as st

from planner import Plan, verifying
from planner._plans.constraints import Constraints, constrain
from planner._plans.task import Task, new_task
from reviewgraph import InputError, Reviews, Rules


def constrained(reviews: Reviews, **options: Any) -> Constraints:
    """Constraints of the options of a plan, rules and prices mixed."""
    prices = {name: options.pop(name) for name in ("cost", "affinity", "min_affinity") if name in options}
    return constrain(reviews, Rules(**options), **prices)


class Case(NamedTuple):
    """A table and the options of a plan, and the same for brute force."""

    reviews: Reviews
    options: dict[str, Any]

    def naive(self) -> tuple[list[int], int, list[tuple[int, int]], list[int], list[int], dict[tuple[int, int], float]]:
        capacity, N = self.options.get("capacity"), self.reviews.n_items
        M = max([self.reviews.n_reviewers, *(j + 1 for j in capacity or ())])
        covers = [0] * M
        for j, i in zip(self.reviews.reviewer.tolist(), self.reviews.item.tolist(), strict=True):
            covers[j] |= 1 << i
        spare = [99 if capacity is None else capacity.get(j, 0) for j in range(M)]
        barred = set(self.options.get("conflicts", ()))
        pairs = [(j, i) for j in range(M) for i in range(N) if spare[j] and not covers[j] >> i & 1]
        room = [self.options.get("max_per_item", 99)] * N
        return covers, N, [p for p in pairs if p not in barred], spare, room, self.options.get("cost", {})


def task_of(case: Case, **more: Any) -> Task:
    """The task of a case, with further options."""
    return new_task(constrained(case.reviews, **{**case.options, **more}), 64)


@st.composite
def cases(draw: st.DrawFn, most: int = 5) -> Case:
    M, N = draw(st.integers(1, most)), draw(st.integers(1, most))
    rows = [draw(st.sets(st.integers(0, N - 1), max_size=3)) for _ in range(M)]
    emergency = draw(st.integers(0, 2))
    everyone = range(M + emergency)
    pairs = st.tuples(st.sampled_from(everyone), st.integers(0, N - 1))
    options: dict[str, Any] = {"conflicts": draw(st.lists(pairs, max_size=draw(st.sampled_from([0, 3, 12]))))}
    if emergency or draw(st.booleans()):
        options["capacity"] = {j: draw(st.integers(0, 3)) for j in everyone}
    if draw(st.integers(0, 3)) == 0:
        options["max_per_item"] = draw(st.integers(0, 2))
    if draw(st.integers(0, 3)) == 0:
        options["cost"] = {pair: float(draw(st.integers(0, 3))) for pair in draw(st.lists(pairs, max_size=8))}
    reviews = Reviews([(j, i) for j, row in enumerate(rows) for i in row], reviewers=range(M), items=range(N))
    return Case(reviews, options)


class InvalidPlan(Exception):
    """A plan that breaks a constraint, misses its target or claims a bound it does not have."""


def verify_plan(plan: Plan, rules: Rules | None = None) -> None:
    """Check a plan of any status against its constraints and its claims, without the search."""
    try:
        verifying.verify_plan(plan, rules)
    except InputError as error:
        if str(error).startswith("plan: "):
            raise InvalidPlan(str(error)) from error
        raise
