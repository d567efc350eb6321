"""Baselines and the quadratic programme against dense linear algebra, brute force and the programme as written."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import kendalltau

from lsc import baselines
from lsc.baselines import (
    Variances,
    _marginal_variances,
    average,
    bayesian,
    centring,
    mixed_model,
    quadratic_programme,
    z_score,
)
from lsc.errors import SolverFailed, UndeterminedWarning
from lsc.simulation import simulate
from reviewgraph import InputError, Reviews
from tests.trials import examples


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


#: The largest times the shift still has finite sums: plain averages overflow beyond 1e308.
SIZES = [1e-90, 1e-8, 1.0, 1e8, 1e90]


@st.composite
def hard_tables(draw: st.DrawFn) -> Reviews:
    """Ties, single scores, constant reviewers, hubs, separate pieces; scores of one size, or of one a reviewer."""
    n_items = draw(st.integers(1, 8))
    hub = draw(st.booleans())
    sizes = st.just(draw(st.sampled_from(SIZES))) if draw(st.booleans()) else st.sampled_from(SIZES)
    rows = []
    for reviewer in range(draw(st.integers(1, 7))):
        mine = draw(st.sets(st.integers(0, n_items - 1), min_size=1, max_size=4)) | ({0} if hub else set())
        size, shift = draw(sizes), draw(st.sampled_from([0.0, -5.0, 1e8]))
        highest = draw(st.sampled_from([0, 1, 5]))
        rows += [(reviewer, item, size * (shift + draw(st.integers(0, highest)))) for item in sorted(mine)]
    return Reviews(rows, items=range(n_items + draw(st.integers(0, 1))))


def rows_of(reviews: Reviews, name: str = "") -> list[tuple[str, str, float]]:
    columns = (reviews.reviewer.tolist(), reviews.item.tolist(), reviews.score.tolist())
    return [(f"{name}{j:02}", f"{name}{i:02}", y) for j, i, y in zip(*columns, strict=True)]


@pytest.mark.filterwarnings("ignore::reviewgraph.graph.ColumnWarning")
@pytest.mark.slow
@pytest.mark.parametrize("bounded", [False, True])
@examples(16)
@given(reviews=hard_tables())
def test_it_gives_every_scored_item_a_finite_quality_or_with_bounds_may_refuse(bounded: bool, reviews: Reviews) -> None:
    refusals = (SolverFailed, InputError) if bounded else ()
    try:
        quality = quadratic_programme(reviews, bounded=bounded).quality
    except refusals:
        reject()
    assert np.array_equal(np.isfinite(quality), reviews.reviews_per_item > 0)


@pytest.mark.parametrize("size", [1e-300, 1e-8, 1e8, 1e12, 1e90])
def test_the_size_of_scores_is_that_of_qualities(size: float) -> None:
    reviews = small()
    other = Reviews([(j, i, size * y) for j, i, y in rows_of(reviews)])
    expected = quadratic_programme(Reviews(rows_of(reviews))).quality
    assert quadratic_programme(other).quality / size == pytest.approx(expected, abs=1e-6)


def test_separate_groups_do_not_touch_each_other() -> None:
    one, two = rows_of(small(1), "a"), rows_of(small(2, noise=0.0), "b")
    apart = [quadratic_programme(Reviews(rows)).quality for rows in (one, two)]
    assert quadratic_programme(Reviews([*one, *two])).quality == pytest.approx(np.concatenate(apart), abs=1e-4)


@pytest.mark.parametrize("papers", [["00"], ["00", "01", "02"]])
def test_a_reviewer_whose_scores_are_alike_does_not_take_the_scale(papers: list[str]) -> None:
    rows = rows_of(small())
    quality = quadratic_programme(Reviews([*rows, *[("99", paper, 3.0) for paper in papers]])).quality
    assert kendalltau(quality, quadratic_programme(Reviews(rows)).quality).statistic > 0.5
    assert np.ptp(quality) > 0.5


@pytest.mark.parametrize("bounded", [False, True])
def test_the_quadratic_programme_is_that_of_roos_as_written(bounded: bool) -> None:
    reviews = small()
    p, q, x = cp.Variable(9), cp.Variable(9), cp.Variable(12)
    papers, reviewers = indicators(reviews)
    residual = cp.multiply(reviewers @ p, reviews.score) - reviewers @ q - papers @ x
    constraints = [p >= 0, cp.sum(p) == 9]
    constraints += [x >= 0, x <= 100, q >= -10] if bounded else []
    cp.Problem(cp.Minimize(cp.sum_squares(residual)), constraints).solve(solver=cp.CLARABEL)
    found = quadratic_programme(reviews, bounded=bounded).quality
    assert found - found.mean() == pytest.approx(x.value - x.value.mean(), abs=1e-4)


def test_without_bounds_noiseless_linear_scores_are_recovered_and_with_the_codes_bounds_not_always() -> None:
    """The bounds of the paper's code, not its text, are why its table gives QP less than 100 % without noise."""
    truths = []
    for seed in range(4):
        simulation = simulate(60, 60, 5, seed=np.random.default_rng(seed))
        free, bound = (quadratic_programme(simulation.reviews, bounded=bounded).quality for bounded in (False, True))
        truths.append([kendalltau(quality, simulation.truth).statistic for quality in (free, bound)])
    free, bound = np.array(truths).T
    assert free == pytest.approx(1.0, abs=1e-3)
    assert bound.min() < 0.99
