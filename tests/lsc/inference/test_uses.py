from unittest import mock

import numpy as np
import pytest
from scipy import stats

from lsc._inference import beliefs, validation
from lsc._inference.beliefs import fixed_point_variances, loop_factors
from lsc._inference.inferring import bend_variance, infer
from lsc._inference.validation import held_out_gain
from reviewgraph._base import InputError, probability_in_top
from tests.lsc.inference.simulated_tables import table
from tests.trials import NIGHTLY


@pytest.fixture(scope="module")
def posterior():
    who, what, score, _ = table(0, 80, 60, 4, slope=0.4)
    return infer(who, what, score, 60, 81)


def test_draws_have_the_means_and_errors_of_the_posterior(posterior) -> None:
    drawn = beliefs.draws(posterior, 4000, np.random.default_rng(0))
    assert drawn.shape == (4000, 81)
    assert np.isnan(drawn[:, 80]).all()
    error = posterior.order_error[:80]
    np.testing.assert_allclose(drawn[:, :80].mean(axis=0), posterior.quality[:80], atol=0.08 * error.max())
    np.testing.assert_allclose(drawn[:, :80].std(axis=0) / error, 1.0, atol=0.06)


def test_conjugate_gradients_draw_as_the_factorisation_does(posterior, monkeypatch) -> None:
    dense = beliefs.joint(posterior)
    one = beliefs.draws(posterior, 6000, np.random.default_rng(0))[:, :80]
    expected = [dense.difference(a, b) for a, b in ((0, 1), (3, 70), (5, 6))]
    monkeypatch.setattr(beliefs, "DENSE", 0)
    other = beliefs.draws(posterior, 6000, np.random.default_rng(1))[:, :80]
    assert np.abs(np.corrcoef(one.T) - np.corrcoef(other.T)).max() < 0.08
    np.testing.assert_allclose(other.std(axis=0) / one.std(axis=0), 1.0, atol=0.15)
    for (a, b), truth in zip(((0, 1), (3, 70), (5, 6)), expected, strict=True):
        found = beliefs.difference(posterior, a, b)
        assert found.mean == pytest.approx(truth.mean)
        assert found.standard_error == pytest.approx(truth.standard_error, rel=0.1)


def test_differences_of_two_papers_of_one_reviewer_are_joint() -> None:
    """One reviewer with an unknown offset: her papers share it, and it cancels in their difference."""
    who, what, score, _ = table(1, 60, 40, 4, slope=0.05, offset=2.0, noise=0.3)
    posterior = infer(who, what, score, 40, 60)
    rows = np.flatnonzero(who == 0)[:2]
    found = beliefs.difference(posterior, *what[rows])
    alone = np.sqrt((posterior.order_error[what[rows]] ** 2).sum())
    assert found.standard_error < 0.95 * alone
    drawn = beliefs.draws(posterior, 4000, np.random.default_rng(2))
    assert (drawn[:, what[rows[0]]] - drawn[:, what[rows[1]]]).std() == pytest.approx(found.standard_error, rel=0.06)


def test_a_difference_needs_two_items_with_scores(posterior) -> None:
    for pair in ((3, 3), (0, 80)):
        with pytest.raises(InputError, match="expected two different items with scores"):
            beliefs.difference(posterior, *pair)


def test_probabilities_sum_to_the_number_selected() -> None:
    mean, sd = np.array([3.0, np.nan, 1.0, 1.0, -2.0]), np.array([0.5, np.nan, 1.0, 1.0, 0.1])
    for n in range(5):
        found = probability_in_top(mean, sd, n)
        assert found.sum() == pytest.approx(min(n, 4))
        assert found[1] == 0
        assert found[2] == found[3]
    with pytest.raises(InputError, match="n: expected 0 to 5"):
        probability_in_top(mean, sd, 6)
    assert probability_in_top(np.full(3, np.nan), np.full(3, np.nan), 2).tolist() == [0, 0, 0]


def test_probabilities_are_near_the_frequencies_of_draws() -> None:
    rng = np.random.default_rng(0)
    mean, sd = rng.standard_normal(50), rng.uniform(0.2, 0.8, 50)
    drawn = mean + sd * rng.standard_normal((20_000, 50))
    cut = np.sort(drawn, axis=1)[:, -10]
    frequency = (drawn >= cut[:, None]).mean(axis=0)
    np.testing.assert_allclose(probability_in_top(mean, sd, 10), frequency, atol=0.05)


def test_the_gain_is_positive_where_reviewers_differ_and_none_where_not() -> None:
    who, what, score, truth = table(0, offset=1.0)
    found = held_out_gain(infer(who, what, score, 200, 200), score)
    assert found.relative > 4 * found.standard_error > 0
    assert found.error < found.average_error
    assert found.reviews > 900
    noisy = truth[what] + np.random.default_rng(0).standard_normal(what.size)
    posterior = infer(who, what, noisy, 200, 200)
    assert held_out_gain(posterior, noisy).relative == 0
    one = np.zeros(1, np.int64)
    assert held_out_gain(infer(one, one, np.ones(1), 1, 1), np.ones(1)).reviews == 0


def test_reviewers_of_one_other_score_each_are_no_reason_to_distrust_the_correction() -> None:
    """With two scores each severities are hardly known, so single scores are predicted badly; qualities are not."""
    who, what, score, truth = table(3, 150, 300, 2, slope=0.4, offset=1.0, noise=0.5)
    found = infer(who, what, score, 300, 150)
    average = np.bincount(what, score, 150) / np.bincount(what, minlength=150)
    assert np.corrcoef(found.mean, truth)[0, 1] > np.corrcoef(average, truth)[0, 1] + 0.05
    assert held_out_gain(found, score).relative > 0.05


def told(who, score, quality, average):
    """The gain where what is foretold is given."""
    with mock.patch.object(validation, "_predict", return_value=validation.HeldOut(who, score, quality, average)):
        return held_out_gain(None, score)


def test_only_the_order_within_a_reviewer_counts() -> None:
    rng = np.random.default_rng(0)
    who, score = np.repeat(np.arange(12), 4), rng.standard_normal(48)
    noise = rng.standard_normal(48)
    found = told(who, score, np.exp(score), noise)
    assert found.relative == pytest.approx(1.0)
    assert found.error == pytest.approx(0.0, abs=1e-12)
    # Ranks within reviewers, and the best line, written out.
    rank = {id(value): stats.rankdata(value) for value in (score, noise)}
    y, x = (np.concatenate([part - part.mean() for part in np.split(rank[id(v)], 12)]) / 48 for v in (score, noise))
    slope = max((x @ y) / (x @ x), 0.0)
    assert found.average_error == pytest.approx(np.sqrt(((y - slope * x) ** 2).mean()))
    # A quality that is upside down is as good as none.
    assert told(who, score, -score, np.zeros(48)).relative == pytest.approx(0.0)
    assert told(who, score, noise, noise).relative == 0


def test_too_few_reviewers_of_two_scores_say_nothing() -> None:
    who, what = np.array([0, 0, 1, 1, 2, 2, 3, 4, 5, 6]), np.array([0, 1, 0, 1, 0, 1, 0, 0, 1, 1])
    found = held_out_gain(infer(who, what, np.arange(10.0), 7, 2), np.arange(10.0))
    assert np.isnan(found.relative)
    assert np.isnan(found.standard_error)
    assert found.reviews == 6


def test_the_gain_does_not_depend_on_the_order_of_rows() -> None:
    who, what, score, _ = table(2, 60, 60, 4)
    rows = np.random.default_rng(0).permutation(who.size)
    one = held_out_gain(infer(who, what, score, 60, 60), score)
    other = held_out_gain(infer(who[rows], what[rows], score[rows], 60, 60), score[rows])
    np.testing.assert_allclose(other, one, rtol=2e-3)


def test_a_bend_shows_in_the_shape_of_qualities_and_keeps_ties() -> None:
    normal = stats.norm.ppf((np.arange(200) + 0.5) / 200)
    assert bend_variance(normal).max() < 0.02
    rng = np.random.default_rng(0)
    assert max(bend_variance(rng.standard_normal(400)).mean() for _ in range(20)) < 0.01
    bent = bend_variance(np.exp(normal) / np.exp(normal).std())
    assert bent.max() > 1.0
    tied = np.array([0.0, 1.0, 1.0, 5.0])
    assert bend_variance(tied)[1] == bend_variance(tied)[2]
    assert bend_variance(np.zeros(5)).tolist() == [0] * 5


def communities(seed: int, groups: int = 6, size: int = 30):
    """Communities in a row, each joined to the next by one reviewer, with the truth."""
    rng = np.random.default_rng(seed)
    who, what, _, _ = table(seed, size, size, 4)
    reviewer = np.concatenate([who + size * group for group in range(groups)])
    item = np.concatenate([what + size * group for group in range(groups)])
    for group in range(groups - 1):
        row = np.flatnonzero(reviewer == size * group)[:2]
        item[row] = size * (group + 1) + rng.choice(size, 2, replace=False)
    truth, n = rng.standard_normal(groups * size), groups * size
    score = rng.normal(0, 1.5, n)[reviewer] + rng.lognormal(0, 0.3, n)[reviewer] * truth[item]
    return reviewer, item, score + 0.5 * rng.standard_normal(item.size), truth


@pytest.mark.slow
def test_loops_raise_errors_where_communities_hang_by_a_reviewer() -> None:
    covered, alone, factor = [], [], []
    for seed in range(6 if NIGHTLY else 3):
        who, what, score, truth = communities(seed)
        posterior = infer(who, what, score, 180, 180)
        slope, middle = np.polyfit(posterior.quality, truth, 1)
        off = np.abs((truth - middle) / slope - posterior.quality) / posterior.scale
        factor.append(posterior.loops.mean())
        covered.append((off < 1.645 * np.sqrt(posterior.variance * posterior.loops)).mean())
        alone.append((off < 1.645 * np.sqrt(posterior.variance)).mean())
    assert min(factor) > 1.1
    assert 0.87 < np.mean(covered) < 0.93
    assert np.mean(alone) < np.mean(covered) - 0.02


def test_without_loops_messages_are_exact() -> None:
    # A tree of reviews: every two papers of a reviewer are joined by her alone.
    rng = np.random.default_rng(0)
    who, what = np.repeat(np.arange(60), 2), np.column_stack([np.arange(60), np.arange(1, 61)]).ravel()
    score = rng.normal(0, 1.5, 60)[who] + rng.standard_normal(61)[what] + 0.3 * rng.standard_normal(120)
    posterior = infer(who, what, score, 60, 61)
    exact = beliefs.joint(posterior).variance
    np.testing.assert_allclose(fixed_point_variances(posterior), exact, rtol=2e-3)


def test_probes_find_the_variances_that_a_factorisation_finds(monkeypatch) -> None:
    who, what, score, _ = communities(0)
    posterior = infer(who, what, score, 180, 180)
    monkeypatch.setattr(beliefs, "DENSE", 0)
    ratio = loop_factors(posterior) / posterior.loops
    assert abs(ratio.mean() - 1) < 0.08
    assert np.abs(ratio - 1).max() < 0.35
