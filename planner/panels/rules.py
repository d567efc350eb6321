"""Rules on who reviews a paper together: at most, at least, and a reward for, reviewers by an attribute of theirs."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from planner.panels.attributes import Attribute, unknown
from reviewgraph.errors import InputError
from reviewgraph.rules import Rules, stated_rules
from reviewgraph.words import counted, shortened

if TYPE_CHECKING:
    from collections.abc import Collection

    from reviewgraph.labels import IntArray

#: Above every number of reviewers of a paper: no limit.
NO_MOST = 1 << 40


class Terms(NamedTuple):
    """What a rule asks of each paper: ``least`` and ``most`` of each value, ``different`` values, ``reward`` for each.

    ``least`` and ``most`` have a number for each value, shape (V,).
    """

    least: IntArray
    most: IntArray
    different: int = 0
    reward: float = 0.0


class Rule(Protocol):
    """A rule on one attribute."""

    @property
    def attribute(self) -> str:
        """The name of the attribute."""

    @property
    def text(self) -> str:
        """The rule as an option of the command."""

    def fault(self, attribute: Attribute) -> str:
        """Say why the rule cannot be about that attribute; empty where it can."""

    def terms(self, attribute: Attribute) -> Terms:
        """Say of each value what the rule asks."""

    def words(self, attribute: Attribute) -> str:
        """Say what holds on each paper, or is rewarded there."""


def _free(attribute: Attribute) -> Terms:
    size = len(attribute.values)
    return Terms(np.zeros(size, np.int64), np.full(size, NO_MOST))


def _miscounted(text: str, number: Any) -> str:
    if isinstance(number, int | np.integer) and not isinstance(number, bool) and number >= 0:
        return ""
    return f"{text}: expected a whole number, 0 or more, found {number!r}"


@dataclass(frozen=True)
class AtMost:
    """No more than ``number`` reviewers of any one value of an attribute on a paper.

    Parameters
    ----------
    attribute
        Its name.
    number
        How many; where the attribute is a matter of yes or no, of those with a yes.

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
        """Say why the rule cannot be about that attribute; empty where it can."""
        return _miscounted(self.text, self.number)

    def terms(self, attribute: Attribute) -> Terms:
        """Limit every value."""
        free = _free(attribute)
        return free._replace(most=np.full_like(free.most, self.number))

    def words(self, attribute: Attribute) -> str:
        """Say what holds on each paper."""
        return f"at most {self.number} {'' if attribute.flag else 'of one '}{self.attribute}"


@dataclass(frozen=True)
class AtLeast:
    """So many reviewers of a paper at least with a value of an attribute, or so many different values.

    Parameters
    ----------
    attribute
        Its name.
    number
        How many.
    value
        The value; by default it is about reviewers with a yes where the attribute is a matter of yes or no, else about
        different values.

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
        """Say why the rule cannot be about that attribute; empty where it can."""
        if self.value is not None and attribute.flag:
            return (
                f"{self.text}: expected no value of {self.attribute}, which is a matter of yes or no, found "
                f"{self.value!r}; say --at-least {self.attribute}={self.number}"
            )
        if self.value is not None and self.value not in attribute.values:
            return unknown(self.text, f"value of {self.attribute}", self.value, attribute.values)
        return _miscounted(self.text, self.number)

    def terms(self, attribute: Attribute) -> Terms:
        """Ask for reviewers of one value, or for different values."""
        free = _free(attribute)
        if self.value is None and not attribute.flag:
            return free._replace(different=self.number)
        wanted = True if self.value is None else self.value
        asked = np.array([value == wanted for value in attribute.values], np.bool_)
        return free._replace(least=np.where(asked, self.number, 0))

    def words(self, attribute: Attribute) -> str:
        """Say what holds on each paper."""
        if self.value is not None:
            return f"at least {self.number} of {self.attribute} {self.value}"
        if attribute.flag:
            return f"at least {self.number} {self.attribute}"
        return f"at least {counted(self.number, f'{self.attribute}', f'different values of {self.attribute}')}"


@dataclass(frozen=True)
class Reward:
    """So much affinity for each different value of an attribute on a paper.

    Parameters
    ----------
    attribute
        Its name.
    amount
        In units of affinity, 0 or more; where the attribute is a matter of yes or no it is given once, where anybody
        has a yes.

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
        """Say why the rule cannot be about that attribute; empty where it can."""
        if isinstance(self.amount, int | float | np.number) and np.isfinite(self.amount) and self.amount >= 0:
            return ""
        return f"{self.text}: expected a finite amount of affinity, 0 or more, found {self.amount!r}"

    def terms(self, attribute: Attribute) -> Terms:
        """Reward every value once."""
        return _free(attribute)._replace(reward=float(self.amount))

    def words(self, attribute: Attribute) -> str:
        """Say what is rewarded on each paper."""
        what = f"a {self.attribute}" if attribute.flag else f"each different {self.attribute}"
        return f"{self.amount:g} for {what}"


#: The class of the objects in each field of :class:`reviewgraph.Rules` that is about panels.
_KINDS: dict[str, type[Any]] = {"at_most": AtMost, "at_least": AtLeast, "rewards": Reward}


def panel_rules(rules: Rules) -> list[Rule]:
    """Return the rules on panels as objects, limits first, then minimums, then rewards.

    Raises
    ------
    InputError
        If one of them is an object of another kind.

    Examples
    --------
    >>> [rule.text for rule in panel_rules(Rules(at_most={"institution": 1}, at_least={("region", "Asia"): 1}))]
    ['--at-most institution=1', '--at-least region:Asia=1']
    """
    found: list[Rule] = []
    for name, kind in _KINDS.items():
        stated = getattr(rules, name) or ()
        for one in stated.items() if isinstance(stated, Mapping) else stated:
            if not isinstance(stated, Mapping):
                rule = one
            elif kind is AtLeast and isinstance(one[0], tuple) and len(one[0]) == 2:
                rule = AtLeast(one[0][0], one[1], one[0][1])
            else:
                rule = kind(*one)
            if not isinstance(rule, kind) or not isinstance(rule.attribute, str):
                message = (
                    f"{name}: expected {kind.__name__} objects, or numbers by attribute, found {shortened(repr(one))}"
                )
                raise InputError(message)
            found.append(rule)
    return found


def asked_rules(
    caller: str, rules: Rules | Sequence[Rule] | None, given: Mapping[str, Any], heeded: Collection[str]
) -> Rules:
    """Return the rules of a call of the planner, which may be a list of rules on panels, too; see ``stated_rules``.

    Raises
    ------
    InputError
        If the list has something else in it, or a rule is stated twice.
    """
    if rules is None or isinstance(rules, Rules):
        return stated_rules(caller, rules, given, heeded)
    listed = list(rules)
    for rule in listed:
        if not isinstance(rule, AtMost | AtLeast | Reward):
            message = f"rules: expected AtMost, AtLeast and Reward objects, found {shortened(repr(rule))}"
            raise InputError(message)
    parts: dict[str, Any] = {}
    for name, kind in _KINDS.items():
        parts[name] = [rule for rule in listed if isinstance(rule, kind)] or None
    return stated_rules(caller, Rules(**parts), given, heeded)
