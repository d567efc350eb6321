"""Papers of known quality: a straight line through them, and whether they fight the scores where LSC holds them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lsc
from lsc.estimate import Estimate, line_through
from reviewgraph import InputError, Reviews, random_assignment

finite = st.floats(-100, 100).map(lambda value: round(value, 2))


@given(st.lists(st.tuples(finite, finite), min_size=3, max_size=8), st.lists(finite, max_size=3))
def test_the_line_is_the_least_squares_one_or_none(pairs, others) -> None:
    x, y = np.array(pairs).T
    quality, known = np.array([*x, *others]), np.array([*y, *[np.nan] * len(others)])
    if np.ptp(x) == 0 or np.ptp(y) == 0 or (x - x.mean()) @ y <= 1e-9:
        return
    line = line_through(quality, known)
    matrix = np.column_stack([np.ones(x.size), x])
    (intercept, slope), *_ = np.linalg.lstsq(matrix, y, rcond=None)
    assert (line.intercept, line.slope) == pytest.approx((intercept, slope), rel=1e-6, abs=1e-6)
    off = y - matrix @ [intercept, slope]
    assert line.error == pytest.approx(np.sqrt(off @ off / (x.size - 2)), rel=1e-6, abs=1e-6)
    assert line.value == pytest.approx(intercept + slope * quality, rel=1e-6, abs=1e-4)


@pytest.mark.parametrize(
    ("quality", "known", "message"),
    [
        ([1, 2, 3], [1, 2, np.nan], "expected 3 or more that have a score, in the largest group, found 2"),
        ([1, 2, np.nan], [1, 2, 3], "expected 3 or more that have a score, in the largest group, found 2"),
        ([1, 2, 3], [3, 2, 1], "expected values that increase with quality"),
        ([1, 2, 3], [0.1, 0.1, 0.1], "expected values that increase with quality"),
        ([0.1, 0.1, 0.1], [1, 2, 3], "expected values that increase with quality"),
    ],
)
def test_no_line_where_nothing_holds_it(quality, known, message) -> None:
    with pytest.raises(InputError, match=message):
        line_through(np.array(quality, float), np.array(known, float))


def test_the_line_keeps_to_the_largest_group_and_to_the_direction_of_scores() -> None:
    rows = [("ann", f"p{i}", float(i)) for i in range(5)] + [("bob", f"q{i}", float(i)) for i in range(3)]
    told = {"p0": 90.0, "p2": 70.0, "p4": 50.0, "q0": 0.0}
    found = lsc.posterior(Reviews.from_pairs(rows, lower_is_better=True)).on_scale_of(
        {label: -value for label, value in told.items()}
    )
    assert found.references == 3
    assert found.slope > 0
    assert np.isnan(found.value).tolist() == [label.startswith("q") for label in [*"ppppp", *"qqq"]]
    with pytest.raises(InputError, match="increase with quality"):
        lsc.posterior(Reviews.from_pairs(rows, lower_is_better=True)).on_scale_of(told)


@pytest.mark.parametrize(
    ("references", "message"),
    [
        ({"zebra": 1.0}, "references: the paper is not in the reviews"),
        ({"p1": np.inf}, "references: expected a finite quality, found inf for item 'p1'"),
    ],
)
def test_malformed_references_are_refused(references, message) -> None:
    reviews = Reviews.from_pairs([("ann", "p1", 1.0)])
    with pytest.raises(InputError, match=message):
        Estimate(reviews, np.array([1.0]), "average").on_scale_of(references)


def table(seed: int, noise: float) -> tuple[Reviews, np.ndarray]:
    """Harsh and lenient reviewers of six papers each, and the true qualities of 60 papers."""
    rng = np.random.default_rng(seed)
    design, truth = random_assignment(60, 50, 6, rng), rng.normal(0, 1, 60)
    score = truth[design.item] + rng.normal(0, 1, 50)[design.reviewer] + noise * rng.normal(size=design.n_reviews)
    return Reviews.from_codes(design.reviewer, design.item, score, reviewers=50, items=60), truth


@pytest.mark.parametrize("hypothesis", ["offset", "linear"])
@pytest.mark.parametrize("seed", range(3))
def test_references_fight_the_scores_where_they_are_false(hypothesis: str, seed: int) -> None:
    reviews, truth = table(seed, 0.5)
    known = np.random.default_rng(seed).choice(60, 12, replace=False)
    right = lsc.calibrate(reviews, hypothesis, references=dict(zip(known.tolist(), truth[known], strict=True)))
    wrong = lsc.calibrate(reviews, hypothesis, references=dict(zip(known.tolist(), -truth[known], strict=True)))
    assert right.misfit is not None
    assert wrong.misfit is not None
    assert not right.misfit.fights
    assert wrong.misfit.fights
    assert wrong.misfit.ratio > 4
    # What is given is not estimated.
    given_items = np.isin(np.arange(60), known)
    assert np.isnan(right.standard_error[given_items]).all()
    assert np.isfinite(right.standard_error[~given_items]).any()


def test_without_noise_any_contradiction_is_proof() -> None:
    reviews, truth = table(0, 0.0)
    known = {i: float(truth[i]) for i in range(4)}
    assert not lsc.calibrate(reviews, "offset", references=known).misfit.fights
    assert lsc.calibrate(reviews, "offset", references={**known, 0: truth[0] + 1}).misfit.fights


def test_few_references_cannot_fight() -> None:
    reviews, truth = table(0, 0.5)
    assert lsc.calibrate(reviews, "linear").misfit is None
    assert lsc.calibrate(reviews, "linear", references={0: truth[0], 1: -9.0}).misfit is None
