"""Lower bounds on the reviews of a plan, counted again, or refuted by a smaller plan where all can be tried."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING

from reviewgraph.formats.problems import cut
from reviewgraph.levels import Connected, Double, Recoverable, SurvivesReview, level_named
from reviewgraph.verify.graphs import missing_links, pieces
from reviewgraph.verify.levels import expect_small, holds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reviewgraph.verify.rules import Rules
    from reviewgraph.verify.tables import Pair

#: Reviews of all plans that are tried, the table's included, before a bound is taken on trust.
MOST_TRIED = 1_000_000


class TooMany(Exception):
    """There are too many plans to be tried."""


class Case:
    """What a plan starts from: the reviews with the fixed ones, and the pairs that may be.

    Parameters
    ----------
    rules
        What it respects.
    target
        The level it is for.
    """

    def __init__(self, rules: Rules, target: str) -> None:
        self.rules, self.target = rules, target
        self.base = rules.after(rules.fixed)

    def reached(self, pairs: tuple[Pair, ...] = ()) -> bool:
        """Whether new reviews beside the fixed ones reach the level, and give every item what it needs."""
        table = self.rules.after((*self.rules.fixed, *pairs))
        short = any(self.rules.needs(self.rules.table.with_pairs((*self.rules.fixed, *pairs))).values())
        return not short and holds(self.target, table, use_scores=self.rules.use_scores)

    def implies(self, weakest: str | None) -> bool:
        """Whether the target implies a level; every one implies none."""
        return weakest is None or level_named(self.target).implies(level_named(weakest))

    def plans(self, most: int) -> Iterator[tuple[Pair, ...]]:
        """Yield all sets of at most so many new reviews that rules allow, large ones first.

        Raises
        ------
        TooMany
            If they are too many to be tried.
        """
        pairs = list(self.rules.open_pairs())
        most = min(most, len(pairs))
        if sum(comb(len(pairs), size) for size in range(most + 1)) * (len(self.base.score) + most + 1) > MOST_TRIED:
            raise TooMany
        for size in range(most, -1, -1):
            yield from filter(self._allowed, combinations(pairs, size))

    def _allowed(self, pairs: tuple[Pair, ...]) -> bool:
        everything = (*self.rules.fixed, *pairs)
        if self.rules.exceeded(everything) is not None:
            return False
        return all(self.rules.why_barred(pair, [one for one in everything if one != pair]) is None for pair in pairs)


def _unfinished(case: Case) -> int:
    return int(not case.reached())


def _pieces(case: Case) -> int:
    """All pieces but one need a link of their own, and so does an only item that nobody reviews."""
    table = case.base
    found = pieces(table.rows(), table.items)
    count = len({found.of((1, item)) for item in table.items})
    return max(count - 1, int(bool(table.items) and not table.score))


def _coverage(case: Case) -> int:
    return sum(case.rules.needs(case.rules.table.with_pairs(case.rules.fixed)).values())


def _links(case: Case) -> int:
    return missing_links(case.base.rows(), case.base.items)


def _loads(case: Case) -> int:
    """Links, and the reviews that are lost where reviewers of fewer than two must be asked: two less what they have."""
    links, rows = _links(case), case.base.rows()
    useful: dict[int, list[int]] = {0: [], 1: [], 2: []}
    for reviewer, own in rows.items():
        fixed = sum(who == reviewer for who, _ in case.rules.fixed)
        taken = {item for item in case.base.items if (reviewer, item) in case.rules.table.score}
        barred = {item for item in case.base.items if case.rules.why_barred((reviewer, item), case.rules.fixed)}
        room = len(case.base.items) - len(taken | barred | own)
        spare = min(case.rules.spare.get(reviewer, room + fixed) - fixed, room)
        reviews = min(len(own), 2)
        useful[reviews].append(max(spare - (2 - reviews), 0))
    one, none = (sorted(useful[reviews], reverse=True) for reviews in (1, 0))
    short, least = links - sum(useful[2]), None
    for ones in range(len(one) + 1):
        for zeros in range(len(none) + 1):
            if sum(one[:ones]) + sum(none[:zeros]) >= short and (least is None or ones + 2 * zeros < least):
                least = ones + 2 * zeros
    return links if least is None else links + least


def _two_each(case: Case) -> int:
    """Each item needs two reviews, to keep one if the other is lost."""
    return sum(max(2 - count, 0) for count in case.base.reviews_of().values())


def _after_losses(case: Case) -> Iterator[int]:
    """Links that are missing after each loss that the level outlives; and with none, the link that may be lost too.

    Raises
    ------
    TooLarge
        If there are too many losses.
    """
    single, rules = case.target == SurvivesReview.name, case.rules
    links = _loads(case)
    yield links + int(single and links > 0)
    losses = [{pair} for pair in case.base.score] if single else []
    if not single:
        losses = [{(who, item) for item in own} for who, own in case.base.rows().items() if own]
    expect_small(case.base, len(losses))
    for lost in sorted(losses, key=len, reverse=True):
        gone = {} if single else dict.fromkeys((who for who, _ in lost), 0)
        fixed = tuple(pair for pair in rules.fixed if pair not in lost)
        table, barred = rules.table.without(lost), rules.barred | lost
        left = replace(rules, table=table, fixed=fixed, barred=barred, spare={**rules.spare, **gone})
        yield _loads(Case(left, Double.name))


#: How each kind of bound that can be counted is counted, and the weakest level for which it holds; None is any.
COUNTED: dict[str, tuple[str | None, Callable[[Case], int]]] = {
    "unfinished": (None, _unfinished),
    "two a paper": (SurvivesReview.name, _two_each),
    "coverage": (None, _coverage),
    "pieces": (Connected.name, _pieces),
    "degrees of freedom": (Recoverable.name, _links),
    "loads": (Recoverable.name, _loads),
}


#: Kinds whose proof takes a search, or a certificate that the answer does not hold.
SEARCHED = {"expansion", "flow", "parts", "groups", "cuts"}
#: The kind that is about one loss of many.
LOSS = "a loss"


def check_bound(case: Case, value: int, kind: str) -> tuple[str | None, bool]:
    """Return what is wrong with a bound on new and fixed reviews together, and whether it is taken on trust."""
    if kind not in {*COUNTED, *SEARCHED, LOSS}:
        return f"there is no kind of bound called {cut(repr(kind))}", False
    claimed, fixed = value - len(case.rules.fixed), len(case.rules.fixed)
    if claimed <= 0:
        return None, False
    if kind in COUNTED:
        weakest, count = COUNTED[kind]
        found = count(case) if case.implies(weakest) else 0
        return (None if claimed <= found else f"says {value} ({kind}), found {found + fixed}"), False
    if kind == LOSS and case.implies(SurvivesReview.name) and any(found >= claimed for found in _after_losses(case)):
        return None, False
    if claimed <= max(count(case) for weakest, count in COUNTED.values() if case.implies(weakest)):
        return None, False
    try:
        smaller = next((pairs for pairs in case.plans(claimed - 1) if case.reached(pairs)), None)
    except TooMany:
        return None, True
    return (None if smaller is None else f"says {value} ({kind}), and {len(smaller) + fixed} reviews do"), False
