"""Expected errors and outlooks: against dense matrices, against simulation, and what they may never do."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from lsc import posterior
from reviewgraph import InputError, Reviews, check
from reviewgraph.graph import (
    Assumptions,
    error_variances,
    expected_errors,
    expected_share,
    precision,
    random_assignment,
)
from reviewgraph.graph.components import structure_of
from reviewgraph.graph.precision import Outlook, expected_variances, one_more, outlook_of, stratified
from tests.trials import examples

#: Hubs, chains, singletons, papers nobody reviews and pieces all occur among six papers and five reviewers.
tables = st.sets(st.tuples(st.integers(0, 4), st.integers(0, 5)), min_size=1).map(
    lambda pairs: Reviews(sorted(pairs), items=range(6))
)
assumptions = st.builds(Assumptions, st.floats(0.05, 3), st.floats(0, 2), st.floats(0, 1))


def windows(n: int, load: int, step: int) -> list[tuple[int, int]]:
    """Reviewers who read ``load`` papers in a row, each ``step`` papers further on."""
    return [(j, i) for j, first in enumerate(range(0, n - load + 1, step)) for i in range(first, first + load)]


def communities(n: int, count: int, demand: int, shared: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Random assignments side by side; one reviewer of each reads ``shared`` papers of the next."""
    size, pairs = n // count, []
    for part in range(count):
        design = random_assignment(size, size, demand, rng)
        pairs += zip((design.reviewer + part * size).tolist(), (design.item + part * size).tolist(), strict=True)
        if part + 1 < count:
            pairs += [(part * size, (part + 1) * size + i) for i in range(shared)]
    return pairs


DESIGNS: dict[str, Callable[[int, np.random.Generator], list[tuple[int, int]]]] = {
    "chain, three papers a reviewer": lambda n, _: windows(n, 3, 1),
    "two communities joined by two reviews": lambda n, rng: communities(n, 2, 5, 2, rng),
}


def scores_of(reviews: Reviews, assumptions: Assumptions, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw qualities and scores of the model: log normal stretches, noise outside of them."""
    quality = rng.standard_normal(reviews.n_items)
    severity = assumptions.severity * rng.standard_normal(reviews.n_reviewers)
    stretch = np.exp(assumptions.stretch * rng.standard_normal(reviews.n_reviewers))
    noise = assumptions.noise * rng.standard_normal(reviews.n_reviews)
    return quality, severity[reviews.reviewer] + stretch[reviews.reviewer] * quality[reviews.item] + noise


def posterior_mean(
    reviews: Reviews, score: np.ndarray, assumptions: Assumptions, rng: np.random.Generator, sweeps: int = 120
) -> np.ndarray:
    """Mean qualities given the scores and the true priors, by Gibbs sampling.

    Severities are integrated out, so that qualities given stretches, and stretches given qualities, are normal.
    """
    reviewer, item, load = reviews.reviewer, reviews.item, reviews.loads
    precision, prior = assumptions.noise**-2, assumptions.stretch**-2
    share = assumptions.severity**2 / (assumptions.noise**2 + load * assumptions.severity**2)

    def within(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Sums of products over the reviews of each reviewer, her severity integrated out."""
        both = [np.bincount(reviewer, side, load.size) for side in (left, right)]
        return np.bincount(reviewer, left * right, load.size) - share * both[0] * both[1]

    stretch, found = np.ones(load.size), np.zeros(reviews.n_items)
    slopes = np.zeros((reviews.n_items, load.size))
    freed = score - (share * np.bincount(reviewer, score, load.size))[reviewer]
    for sweep in range(sweeps):
        a = stretch[reviewer]
        slopes[item, reviewer] = a * np.sqrt(share[reviewer] * precision)
        matrix = np.diag(1 + np.bincount(item, a**2, reviews.n_items) * precision) - slopes @ slopes.T
        factor = cho_factor(matrix, lower=True)
        mean = cho_solve(factor, np.bincount(item, a * freed, reviews.n_items) * precision)
        found += mean * (sweep >= sweeps // 6)
        quality = mean + solve_triangular(factor[0], rng.standard_normal(mean.size), lower=True, trans="T")
        total = prior + precision * within(quality[item], quality[item])
        centre = (prior + precision * within(quality[item], score)) / total
        stretch = centre + rng.standard_normal(load.size) / np.sqrt(total)
    return found / (sweeps - sweeps // 6)


def naive_precision(reviews: Reviews, quality: np.ndarray, given: Assumptions) -> np.ndarray:
    """The prior and the inverse of the covariance of each reviewer's scores, one after another."""
    found = np.eye(reviews.n_items)
    for code in range(reviews.n_reviewers):
        items = reviews.items_of(code)
        design = np.column_stack([np.full(items.size, given.severity), given.stretch * quality[items]])
        covariance = given.noise**2 * np.eye(items.size) + design @ design.T
        found[np.ix_(items, items)] += np.linalg.inv(covariance)
    return found


@examples(12)
@given(tables, assumptions)
def test_errors_are_the_mean_of_dense_inverses(reviews: Reviews, assumed: Assumptions) -> None:
    drawn = stratified(6, 8 if assumed.stretch else 1, np.random.default_rng(0))
    found = np.mean([np.diag(np.linalg.inv(naive_precision(reviews, x, assumed))) for x in drawn], axis=0)
    assert expected_errors(reviews, assumptions=assumed) == pytest.approx(np.sqrt(found), rel=1e-6)


@examples(12)
@given(tables, assumptions, st.tuples(st.integers(0, 4), st.integers(0, 5)))
def test_one_more_review_harms_no_paper(reviews: Reviews, assumed: Assumptions, pair: tuple[int, int]) -> None:
    pairs = {(reviews.reviewers[j], reviews.items[i]) for j, i in zip(reviews.reviewer, reviews.item, strict=True)}
    more = Reviews(sorted(pairs | {pair}), items=range(6))
    before, after = (expected_errors(table, assumptions=assumed) for table in (reviews, more))
    assert (after <= before + 1e-9).all()
    assert ((before > 0) & (before <= assumed.spread)).all()


def test_papers_nobody_reviews_are_known_as_before() -> None:
    reviews = Reviews([("ann", "p"), ("ann", "q")], items=["p", "q", "r"])
    assert expected_errors(reviews, assumptions=Assumptions(spread=2.5))[2] == 2.5
    assert expected_errors(Reviews([], items=[])).size == 0


def test_where_reviewers_do_not_differ_it_is_the_average() -> None:
    reviews, alike = Reviews([(j, i) for j in range(4) for i in range(j, 5)]), Assumptions(0.7, 0, 0, 3.0)
    assert expected_errors(reviews, assumptions=alike) == pytest.approx(
        outlook_of(structure_of(reviews), alike).average
    )


@pytest.mark.slow
@pytest.mark.parametrize("noise", [1.0, 0.3, 0.02])
def test_probes_agree_with_inverses(noise: float) -> None:
    design, assumed = random_assignment(300, 300, 4, np.random.default_rng(0)), Assumptions(noise)
    exact, estimated = (
        np.sqrt(expected_variances(design.reviewer, design.item, 300, assumed, exact_up_to=most)) for most in (300, 0)
    )
    assert np.abs(estimated / exact - 1).mean() < (0.002 if noise == 1 else 0.05)
    assert estimated.mean() == pytest.approx(exact.mean(), rel=0.01)


def test_errors_by_the_scores_alone_agree_with_inverses() -> None:
    design, rng = random_assignment(300, 300, 6, np.random.default_rng(0)), np.random.default_rng(1)
    quality = rng.standard_normal(300)
    exact, estimated = (
        error_variances(design.reviewer, design.item, quality, rng, exact_up_to=most, probes=200) for most in (300, 0)
    )
    assert estimated.mean() == pytest.approx(exact.mean(), rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("name", DESIGNS)
def test_simulated_errors_are_those_expected(name: str) -> None:
    assumed, rng = Assumptions(), np.random.default_rng(3)
    reviews = Reviews(DESIGNS[name](80, rng))
    squares = []
    for _ in range(4):
        quality, score = scores_of(reviews, assumed, rng)
        squares.append(np.mean((posterior_mean(reviews, score, assumed, rng, 40) - quality) ** 2))
    expected = np.sqrt(np.mean(expected_errors(reviews, assumptions=assumed) ** 2))
    assert np.sqrt(np.mean(squares)) == pytest.approx(expected, rel=0.1)


def test_like_last_year_is_on_the_scale_of_its_posterior() -> None:
    rng = np.random.default_rng(4)
    design = random_assignment(150, 150, 6, rng)
    _, score = scores_of(design, Assumptions(0.6, 0.5, 0.2), rng)
    pairs = zip(design.reviewer.tolist(), design.item.tolist(), (20 + 4 * score).tolist(), strict=True)
    last = Reviews(list(pairs))
    expected = expected_errors(design, like=last)
    assert np.median(expected) == pytest.approx(np.median(posterior(last).standard_error), rel=0.1)


@pytest.mark.parametrize("wrong", [{"noise": 0.0}, {"severity": -1.0}, {"stretch": float("nan")}, {"spread": 0.0}])
def test_refused(wrong) -> None:
    (name, value), *_ = wrong.items()
    with pytest.raises(InputError, match=f"{name}: expected a standard deviation .*found {value}"):
        Assumptions(**wrong)


def test_no_severity_and_no_stretch_are_fine() -> None:
    assert Assumptions(severity=0, stretch=0).stretch == 0


def outlook(pairs: list[tuple[int, int]], **assumed: float) -> Outlook:
    return check(Reviews(pairs), assumptions=Assumptions(**assumed)).expected


def test_one_more_review_is_the_rank_one_formula() -> None:
    rng = np.random.default_rng(0)
    half = rng.standard_normal((5, 5))
    precision, added = half @ half.T + np.eye(5), np.zeros((5, 5))
    added[2, 2] = 1 / 0.7**2
    before, after = np.linalg.inv(precision), np.linalg.inv(precision + added)
    assert one_more(before.diagonal()[2:3], 0.7) == pytest.approx(after[2, 2])


@pytest.mark.parametrize("n", [20, 100])
@pytest.mark.parametrize("unequal", [False, True])
def test_share_of_right_selections_is_the_simulated_one(n: int, unequal: bool) -> None:
    rng = np.random.default_rng(1)
    variance = rng.uniform(0.05, 0.95, 400) if unequal else np.full(400, 0.4)
    right = []
    for _ in range(300):
        quality = rng.standard_normal(400)
        mean = (1 - variance) * quality + np.sqrt(variance * (1 - variance)) * rng.standard_normal(400)
        right.append(np.isin(np.argsort(-mean)[:n], np.argsort(-quality)[:n]).mean())
    assert expected_share(variance, n) == pytest.approx(np.mean(right), abs=0.02)


def test_quantiles_stand_for_many_items(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    few_known_well = np.where(rng.random(20_000) < 0.002, 0.01, 0.6)
    drawn = [rng.beta(2, 5, 20_000), 1 / (1.0 + rng.poisson(3, 20_000)), few_known_well]
    cases = [(variance, n) for variance in drawn for n in (250, 4_000, 12_000)]
    quick = [expected_share(variance, n) for variance, n in cases]
    monkeypatch.setattr(precision, "MANY_ITEMS", 20_000)
    slow = [expected_share(variance, n) for variance, n in cases]
    assert quick != slow
    np.testing.assert_allclose(quick, slow, atol=2e-4)


def test_shares_at_the_ends() -> None:
    assert expected_share(np.zeros(50), 5) == pytest.approx(1.0, abs=0.01)
    assert expected_share(np.ones(50), 5) == pytest.approx(0.1, abs=0.01)
    assert expected_share(np.ones(3), 3) == 1.0


def test_the_curve_rises_and_begins_with_the_reviews_there_are() -> None:
    found = outlook([(j, (j + i) % 40) for j in range(40) for i in range(3)])
    assert [step.added for step in found.curve] == [0, 10, 20, 40]
    assert [step.right for step in found.curve] == sorted(step.right for step in found.curve)
    assert found.curve[0].right > found.right_by_average


def test_the_weakest_come_first_and_ties_in_order() -> None:
    found = outlook([(j, i) for j in range(3) for i in range(6) if i < 5 or j == 0], stretch=0.0)
    assert found.weakest.tolist() == [5, 0, 1, 2, 3, 4]


def test_errors_of_islands_hold_within_each() -> None:
    pairs = [(j, i) for j in range(3) for i in range(4)] + [(j, i) for j in range(3, 6) for i in range(4, 8)]
    report = check(Reviews(pairs))
    assert np.isfinite(report.expected.error).all()
    assert "Errors hold within an island" in report.summary().text("errors")
