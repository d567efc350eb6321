"""Rules on who reviews a paper together, as options of ``assign`` say them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from reviewgraph.verify.findings import Findings
    from reviewgraph.verify.tables import Pair

AT_MOST, AT_LEAST, REWARD = "--at-most", "--at-least", "--reward"


class PanelRule(NamedTuple):
    """A rule: the option and what it says, the attribute, its values by reviewer, and what the rule asks for.

    ``values`` are those of each reviewer, only a yes where it is a matter of yes or no. ``wanted`` is the
    value that is counted; None where different values are, or each by itself.
    """

    option: str
    text: str
    attribute: str
    values: Mapping[str, tuple[Any, ...]]
    number: float
    wanted: Any = None

    def held(self, who: Iterable[str]) -> dict[Any, int]:
        """Return how many of some reviewers have each value."""
        return Counter(value for reviewer in who for value in self.values.get(reviewer, ()))

    def broken(self, who: Iterable[str]) -> bool:
        """Whether some reviewers of a paper lack somebody, or are more than there may be."""
        panel = list(who)
        return bool(self.lacks(panel)) or (
            self.option == AT_MOST and max(self.held(panel).values(), default=0) > self.number
        )

    def full(self, reviewer: str, others: Iterable[str]) -> bool:
        """Whether others leave no place for a reviewer under a rule on how many there may be."""
        held = self.held(others) if self.option == AT_MOST else {}
        return any(held.get(value, 0) >= self.number for value in self.values.get(reviewer, ()))

    def lacks(self, who: Iterable[str]) -> int:
        """Return how many reviewers with the value, or how many different values, some reviewers lack."""
        if self.option != AT_LEAST:
            return 0
        held = self.held(who)
        return max(int(self.number) - (len(held) if self.wanted is None else held.get(self.wanted, 0)), 0)


def panel_rule(option: str, text: str, attributes: Mapping[str, Mapping[str, Any]]) -> PanelRule:
    """Return a rule from the words of an option.

    >>> rule = panel_rule("--at-least", "senior=1", {"ann": {"senior": True}, "bob": {"senior": False}})
    >>> rule.wanted, rule.values["ann"], rule.values["bob"]
    (True, (True,), ())
    """
    name, _, number = text.rpartition("=")
    name, _, wanted = name.partition(":") if option == AT_LEAST else (name, "", "")
    raw = {reviewer: own.get(name.strip()) for reviewer, own in attributes.items()}
    flag = all(value is None or isinstance(value, bool) for value in raw.values())
    values = {reviewer: _values(value) for reviewer, value in raw.items()}
    asked: Any = wanted.strip() or (True if flag and option == AT_LEAST else None)
    return PanelRule(option, f"{option} {text}", name.strip(), values, float(number), asked)


def _values(value: Any) -> tuple[Any, ...]:
    if value is None or value is False:
        return ()
    return tuple(dict.fromkeys(value)) if isinstance(value, list | tuple) else (value,)


def missing(rules: Iterable[PanelRule], who: Iterable[str]) -> int:
    """Return how many more reviewers a paper takes at least for all rules, beside those that it has.

    A reviewer may serve rules on several attributes, and of one attribute as many as anybody has values of it. Where
    nobody has two, those for different values of it add up.

    >>> homes = {"ann": {"region": "Asia"}, "bob": {"region": "Europe"}}
    >>> rules = [panel_rule("--at-least", text, homes) for text in ("region:Asia=2", "region:Europe=1", "region=2")]
    >>> missing(rules, ["ann"])
    2
    """
    panel, asked = list(who), dict[str, list[PanelRule]]()
    for rule in rules:
        asked.setdefault(rule.attribute, []).append(rule)
    least = 0
    for same in asked.values():
        members: dict[Any, int] = {}
        for rule in same:
            members[rule.wanted] = max(members.get(rule.wanted, 0), rule.lacks(panel))
        different = members.pop(None, None)
        counted = [sum(value in members or different is not None for value in own) for own in same[0].values.values()]
        each = max(1, *counted, 1)
        together = sum(members.values()) if each == 1 else max(members.values(), default=0)
        least = max(least, together, -(-(different or 0) // each))
    return least


def panels_of(pairs: Iterable[Pair]) -> dict[str, list[str]]:
    """Return who reviews each paper that somebody reviews."""
    found: dict[str, list[str]] = {}
    for reviewer, item in pairs:
        found.setdefault(item, []).append(reviewer)
    return found


def check_panels(
    findings: Findings,
    rules: Iterable[PanelRule],
    pairs: list[Pair],
    demand: Mapping[str, int],
    before: Collection[Pair] = (),
) -> None:
    """Hold the reviewers of each paper that gets any to the rules.

    Those of a phase ``before`` count, and what they break themselves stands.
    """
    panels, new = panels_of([*before, *pairs]), panels_of(pairs)
    for rule in rules:
        for item in [item for item, need in demand.items() if need]:
            panel = panels.get(item, ())
            beyond = [value for value, found in rule.held(panel).items() if found > rule.number]
            crowded = rule.option == AT_MOST and any(rule.held(new.get(item, ())).get(value, 0) for value in beyond)
            words = f"{rule.text}: paper {item} has {', '.join(sorted(panel)) or 'nobody'}"
            findings.expect(not crowded and not rule.lacks(panel), words)


def earned(rules: Iterable[PanelRule], pairs: list[Pair], before: Collection[Pair] = ()) -> float:
    """Return what different values on papers earn, those of a phase before included on papers that get reviews."""
    panels, new = panels_of([*before, *pairs]), panels_of(pairs)
    return sum(
        rule.number * sum(len(rule.held(panels[item])) for item in new) for rule in rules if rule.option == REWARD
    )
