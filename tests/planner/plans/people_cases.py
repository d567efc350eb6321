"""Planning instances with people in them, and their best plans by brute force; shares no code with the planner."""

from typing import Any, NamedTuple

from hypothesis import strategies as st

from planner import AtLeast, AtMost
from reviewgraph import Reviews
from tests.planner.assignments.naive_rules import broken, counts
from tests.planner.plans.naive_plans import LEVELS


class Case(NamedTuple):
    """A table and the options of a plan, reviewers and items being 0, 1, ..."""

    reviews: Reviews
    options: dict[str, Any]

    @property
    def everyone(self) -> int:
        named = [*self.options.get("capacity", ()), *self.options.get("willing", ())]
        return max([self.reviews.n_reviewers, *(j + 1 for j in named)])

    def allowed(self) -> list[tuple[int, int]]:
        """Pairs that no rule for one pair forbids, the fixed ones left out."""
        told, old = self.options, set(self.reviews_now())
        affinity, home = told.get("affinity", {}), told.get("institutions", {})
        beside = {(home[j], i) for j, i in old if j in home}
        return [
            (j, i)
            for j in range(self.everyone)
            for i in range(self.reviews.n_items)
            if (j, i) not in old
            and (j, i) not in told.get("conflicts", ())
            and j in told.get("willing", range(99))
            and ("min_affinity" not in told or affinity.get((j, i), -99) >= told["min_affinity"])
            and (j not in home or (home[j], i) not in beside)
            and not self.crowded(j, [k for k, what in old if what == i] + [j])
        ]

    def crowded(self, reviewer: int, panel: list[int]) -> bool:
        """Whether a panel has too many who share a value with one of its reviewers."""
        told = self.options.get("attributes", {})
        return any(
            counts(panel, rule.attribute, told).get(value, 0) > rule.number
            for rule in self.options.get("rules", ())
            if isinstance(rule, AtMost)
            for value in counts([reviewer], rule.attribute, told)
        )

    def reviews_now(self) -> list[tuple[int, int]]:
        """Existing and fixed reviews."""
        table = self.reviews
        old = zip(table.reviewer.tolist(), table.item.tolist(), strict=True)
        return list(dict.fromkeys([*old, *self.options.get("fixed", ())]))

    def panel(self, item: int, chosen: tuple[tuple[int, int], ...]) -> list[int]:
        """Reviewers of an item."""
        return [j for j, i in [*self.reviews_now(), *chosen] if i == item]

    def keeps(self, chosen: tuple[tuple[int, int], ...]) -> bool:
        """Whether loads, limits and institutions hold for some new reviews together with the fixed ones."""
        told, table = self.options, self.reviews
        old = set(zip(table.reviewer.tolist(), table.item.tolist(), strict=True))
        new = [*(pair for pair in told.get("fixed", ()) if pair not in old), *chosen]
        capacity, home = told.get("capacity"), told.get("institutions", {})
        loads = [sum(j == k for k, _ in new) for j in range(self.everyone)]
        spare = [99 if capacity is None else capacity.get(j, 0) for j in range(self.everyone)]
        parties = [(home[j], i) for j, i in chosen if j in home]
        # Fixed reviews are kept whatever they exceed, and then leave no room for others.
        return (
            all(loads[j] <= spare[j] for j, _ in chosen)
            and all(sum(i == k for _, k in new) <= told.get("max_per_item", 99) for _, i in chosen)
            and len(set(parties)) == len(parties)
            and not any(self.crowded(j, self.panel(i, chosen)) for j, i in chosen)
        )

    def served(self, chosen: tuple[tuple[int, int], ...]) -> bool:
        """Whether every item has its reviews and its senior."""
        told, every = self.options, [*self.reviews_now(), *chosen]
        who = [[j for j, k in every if k == i] for i in range(self.reviews.n_items)]
        senior = told.get("senior")
        least = [rule for rule in told.get("rules", ()) if isinstance(rule, AtLeast)]
        if any(broken(js, told.get("attributes", {}), least) for js in who):
            return False
        return all(len(js) >= told.get("min_reviews", 0) for js in who) and (
            senior is None or all(set(js) & set(senior) for js in who)
        )

    def reached(self, chosen: tuple[tuple[int, int], ...], target: str) -> bool:
        covers = [0] * self.everyone
        for j, i in [*self.reviews_now(), *chosen]:
            covers[j] |= 1 << i
        return LEVELS[target](covers, self.reviews.n_items)

    def price(self, chosen: tuple[tuple[int, int], ...]) -> float:
        """Affinity below the highest of each pair, or costs."""
        affinity = self.options.get("affinity")
        if affinity is None:
            return sum(self.options.get("cost", {}).get(pair, 1.0) for pair in chosen)
        most = max([0.0, *affinity.values()])
        return sum(most - affinity.get(pair, 0.0) for pair in chosen)


@st.composite
def rules(draw: st.DrawFn, everyone: int) -> dict[str, Any]:
    """Rules on a region (one or none), topics (none to two) and a yes or no; the first reviewer has all of them."""
    known: dict[int, dict[str, Any]] = {0: {"region": "A", "topic": ["s", "t"], "chair": True}}
    for j in range(1, everyone):
        topics = draw(st.lists(st.sampled_from("st"), max_size=2, unique=True))
        region = draw(st.sampled_from(["A", "B", "", None, float("nan")]))
        known[j] = {"region": region, "topic": topics, "chair": draw(st.booleans())}
    number = st.integers(0, 2)
    one = st.one_of(
        st.builds(AtMost, st.sampled_from(["region", "topic", "chair"]), number),
        st.builds(AtLeast, st.just("chair"), number),
        st.builds(AtLeast, st.just("region"), number, st.just("A")),
        st.builds(AtLeast, st.just("topic"), number, st.sampled_from("st")),
    )
    few = draw(st.lists(one, min_size=1, max_size=2))
    held = {value for values in known.values() for value in values["topic"]}
    return {"attributes": known, "rules": [rule for rule in few if getattr(rule, "value", None) in {None, "A", *held}]}


@st.composite
def cases(draw: st.DrawFn, most: int = 4) -> Case:
    """Small tables with few rules or many, aimed at what collides: few institutions, few seniors, tight loads."""
    M, N = draw(st.integers(1, most)), draw(st.integers(1, most))
    rows = [draw(st.sets(st.integers(0, N - 1), max_size=3)) for _ in range(M)]
    reviews = Reviews([(j, i) for j, row in enumerate(rows) for i in row], reviewers=range(M), items=range(N))
    everyone = range(M + draw(st.integers(0, 2)))
    people, pairs = st.sampled_from(everyone), st.tuples(st.sampled_from(everyone), st.integers(0, N - 1))
    options: dict[str, Any] = {"capacity": {j: draw(st.integers(0, 3)) for j in everyone}}
    if draw(st.booleans()):
        options["institutions"] = {j: draw(st.sampled_from("xy")) for j in draw(st.sets(people, min_size=1))}
    if draw(st.booleans()):
        options["senior"] = sorted(draw(st.sets(people, min_size=1)))
    if draw(st.booleans()):
        options |= draw(rules(len(everyone)))
    if draw(st.booleans()):
        options["min_reviews"] = draw(st.integers(0, 3))
    if draw(st.integers(0, 3)) == 0:
        options["willing"] = sorted(draw(st.sets(people)))
    if draw(st.booleans()):
        options["affinity"] = draw(st.dictionaries(pairs, st.integers(-2, 4).map(float), min_size=1, max_size=12))
        if draw(st.integers(0, 3)) == 0:
            options["min_affinity"] = float(draw(st.integers(-1, 2)))
    if draw(st.integers(0, 3)) == 0:
        options["fixed"] = draw(st.lists(pairs, max_size=2, unique=True))
    if draw(st.integers(0, 3)) == 0:
        closed = draw(st.lists(pairs, max_size=4))
        options["conflicts"] = [pair for pair in closed if pair not in options.get("fixed", ())]
    if draw(st.integers(0, 4)) == 0:
        options["max_per_item"] = draw(st.integers(1, 2))
    return Case(reviews, options)
