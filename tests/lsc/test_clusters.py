"""Posterior and linear calibration on a Dask cluster: the results in memory, whatever the partitions and who dies."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lsc
from lsc._inference import clustered, sharded_scores, states, sweeps
from lsc._inference.clustered import prepare_on_cluster
from lsc._inference.inferring import infer
from lsc._inference.model import START, Extent
from lsc._inference.states import (
    Rows,
    counts,
    equal_scores,
    extremes,
    initial_state,
    prepare,
    subset_of,
    uninformative,
)
from lsc._inference.sweeps import (
    spectrum,
    standardised,
    sweep,
    with_hyperparameters,
    with_ordinal_reviewers,
    with_own_noise,
)
from lsc._solver import newton
from reviewgraph import InputError, Reviews, cluster_reviews
from reviewgraph.streams import Grid
from tests.trials import NIGHTLY

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


def coded(table: Any) -> Rows:
    """Return the scored rows as in memory, by reviewer and item."""
    reviews = Reviews.from_frame(table)
    scored = reviews.scored
    return Rows(reviews.reviewer[scored], reviews.item[scored], reviews.score[scored])


def on(client: Any, folder: Path, table: Any, partitions: int) -> Any:
    return cluster_reviews(frames.from_pandas(table, npartitions=3), client, folder, partitions=partitions)


def in_memory(table: Any) -> Any:
    reviews = Reviews.from_frame(table)
    return infer(*coded(table)[:3], reviews.n_reviewers, reviews.n_items, likelihood="normal")


def same_posterior(found: Any, whole: Any, tolerance: float) -> None:
    """Compare items, reviewers and hyperparameters."""
    values = found.collect()
    assert values["quality"] == pytest.approx(whole.quality, abs=tolerance, nan_ok=True)
    assert values["standard_error"] == pytest.approx(whole.standard_error, abs=tolerance, nan_ok=True)
    assert (found.status, found.inferred.sweeps, found.inferred.extent.own) == (
        *(whole.status, whole.sweeps, whole.extent.own),
    )
    assert found.inferred.evidence == pytest.approx(whole.evidence, abs=100 * tolerance)
    for name, value in whole.hyperparameters.items():
        assert found.hyperparameters[name].value == pytest.approx(value.value, abs=tolerance, nan_ok=True)
    reviewers = found.reviewers().compute()
    for name in ("severity", "stretch", "noise"):
        for end, values in zip(("", "_low", "_high"), getattr(whole.reviewers, name), strict=True):
            assert reviewers[name + end].to_numpy() == pytest.approx(values, abs=tolerance, nan_ok=True)
    assert reviewers["orders"].to_numpy() == pytest.approx(whole.reviewers.orders, abs=tolerance, nan_ok=True)


@pytest.mark.slow
def test_the_posterior_is_that_in_memory(client: Any, tmp_path: Path) -> None:
    table = scores(1)
    with on(client, tmp_path, table, 4) as on_cluster:
        same_posterior(lsc.posterior_cluster(on_cluster), in_memory(table), 1e-9)


def test_items_of_a_constant_reviewer_alone_have_the_prior(client: Any, tmp_path: Path) -> None:
    table = pandas.concat([scores(1, 20, 20), pandas.DataFrame({"reviewer": [5], "item": [99], "score": [2.5]})])
    whole = in_memory(table)
    assert whole.by_prior.tolist() == [whole.mean.size - 1]
    with on(client, tmp_path, table, 2) as on_cluster:
        found = lsc.posterior_cluster(on_cluster)
        same_posterior(found, whole, 1e-9)
        assert found.collect()["average"][-1] == 2.5


@pytest.mark.parametrize("alike", [True, False])
def test_rankings_are_known_over_all_partitions(client: Any, tmp_path: Path, alike: bool) -> None:
    """Half of the reviewers rank from 2 where they are not alike: each half in a partition of its own."""
    rng = np.random.default_rng(0)
    rank = np.concatenate([rng.permutation(4) + 1.0 + (j >= 10 and not alike) for j in range(20)])
    item = np.concatenate([rng.choice(12, 4, replace=False) for _ in range(20)])
    table = pandas.DataFrame({"reviewer": np.repeat(np.arange(20), 4), "item": item, "score": rank})
    with on(client, tmp_path, table, 2) as on_cluster:
        parted: Any = prepare_on_cluster(on_cluster.grid, lambda words: None).problem
        assert states.are_rankings(parted) == alike


@pytest.mark.slow
def test_without_reviewer_effects_too(client: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = scores(2, n_reviewers=20, n_items=20, load=3)
    table["score"] = rng.normal(size=len(table))
    whole = in_memory(table)
    assert not whole.signal
    with on(client, tmp_path, table, 1) as on_cluster:
        same_posterior(lsc.posterior_cluster(on_cluster), whole, 1e-9)


KINDS = {
    "plain": Extent(),
    "assortment": Extent(kappa=0.5, strength=0.1, half_log_determinant=-3.0, mean_square=1.2),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("more", [with_own_noise, with_ordinal_reviewers])
def test_steps_are_those_in_memory(client: Any, tmp_path: Path, kind: str, more: Any) -> None:
    """Each step of the optimisation, with every extension of the model, from the same state."""
    table = scores(3, n_reviewers=12, n_items=15)
    rows, reviews = coded(table), Reviews.from_frame(table)
    used = ~(rows.reviewer == 5)
    whole: Any = prepare(rows.only(used), reviews.n_reviewers, reviews.n_items).problem
    with on(client, tmp_path, table, 3) as on_cluster:
        parted: Any = prepare_on_cluster(on_cluster.grid, lambda words: None).problem
        results = []
        for problem in (whole, parted):
            state, found = initial_state(problem, START, KINDS[kind]), []
            for number, change in enumerate((None, partial(standardised, problem), more, None)):
                state = state if change is None else change(state)
                result = sweep(problem, state, n_converged=22 * number)
                found.append([result.evidence, *result.gradient.total, *result.gradient.square.ravel()])
                mean = (
                    result.mean[:-1] if problem is whole else np.concatenate(on_cluster.grid.fetch(result.mean.parts))
                )
                found.append(mean.tolist())
                state = with_hyperparameters(result.state, result.state.theta + 0.1)
            results.append(found)
    for one, other in zip(*results, strict=True):
        assert other == pytest.approx(one, rel=1e-9, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("exact", [400, 10])
def test_the_spectrum_is_that_in_memory(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exact: int
) -> None:
    for module in (clustered, sweeps):
        monkeypatch.setattr(module, "MAX_EXACT", exact)
    table = scores(4, n_reviewers=30, n_items=50)
    rows, reviews = coded(table), Reviews.from_frame(table)
    whole: Any = prepare(rows.only(rows.reviewer != 5), reviews.n_reviewers, reviews.n_items).problem
    with on(client, tmp_path, table, 2) as on_cluster:
        parted: Any = prepare_on_cluster(on_cluster.grid, lambda words: None).problem
        one, other = (spectrum(problem, np.random.default_rng(0), 4) for problem in (whole, parted))
    assert other.diagonal == pytest.approx(one.diagonal)
    assert other.log_determinant(0.7) == pytest.approx(one.log_determinant(0.7), rel=1e-8)
    assert other.mean_square(0.7) == pytest.approx(one.mean_square(0.7), rel=1e-8)


@pytest.mark.slow
def test_the_subset_is_that_in_memory(client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (sharded_scores, states):
        monkeypatch.setattr(module, "LARGE", 200)
        monkeypatch.setattr(module, "SUBSET", 150)
        monkeypatch.setattr(module, "HEAVY_LOAD", 3)
    table = scores(5, n_reviewers=120, n_items=90)
    rows, reviews = coded(table), Reviews.from_frame(table)
    rows = rows.only(rows.reviewer != 5)
    whole = subset_of([rows], reviews.n_reviewers, reviews.n_items, np.random.default_rng(0))
    with on(client, tmp_path, table, 3) as on_cluster:
        given = prepare_on_cluster(on_cluster.grid, lambda words: None)
        rng = np.random.default_rng(0)
        found = sharded_scores.subset_on_cluster(on_cluster.grid, given.shares, given.problem.counts, given.loads, rng)
    assert whole is not None
    assert found is not None
    assert counts(found) == counts(whole)
    for one, other in zip(whole[:3], found[:3], strict=True):
        assert other.tolist() == one.tolist()


@pytest.mark.slow
def test_scores_are_checked_as_in_memory(client: Any, tmp_path: Path) -> None:
    table = scores(6, n_reviewers=20)
    table["score"] = table["score"].round()
    with on(client, tmp_path, table, 3) as on_cluster:
        given = prepare_on_cluster(on_cluster.grid, lambda words: None)
        rows, reviews = coded(table), Reviews.from_frame(table)
        kept = np.concatenate([share.score for share in on_cluster.grid.fetch(given.shares)])
        shares = on_cluster.grid.each(sharded_scores.scored_of, on_cluster.grid.shares)
        equal = sharded_scores.equal_scores(on_cluster.grid, shares, on_cluster.n_scored)
        widths = on_cluster.grid.each(sharded_scores._scores, shares)
        quantile = sharded_scores._quantile(on_cluster.grid, widths, rows.score.size, 0.3)
    load = np.bincount(rows.reviewer, minlength=reviews.n_reviewers)
    low, high = extremes(rows.reviewer, rows.score, reviews.n_reviewers)
    assert equal == pytest.approx(equal_scores(rows.score), rel=1e-12)
    ignored = uninformative(load, low == high, equal)
    assert kept.tolist() == rows.score[~ignored[rows.reviewer]].tolist()
    assert quantile == pytest.approx(np.quantile(rows.score, 0.3))
    for wrong, message in (({"score": 1e6}, "a likely|farther from the median"), ({"score": np.nan}, "found none")):
        bad = table.copy()
        bad.loc[bad.index[: 1 if wrong["score"] == 1e6 else None], "score"] = wrong["score"]
        with on(client, tmp_path, bad, 2) as on_cluster, pytest.raises(InputError, match=message):
            lsc.posterior_cluster(on_cluster)


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
        values, columns = found.collect(), found.items().compute()
    assert found.status is whole.status
    assert found.objective == pytest.approx(whole.objective, rel=1e-8)
    assert values["quality"] == pytest.approx(whole.quality, abs=1e-7, nan_ok=True)
    assert values["average"] == pytest.approx(whole.average, abs=1e-12, nan_ok=True)
    assert columns["group"].tolist() == whole.group.tolist()
    with on(client, tmp_path, more, 1) as on_cluster, pytest.raises(InputError, match="expected linear or offset"):
        lsc.calibrate_cluster(on_cluster, "convex")


@pytest.mark.slow
def test_a_scheduler_brings_the_same_calibration(threads: Any, tmp_path: Path) -> None:
    table = scores(7, n_reviewers=10, n_items=2, load=2)
    whole = lsc.calibrate(Reviews.from_frame(table), "offset")
    with on(threads, tmp_path, table, 2) as on_cluster:
        found = lsc.calibrate_cluster(on_cluster, "offset")
        quality, columns = found.collect()["quality"], found.items().compute()
    assert found.objective == pytest.approx(whole.objective, rel=1e-8)
    assert quality == pytest.approx(whole.quality, abs=1e-7, nan_ok=True)
    assert columns["quality"].tolist() == pytest.approx(quality.tolist(), nan_ok=True)


#: Sweeps in the middle of which a worker dies.
KILLED = (5, 14, 25) if NIGHTLY else (14,)


@pytest.mark.nightly
def test_a_worker_that_dies_costs_only_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, killed, passes = scores(1, n_reviewers=20, n_items=25), [], []
    whole = in_memory(table)
    to_shards = Grid.to_shards

    def kill_sometimes(self: Any, pieces: Any) -> Any:
        """Kill the worker that holds most, in the middle of some sweeps: nannies start others."""
        passes.append(1)
        if len(passes) in KILLED:
            held = self.client.has_what()
            address = max(held, key=lambda worker: (len(held[worker]), worker))
            killed.append(self.client.run(os.getpid, workers=[address])[address])
            os.kill(killed[-1], signal.SIGKILL)
        return to_shards(self, pieces)

    monkeypatch.setattr(Grid, "to_shards", kill_sometimes)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, **LOCAL) as cluster,
        distributed.Client(cluster) as client,
        on(client, tmp_path, table, 2) as on_cluster,
    ):
        same_posterior(lsc.posterior_cluster(on_cluster), whole, 1e-9)
    assert len(set(killed)) == len(KILLED)
