"""What is known of reviewers: attributes with one or several values each, as codes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from typing import TypeAlias

    from reviewgraph.labels import IntArray, Label

    #: Attributes of each reviewer by name: a value or several of them; True or False where it is a matter of yes or no.
    Attributes: TypeAlias = Mapping[Any, Mapping[str, Any]]

#: Names listed in a message.
NAMED = 6


class Attribute(NamedTuple):
    """What is known of reviewers under one name.

    Parameters
    ----------
    name
        As rules call it.
    values
        Values that somebody has, shape (V,); of a matter of yes or no, which ``flag`` marks, True alone.
    start, value
        The values of reviewer j are ``value[start[j]:start[j + 1]]``, codes among ``values``; shapes (M + 1,) and (K,).
    flag
        Whether it is a matter of yes or no.
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
        """Say of what kind who has a value is, given by code: a senior reviewer, a reviewer of region Asia."""
        return f"{self.name} {what}" if self.flag else f"{what} of {self.name} {self.values[value]}"


def attribute_of(name: str, known: Mapping[Any, Any], reviewers: Sequence[Label]) -> Attribute:
    """Encode one attribute from the value of each reviewer, or several in a list, tuple or set; None and "" are none.

    >>> attribute_of("region", {"a": "Asia", "b": ["Europe", "Asia"]}, ["a", "b", "c"]).start.tolist()
    [0, 1, 3, 3]
    """
    listed = [_several(known.get(label)) for label in reviewers]
    distinct = sorted({value for values in listed for value in values}, key=lambda value: (str(value), repr(value)))
    flag = bool(distinct) and all(isinstance(value, bool | np.bool_) for value in distinct)
    # "No" is not a value of its own: it is not to have a yes.
    kept: list[Hashable] = [True] if flag else distinct
    code = {value: number for number, value in enumerate(kept)}
    codes = [sorted(code[value] for value in set(values) if value in code) for values in listed]
    start = np.zeros(len(reviewers) + 1, np.int64)
    np.cumsum([len(one) for one in codes], out=start[1:])
    return Attribute(name, tuple(kept), start, np.array([c for one in codes for c in one], np.int64), flag)


def _several(known: Any) -> list[Hashable]:
    values = known if isinstance(known, list | tuple | set | frozenset) else [known]
    # What is not equal to itself is a missing number.
    return [value for value in values if value is not None and value != "" and value == value]


def unknown(text: str, what: str, name: Hashable, known: Iterable[Hashable]) -> str:
    """Say that a name is unknown, what may have been meant, and what there is.

    >>> unknown("--at-most home=1", "attribute", "home", ["region", "homes"])
    "--at-most home=1: expected a known attribute, found 'home'; did you mean 'homes'? Known: homes, region"
    """
    names = sorted({str(one) for one in known})
    near = get_close_matches(str(name), names, 1, 0.6)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    listed = ", ".join(names[:NAMED]) + (", ..." if len(names) > NAMED else "")
    return f"{text}: expected a known {what}, found {str(name)!r}{hint} Known: {listed or 'none'}"
