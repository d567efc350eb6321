"""The experiments of the paper: settings, methods and published figures of each cell, trials, and tables.

Trials run with joblib. The seed of a trial depends on its setting and number only, so results are independent of the
other trials and the number of processes. Experiments that share a setting share its trials.
"""

from __future__ import annotations

import csv
import math
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from lsc import metrics
from lsc.estimate import Estimate
from lsc.methods import METHODS
from lsc.simulation import MIXED, Setting
from reviewgraph._base import Clock, FloatArray, Progress, csv_text, text_table, write_together
from reviewgraph.table import Reviews

# The methods of the paper's tables, with their options, in their order.


class Variant(NamedTuple):
    """A method with options, and its title in tables."""

    title: str
    method: str
    options: Mapping[str, Any]


#: Methods with options, by the names under which results are reported.
VARIANTS: Mapping[str, Variant] = {
    "average": Variant("Average", "average", {}),
    "qp": Variant("QP", "qp", {"bounded": True}),
    "bayesian": Variant("Bayesian", "bayesian", {}),
    "lsc-monotone": Variant("LSC (mono)", "lsc", {"hypothesis": "monotone"}),
    "lsc-linear": Variant("LSC (linear)", "lsc", {"hypothesis": "linear"}),
    "lsc-mixed": Variant("LSC (mixed)", "lsc", {}),
}

#: The methods of all tables; that of mixed scoring functions has LSC with the true class of each reviewer, too.
PAPER_METHODS = ("average", "qp", "bayesian", "lsc-monotone", "lsc-linear")


def estimate_by(
    name: str, reviews: Reviews, n: int, kinds: Sequence[str] | None, seed: int | np.random.Generator
) -> Estimate:
    """Return the estimate of a variant or method, for ``n`` items to select and the hypothesis classes of reviewers."""
    variant = VARIANTS.get(name, Variant(name, name, {}))
    method = METHODS[variant.method]
    offered: dict[str, Any] = {"n_selected": n, "seed": seed}
    if kinds is not None:
        # Unless the variant has a class of its own, it gets the true class of each reviewer.
        offered["hypothesis"] = dict(zip(reviews.reviewers, kinds, strict=True))
    options = {option: value for option, value in offered.items() if option in method.options}
    return method(reviews, **{**options, **variant.options})


# Published figures: all of the tables, and the few of the text. The plots are not available as numbers; for points with
# the setting of Table 1 we use Table 1.

#: Trials of each published figure.
TRIALS = 20


class Measured(NamedTuple):
    """How a table shows a measure, and whether lower values are better."""

    heading: str
    digits: int
    lower_is_better: bool = False


MEASURES = {
    "precision": Measured("precision %", 1),
    "gap": Measured("gap", 2, lower_is_better=True),
    "average_l1": Measured("avg. L1", 1, lower_is_better=True),
    "average_precision": Measured("AP %", 1),
    "ndcg": Measured("NDCG %", 1),
}

#: Mean and standard deviation over 20 trials as printed, by measure.
Row: TypeAlias = Mapping[str, tuple[float, float]]


def _published(table: str) -> Mapping[float, Mapping[str, Row]]:
    """Return the figures of a table of the paper, by noise and method."""
    figures: dict[float, dict[str, dict[str, tuple[float, float]]]] = {}
    with resources.files("lsc").joinpath("published.csv").open(encoding="utf-8") as file:
        for line in csv.DictReader(file):
            if line["table"] == table:
                methods = figures.setdefault(float(line["noise"]), {})
                measures = methods.setdefault(line["method"], {})
                measures[line["measure"]] = float(line["mean"]), float(line["deviation"])
    return figures


#: Table 1 (linear scoring functions, N = M = 1000, k = 5), and the tables of mixed scoring functions and of rank-aware
#: measures (Appendix B), by noise and method.
TABLE_1 = _published("table1")
PUBLISHED_MIXED = _published("mixed")
RANK = _published("rank")

#: "LSC (linear) can always perfectly recover": without noise for k >= 3, for N : M up to 2 : 1, and for doubly
#: connected graphs with M = 350.
PERFECT: Mapping[str, Row] = {"lsc-linear": {"precision": (100.0, 0.0), "gap": (0.0, 0.0)}}

#: Share of the papers that are accepted.
ACCEPTED = 0.1
SIGMAS = (0.0, 0.5)
LEVELS = (0.0, 0.25, 0.5, 0.75, 1.0)
LOADS = (3, 4, 5, 6, 7)
REVIEWERS = {"1:1": 1000, "3:2": 667, "2:1": 500}


@dataclass(frozen=True)
class Cell:
    """One setting of an experiment, with its methods and published figures.

    ``at`` has the values of what the paper varies, by name.
    """

    at: Mapping[str, float | str]
    setting: Setting
    methods: tuple[str, ...] = PAPER_METHODS
    published: Mapping[str, Row] = field(default_factory=dict)


@dataclass(frozen=True)
class Experiment:
    """A table or figure of the paper.

    Each setting is a cell with all ``measures``.
    """

    name: str
    title: str
    cells: tuple[Cell, ...]
    measures: tuple[str, ...] = ("precision", "gap")

    def scaled(self, n_items: int) -> Experiment:
        """Return the experiment with ``n_items`` items, without the paper's figures, which are for 1,000."""
        cells = (replace(cell, setting=cell.setting.scaled(n_items), published={}) for cell in self.cells)
        return replace(self, cells=tuple(cells))


def _cells(settings: Iterable[tuple[Mapping[str, float | str], Setting]]) -> tuple[Cell, ...]:
    """Return cells with the figures of Table 1 where the setting is that, and what the text states for others."""
    stated = {Setting(noise=sigma): figures for sigma, figures in TABLE_1.items()}
    return tuple(
        Cell(at, setting, published=stated.get(setting, PERFECT if setting.noise == 0 else {}))
        for at, setting in settings
    )


def _mixture(sigma: float, percent: int) -> Cell:
    at = {"noise": sigma, "monotone": percent}
    if percent == 0:
        return Cell(at, Setting(noise=sigma), published=TABLE_1[sigma])
    if percent == 100:
        return Cell(at, Setting(noise=sigma, shares=(("monotone", 1.0),)))
    shares = (("linear", 1.0 - percent / 100), ("monotone", percent / 100))
    return Cell(at, Setting(noise=sigma, shares=shares), (*PAPER_METHODS, "lsc-mixed"))


def _graph(sigma: float, graph: str) -> Cell:
    double = graph == "doubly connected"
    setting = Setting(n_reviewers=350, noise=sigma, design="double" if double else "random")
    return Cell({"noise": sigma, "graph": graph}, setting, ("lsc-linear",), PERFECT if double and sigma == 0 else {})


def _mixed(sigma: float) -> Cell:
    methods = (*PAPER_METHODS, "lsc-mixed")
    return Cell({"noise": sigma}, Setting(noise=sigma, shares=MIXED), methods, PUBLISHED_MIXED[sigma])


#: All experiments on simulated reviews, by name.
EXPERIMENTS: Mapping[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        Experiment(
            "table1",
            "Linear scoring functions (Table 1)",
            _cells(({"noise": sigma}, Setting(noise=sigma)) for sigma in SIGMAS),
        ),
        Experiment(
            "mixture",
            "Linear and arbitrary monotone reviewers",
            tuple(_mixture(sigma, percent) for sigma in SIGMAS for percent in (0, 25, 50, 75, 100)),
        ),
        Experiment("mixed", "A third each monotone, convex and concave", tuple(map(_mixed, SIGMAS))),
        Experiment(
            "doubly-connected",
            "Random against doubly connected graphs, M = 350",
            tuple(_graph(sigma, graph) for sigma in LEVELS for graph in ("random", "doubly connected")),
        ),
        Experiment(
            "k",
            "Papers per reviewer",
            _cells(({"noise": sigma, "k": k}, Setting(load=k, noise=sigma)) for sigma in SIGMAS for k in LOADS),
        ),
        Experiment(
            "ratio",
            "Papers for each reviewer",
            _cells(
                ({"noise": sigma, "ratio": ratio}, Setting(n_reviewers=size, noise=sigma))
                for sigma in SIGMAS
                for ratio, size in REVIEWERS.items()
            ),
        ),
        Experiment(
            "sigma",
            "Size of the noise",
            _cells(({"noise": sigma}, Setting(noise=sigma)) for sigma in LEVELS),
        ),
        Experiment(
            "rank",
            "Rank-aware measures",
            tuple(Cell({"noise": sigma}, Setting(noise=sigma), published=RANK[sigma]) for sigma in SIGMAS),
            ("ndcg", "average_precision", "average_l1"),
        ),
    )
}


# Trials.

#: Measures of one method in one trial, by name; percent where the paper says percent.
Measures: TypeAlias = dict[str, float]
#: Measures by method.
Trial: TypeAlias = dict[str, Measures]
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
    }


def run(
    experiments: Sequence[Experiment],
    trials: int = 20,
    *,
    jobs: int | None = None,
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
    progress
        Called with the number of finished trials, at the start and after each.

    Examples
    --------
    >>> small = EXPERIMENTS["doubly-connected"].scaled(40)
    >>> results = run([small], trials=2, jobs=1)
    >>> len(results), [trial["lsc-linear"]["precision"] for trial in results[small.cells[1].setting]]
    (10, [100.0, 100.0])
    """
    from joblib import Parallel, delayed

    methods: dict[Setting, dict[str, None]] = {}
    for experiment in experiments:
        for cell in experiment.cells:
            methods.setdefault(cell.setting, {}).update(dict.fromkeys(cell.methods))
    tasks = [(setting, trial, tuple(methods[setting])) for setting in methods for trial in range(trials)]
    clock = Clock(None)
    measured: list[Trial] = []
    for result in Parallel(jobs, return_as="generator")(delayed(run_trial)(*task) for task in tasks):
        measured.append(result)
        if progress:
            words = f"{len(measured)} of {len(tasks)} trials"
            progress(Progress(clock.elapsed(), words, len(measured) / len(tasks)))
    return {setting: measured[place * trials : (place + 1) * trials] for place, setting in enumerate(methods)}


# From trials to cells: means, standard deviations, the paper's figures, and verdicts.


#: The comparison with a figure of the paper: its mark in tables.
MARKS = {"reproduced": "=", "better": "+", "not reproduced": "!"}


def cells_of(experiment: Experiment, results: Results) -> list[dict[str, Any]]:
    """Return one record per setting and method.

    It has the position of the cell, and per measure our mean, standard deviation over trials (divisor trials - 1) and
    standard error, the paper's mean and deviation, and a verdict (None without a figure of the paper).
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
        paper_mean, paper_std = paper or (None, None)
        verdict = None if paper is None else _verdict(name, mean, std, values.size, paper)
        record |= {f"{name}_paper": paper_mean, f"{name}_paper_std": paper_std, f"{name}_verdict": verdict}
    return record


def _verdict(name: str, mean: float, std: float, trials: int, paper: tuple[float, float]) -> str | None:
    """Compare two means, with a tolerance of two standard errors of their difference plus the paper's rounding."""
    if not math.isfinite(std):
        return None
    paper_mean, paper_std = paper
    measured = MEASURES[name]
    error = math.hypot(std / math.sqrt(trials), paper_std / math.sqrt(TRIALS))
    if abs(mean - paper_mean) <= 2.0 * error + 0.5 * 10.0**-measured.digits:
        return "reproduced"
    return "better" if (mean > paper_mean) != measured.lower_is_better else "not reproduced"


# The output of an experiment: a table, and a CSV file.

#: Tables are written whole, however wide the terminal is.
UNCUT = 1000

Record = Mapping[str, Any]


def table(experiment: Experiment, cells: Sequence[Record]) -> list[str]:
    """Return the lines of a table: our figures, the paper's in brackets, and ``=``, ``+`` or ``!`` for the verdict."""
    places = list(experiment.cells[0].at)
    header = [*places, "method", *(MEASURES[name].heading for name in experiment.measures)]
    rows = [
        [
            *(str(cell[key]) for key in places),
            VARIANTS[cell["method"]].title,
            *(_figure(cell, n) for n in experiment.measures),
        ]
        for cell in cells
    ]
    verdicts = [value for cell in cells for key, value in cell.items() if key.endswith("_verdict")]
    summary = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in MARKS)
    title = f"{experiment.name}: {experiment.title}"
    against = [f"Figures of the paper: {summary}."] if any(verdicts) else []
    return [title, *text_table(header, rows, range(len(header)), UNCUT), *against]


def _figure(cell: Record, name: str) -> str:
    digits = MEASURES[name].digits
    spread = cell[f"{name}_std"]
    ours = f"{cell[name]:.{digits}f}" + (f" +- {spread:.{digits}f}" if spread == spread else "")
    if cell[f"{name}_paper"] is None:
        return ours
    spread = cell[f"{name}_paper_std"]
    paper = f"{cell[f'{name}_paper']:.{digits}f} +- {spread:.{digits}f}"
    return f"{ours} ({paper}) {MARKS.get(cell[f'{name}_verdict'] or '', '')}".rstrip()


def save(folder: str, experiment: Experiment, cells: Sequence[Record]) -> None:
    """Write NAME.csv to a folder."""
    names = dict.fromkeys(name for cell in cells for name in cell)
    columns = {name: [cell.get(name) for cell in cells] for name in names}
    write_together(folder, {f"{experiment.name}.csv": csv_text(columns)})
