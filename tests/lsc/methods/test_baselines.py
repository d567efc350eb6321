"""Baselines against dense linear algebra, brute force and what they must leave unchanged."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from lsc import baselines
from lsc.baselines import Variances, _marginal_variances, average, bayesian, centring, mixed_model, z_score
from lsc.errors import UndeterminedWarning
from lsc.simulation import simulate
from reviewgraph import Reviews


@st.composite
def tables(draw: st.DrawFn) -> Reviews:
    """Small tables with ties, single scores, items without a score and separate pieces."""
    n_items = draw(st.integers(1, 6))
    rows = []
    for reviewer in range(draw(st.integers(1, 5))):
        mine = sorted(draw(st.sets(st.integers(0, n_items - 1), min_size=1)))
        rows += [(reviewer, item, float(draw(st.integers(0, 4)))) for item in mine]
    return Reviews(rows, items=range(n_items + draw(st.integers(0, 1))))


def small(seed: int = 0, noise: float = 0.5) -> Reviews:
    return simulate(12, 9, 4, noise=noise, seed=np.random.default_rng(seed)).reviews


def indicators(reviews: Reviews) -> tuple[np.ndarray, np.ndarray]:
    return np.eye(reviews.n_items)[reviews.item], np.eye(reviews.n_reviewers)[reviews.reviewer]


@pytest.mark.slow
@pytest.mark.parametrize("method", [average, centring, z_score])
@given(reviews=tables())
def test_an_item_has_a_quality_if_and_only_if_it_has_a_score(method: object, reviews: Reviews) -> None:
    quality = method(reviews).quality  # type: ignore[operator]
    assert np.array_equal(np.isfinite(quality), reviews.reviews_per_item > 0)


def test_z_scores_ignore_the_scale_of_a_reviewer_and_centring_her_offset() -> None:
    reviews = small()
    first = reviews.reviewer == 0

    def changed(score: np.ndarray) -> Reviews:
        return Reviews.from_codes(reviews.reviewer, reviews.item, score, reviewers=9, items=12)

    shifted = changed(np.where(first, reviews.score + 3.0, reviews.score))
    scaled = changed(np.where(first, 5.0 * reviews.score + 3.0, reviews.score))
    assert centring(shifted).ranking() == centring(reviews).ranking()
    assert z_score(scaled).ranking() == z_score(reviews).ranking()
    assert centring(scaled).ranking() != centring(reviews).ranking()


def likelihood(reviews: Reviews, log_variances: np.ndarray) -> float:
    item, reviewer, noise = np.exp(log_variances)
    papers, reviewers = indicators(reviews)
    covariance = item * papers @ papers.T + reviewer * reviewers @ reviewers.T + noise * np.eye(reviews.n_reviews)
    score = reviews.score - reviews.score.mean()
    return float(np.linalg.slogdet(covariance)[1] + score @ np.linalg.solve(covariance, score))


def test_the_variances_maximise_the_marginal_likelihood() -> None:
    reviews = small()
    found = _marginal_variances(reviews, np.random.default_rng(0))
    best = minimize(lambda v: likelihood(reviews, v), np.zeros(3), method="Nelder-Mead", options={"xatol": 1e-6})
    assert likelihood(reviews, np.log(found)) == pytest.approx(best.fun, abs=1e-4)


def test_the_posterior_is_that_of_the_dense_gaussian_model(monkeypatch: pytest.MonkeyPatch) -> None:
    reviews = small()
    variances = Variances(1.5, 2.0, 0.5)
    monkeypatch.setattr(baselines, "_marginal_variances", lambda scored, rng: variances)
    monkeypatch.setattr(baselines, "SAMPLES", 4_000)
    papers, reviewers = indicators(reviews)
    counted = papers @ papers.T * variances.item + variances.noise * np.eye(reviews.n_reviews)
    covariance = counted + variances.reviewer * reviewers @ reviewers.T
    spread = papers / papers.sum(axis=0)
    mean = spread.T @ counted @ np.linalg.solve(covariance, reviews.score - reviews.score.mean())
    deviation = spread.T @ (counted - counted @ np.linalg.solve(covariance, counted)) @ spread
    drawn = np.random.default_rng(1).multivariate_normal(mean, deviation, 20_000)
    expected = np.bincount(np.argsort(-drawn, axis=1)[:, :3].ravel(), minlength=12) / 20_000
    found = bayesian(reviews, 3, seed=0)
    assert found.posterior_mean == pytest.approx(reviews.score.mean() + mean, abs=1e-4)
    assert found.quality == pytest.approx(expected, abs=0.035)
    assert found.quality.sum() == pytest.approx(3.0, abs=0.01)


def test_the_additive_model_without_a_variance_of_papers_is_the_average() -> None:
    rng = np.random.default_rng(1)
    rows = [(j, i, float(rng.integers(1, 6))) for j in range(10) for i in rng.choice(15, 4, replace=False).tolist()]
    reviews = Reviews(rows)
    with pytest.warns(UndeterminedWarning, match="additive: the variance of papers is estimated as 0"):
        found = mixed_model(reviews)
    assert found.quality.tolist() == average(reviews).quality.tolist()
    assert np.ptp(found.quality) > 1
