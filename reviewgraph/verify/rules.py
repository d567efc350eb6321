"""Constraints of plans, assignments and calibrations as plain values, and checks that reviews respect them.

:class:`PlainRules` are those of a plan, :class:`Market` those of an assignment, :class:`Wanted` the options of a
calibration; a :class:`PanelRule` restricts who reviews a paper together.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from reviewgraph.verify.graphs import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from reviewgraph.verify.answers import Findings
    from reviewgraph.verify.graphs import Pair


AT_MOST = "--at-most"
AT_LEAST = "--at-least"
REWARD = "--reward"


@dataclass(frozen=True)
class PanelRule:
    """A rule on the reviewers of a paper, as an option of ``assign`` states it in ``text``.

    ``values`` are those of the attribute by reviewer, only True where it is boolean. ``wanted`` is the value that is
    counted; None where different values are, or each by itself.
    """

    option: str
    text: str
    attribute: str
    values: Mapping[str, tuple[Any, ...]]
    number: float
    wanted: Any = None

    at_most: ClassVar[str] = AT_MOST
    at_least: ClassVar[str] = AT_LEAST

    def held(self, who: Iterable[str]) -> dict[Any, int]:
        """Return the number of reviewers with each value."""
        return Counter(value for reviewer in who for value in self.values.get(reviewer, ()))

    def broken(self, who: Iterable[str]) -> bool:
        """Whether reviewers of a paper lack somebody, or exceed a maximum."""
        panel = list(who)
        return bool(self.lacks(panel)) or (
            self.option == AT_MOST and max(self.held(panel).values(), default=0) > self.number
        )

    def full(self, reviewer: str, others: Iterable[str]) -> bool:
        """Whether others leave no place for a reviewer under a maximum."""
        counts = self.held(others) if self.option == AT_MOST else {}
        return any(counts.get(value, 0) >= self.number for value in self.values.get(reviewer, ()))

    def lacks(self, who: Iterable[str]) -> int:
        """Return the number of reviewers with the value, or of different values, still lacking."""
        if self.option != AT_LEAST:
            return 0
        counts = self.held(who)
        return max(int(self.number) - (len(counts) if self.wanted is None else counts.get(self.wanted, 0)), 0)


def panel_rule(option: str, text: str, attributes: Mapping[str, Mapping[str, Any]]) -> PanelRule:
    """Return the rule that an option states.

    >>> rule = panel_rule("--at-least", "senior=1", {"ann": {"senior": True}, "bob": {"senior": False}})
    >>> rule.wanted, rule.values["ann"], rule.values["bob"]
    (True, (True,), ())
    """
    # ATTRIBUTE=NUMBER, or ATTRIBUTE:VALUE=NUMBER.
    name, _, number = text.rpartition("=")
    name, _, wanted = name.partition(":") if option == AT_LEAST else (name, "", "")
    raw = {reviewer: own.get(name.strip()) for reviewer, own in attributes.items()}
    # Of boolean attributes True is counted.
    flag = all(value is None or isinstance(value, bool) for value in raw.values())
    values = {reviewer: _values(value) for reviewer, value in raw.items()}
    asked: Any = wanted.strip() or (True if flag and option == AT_LEAST else None)
    return PanelRule(option, f"{option} {text}", name.strip(), values, float(number), asked)


def _values(value: Any) -> tuple[Any, ...]:
    if value is None or value is False:
        return ()
    return tuple(dict.fromkeys(value)) if isinstance(value, list | tuple) else (value,)


def missing(rules: Iterable[PanelRule], who: Iterable[str]) -> int:
    """Return a lower bound on the further reviewers that a paper takes for all rules.

    A reviewer may serve rules on several attributes, and on one attribute as many as anybody has values of it. Where
    nobody has two, those for different values of it add up.

    >>> homes = {"ann": {"region": "Asia"}, "bob": {"region": "Europe"}}
    >>> rules = [panel_rule("--at-least", text, homes) for text in ("region:Asia=2", "region:Europe=1", "region=2")]
    >>> missing(rules, ["ann"])
    2
    """
    panel = list(who)
    by_attribute = dict[str, list[PanelRule]]()
    for rule in rules:
        by_attribute.setdefault(rule.attribute, []).append(rule)
    least = 0
    for group in by_attribute.values():
        # What is lacking of each value, and of different values, by the strictest of its rules.
        members: dict[Any, int] = {}
        for rule in group:
            members[rule.wanted] = max(members.get(rule.wanted, 0), rule.lacks(panel))
        different = members.pop(None, None)
        # A reviewer counts for at most as many of these as anybody has values.
        counted = [sum(value in members or different is not None for value in own) for own in group[0].values.values()]
        each = max(1, *counted, 1)
        together = sum(members.values()) if each == 1 else max(members.values(), default=0)
        least = max(least, together, -(-(different or 0) // each))
    return least


def panels_of(pairs: Iterable[Pair]) -> dict[str, list[str]]:
    """Return the reviewers of each paper that has any."""
    panels: dict[str, list[str]] = {}
    for reviewer, item in pairs:
        panels.setdefault(item, []).append(reviewer)
    return panels


def check_panels(
    findings: Findings,
    rules: Iterable[PanelRule],
    pairs: list[Pair],
    demand: Mapping[str, int],
    before: Collection[Pair] = (),
) -> None:
    """Check the reviewers of each paper that gets any against rules.

    Those of a phase ``before`` count; what they break themselves is no error.
    """
    panels = panels_of([*before, *pairs])
    new = panels_of(pairs)
    for rule in rules:
        for item in [item for item, need in demand.items() if need]:
            panel = panels.get(item, ())
            # A maximum is broken by new reviewers alone.
            beyond = [value for value, count in rule.held(panel).items() if count > rule.number]
            crowded = rule.option == AT_MOST and any(rule.held(new.get(item, ())).get(value, 0) for value in beyond)
            words = f"{rule.text}: paper {item} has {', '.join(sorted(panel)) or 'nobody'}"
            findings.expect(not crowded and not rule.lacks(panel), words)


def earned(rules: Iterable[PanelRule], pairs: list[Pair], before: Collection[Pair] = ()) -> float:
    """Return the reward for different values on papers that get reviews, those of a phase before included."""
    panels = panels_of([*before, *pairs])
    new = panels_of(pairs)
    return sum(
        rule.number * sum(len(rule.held(panels[item])) for item in new) for rule in rules if rule.option == REWARD
    )


@dataclass(frozen=True)
class PlainRules:
    """Constraints of a plan.

    ``table`` has the reviews without reviewers who are gone, and with new reviewers. ``spare`` are extra reviews that
    reviewers can take, unlimited where missing; ``barred`` pairs are forbidden and ``fixed`` ones required (subject to
    ``barred`` and ``spare`` alone); ``allowed`` are the only possible pairs and ``willing`` the only possible
    reviewers, None for all; ``panels`` restrict the reviewers of an item, present reviews counted. ``min_reviews`` is
    the minimum of reviews per item, old and new, ``max_per_item`` the maximum of new ones, ``max_reviews`` the budget.
    ``value`` and ``default`` are costs, or affinities where ``best``, the highest affinity, is not None. With
    ``use_scores`` ties carry no scale.
    """

    table: Table
    spare: Mapping[str, int] = field(default_factory=dict)
    barred: frozenset[Pair] = frozenset()
    fixed: tuple[Pair, ...] = ()
    allowed: frozenset[Pair] | None = None
    willing: frozenset[str] | None = None
    panels: tuple[PanelRule, ...] = ()
    min_reviews: int = 0
    max_per_item: int | None = None
    max_reviews: int | None = None
    value: Mapping[Pair, float] = field(default_factory=dict)
    default: float = 1.0
    best: float | None = None
    use_scores: bool = False

    def after(self, pairs: Iterable[Pair]) -> Table:
        """Return the reviews that count, with those of a plan."""
        counted = self.table.scored() if self.use_scores else self.table
        return counted.with_pairs(pairs, scored=self.use_scores)

    def cost_of(self, pair: Pair) -> float:
        """Return the cost of a pair."""
        value = self.value.get(pair, self.default)
        return value if self.best is None else self.best - value

    def worth_of(self, pair: Pair) -> float | None:
        """Return the affinity of a pair; None where there are none."""
        return None if self.best is None else self.value.get(pair, self.default)

    def needs(self, table: Table) -> dict[str, int]:
        """Return a lower bound on the further reviews of each item, for their number and for rules on panels."""
        panels = panels_of(table.score)
        return {
            item: max(self.min_reviews - len(panels.get(item, ())), missing(self.panels, panels.get(item, ())), 0)
            for item in table.items
        }

    def lacks(self, pairs: Iterable[Pair] = ()) -> dict[str, int]:
        """Return what items need after the fixed reviews and more, of those that need any."""
        needs = self.needs(self.table.with_pairs((*self.fixed, *pairs)))
        return {item: number for item, number in needs.items() if number}

    def open_pairs(self) -> Iterator[Pair]:
        """Yield the new pairs that are possible, each alone in addition to the fixed ones."""
        free = self.table.with_pairs(self.fixed)
        for reviewer in self.table.reviewers:
            if self._fixed_loads[reviewer] >= self.spare.get(reviewer, math.inf):
                continue
            for item in self._open_items:
                if (reviewer, item) not in free.score and self.why_barred((reviewer, item), self.fixed) is None:
                    yield reviewer, item

    def takes(self, reviewer: str) -> int:
        """Return the maximum number of new reviews of a reviewer in addition to the fixed ones."""
        fixed = self._fixed_loads[reviewer]
        spare = self.spare.get(reviewer, len(self.table.items) + fixed) - fixed
        if spare <= 0:
            return 0
        own = self._barred_items.get(reviewer, set())
        free = [item for item in self._open_items if item not in own]
        if self.allowed is not None or self.willing is not None or self.panels:
            free = [item for item in free if self.why_barred((reviewer, item), self.fixed) is None]
        return min(spare, len(free))

    @cached_property
    def _fixed_loads(self) -> Counter[str]:
        return Counter(reviewer for reviewer, _ in self.fixed)

    @cached_property
    def _open_items(self) -> list[str]:
        """Items that may get a further review in addition to the fixed ones."""
        count = Counter(item for _, item in self.fixed)
        most = self.max_per_item
        return [item for item in self.table.items if most is None or count[item] < most]

    @cached_property
    def _barred_items(self) -> dict[str, set[str]]:
        """Items of each reviewer in conflict, reviewed or fixed."""
        items: dict[str, set[str]] = {}
        for reviewer, item in (*self.barred, *self.table.score, *self.fixed):
            items.setdefault(reviewer, set()).add(item)
        return items

    def why_barred(self, pair: Pair, beside: Iterable[Pair]) -> str | None:
        """Return why a pair that is not fixed is impossible together with others, or None."""
        reviewer, item = pair
        if pair in self.barred:
            return "is a conflict"
        if self.spare.get(reviewer, 1) <= 0:
            return "is of a reviewer who takes no more reviews"
        if self.allowed is not None and pair not in self.allowed:
            return "is below the minimum affinity"
        if self.willing is not None and reviewer not in self.willing:
            return "is of a reviewer who is not willing"
        if self.panels:
            others = {*self._readers.get(item, ()), *(who for who, what in beside if what == item)} - {reviewer}
            for rule in self.panels:
                if rule.full(reviewer, others):
                    return f"is of one more than {rule.text} allows with the other reviewers of the paper"
        return None

    @cached_property
    def _readers(self) -> dict[str, list[str]]:
        return panels_of(self.table.score)

    def exceeded(self, pairs: Iterable[Pair]) -> str | None:
        """Return which spare load, or limit of a paper, pairs exceed, or None."""
        listed = list(pairs)
        for reviewer, count in Counter(who for who, _ in listed).items():
            if count > self.spare.get(reviewer, count):
                return f"reviewer {reviewer} gets {count} reviews, and {self.spare[reviewer]} are spare"
        for item, count in Counter(what for _, what in listed).items():
            if self.max_per_item is not None and count > self.max_per_item:
                return f"paper {item} gets {count} reviews, and {self.max_per_item} are allowed"
        return None


def check_rules(findings: Findings, rules: PlainRules, pairs: list[Pair]) -> None:
    """Check the reviews of a plan against its rules."""
    table = rules.table
    fixed = set(rules.fixed)
    # Each review by itself: new, of a reviewer and a paper that are there, and allowed beside the others.
    for place, pair in enumerate(pairs):
        name = f"reviews[{place}]: {pair[0]} on {pair[1]}"
        findings.expect(pair[0] in table.reviewers, f"{name}: there is no such reviewer")
        findings.expect(pair[1] in table.items, f"{name}: there is no such paper")
        findings.expect(pair not in table.score, f"{name} is a review already")
        findings.expect(pairs.index(pair) == place, f"{name} is listed twice")
        wrong = None if pair in fixed else rules.why_barred(pair, [other for other in pairs if other != pair])
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

    ``demand`` are reviews per paper, ``loads`` minimum and maximum reviews per reviewer, ``affinity`` that of pairs;
    with ``any_pair`` other pairs may be assigned for 0. ``barred`` pairs are forbidden, ``fixed`` ones required.
    Reviews of ``phase_one`` link in addition to demands and loads, and may not be assigned again. ``target`` is the
    level, ``none`` without one; with ``survive`` it shall hold without any one reviewer; ``named`` tells whether it was
    passed. ``panels`` restrict the reviewers of a paper, ``previous`` is the assignment before; ``min_affinity``,
    ``floor`` and ``floor_best`` are thresholds of pairs and papers. ``plain`` tells whether the largest affinity
    without a level depends on demands, loads and pairs alone.
    """

    demand: Mapping[str, int]
    loads: Mapping[str, tuple[int, int]]
    affinity: Mapping[Pair, float] = field(default_factory=dict)
    any_pair: bool = True
    barred: frozenset[Pair] = frozenset()
    fixed: tuple[Pair, ...] = ()
    phase_one: frozenset[Pair] = frozenset()
    target: str = "none"
    survive: bool = False
    panels: tuple[PanelRule, ...] = ()
    previous: frozenset[Pair] | None = None
    min_affinity: float | None = None
    floor: float | None = None
    floor_best: float | None = None
    plain: bool = True
    named: bool = False

    @property
    def asks_more(self) -> bool:
        """Whether there are constraints besides demands, loads, pairs and a level."""
        floors = self.floor is not None or self.floor_best is not None
        return bool(self.panels) or floors or not self.plain

    def may(self, pair: Pair) -> bool:
        """Whether a pair may be assigned."""
        if pair in self.fixed:
            return True
        return pair not in self.barred | self.phase_one and (self.any_pair or pair in self.affinity)

    def pairs(self) -> dict[Pair, float]:
        """Return all pairs that may be assigned, with their affinities."""
        every = ((reviewer, item) for item in self.demand for reviewer in self.loads)
        return {pair: self.affinity.get(pair, 0.0) for pair in every if self.may(pair)}

    def table(self, pairs: list[Pair]) -> Table:
        """Return the reviews that link."""
        linked = [pair for pair in (*self.phase_one, *pairs) if pair[1] in self.demand]
        reviewers = dict.fromkeys([*self.loads, *(reviewer for reviewer, _ in linked)])
        return Table(tuple(reviewers), tuple(self.demand), dict.fromkeys(linked))


@dataclass(frozen=True)
class Wanted:
    """Options of a calibration.

    ``named`` tells whether the method was passed. ``select`` maps the number of scored papers to the number selected,
    None without a selection, for which ``error_rate`` and ``across_groups`` are. ``hypotheses`` are class names by
    reviewer, ``max_slope`` and ``ties_equal`` the steepest slope and whether tied scores are perceived alike, all three
    for ``lsc``. ``references`` have known qualities.
    ``lottery`` is the seed, None without one; ``explained`` are papers to explain. ``methods`` and ``classes`` are the
    verifiers that methods and hypothesis classes name as ``"module:name"``, None where they name none.
    """

    method: str
    named: bool = False
    select: Callable[[int], int] | None = None
    error_rate: float = 0.1
    across_groups: bool = False
    hypotheses: Mapping[str, str] = field(default_factory=dict)
    max_slope: float = 10.0
    ties_equal: bool = True
    references: Mapping[str, float] = field(default_factory=dict)
    lottery: int | None = None
    explained: tuple[str, ...] = ()
    methods: Mapping[str, Any] = field(default_factory=dict)
    classes: Mapping[str, Any] = field(default_factory=dict)
