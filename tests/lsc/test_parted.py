"""Tables in parts: on disk and on a cluster results are those in memory, however many the parts."""

import errno
import gc
import os
import signal
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from click.testing import CliRunner

import lsc
from reviewgraph import InputError, cluster_reviews, read_reviews, stream_reviews
from reviewgraph.cli import main
from reviewgraph.graph import PartedReviews
from reviewgraph.parts import cluster as clusters
from tests.lsc.inference.simulated_tables import table
from tests.trials import NIGHTLY

pandas = pytest.importorskip("pandas")
distributed = pytest.importorskip("distributed")
frames = pytest.importorskip("dask.dataframe")
AtOnce: Any = pytest.importorskip("tests.lsc.at_once").AtOnce

LOCAL = {"dashboard_address": ":0", "silence_logs": 60}


# Tables, and where they are.


def conference(
    seed: int, n_reviewers: int = 14, load: int = 4, noise: float = 0.5, apart: int = 1, step: int = 50
) -> dict[str, Any]:
    """Draw linear reviewers in groups whose items begin ``step`` apart; some scores are constant or planned."""
    rng = np.random.default_rng(seed)
    rows = []
    for group in range(apart):
        truth = rng.normal(size=12)
        for j in range(n_reviewers):
            mine = rng.permutation(12)[: 1 if j == 3 else load]
            slope, offset = rng.uniform(0.2, 2.0), rng.normal()
            score = slope * (truth[mine] + noise * rng.standard_normal(mine.size)) + offset
            score = np.full(mine.size, 2.5) if j == 5 else score
            planned = [None if j == 7 and place == 0 else y for place, y in enumerate(score.tolist())]
            rows += [(100 * group + j, step * group + i, y) for i, y in zip(mine.tolist(), planned, strict=True)]
    order = rng.permutation(len(rows))
    return {name: [rows[r][place] for r in order] for place, name in enumerate(("reviewer", "item", "score"))}


def shuffled(drawn: tuple[Any, ...]) -> dict[str, Any]:
    """Return rows in another order."""
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


def with_singles(seed: int) -> dict[str, Any]:
    """Items with one review; for odd seeds every reviewer with such items has others."""
    rows, rng = conference(seed, n_reviewers=30, load=6), np.random.default_rng(seed)
    for j in range(seed % 2, 30, 3):
        rows["reviewer"] += [j, j]
        rows["item"] += [500 + j, 700 + j]
        rows["score"] += rng.normal(size=2).tolist()
    return rows


#: Tables, and what the posterior in memory makes of them.
TABLES: dict[str, tuple[dict[str, Any], str]] = {
    "ignored": (ignored(), "converged"),
    "apart": (conference(3, n_reviewers=20, apart=2, load=5), "converged"),
    "own noise": (shuffled(table(1, 24, 20, 10, own=0.9, noise=0.8)), "converged"),
    "likeness": (tracks(), "converged"),
    "rankings": (ranked(), "converged"),
    "no signal": (alike(), "no_signal"),
    "single scores": ({"reviewer": [1, 2, 3, 4], "item": [1, 1, 2, 3], "score": [1.0, 2, 2, 5]}, "no_signal"),
    "one score": ({"reviewer": [1, 2], "item": [1, 1], "score": [2.0, None]}, "no_signal"),
    "all the same": ({"reviewer": [1, 1, 2], "item": [1, 2, 1], "score": [2.0, 2, 2]}, "no_signal"),
}


def written(folder: Path, rows: dict[str, Any]) -> str:
    """Write a Parquet file of several row groups."""
    path = str(folder / "scores.parquet")
    pa.parquet.write_table(pa.table(rows), path, row_group_size=11)
    return path


def on_disk(folder: Path, rows: dict[str, Any], parts: int, **options: Any) -> AbstractContextManager[PartedReviews]:
    """Open a table on disk, in about so many parts."""
    return stream_reviews(written(folder, rows), batch=7, piece=-(-len(rows["item"]) // parts), **options)


def on_cluster(folder: Path, rows: dict[str, Any], parts: int, **options: Any) -> AbstractContextManager[PartedReviews]:
    """Open a table on a cluster whose tasks are done at once."""
    return on(AtOnce(), folder, rows, parts, **options)


def on(client: Any, folder: Path, rows: dict[str, Any], parts: int, **options: Any) -> Any:
    """Open a table on a cluster."""
    source = frames.from_pandas(pa.table(rows).to_pandas(), npartitions=3)
    return cluster_reviews(source, client, folder, partitions=parts, **options)


#: In how many parts tables are.
PARTS = (1, 2, 7) if NIGHTLY else (1, 7)
PLACES = pytest.mark.parametrize("place", [on_disk, on_cluster])


# The posterior.


def expect_same(found: lsc.PosteriorEstimate, whole: lsc.PosteriorEstimate) -> None:
    """Compare items, reviewers and hyperparameters."""
    mine, theirs = found.beliefs, whole.beliefs
    assert (mine.status, mine.sweeps) == (theirs.status, theirs.sweeps)
    for name in ("quality", "average", "standard_error", "group", "rank"):
        assert getattr(found, name) == pytest.approx(getattr(whole, name), rel=1e-9, abs=1e-9, nan_ok=True), name
    assert found.interval() == pytest.approx(whole.interval(), abs=1e-9, nan_ok=True)
    for name in ("evidence", "null_evidence", "slope", "offset", "noise_variance", "by_prior"):
        assert getattr(mine, name) == pytest.approx(getattr(theirs, name), rel=1e-8, abs=1e-9, nan_ok=True), name
    assert mine.hyperparameters == pytest.approx(theirs.hyperparameters, rel=1e-7, abs=1e-9, nan_ok=True)
    for part in ("severity", "stretch", "noise"):
        for ours, other in zip(getattr(mine.reviewers, part), getattr(theirs.reviewers, part), strict=True):
            assert ours == pytest.approx(other, rel=1e-8, abs=1e-8, nan_ok=True)
    assert [*map(str, found.items)] == [*map(str, whole.items)]


@PLACES
@pytest.mark.parametrize("name", TABLES)
def test_the_posterior_is_that_in_memory(tmp_path: Path, name: str, place: Callable[..., Any]) -> None:
    rows, status = TABLES[name]
    whole = lsc.posterior(read_reviews(written(tmp_path, rows)))
    assert whole.status == status
    assert (whole.beliefs.kappa > 0) == (name == "likeness")
    assert bool(whole.by_prior) == (name == "ignored")
    for parts in PARTS:
        with place(tmp_path, rows, parts) as reviews:
            expect_same(lsc.posterior(reviews), whole)
    gc.collect()  # files that were left open would warn


@PLACES
def test_lower_scores_are_better_and_every_pass_is_told(tmp_path: Path, place: Callable[..., Any]) -> None:
    rows = conference(1, n_reviewers=12)
    whole = lsc.posterior(read_reviews(written(tmp_path, rows), lower_is_better=True))
    words: list[str] = []
    with place(tmp_path, rows, 3, lower_is_better=True) as reviews:
        found = lsc.posterior(reviews, progress=lambda now: words.append(now.words))
        columns = found.to_columns()
    expect_same(found, whole)
    expected = whole.to_columns()
    assert list(columns) == list(expected)
    for name in ("quality", "standard_error", "interval_low", "interval_high"):
        assert columns[name] == pytest.approx(expected[name])
    assert "severity, slope and noise of reviewers, pass 2" in words


@PLACES
def test_what_is_refused_in_memory_is_refused_in_the_same_words(tmp_path: Path, place: Callable[..., Any]) -> None:
    rng = np.random.default_rng(0)
    who, what = np.divmod(np.arange(200), 5)
    slip, units = rng.standard_normal(200), rng.standard_normal(200)
    slip[77] = 1e6
    units[who < 20] *= 1e9
    for score, named in ((slip, r"1e\+06, "), (units, "units"), ([None] * 200, "expected scores, found none")):
        rows = {"reviewer": who, "item": what, "score": pa.array(score, pa.float64())}
        with pytest.raises(InputError, match=named) as whole:
            lsc.posterior(read_reviews(written(tmp_path, rows)))
        with place(tmp_path, rows, 3) as reviews, pytest.raises(InputError) as found:
            lsc.posterior(reviews)
        assert str(found.value) == str(whole.value)


def test_what_takes_all_reviews_at_once_is_one_message(tmp_path: Path) -> None:
    with on_disk(tmp_path, conference(1), 2) as reviews:
        found, fitted = lsc.posterior(reviews), lsc.calibrate(reviews)
        for ask in (
            lambda: found.gain,
            lambda: found.draws(3),
            lambda: found.predict(1, 2),
            lambda: found.account("1"),
            lambda: fitted.noise,
            lambda: fitted.unique,
            lambda: fitted.support,
            lambda: reviews.score,
        ):
            with pytest.raises(InputError, match="in parts"):
                ask()
        with pytest.raises(InputError, match="expected seed and progress alone"):
            lsc.posterior(reviews, references={"1": 2.0})
        with pytest.raises(InputError, match="expected linear or offset"):
            lsc.calibrate(reviews, "convex")


def test_a_result_is_saved_as_parquet(tmp_path: Path) -> None:
    with on_disk(tmp_path, conference(3, apart=2), 2) as reviews:
        found = lsc.posterior(reviews)
        found.save(tmp_path / "q.parquet", found.selection(3, across_groups=True))
        columns = pa.parquet.read_table(tmp_path / "q.parquet").to_pydict()
        assert columns["quality"] == found.to_columns()["quality"]
        assert sum(columns["probability"]) == pytest.approx(3)


def test_a_file_is_whole_where_the_first_papers_have_no_score(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {
        "reviewer": [1, 1, 2, 2, 3],
        "item": [1, 2, 3, 4, 3],
        "score": pa.array([None, None, 1, 2, 3], pa.float64()),
    }
    monkeypatch.setattr("lsc.parted.ROWS", 2)
    with on_disk(tmp_path, rows, 1) as reviews:
        found = lsc.posterior(reviews)
        found.save(tmp_path / "q.parquet")
        assert len(list(found.blocks(2))) == 2
    assert pa.parquet.read_table(tmp_path / "q.parquet")["quality"].null_count == 2
    assert not list(tmp_path.glob("*.part"))


def test_a_full_disk_is_one_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    monkeypatch.setattr("reviewgraph.parts.parts.SMALL", 1)
    with on_disk(tmp_path, conference(1), 2) as reviews:
        monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
        with pytest.raises(InputError, match="No space left on device"):
            lsc.posterior(reviews)
    assert not list((tmp_path / "temporary").iterdir())


# Least Square Calibration.


@PLACES
@pytest.mark.parametrize(("seed", "noise", "hypothesis"), [(1, 0.5, "linear"), (2, 0.0, "offset"), (2, 0.0, "linear")])
def test_the_linear_calibration_is_that_in_memory(
    tmp_path: Path, hypothesis: str, noise: float, seed: int, place: Callable[..., Any]
) -> None:
    rows = conference(seed, noise=noise, apart=1 + seed % 2, load=5)
    whole = lsc.calibrate(read_reviews(written(tmp_path, rows), lower_is_better=seed == 2), hypothesis)
    for parts in PARTS:
        with place(tmp_path, rows, parts, lower_is_better=seed == 2) as reviews:
            found = lsc.calibrate(reviews, hypothesis)
            columns = found.to_columns()
            small = list(found.blocks(5))
        assert found.quality == pytest.approx(whole.quality, abs=1e-8, nan_ok=True)
        assert found.average == pytest.approx(whole.average, abs=1e-12, nan_ok=True)
        assert found.group.tolist() == whole.group.tolist()
        assert found.objective == pytest.approx(whole.objective, abs=1e-9)
        assert found.status is whole.status
        assert [entry for block in small for entry in block["rank"]] == columns["rank"]


@PLACES
@pytest.mark.parametrize(("seed", "hypothesis"), [(1, "linear"), (2, "offset")])
def test_items_with_one_review_are_where_all_reviews_put_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hypothesis: str, seed: int, place: Callable[..., Any]
) -> None:
    rows = with_singles(seed)
    path = written(tmp_path, rows)
    monkeypatch.setattr("lsc.calibration.CHOSEN", 0)  # the solver alone, without a choice among several best fits
    whole = lsc.calibrate(read_reviews(path), hypothesis)
    with place(tmp_path, rows, 3) as reviews:
        found = lsc.calibrate(reviews, hypothesis)
    assert whole.is_optimal()
    assert found.objective == pytest.approx(whole.objective, rel=1e-8)
    assert found.quality == pytest.approx(whole.quality, abs=1e-7, nan_ok=True)


# The command.


def read_table(path: Path) -> list[list[str]]:
    """Return the cells of a CSV file."""
    return [line.split(",") for line in path.read_text("utf-8").splitlines()]


def test_the_command_writes_what_it_writes_in_memory(folder: Path) -> None:
    path, runner = Path(written(folder, conference(1))).name, CliRunner()
    words = ["calibrate", path, "--select", "3", "-o"]
    assert runner.invoke(main, [*words, "whole.csv"]).exit_code == 0
    done = runner.invoke(main, [*words, "stream.csv", "--stream"])
    assert done.exit_code == 0, done.output
    for part in ("not computed by batches", "TO DISCUSS FOR 3 PLACES", "of the 3 most likely will be wrong", "harsh"):
        assert part in " ".join(done.output.split())
    whole, found = (read_table(folder / name) for name in ("whole.csv", "stream.csv"))
    assert whole[0] == found[0]
    for mine, theirs in zip(found[1:], whole[1:], strict=True):
        assert [mine[0], *mine[-1:]] == [theirs[0], *theirs[-1:]]
        assert list(map(float, mine[1:-1])) == pytest.approx(list(map(float, theirs[1:-1])))
    printed = runner.invoke(main, ["calibrate", path, "--select", "3", "--stream", "--lottery", "--json"]).stdout
    assert all(key in printed for key in ('"items": null', '"gain": null', '"discuss": [', '"drawn": ['))
    for option in (["--references", path], ["--weights", path], ["--explain", "1"], ["--html", "a.html"]):
        refused = runner.invoke(main, ["calibrate", path, "--stream", *option])
        assert (refused.exit_code, option[0] in refused.output) == (2, True), refused.output


def test_the_command_writes_what_least_squares_write(folder: Path) -> None:
    path = Path(written(folder, conference(1, apart=2))).name
    runner, words = CliRunner(), ["calibrate", path, "--method", "lsc", "-o"]
    assert runner.invoke(main, [*words, "whole.csv"]).exit_code == 0
    done = runner.invoke(main, [*words, "stream.csv", "--stream"])
    assert done.exit_code == 0, done.output
    assert "2 groups that no review connects" in " ".join(done.output.split())
    whole, found = (read_table(folder / name) for name in ("whole.csv", "stream.csv"))
    assert [row[0] for row in whole] == [row[0] for row in found]
    assert [row[3] for row in whole] == [row[3] for row in found]
    assert '"items": null' in runner.invoke(main, [*words[:-1], "--stream", "--json"]).output
    for more, expected in (
        ([*words[:-1], "--stream", "--select", "2"], "--select"),
        (["calibrate", path, "--stream", "--method", "average"], "posterior or lsc"),
        ([*words[:-1], "--stream", "--html", "a.html"], "--html"),
        (["check", path, "--stream", "--fragile"], "--fragile"),
    ):
        refused = runner.invoke(main, more)
        assert (refused.exit_code, expected in refused.output) == (2, True), refused.output


# A cluster that fails.


def in_pass(number: int, act: Callable[[Any], object]) -> Callable[..., Any]:
    """Return the passes over parts that act on the client before one of them."""
    original, calls = clusters.ClusterParts.each, []

    def changed(self: Any, *values: Any) -> Any:
        calls.append(1)
        if len(calls) == number:
            act(self.cluster.client)
        return original(self, *values)

    return changed


def kill(client: Any) -> None:
    """Kill the worker that holds most: a nanny starts another."""
    held = client.has_what()
    address = max(held, key=lambda worker: (len(held[worker]), worker))
    os.kill(client.run(os.getpid, workers=[address])[address], signal.SIGKILL)


@pytest.mark.nightly
def test_a_worker_that_dies_costs_only_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = conference(1, n_reviewers=20)
    whole = lsc.posterior(read_reviews(written(tmp_path, rows)))
    killed: list[None] = []
    monkeypatch.setattr(clusters.ClusterParts, "each", in_pass(16, lambda client: killed.append(kill(client))))
    (tmp_path / "seen").mkdir()
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, **LOCAL) as cluster,
        distributed.Client(cluster) as client,
        on(client, tmp_path / "seen", rows, 2) as reviews,
    ):
        expect_same(lsc.posterior(reviews), whole)
    assert killed
    assert not list((tmp_path / "seen").iterdir())


@pytest.mark.slow
def test_a_scheduler_that_is_gone_is_one_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, **LOCAL) as cluster,
        distributed.Client(cluster) as client,
        on(client, tmp_path, conference(1, n_reviewers=20), 2) as reviews,
    ):
        monkeypatch.setattr(clusters.ClusterParts, "each", in_pass(12, lambda client: cluster.close()))
        with pytest.raises(InputError, match="expected a Dask scheduler that answers"):
            lsc.posterior(reviews)
    assert not list(tmp_path.iterdir())


def test_the_commands_say_of_a_cluster_what_they_say_of_a_disk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, runner = Path(written(folder, conference(1, apart=2))).name, CliRunner()
    monkeypatch.setattr(clusters, "cluster_at", lambda address: nullcontext(AtOnce()))
    for words in (["check"], ["calibrate", "--select", "3", "--by-group-average"], ["calibrate", "--method", "lsc"]):
        on_one = runner.invoke(main, [*words, path, "--stream"])
        on_many = runner.invoke(main, [*words, path, "--cluster", "tcp://head:8786"])
        assert on_one.exit_code == on_many.exit_code == 0, on_many.output
        assert on_one.stdout == on_many.stdout
    for options in (["--weights", path], ["--select", "3", "--references", path]):
        refused = runner.invoke(main, ["calibrate", path, "--cluster", "tcp://head:8786", *options])
        assert refused.exit_code == 2
        assert refused.stderr.startswith(f"Error: --cluster tcp://head:8786: expected no {options[-2]} with it")
    assert [entry.name for entry in folder.iterdir()] == [path]
