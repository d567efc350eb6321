"""Faults at random moments of every command: ``python -m tests.faults --faults 1000 --minutes 30``.

A fault is a kill, Ctrl-C, SIGTERM, an error of the disk, a full disk or a closed pipe. After each, every file holds
what it held or what a whole run writes, files that belong together are of one run, the exit status is one of the
documented ones, and standard error has no traceback. Faults are numbered, and the same number is the same fault:
``--seed`` and ``--first`` run one again. They run in children of a process that has loaded the packages, which saves
them the second of loading.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import errno
import importlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
#: Exit statuses that docs/reference/command.md names, and the ends by signals; but 1 and 70, which no fault may cause.
STATUSES = {0, 2, 4, 130, 141, -signal.SIGKILL, -signal.SIGTERM}
#: Seconds after which a run counts as hanging.
PATIENCE = 300


TABLE = "reviewer,paper,score\n" + "".join(
    f"r\u00e9viewer {who},p{(who * 3 + step * step) % 9},{(who * 7 + step) % 5}\n"
    for who in range(8)
    for step in range(3)
)
#: What stands in the files before: whole, and of nobody's making.
OLD = "what stood here before\n"


@dataclass(frozen=True)
class Command:
    """A command line, what it writes, and which of that belongs together."""

    words: str
    writes: tuple[str, ...] = ()
    #: Whether its files are of one run, or gone.
    together: bool = False
    #: Files that may stand there before; a run may refuse to touch others.
    before: tuple[str, ...] = field(default=())


COMMANDS = {
    "demo": Command("demo", ("reviewgraph-demo.csv",)),
    "check": Command(
        "check d.csv --html page.html -o groups.csv", ("page.html", "groups.csv"), before=("page.html", "groups.csv")
    ),
    "calibrate": Command("calibrate d.csv -o c.csv", ("c.csv",), before=("c.csv",)),
    "simulate": Command(
        "simulate linear --papers 30 --reviewers 30 -o . --overwrite",
        ("reviews.csv", "truth.csv"),
        together=True,
        before=("reviews.csv", "truth.csv"),
    ),
}


def contents(folder: Path) -> dict[str, bytes]:
    """Return all files below a folder by their names in it."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def prepared(folder: Path, command: Command, old: bool) -> dict[str, bytes]:
    """Fill a folder with what a command reads, and with what may stand in its place before; returns all of it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "d.csv").write_text(TABLE, "utf-8")
    for name in command.before if old else ():
        (folder / name).write_text(OLD)
    return contents(folder)


def child(words: str, folder: Path, prepare: Callable[[], None] = lambda: None, stdout: int | None = None) -> int:
    """Fork, and run a command in the child with its streams in files of the folder's parent; returns its number."""
    number = os.fork()
    if number:
        return number
    status = 1
    try:
        os.chdir(folder)
        os.environ["TMPDIR"] = tempfile.tempdir = str(folder)  # what is left of temporary files is seen
        for stream, name in ((1, "stdout"), (2, "stderr")):
            if stream == 1 and stdout is not None:
                os.dup2(stdout, 1)
                continue
            target = os.open(folder.parent / f"{folder.name}.{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(target, stream)
        sys.argv = ["reviewgraph", *words.split()]
        prepare()
        status = _run()
    except KeyboardInterrupt:  # before the command: an interpreter's own start
        status = 130
    finally:
        os._exit(status)
    return 0


def _run() -> int:
    """Run the command as the interpreter would, to its end; returns the status."""
    from reviewgraph.__main__ import run

    status = 0
    try:
        run()
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    except BaseException:
        traceback.print_exc()
        status = 1
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        os.write(2, b"Exception ignored when the interpreter ends\n")
        status = 120
    return status


def waited(number: int, patience: float = PATIENCE) -> int | None:
    """Return how a child ended, a signal as a negative number; None where it hangs, and is killed."""
    until = time.time() + patience
    while time.time() < until:
        ended, status = os.waitpid(number, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(number, signal.SIGKILL)
    os.waitpid(number, 0)
    return None


#: Calls that change what is on the disk.
CALLS = ("replace", "unlink", "fsync", "open", "mkdir", "chmod")


def at_call(nth: int, act: Callable[[], None]) -> Callable[[], None]:
    """Return what lets something happen just before the n-th call that changes the disk."""

    def prepare() -> None:
        left = [nth]

        def counted(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
            def call(*args: Any, **options: Any) -> Any:
                writing = name != "open" or (len(args) > 1 and isinstance(args[1], int) and args[1] & os.O_CREAT)
                left[0] -= bool(writing)
                if writing and left[0] == 0:
                    act()
                return real(*args, **options)

            return call

        for name in CALLS:
            setattr(os, name, counted(name, getattr(os, name)))

    return prepare


def _raise(number: int) -> Callable[[], None]:
    def act() -> None:
        raise OSError(number, os.strerror(number))

    return act


def _signalled(number: int) -> Callable[[], None]:
    return lambda: os.kill(os.getpid(), number)


@dataclass
class Fault:
    """What happened to one run."""

    kind: str
    command: str
    status: int | None
    said: str
    wrong: list[str]


class Faults:
    """Runs of commands in a folder, each with one fault."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.whole: dict[str, dict[str, bytes]] = {}
        self.seconds: dict[str, float] = {}
        self.counts: collections.Counter[str] = collections.Counter()
        self.ends: collections.Counter[str] = collections.Counter()
        self.failed: list[Fault] = []
        self.number = 0

    def warm(self, names: list[str]) -> list[str]:
        """Run each command whole once in a process of its own, and load here what it loads; returns what fails."""
        for name in names:
            folder = self.place / f"whole-{len(self.whole)}"
            before = prepared(folder, COMMANDS[name], old=False)
            modules = self.place / "modules.json"
            code = (
                "import json, runpy, sys\n"
                "told = sys.argv.pop()\n"
                "try:\n    runpy.run_module('reviewgraph', run_name='__main__')\n"
                "finally:\n    json.dump(sorted(sys.modules), open(told, 'w'))\n"
            )
            words = [sys.executable, "-c", code, *COMMANDS[name].words.split(), str(modules)]
            for _ in range(2):  # the second does not compile
                began = time.time()
                done = subprocess.run(words, cwd=folder, capture_output=True, text=True, env=environment(), check=False)
                self.seconds[name] = time.time() - began
            self.whole[name] = {key: data for key, data in contents(folder).items() if before.get(key) != data}
            writes = COMMANDS[name].writes
            if done.returncode or (writes and not any(key.startswith(writes) for key in self.whole[name])):
                return [f"{name}: {done.returncode} {done.stderr}"]
            for module in json.loads(modules.read_text()):
                with contextlib.suppress(Exception):
                    importlib.import_module(module)
        return []

    def judge(
        self, name: str, folder: Path, before: Mapping[str, bytes], status: int | None, said: str, told: str
    ) -> None:
        """Look at what is left of a run."""
        command, after, whole, wrong = COMMANDS[name], contents(folder), self.whole[name], []
        for key, data in before.items():
            if key not in after and not (command.together and key in command.writes):
                wrong.append(f"{key} is lost")
            elif (
                key in after
                and after[key] != data
                and (key not in command.writes or not _is_whole(key, after[key], whole))
            ):
                wrong.append(f"{key} is neither what it was nor what is written")
        for key in after.keys() - before.keys():
            part = key.startswith(".reviewgraph-") and status is not None and status < 0
            if not part and not _is_whole(key, after[key], whole):
                wrong.append(f"{key} is no whole file")
        if command.together:
            runs = {after[key] == before.get(key) for key in after if key.startswith(command.writes)}
            if len(runs) > 1:
                wrong.append("files of two runs")
        if status not in STATUSES:
            wrong.append(f"status {status}")
        words = ("Traceback", "Exception ignored", "Fatal Python", "terminate called")
        wrong += [word for word in words if word in said and not _before_us(said)]
        self.counts[told] += 1
        self.ends[str(status)] += 1
        if wrong:
            self.failed.append(Fault(told, name, status, said, wrong))
            print(
                f"{self.number}, {told}, {name}: status {status}: {'; '.join(wrong)}\n    {said[-1500:]!r}", flush=True
            )

    def run(self, number: int, seed: int, names: list[str]) -> None:
        """Let one fault happen."""
        draw, self.number = random.Random(f"{seed} {number}"), number
        name, kind = names[number % len(names)], draw.choice(KINDS)
        folder = self.place / f"{number}"
        before = prepared(folder, COMMANDS[name], old=draw.random() < 0.6)
        try:
            told, status, said = kind(self, name, folder, draw)
            self.judge(name, folder, before, status, said, told)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _is_whole(key: str, data: bytes, whole: Mapping[str, bytes]) -> bool:
    """Whether a file is as a whole run writes it; pages and pictures may tell the time, and are whole at their end."""
    if key not in whole:
        return False
    return whole[key] == data or (key.endswith((".html", ".svg")) and data.rstrip().endswith((b"</html>", b"</svg>")))


def _before_us(said: str) -> bool:
    """Whether a traceback is of the interpreter's own start, before it has come to our first function."""
    return "KeyboardInterrupt" in said and "in run\n" not in said


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def _said(folder: Path) -> str:
    file = folder.parent / f"{folder.name}.stderr"
    return file.read_text("utf-8", "replace") if file.exists() else ""  # it may have ended before it could open one


def in_the_window(faults: Faults, name: str, folder: Path, draw: random.Random) -> tuple[str, int | None, str]:
    """A signal or an error just before a call that changes the disk."""
    told, act = draw.choice(
        [
            *[("kill -9 in the write window", _signalled(signal.SIGKILL))] * 3,
            ("SIGTERM in the write window", _signalled(signal.SIGTERM)),
            ("Ctrl-C in the write window", _signalled(signal.SIGINT)),
            *[
                (f"{errno.errorcode[code]} in the write window", _raise(code))
                for code in (errno.ENOSPC, errno.EIO, errno.EDQUOT)
            ],
        ]
    )
    number = child(COMMANDS[name].words, folder, at_call(draw.randint(1, 9), act))
    return told, waited(number), _said(folder)


def at_random(faults: Faults, name: str, folder: Path, draw: random.Random) -> tuple[str, int | None, str]:
    """A signal at any moment."""
    told, sent = draw.choice([("kill -9", signal.SIGKILL), ("Ctrl-C", signal.SIGINT), ("SIGTERM", signal.SIGTERM)])
    number = child(COMMANDS[name].words, folder)
    time.sleep(draw.random() * faults.seconds[name] / 2)
    os.kill(number, sent)
    if draw.random() < 0.3:  # and once more
        time.sleep(draw.random() / 10)
        os.kill(number, sent)
    return f"{told} at a random moment", waited(number), _said(folder)


def full(faults: Faults, name: str, folder: Path, draw: random.Random) -> tuple[str, int | None, str]:
    """Files may have so many bytes and no more."""
    most = draw.choice([0, 1, 10, 100, 1_000, 10_000, 60_000])

    def prepare() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    read, write = os.pipe()  # what is printed goes elsewhere
    number = child(COMMANDS[name].words, folder, prepare, stdout=write)
    os.close(write)
    _drain(read)
    return "full disk", waited(number), ""


def _drain(read: int, most: int | None = None) -> None:
    left = most
    while (left is None or left > 0) and (data := os.read(read, 4096 if left is None else min(left, 4096))):
        left = None if left is None else left - len(data)
    os.close(read)


def closed(faults: Faults, name: str, folder: Path, draw: random.Random) -> tuple[str, int | None, str]:
    """A pipe that somebody stops reading, or a stdout on a full device."""
    if draw.random() < 0.3:
        device = os.open("/dev/full", os.O_WRONLY)
        number = child(COMMANDS[name].words, folder, stdout=device)
        os.close(device)
        return "full stdout", waited(number), _said(folder)
    read, write = os.pipe()
    number = child(COMMANDS[name].words, folder, stdout=write)
    os.close(write)
    _drain(read, draw.choice([0, 1, 100, 500]))
    return "closed pipe", waited(number), _said(folder)


Kind = Callable[[Faults, str, Path, random.Random], tuple[str, "int | None", str]]
KINDS: list[Kind] = [
    *([in_the_window] * 6),
    *([at_random] * 4),
    full,
    full,
    closed,
    closed,
]


@contextlib.contextmanager
def place() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="faults-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tests.faults", description=(__doc__ or "").split("\n")[0])
    options.add_argument("--faults", type=int, default=1000, help="how many")
    options.add_argument("--minutes", type=float, default=30, help="the most time")
    options.add_argument("--seed", type=int, default=0, help="another number, other faults")
    options.add_argument("--first", type=int, default=0, help="the number of the first")
    options.add_argument("--command", choices=sorted(COMMANDS), help="this command alone")
    given = options.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # shells let what runs in the background ignore it
    names, until = [given.command] if given.command else list(COMMANDS), time.time() + 60 * given.minutes
    with place() as folder:
        faults = Faults(folder)
        if wrong := faults.warm(names):
            print("\n".join(wrong))
            return 1
        for number in range(given.first, given.first + given.faults):
            if time.time() > until:
                break
            faults.run(number, given.seed, names)
        print(
            json.dumps(
                {
                    "faults": faults.counts.total(),
                    "failures": len(faults.failed),
                    "by kind": dict(faults.counts.most_common()),
                    "by status": dict(faults.ends.most_common()),
                },
                indent=1,
            )
        )
    return bool(faults.failed)


if __name__ == "__main__":
    sys.exit(main())
