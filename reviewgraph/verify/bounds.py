"""Lower bounds on the reviews of a plan: recomputed, proved by expansion, or refuted by a smaller plan.

:class:`Case` is what a plan starts from; it recomputes bounds that are counts, and otherwise enumerates small plans.
Not checked: bounds in cases of too many plans.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from reviewgraph.formats.files import cut
from reviewgraph.graph.levels import Connected, Double, Recoverable, SurvivesReview, level_named
from reviewgraph.verify.graphs import (
    TooLarge,
    expect_small,
    groups,
    holds,
    missing_links,
    pieces,
    replayed,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from reviewgraph._base.arrays import FloatArray
    from reviewgraph.verify.graphs import Pair
    from reviewgraph.verify.rules import PlainRules


# Expansion: a bound for *double* from the covers of the doubly connected components.

#: Steps of the bisection, after which the slope is exact to 2^-40 of the largest.
HALVINGS = 40
#: Accuracy of the factorisation, relative to the largest weight of an item.
SLACK = 1e-8
#: Items up to which a bound by expansion is proved.
MOST_ITEMS = 4_000


def expansion_proves(covers: Sequence[list[int]], n_items: int, claimed: int) -> bool:
    """Whether the expansion of a table proves that a plan for *double* takes ``claimed`` reviews.

    ``covers`` are the items of each component. The eigenvalue is not computed, but proved large enough: bisection gives
    the smallest slope s that implies the claim, and a Cholesky factorisation of the Laplacian less s times the identity
    (the constant vector lifted) shows that no eigenvalue is below. Takes O(N^3) for the factorisation and O(N^2) for
    each step of the bisection. Raises TooLarge.
    """
    if n_items > MOST_ITEMS:
        message = f"{n_items} items are too many to prove their expansion"
        raise TooLarge(message)
    laplacian, largest = _laplacian(covers, n_items)
    slope = least_slope(np.diag(laplacian), largest, claimed)
    return slope is not None and (slope == 0.0 or rises(laplacian, slope))


def least_slope(weight: FloatArray, largest: int, claimed: int) -> float | None:
    """Return a slope, rounded up, that a claim needs; 0 if it needs none, None if none suffices.

    ``weight`` is the weight of each item in the components, ``largest`` the size of the largest component.
    """
    if claimed <= 0:
        return 0.0
    low = 0.0
    high = float(2 * weight.max(initial=0.0))
    if _needed(weight, high, largest) < claimed:
        return None
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if _needed(weight, middle, largest) >= claimed:
            high = middle
        else:
            low = middle
    return high


def rises(laplacian: FloatArray, slope: float) -> bool:
    """Whether every eigenvalue of a Laplacian but that of the constant vector is at least a slope."""
    n_items = len(laplacian)
    top = float(2 * np.diag(laplacian).max(initial=0.0))
    lifted = laplacian + (top + slope + 1.0) / n_items - (slope + SLACK * top) * np.eye(n_items)
    try:
        np.linalg.cholesky(lifted)
    except np.linalg.LinAlgError:
        return False
    return True


def _laplacian(covers: Sequence[list[int]], n_items: int) -> tuple[FloatArray, int]:
    """Laplacian in which each component of n spreads n - 2 evenly over its ordered pairs; and the largest n."""
    matrix = np.zeros((n_items, n_items))
    for cover in covers:
        size = len(cover)
        if size > 2:
            share = (size - 2) / (size * (size - 1))
            matrix[np.ix_(cover, cover)] -= share
            matrix[cover, cover] += share * size
    return matrix, max(map(len, covers), default=0)


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


# Counts, and small plans.

#: Sets of reviews, and reviews in all of them, those of the table included, up to which plans are enumerated.
MOST_SETS = 5_000
MOST_TRIED = 1_000_000


class Case:
    """What a plan starts from: its rules, the target level, and the reviews with the fixed ones."""

    def __init__(self, rules: PlainRules, target: str) -> None:
        self.rules = rules
        self.target = target
        self.base = rules.after(rules.fixed)

    def reached(self, pairs: Iterable[Pair] = ()) -> bool:
        """Whether new reviews with the fixed ones reach the level, and give every item what it needs."""
        if self.rules.lacks(pairs):
            return False
        return holds(self.target, self.rules.after((*self.rules.fixed, *pairs)))

    def implies(self, weakest: str | None) -> bool:
        """Whether the target implies a level; every target implies None."""
        return weakest is None or level_named(self.target).implies(level_named(weakest))

    @cached_property
    def pairs(self) -> list[Pair]:
        """The possible new pairs, each alone in addition to the fixed ones."""
        return list(self.rules.open_pairs())

    @cached_property
    def links(self) -> int:
        """Links missing with the fixed reviews."""
        return missing_links(self.base.rows(), self.base.items)

    def covers(self) -> list[list[int]]:
        """Return the covers of the doubly connected components, of items by number."""
        number = {item: place for place, item in enumerate(self.base.items)}
        components = groups(self.base.rows(), self.base.items)
        return [sorted(number[item] for item in group.items) for group in components]

    def plans(self, most: int) -> Iterator[tuple[Pair, ...]]:
        """Yield sets of at most ``most`` new reviews that the rules allow and that reach the level.

        Each set is extended by later pairs only, and not where it reaches the level already. Raises TooLarge beyond
        :data:`MOST_SETS` sets, or :data:`MOST_TRIED` reviews in them.
        """
        tried = 0
        size = 0

        def reached(pairs: tuple[Pair, ...]) -> bool:
            nonlocal tried, size
            tried += 1
            size += len(self.base.score) + len(pairs)
            if tried > MOST_SETS or size > MOST_TRIED:
                message = "there are too many plans to enumerate"
                raise TooLarge(message)
            return self.reached(pairs)

        def extend(chosen: tuple[Pair, ...], first: int) -> Iterator[tuple[Pair, ...]]:
            if reached(chosen):
                yield chosen
                return
            # More reviews never harm: where all that may still come do not suffice, no part of them does.
            if len(chosen) == most or first == len(self.pairs) or not reached((*chosen, *self.pairs[first:])):
                return
            for place, pair in enumerate(self.pairs[first:], first + 1):
                everything = (*self.rules.fixed, *chosen, pair)
                if self.rules.exceeded(everything) is None and self.rules.why_barred(pair, everything[:-1]) is None:
                    yield from extend((*chosen, pair), place)

        yield from extend((), 0)

    def replayed(self, pairs: Iterable[Pair], merges: Iterable[Any]) -> tuple[int, set[str]]:
        """Replay merges (a, b, u, v) of the groups of reviewers a and b, which both cover items u and v, by number.

        ``pairs`` are all reviews of a plan. Returns the row that fails to join two groups, or -1, and the largest set
        of items that the merges lead to.
        """
        table = self.rules.after(pairs)
        labels = (self.rules.table.reviewers, self.rules.table.reviewers, table.items, table.items)
        rows = list[Any]()
        for place, row in enumerate(merges):
            if len(row) != len(labels) or any(not 0 <= k < len(names) for k, names in zip(row, labels, strict=True)):
                return place, set()
            rows.append(tuple(names[k] for k, names in zip(row, labels, strict=True)))
        return replayed(table.rows(), table.items, rows)

    def check_bound(self, value: int, kind: str) -> tuple[str | None, bool]:
        """Return what is wrong with a bound on new and fixed reviews together, and whether it remains unchecked.

        A count is recomputed, and expansion proved. A bound of another kind must not exceed what these prove, or no
        smaller plan may exist.
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
                return (None if claimed <= actual else f"claims {value} ({kind}); recomputed {actual + fixed}"), False
            if kind == EXPANSION:
                proved = self.implies(Double.name) and expansion_proves(self.covers(), len(self.base.items), claimed)
                return (None if proved else f"claims {value} ({kind}), which the expansion does not prove"), False
            if claimed <= max(self._counted(count) for count in COUNTED if count != LOSS):
                return None, False
            smaller = next(self.plans(claimed - 1), None)
        except TooLarge:
            return None, True
        return (None if smaller is None else f"claims {value} ({kind}), and {len(smaller) + fixed} reviews do"), False

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
    if single:
        losses = [{pair} for pair in case.base.score]
    else:
        losses = [{(who, item) for item in items} for who, items in case.base.rows().items() if items]
    expect_small(case.base, len(losses))
    for lost in losses:
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
