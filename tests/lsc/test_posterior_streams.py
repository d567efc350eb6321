"""The posterior by batches: that in memory, whatever the batch and whatever the model has to include."""

from __future__ import annotations

import errno
import gc
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import lsc
from lsc._inference import large, parts, scores
from reviewgraph import InputError, read_reviews, stream_reviews
from reviewgraph.cli import main
from tests.lsc.inference.simulated_tables import table
from tests.lsc.test_streams import conference, read_table, written
from tests.trials import NIGHTLY


def rows(drawn: tuple[Any, ...]) -> dict[str, Any]:
    who, what, score, _ = drawn
    order = np.random.default_rng(0).permutation(who.size)
    return {"reviewer": who[order], "item": what[order], "score": score[order]}


def tracks() -> dict[str, Any]:
    """Two kinds of papers that hardly share reviewers, one kind far better: like papers go to like reviewers."""
    rng = np.random.default_rng(4)
    who, what = np.repeat(np.arange(40), 4), np.concatenate([rng.permutation(20)[:4] for _ in range(40)])
    what = np.where(rng.random(who.size) < 0.03, 20 + what, what) + np.where(who < 20, 0, 20)
    what %= 40
    score = 3.0 * (what < 20) + 0.5 * rng.standard_normal(40)[what] + rng.standard_normal(40)[who]
    pair = np.unique(who * 40 + what, return_index=True)[1]
    return {"reviewer": who[pair], "item": what[pair], "score": (score + 0.5 * rng.standard_normal(who.size))[pair]}


def alike() -> dict[str, Any]:
    """Reviewers who do not differ."""
    rng = np.random.default_rng(0)
    who, what = np.repeat(np.arange(20), 6), np.concatenate([rng.permutation(20)[:6] for _ in range(20)])
    score = rng.standard_normal(20)[what] + 0.7 * rng.standard_normal(what.size)
    return {"reviewer": who, "item": what, "score": score}


def ranked() -> dict[str, Any]:
    """Reviewers who rank their papers."""
    who, what, score, _ = table(2, 30, 60, 8, own=1.2)
    rank = np.concatenate([10.0 * np.argsort(np.argsort(score[who == j])) for j in range(60)])
    return {"reviewer": who, "item": what, "score": rank}


def ignored() -> dict[str, Any]:
    """A reviewer of constant scores, who alone has a paper; another has one score, and one score is planned."""
    drawn = conference(1, n_reviewers=30, load=5)
    return {name: [*values, more] for (name, values), more in zip(drawn.items(), (5, 99, 2.5), strict=True)}


#: Tables, and what the posterior in memory makes of them.
TABLES: dict[str, tuple[dict[str, Any], str]] = {
    "ignored": (ignored(), "converged"),
    "apart": (conference(3, n_reviewers=20, apart=2, load=5), "converged"),
    "own noise": (rows(table(1, 24, 20, 10, own=0.9, noise=0.8)), "converged"),
    "likeness": (tracks(), "converged"),
    "rankings": (ranked(), "converged"),
    "no signal": (alike(), "no_signal"),
    "single scores": ({"reviewer": [1, 2, 3, 4], "item": [1, 1, 2, 3], "score": [1.0, 2, 2, 5]}, "no_signal"),
    "one score": ({"reviewer": [1, 2], "item": [1, 1], "score": [2.0, None]}, "no_signal"),
    "all the same": ({"reviewer": [1, 1, 2], "item": [1, 2, 1], "score": [2.0, 2, 2]}, "no_signal"),
}


def expect_same(found: lsc.StreamedPosterior, whole: lsc.PosteriorEstimate) -> None:
    mine, theirs = found.beliefs, whole.beliefs
    assert (mine.status, mine.sweeps) == (theirs.status, theirs.sweeps)
    for name in ("quality", "average", "standard_error", "group", "rank"):
        assert getattr(found, name) == pytest.approx(getattr(whole, name), rel=1e-9, abs=1e-9, nan_ok=True), name
    assert found.interval() == pytest.approx(whole.interval(), abs=1e-9, nan_ok=True)
    for name in ("evidence", "null_evidence", "slope", "offset", "noise_variance", "by_prior"):
        assert getattr(mine, name) == pytest.approx(getattr(theirs, name), rel=1e-8, abs=1e-9, nan_ok=True), name
    assert mine.hyperparameters == pytest.approx(theirs.hyperparameters, rel=1e-7, abs=1e-9, nan_ok=True)
    assert mine.reviewers.severity.low == pytest.approx(theirs.reviewers.severity.low, abs=1e-8, nan_ok=True)


@pytest.mark.parametrize("name", TABLES)
def test_the_posterior_is_that_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Reviews come in batches, and on disk they are in several parts."""
    drawn, status = TABLES[name]
    path = written(tmp_path, drawn)
    whole = lsc.posterior(read_reviews(path))
    assert whole.status == status
    assert (whole.beliefs.kappa > 0) == (name == "likeness")
    assert bool(whole.by_prior) == (name == "ignored")
    monkeypatch.setattr(parts, "PIECE", 50)
    monkeypatch.setattr(large, "PIECE", 30)
    monkeypatch.setattr(scores, "BLOCK", 30)
    for batch in (1, 7, 10_000) if NIGHTLY else (7,):
        with stream_reviews(path, batch=batch) as stream:
            expect_same(lsc.posterior_stream(stream), whole)
    gc.collect()  # files that were left open would warn


def test_one_review_at_a_time_and_lower_scores_better(tmp_path: Path) -> None:
    path = written(tmp_path, conference(1, n_reviewers=12))
    whole = lsc.posterior(read_reviews(path, lower_is_better=True))
    words = []
    with stream_reviews(path, batch=1, lower_is_better=True) as stream:
        found = lsc.posterior_stream(stream, progress=lambda now: words.append(now.words))
        columns = found.to_columns()
    expect_same(found, whole)
    expected = whole.to_columns()
    assert list(columns) == list(expected)
    for name in ("quality", "standard_error", "interval_low", "interval_high"):
        assert columns[name] == pytest.approx(expected[name])
    assert "severity, slope and noise of reviewers, pass 2" in words


def test_what_is_refused_in_memory_is_refused_in_the_same_words(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    who, what = np.divmod(np.arange(200), 5)
    slip, units = rng.standard_normal(200), rng.standard_normal(200)
    slip[77] = 1e6
    units[who < 20] *= 1e9
    for score, place in ((slip, "77"), (units, "units")):
        path = written(tmp_path, {"reviewer": who, "item": what, "score": score})
        with pytest.raises(InputError, match=place) as whole:
            lsc.posterior(read_reviews(path))
        with stream_reviews(path, batch=7) as stream, pytest.raises(InputError) as found:
            lsc.posterior_stream(stream)
        assert str(found.value) == str(whole.value)
    path = written(tmp_path, {"reviewer": [1, 2], "item": [1, 1]})
    with stream_reviews(path) as stream, pytest.raises(InputError, match="expected scores, found none"):
        lsc.posterior_stream(stream)


def test_a_full_disk_is_one_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = written(tmp_path, conference(1))
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    with stream_reviews(path) as stream:
        monkeypatch.setattr(large.os, "posix_fallocate", full, raising=False)
        with pytest.raises(InputError, match="No space left on device"):
            lsc.posterior_stream(stream)
    assert not list((tmp_path / "temporary").iterdir())


def test_the_command_writes_what_it_writes_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path, runner = Path(written(tmp_path, conference(1))).name, CliRunner()
    words = ["calibrate", path, "--select", "3", "-o"]
    assert runner.invoke(main, [*words, "whole.csv"]).exit_code == 0
    done = runner.invoke(main, [*words, "stream.csv", "--stream"])
    assert done.exit_code == 0, done.output
    for part in ("not computed by batches", "TO DISCUSS FOR 3 PLACES", "of the 3 best will be wrong", "harsh"):
        assert part in " ".join(done.output.split())
    whole, found = (read_table(tmp_path / name) for name in ("whole.csv", "stream.csv"))
    assert whole[0] == found[0]
    for mine, theirs in zip(found[1:], whole[1:], strict=True):
        assert [mine[0], *mine[-1:]] == [theirs[0], *theirs[-1:]]
        assert list(map(float, mine[1:-1])) == pytest.approx(list(map(float, theirs[1:-1])))
    printed = runner.invoke(main, ["calibrate", path, "--select", "3", "--stream", "--lottery", "--json"]).stdout
    assert all(key in printed for key in ('"items": null', '"gain": null', '"discuss": [', '"drawn": ['))
    for option in (["--references", path], ["--weights", path], ["--explain", "1"], ["--html", "a.html"]):
        refused = runner.invoke(main, ["calibrate", path, "--stream", *option])
        assert (refused.exit_code, option[0] in refused.output) == (2, True), refused.output
