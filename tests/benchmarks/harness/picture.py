"""The results as a picture: what each method gains over the average, and how often 90 % intervals cover."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tests.benchmarks.harness.draws import Regime
from tests.benchmarks.harness.page import ABOVE, BELOW, Results, coverages, difference
from tests.benchmarks.harness.running import EXACT

#: Colour and mark of each method: ours and the exact posterior stand out.
OURS_COLOUR = "#c0392b"
COLOURS = {
    "ridge": "#7f8c8d",
    "mixed model": "#2c3e50",
    "z-score": "#b8a078",
    "QP": "#8e6bbf",
    "Bayesian": "#5d9bd5",
    "LSC linear": "#2e8b57",
    "LSC monotone": "#9acd6a",
}
LEVEL = 0.9


def draw(path: Path, regimes: Sequence[Regime], results: Results, methods: Sequence[str], ours: str) -> None:
    """Write the picture as SVG and PNG beside ``path``."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "regimes"
    from matplotlib import pyplot as plt

    has_intervals = any(coverages(results, regime.name, ours) for regime in regimes)
    figure, panels = plt.subplots(
        1,
        2 if has_intervals else 1,
        figsize=(11 if has_intervals else 8, 0.29 * len(regimes) + 1.8),
        squeeze=False,
        sharey=True,
        width_ratios=[3, 1] if has_intervals else [1],
        layout="constrained",
    )
    _gains(panels[0, 0], regimes, results, methods, ours)
    if has_intervals:
        _coverage(panels[0, 1], regimes, results, ours)
    for suffix, metadata in ((".svg", {"Date": None}), (".png", {})):
        figure.savefig(path.with_suffix(suffix), dpi=120, metadata=metadata)
    plt.close(figure)


def _gains(panel, regimes: Sequence[Regime], results: Results, methods: Sequence[str], ours: str) -> None:
    """Points of precision over the average, bars of two standard errors for ours."""
    place = np.arange(len(regimes))
    panel.axvline(0.0, color="black", linewidth=0.8)
    for method in methods:
        if method == "average":
            continue
        gain = [difference(results, regime.name, method, "average") for regime in regimes]
        mean = np.array([found.mean for found in gain])
        if method == ours:
            error = 2.0 * np.nan_to_num([found.error for found in gain])
            panel.errorbar(mean, place, xerr=error, fmt="o", color=OURS_COLOUR, markersize=6, label=method, zorder=4)
        elif method == EXACT:
            panel.plot(mean, place, "|", color="black", markersize=13, label="exact posterior", zorder=5)
        else:
            panel.plot(mean, place, "o", color=COLOURS.get(method, "#999999"), markersize=4, alpha=0.8, label=method)
    panel.set_yticks(place, [regime.title.replace("`", "") for regime in regimes], fontsize=8)
    panel.set_ylim(len(regimes) - 0.4, -0.6)
    panel.grid(axis="both", color="#e8e8e8", linewidth=0.6)
    panel.set_axisbelow(True)
    panel.set_xlabel("of the best 10 % found: points over the plain average")
    panel.legend(ncols=5, fontsize=8, frameon=False, loc="lower center", bbox_to_anchor=(0.4, 1.0))


def _coverage(panel, regimes: Sequence[Regime], results: Results, ours: str) -> None:
    """Coverage of 90 % intervals and the window asked for."""
    place = np.arange(len(regimes))
    goal = 100.0 * LEVEL
    panel.axvspan(goal - BELOW, goal + ABOVE, color="#dcefe0", zorder=0)
    found = [coverages(results, regime.name, ours).get(LEVEL) for regime in regimes]
    mean = [np.nan if value is None else value.mean for value in found]
    panel.plot(mean, place, "o", color=OURS_COLOUR, markersize=5)
    panel.set_xlim(min(60.0, np.nanmin(mean) - 3.0), 101.5)
    panel.grid(axis="both", color="#e8e8e8", linewidth=0.6)
    panel.set_axisbelow(True)
    panel.set_xlabel("coverage of 90 % intervals")
