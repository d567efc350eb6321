"""What a paper's quality is made of: parts that sum to it exactly."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lsc.inference.beliefs import Posterior
from reviewgraph.labels import IntArray, Label
from reviewgraph.reviews import FloatArray, Reviews

#: A source of less weight than this says nothing by itself.
NOTHING = 1e-9


@dataclass(frozen=True)
class Part:
    """What one source says of a paper.

    Parameters
    ----------
    source
        ``"review"``, ``"likeness"`` (the other papers of its reviewers), ``"reference"``, or ``"middle"`` (what is
        believed of any paper before its scores are seen).
    reviewer
        Label, for a review and for likeness.
    score
        As given, that of a reference on its own scale; None but for reviews and references.
    severity, stretch
        What is added to the score for the reviewer's severity, and for how widely she spreads her scores and what
        her other papers taught of her.
    says
        The quality that the source speaks for by itself: for a review score + severity + stretch.
    weight
        Its share of the result; all weights sum to 1.
    moves
        By how much it moves the quality away from the middle: weight x (says - middle).
    """

    source: str
    reviewer: Label | None
    score: float | None
    severity: float
    stretch: float
    says: float
    weight: float
    moves: float


@dataclass(frozen=True)
class Account:
    """The account of one paper: ``middle + sum of moves = quality``, to rounding.

    Parameters
    ----------
    item
        Label.
    quality, standard_error, average
        As in the result, in the direction in which scores came.
    middle
        Where every paper starts.
    parts
        Reviews in the order of reviewers, then what comes from elsewhere.
    lower_is_better
        Whether 1 is the best score.

    Examples
    --------
    >>> review = Part("review", "ann", 7.0, 0.5, 0.0, 7.5, 0.4, 1.0)
    >>> account = Account("p1", 6.0, 0.3, 7.0, 5.0, (review, Part("middle", None, None, 0.0, 0.0, 5.0, 0.6, 0.0)))
    >>> account.total
    6.0
    """

    item: Label
    quality: float
    standard_error: float
    average: float
    middle: float
    parts: tuple[Part, ...]
    lower_is_better: bool = False

    @property
    def total(self) -> float:
        """The sum of the parts."""
        return self.middle + sum(part.moves for part in self.parts)

    def anonymous(self) -> Account:
        """Return the same with "Reviewer 1", "Reviewer 2", ... for labels: by what they say, the highest score first.

        Nothing that is not in the account decides their order, so it gives nobody away.

        Examples
        --------
        >>> given = [("ann", 3), ("bob", 7)]
        >>> parts = tuple(Part("review", who, score, 0.0, 0.0, score, 0.5, 0.0) for who, score in given)
        >>> told = Account("p1", 5.0, 0.3, 5.0, 5.0, parts).anonymous()
        >>> [(part.reviewer, part.score) for part in told.parts]
        [('Reviewer 1', 7), ('Reviewer 2', 3)]
        """
        also = {part.reviewer: (part.weight, part.moves) for part in self.parts if part.source == "likeness"}

        def says(part: Part) -> tuple[Any, ...]:
            return -(part.score or 0.0), -part.says, -part.weight, also.get(part.reviewer, ())

        reviews = sorted((part for part in self.parts if part.source == "review"), key=says)
        name = {part.reviewer: f"Reviewer {place}" for place, part in enumerate(reviews, 1)}
        place = {reviewer: number for number, reviewer in enumerate(name)}
        # Reviews come first, in the new order; what comes from elsewhere follows as it stood.
        others = sorted(
            (part for part in self.parts if part.source != "review"),
            key=lambda part: place.get(part.reviewer, len(place)),
        )
        told = [
            part if part.reviewer is None else replace(part, reviewer=name[part.reviewer])
            for part in [*reviews, *others]
        ]
        return replace(self, parts=tuple(told))

    def to_dict(self) -> dict[str, Any]:
        """Return the account as the command's ``--json`` prints it."""
        return {
            "item": self.item,
            "quality": self.quality,
            "standard_error": self.standard_error,
            "average": self.average,
            "middle": self.middle,
            "parts": [vars(part) for part in self.parts],
        }


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
