"""Damaged files through every reader: ``python -m tests.fuzz_readers --inputs 100000 --minutes 30``.

A reader answers, or refuses in one message (:func:`tests.readers.read`); whatever else it does is a finding: another
exception, more than :data:`SECONDS` or :data:`MEMORY`, the end of the process. Inputs are numbered, and the same number
is the same input: ``--seed``, ``--reader`` and ``--first`` run one again. Processes of their own read a thousand
inputs each, so that one that dies is noticed. ``--coverage`` lets Atheris choose the damages by the branches that they
reach, where it is installed. Findings are kept in a folder (``--keep``); mended, they belong into tests/corpus, whose
files the tests read with every reader.
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
import signal
import sys
import tempfile
import time
import traceback
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.damages import damaged
from tests.readers import CASES, READERS, Case, read

CORPUS = Path(__file__).parent / "corpus"
#: What one input may take.
SECONDS, MEMORY = 10, 1 << 30
#: Inputs that one process reads, and the most seconds that it may take.
BATCH, PATIENCE = 1000, 600


class Hang(BaseException):
    """An input takes too long; no ``except Exception`` of a reader may catch it."""


def drawn(seed: int, number: int, reader: str | None = None) -> Case:
    """Return an input by its number: a damaged file, for its own reader mostly."""
    draw = random.Random(f"{seed} {number}")
    cases = [case for case in CASES if reader in (None, case.reader)] or CASES
    case = cases[number % len(cases)] if draw.random() < 0.9 else draw.choice(CASES)
    data = damaged(case.data, draw)
    if draw.random() < 0.05:
        other = draw.choice(CASES).data
        data = data[: draw.randrange(len(data) + 1)] + other[draw.randrange(len(other)) :]
    chosen = reader or (case.reader if draw.random() < 0.9 else draw.choice(sorted(READERS)))
    return Case(chosen, case.name, data)


@contextlib.contextmanager
def bounded(seconds: float) -> Iterator[None]:
    """Raise Hang where an input takes too long."""

    def over(*_: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def outcome(case: Case, folder: Path, seconds: float = SECONDS) -> str:
    """Return ``answered`` or ``refused``, or what is wrong: the exception and where it comes from."""
    path = folder / case.name
    path.write_bytes(case.data)
    try:
        with bounded(seconds), warnings.catch_warnings():
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


def batch(numbers: range, seed: int, reader: str | None, until: float, folder: str, told: Any) -> None:
    """Read some inputs in a process of its own; each stands in the folder while it is read."""
    # Loaded before memory is short: what a failed import leaves behind fails all that follows.
    for case in CASES:
        outcome(case, Path(folder))
    limited()
    for number in numbers:
        if time.time() > until:
            break
        case = drawn(seed, number, reader)
        told.send((number, case.reader, outcome(case, Path(folder))))
    told.send(None)


class Findings:
    """What was read, and what went wrong; one input of each kind of failure is kept."""

    def __init__(self, keep: Path) -> None:
        self.keep = keep
        self.counts: collections.Counter[str] = collections.Counter()
        self.readers: collections.Counter[str] = collections.Counter()
        self.kinds: collections.Counter[str] = collections.Counter()

    def add(self, case: Case, found: str, number: object) -> None:
        self.readers[case.reader] += 1
        if found in ("answered", "refused"):
            self.counts[found] += 1
            return
        self.counts["findings"] += 1
        kind = f"{case.reader}: {found}"
        self.kinds[kind] += 1
        if self.kinds[kind] == 1:
            self.keep.mkdir(parents=True, exist_ok=True)
            (self.keep / f"{number}-{case.name}").write_bytes(case.data)
            print(f"finding {number}: {kind}", flush=True)

    def figures(self) -> dict[str, Any]:
        few = self.readers.most_common()[-1] if self.readers else ("none", 0)
        return {
            "inputs": sum(self.readers.values()),
            "readers": len(self.readers),
            "fewest inputs of a reader": few[1],
            **{name: self.counts[name] for name in ("answered", "refused", "findings")},
            "kinds of findings": len(self.kinds),
        }


def run(inputs: int, minutes: float, seed: int, reader: str | None, first: int, keep: Path, jobs: int) -> Findings:
    """Read inputs, in so many processes at once, until there are enough or time is over."""
    findings, until, fresh = Findings(keep), time.time() + 60 * minutes, multiprocessing.get_context("forkserver")
    fresh.set_forkserver_preload(["tests.readers"])
    work = iter(range(first, first + inputs, BATCH))
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir=_fast()) as place:
        under: list[tuple[Any, Any, range, float]] = []
        while True:
            while len(under) < jobs and time.time() < until and (start := next(work, None)) is not None:
                numbers = range(start, min(start + BATCH, first + inputs))
                here, there = fresh.Pipe(duplex=False)
                folder = tempfile.mkdtemp(dir=place)
                process = fresh.Process(target=batch, args=(numbers, seed, reader, until, folder, there))
                process.start()
                there.close()
                under.append((process, here, numbers, time.time()))
            if not under:
                return findings
            under = [one for one in under if not _ended(*one, seed, reader, findings)]
            time.sleep(0.05)


def _ended(
    process: Any, told: Any, numbers: range, began: float, seed: int, reader: str | None, findings: Findings
) -> bool:
    """Take what a process tells, and return whether it is over: at its end, or dead, or killed for its silence."""
    last = numbers.start - 1
    try:
        while told.poll():
            entry = told.recv()
            if entry is None:
                process.join()
                return True
            last, name, found = entry
            findings.add(
                drawn(seed, last, reader) if found not in ("answered", "refused") else Case(name, "", b""), found, last
            )
            process.seen = last
    except EOFError:
        process.join()
        number = getattr(process, "seen", last) + 1
        findings.add(drawn(seed, number, reader), f"the process ends with {process.exitcode}", number)
        return True
    if time.time() - began > PATIENCE:
        process.kill()
    return False


def _fast() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def guided(inputs: int, minutes: float, seed: int, keep: Path) -> Findings:
    """Let Atheris choose inputs: the first byte of one says which case it begins as, damages are ours and its own."""
    import atheris

    findings, until = Findings(keep), time.time() + 60 * minutes
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir=_fast()) as place:
        corpus, folder = Path(place, "corpus"), Path(place, "work")
        corpus.mkdir()
        folder.mkdir()
        for number, case in enumerate(CASES):
            (corpus / str(number)).write_bytes(bytes([number % 256]) + case.data)
            outcome(case, folder)

        def one(data: bytes) -> None:
            if data:
                case = CASES[data[0] % len(CASES)]._replace(data=data[1:])
                findings.add(case, outcome(case, folder), f"guided-{sum(findings.readers.values())}")
            if time.time() > until or sum(findings.readers.values()) >= inputs:
                print(json.dumps(findings.figures(), indent=1), flush=True)
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
    return findings


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tests.fuzz_readers", description=(__doc__ or "").split("\n")[0])
    options.add_argument("--inputs", type=int, default=100_000, help="how many files")
    options.add_argument("--minutes", type=float, default=30, help="the most time")
    options.add_argument("--seed", type=int, default=0, help="another number, other damages")
    options.add_argument("--reader", choices=sorted(READERS), help="this reader alone")
    options.add_argument("--first", type=int, default=0, help="the number of the first input")
    options.add_argument("--jobs", type=int, default=1, help="processes")
    options.add_argument("--keep", type=Path, default=Path("findings"), help="folder for what fails")
    options.add_argument("--coverage", action="store_true", help="guided by Atheris")
    given = options.parse_args()
    if given.coverage:
        findings = guided(given.inputs, given.minutes, given.seed, given.keep)
    else:
        findings = run(given.inputs, given.minutes, given.seed, given.reader, given.first, given.keep, given.jobs)
    for kind, count in findings.kinds.most_common():
        print(f"{count:6} x {kind}")
    print(json.dumps(findings.figures(), indent=1))
    return bool(findings.kinds)


if __name__ == "__main__":
    sys.exit(main())
