"""How commands end before their end."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from reviewgraph.cli import main, output
from tests.trials import sampled

TABLE = "reviewer,paper,score\nann,p1,3\nann,p2,1\nbob,p2,4\nbob,p3,2\ncyd,p3,1\ncyd,p1,3\n"

posix = pytest.mark.skipif(os.name != "posix", reason="pipes and signals of POSIX")
COMMANDS = ["--help", "check reviews.csv", "plan reviews.csv", "calibrate reviews.csv"]
CLOSED = [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"]
#: Streams that are closed every day, by the status.
WITHOUT = {0: ">&-", 1: "<&- >&- 2>&-", 2: "2>&-"}


def everyday(*commands: str) -> pytest.MarkDecorator:
    """All commands, but only these every day: each of them writes through the same streams."""
    marks = {name: () if name.split()[0] in commands else pytest.mark.nightly for name in COMMANDS}
    return pytest.mark.parametrize("command", [pytest.param(name, marks=marks[name]) for name in COMMANDS])


@pytest.fixture
def folder(folder: Path) -> Path:
    Path("reviews.csv").write_text(TABLE, "utf-8")
    return folder


def begin(command: str, stdout: int) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-m", "reviewgraph", *command.split()]
    home = {"PYTHONPATH": str(Path(__file__).parents[3])}
    return subprocess.Popen(words, stdout=stdout, stderr=subprocess.PIPE, env={**os.environ, **home})


@pytest.mark.slow
@posix
@everyday("--help", "plan")
@pytest.mark.usefixtures("folder")
def test_a_pipe_that_nobody_reads_ends_a_command_quietly(command: str) -> None:
    read, write = os.pipe()
    os.close(read)
    run = begin(command, write)
    os.close(write)
    _, told = run.communicate()
    assert run.returncode == output.NOT_READ == 128 + signal.SIGPIPE
    assert b"Traceback" not in told
    assert b"Exception" not in told


@pytest.mark.slow
@posix
@everyday("plan")
@pytest.mark.usefixtures("folder")
def test_a_full_disk_is_one_message(command: str) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    with Path("/dev/full").open("wb") as full:
        run = begin(command, full.fileno())
        _, told = run.communicate()
    assert run.returncode == 2
    assert told.splitlines()[-1] == b"Error: the output cannot be written (No space left on device)"
    assert told.count(b"Error") == 1
    assert b"Traceback" not in told


@pytest.mark.slow
@posix
@pytest.mark.parametrize("command", sampled(["check", "assign", "calibrate", "plan"], 2))
def test_every_command_answers_and_ends(command: str, folder: Path) -> None:
    """A file that never ends is read until Ctrl-C."""
    os.mkfifo(folder / "endless.csv")
    words = "--items endless.csv --reviewers endless.csv" if command == "assign" else "endless.csv"
    run = begin(f"{command} {words}", subprocess.PIPE)
    with (folder / "endless.csv").open("wb"):  # opens once the command reads
        run.send_signal(signal.SIGINT)
        _, told = run.communicate()
    assert run.returncode == output.INTERRUPTED
    assert told.splitlines()[-1] == b"Interrupted, no result."


def test_an_interrupt_between_two_steps_has_a_status_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    # Where click hears of it itself, it says "Aborted!" and ends with the status of a missed level.
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("reviewgraph.cli.command.Commands.invoke", interrupted)
    told = CliRunner().invoke(main, ["check", "none.csv"])
    assert (told.exit_code, told.stderr) == (output.INTERRUPTED, "\nInterrupted, no result.\n")


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="a POSIX shell closes streams")
@pytest.mark.parametrize(
    ("closed", "rows", "status"),
    [
        pytest.param(closed, rows, status, marks=() if closed == WITHOUT[status] else pytest.mark.nightly)
        for closed in CLOSED
        for rows, status in [("a,x\na,y\nb,x\nb,y\n", 0), ("a,x\nb,y\n", 1), ("a\n", 2)]
    ],
)
def test_a_closed_stream_changes_no_status(tmp_path, closed, rows, status):
    table = tmp_path / "reviews.csv"
    table.write_text(f"reviewer,item\n{rows}", encoding="utf-8")
    line = f"'{sys.executable}' -m reviewgraph check '{table}' --require double {closed}"
    done = subprocess.run(["sh", "-c", line], capture_output=True, check=False)
    assert done.returncode == status
    assert b"Traceback" not in done.stderr


def test_a_missing_package_is_one_line(capsys):
    with pytest.raises(SystemExit) as ended, output.ended_early():
        raise ModuleNotFoundError(name="dask.dataframe")
    assert ended.value.code == output.REFUSED
    assert capsys.readouterr().err == "Error: expected the package dask, found none; install it with pip install dask\n"


@pytest.mark.parametrize(
    ("error", "words"), [(MemoryError(), "memory is exhausted"), (KeyError("none"), "this is an error in")]
)
def test_a_failure_of_this_program_has_a_status_of_its_own(monkeypatch, capsys, error, words):
    monkeypatch.delenv(output.TRACEBACK, raising=False)
    with pytest.raises(SystemExit) as ended, output.ended_early():
        raise error
    assert ended.value.code == output.FAILED
    assert words in capsys.readouterr().err


def test_a_package_that_the_command_needs_is_named() -> None:
    code = "import sys; sys.modules['click'] = None; from reviewgraph.__main__ import run; run()"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    message = "Error: expected the package click, found none; install it with pip install click\n"
    assert (told.returncode, told.stderr) == (output.REFUSED, message)
