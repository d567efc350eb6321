"""Sweeps and steps of the population: exact special cases, stationarity, invariances, convergence, scores."""

import math
import warnings

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from lsc._inference import fitting
from lsc._inference.beliefs import InferenceStatus, Posterior
from lsc._inference.fitting import Population, Problem, fit
from lsc._inference.inferring import VAGUE, fit_averages, infer, problem_of
from lsc._inference.scores import prepare
from lsc._inference.step import Part, cut, pieces_of, state_of
from reviewgraph import InputError
from reviewgraph._base import FloatArray, IntArray
from reviewgraph.graph import random_assignment
from reviewgraph.parts import LocalParts
from tests.lsc.inference.simulated_tables import Simulated, awkward, table
from tests.trials import NIGHTLY

#: Reviewers who differ in severity only, all of one noise.
ALIKE = Population(
    mu=-0.3, tau_left=0.02, tau_right=0.02, g0=0.1, g1=0.2, omega=0.6, pooled=0.3, freedom=1e12, rounding=0.01
)


def problem_from(drawn: Simulated, weight: FloatArray | None = None) -> tuple[Problem, Population]:
    """Return a table as the inference takes it, and its first population."""
    scores = prepare(drawn.who, drawn.what, drawn.score, int(drawn.who.max()) + 1, weight)
    problem = problem_of(pieces_of(state_of(scores.part), drawn.truth.size))
    return problem, Population(rounding=scores.unit.rounding)


def inferred(drawn: Simulated, weight: FloatArray | None = None) -> Posterior:
    return infer(drawn.who, drawn.what, drawn.score, int(drawn.who.max()) + 1, drawn.truth.size, weight=weight)


@pytest.fixture
def accurate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let sweeps go on until nothing changes."""
    for name, value in (("TOLERANCE", 1e-6), ("GAIN", 1e-8), ("RELATIVE_GAIN", 0.0)):
        monkeypatch.setattr(fitting, name, value)


def tree(n_reviewers: int) -> tuple[IntArray, IntArray]:
    """Draw reviewers each of whom shares one paper with those before."""
    rng = np.random.default_rng(0)
    who, what, size = [], [], 1
    for reviewer in range(n_reviewers):
        new = int(rng.integers(1, 6))
        what += [int(rng.integers(size)), *range(size, size + new)]
        who += [reviewer] * (new + 1)
        size += new
    return np.array(who), np.array(what)


@pytest.mark.parametrize("circles", [False, True])
def test_reviewers_who_differ_in_severity_only_are_exact(circles: bool, accurate: None) -> None:
    """On a tree the evidence, means and variances are; with circles means are, and variances nearly."""
    who, what = table(0, 60, 40, 5)[:2] if circles else tree(25)
    size, n_reviewers, a = int(what.max()) + 1, int(who.max()) + 1, math.exp(ALIKE.mu)
    rng = np.random.default_rng(1)
    score = 0.6 * rng.standard_normal(n_reviewers)[who] + a * rng.standard_normal(size)[what]
    score += 0.55 * rng.standard_normal(who.size)
    order = np.lexsort((what, who))
    start = np.searchsorted(who[order], np.arange(n_reviewers + 1))
    part = Part(start, what[order].astype(np.int32), score[order], np.empty(0))
    found = fit(problem_of(pieces_of(state_of(part), size)), ALIKE, learn=False, max_sweeps=2000)
    design = np.eye(size)[what]
    covariance = a**2 * design @ design.T + 0.6**2 * (who[:, None] == who) + 0.31 * np.eye(who.size)
    centre = np.full(who.size, ALIKE.g0 + ALIKE.g1 * a)
    gain = a * design.T @ np.linalg.inv(covariance)
    evidence = multivariate_normal.logpdf(score, centre, covariance)
    assert found.evidence == pytest.approx(evidence, abs=0.5 if circles else 0.01)
    np.testing.assert_allclose(found.items.shift / found.items.precision, gain @ (score - centre), atol=0.01)
    variance = np.diag(np.eye(size) - a * gain @ design)
    np.testing.assert_allclose(1 / found.items.precision, variance, rtol=0.06 if circles else 5e-3)


def log_prior(population: Population) -> float:
    """Return the log density of hyperparameters, but for a constant."""
    left, right = population.tau_left, population.tau_right
    squares = 0.5 * fitting.TAU_REVIEWERS * fitting.TAU**2
    value = -fitting.TAU_REVIEWERS * math.log(left + right) - 0.5 * squares * (left**-2 + right**-2)
    value -= 0.5 * (population.g1 / fitting.G1_SD) ** 2 + 0.5 * ((population.rho - fitting.RHO) / fitting.RHO_SD) ** 2
    value -= 0.5 * (population.gamma / fitting.GAMMA_SD) ** 2
    return value - 0.5 * (math.log(population.freedom / fitting.FREEDOM) / fitting.FREEDOM_SD) ** 2


def test_the_evidence_is_at_its_maximum_by_every_hyperparameter(accurate: None) -> None:
    """Newton steps of the evidence times the priors, by differences, in units of the error of each parameter."""
    drawn = table(2, 120, 80, 8, own=0.4, centre=0.5)
    rng = np.random.default_rng(0)
    sure = rng.standard_normal(drawn.who.size)
    drawn = drawn._replace(score=drawn.score + 0.4 * np.exp(-0.5 * sure) * rng.standard_normal(sure.size))
    problem, first = problem_from(drawn, np.exp(sure))
    best = fit(problem, first, max_sweeps=2000).population

    def objective(name: str, change: float) -> float:
        value = getattr(best, name)
        positive = name in ("tau_left", "tau_right", "omega", "pooled", "freedom")
        there = best._replace(**{name: value * math.exp(change) if positive else value + change})
        return fit(problem, there, learn=False, max_sweeps=2000).evidence + log_prior(there)

    top = objective("mu", 0.0)
    for name in ("mu", "tau_left", "tau_right", "g0", "g1", "omega", "rho", "gamma", "pooled", "freedom"):
        up, down = objective(name, 0.03), objective(name, -0.03)
        gradient, curvature = (up - down) / 0.06, (2 * top - up - down) / 0.03**2
        assert curvature > 0, name
        # What the errors of noises contribute to the evidence is not followed, most for their own distribution; and
        # standardised qualities move the place where reviewers agree against its prior.
        near = {"freedom": 0.5, "g0": 0.3, "g1": 0.3}.get(name, 0.15)
        assert abs(gradient) < near * math.sqrt(curvature), name
    assert 0.2 < best.gamma < 0.8
    assert best.g1 < -0.2


def test_averages_are_the_best_normal_model_without_reviewers() -> None:
    rng = np.random.default_rng(0)
    count = np.array([1, 2, 2, 3, 5, 0, 4, 1, 6])
    item = np.repeat(np.arange(9), count)
    score = 0.3 + 0.8 * rng.standard_normal(9)[item] + 0.5 * rng.standard_normal(item.size)
    found = fit_averages(count, np.bincount(item, score, 9), float(score @ score), 1e-4)

    def density(mean: float, slope: float, noise: float) -> float:
        covariance = slope**2 * (item[:, None] == item) + noise * np.eye(item.size)
        return float(multivariate_normal.logpdf(score, np.full(item.size, mean), covariance))

    assert found.evidence == pytest.approx(density(*found[:3]))
    for change in (0.97, 1.03):
        assert density(found.mean * change, found.slope, found.noise) < found.evidence
        assert density(found.mean, found.slope * change, found.noise * change**2) < found.evidence
        prior = 0.5 * (math.log(found.slope**2 / found.noise) / VAGUE) ** 2
        there = 0.5 * (math.log((change * found.slope) ** 2 / found.noise) / VAGUE) ** 2
        assert density(found.mean, found.slope * change, found.noise) - there < found.evidence - prior + 1e-3


def test_without_signal_qualities_are_shrunk_averages() -> None:
    who, what, _, truth = table(0)
    score = 3 + 2 * truth[what] + np.random.default_rng(0).standard_normal(what.size)
    found = infer(who, what, score, 200, 200)
    assert found.status is InferenceStatus.NO_SIGNAL
    slope, noise = found.hyperparameters["slope"], found.hyperparameters["noise"] ** 2
    count = np.bincount(what)
    shrinkage = slope**2 * count / (slope**2 * count + noise)
    average = np.bincount(what, score) / count
    np.testing.assert_allclose(found.quality - found.location, shrinkage * (average - found.location))
    np.testing.assert_allclose(found.variance, 1 - shrinkage)
    np.testing.assert_allclose(found.mean, np.bincount(what, found.shift) / (1 + np.bincount(what, found.precision)))


def test_the_number_of_parts_does_not_matter() -> None:
    one, first = problem_from(table(3, 100, 80, 5))
    [state] = one.parts.states  # type: ignore[attr-defined]
    whole = fit(one, first)
    for pieces in (2, 3):
        other = fit(Problem(LocalParts(cut(state, pieces), one.count.size), one.load, one.count, one.degree), first)
        assert other.evidence == pytest.approx(whole.evidence, abs=1e-6)
        np.testing.assert_allclose(other.items.shift, whole.items.shift, atol=1e-6)


@pytest.mark.parametrize("drawn", [table(4, 60, 50, 4), awkward(1), awkward(3)], ids=["table", "pairs", "one item"])
def test_rows_labels_shift_and_scale_do_not_matter(drawn: Simulated) -> None:
    rng = np.random.default_rng(0)
    rows = rng.permutation(drawn.who.size)
    reviewers, items = rng.permutation(drawn.who.max() + 1), rng.permutation(drawn.truth.size)
    one = inferred(drawn)
    turned = Simulated(reviewers[drawn.who[rows]], items[drawn.what[rows]], -7 + 30 * drawn.score[rows], drawn.truth)
    other = inferred(turned)
    assert one.status is other.status
    np.testing.assert_allclose(other.mean[items], one.mean, atol=1e-6)
    np.testing.assert_allclose(other.variance[items], one.variance, rtol=1e-6)
    np.testing.assert_allclose(other.quality[items], -7 + 30 * one.quality, rtol=1e-6, atol=1e-5)
    np.testing.assert_allclose(other.precision, one.precision[rows], rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(other.reviewers.stretch.high[reviewers], one.reviewers.stretch.high, rtol=1e-6)


def test_intervals_of_reviewers_hold_the_truth_on_the_scale_of_the_scores() -> None:
    """Where slopes and noises differ as much as their priors expect."""
    inside: list[tuple[float, ...]] = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        design = random_assignment(100, 60, 10, rng)
        who, what = design.reviewer, design.item
        x = rng.standard_normal(100)
        x = (x - x.mean()) / x.std()
        a, b = rng.lognormal(0, 0.2, 60), rng.normal(0, 0.8, 60)
        s = 0.6 * np.sqrt(a) * rng.lognormal(0, 0.15, 60)
        score = 20 + 3 * (b[who] + a[who] * x[what] + s[who] * rng.standard_normal(who.size))
        found = infer(who, what, score, 60, 100).reviewers
        truth = (found.severity, 3 * (b.mean() - b)), (found.stretch, a / a.mean()), (found.noise, 3 * s)
        inside.append(tuple(((of.low < value) & (value < of.high)).mean() for of, value in truth))
        assert all(((of.low < of.mean) & (of.mean < of.high)).all() for of, _ in truth)
    np.testing.assert_allclose(np.mean(inside, axis=0), 0.9, atol=0.06)


def test_weights_are_used_as_far_as_they_tell_of_noise() -> None:
    drawn, rng = table(6, 150, 150, 5), np.random.default_rng(6)
    sure = rng.integers(1, 6, drawn.who.size).astype(float)
    score = drawn.truth[drawn.what] + rng.normal(0, 0.5, 150)[drawn.who] + 2.5 / sure * rng.standard_normal(sure.size)
    weights = np.ones(sure.size), sure, rng.permutation(sure)
    plain, weighted, shuffled = (inferred(drawn._replace(score=score), weight) for weight in weights)
    assert weighted.population is not None
    assert weighted.population.gamma > 0.5
    assert shuffled.population is None or abs(shuffled.population.gamma) < 0.2
    assert weighted.evidence > plain.evidence + 50
    assert np.corrcoef(weighted.mean, drawn.truth)[0, 1] > np.corrcoef(plain.mean, drawn.truth)[0, 1] + 0.01


# Convergence.


def test_tables_of_any_shape_converge() -> None:
    errors = 0
    tables = 2000 if NIGHTLY else 60
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for seed in range(tables):
            try:
                found = inferred(awkward(seed))
            except InputError:
                errors += 1
                continue
            assert found.status is not InferenceStatus.SWEEPS_EXHAUSTED, seed
            assert found.off == 0.0, seed
            assert found.sweeps < fitting.MAX_SWEEPS, seed
            assert np.isfinite(found.quality).all(), seed
            assert (found.variance > 0).all(), seed
            assert math.isfinite(found.evidence), seed
    assert errors <= max(1, tables // 100)


@pytest.mark.parametrize("sizes", [(20, 10, 6), (30, 30, 3), (60, 40, 4), (200, 200, 3)])
def test_means_are_near_their_limit(sizes: tuple[int, int, int], request: pytest.FixtureRequest) -> None:
    drawn = table(1, *sizes)
    problem, first = problem_from(drawn)
    short, found = fit(problem, first, max_sweeps=3), inferred(drawn)
    request.getfixturevalue("accurate")
    limit = inferred(drawn)
    assert found.sweeps < 20 < limit.sweeps
    assert found.evidence == pytest.approx(limit.evidence, abs=0.5)
    sd = np.sqrt(limit.variance)
    np.testing.assert_allclose(found.mean / sd, limit.mean / sd, atol=0.1)
    # The distance that is reported of too few sweeps is no less than the true one.
    assert short.off > np.nanmax(np.abs(short.items.shift / short.items.precision - limit.mean) / sd)


def test_large_severities_do_not_hide_qualities() -> None:
    """Forty papers scored by all of four reviewers: severities cancel, and the error of a quality is known."""
    drawn = table(10, 40, 4, 40, offset=5.0, noise=0.5)
    found = inferred(drawn)
    assert np.corrcoef(found.mean, drawn.truth)[0, 1] > 0.95
    assert np.sqrt(found.variance).mean() < 0.4


# Scores.


def test_constant_reviewers_are_ignored_unless_many() -> None:
    who, what, score, _ = table(4)
    size, rng = np.array([2, 8, 40]), np.random.default_rng(0)
    more = np.concatenate([rng.choice(200, n, replace=False) for n in size])
    before = infer(who, what, score, 200, 200)
    joined = np.append(who, np.repeat(200 + np.arange(3), size)), np.append(what, more)
    after = infer(*joined, np.append(score, np.full(50, np.quantile(score, 0.9))), 203, 200)
    np.testing.assert_allclose(after.mean, before.mean, atol=1e-9)
    assert (after.precision[who.size :] == 0).all()
    assert np.isnan(after.slope[200:]).all()
    # Binary scores: two equal ones are likely by chance, and nobody is ignored.
    assert infer(who, what, 1.0 * (score > 5), 200, 200).used.size == who.size
    # Papers of ignored reviewers alone are known by the prior.
    alone = infer(np.append(who, [200, 200]), np.append(what, [200, 201]), np.append(score, [1.0, 1.0]), 201, 202)
    assert alone.by_prior.tolist() == [200, 201]
    assert alone.mean[200:].tolist() == [0.0, 0.0]


def test_rankings_become_normal_scores() -> None:
    who, what, score, _ = table(5, 100, 100, 6)
    rank = np.empty(score.size)
    for reviewer in range(100):
        own = who == reviewer
        rank[own] = score[own].argsort().argsort() + 1.0
    found = infer(who, what, rank, 100, 100)
    for place in range(1, 7):
        value = found.scores.score[rank[found.used] == place]
        assert norm.cdf((value - rank.mean()) / rank.std()) == pytest.approx((place - 0.5) / 6)
    # Any increasing function of ranks is the same table; with one other score they are scores as they are.
    np.testing.assert_allclose(infer(who, what, rank**2, 100, 100).mean, found.mean, atol=1e-9)
    rank[0] += 0.5
    scores = infer(who, what, rank, 100, 100).scores
    assert np.array_equal(scores.score, rank[scores.order])


def test_likely_data_entry_errors_and_different_units_are_named() -> None:
    who, what, score, _ = table(7)
    units = score * np.where(who % 2 == 0, 1e-3, 1e3)
    score[123] *= 1000
    with pytest.raises(InputError, match=r"found \S+, \d+ times farther from the median"):
        infer(who, what, score, 200, 200)
    with pytest.raises(InputError, match=r"reviewers whose scores lie within .* give tables of different units"):
        infer(who, what, units, 200, 200)


@pytest.mark.parametrize(
    ("who", "what", "score"),
    [
        ([0], [0], [3.0]),
        ([0, 0], [0, 1], [3.0, 4.0]),
        ([0, 1], [0, 0], [3.0, 4.0]),
        ([0, 0, 0], [0, 1, 2], [5.0, 5.0, 5.0]),
        ([0, 0, 1, 1], [0, 1, 2, 3], [1.0, 2.0, 8.0, 9.0]),
        ([0, 0, 1, 1, 2], [0, 1, 0, 1, 2], [1.0, 1.0, 1.0, 1.0, 1.0]),
        ([0, 1, 2, 3], [0, 1, 2, 3], [1.0, 2.0, 3.0, 4.0]),
    ],
)
def test_tiny_tables_are_finite(who: list[int], what: list[int], score: list[float]) -> None:
    stages: list[str] = []
    found = infer(np.array(who), np.array(what), np.array(score), 5, 5, progress=stages.append)
    scored = np.bincount(what, minlength=5) > 0
    assert np.isfinite(found.quality[scored]).all()
    assert (found.variance[scored] > 0).all()
    assert np.isnan(found.quality[~scored]).all()
    assert np.isnan(found.reviewers.severity.mean[np.bincount(who, minlength=5) == 0]).all()
    assert stages[0] == "severity, slope and noise of reviewers"
