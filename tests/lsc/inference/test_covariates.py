"""Effects of covariates: against dense linear algebra with fixed hyperparameters, and in tables of known truth."""

from dataclasses import replace

import numpy as np
import pytest

from lsc._inference import covariates
from lsc._inference.covariates import Effects, Factor, Quadratic, expand, gains_of, infer_with, integrate, learn
from lsc._inference.inferring import Averages, assemble, infer
from lsc._inference.model import LOG_OMEGA, LOG_TAU_LEFT, LOG_TAU_RIGHT, LOWEST, MU, NU, SIZE, START, Extent
from lsc._inference.predicting import score_unit
from lsc._inference.side_information import factor_of, normal_scores_of
from lsc._inference.states import Expected, Rows, initial_state, prepare
from lsc._inference.sweeps import optimise, spectrum
from reviewgraph import InputError
from tests.lsc.inference.simulated_tables import table

FIXED = np.zeros(SIZE, bool)


def offsets_only():
    """Hyperparameters of reviewers with offsets, of the same slope and noise."""
    theta = START.copy()
    theta[[LOG_TAU_LEFT, LOG_TAU_RIGHT]] = LOWEST[LOG_TAU_LEFT]
    theta[[MU, NU, LOG_OMEGA]] = np.log([0.6, 0.5, 0.4])
    return theta


def small(seed=0, n_items=24, n_reviewers=20, load=3):
    """Return a small table, and factors of its items and reviewers."""
    who, what, score, _ = table(seed, n_items, n_reviewers, load)
    rng = np.random.default_rng(seed)
    every, senior = np.ones(n_items, bool), (np.arange(n_reviewers) % 5 < 2).tolist()
    factors = (
        factor_of("track", dict(enumerate(rng.choice(list("abc"), n_items).tolist())), every, of_items=True),
        factor_of("pages", dict(enumerate(rng.normal(8, 2, n_items).tolist())), every, of_items=True),
        factor_of("senior", dict(enumerate(senior)), every[:n_reviewers], of_items=False),
    )
    return Rows(who, what, score), factors


def fitted(rows, n_reviewers, n_items, extent=None, expected=None):
    """Infer with fixed hyperparameters; returns the posterior under the full model, and the fit."""
    scores = prepare(rows, n_reviewers, n_items, expected=expected)
    fit = optimise(scores.problem, initial_state(scores.problem, offsets_only(), extent or Extent()), FIXED)
    assert fit.converged
    return assemble(rows, scores, Averages(0.0, 1.0, 1.0, -np.inf), fit), fit, scores


def likeness(rows, n_reviewers, n_items, kappa=0.5):
    """Return an extent with assortment."""
    eigenvalues = spectrum(prepare(rows, n_reviewers, n_items).problem, np.random.default_rng(0))
    return Extent(
        kappa=kappa,
        strength=kappa / eigenvalues.diagonal,
        half_log_determinant=0.5 * eigenvalues.log_determinant(kappa),
        mean_square=eigenvalues.mean_square(kappa),
    )


@pytest.mark.parametrize("kappa", [0.0, 0.5])
def test_a_prior_mean_moves_qualities_as_scores_without_it(kappa: float) -> None:
    # Of equal slopes a, y = b + a (m + r) + e: the inference of r from y - a m is that of x from y, moved by m.
    rows, _ = small()
    rng = np.random.default_rng(1)
    expected = Expected(rng.standard_normal(24), 0.3 * rng.standard_normal(20))
    extent = likeness(rows, 20, 24, kappa) if kappa else Extent()
    posterior, fit, scores = fitted(rows, 20, 24, extent, expected)
    slope = posterior.slope.mean()
    assert np.ptp(posterior.slope) < 2e-2 * slope
    moved = scores.standard - slope * expected.quality[rows.item]
    plain = prepare(rows._replace(score=scores.unit.location + scores.unit.spread * moved), 20, 24, unit=scores.unit)
    other = optimise(plain.problem, initial_state(plain.problem, offsets_only(), extent), FIXED)
    assert posterior.mean - expected.quality == pytest.approx(other.mean[:-1], abs=0.01)
    assert fit.evidence == pytest.approx(other.evidence, abs=0.05)


def dense(posterior, rows, scores, factors, kappa=0.0, extent=None):
    """Return the covariance of the scores without effects, their derivatives by the effects, and those of qualities."""
    n_items, n_reviewers = posterior.mean.size, posterior.slope.size
    a, noise = posterior.slope[rows.reviewer], posterior.noise_variance[rows.reviewer]
    precision = (1 - kappa) * np.eye(n_items)
    for reviewer in range(n_reviewers if kappa else 0):
        mine = rows.item[rows.reviewer == reviewer]
        precision[np.ix_(mine, mine)] += extent.strength * (np.eye(mine.size) - 1 / mine.size)
    prior = np.linalg.inv(precision)
    covariance = a[:, None] * a * prior[np.ix_(rows.item, rows.item)] + np.diag(noise)
    covariance += 0.4**2 * (rows.reviewer[:, None] == rows.reviewer)
    columns = [
        a[:, None] * factor.design[rows.item] if factor.of_items else factor.design[rows.reviewer] for factor in factors
    ]
    items = [factor.design if factor.of_items else np.zeros((n_items, factor.design.shape[1])) for factor in factors]
    return covariance, np.hstack(columns), np.hstack(items), a * prior[:, rows.item]


@pytest.mark.parametrize("kappa", [0.0, 0.5])
def test_the_expansion_is_that_of_the_linear_model(kappa: float) -> None:
    rows, factors = small()
    extent = likeness(rows, 20, 24, kappa) if kappa else Extent()
    posterior, _, scores = fitted(rows, 20, 24, extent)
    found = expand(posterior, scores.standard, factors, np.zeros(6))
    covariance, design, items, with_scores = dense(posterior, rows, scores, factors, kappa, extent)
    theta = offsets_only()
    hyper = posterior.hyperparameters
    residual = scores.standard - hyper["g0"].value - hyper["g1"].value * posterior.slope[rows.reviewer]
    assert theta[MU] == pytest.approx(np.log(hyper["slope"].value))
    assert found.linear == pytest.approx(design.T @ np.linalg.solve(covariance, residual), abs=0.05)
    assert found.curvature == pytest.approx(design.T @ np.linalg.solve(covariance, design), rel=0.02, abs=0.02)
    assert found.sensitivity == pytest.approx(items - with_scores @ np.linalg.solve(covariance, design), abs=0.01)


def test_effects_and_evidence_are_those_of_dense_linear_algebra() -> None:
    rows, factors = small()
    posterior, _, scores = fitted(rows, 20, 24)
    found = expand(posterior, scores.standard, factors, np.zeros(6))
    covariance, design, items, with_scores = dense(posterior, rows, scores, factors)
    hyper = posterior.hyperparameters
    residual = scores.standard - hyper["g0"].value - hyper["g1"].value * posterior.slope[rows.reviewer]
    variance = np.repeat([0.3, 0.1, 0.2], [3, 1, 2])
    given = integrate(found, variance)
    whole = covariance + design * variance @ design.T

    def log_density(matrix):
        return -0.5 * (np.linalg.slogdet(matrix)[1] + residual @ np.linalg.solve(matrix, residual))

    assert given.evidence - found.constant == pytest.approx(log_density(whole) - log_density(covariance), abs=0.05)
    assert given.mean == pytest.approx(variance * (design.T @ np.linalg.solve(whole, residual)), abs=0.01)
    # Qualities given these effects, by the inference, and their variances with those of effects: the dense ones.
    expected = covariates.expected_of(factors, given.mean, (20, 24))
    after, _, _ = fitted(rows, 20, 24, expected=expected)
    joint = with_scores + items * variance @ design.T
    assert after.mean == pytest.approx(joint @ np.linalg.solve(whole, residual), abs=0.02)
    extra = ((found.sensitivity @ given.covariance) * found.sensitivity).sum(axis=1)
    alone = np.diag(np.eye(24) - with_scores @ np.linalg.solve(covariance, with_scores.T))
    exact = np.diag(np.eye(24) + items * variance @ items.T - joint @ np.linalg.solve(whole, joint.T))
    assert alone + extra == pytest.approx(exact, rel=0.02)
    assert (extra > 0.002).all()


def test_an_expansion_elsewhere_is_the_same_parabola() -> None:
    rows, factors = small()
    here, _, scores = fitted(rows, 20, 24)
    effects = np.array([0.2, -0.1, -0.1, 0.1, 0.1, -0.1])
    there, _, _ = fitted(rows, 20, 24, expected=covariates.expected_of(factors, effects, (20, 24)))
    first = expand(here, scores.standard, factors, np.zeros(6))
    second = expand(there, scores.standard, factors, effects)
    assert second.linear == pytest.approx(first.linear, abs=0.05)
    assert second.constant == pytest.approx(first.constant, abs=0.02)


def test_variances_maximise_the_evidence() -> None:
    rng = np.random.default_rng(0)
    root = rng.standard_normal((6, 8))
    quadratic = Quadratic(-10.0, 2 * rng.standard_normal(6), root @ root.T, np.zeros((1, 6)))
    factors = [Factor(name, "category", True, ("",) * 2, np.zeros((1, 2)), 1) for name in "abc"]
    best = learn(quadratic, factors)
    for place in range(3):
        for ratio in (0.9, 1.1):
            variance = best.variance.copy()
            variance[2 * place : 2 * place + 2] *= ratio
            assert integrate(quadratic, variance).evidence <= best.evidence + 1e-6
    # Each gain against the evidence without the factor, by a grid over the variances of the other two.
    grid = np.geomspace(1e-8, 20, 80)
    by_grid = max(integrate(quadratic, np.array([0, 0, s, s, t, t])).evidence for s in grid for t in grid)
    assert gains_of(quadratic, factors, best)[0] == pytest.approx(best.evidence - by_grid, abs=0.02)


def test_a_ranking_never_has_a_negative_effect() -> None:
    factor = Factor("ranking", "ranking", True, ("",), np.zeros((1, 1)), 1)
    for linear, used in ((9.0, True), (-9.0, False)):
        found = learn(Quadratic(0.0, np.array([linear]), np.eye(1), np.zeros((1, 1))), [factor])
        assert (found.mean[0] > 1) == used
        assert found.evidence >= -1e-6


def by_hand(lists, size):
    """Return the column of rankings, with exact expected normal order statistics by simulation."""
    rng = np.random.default_rng(0)
    column, count = np.zeros(size), np.zeros(size)
    for items in lists:
        order = np.sort(rng.standard_normal((50_000, len(items))), axis=1).mean(axis=0)[::-1]
        column[items] += order
        count[items] += 1
    return column / np.maximum(count, 1)


def test_rankings_are_expected_normal_order_statistics() -> None:
    lists = [[3, 1, 0, 5], [2, 4], [1, 2, 3]]
    ranked = [list(zip(items, range(1, 9), strict=False)) for items in lists]
    found, known, opposite = normal_scores_of(ranked, np.ones(7, bool))
    assert found.ravel() == pytest.approx(by_hand(lists, 7), abs=0.03)
    assert (known, opposite) == (6, 1)
    # Papers without a score are no part of a list; equal ranks share their place.
    seen = np.array([True, True, True, False, True, True, True])
    assert normal_scores_of([[(0, 1), (3, 2), (1, 3)]], seen)[0].ravel() == pytest.approx(
        by_hand([[0, 1]], 7), abs=0.03
    )
    assert normal_scores_of([[(0, 1), (1, 1)]], seen)[0].ravel() == pytest.approx(np.zeros(7))
    assert normal_scores_of([[(0, 1)], []], seen)[1:] == (0, 0)


def test_a_column_is_a_number_or_a_category() -> None:
    every = np.ones(6, bool)
    values = {0: "a", 1: "b", 2: ["a", "b"], 3: None, 4: "", 5: "rare"}
    found = factor_of("topic", values, every, of_items=True)
    # Of the rows 0 to 2, the mean of each column is one half; what is missing or rare is the mean paper.
    assert (found.kind, found.levels, found.known) == ("category", ("a", "b"), 3)
    assert found.design[:, 0].tolist() == [0.5, -0.5, 0, 0, 0, 0]
    number = factor_of("pages", {0: 4, 1: "8", 2: float("nan"), 3: np.float32(6)}, every, of_items=True)
    assert (number.kind, number.known) == ("number", 3)
    assert number.design.ravel() == pytest.approx(np.array([-1.2247, 1.2247, 0, 0, 0, 0]), abs=1e-4)
    assert factor_of("flag", {0: True, 1: False, 2: True, 3: False}, every, of_items=True).levels == ("no", "yes")
    constant = factor_of("one", dict.fromkeys(range(6), 3.0), every, of_items=True)
    assert constant.design.shape == (6, 0)
    unseen = np.array([True, True, True, True, False, False])
    assert factor_of("track", dict(enumerate("aabbcc")), unseen, of_items=True).levels == ("a", "b")
    with pytest.raises(InputError, match="track: expected at most 200 levels, found 300"):
        factor_of("track", {i: f"t{i // 2}" for i in range(600)}, np.ones(600, bool), of_items=True)


def with_factors(rows, sizes, factors):
    """Infer without and with factors, all hyperparameters learned."""

    def run(expected):
        return infer(*rows[:3], *sizes, likelihood="normal", expected=expected)

    base = run(None)
    return base, *infer_with(
        run, base, lambda posterior: score_unit(posterior, rows.score).standardised(rows.score), factors
    )


def test_useless_factors_leave_the_posterior_as_it_is() -> None:
    rows, factors = small(2, 60, 60, 4)
    constant = factor_of("constant", dict.fromkeys(range(60), 1.0), np.ones(60, bool), of_items=True)
    base, posterior, effects = with_factors(rows, (60, 60), (*factors, constant))
    assert posterior is base
    assert (effects.factors, effects.gain) == ((), 0.0)
    assert (effects.gains < covariates.MIN_GAIN).all()
    assert (effects.gains[3:] == 0).all()


@pytest.mark.parametrize("reviewers_differ", [False, True])
def test_effects_are_found(reviewers_differ: bool) -> None:
    # Also where nothing else tells reviewers apart, and the model is that without reviewer effects.
    who, what, score, _ = table(0, 150, 150, 3, slope=0.2 * reviewers_differ, offset=0.4 * reviewers_differ)
    rng = np.random.default_rng(0)
    track, senior = rng.integers(0, 3, 150), rng.random(150) < 0.5
    score = score + 1.5 * (np.array([-0.8, 0.0, 0.8])[track[what]] - 0.9 * senior[who])
    every = np.ones(150, bool)
    factors = (
        factor_of("track", dict(enumerate("abc"[t] for t in track.tolist())), every, of_items=True),
        factor_of("senior", dict(enumerate(senior.tolist())), every, of_items=False),
    )
    _, posterior, effects = with_factors(Rows(who, what, score), (150, 150), factors)
    assert [factor.name for factor in effects.factors] == ["track", "senior"]
    spread = score.std()
    assert posterior.scale * np.diff(effects.effects[:3]) == pytest.approx([1.2, 1.2], abs=0.6)
    assert spread * np.diff(effects.effects[3:]) == pytest.approx([-1.35], abs=0.3)
    # Both were inferred anew: without the factors other hyperparameters explain a part.
    assert 30 < effects.gain < effects.gains.sum() + 1
    # Severities contain what is expected of them, whatever the model.
    severity = posterior.reviewers.severity.mean
    assert severity[senior].mean() - severity[~senior].mean() == pytest.approx(1.35, abs=0.4)
    sums = posterior.precision @ np.eye(150)[what], posterior.shift @ np.eye(150)[what]
    likeness_sums = posterior.likeness_precision @ np.eye(150)[what], posterior.likeness_shift @ np.eye(150)[what]
    total = posterior.prior + sums[0] + likeness_sums[0]
    expected = posterior.prior * posterior.expected.quality
    assert posterior.mean == pytest.approx((sums[1] + likeness_sums[1] + expected) / total)
    assert isinstance(effects, Effects)
    assert replace(posterior, expected=None).expected_offset.tolist() == [0.0] * 151
