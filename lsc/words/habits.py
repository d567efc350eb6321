"""What a calibration says of each reviewer: harsh or lenient, and whether she compresses or stretches the scale."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from reviewgraph.framed import ReviewsLike, as_reviews
from reviewgraph.reviews import FloatArray

#: Scores that lie this part of the standard deviation of quality above or below what is usual are worth a word.
NOTABLE_SEVERITY = 0.5
#: So is a scale this much steeper, or flatter, than the median reviewer's.
NOTABLE_STRETCH = 1.5


class Habits(NamedTuple):
    """One entry a reviewer, shapes (M,).

    ``leniency`` is how far her scores lie above the qualities of her papers on the reported scale, on average over
    her papers and in units of the standard deviation of quality; ``stretch`` the slope of her scoring function over
    that of the median reviewer. NaN where her scores say nothing.
    """

    leniency: FloatArray
    stretch: FloatArray

    def words(self, reviewer: int) -> list[str]:
        """Name what is notable of a reviewer, given by code."""
        lenient, stretch = self.leniency[reviewer], self.stretch[reviewer]
        found = []
        if lenient >= NOTABLE_SEVERITY:
            found.append("lenient")
        if lenient <= -NOTABLE_SEVERITY:
            found.append("harsh")
        if stretch >= NOTABLE_STRETCH:
            found.append("stretches the scale")
        if stretch <= 1.0 / NOTABLE_STRETCH:
            found.append("compresses the scale")
        return found


def habits(reviews: ReviewsLike, quality: FloatArray, noise: FloatArray) -> Habits:
    """Return the habits of all reviewers; the slope is that of the best line through her scores.

    Parameters
    ----------
    quality
        Shape (N,), NaN without a score.
    noise
        Shape (E,): what a reviewer perceived less the quality, NaN where planned.

    Examples
    --------
    >>> from reviewgraph import Reviews
    >>> from lsc import calibrate
    >>> rows = [("ann", p, float(p)) for p in range(5)] + [("bob", p, 1.0 + p) for p in range(5)]
    >>> result = calibrate(Reviews.from_pairs(rows), solver="cvxpy")
    >>> found = habits(result.reviews, result.quality, result.noise)
    >>> found.words(0), found.words(1), found.stretch.round(6).tolist()
    ([], [], [1.0, 1.0])
    """
    reviews = as_reviews(reviews)
    rows = np.flatnonzero(reviews.scored)
    reviewer, size = reviews.reviewer[rows], reviews.n_reviewers
    placed = quality[reviews.item[rows]]
    perceived, score = placed + noise[rows], reviews.score[rows]
    count = np.bincount(reviewer, minlength=size).astype(np.float64)
    count[count == 0] = np.nan

    def mean(value: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(reviewer, value, size) / count)

    spread = float(np.std(quality[np.isfinite(quality)])) or 1.0
    leniency = mean(score - placed) / spread
    off_quality, off_score = perceived - mean(perceived)[reviewer], score - mean(score)[reviewer]
    across = np.bincount(reviewer, off_quality**2, size)
    slope = np.divide(
        np.bincount(reviewer, off_quality * off_score, size), across, out=np.full(size, np.nan), where=across > 0
    )
    slope[slope <= 0] = np.nan  # constant scores
    typical = float(np.nanmedian(slope)) if np.isfinite(slope).any() else 1.0
    return Habits(leniency, slope / typical)
