"""Predicted scores, leave-one-out, draws of reviewers and fit statistics, against refits, integrals and simulation."""

import numpy as np
import pytest

from lsc._inference.beliefs import Posterior
from lsc._inference.inferring import infer
from lsc.predictions import Mixture, prediction_of, predictive, quadrature
from reviewgraph._base import FloatArray
from tests.lsc.inference.simulated_tables import Simulated, table
from tests.oracles.dense import slope_grid


def inferred(drawn: Simulated, weight: FloatArray | None = None) -> Posterior:
    return infer(drawn.who, drawn.what, drawn.score, int(drawn.who.max()) + 1, drawn.truth.size, weight=weight)


def test_distributions_have_the_moments_and_quantiles_of_draws() -> None:
    law = prediction_of(Mixture(np.array([[0.3, 0.7]]), np.array([[1.0, 4.0]]), np.array([[0.5, 2.0]])))
    rng = np.random.default_rng(0)
    values = rng.normal(*np.where(rng.random(200_000) < 0.3, [[1.0], [0.5]], [[4.0], [2.0]]))
    assert (law.mean[0], law.sd[0]) == pytest.approx((values.mean(), values.std()), abs=0.02)
    for value in (0.7, 2.0, 5.0):
        assert law.cdf([value])[0] == pytest.approx((values <= value).mean(), abs=0.006)
    for level in (0.1, 0.5, 0.98):
        ends = np.quantile(values, [0.5 - level / 2, 0.5 + level / 2])
        assert law.interval(level)[0] == pytest.approx(ends, abs=0.06)


def test_held_out_scores_are_in_their_intervals_as_often_as_stated() -> None:
    probability, of_new = [], []
    for seed in range(6):
        who, what, score, truth = table(seed, load=8)
        kept = np.random.default_rng(seed).random(who.size) >= 0.15
        found = inferred(Simulated(who[kept], what[kept], score[kept], truth))
        test = ~kept & np.isfinite(found.mean[what])
        for codes, values in ((who[test], probability), (np.full(test.sum(), 200), of_new)):
            values.append(prediction_of(predictive(found, codes, what[test])).cdf(score[test].tolist()))
    for values in (probability, of_new):
        each = np.concatenate(values)
        # Of 1,400 scores: three standard errors, and a hundredth that hyperparameters are at their estimates.
        assert (np.abs(each - 0.5) < 0.45).mean() == pytest.approx(0.9, abs=0.034)
        assert each.mean() == pytest.approx(0.5, abs=0.03)


def test_a_new_reviewer_is_drawn_from_the_population() -> None:
    found = inferred(table(0))
    assert found.population is not None
    population = found.population._replace(tau_left=0.2, tau_right=0.5)
    at = quadrature(Posterior(**{**vars(found), "population": population}))
    line, prior = slope_grid(population.mu, 0.2, 0.5, 4001)
    share = np.exp(prior) / np.exp(prior).sum()
    slope = np.exp(line)
    level = found.state.nodes.noise.mean()
    assert level > population.pooled
    noise = level * np.exp(2 * population.rho * (line - population.mu))
    for ours, exact in ((at.slope, slope), (at.slope**2, slope**2), (at.noise, noise)):
        assert at.share[-1] @ ours[-1] == pytest.approx(share @ exact, rel=0.015)
