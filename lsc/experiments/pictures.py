"""Pictures of experiments: ours with error bars, the paper's own figures drawn beside."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lsc.experiments.methods import TITLES
from lsc.experiments.registry import Experiment

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Okabe and Ito's colours, which people with any colour vision tell apart; marks differ too.
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
MEASURES = {
    "precision": "precision (%)",
    "gap": "average gap",
    "ndcg": "NDCG (%)",
    "average_precision": "average precision (%)",
    "average_l1": "average L1 of ranks",
    "kendall": "Kendall's $\\tau$",
    "spearman": "Spearman's $\\rho$",
}
OURS = "ours: mean ± 2 standard errors"
PAPER = "paper: mean ± 2 standard errors"
#: Inches: a panel of curves, and a panel of a table and one of its rows. Two panels have the width of a page.
PANEL_WIDTH, CURVES_HEIGHT = 4.2, 3.6
MARGIN, ROW_HEIGHT = 0.7, 0.26
#: Between the curves of a place, and from ours to the paper's, as parts of the axis.
APART, BESIDE = 0.014, 0.072
FONTS = {
    "font.size": 9,
    "lines.markersize": 4.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "reviewgraph",
    "svg.fonttype": "none",
}

Record = dict[str, Any]


def render(experiment: Experiment, cells: Sequence[Record]) -> dict[str, bytes]:
    """Return the picture of an experiment as PNG and SVG, by suffix."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    panels = list(dict.fromkeys(cell[experiment.panel] for cell in cells)) if experiment.panel else [None]
    measures = experiment.measures[:1] if experiment.axis else _drawn(experiment, cells)
    width, height = PANEL_WIDTH * len(panels) + 0.4, CURVES_HEIGHT
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
    """Measures that the paper states, or the first."""
    stated = [name for name in experiment.measures if any(cell[f"{name}_paper"] is not None for cell in cells)]
    return tuple(stated) or experiment.measures[:1]


def _dots(axis: Axes, experiment: Experiment, cells: Sequence[Record], measure: str) -> None:
    """One row a method: ours, and the paper's just below."""
    for row, cell in enumerate(cells):
        colour, mark = STYLES[cell["method"]]
        axis.errorbar(cell[measure], row, xerr=_error(cell, measure), fmt=mark, color=colour, capsize=2)
        if cell[f"{measure}_paper"] is not None:
            axis.errorbar(cell[f"{measure}_paper"], row + 0.36, xerr=_paper_error(cell, measure), **_open(colour, mark))
    axis.set_yticks(range(len(cells)), [TITLES[cell["method"]] for cell in cells])
    axis.set_ylim(len(cells) - 0.3, -0.5)
    axis.set_xlabel(MEASURES[measure])
    axis.grid(axis="x", alpha=0.3)


def _curves(axis: Axes, experiment: Experiment, cells: Sequence[Record], measure: str) -> None:
    """One curve a method, or a graph where there is one method only, slightly apart; the paper's marks to the right."""
    line = "graph" if "graph" in cells[0] else "method"
    names = list(dict.fromkeys(cell[line] for cell in cells))
    places = list(dict.fromkeys(cell[experiment.axis] for cell in cells))
    for number, name in enumerate(names):
        # Curves stand a little apart so that error bars do not hide each other.
        own = [cell for cell in cells if cell[line] == name]
        shift = APART * len(places) * (number - (len(names) - 1) / 2)
        at = [places.index(cell[experiment.axis]) + shift for cell in own]
        colour, mark = STYLES[name]
        means, errors = [cell[measure] for cell in own], [_error(cell, measure) for cell in own]
        axis.errorbar(
            at, means, yerr=errors, fmt=f"{mark}-", color=colour, linewidth=1, capsize=2, label=TITLES.get(name, name)
        )
        for place, cell in zip(at, own, strict=True):
            if cell[f"{measure}_paper"] is not None:
                error = _paper_error(cell, measure)
                beside = place + BESIDE * len(places)
                axis.errorbar(beside, cell[f"{measure}_paper"], yerr=error, **_open(colour, mark))
    axis.set_xticks(range(len(places)), [place if isinstance(place, str) else f"{place:g}" for place in places])
    axis.set_xlabel(experiment.label)
    if axis.get_subplotspec().is_first_col():  # type: ignore[union-attr]
        axis.set_ylabel(MEASURES[measure])
    axis.grid(axis="y", alpha=0.3)


def _legend(figure: Figure, axis: Axes, experiment: Experiment, columns: int) -> None:
    from matplotlib.lines import Line2D

    handles, labels = axis.get_legend_handles_labels() if experiment.axis else ([], [])
    for _ in range(len(handles) % 2):  # what the marks mean gets a column of its own
        handles, labels = [*handles, Line2D([], [], linestyle="none")], [*labels, ""]
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
    from lsc.experiments.published import TRIALS

    return 2.0 * float(cell[f"{measure}_paper_std"] or 0.0) / math.sqrt(TRIALS)


def written(figure: Figure) -> dict[str, bytes]:
    """Return a figure as PNG and SVG, by suffix; without a date, so that the same cells give the same files."""
    found = {}
    for suffix, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
        buffer = io.BytesIO()
        figure.savefig(buffer, format=suffix, dpi=200, metadata=metadata)
        found[suffix] = buffer.getvalue()
    return found
