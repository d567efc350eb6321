"""Tables on a Dask cluster: components are those of a stream, whatever the partitions, and errors are one message."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reviewgraph import DuplicateReview, InputError, check_cluster, check_stream, cluster_reviews, stream_reviews
from reviewgraph.streams import cluster as cluster_module
from reviewgraph.streams.cluster import Share, assemble, index_of, split
from reviewgraph.streams.connection import local_groups
from tests.trials import sampled

pandas = pytest.importorskip("pandas")
distributed = pytest.importorskip("distributed")
frames = pytest.importorskip("dask.dataframe")


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """A cluster of two threads in this process."""
    options = {"n_workers": 1, "threads_per_worker": 2, "processes": False, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        yield client


def pieces(seed: int, *, text: bool) -> Any:
    """Draw reviews in pieces of several sizes, two of them alike, in random order, some planned."""
    rng = np.random.default_rng(seed)
    rows = []
    for piece, (n_reviewers, n_items) in enumerate([(9, 12), (9, 12), (4, 3), (1, 1), (2, 30)]):
        for j in range(n_reviewers):
            items = rng.choice(n_items, min(n_items, 1 if j == 3 else 3), replace=False)
            rows += [(100 * piece + j, 100 * piece + i, rng.normal()) for i in items.tolist()]
    table = pandas.DataFrame(rows, columns=["reviewer", "item", "score"]).sample(frac=1.0, random_state=seed)
    table.loc[table.index % 7 == 0, "score"] = np.nan
    if text:
        table["item"] = [f"p{item}" for item in table["item"]]
        table["reviewer"] = [f"r{reviewer}@x" for reviewer in table["reviewer"]]
    return table


@pytest.mark.slow
@pytest.mark.parametrize("partitions", sampled([2, 1, 4]))
def test_components_are_those_of_a_stream(client: Any, tmp_path: Path, partitions: int) -> None:
    table = pieces(partitions, text=partitions == 2)
    table.to_parquet(tmp_path / "scores.parquet")
    source = tmp_path / "scores.parquet" if partitions == 2 else frames.from_pandas(table, npartitions=3)
    with stream_reviews(tmp_path / "scores.parquet") as stream:
        whole = check_stream(stream)
        labels = list(stream.reviewers[:]), list(stream.items[:])
        sizes = stream.n_reviews, stream.n_scored
    with cluster_reviews(source, client, tmp_path, partitions=partitions) as on_cluster:
        found = check_cluster(on_cluster)
        by_reviewer, by_item = (frame.compute() for frame in found.frames())
        assert (on_cluster.n_reviews, on_cluster.n_scored) == sizes
    assert ([*map(str, by_reviewer["label"])], [*map(str, by_item["label"])]) == labels
    assert by_reviewer["group"].tolist() == whole.labels.tolist()
    assert by_item["group"].tolist() == whole.item_labels.tolist()
    assert (found.pieces, found.least_degrees_of_freedom) == (whole.pieces, whole.least_degrees_of_freedom)
    assert found.known == whole.known
    assert not list(tmp_path.glob("reviewgraph-*"))


@pytest.mark.slow
def test_a_long_path_takes_few_rounds(client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Consecutive items share a reviewer, in a random order of labels: label propagation would take 80 rounds."""
    order, rounds = np.random.default_rng(0).permutation(80), []
    items = np.column_stack([order[:-1], order[1:]]).ravel()
    rows = {"reviewer": np.repeat(np.random.default_rng(1).permutation(79), 2), "item": items}
    propose = cluster_module.Grid.to_partitions

    def counted(self: Any, values: Any) -> Any:
        rounds.append(1)
        return propose(self, values)

    monkeypatch.setattr(cluster_module.Grid, "to_partitions", counted)
    source = frames.from_pandas(pandas.DataFrame(rows), npartitions=2)
    with cluster_reviews(source, client, tmp_path, partitions=2) as table:
        found = check_cluster(table)
    assert found.pieces == 1
    assert found.known == {"double": False, "recoverable": False, "connected": True}
    assert len(rounds) <= 10


@pytest.mark.slow
def test_what_is_wrong_is_said(client: Any, tmp_path: Path) -> None:
    def opened(**columns: Any) -> None:
        source = frames.from_pandas(pandas.DataFrame(columns), npartitions=1)
        with cluster_reviews(source, client, tmp_path, partitions=1):
            pass

    with pytest.raises(DuplicateReview, match="reviewer ann and item p2: expected one score, found two"):
        opened(reviewer=["ann", "bob", "ann"], item=["p2", "p2", "p2"], score=[1.0, 2.0, 3.0])
    with pytest.raises(InputError, match="partition 0: row 2: the item is empty"):
        opened(reviewer=["ann", "bob"], item=["p2", None], score=[1.0, 2.0])
    with pytest.raises(InputError, match="partition 0: row 1: the score is not finite"):
        opened(reviewer=["ann", "bob"], item=["p2", "p1"], score=[np.inf, 2.0])
    with pytest.raises(InputError, match="no item column"):
        opened(reviewer=["ann"], score=[1.0])
    with (
        pytest.raises(InputError, match="expected a Dask data frame or Parquet files"),
        cluster_reviews(str(tmp_path / "none.parquet"), client, tmp_path),
    ):
        pass
    with (
        pytest.raises(InputError, match=r"expected a distributed\.Client, .*, found 'tcp://127\.0\.0\.1:9'"),
        cluster_reviews("scores.parquet", "tcp://127.0.0.1:9", tmp_path),
    ):
        pass
    assert not list(tmp_path.glob("reviewgraph-*"))


def test_a_planned_review_is_fulfilled_and_components_ignore_it() -> None:
    rows = np.array([1, 0, 1]), np.array([5, 7, 5]), np.array([np.nan, 2.0, 3.0])
    share = assemble([rows], 3, np.array([0, 6, 9]))
    assert isinstance(share, Share)
    assert (share.start.tolist(), share.score.tolist()) == ([0, 1, 2, 2], [2.0, 3.0])
    assert [part.tolist() for part in index_of(share, np.array([0, 6]))] == [[5], [1]]
    assert [part.tolist() for part in split(share.items, share.cut)] == [[5], [7]]
    groups = local_groups(share._replace(score=np.array([np.nan, 3.0])), True)
    assert groups.reviewer.tolist() == [-1, groups.item[0], -1]
