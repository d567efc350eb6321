"""The paper's experiment on peer grading: the Hamburg files [Sajjadi16]_, or any reviews with a known truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lsc.errors import CalibrationError
from lsc.estimate import plain_averages
from lsc.experiments.registry import GRADED_METHODS, PEER_GRADING, TITLES, estimate_by
from lsc.experiments.running import UNCUT, Record, columns_of, measure
from lsc.metrics import expected_discounts, selection_shares
from reviewgraph._base import FloatArray, InputError, IntArray, csv_text, text_table, write_together
from reviewgraph.formats import Field, Role, parse_number, quote_all, read_columns
from reviewgraph.table import Reviews

# Bootstrap intervals over items of the differences to the average.

#: Number of resamples, and the probability of each tail.
RESAMPLES = 2000
TAIL = 0.025
#: Resamples per batch, which bounds the memory.
BATCH = 100


def resamples_of(truth: FloatArray, rng: np.random.Generator, resamples: int = RESAMPLES) -> IntArray:
    """Draw n of the n items of known truth with replacement, shape (resamples, n).

    >>> resamples_of(np.array([1.0, np.nan, 2.0]), np.random.default_rng(0), 2).tolist()
    [[2, 2], [2, 0]]
    """
    items = np.flatnonzero(np.isfinite(truth))
    return rng.choice(items, (resamples, items.size))


def intervals(
    quality: FloatArray, average: FloatArray, truth: FloatArray, n: int, draws: IntArray
) -> dict[str, tuple[float, float]]:
    """Return 95 % intervals of the difference to the average, by measure.

    Measures are precision and NDCG, both in percent, and Spearman's coefficient, over the resamples that have one (NaN
    if none has). Both estimates are from all reviews, and measured on the same resamples of items, the rows of
    ``draws``, with ties as in :mod:`lsc.metrics`. An interval that misses the estimated difference, as with a skewed
    measure, is widened to contain it. Arrays have shape (N,); ``n`` items are selected.

    >>> truth = np.arange(20.0)
    >>> draws = resamples_of(truth, np.random.default_rng(0), 50)
    >>> low, high = intervals(truth, -truth, truth, 4, draws)["precision"]
    >>> low > 50.0, high
    (True, 100.0)
    """
    batches = [draws[first : first + BATCH] for first in range(0, len(draws), BATCH)]
    rows = [_apart(quality, average, truth, n, batch) for batch in batches]
    itself = _apart(quality, average, truth, n, np.flatnonzero(np.isfinite(truth))[None, :])
    return {
        name: _bootstrap_interval(np.concatenate([row[name] for row in rows]), float(itself[name][0]))
        for name in itself
    }


def _apart(
    quality: FloatArray, average: FloatArray, truth: FloatArray, n: int, chosen: IntArray
) -> dict[str, FloatArray]:
    """Return the differences to the average, for each row of chosen items."""
    ours, plain = (resampled(values[chosen], truth[chosen], n) for values in (quality, average))
    return {name: ours[name] - plain[name] for name in ours}


def _bootstrap_interval(apart: FloatArray, itself: float) -> tuple[float, float]:
    apart = apart[np.isfinite(apart)]
    if not apart.size:
        return np.nan, np.nan
    low, high = np.quantile(apart, [TAIL, 1.0 - TAIL]).tolist()
    return (min(low, itself), max(high, itself)) if np.isfinite(itself) else (low, high)


def resampled(quality: FloatArray, truth: FloatArray, n: int) -> dict[str, FloatArray]:
    """Return the measures of :mod:`lsc.metrics` of each row of items of known truth; shapes (R, S) to (R,).

    >>> quality, truth = np.array([[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]]), np.array([[3.0, 2.0, 1.0], [3.0, 2.0, 1.0]])
    >>> measures = resampled(quality, truth, 1)
    >>> measures["precision"].tolist(), measures["spearman"].tolist()
    ([100.0, 0.0], [1.0, -1.0])
    """
    quality_or_last = np.where(np.isfinite(quality), quality, -np.inf)
    selected = selection_shares(quality_or_last, n)
    best = selection_shares(truth, n)
    weight = 1.0 / np.log(np.arange(2, n + 2))
    return {
        "precision": 100.0 * (selected * best).sum(axis=1) / n,
        "ndcg": 100.0 * (expected_discounts(quality_or_last, weight) * best).sum(axis=1) / weight.sum(),
        "spearman": _spearman(quality, truth),
    }


def _spearman(quality: FloatArray, truth: FloatArray) -> FloatArray:
    """Return Spearman's coefficient of each row among the items with a quality; NaN if a side is constant."""
    from scipy.stats import rankdata

    has_quality = np.isfinite(quality)
    one, other = (rankdata(np.where(has_quality, values, np.inf), axis=1) for values in (quality, truth))
    count = has_quality.sum(axis=1, keepdims=True)
    centre = (count + 1) / 2.0  # the mean of ranks 1 to count; unknown items rank last
    one, other = (np.where(has_quality, ranks - centre, 0.0) for ranks in (one, other))
    scale = np.sqrt((one**2).sum(axis=1) * (other**2).sum(axis=1))
    product: FloatArray = (one * other).sum(axis=1)
    coefficient: FloatArray = np.divide(product, scale, out=np.full(scale.size, np.nan), where=scale > 0)
    return coefficient


#: Shares of the submissions that are selected.
SHARES = (0.2, 0.5)
#: Grades are mapped to [-5, 5], as in the code of [Tan21]_.
SPREAD = 10.0
#: Task and share of the only published table.
PUBLISHED = ("homework 1", 0.5)
AGAINST = "to Average [95 %]"
HEADER = ("method", "precision %", AGAINST, "NDCG %", AGAINST, "Spearman", AGAINST, "gap")
LEGEND = "In square brackets the 95 % bootstrap interval of the difference to Average, over submissions."


class Graded(NamedTuple):
    """One task: its name, the reviews and the truth of each item, shape (N,), NaN where unknown."""

    name: str
    reviews: Reviews
    truth: FloatArray


def from_truth(reviews: Reviews, truth: Mapping[Any, float], name: str = "all") -> Graded:
    """Join reviews with a truth by item; InputError if no item of the reviews has one.

    >>> reviews = Reviews.from_pairs([("ann", "p1", 1.0), ("ann", "p2", 3.0)])
    >>> from_truth(reviews, {"p1": 0.5}).truth.tolist()
    [0.5, nan]
    """
    of_item = reviews.printed([truth.get(item, np.nan) for item in reviews.items])
    if not np.isfinite(of_item).any():
        message = (
            f"truth: expected items of the reviews, such as {quote_all([str(reviews.items[0])])}; found none of them"
        )
        raise InputError(message)
    return Graded(name, reviews, of_item)


def read_hamburg(folder: str) -> list[Graded]:
    """Read ``peer.csv``, ``ta.csv`` (taskid, reviewerid, groupid, grade) and ``maxgrades.csv`` (taskid, maxgrade).

    Grades become ``10 (grade / maxgrade - 1/2)``; the truth of a submission is the mean of the teaching assistants'.
    The first letter of a task is the homework, the rest the question. Each homework is calibrated by itself, as in the
    paper's table; a submission is one group's answer to one question.
    """
    limit = {labels[0]: most for labels, most in _read(f"{folder}/maxgrades.csv", ("taskid",), "maxgrade")}
    # The assistants' grades of each submission, by homework.
    truth: dict[str, dict[str, list[float]]] = {}
    for (task, _, group), grade in _grades(f"{folder}/ta.csv", limit):
        truth.setdefault(_homework(task), {}).setdefault(f"{group}_{task}", []).append(grade)
    # The students' grades are the reviews.
    reviews: dict[str, list[tuple[str, str, float]]] = {}
    for (task, reviewer, group), grade in _grades(f"{folder}/peer.csv", limit):
        reviews.setdefault(_homework(task), []).append((reviewer, f"{group}_{task}", grade))
    return [
        from_truth(
            Reviews.from_pairs(rows),
            {item: float(np.mean(grades)) for item, grades in truth.get(unit, {}).items()},
            unit,
        )
        for unit, rows in sorted(reviews.items())
    ]


def _homework(task: str) -> str:
    return f"homework {task[:1]}"


def _read(path: str, labels: tuple[str, ...], value: str) -> list[tuple[tuple[str, ...], float]]:
    fields = [Field(Role(name, label=True), str, "a label") for name in labels]
    number = Field(Role(value, ranked=False), parse_number, "a finite number")
    columns = read_columns(path, [*fields, number], key=labels)
    return list(zip(zip(*(columns[name] for name in labels), strict=True), columns[value], strict=True))


def _grades(path: str, limit: Mapping[str, float]) -> list[tuple[tuple[str, ...], float]]:
    rows = _read(path, ("taskid", "reviewerid", "groupid"), "grade")
    unknown = sorted({labels[0] for labels, _ in rows} - limit.keys())
    if unknown:
        message = f"{path}: expected tasks of maxgrades.csv, found {quote_all(unknown)}"
        raise InputError(message)
    nothing = sorted({labels[0] for labels, _ in rows if not limit[labels[0]] > 0})
    if nothing:
        message = f"{path}: expected a maxgrade above 0 for each task, found none for {quote_all(nothing)}"
        raise InputError(message)
    return [(labels, SPREAD * (grade / limit[labels[0]] - 0.5)) for labels, grade in rows]


def cells_of(
    tasks: Sequence[Graded], methods: Sequence[str] = GRADED_METHODS, *, resamples: int = RESAMPLES
) -> list[dict[str, Any]]:
    """Measure every method on every task at 20 % and 50 %, with the figures of the paper's table.

    Precision, NDCG and Spearman's coefficient also have the difference to that of the plain average (``_difference``)
    and its 95 % bootstrap interval (``_low``, ``_high``), with fixed seeds.

    >>> rows = [(j, i, float((i * (j + 1)) % 7)) for j in range(4) for i in range(20)]
    >>> task = Graded("all", Reviews.from_pairs(rows), np.arange(20.0))
    >>> cell = cells_of([task], ["average"], resamples=5)[0]
    >>> cell["share"], round(cell["precision"], 2), cell["precision_difference"]
    (0.2, 16.67, 0.0)
    """
    cells = []
    for task in tasks:
        # All methods and shares of a task are measured on the same resamples.
        draws = resamples_of(task.truth, np.random.default_rng(0), resamples)
        base = plain_averages(task.reviews)
        for share in SHARES:
            n = max(int(share * draws.shape[1]), 1)
            at_average = measure(base, task.truth, n)
            for method in methods:
                place = {"experiment": "peer-grading", "task": task.name, "share": share, "method": method}
                quality, failure = _estimated(method, task.reviews, n)
                own = dict.fromkeys(at_average, np.nan) if failure else measure(quality, task.truth, n)
                record: dict[str, Any] = {**place, **own, "failure": failure}
                # Figures of the paper, and differences to the average with their intervals.
                published = PEER_GRADING.get(method, {}) if (task.name, share) == PUBLISHED else {}
                for name in ("precision", "gap"):
                    record[f"{name}_paper"] = published[name].mean if name in published else None
                for name, (low, high) in intervals(quality, base, task.truth, n, draws).items():
                    difference = own[name] - at_average[name]
                    record |= {f"{name}_difference": difference, f"{name}_low": low, f"{name}_high": high}
                cells.append(record)
    return cells


def _estimated(method: str, reviews: Reviews, n: int) -> tuple[FloatArray, str | None]:
    """Return a method's qualities, or NaN and the reason: a method that fails does not end the table."""
    try:
        return estimate_by(method, reviews, n, None, 0).quality, None
    except CalibrationError as error:
        return np.full(reviews.n_items, np.nan), str(error)


def table(cells: Sequence[Record]) -> list[str]:
    """Return the lines of a table per task and share, with the paper's figures in round brackets."""
    lines: list[str] = []
    for task, share in dict.fromkeys((cell["task"], cell["share"]) for cell in cells):
        own = [cell for cell in cells if (cell["task"], cell["share"]) == (task, share)]
        lines += [
            f"peer-grading, {task}: best {100 * share:.0f} %",
            *text_table(HEADER, [_row(cell) for cell in own], range(len(HEADER)), UNCUT),
            "",
        ]
    return [*lines, LEGEND]


def _row(cell: Record) -> list[str]:
    if cell["failure"]:
        return [TITLES[cell["method"]], "failed", *[""] * (len(HEADER) - 2)]
    precision = f"{cell['precision']:.1f}"
    gap = f"{cell['gap']:.2f}"
    if cell["precision_paper"] is not None:
        precision = f"{precision} ({cell['precision_paper']:.1f})"
        gap = f"{gap} ({cell['gap_paper']:.2f})"
    row = [TITLES[cell["method"]], precision, _interval(cell, "precision", 1)]
    row += [f"{cell['ndcg']:.1f}", _interval(cell, "ndcg", 1)]
    spearman = f"{cell['spearman']:.2f}" if np.isfinite(cell["spearman"]) else "-"
    return [*row, spearman, _interval(cell, "spearman", 2), gap]


def _interval(cell: Record, name: str, digits: int) -> str:
    if cell["method"] == "average":
        return ""
    difference, low, high = (cell[f"{name}_{part}"] for part in ("difference", "low", "high"))
    if not np.isfinite([difference, low, high]).all():
        return "-"
    return f"{difference:+.{digits}f} [{low:+.{digits}f}, {high:+.{digits}f}]"


def save(folder: Path, cells: Sequence[Record]) -> None:
    """Write peer-grading.csv."""
    write_together(folder, {"peer-grading.csv": csv_text(columns_of(cells))})
