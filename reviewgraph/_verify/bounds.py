"""Lower bounds on the reviews of a plan that are counts, or by expansion, recomputed.

:class:`Case` is what a plan starts from. Not checked: bounds whose proof takes a search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from reviewgraph._base.arrays import FloatArray
from reviewgraph._verify.graphs import (
    Pair,
    TooLarge,
    groups,
    holds,
    missing_links,
    pieces,
)
from reviewgraph.formats.files import cut
from reviewgraph.graph.closure import replay
from reviewgraph.graph.levels import Connected, Double, Recoverable, SurvivesReview, level_named

if TYPE_CHECKING:
    from reviewgraph._verify.rules import PlainRules


# Expansion: a bound for *double* from the covers of the doubly connected components.

#: Error allowed in the second smallest eigenvalue, relative to the largest weight of an item.
SLACK = 1e-8
#: Items up to which a bound by expansion is proved.
MOST_ITEMS = 2_000


def expansion_bound(covers: Sequence[list[int]], n_items: int) -> int:
    """Return the reviews that a plan for *double* takes at least, by the expansion of a table.

    ``covers`` are the items of each component. In the Laplacian each component of n items spreads n - 2 evenly over its
    ordered pairs. A set of b of the N items cuts at least ``slope b (N - b) / N``, the slope its second smallest
    eigenvalue. Takes O(N^3). Raises TooLarge.
    """
    if n_items > MOST_ITEMS:
        raise TooLarge(f"{n_items} items are too many to prove their expansion")
    laplacian = np.zeros((n_items, n_items))
    for cover in covers:
        size = len(cover)
        if size > 2:
            share = (size - 2) / (size * (size - 1))
            laplacian[np.ix_(cover, cover)] -= share
            laplacian[cover, cover] += share * size
    weight = np.diag(laplacian)
    values = np.linalg.eigvalsh(laplacian)
    slope = max(float(values[1] - SLACK * 2 * weight.max()), 0.0) if n_items > 1 else 0.0
    return _needed(weight, slope, max(map(len, covers), default=0))


def _needed(weight: FloatArray, slope: float, largest: int) -> int:
    """Reviews that two blocks need whose union is the first of t items or more, for the best t."""
    n_items = weight.size
    size = np.arange(1, n_items + 1)
    # A block of b items needs b - 2 less what lies inside: at most its weights less the cut, slope b (N - b) / N.
    need = np.maximum(np.cumsum(np.sort(1.0 - weight)) + slope * size * (n_items - size) / n_items - 2.0, 0.0)
    best = 0.0
    for t in range(largest + 1, n_items + 1):
        below = need[: t - 1]
        # The partner of a block of b items has t - b or more.
        from_size_on = np.minimum.accumulate(below[::-1])[::-1]
        best = max(best, float((below + from_size_on[::-1]).min(initial=np.inf)))
    return int(np.ceil(best - 1e-7)) if np.isfinite(best) else 0


# Counts.


class Case:
    """What a plan starts from: its rules, the target level if it has one, and the reviews with the fixed ones."""

    def __init__(self, rules: PlainRules, target: str | None) -> None:
        self.rules = rules
        self.target = target
        self.base = rules.after(rules.fixed)

    def reached(self, pairs: Iterable[Pair] = ()) -> bool:
        """Whether new reviews with the fixed ones reach the level, and give every item what it needs."""
        if self.rules.lacks(pairs):
            return False
        return self.target is None or holds(self.target, self.rules.after((*self.rules.fixed, *pairs)))

    def implies(self, weakest: str | None) -> bool:
        """Whether the target implies a level; every target implies None."""
        if weakest is None or self.target is None:
            return weakest is None
        return level_named(self.target).implies(level_named(weakest))

    @cached_property
    def links(self) -> int:
        return missing_links(self.base.rows(), self.base.items)

    def covers(self) -> list[list[int]]:
        number = {item: place for place, item in enumerate(self.base.items)}
        return [sorted(number[item] for item in group.items) for group in groups(self.base.rows())]

    def replayed(self, pairs: Iterable[Pair], merges: Iterable[Any]) -> tuple[int, set[str]]:
        """Replay merges (a, b, u, v) of the groups of reviewers a and b, which both cover items u and v, by number.

        ``pairs`` are all reviews of a plan. Returns the row that fails to join two groups, or -1, and the largest set
        of items that the merges lead to.
        """
        table = self.rules.after(pairs)
        reviewers = self.rules.table.reviewers
        steps = list[Any]()
        for place, (a, b, u, v) in enumerate(merges):
            if min(a, b, u, v) < 0 or max(a, b) >= len(reviewers) or max(u, v) >= len(table.items):
                return place, set()
            steps.append((reviewers[a], reviewers[b], table.items[u], table.items[v]))
        wrong, components = replay(table.rows(), steps)
        return wrong, set() if wrong >= 0 else set(max((group.items for group in components), key=len, default=()))

    def check_bound(self, value: int, kind: str) -> tuple[str | None, bool]:
        """Return what is wrong with a bound on new and fixed reviews together, and whether it remains unchecked.

        A count and an expansion are recomputed. A bound of another kind takes a search, and is checked only if these
        prove as much.
        """
        fixed = len(self.rules.fixed)
        claimed = value - fixed
        if kind not in WEAKEST:
            return f"there is no kind of bound called {cut(repr(kind))}", False
        if claimed <= 0:
            return None, False
        try:
            if kind in COUNTED:
                actual = self._counted(kind)
            elif kind == EXPANSION:
                actual = expansion_bound(self.covers(), len(self.base.items)) if self.implies(Double.name) else 0
            else:
                return None, claimed > max(self._counted(count) for count in COUNTED if count != LOSS)
        except TooLarge:
            return None, True
        return (None if claimed <= actual else f"claims {value} ({kind}); recomputed {actual + fixed}"), False

    def _counted(self, kind: str) -> int:
        weakest, count = COUNTED[kind]
        return count(self) if self.implies(weakest) else 0


def _pieces(case: Case) -> int:
    """All components but one need a link, and so does a single item without reviews."""
    table = case.base
    classes = pieces(table.rows(), table.items)
    count = len({classes.of((1, item)) for item in table.items})
    return max(count - 1, int(bool(table.items) and not table.score))


def _loads(case: Case) -> int:
    """Links, and the reviews lost on reviewers of fewer than two: two less what they have."""
    # What each reviewer can add at most, by how many of two reviews they have; the first of them make no links.
    useful: dict[int, list[int]] = {0: [], 1: [], 2: []}
    for reviewer, count in case.base.loads().items():
        reviews = min(count, 2)
        useful[reviews].append(max(case.rules.takes(reviewer) - (2 - reviews), 0))
    short = case.links - sum(useful[2])
    of_one = [0, *accumulate(sorted(useful[1], reverse=True))]
    of_none = [0, *accumulate(sorted(useful[0], reverse=True))]
    lost = list[int]()
    ones = len(of_one) - 1
    for zeros, links in enumerate(of_none):
        # The more reviewers of none are asked, the fewer of one are needed.
        while ones > 0 and of_one[ones - 1] + links >= short:
            ones -= 1
        if of_one[ones] + links >= short:
            lost.append(ones + 2 * zeros)
    return case.links + min(lost, default=0)


def _after_a_loss(case: Case) -> int:
    """Return the links missing after the worst loss to survive; or without one, plus the link that may be lost, too.

    Without a loss at least one review is missing if the table is not doubly connected. Raises TooLarge if there are too
    many losses.
    """
    rules = case.rules
    single = case.target == SurvivesReview.name
    most = max(_loads(case), 1) + 1 if single and not holds(Double.name, case.base) else _loads(case)
    for rest in case.base.without_each(reviewer=not single):
        lost = case.base.score.keys() - rest.score.keys()
        gone = {} if single else dict.fromkeys((who for who, _ in lost), 0)
        remaining = replace(
            rules,
            table=rules.table.without(lost),
            fixed=tuple(pair for pair in rules.fixed if pair not in lost),
            barred=rules.barred | lost,
            spare={**rules.spare, **gone},
        )
        most = max(most, _loads(Case(remaining, Double.name)))
    return most


def _two_a_paper(case: Case) -> int:
    """Each item needs two reviews, to keep one after a loss."""
    return sum(max(2 - count, 0) for count in case.base.reviews_of().values())


LOSS = "a loss"
EXPANSION = "expansion"
#: Kinds of bounds that are counts: the weakest level for which each holds, None for any, and its count.
COUNTED: dict[str, tuple[str | None, Callable[[Case], int]]] = {
    "unfinished": (None, lambda case: int(not case.reached())),
    "two a paper": (SurvivesReview.name, _two_a_paper),
    "coverage": (None, lambda case: sum(case.rules.lacks().values())),
    "pieces": (Connected.name, _pieces),
    "degrees of freedom": (Recoverable.name, lambda case: case.links),
    "loads": (Recoverable.name, _loads),
    LOSS: (SurvivesReview.name, _after_a_loss),
}
#: The weakest level for which each kind holds, None for any; proofs of the last take a search.
WEAKEST = {
    **{kind: weakest for kind, (weakest, _) in COUNTED.items()},
    **dict.fromkeys((EXPANSION, "flow", "parts", "groups"), Double.name),
    "cuts": None,
}
