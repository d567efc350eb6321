"""The picture of peer grading: differences to the plain average with their bootstrap intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lsc.experiments.methods import TITLES
from lsc.experiments.pictures import FONTS, MARGIN, MEASURES, STYLES, written

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Inches: a panel, and a row of it for one task.
WIDTH, ROW = 3.0, 0.2
DRAWN = ("precision", "ndcg", "spearman")

Record = Mapping[str, Any]


def render_tasks(cells: Sequence[Record]) -> dict[str, bytes]:
    """Return the picture of peer grading as PNG and SVG, by suffix: a row of panels a share, a mark a task."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    shares, tasks = (list(dict.fromkeys(cell[key] for cell in cells)) for key in ("share", "task"))
    methods = [name for name in dict.fromkeys(cell["method"] for cell in cells) if name != "average"]
    height = len(shares) * (2 * MARGIN + ROW * len(methods) * max(len(tasks) / 2, 1.0))
    with mpl.rc_context(FONTS):
        figure = Figure(figsize=(WIDTH * len(DRAWN), height), layout="constrained")
        panels = figure.subplots(len(shares), len(DRAWN), sharey=True, squeeze=False)
        for share, line in zip(shares, panels, strict=True):
            for measure, axis in zip(DRAWN, line, strict=True):
                own = [cell for cell in cells if cell["share"] == share]
                _differences(axis, own, measure, methods, tasks)
                axis.set_title(f"best {share:.0%}", fontsize=9)
        figure.suptitle("Difference to the plain average, 95 % bootstrap intervals over submissions", fontsize=10)
        handles, labels = panels[-1, 0].get_legend_handles_labels()  # where the paper states something
        figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False, fontsize=8)
        return written(figure)


def _differences(
    axis: Axes, cells: Sequence[Record], measure: str, methods: Sequence[str], tasks: Sequence[str]
) -> None:
    """One row a method, in it one mark a task; open marks for the paper's own differences."""
    looks = list(STYLES.values())
    base = {cell["task"]: cell.get(f"{measure}_paper") for cell in cells if cell["method"] == "average"}
    for cell in cells:
        if cell["method"] == "average":
            continue
        # Marks of one method share its row, a little apart.
        number = tasks.index(cell["task"])
        place = methods.index(cell["method"]) + 0.8 * ((number + 0.5) / len(tasks) - 0.5)
        colour, mark = looks[number % len(looks)]
        axis.plot([cell[f"{measure}_low"], cell[f"{measure}_high"]], [place, place], "|-", color=colour, linewidth=1)
        named = cell["task"] if len(tasks) > 1 and cell["method"] == methods[0] else None
        axis.plot(cell[f"{measure}_difference"], place, mark, color=colour, label=named)
        stated = cell.get(f"{measure}_paper")
        if stated is not None:
            own = stated - base[cell["task"]]
            axis.plot(own, place, mark, color=colour, markerfacecolor="white", zorder=5, label=_once(axis, "paper"))
    axis.axvline(0.0, color="0.5", linewidth=0.8, zorder=0)
    axis.set_yticks(range(len(methods)), [TITLES[name] for name in methods])
    axis.set_ylim(len(methods) - 0.4, -0.6)
    axis.set_xlabel(MEASURES[measure])
    axis.locator_params(axis="x", nbins=5)
    axis.grid(axis="x", alpha=0.3)


def _once(axis: Axes, label: str) -> str | None:
    return None if label in axis.get_legend_handles_labels()[1] else label
