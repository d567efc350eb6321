"""Predicted scores, leave-one-out, draws of reviewers and fit statistics, against refits, integrals and simulation."""

from __future__ import annotations

import numpy as np
import pytest

from lsc._inference.beliefs import Posterior
from lsc._inference.inferring import infer
from lsc._inference.predicting import (
    Discrete,
    Levels,
    Mixture,
    predictive,
    quadrature,
)
from reviewgraph._base import FloatArray
from tests.lsc.inference.simulated_tables import Simulated, table
from tests.oracles.dense import slope_grid


def inferred(drawn: Simulated, weight: FloatArray | None = None) -> Posterior:
    return infer(drawn.who, drawn.what, drawn.score, int(drawn.who.max()) + 1, drawn.truth.size, weight=weight)[0]


@pytest.mark.parametrize("discrete", [False, True])
def test_distributions_have_the_moments_and_quantiles_of_draws(discrete: bool) -> None:
    mixture = Mixture(np.array([[0.3, 0.7]]), np.array([[1.0, 4.0]]), np.array([[0.5, 2.0]]))
    level = np.array([1.0, 2.0, 5.0])
    bound = np.array([1.5, 3.5])
    law = mixture.on_levels(Levels(level, bound)) if discrete else mixture
    rng = np.random.default_rng(0)
    latent = rng.normal(*np.where(rng.random(200_000) < 0.3, [[1.0], [0.5]], [[4.0], [2.0]]))
    # A level has the probability of its interval.
    values = level[np.searchsorted(bound, latent)] if discrete else latent
    assert (law.mean[0], law.sd[0]) == pytest.approx((values.mean(), values.std()), abs=0.02)
    for value in (0.7, 2.0, 5.0):
        assert law.cdf(np.array([value]))[0] == pytest.approx((values <= value).mean(), abs=0.006)
    for probability in (0.05, 0.5, 0.99):
        assert law.quantile(probability)[0] == pytest.approx(np.quantile(values, probability), abs=0.06)
    turned = law.mapped(2.0, -3.0)
    assert (turned.mean[0], turned.sd[0]) == pytest.approx((2 - 3 * law.mean[0], 3 * law.sd[0]))
    assert turned.cdf(np.array([-5.5])) == pytest.approx(1 - law.cdf(np.array([2.5])))


@pytest.mark.parametrize("kind", ["numbers", "levels"])
def test_held_out_scores_are_in_their_intervals_as_often_as_stated(kind: str) -> None:
    probability, of_new = [], []
    for seed in range(6):
        who, what, score, truth = table(seed, load=8)
        score = np.clip(np.rint(score / 2), 0, 5) if kind == "levels" else score
        kept = np.random.default_rng(seed).random(who.size) >= 0.15
        found = inferred(Simulated(who[kept], what[kept], score[kept], truth))
        test = ~kept & np.isfinite(found.mean[what])
        rng = np.random.default_rng(seed)
        for codes, values in ((who[test], probability), (np.full(test.sum(), 200), of_new)):
            law = predictive(found, codes, what[test])
            assert isinstance(law, Discrete) == (kind == "levels")
            upper = law.cdf(score[test])
            # Of levels, anywhere between the probabilities of lower scores and of these.
            if isinstance(law, Discrete):
                own = law.probability[np.arange(upper.size), law.value.searchsorted(score[test])]
                upper -= rng.random(upper.size) * own
            values.append(upper)
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
