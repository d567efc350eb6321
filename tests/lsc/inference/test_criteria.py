"""Scores joined from the criteria of a review, against loops and planted truths."""

import json

import numpy as np
import pytest

from lsc._inference.criteria import LEAST_REVIEWS, join
from reviewgraph import Reviews

ITEM = np.full((3, 3), 0.9) + 0.1 * np.eye(3)
HALO = np.full((3, 3), 0.4) + 0.6 * np.eye(3)
SEVERITY = np.array([[0.5, 0.2, 0.1], [0.2, 0.4, 0.15], [0.1, 0.15, 0.6]])


def table(seed, n=100, k=4, m=50, missing=0.0, severity=SEVERITY):
    """Draw reviewers, items, columns of scores with gaps, qualities of the target, and effects of reviewers."""
    rng = np.random.default_rng(seed)
    item = np.repeat(np.arange(n), k)
    reviewer = np.concatenate([rng.permutation(m)[:k] for _ in range(n)])
    quality = rng.multivariate_normal(np.zeros(3), ITEM, n)
    effect = rng.multivariate_normal(np.zeros(3), severity, m)
    columns = quality[item] + effect[reviewer] + 1.2 * rng.multivariate_normal(np.zeros(3), HALO, item.size)
    columns[:, 1:][rng.random((item.size, 2)) < missing] = np.nan
    return reviewer, item, columns, quality[:, 0], effect


def joined(reviewer, item, columns):
    return join(reviewer, item, columns[:, 0], {"a": columns[:, 1], "b": columns[:, 2]})


def naive(reviewer, item, columns):
    """Return the joined scores, weights and gain, by loops over items, reviewers and reviews."""
    rows, spread = range(len(item)), np.nanstd(columns, axis=0)
    z = (columns - np.nanmean(columns, axis=0)) / spread
    offset = np.zeros((reviewer.max() + 1, 3))
    for _ in range(8):
        quality = np.zeros((item.max() + 1, 3))
        for i, c in np.ndindex(quality.shape):
            values = [z[r, c] - offset[reviewer[r], c] for r in rows if item[r] == i and np.isfinite(z[r, c])]
            quality[i, c] = sum(values) / (len(values) + 1)
        for j, c in np.ndindex(offset.shape):
            values = [z[r, c] - quality[item[r], c] for r in rows if reviewer[r] == j and np.isfinite(z[r, c])]
            offset[j, c] = sum(values) / (len(values) + 3)
    deviation = z - offset[reviewer]
    for c in (1, 2):
        full = [r for r in rows if np.isfinite(z[r, c])]
        slope = sum(deviation[r, 0] * deviation[r, c] for r in full) / sum(deviation[r, 0] ** 2 for r in full)
        for r in set(rows) - set(full):
            deviation[r, c] = slope * deviation[r, 0]
    others = np.array([np.mean([deviation[s] for s in rows if item[s] == item[r] and s != r], axis=0) for r in rows])
    product = sum(np.outer(x, x) for x in others)
    product = product + 0.01 * np.trace(product) / 3 * np.diag([0, 1, 1])
    plain = np.array([sum(others[:, 0] * deviation[:, 0]) / product[0, 0], 0.0, 0.0])
    error = [deviation[r, 0] - plain @ others[r] for r in rows]
    moment = sum(error[r] * others[r] for r in rows)
    by_item = [sum(error[r] * others[r] for r in rows if item[r] == i) for i in range(item.max() + 1)]
    inverse = np.linalg.inv(product)
    decrease = moment @ inverse @ moment
    chance = sum(x @ inverse @ x - x[0] ** 2 / product[0, 0] for x in by_item)
    kept = max(1 - chance / decrease, 0)
    weights = plain + kept * inverse @ moment
    shared = sum(weights @ deviation[r] * others[r, 0] for r in rows)
    weights = spread[0] * weights * shared / sum(weights @ deviation[r] * (weights @ others[r]) for r in rows)
    score = columns[:, 0].mean() + (offset[reviewer] + deviation) @ weights
    return score, weights[1:], kept**2 * decrease / sum(e**2 for e in error)


@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_scores_are_those_of_loops(missing):
    reviewer, item, columns, _, _ = table(1, n=25, m=12, missing=missing)
    result = joined(reviewer, item, columns)
    score, weights, gain = naive(reviewer, item, columns)
    assert result.names == ("a", "b")
    np.testing.assert_allclose(result.score, score, rtol=1e-9)
    np.testing.assert_allclose(result.weights, weights, rtol=1e-9)
    assert result.gain == pytest.approx(gain)


@pytest.mark.parametrize("missing", [0.0, 0.5])
def test_criteria_bring_scores_nearer_to_the_truth(missing):
    gains = []
    for seed in range(8):
        reviewer, item, columns, truth, _ = table(seed, missing=missing)
        result = joined(reviewer, item, columns)
        alone, with_criteria = (np.bincount(item, score) for score in (columns[:, 0], result.score))
        gains.append(np.corrcoef(with_criteria, truth)[0, 1] - np.corrcoef(alone, truth)[0, 1])
        assert result.gain_error > 0
    assert np.mean(gains) > 2 * np.std(gains) / np.sqrt(8) > 0


def test_weights_are_those_of_the_best_linear_predictor():
    reviewer, item, columns, _, _ = table(2, n=20_000, m=300, severity=np.zeros((3, 3)))
    result = joined(reviewer, item, columns)
    best = np.linalg.solve(ITEM + 1.44 * HALO / 3, ITEM[0])
    best *= best @ ITEM[0] / (best @ ITEM @ best)
    np.testing.assert_allclose(result.weights, (best * columns.std(axis=0))[1:], atol=0.05)


def test_rows_scale_and_sign_do_not_matter():
    reviewer, item, columns, _, _ = table(3, missing=0.3)
    result = joined(reviewer, item, columns)
    order = np.random.default_rng(0).permutation(item.size)
    np.testing.assert_allclose(joined(reviewer[order], item[order], columns[order]).score, result.score[order])
    turned = joined(reviewer, item, columns * [1.0, -20.0, 0.1] + [0.0, 5.0, 5.0])
    np.testing.assert_allclose(turned.score, result.score)
    np.testing.assert_allclose(turned.weights, result.weights * [-1, 1])
    np.testing.assert_allclose(joined(reviewer, item, columns * [-2.0, 1.0, 1.0] + 7.0).score, 7.0 - 2.0 * result.score)


def test_constant_and_missing_criteria_are_rejected_and_change_nothing():
    reviewer, item, columns, _, _ = table(4)
    plain = join(reviewer, item, columns[:, 0], {"a": columns[:, 1]})
    empty, constant = np.full(item.size, np.nan), np.where(item < 9, 0.1, np.nan)
    more = join(reviewer, item, columns[:, 0], {"empty": empty, "a": columns[:, 1], "constant": constant})
    assert (more.names, more.rejected) == (("a",), ("empty", "constant"))
    assert repr(more) == "<Joined: criteria used: 'a'; criteria not used: 'empty', 'constant'>"
    np.testing.assert_allclose(more.score, plain.score, rtol=0, atol=0.02)


def test_the_same_criterion_twice_counts_once():
    reviewer, item, columns, _, _ = table(5)
    once = join(reviewer, item, columns[:, 0], {"a": columns[:, 1]})
    twice = join(reviewer, item, columns[:, 0], {"a": columns[:, 1], "again": columns[:, 1]})
    np.testing.assert_allclose(twice.weights, twice.weights[::-1])
    np.testing.assert_allclose(twice.score, once.score, atol=0.05)


def test_noise_is_rejected_or_hardly_counts():
    used = []
    for seed in range(30):
        reviewer, item, columns, _, _ = table(seed, n=200)
        noise = np.random.default_rng(100 + seed).standard_normal((3, item.size))
        result = join(reviewer, item, columns[:, 0], dict(zip("abc", noise, strict=True)))
        used.append(result.used)
        assert np.corrcoef(result.score, columns[:, 0])[0, 1] > 0.98
        assert result.used or (result.score is columns[:, 0] or (result.score == columns[:, 0]).all())
    assert np.mean(used) < 0.6


def test_too_few_reviews_and_equal_targets_decide_nothing():
    reviewer, item, columns, _, _ = table(6)
    few = slice(LEAST_REVIEWS - 2)
    alone = np.arange(item.size)
    equal = columns * [0.0, 1.0, 1.0]
    for rows in ((reviewer[few], item[few], columns[few]), (reviewer, alone, columns), (reviewer, item, equal)):
        result = joined(*rows)
        assert (result.used, result.names, result.rejected) == (False, (), ("a", "b"))
        assert (result.score == rows[2][:, 0]).all()
        assert result.to_dict("overall")["gain"] is None


def test_moves_sum_to_the_joined_score_and_names_can_change():
    reviewer, item, columns, _, _ = table(7, missing=0.3)
    criteria = {"novelty": columns[:, 1], "style": columns[:, 2]}
    labels = {"reviewers": range(reviewer.max() + 1), "items": range(item.max() + 1)}
    reviews = Reviews.from_codes(reviewer, item, columns[:, 0], **labels, target="overall", criteria=criteria)
    result = join(reviews.reviewer, reviews.item, reviews.score, reviews.criteria)
    moves = result.moves(reviews)
    assert list(moves) == ["overall", "novelty", "style"]
    np.testing.assert_allclose(reviews.score + sum(moves.values()), result.score)
    assert (moves["novelty"][np.isnan(reviews.criteria["novelty"])] == 0).all()
    record = json.loads(json.dumps(result.with_names({"novelty": "criterion 1", "style": "criterion 2"}).to_dict("x")))
    assert (record["target"], record["used"], record["rejected"]) == ("x", ["criterion 1", "criterion 2"], [])
    assert record["weights"]["criterion 2"] == result.weights[1]
    assert join(reviewer, item, columns[:, 0], {}).moves(reviews) == {}
