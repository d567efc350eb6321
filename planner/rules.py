"""Rules on the reviewers of one paper, by attribute: at most, and at least."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from reviewgraph._base import InputError, LabelWarning, counted, listed, refuse, spread, warn
from reviewgraph.formats import INSTITUTION, ITEM, REVIEWER, SENIOR
from reviewgraph.io import REVIEWS, Rules, by_label, labels_of, match_labels, stated_rules

if TYPE_CHECKING:
    from collections.abc import Collection

    from reviewgraph._base import BoolArray, IntArray, Label
    from reviewgraph.formats import Role, Spellings

    #: The values of each attribute by label.
    Values: TypeAlias = dict[str, dict[Any, Any]]

#: Names listed in a message.
NAMED = 6


@dataclass(frozen=True, eq=False)
class Attribute:
    """An attribute of reviewers, and perhaps of papers, with one or several values each."""

    name: str
    values: tuple[Hashable, ...]  # those that some reviewer or paper has, shape (V,); of a boolean one only True
    flag: bool  # whether it is boolean
    # owner, value: reviewers with a value each, by reviewer, and these as codes, shape (K,)
    owner: IntArray
    value: IntArray
    of_paper: BoolArray | None = None  # the values of each paper, shape (N, V); None if papers have no such attribute
    # The values of each reviewer, shape (M, V), if only the sharing of some with the paper counts; else None
    shared: BoolArray | None = None

    @property
    def holders(self) -> IntArray:
        """Number of reviewers with each value."""
        return np.bincount(self.value, minlength=len(self.values))

    @property
    def held(self) -> list[Hashable]:
        """The values that some reviewer has."""
        return [self.values[code] for code in np.flatnonzero(self.holders).tolist()]

    def kind(self, value: int, what: str = "reviewer") -> str:
        """Return words for reviewers with a value, given by code: "senior reviewer", "reviewer of region Asia"."""
        if self.shared is not None:
            return f"{what} who shares a {self.name} with the paper"
        return f"{self.name} {what}" if self.flag else f"{what} of {self.name} {self.values[value]}"


def attribute_of(
    name: str, known: Mapping[Any, Any], reviewers: Sequence[Label], papers: Sequence[Any] | None = None
) -> Attribute:
    """Encode one attribute from the value of each reviewer, or several in a list, tuple or set; None and "" are none.

    ``papers`` are the values of each paper likewise.

    >>> attribute_of("region", {"a": "Asia", "b": ["Europe", "Asia"]}, ["a", "b", "c"]).owner.tolist()
    [0, 1, 1]
    """
    of_reviewers = [_several(known.get(label)) for label in reviewers]
    of_papers = list(map(_several, papers or ()))
    distinct = {value for values in (*of_reviewers, *of_papers) for value in values}
    flag = bool(distinct) and all(isinstance(value, bool | np.bool_) for value in distinct)
    # "No" is not a value: it is the absence of a yes.
    kept = [True] if flag else sorted(distinct, key=lambda value: (str(value), repr(value)))
    code = {value: number for number, value in enumerate(kept)}

    def encoded(entries: list[list[Hashable]]) -> IntArray:
        pairs = {(row, code[value]) for row, values in enumerate(entries) for value in values if value in code}
        return np.array(sorted(pairs), np.int64).reshape(-1, 2)

    of_paper = None if papers is None else _mask(encoded(of_papers), len(of_papers), len(kept))
    owner, value = encoded(of_reviewers).T
    return Attribute(name, tuple(kept), flag, owner, value, of_paper)


def _mask(entries: IntArray, n_rows: int, n_columns: int) -> BoolArray:
    mask = np.zeros((n_rows, n_columns), np.bool_)
    mask[*entries.T] = True
    return mask


def _several(known: Any) -> list[Hashable]:
    values = known if isinstance(known, list | tuple | set | frozenset) else [known]
    # NaN, a missing number, is not equal to itself.
    return [value for value in values if value is not None and value != "" and value == value]


def unknown(what: str, name: Hashable, known: Iterable[Hashable]) -> str:
    """Return the message on an unknown name, with a suggestion and the known names.

    >>> unknown("attribute", "home", ["region", "homes"])
    "expected a known attribute, found 'home'; did you mean 'homes'? Known: homes, region"
    """
    names = sorted({str(name) for name in known})
    near = get_close_matches(str(name), names, 1, 0.6)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    shown = ", ".join(names[:NAMED]) + (", ..." if len(names) > NAMED else "")
    return f"expected a known {what}, found {str(name)!r}{hint} Known: {shown or 'none'}"


#: Above every number of reviewers of a paper: no limit.
NO_MOST = 1 << 40


class Terms(NamedTuple):
    """Bounds on the reviewers with each value by paper, shape (N, V), or (1, V) where all papers have the same."""

    least: IntArray
    most: IntArray


class ByPaper(NamedTuple):
    """A number for each paper by code, None where there is none, and the name of that attribute of papers."""

    name: str
    numbers: tuple[Any, ...]

    def __str__(self) -> str:
        """Return the name."""
        return self.name


#: The values that mean those of the paper, as in ``AtLeast("country", 1, "same")``, and all others.
SAME = "same"
OTHER = "other"


class _Rule:
    """What rules have in common: a number for all papers or numbers by paper, and perhaps a value of the attribute."""

    attribute: str
    number: Any  # the number, numbers by paper, or the name of an attribute of papers
    value: Hashable
    option: ClassVar[str]
    #: Values with a meaning of their own where papers have the attribute, too.
    relations: ClassVar[tuple[str, ...]] = (SAME,)

    @property
    def asks_papers(self) -> bool:
        """Whether it needs attributes of papers."""
        return self.value in self.relations or isinstance(self.number, str)

    @property
    def text(self) -> str:
        """The rule as an option of the command."""
        value = "" if self.value is None else f":{self.value}"
        return f"{self.option} {self.attribute}{value}={self._named}"

    @property
    def _named(self) -> str:
        return f"{self.number:g}" if isinstance(self.number, float) else str(self.number)

    @property
    def _listed(self) -> tuple[Any, ...]:
        return self.number.numbers if isinstance(self.number, ByPaper) else (self.number,)

    @property
    def _count(self) -> str:
        return f"n (by {self._named})" if isinstance(self.number, ByPaper) else self._named

    def _check(self, attribute: Attribute) -> None:
        """Raise InputError if the rule cannot use that attribute, or its numbers."""
        name = self.attribute
        held = attribute.held
        message = ""
        if self.value in self.relations and self.value not in held and attribute.of_paper is None:
            message = f"expected {name} of papers, too, found none; add it, as a column of --items or --authors"
        elif self._is_related(attribute) and self.value in held:
            message = f"expected no reviewer whose {name} is {self.value!r}, found one; rename it"
        elif self.value is not None and not self._is_related(attribute) and attribute.flag:
            message = f"expected no value of {name}, which is only yes or no, found {self.value!r}; write "
            message += f"{self.option} {name}={self._named}"
        elif self.value is not None and not self._is_related(attribute) and self.value not in held:
            message = unknown(f"value of {name}", self.value, held)
        for number in () if message else self._listed:
            known = isinstance(number, int | np.integer) and not isinstance(number, bool)
            if number is not None and not (known and number >= 0):
                message = f"expected a whole number, 0 or more, found {number!r}"
                break
        if message:
            raise InputError(f"{self.text}: {message}")

    def _is_related(self, attribute: Attribute) -> bool:
        """Whether the value is a word, such as "same", for the values of the paper."""
        return self.value in self.relations and attribute.of_paper is not None

    def _whose(self, attribute: Attribute) -> str:
        """Return words for the value."""
        if not self._is_related(attribute):
            return f"of {self.attribute} {self.value}"
        return f"of the paper's {self.attribute}" if self.value == SAME else f"of one {self.attribute} but the paper's"

    def _numbers(self, without: float) -> Any:
        """Return the number of each paper, or of all; ``without`` where a paper has none."""
        return np.array([without if number is None else number for number in self._listed])

    def _chosen(self, attribute: Attribute) -> BoolArray:
        """Return the values that the rule is on, shape (N, V), or (1, V) where they are the same on all papers."""
        if self._is_related(attribute) and attribute.of_paper is not None:
            return ~attribute.of_paper if self.value == OTHER else attribute.of_paper
        wanted = True if attribute.flag else self.value
        return np.array([[wanted is None or value == wanted for value in attribute.values]], np.bool_)


@dataclass(frozen=True)
class AtMost(_Rule):
    """At most ``number`` reviewers per paper with the same value of an attribute.

    Parameters
    ----------
    attribute
        Its name.
    number
        The maximum; for a boolean attribute that of reviewers with a yes. Or numbers by paper, or the name of an
        attribute of papers with them; a paper without one is not limited.
    value
        The only value that is limited, or ``"same"``: those that the paper has itself; or ``"other"``: those that it
        has not. By default every value.

    Examples
    --------
    >>> AtMost("institution", 1).text, AtMost("country", 1, "same").text
    ('--at-most institution=1', '--at-most country:same=1')
    """

    attribute: str
    number: int | str | Mapping[Any, int] | ByPaper
    value: Hashable = None

    option: ClassVar[str] = "--at-most"
    relations: ClassVar[tuple[str, ...]] = (SAME, OTHER)

    def terms(self, attribute: Attribute) -> tuple[Attribute, Terms]:
        """Limit every value, or those that are meant."""
        most = np.where(self._chosen(attribute), self._numbers(NO_MOST)[:, np.newaxis], NO_MOST)
        return attribute, Terms(np.zeros((1, len(attribute.values)), np.int64), most)

    def words(self, attribute: Attribute) -> str:
        """Return the constraint in words."""
        what = self.attribute if attribute.flag else f"of one {self.attribute}"
        return f"at most {self._count} {what if self.value is None else self._whose(attribute)}"


@dataclass(frozen=True)
class AtLeast(_Rule):
    """At least ``number`` reviewers per paper with a value of an attribute.

    Parameters
    ----------
    attribute
        Its name.
    number
        The minimum. Or numbers by paper, or the name of an attribute of papers with them; a paper without one needs
        nobody.
    value
        The value, or ``"same"``: any that the paper has itself, and nobody where it has none. By default a yes, of a
        boolean attribute.

    Examples
    --------
    >>> AtLeast("region", 1, "Asia").text, AtLeast("senior", "seniors_needed").text
    ('--at-least region:Asia=1', '--at-least senior=seniors_needed')
    """

    attribute: str
    number: int | str | Mapping[Any, int] | ByPaper
    value: Hashable = None

    option: ClassVar[str] = "--at-least"

    def terms(self, attribute: Attribute) -> tuple[Attribute, Terms]:
        """Require reviewers with one value."""
        chosen = self._chosen(attribute)
        if chosen.sum(axis=1).max(initial=0) > 1:
            # Reviewers with any of the values of a paper count together.
            chosen = np.asarray(chosen.any(axis=1))[:, np.newaxis]
            entries = np.column_stack([attribute.owner, attribute.value])
            has = _mask(entries, int(attribute.owner.max(initial=-1)) + 1, len(attribute.values))
            none = attribute.value[:0]
            attribute = replace(attribute, values=(SAME,), owner=none, value=none, shared=has)
        least = np.where(chosen, self._numbers(0)[:, np.newaxis], 0)
        return attribute, Terms(least, np.full((1, len(attribute.values)), NO_MOST))

    def words(self, attribute: Attribute) -> str:
        """Return the constraint in words."""
        return f"at least {self._count} {self.attribute if self.value is None else self._whose(attribute)}"

    def _check(self, attribute: Attribute) -> None:
        super()._check(attribute)
        if self.value is None and not attribute.flag and attribute.held:
            name = self.attribute
            raise InputError(
                f"{self.text}: expected a value, as in {name}:{attribute.held[0]}, or an attribute of yes and no, "
                f"found {name} alone; for different values limit each: {AtMost.option} {name}=N"
            )


#: A rule on one attribute.
Rule: TypeAlias = AtMost | AtLeast

#: The class of the objects in each field of :class:`reviewgraph.Rules` on panels.
KINDS: dict[str, type[Any]] = {"at_most": AtMost, "at_least": AtLeast}


def panel_rules(rules: Rules) -> list[Rule]:
    """Return the rules on panels as objects, limits first, then minimums.

    >>> [rule.text for rule in panel_rules(Rules(at_most={"institution": 1}, at_least={("region", "Asia"): 1}))]
    ['--at-most institution=1', '--at-least region:Asia=1']
    """
    chosen: list[Rule] = []
    for name, kind in KINDS.items():
        stated = getattr(rules, name) or ()
        for entry in stated.items() if isinstance(stated, Mapping) else stated:
            rule = entry
            if isinstance(stated, Mapping):
                key, number = entry
                pair = isinstance(key, tuple) and len(key) == 2
                rule = kind(key[0], number, key[1]) if pair else kind(key, number)
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
    if rules is not None and not isinstance(rules, Rules):
        if isinstance(rules, Mapping):
            words = "expected Rules, or a list of AtMost and AtLeast"
            raise InputError(f"rules: {words}, found {listed([repr(rules)])}; pass Rules(**rules)")
        panel_rules = list(rules)
        wrong = [rule for rule in panel_rules if not isinstance(rule, AtMost | AtLeast)]
        if wrong:
            raise InputError(f"rules: expected AtMost and AtLeast objects, found {listed([repr(wrong[0])])}")
        parts: dict[str, Any] = {
            name: [rule for rule in panel_rules if isinstance(rule, kind)] or None for name, kind in KINDS.items()
        }
        rules = Rules(**parts)
    return stated_rules(caller, rules, given, heeded)


# Rules as arrays. A panel group is the reviewers with one value of one attribute. For each group there are bounds on
# the number of reviewers per paper.

#: Pairs whose values are compared at once.
SHARED_AT_ONCE = 50_000


class Panels(NamedTuple):
    """Bounds per paper, by panel group."""

    # The groups of reviewer j are group[start[j]:start[j + 1]], ascending; shapes (M + 1,) and (K,). Groups of
    # reviewers who share a value with the paper are not among them
    start: IntArray
    group: IntArray
    attribute: IntArray  # the attribute of each group, ascending, shape (G,)
    # least, most: minimum and maximum reviewers of each group on each paper, shape (N, G)
    least: IntArray
    most: IntArray
    # The groups of reviewers who share a value with the paper: the number of each, and the values of the reviewers who
    # have any and of papers, shapes (up to M, V) and (N, V)
    shared: tuple[tuple[int, BoolArray, BoolArray], ...] = ()

    @property
    def n_groups(self) -> int:
        """G."""
        return int(self.attribute.size)

    @property
    def n_attributes(self) -> int:
        """A: attributes up to the last one that has a group."""
        return int(self.attribute.max(initial=-1)) + 1

    def of(self, reviewers: IntArray, items: IntArray | None = None) -> tuple[IntArray, IntArray]:
        """Return all memberships of a list of reviewers on items: positions in the list, ascending, and groups.

        Without items those are left out that depend on the item.
        """
        first = self.start[reviewers]
        count = self.start[reviewers + 1] - self.start[reviewers]
        place = np.repeat(np.arange(reviewers.size), count)
        group = self.group[spread(first, count)]
        if items is None:
            return place, group
        for number, has, wanted in self.shared:
            # The last reviewers have no values, such as those who are recruited.
            known = np.flatnonzero(reviewers < len(has))
            sharing = [
                part[(has[reviewers[part]] & wanted[items[part]]).any(axis=1)]
                for part in np.array_split(known, known.size // SHARED_AT_ONCE + 1)
            ]
            place = np.concatenate([place, *sharing])
            group = np.append(group, np.full(place.size - group.size, number))
        order = np.argsort(place, kind="stable")
        return place[order], group[order]

    def counts(self, reviewers: IntArray, items: IntArray, n_items: int) -> IntArray:
        """Shape (N, G): reviewers of each group that each item has, by pairs of the two."""
        place, group = self.of(reviewers, items)
        cells = items[place] * self.n_groups + group
        return np.bincount(cells, minlength=n_items * self.n_groups).reshape(n_items, self.n_groups)

    def crowded(self, pairs: IntArray, free: IntArray) -> BoolArray:
        """Which pairs, shape (P, 2), have a group with less than no place left on their item by ``free`` (N, G)."""
        place, group = self.of(*pairs.T)
        over = free[pairs[place, 1], group] < 0
        return np.bincount(place[over], minlength=len(pairs)) > 0


class Ruled(NamedTuple):
    """Rules in force, the attribute of each, their bounds, and attribute and value of each panel group.

    ``names`` are those of the attributes of the bounds, shape (A,).
    """

    rules: tuple[Rule, ...]
    attributes: tuple[Attribute, ...]
    panels: Panels
    groups: tuple[tuple[Attribute, int], ...] = ()
    names: tuple[str, ...] = ()

    def words(self) -> list[str]:
        """Return each rule in words."""
        return [rule.words(attribute) for rule, attribute in zip(self.rules, self.attributes, strict=True)]

    def papers(self) -> list[BoolArray]:
        """Return which papers each rule is about, shape (N,), or (1,) where they are alike."""
        terms = [rule.terms(attribute)[1] for rule, attribute in zip(self.rules, self.attributes, strict=True)]
        return [np.asarray(((bounds.least > 0) | (bounds.most < NO_MOST)).any(axis=1)) for bounds in terms]

    def kind(self, group: int, number: int = 1, what: str = "reviewer") -> str:
        """Return words for ``number`` reviewers of a panel group: "senior reviewers", "reviewer of region Asia"."""
        attribute, value = self.groups[group]
        return attribute.kind(value, what if number == 1 else f"{what}s")


def ruled_by(asked: Sequence[tuple[Rule, Attribute]], n_reviewers: int, n_items: int) -> Ruled:
    """Merge the bounds of rules on each attribute, and number the groups that matter.

    A limit that a group has too few members to exceed does not matter. Bounds that all papers share are views, which
    take no memory by paper.
    """
    by_name: dict[tuple[str, tuple[Hashable, ...]], tuple[Attribute, list[Terms]]] = {}
    for rule, stated in asked:
        attribute, bounds_of_rule = rule.terms(stated)
        by_name.setdefault((attribute.name, attribute.values), (attribute, []))[1].append(bounds_of_rule)
    no_codes = np.empty(0, np.int64)
    members = [(no_codes, no_codes)]
    owner = [no_codes]
    no_bounds = no_codes.reshape(1, 0)
    bounds = [Terms(no_bounds, no_bounds)]
    groups: list[tuple[Attribute, int]] = []
    shared: list[tuple[int, BoolArray, BoolArray]] = []
    for number, (attribute, alike) in enumerate(by_name.values()):
        least = reduce(np.maximum, [terms.least for terms in alike])
        most = reduce(np.minimum, [terms.most for terms in alike])
        kept = ((least > 0) | (most < attribute.holders)).any(axis=0)
        if attribute.shared is not None and attribute.of_paper is not None and kept.any():
            shared.append((len(groups), attribute.shared, attribute.of_paper))
        group = np.where(kept, len(groups) + np.cumsum(kept) - 1, -1)[attribute.value]
        members.append((attribute.owner[group >= 0], group[group >= 0]))
        owner.append(np.full(kept.sum(), number))
        bounds.append(Terms(least[:, kept], most[:, kept]))
        groups += [(attribute, value) for value in np.flatnonzero(kept).tolist()]
    who, group = (np.concatenate(part) for part in zip(*members, strict=True))
    order = np.lexsort((group, who))
    start = np.searchsorted(who[order], np.arange(n_reviewers + 1)).astype(np.int64)
    merged = Terms(*(_beside(columns, n_items) for columns in zip(*bounds, strict=True)))
    panels = Panels(start, group[order], np.concatenate(owner), *merged, tuple(shared))
    rules = tuple(rule for rule, _ in asked)
    attributes = tuple(attribute for _, attribute in asked)
    return Ruled(rules, attributes, panels, tuple(groups), tuple(name for name, _ in by_name))


def _beside(columns: Sequence[Any], n_items: int) -> Any:
    """Return columns beside one another, with a row for each paper."""
    rows = max(len(part) for part in columns)
    joined = np.concatenate([np.broadcast_to(part, (rows, part.shape[1])) for part in columns], axis=1)
    return np.broadcast_to(joined, (n_items, joined.shape[1]))


def ruled(
    reviewers: Sequence[Label],
    items: Sequence[Label],
    rules: Rules,
    where: str = REVIEWS,
    other: Iterable[Label] = (),
    spellings: Spellings | None = None,
) -> Ruled:
    """Return the rules on panels as arrays; ``where`` and ``other`` are for messages."""
    match = partial(match_labels, where=where, other=other)
    people = _by_name(rules.attributes, "attributes", REVIEWER, spellings, partial(match, known=reviewers))
    papers = _by_name(
        rules.item_attributes, "item_attributes", ITEM, spellings, partial(match_labels, known=items, where=where)
    )
    stated = panel_rules(rules)
    # Short forms: rules with an attribute of their own.
    short: dict[Rule, dict[Any, Any]] = {}
    if rules.institutions is not None:
        homes = by_label(rules.institutions, "institutions", REVIEWER, INSTITUTION.role, spellings)
        match(list(homes), reviewers, "institutions", "reviewer")
        if any(map(_several, homes.values())):
            short[AtMost("institution", 1)] = homes
    if rules.senior is not None:
        chosen = labels_of(rules.senior, "senior", REVIEWER, SENIOR.role, spellings)
        match(chosen, reviewers, "senior", "reviewer")
        short[AtLeast("senior", 1)] = dict.fromkeys(reviewers, False) | dict.fromkeys(chosen, True)
    for rule in short:
        if rule.attribute in {other.attribute for other in stated}:
            raise InputError(
                f"rules: expected one kind of rules on {rule.attribute!r}, found also {rule.text}; put it "
                "among the rules and leave institutions and senior out"
            )
    asked = rules_of(reviewers, items, stated, people, papers)
    asked += [(rule, attribute_of(rule.attribute, values, reviewers)) for rule, values in short.items()]
    return ruled_by(asked, len(reviewers), len(items))


def _by_name(
    table: Mapping[Any, Any] | None, name: str, role: Role, spellings: Spellings | None, match: Callable[..., Any]
) -> Values:
    """Return attributes by name and label."""
    if table is None:
        return {}
    for label, values in table.items():
        refuse(f"{name} of {label!r}", values, "Mapping")
    entries = by_label(table, name, role, role, spellings)
    match(list(entries), name=name, role="paper" if role is ITEM else "reviewer")
    by_name: Values = {}
    for label, values in entries.items():
        for attribute, value in values.items():
            by_name.setdefault(attribute, {})[label] = value
    return by_name


def rules_of(
    reviewers: Sequence[Label],
    items: Sequence[Label],
    rules: Sequence[Rule],
    people: Values,
    papers: Values | None = None,
) -> list[tuple[Rule, Attribute]]:
    """Return each rule, with the number of each paper, and its attribute: ``people`` and ``papers`` are the values."""
    papers = papers or {}
    numbered = list(dict.fromkeys(_by_paper(rule, items, papers) for rule in rules))
    attribute_named: dict[str, Attribute] = {}
    for rule in numbered:
        name = rule.attribute
        if name not in people:
            raise InputError(f"{rule.text}: {unknown('attribute', name, people)}")
        if name not in attribute_named:
            of_papers = [papers[name].get(label) for label in items] if name in papers else None
            attribute_named[name] = attribute_of(name, people[name], reviewers, of_papers)
        attribute = attribute_named[name]
        rule._check(attribute)
        if not attribute.held:
            message = f"{rule.text}: expected an attribute that some reviewer has, found {name} empty, or no, for all"
            raise InputError(message)
        has = attribute.of_paper
        if has is not None and rule.value in rule.relations and not has.any(axis=1).all():
            bare = [str(items[paper]) for paper in np.flatnonzero(~has.any(axis=1)).tolist()]
            message = f"item_attributes: {counted(len(bare), 'paper has', 'papers have')} no {name} for {rule.text}"
            warn(f"{message}: {first_named(bare)}", LabelWarning)
    return [(rule, attribute_named[rule.attribute]) for rule in numbered]


def _by_paper(rule: Rule, items: Sequence[Label], papers: Values) -> Rule:
    """Return a rule with the numbers of the papers, where they are not the same for all."""
    stated = rule.number
    if isinstance(stated, str) and stated not in papers:
        raise InputError(f"{rule.text}: {unknown('attribute of papers, or a number', stated, papers)}")
    if not isinstance(stated, str | Mapping):
        return rule
    name = stated if isinstance(stated, str) else "by paper"
    numbers = papers[stated] if isinstance(stated, str) else by_label(stated, rule.text, ITEM, ITEM)
    if isinstance(stated, Mapping):
        match_labels(list(numbers), items, rule.text, "paper")
    return replace(rule, number=ByPaper(name, tuple(number_of(numbers.get(label)) for label in items)))


def number_of(value: Any) -> Any:
    """Return the number that a text or a flag says, and anything else as it is.

    >>> number_of("2"), number_of("0.1"), number_of("seniors_needed"), number_of(True)
    (2, 0.1, 'seniors_needed', 1)
    """
    if isinstance(value, bool):
        return int(value)
    for kind in (int, float) if isinstance(value, str) else ():
        try:
            return kind(value)
        except ValueError:
            continue
    return value


def first_named(names: Sequence[str]) -> str:
    """Return the first few names, and the number of the others."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
