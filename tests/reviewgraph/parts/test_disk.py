"""Tables read by batches: the same rows, labels, refusals and pieces as in memory, whatever the batch."""

import gzip
import hashlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from itertools import cycle, product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from reviewgraph import InputError, check, read_reviews, stream_reviews
from reviewgraph.graph import connected_components
from reviewgraph.graph.levels import LEVELS
from reviewgraph.parts import Part, PartedReviews, mapped
from tests.trials import sampled


def written(folder: Path, *, name: str = "scores.parquet", **columns: Any) -> str:
    path = folder / name
    pa.parquet.write_table(pa.table(columns), path, row_group_size=5)
    return str(path)


def drawn(seed: int, n: int = 60, kind: str = "numbers") -> dict[str, Any]:
    """Draw rows in any order: gaps in the ids, planned reviews, pairs planned in one row and scored in another."""
    rng = np.random.default_rng(seed)
    who, what = rng.integers(0, 20, n), rng.integers(0, 25, n)
    score: list[float | None] = rng.integers(1, 6, n).astype(float).tolist()
    first: set[tuple[int, int]] = set()
    for row, pair in enumerate(zip(who.tolist(), what.tolist(), strict=True)):
        if pair in first or rng.random() < 0.1:
            score[row] = None
        first.add(pair)
    if kind == "far":
        who, what = who * 10**15, what * 10**14 - 10**15
    labels: dict[str, Any] = {"reviewer": who, "item": what}
    if kind == "text":
        labels = {"reviewer": [f"r{j}" for j in who], "item": [f"{'xy'[i % 2]}{i:03}" for i in what]}
    if kind == "dictionary":
        labels["reviewer"] = pa.array([f"r{j}" for j in who]).dictionary_encode()
    return {**labels, "score": pa.array(score, pa.float64())}


def whole(stream: PartedReviews) -> Part:
    """Return all parts of a table on disk as one."""
    parts = stream.parts.states
    start = np.concatenate([[0], np.cumsum(stream.loads)])
    return Part(0, start, np.concatenate([part.item for part in parts]), np.concatenate([part.score for part in parts]))


@pytest.mark.parametrize(
    ("kind", "batch"),
    sampled(
        product(["numbers", "far", "text", "dictionary"], [1, 7, 60]),
        [("numbers", 7), ("far", 60), ("text", 1), ("dictionary", 7)],
        several=True,
    ),
)
def test_rows_and_labels_are_those_read_at_once(tmp_path: Path, kind: str, batch: int) -> None:
    path, told, heard = written(tmp_path, **drawn(3, kind=kind)), [], []
    reviews = read_reviews(path, lower_is_better=True, note=told.append)
    with stream_reviews(path, lower_is_better=True, batch=batch, note=heard.append) as stream:
        assert heard == told
        assert stream.reviewers[:] == list(reviews.reviewers)
        assert stream.items[:] == list(reviews.items)
        assert [stream.items[i] for i in range(stream.n_items)] == list(reviews.items)
        part = whole(stream)
        assert part.item.tolist() == reviews.item.tolist()
        assert part.score == pytest.approx(reviews.score, abs=0, nan_ok=True)
        assert stream.loads.tolist() == reviews.loads.tolist()
        assert stream.reviews_per_item.tolist() == reviews.reviews_per_item.tolist()
        assert stream.n_scored == reviews.scored.sum()


@pytest.mark.parametrize("seed", sampled(range(12), [4]))
def test_pieces_and_levels_agree_with_the_check_in_memory(tmp_path: Path, seed: int) -> None:
    path = written(tmp_path, **drawn(seed, 10 + 10 * seed))
    reviews = read_reviews(path)
    pieces, report = connected_components(reviews), check(reviews, fragile=False)
    place = np.empty(len(pieces), int)
    place[pieces.largest_first] = np.arange(1, len(pieces) + 1)
    for piece in (1, 40, 1000):
        with stream_reviews(path, piece=piece) as stream:
            found = check(stream)
        assert found.labels.tolist() == place[pieces.labels].tolist()
        assert found.item_labels.tolist() == place[pieces.item_labels].tolist()
        assert found.least_degrees_of_freedom <= report.degrees_of_freedom
        assert found.least_cover <= report.structure.doubly_connected.largest_cover
        for level in LEVELS:
            assert found.known[level.name] in (None, level.holds(report.structure))
        assert found.known["connected"] is report.structure.is_connected


def test_a_growing_cover_proves_the_strongest_level(tmp_path: Path) -> None:
    who = np.repeat(np.arange(30), 4)
    path = written(tmp_path, reviewer=who, item=(who + np.tile(np.arange(4), 30)) % 20)
    assert check(read_reviews(path)).structure.doubly_connected.covers_all
    with stream_reviews(path, batch=9, piece=1) as stream:
        found = check(stream)
    assert found.level == "double"
    assert not found.undecided
    assert found.to_dict()["degrees_of_freedom"] == 0


@pytest.mark.parametrize("policy", ["last", "mean"])
def test_repeated_pairs_count_as_in_memory(tmp_path: Path, policy: Any) -> None:
    rng = np.random.default_rng(1)
    rows = {"reviewer": rng.integers(0, 4, 40), "item": rng.integers(0, 5, 40), "score": rng.normal(size=40)}
    path = written(tmp_path, **rows)
    reviews = read_reviews(path, duplicates=policy)
    for batch in (1, 7, 40):
        with stream_reviews(path, duplicates=policy, batch=batch) as stream:
            assert whole(stream).score.tolist() == reviews.score.tolist()


BAD: dict[str, dict[str, Any]] = {
    "twice": {"reviewer": [1, 1, 2, 1], "item": [3, 3, 3, 3], "score": [None, 5.0, 1.0, 6.0]},
    "nobody": {"reviewer": ["a", None, " ", "b"], "item": [1, 1, 1, None], "score": [1.0, 2.0, 3.0, 4.0]},
    "infinite": {"reviewer": [1, 2, 3], "item": [1, 1, 1], "score": [1.0, np.inf, 2.0]},
    "minus": {"reviewer": [1, 2, 3], "item": [1, 1, 1], "score": [1.0, 2.0, -np.inf]},
    "no number": {"reviewer": [1, 2, 3], "item": [1, 1, 1], "score": [1.0, np.nan, 2.0]},
    "columns": {"reviewer": [1], "score": [1.0]},
    "empty": {"reviewer": pa.array([], pa.int64()), "item": pa.array([], pa.int64())},
}


def without_hint(message: str) -> str:
    """Return a message without the line on what --stream has no option for."""
    return "\n".join(line for line in message.splitlines() if "--accept" not in line)


def test_labels_that_are_no_utf8_are_refused(tmp_path: Path) -> None:
    label = pa.array([b"a", b"\xb4"], pa.binary()).view(pa.string())
    path = written(tmp_path, reviewer=label, item=["p", "q"])
    for batch in (1, 100):
        with pytest.raises(InputError, match="the Parquet file cannot be read"), stream_reviews(path, batch=batch):
            pass


def test_what_is_not_read_by_batches_is_said(tmp_path: Path) -> None:
    grades = written(tmp_path, name="g.parquet", reviewer=[1], item=[1], score=["A"])
    floats = written(tmp_path, name="f.parquet", reviewer=[1.5], item=[1])
    for path, expected in ((grades, "numbers as scores"), (floats, "whole numbers")):
        with pytest.raises(InputError, match=f"expected .*{expected}.* --stream"), stream_reviews(path):
            pass
    latin = tmp_path / "latin.csv"
    latin.write_bytes("reviewer,item\nJos\xe9,1\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"latin\.csv: expected text in UTF-8"), stream_reviews(latin):
        pass


HEADER = "reviewer,item,score\n"


AUDITED = {
    "placeholder": HEADER + "TBD,2,3\nann,4,2\n",
    "several": HEADER + "ann; bob,2,\ncyd,4,\n",
    "alike": HEADER + "ann,02,3\nbob,2,2\n",
    "summary": HEADER + "ann,p,3\nbob,Average mark,2\nbob,q,2\n",
    "status": "reviewer,item,score,status\nann,p,4,declined\nann,q,5,submitted\nbob,q,3,submitted\n",
    "header": "reviewer,item\nann,p\nreviewer,item\nann,q\n",
}


@pytest.mark.parametrize("case", AUDITED)
def test_what_the_audit_corrects_in_memory_is_refused(tmp_path: Path, case: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(AUDITED[case], "utf-8")
    with pytest.raises(InputError, match=r"not corrected. correct the file|One paper or two"), stream_reviews(path):
        pass


def test_versions_are_refused_and_files_of_systems(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("reviewer,item,score,version\nann,7,9,2\nann,7,3,1\nbob,7,2,1\nann,8,4,1\n", "utf-8")
    with pytest.raises(InputError, match="which another column tells apart"), stream_reviews(path, duplicates="last"):
        pass
    path.write_text("paper,action,email\n1,review,a@x.org\n2,clearreview,a@x.org\n3,conflict,b@x.org\n", "utf-8")
    with pytest.raises(InputError, match="expected a plain table, found a file of hotcrp"), stream_reviews(path):
        pass


def test_what_is_not_decided_is_not_called_apart(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    reads = {"ann": "346", "bob": "34", "cyd": "0245", "dan": "06", "eve": "036"}
    path.write_text("reviewer,item\n" + "".join(f"{who},p{item}\n" for who, items in reads.items() for item in items))
    with stream_reviews(path) as stream:
        assert str(check(stream)).startswith("NOT DECIDED: whether all 6 papers are comparable for certain")
    assert check(read_reviews(path)).level == "double"


def test_a_score_apart_from_others_is_noted_as_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(
        HEADER + "".join(f"r{row % 5},p{row},{99 if row == 7 else row % 4}\n" for row in range(20)), "utf-8"
    )
    notes: list[str] = []
    with stream_reviews(path, note=notes.append):
        assert any("99 in 1 of 20 reviews lies apart" in note for note in notes)


TEXTS = {
    "numbers": HEADER + "1,2,3\n1,3,4.5\n2,2,\n10,2,1e0\n",
    "zeros before": HEADER + "007,2,3\n17,3,4.5\n-1,2,\n-10,2,1\n-2,2,3\n",
    "negative": HEADER + "-1,2,\n-10,2,1\n-2,2,3\n5,2,1\n",
    "long numbers": HEADER + "12345678901234567890,2,1\n1,3,4\n",
    "scores with words": HEADER + "ann,p1,8: accept\nbob,p1,3 good\nbob,p10,NA\nann,p9,none\n",
    "blanks in scores": HEADER + "1,2,3\n4,2,+4\n5,2,4.\n6,2, .5 \n",
    "decimal comma": "reviewer;item;score\na;b;4,5\na;c;5\n",
    "guarded": "reviewer\titem\tscore\r\n'=a\tb\t4\r\n'a\tb\t5\r\n'-3\tb\t5",
    "mark": '\ufeffpaper,email,rating,comment\n3,a@x,7,"a, b ""c"""\n4,a@x,1,\n',
    "blank lines": "\n\npaper,email,rating\n\n3,a@x,7\n\n\n4,a@x,1\n",
    "no scores": "reviewer,item\na,b\n",
    "delimiter": "sep=;\nreviewer;item;score\na;b;4,5\n;;\na;c;5\n",
    "title": "Jury\n\n# exported\nreviewer,item,score\n\n,,\na,b,4\n , ,\na,c,5\n",
    "maxima": HEADER + "a,b,8/10\na,c,70%\nb,c,\n",
    "a name that may be missing": HEADER + "ann,2,3\nnan,2,4\n",
}
BAD_TEXTS = {
    "words": HEADER + "ann,p1,8\nbob,p1,8 or 9\nbob,,3\n ,p9,1\ncid,p1,inf\ndan,p1,1_0\n",
    "commas": "reviewer;item;score\na;b;5,\nc;d;,5\ne;b;1,2,3\nf;b;1.234,5\n",
    "point": HEADER + 'ann,p1,"4,5"\n',
    "maxima": HEADER + "a,b,8/10\n,,\na,c,70%\nb,c,3\n",
    "ragged": HEADER + "ann,p1,8\nbob,p1\nbob,p2,3,4\n",
    "open quote": HEADER + 'ann,p1,8\nbob,"p1,4\n',
    "broken quote": HEADER + 'ann,p1,8\nbob,"p1"x,4\n',
    "a pair twice": HEADER + '"an\tn",p1,8\n\n\n"an\tn",p1,4\n',
    "no rows": HEADER,
    "nothing": "",
    "alike": HEADER + "Ann,2,3\nann,2,3\n",
    "no such column": "reviewer,score\n1,2\n",
}


def content(source: Any) -> tuple[Any, ...]:
    """Return labels and rows of reviews, or of a stream."""
    rows = whole(source) if isinstance(source, PartedReviews) else source
    item, score = rows.item, rows.score
    labels = (list(map(str, side[:])) for side in (source.reviewers, source.items))
    return *labels, source.loads.tolist(), item.tolist(), np.nan_to_num(score, nan=-1e9).tolist()


@pytest.mark.parametrize(
    ("case", "suffix"),
    sampled(product(TEXTS, ["", ".gz"]), list(zip(TEXTS, cycle(["", ".gz"]), strict=False)), several=True),
)
def test_text_is_read_as_in_memory(tmp_path: Path, case: str, suffix: str) -> None:
    plain, path = tmp_path / "t.csv", tmp_path / f"t.csv{suffix}"
    plain.write_bytes(TEXTS[case].encode())
    if suffix:
        path.write_bytes(gzip.compress(plain.read_bytes()))
    told, heard = list[str](), list[str]()
    whole = read_reviews(plain, note=told.append)
    with stream_reviews(path, note=heard.append) as stream:
        assert content(stream) == content(whole)
        assert stream.origin.files[0].sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
        assert stream.origin.files[0].rows == whole.origin.files[0].rows
    assert [note.replace(".gz", "") for note in heard] == told


@pytest.mark.parametrize("case", [*BAD, *BAD_TEXTS])
def test_refusals_are_those_of_reading_at_once(tmp_path: Path, case: str) -> None:
    path = tmp_path / "t.csv"
    if case in BAD:
        path = Path(written(tmp_path, **BAD[case]))
    else:
        path.write_text(BAD_TEXTS[case], "utf-8")
    with pytest.raises(InputError) as whole:
        read_reviews(path)
    for batch in (1, 100):
        with pytest.raises(InputError) as found, stream_reviews(path, batch=batch):
            pass
        assert str(found.value) == without_hint(str(whole.value))


def test_text_and_parquet_are_one_table_and_patterns_name_many_files(tmp_path: Path) -> None:
    one = written(tmp_path, name="part[1].parquet", reviewer=[7, 8], item=["p", "q"], score=[1, 2])
    (tmp_path / "part-2.csv").write_text(HEADER + "07x,q,3.5\n9,q,4\n", "utf-8")
    (tmp_path / "part-3.csv").write_text(HEADER + "9,p,3\n", "utf-8")
    whole = read_reviews(one, tmp_path / "part-2.csv", tmp_path / "part-3.csv")
    for paths in ((one, str(tmp_path / "part-*.csv")), (str(tmp_path / "part*"),)):
        with stream_reviews(*paths) as stream:
            assert content(stream) == content(whole)
            assert {Path(file.file).name for file in stream.origin.files} == {
                "part[1].parquet",
                "part-2.csv",
                "part-3.csv",
            }
    with pytest.raises(InputError, match=r"none-\*: expected a file or a pattern"), stream_reviews("none-*"):
        pass


def test_what_is_not_a_file_here_is_refused(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    if hasattr(os, "mkfifo"):
        os.mkfifo(pipe)
    for name in ("https://example.org/scores.parquet", *([str(pipe)] if pipe.exists() else [])):
        with pytest.raises(InputError, match=r"cannot be read \(expected a file on this machine"), stream_reviews(name):
            pass


def configured(monkeypatch: pytest.MonkeyPatch, **settings: str) -> None:
    """Let every engine have these settings of DuckDB."""
    duckdb = pytest.importorskip("duckdb")
    connect = duckdb.connect

    def with_settings(name: str, config: dict[str, str]) -> Any:
        connection = connect(name, config=config)
        for key, value in settings.items():
            connection.execute(f"SET {key} = '{value}'")
        return connection

    monkeypatch.setattr(duckdb, "connect", with_settings)


@pytest.mark.parametrize(
    ("policy", "threads"), sampled([("last", "1"), ("mean", "7"), ("last", "7"), ("mean", "1")], 2, several=True)
)
def test_results_do_not_depend_on_threads_or_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: str, policy: Any
) -> None:
    rng, n = np.random.default_rng(0), 30_000
    rows = {"reviewer": rng.integers(0, 300, n), "item": rng.integers(0, 90, n), "score": rng.normal(size=n)}
    path = str(tmp_path / "t.parquet")
    pa.parquet.write_table(pa.table(rows), path, row_group_size=2048)
    configured(monkeypatch, threads=threads, memory_limit="64MB")
    with stream_reviews(path, duplicates=policy, batch=1000) as stream:
        assert content(stream) == content(read_reviews(path, duplicates=policy))


def test_a_full_disk_while_sorting_is_one_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, n, room = np.random.default_rng(0), 1_500_000, tmp_path / "room"
    room.mkdir()
    path = str(tmp_path / "t.parquet")
    pa.parquet.write_table(pa.table({"reviewer": rng.integers(0, 2**60, n), "item": rng.integers(0, 9, n)}), path)
    configured(monkeypatch, threads="1", memory_limit="40MB", max_temp_directory_size="1MB")
    monkeypatch.setattr(tempfile, "tempdir", str(room))
    with pytest.raises(InputError, match="set TMPDIR to a folder with room"), stream_reviews(path, batch=1000):
        pass
    assert list(room.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="sends a signal")
def test_an_interrupt_ends_a_query_and_leaves_nothing(tmp_path: Path) -> None:
    code = (
        "from reviewgraph.formats.engine import engine_of\n"
        "with engine_of(1) as engine:\n"
        "    (engine.folder / 'file').write_text('x')\n"
        "    print('open', flush=True)\n"
        "    list(engine.batches('SELECT sum(a.range * b.range) FROM range(9999999) a, range(9999999) b'))\n"
    )
    words = [sys.executable, "-c", code]
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
    assert process.stdout is not None
    assert process.stdout.readline() == b"open\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    assert b"KeyboardInterrupt" in process.communicate(timeout=20)[1]
    assert list(tmp_path.iterdir()) == []


def test_rows_of_several_files_are_named_by_file(tmp_path: Path) -> None:
    scores = written(tmp_path, reviewer=[7, 8], item=["p", "q"], score=[1, 2])
    again = written(tmp_path, name="again.parquet", reviewer=[8], item=["q"], score=[5])
    expected = r"scores\.parquet: row 2 and .*again\.parquet: row 1"
    with pytest.raises(InputError, match=expected), stream_reviews(scores, again):
        pass


def test_a_full_disk_is_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    with pytest.raises(InputError, match=r"No space left on device.*TMPDIR"):
        mapped(3, np.float64)


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for the open files of a process")
@pytest.mark.parametrize("number", sampled([signal.SIGKILL, signal.SIGINT]))
def test_a_killed_process_leaves_no_file(tmp_path: Path, number: int) -> None:
    path = written(tmp_path, reviewer=np.arange(10), item=np.arange(10))
    code = (
        "import sys; from reviewgraph import stream_reviews\n"
        "with stream_reviews(sys.argv[1]) as s:\n    print('open', flush=True); sys.stdin.read()"
    )
    room = tmp_path / "room"
    room.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", code, path],
        **dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE),
        env={**os.environ, "TMPDIR": str(room)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"open\n"
    held = [os.readlink(f"/proc/{process.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{process.pid}/fd")]
    process.send_signal(number)
    process.communicate(timeout=20)
    assert any(str(room) in name for name in held)
    assert list(room.iterdir()) == []
    assert tempfile.gettempdir() != str(room)


def test_numbers_beside_the_score_are_said_to_be_left_out(tmp_path: Path) -> None:
    columns, heard = drawn(3, kind="text"), list[str]()
    size = len(columns["item"])
    path = written(tmp_path, **columns, clear=pa.array([1.0] * size), comment=pa.array(["good"] * size))
    with stream_reviews(path, note=heard.append):
        pass
    [said] = [message for message in heard if "--stream" in message]
    assert "--stream uses the score alone: 'clear' is a column of numbers" in said
    assert "comment" not in said
