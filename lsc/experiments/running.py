"""Run trials: each seeded by its setting and number, each stored whole, through joblib.

A trial's numbers depend on its setting and its number only, neither on what else runs, nor in how many processes, nor
on what was already there. Experiments that share a setting share its trials.
"""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from lsc import metrics
from lsc.experiments.methods import estimate_by
from lsc.experiments.registry import ACCEPTED, Experiment
from lsc.simulation.settings import Setting
from reviewgraph.results import Progress
from reviewgraph.reviews import FloatArray

#: Measures of one method in one trial, by name; percent where the paper says percent.
Measures: TypeAlias = dict[str, float]
#: Measures by method.
Trial: TypeAlias = dict[str, Measures]
#: Trials by setting, in the order of their numbers.
Results: TypeAlias = Mapping[Setting, Sequence[Trial]]
#: Trials a process that run in one turn, where none can be stored before all have ended.
TURN = 4


class Task(NamedTuple):
    """A trial that is to run, by setting and number, with the methods that it lacks."""

    setting: Setting
    number: int
    methods: Sequence[str]


def run_trial(setting: Setting, trial: int, methods: Iterable[str]) -> Trial:
    """Draw one simulation and measure methods on it.

    >>> trial = run_trial(Setting(40, 40, 5), 0, ["average", "lsc-linear"])
    >>> trial["lsc-linear"]["precision"]
    100.0
    """
    seed = zlib.crc32(setting.key.encode())
    simulation = setting.draw(np.random.default_rng([seed, trial]))
    accepted = max(int(ACCEPTED * setting.n_items), 1)
    found = {}
    for method in methods:
        rng = np.random.default_rng([seed, trial, zlib.crc32(method.encode())])
        estimate = estimate_by(method, simulation.reviews, accepted, simulation.kinds, rng)
        found[method] = measure(estimate.quality, simulation.truth, accepted)
    return found


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
    """Run all trials that some experiments need, each setting once.

    Parameters
    ----------
    trials
        How many of each setting (20, as in the paper).
    jobs
        Processes; by default what ``joblib.parallel_config`` says, which also chooses the backend: processes here, or
        a Dask or Ray cluster.
    folder
        Store each trial here as it ends, and take from here what is done already.
    progress
        Told how many trials are done, of how many, at the start and after each.

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
    wanted = _wanted(experiments)
    # What is stored and complete is not run again; a trial lacking a method runs for that method alone.
    results = {(setting, n): _load(folder, setting, n) for setting in wanted for n in range(trials)}
    missing = [
        Task(setting, n, [method for method in wanted[setting] if method not in done])
        for (setting, n), done in results.items()
    ]
    todo = [task for task in missing if task.methods]
    done = len(results) - len(todo)
    began = time.monotonic()

    def tell() -> None:
        if progress:
            share = done / len(results) if results else 1.0
            progress(Progress(time.monotonic() - began, f"{done} of {len(results)} trials", share))

    tell()
    if todo:
        # Each trial is stored as it ends, so that a kill loses only those under way.
        for setting, n, trial in _ended(todo, jobs):
            results[setting, n] = {**results[setting, n], **trial}
            _store(folder, setting, n, results[setting, n])
            done += 1
            tell()
    return {setting: [results[setting, n] for n in range(trials)] for setting in wanted}


def _ended(todo: Sequence[Task], jobs: int | None) -> Iterator[tuple[Setting, int, Trial]]:
    """Run tasks, and yield what comes of each as it ends; in turns where the backend, as Ray's, gives all at once."""
    from joblib import Parallel, delayed, effective_n_jobs

    try:
        parallel, turn = Parallel(jobs, return_as="generator_unordered", pre_dispatch="2*n_jobs"), len(todo)
    except ValueError:
        parallel, turn = Parallel(jobs), TURN * effective_n_jobs(jobs)
    for first in range(0, len(todo), turn):
        yield from parallel(delayed(_task)(*task) for task in todo[first : first + turn])


def _task(setting: Setting, trial: int, methods: Sequence[str]) -> tuple[Setting, int, Trial]:
    return setting, trial, run_trial(setting, trial, methods)


def _wanted(experiments: Sequence[Experiment]) -> dict[Setting, list[str]]:
    """Methods by setting, without repetition."""
    wanted: dict[Setting, dict[str, None]] = {}
    for experiment in experiments:
        for cell in experiment.cells:
            wanted.setdefault(cell.setting, {}).update(dict.fromkeys(cell.methods))
    return {setting: list(methods) for setting, methods in wanted.items()}


def _path(folder: Path, setting: Setting, trial: int) -> Path:
    return folder / "trials" / setting.key / f"{trial:03}.json"


def _load(folder: Path | None, setting: Setting, trial: int) -> Trial:
    """Return a stored trial, or nothing where there is none, or one that cannot be read."""
    if folder is None:
        return {}
    try:
        stored: Any = json.loads(_path(folder, setting, trial).read_text("utf-8"))
        return {str(name): {str(k): _number(v) for k, v in row.items()} for name, row in stored["methods"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _store(folder: Path | None, setting: Setting, trial: int, found: Trial) -> None:
    if folder is None:
        return
    from reviewgraph.formats.writing import plain
    from reviewgraph.storing import write_together

    path = _path(folder, setting, trial)
    record = {"setting": setting.to_dict(), "trial": trial, "methods": found}
    write_together(path.parent, {path.name: json.dumps(plain(record), indent=1) + "\n"})


def _number(value: Any) -> float:
    return float("nan") if value is None else float(value)
