"""How much of the best tenth each method finds in simulated regimes, and whether the posterior's intervals cover.

``python -m tests.benchmarks.regimes -o results --draws 20 --papers 400`` draws each regime 20 times and writes
``regimes.md``. Results are stored as they come; a run that was stopped goes on where it ended. Exit status 1 where a
method fails; stderr names it.

The posterior should be level with the average where reviewers do not differ, and hardest to keep where they bend the
scale, which its model does not have.
"""

import argparse
import os
import sys
import time
from functools import cache
from pathlib import Path
from statistics import median

import numpy as np

from lsc.estimate import Estimate
from tests.benchmarks.harness import measures, storing
from tests.benchmarks.harness.draws import FloatArray, Regime, regimes
from tests.benchmarks.harness.running import METHODS, OURS, Record, attempt, in_processes, markdown

#: Share of the papers that is selected, and level of the intervals.
SELECTED = 0.1
LEVEL = 0.9
KEYS = ("regime", "draw", "method")

#: Records by regime, method and draw.
Results = dict[str, dict[str, dict[int, Record]]]


def run(regime: str, papers: int, draw: int, methods: list[str]) -> list[Record]:
    """Measure methods on one draw; seconds are of the processor, after a warm-up of the method in this process."""
    simulation = regime_named(regime, papers).simulate(draw)
    selected = max(int(SELECTED * simulation.truth.size), 1)
    records = []
    for method in methods:

        def measure(method: str = method) -> Record:
            warm_up(method)
            started = time.process_time()
            estimate = METHODS[method](simulation.reviews, selected, draw)
            seconds = time.process_time() - started
            return measured(estimate, simulation.truth, selected) | {"seconds": seconds}

        records.append(attempt({"regime": regime, "papers": papers, "draw": draw, "method": method}, measure))
    return records


@cache
def regime_named(name: str, papers: int) -> Regime:
    """Return a regime by its name."""
    return {regime.name: regime for regime in regimes(papers)}[name]


@cache
def warm_up(method: str) -> None:
    """Let a method compile what it compiles, on a small table."""
    reviews = regime_named("offsets-k5", 30).simulate(0).reviews
    METHODS[method](reviews, 3, 0)


def measured(estimate: Estimate, truth: FloatArray, selected: int) -> Record:
    """Return the share of the best that is selected, and of the posterior how its probabilities compare with that."""
    scored = np.isfinite(estimate.quality)
    quality = np.where(scored, estimate.quality, np.nanmin(estimate.quality) - 1.0)
    record: Record = {"precision": 100.0 * (1.0 - measures.wrongly_selected(quality, truth, selected))}
    if estimate.method == OURS:
        target = measures.on_scale_of(quality[scored], truth[scored])
        chance = np.nan_to_num(estimate.probability_in_top(selected))
        record["coverage"] = 100.0 * measures.coverage(estimate.interval(LEVEL)[scored], target)
        record["bins"] = measures.forecast_bins(chance, measures.among_best(truth, selected))
        record["stated"] = 100.0 * float(np.sort(chance)[-selected:].mean())
    return record


def gathered(store: Path, papers: int) -> Results:
    """Return the runs that did not fail."""
    results: Results = {}
    for record in storing.records(store):
        if record["papers"] == papers and "failed" not in record:
            results.setdefault(record["regime"], {}).setdefault(record["method"], {})[record["draw"]] = record
    return results


def missing(
    chosen: list[Regime], results: Results, options: argparse.Namespace
) -> list[tuple[str, int, int, list[str]]]:
    """Return what is to be run, all regimes in step: a run that is stopped has an equal number of draws of each."""
    tasks = []
    for step in range(options.draws):
        for regime in chosen:
            stored = results.get(regime.name, {})
            for draw in range(step * regime.times, (step + 1) * regime.times):
                todo = [method for method in options.methods if draw not in stored.get(method, {})]
                if todo:
                    tasks.append((regime.name, options.papers, draw, todo))
    return tasks


def report(chosen: list[Regime], results: Results, methods: list[str]) -> str:
    """Return the table of the report: a row per regime."""
    rows = []
    for regime in chosen:
        stored = results.get(regime.name, {})
        runs = {method: list(stored.get(method, {}).values()) for method in methods}
        cells = [f"{measures.summary([run['precision'] for run in runs[method]]):.1f}" for method in methods]
        ours = runs.get(OURS, [])
        if ours:
            average = {draw: run["precision"] for draw, run in stored.get("average", {}).items()}
            gain = measures.paired({run["draw"]: run["precision"] for run in ours}, average)
            stated = measures.summary([run["stated"] - run["precision"] for run in ours])
            cells += [
                f"{gain:+.1f}",
                f"{measures.summary([run['coverage'] for run in ours]):.1f}",
                f"{measures.calibration_error([run['bins'] for run in ours]):.4f}",
                f"{stated:+.1f}",
                f"{median(run['seconds'] for run in ours):.2f}",
            ]
        rows.append([regime.title, *cells])
    heads = [f"{OURS} - average", "covers", "error of P(best tenth)", "stated - true", "CPU s"]
    return markdown(["regime", *methods, *(heads if OURS in methods else [])], rows)


def main() -> int:
    """Run what is missing, report all that is stored."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, default=Path("regimes"), help="folder of results (regimes)")
    parser.add_argument("--draws", type=int, default=20, help="draws of each regime (20)")
    parser.add_argument("--papers", type=int, default=1000, help="papers of each draw (1000)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes (one per core)")
    parser.add_argument("--only", nargs="+", metavar="REGIME", help="these regimes")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS), help="these methods")
    options = parser.parse_args()
    chosen = [regime for regime in regimes(options.papers) if not options.only or regime.name in options.only]
    store = options.output / "regimes.jsonl"
    tasks = missing(chosen, gathered(store, options.papers), options)
    for record in in_processes(run, tasks, options.jobs):
        storing.append(store, record)
    text = report(chosen, gathered(store, options.papers), options.methods)
    (options.output / "regimes.md").write_text(text + "\n", "utf-8")
    print(text)
    failed = storing.failures(storing.records(store), *KEYS)
    print(*failed, sep="\n", file=sys.stderr)
    return int(bool(failed))


if __name__ == "__main__":
    # Other processes find its functions in the module of this name alone.
    from tests.benchmarks import regimes as module

    sys.exit(module.main())
