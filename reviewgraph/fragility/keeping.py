"""How likely a table keeps each level when reviews fail to arrive, by simulation."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from reviewgraph.arguments import as_numbers, checked
from reviewgraph.errors import InputError
from reviewgraph.formats.headers import REVIEWER
from reviewgraph.formats.side.reading import PROBABILITY
from reviewgraph.fragility.fragile import FINDERS
from reviewgraph.framed import as_reviews
from reviewgraph.kernels.compiling import POLICY
from reviewgraph.levels import LEVELS
from reviewgraph.results import Result
from reviewgraph.sides.given import by_label
from reviewgraph.sides.matching import match_labels

if TYPE_CHECKING:
    from reviewgraph.framed import ReviewsLike
    from reviewgraph.reviews import FloatArray, Reviews
    from reviewgraph.sides.given import Valued

#: Seconds that plain Python takes for one review of one draw.
DRAWN = 10e-6


@dataclass(frozen=True)
class Kept:
    """How likely a level is kept.

    Parameters
    ----------
    level
        Its name.
    probability
        Share of the draws of losses after which it holds for all items.
    standard_error
        Of that share: half the width of Wilson's interval of one standard error to either side, above 0 also where all
        draws agree.
    """

    level: str
    probability: float
    standard_error: float


@dataclass(frozen=True, eq=False, repr=False)
class Keeps(Result):
    """How likely each level is kept, see :func:`keeps`.

    Parameters
    ----------
    levels
        One for each level, the strongest first.
    draws
        How many draws of losses there were.
    """

    levels: tuple[Kept, ...]
    draws: int

    def to_dict(self) -> dict[str, Any]:
        """Return draws, and probabilities by level."""
        return {"draws": self.draws, "levels": [vars(kept) for kept in self.levels]}

    def to_columns(self) -> dict[str, list[Any]]:
        """Return a row a level."""
        return {name: [getattr(kept, name) for kept in self.levels] for name in Kept.__dataclass_fields__}

    def headline(self) -> str:
        """Return the probabilities."""
        return ", ".join(f"{kept.level} {kept.probability:.2f}" for kept in self.levels)


@checked
def keeps(
    reviews: ReviewsLike,
    missing: float | Valued,
    draws: int = 200,
    rng: np.random.Generator | None = None,
) -> Keeps:
    """Simulate how likely each level holds for all items when each review fails to arrive with some probability.

    Parameters
    ----------
    reviews
        Who reviews what; scores do not count. Losses are independent of each other.
    missing
        The probability that a review fails to arrive: one number, or one by reviewer, in a mapping, a Series or
        a data frame; 0 for those not named.
    draws
        Of the losses; 200 by default.
    rng
        By default a generator with seed 0.

    Raises
    ------
    InputError
        If a probability is not between 0 and 1, no reviewer is known, or there is no draw.

    Notes
    -----
    A draw takes near-linear time in the number of reviews on real and random tables; levels are looked at from the
    weakest on, and none is that cannot hold.

    Examples
    --------
    >>> from reviewgraph import Reviews
    >>> reviews = Reviews.from_pairs([(reviewer, paper) for reviewer in "abcd" for paper in range(3)])
    >>> keeps(reviews, 0.0)
    <Keeps: double 1.00, recoverable 1.00, connected 1.00>
    >>> keeps(reviews, {"a": 1.0, "b": 1.0, "c": 1.0})
    <Keeps: double 1.00, recoverable 1.00, connected 1.00>
    >>> keeps(reviews, {"a": 1.0, "b": 1.0, "c": 1.0, "d": 0.5}, draws=100).levels[0].probability < 0.3
    True
    """
    reviews = as_reviews(reviews)
    if draws < 1:
        message = f"draws: expected 1 or more, found {draws}"
        raise InputError(message)
    chance, rng = _by_review(reviews, missing), rng or np.random.default_rng(0)
    POLICY.expect(DRAWN * draws * reviews.n_reviews)
    held = np.array([_held(reviews.subset(rng.random(chance.size) >= chance)) for _ in range(draws)])
    shares = held.mean(axis=0)
    errors = np.sqrt(shares * (1 - shares) / draws + 0.25 / draws**2) / (1 + 1 / draws)
    found = zip(LEVELS, shares.tolist(), errors.tolist(), strict=True)
    return Keeps(tuple(Kept(level.name, share, error) for level, share, error in found), draws)


def _by_review(reviews: Reviews, missing: float | Valued) -> FloatArray:
    """Shape (E,): the probability that each review fails to arrive."""
    by_reviewer = np.zeros(reviews.n_reviewers)
    if isinstance(missing, Real):
        by_reviewer[:] = missing
    else:
        given = by_label(missing, "missing", REVIEWER, PROBABILITY.role, reviews.spellings())
        code = match_labels(list(given), reviews.reviewers, "missing", "reviewer", other=reviews.items)
        by_reviewer[code[code >= 0]] = as_numbers("missing", list(given.values()))[code >= 0]
    wrong = by_reviewer[~((by_reviewer >= 0) & (by_reviewer <= 1))]
    if wrong.size:
        message = f"missing: expected probabilities from 0 to 1, found {wrong[0]:g}"
        raise InputError(message)
    return by_reviewer[reviews.reviewer]


def _held(reviews: Reviews) -> list[bool]:
    """Whether each level holds, the strongest first; each implies those after it."""
    held: list[bool] = []
    for level in reversed(LEVELS):
        held.insert(0, (not held or held[0]) and bool(FINDERS[level.name].holds(reviews)))
    return held
