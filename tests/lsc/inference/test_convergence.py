"""Inferences that run out of sweeps: the warning, and its estimate of how far off qualities are."""

import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import lsc
from lsc._inference import sweeps
from lsc._inference.beliefs import InferenceStatus
from lsc._inference.inferring import infer
from lsc._inference.model import OBSERVED, START, Extent, Track
from lsc._inference.states import Rows, initial_state, item_posterior, prepare
from lsc.commands.calibrate import calibrate
from reviewgraph import Reviews, stream_reviews
from tests.lsc.inference.simulated_tables import table
from tests.trials import NIGHTLY, sampled


@pytest.fixture
def few_sweeps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no inference converge."""
    monkeypatch.setattr(sweeps, "TOLERANCE", 0.0)
    monkeypatch.setattr(sweeps, "NEGLIGIBLE", 0.0)
    monkeypatch.setattr(sweeps, "MAX_SWEEPS", OBSERVED + 2)


def reviews() -> Reviews:
    who, what, score, _ = table(1, 60, 40, 6)
    return Reviews.from_codes(who, what, score, reviewers=40, items=60)


def distance_of(means: list[float]) -> float:
    track = Track(len(means))
    for count, mean in enumerate(means, 1):
        track.add(count, np.array([mean]))
    return track.distance(np.array([0.25]))


def test_the_distance_of_means_that_swing_is_their_range_and_of_means_that_drift_what_is_left() -> None:
    assert distance_of([(-1.0) ** k for k in range(40)]) == pytest.approx(4.0)
    for ratio in (0.5, 0.8):
        left = 2 * ratio**39
        assert 0.8 < distance_of([ratio**k for k in range(40)]) / left < ratio**-6
    # A ratio near 1 cannot be told from an end that is out of sight.
    assert distance_of([0.1 * k for k in range(40)]) > 5
    assert distance_of([1.0] * 40) == 0
    assert distance_of([1.0]) == np.inf


@pytest.mark.parametrize("own", sampled([False, True]))
def test_the_estimate_is_not_far_below_what_many_more_sweeps_change(own: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeps, "TOLERANCE", 0.0)
    monkeypatch.setattr(sweeps, "NEGLIGIBLE", 0.0)
    for seed in range(3 if NIGHTLY else 1):
        who, what, score, _ = table(seed, 120, 80, 6, own=0.5 * own)
        problem, extent = prepare(Rows(who, what, score), 80, 120).problem, Extent(own=own)

        def run(most: int) -> sweeps.Fit:
            with monkeypatch.context() as patch:
                patch.setattr(sweeps, "MAX_SWEEPS", most)
                state = initial_state(problem, START, extent)  # noqa: B023
                return sweeps.optimise(problem, state, sweeps.free_of(extent, weighted=False))  # noqa: B023

        converged = run(120)
        for most in (14, 17, 20):
            fit = run(most)
            assert not fit.converged
            sd = item_posterior(problem, fit.state).precision ** -0.5
            true = float((np.abs(fit.mean - converged.mean) / sd).max())
            assert 0.5 * true < fit.off < 100 * true


def test_a_posterior_that_did_not_converge_warns_at_the_caller(few_sweeps: None) -> None:
    with pytest.warns(lsc.ConvergenceWarning, match=r"off by up to \S+ standard errors") as found:
        result = lsc.posterior(reviews())
    assert len(found) == 1
    assert found[0].filename == __file__
    assert result.status.value == "sweeps_exhausted"
    assert f"{result.beliefs.off:.2g}" in str(found[0].message)


def test_a_posterior_that_converged_does_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = lsc.posterior(reviews())
    assert (result.status.value, result.beliefs.off) == ("converged", 0.0)


def test_a_stream_that_did_not_converge_warns(tmp_path, few_sweeps: None) -> None:
    who, what, score, _ = table(1, 60, 40, 6)
    path = tmp_path / "scores.parquet"
    pq.write_table(pa.table({"reviewer": who, "item": what, "score": score}), path)
    with stream_reviews(path) as stream, pytest.warns(lsc.ConvergenceWarning):
        lsc.posterior_stream(stream)


@pytest.mark.filterwarnings("always::lsc.errors.ConvergenceWarning")
@pytest.mark.parametrize("words", sampled([["--json"], ["--stream"], []], 2))
def test_the_command_says_so_once_on_stderr(tmp_path, words: list[str], few_sweeps: None) -> None:
    who, what, score, _ = table(1, 60, 40, 6)
    path = tmp_path / "scores.parquet"
    pq.write_table(pa.table({"reviewer": who, "item": what, "score": score}), path)
    found = CliRunner().invoke(calibrate, [str(path), *words])
    assert found.exit_code == 0, found.output
    assert found.stderr.count("not converged") == 1
    assert "converge" not in found.stdout
    assert ('"sweeps_exhausted"' in found.stdout) == (words == ["--json"])


def test_small_tables_that_swing_come_to_rest_by_going_half_as_far(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = []
    for n, m, modulus in [(3, 6, 3), (3, 7, 5), (5, 7, 5), (3, 5, 3)][: 4 if NIGHTLY else 2]:
        who, what = np.repeat(np.arange(n), m), np.tile(np.arange(m), n)
        tables.append((who, what, (who + 1.0) * what + (what * who) % modulus, n, m))
    assert all(infer(*table).status is InferenceStatus.CONVERGED for table in tables)
    if NIGHTLY:
        # Which of them swing for ever depends on the last bits.
        monkeypatch.setattr(sweeps, "PATIENT", sweeps.MAX_SWEEPS + 1)
        assert sum(infer(*table).status is InferenceStatus.SWEEPS_EXHAUSTED for table in tables) >= 2
