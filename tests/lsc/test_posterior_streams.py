"""The posterior by batches: that in memory, whatever the batch and whatever the model has to include."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from click.testing import CliRunner

import lsc
from lsc._inference import inferring, states, streaming
from reviewgraph import InputError, read_reviews, stream_reviews
from reviewgraph.cli import main
from tests.lsc.inference.simulated_tables import ordering, table
from tests.lsc.test_streams import conference, read_table, written
from tests.trials import NIGHTLY, sampled


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


#: Tables, and what the posterior in memory makes of them.
TABLES = {
    "planned, constant, single": (conference(1), "converged", (False, False)),
    "apart": (conference(3, n_reviewers=10, apart=2, load=5), "converged", (False, False)),
    "own noise": (rows(table(1, 24, 20, 10, own=0.9, noise=0.8)), "converged", (True, False)),
    "orders": (rows(ordering(2, 60, 60, 6)), "converged", (False, True)),
    "likeness": (tracks(), "converged", (True, False)),
    "no signal": (alike(), "no_signal", (False, False)),
    "single scores": ({"reviewer": [1, 2, 3, 4], "item": [1, 1, 2, 3], "score": [1.0, 2, 2, 5]}, "no_signal", None),
    "one score": ({"reviewer": [1, 2], "item": [1, 1], "score": [2.0, None]}, "no_signal", None),
    "all the same": ({"reviewer": [1, 1, 2], "item": [1, 2, 1], "score": [2.0, 2, 2]}, "no_signal", None),
}


#: Tables that are read one review at a time, and all at once.
BY_ONE = ("single scores", "one score", *(("orders", "all the same") if NIGHTLY else ()))


def expect_same(found: lsc.StreamedPosterior, whole: lsc.PosteriorEstimate) -> None:
    mine, theirs = found.beliefs, whole.beliefs
    assert (mine.status, mine.sweeps, mine.extent[:3]) == (theirs.status, theirs.sweeps, theirs.extent[:3])
    for name in ("quality", "average", "standard_error", "group", "rank"):
        assert getattr(found, name) == pytest.approx(getattr(whole, name), abs=1e-9, nan_ok=True), name
    assert found.interval() == pytest.approx(whole.interval(), abs=1e-9, nan_ok=True)
    for name in ("evidence", "null_evidence", "theta", "slope", "offset", "noise_variance", "loops", "bend"):
        assert getattr(mine, name) == pytest.approx(getattr(theirs, name), rel=1e-8, abs=1e-9, nan_ok=True), name
    assert mine.hyperparameters.keys() == theirs.hyperparameters.keys()
    for name, value in mine.hyperparameters.items():
        assert value == pytest.approx(theirs.hyperparameters[name], rel=1e-7, abs=1e-9, nan_ok=True), name
    assert mine.reviewers.severity.low == pytest.approx(theirs.reviewers.severity.low, abs=1e-8, nan_ok=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", sampled(TABLES, TABLES.keys() - {"apart", "all the same"}))
def test_the_posterior_is_that_in_memory(tmp_path: Path, name: str) -> None:
    drawn, status, extent = TABLES[name]
    path = written(tmp_path, drawn)
    whole = lsc.posterior(read_reviews(path), average_models=False)
    assert whole.status == status
    assert extent in (None, (whole.beliefs.extent.own, whole.beliefs.extent.orders))
    assert (whole.beliefs.kappa > 0) == (name == "likeness")
    for batch in (1, 10_000) if name in BY_ONE else (7,) if NIGHTLY or name == "no signal" else (60,):
        with stream_reviews(path, batch=batch) as stream:
            expect_same(lsc.posterior_stream(stream), whole)
    gc.collect()  # files that were left open would warn


def test_one_review_at_a_time_and_lower_scores_better(tmp_path: Path) -> None:
    path = written(tmp_path, conference(1, n_reviewers=12))
    whole = lsc.posterior(read_reviews(path, lower_is_better=True), average_models=False)
    with stream_reviews(path, batch=1, lower_is_better=True) as stream:
        found = lsc.posterior_stream(stream)
        columns = found.to_columns()
    expect_same(found, whole)
    expected = whole.to_columns()
    assert list(columns) == list(expected)
    for name in ("quality", "standard_error", "interval_low", "interval_high"):
        assert columns[name] == pytest.approx(expected[name])


def test_a_large_table_is_begun_with_the_same_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(states, "LARGE", 300)
    monkeypatch.setattr(states, "SUBSET", 150)
    monkeypatch.setattr(states, "HEAVY_LOAD", 3)
    monkeypatch.setattr("lsc._inference.sweeps.MAX_EXACT", 10)
    monkeypatch.setattr("lsc._inference.streaming.MAX_REVIEWS", 0)
    monkeypatch.setattr("lsc._inference.beliefs.MAX_REVIEWS", 0)
    monkeypatch.setattr(streaming, "PIECE", 200)
    path, words = written(tmp_path, rows(table(3, 100, 80, 6))), []
    whole = lsc.posterior(read_reviews(path), average_models=False)
    with stream_reviews(path) as stream:
        expect_same(lsc.posterior_stream(stream, progress=lambda now: words.append(now.words)), whole)
    assert "480 reviews first" in " ".join(words)
    assert words[-1].startswith("all reviews, pass ")


def refusal(check: Callable[[], None]) -> str:
    try:
        check()
    except InputError as error:
        return str(error)
    return ""


def test_what_is_known_of_sorted_scores_is_what_is_known_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    far = np.append(rng.standard_normal(500), 1e3)
    some = np.array([-2.0, -0.0, 0.0, 3.5, 3.5])
    for score in (rng.standard_normal(501), far, some, rng.integers(-3, 3, 400) * 0.1, np.full(9, 2.0), np.empty(0)):
        pieces = np.array_split(score, 4) if score.size else []
        for piece in (1 << 19, 3):
            monkeypatch.setattr(streaming, "PIECE", piece)
            with streaming.sorted_scores(lambda pieces=pieces: pieces, 1) as ordered:
                assert ordered.read(0, score.size).tolist() == np.sort(score).tolist()
                assert streaming.equal_scores_of(ordered) == pytest.approx(states.equal_scores(score), rel=1e-12)
                by_passes = partial(streaming.check_no_outlier_by_passes, lambda pieces=pieces: pieces, ordered)
                assert refusal(by_passes) == refusal(partial(states.check_no_outlier, score))


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


def test_the_command_writes_what_it_writes_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one model: tables larger than memory are large."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(inferring, "LARGEST_MIXTURE", 0)
    path, runner = Path(written(tmp_path, conference(1))).name, CliRunner()
    words = ["calibrate", path, "--select", "3", "-o"]
    assert runner.invoke(main, [*words, "whole.csv"]).exit_code == 0
    done = runner.invoke(main, [*words, "stream.csv", "--stream"])
    assert done.exit_code == 0, done.output
    for part in ("not computed by batches", "Selecting 3 papers", "To discuss", "interquartile range"):
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


def test_groups_apart_are_not_selected_among(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path, runner = Path(written(tmp_path, conference(1, n_reviewers=6, apart=2))).name, CliRunner()
    words = ["calibrate", path, "--stream", "--select", "3"]
    done = runner.invoke(main, [*words, "-o", "all.csv"])
    assert (done.exit_code, "no review connects the 2 groups" in " ".join(done.output.split())) == (1, True)
    assert read_table(tmp_path / "all.csv")[0][-1] == "interval_high"
    assert runner.invoke(main, [*words, "--by-group-average"]).exit_code == 0


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space")
def test_sweeps_within_a_limit_on_memory_that_the_messages_alone_would_break(tmp_path: Path) -> None:
    """Beyond what is loaded there is room for DuckDB, a batch and a few vectors, but not for all messages."""
    who, slot = np.divmod(np.arange(3_000_000), 10)
    what = (7_919 * who + slot * (1 + who % 97)) % 1_000
    drawn = {"reviewer": who, "item": what, "score": ((who + 3 * what) % 7).astype(float)}
    path, small = str(tmp_path / "large.parquet"), written(tmp_path, conference(1))
    pa.parquet.write_table(pa.table(drawn), path, row_group_size=10_000)
    code = (
        "import resource, sys\n"
        "from lsc import posterior_stream\n"
        "from lsc._inference import model, states, streaming, sweeps\n"
        "from reviewgraph import stream_reviews\n"
        "def few(problem, rng, tell, part):\n"
        "    return sweeps.run_sweeps(problem, states.initial_state(problem,"
        " model.START, model.Extent()), 1, gauge=True)\n"
        "streaming.run_stages = few\n"
        "from reviewgraph.graph.kernels.compiling import POLICY\n"
        "with stream_reviews(sys.argv[2], batch=10_000) as s, POLICY.at_once():\n    posterior_stream(s)\n"
        "now = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "limit = now + (170 << 20)\nif len(sys.argv) > 3: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))\n"
        "with stream_reviews(sys.argv[1], batch=10_000) as s:\n"
        "    print(posterior_stream(s).beliefs.sweeps, s.n_reviews)\n"
    )
    env = {**os.environ, "OMP_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "1"}
    # The first run compiles, for which the limit leaves no room.
    subprocess.run([sys.executable, "-c", code, small, small], capture_output=True, check=True, env=env)
    done = subprocess.run([sys.executable, "-c", code, path, small, "limited"], capture_output=True, text=True, env=env)
    assert done.stdout.split() == ["2", "3000000"], done.stderr
