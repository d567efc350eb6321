"""Joint draws as tables, and for xarray and ArviZ, where these are installed, and what is said where they are not."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
import pytest

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


EVERY = ("quality", "severity", "slope", "noise")


def test_draws_are_tables_with_labels(found: PosteriorEstimate) -> None:
    drawn, quality = found.sample(400, EVERY, seed=1), found.sample(400, seed=1)["quality"]
    known = [label for label in found.items if label != "new"]
    assert list(quality.columns) == known
    printed = found.reviews.printed(found.draws(400, 1))
    assert np.array_equal(quality.to_numpy(), printed[:, np.isfinite(printed[0])])
    assert np.array_equal(drawn["quality"].to_numpy(), quality.to_numpy())
    better = (quality["p0"] < quality["p1"]).mean()  # 1 is the best score
    assert better == pytest.approx(found.probability_better("p0", "p1"), abs=0.1)
    for name in EVERY[1:]:
        assert list(drawn[name].columns) == list(found.reviewers.reviews.reviewers)
    assert drawn["severity"].mean().to_numpy() == pytest.approx(found.reviewers.severity.mean, abs=0.2)
    assert drawn.to_frame().shape == (400, 9 + 3 * 8 + 1)
    assert repr(drawn).endswith(
        "400 draws of quality (10 items), severity (8 reviewers), slope (8 reviewers) and noise (8 reviewers)>"
    )
    assert "quality[p0]" in drawn._repr_html_()
    assert len(found.sample(0, EVERY)) == 0
    assert list(found.sample(3, "noise").to_dict()["noise"]) == list(found.reviews.reviewers)


def test_what_cannot_be_drawn_is_named(found: PosteriorEstimate, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="vars: expected names of quality, severity, slope, noise, found 'stretch'"):
        found.sample(10, ("quality", "stretch"))
    with pytest.raises(InputError, match=r"vars: .*found \['noise'\]"):
        found.sample(10, [["noise"]])
    with pytest.raises(InputError, match=r"vars: .*found none"):
        found.sample(10, ())
    with pytest.raises(InputError, match="variable: expected one of quality, found 'noise'"):
        _ = found.sample(10)["noise"]
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(InputError, match=r"to_xarray: expected the package xarray, found none; .*pip install xarray"):
        found.sample(10).to_xarray()


def test_a_dataset_has_labels_on_its_axes(found: PosteriorEstimate) -> None:
    pytest.importorskip("xarray")
    drawn = found.sample(50, EVERY, seed=2)
    data = drawn.to_xarray()
    assert dict(data.sizes) == {"draw": 50, "item": 10, "reviewer": 8}
    for name in EVERY:
        assert np.array_equal(data[name].to_numpy(), drawn[name].to_numpy())
    assert np.array_equal(data["severity"].sel(reviewer="r3").to_numpy(), drawn["severity"]["r3"].to_numpy())


def test_groups_hold_draws_by_label(found: PosteriorEstimate) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("arviz")
    result: Any = found.to_arviz(500, seed=3)
    quality = result["posterior"]["quality"]
    assert quality.dims == ("chain", "draw", "item")
    assert result["posterior"]["severity"].dims == ("chain", "draw", "reviewer")
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
