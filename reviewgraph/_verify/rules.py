"""Constraints of plans and assignments as plain values, and checks that reviews respect them.

:class:`PlainRules` are those of a plan, :class:`Market` those of an assignment; a :class:`PanelRule` restricts the
reviewers of each paper.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from reviewgraph._verify.graphs import Pair, Table

if TYPE_CHECKING:
    from reviewgraph._verify.answers import Findings


@dataclass(frozen=True)
class PanelRule:
    """A rule on the reviewers of a paper, ``text`` as an option.

    ``values`` are those of the ``attribute`` by reviewer. ``most`` and ``least`` are bounds by paper on the reviewers
    with a value; a paper that is missing has none. Of ``wanted`` reviewers with this value are counted, of ``own``,
    values by paper, those with some value of the paper.
    """

    text: str
    attribute: str
    values: Mapping[str, tuple[Any, ...]]
    most: Mapping[str, int] = field(default_factory=dict)
    least: Mapping[str, int] = field(default_factory=dict)
    wanted: Any = None
    own: Mapping[str, tuple[Any, ...]] | None = None

    def exceeded(self, panel: Iterable[str], new: Iterable[str], item: str) -> bool:
        """Whether a panel has more than a maximum with a value that a new reviewer has."""
        if item not in self.most:
            return False
        held = Counter(value for reviewer in panel for value in self.values.get(reviewer, ()))
        fresh = {value for reviewer in new for value in self.values.get(reviewer, ())}
        return any(held[value] > self.most[item] for value in fresh)

    def lacks(self, panel: Collection[str], item: str) -> int:
        """Return the number of reviewers with the value, or with one of the paper's, still lacking."""
        least = self.least.get(item, 0)
        held = [self.values.get(reviewer, ()) for reviewer in panel]
        if self.own is not None:
            # Whoever has some value of the paper counts once; a paper without values asks for nobody.
            own = set(self.own.get(item, ()))
            least = least if own else 0
            present = sum(not own.isdisjoint(values) for values in held)
        else:
            present = sum(self.wanted in values for values in held)
        return max(least - present, 0)


def missing(rules: Iterable[PanelRule], panel: Collection[str], item: str) -> int:
    """Return a lower bound on the further reviewers that a paper takes for all rules.

    A reviewer may serve rules on several attributes, and on one attribute as many as anybody has values of it. Where
    nobody has two, those for different values of it add up.

    >>> region = {"ann": ("Asia",), "bob": ("Europe",)}
    >>> asked = [("Asia", 2), ("Europe", 1)]
    >>> rules = [PanelRule("", "region", region, least={"p1": least}, wanted=wanted) for wanted, least in asked]
    >>> missing(rules, ["ann"], "p1")
    2
    >>> of_paper = PanelRule("", "region", {"ann": ("Asia", "Europe")}, least={"p1": 2}, own={"p1": ("Asia", "Europe")})
    >>> missing([of_paper], [], "p1")
    2
    """
    by_attribute = dict[tuple[str, bool], list[PanelRule]]()
    for rule in rules:
        by_attribute.setdefault((rule.attribute, rule.own is None), []).append(rule)
    least = 0
    for alike in by_attribute.values():
        # What is lacking of each value, or of any value of the paper (None), by the strictest of its rules.
        lacking: dict[Any, int] = {}
        for rule in alike:
            lacking[rule.wanted] = max(lacking.get(rule.wanted, 0), rule.lacks(panel, item))
        # A reviewer counts for at most as many of these as anybody has values.
        most = 1
        for values in alike[0].values.values():
            most = max(most, sum(value in lacking for value in values))
        together = sum(lacking.values()) if most == 1 else max(lacking.values(), default=0)
        least = max(least, together)
    return least


def panels_of(pairs: Iterable[Pair]) -> dict[str, list[str]]:
    """Return the reviewers of each paper that has any."""
    panels: dict[str, list[str]] = {}
    for reviewer, item in pairs:
        panels.setdefault(item, []).append(reviewer)
    return panels


@dataclass(frozen=True)
class PlainRules:
    """Constraints of a plan.

    ``table`` has the reviews without reviewers who are gone, and with new reviewers. ``spare`` are extra reviews that
    reviewers can take, unlimited where missing; ``barred`` pairs are forbidden and ``fixed`` ones required (subject to
    ``barred`` and ``spare`` alone); ``allowed`` are the only possible pairs, None for all; ``panels`` restrict the
    reviewers of an item, present reviews counted. ``min_reviews`` is the minimum of reviews per item, old and new,
    ``max_per_item`` the maximum of new ones, ``max_reviews`` the budget. ``value`` and ``default`` are costs, or
    affinities where ``best``, the highest affinity, is not None.
    """

    table: Table
    spare: Mapping[str, int] = field(default_factory=dict)
    barred: frozenset[Pair] = frozenset()
    fixed: tuple[Pair, ...] = ()
    allowed: frozenset[Pair] | None = None
    panels: tuple[PanelRule, ...] = ()
    min_reviews: int = 0
    max_per_item: int | None = None
    max_reviews: int | None = None
    value: Mapping[Pair, float] = field(default_factory=dict)
    default: float = 1.0
    best: float | None = None

    def after(self, pairs: Iterable[Pair]) -> Table:
        return self.table.with_pairs(pairs)

    def cost_of(self, pair: Pair) -> float:
        value = self.value.get(pair, self.default)
        return value if self.best is None else self.best - value

    def worth_of(self, pair: Pair) -> float | None:
        """Return the affinity of a pair; None where there are none."""
        return None if self.best is None else self.value.get(pair, self.default)

    def lacks(self, pairs: Iterable[Pair] = ()) -> dict[str, int]:
        """Return a lower bound on what items need after the fixed reviews and more, of those that need any.

        They need reviews for their number and for rules on panels.
        """
        panels = panels_of(self.table.with_pairs((*self.fixed, *pairs)).score)
        needs = {}
        for item in self.table.items:
            panel = panels.get(item, [])
            need = max(self.min_reviews - len(panel), missing(self.panels, panel, item))
            if need > 0:
                needs[item] = need
        return needs

    def open_items(self, reviewer: str) -> list[str]:
        """Return the items that a reviewer may get, each alone in addition to the fixed reviews."""
        if self._fixed_loads[reviewer] >= self.spare.get(reviewer, math.inf):
            return []
        closed = self._closed_items.get(reviewer, ())
        most = math.inf if self.max_per_item is None else self.max_per_item
        items = [item for item in self.table.items if item not in closed and self._fixed_limits[item] < most]
        if self.allowed is None and not self.panels:
            return items
        return [item for item in items if self.why_barred((reviewer, item), self.fixed) is None]

    def open_pairs(self) -> list[Pair]:
        """Return the new pairs that are possible, each alone in addition to the fixed ones."""
        return [(reviewer, item) for reviewer in self.table.reviewers for item in self.open_items(reviewer)]

    def takes(self, reviewer: str) -> int:
        """Return the maximum number of new reviews of a reviewer in addition to the fixed ones."""
        spare = self.spare.get(reviewer, math.inf) - self._fixed_loads[reviewer]
        return int(max(min(spare, len(self.open_items(reviewer))), 0))

    @cached_property
    def _fixed_loads(self) -> Counter[str]:
        return Counter(reviewer for reviewer, _ in self.fixed)

    @cached_property
    def _fixed_limits(self) -> Counter[str]:
        return Counter(item for _, item in self.fixed)

    @cached_property
    def _closed_items(self) -> dict[str, set[str]]:
        """Items of each reviewer in conflict, reviewed or fixed."""
        items: dict[str, set[str]] = {}
        for reviewer, item in (*self.barred, *self.table.score, *self.fixed):
            items.setdefault(reviewer, set()).add(item)
        return items

    @cached_property
    def _panels(self) -> dict[str, list[str]]:
        return panels_of(self.table.score)

    def why_barred(self, pair: Pair, beside: Iterable[Pair]) -> str | None:
        """Return why a pair that is not fixed is impossible together with others, or None."""
        reviewer, item = pair
        if pair in self.barred:
            return "is a conflict"
        if self.spare.get(reviewer, 1) <= 0:
            return "is of a reviewer who takes no more reviews"
        if self.allowed is not None and pair not in self.allowed:
            return "is below the minimum affinity"
        if self.panels:
            panel = {*self._panels.get(item, ()), *(who for who, what in beside if what == item)} - {reviewer}
            for rule in self.panels:
                if rule.exceeded([*panel, reviewer], [reviewer], item):
                    return f"is of one more than {rule.text} allows with the other reviewers of the paper"
        return None

    def exceeded(self, pairs: Iterable[Pair]) -> str | None:
        """Return which spare load, or limit of a paper, pairs exceed, or None."""
        # Fixed pairs are kept whatever they exceed.
        listed = list(pairs)
        for reviewer, count in Counter(who for who, _ in listed).items():
            if count > max(self.spare.get(reviewer, count), self._fixed_loads[reviewer]):
                return f"reviewer {reviewer} gets {count} reviews, and {self.spare[reviewer]} are spare"
        for item, count in Counter(what for _, what in listed).items():
            if self.max_per_item is not None and count > max(self.max_per_item, self._fixed_limits[item]):
                return f"paper {item} gets {count} reviews, and {self.max_per_item} are allowed"
        return None


def check_rules(findings: Findings, rules: PlainRules, pairs: list[Pair]) -> None:
    reviewers = set(rules.table.reviewers)
    items = set(rules.table.items)
    panels = panels_of(pairs)
    # Each review by itself: new, of a reviewer and a paper that are there, and allowed beside the others.
    for place, (pair, times) in enumerate(Counter(pairs).items()):
        reviewer, item = pair
        name = f"reviews[{place}]: {reviewer} on {item}"
        findings.expect(reviewer in reviewers, f"{name}: there is no such reviewer")
        findings.expect(item in items, f"{name}: there is no such paper")
        findings.expect(pair not in rules.table.score, f"{name} is a review already")
        findings.expect(times == 1, f"{name} is listed twice")
        beside = [(other, item) for other in panels[item] if other != reviewer]
        wrong = None if pair in rules.fixed else rules.why_barred(pair, beside)
        findings.expect(wrong is None, f"{name} {wrong}")
    # All of them together: loads, limits, the budget, and the fixed ones.
    exceeded = rules.exceeded(pairs)
    findings.expect(exceeded is None, f"reviews: {exceeded}")
    if rules.max_reviews is not None:
        words = f"reviews: {len(pairs)}, and the budget allows {rules.max_reviews}"
        findings.expect(len(pairs) <= rules.max_reviews, words)
    for pair in rules.fixed:
        findings.expect(pair in pairs, f"reviews: lacks {pair[0]} on {pair[1]}, which is fixed")
    counted = "1 review" if len(pairs) == 1 else f"{len(pairs)} reviews"
    findings.check(f"{counted}: each is new and allowed, and loads and limits are kept")


@dataclass(frozen=True)
class Market:
    """Constraints of an assignment.

    ``demand`` are reviews per paper, ``loads`` minimum and maximum reviews per reviewer, ``affinity`` that of all
    pairs that may be assigned, of which ``fixed`` ones are required. Reviews of ``phase_one`` link in addition to
    demands and loads. ``target`` is the level, ``none`` without one; ``named`` tells whether it was passed. ``panels``
    restrict the reviewers of a paper, ``floor`` is the minimum sum of affinities of a paper. ``plain`` tells that there
    is no lottery, ``sums_alone`` that the total is what is optimised: no change from a previous assignment counts.
    """

    demand: Mapping[str, int]
    loads: Mapping[str, tuple[int, int]]
    affinity: Mapping[Pair, float]
    fixed: tuple[Pair, ...] = ()
    phase_one: frozenset[Pair] = frozenset()
    target: str = "none"
    panels: tuple[PanelRule, ...] = ()
    floor: float | None = None
    plain: bool = True
    sums_alone: bool = True
    named: bool = False

    @property
    def asks_more(self) -> bool:
        """Whether there are constraints besides demands, loads, pairs and a level."""
        return bool(self.panels) or self.floor is not None or not self.plain

    def table(self, pairs: Iterable[Pair]) -> Table:
        """Return the reviews that link."""
        linked = [pair for pair in (*self.phase_one, *pairs) if pair[1] in self.demand]
        reviewers = dict.fromkeys([*self.loads, *(reviewer for reviewer, _ in linked)])
        return Table(tuple(reviewers), tuple(self.demand), dict.fromkeys(linked))


def check_market(findings: Findings, market: Market, pairs: list[Pair], short: Mapping[str, int]) -> None:
    """Check demands (less what papers are said to lack), loads, conflicts, fixed pairs and rules on panels."""
    expect = findings.expect
    # Each pair by itself, then all of them by paper and by reviewer.
    seen = Counter(pairs)
    for (reviewer, item), times in seen.items():
        name = f"reviews: {reviewer} on {item}"
        expect(times == 1, f"{name} is listed twice")
        listed = expect(reviewer in market.loads, f"{name}: there is no such reviewer")
        if listed and expect(item in market.demand, f"{name}: there is no such paper"):
            allowed = (reviewer, item) in market.affinity
            expect(allowed, f"{name} may not be: a conflict, of the first phase or without affinity")
    for pair in market.fixed:
        expect(pair in seen, f"reviews: lacks {pair[0]} on {pair[1]}, which is fixed")
    load = Counter(reviewer for reviewer, _ in pairs)
    count = Counter(item for _, item in pairs)
    for item, demand in market.demand.items():
        need = demand - short.get(item, 0)
        expect(count[item] == need, f"paper {item} has {count[item]} reviews, its demand is {need}")
    for reviewer, (least, most) in market.loads.items():
        words = f"reviewer {reviewer} has {load[reviewer]} reviews, the load is {least} to {most}"
        expect(least <= load[reviewer] <= most, words)
    # Reviewers of the first phase count; what they break themselves is no error.
    panels = panels_of([*market.phase_one, *pairs])
    # What fixed pairs break is kept.
    new = panels_of([pair for pair in pairs if pair not in market.fixed])
    for rule in market.panels:
        for item in [item for item, demand in market.demand.items() if demand]:
            panel = panels.get(item, [])
            words = f"{rule.text}: paper {item} has {', '.join(sorted(panel)) or 'nobody'}"
            expect(not rule.exceeded(panel, new.get(item, ()), item) and not rule.lacks(panel, item), words)
    findings.check(f"{len(pairs)} reviews: demands, loads, conflicts, fixed pairs and rules on panels")
