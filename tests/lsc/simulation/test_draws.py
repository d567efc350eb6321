"""The paper's linear setting."""

import numpy as np
import pytest

from lsc.simulation import linear_scores, true_qualities


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
