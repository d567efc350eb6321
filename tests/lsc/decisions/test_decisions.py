"""Selections, and lotteries."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import reviewgraph as rg
from lsc.posteriors import posterior
from lsc.selection import Selection, draw_papers, lottery_probabilities, select
from reviewgraph import Reviews
from reviewgraph._base import TIE, probability_in_top
from reviewgraph._verify.calibrations import shares


@st.composite
def tables(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, int, float]:
    """Means, standard errors, n and an error rate: sharp and blurred, tied, all equal, all to be selected or none."""
    size = draw(st.integers(1, 24))
    n = draw(st.one_of(st.sampled_from([0, 1, size - 1, size]), st.integers(0, size)))
    values = draw(st.sampled_from([[0.0], [0.0, 1.0], [-3.0, -1.0, 0.0, 0.3, 1.0, 9.0]]))
    means = draw(st.lists(st.sampled_from(values), min_size=size, max_size=size))
    spread = draw(st.sampled_from([[1e-3], [0.3], [2.0], [30.0], [0.1, 1.0, 4.0]]))
    errors = draw(st.lists(st.sampled_from(spread), min_size=size, max_size=size))
    rate = draw(st.sampled_from([1e-6, 0.01, 0.1, 0.25, 0.4, 0.45, 0.499]))
    return np.array(means), np.array(errors), n, rate


def selection_of(chance: np.ndarray, n: int, rate: float) -> Selection:
    """Return the selection by probabilities; the papers are in order of quality."""
    order = np.argsort(-chance, kind="stable")
    likely = order[:n]
    return Selection(
        tuple(range(chance.size)), n, rate, likely, likely, chance, order, np.ones(chance.size, np.bool_)
    )  # fmt: skip


@given(tables())
@example((np.zeros(10), np.ones(10), 9, 0.1))
@example((np.array([0.5, *[0.0] * 12]), np.ones(13), 1, 0.1))
@example((np.array([3.0, 0.0, 0.0]), np.full(3, 1e-3), 1, 0.1))
def test_lists_and_lottery_agree_for_every_table_number_and_error_rate(
    table: tuple[np.ndarray, np.ndarray, int, float],
) -> None:
    mean, error, n, rate = table
    chance = probability_in_top(mean, error, n)
    found = selection_of(chance, n, rate)
    lottery = found.lottery
    assert abs(lottery.sum() - n) <= 1e-12 * max(n, 1)
    assert ((lottery >= 0) & (lottery <= 1)).all()
    # The lists are those of the lottery, and keep to the error rate.
    assert (lottery[found.certain_codes] == 1).all()
    assert (lottery[found.out_codes] == 0).all()
    assert (chance[found.certain_codes] >= 1 - rate - TIE).all()
    assert (chance[found.out_codes] <= rate + TIE).all()
    assert sorted([*found.certain, *found.discuss, *found.out]) == list(range(mean.size))
    assert len(found.certain) <= n <= len(found.certain) + len(found.discuss)
    assert {*found.certain} <= {*found.best}
    assert not {*found.out} & {*found.best}
    assert (np.diff(chance[found.discuss_codes]) <= TIE).all()
    # Monotone, and equal for equal papers.
    order = np.argsort(chance, kind="stable")
    assert (np.diff(lottery[order]) >= -1e-12).all()
    equal = np.abs(chance[:, None] - chance) <= 1e-13
    assert np.abs(lottery[:, None] - lottery)[equal].max() <= 1e-12
    # Draws take the papers that are in, none that are out, and as many to discuss as places are left.
    for seed in range(3):
        drawn = found.draw(seed)
        assert len(drawn) == len({*drawn}) == n
        assert {*found.certain} <= {*drawn}
        assert len({*drawn} & {*found.discuss}) == n - len(found.certain)
        assert len({*drawn} & {*found.tied}) == found.places
    assert found.to_dict()["certain"] == found.certain
    # Independent code finds the same.
    assert np.abs(shares(chance, n, rate) - lottery).max() <= 1e-6


@given(tables(), st.integers(0, 23), st.floats(-2.0, 2.0), st.sampled_from([1.0, 1e-2, 1e-5]))
@example((np.array([0.15, *[0.0] * 12]), np.ones(13), 1, 0.1), 0, 0.02, 1.0)
@example((np.zeros(10), np.ones(10), 9, 0.1), 0, 0.01, 1.0)
def test_a_change_of_probabilities_changes_the_lottery_in_proportion(
    table: tuple[np.ndarray, np.ndarray, int, float], which: int, step: float, size: float
) -> None:
    mean, error, n, rate = table
    other = mean.copy()
    other[which % mean.size] += step * size
    before, after = (probability_in_top(means, error, n) for means in (mean, other))
    change = lottery_probabilities(after, n, rate) - lottery_probabilities(before, n, rate)
    most = 8.0 / (1.0 - 2.0 * rate) * np.abs(after - before).sum()
    # Ties are made equal.
    assert np.abs(change).sum() <= most + 1e-7


def test_the_lists_are_those_of_the_error_rate_wherever_a_factor_fills_the_places() -> None:
    chance = np.array([0.97, 0.91, 0.7, 0.5, 0.5, 0.3, 0.08, 0.04])
    found = selection_of(chance, 4, 0.1)
    assert (found.certain, found.out) == ([0, 1], [6, 7])
    odds = (chance[2:6] - 0.1) / (0.9 - chance[2:6])
    lottery = found.lottery[2:6]
    factor = lottery / (1 - lottery) / odds
    assert factor == pytest.approx(np.full(4, factor[0]))


def test_thirteen_papers_compete_for_one_place_whether_or_not_one_is_above_the_error_rate() -> None:
    lotteries = []
    for ahead in (0.54, 0.56):
        rows = [(who, i, mark) for i in range(13) for who, mark in (("ann", 4.0), ("bob", 6.0 + ahead * (i == 0)))]
        found = posterior(Reviews(rows)).selection(1)
        assert (len(found.discuss), found.places) == (13, 1)
        lotteries.append(found.lottery)
    assert np.abs(lotteries[1] - lotteries[0]).max() < 0.02


def test_draws_have_the_given_probabilities_and_always_the_given_number() -> None:
    probability = np.array([1.0, 0.8, 0.5, 0.4, 0.3, 0.0])
    drawn = np.array([draw_papers(probability, np.random.default_rng(seed)) for seed in range(4000)])
    assert (drawn.sum(axis=1) == 3).all()
    assert np.abs(drawn.mean(axis=0) - probability).max() < 0.03


def test_a_draw_moves_by_few_papers_when_one_probability_moves_a_little() -> None:
    probability = np.full(40, 0.25)
    nearby = probability.copy()
    nearby[7], nearby[8] = 0.26, 0.24
    moved = []
    for seed in range(200):
        one, other = (draw_papers(p, np.random.default_rng(seed)) for p in (probability, nearby))
        moved.append(int((one != other).sum()))
    assert np.mean(moved) < 0.5
    assert max(moved) <= 6


def test_a_paper_that_no_review_connects_is_never_in_without_discussion() -> None:
    found = replace(selection_of(np.array([0.99, 0.95, 0.06]), 2, 0.1), comparable=np.array([True, False, True]))
    assert (found.certain, found.discuss) == ([0], [1])


#: Scores of which the most probable paper, p1, is not that of highest quality, p2.
UNEVEN = "r1p0 7 r2p0 3 r1p1 7 r3p2 6 r2p2 6 r0p2 7 r2p3 4 r3p3 1 r0p3 2 r1p4 6 r0p4 7 r0p5 3 r2p5 2 r3p5 5"


def test_the_most_probable_papers_are_selected_and_their_errors_are_those_of_a_plan() -> None:
    words = UNEVEN.split()
    rows = [(pair[:2], pair[2:], float(score)) for pair, score in zip(words[::2], words[1::2], strict=True)]
    estimate = posterior(Reviews(rows))
    found = estimate.selection(1)
    assert estimate.ranking()[0] == "p2"
    assert found.best == estimate.select(1) == ["p1"]
    assert found.expected_wrong == pytest.approx(1 - found.chance.max())
    assert found.expected_wrong <= found.expected_wrong_by_average
    plan = rg.plan(Reviews(rows), goal="decision", n_selected=1)
    assert plan.purchase is not None
    assert plan.purchase.before == pytest.approx(found.expected_wrong, abs=1e-9)


@given(tables())
@example((np.array([5.92, 5.96, 5.94, 5.0]), np.array([1.04, 0.74, 0.85, 0.85]), 1, 0.1))
@example((np.array([0.5, 0.4, 0.0]), np.array([0.1, 4.0, 4.0]), 2, 0.1))
def test_no_other_selection_has_fewer_expected_errors(table: tuple[np.ndarray, np.ndarray, int, float]) -> None:
    mean, error, n, _ = table
    one = np.ones(mean.size, np.int64)
    estimate = SimpleNamespace(items=range(mean.size), quality=mean, average=mean, group=one, _order_error=error)
    found = select(estimate, n, error_rate=0.1, across_groups=False)  # type: ignore[arg-type]
    assert found.expected_wrong == pytest.approx(np.sort(1.0 - found.chance)[:n].sum(), abs=1e-6)
    # In order of quality.
    assert (np.diff(mean[found.best_codes]) <= 0).all()
