"""Joint draws for ArviZ, where it is installed, and what is said where it is not."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
import pytest

from lsc._inference.averaging import new_scores
from lsc.posteriors import PosteriorEstimate, posterior
from reviewgraph import InputError, Reviews


@pytest.fixture(scope="module")
def found() -> PosteriorEstimate:
    rng = np.random.default_rng(0)
    rows = [
        (f"r{j}", f"p{i}", float(np.round(5 + 0.4 * i + harsh + rng.normal(0, 0.5), 1)))
        for j, harsh in enumerate(rng.normal(0, 1.5, 8))
        for i in rng.choice(10, 6, replace=False).tolist()
    ]
    return posterior(Reviews.from_pairs([*rows, ("r0", "new", None)], lower_is_better=True))


def test_new_scores_have_the_moments_of_predictions(found: PosteriorEstimate) -> None:
    reviews = found.reviews.only_scored()
    new = new_scores(found.beliefs, reviews.score, None, found.draws(6000), np.random.default_rng(1))
    labels = zip(reviews.reviewer.tolist(), reviews.item.tolist(), strict=True)
    who, what = zip(*((reviews.reviewers[j], reviews.items[i]) for j, i in labels), strict=True)
    predicted = found.predict(list(who), list(what))
    assert -new.mean(axis=0) == pytest.approx(predicted.mean, abs=5 * predicted.sd.max() / np.sqrt(6000))
    assert new.std(axis=0) == pytest.approx(predicted.sd, rel=0.08)


def test_without_the_package_the_message_names_the_extra(
    found: PosteriorEstimate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(InputError, match=r"to_arviz: expected the package arviz, found none; .*'reviewgraph\[arviz\]'"):
        found.to_arviz()


def test_groups_hold_draws_by_label(found: PosteriorEstimate) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("arviz")
    result: Any = found.to_arviz(500, seed=3)
    quality = result["posterior"]["quality"]
    assert quality.dims == ("chain", "draw", "item")
    assert quality.shape == (1, 500, 10)
    best = found.ranking()[0]
    mean = found.reviews.printed(found.quality)[found.reviews.item_code[best]]
    assert float(quality.sel(item=best).mean()) == pytest.approx(mean, abs=0.2)
    observed = result["observed_data"]["score"]
    assert observed.values.tolist() == found.reviews.printed(found.reviews.only_scored().score).tolist()
    assert observed["reviewer"].values.tolist() == [
        found.reviews.reviewers[j] for j in found.reviews.only_scored().reviewer.tolist()
    ]
    assert result["posterior_predictive"]["score"].shape == (1, 500, 48)
    for argument in (0, -1):
        with pytest.raises(InputError, match="draws: expected a number of draws, 1 or more"):
            found.to_arviz(argument)
