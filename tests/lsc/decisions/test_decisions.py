"""Selections, and lotteries."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsc.selection import Selection, draw_papers, lottery_probabilities
from reviewgraph._base import TIE


@st.composite
def chances(draw: st.DrawFn) -> tuple[np.ndarray, int]:
    """Probabilities of being among the best n, as they come: sharp, blurred, tied, all in or all out."""
    n_items = draw(st.integers(1, 30))
    n = draw(st.integers(0, n_items))
    scores = np.array(
        draw(st.lists(st.sampled_from([-3.0, -1.0, 0.0, 0.3, 1.0, 9.0]), min_size=n_items, max_size=n_items))
    )
    sharpness = draw(st.sampled_from([0.1, 1.0, 20.0]))
    low, high = -400.0, 400.0
    for _ in range(200):
        middle = (low + high) / 2
        total = (1 / (1 + np.exp(-np.clip(sharpness * (scores - middle), -700, 700)))).sum()
        low, high = (middle, high) if total > n else (low, middle)
    chance = 1 / (1 + np.exp(-np.clip(sharpness * (scores - low), -700, 700)))
    return chance, n


@pytest.mark.slow
@given(chances())
def test_lots_have_probabilities_that_sum_to_the_places_and_rise_with_the_chance(case: tuple[np.ndarray, int]) -> None:
    chance, n = case
    if (chance > 0).sum() < n:
        return
    lots = lottery_probabilities(chance, n, 0.1)
    assert lots.sum() == pytest.approx(n, abs=1e-6)
    assert ((lots >= 0) & (lots <= 1)).all()
    order = np.argsort(chance, kind="stable")
    assert (np.diff(lots[order]) >= -1e-9).all()


@given(chances(), st.integers(0, 29), st.floats(-0.004, 0.004))
def test_a_small_change_of_one_chance_changes_the_lottery_a_little(
    case: tuple[np.ndarray, int], which: int, step: float
) -> None:
    chance, n = case
    clear = (np.clip(chance, 0.1, 0.9) == chance).sum() + (chance > 0.9).sum() > n >= (chance > 0.89).sum()
    if not clear or which >= chance.size:
        return
    before = lottery_probabilities(chance, n, 0.1)
    moved = chance.copy()
    moved[which] = np.clip(moved[which] + step, 0, 1)
    if (moved > 0.1).sum() <= n or (moved >= 0.9).sum() > n:
        return
    assert np.abs(lottery_probabilities(moved, n, 0.1) - before).max() < 0.35


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


def selection(chance: list[float], n: int, by_average: list[int], comparable: list[bool] | None = None) -> Selection:
    size = len(chance)
    known = np.array(comparable if comparable is not None else [True] * size)
    return Selection(
        tuple(f"p{i}" for i in range(size)), n, 0.1, np.arange(n), np.array(by_average, np.int64), np.array(chance),
        np.arange(size), known,
    )  # fmt: skip


def test_a_paper_that_no_review_connects_is_never_in_without_discussion() -> None:
    found = selection([0.99, 0.95, 0.06], 2, [0, 1], comparable=[True, False, True])
    assert found.certain == ["p0"]
    assert found.discuss == ["p1"]


@given(chances())
def test_lists_are_complete_the_likeliest_come_first_and_a_lottery_draws_from_its_group(
    case: tuple[np.ndarray, int],
) -> None:
    chance, n = case
    order = np.argsort(-chance, kind="stable")
    found = Selection(
        tuple(range(chance.size)), n, 0.1, order[:n], order[:n], chance, order, np.ones(chance.size, np.bool_)
    )
    lists = np.concatenate([found.certain_codes, found.discuss_codes, found.out_codes])
    assert sorted(lists.tolist()) == list(range(chance.size))
    assert len(found.certain) <= n <= len(found.certain) + len(found.discuss)
    assert (np.diff(chance[found.discuss_codes]) <= TIE).all()
    if (chance > 0).sum() < n:
        return
    drawn = [set(found.draw(seed=seed)) for seed in range(3)]
    always, never = set.intersection(*drawn), set(range(chance.size)) - set.union(*drawn)
    group = set(found.tied)
    # Whoever is not in the group is in each draw or in none.
    assert set(range(chance.size)) - group <= always | never
    assert all(len(each & group) == found.places for each in drawn)
