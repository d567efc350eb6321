"""What every command prints and writes, byte for byte, to be compared before and after a change.

``python -m tests.outputs FOLDER [WORD...]`` runs some 200 commands, or those with any of the words in them, and keeps
in the folder their inputs and their outputs; ``diff -r`` of two such folders shows what changed. Of a case there is a
transcript (commands, stdout, stderr, exit status) and the files that the commands wrote; paths of temporary folders,
versions and notes on the time that passed are normalised, nothing else.
"""

import contextlib
import multiprocessing
import os
import random
import re
import shlex
import shutil
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from unittest import mock

from click import Context
from click.testing import CliRunner, Result

import reviewgraph
from lsc.methods import METHODS
from reviewgraph.cli import main
from tests.printed import COMMON
from tests.test_next import OF_CHAIRS

ROOT = Path(__file__).parents[1]

# The commands, by the folder whose files they read. Those of a case run after each other in a copy of the folder;
# behind ">" stands the file that keeps stdout.

HYPOTHESES = ("linear", "monotone", "convex", "concave", "offset")
LEVELS = ("survives-reviewer", "survives-review", "double", "recoverable", "connected")

CHECKS = [
    "check reviews.csv",
    "check reviews.csv --json > answer.json && verify answer.json reviews.csv",
    "check reviews.csv -o groups.csv --html page.html",
    "check reviews.csv --html page.html --anonymous --select 20%",
    "check reviews.csv --fragile --missing 0.05 --json",
    "check reviews.csv --require double",
    "check reviews.csv --like reviews.csv --select 5 --json",
]
CALIBRATIONS = [
    "calibrate reviews.csv",
    "calibrate reviews.csv --json > answer.json && verify answer.json reviews.csv",
    "calibrate reviews.csv --select 20% -o calibrated.csv --html page.html",
    "calibrate reviews.csv --select 5 --lottery --seed 3 --by-group-average --json",
    *(f"calibrate reviews.csv --method {name} --select 10% --json -o calibrated.csv" for name in METHODS),
    *(f"calibrate reviews.csv --hypothesis {name} --json" for name in HYPOTHESES),
]
PLANS = [
    "plan reviews.csv",
    "plan reviews.csv --spare 1 --json > answer.json && verify answer.json reviews.csv --spare 1",
    "plan reviews.csv --spare 1 -o plan.csv --html page.html && check reviews.csv plan.csv --require double",
    *(f"plan reviews.csv --target {level} --spare 2 --json" for level in LEVELS[1:]),
    "plan reviews.csv --min-reviews 4 --spare 1 --best-effort",
    "plan reviews.csv --for decision --select 20% --max-reviews 5 --spare 1 --json",
]
#: On the small conference of tests/printed.py, which has a file for every option.
OPTIONS = [
    "plan reviews.csv --target survives-reviewer --spare 2 --json > answer.json"
    " && verify answer.json reviews.csv --target survives-reviewer --spare 2",
    "check reviews.csv --items items.csv --conflicts conflicts.csv --reviewers reviewers.csv --load 3 --demand 5",
    "check reviews.csv --gone gone.csv --json",
    "check ratings.parquet --stream --json",
    "check nothing.csv",
    "check reviews.csv affinity.csv",
    "check reviews.csv --require tripple",
    "plan reviews.csv --cost affinity.csv --columns affinity.csv:cost=affinity --spare 1 --json",
    "plan reviews.csv --affinity affinity.csv --min-affinity 0.3 --willing reviewers.csv --spare 2 -o plan.csv",
    "plan reviews.csv --attributes people.csv --at-most institution=1 --at-least senior=1 --spare 2 --json",
    "plan reviews.csv --min-reviews 5 --at-least region:a=1 --reviewers people.csv --max-per-item 1 --spare 1 --json",
    "plan reviews.csv --capacity gone.csv --columns spare=load --json",
    *(f"plan reviews.csv --min-reviews 5 --to {name} -o out" for name in ("openreview", "start", "csv", "mail")),
    "calibrate reviews.csv --explain p17 --explain p3 --json",
    "calibrate reviews.csv --method lsc --max-slope 5 --json",
    "calibrate ratings.parquet --stream --json",
    "calibrate assignment.csv",
]
MARKET = "--items papers.csv --reviewers reviewers.csv"
BIDS = f"{MARKET} --bids bids.csv"
#: Each with --load 7 --min-load 2 --json.
ASSIGNED = """--target survives-reviewer
--target survives-review
--target recoverable
--target connected
--target none
--at-most institution=1
--fair maximin
--floor 0.5 --best-effort
--alternates 2
--max-probability 0.5 --seed 4
--max-probability 0.6 --seed 4
--demand 6 --best-effort"""
ASSIGNMENTS = [
    f"assign {MARKET}",
    f"assign {BIDS} -o assigned.csv --html page.html && check assigned.csv --require double",
    f"assign {BIDS} --conflicts conflicts.csv --json > it.json && verify it.json {BIDS} --conflicts conflicts.csv",
    *(f"assign {BIDS} --load 7 --min-load 2 --json {options}" for options in ASSIGNED.split("\n")),
    *(
        f"assign {BIDS} --load 7 --to {name} -o out"
        for name in ("hotcrp", "openreview --label x", "start", "csv", "mail")
    ),
]
FAMILIES = ("linear", "convex", "concave", "monotone", "mixture", "mixed", "doubly-connected", "realistic")
SIMULATIONS = [
    *(f"simulate {name} --papers 30 --reviewers 20 --noise 0.3 --seed 5 -o made" for name in FAMILIES),
    "simulate linear --papers 12 --reviewers 9 --load 3 --where outside",
    "simulate conference --papers 12 --reviewers 9 && simulate conference --papers 13",
    "demo && demo && check reviewgraph-demo.csv --json",
    "reproduce table1 --papers 30 --trials 1 --json",
    "--version",
    "no-such-command",
    *(f"{name} --help" for name in ("", *main.list_commands(Context(main)))),
]


def tables() -> dict[str, tuple[dict[str, bytes], list[str]]]:
    """Return the files of each folder of inputs, and the cases that run in it."""
    demo = (ROOT / "reviewgraph" / "cli" / "reviewgraph-demo.csv").read_bytes()
    everything = [*CHECKS, *CALIBRATIONS, *PLANS]
    tables_by_name = {
        "nothing": ({}, SIMULATIONS),
        "demo": ({"reviews.csv": demo}, everything),
        "small": (COMMON, [*everything, *OPTIONS]),
        "realistic": (simulated("realistic --papers 60 --reviewers 40"), everything),
        "conference": (simulated("conference --papers 40 --reviewers 30"), ASSIGNMENTS),
    }
    for folder in sorted((ROOT / "tests" / "hotcrp" / "exports").glob("*/*")):
        files = {path.name: path.read_bytes() for path in folder.glob("*.*")}
        cases = [shlex.join(words) for words in OF_CHAIRS[folder.name]]
        tables_by_name[f"hotcrp {folder.parent.name} {folder.name}"] = (files, cases)
    return tables_by_name


def simulated(words: str) -> dict[str, bytes]:
    """Return the files that ``simulate`` writes."""
    with tempfile.TemporaryDirectory() as folder:
        invoke(f"simulate {words} -o {folder}")
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def invoke(line: str) -> Result:
    return CliRunner().invoke(main, shlex.split(line), prog_name="reviewgraph", env={"COLUMNS": None})


def case(task: tuple[Path, Path, str]) -> None:
    """Run the commands of a case in a copy of a folder of inputs; write transcript and files."""
    inputs, target, commands = task
    target = target.absolute()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, "folder")
        shutil.copytree(inputs, folder)
        before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        # The codes of anonymous reports are drawn anew in every run; here they are not.
        with contextlib.chdir(folder), mock.patch("secrets.SystemRandom", return_value=random.Random(0)):
            parts = [transcript(line) for line in commands.split(" && ")]
        target.mkdir(parents=True)
        for path in sorted(folder.rglob("*")):
            if path.is_file() and before.get(path) != path.read_bytes():
                copy = target / path.relative_to(folder)
                copy.parent.mkdir(exist_ok=True, parents=True)
                copy.write_bytes(normalised(path.read_bytes(), folder))
        (target / "transcript").write_bytes(normalised("".join(parts).encode(), folder))


def transcript(line: str) -> str:
    """Run a command in this folder; return it with what it printed and its status."""
    command, _, kept = line.partition(" > ")
    result = invoke(command)
    if kept:
        Path(kept).write_bytes(result.stdout_bytes)
    failure = "" if isinstance(result.exception, SystemExit | None) else f"{result.exception!r}\n"
    return f"$ {line}\n{result.stdout}--- stderr\n{result.stderr}{failure}--- status {result.exit_code}\n"


def normalised(data: bytes, folder: Path) -> bytes:
    """Return what a command wrote without what differs from run to run: paths, versions, and how far it is."""
    data = data.replace(bytes(folder), b"FOLDER").replace(reviewgraph.__version__.encode(), b"VERSION")
    return re.sub(rb"^ +[0-9.]+ s   .*\n", b"", data, flags=re.M)


def record(folder: Path, words: list[str]) -> None:
    """Record cases in a folder that does not exist, one process a processor."""
    tasks = []
    for name, (files, commands) in tables().items():
        inputs = folder / "inputs" / name
        inputs.mkdir(parents=True)
        for file, data in files.items():
            (inputs / file).write_bytes(data)
        for number, line in enumerate(commands):
            if not words or any(word in line for word in words):
                slug = re.sub(r"[^\w.%=]+", "-", line)[:80].strip("-")
                tasks.append((inputs, folder / "outputs" / name / f"{number:02} {slug}", line))
    # With several threads the last digit of a sum depends on how it was divided among them.
    os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        print(f"{len(list(pool.map(case, tasks)))} cases")


if __name__ == "__main__":
    match sys.argv[1:]:
        case [name, *words]:
            record(Path(name), words)
        case _:
            sys.exit("Usage: python -m tests.outputs FOLDER [WORD...]")
