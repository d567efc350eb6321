"""Answers against oracles that share nothing with them: ``python -m tests.oracles --cases 10000 --minutes 10``.

Brute force, other solvers, arithmetic in fractions, long chains and integrals answer the same questions as the product,
about small tables with ties, hubs, chains, single reviews and separate pieces. All oracles have the same time, so that
the quick ones are asked more often. Cases of each are numbered, and the same number is the same case: ``--oracle``,
``--seed`` and ``--first`` ask one again. A finding ends the command with status 1.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter

import numpy as np

from tests.oracles import beliefs, commands, fits, graphs, plans
from tests.oracles.oracle import Oracle

ORACLES: list[Oracle] = [
    *graphs.ORACLES,
    *plans.ORACLES,
    *fits.ORACLES,
    *beliefs.ORACLES,
    *commands.ORACLES,
]
#: What is no finding.
FINE = ("agrees", "untold", "nothing to ask")


class Tally:
    """What became of the cases of one oracle."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.seconds = 0.0

    def add(self, found: str, seconds: float) -> None:
        if self.counts:  # the first case also loads and compiles
            self.seconds += seconds
        self.counts[found if found in FINE else "findings"] += 1

    def line(self, oracle: Oracle) -> str:
        told = [f"{self.counts[name]:8}" for name in (*FINE, "findings")]
        return f"{oracle.name:22} {oracle.words:45} {' '.join(told)} {self.seconds:8.0f}"


def asked(oracle: Oracle, seed: int, number: int) -> str:
    """Ask one case, in a folder of its own; whatever is raised is a finding."""
    rng = np.random.default_rng([seed, number])
    with tempfile.TemporaryDirectory(prefix="oracles-") as folder, contextlib.chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return oracle.ask(rng)
        except Exception:  # a finding is whatever is raised
            return traceback.format_exc()


def run(oracles: list[Oracle], cases: int, minutes: float, seed: int = 0, first: int = 0) -> dict[str, Tally]:
    """Ask so many cases of each oracle, always of the one that has had the least time, until time is over."""
    tallies, until = {oracle.name: Tally() for oracle in oracles}, time.monotonic() + 60 * minutes
    for _ in range(cases * len(oracles)):
        began = time.monotonic()
        if began > until:
            break
        left = [oracle for oracle in oracles if tallies[oracle.name].counts.total() < cases]
        oracle = min(left, key=lambda one: tallies[one.name].seconds)
        tally = tallies[oracle.name]
        number = first + tally.counts.total()
        found = asked(oracle, seed, number)
        tally.add(found, time.monotonic() - began)
        if found not in FINE:
            print(f"finding {number}, {oracle.name}: {found}", flush=True)
    return tallies


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tests.oracles", description=(__doc__ or "").split("\n")[0])
    options.add_argument("--cases", type=int, default=10_000, help="the most of each oracle")
    options.add_argument("--minutes", type=float, default=10, help="the most time")
    options.add_argument("--seed", type=int, default=0, help="another number, other cases")
    options.add_argument("--first", type=int, default=0, help="the number of the first of each")
    options.add_argument("--oracle", choices=[oracle.name for oracle in ORACLES], help="this oracle alone")
    given = options.parse_args()
    oracles = [oracle for oracle in ORACLES if given.oracle in (None, oracle.name)]
    tallies = run(oracles, given.cases, given.minutes, given.seed, given.first)
    print(f"{'oracle':22} {'against':45} {'agree':>8} {'untold':>8} {'none':>8} {'findings':>8} {'seconds':>8}")
    for oracle in oracles:
        print(tallies[oracle.name].line(oracle))
    findings = sum(tally.counts["findings"] for tally in tallies.values())
    total = sum(tally.counts.total() for tally in tallies.values())
    print(f"{total} cases, {findings} findings")
    return bool(findings)


if __name__ == "__main__":
    sys.exit(main())
