"""Expected errors: against dense matrices, against simulation, and what they may never do."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsc import posterior
from reviewgraph import Reviews
from reviewgraph.graph import Assumptions, error_variances, expected_errors, random_assignment
from reviewgraph.graph.components import structure_of
from reviewgraph.graph.precision import expected_variances, outlook_of, stratified
from tests.reviewgraph.precision.simulated import DESIGNS, posterior_mean, scores_of
from tests.trials import examples

#: Hubs, chains, singletons, papers nobody reviews and pieces all occur among six papers and five reviewers.
tables = st.sets(st.tuples(st.integers(0, 4), st.integers(0, 5)), min_size=1).map(
    lambda pairs: Reviews(sorted(pairs), items=range(6))
)
assumptions = st.builds(Assumptions, st.floats(0.05, 3), st.floats(0, 2), st.floats(0, 1))


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
