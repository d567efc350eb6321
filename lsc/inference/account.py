"""What a paper's quality is made of: parts that sum to it exactly."""

from __future__ import annotations

from dataclasses import dataclass
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
