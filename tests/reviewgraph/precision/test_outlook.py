"""What a check expects: one more review, shares of right selections, and where level and precision disagree."""

import numpy as np
import pytest

from reviewgraph import Reviews, check
from reviewgraph.graph import Assumptions, expected_share, precision
from reviewgraph.graph.precision import Outlook, one_more


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
