"""The methods that experiments compare, by the names under which results are reported."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from lsc.calibration import calibrate
from lsc.methods.baselines import average, centring, quadratic_programme, ridge_offsets, z_score
from lsc.methods.bayesian import bayesian
from lsc.methods.estimate import Estimate
from reviewgraph.reviews import Reviews

#: Estimates qualities: ``(reviews, n to select, kind of each reviewer or None, rng) -> Estimate``.
Method: TypeAlias = Callable[[Reviews, int, Sequence[str] | None, np.random.Generator], Estimate]


def _lsc(hypothesis: str) -> Method:
    return lambda reviews, n, kinds, rng: calibrate(reviews, hypothesis)


def _lsc_mixed(reviews: Reviews, n: int, kinds: Sequence[str] | None, rng: np.random.Generator) -> Estimate:
    """LSC told each reviewer's kind."""
    return calibrate(reviews, dict(zip(reviews.reviewers, kinds or (), strict=True)))


METHODS: Mapping[str, Method] = {
    "average": lambda reviews, n, kinds, rng: average(reviews),
    "qp": lambda reviews, n, kinds, rng: quadratic_programme(reviews, bounded=True),
    "bayesian": lambda reviews, n, kinds, rng: bayesian(reviews, n, rng),
    "lsc-monotone": _lsc("monotone"),
    "lsc-linear": _lsc("linear"),
    "lsc-mixed": _lsc_mixed,
    "centring": lambda reviews, n, kinds, rng: centring(reviews),
    "z-score": lambda reviews, n, kinds, rng: z_score(reviews),
    "ridge": lambda reviews, n, kinds, rng: ridge_offsets(reviews),
    "qp-unbounded": lambda reviews, n, kinds, rng: quadratic_programme(reviews),
}

#: The methods of the paper's tables, in their order.
PAPER_METHODS = ("average", "qp", "bayesian", "lsc-monotone", "lsc-linear")

#: The methods that are tried on real scores: those, what products ship, and QP as its authors state it.
GRADED_METHODS = (
    *("average", "centring", "z-score", "ridge", "qp", "qp-unbounded", "bayesian"),
    *("lsc-monotone", "lsc-linear"),
)

#: What people read.
TITLES: Mapping[str, str] = {
    "average": "Average",
    "qp": "QP",
    "bayesian": "Bayesian",
    "lsc-monotone": "LSC (mono)",
    "lsc-linear": "LSC (linear)",
    "lsc-mixed": "LSC (mixed)",
    "centring": "Centring",
    "z-score": "z-score",
    "ridge": "Ridge offsets",
    "qp-unbounded": "QP (no bounds)",
}
