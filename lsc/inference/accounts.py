"""The account of an item: how the beliefs about it add up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from lsc.inference.account import Account, Part
from lsc.inference.beliefs import Posterior
from reviewgraph.labels import IntArray
from reviewgraph.reviews import FloatArray, Reviews

#: A source of less weight than this says nothing by itself.
NOTHING = 1e-9


def account_of(beliefs: Posterior, reviews: Reviews, item: int) -> Account:
    """Return the account of an item, given by code, in the direction in which scores came."""
    return next(accounts_of(beliefs, reviews, [item]))


def accounts_of(beliefs: Posterior, reviews: Reviews, items: Iterable[int]) -> Iterator[Account]:
    """Yield the accounts of items, given by code: one sort of the reviews serves all of them."""
    order = np.lexsort((beliefs.reviewer, beliefs.item))
    sorted_items, score = beliefs.item[order], reviews.score[reviews.scored]
    for item in items:
        first, last = np.searchsorted(sorted_items, [item, item + 1]).tolist()
        yield _account(beliefs, reviews, item, order[first:last], score)


def _account(beliefs: Posterior, reviews: Reviews, item: int, mine: IntArray, score: FloatArray) -> Account:
    """Return the account of an item from its rows, in the order of reviewers, of all scores.

    With v the variance of the item, every source r has the weight v precision_r and moves the mean by v shift_r
    (:class:`~lsc.inference.beliefs.Posterior`); the prior, of mean 0, has what is left of the weights and moves
    nothing, so the moves sum to the quality less the middle.
    """
    sign = float(reviews.printed([1.0])[0])
    middle, variance = beliefs.location, float(beliefs.variance[item])

    def part(
        source: str, precision: float, shift: float, reviewer: int | None = None, score: float | None = None
    ) -> Part:
        weight, moves = variance * precision, beliefs.scale * variance * shift
        says = middle + (moves / weight if weight > NOTHING else 0.0)
        severity = stretch = 0.0
        if score is not None and reviewer is not None:
            severity = float(beliefs.reviewers.severity.mean[reviewer])
            stretch = says - score - severity
        return Part(
            source,
            None if reviewer is None else reviews.reviewers[reviewer],
            None if score is None else sign * float(score),
            sign * severity,
            sign * stretch,
            sign * says,
            weight,
            sign * moves,
        )

    parts = [
        part("review", beliefs.precision[r], beliefs.shift[r], int(beliefs.reviewer[r]), float(score[r]))
        for r in mine.tolist()
    ]
    parts += [
        part("likeness", beliefs.likeness_precision[r], beliefs.likeness_shift[r], int(beliefs.reviewer[r]))
        for r in mine.tolist()
        if beliefs.kappa > 0
    ]
    parts += [
        part("reference", beliefs.reference_precision[q], beliefs.reference_shift[q], None, beliefs.reference_value[q])
        for q in np.flatnonzero(beliefs.reference_item == item).tolist()
    ]
    parts.append(part("middle", beliefs.prior, 0.0))
    return Account(
        reviews.items[item],
        sign * float(beliefs.quality[item]),
        float(beliefs.standard_error[item]),
        sign * float(score[mine].mean()) if mine.size else float("nan"),
        sign * middle,
        tuple(parts),
        reviews.lower_is_better,
    )
