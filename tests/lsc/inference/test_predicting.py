"""Predicted scores, leave-one-out, draws of reviewers and fit statistics, against refits, integrals and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import kstest

from lsc._inference import fitting
from lsc._inference.beliefs import Posterior
from lsc._inference.fitting import fit
from lsc._inference.inferring import infer, problem_of
from lsc._inference.kernels.step import describe_reviewers
from lsc._inference.parts import pieces_of, state_of
from lsc._inference.predicting import (
    Discrete,
    Levels,
    Mixture,
    leave_one_out,
    predictive,
    quadrature,
)
from lsc._inference.step import NODES, Gauge, Part, Quadrature
from reviewgraph._base import FloatArray
from tests.lsc.inference.simulated_tables import Simulated, table, tracks
from tests.oracles.dense import slope_grid
from tests.trials import NIGHTLY


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


def refitted(posterior: Posterior, row: int) -> Mixture:
    """Predict a score from a refit without it, at the same hyperparameters and unit."""
    assert posterior.population is not None
    size = posterior.slope.size
    place = int(np.flatnonzero(posterior.used == row)[0])
    part = posterior.scores.part
    kept = np.arange(part.item.size) != place
    load = np.bincount(posterior.reviewer[posterior.used][kept], minlength=size)
    log_weight = part.log_weight[kept] if part.log_weight.size else part.log_weight
    rest = Part(np.concatenate([[0], np.cumsum(load)]), part.item[kept], part.score[kept], log_weight)
    state = state_of(rest)
    found = fit(problem_of(pieces_of(state, posterior.mean.size)), posterior.population, learn=False)
    at = Quadrature(*np.zeros((5, size, NODES)))
    hyper = posterior.population.hyper
    describe_reviewers(*state[:3], found.items, hyper, Gauge(), at)
    j, i = int(posterior.reviewer[row]), int(posterior.item[row])
    mean, variance = found.items.shift[i] / found.items.precision[i], 1 / found.items.precision[i]
    noise = at.noise[j] * (np.exp(-hyper.gamma * part.log_weight[place]) if part.log_weight.size else 1.0)
    spread = at.slope[j] ** 2 * variance + at.offset_variance[j] + noise + hyper.rounding
    return Mixture(at.share[j], at.slope[j] * mean + at.offset[j], np.sqrt(spread))


@pytest.mark.parametrize("weighted", [False, True])
def test_leaving_one_out_agrees_with_a_refit_without_it(weighted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = table(3, 60, 40, 6, own=0.5) if weighted else table(4, 60, 60, 3, offset=1.5)
    weight = np.exp(np.random.default_rng(0).standard_normal(drawn.who.size))
    noise = 0.7 * weight**-0.5 * np.random.default_rng(1).standard_normal(weight.size)
    drawn = drawn._replace(score=drawn.score + noise) if weighted else drawn
    posterior = inferred(drawn, weight if weighted else None)
    left_out = leave_one_out(posterior)
    monkeypatch.setattr(fitting, "TOLERANCE", 1e-4)
    off = []
    for place in range(0, drawn.who.size, 1 if NIGHTLY else 5):
        law = refitted(posterior, int(posterior.used[place]))
        standard = posterior.scores.part.score[place]
        off.append([(left_out.mean[place] - law.mean) / law.sd, math.log(left_out.sd[place] / law.sd)])
        assert left_out.probability[place] == pytest.approx(law.cdf(standard), abs=0.02)
    assert np.abs(off).max() < 0.2
    assert np.abs(np.mean(off, axis=0)).max() < 0.01


@pytest.mark.parametrize("kind", ["numbers", "levels", "no signal", "tracks"])
def test_leave_one_out_probabilities_are_uniform_and_residuals_standard(kind: str) -> None:
    probability, standard, similar = [], [], []
    for seed in range(3):
        drawn = tracks(seed, 200) if kind == "tracks" else table(seed, 100, 80, 6)
        rng = np.random.default_rng(seed)
        if kind == "levels":
            drawn = drawn._replace(score=np.clip(np.rint(drawn.score / 2), 0, 5))
        if kind == "no signal":
            drawn = drawn._replace(score=drawn.truth[drawn.what] + rng.standard_normal(drawn.who.size))
        posterior = inferred(drawn)
        assert posterior.signal == (kind != "no signal")
        similar.append(posterior.kappa > 0)
        found = leave_one_out(posterior)
        probability.append(found.lower + rng.random(found.lower.size) * (found.probability - found.lower))
        standard.append((posterior.scores.part.score - found.mean) / found.sd)
    assert any(similar) == (kind == "tracks")
    assert kstest(np.concatenate(probability), "uniform").pvalue > 0.01
    assert np.concatenate(standard).std() == pytest.approx(1.0, abs=0.06)
