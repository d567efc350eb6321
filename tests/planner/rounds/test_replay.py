"""A table played through in rounds: the same scores in another order, and never more than there are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import replay_rounds
from planner._plans import phases
from planner._plans.objectives import Beliefs, beliefs_of
from planner._plans.phases import asked_by_decision, at_once, hide, others, replayed, spread_evenly
from reviewgraph import InputError, Reviews
from reviewgraph._base import IntArray


def panel(n_items: int = 40, n_scores: int = 7, seed: int = 0, noise: float = 1.0) -> Reviews:
    """Every paper by some of ten reviewers, who differ in severity."""
    rng = np.random.default_rng(seed)
    truth, severity = rng.standard_normal(n_items), 0.5 * rng.standard_normal(10)
    pairs = [(j, i) for i in range(n_items) for j in rng.permutation(10)[: n_scores - (i % 3 == 0)].tolist()]
    who, what = np.array(pairs).T
    score = 5 + truth[what] + severity[who] + noise * rng.standard_normal(who.size)
    return Reviews.from_codes(who, what, score, reviewers=10, items=n_items)


@pytest.fixture
def by_averages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Believe averages, each to a tenth of a point, where a test is of which scores are shown and what is counted."""

    def averages(reviews: Reviews, fixed: IntArray, draws: None) -> Beliefs:
        count = np.maximum(reviews.reviews_per_item, 1)
        mean = np.bincount(reviews.item, reviews.score, reviews.n_items) / count
        return beliefs_of(reviews, fixed, np.array([mean - 0.1, mean + 0.1]))

    monkeypatch.setattr(phases, "beliefs_of", averages)


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=6),
    st.integers(0, 25),
    st.randoms(use_true_random=False),
)
def test_scores_are_spread_as_one_after_another_to_the_lowest(
    pairs: list[tuple[int, int]], total: int, random: np.random.Generator
) -> None:
    count = [min(a, b) for a, b in pairs]
    room = [max(a, b) for a, b in pairs]
    order = list(range(len(pairs)))
    random.shuffle(order)  # type: ignore[arg-type]
    expected = list(count)
    while sum(expected) < total and any(c < r for c, r in zip(expected, room, strict=True)):
        open_ = [i for i in order if expected[i] < room[i]]
        # The first in the order among those of the lowest count.
        expected[min(open_, key=lambda i: (expected[i], order.index(i)))] += 1
    found = spread_evenly(np.array(count), np.array(room), total, np.array(order))
    assert found.tolist() == expected


@pytest.mark.usefixtures("by_averages")
def test_every_way_shows_the_same_number_of_scores_each_from_the_first_on() -> None:
    reviews = panel(24)
    hidden = hide(reviews, np.random.default_rng(1))
    start, total = np.full(24, 2), 72
    counts = others(reviews, hidden, start, total, 5, np.random.default_rng(2))
    ways = {name: at_once(reviews, hidden, count, 5) for name, count in counts.items()}
    ways |= {str(len(budgets)): replayed(reviews, hidden, start, budgets, 5) for budgets in ([24], [18, 6])}
    for name, way in ways.items():
        assert way.n_scores.sum() == total, name
        assert (way.n_scores <= hidden.room).all()
        assert (way.n_scores >= start).all() or name == "flat"
        shown = reviews.subset(hidden.shown(way.n_scores, reviews.n_reviews))
        assert np.bincount(shown.item, minlength=24).tolist() == way.n_scores.tolist()
        assert len(set(way.chosen.tolist())) == 5
    assert set(ways["flat"].n_scores.tolist()) == {3}
    few, many = (set(np.flatnonzero(hidden.shown(np.full(24, k), reviews.n_reviews)).tolist()) for k in (2, 4))
    assert few < many


def test_the_borderline_way_shows_two_of_each_paper_nearest_the_cut_first() -> None:
    reviews = panel()
    hidden, start = hide(reviews, np.random.default_rng(1)), np.full(40, 2)
    shown = reviews.subset(hidden.shown(start, reviews.n_reviews))
    average = [shown.score[shown.item == i].mean() for i in range(40)]
    cut = np.mean(sorted(average, reverse=True)[4:6])
    near = sorted(range(40), key=lambda i: abs(average[i] - cut))
    for total in (90, 120, 121, 190, int(hidden.room.sum())):
        expected, turn = start.tolist(), 0
        while sum(expected) < total:
            paper = near[turn % 40]
            expected[paper] = min(expected[paper] + 2, int(hidden.room[paper]), expected[paper] + total - sum(expected))
            turn += 1
        counts = others(reviews, hidden, start, total, 5, np.random.default_rng(2))
        assert counts["borderline"].tolist() == expected
        # Another way than flat, unless all is shown.
        assert (counts["borderline"] == counts["flat"]).all() == (total == hidden.room.sum())


def test_the_order_of_a_papers_scores_is_random_and_that_of_the_rows_is_not_needed() -> None:
    reviews = panel(n_items=3, n_scores=6)
    first = [
        tuple(np.flatnonzero(hide(reviews, np.random.default_rng(seed)).shown(np.full(3, 1), reviews.n_reviews)))
        for seed in range(20)
    ]
    assert len(set(first)) > 10


def test_a_paper_is_not_asked_for_more_scores_than_it_has() -> None:
    beliefs = Beliefs(np.linspace(-1, 1, 30), np.full(30, 0.6), np.full(4, 1.0), np.zeros(30), np.zeros(30), 30)
    room = np.tile([0, 1, 5], 10)
    for budget in (0, 3, 10, 500):
        asked = asked_by_decision(beliefs, 10, room, budget)
        assert (asked <= room).all()
        assert asked.sum() <= budget
    free = asked_by_decision(beliefs, 10, np.full(30, 9), 10)
    # Papers near the cut, and no others.
    assert np.abs(np.flatnonzero(free) - 19.5).max() < 10
    assert free.sum() == 10


@pytest.mark.usefixtures("by_averages")
def test_with_all_scores_every_way_selects_what_the_full_table_selects() -> None:
    reviews = panel(24)
    replay = replay_rounds(reviews, 5, total=reviews.n_reviews, draws=2, rounds=[1, 3])
    assert [way.name for way in replay.ways] == ["flat", "random", "borderline", "1 round", "3 rounds"]
    assert [way.wrong for way in replay.ways] == [0.0] * 5


@pytest.mark.usefixtures("by_averages")
def test_a_replay_is_determined_by_its_seed_and_not_by_the_rows() -> None:
    reviews = panel(30, 6)
    first, again = (replay_rounds(reviews, 5, draws=2, rounds=[1]).to_dict() for _ in range(2))
    assert first == again
    other = replay_rounds(reviews, 5, draws=2, rounds=[1], seed=1).to_dict()
    assert first != other


@pytest.mark.usefixtures("by_averages")
def test_papers_accepted_then_are_compared_too() -> None:
    reviews = panel(24)
    truly = [int(label) for label in reviews.items[:5]]
    replay = replay_rounds(reviews, 5, draws=2, rounds=[1], accepted=truly)
    assert all(way.refused is not None and 0 <= way.refused <= 5 for way in replay.ways)
    assert "refused" in replay.to_columns()
    every = replay_rounds(reviews, 5, draws=2, rounds=[1], accepted=list(reviews.items))
    assert [way.refused for way in every.ways] == [0.0] * 4
    with pytest.raises(InputError, match=r"accepted: expected papers of the table, found 1 unknown ones, such as 'x'"):
        replay_rounds(reviews, 5, draws=2, accepted=["x"])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"n_selected": 40}, "n_selected: expected 1 to 39 papers"),
        ({"first": 9}, "reviews: expected papers with more than 9 scores"),
        ({"total": 80}, r"total: expected 81 to 266 scores"),
        ({"draws": 1}, "draws: expected a number of draws, 2 or more"),
    ],
)
def test_what_cannot_be_played_is_refused(changed: dict[str, int], message: str) -> None:
    given: dict[str, int] = {"n_selected": 5, "draws": 2}
    with pytest.raises(InputError, match=message):
        replay_rounds(panel(), **(given | changed))  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.nightly
def test_rounds_agree_better_than_as_many_scores_spread_evenly() -> None:
    saved = [replay_rounds(panel(80, 9, seed), 12, draws=6, rounds=[2], seed=seed).ways[-1].saved for seed in range(4)]
    assert np.mean(saved) > 2.0 * np.std(saved, ddof=1) / 2.0
    assert np.mean(saved) > 0.3
