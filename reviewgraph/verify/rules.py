"""What a plan was to respect, and whether its reviews do."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from reviewgraph.verify.panels import missing, panels_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from reviewgraph.verify.findings import Findings
    from reviewgraph.verify.panels import PanelRule
    from reviewgraph.verify.tables import Pair, Table


@dataclass(frozen=True)
class Rules:
    """What a plan was to respect.

    Parameters
    ----------
    table
        The reviews, without those of people who are gone, and with new reviewers.
    spare
        Extra reviews that reviewers can take; those left out are not limited.
    barred
        Pairs that may not be.
    fixed
        Pairs that must be; they are held to ``barred`` and ``spare`` alone.
    allowed
        The only pairs that may be, by an affinity; None if any may.
    willing
        The only reviewers who may be asked; None if all may.
    panels
        Rules on who reviews an item together, reviews that are there counted.
    min_reviews, max_per_item, max_reviews
        Fewest reviews of an item, old and new; most new ones; most in all.
    value, default, best
        Cost or affinity of pairs, of other pairs, and the highest affinity, or None where values are costs.
    use_scores
        Whether ties carry no scale.
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
        """Return what a pair costs."""
        value = self.value.get(pair, self.default)
        return value if self.best is None else self.best - value

    def needs(self, table: Table) -> dict[str, int]:
        """Return how many more reviews each item takes at least, for their number and for rules on panels."""
        panels = panels_of(table.score)
        return {
            item: max(self.min_reviews - len(panels.get(item, ())), missing(self.panels, panels.get(item, ())), 0)
            for item in table.items
        }

    def open_pairs(self) -> Iterator[Pair]:
        """Yield the new pairs that may be, each taken alone beside the fixed ones."""
        free = self.table.with_pairs(self.fixed)
        for reviewer in self.table.reviewers:
            for item in self.table.items:
                if (reviewer, item) not in free.score and self.why_barred((reviewer, item), self.fixed) is None:
                    yield reviewer, item

    def takes(self, reviewer: str) -> int:
        """Return how many new reviews a reviewer can be given beside the fixed ones at most."""
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
        """Items that may be given a further review beside the fixed ones."""
        count = Counter(item for _, item in self.fixed)
        most = self.max_per_item
        return [item for item in self.table.items if most is None or count[item] < most]

    @cached_property
    def _barred_items(self) -> dict[str, set[str]]:
        """Items of each reviewer that are in conflict, reviewed or fixed."""
        found: dict[str, set[str]] = {}
        for reviewer, item in (*self.barred, *self.table.score, *self.fixed):
            found.setdefault(reviewer, set()).add(item)
        return found

    def why_barred(self, pair: Pair, beside: Iterable[Pair]) -> str | None:
        """Return why a pair that is not fixed may not be beside others, or None."""
        reviewer, item = pair
        if pair in self.barred:
            return "is a conflict"
        if self.spare.get(reviewer, 1) <= 0:
            return "is of a reviewer who takes no more reviews"
        if self.allowed is not None and pair not in self.allowed:
            return "is below the least affinity"
        if self.willing is not None and reviewer not in self.willing:
            return "is of a reviewer who is not willing"
        if self.panels:
            others = {*self._readers.get(item, ()), *(who for who, what in beside if what == item)} - {reviewer}
            full = next((rule for rule in self.panels if rule.full(reviewer, others)), None)
            return None if full is None else f"is of one more than {full.text} allows beside those who review the paper"
        return None

    @cached_property
    def _readers(self) -> dict[str, list[str]]:
        """Who reviews each item already."""
        return panels_of(self.table.score)

    def exceeded(self, pairs: Iterable[Pair]) -> str | None:
        """Return which spare load, or limit of a paper, some pairs exceed, or None."""
        listed = list(pairs)
        for reviewer, count in Counter(who for who, _ in listed).items():
            if count > self.spare.get(reviewer, count):
                return f"reviewer {reviewer} gets {count} reviews, and {self.spare[reviewer]} are spare"
        for item, count in Counter(what for _, what in listed).items():
            if self.max_per_item is not None and count > self.max_per_item:
                return f"paper {item} gets {count} reviews, and {self.max_per_item} are allowed"
        return None


def check_rules(findings: Findings, rules: Rules, pairs: list[Pair]) -> None:
    """Hold the reviews of a plan to its rules."""
    table, fixed = rules.table, set(rules.fixed)
    for place, pair in enumerate(pairs):
        name = f"reviews[{place}]: {pair[0]} on {pair[1]}"
        findings.expect(pair[0] in table.reviewers, f"{name}: there is no such reviewer")
        findings.expect(pair[1] in table.items, f"{name}: there is no such paper")
        findings.expect(pair not in table.score, f"{name} is a review already")
        findings.expect(pairs.index(pair) == place, f"{name} stands twice")
        wrong = None if pair in fixed else rules.why_barred(pair, [other for other in pairs if other != pair])
        findings.expect(wrong is None, f"{name} {wrong}")
    exceeded = rules.exceeded(pairs)
    findings.expect(exceeded is None, f"reviews: {exceeded}")
    if rules.max_reviews is not None:
        words = f"reviews: {len(pairs)}, and the budget allows {rules.max_reviews}"
        findings.expect(len(pairs) <= rules.max_reviews, words)
    for pair in rules.fixed:
        findings.expect(pair in pairs, f"reviews: lacks {pair[0]} on {pair[1]}, which is fixed")
    findings.check(f"{len(pairs)} reviews: each is new and allowed, and loads and limits are kept")
