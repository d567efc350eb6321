"""Predictions, residuals and draws as users see them: labels, direction of the scores, groups, errors."""

import numpy as np
import pytest
from scipy.stats import norm

from lsc.posteriors import PosteriorEstimate, posterior
from reviewgraph import Reviews
from tests.lsc.inference.simulated_tables import table

pytestmark = pytest.mark.usefixtures("infer_once")


def estimate(*, turned: bool = False) -> PosteriorEstimate:
    who, what, score, _ = table(0, n_items=60, n_reviewers=40, load=6, own=0.5)
    sizes = {"reviewers": 40, "items": 60}
    return posterior(Reviews.from_codes(who, what, -score if turned else score, lower_is_better=turned, **sizes))


def test_predictions_are_in_the_direction_of_the_scores() -> None:
    one, other = estimate(), estimate(turned=True)
    first, second = (of.predict([0, 3, None], [5, 5, 7]) for of in (one, other))
    assert second.mean == pytest.approx(-first.mean)
    assert second.sd == pytest.approx(first.sd)
    assert second.interval(0.8) == pytest.approx(-first.interval(0.8)[:, ::-1])
    assert second.cdf(-5.0) == pytest.approx(1 - first.cdf(5.0))


def test_ignored_reviewers_are_new_ones() -> None:
    who, what, score, _ = table(1, n_items=60, n_reviewers=40, load=6)
    rows = [*zip(who.tolist(), what.tolist(), score.tolist(), strict=True), *((99, k, 5.0) for k in range(12))]
    reviews = Reviews([*rows, (0, 77, None)])
    found = posterior(reviews)
    # An ignored reviewer is predicted as a new one.
    assert found.predict(99, 5).mean == pytest.approx(found.predict(None, 5).mean)
    assert np.isnan(found.misfit.p_value[reviews.reviewer_code[99]])


def test_ranks_of_draws_agree_with_probabilities_of_pairs_and_of_the_best() -> None:
    found = estimate()
    drawn = found.draws(8000, seed=5)
    rank = 1 + (-drawn).argsort(axis=1).argsort(axis=1)
    for n in (1, 6, 20):
        assert (rank <= n).mean(axis=0) == pytest.approx(found.probability_in_top(n), abs=0.06)
    better = [found.difference(other, 10).probability for other in range(60) if other != 10]
    assert rank[:, 10].mean() == pytest.approx(1 + sum(better), abs=0.6)
    difference = found.difference(0, 10)
    chance = found.difference(0, 10).probability
    assert chance == pytest.approx(norm.cdf(difference.mean / difference.standard_error))
    assert chance == pytest.approx(1 - found.difference(10, 0).probability)
    assert chance == pytest.approx((drawn[:, 0] > drawn[:, 10]).mean(), abs=0.02)


def test_the_error_of_a_difference_knows_what_papers_share() -> None:
    """Two papers of one severe or lenient reviewer alone: their errors are those of the severity, which cancels."""
    who, what, score, _ = table(2, n_items=40, n_reviewers=30, load=5, offset=2.0)
    rows = [*zip(who.tolist(), what.tolist(), score.tolist(), strict=True), *((99, 100 + k, k) for k in range(3))]
    found = posterior(Reviews(rows))
    drawn = found.draws(8000, seed=1)[:, [found.items.index(101), found.items.index(102)]]
    assert np.corrcoef(drawn.T)[0, 1] > 0.3
    error = found.difference(101, 102).standard_error
    assert (drawn[:, 0] - drawn[:, 1]).std() == pytest.approx(error, rel=0.05)
