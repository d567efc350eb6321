"""What each method is worth on public tables with many scores per item, thinned to a few, the rest being the truth.

``python -m tests.benchmarks.panels FILE... -o results --draws 8 --items 150``: each FILE is a table
``reviewer,item,score``, with further columns of numbers as criteria and a column ``confidence`` where there is one. 3
and 5 scores per item are drawn, all methods use the same draws, and the other scores of an item are its truth, or
``truth/FILE`` (``item,truth``) next to it, for tables whose reviewers are language models. ``posterior`` uses criteria
and confidence as by default; ``posterior, only target`` leaves them out, as all other methods do. Writes ``panels.md``.
Results are stored as they come; a run that was stopped goes on where it ended. Exit status 1 where a method fails;
stderr names it.

The posterior should gain most where reviewers differ in severity, slope and care. It should be hardest where noise
depends on quality, and where scores have few levels.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import spearmanr

import lsc
from reviewgraph import Reviews
from tests.benchmarks.harness import storing
from tests.benchmarks.harness.measures import (
    FloatArray,
    Summary,
    among_best,
    forecast_bins,
    paired,
    pairs_in_order,
    summary,
    wrongly_selected,
)
from tests.benchmarks.harness.running import METHODS, OURS, Record, attempt, markdown

IntArray = npt.NDArray[np.int64]

#: Shares of the items that are selected; share of the scores held out, and level of their intervals.
SHARES = (0.1, 0.2)
HELD_OUT = 0.1
LEVEL = 0.9
#: An item is in from this probability of being among the best, out up to one minus it.
SURE = 0.9
#: Share of all reviewers that is drawn, least items per reviewer, and least other scores of an item for a truth.
DRAWN = 0.35
LEAST_LOAD = 4
LEAST_TRUTH = 2
#: Scores behind each truth from which probabilities are compared with it.
WELL_KNOWN = 5
#: Columns that are no criteria.
FIXED = ("reviewer", "item", "score", "confidence")
#: The posterior without criteria and confidence, for tables with either.
ONLY_TARGET = f"{OURS}, only target"
KEYS = ("table", "size", "draw", "method")
#: Titles of the measures, all in percent.
MEASURES = {
    "spearman": "Spearman",
    "pairs": "pairs in order",
    "wrong 0.1": "wrong in the top tenth",
    "wrong 0.2": "wrong in the top fifth",
}


@dataclass(frozen=True)
class Scores:
    """A table in arrays of shape (E,): codes of reviewers and items, scores, criteria by name, and confidence."""

    reviewer: IntArray
    item: IntArray
    score: FloatArray
    criteria: Mapping[str, FloatArray]
    confidence: FloatArray | None

    def take(self, rows: npt.NDArray[Any]) -> Scores:
        """Return some rows."""
        criteria = {name: values[rows] for name, values in self.criteria.items()}
        confidence = None if self.confidence is None else self.confidence[rows]
        return Scores(self.reviewer[rows], self.item[rows], self.score[rows], criteria, confidence)

    def reviews(self, *, whole: bool = False) -> Reviews:
        """Return the scores of the target as reviews, ``whole`` with criteria and confidence."""
        further: dict[str, Any] = {}
        if whole and self.criteria:
            further = {"target": "score", "criteria": self.criteria}
        if whole and self.confidence is not None and np.isfinite(self.confidence).all():
            further["confidence"] = self.confidence
        sizes = {"reviewers": int(self.reviewer.max()) + 1, "items": int(self.item.max()) + 1}
        return Reviews.from_codes(self.reviewer, self.item, self.score, **sizes, **further)


class Draw(NamedTuple):
    """Some scores of a table, the truth of its items, NaN where unknown, and the median number of scores behind it.

    ``behind`` is 0 for a truth from elsewhere.
    """

    scores: Scores
    truth: FloatArray
    behind: float


@cache
def read_scores(path: Path) -> Scores:
    """Read ``reviewer,item,score[,criterion...][,confidence]``; further numbers may be missing."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    columns = {}
    for name in rows[0].keys() - {"reviewer", "item"}:
        columns[name] = np.array([float(row[name]) if row[name] else np.nan for row in rows])
    _, reviewer = np.unique([row["reviewer"] for row in rows], return_inverse=True)
    _, item = np.unique([row["item"] for row in rows], return_inverse=True)
    criteria = {name: columns[name] for name in sorted(columns.keys() - set(FIXED))}
    table = Scores(reviewer, item, columns["score"], criteria, columns.get("confidence"))
    return table.take(np.isfinite(table.score))


def truth_beside(path: Path) -> FloatArray | None:
    """Return the truth of the items from ``truth/NAME`` next to a table, shape (N,), NaN where unknown, if any."""
    beside = path.parent / "truth" / path.name
    if not beside.exists():
        return None
    with open(beside, encoding="utf-8", newline="") as file:
        truth = {row["item"]: float(row["truth"]) for row in csv.DictReader(file)}
    with open(path, encoding="utf-8", newline="") as file:
        items = np.unique([row["item"] for row in csv.DictReader(file)])
    return np.array([truth.get(item, np.nan) for item in items.tolist()])


def sizes(scores: Scores, wanted: Sequence[int]) -> list[int]:
    """Return the numbers of scores per item for which enough others remain; one fewer than there are if none."""
    count = int(np.median(np.bincount(scores.item)))
    return [size for size in wanted if size + LEAST_TRUTH <= count] or [max(count - 1, 1)]


def thin(scores: Scores, size: int, most_items: int, rng: np.random.Generator) -> Draw:
    """Draw ``size`` scores of each of at most ``most_items`` items, as reviews are assigned.

    Reviewers come in random order; each takes the items that lack most scores, up to a load at which about a third of
    all reviewers is needed. The truth of an item is the mean of its scores by reviewers not drawn; where these are too
    few, of all its scores not drawn.
    """
    chosen = rng.permutation(int(scores.item.max()) + 1)[:most_items]
    scores = scores.take(np.isin(scores.item, chosen))
    n_reviewers = int(scores.reviewer.max()) + 1
    n_items = int(scores.item.max()) + 1
    # Reviewers take scores one after another.
    needed = np.where(np.bincount(scores.item, minlength=n_items) > 0, size, 0)
    load = max(LEAST_LOAD, int(np.ceil(chosen.size * size / (DRAWN * n_reviewers))))
    drawn = np.zeros(scores.item.size, np.bool_)
    by_reviewer = np.split(np.argsort(scores.reviewer, kind="stable"), np.cumsum(np.bincount(scores.reviewer))[:-1])
    for reviewer in rng.permutation(n_reviewers):
        rows = by_reviewer[reviewer]
        rows = rows[needed[scores.item[rows]] > 0]
        rows = rows[np.argsort(rng.random(rows.size) - needed[scores.item[rows]], kind="stable")][:load]
        drawn[rows] = True
        needed[scores.item[rows]] -= 1
    # The truth of each item.
    others = ~np.isin(scores.reviewer, scores.reviewer[drawn])
    if np.bincount(scores.item[others], minlength=n_items)[np.unique(scores.item)].min() < LEAST_TRUTH:
        others = ~drawn
    count = np.bincount(scores.item[others], minlength=n_items)
    total = np.bincount(scores.item[others], scores.score[others], n_items)
    truth = np.divide(total, count, out=np.full(n_items, np.nan), where=count > 0)
    return Draw(scores.take(drawn), truth, float(np.median(count[count > 0])) if others.any() else 0.0)


def run(
    path: Path, size: int, draw: int, most_items: int, methods: Sequence[str], done: Container[str] = ()
) -> list[Record]:
    """Measure methods on one draw of a table, unless they are done."""
    sample = thin(read_scores(path), size, most_items, np.random.default_rng([draw, size, most_items]))
    truth = truth_beside(path)
    if truth is not None:
        truth = np.where(np.isfinite(sample.truth), truth[: sample.truth.size], np.nan)
        sample = Draw(sample.scores, truth, 0.0)
    scores = sample.scores
    n_selected = max(int(scores.item.max() + 1) // 10, 1)

    def measured(method: str) -> Callable[[], Record]:
        def measure() -> Record:
            started = time.process_time()
            estimate = METHODS[method](scores.reviews(whole=method == OURS), n_selected, draw)
            record = agreement(estimate.quality, sample.truth) | {"seconds": time.process_time() - started}
            if method == OURS:
                record["used"] = bool(estimate.joined is not None and estimate.joined.used)
                record["top"] = {f"{share:g}": top(estimate, sample.truth, share) for share in SHARES}
                record |= held_out(scores, draw)
            return record

        return measure

    tasks = {method: measured(method) for method in methods}
    if OURS in methods and (scores.criteria or scores.confidence is not None):
        tasks[ONLY_TARGET] = lambda: agreement(lsc.posterior(scores.reviews()).quality, sample.truth)
    place = {"table": path.stem, "size": size, "draw": draw, "behind": sample.behind, "judged": truth is not None}
    return [attempt(place | {"method": name}, task) for name, task in tasks.items() if name not in done]


def agreement(quality: FloatArray, truth: FloatArray) -> Record:
    """Return how well the order of the truth is met, in percent; Spearman's correlation with ties at mean ranks."""
    truth = truth[: quality.size]
    known = np.isfinite(quality) & np.isfinite(truth)
    quality = quality[known]
    truth = truth[known]
    record = {"spearman": 100.0 * spearmanr(quality, truth).statistic, "pairs": 100.0 * pairs_in_order(quality, truth)}
    for share in SHARES:
        record[f"wrong {share:g}"] = 100.0 * wrongly_selected(quality, truth, max(1, round(share * truth.size)))
    return record


def top(estimate: Any, truth: FloatArray, share: float) -> Record:
    """Compare probabilities of being among the best with the truth, ties at its cut by their share.

    ``in`` and ``out`` are the number of items, the number of wrong ones that their probabilities state, and that of
    wrong ones.
    """
    truth = truth[: estimate.quality.size]
    known = np.isfinite(estimate.quality) & np.isfinite(truth)
    n = max(1, round(share * int(known.sum())))
    chance = np.asarray(estimate.probability_in_top(n), np.float64)[known]
    best = among_best(truth[known], n)
    inside = chance >= SURE
    outside = chance <= 1.0 - SURE
    return {
        "bins": forecast_bins(chance, best),
        "in": [int(inside.sum()), float((1 - chance[inside]).sum()), float((1 - best[inside]).sum())],
        "out": [int(outside.sum()), float(chance[outside].sum()), float(best[outside].sum())],
    }


def held_out(scores: Scores, draw: int) -> Record:
    """Predict a tenth of the scores from the others: number, share in 90 % intervals, squared error over variance."""
    out = np.random.default_rng([draw, 2]).random(scores.item.size) < HELD_OUT
    rest = scores.take(~out)
    out &= np.isin(scores.reviewer, rest.reviewer) & np.isin(scores.item, rest.item)
    if not out.any():
        return {}
    prediction = lsc.posterior(rest.reviews()).predict(scores.reviewer[out].tolist(), scores.item[out].tolist())
    score = scores.score[out]
    low, high = prediction.interval(LEVEL).T
    error = float(((score - prediction.mean) ** 2).mean() / scores.score.var())
    return {"held out": [score.size, 100.0 * float(((low <= score) & (score <= high)).mean()), error]}


# The report.

Cell = tuple[str, int]


class Results:
    """The runs that did not fail, by method and cell (table and number of scores), then by draw."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.runs: dict[str, dict[Cell, dict[int, Record]]] = {}
        self.judged: set[str] = set()
        for record in records:
            if "failed" in record:
                continue
            cell = (record["table"], record["size"])
            self.runs.setdefault(record["method"], {}).setdefault(cell, {})[record["draw"]] = record
            if record["judged"]:
                self.judged.add(record["table"])

    def values(self, method: str, cell: Cell, measure: str) -> dict[int, float]:
        """Return a measure of each draw; the correlation of a constant estimate is 0, its pairs in order 50 %."""
        constant = 0.0 if measure == "spearman" else 50.0
        runs = self.runs.get(method, {}).get(cell, {})
        return {draw: float(np.nan_to_num(run[measure], nan=constant)) for draw, run in runs.items()}

    def differences(self, method: str, other: str, measure: str) -> dict[Cell, Summary]:
        """Return one method minus another, paired by draws, in the cells that both have."""
        cells = self.runs.get(method, {}).keys() & self.runs.get(other, {}).keys()
        return {
            cell: paired(self.values(method, cell, measure), self.values(other, cell, measure))
            for cell in sorted(cells)
        }

    def rows(self) -> Iterable[tuple[str, str]]:
        """Yield pairs of methods to compare."""
        for method in self.runs:
            if method != "average":
                yield method, "average"
        for other in self.runs:
            if other not in ("average", OURS):
                yield OURS, other


def over_tables(cells: dict[Cell, Summary], tables: Container[str] | None = None) -> Summary:
    """Return the mean over tables of the means of their cells, its error from the variation between tables."""
    means: dict[str, list[float]] = {}
    for (table, _), gain in cells.items():
        if tables is None or table in tables:
            means.setdefault(table, []).append(gain.mean)
    return summary([float(np.mean(gains)) for gains in means.values()])


def gains(results: Results) -> str:
    """Return the means over tables of all measures, of people and of model judges, a row per pair of methods."""
    rows = []
    for method, other in results.rows():
        order = results.differences(method, other, "spearman")
        people = {table for table, _ in order} - results.judged
        below = sum(gain.mean < -2 * gain.error for gain in order.values())
        above = sum(gain.mean > 2 * gain.error for gain in order.values())
        seconds = [
            run["seconds"] for runs in results.runs[method].values() for run in runs.values() if "seconds" in run
        ]
        cells = [over_tables(order), over_tables(order, people), over_tables(order, results.judged)]
        cells += [over_tables(results.differences(method, other, measure)) for measure in list(MEASURES)[1:]]
        of = f"{below}, {above} of {len(order)}"
        spent = f"{np.median(seconds):.3f}; {max(seconds):.1f}" if seconds else ""
        rows.append([f"{method} - {other}", *(f"{cell:+.2f}" for cell in cells), of, spent])
    heads = ["difference", "Spearman, all", "people", "model judges", *list(MEASURES.values())[1:]]
    return markdown([*heads, "cells below, above by two errors", "CPU s: median; most"], rows)


def probabilities(results: Results, share: float) -> str:
    """Return stated and observed shares of the best, by bins of the stated probability, and of the lists."""
    tops = [
        run["top"][f"{share:g}"]
        for runs in results.runs.get(OURS, {}).values()
        for run in runs.values()
        if run["behind"] >= WELL_KNOWN
    ]
    rows = []
    bins = np.sum([top["bins"] for top in tops], axis=0) if tops else np.empty((0, 3))
    for place, (number, stated, observed) in enumerate(bins.tolist()):
        if number:
            title = f"{place / len(bins):.1f} to {(place + 1) / len(bins):.1f}"
            rows.append([title, f"{number:,.0f}", f"{stated / number:.3f}", f"{observed / number:.3f}"])
    for name in ("in", "out"):
        number, stated, observed = np.sum([top[name] for top in tops], axis=0) if tops else (0, 0, 0)
        if number:
            shares = [f"{100 * wrong / number:.1f} %" for wrong in (stated, observed)]
            rows.append([f"{name}: wrong", f"{number:,.0f}", *shares])
    return markdown([f"P(best {100 * share:g} %)", "items", "stated", "observed"], rows)


def predictions(results: Results) -> str:
    """Return how often 90 % intervals cover held-out scores, and their squared error over the variance of scores."""
    of_table: dict[str, list[list[float]]] = {}
    for (table, _), runs in results.runs.get(OURS, {}).items():
        of_table.setdefault(table, []).extend(run["held out"] for run in runs.values() if "held out" in run)
    means = [np.mean(runs, axis=0) for runs in of_table.values() if runs]
    covered = summary([mean[1] for mean in means])
    error = summary([mean[2] for mean in means])
    return markdown(["held-out scores: in the 90 % interval", "squared error over variance"],
                    [[f"{covered:.1f}", f"{error:.3f}"]])  # fmt: skip


def main() -> int:
    """Run what is missing, report all that is stored of the files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", type=Path, nargs="+", metavar="FILE", help="tables in CSV")
    parser.add_argument("-o", "--output", type=Path, default=Path("panels"), help="folder of results (panels)")
    parser.add_argument("--scores", type=int, nargs="+", default=[3, 5], help="scores per item (3 5)")
    parser.add_argument("--draws", type=int, default=8, help="draws of each table (8)")
    parser.add_argument("--items", type=int, default=150, help="most items of a draw (150)")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS), help="these methods")
    options = parser.parse_args()
    store = options.output / "panels.jsonl"
    names = {path.stem for path in options.tables}
    done: dict[tuple[str, int, int], set[str]] = {}
    for record in storing.records(store):
        if "failed" not in record:
            done.setdefault((record["table"], record["size"], record["draw"]), set()).add(record["method"])
    for path in options.tables:
        for size in sizes(read_scores(path), options.scores):
            for draw in range(options.draws):
                finished = done.get((path.stem, size, draw), set())
                for record in run(path, size, draw, options.items, options.methods, finished):
                    storing.append(store, record)
    records = [record for record in storing.records(store) if record["table"] in names]
    results = Results(records)
    used = [run["used"] for runs in results.runs.get(OURS, {}).values() for run in runs.values() if run["used"]]
    parts = [gains(results), *(probabilities(results, share) for share in SHARES)]
    parts += [predictions(results), f"Criteria used in {len(used)} draws."]
    text = "\n\n".join(parts) + "\n"
    (options.output / "panels.md").write_text(text, "utf-8")
    print(text)
    failed = storing.failures(records, *KEYS)
    print(*failed, sep="\n", file=sys.stderr)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
