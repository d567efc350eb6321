"""Noiseless scores give back the truth, and the answer says when they cannot."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import lsc
from lsc.simulation import simulate
from reviewgraph import Reviews
from reviewgraph.graph import doubly_connected_assignment, random_assignment, recoverability
from tests.lsc.certificates import Rule, violations
from tests.trials import examples


def aligned(quality: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return qualities, shifted and scaled to fit the truth best."""
    slope, offset = np.polyfit(quality, truth, 1)
    assert slope > 0
    return slope * quality + offset


@pytest.mark.parametrize("n", [10, 100, 1000])
@pytest.mark.parametrize("design", ["doubly connected", "random"])
def test_noiseless_linear_scores_are_recovered(n: int, design: str) -> None:
    rng = np.random.default_rng(n)
    draw = doubly_connected_assignment if design == "doubly connected" else random_assignment
    assignment = draw(n, n, 5, rng)
    assert recoverability(assignment).recoverable
    simulation = simulate(noise=0.0, seed=rng, assignment=assignment)
    result = lsc.calibrate(simulation.reviews)
    assert result.status == "optimal"
    assert result.unique
    assert result.undetermined == []
    tolerance = 1e-8 * np.ptp(simulation.truth)
    assert_allclose(aligned(result.quality, simulation.truth), simulation.truth, atol=tolerance)


@pytest.mark.slow
@examples(32)
@given(seed=st.integers(0, 2**32 - 1))
def test_unique_without_noise_exactly_where_the_graph_is_recoverable(seed: int) -> None:
    """Scores drawn anew are generic, so that the graph decides."""
    rng = np.random.default_rng(seed)
    n_items, n_reviewers = int(rng.integers(2, 14)), int(rng.integers(1, 12))
    load = int(rng.integers(1, min(n_items, 5) + 1))
    design = random_assignment(n_items, n_reviewers, load, rng)
    truth = rng.normal(size=n_items)
    slope, offset = rng.uniform(0.5, 2, n_reviewers), rng.normal(size=n_reviewers)
    score = slope[design.reviewer] * truth[design.item] + offset[design.reviewer]
    reviews = Reviews.from_codes(design.reviewer, design.item, score, reviewers=n_reviewers, items=n_items)
    result = lsc.calibrate(reviews)
    recoverable = recoverability(reviews).recoverable
    assert result.unique == recoverable
    assert result.objective == pytest.approx(0.0, abs=1e-16)
    if recoverable:
        assert result.undetermined == []
        # small random graphs come as badly conditioned as one likes
        matrix = np.linalg.cond(_laplacian(reviews, truth) + _trivial(truth))
        assert_allclose(aligned(result.quality, truth), truth, atol=1e-8 * np.ptp(truth) + 1e-12 * matrix)
    else:
        assert result.undetermined or result.group.max() > 1


def _laplacian(reviews: Reviews, truth: np.ndarray) -> np.ndarray:
    matrix = np.zeros((truth.size, truth.size))
    for j in range(reviews.n_reviewers):
        items = reviews.items_of(j)
        design = np.column_stack([np.ones(items.size), truth[items]])
        matrix[np.ix_(items, items)] += np.eye(items.size) - design @ np.linalg.pinv(design)
    return matrix


def _trivial(truth: np.ndarray) -> np.ndarray:
    basis, _ = np.linalg.qr(np.column_stack([np.ones(truth.size), truth]))
    return basis @ basis.T


@pytest.mark.parametrize("length", [10, 60])
def test_chains_are_recovered_as_well_as_their_condition_allows(length: int) -> None:
    """Every reviewer shares two items with the one before."""
    rng = np.random.default_rng(length)
    truth = rng.uniform(0, 10, length + 2)
    slope, offset = rng.uniform(0.5, 2, length), rng.normal(size=length)
    rows = [(j, j + i, slope[j] * truth[j + i] + offset[j]) for j in range(length) for i in range(3)]
    reviews = Reviews(rows)
    result = lsc.calibrate(reviews)
    condition = np.linalg.cond(_laplacian(reviews, truth) + _trivial(truth))
    assert result.status == "optimal"
    assert_allclose(aligned(result.quality, truth), truth, atol=max(1e-12 * condition, 1e-10))


@pytest.mark.parametrize("hypothesis", ["monotone", "convex", "concave"])
def test_wider_classes_choose_the_straight_explanation_where_there_is_one(hypothesis: str) -> None:
    simulation = simulate(100, 100, 5, seed=np.random.default_rng(5))
    result = lsc.calibrate(simulation.reviews, hypothesis)
    assert not result.unique
    assert_allclose(aligned(result.quality, simulation.truth), simulation.truth, atol=1e-3)


def test_slopes_near_the_bound_and_badly_conditioned_graphs_are_solved() -> None:
    rng = np.random.default_rng(7)
    assignment = doubly_connected_assignment(300, 105, 5, rng)
    reviews = simulate(noise=0.3, seed=rng, assignment=assignment).reviews
    for max_slope in (0.5, 2.0, 1e4):
        result = lsc.calibrate(reviews, max_slope=max_slope)
        assert result.status == "optimal"
        assert result.is_optimal(1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("hypothesis", ["linear", "monotone"])
@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_a_graph_with_the_smallest_eigenvalue_near_a_ten_millionth(hypothesis: str, noise: float) -> None:
    """Algorithm 3 with few reviewers: beyond shift and scale, quality can move at hardly any cost."""
    rng = np.random.default_rng(0)
    simulation = simulate(noise=noise, seed=rng, assignment=doubly_connected_assignment(600, 205, 5, rng))
    reviews, truth = simulation.reviews, simulation.truth
    eigenvalues = np.linalg.eigvalsh(_laplacian(reviews, truth))
    assert eigenvalues[1] <= 1e-13 <= 1e-8 <= eigenvalues[2] <= 1e-6
    result = lsc.calibrate(reviews, hypothesis)
    programme, row, quality, perceived, *_ = result.solution
    eps = np.empty(row.size)
    eps[row] = perceived - quality[programme.item]
    scores = list(zip(reviews.reviewer.tolist(), reviews.item.tolist(), reviews.score.tolist(), strict=True))
    rules = {j: Rule(hypothesis, 10.0) for j in range(reviews.n_reviewers)}
    assert result.status == "optimal"
    assert result.is_optimal(1e-8)
    assert max(violations(scores, rules, {}, quality, eps)) <= 1e-8 * np.ptp(quality)
    if hypothesis == "linear" and noise == 0.0:
        assert_allclose(aligned(result.quality, truth), truth, atol=1e-12 / eigenvalues[2])


def test_the_bound_only_scales() -> None:
    reviews = simulate(60, 60, 5, noise=0.5, seed=np.random.default_rng(8)).reviews
    ten, two = lsc.calibrate(reviews), lsc.calibrate(reviews, max_slope=2.0)
    assert two.objective == pytest.approx(25 * ten.objective, rel=1e-9)
    assert_allclose(two.quality, ten.quality, atol=1e-7)
