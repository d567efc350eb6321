"""Standard errors of linear reviewers cover what they say at noise at which most slopes lie on their bound."""

import numpy as np
import pytest

import lsc
from lsc.simulation import simulate


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.5, 1.0])
def test_nine_in_ten_intervals_cover_nine_in_ten(noise: float) -> None:
    apart = []
    for seed in range(3):
        drawn = simulate(n_items=300, n_reviewers=300, load=5, noise=noise, seed=seed)
        found = lsc.calibrate(drawn.reviews, "linear")
        known = np.isfinite(found.standard_error)
        straight = np.polynomial.Polynomial.fit(drawn.truth[known], found.quality[known], 1)
        apart.append((found.quality - straight(drawn.truth))[known] / found.standard_error[known])
    assert 0.86 <= (np.abs(np.concatenate(apart)) < 1.645).mean() <= 0.94
