"""What an experiment leaves behind: a table for people, and a CSV, a PNG and an SVG file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lsc.experiments.methods import TITLES
from lsc.experiments.registry import Experiment
from lsc.experiments.summary import counts
from reviewgraph.cli.output import csv_text
from reviewgraph.errors import InputError
from reviewgraph.storing import write_together

#: What people read of a measure, and its digits.
COLUMNS = {
    "precision": ("precision %", 1),
    "gap": ("gap", 2),
    "average_l1": ("avg. L1", 1),
    "average_precision": ("AP %", 1),
    "ndcg": ("NDCG %", 1),
    "kendall": ("Kendall", 3),
    "spearman": ("Spearman", 3),
}
MARKS = {"reproduced": "=", "better": "+", "not reproduced": "!"}

Record = Mapping[str, Any]


def table(experiment: Experiment, cells: Sequence[Record]) -> list[str]:
    """Return the lines of a table: ours, the paper's in brackets, and ``=``, ``+`` or ``!`` for the verdict."""
    places = list(experiment.cells[0].at)
    header = [*places, "method", *(COLUMNS[name][0] for name in experiment.measures)]
    rows = [
        [*(str(cell[key]) for key in places), TITLES[cell["method"]], *(_figure(cell, n) for n in experiment.measures)]
        for cell in cells
    ]
    verdicts = counts(cells)
    found = ", ".join(f"{number} {verdict}" for verdict, number in verdicts.items())
    missed = [
        f"! {' '.join([*(f'{key} {cell[key]}' for key in places), TITLES[cell['method']]])}, {COLUMNS[name][0]}: {why}"
        for cell in cells
        for name in experiment.measures
        if (why := cell[f"{name}_why"])
    ]
    title = f"{experiment.name}: {experiment.title}"
    against = [f"Figures of the paper: {found}."] if any(verdicts.values()) else []
    return [title, *aligned([header, *rows]), *against, *missed]


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows as lines with aligned columns.

    >>> aligned([["a", "b"], ["long", "c"]])
    ['a     b', 'long  c']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def _figure(cell: Record, name: str) -> str:
    digits = COLUMNS[name][1]
    spread = cell[f"{name}_std"]
    ours = f"{cell[name]:.{digits}f}" + (f" ± {spread:.{digits}f}" if spread == spread else "")
    if cell[f"{name}_paper"] is None:
        return ours
    spread = cell[f"{name}_paper_std"]
    paper = f"{cell[f'{name}_paper']:.{digits}f}" + (f" ± {spread:.{digits}f}" if spread is not None else "")
    return f"{ours} ({paper}) {MARKS.get(cell[f'{name}_verdict'] or '', '')}".rstrip()


def columns_of(cells: Sequence[Record]) -> dict[str, list[Any]]:
    """Return records as columns; what a record lacks is None."""
    names = dict.fromkeys(name for cell in cells for name in cell)
    return {name: [cell.get(name) for cell in cells] for name in names}


def folder_of(output: str | None) -> Path | None:
    """Make the folder for results, if one is asked for.

    Raises
    ------
    InputError
        If it cannot be made.
    """
    if output is None:
        return None
    folder = Path(output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"{output}: cannot be made a folder ({error.strerror or error})"
        raise InputError(message) from error
    return folder


def save(folder: Path, experiment: Experiment, cells: Sequence[dict[str, Any]]) -> list[Path]:
    """Write NAME.csv, NAME.png and NAME.svg, all of one run, and return their paths."""
    from lsc.experiments.pictures import render

    files: dict[str, str | bytes] = {f"{experiment.name}.csv": csv_text(columns_of(cells))}
    files |= {f"{experiment.name}.{suffix}": content for suffix, content in render(experiment, cells).items()}
    write_together(folder, files)
    return [folder / name for name in files]
