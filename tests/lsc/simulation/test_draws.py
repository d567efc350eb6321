"""The paper's linear setting."""

import numpy as np
import pytest

import lsc
from lsc.simulation import linear_scores, simulate, true_qualities
from reviewgraph import InputError, doubly_connected_assignment


def test_true_qualities_have_the_mean_and_spread_of_the_paper() -> None:
    truth = true_qualities(100_000, np.random.default_rng(0))
    assert truth.mean() == pytest.approx(5.32, abs=0.02)
    assert truth.std() == pytest.approx(1.2, abs=0.02)
    assert truth.min() >= 0
    assert truth.max() <= 10


def test_scores_are_linear_in_what_is_perceived() -> None:
    simulation = simulate(50, 40, 5, seed=np.random.default_rng(1))
    for j in range(40):
        mine = simulation.reviews.reviewer == j
        truth = simulation.truth[simulation.reviews.item[mine]]
        slope, offset = np.polyfit(truth, simulation.reviews.score[mine], 1)
        assert 0 <= slope <= 2
        np.testing.assert_allclose(slope * truth + offset, simulation.reviews.score[mine], atol=1e-9)


def test_slopes_and_offsets_follow_the_paper() -> None:
    who = np.repeat(np.arange(20_000), 2)
    scores = linear_scores(who, np.tile([0.0, 1.0], 20_000), np.random.default_rng(2)).reshape(-1, 2)
    slope, offset = scores[:, 1] - scores[:, 0], scores[:, 0]
    assert slope.mean() == pytest.approx(1.0, abs=0.02)
    assert slope.max() <= 2
    assert offset.std() == pytest.approx(2.0, abs=0.05)


def test_noise_lies_inside_the_scoring_function() -> None:
    """With noise the perceived quality, not the score, is clipped and disturbed."""
    still = simulate(200, 200, 5, seed=np.random.default_rng(3))
    noisy = simulate(200, 200, 5, noise=0.5, seed=np.random.default_rng(3))
    assert np.array_equal(still.truth, noisy.truth)
    assert not np.array_equal(still.reviews.score, noisy.reviews.score)


def test_the_seed_decides_everything_and_assignments_may_be_given() -> None:
    one, two = (simulate(30, 30, 4, noise=0.3, seed=np.random.default_rng(4)) for _ in range(2))
    assert np.array_equal(one.reviews.score, two.reviews.score)
    given = doubly_connected_assignment(30, 20, 4, np.random.default_rng(5))
    taken = simulate(seed=np.random.default_rng(6), assignment=given).reviews
    assert np.array_equal(taken.item, given.item)
    assert taken.scored.all()
    with pytest.raises(InputError, match="noise: expected"):
        simulate(noise=-1.0, seed=np.random.default_rng(0))


@pytest.mark.slow
@pytest.mark.parametrize(("hypothesis", "noise", "least"), [("linear", 0.0, 1.0), ("monotone", 0.0, 0.98)])
def test_the_best_tenth_is_found_without_noise(hypothesis: str, noise: float, least: float) -> None:
    simulation = simulate(noise=noise, seed=np.random.default_rng(7))
    chosen = set(lsc.calibrate(simulation.reviews, hypothesis).select(100))
    best = set(np.argsort(-simulation.truth)[:100].tolist())
    assert len(chosen & best) / 100 >= least
