"""Individual noise of reviewers is modelled wherever it raises the evidence at all."""

import numpy as np
import pytest

from lsc._inference import sweeps
from lsc._inference.inferring import infer
from tests.benchmarks.harness.methods import common_noise
from tests.lsc.inference.simulated_tables import table
from tests.trials import NIGHTLY


def test_individual_noise_is_modelled_wherever_it_raises_the_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    gains = []
    # Everyday, tables near the edge: one without such noise, and two whose gains are slight.
    for seed in range(12) if NIGHTLY else (3, 4, 5):
        who, what, score, _ = table(seed, 40, 30, 8, own=0.3)
        found = infer(who, what, score, 30, 40)
        with monkeypatch.context() as patch:
            patch.setattr(sweeps, "MIN_OWN_GAIN", np.inf)
            common = infer(who, what, score, 30, 40)
        assert not common.extent.own
        if found.extent.own:
            gains.append(found.evidence - common.evidence)
    assert min(gains) > -0.1  # both fits have converged to some hundredths
    assert any(gain < 2 for gain in gains)


def test_the_posterior_of_common_noise_has_none_of_its_own() -> None:
    from reviewgraph import Reviews

    who, what, score, _ = table(1, 60, 40, 12, own=0.6, noise=1.0)
    reviews = Reviews.from_codes(who, what, score, reviewers=40, items=60)
    assert (common_noise(reviews).quality != infer(who, what, score, 40, 60).quality).any()
