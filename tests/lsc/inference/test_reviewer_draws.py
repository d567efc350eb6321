"""Joint draws of qualities and reviewers against numerical integration, and against the marginals that are reported."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from lsc._inference import averaging, beliefs, predicting
from lsc._inference.inferring import infer
from lsc._inference.model import Extent
from lsc._inference.states import Rows, prepare
from tests.lsc.inference.simulated_tables import ordering, table
from tests.lsc.inference.test_against_gibbs import hyperparameters
from tests.trials import sampled

REVIEWERS, ITEMS, POINTS = 3, 6, 17


class Exact:
    """All slopes on a grid; given them qualities x and offsets b are jointly normal, by dense linear algebra."""

    def __init__(self, who, what, score, theta, rounding):
        left, right = theta["tau_left"], theta["tau_right"]
        line = np.linspace(theta["mu"] - 4.5 * left, theta["mu"] + 4.5 * right, POINTS)
        prior = -0.5 * ((line - theta["mu"]) / np.where(line < theta["mu"], left, right)) ** 2
        place = np.array(list(itertools.product(range(POINTS), repeat=REVIEWERS)))
        self.log_slope = line[place]
        slope = np.exp(self.log_slope)
        noise = np.exp(2 * (theta["nu"] + theta["rho"] * (self.log_slope - theta["mu"]))) + rounding
        size, grid = ITEMS + REVIEWERS, len(place)
        centre = np.concatenate([np.zeros((grid, ITEMS)), theta["g0"] + theta["g1"] * slope], axis=1)
        tight = np.r_[np.ones(ITEMS), np.full(REVIEWERS, theta["omega"] ** -2)]
        precision, linear = np.tile(np.diag(tight), (grid, 1, 1)), tight * centre
        constant = prior[place].sum(axis=1) - 0.5 * (tight * centre**2).sum(axis=1)
        for j, i, y in zip(who, what, score, strict=True):
            row, weight = np.zeros((grid, size)), 1 / noise[:, j]
            row[:, i], row[:, ITEMS + j] = slope[:, j], 1.0
            precision += weight[:, None, None] * row[:, :, None] * row[:, None, :]
            linear += (weight * y)[:, None] * row
            constant += 0.5 * np.log(weight) - 0.5 * weight * y**2
        self.covariance = np.linalg.inv(precision)
        self.mean = np.einsum("gij,gj->gi", self.covariance, linear)
        evidence = constant + 0.5 * (linear * self.mean).sum(axis=1) - 0.5 * np.linalg.slogdet(precision)[1]
        share = np.exp(evidence - evidence.max())
        self.share = share / share.sum()

    def moments(self):
        """Mean and covariance of qualities, offsets and log slopes."""
        values, size = np.concatenate([self.mean, self.log_slope], axis=1), self.mean.shape[1]
        mean = self.share @ values
        covariance = np.einsum("g,gi,gj->ij", self.share, values - mean, values - mean)
        covariance[:size, :size] += np.einsum("g,gij->ij", self.share, self.covariance)
        return mean, covariance

    def qualities(self, n, rng):
        rows = rng.choice(self.share.size, n, p=self.share)
        root = np.linalg.cholesky(self.covariance)
        return (self.mean[rows] + np.einsum("nij,nj->ni", root[rows], rng.standard_normal((n, ITEMS + REVIEWERS))))[
            :, :ITEMS
        ]


def tiny(seed):
    """Three reviewers with offsets that show, and the exact posterior at the hyperparameters of the inference."""
    rng = np.random.default_rng(seed)
    who, what = np.divmod(np.arange(REVIEWERS * ITEMS), ITEMS)
    kept = np.sort(rng.permutation(who.size)[:15]) if seed % 2 else np.arange(who.size)
    who, what = who[kept], what[kept]
    score = 5 + np.array([-2.0, 0.0, 2.0])[who] + rng.normal(size=ITEMS)[what] + 0.5 * rng.normal(size=who.size)
    posterior = infer(who, what, score, REVIEWERS, ITEMS, average_models=False)
    assert posterior.signal
    assert posterior.extent == Extent()
    scores = prepare(Rows(who, what, score, None), REVIEWERS, ITEMS)
    exact = Exact(who, what, scores.standard, hyperparameters(posterior), scores.problem.rounding)
    return posterior, score, exact


def internal(posterior, score, quality, drawn):
    """Qualities, offsets and log slopes as the model has them, one row per draw."""
    standard = (quality - posterior.location) / posterior.scale
    offset = posterior.offset - (drawn.severity - posterior.reviewers.severity.mean) / score.std()
    slope = np.log(drawn.slope * posterior.slope / posterior.reviewers.stretch.mean)
    return np.concatenate([standard, offset, slope], axis=1)


def distances(rows, exact):
    """Of means in standard deviations, of log standard deviations, and of correlations: the largest of each."""
    mean, covariance = exact.moments()
    sd, own = np.sqrt(np.diag(covariance)), rows.std(axis=0)
    correlation = covariance / np.outer(sd, sd)
    off = np.abs(np.corrcoef(rows.T) - correlation).max()
    return np.abs((rows.mean(axis=0) - mean) / sd).max(), np.abs(np.log(own / sd)).max(), off


@pytest.mark.parametrize("seed", sampled([3, 0, 2]))
def test_reviewers_given_exact_qualities_are_exact(seed) -> None:
    posterior, score, exact = tiny(seed)
    standard = exact.qualities(20_000, np.random.default_rng(1))
    quality = posterior.location + posterior.scale * standard
    drawn = predicting.reviewer_draws(posterior, score, None, quality, np.random.default_rng(2))
    mean, sd, correlation = distances(internal(posterior, score, quality, drawn), exact)
    # Draws know means to .007 standard deviations, these and correlations likewise; cells add a hundredth.
    assert mean < 0.035
    assert sd < 0.025
    assert correlation < 0.03


@pytest.mark.parametrize("seed", sampled([4, 1]))
def test_joint_draws_have_the_moments_of_numerical_integration(seed) -> None:
    """Correlations of qualities with severities among them, as far as expectation propagation knows the qualities."""
    posterior, score, exact = tiny(seed)
    quality, drawn = averaging.joint_draws(posterior, score, None, 20_000, np.random.default_rng(0))
    mean, sd, correlation = distances(internal(posterior, score, quality, drawn), exact)
    assert mean < 0.08
    assert sd < 0.05
    assert correlation < 0.03


def moved(drawn, reviewers):
    """Means of draws against those reported, in standard errors of the draws, and ratios of standard deviations."""
    width = 1.6448536269514722
    severity, stretch, noise = reviewers.severity, reviewers.stretch, reviewers.noise
    cases = [(drawn.severity, severity.mean, severity.low, severity.high)]
    for value, quantity in ((drawn.slope, stretch), (drawn.noise, noise)):
        low, high = np.log(quantity.low), np.log(quantity.high)
        cases.append((np.log(value), 0.5 * (low + high), low, high))
    for value, mean, low, high in cases:
        sd = (high - low) / (2 * width)
        yield np.abs((value.mean(axis=0) - mean) / sd), value.std(axis=0) / sd


@pytest.mark.slow
@pytest.mark.parametrize(
    ("drawn", "n_reviewers", "options", "near"),
    [
        (table(0), 200, {}, 0.06),
        pytest.param(table(1, 200, 100, 12, own=0.6, noise=0.8), 100, {}, 0.09, marks=pytest.mark.nightly),
        pytest.param(table(2, 200, 100, 10), 100, {"weight": np.linspace(1, 5, 1000)}, 0.06, marks=pytest.mark.nightly),
        (table(3, 200, 100, 10), 100, {"likelihood": "ordinal"}, 0.12),
        pytest.param(ordering(2, 200, 200, 6), 200, {}, 0.09, marks=pytest.mark.nightly),
    ],
    ids=["plain", "own noise", "weights", "levels", "some only order"],
)
def test_marginals_are_those_reported(drawn, n_reviewers, options, near) -> None:
    who, what, score, _ = drawn
    score = np.clip(np.round(score), 3, 7) if "likelihood" in options else score
    posterior = infer(who, what, score, n_reviewers, 200, average_models=False, **options)
    _, people = averaging.joint_draws(posterior, score, options.get("weight"), 2000, np.random.default_rng(0))
    # The draws of ordinal reviewers know what their ranking says of the papers; what is reported of them does not.
    scaled = ~(posterior.reviewers.orders > 0.5)
    assert scaled.sum() > 50
    for name, (off, ratio) in zip(predicting.Drawn._fields, moved(people, posterior.reviewers), strict=True):
        # 2,000 draws know means to .022 standard deviations.
        assert np.sqrt((off[scaled] ** 2).mean()) < near, name
        # Slope and noise of ordinal reviewers are further off than that.
        assert name != "severity" or np.sqrt((off**2).mean()) < max(near, 0.2), name
        assert abs(ratio.mean() - 1) < 0.06, name


def test_of_a_mixture_each_draw_is_of_one_model() -> None:
    who, what, score, _ = table(1, 80, 40, 8, own=0.5)
    score = np.clip(np.round(score), 1, 10)
    posterior = infer(who, what, score, 40, 80, average_models=True)
    assert len(posterior.members) > 1
    quality, people = averaging.joint_draws(posterior, score, None, 1500, np.random.default_rng(0))
    assert np.array_equal(quality, averaging.draws(posterior, 1500, np.random.default_rng(0)))
    off, ratio = next(moved(people, posterior.reviewers))
    assert np.sqrt((off**2).mean()) < 0.1
    assert abs(ratio.mean() - 1) < 0.06
    # Severity and the mean quality of the reviewer's papers go together: reviewer and papers of one world.
    own = np.corrcoef(people.severity[:, 0], quality[:, what[who == 0]].mean(axis=1))[0, 1]
    assert own > 0.15


def test_without_reviewer_effects_reviewers_are_as_reported_and_without_scores_nothing() -> None:
    rng = np.random.default_rng(0)
    who, what = np.divmod(np.arange(60), 6)
    score = rng.normal(size=6)[what] + 0.5 * rng.normal(size=60)
    posterior = infer(who, what, score, 11, 6)
    assert not posterior.signal
    quality, people = averaging.joint_draws(posterior, score, None, 5, np.random.default_rng(0))
    assert np.array_equal(people.noise[:, :10], np.repeat(posterior.reviewers.noise.mean[None, :10], 5, axis=0))
    assert np.isnan(people.severity[:, 10]).all()
    assert averaging.joint_draws(posterior, score, None, 0, rng)[1].severity.shape == (0, 11)
    assert beliefs.draws(replace(posterior), 5, np.random.default_rng(0)).tolist() == quality.tolist()
