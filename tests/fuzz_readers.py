"""Damaged files through every reader: ``python -m tests.fuzz_readers --inputs 1000 --minutes 30``.

A reader answers, or refuses in one message (:func:`tests.readers.read`); whatever else it does is a finding: another
exception, more than :data:`SECONDS` and :data:`A_BYTE` for each byte of it, or :data:`MEMORY`, the end of the process.
Inputs are numbered, the readers take them in turn, and the same number is the same input: ``--seed`` and ``--first``
read one again. Processes of their own read some thousand inputs each, so that one that dies is noticed. Runs add up in
a file (``--total``): each goes on where the last ended. ``--coverage`` lets Atheris choose the damages by the branches
that they reach, where it is installed. Findings are kept in a folder (``--keep``); mended, they belong into
tests/corpus, whose files the tests read with every reader.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import gc
import json
import multiprocessing
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import types
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from tests.damages import damaged
from tests.readers import CASES, READERS, Case, read

CORPUS = Path(__file__).parent / "corpus"
#: What one input may take: seconds of the processor, for the machine may be busy, and so many more for each byte.
SECONDS, A_BYTE, MEMORY = 2, 1e-4, 1 << 30
#: Inputs that one process reads, and the most seconds between two of them.
BATCH, PATIENCE = 5_000, 300
NAMES = sorted(READERS)
OWN = {name: [case for case in CASES if case.reader == name] or CASES for name in NAMES}


class Hang(BaseException):
    """An input takes too long; no ``except Exception`` of a reader may catch it."""


def drawn(seed: int, number: int) -> Case:
    """Return an input by its number, for the readers in turn: a damaged file, a file of this reader mostly."""
    draw, reader = random.Random(f"{seed} {number}"), NAMES[number % len(NAMES)]
    case = draw.choice(OWN[reader] if draw.random() < 0.9 else CASES)
    data = damaged(case.data, draw)
    if draw.random() < 0.05:
        other = draw.choice(CASES).data
        data = data[: draw.randrange(len(data) + 1)] + other[draw.randrange(len(other)) :]
    return Case(reader, case.name, data)


@contextlib.contextmanager
def bounded(seconds: float) -> Iterator[None]:
    """Raise Hang where an input takes too long."""

    def over(*_: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGPROF, over)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def outcome(case: Case, folder: Path, seconds: float | None = None) -> str:
    """Return ``answered`` or ``refused``, or what is wrong: the exception and where it comes from."""
    path = folder / case.name
    path.write_bytes(case.data)
    try:
        with bounded(SECONDS + A_BYTE * len(case.data) if seconds is None else seconds), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return "answered" if read(case.reader, str(path)) else "refused"
    except Hang:
        return f"hang {_place()}"
    except BaseException as error:  # a finding is whatever is raised
        told = str(error).splitlines()[0][:90] if str(error) else ""
        return f"{type(error).__name__} {_place()}: {told}"


def _place() -> str:
    """Return the last place in the packages that the current exception passed."""
    frames = traceback.extract_tb(sys.exc_info()[2])
    ours = [frame for frame in frames if any(f"/{name}/" in frame.filename for name in ("reviewgraph", "lsc"))]
    last = (ours or frames)[-1]
    return f"{Path(last.filename).name}:{last.name}"


def limited() -> None:
    """Let this process have little more memory than it has."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY,) * 2)


def batch(numbers: range, seed: int, until: float, folder: str, told: Any) -> None:
    """Read some inputs in a process of its own; each stands in the folder while it is read."""
    # Loaded before memory is short: what a failed import leaves behind fails all that follows.
    for case in CASES:
        outcome(case, Path(folder))
    limited()
    for number in numbers:
        if time.time() > until:
            break
        case = drawn(seed, number)
        told.send((number, case.reader, outcome(case, Path(folder))))
    told.send(None)


class Findings:
    """What was read, and what went wrong; one input of each kind of failure is kept."""

    def __init__(self, keep: Path) -> None:
        self.keep = keep
        self.readers: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
        self.kinds: collections.Counter[str] = collections.Counter()

    def add(self, reader: str, found: str, number: object, case: Callable[[], Case]) -> None:
        """Count an input; it is drawn again only where it is a finding."""
        fine = found in ("answered", "refused")
        self.readers[reader][found if fine else "findings"] += 1
        if fine:
            return
        kind = f"{reader}: {found}"
        self.kinds[kind] += 1
        if self.kinds[kind] == 1:
            self.keep.mkdir(parents=True, exist_ok=True)
            (self.keep / f"{number}-{case().name}").write_bytes(case().data)
            print(f"finding {number}: {kind}", flush=True)

    def figures(self) -> dict[str, Any]:
        counts = sum(self.readers.values(), collections.Counter[str]())
        return {
            "inputs": counts.total(),
            "readers": len(self.readers),
            "fewest inputs of a reader": min((count.total() for count in self.readers.values()), default=0),
            **{name: counts[name] for name in ("answered", "refused", "findings")},
            "kinds of findings": len(self.kinds),
        }


class Batch:
    """A process that reads some inputs, and what it has told."""

    def __init__(self, numbers: range, seed: int, until: float, place: str) -> None:
        fresh = multiprocessing.get_context("forkserver")
        fresh.set_forkserver_preload(["tests.readers"])
        self.told, there = fresh.Pipe(duplex=False)
        self.seed, self.left, self.heard = seed, numbers, time.time()
        folder = tempfile.mkdtemp(dir=place)
        self.process = fresh.Process(target=batch, args=(numbers, seed, until, folder, there))
        self.process.start()
        there.close()

    def ended(self, findings: Findings) -> bool:
        """Take what it tells, and return whether it is over: at its end, or dead, or killed for its silence."""
        try:
            while self.told.poll():
                entry = self.told.recv()
                if entry is None:
                    self.process.join()
                    return True
                number, reader, found = entry
                self.heard, self.left = time.time(), self.left[1:]
                findings.add(reader, found, number, partial(drawn, self.seed, number))
        except EOFError:
            self.process.join()
            case, number, self.left = drawn(self.seed, self.left[0]), self.left[0], self.left[1:]
            findings.add(case.reader, f"the process ends with {self.process.exitcode}", number, lambda: case)
            return True
        if time.time() - self.heard > PATIENCE:
            self.process.kill()
        return False


class Run:
    """Inputs that are left to be read, and what was found in those that were."""

    def __init__(self, left: list[range], seed: int, findings: Findings, total: Path | None = None) -> None:
        self.left, self.seed, self.findings, self.total = left, seed, findings, total
        if total and total.exists():
            before = json.loads(total.read_text())
            self.left, self.seed = [range(*numbers) for numbers in before["left"]], before["seed"]
            findings.kinds.update(before["kinds"])
            for name, count in before["readers"].items():
                findings.readers[name].update(count)

    def read(self, minutes: float, jobs: int) -> None:
        """Read inputs, in so many processes at once, until none is left, time is over, or Ctrl-C."""
        until, under = time.time() + 60 * minutes, list[Batch]()
        with tempfile.TemporaryDirectory(prefix="fuzz-", dir=_fast()) as place:
            with contextlib.suppress(KeyboardInterrupt):
                while under or (self.left and time.time() < until):
                    while len(under) < jobs and self.left and time.time() < until:
                        numbers = self.left.pop(0)
                        if rest := numbers[BATCH:]:
                            self.left.insert(0, rest)
                        under.append(Batch(numbers[:BATCH], self.seed, until, place))
                    for one in [one for one in under if one.ended(self.findings)]:
                        under.remove(one)
                        self.left[:0] = [one.left] if one.left else []
                        self.keep([*(other.left for other in under if other.left), *self.left])
                    time.sleep(0.05)
            for one in under:
                one.process.kill()
                one.process.join()
            self.keep([*(one.left for one in under if one.left), *self.left])

    def keep(self, left: list[range]) -> None:
        """Write what was found so far, where it is to be kept."""
        if self.total:
            found = {name: self.findings.readers[name] for name in NAMES if name in self.findings.readers}
            numbers = [[part.start, part.stop, part.step] for part in left]
            kept = {"seed": self.seed, "left": numbers, "kinds": self.findings.kinds, "readers": found}
            self.total.write_text(json.dumps(kept, indent=1))


def _fast() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def guided(inputs: int, minutes: float, seed: int, findings: Findings) -> None:
    """Let Atheris choose inputs: the first byte of one says which case it begins as, damages are ours and its own."""
    import atheris

    until, done = time.time() + 60 * minutes, 0
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir=_fast()) as place:
        corpus, folder = Path(place, "corpus"), Path(place, "work")
        corpus.mkdir()
        folder.mkdir()
        for number, case in enumerate(CASES):
            (corpus / str(number)).write_bytes(bytes([number % 256]) + case.data)
            outcome(case, folder)

        def one(data: bytes) -> None:
            nonlocal done
            if data:
                case = CASES[data[0] % len(CASES)]._replace(data=data[1:])
                findings.add(case.reader, outcome(case, folder), f"guided-{done}", lambda: case)
                done += 1
            if time.time() > until or done >= inputs:
                print(json.dumps(findings.figures(), indent=1), flush=True)
                shutil.rmtree(place)
                os._exit(bool(findings.kinds))  # libFuzzer has no other end

        def mutate(data: bytes, longest: int, number: int) -> bytes:
            draw = random.Random(number)
            if len(data) < 2 or draw.random() < 0.5:
                return atheris.Mutate(data, longest)
            return (data[:1] + damaged(data[1:], draw))[:longest]

        for function in gc.get_objects():
            if isinstance(function, types.FunctionType) and (function.__module__ or "").startswith("reviewgraph."):
                atheris.instrument_func(function)
        atheris.Setup(
            [sys.argv[0], str(corpus), "-max_len=100000", f"-seed={seed}", "-verbosity=0", "-rss_limit_mb=4000"],
            one,
            custom_mutator=mutate,
        )
        atheris.Fuzz()


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tests.fuzz_readers", description=(__doc__ or "").split("\n")[0])
    options.add_argument("--inputs", type=int, default=1_000, help="how many files for each reader")
    options.add_argument("--minutes", type=float, default=30, help="the most time")
    options.add_argument("--seed", type=int, default=0, help="another number, other damages")
    options.add_argument("--reader", choices=NAMES, help="this reader alone")
    options.add_argument("--first", type=int, default=0, help="the number of the first input")
    options.add_argument("--jobs", type=int, default=1, help="processes")
    options.add_argument("--keep", type=Path, default=Path("findings"), help="folder for what fails")
    options.add_argument("--total", type=Path, help="file to keep what was found and is left; it goes on with that")
    options.add_argument("--coverage", action="store_true", help="guided by Atheris, so many files in all")
    given = options.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # shells let what runs in the background ignore it
    findings = Findings(given.keep)
    if given.coverage:
        guided(given.inputs, given.minutes, given.seed, findings)
    # Readers take the numbers in turn.
    numbers = range(given.first, given.first + given.inputs * len(NAMES))
    if given.reader:
        numbers = numbers[(NAMES.index(given.reader) - given.first) % len(NAMES) :: len(NAMES)]
    Run([numbers], given.seed, findings, given.total).read(given.minutes, given.jobs)
    for kind, count in findings.kinds.most_common():
        print(f"{count:6} x {kind}")
    print(json.dumps(findings.figures(), indent=1))
    return bool(findings.kinds)


if __name__ == "__main__":
    sys.exit(main())
