"""The paper's experiment on peer grading: the Hamburg files [Sajjadi16]_, or any reviews whose truth is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from lsc.errors import CalibrationError
from lsc.estimate import plain_averages
from lsc.experiments.bootstrap import RESAMPLES, intervals, resamples_of
from lsc.experiments.methods import GRADED_METHODS, TITLES, estimate_by
from lsc.experiments.published import PEER_GRADING
from lsc.experiments.running import measure
from reviewgraph.errors import InputError
from reviewgraph.formats.headers import Role
from reviewgraph.formats.problems import quote, quote_all
from reviewgraph.formats.side.reading import Field, read_columns
from reviewgraph.formats.values import parse_number
from reviewgraph.formats.writing import csv_text
from reviewgraph.reviews import FloatArray, Reviews
from reviewgraph.storing import write_together

Grouping: TypeAlias = Literal["question", "homework", "semester"]

#: Parts of the submissions that are selected.
SHARES = (0.2, 0.5)
#: Grades are brought to [-5, 5], as in the code of [Tan21]_.
SPREAD = 10.0
#: The one published table: this group and share.
PUBLISHED = ("homework 1", 0.5)
#: What people read.
AGAINST = "to Average [95 %]"
HEADER = ("method", "precision %", AGAINST, "NDCG %", AGAINST, "Spearman", AGAINST, "gap")
LEGEND = "In square brackets the 95 % bootstrap interval of the difference to Average, over submissions."


class Graded(NamedTuple):
    """One task: its name, the reviews and the truth of each item, shape (N,), NaN where unknown."""

    name: str
    reviews: Reviews
    truth: FloatArray


def from_truth(reviews: Reviews, truth: Mapping[Any, float], name: str = "all") -> Graded:
    """Join reviews with a truth by item.

    Raises
    ------
    InputError
        If no item of the reviews has a truth.

    Examples
    --------
    >>> reviews = Reviews.from_pairs([("ann", "p1", 1.0), ("ann", "p2", 3.0)])
    >>> from_truth(reviews, {"p1": 0.5}).truth.tolist()
    [0.5, nan]
    """
    known = reviews.printed([truth.get(item, np.nan) for item in reviews.items])
    if not np.isfinite(known).any():
        message = f"truth: expected items of the reviews, such as {quote(str(reviews.items[0]))}; found none of them"
        raise InputError(message)
    return Graded(name, reviews, known)


def read_hamburg(folder: str, grouping: Grouping = "homework") -> list[Graded]:
    """Read ``peer.csv``, ``ta.csv`` (taskid, reviewerid, groupid, grade) and ``maxgrades.csv`` (taskid, maxgrade).

    Grades become ``10 (grade / maxgrade - 1/2)``; the truth of a submission is the mean of the teaching assistants'.
    The first letter of a task is the homework, the rest the question.

    Parameters
    ----------
    grouping
        What is calibrated as one: each question; the questions of a homework together (the paper's table); all
        questions of the semester. A submission is one group's answer to one question in each case.
    """
    limit = {labels[0]: most for labels, most in _read(f"{folder}/maxgrades.csv", ("taskid",), "maxgrade")}
    truth: dict[str, dict[str, list[float]]] = {}
    for (task, _, group), grade in _grades(f"{folder}/ta.csv", limit):
        truth.setdefault(_unit(task, grouping), {}).setdefault(f"{group}_{task}", []).append(grade)
    found: dict[str, list[tuple[str, str, float]]] = {}
    for (task, reviewer, group), grade in _grades(f"{folder}/peer.csv", limit):
        found.setdefault(_unit(task, grouping), []).append((reviewer, f"{group}_{task}", grade))
    return [
        from_truth(
            Reviews.from_pairs(rows),
            {item: float(np.mean(grades)) for item, grades in truth.get(unit, {}).items()},
            unit,
        )
        for unit, rows in sorted(found.items())
    ]


def _unit(task: str, grouping: Grouping) -> str:
    return {"question": f"question {task}", "homework": f"homework {task[:1]}", "semester": "semester"}[grouping]


def _read(path: str, labels: tuple[str, ...], value: str) -> list[tuple[tuple[str, ...], float]]:
    fields = [Field(Role(name, label=True), str, "a label") for name in labels]
    number = Field(Role(value, ranked=False), parse_number, "a finite number")
    columns = read_columns(path, [*fields, number], key=labels)
    return list(zip(zip(*(columns[name] for name in labels), strict=True), columns[value], strict=True))


def _grades(path: str, limit: Mapping[str, float]) -> list[tuple[tuple[str, ...], float]]:
    rows = _read(path, ("taskid", "reviewerid", "groupid"), "grade")
    unknown = sorted({labels[0] for labels, _ in rows} - limit.keys())
    if unknown:
        message = f"{path}: expected tasks that maxgrades.csv knows, found {quote_all(unknown)}"
        raise InputError(message)
    nothing = sorted({labels[0] for labels, _ in rows if not limit[labels[0]] > 0})
    if nothing:
        message = f"{path}: expected a maxgrade above 0 for each task, found none for {quote_all(nothing)}"
        raise InputError(message)
    return [(labels, SPREAD * (grade / limit[labels[0]] - 0.5)) for labels, grade in rows]


def cells_of(
    tasks: Sequence[Graded], methods: Sequence[str] = GRADED_METHODS, *, resamples: int = RESAMPLES
) -> list[dict[str, Any]]:
    """Measure every method on every task at 20 % and 50 %; the paper's figures beside its one table.

    Beside each precision, NDCG and Spearman's coefficient stand its difference to that of the plain average
    (``_difference``) and a 95 % bootstrap interval of the difference (``_low``, ``_high``), of items resampled with
    fixed seeds.

    >>> rows = [(j, i, float((i * (j + 1)) % 7)) for j in range(4) for i in range(20)]
    >>> task = Graded("all", Reviews.from_pairs(rows), np.arange(20.0))
    >>> cell = cells_of([task], ["average"], resamples=5)[0]
    >>> cell["share"], round(cell["precision"], 2), cell["precision_difference"]
    (0.2, 16.67, 0.0)
    """
    found = []
    for task in tasks:
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
                published = PEER_GRADING.get(method, {}) if (task.name, share) == PUBLISHED else {}
                for name in ("precision", "gap"):
                    record[f"{name}_paper"] = published[name].mean if name in published else None
                for name, (low, high) in intervals(quality, base, task.truth, n, draws).items():
                    difference = own[name] - at_average[name]
                    record |= {f"{name}_difference": difference, f"{name}_low": low, f"{name}_high": high}
                found.append(record)
    return found


def _estimated(method: str, reviews: Reviews, n: int) -> tuple[FloatArray, str | None]:
    """Return a method's qualities, or NaN and why it has none: one method that fails does not end the table."""
    try:
        return estimate_by(method, reviews, n, None, 0).quality, None
    except CalibrationError as error:
        return np.full(reviews.n_items, np.nan), str(error)


def table(cells: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the lines of a table a task and share; in round brackets the paper's figures."""
    from lsc.experiments.output import aligned

    lines: list[str] = []
    for task, share in dict.fromkeys((cell["task"], cell["share"]) for cell in cells):
        own = [cell for cell in cells if (cell["task"], cell["share"]) == (task, share)]
        lines += [f"peer-grading, {task}: best {share:.0%}", *aligned([HEADER, *map(_row, own)]), ""]
    return [*lines, LEGEND]


def _row(cell: Mapping[str, Any]) -> list[str]:
    if cell["failure"]:
        return [TITLES[cell["method"]], "failed", *[""] * (len(HEADER) - 2)]
    precision, gap = f"{cell['precision']:.1f}", f"{cell['gap']:.2f}"
    if cell["precision_paper"] is not None:
        precision, gap = f"{precision} ({cell['precision_paper']:.1f})", f"{gap} ({cell['gap_paper']:.2f})"
    row = [TITLES[cell["method"]], precision, _interval(cell, "precision", 1)]
    row += [f"{cell['ndcg']:.1f}", _interval(cell, "ndcg", 1)]
    spearman = f"{cell['spearman']:.2f}" if np.isfinite(cell["spearman"]) else "-"
    return [*row, spearman, _interval(cell, "spearman", 2), gap]


def _interval(cell: Mapping[str, Any], name: str, digits: int) -> str:
    if cell["method"] == "average":
        return ""
    difference, low, high = (cell[f"{name}_{part}"] for part in ("difference", "low", "high"))
    if not np.isfinite([difference, low, high]).all():
        return "-"
    return f"{difference:+.{digits}f} [{low:+.{digits}f}, {high:+.{digits}f}]"


def save(folder: Path, cells: Sequence[Mapping[str, Any]]) -> None:
    """Write peer-grading.csv, peer-grading.png and peer-grading.svg, all of one run."""
    from lsc.experiments.output import columns_of
    from lsc.experiments.peer_grading_pictures import render_tasks

    files: dict[str, str | bytes] = {"peer-grading.csv": csv_text(columns_of(cells))}
    write_together(folder, files | {f"peer-grading.{suffix}": data for suffix, data in render_tasks(cells).items()})
