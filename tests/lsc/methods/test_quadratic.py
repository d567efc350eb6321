"""The quadratic programme against the programme as written, and on tables that are hard to solve."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from scipy.stats import kendalltau

from lsc.baselines import quadratic_programme
from lsc.errors import SolverFailed
from lsc.simulation import simulate
from reviewgraph import InputError, Reviews
from tests.trials import examples

#: The largest times the shift still has finite sums: plain averages overflow beyond 1e308.
SIZES = [1e-90, 1e-8, 1.0, 1e8, 1e90]


@st.composite
def tables(draw: st.DrawFn) -> Reviews:
    """Ties, single scores, constant reviewers, hubs, separate pieces; scores of one size, or of one a reviewer."""
    n_items = draw(st.integers(1, 8))
    hub = draw(st.booleans())
    sizes = st.just(draw(st.sampled_from(SIZES))) if draw(st.booleans()) else st.sampled_from(SIZES)
    rows = []
    for reviewer in range(draw(st.integers(1, 7))):
        mine = draw(st.sets(st.integers(0, n_items - 1), min_size=1, max_size=4)) | ({0} if hub else set())
        size, shift = draw(sizes), draw(st.sampled_from([0.0, -5.0, 1e8]))
        highest = draw(st.sampled_from([0, 1, 5]))
        rows += [(reviewer, item, size * (shift + draw(st.integers(0, highest)))) for item in sorted(mine)]
    return Reviews(rows, items=range(n_items + draw(st.integers(0, 1))))


def small(seed: int = 0, noise: float = 0.5) -> Reviews:
    return simulate(12, 9, 4, noise=noise, seed=np.random.default_rng(seed)).reviews


def rows_of(reviews: Reviews, name: str = "") -> list[tuple[str, str, float]]:
    columns = (reviews.reviewer.tolist(), reviews.item.tolist(), reviews.score.tolist())
    return [(f"{name}{j:02}", f"{name}{i:02}", y) for j, i, y in zip(*columns, strict=True)]


@pytest.mark.filterwarnings("ignore::reviewgraph.graph.ColumnWarning")
@pytest.mark.slow
@pytest.mark.parametrize("bounded", [False, True])
@examples(16)
@given(reviews=tables())
def test_it_gives_every_scored_item_a_finite_quality_or_with_bounds_may_refuse(bounded: bool, reviews: Reviews) -> None:
    refusals = (SolverFailed, InputError) if bounded else ()
    try:
        quality = quadratic_programme(reviews, bounded=bounded).quality
    except refusals:
        reject()
    assert np.array_equal(np.isfinite(quality), reviews.reviews_per_item > 0)


@pytest.mark.parametrize("size", [1e-300, 1e-8, 1e8, 1e12, 1e90])
def test_the_size_of_scores_is_that_of_qualities(size: float) -> None:
    reviews = small()
    other = Reviews([(j, i, size * y) for j, i, y in rows_of(reviews)])
    expected = quadratic_programme(Reviews(rows_of(reviews))).quality
    assert quadratic_programme(other).quality / size == pytest.approx(expected, abs=1e-6)


def test_separate_groups_do_not_touch_each_other() -> None:
    one, two = rows_of(small(1), "a"), rows_of(small(2, noise=0.0), "b")
    apart = [quadratic_programme(Reviews(rows)).quality for rows in (one, two)]
    assert quadratic_programme(Reviews([*one, *two])).quality == pytest.approx(np.concatenate(apart), abs=1e-4)


@pytest.mark.parametrize("papers", [["00"], ["00", "01", "02"]])
def test_a_reviewer_whose_scores_are_alike_does_not_take_the_scale(papers: list[str]) -> None:
    rows = rows_of(small())
    quality = quadratic_programme(Reviews([*rows, *[("99", paper, 3.0) for paper in papers]])).quality
    assert kendalltau(quality, quadratic_programme(Reviews(rows)).quality).statistic > 0.5
    assert np.ptp(quality) > 0.5


def indicators(reviews: Reviews) -> tuple[np.ndarray, np.ndarray]:
    return np.eye(reviews.n_items)[reviews.item], np.eye(reviews.n_reviewers)[reviews.reviewer]


@pytest.mark.parametrize("bounded", [False, True])
def test_the_quadratic_programme_is_that_of_roos_as_written(bounded: bool) -> None:
    reviews = small()
    p, q, x = cp.Variable(9), cp.Variable(9), cp.Variable(12)
    papers, reviewers = indicators(reviews)
    residual = cp.multiply(reviewers @ p, reviews.score) - reviewers @ q - papers @ x
    constraints = [p >= 0, cp.sum(p) == 9]
    constraints += [x >= 0, x <= 100, q >= -10] if bounded else []
    cp.Problem(cp.Minimize(cp.sum_squares(residual)), constraints).solve(solver=cp.CLARABEL)
    found = quadratic_programme(reviews, bounded=bounded).quality
    assert found - found.mean() == pytest.approx(x.value - x.value.mean(), abs=1e-4)


def test_without_bounds_noiseless_linear_scores_are_recovered_and_with_the_codes_bounds_not_always() -> None:
    """The bounds of the paper's code, not its text, are why its table gives QP less than 100 % without noise."""
    truths = []
    for seed in range(4):
        simulation = simulate(60, 60, 5, seed=np.random.default_rng(seed))
        free, bound = (quadratic_programme(simulation.reviews, bounded=bounded).quality for bounded in (False, True))
        truths.append([kendalltau(quality, simulation.truth).statistic for quality in (free, bound)])
    free, bound = np.array(truths).T
    assert free == pytest.approx(1.0, abs=1e-3)
    assert bound.min() < 0.99
