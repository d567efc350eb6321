"""Expectation propagation against the exact posterior: dense integration of the smallest tables, Gibbs of small ones.

At the hyperparameters and noises of the inference. Papers that few reviewers join share an unknown level, which
marginal variances lack; means are right to a twentieth of their errors.
"""

import numpy as np
import pytest

from lsc._inference import fitting
from lsc._inference.fitting import Population, fit
from lsc._inference.inferring import infer, problem_of
from lsc._inference.step import WIDTH, Part, pieces_of, state_of
from tests.lsc.inference.simulated_tables import Simulated, table, tracks
from tests.oracles.dense import Exact
from tests.oracles.gibbs import sample
from tests.trials import NIGHTLY, sampled

PLAIN = Population(tau_left=0.3, tau_right=0.3, g0=0.1, g1=0.2, omega=0.6, pooled=0.2, freedom=1e12, rounding=0.01)
SKEWED = Population(tau_left=0.2, tau_right=0.6, omega=1.0, pooled=0.5, freedom=1e12, rho=1.0)


@pytest.mark.parametrize("population", [PLAIN, SKEWED], ids=["plain", "skewed"])
@pytest.mark.parametrize(("n_reviewers", "n_items", "points"), [(2, 2, 61), (2, 6, 41), (3, 6, 21)])
def test_the_smallest_tables_agree_with_dense_integration(
    population: Population, n_reviewers: int, n_items: int, points: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fitting, "TOLERANCE", 1e-5)
    who, what = np.divmod(np.arange(n_reviewers * n_items), n_items)
    off = []
    for seed in range(8 if NIGHTLY else 2):
        rng = np.random.default_rng(seed)
        score = population.omega * rng.standard_normal(n_reviewers)[who] + 0.7 * rng.standard_normal(n_items)[what]
        score += np.sqrt(population.pooled) * rng.standard_normal(who.size)
        part = Part(np.arange(n_reviewers + 1) * n_items, what.astype(np.int32), score, np.empty(0))
        found = fit(problem_of(pieces_of(state_of(part), n_items)), population, learn=False)
        exact = Exact(who, what, score, np.full(n_reviewers, population.pooled), population, points)
        mean, covariance = exact.moments()
        sd = np.sqrt(np.diag(covariance))
        np.testing.assert_allclose(found.items.shift / found.items.precision, mean[:n_items], atol=0.06 * sd.max())
        np.testing.assert_allclose(found.items.precision**-0.5 / sd[:n_items], 0.93, atol=0.1)
        off.append(found.evidence - exact.evidence)
        # Reviewers, too: means and variances of slopes and offsets.
        moments = found.moments[0]
        np.testing.assert_allclose(moments.log_slope, mean[n_items + n_reviewers :], atol=0.03)
        np.testing.assert_allclose(moments.offset, mean[n_items : n_items + n_reviewers], atol=0.03)
        spread = np.sqrt(moments.offset_square - moments.offset**2)
        np.testing.assert_allclose(spread / sd[n_items : n_items + n_reviewers], 0.88, atol=0.14)
    # Circles cost some tenths of the log evidence.
    assert -0.4 < np.mean(off) <= 0.01


#: Name, table and reviewers; the least and most ratio of our standard deviations to those of the sampler.
CASES = [
    ("sparse", table(0, 60, 40, 5), 40, (0.95, 1.02)),
    ("pairs", table(2, 40, 40, 3, slope=0.6), 40, (0.97, 1.03)),
    ("tracks", tracks(4, 60, 4, 10), 60, (0.8, 0.92)),
    ("own noise", table(1, 40, 20, 12, own=0.6), 20, (0.83, 0.92)),
]


@pytest.mark.parametrize(("drawn", "n_reviewers", "within"), sampled([case[1:] for case in CASES], 3, several=True))
def test_means_and_errors_are_those_of_a_gibbs_sampler(
    drawn: Simulated, n_reviewers: int, within: tuple[float, float]
) -> None:
    who, what, score, _ = drawn
    found = infer(who, what, score, n_reviewers, drawn.truth.size)
    assert found.population is not None
    noise, standard = found.state.nodes.noise, found.scores.unit.standardised(score)
    sweeps = 8000 if NIGHTLY else 1500
    draws = sample(who, what, standard, noise, found.population, sweeps, np.random.default_rng(0))
    mean, sd = draws.quality.mean(axis=0), draws.quality.std(axis=0)
    assert np.corrcoef(found.mean, mean)[0, 1] > 0.999
    # A chain this long knows means to some hundredths of their errors.
    assert np.sqrt((((found.mean - mean) / sd) ** 2).mean()) < (0.08 if NIGHTLY else 0.14)
    assert within[0] < (np.sqrt(found.variance) / sd).mean() < within[1]
    off = (found.offset - draws.offset.mean(axis=0)) / draws.offset.std(axis=0)
    assert np.sqrt((off**2).mean()) < (0.09 if NIGHTLY else 0.16)
    slope = np.exp(draws.log_slope)
    off = (found.slope - slope.mean(axis=0)) / slope.std(axis=0)
    assert np.sqrt((off**2).mean()) < (0.03 if NIGHTLY else 0.07)
    log_slope_sd = np.log(found.reviewers.stretch.high / found.reviewers.stretch.low) / (2 * WIDTH)
    assert (log_slope_sd / draws.log_slope.std(axis=0)).mean() == pytest.approx(1.0, abs=0.04)
    assert (found.kappa > 0) == (within == CASES[2][3])
