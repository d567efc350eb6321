"""Who the reviewers are (institutions, seniors), and the reviews that items are short of."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reviewgraph.arrays import spread
from reviewgraph.formats.headers import REVIEWER
from reviewgraph.formats.side.fields import INSTITUTION, SENIOR
from reviewgraph.sides.given import by_label, labels_of
from reviewgraph.sides.matching import match_labels

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from reviewgraph.labels import IntArray, Label
    from reviewgraph.reviews import BoolArray, Reviews
    from reviewgraph.sides.given import Chosen, Valued


class Needs(NamedTuple):
    """Reviews that items are short of.

    ``reviews`` (N,) are missing to the least number; ``senior`` (N,) is 1 where no reviewer is senior and one has to
    be. A senior one counts among those missing, so an item takes :attr:`each`.
    """

    reviews: IntArray
    senior: IntArray

    @property
    def each(self) -> IntArray:
        """Shape (N,): new reviews that each item takes at least."""
        return np.maximum(self.reviews, self.senior)

    @property
    def total(self) -> int:
        """New reviews that all items take at least."""
        return int(self.each.sum())


@dataclass(frozen=True, eq=False)
class People:
    """What is known of reviewers beyond their reviews, and what every item must have.

    Parameters
    ----------
    institution
        Shape (M,): institution by reviewer, -1 for none; empty where none is known.
    senior
        Shape (M,): who is senior; None if nobody need be.
    min_reviews
        Reviews that every item must have, old and new ones together.
    """

    institution: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    senior: BoolArray | None = None
    min_reviews: int = 0

    def needs(self, table: Reviews) -> Needs:
        """Return what the items of a table are short of."""
        missing = np.maximum(self.min_reviews - table.reviews_per_item, 0)
        if self.senior is None:
            return Needs(missing, np.zeros(table.n_items, np.int64))
        held = np.bincount(table.item[self.senior[table.reviewer]], minlength=table.n_items)
        return Needs(missing, (held == 0).astype(np.int64))

    @property
    def asks(self) -> bool:
        """Whether items must have something beside the level."""
        return self.senior is not None or self.min_reviews > 0

    def without_needs(self) -> People:
        """Return the same where no item need have anything."""
        return replace(self, senior=None, min_reviews=0)

    @property
    def has_institutions(self) -> bool:
        """Whether two of one institution might meet."""
        return bool((self.institution >= 0).any())

    def beside(self, table: Reviews) -> IntArray:
        """Return pairs ``reviewer * N + item`` where a colleague of the reviewer reviews the item already, ascending.

        Takes the time of the reviews times the members of an institution.
        """
        if not self.has_institutions:
            return np.empty(0, np.int64)
        # Members institution by institution, so that those of one lie behind each other.
        member = np.argsort(self.institution, kind="stable")
        own = self.institution[table.reviewer]
        first, last = (np.searchsorted(self.institution[member], own, side) for side in ("left", "right"))
        size = np.where(own >= 0, last - first, 0)
        colleague = member[spread(first, size)]
        return np.unique(colleague * table.n_items + np.repeat(table.item, size))


def people(table: Reviews, institutions: Valued | None, senior: Chosen | None, min_reviews: int) -> People:
    """Bring what is given by label together; unknown reviewers are warned of.

    Raises
    ------
    InputError
        If institutions or seniors name reviewers, and none that we know.
    """
    number = np.full(table.n_reviewers, -1, np.int64)
    code: dict[Hashable, int] = {}
    stated = by_label({} if institutions is None else institutions, "institutions", REVIEWER, INSTITUTION.role)
    for reviewer, name in zip(_codes(table, list(stated), "institutions").tolist(), stated.values(), strict=True):
        if name and reviewer >= 0:
            number[reviewer] = code.setdefault(name, len(code))
    if senior is None:
        return People(number, None, min_reviews)
    found = _codes(table, labels_of(senior, "senior", REVIEWER, SENIOR.role), "senior")
    is_senior = np.zeros(table.n_reviewers, np.bool_)
    is_senior[found[found >= 0]] = True
    return People(number, is_senior, min_reviews)


def _codes(table: Reviews, labels: Sequence[Label], name: str) -> IntArray:
    return match_labels(labels, table.reviewer_code, name, "reviewer", other=table.item_code)
