"""What the posterior hands to checks and plans."""

import numpy as np
import pytest

from lsc import posterior
from reviewgraph import Reviews
from reviewgraph.graph import learned_from, random_assignment

NOISE, SEVERITY, STRETCH, POINTS = 0.7, 0.6, 0.3, 4.0


@pytest.fixture(scope="module")
def conference():
    rng = np.random.default_rng(3)
    design = random_assignment(300, 300, 8, rng)
    x = rng.standard_normal(300)
    a, b = rng.lognormal(0, STRETCH, 300), SEVERITY * rng.standard_normal(300)
    score = b[design.reviewer] + a[design.reviewer] * x[design.item] + NOISE * rng.standard_normal(design.n_reviews)
    return Reviews.from_codes(design.reviewer, design.item, 10 + POINTS * score, reviewers=300, items=300), x


@pytest.mark.slow
def test_assumptions_are_the_truth(conference) -> None:
    found = learned_from(conference[0], 10).assumptions
    assert found.noise == pytest.approx(NOISE, rel=0.15)
    assert found.severity == pytest.approx(SEVERITY, rel=0.15)
    assert found.stretch == pytest.approx(STRETCH, rel=0.35)
    assert found.spread == pytest.approx(POINTS, rel=0.15)


@pytest.mark.slow
def test_one_more_score_is_as_noisy_as_said(conference) -> None:
    """New scores, severity taken off, miss the truth by the stated error."""
    reviews, _ = conference
    typical = np.median(learned_from(reviews, 10).review_error) / POINTS
    assert NOISE < typical < np.hypot(NOISE, SEVERITY)


def test_a_reviewer_without_scores_is_a_typical_one() -> None:
    rows = [(f"r{j}", f"p{(j + k) % 20}", float((j + k) % 20 + 3 * (j % 2))) for j in range(20) for k in range(4)]
    reviews = Reviews([*rows, ("new", "p0")])
    found = learned_from(reviews, 10)
    assert np.isfinite(found.review_error).all()
    assert found.review_error[reviews.reviewer_code["new"]] >= np.median(found.review_error)


def test_qualities_are_those_of_calibrate_where_reviews_have_criteria() -> None:
    rng = np.random.default_rng(0)
    design = random_assignment(80, 60, 5, rng)
    x, severity = rng.standard_normal(80), 0.5 * rng.standard_normal(60)
    target, clear = (
        5 + x[design.item] + severity[design.reviewer] + rng.standard_normal(design.n_reviews) for _ in range(2)
    )
    labels = {"reviewers": 60, "items": 80}
    reviews = Reviews.from_codes(design.reviewer, design.item, target, criteria={"clear": clear}, **labels)
    result = posterior(reviews)
    assert result.joined is not None
    assert result.joined.used
    found = learned_from(reviews, 300)
    assert np.array_equal(found.mean, result.quality)
    assert np.array_equal(found.error, result.beliefs.standard_error)
