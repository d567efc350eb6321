"""Reviews without those of people who will not deliver them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reviewgraph.arguments import LISTING, MAPPING, refuse
from reviewgraph.columns import Columns
from reviewgraph.formats.headers import ITEM, REVIEWER
from reviewgraph.reviews import Reviews
from reviewgraph.sides.given import has_column, labels_of, pairs_of
from reviewgraph.sides.matching import codes_among, match_labels, match_pairs

if TYPE_CHECKING:
    from reviewgraph.arrays import BoolArray, IntArray
    from reviewgraph.formats.spellings import Spellings
    from reviewgraph.labels import Label


class Gone(NamedTuple):
    """Who will not deliver: reviewers altogether, and single reviews."""

    reviewers: tuple[Label, ...] = ()
    pairs: Columns | None = None

    def keys(self, reviews: Reviews) -> IntArray:
        """Return those of the pairs that a table knows, as ``reviewer * N + item``."""
        if self.pairs is None:
            return np.empty(0, np.int64)
        reviewer = codes_among(self.pairs.reviewers, reviews.reviewers)[self.pairs.reviewer]
        item = codes_among(self.pairs.items, reviews.items)[self.pairs.item]
        return (reviewer * reviews.n_items + item)[(reviewer >= 0) & (item >= 0)]


def gone_of(given: Any, spellings: Spellings | None = None) -> Gone:
    """Return who is gone, from reviewers' labels or from (reviewer, item) pairs, in any form.

    >>> gone_of(["ann"]).reviewers, gone_of([("ann", "p1")]).pairs.items
    (('ann',), ('p1',))
    """
    if given is None or isinstance(given, Gone):
        return given or Gone()
    if hasattr(given, "columns") or isinstance(given, Reviews):
        listed = given
    else:
        refuse("gone", given, [LISTING, MAPPING])
        listed = given if hasattr(given, "index") else list(given)
    in_pairs = isinstance(given, Columns | Reviews) or has_column(given, ITEM)
    if in_pairs or (listed and all(isinstance(one, tuple) and len(one) == 2 for one in listed)):
        return Gone(pairs=pairs_of(given if in_pairs else listed, "gone", spellings))
    return Gone(tuple(labels_of(listed, "gone", REVIEWER, spellings=spellings)))


def without_gone(reviews: Reviews, given: Any) -> Reviews:
    """Return reviews without the planned ones of people who are gone; scores that are there stay.

    Parameters
    ----------
    reviews
        The table.
    given
        Reviewers, or (reviewer, item) pairs, who will not deliver. Reviewers who have no review left are no reviewers
        of the table any more.

    Raises
    ------
    InputError
        If none of them is in the reviews.

    Warns
    -----
    LabelWarning
        If some are not.

    Examples
    --------
    >>> table = Reviews.from_pairs([("ann", 1, 2.0), ("ann", 2), ("bob", 1), ("bob", 2)])
    >>> without_gone(table, ["ann", "bob"]).to_dict()
    {'reviewer': ['ann'], 'item': [1], 'score': [2.0]}
    """
    if given is None:
        return reviews
    gone = gone_of(given, reviews.spellings())
    lost = _lost(reviews, gone)
    if not lost.any():
        return reviews
    kept = reviews.subset(~lost)
    stays = (kept.loads > 0) | (reviews.loads == 0)
    table = Reviews.from_codes(
        (np.cumsum(stays) - 1)[kept.reviewer],
        kept.item,
        kept.printed(kept.score),
        scored=kept.scored,
        reviewers=[label for label, there in zip(kept.reviewers, stays.tolist(), strict=True) if there],
        items=kept.items,
        titles=kept.titles,
        lower_is_better=kept.lower_is_better,
    )
    return replace(table, backend=kept.backend, origin=kept.origin, merge=kept.merge)


def _lost(reviews: Reviews, gone: Gone) -> BoolArray:
    """Return which reviews will not arrive: planned ones of those who are gone."""
    code = match_labels(gone.reviewers, reviews.reviewers, "gone", "reviewer", other=reviews.items)
    lost = np.isin(reviews.reviewer, code[code >= 0])
    if gone.pairs is not None:
        match_pairs(gone.pairs, reviews.reviewers, reviews.items, "gone")
        lost |= np.isin(reviews.reviewer * reviews.n_items + reviews.item, gone.keys(reviews))
    return lost & ~reviews.scored
