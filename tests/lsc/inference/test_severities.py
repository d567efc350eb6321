"""Severities by criterion, against a dense mixed model and known truths."""

from __future__ import annotations

import numpy as np
import pytest

from lsc import posterior
from lsc._inference.criteria import NOTABLE, WIDTH, Moments, effects, severities
from lsc.words.posterior_page import criterion_lines
from reviewgraph import Reviews

PAPER = np.array([[1.0, 0.6, 0.3], [0.6, 0.8, 0.2], [0.3, 0.2, 0.5]])
REVIEW = np.array([[1.0, 0.5, -0.2], [0.5, 1.2, 0.1], [-0.2, 0.1, 0.7]])
POPULATION = np.array([[0.5, 0.2, 0.1], [0.2, 0.4, 0.15], [0.1, 0.15, 0.6]])


def table(rng, n=12, m=7, k=3, missing=0.0, population=POPULATION):
    """Draw reviewers, items, columns of scores with gaps, and the offsets of the reviewers."""
    item = np.repeat(np.arange(n), k)
    reviewer = np.concatenate([rng.permutation(m)[:k] for _ in range(n)])
    offset = rng.multivariate_normal(np.zeros(3), population, m)
    quality = rng.multivariate_normal(np.zeros(3), PAPER, n)
    columns = quality[item] + offset[reviewer] + rng.multivariate_normal(np.zeros(3), REVIEW, item.size)
    columns[:, 1:][rng.random((item.size, 2)) < missing] = np.nan
    return reviewer, item, columns, offset


def dense(reviewer, item, columns):
    """Condition the offsets of all reviewers on all scores by the covariance matrix of the scores."""
    row, criterion = np.nonzero(np.isfinite(columns))
    who, what = reviewer[row], item[row]
    covariance = (
        (what[:, None] == what) * PAPER[criterion][:, criterion]
        + (who[:, None] == who) * POPULATION[criterion][:, criterion]
        + (row[:, None] == row) * REVIEW[criterion][:, criterion]
    )
    size = int(reviewer.max()) + 1
    cross = np.zeros((size, 3, row.size))
    for place, (j, c) in enumerate(zip(who, criterion, strict=True)):
        cross[j, :, place] = POPULATION[:, c]
    cross = cross.reshape(3 * size, row.size)
    gain = np.linalg.solve(covariance, cross.T).T
    after = np.kron(np.eye(size), POPULATION) - gain @ cross.T
    return (gain @ columns[row, criterion]).reshape(size, 3), after.reshape(size, 3, size, 3)


@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_effects_are_those_of_a_dense_mixed_model(missing):
    reviewer, item, columns, _ = table(np.random.default_rng(1), missing=missing)
    found = effects(reviewer, item, columns, Moments(PAPER, REVIEW, 3.0), POPULATION)
    mean, covariance = dense(reviewer, item, columns)
    np.testing.assert_allclose(found.mean, mean, atol=1e-3)
    for j in range(len(mean)):
        # Messages leave loops out: at most a little too small.
        exact = np.sqrt(np.diag(covariance[j, :, j]))
        ratio = np.sqrt(np.diag(found.covariance[j])) / exact
        assert (ratio > 0.93).all()
        assert (ratio < 1.001).all()


def test_without_loops_variances_are_exact():
    # Two reviewers, one paper each, and one in common.
    reviewer, item = np.array([0, 0, 1, 1]), np.array([0, 1, 1, 2])
    columns = np.random.default_rng(2).standard_normal((4, 3))
    columns[1, 2] = np.nan
    found = effects(reviewer, item, columns, Moments(PAPER, REVIEW, 3.0), POPULATION)
    mean, covariance = dense(reviewer, item, columns)
    np.testing.assert_allclose(found.mean, mean, atol=1e-3)
    np.testing.assert_allclose(found.covariance, [covariance[j, :, j] for j in range(2)], atol=2e-3)


def test_severities_are_those_of_the_truth():
    rng, inside, own_inside, alike = np.random.default_rng(3), [], [], []
    for _ in range(6):
        reviewer, item, columns, offset = table(rng, n=200, m=80, k=4, missing=0.2)
        points = np.array([2.0, 10.0, 0.5])
        found = severities(reviewer, item, points * columns + 3)
        truth = -points * (offset - offset[reviewer].mean(axis=0))
        inside.append(np.mean(np.abs(found.mean - truth) < WIDTH * found.sd))
        alike.append(np.corrcoef(found.mean[:, 1], truth[:, 1])[0, 1])
        spread = np.nanstd(points * columns, axis=0)
        own = truth - spread * (truth / spread).mean(axis=1, keepdims=True)
        own_inside.append(np.mean(np.abs(found.own - own) < WIDTH * found.own_sd))
    assert 0.84 < np.mean(inside) < 0.95
    assert 0.84 < np.mean(own_inside) < 0.95
    assert np.mean(alike) > 0.7


def test_equal_severities_are_not_called_severe_on_one():
    reviewer, item, columns, _ = table(np.random.default_rng(4), n=200, m=80, k=4, population=0.5 * np.ones((3, 3)))
    found = severities(reviewer, item, columns)
    assert (np.abs(found.own) > NOTABLE * found.own_sd).mean() < 0.02


def test_a_criterion_that_falls_with_the_target_is_turned_round():
    reviewer, item, columns, _ = table(np.random.default_rng(5), n=200, m=60, k=4)
    plain = severities(reviewer, item, columns)
    turned = severities(reviewer, item, columns * [1, -1, 1])
    np.testing.assert_allclose(turned.mean, plain.mean * [1, -1, 1], atol=2e-3)
    np.testing.assert_allclose(turned.own, plain.own * [1, -1, 1], atol=2e-3)


def test_the_estimate_shows_who_is_severe_on_one_criterion():
    reviewer, item, columns, _ = table(np.random.default_rng(6), n=120, m=40, k=4, population=0.1 * np.eye(3))
    columns[reviewer == 7, 1] -= 2.0
    columns[reviewer == 9, 2] = np.nan
    reviews = Reviews.from_codes(
        reviewer, item, columns[:, 0], reviewers=[f"r{j}" for j in range(40)], items=range(120), target="overall",
        criteria={"novelty": columns[:, 1], "style": columns[:, 2]},
    )  # fmt: skip
    result = posterior(reviews)
    shown = result.criterion_severities
    assert shown.criteria == ("overall", "novelty", "style")
    assert shown.notable[7].tolist() == [False, True, False]
    rows = shown.to_dict()["severities"]
    assert ("r9", "style") not in {(row["reviewer"], row["criterion"]) for row in rows}
    assert len(rows) == 3 * 40 - 1
    [row] = [row for row in rows if (row["reviewer"], row["criterion"]) == ("r7", "novelty")]
    assert row["own_interval"][0] > 0
    assert row["interval"][0] < row["severity"] < row["interval"][1]
    assert len(shown.to_frame("pandas")) == len(rows)
    assert result.to_dict()["criteria"]["severities"] == rows
    [line] = criterion_lines(result)
    assert line.startswith("On one criterion more severe (+)")
    assert "r7 on novelty (+" in line
    assert posterior(reviews, only_target=True).criterion_severities is None
