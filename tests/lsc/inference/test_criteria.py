"""Scores joined from the criteria of a review, against naive computations and known truths."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lsc import posterior
from lsc._inference.criteria import Moments, _weights, join, moments, weights_of
from lsc.words.posterior_page import further_lines
from reviewgraph import InputError, Reviews

pytestmark = pytest.mark.usefixtures("infer_once")

PAPER = np.array([[1.0, 0.6, 0.3], [0.6, 0.8, 0.2], [0.3, 0.2, 0.5]])
REVIEW = np.array([[1.0, 0.5, -0.2], [0.5, 1.2, 0.1], [-0.2, 0.1, 0.7]])


def table(rng, n=150, k=4, paper=PAPER, review=REVIEW):
    """Draw reviewers, items, columns of scores, and the truth of the target."""
    item = np.repeat(np.arange(n), k)
    reviewer = np.concatenate([rng.permutation(max(n // 2, k))[:k] for _ in range(n)])
    quality = rng.multivariate_normal(np.zeros(len(paper)), paper, n)
    noise = rng.multivariate_normal(np.zeros(len(paper)), review, item.size)
    severity = 0.5 * rng.standard_normal(reviewer.max() + 1)
    return reviewer, item, quality[item] + noise + severity[reviewer, None], quality[:, 0]


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("there", [[True, True, True], [True, False, True], [True, False, False]])
def test_weights_are_those_of_the_best_linear_predictor(k, there):
    weights = _weights(Moments(PAPER, REVIEW, float(k)), np.array(there), 1.0)
    # Naively: all scores of k reviews at once, and the regression of the target's quality on them.
    kept = np.flatnonzero(there)
    paper, review = PAPER[np.ix_(kept, kept)], REVIEW[np.ix_(kept, kept)]
    joint = np.kron(np.ones((k, k)), paper) + np.kron(np.eye(k), review)
    best = np.linalg.solve(joint, np.tile(paper[0], k))
    np.testing.assert_allclose(best.reshape(k, -1), np.tile(best[: kept.size], (k, 1)), atol=1e-12)
    ratio = weights[kept] / best[: kept.size]
    np.testing.assert_allclose(ratio, ratio[0])
    # In units of the target: its quality rises by 1 with the combination of the qualities.
    assert weights @ PAPER @ weights == pytest.approx(weights @ PAPER[0])
    assert not weights[~np.array(there)].any()


def test_without_a_share_the_target_stays():
    np.testing.assert_allclose(_weights(Moments(PAPER, REVIEW, 3.0), np.ones(3, bool), 0.0), [1.0, 0.0, 0.0])


def test_moments_find_the_covariances():
    reviewer, item, columns, _ = table(np.random.default_rng(1), n=4000)
    found = moments(reviewer, item, columns)
    np.testing.assert_allclose(found.paper, PAPER, atol=0.1)
    np.testing.assert_allclose(found.review, REVIEW, atol=0.15)
    assert found.k == 4.0


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_criteria_bring_scores_nearer_to_the_truth(sign):
    paper = np.array([[1.0, 0.9], [0.9, 1.0]])
    reviewer, item, columns, truth = table(np.random.default_rng(2), paper=paper, review=np.eye(2))
    joined = join(reviewer, item, columns[:, 0], {"other": sign * columns[:, 1]})
    assert joined.used
    assert joined.gain > 2 * joined.gain_error > 0
    assert np.sign(joined.weights[0]) == sign
    alone, together = (np.corrcoef(np.bincount(item, score), truth)[0, 1] for score in (columns[:, 0], joined.score))
    assert together > alone + 0.01


def test_noise_of_its_own_leaves_the_target():
    rng, used = np.random.default_rng(3), 0
    for _ in range(10):
        reviewer, item, columns, _ = table(rng, n=60)
        joined = join(reviewer, item, columns[:, 0], {"other": rng.standard_normal(item.size)})
        used += joined.used
        # Where chance passes the test, it hardly changes a score.
        assert np.corrcoef(joined.score, columns[:, 0])[0, 1] > 0.97
        assert joined.used or (joined.score is columns[:, 0] or (joined.score == columns[:, 0]).all())
    assert used <= 5


def test_the_parts_sum_to_the_score_and_order_does_not_matter():
    rng = np.random.default_rng(4)
    reviewer, item, columns, _ = table(rng)
    columns[rng.random(item.size) < 0.4, 1] = np.nan
    criteria = {"a": columns[:, 1], "b": columns[:, 2]}
    joined = join(reviewer, item, columns[:, 0], criteria)
    assert joined.used
    assert np.isfinite(joined.score).all()
    np.testing.assert_array_equal(joined.target + joined.parts.sum(axis=1), joined.score)
    assert (joined.parts[np.isnan(columns[:, 1]), 0] == 0).all()
    order = rng.permutation(item.size)
    turned = {"b": columns[order, 2], "a": columns[order, 1]}
    again = join(reviewer[order], item[order], columns[order, 0], turned)
    np.testing.assert_allclose(again.score, joined.score[order], rtol=1e-9)


@pytest.mark.parametrize("own", [0.0, 1.5])
def test_offsets_do_not_depend_on_the_criteria_that_a_review_has(own):
    rng = np.random.default_rng(8)
    reviewer, item, columns, _ = table(rng, paper=np.full((3, 3), 0.9) + 0.1 * np.eye(3), review=np.eye(3))
    offset = own * rng.standard_normal((reviewer.max() + 1, 3))
    columns += offset[reviewer]
    columns[rng.random(item.size) < 0.5, 1] = np.nan
    joined = join(reviewer, item, columns[:, 0], {"a": columns[:, 1], "b": columns[:, 2]})
    assert joined.used
    # Naively: the shrunken additive fit row by row, and its offsets with the weights of a full review.
    spread = np.nanstd(columns, axis=0)
    standard = (columns - np.nanmean(columns, axis=0)) / spread
    naive = np.zeros((item.size, 3))
    for _ in range(8):
        of_item, of_reviewer = np.zeros((150, 3)), np.zeros((reviewer.max() + 1, 3))
        for i in range(150):
            rows = item == i
            of_item[i] = np.nansum(standard[rows] - naive[rows], axis=0) / (np.isfinite(standard[rows]).sum(axis=0) + 1)
        for j in range(reviewer.max() + 1):
            rows = reviewer == j
            count = np.isfinite(standard[rows]).sum(axis=0)
            of_reviewer[j] = np.nansum(standard[rows] - of_item[item[rows]], axis=0) / (count + 3)
        naive = of_reviewer[reviewer]
    found = Moments(*moments(reviewer, item, standard))
    full = _weights(found, np.ones(3, bool), 1.0)
    for row in range(0, item.size, 7):
        there = np.isfinite(standard[row])
        weights = _weights(found, there, 1.0)
        expected = weights @ np.where(there, standard[row], 0.0) + (full - weights) @ naive[row]
        assert joined.score[row] == pytest.approx(columns[:, 0].mean() + spread[0] * expected, abs=1e-8)


def test_too_few_scores_decide_nothing():
    score = np.arange(6.0)
    joined = join(np.arange(6) % 3, np.arange(6) % 2, score, {"other": score**2})
    assert not joined.used
    assert joined.score is score
    assert np.isnan(joined.gain)


def test_weights_of_confidence_rise_with_it():
    weights = weights_of(np.array([2.0, np.nan, 5.0, 3.0]))
    assert weights is not None
    assert weights[1] == 1.0
    assert weights[0] < weights[3] < weights[2]
    assert weights_of(np.array([2.0, np.nan, 2.0])) is None
    assert weights_of(np.array([np.nan])) is None


# Within the posterior.


def as_table(reviewer, item, score, **further):
    return Reviews.from_codes(
        reviewer, item, score, reviewers=range(reviewer.max() + 1), items=range(item.max() + 1), **further
    )


@pytest.fixture(scope="module")
def reviews():
    reviewer, item, columns, _ = table(np.random.default_rng(5), n=100)
    criteria = {"novelty": columns[:, 1], "style": columns[:, 2]}
    return as_table(reviewer, item, columns[:, 0], target="overall", criteria=criteria)


@pytest.fixture(scope="module")
def result(reviews):
    return posterior(reviews)


def test_the_account_names_the_criteria_and_sums(result):
    assert result.joined.used
    for item in result.items[:5]:
        account = result.account(item)
        assert account.total == pytest.approx(account.quality, abs=1e-9)
        for part in account.parts:
            if part.source == "review":
                assert list(part.criteria) == ["overall", "novelty", "style"]
                points = part.score + part.severity + part.stretch + sum(part.criteria.values())
                assert part.says == pytest.approx(points, abs=1e-9)


def test_the_target_alone_is_the_table_without_criteria(reviews, result):
    alone = posterior(reviews, only_target=True)
    plain = posterior(as_table(reviews.reviewer, reviews.item, reviews.score))
    np.testing.assert_array_equal(alone.quality, plain.quality)
    assert alone.to_dict() == plain.to_dict()
    assert "criteria" not in plain.to_dict()
    assert not np.allclose(alone.quality, result.quality)
    found = result.to_dict()["criteria"]
    assert found["used"]
    assert found["target"] == "overall"
    assert [entry["criterion"] for entry in found["weights"]] == ["novelty", "style"]


def test_what_criteria_do_not_show_is_in_every_error(result):
    own, items = result.joined.own, result.items
    assert own > 0
    spread = result.draws(4000).std(axis=0)
    np.testing.assert_allclose(np.median(spread / result.beliefs.order_error), 1.0, atol=0.06)
    assert result.difference(items[0], items[1]).standard_error > np.sqrt(2 * own)


def confident(seed, effect):
    rng = np.random.default_rng(seed)
    reviewer, item, _, truth = table(rng, n=80)
    sure = rng.integers(1, 6, item.size).astype(float)
    score = truth[item] + np.exp(effect * (sure - 3)) * rng.standard_normal(item.size)
    return as_table(reviewer, item, score, confidence=sure)


def test_confidence_is_used_where_the_evidence_rises():
    sharp, dull = posterior(confident(6, -0.5)), posterior(confident(6, 0.0))
    assert sharp.confidence.used
    assert sharp.confidence.gain > 2.0
    assert not dull.confidence.used
    never = posterior(confident(6, -0.5), confidence=False)
    assert never.confidence is None
    assert never.weight is None
    always = posterior(confident(6, -0.5), confidence=True)
    np.testing.assert_array_equal(always.quality, sharp.quality)
    assert always.confidence.gain == pytest.approx(sharp.confidence.gain)


def test_confidence_that_cannot_be_used_is_refused(reviews):
    with pytest.raises(InputError, match="expected reviews with a column of confidence"):
        posterior(reviews, confidence=True)
    table = confident(7, 0.0)
    with pytest.raises(InputError, match="expected either weights or confidence"):
        posterior(table, np.ones(table.n_reviews), confidence=True)


@pytest.mark.parametrize("helpful", [True, False])
def test_criteria_are_shown_in_a_line_that_says_whether_they_are_used(helpful: bool) -> None:
    rng = np.random.default_rng(4)
    who, what = (column.ravel() for column in np.indices((30, 20)))
    truth = rng.standard_normal(20)
    score, twin = (truth[what] + 0.8 * rng.standard_normal(what.size) for _ in range(2))
    kept = rng.random(what.size) < 0.3
    twin = twin if helpful else rng.standard_normal(what.size)
    reviews = Reviews.from_codes(
        who[kept], what[kept], score[kept], reviewers=30, items=20, criteria={"twin": twin[kept]}
    )
    estimate = posterior(
        replace(reviews, criteria={**reviews.criteria, "few": np.where(reviews.item == 0, 1.0, np.nan)})
    )
    assert estimate.joined is not None
    assert (estimate.joined.names, estimate.joined.rejected) == (
        (("twin",), ("few",)) if helpful else ((), ("twin", "few"))
    )
    words = "criteria used: 'twin'; criteria not used: 'few'" if helpful else "criteria not used: 'twin', 'few'"
    for shown in (repr(estimate), repr(estimate.joined)):
        assert words in shown
    assert any("Scores of few are not used" in line for line in further_lines(estimate))
