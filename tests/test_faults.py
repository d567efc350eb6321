"""A short run of faults, in processes of their own, and what they once did."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from reviewgraph import __main__ as entry
from reviewgraph.cli import Refusal, main
from tests.faults import COMMANDS, ROOT, TABLE, Faults, prepared
from tests.trials import NIGHTLY

pytestmark = pytest.mark.skipif(os.name != "posix", reason="forks and signals of POSIX")


@pytest.mark.slow
def test_faults_lose_nothing() -> None:
    count = 12 if NIGHTLY else 3
    words = [sys.executable, "-m", "tests.faults", "--faults", str(count), "--seed", "1", "--command", "simulate"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["faults"] == count


def test_losses_are_found(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    before, faults = prepared(folder, COMMANDS["simulate"], old=True), Faults(tmp_path)
    faults.whole["simulate"] = {"reviews.csv": b"new", "truth.csv": b"new"}
    (folder / "d.csv").unlink()
    (folder / "reviews.csv").write_bytes(b"ne")
    (folder / "other.csv").write_bytes(b"")
    faults.judge("simulate", folder, before, 70, "Traceback (most recent call last)", "a test")
    (fault,) = faults.failed
    assert set(fault.wrong) == {
        "d.csv is lost",
        "reviews.csv is neither what it was nor what is written",
        "other.csv is no whole file",
        "files of two runs",
        "status 70",
        "Traceback",
    }


def test_an_interrupt_while_the_command_loads_ends_it_at_once() -> None:
    # The command is a module that never ends loading.
    code = """
import os, signal, sys
class Slow:
    def find_spec(self, name, *_):
        if name == "reviewgraph.cli":
            os.kill(os.getpid(), signal.SIGINT)
            while True: pass
sys.meta_path.insert(0, Slow())
from reviewgraph.__main__ import run
run()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stderr) == (130, "Interrupted, no result.\n")


def test_nothing_is_loaded_before_interrupts_are_answered() -> None:
    # What is loaded then is time in which Ctrl-C ends in a traceback.
    code = "import os, sys; before = set(sys.modules); import reviewgraph.__main__; print(*set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert set(done.stdout.split()) <= {"reviewgraph", "reviewgraph.__main__", "reviewgraph._version", "__future__"}


def test_who_is_deaf_to_interrupts_stays_so(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[object] = []
    monkeypatch.setattr("reviewgraph.cli.main", lambda **_: heard.append(signal.getsignal(signal.SIGINT)))
    before = signal.getsignal(signal.SIGINT)
    try:
        for handler in (signal.SIG_IGN, signal.default_int_handler):
            signal.signal(signal.SIGINT, handler)
            entry.run()
            assert heard.pop() == handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_the_demo_in_a_folder_that_cannot_be_written_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(Refusal, match=r"reviewgraph-demo.csv: cannot be written \(Permission denied\)"):
        main.main(["demo"], standalone_mode=False)


def test_a_refusal_keeps_its_status_where_nobody_can_be_told(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    (tmp_path / "d.csv").write_text(TABLE, "utf-8")
    with Path("/dev/full").open("wb") as full:
        words = [sys.executable, "-m", "reviewgraph", "check", "none.csv"]
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(words, cwd=tmp_path, stdout=full, stderr=full, env=env, check=False)
    assert done.returncode == 2
