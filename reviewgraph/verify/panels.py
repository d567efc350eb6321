"""Rules on who reviews a paper together, as options of ``assign`` say them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reviewgraph.verify.findings import Findings
    from reviewgraph.verify.tables import Pair

AT_MOST, AT_LEAST, REWARD = "--at-most", "--at-least", "--reward"


class PanelRule(NamedTuple):
    """A rule: the option and what it says, the values of each reviewer, and what it asks for.

    ``values`` are those of the attribute by reviewer, only a yes where it is a matter of yes or no. ``wanted`` is the
    value that is counted; None where different values are, or each by itself.
    """

    option: str
    text: str
    values: Mapping[str, tuple[Any, ...]]
    number: float
    wanted: Any = None


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
    return PanelRule(option, f"{option} {text}", values, float(number), asked)


def _values(value: Any) -> tuple[Any, ...]:
    if value is None or value is False:
        return ()
    return tuple(dict.fromkeys(value)) if isinstance(value, list | tuple) else (value,)


def _counts(rule: PanelRule, pairs: Iterable[Pair]) -> dict[str, dict[Any, int]]:
    """Return how many reviewers of each paper have each value."""
    count: dict[str, dict[Any, int]] = {}
    for reviewer, item in pairs:
        own = count.setdefault(item, {})
        for value in rule.values.get(reviewer, ()):
            own[value] = own.get(value, 0) + 1
    return count


def check_panels(findings: Findings, rules: Iterable[PanelRule], pairs: list[Pair], demand: Mapping[str, int]) -> None:
    """Hold the reviewers of each paper that gets any to the rules."""
    for rule in rules:
        count = _counts(rule, pairs)
        for item in [item for item, need in demand.items() if need] if rule.option != REWARD else ():
            own = count.get(item, {})
            if rule.option == AT_MOST:
                found = max(own.values(), default=0)
                findings.expect(found <= rule.number, f"{rule.text}: paper {item} has {found}")
            else:
                found = len(own) if rule.wanted is None else own.get(rule.wanted, 0)
                findings.expect(found >= rule.number, f"{rule.text}: paper {item} has {found}")


def earned(rules: Iterable[PanelRule], pairs: list[Pair]) -> float:
    """Return what different values on papers earn."""
    return sum(
        rule.number * sum(len(own) for own in _counts(rule, pairs).values()) for rule in rules if rule.option == REWARD
    )
