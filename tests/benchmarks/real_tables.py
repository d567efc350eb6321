"""Claim of the posterior on real score tables: never below the plain average beyond noise.

``python tests/benchmarks/real_tables.py --data FOLDER -o results``: FOLDER holds one folder a table with ``scores.csv``
(``reviewer,item,score``) and, for one of them, ``truth.csv``; tables that are absent are left out. Writes
``real_tables.md``. Results are stored as they come, and a run that was stopped goes on where it ended. Exit status 1
where a claim does not hold or a method is missing or fails; stderr names it.

It should win where reviewers differ in more than severity and care (video quality), and be level where a panel of
trained judges scores all performances (skating), or where few scores link reviewers.
"""

# ruff: noqa: E402 - threads are set before NumPy is imported, and the path before the harness
from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))

from tests.benchmarks.harness import storing
from tests.benchmarks.harness.methods import OURS, TITLES, available, register
from tests.benchmarks.harness.studies import STUDIES, Record, Study, gain, run, value

#: Where the tables are looked for besides ``--data``.
VARIABLE = "REVIEWGRAPH_DATA"
DATA = ROOT.parent / "shared" / "data"

Found = dict[str, dict[str, list[Record]]]


def main() -> int:
    """Run what is missing, report all that is stored."""
    options = parse()
    for spec in options.method:
        register(spec)
    names = available()
    methods = [name for name in names if not options.only_methods or name in options.only_methods]
    there = [study for study in STUDIES if (options.data / study.table / "scores.csv").exists()]
    for name in sorted({study.table for study in STUDIES} - {study.table for study in there}):
        print(f"left out: no {options.data / name}", file=sys.stderr)
    chosen = [study for study in there if not options.only or study.table in options.only]
    store = options.output / "real_tables.jsonl"
    if options.forget:
        storing.forget(store, lambda record: record.get("method") in options.forget)
    if not options.report:
        run_missing(chosen, methods, store, options)
    return report(chosen, names, store, options)


def parse() -> argparse.Namespace:
    """Read the options."""
    data = Path(os.environ.get(VARIABLE, DATA))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=data, help=f"folder of tables (the variable {VARIABLE}; {DATA})")
    parser.add_argument("-o", "--output", type=Path, default=Path("regimes"), help="folder of results (regimes)")
    parser.add_argument("--draws", type=int, default=40, help="sub-samples of each panel (40)")
    parser.add_argument("--repeats", type=int, default=4, help="times that all scores are held out by fifths (4)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes (as many as cores)")
    parser.add_argument("--only", nargs="+", metavar="TABLE", help="these tables")
    parser.add_argument("--only-methods", nargs="+", metavar="METHOD", help="run these methods")
    added = {"action": "append", "default": [], "metavar": "NAME=MODULE:FUNCTION"}
    parser.add_argument("--method", **added, help="one more method")
    parser.add_argument("--ours", default=OURS, metavar="METHOD", help=f"whose claims are judged ({OURS})")
    parser.add_argument("--forget", nargs="+", metavar="METHOD", help="first drop stored results of these methods")
    parser.add_argument("--report", action="store_true", help="run nothing, report what is stored")
    return parser.parse_args()


def draws_of(study: Study, options: argparse.Namespace) -> int:
    """Return how many draws a study has: a truth from elsewhere needs one."""
    return {"truth": 1, "held out": options.repeats}.get(study.kind, options.draws)


def run_missing(chosen: list[Study], methods: list[str], store: Path, options: argparse.Namespace) -> None:
    """Run in several processes what is not stored yet, a task a method, and store it from this one."""
    from joblib import Parallel, delayed

    done = {(row["study"], row["draw"], row["method"]) for row in storing.records(store) if "failed" not in row}
    wanted = [(study, draw, name) for study in chosen for draw in range(draws_of(study, options)) for name in methods]
    tasks = [(study, draw, name) for study, draw, name in wanted if (study.name, draw, name) not in done]
    parallel = Parallel(n_jobs=options.jobs, return_as="generator_unordered", batch_size=1)
    started = time.monotonic()
    work = (delayed(run)(study, options.data, draw, [name], options.method) for study, draw, name in tasks)
    for number, records in enumerate(parallel(work), 1):
        for record in records:
            storing.append(store, record)
            said = record.get("failed", f"{record['study']}, {record['method']}")
            taken = time.monotonic() - started
            print(f"{number} of {len(tasks)} after {taken:.0f} s: {said}", file=sys.stderr, flush=True)


def report(chosen: list[Study], methods: list[str], store: Path, options: argparse.Namespace) -> int:
    """Write the table and the verdicts; return the exit status."""
    found = gathered(store)
    heads = ["table", "measure", *[TITLES.get(name, name) for name in methods]]
    lines = [f"| {' | '.join(heads)} |", f"| {' | '.join(['---'] * len(heads))} |"]
    judged: list[tuple[bool, str]] = []
    failed = failures(chosen, methods, store, options)
    for study in chosen:
        rows = found.get(study.name, {})
        if rows.get("average"):
            lines.append(
                f"| {' | '.join([study.name, study.unit, *[cell(study, rows, m, options) for m in methods]])} |"
            )
            judged += verdicts(study, rows, options)
    text = "\n".join(
        [
            "In brackets how much better than the average (points, percent of squared error) ± paired error.",
            "",
            *lines,
            "",
            *[f"* {'Holds' if held else '**Fails**'}: {claim}" for held, claim in judged],
        ]
    )
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "real_tables.md").write_text(text + "\n", "utf-8")
    print(text)
    for line in failed:
        print(line, file=sys.stderr)
    return 0 if all(held for held, _ in judged) and not failed else 1


def failures(chosen: list[Study], methods: list[str], store: Path, options: argparse.Namespace) -> list[str]:
    """Return a line for each run of the chosen studies that failed, and each method that none was run of."""
    names = {study.name for study in chosen}
    rows = [row for row in storing.records(store) if row["study"] in names and row["method"] in methods]
    ran = {(row["study"], row["method"]) for row in rows}
    wanted = [name for name in methods if not options.only_methods or name in options.only_methods]
    missing = [(study.name, name) for study in chosen for name in wanted if (study.name, name) not in ran]
    lines = [f"failed: study {study}, method {name}: no run is stored" for study, name in missing]
    return lines + storing.failures(rows, "study", "draw", "method")


def gathered(store: Path) -> Found:
    """Return the records that did not fail, by study and method, in the order of their draws."""
    found: Found = {}
    for record in sorted(storing.records(store), key=lambda record: record["draw"]):
        if "failed" not in record:
            found.setdefault(record["study"], {}).setdefault(record["method"], []).append(record)
    return found


def cell(study: Study, rows: dict[str, list[Record]], method: str, options: argparse.Namespace) -> str:
    """One method's value and what it gains over the average."""
    if not rows.get(method):
        return "missing"
    said = f"{value(rows[method]):.2f}"
    if method == "average":
        return said
    better = gain(study, options.data, rows[method], rows["average"])
    return f"{said} ({better.mean:+.2f} ± {better.error:.2f})"


def verdicts(study: Study, rows: dict[str, list[Record]], options: argparse.Namespace) -> list[tuple[bool, str]]:
    """Judge ours: not below the average beyond two errors; with a truth, nor below two other methods."""
    ours, found = rows.get(options.ours), []
    if not ours:
        return []
    rules = [("average", 2.0)]
    if study.kind == "truth":
        rules += [("mixed model", 0.0), ("ridge", 2.0)]
    for other, errors in rules:
        if rows.get(other):
            better = gain(study, options.data, ours, rows[other])
            held = better.mean >= -errors * better.error
            less = " less two errors" if errors else ""
            found.append((held, f"{study.name}: at least {other}{less} ({better.mean:+.2f} ± {better.error:.2f})"))
    return found


if __name__ == "__main__":
    sys.exit(main())
