"""The experiments of the paper: settings, methods, and the published figures of each cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from lsc.estimate import Estimate
from lsc.methods import METHODS
from lsc.simulation import MIXED, Setting
from reviewgraph.table import Reviews

# The methods of the paper's tables, with their options, in their order.

#: Names of methods and their options, by the names under which results are reported.
VARIANTS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "average": ("average", {}),
    "qp": ("qp", {"bounded": True}),
    "bayesian": ("bayesian", {}),
    "lsc-monotone": ("lsc", {"hypothesis": "monotone"}),
    "lsc-linear": ("lsc", {"hypothesis": "linear"}),
    "lsc-mixed": ("lsc", {}),
}

#: Titles of methods in tables.
TITLES: Mapping[str, str] = {
    "average": "Average",
    "qp": "QP",
    "bayesian": "Bayesian",
    "lsc-monotone": "LSC (mono)",
    "lsc-linear": "LSC (linear)",
    "lsc-mixed": "LSC (mixed)",
}

#: The methods of all tables; that of mixed scoring functions has LSC with the true class of each reviewer, too.
PAPER_METHODS = ("average", "qp", "bayesian", "lsc-monotone", "lsc-linear")


def estimate_by(
    name: str, reviews: Reviews, n: int, kinds: Sequence[str] | None, seed: int | np.random.Generator
) -> Estimate:
    """Return the estimate of a variant, for ``n`` items to select and these hypothesis classes of reviewers.

    >>> estimate_by("average", Reviews.from_pairs([("ann", "p1", 1.0)]), 1, None, 0).quality.tolist()
    [1.0]
    """
    method_name, fixed = VARIANTS[name]
    method = METHODS[method_name]
    offered: dict[str, Any] = {"n_selected": n, "seed": seed}
    if kinds is not None:
        # Unless the variant has a class of its own, it gets the true class of each reviewer.
        offered["hypothesis"] = dict(zip(reviews.reviewers, kinds, strict=True))
    options = {option: value for option, value in offered.items() if option in method.options}
    return method(reviews, **{**options, **fixed})


# Published figures: all of the tables, and the few of the text. The plots are not available as numbers; for points with
# the setting of Table 1 we use Table 1.

#: Trials of each published figure.
TRIALS = 20


class Published(NamedTuple):
    """Mean and standard deviation over 20 trials as printed (None if not published).

    ``rounding`` is half a unit of the last digit printed.
    """

    mean: float
    std: float | None
    rounding: float


Row = Mapping[str, Published]


def _percent(mean: float, std: float | None = None) -> Published:
    return Published(mean, std, 0.05)


def _gap(mean: float, std: float | None = None) -> Published:
    return Published(mean, std, 0.005)


def _row(precision: float, precision_std: float, gap: float, gap_std: float) -> Row:
    return {"precision": _percent(precision, precision_std), "gap": _gap(gap, gap_std)}


#: Table 1, by noise and method: linear scoring functions, N = M = 1000, k = 5.
TABLE_1: Mapping[float, Mapping[str, Row]] = {
    0.0: {
        "average": _row(40.0, 4.0, 0.78, 0.08),
        "qp": _row(97.1, 1.7, 0.01, 0.01),
        "bayesian": _row(76.2, 4.0, 0.12, 0.02),
        "lsc-monotone": _row(91.7, 1.8, 0.02, 0.01),
        "lsc-linear": _row(100.0, 0.0, 0.0, 0.0),
    },
    0.5: {
        "average": _row(39.2, 4.5, 0.80, 0.08),
        "qp": _row(69.2, 4.6, 0.24, 0.09),
        "bayesian": _row(71.5, 3.1, 0.17, 0.03),
        "lsc-monotone": _row(75.9, 2.6, 0.12, 0.02),
        "lsc-linear": _row(80.1, 2.9, 0.08, 0.01),
    },
}

#: The table of mixed scoring functions (Appendix B), by noise and method.
PUBLISHED_MIXED: Mapping[float, Mapping[str, Row]] = {
    0.0: {
        "average": _row(39.9, 2.5, 0.70, 0.06),
        "qp": _row(76.4, 3.0, 0.13, 0.02),
        "bayesian": _row(54.4, 3.1, 0.40, 0.03),
        "lsc-monotone": _row(76.4, 3.9, 0.13, 0.03),
        "lsc-linear": _row(76.4, 3.8, 0.14, 0.02),
        "lsc-mixed": _row(93.2, 2.5, 0.02, 0.01),
    },
    0.5: {
        "average": _row(38.6, 3.5, 0.76, 0.07),
        "qp": _row(69.8, 4.5, 0.21, 0.05),
        "bayesian": _row(51.1, 3.6, 0.48, 0.04),
        "lsc-monotone": _row(68.8, 3.2, 0.22, 0.02),
        "lsc-linear": _row(67.7, 3.1, 0.22, 0.03),
        "lsc-mixed": _row(71.1, 3.4, 0.18, 0.03),
    },
}


def _ranks(l1: tuple[float, float] | None, precision: tuple[float, float], ndcg: tuple[float, float]) -> Row:
    row = {"average_precision": _percent(*precision), "ndcg": _percent(*ndcg)}
    return {"average_l1": Published(*l1, 0.05), **row} if l1 else row


#: The table of rank-aware measures (Appendix B), by noise and method.
RANK: Mapping[float, Mapping[str, Row]] = {
    0.0: {
        "average": _ranks((209.7, 6.2), (60.8, 7.9), (45.6, 4.4)),
        "qp": _ranks((5.5, 2.2), (99.8, 0.4), (97.9, 1.2)),
        "bayesian": _ranks(None, (87.1, 5.7), (75.9, 4.3)),
        "lsc-monotone": _ranks((34.4, 3.0), (99.4, 0.3), (93.9, 1.4)),
        "lsc-linear": _ranks((0.0, 0.0), (100.0, 0.0), (100.0, 0.0)),
    },
    0.5: {
        "average": _ranks((206.6, 6.6), (61.1, 6.6), (45.8, 4.4)),
        "qp": _ranks((79.7, 14.2), (74.2, 9.0), (68.9, 6.9)),
        "bayesian": _ranks(None, (83.2, 5.6), (71.4, 4.0)),
        "lsc-monotone": _ranks((69.0, 2.8), (89.1, 3.7), (79.2, 2.4)),
        "lsc-linear": _ranks((54.5, 2.0), (95.4, 1.6), (84.7, 2.3)),
    },
}

#: Known reasons for figures that are not reproduced, by noise, method and measure.
REASONS: Mapping[tuple[float, str, str], str] = {
    (0.5, "average", "average_l1"): "probably chance: 200 trials give 209.4 +- 0.4, for any reading of the setting"
}
UNKNOWN = "differs by more than two standard errors, for an unknown reason"

#: "LSC (linear) can always perfectly recover": without noise for k >= 3, for N : M up to 2 : 1, and for doubly
#: connected graphs with M = 350.
PERFECT: Row = {"precision": Published(100.0, 0.0, 0.05), "gap": Published(0.0, 0.0, 0.005)}


#: Share of the papers that are accepted.
ACCEPTED = 0.1
SIGMAS = (0.0, 0.5)
LEVELS = (0.0, 0.25, 0.5, 0.75, 1.0)
LOADS = (3, 4, 5, 6, 7)
REVIEWERS = (1000, 667, 500)
RATIOS = ("1:1", "3:2", "2:1")


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

    ``axis`` is the key of :attr:`Cell.at` on the horizontal axis (empty for a table of methods), ``label`` its label,
    ``panel`` the key that differs between panels (empty for one panel). The first of the ``measures`` is drawn.
    """

    name: str
    title: str
    axis: str
    panel: str
    cells: tuple[Cell, ...]
    measures: tuple[str, ...] = ("precision", "gap")
    label: str = ""

    def scaled(self, n_items: int) -> Experiment:
        """Return the experiment with ``n_items`` items, without the paper's figures, which are for 1,000."""
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
        Cell({"noise": sigma}, Setting(noise=sigma, shares=MIXED), methods, PUBLISHED_MIXED[sigma]) for sigma in SIGMAS
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
    return Experiment("k", "Papers per reviewer", "k", "noise", cells, label="papers per reviewer, k")


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
    """Return the published figures of a setting that differs from Table 1 in at most one parameter."""
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
