"""Which rules on people hold in a table, paper by paper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from planner.panels.groups import ruled_by
from planner.plans.model.people import People

if TYPE_CHECKING:
    from reviewgraph.labels import Label
    from reviewgraph.reviews import Reviews


class RuleStanding(NamedTuple):
    """How a rule stands.

    Parameters
    ----------
    option
        As an option of the command.
    words
        What shall hold on each paper.
    papers
        Papers on which it holds.
    broken
        The others: reviews that were there before may break a rule, and part of a plan may leave one unfulfilled.
    """

    option: str
    words: str
    papers: int
    broken: tuple[Label, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return it as the command's ``--json`` prints it."""
        return self._asdict()


def standing(people: People, table: Reviews) -> list[RuleStanding]:
    """Say of each rule on which papers of a table it holds."""
    found = []
    for rule, attribute in zip(people.ruled.rules, people.ruled.attributes, strict=True):
        alone = People(ruled_by([(rule, attribute)], table.n_reviewers))
        holds = (alone.needs(table).each == 0) & (alone.free(table) >= 0).all(axis=1)
        broken = tuple(table.items[i] for i in np.flatnonzero(~holds).tolist())
        found.append(RuleStanding(rule.text, rule.words(attribute), int(holds.sum()), broken))
    return found
