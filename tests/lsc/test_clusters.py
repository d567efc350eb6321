"""Posterior and linear calibration on a Dask cluster: the results in memory, whatever the partitions and who dies."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lsc
from lsc._inference import large
from lsc._solver import newton
from reviewgraph import InputError, Reviews, cluster_reviews
from tests.lsc.test_posterior_streams import TABLES

pandas = pytest.importorskip("pandas")
distributed = pytest.importorskip("distributed")
frames = pytest.importorskip("dask.dataframe")
AtOnce: Any = pytest.importorskip("tests.lsc.at_once").AtOnce

LOCAL = {"dashboard_address": ":0", "silence_logs": 60}


@pytest.fixture
def client() -> Any:
    """A client whose tasks are done at once: they are the same on a cluster, which :func:`threads` is."""
    return AtOnce()


@pytest.fixture
def threads() -> Iterator[Any]:
    """A cluster of two threads in this process."""
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=2, processes=False, **LOCAL) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def scores(seed: int, n_reviewers: int = 40, n_items: int = 45, load: int = 5, spread: float = 0.3) -> Any:
    """Draw linear reviewers, in random order; one gives a single score, one constant scores, one score is planned."""
    rng = np.random.default_rng(seed)
    truth, rows = rng.normal(size=n_items), []
    for j in range(n_reviewers):
        mine = rng.permutation(n_items)[: 1 if j == 3 else load]
        score = np.exp(spread * rng.normal()) * truth[mine] + 0.6 * rng.normal() + 0.5 * rng.normal(size=mine.size)
        score = np.full(mine.size, 2.5) if j == 5 else score
        rows += [(j, i, np.nan if j == 7 and not n else y) for n, (i, y) in enumerate(zip(mine, score, strict=True))]
    table = pandas.DataFrame(rows, columns=["reviewer", "item", "score"])
    return table.sample(frac=1.0, random_state=seed)


def on(client: Any, folder: Path, table: Any, partitions: int) -> Any:
    return cluster_reviews(frames.from_pandas(table, npartitions=3), client, folder, partitions=partitions)


def same_posterior(found: lsc.ClusterPosterior, whole: lsc.PosteriorEstimate) -> None:
    """Compare items, reviewers and hyperparameters."""
    beliefs = whole.beliefs
    reviewers, items = found.reviewers().compute(), found.items().compute()
    for name in ("quality", "standard_error", "average"):
        assert items[name].to_numpy() == pytest.approx(getattr(whole, name), rel=1e-9, abs=1e-9, nan_ok=True), name
    assert items["group"].tolist() == whole.group.tolist()
    told = found.to_dict()
    assert (found.status, told["sweeps"]) == (whole.status, beliefs.sweeps)
    assert found.hyperparameters == pytest.approx(beliefs.hyperparameters, rel=1e-7, abs=1e-9)
    assert told["evidence"] == pytest.approx(beliefs.evidence, rel=1e-9)
    for name in ("severity", "stretch", "noise"):
        for end, column in zip(("", "_low", "_high"), getattr(beliefs.reviewers, name), strict=True):
            assert reviewers[name + end].to_numpy() == pytest.approx(column, rel=1e-8, abs=1e-9, nan_ok=True)
    assert [*map(str, reviewers["label"])] == [*map(str, whole.reviews.reviewers)]
    assert [*map(str, items["label"])] == [*map(str, whole.reviews.items)]
    assert items["interval_low"].to_numpy() == pytest.approx(whole.interval()[:, 0], abs=1e-8, nan_ok=True)


@pytest.mark.parametrize("partitions", [1, 2, 7])
@pytest.mark.parametrize("name", TABLES)
def test_the_posterior_is_that_in_memory(client: Any, tmp_path: Path, name: str, partitions: int) -> None:
    table = pandas.DataFrame(TABLES[name][0])
    whole = lsc.posterior(Reviews.from_frame(table))
    with on(client, tmp_path, table, partitions) as on_cluster:
        same_posterior(lsc.posterior_cluster(on_cluster), whole)
    assert not list(tmp_path.iterdir())


def test_scores_are_checked_as_in_memory(client: Any, tmp_path: Path) -> None:
    table = scores(6)
    slip, units, none = table.copy(), table.copy(), table.copy()
    slip.loc[11, "score"] = 1e6
    units.loc[units["reviewer"] < 20, "score"] *= 1e9
    none["score"] = np.nan
    for bad, words in ((slip, "1e.06 at review"), (units, "units"), (none, "found none")):
        with pytest.raises(InputError, match=words) as whole:
            lsc.posterior(Reviews.from_frame(bad.sort_values(["reviewer", "item"])))
        with on(client, tmp_path, bad, 3) as on_cluster, pytest.raises(InputError) as found:
            lsc.posterior_cluster(on_cluster)
        assert str(found.value) == str(whole.value)


def in_sweep(number: int, act: Callable[[Any], object]) -> Callable[..., Any]:
    """Return the map of parts that acts on the client before one of its calls."""
    original, calls = large.ClusterParts.map, []

    def changed(self: Any, *values: Any) -> Any:
        calls.append(1)
        if len(calls) == number:
            act(self.grid.client)
        return original(self, *values)

    return changed


def kill(client: Any) -> None:
    """Kill the worker that holds most: a nanny starts another."""
    held = client.has_what()
    address = max(held, key=lambda worker: (len(held[worker]), worker))
    os.kill(client.run(os.getpid, workers=[address])[address], signal.SIGKILL)


@pytest.mark.slow
def test_a_worker_that_dies_costs_only_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = scores(1, n_reviewers=20, n_items=25)
    whole = lsc.posterior(Reviews.from_frame(table))
    killed: list[None] = []
    monkeypatch.setattr(large.ClusterParts, "map", in_sweep(9, lambda client: killed.append(kill(client))))
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, **LOCAL) as cluster,
        distributed.Client(cluster) as client,
        on(client, tmp_path, table, 2) as on_cluster,
    ):
        same_posterior(lsc.posterior_cluster(on_cluster), whole)
    assert killed


@pytest.mark.slow
def test_a_scheduler_that_is_gone_is_one_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = scores(1, n_reviewers=20, n_items=25)
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, **LOCAL) as cluster,
        distributed.Client(cluster) as client,
        on(client, tmp_path, table, 2) as on_cluster,
    ):
        monkeypatch.setattr(large.ClusterParts, "map", in_sweep(7, lambda client: cluster.close()))
        with pytest.raises(InputError, match="expected a Dask scheduler that answers"):
            lsc.posterior_cluster(on_cluster)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize(("partitions", "hypothesis"), [(1, "offset"), (4, "linear")])
def test_the_linear_calibration_is_that_in_memory(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, partitions: int, hypothesis: str
) -> None:
    table = scores(7, n_reviewers=12, n_items=10)
    more = scores(8, n_reviewers=6, n_items=6, load=3)
    more["reviewer"], more["item"] = more["reviewer"] + 100, more["item"] + 100
    table = pandas.concat([table, more], ignore_index=True)
    if partitions == 4:  # items with one review are taken out and extrapolated
        monkeypatch.setattr(newton, "MANY_ITEMS", 1)
        table.loc[len(table)] = [0, 500, 1.0]
    whole = lsc.calibrate(Reviews.from_frame(table), hypothesis)
    with on(client, tmp_path, table, partitions) as on_cluster:
        found = lsc.calibrate_cluster(on_cluster, hypothesis)
        columns = found.items().compute()
    assert found.status is whole.status
    assert found.objective == pytest.approx(whole.objective, rel=1e-8)
    assert columns["quality"].to_numpy() == pytest.approx(whole.quality, abs=1e-7, nan_ok=True)
    assert columns["average"].to_numpy() == pytest.approx(whole.average, abs=1e-12, nan_ok=True)
    assert columns["group"].tolist() == whole.group.tolist()
    with on(client, tmp_path, more, 1) as on_cluster, pytest.raises(InputError, match="expected linear or offset"):
        lsc.calibrate_cluster(on_cluster, "convex")
