"""A short run of damaged files through every reader, and all that ever failed once more."""

from __future__ import annotations

import collections
import json
import os
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from reviewgraph.cli import main
from tests import fuzz_readers
from tests.fuzz_readers import CORPUS, Findings, Run, drawn, outcome
from tests.readers import CASES, READERS, WORDS, Case, answers
from tests.trials import trials

#: More in a nightly run.
INPUTS = trials(100)

pytestmark = pytest.mark.skipif(os.name != "posix", reason="alarms of POSIX")


def test_every_reader_has_a_whole_file_that_it_reads(tmp_path: Path) -> None:
    answered = {case.reader for case in CASES if outcome(case, tmp_path) == "answered"}
    assert answered == set(READERS)


def test_damaged_files_are_answered_or_refused(tmp_path: Path) -> None:
    found = {number: outcome(drawn(0, number), tmp_path) for number in range(INPUTS)}
    assert {number: said for number, said in found.items() if said not in ("answered", "refused")} == {}
    assert set(found.values()) == {"answered", "refused"}


@pytest.mark.parametrize("path", sorted(CORPUS.iterdir()), ids=lambda path: path.name)
def test_what_once_failed_is_answered_or_refused(tmp_path: Path, path: Path) -> None:
    data = path.read_bytes()
    found = {reader: outcome(Case(reader, path.name, data), tmp_path) for reader in READERS}
    assert set(found.values()) <= {"answered", "refused"}, found


def test_a_finding_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: str) -> None:
        raise TypeError(path)

    def hang(path: str) -> None:
        while True:
            pass

    for reader, told in ((fail, "TypeError"), (hang, "hang")):
        monkeypatch.setitem(READERS, "broken", reader)
        assert outcome(Case("broken", "a.csv", b"x"), tmp_path, seconds=0.05).startswith(told)


def test_readers_take_inputs_in_turn() -> None:
    first = 5
    taken = collections.Counter(drawn(0, number).reader for number in range(first, first + 2 * len(READERS)))
    assert taken == dict.fromkeys(READERS, 2)


def test_a_run_goes_on_where_the_last_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    class Brief:
        """Reads three inputs, and ends."""

        def __init__(self, numbers: range, *_: object) -> None:
            self.left = numbers

        def ended(self, findings: Findings) -> bool:
            for number in self.left[:3]:
                read.append(number)
                findings.add(drawn(0, number).reader, "refused", number, partial(drawn, 0, number))
            self.left = self.left[3:]
            return True

    monkeypatch.setattr(fuzz_readers, "Batch", Brief)
    monkeypatch.setattr(fuzz_readers, "BATCH", 4)
    monkeypatch.setattr(fuzz_readers.time, "sleep", lambda _: None)
    total = tmp_path / "total.json"
    total.write_text(json.dumps({"seed": 0, "left": [[2, 4, 1], [8, 20, 2]], "kinds": {}, "readers": {}}))
    for minutes in (0, 1, 1):
        run = Run([range(2)], 0, Findings(tmp_path), total)
        run.read(minutes, jobs=2)
    assert sorted(read) == [2, 3, 8, 10, 12, 14, 16, 18]
    assert run.findings.figures()["inputs"] == 8
    assert json.loads(total.read_text())["left"] == []


@pytest.mark.parametrize("path", answers(), ids=lambda path: path.name)
def test_answers_that_are_damaged_were_true(path: Path) -> None:
    words = WORDS[path.stem.partition("-")[0]]
    told = CliRunner().invoke(main, ["verify", str(path), *words])
    # The rankings of these calibrations are not computed again, or one of several.
    assert told.exit_code == (4 if path.name.startswith("calibrate") else 0), told.output
