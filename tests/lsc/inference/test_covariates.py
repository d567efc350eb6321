"""Effects of covariates: against dense linear algebra, and in tables of known truth."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from lsc._inference import fitting
from lsc._inference.covariates import Effects, Factor, covariates_of, factor_of, ranking_of
from lsc._inference.fitting import Population, fit
from lsc._inference.inferring import MIN_GAIN, infer, problem_of
from lsc._inference.parts import pieces_of, state_of
from lsc._inference.scores import prepare
from reviewgraph import InputError
from reviewgraph._base import FloatArray
from tests.lsc.inference.simulated_tables import Simulated, table


class Conference(NamedTuple):
    """A table whose papers have a track and a useless number, its reviewers seniority; the true effects in points."""

    drawn: Simulated
    factors: tuple[Factor, ...]
    track: FloatArray
    senior: float


def conference(seed: int, size: int = 150, load: int = 3, slope: float = 0.2, worth: float = 1.0) -> Conference:
    """Draw a table in which covariates explain a part; ``worth`` 0: none."""
    drawn = table(seed, size, size, load, slope=slope)
    rng = np.random.default_rng([seed, 11])
    track, senior, blank = rng.integers(0, 3, size), rng.random(size) < 0.5, rng.standard_normal(size)
    effect = 1.2 * worth * np.array([-1.0, 0.0, 1.0])
    score = drawn.score + effect[track][drawn.what] - 1.4 * worth * senior[drawn.who]
    every = np.ones(size, bool)
    factors = (
        factor_of("track", dict(enumerate("abc"[place] for place in track)), every, of_items=True),
        factor_of("senior", dict(enumerate(senior.tolist())), every, of_items=False),
        factor_of("blank", dict(enumerate(blank.tolist())), every, of_items=True),
    )
    of_senior = -1.4 * worth * (1 - senior.mean())
    return Conference(drawn._replace(score=score), factors, effect - effect[track].mean(), of_senior)


def test_effects_and_what_they_gain_are_those_of_dense_linear_algebra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Given slopes and noises the model is linear and normal: effects, their errors, and the evidence are known."""
    for name, value in (("TOLERANCE", 1e-6), ("GAIN", 1e-8), ("RELATIVE_GAIN", 0.0)):
        monkeypatch.setattr(fitting, name, value)
    drawn, factors, _, _ = conference(1, 50, 4, slope=0.0)
    scores = prepare(drawn.who, drawn.what, drawn.score, 50)
    problem = problem_of(pieces_of(state_of(scores.part), 50))
    best = fit(problem, Population(rounding=scores.unit.rounding), None, Effects.start(factors), max_sweeps=2000)
    effects, population, moments = best.effects, best.population, best.moments[0]
    assert effects is not None
    [state] = problem.parts.states  # type: ignore[attr-defined]
    noise = state.nodes.noise * np.exp(2 * population.rho * (moments.log_slope - population.mu)) + population.rounding
    item, who = scores.part.item, np.repeat(np.arange(50), np.diff(scores.part.start))
    slope = moments.slope[who]
    plain = np.outer(slope, slope) * (item[:, None] == item) + population.omega**2 * (who[:, None] == who)
    plain += np.diag(noise[who])
    design = [slope[:, None] * factor.design[item] if factor.of_items else factor.design[who] for factor in factors]
    columns, prior = np.hstack(design), np.diag(np.repeat(effects.variance, [3, 2, 1]))
    whole = plain + columns @ prior @ columns.T
    residual = scores.part.score - population.g0 - population.g1 * slope
    covariance = prior - prior @ columns.T @ np.linalg.solve(whole, columns @ prior)
    np.testing.assert_allclose(effects.mean, prior @ columns.T @ np.linalg.solve(whole, residual), atol=0.02)
    np.testing.assert_allclose(np.sqrt(np.diag(effects.covariance)), np.sqrt(np.diag(covariance)), rtol=0.03)
    without = fit(problem, population, learn=False, max_sweeps=2000).evidence
    zero = np.zeros(residual.size)
    density = [multivariate_normal.logpdf(residual, zero, matrix) for matrix in (whole, plain)]
    assert best.evidence - without == pytest.approx(density[0] - density[1], rel=0.05, abs=0.1)


def test_effects_are_in_their_intervals_and_useless_covariates_are_not_used() -> None:
    inside, useless = [], []
    for seed in range(8):
        drawn, factors, of_track, of_senior = conference(seed)
        posterior, gains = infer(*drawn[:3], 150, 150, factors=factors)
        track, senior, blank = covariates_of(
            factors, posterior.effects, gains, posterior.scale, posterior.scores.unit.spread
        ).rows
        assert track.used
        assert senior.used
        true = [*zip(track.effects, of_track, strict=True), (senior.effects[1], of_senior)]
        inside += [effect.low < value < effect.high for effect, value in true]
        useless.append(blank.used)
    assert np.mean(inside) == pytest.approx(0.88, abs=0.1)
    assert sum(useless) <= 1
    # Qualities contain what is expected of papers.
    total = posterior.prior + np.bincount(drawn.what, posterior.precision + posterior.likeness_precision)
    assert posterior.effects is not None
    pull = posterior.prior * posterior.effects.expected(150, of_items=True)
    pull += np.bincount(drawn.what, posterior.shift + posterior.likeness_shift)
    np.testing.assert_allclose(posterior.mean, pull / total, atol=1e-9)
    # A column twice explains no more than once.
    copy = factors[0]._replace(name="copy")
    twice, more = infer(*drawn[:3], 150, 150, factors=(*factors, copy))
    assert twice.effects is not None
    expected = [found.expected(150, of_items=True) for found in (posterior.effects, twice.effects)]
    assert np.corrcoef(expected)[0, 1] > 0.999
    assert more.all_used == pytest.approx(gains.all_used, abs=3.0)


def test_without_effects_nothing_is_used_and_the_posterior_is_that_without() -> None:
    drawn, factors, _, _ = conference(2, worth=0.0)
    constant = factor_of("constant", dict.fromkeys(range(150), 1.0), np.ones(150, bool), of_items=True)
    alone = infer(*drawn[:3], 150, 150)[0]
    posterior, gains = infer(*drawn[:3], 150, 150, factors=(*factors, constant))
    assert gains.used == ()
    assert (gains.by_factor < MIN_GAIN).all()
    assert gains.by_factor[-1] == 0
    assert posterior.effects is None
    np.testing.assert_allclose(posterior.mean, alone.mean, atol=0.1 * np.sqrt(alone.variance.min()))


@pytest.mark.parametrize(("worth", "used"), [(1.0, True), (0.0, False), (-1.0, False)])
def test_rankings_of_authors_are_used_if_they_tell_of_quality(worth: float, used: bool) -> None:
    """A ranking that is reversed has no effect: it is never negative."""
    drawn, rng = table(0, 150, 150, 3), np.random.default_rng(5)
    perceived = worth * drawn.truth + 0.7 * rng.standard_normal(150)
    lists = [own[np.argsort(-perceived[own])].tolist() for own in rng.permutation(150).reshape(30, 5)]
    factor = ranking_of([list(zip(own, range(1, 6), strict=True)) for own in lists], np.ones(150, bool))
    posterior, gains = infer(*drawn[:3], 150, 150, factors=(factor,))
    assert gains.used == ((0,) if used else ())
    alone = infer(*drawn[:3], 150, 150)[0]
    gain = np.corrcoef(posterior.mean, drawn.truth)[0, 1] - np.corrcoef(alone.mean, drawn.truth)[0, 1]
    assert gain > 0.005 if used else gain == pytest.approx(0.0, abs=1e-3)


def order_statistics(n: int) -> FloatArray:
    """Return the expected values of n sorted normal numbers, the largest first, by simulation."""
    normal = np.random.default_rng(0).standard_normal((50_000, n))
    return np.asarray(np.sort(normal, axis=1).mean(axis=0)[::-1])


def test_rankings_are_expected_normal_order_statistics() -> None:
    ranked = [list(zip(items, range(1, 9), strict=False)) for items in ([3, 1, 0, 5], [2, 4], [1, 2, 3])]
    ranking = ranking_of(ranked, np.ones(7, bool))
    four, two, three = (order_statistics(n) for n in (4, 2, 3))
    both = (four[1] + three[0]) / 2, (two[0] + three[1]) / 2, (four[0] + three[2]) / 2
    assert ranking.design.ravel() == pytest.approx(np.array([four[2], *both, two[1], four[3], 0]), abs=0.03)
    assert ranking.known == 6
    # Papers without a score are no part of a list; equal ranks share their place.
    scored = np.array([True, True, True, False, True, True, True])
    shorter = ranking_of([[(0, 1), (3, 2), (1, 3)]], scored).design
    assert shorter.ravel() == pytest.approx(np.array([two[0], two[1], 0, 0, 0, 0, 0]), abs=0.03)
    assert not ranking_of([[(0, 1), (1, 1)]], scored).design.any()
    assert ranking_of([[(0, 1)], []], scored).known == 0
    # An author moves none of their papers as a whole, whatever their ties.
    assert ranking_of([[(0, 1), (1, 1), (2, 2)]], scored).design.sum() == pytest.approx(0.0, abs=1e-12)


def test_a_column_is_a_number_or_a_category() -> None:
    every = np.ones(6, bool)
    found = factor_of("topic", {0: "a", 1: "b", 2: ["a", "b"], 3: None, 4: "", 5: "rare"}, every, of_items=True)
    # Of the rows 0 to 2, the mean of each column is one half; what is missing or rare is the mean paper.
    assert (found.kind, found.levels, found.known) == ("category", ("a", "b"), 3)
    assert found.design[:, 0].tolist() == [0.5, -0.5, 0, 0, 0, 0]
    number = factor_of("pages", {0: 4, 1: "8", 2: float("nan"), 3: np.float32(6)}, every, of_items=True)
    assert (number.kind, number.known) == ("number", 3)
    assert number.design.ravel() == pytest.approx(np.array([-1.2247, 1.2247, 0, 0, 0, 0]), abs=1e-4)
    assert factor_of("flag", {0: True, 1: False, 2: True, 3: False}, every, of_items=True).levels == ("no", "yes")
    unseen = np.array([True, True, True, True, False, False])
    assert factor_of("track", dict(enumerate("aabbcc")), unseen, of_items=True).levels == ("a", "b")
    with pytest.raises(InputError, match="track: expected at most 200 levels, found 300"):
        factor_of("track", {i: f"t{i // 2}" for i in range(600)}, np.ones(600, bool), of_items=True)
