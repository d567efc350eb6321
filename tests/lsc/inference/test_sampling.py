"""Learning from a part: what it takes, and that the whole comes out as it does without."""

import numpy as np
import pytest

from lsc._inference import states
from lsc._inference.inferring import infer
from lsc._inference.model import (
    LOG_OWN,
    LOG_TAU_LEFT,
    LOG_TAU_RIGHT,
    MIN_DIAGONAL,
    MU,
    NU,
    RHO,
    SCALE_MOVES,
    SIZE,
    START,
    Extent,
    _bounded_information,
    rescaled,
)
from lsc._inference.states import Rows, initial_state, prepare
from lsc._inference.sweeps import with_hyperparameters
from tests.lsc.inference.simulated_tables import table


def test_only_large_tables_are_begun_with_a_part() -> None:
    who, what, score, _ = table()
    assert states.subset_of([Rows(who, what, score, None)], 200, 200, np.random.default_rng(0)) is None


def test_a_part_keeps_reviewers_whole_and_shares_papers(monkeypatch) -> None:
    monkeypatch.setattr(states, "LARGE", 5_000)
    monkeypatch.setattr(states, "SUBSET", 1_000)
    who, what, score, _ = table(n_items=2000, n_reviewers=2000)
    part = states.subset_of([Rows(who, what, score, score)], 2000, 2000, np.random.default_rng(0))
    assert part is not None
    assert 1_000 <= part.score.size < 1_005
    assert (np.bincount(part.reviewer) == 5).all()
    # As many reviewers taken blindly would have 1.3 reviews a paper at most.
    assert part.item.size / np.unique(part.item).size > 1.5
    assert np.isin(part.score, score).all()
    assert (part.weight == part.score).all()
    other = states.subset_of([Rows(who, what, -score, None)], 2000, 2000, np.random.default_rng(0))
    assert (other.score == -part.score).all()


def test_few_reviewers_of_many_papers_lose_papers_instead(monkeypatch) -> None:
    monkeypatch.setattr(states, "LARGE", 5_000)
    monkeypatch.setattr(states, "SUBSET", 1_000)
    who, what = np.divmod(np.arange(10_000), 1000)
    part = states.subset_of([Rows(who, what, 1.0 * what, None)], 10, 1000, np.random.default_rng(0))
    assert part is not None
    assert np.unique(part.reviewer).size == 10
    assert np.bincount(part.item).min() == 10


@pytest.mark.slow
def test_the_whole_is_the_same_by_way_of_a_part(monkeypatch) -> None:
    who, what, score, _ = table(3, 200, 200, 6, own=0.6)
    direct = infer(who, what, score, 200, 200)
    monkeypatch.setattr(states, "LARGE", 1_000)
    monkeypatch.setattr(states, "SUBSET", 600)
    by_part = infer(who, what, score, 200, 200)
    assert direct.extent.own
    assert by_part.extent.own
    sd = np.sqrt(direct.variance)
    assert (np.abs(by_part.mean - direct.mean) < 0.05 * sd).all()
    np.testing.assert_allclose(by_part.variance, direct.variance, rtol=0.02)


def test_the_moves_of_the_scale_are_those_of_rescaling() -> None:
    theta = START + 0.1
    for centre, spread in [(0.0, np.exp(1e-6)), (1e-6, 1.0)]:
        move = (rescaled(theta, centre, spread) - theta) / 1e-6
        assert np.abs(move).max() > 0.5
        within = SCALE_MOVES @ np.linalg.lstsq(SCALE_MOVES, move)[0]
        np.testing.assert_allclose(within, move, atol=1e-5)


def test_information_about_noise_is_bounded_as_in_the_whole_matrix() -> None:
    """Against all hyperparameters with a bound, practically none where they do not change noise."""
    rng, noise = np.random.default_rng(0), np.ix_([MU, NU, RHO], [MU, NU, RHO])
    for n_reviewers in (3, 20, 60):
        theta = START + 0.3 * rng.normal(size=SIZE)
        each = np.exp(rng.normal(size=(SIZE, 1))) * rng.normal(size=(SIZE, n_reviewers))
        information = 9.0 * each @ each.T
        left, right = np.exp(theta[[LOG_TAU_LEFT, LOG_TAU_RIGHT]])
        mean, square = np.sqrt(2 / np.pi) * (right - left), (left**3 + right**3) / (left + right)
        r = theta[RHO]
        bound = np.diag(1e8 * np.diag(information))
        bound[noise] = 2.0 * n_reviewers * np.array([[r * r, -r, -r * mean], [-r, 1, mean], [-r * mean, mean, square]])
        bound[MU, MU] += n_reviewers / (left * right)
        bound += np.diag(MIN_DIAGONAL * np.diag(bound) + MIN_DIAGONAL)
        root = np.linalg.cholesky(bound)
        value, vector = np.linalg.eigh(np.linalg.solve(root, np.linalg.solve(root, information).T))
        assert value.max() > 1.5
        expected = root @ (vector * np.minimum(value, 1.0)) @ vector.T @ root.T
        found = _bounded_information(information, theta, n_reviewers, n_reviewers)
        np.testing.assert_allclose(found, expected, atol=1e-4 * np.abs(information).max())


def test_nodes_follow_the_spread_of_own_noise() -> None:
    who, what, score, _ = table()
    problem = prepare(Rows(who, what, score, None), 200, 200).problem
    state = initial_state(problem, START, Extent(own=True))
    theta = START.copy()
    theta[LOG_OWN] += 0.3
    # Nothing is known of anybody: the nodes lie as the prior does.
    np.testing.assert_allclose(with_hyperparameters(state, theta).nodes[3], np.exp(theta[LOG_OWN]))


@pytest.mark.parametrize("number", [1, 3, 9, 10, 40])
def test_the_first_by_what_they_share_are_those_of_sorting_all(number: int) -> None:
    rng = np.random.default_rng(number)
    who, shared, lot = np.arange(40)[::-1][:30], rng.integers(0, 4, 40) / 4, rng.random(40)
    expected = who[np.lexsort((lot[who], -shared[who]))][:number]
    assert states.top_candidates(who, shared, lot, number)[:number].tolist() == expected.tolist()
