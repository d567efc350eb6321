"""Joint draws and differences of qualities against the dense inverse and a Gibbs sampler."""

import numpy as np
import pytest

from lsc._inference import joint as module
from lsc._inference.beliefs import Posterior
from lsc._inference.inferring import infer
from lsc._inference.joint import conjugate_gradients, joint
from reviewgraph._base import FloatArray
from tests.lsc.inference.simulated_tables import table, tracks
from tests.oracles.dense import prior_precision
from tests.oracles.gibbs import sample


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
