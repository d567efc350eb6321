"""Whose scores contradict those of the others: false alarms as stated, and planted reviewers found."""

from __future__ import annotations

import numpy as np
import pytest

import lsc
from lsc._inference import validation
from lsc._inference.beliefs import InferenceStatus
from lsc._inference.inferring import infer
from lsc._inference.validation import (
    SIGNIFICANCE,
    Population,
    RankStatistics,
    UsedReviews,
    compute_statistics,
    misfit_of,
    orders,
    rank_statistics,
)
from reviewgraph import Reviews
from reviewgraph._base import FloatArray
from tests.lsc.inference.simulated_tables import ordering, table
from tests.trials import NIGHTLY, sampled

PANEL = {"n_items": 60, "n_reviewers": 25, "load": 14}
PEOPLE = Population(np.array([0.25, 0.5, 0.25]), np.array([0.5, 1.0, 1.8]), np.array([0.3, 0.5, 0.9]), 1.1, 0.5, 0.02)


def rows_of(count: list[int], seed: int = 0) -> UsedReviews:
    """Reviewers of so many papers each, of which others say this and that; scores are to be drawn."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(len(count)), count)
    size = who.size
    return UsedReviews(
        who, np.zeros(size), rng.normal(size=size), rng.uniform(0.05, 0.6, size), rng.uniform(0.5, 2.0, size)
    )


def test_statistics_are_those_of_a_loop_over_reviewers() -> None:
    rows = rows_of([1, 2, 5, 9])._replace(score=np.random.default_rng(1).normal(size=17))
    found = compute_statistics(rows, PEOPLE, 5)
    for reviewer, load in enumerate([1, 2, 5, 9, 0]):
        mine = np.flatnonzero(rows.reviewer == reviewer)
        if load < 2:
            assert all(np.isnan(value[reviewer]) for value in found)
            continue
        score, mean = rows.score[mine], rows.mean[mine]
        weight = 1 / (1.1**2 * rows.variance[mine] + 0.5 * rows.factor[mine] + 0.02)
        score, mean = (value - np.average(value, weights=weight) for value in (score, mean))
        square = sum(w * (y - 1.1 * m) ** 2 for w, y, m in zip(weight, score, mean, strict=True))
        assert found.mean_square[reviewer] == pytest.approx(square / (load - 1))
        fit = np.polyfit(mean, score, 1, w=np.sqrt(weight))[0]
        assert found.agreement[reviewer] == pytest.approx(fit / 1.1)


def test_probabilities_hold_for_scores_drawn_from_the_model() -> None:
    loads = [2, 3, 6, 12, 40]
    rows, rng = rows_of(loads), np.random.default_rng(2)
    large, low = [], []
    draws = 1500 if NIGHTLY else 600
    for _ in range(draws):
        kind = rng.choice(3, len(loads), p=PEOPLE.weight)[rows.reviewer]
        paper = rows.mean + np.sqrt(rows.variance) * rng.normal(size=rows.mean.size)
        noise = np.sqrt(PEOPLE.noise[kind] * rows.factor + PEOPLE.rounding)
        level = rng.normal(0, 5, len(loads))[rows.reviewer]
        score = level + PEOPLE.slope[kind] * paper + noise * rng.normal(size=paper.size)
        found = compute_statistics(rows._replace(score=score), PEOPLE, len(loads))
        large.append(found.too_large)
        low.append(found.too_low)
    for chance in (np.array(large), np.array(low)):
        for level in (0.5, 0.1, 0.02):
            share = (chance < level).mean(axis=0)
            # Four standard errors, and a tenth more for the mean square, whose distribution is not exact.
            assert (share <= level * 1.1 + 4 * np.sqrt(level * (1 - level) / draws)).all()
            assert (share >= level * 0.8 - 4 * np.sqrt(level * (1 - level) / draws)).all()


@pytest.mark.slow
@pytest.mark.parametrize("kind", sampled([{"slope": 0.0, "offset": 0.0, "noise": 1.0}, {}, {"own": 0.3}]))
def test_tables_without_misfits_seldom_name_anybody(kind: dict[str, float]) -> None:
    named = 0
    tables = 40 if NIGHTLY else 8
    for seed in range(tables):
        who, what, score, _ = table(seed, **{**PANEL, **kind})
        named += bool(misfit_of(infer(who, what, score, 25, 60), score).contradicts.any())
    # With a chance of 1 in 20 each, more than 7 of 40 tables, or 3 of 8, are named with a probability below 1/500.
    assert SIGNIFICANCE == 0.02
    assert named <= (7 if NIGHTLY else 3)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "least"), [("reversed", 0.9), ("random", 0.2)])
def test_planted_reviewers_are_found_and_nobody_else(kind: str, least: float) -> None:
    found = others = 0
    tables = 12 if NIGHTLY else 3
    for seed in range(tables):
        who, what, score, _ = table(100 + seed, n_items=80, n_reviewers=50, load=16)
        rng = np.random.default_rng([seed, 3])
        score[who == 7] = rng.choice(score, 16) if kind == "random" else 2 * score.mean() - score[who == 7]
        named = np.flatnonzero(misfit_of(infer(who, what, score, 50, 80), score).contradicts)
        found += 7 in named
        others += bool(set(named.tolist()) - {7})
    assert found >= least * tables
    assert others <= 2


def test_the_order_of_rows_and_of_reviewers_changes_nothing() -> None:
    who, what, score, _ = table(3, **PANEL)
    found = misfit_of(infer(who, what, score, 25, 60), score)
    turned = np.random.default_rng(0).permutation(who.size)
    again = misfit_of(infer(24 - who[turned], what[turned], score[turned], 25, 60), score[turned])
    for one, other in zip(found, again, strict=True):
        np.testing.assert_allclose(one, other[::-1], rtol=1e-3, atol=1e-3)


def test_where_nothing_can_be_compared_nobody_is_named() -> None:
    for rows in ([("ann", "p1", 3)], [("ann", "p1", 3), ("ann", "p2", 4), ("bob", "p3", 1)]):
        found = lsc.posterior(Reviews.from_pairs(rows))
        assert found.status is InferenceStatus.NO_SIGNAL
        assert not found.misfit.contradicts.any()
    assert found.to_dict()["reviewers"][1] == {"reviewer": "bob", "scores": 1, "misfit": None}


# Ordinal reviewers, by their ranks.


def statistics_of(score: FloatArray, mean: FloatArray, variance: FloatArray, perception: float) -> RankStatistics:
    rows = UsedReviews(np.zeros(score.size, int), score, mean, variance, np.ones(score.size))
    ((_, reviews, observed),) = orders(rows, np.array([0]), perception)
    return rank_statistics(score[reviews], mean[reviews], variance[reviews], perception, observed)


@pytest.mark.parametrize(("size", "ties"), sampled([(9, True), (4, False), (9, False)], several=True))
def test_ranks_are_as_far_off_as_drawn_ones(size: int, ties: bool) -> None:
    rng = np.random.default_rng(size)
    mean, variance, perception = rng.standard_normal(size), rng.uniform(0.1, 0.5, size), 0.16
    found = []
    for _ in range(1500 if NIGHTLY else 300):
        z = mean + np.sqrt(variance + perception) * rng.standard_normal(size)
        score, drawn = np.empty(size), rng.uniform(0, 8, size)
        score[np.argsort(z)] = np.sort(np.round(drawn / 2) if ties else drawn)
        if np.ptp(score) > 0:
            found.append(statistics_of(score, mean, variance, perception))
    square, agreement, p_value = np.array(found).T
    assert square.mean() == pytest.approx(1.0, abs=0.1)
    assert agreement.mean() == pytest.approx(1.0, abs=0.05)
    for level in (0.05, 0.01):
        assert (p_value < level).mean() < 1.6 * level + 2 * np.sqrt(level / p_value.size)
    # The probability of a ranking bounds those of few papers; of more, half are below one half.
    assert size < 5 or 0.35 < (p_value < 0.5).mean() < 0.62


def test_orders_are_the_same_few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(9), [3, 1, 4, 3, 4, 4, 3, 2, 3])[rng.permutation(27)]
    rows = UsedReviews(who, np.round(rng.normal(size=27)), *rng.uniform(0.2, 1.0, (3, 27)))
    asked = np.array([0, 2, 3, 4, 5, 6, 8])
    whole = {code: (reviews.tolist(), chance) for code, reviews, chance in orders(rows, asked, 0.1)}
    monkeypatch.setattr(validation, "AT_ONCE", 7)
    few = {code: (reviews.tolist(), chance) for code, reviews, chance in orders(rows, asked, 0.1)}
    assert sorted(few) == sorted(whole) == asked.tolist()
    for code, (reviews, chance) in few.items():
        assert whole[code] == (reviews, pytest.approx(chance))
        assert sorted(reviews) == np.flatnonzero(who == code).tolist()
        assert reviews == sorted(reviews, key=lambda row: (rows.score[row], rows.mean[row]))


def test_the_variance_of_agreement_is_that_of_draws() -> None:
    rng = np.random.default_rng(1)
    mean, variance = rng.standard_normal(6), rng.uniform(0.1, 0.5, 6)
    z = mean + np.sqrt(variance) * rng.standard_normal((100_000, 6))
    rank = z.argsort(axis=1).argsort(axis=1) - 2.5
    expected = rank.mean(axis=0)
    agreement = rank @ expected / (expected @ expected)
    many = 400 if NIGHTLY else 100
    mine = np.array([statistics_of(row, mean, variance, 0.0) for row in rank[:many].astype(float)])
    assert mine[:, 1] == pytest.approx(agreement[:many], abs=0.02)
    square = ((rank - expected) ** 2).sum(axis=1)
    assert mine[:, 0] == pytest.approx(square[:many] / square.mean(), abs=0.03)


def test_a_reversed_ranking_contradicts_and_equal_scores_do_not() -> None:
    mean, variance = np.linspace(-2, 2, 12), np.full(12, 0.2)
    assert statistics_of(np.arange(12.0), mean, variance, 0.1).too_low > 0.5
    reversed_ = statistics_of(-np.arange(12.0), mean, variance, 0.1)
    assert reversed_.too_low < 1e-6
    assert reversed_.agreement < -0.9
    assert statistics_of(np.zeros(12), mean, variance, 0.1).too_low == 1.0
    assert statistics_of(np.arange(12.0), np.zeros(12), variance, 0.1).too_low == 1.0


def test_an_ordinal_reviewer_has_a_misfit_of_ranks() -> None:
    who, what, score, _ = ordering(0, n_items=80, n_reviewers=60, load=8, share=1.0)
    beliefs = infer(who, what, score, 60, 80)
    ordinal = beliefs.reviewers.orders > 0.5
    assert ordinal.sum() > 20
    found = misfit_of(beliefs, score)
    assert np.isfinite(found.p_value).all()
    # Only the order of their scores matters.
    bent = np.where(ordinal[who], np.sign(score - 5) * np.abs(score - 5) ** 3, score)
    again = misfit_of(beliefs, bent)
    assert again.p_value[ordinal] == pytest.approx(found.p_value[ordinal])
    assert found.agreement[ordinal].mean() == pytest.approx(1.0, abs=0.2)
