"""A short run of damaged files through every reader, and all that ever failed once more."""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from reviewgraph.cli import main
from tests.fuzz_readers import CORPUS, drawn, outcome
from tests.readers import CASES, READERS, WORDS, Case, answers
from tests.trials import sampled, trials

#: More in a nightly run.
INPUTS = trials(100)

pytestmark = pytest.mark.skipif(os.name != "posix", reason="alarms of POSIX")


def test_every_reader_has_a_whole_file_that_it_reads(tmp_path: Path) -> None:
    answered: set[str] = set()
    for case in CASES:
        if case.reader not in answered and outcome(case, tmp_path) == "answered":
            answered.add(case.reader)
    assert answered == set(READERS)


def test_damaged_files_are_answered_or_refused(tmp_path: Path) -> None:
    found = {number: outcome(drawn(0, number), tmp_path) for number in range(INPUTS)}
    assert {number: said for number, said in found.items() if said not in ("answered", "refused")} == {}
    assert set(found.values()) == {"answered", "refused"}


#: Files, of which further ones of a kind have a number.
ONCE_FAILED = sorted(CORPUS.iterdir())
FIRST = [path for path in ONCE_FAILED if path.stem[-1] not in "234"]


@pytest.mark.parametrize("path", sampled(ONCE_FAILED, FIRST), ids=lambda path: path.name)
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


@pytest.mark.parametrize("path", answers(), ids=lambda path: path.name)
def test_answers_that_are_damaged_were_true(path: Path) -> None:
    words = WORDS[path.stem.partition("-")[0]]
    told = CliRunner().invoke(main, ["verify", str(path), *words])
    # The rankings of these calibrations are not computed again, or one of several.
    assert told.exit_code == (4 if path.name.startswith("calibrate") else 0), told.output
