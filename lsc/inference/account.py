"""What a paper's quality is made of: parts that sum to it exactly."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from reviewgraph.labels import Label


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
