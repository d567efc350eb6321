"""What a calibration says beside its qualities."""

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose

import lsc
from lsc.simulation import simulate
from reviewgraph import InputError, Reviews
from tests.lsc.strategies import Problem, problems
from tests.trials import examples

PANEL = [("ann", p, y) for p, y in zip("abcde", (1.0, 2.0, 4.0, 5.0, 7.0), strict=True)]
PANEL += [("bob", p, y) for p, y in zip("abcde", (5.0, 5.5, 6.5, 7.0, 8.0), strict=True)]


@pytest.mark.slow
@examples(24)
@given(problems())
def test_scoring_functions_meet_every_score(problem: Problem) -> None:
    result = lsc.calibrate(problem.reviews, **problem.arguments)
    reviews = result.reviews
    for r in range(reviews.n_reviews):
        function = result.scoring_function(int(reviews.reviewer[r]))
        met = function(result.quality[reviews.item[r]] + result.noise[r])
        steepest = problem.rules[int(reviews.reviewer[r])].max_slope
        assert_allclose(met, reviews.score[r], atol=1e-6 * max(1.0, steepest, np.abs(reviews.score).max()))
        assert np.all(np.diff(function([-50.0, -1.0, 0.0, 1.0, 50.0])) >= -1e-9)


@pytest.mark.slow
@examples(24)
@given(problems())
def test_the_order_of_rows_and_the_names_of_people_do_not_matter(problem: Problem) -> None:
    plain = lsc.calibrate(problem.reviews, **problem.arguments)
    named = Reviews(
        [(f"r{j}", f"p{i}", y) for j, i, y in reversed(problem.scores)], items=[f"p{i}" for i in range(problem.n_items)]
    )
    kinds = {f"r{j}": kind for j, kind in problem.arguments["hypothesis"].items()}
    references = {f"p{i}": q for i, q in problem.references.items()}
    again = lsc.calibrate(named, kinds, references=references)
    assert np.array_equal(again.quality, plain.quality, equal_nan=True)
    assert again.objective == plain.objective


def test_the_reported_scale_is_that_of_the_plain_averages() -> None:
    result = lsc.calibrate(Reviews(PANEL))
    assert result.quality.mean() == pytest.approx(result.average.mean())
    assert result.quality.std() == pytest.approx(result.average.std())


def test_two_references_set_the_scale() -> None:
    result = lsc.calibrate(Reviews(PANEL), references={"a": 10.0, "e": 40.0})
    assert_allclose(result.quality, [10.0, 15.0, 25.0, 30.0, 40.0])
    assert result.unique


def test_lower_is_better_is_turned_round_and_back() -> None:
    best_one = [(who, paper, 10.0 - y) for who, paper, y in PANEL]
    result = lsc.calibrate(Reviews(best_one, lower_is_better=True), references={"a": -10.0, "e": -40.0})
    assert result.ranking() == ["e", "d", "c", "b", "a"]
    assert_allclose(result.to_columns()["quality"], [-10.0, -15.0, -25.0, -30.0, -40.0])
    assert result.to_columns()["average"][0] == pytest.approx(7.0)


def test_planned_reviews_and_items_without_a_score() -> None:
    reviews = Reviews([*PANEL, ("cleo", "f", None)])
    result = lsc.calibrate(reviews)
    assert np.isnan(result.quality[5])
    assert np.isnan(result.noise[-1])
    assert result.to_columns()["rank"][5] is None
    assert "f" not in result.ranking()
    assert result.undetermined == ["f"]
    assert not result.unique
    with pytest.raises(InputError, match="0 to 5 items"):
        result.select(6)


def test_selection_across_groups_is_refused_with_an_explanation() -> None:
    result = lsc.calibrate(Reviews([*PANEL, ("dora", "y", 1.0), ("dora", "z", 2.0)]))
    assert result.group.tolist() == [1, 1, 1, 1, 1, 2, 2]
    assert result.rank[-2:].tolist() == [2, 1]
    with pytest.raises(lsc.Incomparable, match="no review connects the 2 groups"):
        result.select(2)
    with pytest.raises(lsc.Incomparable, match="across_groups=True"):
        result.ranking()
    assert result.select(7, across_groups=True)[0] == "e"


def test_selection_among_undetermined_papers_warns() -> None:
    chain = [("ann", "a", 1.0), ("ann", "b", 2.0), ("bob", "b", 1.0), ("bob", "c", 2.0)]
    result = lsc.calibrate(Reviews(chain))
    assert result.undetermined == ["c"]
    assert not result.unique
    with pytest.warns(lsc.UndeterminedWarning, match="1 of 3 papers"):
        result.select(1)


def test_refuses_what_it_cannot_calibrate() -> None:
    with pytest.raises(InputError, match="expected scores, found none"):
        lsc.calibrate(Reviews([("ann", "a")]))
    reviews = Reviews(PANEL)
    with pytest.raises(InputError, match="expected one of linear, monotone, convex, concave, offset, found 'wavy'"):
        lsc.calibrate(reviews, "wavy")
    with pytest.raises(InputError, match="none for reviewer 'bob'"):
        lsc.calibrate(reviews, {"ann": "linear"})
    with pytest.raises(InputError, match="no reviewer 'eve'"):
        lsc.calibrate(reviews, {"ann": "linear", "bob": "convex", "eve": "linear"})
    with pytest.raises(InputError, match=r"references: the paper is not in the reviews \(paper 'q'\)"):
        lsc.calibrate(reviews, references={"q": 1.0})
    with pytest.raises(InputError, match="finite quality, found nan"):
        lsc.calibrate(reviews, references={"a": float("nan")})
    with pytest.raises(InputError, match="max_slope: expected a number from 1e-50 to 1e\\+50, found 0"):
        lsc.calibrate(reviews, max_slope=0)
    # In single precision the bound is infinite, too.
    for build in (lambda slope: lsc.calibrate(reviews, max_slope=slope), lsc.Linear):
        with pytest.raises(InputError, match="max_slope: expected a number from 1e-50 to 1e\\+50, found inf"):
            build(np.float32("inf"))
    for owned in (lsc.Linear(), {"ann": lsc.Linear(), "bob": lsc.Monotone(5.0)}):
        with pytest.raises(InputError, match="max_slope: expected none beside a hypothesis object"):
            lsc.calibrate(reviews, owned, max_slope=2.0)
    mixed = {"ann": "linear", "bob": lsc.Monotone(5.0)}
    assert lsc.calibrate(reviews, mixed, max_slope=2.0).solution.programme.lower.tolist() == [0.5, 0.2]


def test_an_unfinished_solution_says_so() -> None:
    reviews = simulate(60, 60, 4, noise=0.5, seed=np.random.default_rng(0)).reviews
    result = lsc.calibrate(reviews, max_iterations=1)
    assert result.status == "inaccurate"
    assert "how far from the optimum" in result.status.text
    assert not result.is_optimal()
    assert lsc.calibrate(reviews).is_optimal(1e-7)


def test_standard_errors_are_the_formula() -> None:
    """Of a reviewer whose slope lies on its bound only the offset is fitted."""
    rng = np.random.default_rng(3)
    reviews = simulate(40, 30, 6, noise=0.5, seed=rng).reviews
    result = lsc.calibrate(reviews)
    laplacian, parameters = np.zeros((40, 40)), 0
    steepest = 10.0 / result.solution.scale.slope[0]  # the bound, on the reported scale
    for j in range(30):
        items = reviews.items_of(j)
        design = np.column_stack([np.ones(items.size), result.quality[items]])
        bound = result.scoring_function(reviews.reviewers[j]).slope > steepest * (1 - 1e-5)
        design = design[:, :1] if bound else design
        parameters += design.shape[1]
        laplacian[np.ix_(items, items)] += np.eye(items.size) - design @ np.linalg.pinv(design)
    scale = result.solution.scale.slope[0]
    assert 30 < parameters < 60
    sigma = np.sqrt(result.objective / (reviews.n_reviews - 40 - parameters + 1))
    expected = scale * sigma * np.sqrt(np.diag(np.linalg.pinv(laplacian, hermitian=True)))
    assert_allclose(result.standard_error, expected, rtol=1e-6)
    assert np.isnan(lsc.calibrate(reviews, "monotone").standard_error).all()
    assert np.isnan(lsc.calibrate(Reviews(PANEL)).standard_error).all()


@pytest.mark.parametrize("loads", [[3] * 200, [2, 5, 3, 4] * 50, [0, 1, 7, 0] * 50, [1] * 199 + [60]])
def test_scores_are_sorted_within_reviewers(loads: list[int]) -> None:
    """Even and uneven loads are sorted in different ways; the rows of planned reviews are left out."""
    from lsc._model.formulation import formulate

    rng = np.random.default_rng(0)
    owner = np.repeat(np.arange(200), loads)
    item = np.concatenate([np.sort(rng.permutation(80)[:load]) for load in loads])
    for scored in (np.ones(owner.size, np.bool_), rng.random(owner.size) < 0.7):
        score = rng.integers(0, 4, owner.size).astype(float)
        reviews = Reviews.from_codes(owner, item, score, scored=scored, reviewers=200, items=80)
        programme, row = formulate(reviews, "monotone")
        rows = np.flatnonzero(scored)
        assert np.array_equal(row, rows[np.lexsort((score[rows], owner[rows]))])
        assert np.array_equal(np.repeat(np.arange(200), np.diff(programme.start)), owner[row])


@pytest.mark.filterwarnings("ignore:reviews. the scores of 4 reviewers")
@pytest.mark.parametrize(("size", "shift"), [(1e8, 0.0), (1.0, 1e9)])
def test_groups_in_other_units_are_refused(size: float, shift: float) -> None:
    scores = [(r, p, (p * 7 + r * 3) % 10 + 1.0) for r in range(4) for p in range(5)]
    other = [(r + 10, p + 10, shift + size * score) for r, p, score in scores]
    with pytest.raises(InputError, match="expected scores on one scale"):
        lsc.calibrate(Reviews(scores + other, accept="no-score-codes"))
