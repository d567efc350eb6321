"""From trials to cells: means, deviations, the paper's figures beside them, and a verdict each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

import numpy as np

from lsc.experiments.published import REASONS, TRIALS, UNKNOWN, Published
from lsc.experiments.registry import Cell, Experiment
from lsc.experiments.running import Results

#: Measures of which less is better.
LOWER_IS_BETTER = frozenset({"gap", "average_l1"})


class Verdict(StrEnum):
    """What becomes of a figure of the paper."""

    REPRODUCED = "reproduced"
    BETTER = "better"
    NOT_REPRODUCED = "not reproduced"


def cells_of(experiment: Experiment, results: Results) -> list[dict[str, Any]]:
    """Return one record a setting and method.

    It says where it stands, and per measure our mean, standard deviation over trials (divisor trials - 1) and standard
    error, the paper's mean and deviation, a verdict (None where the paper states nothing), and why a figure is not
    reproduced.
    """
    return [_record(experiment, cell, method, results) for cell in experiment.cells for method in cell.methods]


def _record(experiment: Experiment, cell: Cell, method: str, results: Results) -> dict[str, Any]:
    trials = results[cell.setting]
    record: dict[str, Any] = {"experiment": experiment.name, **cell.at, "method": method, "trials": len(trials)}
    for name in experiment.measures:
        values = np.array([trial[method][name] for trial in trials])
        mean, std = float(values.mean()), float(values.std(ddof=1)) if values.size > 1 else math.nan
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
    """Compare two means by two standard errors of their difference, plus what the paper rounded away."""
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
    found = [value for cell in cells for key, value in cell.items() if key.endswith("_verdict")]
    return {verdict.value: sum(value == verdict for value in found) for verdict in Verdict}
