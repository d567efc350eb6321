"""Lower bounds on the reviews of a plan, counted again, or refuted by a smaller plan where all can be tried."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

from reviewgraph.formats.problems import cut
from reviewgraph.levels import Connected, Double, Recoverable, SurvivesReview, level_named
from reviewgraph.verify.graphs import groups, missing_links, pieces
from reviewgraph.verify.levels import TooLarge, expect_small, holds
from reviewgraph.verify.proofs import expansion_proves, flow_proves

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from reviewgraph.verify.rules import PlainRules
    from reviewgraph.verify.tables import Pair

#: Sets of reviews that are looked at, and reviews in all of them, the table's included, before the rest is trusted.
MOST_SETS, MOST_TRIED = 5_000, 1_000_000


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

    def __init__(self, rules: PlainRules, target: str) -> None:
        self.rules, self.target = rules, target
        self.base = rules.after(rules.fixed)

    def reached(self, pairs: Iterable[Pair] = ()) -> bool:
        """Whether new reviews beside the fixed ones reach the level, and give every item what it needs."""
        everything = (*self.rules.fixed, *pairs)
        short = any(self.rules.needs(self.rules.table.with_pairs(everything)).values())
        return not short and holds(self.target, self.rules.after(everything), use_scores=self.rules.use_scores)

    def implies(self, weakest: str | None) -> bool:
        """Whether the target implies a level; every one implies none."""
        return weakest is None or level_named(self.target).implies(level_named(weakest))

    @cached_property
    def pairs(self) -> list[Pair]:
        """The new pairs that may be, each taken alone beside the fixed ones."""
        return [pair for pair in self.rules.open_pairs() if self.rules.exceeded((*self.rules.fixed, pair)) is None]

    @cached_property
    def links(self) -> int:
        """Links that are missing with the fixed reviews."""
        return missing_links(self.base.rows(), self.base.items)

    def links_with(self, pairs: Iterable[Pair]) -> int:
        """Return how many of them some more reviews make."""
        return self.links - missing_links(self.base.with_pairs(pairs).rows(), self.base.items)

    def covers(self) -> list[list[int]]:
        """Return the covers of the doubly connected components, of items by number."""
        number = {item: place for place, item in enumerate(self.base.items)}
        found = groups(self.base.rows(), self.base.items)
        return [sorted(number[item] for item in group.items) for group in found]

    def plans(self, most: int) -> Iterator[tuple[Pair, ...]]:
        """Yield sets of at most so many new reviews that rules allow and that reach the level.

        Each set is extended by later pairs only, and not where it reaches the level already: others are larger.

        Raises
        ------
        TooMany
            If more are to be looked at than :data:`MOST_SETS`, or :data:`MOST_TRIED` reviews in them.
        """
        looked = size = 0

        def reached(pairs: tuple[Pair, ...]) -> bool:
            nonlocal looked, size
            looked, size = looked + 1, size + len(self.base.score) + len(pairs)
            if looked > MOST_SETS or size > MOST_TRIED:
                raise TooMany
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
    return case.links


def _loads(case: Case) -> int:
    """Links, and the reviews that are lost where reviewers of fewer than two must be asked: two less what they have."""
    # What each reviewer can add at most, by how many of two reviews they have; the first of them make no links.
    useful: dict[int, list[int]] = {0: [], 1: [], 2: []}
    for reviewer, own in case.base.rows().items():
        reviews = min(len(own), 2)
        useful[reviews].append(max(case.rules.takes(reviewer) - (2 - reviews), 0))
    short = case.links - sum(useful[2])
    one, none = ([0, *accumulate(sorted(useful[reviews], reverse=True))] for reviews in (1, 0))
    lost, ones = list[int](), len(one) - 1
    for zeros, links in enumerate(none):
        # The more reviewers of none are asked, the fewer of one are needed.
        while ones > 0 and one[ones - 1] + links >= short:
            ones -= 1
        if one[ones] + links >= short:
            lost.append(ones + 2 * zeros)
    return case.links + min(lost, default=0)


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
    yield _loads(case) + int(single and case.links > 0)
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


def _expansion(case: Case, claimed: int, weights: Sequence[float]) -> bool:
    return expansion_proves(case.covers(), len(case.base.items), claimed)


def _flow(case: Case, claimed: int, weights: Sequence[float]) -> bool:
    return flow_proves(case.covers(), len(case.base.items), claimed, weights)


#: Kinds whose proof takes a search, or a certificate, and the weakest level for which they hold.
SEARCHED = {**dict.fromkeys(("expansion", "flow", "parts", "groups"), Double.name), "cuts": None}
#: How those are proved again that no search is needed for, where a plan holds its certificate.
PROVED: dict[str, Callable[[Case, int, Sequence[float]], bool]] = {"expansion": _expansion, "flow": _flow}
#: The kind that is about one loss of many.
LOSS = "a loss"
#: The weakest level for which each kind holds.
WEAKEST = {kind: weakest for kind, (weakest, _) in COUNTED.items()} | SEARCHED | {LOSS: SurvivesReview.name}


def check_bound(case: Case, value: int, kind: str, weights: Sequence[float] | None = None) -> tuple[str | None, bool]:
    """Return what is wrong with a bound on new and fixed reviews together, and whether it is taken on trust.

    With ``weights`` of its flow, empty for other kinds, the proof of its kind must prove it; without, any other
    will do. Parts and groups are for :func:`reviewgraph.verify.proofs.wrong_parts`, the largest of such bounds for all.
    """
    if kind not in WEAKEST:
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
    if weights is not None and kind in {*PROVED, LOSS}:
        proved = kind in PROVED and PROVED[kind](case, claimed, weights)
        return (None if proved else f"says {value} ({kind}), and that many are not needed by it"), False
    if claimed <= max(count(case) for weakest, count in COUNTED.values() if case.implies(weakest)):
        return None, False
    try:
        smaller = next(case.plans(claimed - 1), None)
    except (TooMany, TooLarge):
        return None, True
    return (None if smaller is None else f"says {value} ({kind}), and {len(smaller) + fixed} reviews do"), False


def wrong_prices(
    case: Case, new: Collection[Pair], prices: Mapping[str, int], whole: Callable[[Pair], int]
) -> str | None:
    """Return what is wrong with prices of reviewers that are to prove a plan for *recoverable* cheapest, or None.

    The plan is a base of least cost plus price if, at each of its prices, it spans what is cheaper; ``whole`` is the
    cost of a pair in whole units.
    """
    load = dict.fromkeys(case.base.reviewers, 0)
    for reviewer, _ in (*case.rules.fixed, *new):
        load[reviewer] += 1
    paid_for = {reviewer: price for reviewer, price in prices.items() if price}
    if any(price < 0 or load[who] < case.rules.spare.get(who, load[who] + 1) for who, price in paid_for.items()):
        return "a price is negative, or stands on a reviewer who has spare load left"
    if case.links != len(new):
        return f"{len(new)} reviews for {case.links} missing links: the prices prove nothing"

    def price(pair: Pair) -> int:
        return whole(pair) + prices.get(pair[0], 0)

    paid, reviews = sorted(map(price, new)), case.base.loads()
    offered = [(price(pair), pair) for pair in case.pairs if reviews[pair[0]] >= 2]
    for value in sorted(set(paid)):
        cheaper = case.links_with(pair for cost, pair in offered if cost < value)
        if cheaper != sum(cost < value for cost in paid):
            return "with the prices given, a cheaper plan exists"
    return None


def wrong_shortage(case: Case, short: Iterable[str]) -> str | None:
    """Return why some reviewers do not prove that no plan for *recoverable* exists, or None.

    Those of two reviews or more among them make no more links than all their reviews together; everybody else makes
    one per review, but for the first ones of who has fewer than two.
    """
    reviews = case.base.loads()
    few = {reviewer for reviewer in short if reviews[reviewer] >= 2}
    links = case.links_with(pair for pair in case.pairs if pair[0] in few)
    others = sum(max(case.rules.takes(who) - max(2 - count, 0), 0) for who, count in reviews.items() if who not in few)
    if links + others >= case.links:
        return f"{links} and {others} links suffice for the {case.links} missing ones: no proof that there is no plan"
    return None
