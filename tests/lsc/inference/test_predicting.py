"""Predictions of scores, leave-one-out residuals, fit of reviewers and ranks, against refits, sums and simulations."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from scipy.stats import kstest, norm

from lsc._inference import predicting
from lsc._inference.averaging import rank_counts
from lsc._inference.beliefs import Posterior
from lsc._inference.categories import Discrete, levels_of
from lsc._inference.inferring import infer
from lsc._inference.model import LOG_OMEGA
from lsc._inference.predicting import (
    Mixture,
    Paired,
    fit_of,
    leave_one_out,
    observed_scores,
    of_reviewers,
    predicted_spread,
    predictive,
    ranking_of,
    replicated,
    score_unit,
    with_places,
)
from lsc._inference.scale_users import gap_probabilities, offsets_given, slopes_at
from lsc._inference.states import Rows, initial_state, item_posterior, parts_with_messages, prepare
from lsc._inference.sweeps import block_inputs, run_sweeps
from lsc.posteriors import PosteriorEstimate, posterior
from lsc.predictions import Residuals
from reviewgraph import InputError, Reviews
from tests.benchmarks.ordinal import REGIMES, drawn
from tests.lsc.inference.simulated_tables import ordering, table
from tests.trials import NIGHTLY, sampled

pytestmark = pytest.mark.usefixtures("infer_once")


def estimate_of(seed: int = 0, *, lower_is_better: bool = False, **options: float) -> PosteriorEstimate:
    who, what, score, _ = table(seed, n_items=60, n_reviewers=40, load=6, **options)
    printed = -score if lower_is_better else score
    reviews = Reviews.from_codes(who, what, printed, reviewers=40, items=60, lower_is_better=lower_is_better)
    return posterior(reviews)


@pytest.fixture(scope="module")
def found() -> PosteriorEstimate:
    return estimate_of(own=0.5)


def test_a_mixture_has_the_moments_and_quantiles_of_its_draws() -> None:
    mixture = Mixture(np.array([0.2, 0.8]), np.array([-3.0, 1.0]), np.array([0.5, 2.0]))
    rng = np.random.default_rng(0)
    part = rng.random(200_000) < 0.2
    drawn = np.where(part, rng.normal(-3, 0.5, part.size), rng.normal(1, 2, part.size))
    assert mixture.mean == pytest.approx(drawn.mean(), abs=0.02)
    assert mixture.sd == pytest.approx(drawn.std(), rel=0.01)
    for probability in (0.05, 0.5, 0.99):
        assert mixture.quantile(probability) == pytest.approx(np.quantile(drawn, probability), abs=0.06)
        assert mixture.cdf(mixture.quantile(probability)) == pytest.approx(probability, abs=1e-9)
    turned = mixture.mapped(2.0, -3.0)
    assert turned.mean == pytest.approx(2 - 3 * mixture.mean)
    assert turned.cdf(np.array(2.0 - 3.0 * 0.7)) == pytest.approx(1 - mixture.cdf(np.array(0.7)))


def refitted(fitted: Posterior, rows: Rows, left_out: int) -> tuple[float, float]:
    """Mean and standard deviation of a score from a refit without it, hyperparameters and unit unchanged."""
    unit, kept = score_unit(fitted, rows.score), np.arange(rows.score.size) != left_out
    problem = prepare(rows.only(kept), fitted.slope.size, fitted.mean.size, unit=unit).problem
    fit = run_sweeps(problem, initial_state(problem, fitted.theta, fitted.extent), 60)
    who, what = rows.reviewer[left_out], rows.item[left_out]
    [(part, messages)] = parts_with_messages(problem, fit.state)
    [(block, inputs)] = [
        (each.block, each)
        for each in block_inputs(part, messages, item_posterior(problem, fit.state), fit.state)
        if who in each.block.reviewer
    ]
    # The reviewer's lines at the nodes, given the papers of the refit.
    at = slopes_at(inputs.nodes, fitted.theta)
    noise = at.noise * inputs.factor[:, None] + unit.rounding
    given = offsets_given(block, inputs.cavity, at, noise, float(np.exp(2 * fitted.theta[LOG_OMEGA])))
    j = int(np.flatnonzero(block.reviewer == who)[0])
    share = np.exp(given.log_weight[:, j] - given.log_weight[:, j].max())
    share /= share.sum()
    variance = fitted.loops[what] / item_posterior(problem, fit.state).precision[what]
    centre = at.slope[:, j] * fit.mean[what] + given.mean[:, j]
    total = at.slope[:, j] ** 2 * variance + 1 / given.precision[:, j]
    total += at.noise[:, j] + unit.rounding
    mean = float(share @ centre)
    return mean, math.sqrt(share @ (total + (centre - mean) ** 2))


def test_leaving_one_out_agrees_with_a_refit_without_it() -> None:
    who, what, score, _ = table(3, n_items=60, n_reviewers=40, load=6, own=0.5)
    fitted = infer(who, what, score, 40, 60)
    left_out = leave_one_out(fitted, score)
    for review in range(0, score.size, 13 if NIGHTLY else 80):
        mean, sd = refitted(fitted, Rows(who, what, score), review)
        assert left_out.mean[review] == pytest.approx(mean, abs=0.15 * sd)
        assert left_out.sd[review] == pytest.approx(sd, rel=0.12)


@pytest.mark.slow
@pytest.mark.parametrize(("own", "load"), sampled([(0.0, 5), (0.6, 8)], several=True))
def test_held_out_scores_are_in_their_intervals_as_often_as_promised(own: float, load: int) -> None:
    probability, of_new = [], []
    for seed in range(3):
        who, what, score, _ = table(seed, load=load, own=own)
        kept = np.random.default_rng(seed).random(who.size) >= 0.15
        fitted = infer(who[kept], what[kept], score[kept], 200, 200)
        test = ~kept & np.isfinite(fitted.mean[what])
        unit = score_unit(fitted, score[kept])
        moments = fitted.mean[what[test]], (fitted.variance * fitted.loops)[what[test]]
        # By the reviewers themselves, and as if they were new.
        for codes, into in ((who[test], probability), (np.full(test.sum(), 200), of_new)):
            mixture = of_reviewers(fitted, score[kept], codes, None).given(*moments)
            into.append(mixture.mapped(unit.location, unit.spread).cdf(score[test]))
    for each in map(np.concatenate, (probability, of_new)):
        assert abs((np.abs(each - 0.5) < 0.45).mean() - 0.9) < 3 * math.sqrt(0.09 / each.size)


def test_residuals_are_standard_and_their_probabilities_uniform() -> None:
    parts = [estimate_of(seed).residuals() for seed in range(3)]
    standard, probability = (np.concatenate([part[k] for part in parts]) for k in (1, 2))
    assert abs(standard.mean()) < 4 / math.sqrt(standard.size)
    assert standard.std() == pytest.approx(1.0, abs=0.08)
    assert kstest(probability, "uniform").pvalue > 0.01
    assert parts[0].within(0.9) == (np.abs(parts[0].probability - 0.5) < 0.45).mean()


def test_residuals_are_those_of_the_printed_scores(found: PosteriorEstimate) -> None:
    turned = estimate_of(own=0.5, lower_is_better=True)
    here, there = found.residuals(), turned.residuals()
    assert there.raw == pytest.approx(-here.raw)
    assert there.standardised == pytest.approx(-here.standardised)
    assert there.probability == pytest.approx(1 - here.probability)
    pair = [0, 3, None], [5, 5, 7]
    one, other = found.predict(*pair), turned.predict(*pair)
    assert other.mean == pytest.approx(-one.mean)
    assert other.interval(0.8) == pytest.approx(-one.interval(0.8)[:, ::-1])
    assert other.cdf(-5.0) == pytest.approx(1 - one.cdf(5.0))


def test_planned_and_ignored_reviews_have_no_residual() -> None:
    who, what, score, _ = table(1, n_items=60, n_reviewers=40, load=6)
    rows = [*zip(who.tolist(), what.tolist(), score.tolist(), strict=True), *((99, k, 5.0) for k in range(12))]
    reviews = Reviews.from_pairs([*rows, (0, 77, None)])
    estimate = posterior(reviews)
    residuals = estimate.residuals()
    missing = np.isnan(residuals.raw)
    constant = reviews.reviewer == reviews.reviewer_code[99]
    assert (missing == (constant | ~reviews.scored)).all()
    # Who gave one score only is predicted as somebody new.
    assert estimate.predict(99, 5).mean == pytest.approx(estimate.predict(None, 5).mean)
    assert np.isnan(estimate.fit.infit[reviews.reviewer_code[99]])


@pytest.mark.parametrize("signal", [True, False])
def test_a_prediction_without_any_uncertainty_about_the_reviewer_is_their_line(signal: bool) -> None:
    who, what, score, _ = table(2, n_items=40, n_reviewers=20, load=30, offset=1.0 if signal else 0, slope=0.0)
    reviews = Reviews.from_codes(who, what, score, reviewers=20, items=40)
    estimate = posterior(reviews)
    assert estimate.beliefs.signal is signal
    expected = estimate.predict([3] * 40, list(range(40)))
    line = np.polyfit(estimate.quality[what[who == 3]], score[who == 3], 1)
    assert expected.mean == pytest.approx(np.polyval(line, estimate.quality), abs=0.6)
    assert expected.sd == pytest.approx(1.5 * 0.6, rel=0.3)
    # Not more certain than the noise, nor less than of a new reviewer.
    assert (expected.sd <= estimate.predict(None, list(range(40))).sd + 1e-9).all()


def test_infit_and_outfit_are_one_with_the_expected_spread() -> None:
    parts = [estimate_of(seed).fit for seed in range(6 if NIGHTLY else 3)]
    for k in (0, 1):
        square, sd = (np.concatenate([part[j] for part in parts]) for j in (k, k + 2))
        assert square.mean() == pytest.approx(1.0, abs=0.1)
        assert square.std() == pytest.approx(np.sqrt((sd**2).mean()), rel=0.25)


# Scores that are levels.


@pytest.fixture(scope="module")
def on_levels() -> PosteriorEstimate:
    regime = next(regime for regime in REGIMES if regime.title == "5 levels, ceiling")
    levels = drawn(regime, 0)
    score = levels.level + 1.0
    reviews = Reviews.from_codes(levels.who, levels.what, score, reviewers=60, items=200)
    return posterior(reviews, likelihood="ordinal")


def test_levels_have_the_probabilities_of_naive_draws(on_levels: PosteriorEstimate) -> None:
    """Draw node, offset, quality and noise one after another, and see between which thresholds the sum is."""
    beliefs, score, rng = on_levels.beliefs, on_levels.reviews.score, np.random.default_rng(0)
    levels, size = levels_of(score)[0], 400_000
    for who, what in ((0, 3), (17, 100), (60, 8)):
        people = of_reviewers(beliefs, score, np.array([who]), None)
        node = rng.choice(people.share.size, size, p=people.share[:, 0])
        slope, offset, variance, noise = (value[node, 0] for value in people[1:])
        quality = beliefs.mean[what] + np.sqrt(beliefs.variance[what] * beliefs.loops[what]) * rng.standard_normal(size)
        latent = slope * quality + offset + np.sqrt(variance) * rng.standard_normal(size)
        latent += np.sqrt(noise) * rng.standard_normal(size)
        level = (latent[:, None] > levels.below[1:]).sum(axis=1)
        found = on_levels.predict(None if who == 60 else who, what)
        assert found.levels is not None
        assert found.levels.tolist() == [1, 2, 3, 4, 5]
        assert found.probability == pytest.approx(np.bincount(level, minlength=5) / size, abs=0.004)
        value = levels.value[level]
        assert (found.mean, found.sd) == pytest.approx((value.mean(), value.std()), abs=0.01)
        for end in (0.5, 3.0, 3.5, 5.0):
            assert found.cdf(end) == pytest.approx((value <= end).mean(), abs=0.004)
        low, high = found.interval(0.8)
        assert found.cdf(high) - found.cdf(low - 1) >= 0.8
        assert found.cdf(high - 1) < 0.9
        sample = found.sample(20_000, seed=1)
        assert np.bincount(sample.astype(int), minlength=6)[1:] / 20_000 == pytest.approx(found.probability, abs=0.015)
        # The model with the mean of the draws of whole tables.
        drawn_scores = replicated(beliefs, score, None, quality[:2, None] * np.ones(200), rng)
        assert set(np.unique(drawn_scores)) <= {1.0, 2.0, 3.0, 4.0, 5.0}


def test_levels_of_which_lower_is_better_are_turned(on_levels: PosteriorEstimate) -> None:
    reviews = on_levels.reviews
    turned = posterior(
        Reviews.from_codes(
            reviews.reviewer, reviews.item, 6 - reviews.score, reviewers=60, items=200, lower_is_better=True
        ),
        likelihood="ordinal",
    )
    one, other = (estimate.predict([0, 5], [3, 3]) for estimate in (on_levels, turned))
    assert one.probability is not None
    assert other.probability is not None
    assert other.probability[:, ::-1] == pytest.approx(one.probability)
    here, there = on_levels.residuals(), turned.residuals()
    assert there.raw == pytest.approx(-here.raw)
    assert there.lower == pytest.approx(1 - here.probability)


def test_a_level_is_left_out_as_a_refit_without_it_predicts(on_levels: PosteriorEstimate) -> None:
    reviews, residuals = on_levels.reviews, on_levels.residuals()
    for row in (77, 612, 5, 300) if NIGHTLY else (77,):
        kept = np.arange(reviews.n_reviews) != row
        without = posterior(
            Reviews.from_codes(
                reviews.reviewer[kept], reviews.item[kept], reviews.score[kept], reviewers=60, items=200
            ),
            likelihood="ordinal",
        )
        again = without.predict(int(reviews.reviewer[row]), int(reviews.item[row]))
        mean = reviews.score[row] - residuals.raw[row]
        assert mean == pytest.approx(again.mean, abs=0.2 * again.sd)
        assert residuals.raw[row] / residuals.standardised[row] == pytest.approx(again.sd, rel=0.15)


def coverage(found: Residuals) -> float:
    """Largest distance of the shares in intervals from their probabilities, in standard errors."""
    size = found.raw.size
    return max(abs(found.within(p) - p) / math.sqrt(p * (1 - p) / size) for p in (0.5, 0.8, 0.9))


@pytest.mark.slow
@pytest.mark.parametrize("title", sampled(["2 levels", "5 levels, ceiling", "3 levels", "7 levels, N = 300"], 2))
def test_held_out_levels_are_as_likely_as_said(title: str) -> None:
    regime = next(regime for regime in REGIMES if regime.title == title)
    parts, said, seen, fits = [], [], [], []
    for seed in range(3 if NIGHTLY else 1):
        levels = drawn(regime, seed)
        kept, score = np.random.default_rng(seed).random(levels.who.size) >= 0.15, levels.level + 1.0
        sizes = {"reviewers": regime.n_reviewers, "items": regime.n_items}
        reviews = Reviews.from_codes(levels.who[kept], levels.what[kept], score[kept], **sizes)
        estimate = posterior(reviews, likelihood="ordinal")
        test = ~kept & np.isfinite(estimate.quality)[levels.what]
        found = estimate.predict(levels.who[test].tolist(), levels.what[test].tolist())
        assert found.probability is not None
        assert found.levels is not None
        own = found.levels == score[test][:, None]
        upper = found.cdf(score[test])
        parts.append(Residuals(upper, upper, upper, upper - (found.probability * own).sum(axis=1)))
        said.append(found.probability.ravel())
        seen.append(own.ravel())
        residuals = estimate.residuals()
        assert np.nanstd(residuals.standardised) == pytest.approx(1.0, abs=0.1)
        for level in (0.5, 0.8, 0.9):
            assert residuals.within(level) == pytest.approx(level, abs=0.04)
        fits.append(estimate.fit)
    assert coverage(Residuals(*(np.concatenate(values) for values in zip(*parts, strict=True)))) < 3.5
    probability, own = np.concatenate(said), np.concatenate(seen)
    for low, high in ((0.0, 0.2), (0.2, 0.4), (0.4, 0.6), (0.6, 1.0)):
        part = (low <= probability) & (probability < high)
        error = math.sqrt((probability[part] * (1 - probability[part])).sum()) / part.sum()
        assert abs(probability[part].mean() - own[part].mean()) < 3.5 * error
    for k in (0, 1):
        square, sd = (np.concatenate([fit[j] for fit in fits]) for j in (k, k + 2))
        assert np.nanmean(square) == pytest.approx(1.0, abs=0.12)
        assert np.nanstd(square) == pytest.approx(np.sqrt(np.nanmean(sd**2)), rel=0.35)


def test_spreads_of_levels_are_those_of_new_ones(on_levels: PosteriorEstimate) -> None:
    beliefs, score = on_levels.beliefs, on_levels.reviews.score
    predicted, low, high = predicted_spread(beliefs, score)
    new = replicated(beliefs, score, None, on_levels.draws(500), np.random.default_rng(1))
    for code in (0, 17, 44):
        spread = new[:, on_levels.reviews.reviewer == code].std(axis=1, ddof=1)
        assert predicted[code] == pytest.approx(np.sqrt((spread**2).mean()), rel=0.06)
        assert (low[code], high[code]) == pytest.approx(tuple(np.quantile(spread, (0.05, 0.95))), abs=0.12)


def test_a_level_counts_by_its_part_in_the_interval() -> None:
    upper, lower = np.array([0.5, 1.0, 0.97]), np.array([0.0, 0.5, 0.97])
    found = Residuals(upper, upper, upper, lower)
    # Half of [0, .5] is in [.25, .75], half of [.5, 1], and of .97 nothing.
    assert found.within(0.5) == pytest.approx(1 / 3)
    assert found.share(0.95, 1.0) == pytest.approx((0.1 + 1) / 3)
    assert Discrete(np.array([1.0, 2.0]), np.array([0.3, 0.7])).quantile(0.3) == 1.0


# Ordinal reviewers.


def test_a_new_paper_falls_into_gaps_as_often_as_drawn() -> None:
    rng = np.random.default_rng(0)
    mean, variance = np.array([-0.4, 0.1, 0.0, 0.8]), np.array([0.5, 0.3, 0.4, 0.6])
    z = mean + np.sqrt(variance) * rng.standard_normal((1_500_000, 4))
    ranked = z[(np.diff(z, axis=1) > 0).all(axis=1)]
    assert len(ranked) > 10_000
    new = 0.3 + 0.7 * rng.standard_normal(len(ranked))
    share = np.bincount((ranked < new[:, None]).sum(axis=1), minlength=5) / len(ranked)
    # A column with an empty slot is that without it.
    columns = (
        np.stack([mean, np.append(mean[:3], 0.0)], axis=1),
        np.stack([variance, np.append(variance[:3], 1.0)], axis=1),
    )
    used = np.ones((4, 2))
    used[3, 1] = 0.0
    found = gap_probabilities(*columns, used, (np.full(2, 0.3), np.full(2, 0.49)))
    assert found[:, 0] == pytest.approx(share, abs=0.01)
    alone = gap_probabilities(mean[:3, None], variance[:3, None], np.ones((3, 1)), (np.full(1, 0.3), np.full(1, 0.49)))
    assert found[:4, 1] == pytest.approx(alone[:, 0])
    assert found[4, 1] == 0
    assert found.sum(axis=0) == pytest.approx(1.0)


@pytest.fixture(scope="module")
def of_ranks() -> tuple[Posterior, np.ndarray]:
    who, what, score, _ = ordering(0, n_items=80, n_reviewers=60, load=8, share=1.0)
    fitted = infer(who, what, score, 60, 80)
    assert fitted.extent.orders
    return fitted, score


def test_ordinal_reviewers_give_the_scores_of_their_gaps(of_ranks: tuple[Posterior, np.ndarray]) -> None:
    """Draw scores as if papers were fresh, and keep each as often as the paper is perceived in its gap."""
    fitted, score = of_ranks
    ranking = ranking_of(fitted, observed_scores(fitted, score))
    code, rng = int(np.argmax(fitted.reviewers.orders)), np.random.default_rng(0)
    fresh = Mixture(np.array([[0.4, 0.6]]), np.array([[-0.5, 0.4]]), np.array([[0.6, 1.1]]))
    own = slice(ranking.start[code], ranking.start[code + 1])
    edge, mean, variance = ranking.score[own], ranking.mean[own], ranking.variance[own]
    assert (np.diff(edge) >= 0).all()
    for left_out in (-1, 3):
        kept = np.delete(np.arange(edge.size), left_out) if left_out >= 0 else np.arange(edge.size)
        column = kept.size, 1
        chance = gap_probabilities(
            mean[kept].reshape(column),
            variance[kept].reshape(column),
            np.ones(column),
            (np.array([0.5]), np.array([0.2 + ranking.perception])),
        )[:, 0]
        part = rng.random(400_000) < 0.4
        value = np.where(part, -0.5 + 0.6 * rng.standard_normal(part.size), 0.4 + 1.1 * rng.standard_normal(part.size))
        weight = chance[np.searchsorted(edge[kept], value)]
        expected = np.average(value, weights=weight)
        sd = np.sqrt(np.average((value - expected) ** 2, weights=weight))
        pairs = Paired(np.array([code]), np.array([0.5]), np.array([0.2]), np.array([left_out]))
        found = with_places(ranking, fresh, np.ones(1), pairs)
        assert found.mean[0] == pytest.approx(expected, abs=0.02)
        assert found.sd[0] == pytest.approx(sd, rel=0.05)
        for end in edge[kept][::3]:
            below = np.average(value <= end, weights=weight)
            assert found.cdf(np.array([end]))[0] == pytest.approx(below, abs=0.06)


def test_equal_scores_leave_room_between_them_and_many_are_thinned(
    of_ranks: tuple[Posterior, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted, score = of_ranks
    score = np.round(score)
    unit, observed = score_unit(fitted, score), observed_scores(fitted, score)
    ranking = ranking_of(fitted, observed)
    for code in range(60):
        edge = ranking.score[ranking.start[code] : ranking.start[code + 1]]
        assert (np.diff(edge) > 0).all()
        own = np.sort(unit.standardised(score[fitted.reviewer == code]))
        assert np.abs(edge - own).max() <= 0.5 / unit.spread
    # Fewer of the others are wider gaps, hardly another mean.
    known = np.flatnonzero(fitted.reviewers.orders > 0.9)
    pairs = np.repeat(known, 5), np.tile(np.arange(5), known.size)
    every = predictive(fitted, score, None, *pairs)
    monkeypatch.setattr(predicting, "MOST_OTHERS", 5)
    some = predictive(fitted, score, None, *pairs)
    assert np.sqrt((((some.mean - every.mean) / every.sd) ** 2).mean()) < 0.4
    assert some.sd.mean() == pytest.approx(every.sd.mean(), rel=0.2)


@pytest.mark.slow
def test_ordinal_reviewers_are_predicted_from_ranks() -> None:
    probability, errors, sds = [], [], []
    size, load = (200, 12) if NIGHTLY else (120, 8)
    for seed in range(3 if NIGHTLY else 1):
        who, what, score, _ = ordering(seed, size, size, load, share=1.0)
        kept = np.random.default_rng(seed).random(who.size) >= 0.15
        fitted = infer(who[kept], what[kept], score[kept], size, size)
        assert fitted.extent.orders
        test = ~kept & np.isfinite(fitted.mean[what])
        law = predictive(fitted, score[kept], None, who[test], what[test])
        probability.append(law.cdf(score[test]))
        errors.append(score[test] - law.mean)
        sds.append(law.sd)
        # Without ranks, spreads were 1.8 times as large as errors are with them.
        fresh = of_reviewers(fitted, score[kept], who[test], None).given(fitted.mean[what[test]], 0 * law.mean + 0.1)
        sure = fitted.reviewers.orders[who[test]] > 0.95
        unit = score_unit(fitted, score[kept])
        assert np.sqrt((errors[-1][sure] ** 2).mean()) < 0.65 * unit.spread * fresh.sd[sure].mean()
    all_of = np.concatenate(probability)
    for level in (0.5, 0.8, 0.9):
        assert (np.abs(all_of - 0.5) < level / 2).mean() == pytest.approx(level, abs=0.04)
    assert np.concatenate(errors).std() == pytest.approx(np.sqrt((np.concatenate(sds) ** 2).mean()), rel=0.08)


def test_a_reviewer_of_random_scores_misfits() -> None:
    who, what, score, _ = table(4, n_items=60, n_reviewers=40, load=12)
    score[who == 7] = np.random.default_rng(0).permutation(np.linspace(score.min(), score.max(), 12))
    fit = posterior(Reviews.from_codes(who, what, score, reviewers=40, items=60)).fit
    assert np.argmax(fit.outfit) == np.argmax(fit.infit) == 7
    assert fit.outfit[7] > 1 + 3 * fit.outfit_sd[7]


def test_fit_is_the_mean_of_squares_reviewer_by_reviewer(found: PosteriorEstimate) -> None:
    score = found.reviews.score
    left_out, unit = leave_one_out(found.beliefs, score), score_unit(found.beliefs, score)
    fit = fit_of(found.beliefs, left_out, unit.standardised(score))
    for code in range(0, 40, 7):
        rows = np.flatnonzero(found.reviews.reviewer == code)
        squares = [(unit.standardised(score[r]) - left_out.mean[r]) ** 2 for r in rows]
        variances = [left_out.typical_sd[r] ** 2 for r in rows]
        assert fit.infit[code] == pytest.approx(sum(squares) / sum(variances))
        ratios = [a / b for a, b in zip(squares, variances, strict=True)]
        assert fit.outfit[code] == pytest.approx(sum(ratios) / len(rows))


def test_ranks_are_counted_within_groups() -> None:
    rng = np.random.default_rng(0)
    draws, group = rng.standard_normal((50, 5)), np.array([1, 2, 1, 1, 2])
    draws[:, 3] = np.nan
    share, mean, sd = rank_counts(draws, group, 2)
    for item in range(5):
        ranks = [
            1 + sum(row[other] > row[item] for other in range(5) if group[other] == group[item] and other != item)
            for row in np.nan_to_num(draws, nan=-np.inf)
        ]
        if item == 3:
            assert share[item].sum() == 0
            assert np.isnan(mean[item])
            continue
        assert share[item].tolist() == [ranks.count(1) / 50, ranks.count(2) / 50]
        assert (mean[item], sd[item]) == pytest.approx((np.mean(ranks), np.std(ranks)))


def test_rank_probabilities_agree_with_normal_marginals(found: PosteriorEstimate) -> None:
    share, ranks = found.rank_probabilities(draws=8000), found.expected_ranks(draws=8000)
    assert share.sum(axis=0) == pytest.approx(1.0)
    assert share.sum(axis=1) == pytest.approx(1.0)
    assert share @ np.arange(1, 61) == pytest.approx(ranks.mean)
    for n in (1, 6, 20):
        assert share[:, :n].sum(axis=1) == pytest.approx(found.probability_in_top(n), abs=0.06)
    # Expected ranks from pairs, each with its own error.
    some = [0, 10, 40]
    for item in some:
        better = [found.probability_better(other, item) for other in range(60) if other != item]
        assert ranks.mean[item] == pytest.approx(1 + sum(better), abs=0.6)
    assert found.probability_better(0, 10) == pytest.approx(1 - found.probability_better(10, 0))
    drawn = found.draws(8000, seed=5)
    assert found.probability_better(0, 10) == pytest.approx((drawn[:, 0] > drawn[:, 10]).mean(), abs=0.02)


def test_two_items_have_the_ranks_that_their_difference_implies() -> None:
    reviews = Reviews.from_pairs([(who, what, y) for who in "abc" for what, y in (("p", 1.0), ("q", 1.5), ("p2", 3.0))])
    estimate = posterior(reviews)
    share = estimate.rank_probabilities(draws=20_000, seed=1)
    chance = {pair: estimate.probability_better(*pair) for pair in permutations(["p", "p2"], 2)}
    assert chance["p2", "p"] == pytest.approx(
        norm.cdf(estimate.difference("p2", "p").mean / estimate.difference("p2", "p").standard_error)
    )
    assert share[reviews.item_code["p2"], 0] <= chance["p2", "p"] + 0.02


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("zebra", 1), "reviewer: expected a reviewer of these reviews, or None for a new one, found 'zebra'"),
        ((1, "zebra"), "item: expected an item with a quality, or None for a new one, found 'zebra'"),
        (([1, 2], [1, 2, 3]), "reviewer, item: expected equal numbers of labels, found 2 and 3"),
    ],
)
def test_predictions_of_what_has_none_are_refused(
    found: PosteriorEstimate, arguments: tuple[object, object], message: str
) -> None:
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        found.predict(*arguments)  # type: ignore[arg-type]


def test_other_arguments_are_refused(found: PosteriorEstimate) -> None:
    with pytest.raises(InputError, match="level: expected a probability between 0 and 1, found 1"):
        found.predict(1, 2).interval(1.0)
    with pytest.raises(InputError, match="score: expected a number, or numbers of shape"):
        found.predict(1, 2).cdf([1.0, 2.0])
    with pytest.raises(InputError, match="n_ranks: expected 1 to 60 ranks, found 61"):
        found.rank_probabilities(61)
    with pytest.raises(InputError, match="draws: expected a number of draws, 1 or more, found 0"):
        found.expected_ranks(draws=0)
