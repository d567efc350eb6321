"""Time of the posterior of qualities.

Claim: near-linear growth with the reviews; 5,000 reviews in a third of a second once warm, where nothing is compiled.
It should lose time where reviewers have a noise of their own (three times the nodes) and where some only order (a pass
over a grid for each reviewer). Run with ``pytest tests/benchmarks/test_posterior.py --benchmark-only``.

And, without ``--benchmark-only``, its means and standard errors against long chains of the naive sampler: as close as
in the tests where reviewers use the scale, a little less close where some only order (mixtures are not normal).
"""

import numpy as np
import pytest

from lsc.inference.inferring import infer
from reviewgraph.designs import random_assignment
from tests.lsc.inference.test_against_gibbs import ORDERING, OWN_NOISE, SCALE_USERS, against


def scores(n, load=5, seed=0):
    """Offsets, slopes and noise of a conference of n papers and n reviewers."""
    rng = np.random.default_rng(seed)
    design = random_assignment(n, n, load, rng)
    truth, slope, offset = rng.standard_normal(n), rng.lognormal(0, 0.3, n), rng.normal(0, 0.8, n)
    score = offset[design.reviewer] + slope[design.reviewer] * truth[design.item]
    return design.reviewer, design.item, score + 0.6 * rng.standard_normal(score.size), n, n


@pytest.mark.parametrize("n", [1000, 2000, 4000, 8000])
def test_infer(benchmark, n) -> None:
    arguments = scores(n)
    found = benchmark.pedantic(infer, arguments, rounds=2, warmup_rounds=1)
    benchmark.extra_info.update(reviews=found.item.size, sweeps=found.sweeps, status=found.status.value)
    assert found.signal


@pytest.mark.parametrize(
    ("drawn", "n_reviewers", "most"),
    [(*SCALE_USERS, 0.05), (*OWN_NOISE, 0.05), (*ORDERING, 0.2)],
    ids=["scale users", "own noise", "some only order"],
)
def test_against_long_chains(drawn, n_reviewers, most) -> None:
    _, off, ratio = against(drawn, n_reviewers, 5000)
    assert off < most
    assert abs(ratio.mean() - 1) < 0.05
