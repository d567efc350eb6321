"""The check of the model in the report: shares within intervals, and spreads of the scores of reviewers."""

from __future__ import annotations

import numpy as np
import pytest

from lsc._inference.predicting import new_scores, predicted_spread
from lsc.model_check import LEVELS, coverage_table, model_check, spreads
from lsc.posteriors import PosteriorEstimate, posterior
from reviewgraph import Reviews
from tests.lsc.inference.simulated_tables import table


@pytest.fixture(scope="module")
def found() -> PosteriorEstimate:
    who, what, score, _ = table(0, n_items=100, n_reviewers=60, load=8)
    # Reviewer 5 tosses coins between the ends of the scale.
    score[who == 5] = np.where(np.random.default_rng(1).random(8) < 0.5, score.min(), score.max())
    return posterior(Reviews.from_codes(who, what, score, reviewers=60, items=100))


def test_the_table_counts_scores_outside_on_either_side(found: PosteriorEstimate) -> None:
    shown = {column.name: column.values for column in coverage_table(found).columns}
    probability = found.residuals().probability
    for place, level in enumerate(LEVELS):
        tail = (100 - level) / 200
        assert shown["below, %"][place] == pytest.approx(100 * np.mean(probability < tail))
        assert shown["above, %"][place] == pytest.approx(100 * np.mean(probability > 1 - tail))
        assert shown["scores within, %"][place] == pytest.approx(100 * found.residuals().within(level / 100), abs=1e-9)
        assert shown["+-"][place] == pytest.approx(100 * np.sqrt(level / 100 * (1 - level / 100) / probability.size))
        assert abs(shown["scores within, %"][place] - level) < 4


def test_spreads_are_those_of_the_scores_and_of_new_ones(found: PosteriorEstimate) -> None:
    predicted, observed, low, high = spreads(found)
    reviews = found.reviews
    for code in (0, 5, 17):
        rows = np.flatnonzero(reviews.reviewer == code)
        assert observed[code] == pytest.approx(np.std(reviews.score[rows], ddof=1))
        # New scores, drawn from predictions of the pairs without the common offset, which no spread contains.
        new = found.predict([code] * rows.size, reviews.item[rows].tolist())
        own = predicted_spread(found.beliefs)[0, code]
        most = np.sqrt(np.var(new.mean, ddof=1) + np.mean(new.sd**2))
        offset = (found.reviewers.severity.high - found.reviewers.severity.low)[code] / (2 * 1.6449)
        assert predicted[code] == own
        assert most**2 - 2 * offset**2 < own**2 < most**2 * 1.02
    # The ranges hold the stated share of new scores.
    beliefs = found.beliefs
    new = new_scores(beliefs, found.draws(400), np.random.default_rng(0))
    for code in (0, 5, 17):
        spread = new[:, reviews.reviewer == code].std(axis=1, ddof=1)
        assert np.sqrt((spread**2).mean()) == pytest.approx(predicted[code], rel=0.08)
        assert np.mean((low[code] < spread) & (spread < high[code])) == pytest.approx(0.9, abs=0.07)
    inside = (low < observed) & (observed < high)
    assert inside.mean() == pytest.approx(0.9, abs=0.12)
    # The spread of a reviewer of random scores is in the noise of that reviewer.
    assert predicted[5] > 1.5 * np.median(predicted)


def test_the_picture_marks_who_is_outside(found: PosteriorEstimate) -> None:
    prose, shares, picture = model_check(found).parts
    _, observed, low, high = spreads(found)
    outside = int(((observed < low) | (observed > high)).sum())
    assert f"{outside} reviewer" in picture.words
    assert "60 reviewers with 3 or more" in picture.words
    assert len(shares) == len(LEVELS)
    assert picture.name == "spreads"
    assert found.plot("spreads").title == picture.title
    assert "leave-one-out" in prose.paragraphs[0]
