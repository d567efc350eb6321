"""Calibration by batches: the qualities, groups and ranks of the calibration in memory, whatever the batch."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from click.testing import CliRunner

import lsc
from lsc._solver import newton
from reviewgraph import read_reviews, stream_reviews
from reviewgraph.cli import main
from tests.trials import sampled


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


def written(folder: Path, rows: dict[str, Any]) -> str:
    path = str(folder / "scores.parquet")
    pa.parquet.write_table(pa.table(rows), path, row_group_size=11)
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "noise", "hypothesis"),
    sampled(product([1, 2], [0.5, 0.0], ["linear", "offset"]), [(1, 0.5, "linear"), (2, 0.0, "offset")], several=True),
)
def test_qualities_are_those_in_memory(tmp_path: Path, hypothesis: str, noise: float, seed: int) -> None:
    path = written(tmp_path, conference(seed, noise=noise, apart=1 + seed % 2, load=5))
    whole = lsc.calibrate(read_reviews(path, lower_is_better=seed == 2), hypothesis)
    for batch in (7, 10_000) if hypothesis == "linear" and noise else (1, 7, 10_000):
        with stream_reviews(path, batch=batch, lower_is_better=seed == 2) as stream:
            found = lsc.calibrate_stream(stream, hypothesis)
            columns = found.to_columns()
            small = list(found.parts(5))
        assert found.quality == pytest.approx(whole.quality, abs=1e-8, nan_ok=True)
        assert found.average == pytest.approx(whole.average, abs=1e-12, nan_ok=True)
        assert found.group.tolist() == whole.group.tolist()
        assert found.objective == pytest.approx(whole.objective, abs=1e-9)
        assert found.status is whole.status
        assert {name: list(values) for name, values in whole.to_columns().items() if name in ("item", "group")} == {
            name: columns[name] for name in ("item", "group")
        }
        assert [entry for part in small for entry in part["rank"]] == columns["rank"]


@pytest.mark.parametrize(
    ("seed", "hypothesis"), sampled(product([1, 2], ["linear", "offset"]), [(1, "linear"), (2, "offset")], several=True)
)
def test_items_with_one_review_are_where_all_reviews_put_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hypothesis: str, seed: int
) -> None:
    rows, rng = conference(seed, n_reviewers=30, load=6), np.random.default_rng(seed)
    for j in range(seed % 2, 30, 3):  # for odd seeds every reviewer with single items has others
        rows["reviewer"] += [j, j]
        rows["item"] += [500 + j, 700 + j]
        rows["score"] += rng.normal(size=2).tolist()
    path = written(tmp_path, rows)
    monkeypatch.setattr("lsc.calibration.CHOSEN", 0)  # the solver alone, without a choice among several best fits
    whole = lsc.calibrate(read_reviews(path), hypothesis)
    monkeypatch.setattr(newton, "MANY_ITEMS", 1)
    monkeypatch.setattr("lsc._solver.newton.MANY_ITEMS", 1)
    far = lsc.calibrate(read_reviews(path), hypothesis)
    with stream_reviews(path, batch=7) as stream:
        found = lsc.calibrate_stream(stream, hypothesis)
    assert far.is_optimal()
    assert far.objective == pytest.approx(whole.objective, rel=1e-8)
    assert found.objective == pytest.approx(whole.objective, rel=1e-8)
    assert found.quality == pytest.approx(far.quality, abs=1e-7, nan_ok=True)
    if seed % 2:  # else the scores leave open where some single items are
        assert far.quality == pytest.approx(whole.quality, abs=1e-7, nan_ok=True)
        assert far.noise == pytest.approx(whole.noise, abs=1e-7, nan_ok=True)
        assert far.rank.tolist() == whole.rank.tolist()


def test_the_command_writes_what_it_writes_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path(written(tmp_path, conference(1, apart=2))).name
    runner, words = CliRunner(), ["calibrate", path, "--method", "lsc", "-o"]
    assert runner.invoke(main, [*words, "whole.csv"]).exit_code == 0
    done = runner.invoke(main, [*words, "stream.csv", "--stream"])
    assert done.exit_code == 0, done.output
    assert "2 groups that no review connects" in " ".join(done.output.split())
    whole, found = (read_table(tmp_path / name) for name in ("whole.csv", "stream.csv"))
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


def read_table(path: Path) -> list[list[str]]:
    return [line.split(",") for line in path.read_text("utf-8").splitlines()]
