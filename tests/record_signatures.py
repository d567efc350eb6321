"""Record the kernels that commands call and the types of their arguments: ``python -m tests.record_signatures``.

Writes ``reviewgraph/graph/kernels/signatures.json``, by which kernels are compiled when the distribution is installed.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from reviewgraph.cli.command import main
from reviewgraph.graph.kernels.ahead import LISTED, spell
from reviewgraph.graph.kernels.compiling import POLICY, Kernel

PACKAGES = ("reviewgraph", "planner", "lsc")
#: Papers, reviewers and reviews per paper: arrays of small tables have other types than those of large ones.
SIZES = ((60, 50, 3), (1_000, 1_000, 3), (22_000, 20_000, 4))
#: The commands, where TABLE, ITEMS, REVIEWERS and AFFINITY are files.
JOBS = (
    "check TABLE",
    "calibrate TABLE",
    "calibrate TABLE --method lsc",
    "calibrate TABLE --method lsc --hypothesis monotone",
    "calibrate TABLE --method lsc --hypothesis convex",
    "plan TABLE --time-limit 30",
    "assign --items ITEMS --reviewers REVIEWERS --affinity AFFINITY --time-limit 30",
)


def write_files(items: int, reviewers: int, per_item: int, rng: np.random.Generator) -> dict[str, str]:
    """Write a table of integer scores and one of affinities to this folder; returns their names."""
    names = {name: f"{name}-{items}.csv" for name in ("TABLE", "ITEMS", "REVIEWERS", "AFFINITY")}
    quality, severity = rng.normal(5.5, 1.5, items), rng.normal(0.0, 0.8, reviewers)
    rows, pairs = ["reviewer,item,score"], ["reviewer,item,affinity"]
    for i in range(items):
        for j in rng.choice(reviewers, per_item, replace=False).tolist():
            score = int(np.clip(np.rint(quality[i] + severity[j] + rng.normal()), 1, 10))
            rows.append(f"r{j},p{i},{score}")
        pairs += [f"r{j},p{i},{rng.beta(1, 6):.4f}" for j in rng.choice(reviewers, min(40, reviewers), replace=False)]
    Path(names["TABLE"]).write_text("\n".join(rows) + "\n")
    Path(names["AFFINITY"]).write_text("\n".join(pairs) + "\n")
    Path(names["ITEMS"]).write_text("item\n" + "".join(f"p{i}\n" for i in range(items)))
    Path(names["REVIEWERS"]).write_text("reviewer,load\n" + "".join(f"r{j},6\n" for j in range(reviewers)))
    return names


def run_commands() -> None:
    """Run all commands on tables of all sizes, with compiled kernels."""
    for size in SIZES:
        names = write_files(*size, np.random.default_rng(1))
        for job in JOBS:
            print(size[0], job, file=sys.stderr, flush=True)
            with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit), POLICY.at_once():
                main([names.get(word, word) for word in job.split()])


def signatures() -> dict[str, list[Any]]:
    """Return the types of arguments with which Python called kernels so far, by the name of the kernel."""
    ours = [module for name, module in sorted(sys.modules.items()) if name.partition(".")[0] in PACKAGES]
    found = {}
    for kernel in {id(value): value for module in ours for value in vars(module).values()}.values():
        if isinstance(kernel, Kernel) and "compiled" in vars(kernel):
            called = [[spell(kind) for kind in kinds] for kinds in kernel.compiled.overloads]  # type: ignore[attr-defined]
            found[f"{kernel.__module__}:{kernel.__name__}"] = sorted(called, key=json.dumps)
    return dict(sorted(found.items()))


if __name__ == "__main__":
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        os.environ["NUMBA_CACHE_DIR"] = folder
        run_commands()
    lines = [f"{json.dumps(name)}: {json.dumps(called)}" for name, called in signatures().items()]
    LISTED.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{len(lines)} kernels, {LISTED.stat().st_size:,} bytes", file=sys.stderr)
