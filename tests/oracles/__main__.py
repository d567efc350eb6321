"""Answers against oracles that share nothing with them: ``python -m tests.oracles --cases 10000 --minutes 10``.

Brute force, another solver, arithmetic in fractions and integrals answer the same questions as the product, about
small tables with ties, hubs, chains, single reviews and separate pieces. All oracles have the same time, so that the
quick ones are asked more often. Cases of each are numbered, and the same number is the same case: ``--oracle``,
``--seed`` and ``--first`` ask one again. A finding ends the command with status 1.
"""

import argparse
import sys
import time
import traceback
import warnings
from collections import Counter

import numpy as np

from tests.oracles import assignments, fits, graphs, plans, probabilities
from tests.oracles.oracle import FINE, Oracle

ORACLES: list[Oracle] = [*graphs.ORACLES, *plans.ORACLES, *assignments.ORACLES, *fits.ORACLES, *probabilities.ORACLES]

#: Begins the names of outcomes that end the command with status 1; the rest is the kind of the finding.
FINDING = "finding, "


def ask(oracle: Oracle, seed: int, number: int) -> str:
    """Ask one case; whatever is raised is a finding."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return oracle.ask(np.random.default_rng([seed, number]))
        except Exception:  # a finding is whatever is raised
            return f"raised: {traceback.format_exc()}"


def run(oracles: list[Oracle], cases: int, minutes: float, seed: int = 0, first: int = 0) -> dict[str, Counter[str]]:
    """Ask up to this number of cases of each oracle, always of the one that has had the least time; return counts."""
    counts: dict[str, Counter[str]] = {oracle.name: Counter() for oracle in oracles}
    seconds = dict.fromkeys(counts, 0.0)
    end = time.monotonic() + 60 * minutes
    for _ in range(cases * len(oracles)):
        start = time.monotonic()
        if start > end:
            break
        remaining = [oracle for oracle in oracles if counts[oracle.name].total() < cases]
        oracle = min(remaining, key=lambda oracle: seconds[oracle.name])
        number = first + counts[oracle.name].total()
        outcome = ask(oracle, seed, number)
        seconds[oracle.name] += time.monotonic() - start
        if outcome not in FINE:
            print(f"finding {number}, {oracle.name}: {outcome}", flush=True)
            outcome = f"{FINDING}{outcome.split(':')[0]}"
        counts[oracle.name][outcome] += 1
    return counts


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tests.oracles", description=(__doc__ or "").split("\n")[0])
    options.add_argument("--cases", type=int, default=10_000, help="the most of each oracle")
    options.add_argument("--minutes", type=float, default=10, help="the most time")
    options.add_argument("--seed", type=int, default=0, help="another number, other cases")
    options.add_argument("--first", type=int, default=0, help="the number of the first of each")
    options.add_argument("--oracle", choices=[oracle.name for oracle in ORACLES], help="this oracle alone")
    chosen = options.parse_args()
    oracles = [oracle for oracle in ORACLES if chosen.oracle in (None, oracle.name)]
    counts = run(oracles, chosen.cases, chosen.minutes, chosen.seed, chosen.first)
    for oracle in oracles:
        print(f"{oracle.name}, against {oracle.words}: {dict(counts[oracle.name])}")
    return int(any(outcome.startswith(FINDING) for count in counts.values() for outcome in count))


if __name__ == "__main__":
    sys.exit(main())
