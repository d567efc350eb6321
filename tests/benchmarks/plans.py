"""Length, lower bound and seconds of plans for random tables: ``python -m tests.benchmarks.plans [--seeds 5]``.

Without a limit in seconds plans are the same on every machine, so that two versions can be compared line by line; the
last line is the command ``plan`` on a file of 1,000 papers, the processor's time of a fresh process.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import numpy as np

import planner
from reviewgraph import Search
from reviewgraph.graph import random_assignment
from tests.benchmarks.harness.tables import write_files
from tests.benchmarks.rows import COMMAND
from tests.planner.plans.plan_cases import verify_plan

#: Papers, reviewers and papers of each.
FEW = [(N, M, k) for N in (50, 100, 200) for M in (N // 3, 2 * N // 3, N) for k in (3, 4, 5)]
MANY = [(1000, 350, 5), (1000, 500, 5), (1000, 667, 5), (1000, 1000, 4), (1000, 1000, 3)]
HEAD = "| papers | reviewers | each | seed | status | reviews | bound | CPU s |\n|---|---|---|---|---|---|---|---|"


def lines(shapes: list[tuple[int, int, int]], seeds: int, limit: float | None) -> Iterator[str]:
    """Yield a line for each plan."""
    for shape in shapes:
        for seed in range(seeds):
            table = random_assignment(*shape, np.random.default_rng(seed))
            start = time.process_time()
            plan = planner.plan(table, search=Search(time_limit=limit))
            seconds = time.process_time() - start
            verify_plan(plan)
            cells = [*shape, seed, plan.status, plan.count, plan.lower_bound, f"{seconds:.2f}"]
            yield f"| {' | '.join(map(str, cells))} |"


def command(words: list[str]) -> str:
    """Return the processor's seconds of the command on 1,000 papers, the least of three fresh processes."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        names = write_files(1000, 1000, 3, np.random.default_rng(1))
        seconds = []
        for _ in range(3):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, *COMMAND, *(names.get(word, word) for word in words)], capture_output=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return f"reviewgraph {' '.join(words)}: {min(seconds):.2f} s"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seeds", type=int, default=1, help="tables of each shape of up to 200 papers (1)")
    parser.add_argument("--many", type=int, default=3, help="tables of each shape of 1,000 papers (3)")
    parser.add_argument("--limit", type=float, help="seconds for a plan (by its work)")
    options = parser.parse_args()
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path.cwd()), os.environ.get("PYTHONPATH", "")])
    for words in (["plan", "TABLE", "--time-limit", "0.5"], ["plan", "TABLE"], ["check", "TABLE"]):
        print(command(words), flush=True)
    print(HEAD, flush=True)
    for line in lines(MANY, options.many, options.limit):
        print(line, flush=True)
    for line in lines(FEW, options.seeds, options.limit):
        print(line, flush=True)


if __name__ == "__main__":
    main()
