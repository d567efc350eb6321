"""Pictures of experiments: ours with error bars, the paper's own figures drawn beside."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
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
PAPER = "paper"
#: Inches; the width is that of a page.
PANEL_WIDTH, HEIGHT = 4.2, 3.6
FONTS = {
    "font.size": 9,
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
    with mpl.rc_context(FONTS):
        figure = Figure(figsize=(PANEL_WIDTH * len(panels) + 0.4, HEIGHT), layout="constrained")
        axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axis, panel in zip(axes, panels, strict=True):
            shown = [cell for cell in cells if panel is None or cell[experiment.panel] == panel]
            (_curves if experiment.axis else _dots)(axis, experiment, shown)
            if panel is not None:
                axis.set_title("without noise" if panel == 0 else rf"noise $\sigma$ = {panel:g}")
        axes[0].set_ylabel(MEASURES[experiment.measures[0]] if experiment.axis else "")
        figure.suptitle(f"{experiment.title}\n{cells[0]['trials']} trials", fontsize=10)
        _legend(figure, axes[0], experiment, 4 if len(panels) > 1 else 2)
        return {suffix: _written(figure, suffix) for suffix in ("png", "svg")}


def render_tasks(cells: Sequence[Mapping[str, Any]]) -> dict[str, bytes]:
    """Return the picture of peer grading as PNG and SVG, by suffix: precision and NDCG, a row of panels a share."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    measures, shares = ("precision", "ndcg"), list(dict.fromkeys(cell["share"] for cell in cells))
    methods = list(dict.fromkeys(cell["method"] for cell in cells))
    tasks = list(dict.fromkeys(cell["task"] for cell in cells))
    with mpl.rc_context(FONTS):
        figure = Figure(figsize=(2 * PANEL_WIDTH, HEIGHT * len(shares)), layout="constrained")
        for row, line in zip(shares, figure.subplots(len(shares), 2, squeeze=False), strict=True):
            for measure, axis in zip(measures, line, strict=True):
                for number, method in enumerate(methods):
                    own = [cell for cell in cells if cell["method"] == method and cell["share"] == row]
                    shift = 0.08 * (number - (len(methods) - 1) / 2)
                    at = [tasks.index(cell["task"]) + shift for cell in own]
                    colour, mark = STYLES[method]
                    axis.plot(at, [cell[measure] for cell in own], mark, color=colour, label=TITLES[method])
                    if measure == "precision":
                        stated = [(x, cell["precision_paper"]) for x, cell in zip(at, own, strict=True)]
                        for x, y in stated:
                            if y is not None:
                                axis.plot(x, y, mark, color=colour, markerfacecolor="white")
                axis.set_xticks(range(len(tasks)), tasks)
                axis.set_title(f"best {row:.0%}")
                axis.set_ylabel(MEASURES[measure])
                axis.grid(axis="y", alpha=0.3)
        handles, labels = axis.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False, fontsize=8)
        return {suffix: _written(figure, suffix) for suffix in ("png", "svg")}


def _dots(axis: Axes, experiment: Experiment, cells: Sequence[Record]) -> None:
    """One row a method: ours, and the paper's just below."""
    measure = experiment.measures[0]
    for row, cell in enumerate(cells):
        colour, mark = STYLES[cell["method"]]
        axis.errorbar(cell[measure], row, xerr=_error(cell, measure), fmt=mark, color=colour, capsize=3)
        if cell[f"{measure}_paper"] is not None:
            axis.errorbar(cell[f"{measure}_paper"], row + 0.25, xerr=_paper_error(cell, measure), **_open(colour, mark))
    axis.set_yticks(range(len(cells)), [TITLES[cell["method"]] for cell in cells])
    axis.set_ylim(len(cells) - 0.4, -0.6)
    axis.set_xlabel(MEASURES[measure])
    axis.grid(axis="x", alpha=0.3)


def _curves(axis: Axes, experiment: Experiment, cells: Sequence[Record]) -> None:
    """One curve a method, or a graph where there is one method only, slightly apart so that bars do not hide."""
    measure = experiment.measures[0]
    line = "graph" if "graph" in cells[0] else "method"
    names = list(dict.fromkeys(cell[line] for cell in cells))
    places = list(dict.fromkeys(cell[experiment.axis] for cell in cells))
    for number, name in enumerate(names):
        own = [cell for cell in cells if cell[line] == name]
        shift = 0.05 * (number - (len(names) - 1) / 2)
        at = [places.index(cell[experiment.axis]) + shift for cell in own]
        colour, mark = STYLES[name]
        means, errors = [cell[measure] for cell in own], [_error(cell, measure) for cell in own]
        axis.errorbar(at, means, yerr=errors, fmt=f"{mark}-", color=colour, capsize=2, label=TITLES.get(name, name))
        for place, cell in zip(at, own, strict=True):
            if cell[f"{measure}_paper"] is not None:
                axis.errorbar(
                    place + 0.18, cell[f"{measure}_paper"], yerr=_paper_error(cell, measure), **_open(colour, mark)
                )
    axis.set_xticks(range(len(places)), [place if isinstance(place, str) else f"{place:g}" for place in places])
    axis.set_xlabel(experiment.label)
    axis.grid(axis="y", alpha=0.3)


def _legend(figure: Figure, axis: Axes, experiment: Experiment, columns: int) -> None:
    from matplotlib.lines import Line2D

    handles, labels = axis.get_legend_handles_labels() if experiment.axis else ([], [])
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


def _written(figure: Figure, suffix: str) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format=suffix, dpi=200, metadata={"Date": None} if suffix == "svg" else {"Software": None})
    return buffer.getvalue()
