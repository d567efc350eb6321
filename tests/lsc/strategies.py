"""Small calibration problems that aim at ties, constant reviewers, single scores, hubs, chains and separate pieces."""

from typing import Any, NamedTuple

from hypothesis import strategies as st

import lsc
from reviewgraph import Reviews
from tests.lsc.certificates import Rule

CLASSES = {
    "linear": lsc.Linear,
    "monotone": lsc.Monotone,
    "convex": lsc.Convex,
    "concave": lsc.Concave,
    "offset": lsc.Offset,
}


class Problem(NamedTuple):
    scores: list[tuple[int, int, float]]
    n_items: int
    rules: dict[int, Rule]
    references: dict[int, float]

    @property
    def reviews(self) -> Reviews:
        who, what, score = zip(*self.scores, strict=True)
        return Reviews.from_codes(who, what, score, reviewers=max(who) + 1, items=self.n_items)

    @property
    def arguments(self) -> dict[str, Any]:
        kinds = {
            j: lsc.Offset() if rule.name == "offset" else CLASSES[rule.name](rule.max_slope)
            for j, rule in self.rules.items()
        }
        return {"hypothesis": kinds, "references": self.references}


@st.composite
def problems(
    draw: st.DrawFn, *, max_items: int = 7, max_reviewers: int = 6, names: tuple[str, ...] = tuple(CLASSES)
) -> Problem:
    n_items = draw(st.integers(1, max_items))
    shape = draw(st.sampled_from(["random", "chain", "hub", "pieces"]))
    values = draw(st.sampled_from([st.integers(0, 3), st.integers(1, 10), st.floats(-5, 5).map(lambda y: round(y, 2))]))
    one_class = draw(st.sampled_from([None, *names]))
    scores, rules = [], {}
    for j in range(draw(st.integers(1, max_reviewers))):
        items = draw(_items(shape, j, n_items))
        given = draw(st.lists(values, min_size=len(items), max_size=len(items)))
        if draw(st.integers(0, 7)) == 0:
            given = [given[0]] * len(items)
        scores += [(j, i, float(y)) for i, y in zip(items, given, strict=True)]
        rules[j] = draw(_rules(one_class or draw(st.sampled_from(names))))
    known = draw(st.dictionaries(st.integers(0, n_items - 1), st.integers(-20, 20).map(lambda q: q / 10), max_size=3))
    references = known if draw(st.booleans()) else {}
    return Problem(sorted(scores), n_items, rules, references)


@st.composite
def _items(draw: st.DrawFn, shape: str, reviewer: int, n_items: int) -> list[int]:
    everything = list(range(n_items))
    if shape == "chain":
        first = reviewer % n_items
        return everything[first : first + draw(st.integers(1, 3))]
    chosen = draw(st.lists(st.sampled_from(everything), min_size=1, unique=True))
    if shape == "hub":
        return sorted({0, *chosen})
    if shape == "pieces":
        return sorted(i for i in everything if i % 2 == reviewer % 2 and i in chosen) or [chosen[0]]
    return sorted(chosen)


@st.composite
def _rules(draw: st.DrawFn, name: str) -> Rule:
    return Rule(name, 1.0 if name == "offset" else draw(st.sampled_from([10.0, 2.0])))
