"""Claims of the posterior on public tables with many scores per item, thinned to a few: what does it keep of its word?

``python tests/benchmarks/panels.py FILE... -o results``: each FILE is a table ``reviewer,item,score``, with further
columns of numbers as criteria and a column ``confidence`` where there is one. 3, 5 and 8 scores per item are drawn, all
methods use the same draws, and the other scores of an item are its truth, or ``truth/FILE`` (``item,truth``) next to
it. ``posterior`` uses criteria and confidence as by default; ``posterior, only target`` leaves them out, as all other
methods do. Writes ``panels.md``: Spearman's correlation, the share of pairs in order and the area under the ROC curve
of the best, above the average, above those of ``--before`` (results of an earlier version), and what criteria and
confidence gain; selections, probabilities and held-out scores. Results are stored as they come; a run that was stopped
goes on where it ended. Exit status 1 where a method fails; stderr names it.

The posterior should gain most where reviewers differ in severity, slope and care. It should be hardest where noise
depends on quality, and where scores have few levels.
"""

# ruff: noqa: E402 - threads are set before NumPy is imported, and the path before the harness
from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import numpy as np

from tests.benchmarks.harness import storing
from tests.benchmarks.harness.measures import Summary, paired, summary
from tests.benchmarks.harness.methods import OURS, TITLES, available
from tests.benchmarks.harness.thinning import SHARES, SIMPLE, Record, read_scores, run, sizes

#: Scores behind each truth from which probabilities are compared with it: with fewer, its own error is too large.
WELL_KNOWN = 25
#: What identifies a run.
KEYS = ("table", "size", "draw", "method")
#: The posterior without criteria and confidence; tables without it have neither.
ONLY_TARGET = f"{OURS}, only target"
#: What is compared, by title; each in percent.
MEASURES = {
    "Spearman's correlation": "spearman",
    "the share of pairs in order": "pairs",
    **{f"the area under the ROC curve of the best {100 * share:g} %": f"area {share:g}" for share in SHARES},
}

Cell = tuple[str, int]
Rows = dict[tuple[Cell, str], dict[int, Record]]


def main() -> int:
    """Run what is missing, report all that is stored of the files."""
    options = parse()
    methods = [name for name in (*available(), *SIMPLE) if not options.only_methods or name in options.only_methods]
    store = options.output / "panels.jsonl"
    done: dict[tuple[str, int, int], set[str]] = {}
    for row in storing.records(store):
        if "failed" not in row:
            done.setdefault((row["table"], row["size"], row["draw"]), set()).add(row["method"])
    for path in options.tables:
        for size in sizes(read_scores(path), options.scores):
            for draw in range(options.draws):
                there = done.get((path.stem, size, draw), set())
                for record in run(path, size, draw, options.items, methods, there):
                    storing.append(store, record)
        print(path.stem, file=sys.stderr, flush=True)
    return report(store, methods, options)


def parse() -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", type=Path, nargs="+", metavar="FILE", help="tables in CSV")
    parser.add_argument("-o", "--output", type=Path, default=Path("panels"), help="folder of results (panels)")
    parser.add_argument("--before", type=Path, help="folder of results of an earlier version, from the same tables")
    parser.add_argument("--scores", type=int, nargs="+", default=[3, 5, 8], help="scores per item (3 5 8)")
    parser.add_argument("--draws", type=int, default=6, help="draws of each table (6)")
    parser.add_argument("--items", type=int, default=200, help="most items of a draw (200)")
    parser.add_argument("--only-methods", nargs="+", metavar="METHOD", help="run these methods")
    return parser.parse_args()


def report(store: Path, methods: list[str], options: argparse.Namespace) -> int:
    """Write and print the tables; return the exit status."""
    names = {path.stem for path in options.tables}
    records = [row for row in storing.records(store) if row["table"] in names]
    rows = gathered(records)
    before = gathered(storing.records(options.before / "panels.jsonl")) if options.before else {}
    further = sorted({method for _, method in rows} - {*methods, *SIMPLE})
    shown = [*(name for name in methods if name not in SIMPLE), *further, *SIMPLE]
    parts = [gains(rows, shown, before), overview(rows, shown, before)]
    parts += [*(tops(rows, share) for share in SHARES), predictions(rows), uses(rows)]
    text = "\n\n".join(parts) + "\n"
    (options.output / "panels.md").write_text(text, "utf-8")
    print(text)
    failed = storing.failures(records, *KEYS)
    for line in failed:
        print(line, file=sys.stderr)
    return int(bool(failed))


def gathered(records: Iterable[Record]) -> Rows:
    """Return the records that did not fail, by cell and method, then by draw."""
    rows: Rows = {}
    for record in records:
        if "failed" not in record:
            cell = (record["table"], record["size"])
            rows.setdefault((cell, record["method"]), {})[record["draw"]] = record
    return rows


def values(rows: Rows, cell: Cell, method: str, measure: str) -> dict[int, float]:
    """Return a measure of each draw; the correlation of a constant estimate is 0, its other measures 50."""
    of, constant = rows.get((cell, method), {}), 0.0 if measure == "spearman" else 50.0
    found = {draw: row[measure] for draw, row in of.items() if measure in row}
    return {draw: float(np.nan_to_num(value, nan=constant)) for draw, value in found.items()}


def differences(
    rows: Rows, methods: list[str], before: Rows, measure: str = "spearman"
) -> dict[str, dict[Cell, Summary]]:
    """Return a measure above the average, above that of an earlier version, and what the further columns gain."""
    found: dict[str, dict[Cell, Summary]] = {}
    own = [name for name in methods if name in (OURS, ONLY_TARGET)]
    for cell in cells(rows):
        average, ours = values(rows, cell, "average", measure), values(rows, cell, OURS, measure)
        for method in methods:
            if method != "average" and (mine := values(rows, cell, method, measure)):
                found.setdefault(TITLES.get(method, method), {})[cell] = paired(mine, average)
        if ours and (mixed := values(rows, cell, "mixed model", measure)):
            found.setdefault(f"{OURS} - mixed model", {})[cell] = paired(ours, mixed)
        if ours and (alone := values(rows, cell, ONLY_TARGET, measure)):
            found.setdefault(f"{OURS} - only target", {})[cell] = paired(ours, alone)
        if earlier := values(before, cell, OURS, measure):
            for method in own:
                if mine := values(rows, cell, method, measure):
                    found.setdefault(f"{method} - before", {})[cell] = paired(mine, earlier)
    return found


def cells(rows: Rows) -> list[Cell]:
    """Return all tables and numbers of scores, sorted."""
    return sorted({cell for cell, _ in rows})


def kinds(rows: Rows) -> dict[str, set[str]]:
    """Return the tables by kind: all, those of scores only, and those with further columns."""
    names = {cell[0] for cell, _ in rows}
    further = {cell[0] for cell, method in rows if method == ONLY_TARGET}
    found = {"all tables": names, "tables of one score": names - further, "tables with further columns": further}
    return {title: tables for title, tables in found.items() if tables}


def gains(rows: Rows, methods: list[str], before: Rows) -> str:
    """Return Spearman's correlation above the average, a row per table, and means over tables with their errors."""
    found = differences(rows, methods, before)
    lines = table(["table", "scores", "average", *found])
    for name in sorted({cell[0] for cell, _ in rows}):
        sizes = [cell for cell in cells(rows) if cell[0] == name]
        average = np.mean([summary(list(values(rows, cell, "average", "spearman").values())).mean for cell in sizes])
        shown = [written(over_sizes([of[cell] for cell in sizes if cell in of])) for of in found.values()]
        lines.append(line([name, ", ".join(str(size) for _, size in sizes), f"{average:.1f}", *shown]))
    for title, names in kinds(rows).items():
        means = [written(over_tables(of, names)) for of in found.values()]
        lines.append(line([f"mean over {title} ({len(names)})", "", "", *means]))
    for title, sign in (("below", -1.0), ("above", 1.0)):
        number = [sum(sign * gain.mean > 2 * gain.error for gain in of.values()) for of in found.values()]
        lines.append(line([f"of {len(cells(rows))} cells {title} beyond two errors", "", "", *map(str, number)]))
    head = (
        "Points of Spearman's correlation above the average, mean over numbers of scores (± paired error over draws)."
    )
    return "\n".join([head, "", *lines])


def over_sizes(gains: list[Summary]) -> Summary | None:
    """Return the mean over the numbers of scores of a table, its error from those of the draws."""
    if not gains:
        return None
    error = np.sqrt(np.sum([gain.error**2 for gain in gains])) / len(gains)
    return Summary(float(np.mean([gain.mean for gain in gains])), float(error))


def overview(rows: Rows, methods: list[str], before: Rows) -> str:
    """Return the means over tables of all measures."""
    parts = []
    for title, measure in MEASURES.items():
        found = differences(rows, methods, before, measure)
        lines = table(["mean over", *found])
        for kind, names in kinds(rows).items():
            lines.append(line([f"{kind} ({len(names)})", *(written(over_tables(of, names)) for of in found.values())]))
        parts += [f"Points of {title}, above the average.", "", *lines, ""]
    return "\n".join(parts[:-1])


def over_tables(found: dict[Cell, Summary], names: set[str]) -> Summary | None:
    """Return the mean over tables of their cells' means, its error from the variation between tables."""
    tables: dict[str, list[float]] = {}
    for (name, _), gain in found.items():
        if name in names:
            tables.setdefault(name, []).append(gain.mean)
    return summary([float(np.mean(means)) for means in tables.values()]) if tables else None


def tops(rows: Rows, share: float) -> str:
    """Return what the posterior says of the best, against well-known truths; errors by tables."""
    found: dict[str, list[Record]] = {}
    for ((name, _), method), draws in rows.items():
        known = [row["top"][f"{share:g}"] for row in draws.values() if "top" in row and row["behind"] >= WELL_KNOWN]
        if method == OURS and known:
            found.setdefault(name, []).extend(known)
    head = f"Best {100 * share:g} % where at least {WELL_KNOWN} scores are behind each truth ({len(found)} tables)."
    if not found:
        return head
    lines = table(["table", "in", "wrong, said", "true", "out", "wrong, said", "true", "precision, said", "true"])
    every = ("all", [row for draws in found.values() for row in draws])
    for name, draws in [*sorted(found.items()), every]:
        cells = [name]
        for kind in ("in", "out"):
            number, said, true = np.sum([row[kind] for row in draws], axis=0)
            cells += [f"{number:.0f}", *(f"{100 * value / number:.1f} %" if number else "" for value in (said, true))]
        said, true = (summary([row[key] for row in draws]) for key in ("expected", "precision"))
        lines.append(line([*cells, f"{said.mean:.1f}", f"{true.mean:.1f} ± {true.error:.1f}"]))
    gap = summary([float(np.mean([row["expected"] - row["precision"] for row in draws])) for draws in found.values()])
    bins = np.sum([row["bins"] for row in every[1]], axis=0)
    pairs = [f"{said / n:.2f}/{true / n:.2f}" for n, said, true in bins if n]
    more = [
        f"Precision said less true, over tables: {written(gap)}.",
        f"P(best), said/true by bins: {', '.join(pairs)}.",
    ]
    return "\n".join([head, "", *lines, "", *more])


def predictions(rows: Rows) -> str:
    """Return coverage and log density of held-out scores of the posterior, by table."""
    found: dict[str, list[list[float]]] = {}
    for ((name, _), method), draws in rows.items():
        if method == OURS:
            found.setdefault(name, []).extend(row["held out"] for row in draws.values() if "held out" in row)
    lines = table(["table", "held-out scores", "in their 90 % interval", "log density, unit variance"])
    shares = {name: np.sum(values, axis=0) for name, values in found.items() if values}
    for name, (number, density, covered) in sorted(shares.items()):
        error = np.sqrt(covered * (number - covered) / number) / number
        shown = f"{100 * covered / number:.1f} ± {100 * error:.1f} %"
        lines.append(line([name, f"{number:.0f}", shown, f"{density / number:.3f}"]))
    covered, density = (summary([float(v[part] / v[0]) for v in shares.values()]) for part in (2, 1))
    shown = f"{100 * covered.mean:.1f} ± {100 * covered.error:.1f} %"
    lines.append(line(["mean over tables", "", shown, f"{density.mean:.3f} ± {density.error:.3f}"]))
    return "\n".join(["Held-out scores of the posterior.", "", *lines])


def uses(rows: Rows) -> str:
    """Return in what share of its draws the posterior used criteria and confidence."""
    found: dict[str, list[list[bool]]] = {}
    for ((name, _), method), draws in rows.items():
        if method == OURS:
            found.setdefault(name, []).extend(row["used"] for row in draws.values() if "used" in row)
    lines = table(["table", "criteria", "confidence"])
    for name, draws in sorted(found.items()):
        shares = 100.0 * np.mean(draws, axis=0) if draws else np.zeros(2)
        lines.append(line([name, *(f"{share:.0f} %" for share in shares)]))
    return "\n".join(["What the posterior used, in percent of the draws.", "", *lines])


def written(gain: Summary | None) -> str:
    """Return a mean with its error."""
    return "" if gain is None else f"{gain.mean:+.2f} ± {gain.error:.2f}"


def line(cells: list[str]) -> str:
    """Return a row of a table in Markdown."""
    return f"| {' | '.join(cells)} |"


def table(heads: list[str]) -> list[str]:
    """Return the first two lines of a table in Markdown."""
    return [line(heads), line(["---"] * len(heads))]


if __name__ == "__main__":
    sys.exit(main())
