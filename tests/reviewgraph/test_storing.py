"""Files are written whole or not at all, and nothing that stood there is lost by it."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from reviewgraph._base import InputError, write_together, write_whole


def python(code: str, *args: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code, *map(str, args)], capture_output=True, text=True)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
def test_permissions_stay(tmp_path: Path, mode: int) -> None:
    target = tmp_path / "plan.csv"
    target.write_text("first")
    target.chmod(mode)
    write_whole(target, "second")
    assert (target.read_text(), stat.S_IMODE(target.stat().st_mode)) == ("second", mode)


def test_a_new_file_obeys_the_mask(tmp_path: Path) -> None:
    steps = ("import os, sys", "os.umask(0o027)", "from reviewgraph._base.storing import write_whole")
    code = "; ".join([*steps, "write_whole(sys.argv[1], 'x')"])
    python(code, tmp_path / "new.csv").check_returncode()
    assert stat.S_IMODE((tmp_path / "new.csv").stat().st_mode) == 0o640


def test_names_as_long_as_the_system_allows_and_what_killed_runs_left(tmp_path: Path) -> None:
    target = tmp_path / ("n" * 251 + ".csv")
    (tmp_path / f"{'n' * 8}.{os.getpid()}.part").write_text("left")
    write_whole(target, "x")
    assert target.read_text() == "x"


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="no such stream")
@pytest.mark.parametrize("stream", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_a_stream_into_a_file_adds_to_it(tmp_path: Path, stream: str) -> None:
    log = tmp_path / "log.txt"
    log.write_text("before\n")
    code = f"from reviewgraph._base.storing import write_whole; print('said'); write_whole({stream!r}, 'written\\n')"
    with log.open("a") as file:
        subprocess.run([sys.executable, "-c", code], stdout=file, check=True)
    assert log.read_text() == "before\nsaid\nwritten\n"


def test_together_or_not_at_all(tmp_path: Path) -> None:
    write_together(tmp_path, {"a": "1", "b": b"1"})
    (tmp_path / "c").mkdir()
    with pytest.raises(InputError, match="c is a folder"):
        write_together(tmp_path, {"a": "2", "b": "2", "c": "2"})
    assert [(tmp_path / name).read_text() for name in "ab"] == ["1", "1"]
    assert sorted(os.listdir(tmp_path)) == ["a", "b", "c"]


def test_never_new_files_beside_old_ones(tmp_path: Path) -> None:
    # Stopped before each call that changes the folder in turn: what is there is of one run.
    code = """
import os, signal, sys
from reviewgraph._base.storing import write_together
left = int(sys.argv[2])
def counted(real):
    def call(*args, **options):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args, **options)
    return call
os.unlink, os.replace, os.fsync = map(counted, (os.unlink, os.replace, os.fsync))
write_together(sys.argv[1], {name: "new" for name in "abc"})
"""
    for step in range(20):
        folder = tmp_path / str(step)
        write_together(folder, dict.fromkeys("abc", "old"))
        ended = python(code, folder, step).returncode
        found = {name: (folder / name).read_text() for name in "abc" if (folder / name).exists()}
        assert set(found.values()) <= {"old"} or set(found.values()) == {"new"}
        if ended == 0:
            assert found == dict.fromkeys("abc", "new")
            break
        assert ended == -signal.SIGKILL
    else:
        pytest.fail("it never came to an end")
