"""Tables on a Dask cluster: components are those of a stream, whatever the partitions, and errors are one message."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from reviewgraph import InputError, check, cluster_reviews, stream_reviews
from reviewgraph.graph import DuplicateReview
from tests.trials import sampled

pandas = pytest.importorskip("pandas")
distributed = pytest.importorskip("distributed")
frames = pytest.importorskip("dask.dataframe")
AtOnce: Any = pytest.importorskip("tests.lsc.at_once").AtOnce


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
        whole = check(stream)
        labels = stream.reviewers[:], stream.items[:]
    with cluster_reviews(source, client, tmp_path, partitions=partitions) as table:
        found = check(table)
        assert (table.n_reviews, table.n_scored) == (stream.n_reviews, stream.n_scored)
        assert table.reviews_per_item.tolist() == stream.reviews_per_item.tolist()
        assert ([*map(str, table.reviewers)], [*map(str, table.items)]) == labels
    assert found.labels.tolist() == whole.labels.tolist()
    assert found.item_labels.tolist() == whole.item_labels.tolist()
    assert found.least_degrees_of_freedom == whole.least_degrees_of_freedom
    assert found.known == whole.known
    assert not list(tmp_path.glob("reviewgraph-*"))


@pytest.mark.slow
def test_a_cover_grows_across_parts(client: Any, tmp_path: Path) -> None:
    who = np.repeat(np.arange(30), 4)
    rows = {"reviewer": who, "item": (who + np.tile(np.arange(4), 30)) % 20}
    source = frames.from_pandas(pandas.DataFrame(rows), npartitions=2)
    with cluster_reviews(source, client, tmp_path, partitions=3) as table:
        assert check(table).level == "double"


@pytest.mark.slow
def test_what_is_wrong_is_said(client: Any, tmp_path: Path) -> None:
    def opened(**columns: Any) -> None:
        source = frames.from_pandas(pandas.DataFrame(columns), npartitions=1)
        with cluster_reviews(source, client, tmp_path, partitions=1):
            pass

    twice = "'ann' reviews item 'p2' twice: partition 0: row 1 and partition 0: row 3"
    with pytest.raises(DuplicateReview, match=twice):
        opened(reviewer=["ann", "bob", "ann"], item=["p2", "p2", "p2"], score=[1.0, 2.0, 3.0])
    with pytest.raises(InputError, match="partition 0: row 2: the item is empty"):
        opened(reviewer=["ann", "bob"], item=["p2", None], score=[1.0, 2.0])
    with pytest.raises(InputError, match="partition 0: row 1: the score 'inf' is not a finite number"):
        opened(reviewer=["ann", "bob"], item=["p2", "p1"], score=[np.inf, 2.0])
    with pytest.raises(InputError, match="no item column"):
        opened(reviewer=["ann"], score=[1.0])
    with (
        pytest.raises(InputError, match=r"none\.parquet: no such file"),
        cluster_reviews(str(tmp_path / "none.parquet"), client, tmp_path),
    ):
        pass
    with (
        pytest.raises(InputError, match=r"expected a distributed\.Client, .*, found 'tcp://127\.0\.0\.1:9'"),
        cluster_reviews("scores.parquet", "tcp://127.0.0.1:9", tmp_path),
    ):
        pass
    assert not list(tmp_path.glob("reviewgraph-*"))


def test_no_number_in_a_file_is_refused_and_in_a_frame_planned(tmp_path: Path) -> None:
    """NaN is a score in Parquet, as on disk; pandas has no other null."""
    rows = {"reviewer": [1, 1, 2], "item": [1, 2, 2], "score": [1.0, np.nan, 2.0]}
    source = frames.from_pandas(pandas.DataFrame(rows), npartitions=1)
    with cluster_reviews(source, AtOnce(), tmp_path) as table:
        assert (table.n_reviews, table.n_scored) == (3, 2)
    pyarrow.parquet.write_table(pyarrow.table(rows), tmp_path / "nan.parquet")
    expected = r"nan\.parquet: row 2: the score 'nan' is not a finite number"
    with pytest.raises(InputError, match=expected), cluster_reviews(tmp_path / "nan.parquet", AtOnce(), tmp_path):
        pass


class Interrupted(AtOnce):
    """A client whose user presses Ctrl-C while it waits."""

    def __init__(self) -> None:
        self.cancelled: list[Any] = []

    def gather(self, tasks: Any) -> list[Any]:
        raise KeyboardInterrupt

    def cancel(self, tasks: list[Any], *, force: bool) -> None:
        self.cancelled += tasks


def test_an_interrupt_cancels_the_tasks(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("reviewer,item\n1,2\n3,2\n")
    client = Interrupted()
    with pytest.raises(KeyboardInterrupt), cluster_reviews(tmp_path / "a.csv", client, tmp_path, partitions=2):
        pass
    assert len(client.cancelled) == 2
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.csv"]


def labels_of(source: Any, folder: Path) -> tuple[list[Any], list[Any]]:
    """Return the labels of a table on a cluster whose tasks are done at once."""
    with cluster_reviews(source, AtOnce(), folder, partitions=2) as table:
        return list(table.reviewers), list(table.items)


def test_labels_are_those_of_all_pieces(tmp_path: Path) -> None:
    """An empty piece, numbers that floats do not tell apart, and numbers in one file that are text in another."""
    rows = pandas.DataFrame({"reviewer": [5, 5, 2**60, 2**60 + 1], "item": [1, 2, 1, 2]})
    frame = frames.from_pandas(rows, npartitions=2)
    assert labels_of(frame[frame.reviewer > 5], tmp_path) == ([str(2**60), str(2**60 + 1)], ["1", "2"])
    large = pandas.DataFrame({"reviewer": np.array([2**63 + 2, 2**63 + 3, 5, 6], np.uint64), "item": [1, 2, 1, 2]})
    expected = ["5", "6", str(2**63 + 2), str(2**63 + 3)]
    assert labels_of(frames.from_pandas(large, npartitions=2), tmp_path)[0] == expected
    rows.head(2).to_parquet(tmp_path / "a.parquet", index=False)
    text = pandas.DataFrame({"reviewer": ["5", "ann"], "paper": ["3", "1"], "score": [1.0, 2.0]})
    text.to_parquet(tmp_path / "x[1].parquet", index=False)
    paths = [str(tmp_path / "a.parquet"), str(tmp_path / "x[1].parquet")]
    assert labels_of(paths, tmp_path) == (["5", "ann"], ["1", "2", "3"])
    with pytest.raises(InputError, match=r"missing-\*\.parquet: expected a file or a pattern"):
        labels_of([paths[0], str(tmp_path / "missing-*.parquet")], tmp_path)


def test_a_table_that_is_closed_says_so(tmp_path: Path) -> None:
    rows = pandas.DataFrame({"reviewer": [1, 1], "item": [1, 2]})
    with cluster_reviews(frames.from_pandas(rows, npartitions=1), AtOnce(), tmp_path, partitions=1) as table:
        pass
    rows.to_parquet(tmp_path / "a.parquet", index=False)
    with stream_reviews(tmp_path / "a.parquet") as stream:
        pass
    for closed in (table, stream):
        with pytest.raises(InputError, match="found it closed"):
            check(closed)
