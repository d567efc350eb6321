"""Rules on the reviewers of one paper, by attribute: at most, at least, and rewards; and the shortage of reviews."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import reduce
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from reviewgraph._base import InputError, counted, listed, refuse, spread
from reviewgraph.formats import INSTITUTION, REVIEWER, SENIOR
from reviewgraph.io import REVIEWS, Rules, by_label, labels_of, match_labels, stated_rules

if TYPE_CHECKING:
    from collections.abc import Collection

    from reviewgraph._base import FloatArray, IntArray, Label
    from reviewgraph.formats import Spellings
    from reviewgraph.io import Chosen, Valued


if TYPE_CHECKING:
    Attributes: TypeAlias = Mapping[Any, Mapping[str, Any]]

#: Names listed in a message.
NAMED = 6


class Attribute(NamedTuple):
    """An attribute of reviewers, with one or several values each, as codes.

    Parameters
    ----------
    name
        Its name in rules.
    values
        Values that some reviewer has, shape (V,); for a boolean attribute (``flag``) only True.
    start, value
        The values of reviewer j are ``value[start[j]:start[j + 1]]``, codes among ``values``; shapes (M + 1,) and (K,).
    flag
        Whether it is boolean.
    """

    name: str
    values: tuple[Hashable, ...]
    start: IntArray
    value: IntArray
    flag: bool

    @property
    def owner(self) -> IntArray:
        """The reviewer of each entry of ``value``."""
        return np.repeat(np.arange(self.start.size - 1), np.diff(self.start))

    @property
    def holders(self) -> IntArray:
        """Number of reviewers with each value."""
        return np.bincount(self.value, minlength=len(self.values))

    def kind(self, value: int, what: str = "reviewer") -> str:
        """Return words for reviewers with a value, given by code: "senior reviewer", "reviewer of region Asia"."""
        return f"{self.name} {what}" if self.flag else f"{what} of {self.name} {self.values[value]}"


def attribute_of(name: str, known: Mapping[Any, Any], reviewers: Sequence[Label]) -> Attribute:
    """Encode one attribute from the value of each reviewer, or several in a list, tuple or set; None and "" are none.

    >>> attribute_of("region", {"a": "Asia", "b": ["Europe", "Asia"]}, ["a", "b", "c"]).start.tolist()
    [0, 1, 3, 3]
    """
    several = [_several(known.get(label)) for label in reviewers]
    distinct = sorted({value for values in several for value in values}, key=lambda value: (str(value), repr(value)))
    flag = bool(distinct) and all(isinstance(value, bool | np.bool_) for value in distinct)
    # "No" is not a value: it is the absence of a yes.
    kept: list[Hashable] = [True] if flag else distinct
    code = {value: number for number, value in enumerate(kept)}
    codes = [sorted(code[value] for value in set(values) if value in code) for values in several]
    start = np.zeros(len(reviewers) + 1, np.int64)
    np.cumsum([len(values) for values in codes], out=start[1:])
    return Attribute(name, tuple(kept), start, np.array([c for values in codes for c in values], np.int64), flag)


def _several(known: Any) -> list[Hashable]:
    values = known if isinstance(known, list | tuple | set | frozenset) else [known]
    # NaN, a missing number, is not equal to itself.
    return [value for value in values if value is not None and value != "" and value == value]


def unknown(text: str, what: str, name: Hashable, known: Iterable[Hashable]) -> str:
    """Return the message on an unknown name, with a suggestion and the known names.

    >>> unknown("--at-most home=1", "attribute", "home", ["region", "homes"])
    "--at-most home=1: expected a known attribute, found 'home'; did you mean 'homes'? Known: homes, region"
    """
    names = sorted({str(name) for name in known})
    near = get_close_matches(str(name), names, 1, 0.6)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    shown = ", ".join(names[:NAMED]) + (", ..." if len(names) > NAMED else "")
    return f"{text}: expected a known {what}, found {str(name)!r}{hint} Known: {shown or 'none'}"


#: Above every number of reviewers of a paper: no limit.
NO_MOST = 1 << 40


class Terms(NamedTuple):
    """Bounds by paper: ``least`` and ``most`` of each value, ``different`` values, ``reward`` for each.

    Shapes (N, V) and (N,); the first length is 1 where all papers have the same.
    """

    least: IntArray
    most: IntArray
    different: IntArray
    reward: FloatArray


def _free(attribute: Attribute) -> Terms:
    size = len(attribute.values)
    return Terms(np.zeros((1, size), np.int64), np.full((1, size), NO_MOST), np.zeros(1, np.int64), np.zeros(1))


def _miscounted(text: str, number: Any) -> str:
    if isinstance(number, int | np.integer) and not isinstance(number, bool) and number >= 0:
        return ""
    return f"{text}: expected a whole number, 0 or more, found {number!r}"


@dataclass(frozen=True)
class AtMost:
    """At most ``number`` reviewers per paper with the same value of an attribute.

    Parameters
    ----------
    attribute
        Its name.
    number
        The maximum; for a boolean attribute that of reviewers with a yes.

    Examples
    --------
    >>> AtMost("institution", 1).text
    '--at-most institution=1'
    """

    attribute: str
    number: int

    @property
    def text(self) -> str:
        """The rule as an option of the command."""
        return f"--at-most {self.attribute}={self.number}"

    def fault(self, attribute: Attribute) -> str:
        """Return the reason why the rule cannot use that attribute, or an empty text."""
        return _miscounted(self.text, self.number)

    def terms(self, attribute: Attribute) -> Terms:
        """Limit every value."""
        free = _free(attribute)
        return free._replace(most=np.full_like(free.most, self.number))

    def words(self, attribute: Attribute) -> str:
        """Return the constraint in words."""
        return f"at most {self.number} {'' if attribute.flag else 'of one '}{self.attribute}"


@dataclass(frozen=True)
class AtLeast:
    """At least ``number`` reviewers per paper with a value of an attribute, or ``number`` different values.

    Parameters
    ----------
    attribute
        Its name.
    number
        The minimum.
    value
        The value; by default the rule is on reviewers with a yes if the attribute is boolean, else on different values.

    Examples
    --------
    >>> AtLeast("region", 1, "Asia").text
    '--at-least region:Asia=1'
    """

    attribute: str
    number: int
    value: Hashable = None

    @property
    def text(self) -> str:
        """The rule as an option of the command."""
        value = "" if self.value is None else f":{self.value}"
        return f"--at-least {self.attribute}{value}={self.number}"

    def fault(self, attribute: Attribute) -> str:
        """Return the reason why the rule cannot use that attribute, or an empty text."""
        if self.value is not None and attribute.flag:
            return (
                f"{self.text}: expected no value of {self.attribute}, which is only yes or no, found "
                f"{self.value!r}; write --at-least {self.attribute}={self.number}"
            )
        if self.value is not None and self.value not in attribute.values:
            return unknown(self.text, f"value of {self.attribute}", self.value, attribute.values)
        return _miscounted(self.text, self.number)

    def terms(self, attribute: Attribute) -> Terms:
        """Require reviewers with one value, or different values."""
        free = _free(attribute)
        if self.value is None and not attribute.flag:
            return free._replace(different=np.array([self.number]))
        wanted = True if self.value is None else self.value
        asked = np.array([value == wanted for value in attribute.values], np.bool_)
        return free._replace(least=np.where(asked, self.number, 0)[np.newaxis])

    def words(self, attribute: Attribute) -> str:
        """Return the constraint in words."""
        if self.value is not None:
            return f"at least {self.number} of {self.attribute} {self.value}"
        if attribute.flag:
            return f"at least {self.number} {self.attribute}"
        return f"at least {counted(self.number, f'{self.attribute}', f'different values of {self.attribute}')}"


@dataclass(frozen=True)
class Reward:
    """``amount`` of affinity for each different value of an attribute on a paper.

    Parameters
    ----------
    attribute
        Its name.
    amount
        In units of affinity, 0 or more; for a boolean attribute once per paper, if a reviewer has a yes.

    Examples
    --------
    >>> Reward("region", 0.1).text
    '--reward region=0.1'
    """

    attribute: str
    amount: float

    @property
    def text(self) -> str:
        """The rule as an option of the command."""
        amount = f"{self.amount:g}" if isinstance(self.amount, Real) else repr(self.amount)
        return f"--reward {self.attribute}={amount}"

    def fault(self, attribute: Attribute) -> str:
        """Return the reason why the rule cannot use that attribute, or an empty text."""
        if isinstance(self.amount, int | float | np.number) and np.isfinite(self.amount) and self.amount >= 0:
            return ""
        return f"{self.text}: expected a finite amount of affinity, 0 or more, found {self.amount!r}"

    def terms(self, attribute: Attribute) -> Terms:
        """Reward every value once."""
        return _free(attribute)._replace(reward=np.array([float(self.amount)]))

    def words(self, attribute: Attribute) -> str:
        """Return the reward in words."""
        what = f"a {self.attribute}" if attribute.flag else f"each different {self.attribute}"
        return f"{self.amount:g} for {what}"


#: A rule on one attribute.
Rule: TypeAlias = AtMost | AtLeast | Reward

#: The class of the objects in each field of :class:`reviewgraph.Rules` on panels.
_KINDS: dict[str, type[Any]] = {"at_most": AtMost, "at_least": AtLeast, "rewards": Reward}


def panel_rules(rules: Rules) -> list[Rule]:
    """Return the rules on panels as objects, limits first, then minimums, then rewards.

    >>> [rule.text for rule in panel_rules(Rules(at_most={"institution": 1}, at_least={("region", "Asia"): 1}))]
    ['--at-most institution=1', '--at-least region:Asia=1']
    """
    chosen: list[Rule] = []
    for name, kind in _KINDS.items():
        stated = getattr(rules, name) or ()
        for rule in stated.items() if isinstance(stated, Mapping) else stated:
            if not isinstance(stated, Mapping):
                rule = rule
            elif kind is AtLeast and isinstance(rule[0], tuple) and len(rule[0]) == 2:
                rule = AtLeast(rule[0][0], rule[1], rule[0][1])
            else:
                rule = kind(*rule)
            if not isinstance(rule, kind) or not isinstance(rule.attribute, str):
                message = (
                    f"{name}: expected {kind.__name__} objects, or numbers by attribute, found {listed([repr(rule)])}"
                )
                raise InputError(message)
            chosen.append(rule)
    return chosen


def asked_rules(
    caller: str, rules: Rules | Sequence[Rule] | None, given: Mapping[str, Any], heeded: Collection[str]
) -> Rules:
    """Return the rules of a call of the planner, also from a list of rules on panels; see ``stated_rules``."""
    if rules is None or isinstance(rules, Rules):
        return stated_rules(caller, rules, given, heeded)
    panel_rules = list(rules)
    for rule in panel_rules:
        if not isinstance(rule, AtMost | AtLeast | Reward):
            message = f"rules: expected AtMost, AtLeast and Reward objects, found {listed([repr(rule)])}"
            raise InputError(message)
    parts: dict[str, Any] = {}
    for name, kind in _KINDS.items():
        parts[name] = [rule for rule in panel_rules if isinstance(rule, kind)] or None
    return stated_rules(caller, Rules(**parts), given, heeded)


# Rules as arrays. A panel group is the reviewers with one value of one attribute. For each group there are bounds on
# the number of reviewers per paper; for each attribute a minimum number of different groups, and a reward for each
# group.


class Panels(NamedTuple):
    """Bounds and rewards per paper, by panel group.

    Parameters
    ----------
    start, group
        The groups of reviewer j are ``group[start[j]:start[j + 1]]``, ascending; shapes (M + 1,) and (K,).
    attribute
        The attribute of each group, ascending, shape (G,).
    least, most
        Minimum and maximum reviewers of each group on each paper, shape (N, G).
    different
        Minimum different groups of each attribute on each paper, shape (N, A).
    reward
        Reward for each different group of an attribute on each paper, in affinity, shape (N, A).
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
        """Whether there are constraints."""
        return self.n_groups > 0 or bool(self.different.any())

    @property
    def n_groups(self) -> int:
        """G."""
        return int(self.attribute.size)

    @property
    def n_attributes(self) -> int:
        """A."""
        return int(self.different.shape[1])

    def of(self, reviewers: IntArray) -> tuple[IntArray, IntArray]:
        """Return all memberships of a list of reviewers: positions in the list, and groups."""
        first = self.start[reviewers]
        count = self.start[reviewers + 1] - self.start[reviewers]
        return np.repeat(np.arange(reviewers.size), count), self.group[spread(first, count)]


class Ruled(NamedTuple):
    """Rules in force, the attribute of each, their bounds, and attribute and value of each panel group."""

    rules: tuple[Rule, ...]
    attributes: tuple[Attribute, ...]
    panels: Panels
    groups: tuple[tuple[Attribute, int], ...] = ()

    def words(self) -> list[str]:
        """Return each rule in words."""
        return [rule.words(attribute) for rule, attribute in zip(self.rules, self.attributes, strict=True)]

    def kind(self, group: int, number: int = 1, what: str = "reviewer") -> str:
        """Return words for ``number`` reviewers of a panel group: "senior reviewers", "reviewer of region Asia"."""
        attribute, value = self.groups[group]
        return attribute.kind(value, what if number == 1 else f"{what}s")


def ruled_by(asked: Sequence[tuple[Rule, Attribute]], n_reviewers: int, n_items: int) -> Ruled:
    """Merge the bounds of rules on each attribute, and number the groups that matter.

    A limit that a group has too few members to exceed does not matter. Bounds that all papers share are views, which
    take no memory by paper.
    """
    by_name: dict[str, tuple[Attribute, list[Terms]]] = {}
    for rule, attribute in asked:
        by_name.setdefault(attribute.name, (attribute, []))[1].append(rule.terms(attribute))
    none = np.empty(0, np.int64)
    parts = [(none, none, none)]
    bounds = []
    groups = list[tuple[Attribute, int]]()
    for number, (attribute, terms) in enumerate(by_name.values()):
        different = reduce(np.maximum, [t.different for t in terms])
        reward = reduce(np.add, [t.reward for t in terms])
        low = reduce(np.maximum, [t.least for t in terms])
        high = reduce(np.minimum, [t.most for t in terms])
        kept = ((low > 0) | (high < attribute.holders)).any(axis=0) | different.any() | reward.any()
        place = np.where(kept, len(groups) + np.cumsum(kept) - 1, -1)[attribute.value]
        counts = place >= 0
        parts.append((attribute.owner[counts], place[counts], np.full(kept.sum(), number)))
        bounds.append(Terms(low[:, kept], high[:, kept], different[:, np.newaxis], reward[:, np.newaxis]))
        groups += [(attribute, value) for value in np.flatnonzero(kept).tolist()]
    who, group, owner = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.lexsort((group, who))
    start = np.searchsorted(who[order], np.arange(n_reviewers + 1)).astype(np.int64)
    least, most, different, reward = (_beside(columns, n_items) for columns in zip(_NO_BOUNDS, *bounds, strict=True))
    panels = Panels(start, group[order], owner, least, most, different, reward)
    return Ruled(tuple(rule for rule, _ in asked), tuple(attribute for _, attribute in asked), panels, tuple(groups))


_NONE = np.empty((1, 0), np.int64)
_NO_BOUNDS = Terms(_NONE, _NONE, _NONE, _NONE.astype(float))


def _beside(columns: Sequence[Any], n_items: int) -> Any:
    """Return columns beside one another, with a row for each paper."""
    rows = max(len(part) for part in columns)
    joined = np.concatenate([np.broadcast_to(part, (rows, part.shape[1])) for part in columns], axis=1)
    return np.broadcast_to(joined, (n_items, joined.shape[1]))


def ruled(
    reviewers: Sequence[Label],
    n_items: int,
    rules: Rules,
    where: str = REVIEWS,
    other: Iterable[Label] = (),
    spellings: Spellings | None = None,
) -> Ruled:
    """Return the rules on panels, with short forms, as arrays; ``where`` and ``other`` are for messages."""
    asked = rules_of(reviewers, rules.attributes, panel_rules(rules), where, other, spellings)
    short = short_forms(reviewers, rules.institutions, rules.senior, where, other, spellings)
    return ruled_by(merged(asked, short), len(reviewers), n_items)


def rules_of(
    reviewers: Sequence[Label],
    attributes: Attributes | None,
    rules: Sequence[Rule],
    where: str = REVIEWS,
    other: Iterable[Label] = (),
    spellings: Spellings | None = None,
) -> list[Any]:
    """Return each rule with its attribute; ``where`` and ``other`` are for messages."""
    if attributes is not None:
        refuse("attributes", attributes, "Mapping")
    for label, values in (attributes or {}).items():
        refuse(f"attributes of {label!r}", values, "Mapping")
    if attributes is not None:
        attributes = by_label(attributes, "attributes", REVIEWER, REVIEWER, spellings)
    match_labels(list(attributes or ()), reviewers, "attributes", "reviewer", where=where, other=other)
    values_of: dict[str, dict[Any, Any]] = {}
    for label, values in (attributes or {}).items():
        for name, value in values.items():
            values_of.setdefault(name, {})[label] = value
    attribute_named: dict[str, Attribute] = {}
    for rule in dict.fromkeys(rules):
        name = rule.attribute
        if name not in values_of:
            raise InputError(unknown(rule.text, "attribute", name, values_of))
        attribute = attribute_named.setdefault(name, attribute_of(name, values_of[name], reviewers))
        fault = rule.fault(attribute)
        if not fault and not attribute.value.size:
            fault = f"{rule.text}: expected an attribute that some reviewer has, found {name} empty, or no, for all"
        if fault:
            raise InputError(fault)
    return [(rule, attribute_named[rule.attribute]) for rule in dict.fromkeys(rules)]


def short_forms(
    reviewers: Sequence[Label],
    institutions: Valued | None,
    senior: Chosen | None,
    where: str = REVIEWS,
    other: Iterable[Label] = (),
    spellings: Spellings | None = None,
) -> list[Any]:
    """Return ``institutions`` and ``senior`` as rules, each with its attribute."""
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
    """Return rules and short forms; refuse two on one attribute."""
    names = {attribute.name for _, attribute in asked}
    for rule, attribute in short:
        if attribute.name in names:
            message = (
                f"rules: expected one kind of rules on {attribute.name!r}, found also {rule.text}; put it "
                "among the rules and leave institutions and senior out"
            )
            raise InputError(message)
    return [*asked, *short]


class Gap(NamedTuple):
    """The number of reviews that a paper lacks."""

    item: Label
    reviews: int


@dataclass(frozen=True)
class Shortage:
    """Reviews that papers lack, and the reviewers without conflicts who could write them.

    Parameters
    ----------
    missing
        Papers that lack reviews, and the number of them, in the order of the papers.
    load
        Maximum reviews per recruit.
    why
        The reason in words.
    joining
        If the level is missed: the number of recruits with whom there is a complete plan, and the papers of their
        reviews; None if none were found, or none are needed.

    Examples
    --------
    >>> gaps = Shortage((("p1", 2), ("p7", 1)), load=5)
    >>> gaps.reviews, gaps.reviewers
    (3, 2)
    >>> print(gaps.facts()["Lacking"])
    2 papers are short of 3 reviews in all: p1 (2), p7 (1)
    """

    missing: tuple[tuple[Label, int], ...]
    load: int
    why: str = ""
    joining: tuple[int, tuple[Label, ...]] | None = None

    @property
    def wanted(self) -> dict[Label, int]:
        """Reviews of recruits, by paper."""
        return dict(self.missing if self.joining is None else Counter(self.joining[1]))

    @property
    def reviewers(self) -> int:
        """A sufficient number of recruits, at one review per recruit and paper and at most ``load`` reviews each.

        If only reviews are missing, it is also necessary, for any reviews by the others.
        """
        if self.joining is not None:
            return self.joining[0]
        return max([*self.wanted.values(), -(-self.reviews // max(self.load, 1))], default=0)

    @property
    def reviews(self) -> int:
        """Total reviews of recruits."""
        return sum(self.wanted.values())

    def facts(self) -> dict[str, str]:
        """Return what is said of missing reviews and recruits, by the names of these facts."""
        facts = {}
        papers = "these papers"
        if self.missing:
            total = counted(sum(number for _, number in self.missing), "review")
            short = f"{counted(len(self.missing), 'paper is', 'papers are')} short of {total} in all"
            facts["Lacking"] = f"{short}: {_named(dict(self.missing))}"
        if self.joining is not None:
            papers = f"{counted(len(self.wanted), 'paper')} ({_named(self.wanted)}), which reach the level, too"
        if self.wanted:
            each = f"{counted(self.load, 'review')} each at most"
            recruits = f"{counted(self.reviewers, 'reviewer')} without conflicts, of {each}"
            facts["To recruit"] = f"{recruits}, for {counted(self.reviews, 'review')} of {papers}"
        return facts

    def to_dict(self) -> dict[str, Any]:
        """Return the keys ``short`` and ``recruit`` of the command's ``--json``."""
        recruit = {
            "reviewers": self.reviewers,
            "reviews": self.reviews,
            "load": self.load,
            "papers": [{"item": item, "reviews": number} for item, number in self.wanted.items()],
            "reaches_level": self.joining is not None,
        }
        return {
            "short": [{"item": item, "missing": number} for item, number in self.missing],
            "recruit": recruit if self.wanted else None,
        }


#: The same keys without a shortage.
NOTHING_SHORT: dict[str, Any] = {"short": [], "recruit": None}


def _named(numbers: dict[Label, int]) -> str:
    return first_named([f"{item} ({number})" for item, number in numbers.items()])


def first_named(names: Sequence[str]) -> str:
    """Return the first few names, and the number of the others."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def usual_load(loads: list[int]) -> int:
    """Return the assumed load of a recruit: the lower median of the loads above 0, or 1.

    >>> usual_load([0, 2, 5, 9, 6])
    5
    """
    positive = sorted(load for load in loads if load > 0)
    return positive[(len(positive) - 1) // 2] if positive else 1
