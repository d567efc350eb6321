"""Damaged files through every reader: ``python -m tests.fuzz_readers --inputs 1000 --minutes 30``.

A reader answers, or refuses in one message (:func:`tests.readers.read`); whatever else it does is a finding: another
exception, more than :data:`SECONDS` and :data:`A_BYTE` for each byte of it, or more than :data:`MEMORY`. Inputs are
numbered, the readers take them in turn, and the same number is the same input: ``--seed`` and ``--first`` read one
again. Findings are kept in a folder (``--keep``); mended, they belong into tests/corpus, whose files the tests read
with every reader.
"""

import argparse
import collections
import contextlib
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path

from tests.damages import damaged
from tests.readers import CASES, READERS, Case, read

CORPUS = Path(__file__).parent / "corpus"
#: What one input may take: seconds of the processor, for the machine may be busy, and so many more for each byte.
SECONDS, A_BYTE, MEMORY = 2, 1e-4, 1 << 30
NAMES = sorted(READERS)
OF_READER = {name: [case for case in CASES if case.reader == name] or CASES for name in NAMES}


class Hang(BaseException):
    """An input takes too long; no ``except Exception`` of a reader may catch it."""


def drawn(seed: int, number: int) -> Case:
    """Return an input by its number, for the readers in turn: a damaged file, a file of this reader mostly."""
    draw = random.Random(f"{seed} {number}")
    reader = NAMES[number % len(NAMES)]
    case = draw.choice(OF_READER[reader] if draw.random() < 0.9 else CASES)
    data = damaged(case.data, draw)
    if draw.random() < 0.05:
        second = draw.choice(CASES).data
        data = data[: draw.randrange(len(data) + 1)] + second[draw.randrange(len(second)) :]
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
        line = str(error).splitlines()[0][:90] if str(error) else ""
        return f"{type(error).__name__} {_place()}: {line}"


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


def search(numbers: range, seed: int, until: float, keep: Path, folder: Path) -> collections.Counter[str]:
    """Read inputs until time is over, keep one of each kind of finding, and return the number of each outcome."""
    # Loaded before memory is short: what a failed import leaves behind fails all that follows.
    for case in CASES:
        outcome(case, folder)
    limited()
    counts = collections.Counter[str]()
    for number in numbers:
        if time.time() > until:
            break
        case = drawn(seed, number)
        result = outcome(case, folder)
        kind = result if result in ("answered", "refused") else f"{case.reader}: {result}"
        counts[kind] += 1
        if kind != result and counts[kind] == 1:
            keep.mkdir(parents=True, exist_ok=True)
            (keep / f"{number}-{case.name}").write_bytes(case.data)
            print(f"finding {number}: {kind}", flush=True)
    return counts


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tests.fuzz_readers", description=(__doc__ or "").split("\n")[0])
    options.add_argument("--inputs", type=int, default=1_000, help="how many files for each reader")
    options.add_argument("--minutes", type=float, default=30, help="the most time")
    options.add_argument("--seed", type=int, default=0, help="another number, other damages")
    options.add_argument("--reader", choices=NAMES, help="this reader alone")
    options.add_argument("--first", type=int, default=0, help="the number of the first input")
    options.add_argument("--keep", type=Path, default=Path("findings"), help="folder for what fails")
    chosen = options.parse_args()
    # Readers take the numbers in turn.
    numbers = range(chosen.first, chosen.first + chosen.inputs * len(NAMES))
    if chosen.reader:
        numbers = numbers[(NAMES.index(chosen.reader) - chosen.first) % len(NAMES) :: len(NAMES)]
    fast = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir=fast) as folder:
        counts = search(numbers, chosen.seed, time.time() + 60 * chosen.minutes, chosen.keep, Path(folder))
    for kind, count in counts.most_common():
        print(f"{count:6} x {kind}")
    return bool(counts.keys() - {"answered", "refused"})


if __name__ == "__main__":
    sys.exit(main())
