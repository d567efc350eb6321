"""References, items of known quality: their values as an array, and a straight line through them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from reviewgraph.errors import InputError
from reviewgraph.formats.headers import ITEM
from reviewgraph.formats.side.reading import QUALITY
from reviewgraph.reviews import FloatArray, Reviews
from reviewgraph.sides.given import by_label
from reviewgraph.sides.matching import match_labels

if TYPE_CHECKING:
    from reviewgraph.sides.given import Valued

#: A line through fewer papers than this fits whatever their values are.
LEAST_REFERENCES = 3


def known_values(reviews: Reviews, references: Valued, name: str = "references") -> FloatArray:
    """Return the value of each item, shape (N,), in the direction in which the scores came; NaN where none is known.

    Parameters
    ----------
    reviews
        The table.
    references
        Value by item: a mapping, a Series, a data frame or pairs.
    name
        The argument, for messages; ``references`` by default.

    Raises
    ------
    InputError
        If no reference is among the items, labels match as text only, or a value is not finite.

    Warns
    -----
    LabelWarning
        If some of the references are not among the items.

    Examples
    --------
    >>> known_values(Reviews.from_pairs([("ann", "p1", 1.0), ("ann", "p2", 3.0)]), {"p2": 7.0}).tolist()
    [nan, 7.0]
    """
    given = by_label(references, name, ITEM, QUALITY.role, reviews.spellings())
    code = match_labels(list(given), reviews.item_code, name, "paper", other=reviews.reviewer_code)
    for label, value in given.items():
        if value is None or not np.isfinite(value):
            message = f"{name}: expected a finite quality, found {value} for item {label!r}"
            raise InputError(message)
    found = np.full(reviews.n_items, np.nan)
    found[code[code >= 0]] = np.array(list(given.values()), np.float64)[code >= 0]
    return found


@dataclass(frozen=True, eq=False)
class ReferenceLine:
    """``value = intercept + slope x quality``, least squares through the references.

    Parameters
    ----------
    slope, intercept
        Of the line, for qualities in the direction in which scores came.
    error
        Standard deviation of known values about the line.
    references
        How many papers it goes through.
    value
        Shape (N,): the place of each item on the scale of the references, NaN where the line does not lead.
    """

    slope: float
    intercept: float
    error: float
    references: int
    value: FloatArray = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the line as the command's ``--json`` prints it."""
        return {name: getattr(self, name) for name in ("slope", "intercept", "error", "references")}


def line_through(quality: FloatArray, known: FloatArray) -> ReferenceLine:
    """Return the straight line that best predicts known values from qualities.

    Parameters
    ----------
    quality
        Shape (N,), NaN for items off the line.
    known
        Shape (N,), NaN for items that are no references.

    Raises
    ------
    InputError
        If fewer than three references have a quality, their qualities are all the same, or their values do not rise
        with them.

    Examples
    --------
    >>> line = line_through(np.array([1.0, 2.0, 3.0, 5.0]), np.array([10.0, 20.0, 30.0, np.nan]))
    >>> line.slope, line.value.round(6).tolist()
    (10.0, [10.0, 20.0, 30.0, 50.0])
    """
    here = np.isfinite(quality) & np.isfinite(known)
    x, y = quality[here], known[here]
    if x.size < LEAST_REFERENCES:
        message = (
            f"references: expected {LEAST_REFERENCES} or more that have a score, in the largest group, found {x.size}; "
            "a straight line needs them"
        )
        raise InputError(message)
    along = x - x.mean()
    # A range of exactly 0 is told apart from rounding in the sums.
    slope = float(along @ y) / float(along @ along) if np.ptp(x) > 0 and np.ptp(y) > 0 else 0.0
    if not slope > 0:
        message = (
            "references: expected values that rise with quality, found that they do not; check them, or "
            "--lower-is-better: no straight line leads to their scale"
        )
        raise InputError(message)
    intercept = float(y.mean() - slope * x.mean())
    off = y - intercept - slope * x
    error = float(np.sqrt(off @ off / (x.size - 2)))
    return ReferenceLine(slope, intercept, error, int(x.size), intercept + slope * quality)
