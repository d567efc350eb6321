"""Measures against values worked out by hand."""

import itertools
import math

import numpy as np
import pytest

from lsc import metrics
from reviewgraph import InputError
from tests.trials import NIGHTLY, trials

TRUTH = np.array([6.0, 5.0, 4.0, 3.0, 2.0, 1.0])
#: Selects items 0, 3, 2 for n = 3: hits at places 1 and 3.
QUALITY = np.array([9.0, 5.0, 6.0, 7.0, 1.0, 0.0])


def test_worked_example() -> None:
    assert metrics.precision(QUALITY, TRUTH, 3) == pytest.approx(2 / 3)
    assert metrics.average_gap(QUALITY, TRUTH, 3) == pytest.approx((6 + 5 + 4) / 3 - (6 + 3 + 4) / 3)
    assert metrics.average_precision(QUALITY, TRUTH, 3) == pytest.approx((1 / 1 + 2 / 3) / 2)
    weights = [1 / math.log(2), 1 / math.log(3), 1 / math.log(4)]
    assert metrics.ndcg(QUALITY, TRUTH, 3) == pytest.approx((weights[0] + weights[2]) / sum(weights))
    assert metrics.average_l1(QUALITY, TRUTH) == pytest.approx((0 + 2 + 0 + 2 + 0 + 0) / 6)  # ranks 1 4 3 2 5 6


@pytest.mark.parametrize("n", [1, 3, 6])
def test_the_truth_itself_is_perfect(n: int) -> None:
    assert metrics.precision(TRUTH, TRUTH, n) == metrics.average_precision(TRUTH, TRUTH, n) == 1.0
    assert metrics.ndcg(TRUTH, TRUTH, n) == 1.0
    assert metrics.average_gap(TRUTH, TRUTH, n) == metrics.average_l1(TRUTH, TRUTH) == 0.0


def test_the_reverse_hits_nothing() -> None:
    assert metrics.precision(-TRUTH, TRUTH, 3) == metrics.average_precision(-TRUTH, TRUTH, 3) == 0.0
    assert metrics.ndcg(-TRUTH, TRUTH, 3) == 0.0


def test_the_order_among_the_best_does_not_matter_for_selections() -> None:
    swapped = TRUTH[[2, 1, 0, 3, 4, 5]]
    assert metrics.ndcg(swapped, TRUTH, 3) == metrics.average_precision(swapped, TRUTH, 3) == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(trials(2)))
def test_ties_count_as_the_mean_over_all_their_orders(seed: int) -> None:
    rng, size = np.random.default_rng(seed + 21), 4 if NIGHTLY else 3
    quality, truth = rng.integers(0, 2, size).astype(float), rng.integers(0, 3, size).astype(float)
    n = int(rng.integers(1, size + 1))
    orders = [np.array(order) for order in itertools.permutations(range(size))]
    broken = [(quality - 1e-6 * one, truth - 1e-6 * other) for one in orders for other in orders]
    mine = {name: getattr(metrics, name)(quality, truth, n) for name in ("precision", "ndcg", "average_gap")}
    mine["average_l1"] = metrics.average_l1(quality, truth)
    for name, value in mine.items():
        arguments = () if name == "average_l1" else (n,)
        mean = np.mean([getattr(metrics, name)(one, other, *arguments) for one, other in broken])
        assert value == pytest.approx(mean, abs=1e-5), name


def test_the_order_of_items_changes_nothing() -> None:
    rng = np.random.default_rng(3)
    quality, truth = rng.integers(0, 4, 30).astype(float), rng.integers(0, 6, 30).astype(float)
    order = rng.permutation(30)
    for name in ("precision", "ndcg", "average_gap", "average_precision"):
        measure = getattr(metrics, name)
        assert measure(quality[order], truth[order], 7) == pytest.approx(measure(quality, truth, 7), abs=1e-12), name
    assert metrics.average_l1(quality[order], truth[order]) == pytest.approx(metrics.average_l1(quality, truth))


def test_unknown_truth_is_left_out_and_unknown_quality_ranks_last() -> None:
    quality, truth = np.array([1.0, np.nan, 9.0, 2.0]), np.array([1.0, 3.0, np.nan, 2.0])
    assert metrics.precision(quality, truth, 1) == 0.0
    assert metrics.precision(quality, truth, 2) == 0.5
    assert metrics.average_gap(quality, truth, 1) == 1.0


def test_an_unknown_quality_costs_its_ranks() -> None:
    assert metrics.average_l1(np.array([np.nan, 1.0]), np.array([2.0, 1.0])) == 1.0


@pytest.mark.parametrize("n", [0, 7])
def test_impossible_numbers_are_refused(n: int) -> None:
    with pytest.raises(InputError, match=f"n_selected: expected 1 to 6 items to select .*, found {n}"):
        metrics.precision(QUALITY, TRUTH, n)


def test_bad_arrays_are_refused() -> None:
    with pytest.raises(InputError, match="expected one number per item, found shapes"):
        metrics.precision(QUALITY, TRUTH[:3], 1)
    with pytest.raises(InputError, match="truth: expected at least one known quality"):
        metrics.average_l1(QUALITY, np.full(6, np.nan))
