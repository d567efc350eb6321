"""Whether the model describes the scores: each against its prediction from all others, and spreads by reviewer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lsc._inference.predicting import predicted_spread
from lsc.posteriors import PosteriorEstimate
from reviewgraph._base import counted, order_of
from reviewgraph.report import Column, Compared, Picture, Prose, Section, Table, compared

if TYPE_CHECKING:
    from lsc.estimate import Estimate
    from reviewgraph._base import FloatArray


#: Levels of the intervals that are checked, in percent, and scores of a reviewer from which a spread is compared.
LEVELS = (50, 80, 90, 95)
LEAST_SPREAD = 3
#: Number of reviewers with a label in the picture.
LABELLED = 10


def model_check(result: Estimate) -> Section:
    """Return the table of shares of scores within their intervals, and the picture of spreads."""
    if not isinstance(result, PosteriorEstimate) or not np.isfinite(result.residuals().raw).any():
        return Section("model", "Model check", [])
    words = (
        "If the model describes the scores, the stated share of them lies in the intervals that all other scores "
        "predict (leave-one-out), up to chance."
    )
    return Section("model", "Model check", [Prose([words]), coverage_table(result), *_spreads(result)])


def coverage_table(result: PosteriorEstimate) -> Table:
    """Return a row for each level: the share of scores within their predicted intervals, and outside on either side."""
    residuals = result.residuals()
    size = int(np.isfinite(residuals.raw).sum())
    tails = [0.5 - level / 200.0 for level in LEVELS]
    below, above = (
        [100 * residuals.share(*ends(tail)) for tail in tails] for ends in (lambda t: (0.0, t), lambda t: (1 - t, 1.0))
    )
    columns = [
        Column("interval", [f"{level} %" for level in LEVELS]),
        Column("scores within, %", [100 - low - high for low, high in zip(below, above, strict=True)], "number", 1),
        Column("+-", [(level * (100.0 - level) / size) ** 0.5 for level in LEVELS], "number", 1),
        Column("below, %", below, "number", 1),
        Column("above, %", above, "number", 1),
    ]
    caption = (
        f"Shares of {counted(size, 'score')} within their predicted intervals, with the standard error of "
        "independent scores, and outside"
    )
    return Table("coverage", caption, columns, "intervals", live=False)


def _spreads(result: PosteriorEstimate) -> list[Picture]:
    """Return the picture of observed and predicted spreads of the scores of each reviewer, if there are several."""
    predicted, observed, low, high = spreads(result)
    codes = np.flatnonzero(np.isfinite(predicted) & np.isfinite(observed))
    if codes.size < 2:
        return []
    outside = ((observed < low) | (observed > high))[codes]
    far = np.abs(np.log(np.maximum(observed, 1e-9) / np.maximum(predicted, 1e-9)))[codes]
    ends = [place for place in order_of(-far).tolist() if outside[place]][:LABELLED]
    points = Compared(
        predicted[codes],
        observed[codes],
        low[codes],
        high[codes],
        ["diamond" if out else "dot" for out in outside.tolist()],
        [str(result.reviews.reviewers[j]) for j in codes.tolist()],
        ends,
    )
    words = (
        f"The standard deviation of the scores of {counted(codes.size, 'reviewer')} with {LEAST_SPREAD} or more, "
        "and the one predicted for new scores of the same papers; the lines are ranges with probability 90 % under the "
        f"model. {counted(int(outside.sum()), 'reviewer is', 'reviewers are')} outside."
    )
    return [
        Picture(
            "spreads",
            "Spread of the scores, observed and predicted",
            words,
            lambda width: compared(
                points,
                width,
                "predicted standard deviation",
                "observed",
                [("dot", "reviewer"), ("diamond", "outside the range")],
            ),
        )
    ]


def spreads(result: PosteriorEstimate) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return predicted and observed standard deviations of the scores of each reviewer, and the ends of 90 % ranges.

    Shapes (M,), in points; NaN below three scores. Ranges are those of sample variances of new scores.
    """
    reviews = result.modelled.only_scored()
    count = reviews.loads
    predicted, low, high = predicted_spread(result.beliefs)
    few = count < LEAST_SPREAD
    mean = np.bincount(reviews.reviewer, reviews.score, count.size) / np.maximum(count, 1)
    square = np.bincount(reviews.reviewer, (reviews.score - mean[reviews.reviewer]) ** 2, count.size)
    observed = np.sqrt(square / np.maximum(count - 1, 1))
    predicted, observed, low, high = (np.where(few, np.nan, value) for value in (predicted, observed, low, high))
    return predicted, observed, low, high
