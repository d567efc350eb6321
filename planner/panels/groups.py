"""Rules as arrays: what they ask of each paper, by panel group.

A panel group is one value of one attribute: the reviewers who have it. Of each group a paper may have so many reviewers
at least and at most; of each attribute it needs so many different groups, and each of them may be worth something.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from planner.panels.attributes import Attribute, attribute_of, unknown
from planner.panels.rules import AtLeast, AtMost, panel_rules
from reviewgraph.arguments import MAPPING, refuse
from reviewgraph.arrays import spread
from reviewgraph.errors import InputError
from reviewgraph.formats.headers import REVIEWER
from reviewgraph.formats.side.reading import INSTITUTION, SENIOR
from reviewgraph.sides.given import by_label, labels_of
from reviewgraph.sides.matching import REVIEWS, match_labels

if TYPE_CHECKING:
    from planner.panels.attributes import Attributes
    from planner.panels.rules import Rule, Terms
    from reviewgraph.formats.spellings import Spellings
    from reviewgraph.labels import IntArray, Label
    from reviewgraph.reviews import FloatArray
    from reviewgraph.rules import Rules
    from reviewgraph.sides.given import Chosen, Valued


class Panels(NamedTuple):
    """What rules ask of each paper, by panel group.

    Parameters
    ----------
    start, group
        The groups of reviewer j are ``group[start[j]:start[j + 1]]``, ascending; shapes (M + 1,) and (K,).
    attribute
        The attribute of each group, ascending, shape (G,).
    least, most
        Fewest and most reviewers of each group on a paper, shape (G,).
    different
        Fewest different groups of each attribute on a paper, shape (A,).
    reward
        What each different group of an attribute is worth on a paper, in affinity, shape (A,).
    """

    start: IntArray
    group: IntArray
    attribute: IntArray
    least: IntArray
    most: IntArray
    different: IntArray
    reward: FloatArray

    @property
    def binding(self) -> bool:
        """Whether anything is asked for."""
        return self.least.size > 0 or bool(self.different.any())

    @property
    def n_groups(self) -> int:
        """G."""
        return int(self.least.size)

    def of(self, reviewers: IntArray) -> tuple[IntArray, IntArray]:
        """Return all memberships of a list of reviewers: the place in the list, and the group."""
        first, count = self.start[reviewers], self.start[reviewers + 1] - self.start[reviewers]
        return np.repeat(np.arange(reviewers.size), count), self.group[spread(first, count)]


class Ruled(NamedTuple):
    """Rules in force, the attribute that each is about, what they ask, and the value that each panel group has."""

    rules: tuple[Rule, ...]
    attributes: tuple[Attribute, ...]
    panels: Panels
    groups: tuple[tuple[Attribute, int], ...] = ()

    def words(self) -> list[str]:
        """Say of each rule what holds on each paper."""
        return [rule.words(attribute) for rule, attribute in zip(self.rules, self.attributes, strict=True)]

    def kind(self, group: int, number: int = 1, what: str = "reviewer") -> str:
        """Say what so many of a panel group are: senior reviewers, a reviewer of region Asia."""
        attribute, value = self.groups[group]
        return attribute.kind(value, what if number == 1 else f"{what}s")


def ruled_by(asked: Sequence[tuple[Rule, Attribute]], n_reviewers: int) -> Ruled:
    """Merge what rules ask of the values of each attribute, and give numbers to the groups that matter.

    Where there are too few members to exceed a limit, it does not matter.
    """
    by_name: dict[str, tuple[Attribute, list[Terms]]] = {}
    for rule, attribute in asked:
        by_name.setdefault(attribute.name, (attribute, []))[1].append(rule.terms(attribute))
    none = np.empty(0, np.int64)
    parts = [(none, none, none, none, none)]
    different, reward, groups = [], [], list[tuple[Attribute, int]]()
    for number, (attribute, terms) in enumerate(by_name.values()):
        different.append(max(t.different for t in terms))
        reward.append(sum(t.reward for t in terms))
        low, high = np.max([t.least for t in terms], axis=0), np.min([t.most for t in terms], axis=0)
        kept = (low > 0) | (high < attribute.holders) | bool(different[-1] or reward[-1])
        place = np.where(kept, len(groups) + np.cumsum(kept) - 1, -1)[attribute.value]
        counts = place >= 0
        parts.append((attribute.owner[counts], place[counts], np.full(kept.sum(), number), low[kept], high[kept]))
        groups += [(attribute, value) for value in np.flatnonzero(kept).tolist()]
    who, group, owner, least, most = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.lexsort((group, who))
    start = np.searchsorted(who[order], np.arange(n_reviewers + 1)).astype(np.int64)
    wants = np.array(different, np.int64), np.array(reward, np.float64)
    panels = Panels(start, group[order], owner, least, most, *wants)
    return Ruled(tuple(rule for rule, _ in asked), tuple(attribute for _, attribute in asked), panels, tuple(groups))


def ruled(
    reviewers: Sequence[Label],
    rules: Rules,
    where: str = REVIEWS,
    other: Iterable[Label] = (),
    spellings: Spellings | None = None,
) -> Ruled:
    """Return the rules on panels, short forms included, as arrays; ``where`` and ``other`` are for messages.

    Raises
    ------
    InputError
        If attributes, institutions or seniors are of nobody whom we know; or a rule is about an attribute or value that
        nobody has, its number cannot be, or there is another on an attribute of that name.
    """
    asked = rules_of(reviewers, rules.attributes, panel_rules(rules), where, other, spellings)
    short = short_forms(reviewers, rules.institutions, rules.senior, where, other, spellings)
    return ruled_by(merged(asked, short), len(reviewers))


def rules_of(
    reviewers: Sequence[Label],
    attributes: Attributes | None,
    rules: Sequence[Rule],
    where: str = REVIEWS,
    other: Iterable[Label] = (),
    spellings: Spellings | None = None,
) -> list[Any]:
    """Pair each rule with the attribute that it is about; ``where`` and ``other`` are for messages.

    Raises
    ------
    InputError
        If a rule is about an attribute or a value that nobody has, or its number cannot be.
    """
    if attributes is not None:
        refuse("attributes", attributes, [MAPPING])
    for label, values in (attributes or {}).items():
        refuse(f"attributes of {label!r}", values, [MAPPING])
    if attributes is not None:
        attributes = by_label(attributes, "attributes", REVIEWER, REVIEWER, spellings)
    match_labels(list(attributes or ()), reviewers, "attributes", "reviewer", where=where, other=other)
    known: dict[str, dict[Any, Any]] = {}
    for label, values in (attributes or {}).items():
        for name, value in values.items():
            known.setdefault(name, {})[label] = value
    found: dict[str, Attribute] = {}
    for rule in dict.fromkeys(rules):
        name = rule.attribute
        if name not in known:
            raise InputError(unknown(rule.text, "attribute", name, known))
        attribute = found.setdefault(name, attribute_of(name, known[name], reviewers))
        fault = rule.fault(attribute)
        if not fault and not attribute.value.size:
            fault = f"{rule.text}: expected an attribute that some reviewer has, found {name} empty, or no, for all"
        if fault:
            raise InputError(fault)
    return [(rule, found[rule.attribute]) for rule in dict.fromkeys(rules)]


def short_forms(
    reviewers: Sequence[Label],
    institutions: Valued | None,
    senior: Chosen | None,
    where: str = REVIEWS,
    other: Iterable[Label] = (),
    spellings: Spellings | None = None,
) -> list[Any]:
    """Return the rules that ``institutions`` and ``senior`` are short for, each with its attribute.

    Raises
    ------
    InputError
        If one of the two names nobody whom we know.
    """
    asked: list[Any] = []
    given = {} if institutions is None else institutions
    homes = by_label(given, "institutions", REVIEWER, INSTITUTION.role, spellings)
    match_labels(list(homes), reviewers, "institutions", "reviewer", where=where, other=other)
    if homes:
        asked.append((AtMost("institution", 1), attribute_of("institution", homes, reviewers)))
    if senior is not None:
        chosen = labels_of(senior, "senior", REVIEWER, SENIOR.role, spellings)
        match_labels(chosen, reviewers, "senior", "reviewer", where=where, other=other)
        among = set(chosen)
        yes = attribute_of("senior", {label: label in among for label in reviewers}, reviewers)
        asked.append((AtLeast("senior", 1), yes))
    return asked


def merged(asked: Sequence[tuple[Rule, Attribute]], short: Sequence[tuple[Rule, Attribute]]) -> list[Any]:
    """Put rules and short forms together.

    Raises
    ------
    InputError
        If both are about an attribute of one name.
    """
    names = {attribute.name for _, attribute in asked}
    for rule, attribute in short:
        if attribute.name in names:
            message = (
                f"rules: {rule.text} is asked for beside other rules on {attribute.name!r}; put it among the rules and "
                "leave institutions and senior out"
            )
            raise InputError(message)
    return [*asked, *short]
