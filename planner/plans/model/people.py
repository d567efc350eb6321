"""Who the reviewers are, and what every item must have: rules on its reviewers, and so many reviews."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner.panels.groups import Ruled, ruled, ruled_by
from planner.panels.rules import NO_MOST
from planner.plans.model.places import Places, places
from reviewgraph.arrays import distinct, spread

if TYPE_CHECKING:
    from planner.panels.groups import Panels
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray, Reviews
    from reviewgraph.rules import Rules

#: Spare load, reviews or room on an item, where none is stated, or more than anybody means.
UNLIMITED = 10**9


class Needs(NamedTuple):
    """What items are short of.

    ``reviews`` (N,) are missing to the least number, ``members`` (N, G) to the least number of each panel group, and
    ``different`` (N, A) panel groups of each attribute. One review may serve several of them: ``each`` (N,) are the
    new reviews that an item takes at least, and exactly so where ``exact``.
    """

    reviews: IntArray
    members: IntArray
    different: IntArray
    each: IntArray
    exact: bool

    @property
    def total(self) -> int:
        """New reviews that all items take at least."""
        return int(self.each.sum())

    def within(self, other: Needs) -> bool:
        """Whether nothing is missing that the others do not miss as well."""
        return all(bool((mine <= theirs).all()) for mine, theirs in zip(self[:3], other[:3], strict=True))


class Waived(NamedTuple):
    """What items do without: ``reviews`` (N,), ``members`` (N, G) and ``different`` (N, A), as in :class:`Needs`."""

    reviews: IntArray
    members: IntArray
    different: IntArray


@dataclass(frozen=True, eq=False)
class People:
    """What is known of reviewers beyond their reviews, and what every item must have.

    Parameters
    ----------
    ruled
        The rules on who reviews an item together, and the panel groups that they are about.
    min_reviews
        Reviews that every item must have, old and new ones together.
    lost
        Shape (N, G): reviewers of each panel group who were asked for an item and are not in the table any more.
        They still count where a rule says how many there may be; by default there are none.
    waived
        What items do without where not all that they must have can be had; None where they must have it all.
    """

    ruled: Ruled = field(default_factory=lambda: ruled_by((), 0))
    min_reviews: int = 0
    lost: IntArray | None = None
    waived: Waived | None = None

    @property
    def panels(self) -> Panels:
        """What the rules ask of each panel group."""
        return self.ruled.panels

    def groups_of(self, reviewers: IntArray) -> tuple[IntArray, IntArray]:
        """Return all panel groups of a list of reviewers: the place in the list, and the group."""
        none = np.empty(0, np.int64)
        return self.panels.of(reviewers) if self.panels.n_groups else (none, none)

    def counts(self, table: Reviews) -> IntArray:
        """Shape (N, G): reviewers of each panel group that each item has."""
        size = self.panels.n_groups
        place, group = self.groups_of(table.reviewer)
        N = table.n_items
        return np.bincount(table.item[place] * size + group, minlength=N * size).reshape(N, size)

    def needs(self, table: Reviews) -> Needs:
        """Return what the items of a table are short of."""
        panels, counts = self.panels, self.counts(table)
        reviews = np.maximum(self.min_reviews - table.reviews_per_item, 0)
        members = np.maximum(panels.least - counts, 0)
        mine = panels.attribute[:, None] == np.arange(panels.different.size)
        different = np.maximum(panels.different - (counts > 0).astype(np.int64) @ mine, 0)
        if self.waived is not None:
            reviews = np.maximum(reviews - self.waived.reviews, 0)
            members = np.maximum(members - self.waived.members, 0)
            different = np.maximum(different - self.waived.different, 0)
        # Who has one value of an attribute at most serves one of its groups only.
        together = np.where(self._values > 1, _most_of(members, mine), members @ mine)
        apart = -(-different // np.maximum(self._values, 1))
        each = np.maximum(reviews, np.maximum(together, apart).max(axis=1, initial=0))
        exact = np.count_nonzero(members.any(axis=0) @ mine) <= 1 and not different.any() and (self._values <= 1).all()
        return Needs(reviews, members, different, each, bool(exact))

    @cached_property
    def _values(self) -> IntArray:
        """Shape (A,): panel groups of an attribute that one reviewer has at most."""
        panels = self.panels
        owner = np.repeat(np.arange(panels.start.size - 1), np.diff(panels.start))
        size = max(panels.different.size, 1)
        held = np.bincount(owner * size + panels.attribute[panels.group], minlength=size)
        return np.array([held[a::size].max(initial=0) for a in range(panels.different.size)], np.int64)

    @property
    def attribute_names(self) -> list[str]:
        """The names of the attributes, shape (A,)."""
        return list(dict.fromkeys(attribute.name for attribute in self.ruled.attributes))

    @property
    def asks(self) -> bool:
        """Whether items must have something beside the level."""
        return self.min_reviews > 0 or bool(self.panels.least.any() or self.panels.different.any())

    def without_needs(self) -> People:
        """Return the same where no item need have anything."""
        panels = self.panels
        free = panels._replace(least=np.zeros_like(panels.least), different=np.zeros_like(panels.different))
        return replace(self, ruled=self.ruled._replace(panels=free), min_reviews=0)

    def without(self, lost: Reviews) -> People:
        """Return the same after some reviews are lost that were asked for all the same."""
        return replace(self, lost=self.counts(lost) + (0 if self.lost is None else self.lost))

    @property
    def limits(self) -> bool:
        """Whether a rule says how many reviewers of a panel group there may be."""
        return bool((self.panels.most < NO_MOST).any())

    def free(self, table: Reviews) -> IntArray:
        """Shape (N, G): reviewers of each panel group that items may still get; below 0 where there are too many."""
        return self.panels.most - self.counts(table) - (0 if self.lost is None else self.lost)

    def places(self, table: Reviews, asked: BoolArray) -> Places:
        """Return the places that are left for the panel groups of which two or more are asked."""
        panels = self.panels
        _, group = self.groups_of(np.flatnonzero(asked))
        crowd = np.bincount(group, minlength=panels.n_groups) > 1
        return places(panels, self.free(table), np.flatnonzero(crowd & (panels.most < NO_MOST)), table.n_reviewers)

    def beside(self, table: Reviews) -> IntArray:
        """Return pairs ``reviewer * N + item`` for which an item has as many of a panel group as it may, ascending.

        Takes the time of the items times the members of panel groups that are full.
        """
        if not self.limits:
            return np.empty(0, np.int64)
        panels = self.panels
        owner = np.repeat(np.arange(panels.start.size - 1), np.diff(panels.start))
        member = owner[np.argsort(panels.group, kind="stable")]
        size = np.bincount(panels.group, minlength=panels.n_groups)
        item, group = np.nonzero(self.free(table) <= 0)
        barred = member[spread((np.cumsum(size) - size)[group], size[group])]
        return distinct(barred * table.n_items + np.repeat(item, size[group]))


def _most_of(members: IntArray, mine: BoolArray) -> IntArray:
    """Shape (N, A): the most that is missing of one panel group of each attribute."""
    if not mine.size:
        return np.zeros((len(members), mine.shape[1]), np.int64)
    return np.stack([np.where(mine[:, a], members, 0).max(axis=1) for a in range(mine.shape[1])], axis=1)


def people(table: Reviews, rules: Rules) -> People:
    """Return what rules on panels, and least reviews, ask of a table; unknown reviewers are warned of.

    Raises
    ------
    InputError
        As :func:`~planner.panels.groups.ruled`.
    """
    asked = ruled(table.reviewers, rules, other=table.item_code, spellings=table.spellings())
    return People(asked, min(rules.min_reviews or 0, UNLIMITED))
