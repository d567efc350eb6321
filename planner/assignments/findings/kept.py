"""Rules in the result: which hold, what they cost, and how far from the best the assignment can be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple


class KeptRule(NamedTuple):
    """A rule that holds on every paper; or a reward, and what earned it.

    Parameters
    ----------
    option
        As an option of the command.
    words
        What holds on each paper, or is rewarded there.
    papers
        Papers that it is about; of a reward those that earn it.
    earned
        Different values that earn a reward, over all papers; None for what is no reward.
    """

    option: str
    words: str
    papers: int
    earned: int | None = None


@dataclass(frozen=True)
class Kept:
    """The rules that an assignment keeps, and what they cost.

    Parameters
    ----------
    rules
        Each of them.
    affinity
        Affinity of the best assignment found under the rules before any level was asked for.
    rewards
        What the assignment earns by different values, in affinity; no part of its affinity.
    bound
        What affinity and rewards together are at most under the rules, whatever the assignment.
    """

    rules: tuple[KeptRule, ...]
    affinity: float
    rewards: float
    bound: float

    def to_list(self) -> list[dict[str, Any]]:
        """Return the rules as the command's ``--json`` prints them."""
        return [rule._asdict() for rule in self.rules]
