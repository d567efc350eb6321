"""Seriation against all orders, and its isotonic fits against an outside solver."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression

from lsc.seriation import _fits, _isotonic, seriate
from reviewgraph import Reviews
from tests.trials import sampled

scores = st.lists(st.integers(0, 4).map(float), min_size=1, max_size=8)


@given(scores)
def test_isotonic_regression_is_that_of_scipy(score: list[float]) -> None:
    assert _isotonic(score) == pytest.approx(isotonic_regression(score).x.tolist())


def table(seed: int, n_items: int = 6, n_reviewers: int = 5) -> Reviews:
    rng = np.random.default_rng(seed)
    rows = [
        (j, int(i), float(rng.integers(0, 5)))
        for j in range(n_reviewers)
        for i in rng.choice(n_items, rng.integers(1, 5), replace=False)
    ]
    return Reviews(rows, items=range(n_items))


def least(reviews: Reviews) -> float:
    found = np.inf
    for order in permutations(range(reviews.n_items)):
        found = min(found, float(((reviews.score - _fits(reviews, np.argsort(order))) ** 2).sum()))
    return found


@pytest.mark.parametrize("seed", sampled(range(12), 4))
def test_small_instances_are_solved_as_well_as_by_trying_all_orders(seed: int) -> None:
    reviews = table(seed)
    found = seriate(reviews, seed=0)
    assert found.objective == pytest.approx(least(reviews), abs=1e-9)


def test_the_objective_is_that_of_the_order_and_of_the_fits() -> None:
    reviews = table(3)
    found = seriate(reviews, seed=0)
    order = [reviews.item_code[label] for label in found.ranking()]
    for reviewer in range(reviews.n_reviewers):
        mine = reviews.reviewer == reviewer
        place = [order.index(i) for i in reviews.item[mine].tolist()]
        fitted = found.fitted[mine][np.argsort(place)[::-1]]
        assert (np.diff(fitted) >= -1e-12).all()
    assert found.objective == pytest.approx(float(((reviews.score - found.fitted) ** 2).sum()))


def test_items_without_a_score_have_no_quality() -> None:
    reviews = Reviews([("ann", "p1", 1.0), ("ann", "p2", 2.0), ("bob", "p3")])
    found = seriate(reviews, seed=0)
    assert found.ranking() == ["p2", "p1"]
    assert np.isnan(found.fitted).tolist() == [False, False, True]


def test_an_optimum_that_few_starting_orders_lead_to_is_found() -> None:
    """Of all 24 orders only four lead to the best one by moving single items."""
    rng = np.random.default_rng(1342)
    n_items, n_reviewers = int(rng.integers(3, 8)), int(rng.integers(2, 8))
    rows = [
        (j, int(i), float(rng.normal()))
        for j in range(n_reviewers)
        for i in rng.choice(n_items, int(rng.integers(1, n_items + 1)), replace=False)
    ]
    reviews = Reviews(rows, items=range(n_items))
    assert n_items == 4
    assert seriate(reviews, seed=0, kicks=0).objective > least(reviews) + 0.1
    assert seriate(reviews, seed=0).objective == pytest.approx(least(reviews))
