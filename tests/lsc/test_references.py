"""Papers of known quality: whether they fight the scores where LSC holds them."""

from __future__ import annotations

import numpy as np
import pytest

import lsc
from reviewgraph import InputError, Reviews, random_assignment


@pytest.mark.parametrize(
    ("references", "message"),
    [
        ({"zebra": 1.0}, "references: the paper is not in the reviews"),
        ({"p1": np.inf}, "references: expected a finite quality, found inf for item 'p1'"),
    ],
)
def test_malformed_references_are_refused(references, message) -> None:
    with pytest.raises(InputError, match=message):
        lsc.calibrate(Reviews.from_pairs([("ann", "p1", 1.0)]), references=references)


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
