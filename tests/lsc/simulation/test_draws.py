"""The paper's linear setting."""

import numpy as np
import pytest

from lsc.simulation import linear_scores, simulate, true_qualities
from reviewgraph import InputError, doubly_connected_assignment


def test_true_qualities_have_the_mean_and_spread_of_the_paper() -> None:
    truth = true_qualities(100_000, np.random.default_rng(0))
    assert truth.mean() == pytest.approx(5.32, abs=0.02)
    assert truth.std() == pytest.approx(1.2, abs=0.02)
    assert truth.min() >= 0
    assert truth.max() <= 10


def test_slopes_and_offsets_follow_the_paper() -> None:
    who = np.repeat(np.arange(20_000), 2)
    scores = linear_scores(who, np.tile([0.0, 1.0], 20_000), np.random.default_rng(2)).reshape(-1, 2)
    slope, offset = scores[:, 1] - scores[:, 0], scores[:, 0]
    assert slope.mean() == pytest.approx(1.0, abs=0.02)
    assert slope.max() <= 2
    assert offset.std() == pytest.approx(2.0, abs=0.05)


def test_the_seed_decides_everything_and_assignments_may_be_given() -> None:
    one, two = (simulate(30, 30, 4, noise=0.3, seed=np.random.default_rng(4)) for _ in range(2))
    assert np.array_equal(one.reviews.score, two.reviews.score)
    given = doubly_connected_assignment(30, 20, 4, np.random.default_rng(5))
    taken = simulate(seed=np.random.default_rng(6), assignment=given).reviews
    assert np.array_equal(taken.item, given.item)
    assert taken.scored.all()
    with pytest.raises(InputError, match="noise: expected"):
        simulate(noise=-1.0, seed=np.random.default_rng(0))
