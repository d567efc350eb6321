"""The experiments of the paper: their settings, what they compare, and what the paper states for each cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from lsc.experiments.methods import PAPER_METHODS
from lsc.experiments.published import MIXED as MIXED_TABLE
from lsc.experiments.published import PERFECT, RANK, TABLE_1, Row
from lsc.simulation.settings import MIXED, Setting

#: Part of the papers that are accepted.
ACCEPTED = 0.1
SIGMAS = (0.0, 0.5)
LEVELS = (0.0, 0.25, 0.5, 0.75, 1.0)
LOADS = (3, 4, 5, 6, 7)
REVIEWERS = (1000, 667, 500)
RATIOS = ("1:1", "3:2", "2:1")


@dataclass(frozen=True)
class Cell:
    """One setting of an experiment, all methods in it.

    Parameters
    ----------
    at
        Where it stands: what the paper varies, by name.
    setting
        The setting.
    methods
        Names of methods.
    published
        What the paper states, by method and measure.
    """

    at: Mapping[str, float | str]
    setting: Setting
    methods: tuple[str, ...] = PAPER_METHODS
    published: Mapping[str, Row] = field(default_factory=dict)


@dataclass(frozen=True)
class Experiment:
    """A table or figure of the paper.

    Parameters
    ----------
    name, title
        The name to type, and what it is.
    axis
        What varies along the picture's horizontal axis, a key of :attr:`Cell.at`; empty for a table of methods.
    panel
        What tells the panels of the picture apart, a key of :attr:`Cell.at`; empty for one panel.
    cells
        The settings.
    measures
        What is reported, the first one drawn.
    label
        Of the axis.
    """

    name: str
    title: str
    axis: str
    panel: str
    cells: tuple[Cell, ...]
    measures: tuple[str, ...] = ("precision", "gap")
    label: str = ""

    def scaled(self, n_items: int) -> Experiment:
        """Return the experiment with so many items, without the paper's figures: they are for 1,000."""
        cells = (replace(cell, setting=cell.setting.scaled(n_items), published={}) for cell in self.cells)
        return replace(self, cells=tuple(cells))


def _table_1() -> Experiment:
    cells = tuple(Cell({"noise": sigma}, Setting(noise=sigma), published=TABLE_1[sigma]) for sigma in SIGMAS)
    return Experiment("table1", "Linear scoring functions (Table 1)", "", "noise", cells)


def _mixture() -> Experiment:
    methods = (*PAPER_METHODS, "lsc-mixed")
    cells = tuple(_mixture_cell(sigma, percent, methods) for sigma in SIGMAS for percent in (0, 25, 50, 75, 100))
    title = "Linear and arbitrary monotone reviewers"
    return Experiment("mixture", title, "monotone", "noise", cells, label="monotone reviewers (%)")


def _mixture_cell(sigma: float, percent: int, methods: tuple[str, ...]) -> Cell:
    at = {"noise": sigma, "monotone": percent}
    if percent == 0:
        return Cell(at, Setting(noise=sigma), PAPER_METHODS, TABLE_1[sigma])
    if percent == 100:
        return Cell(at, Setting(noise=sigma, shares=(("monotone", 1.0),)), PAPER_METHODS)
    shares = (("linear", 1.0 - percent / 100), ("monotone", percent / 100))
    return Cell(at, Setting(noise=sigma, shares=shares), methods)


def _mixed() -> Experiment:
    methods = (*PAPER_METHODS, "lsc-mixed")
    cells = (
        Cell({"noise": sigma}, Setting(noise=sigma, shares=MIXED), methods, MIXED_TABLE[sigma]) for sigma in SIGMAS
    )
    return Experiment("mixed", "A third each monotone, convex and concave", "", "noise", tuple(cells))


def _doubly_connected() -> Experiment:
    title = "Random against doubly connected graphs, M = 350"
    cells = tuple(
        Cell(
            {"noise": sigma, "graph": graph},
            Setting(n_reviewers=350, noise=sigma, design="double" if graph == "doubly connected" else "random"),
            ("lsc-linear",),
            {"lsc-linear": PERFECT} if graph == "doubly connected" and sigma == 0 else {},
        )
        for sigma in LEVELS
        for graph in ("random", "doubly connected")
    )
    return Experiment("doubly-connected", title, "noise", "", cells, label=r"noise $\sigma$")


def _k() -> Experiment:
    cells = tuple(
        Cell({"noise": sigma, "k": k}, Setting(load=k, noise=sigma), published=_stated(sigma, usual=k == 5))
        for sigma in SIGMAS
        for k in LOADS
    )
    return Experiment("k", "Papers a reviewer", "k", "noise", cells, label="papers a reviewer, k")


def _ratio() -> Experiment:
    cells = tuple(
        Cell(
            {"noise": sigma, "ratio": ratio},
            Setting(n_reviewers=size, noise=sigma),
            published=_stated(sigma, usual=size == 1000),
        )
        for sigma in SIGMAS
        for size, ratio in zip(REVIEWERS, RATIOS, strict=True)
    )
    return Experiment("ratio", "Papers for each reviewer", "ratio", "noise", cells, label="papers : reviewers, N : M")


def _stated(sigma: float, *, usual: bool) -> Mapping[str, Row]:
    """Return what the paper states of a setting that differs from Table 1 in one thing, or not at all."""
    if usual:
        return TABLE_1[sigma]
    return {"lsc-linear": PERFECT} if sigma == 0 else {}


def _sigma() -> Experiment:
    cells = tuple(Cell({"noise": sigma}, Setting(noise=sigma), published=TABLE_1.get(sigma, {})) for sigma in LEVELS)
    return Experiment("sigma", "Size of the noise", "noise", "", cells, label=r"noise $\sigma$")


def _rank() -> Experiment:
    cells = tuple(Cell({"noise": sigma}, Setting(noise=sigma), published=RANK[sigma]) for sigma in SIGMAS)
    measures = ("ndcg", "average_precision", "average_l1", "kendall", "spearman")
    return Experiment("rank", "Rank-aware measures", "", "noise", cells, measures)


#: All experiments on simulated reviews, by name.
EXPERIMENTS: Mapping[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        _table_1(),
        _mixture(),
        _mixed(),
        _doubly_connected(),
        _k(),
        _ratio(),
        _sigma(),
        _rank(),
    )
}
