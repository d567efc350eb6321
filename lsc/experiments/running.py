"""Run the trials of experiments with joblib, store them, and report them in tables, CSV files and pictures.

The seed of a trial depends on its setting and number only, so results are independent of the other trials, the number
of processes, and stored results. Experiments that share a setting share its trials.
"""

from __future__ import annotations

import io
import json
import math
import time
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from lsc import metrics
from lsc.experiments.registry import (
    ACCEPTED,
    REASONS,
    TITLES,
    TRIALS,
    UNKNOWN,
    Cell,
    Experiment,
    Published,
    estimate_by,
)
from lsc.simulation import Setting
from reviewgraph._base import FloatArray, InputError, Progress, csv_text, plain, text_table, write_together

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


#: Measures of one method in one trial, by name; percent where the paper says percent.
Measures: TypeAlias = dict[str, float]
#: Measures by method.
Trial: TypeAlias = dict[str, Measures]
#: A setting, the number of a trial, and the methods to run.
Task: TypeAlias = tuple[Setting, int, Sequence[str]]
#: Trials by setting, in the order of their numbers.
Results: TypeAlias = Mapping[Setting, Sequence[Trial]]


def run_trial(setting: Setting, trial: int, methods: Iterable[str]) -> Trial:
    """Draw one simulation and measure methods on it.

    >>> trial = run_trial(Setting(40, 40, 5), 0, ["average", "lsc-linear"])
    >>> trial["lsc-linear"]["precision"]
    100.0
    """
    seed = zlib.crc32(setting.key.encode())
    simulation = setting.draw(np.random.default_rng([seed, trial]))
    accepted = max(int(ACCEPTED * setting.n_items), 1)
    measures = {}
    for method in methods:
        rng = np.random.default_rng([seed, trial, zlib.crc32(method.encode())])
        estimate = estimate_by(method, simulation.reviews, accepted, simulation.kinds, rng)
        measures[method] = measure(estimate.quality, simulation.truth, accepted)
    return measures


def measure(quality: FloatArray, truth: FloatArray, n: int) -> Measures:
    """Return all measures of one estimate."""
    return {
        "precision": 100.0 * metrics.precision(quality, truth, n),
        "gap": metrics.average_gap(quality, truth, n),
        "average_l1": metrics.average_l1(quality, truth),
        "average_precision": 100.0 * metrics.average_precision(quality, truth, n),
        "ndcg": 100.0 * metrics.ndcg(quality, truth, n),
        "kendall": metrics.kendall(quality, truth),
        "spearman": metrics.spearman(quality, truth),
    }


def run(
    experiments: Sequence[Experiment],
    trials: int = 20,
    *,
    jobs: int | None = None,
    folder: Path | None = None,
    progress: Callable[[Progress], object] | None = None,
) -> Results:
    """Run all trials of some experiments, each setting once.

    Parameters
    ----------
    trials
        Trials per setting (20, as in the paper).
    jobs
        Number of processes; by default that of ``joblib.parallel_config``, which also sets the backend: local
        processes, or a Dask cluster.
    folder
        Folder where each trial is stored when it ends; stored trials are not run again.
    progress
        Called with the number of finished trials, at the start and after each.

    Raises
    ------
    InputError
        If a trial cannot be written to the folder.

    Examples
    --------
    >>> from lsc.experiments.registry import EXPERIMENTS
    >>> small = EXPERIMENTS["doubly-connected"].scaled(40)
    >>> results = run([small], trials=2, jobs=1)
    >>> len(results), [trial["lsc-linear"]["precision"] for trial in results[small.cells[1].setting]]
    (10, [100.0, 100.0])
    """
    methods: dict[Setting, dict[str, None]] = {}
    for experiment in experiments:
        for cell in experiment.cells:
            methods.setdefault(cell.setting, {}).update(dict.fromkeys(cell.methods))
    # A stored trial runs only for the methods that it lacks.
    results = {(setting, n): _load(folder, setting, n) for setting in methods for n in range(trials)}
    missing = [
        (setting, n, [method for method in methods[setting] if method not in stored])
        for (setting, n), stored in results.items()
    ]
    todo = [task for task in missing if task[2]]
    done = len(results) - len(todo)
    began = time.monotonic()

    def tell() -> None:
        if progress:
            share = done / len(results) if results else 1.0
            progress(Progress(time.monotonic() - began, f"{done} of {len(results)} trials", share))

    tell()
    if todo:
        from joblib import Parallel, delayed

        # Each trial is stored when it ends, so that an interruption loses only the running ones.
        parallel = Parallel(jobs, return_as="generator_unordered", pre_dispatch="2*n_jobs")
        for setting, n, trial in parallel(delayed(_task)(*task) for task in todo):
            results[setting, n] = {**results[setting, n], **trial}
            _store(folder, setting, n, results[setting, n])
            done += 1
            tell()
    return {setting: [results[setting, n] for n in range(trials)] for setting in methods}


def _task(setting: Setting, trial: int, methods: Sequence[str]) -> tuple[Setting, int, Trial]:
    return setting, trial, run_trial(setting, trial, methods)


def _path(folder: Path, setting: Setting, trial: int) -> Path:
    return folder / "trials" / setting.key / f"{trial:03}.json"


def _load(folder: Path | None, setting: Setting, trial: int) -> Trial:
    """Return a stored trial; empty if there is none, or it cannot be read."""
    if folder is None:
        return {}
    try:
        stored: Any = json.loads(_path(folder, setting, trial).read_text("utf-8"))
        return {
            str(name): {str(k): math.nan if v is None else float(v) for k, v in row.items()}
            for name, row in stored["methods"].items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _store(folder: Path | None, setting: Setting, trial: int, measures: Trial) -> None:
    if folder is None:
        return
    path = _path(folder, setting, trial)
    record = {"setting": setting.to_dict(), "trial": trial, "methods": measures}
    write_together(path.parent, {path.name: json.dumps(plain(record), indent=1) + "\n"})


# From trials to cells: means, standard deviations, the paper's figures, and verdicts.

#: Measures where lower is better.
LOWER_IS_BETTER = frozenset({"gap", "average_l1"})


class Verdict(StrEnum):
    """The comparison with a figure of the paper."""

    REPRODUCED = "reproduced"
    BETTER = "better"
    NOT_REPRODUCED = "not reproduced"


def cells_of(experiment: Experiment, results: Results) -> list[dict[str, Any]]:
    """Return one record per setting and method.

    It has the position of the cell, and per measure our mean, standard deviation over trials (divisor trials - 1) and
    standard error, the paper's mean and deviation, a verdict (None without a figure of the paper), and the reason if a
    figure is not reproduced.
    """
    return [_record(experiment, cell, method, results) for cell in experiment.cells for method in cell.methods]


def _record(experiment: Experiment, cell: Cell, method: str, results: Results) -> dict[str, Any]:
    trials = results[cell.setting]
    record: dict[str, Any] = {"experiment": experiment.name, **cell.at, "method": method, "trials": len(trials)}
    for name in experiment.measures:
        values = np.array([trial[method][name] for trial in trials])
        mean = float(values.mean())
        std = float(values.std(ddof=1)) if values.size > 1 else math.nan
        # Ours, then the paper's with the verdict.
        record |= {name: mean, f"{name}_std": std, f"{name}_se": std / math.sqrt(values.size)}
        paper = cell.published.get(method, {}).get(name)
        verdict = _verdict(name, mean, std, values.size, paper) if paper else None
        missed = verdict is Verdict.NOT_REPRODUCED
        record |= {
            f"{name}_paper": paper.mean if paper else None,
            f"{name}_paper_std": paper.std if paper else None,
            f"{name}_verdict": verdict,
            f"{name}_why": REASONS.get((cell.setting.noise, method, name), UNKNOWN) if missed else None,
        }
    return record


def _verdict(name: str, mean: float, std: float, trials: int, paper: Published) -> Verdict | None:
    """Compare two means, with a tolerance of two standard errors of their difference plus the paper's rounding."""
    if paper.std is None or not math.isfinite(std):
        return None
    error = math.hypot(std / math.sqrt(trials), paper.std / math.sqrt(TRIALS))
    if abs(mean - paper.mean) <= 2.0 * error + paper.rounding:
        return Verdict.REPRODUCED
    return Verdict.BETTER if (mean > paper.mean) != (name in LOWER_IS_BETTER) else Verdict.NOT_REPRODUCED


def counts(cells: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Count the verdicts.

    >>> counts([{"precision_verdict": Verdict.BETTER, "gap_verdict": None}])
    {'reproduced': 0, 'better': 1, 'not reproduced': 0}
    """
    verdicts = [value for cell in cells for key, value in cell.items() if key.endswith("_verdict")]
    return {verdict.value: sum(value == verdict for value in verdicts) for verdict in Verdict}


# The output of an experiment: a table, and a CSV, a PNG and an SVG file.


class Measured(NamedTuple):
    """How a measure is shown: its heading and digits in tables, and its label in pictures."""

    heading: str
    digits: int
    label: str


MEASURES = {
    "precision": Measured("precision %", 1, "precision (%)"),
    "gap": Measured("gap", 2, "average gap"),
    "average_l1": Measured("avg. L1", 1, "average L1 of ranks"),
    "average_precision": Measured("AP %", 1, "average precision (%)"),
    "ndcg": Measured("NDCG %", 1, "NDCG (%)"),
    "kendall": Measured("Kendall", 3, "Kendall's $\\tau$"),
    "spearman": Measured("Spearman", 3, "Spearman's $\\rho$"),
}
#: Tables are written whole, however wide the terminal is.
UNCUT = 1000
MARKS = {"reproduced": "=", "better": "+", "not reproduced": "!"}

Record = Mapping[str, Any]


def table(experiment: Experiment, cells: Sequence[Record]) -> list[str]:
    """Return the lines of a table: our figures, the paper's in brackets, and ``=``, ``+`` or ``!`` for the verdict."""
    places = list(experiment.cells[0].at)
    header = [*places, "method", *(MEASURES[name].heading for name in experiment.measures)]
    rows = [
        [*(str(cell[key]) for key in places), TITLES[cell["method"]], *(_figure(cell, n) for n in experiment.measures)]
        for cell in cells
    ]
    # Below the rows: the number of each verdict, and the reasons for what is not reproduced.
    verdicts = counts(cells)
    summary = ", ".join(f"{number} {verdict}" for verdict, number in verdicts.items())
    missed = [
        f"! {' '.join([*(f'{key} {cell[key]}' for key in places), TITLES[cell['method']]])}, "
        f"{MEASURES[name].heading}: {why}"
        for cell in cells
        for name in experiment.measures
        if (why := cell[f"{name}_why"])
    ]
    title = f"{experiment.name}: {experiment.title}"
    against = [f"Figures of the paper: {summary}."] if any(verdicts.values()) else []
    return [title, *text_table(header, rows, range(len(header)), UNCUT), *against, *missed]


def _figure(cell: Record, name: str) -> str:
    digits = MEASURES[name].digits
    spread = cell[f"{name}_std"]
    ours = f"{cell[name]:.{digits}f}" + (f" +- {spread:.{digits}f}" if spread == spread else "")
    if cell[f"{name}_paper"] is None:
        return ours
    spread = cell[f"{name}_paper_std"]
    paper = f"{cell[f'{name}_paper']:.{digits}f}" + (f" +- {spread:.{digits}f}" if spread is not None else "")
    return f"{ours} ({paper}) {MARKS.get(cell[f'{name}_verdict'] or '', '')}".rstrip()


def columns_of(cells: Sequence[Record]) -> dict[str, list[Any]]:
    """Return records as columns, None for missing values."""
    names = dict.fromkeys(name for cell in cells for name in cell)
    return {name: [cell.get(name) for cell in cells] for name in names}


def folder_of(output: str | None) -> Path | None:
    """Create the folder for results, if there is one."""
    if output is None:
        return None
    folder = Path(output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"{output}: the folder cannot be created ({error.strerror or error})"
        raise InputError(message) from error
    return folder


def save(folder: Path, experiment: Experiment, cells: Sequence[dict[str, Any]]) -> list[Path]:
    """Write NAME.csv, NAME.png and NAME.svg, all of one run, and return their paths."""
    files: dict[str, str | bytes] = {f"{experiment.name}.csv": csv_text(columns_of(cells))}
    files |= {f"{experiment.name}.{suffix}": content for suffix, content in render(experiment, cells).items()}
    write_together(folder, files)
    return [folder / name for name in files]


# Pictures of experiments: our figures with error bars, the paper's with open marks.

#: Okabe and Ito's colours, which are distinct for all kinds of colour vision; marks differ, too.
STYLES = {
    "average": ("#000000", "o"),
    "qp": ("#E69F00", "s"),
    "bayesian": ("#009E73", "^"),
    "lsc-monotone": ("#56B4E9", "v"),
    "lsc-linear": ("#D55E00", "D"),
    "lsc-mixed": ("#CC79A7", "P"),
    "random": ("#009E73", "o"),
    "doubly connected": ("#E69F00", "s"),
}
OURS = "ours: mean +- 2 standard errors"
PAPER = "paper: mean +- 2 standard errors"
#: In inches: a panel of curves, the margin of a panel of dots, and one of its rows. Two panels fill a page.
PANEL_WIDTH = 4.2
CURVES_HEIGHT = 3.6
MARGIN = 0.7
ROW_HEIGHT = 0.26
#: Distance between curves, and from our marks to the paper's, as parts of the axis.
APART = 0.014
BESIDE = 0.072
FONTS = {
    "font.size": 9,
    "lines.markersize": 4.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "reviewgraph",
    "svg.fonttype": "none",
}


def render(experiment: Experiment, cells: Sequence[Record]) -> dict[str, bytes]:
    """Return the picture of an experiment as PNG and SVG, by suffix."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    panels = list(dict.fromkeys(cell[experiment.panel] for cell in cells)) if experiment.panel else [None]
    measures = experiment.measures[:1] if experiment.axis else _drawn(experiment, cells)
    width = PANEL_WIDTH * len(panels) + 0.4
    height = CURVES_HEIGHT
    if not experiment.axis:
        height = MARGIN + len(measures) * (MARGIN + ROW_HEIGHT * len(cells) / len(panels))
    with mpl.rc_context(FONTS):
        figure = Figure(figsize=(width, height), layout="constrained")
        lines = figure.subplots(len(measures), len(panels), sharex="row", sharey=True, squeeze=False)
        for measure, line in zip(measures, lines, strict=True):
            for axis, panel in zip(line, panels, strict=True):
                shown = [cell for cell in cells if panel is None or cell[experiment.panel] == panel]
                (_curves if experiment.axis else _dots)(axis, experiment, shown, measure)
        for axis, panel in zip(lines[0], panels, strict=True):
            if panel is not None:
                axis.set_title("without noise" if panel == 0 else rf"noise $\sigma$ = {panel:g}")
        figure.suptitle(f"{experiment.title}, {cells[0]['trials']} trials", fontsize=10)
        _legend(figure, lines[0, 0], experiment, 4 if len(panels) > 1 else 2)
        return written(figure)


def _drawn(experiment: Experiment, cells: Sequence[Record]) -> tuple[str, ...]:
    """Return the measures with figures of the paper, or the first."""
    stated = [name for name in experiment.measures if any(cell[f"{name}_paper"] is not None for cell in cells)]
    return tuple(stated) or experiment.measures[:1]


def _dots(axis: Axes, experiment: Experiment, cells: Sequence[Record], measure: str) -> None:
    """Draw a row per method: our figure, and the paper's just below."""
    for row, cell in enumerate(cells):
        colour, mark = STYLES[cell["method"]]
        axis.errorbar(cell[measure], row, xerr=_error(cell, measure), fmt=mark, color=colour, capsize=2)
        if cell[f"{measure}_paper"] is not None:
            axis.errorbar(cell[f"{measure}_paper"], row + 0.36, xerr=_paper_error(cell, measure), **_open(colour, mark))
    axis.set_yticks(range(len(cells)), [TITLES[cell["method"]] for cell in cells])
    axis.set_ylim(len(cells) - 0.3, -0.5)
    axis.set_xlabel(MEASURES[measure].label)
    axis.grid(axis="x", alpha=0.3)


def _curves(axis: Axes, experiment: Experiment, cells: Sequence[Record], measure: str) -> None:
    """Draw a curve per method, or per graph with one method, slightly apart; the paper's marks to the right."""
    line = "graph" if "graph" in cells[0] else "method"
    names = list(dict.fromkeys(cell[line] for cell in cells))
    places = list(dict.fromkeys(cell[experiment.axis] for cell in cells))
    for number, name in enumerate(names):
        # Curves are slightly apart so that error bars do not overlap.
        curve = [cell for cell in cells if cell[line] == name]
        shift = APART * len(places) * (number - (len(names) - 1) / 2)
        at = [places.index(cell[experiment.axis]) + shift for cell in curve]
        colour, mark = STYLES[name]
        means = [cell[measure] for cell in curve]
        errors = [_error(cell, measure) for cell in curve]
        axis.errorbar(
            at, means, yerr=errors, fmt=f"{mark}-", color=colour, linewidth=1, capsize=2, label=TITLES.get(name, name)
        )
        for place, cell in zip(at, curve, strict=True):
            if cell[f"{measure}_paper"] is not None:
                error = _paper_error(cell, measure)
                beside = place + BESIDE * len(places)
                axis.errorbar(beside, cell[f"{measure}_paper"], yerr=error, **_open(colour, mark))
    axis.set_xticks(range(len(places)), [place if isinstance(place, str) else f"{place:g}" for place in places])
    axis.set_xlabel(experiment.label)
    if axis.get_subplotspec().is_first_col():
        axis.set_ylabel(MEASURES[measure].label)
    axis.grid(axis="y", alpha=0.3)


def _legend(figure: Figure, axis: Axes, experiment: Experiment, columns: int) -> None:
    from matplotlib.lines import Line2D

    handles, labels = axis.get_legend_handles_labels() if experiment.axis else ([], [])
    for _ in range(len(handles) % 2):  # the meanings of marks have their own column
        handles = [*handles, Line2D([], [], linestyle="none")]
        labels = [*labels, ""]
    kinds = [
        Line2D([], [], color="0.3", marker="o", linestyle="none"),
        Line2D([], [], color="0.3", marker="o", markerfacecolor="white", linestyle="none"),
    ]
    figure.legend(
        [*handles, *kinds], [*labels, OURS, PAPER], loc="outside lower center", ncols=columns, frameon=False, fontsize=8
    )


def _open(colour: str, mark: str) -> dict[str, Any]:
    return {"fmt": mark, "color": colour, "markerfacecolor": "white", "elinewidth": 0.8, "capsize": 2, "zorder": 5}


def _error(cell: Record, measure: str) -> float:
    error = 2.0 * float(cell[f"{measure}_se"])
    return 0.0 if math.isnan(error) else error


def _paper_error(cell: Record, measure: str) -> float:
    return 2.0 * float(cell[f"{measure}_paper_std"] or 0.0) / math.sqrt(TRIALS)


def written(figure: Figure) -> dict[str, bytes]:
    """Return a figure as PNG and SVG, by suffix; without a date, so that the same cells give the same files."""
    images = {}
    for suffix, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
        buffer = io.BytesIO()
        figure.savefig(buffer, format=suffix, dpi=200, metadata=metadata)
        images[suffix] = buffer.getvalue()
    return images
