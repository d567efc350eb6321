"""Expectation propagation against the exact posterior: dense integration of the smallest tables, Gibbs of small ones.

At the hyperparameters and noises of the inference. Papers that few reviewers join share an unknown level, which
marginal variances lack; means are right to a twentieth of their errors.
"""

import numpy as np
import pytest

from lsc._inference import fitting
from lsc._inference import joint as module
from lsc._inference.beliefs import Posterior
from lsc._inference.fitting import Population, fit
from lsc._inference.inferring import infer, problem_of
from lsc._inference.joint import conjugate_gradients, joint
from lsc._inference.step import WIDTH, Part, pieces_of, state_of
from reviewgraph._base import FloatArray
from tests.lsc.inference.simulated_tables import Simulated, table, tracks
from tests.oracles.dense import Exact, prior_precision, sample
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


@pytest.fixture(params=["random", "tracks"])
def posterior(request: pytest.FixtureRequest) -> Posterior:
    """Random or by track; of the first, an item has no score."""
    drawn = tracks(4, 60, 4, 10) if request.param == "tracks" else table(0, 60, 40, 5)
    return infer(drawn.who, drawn.what, drawn.score, int(drawn.who.max()) + 1, 61)


def covariance(posterior: Posterior) -> FloatArray:
    """Return the inverse of the precision of the linearised model, written out reviewer by reviewer."""
    population = posterior.population
    assert population is not None
    precision = prior_precision(posterior.reviewer, posterior.item, posterior.mean.size, population.kappa)
    for reviewer in np.unique(posterior.reviewer).tolist():
        own = posterior.item[posterior.reviewer == reviewer]
        slope = posterior.slope[reviewer]
        spread = population.tau * slope * (posterior.mean[own] + population.g1)
        scores = posterior.noise_variance[reviewer] * np.eye(own.size) + population.omega**2 + np.outer(spread, spread)
        precision[np.ix_(own, own)] += slope**2 * np.linalg.inv(scores)
    known = np.isfinite(posterior.mean)
    return np.asarray(np.linalg.inv(precision[np.ix_(known, known)]))


def correlated(matrix: FloatArray) -> FloatArray:
    sd = np.sqrt(np.diag(matrix))
    return np.asarray(matrix / np.outer(sd, sd))


def test_draws_and_differences_have_the_correlations_of_the_linear_model(posterior: Posterior) -> None:
    found, expected = joint(posterior), covariance(posterior)
    np.testing.assert_allclose(found.solve(np.eye(found.item.size)), expected, atol=1e-9)
    quality = found.draws(20_000, np.random.default_rng(0))
    assert (np.isnan(quality).all(axis=0) == np.isnan(posterior.mean)).all()
    # Marginal means and variances are those reported.
    quality, error = quality[:, found.item], posterior.standard_error[found.item]
    np.testing.assert_allclose(quality.mean(axis=0), posterior.quality[found.item], atol=0.04 * error.max())
    np.testing.assert_allclose(quality.std(axis=0) / error, 1.0, atol=0.03)
    correlation = correlated(expected)
    np.testing.assert_allclose(np.corrcoef(quality.T), correlation, atol=0.04)
    for a, b in ((0, 1), (3, 30), (10, 11)):
        assert found.correlation(*found.item[[a, b]].tolist()) == pytest.approx(correlation[a, b])


def test_correlations_are_near_the_exact_ones(posterior: Posterior) -> None:
    """Of a Gibbs sampler: half of its deviations are sampling errors."""
    assert posterior.population is not None
    known = np.flatnonzero(np.isfinite(posterior.mean))
    standard = posterior.scores.unit.standardised(posterior.scores.score)
    codes, noise, rng = (posterior.reviewer, posterior.item), posterior.state.nodes.noise, np.random.default_rng(0)
    draws = sample(*codes, standard, noise, posterior.population, 2500, rng).quality
    places = np.triu_indices(known.size, 1)
    exact, ours = np.corrcoef(draws[:, known].T)[places], correlated(covariance(posterior))[places]
    assert np.corrcoef(exact, ours)[0, 1] > 0.75
    assert ours.mean() == pytest.approx(exact.mean(), abs=0.02)


def test_conjugate_gradients_draw_as_the_factorisation_does(
    posterior: Posterior, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, inverse = joint(posterior), covariance(posterior)
    pair = found.item[[3, 40]].tolist()
    expected = found.correlation(*pair)
    monkeypatch.setattr(module, "DENSE", 0)
    large = joint(posterior)
    deviation = large._deviations(4000, np.random.default_rng(1))
    scale = np.sqrt(np.outer(np.diag(inverse), np.diag(inverse)))
    np.testing.assert_allclose(np.cov(deviation) / scale, inverse / scale, atol=0.09)
    # Variances need few draws: the conditional variance of each item is exact.
    ratio = large._variances(deviation[:, :64]) / np.diag(inverse)
    np.testing.assert_allclose(ratio, 1.0, atol=0.35)
    assert ratio.mean() == pytest.approx(1.0, abs=0.05)
    assert large.correlation(*pair) == pytest.approx(expected, abs=1e-5)


def test_conjugate_gradients_solve_columns_of_any_size() -> None:
    rng = np.random.default_rng(0)
    root = rng.standard_normal((30, 30))
    matrix = root @ root.T + np.diag(rng.uniform(1, 50, 30))
    right = rng.standard_normal((30, 4)) * np.array([1e-6, 1.0, 1e6, 0.0])
    found = conjugate_gradients(lambda x: matrix @ x, right, np.diag(matrix))
    np.testing.assert_allclose(found, np.linalg.solve(matrix, right), rtol=1e-4, atol=1e-12)


def test_without_signal_items_are_independent() -> None:
    who, what, _, truth = table(1, 60, 40, 4)
    plain = infer(who, what, truth[what] + np.random.default_rng(1).standard_normal(who.size), 40, 60)
    assert not plain.signal
    np.testing.assert_allclose(joint(plain).solve(np.eye(60)), np.diag(plain.variance), atol=1e-12)
    assert joint(plain).draws(0, np.random.default_rng(0)).shape == (0, 60)
