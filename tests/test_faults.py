"""Faults while files are written, in processes of their own, and what they once did."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from reviewgraph import __main__ as entry
from reviewgraph.cli import Refusal, main
from tests.trials import sampled

pytestmark = pytest.mark.skipif(os.name != "posix", reason="forks and signals of POSIX")


ROOT = Path(__file__).parents[1]
TABLE = "reviewer,paper,score\nann,p1,3\nann,p2,5\nbob,p1,4\nbob,p2,7\n"

#: Runs a command in which something happens just before the n-th call that changes the disk.
AT_CALL = """
import os, sys
left, act = [int(sys.argv.pop(1))], int(sys.argv.pop(1))
def counted(name, real):
    def call(*args, **options):
        writing = name != "open" or (len(args) > 1 and isinstance(args[1], int) and args[1] & os.O_CREAT)
        left[0] -= bool(writing)
        if writing and left[0] == 0 and act:
            os.kill(os.getpid(), act)
        elif writing and left[0] == 0:
            raise OSError(28, "No space left on device")
        return real(*args, **options)
    return call
for name in ("replace", "unlink", "fsync", "open", "mkdir", "chmod"):
    setattr(os, name, counted(name, getattr(os, name)))
from reviewgraph.__main__ import run
run()
"""
SIMULATE = "simulate linear --papers 20 --reviewers 20 -o . --overwrite"
#: Signals, and 0 for a full disk, with the exit statuses that they may have where something is not written.
ACTS = {0: (2,), int(signal.SIGINT): (130,), int(signal.SIGTERM): (-15,), int(signal.SIGKILL): (-9,)}


def simulated(place: Path, nth: int, act: int) -> tuple[int, str]:
    """Run a command in a folder in which something happens, or nothing where ``nth`` is 0; return how it ended."""
    words = [sys.executable, "-c", AT_CALL, str(nth), str(act), *SIMULATE.split()]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(place)}
    done = subprocess.run(words, cwd=place, capture_output=True, text=True, env=env, check=False)
    return done.returncode, done.stderr


def contents(place: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in place.iterdir() if file.is_file()}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What the command writes where nothing happens."""
    place = tmp_path_factory.mktemp("whole")
    assert simulated(place, 0, 0)[0] == 0
    return contents(place)


@pytest.mark.slow
@pytest.mark.parametrize("nth", sampled([2, 4, 7, 8, 9, 10, 11], [2, 7, 9]))
@pytest.mark.parametrize("act", ACTS, ids=("a full disk", "Ctrl-C", "SIGTERM", "kill -9"))
def test_files_are_whole_and_of_one_run_whatever_happens_while_they_are_written(
    tmp_path: Path, whole: dict[str, bytes], act: int, nth: int
) -> None:
    old = dict.fromkeys(whole, b"what stood here before")
    for name, data in old.items():
        (tmp_path / name).write_bytes(data)
    status, said = simulated(tmp_path, nth, act)
    left = {
        name: data for name, data in contents(tmp_path).items() if not (status < 0 and name.startswith(".reviewgraph-"))
    }
    assert status in (0, *ACTS[act]), said
    assert "Traceback" not in said
    # Files that belong together are of one run, or some are gone.
    assert all(left[name] == whole[name] for name in left) or all(left[name] == old[name] for name in left)


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


def test_the_demo_in_a_folder_that_cannot_be_written_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
