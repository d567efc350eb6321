"""The posterior against long chains of the naive sampler. Run: pytest tests/benchmarks/test_posterior_gibbs.py

Claim: means and standard errors as close as in the tests where reviewers use the scale, a little less close where some
only order, for mixtures are not normal.
"""

import pytest

from tests.lsc.inference.test_against_gibbs import ORDERING, OWN_NOISE, SCALE_USERS, against


@pytest.mark.parametrize(
    ("drawn", "n_reviewers", "most"),
    [(*SCALE_USERS, 0.05), (*OWN_NOISE, 0.05), (*ORDERING, 0.2)],
    ids=["scale users", "own noise", "some only order"],
)
def test_against_long_chains(drawn, n_reviewers, most) -> None:
    _, off, ratio = against(drawn, n_reviewers, 5000)
    assert off < most
    assert abs(ratio.mean() - 1) < 0.05
