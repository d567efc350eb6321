"""What a verification found: what does not hold, what was checked, what was taken on trust."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Numbers are printed with all their digits, but sums are taken in another order: relative to the larger of the two.
ROUNDING = 1e-9

HOLDS, REFUTED, NOT_REFUTED = "holds", "refuted", "not_refuted"


@dataclass
class Findings:
    """What a verification found, said in sentences.

    Parameters
    ----------
    wrong
        What does not hold, each naming a key or a row of the answer.
    checked
        What was looked at, and would have been found.
    trusted
        What was not, and why.
    undecided
        Those of ``trusted`` on which the answer rests: its ranking, that it is optimal, or that there is none.
    """

    wrong: list[str] = field(default_factory=list)
    checked: list[str] = field(default_factory=list)
    trusted: list[str] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)

    @property
    def outcome(self) -> str:
        """One of ``holds``, ``refuted`` and ``not_refuted``.

        >>> Findings().outcome, Findings(undecided=["the ranking"]).outcome, Findings(wrong=["p1, rank"]).outcome
        ('holds', 'not_refuted', 'refuted')
        """
        return REFUTED if self.wrong else NOT_REFUTED if self.undecided else HOLDS

    def expect(self, found: bool, wrong: str) -> bool:
        """Note what is wrong unless it was found so; returns whether it was."""
        if not found:
            self.wrong.append(wrong)
        return found

    def same(self, key: str, said: Any, found: Any) -> bool:
        """Compare what a key of the answer says with what was found."""
        return self.expect(is_same(said, found), f"{key}: says {shown(said)}, found {shown(found)}")

    def same_rows(self, key: str, said: Iterable[Any], found: Iterable[Any]) -> bool:
        """Compare rows whose order says nothing; names the first that only one side has."""
        left, right = list(said), list(found)
        extra, missing = _without(left, right), _without(right, left)
        if extra:
            self.wrong.append(f"{key}: says {shown(extra[0])}, which was not found")
        if missing:
            self.wrong.append(f"{key}: lacks {shown(missing[0])}")
        return not (extra or missing)

    def check(self, words: str) -> None:
        """Note what was looked at."""
        self.checked.append(words)

    def trust(self, words: str, *, decisive: bool = False) -> None:
        """Note what was not, and whether the answer rests on it."""
        self.trusted.append(words)
        self.undecided += [words] if decisive else []

    def to_dict(self) -> dict[str, Any]:
        """Return it as the command's ``--json`` prints it."""
        return {"outcome": self.outcome, "holds": self.outcome == HOLDS, **vars(self)}


def is_same(said: Any, found: Any, rounding: float = ROUNDING) -> bool:
    """Whether two values are the same, numbers up to rounding.

    >>> is_same(0.1 + 0.2, 0.3), is_same(None, 0.0), is_same(True, 1)
    (True, False, False)
    """
    numbers = [isinstance(value, int | float) and not isinstance(value, bool) for value in (said, found)]
    if all(numbers):
        return math.isclose(said, found, rel_tol=rounding, abs_tol=rounding * 1e-3)
    return type(said) is type(found) and bool(said == found)


def shown(value: Any) -> str:
    """Return a value as a message has it.

    >>> shown(None), shown(("ann", "p1")), shown(0.30000000000000004)
    ('null', 'ann, p1', '0.3')
    """
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, tuple | list):
        return ", ".join(map(shown, value)) or "nothing"
    return f"{value:.12g}" if isinstance(value, float) else f"{value}"


def _without(rows: list[Any], others: list[Any]) -> list[Any]:
    """Return the rows that others lack, each as often as it is missing."""
    left: dict[Any, int] = {}
    for row in others:
        left[row] = left.get(row, 0) + 1
    found = []
    for row in rows:
        left[row] = left.get(row, 0) - 1
        if left[row] < 0:
            found.append(row)
    return found
