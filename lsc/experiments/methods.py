"""The methods that experiments compare, by the names under which results are reported: methods with their options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from lsc.estimate import Estimate
from lsc.methods.registry import METHODS
from reviewgraph.reviews import Reviews


class Variant(NamedTuple):
    """A method, by name, with fixed options, and what people read."""

    method: str
    options: Mapping[str, Any]
    title: str


def _plain(name: str) -> Variant:
    return Variant(name, {}, METHODS[name].title)


#: By the names under which results are reported. ``lsc-mixed`` is told each reviewer's kind.
VARIANTS: Mapping[str, Variant] = {
    "posterior": _plain("posterior"),
    "average": _plain("average"),
    "qp": Variant("qp", {"bounded": True}, "QP"),
    "bayesian": _plain("bayesian"),
    "lsc-monotone": Variant("lsc", {"hypothesis": "monotone"}, "LSC (mono)"),
    "lsc-linear": Variant("lsc", {"hypothesis": "linear"}, "LSC (linear)"),
    "lsc-mixed": Variant("lsc", {}, "LSC (mixed)"),
    "lsc-offset": Variant("lsc", {"hypothesis": "offset"}, "LSC (offset)"),
    "centring": _plain("centring"),
    "z-score": _plain("z-score"),
    "ridge": _plain("ridge"),
    "additive": _plain("additive"),
    "qp-unbounded": Variant("qp", {}, "QP (no bounds)"),
}

#: The methods of the paper's tables, in their order.
PAPER_METHODS = ("average", "qp", "bayesian", "lsc-monotone", "lsc-linear")

#: The methods that are tried on real scores: those, what products ship, and QP as its authors state it.
GRADED_METHODS = (
    *("average", "centring", "z-score", "ridge", "qp", "qp-unbounded", "bayesian"),
    *("lsc-monotone", "lsc-linear", "posterior"),
)

#: What people read.
TITLES: Mapping[str, str] = {name: variant.title for name, variant in VARIANTS.items()}


def estimate_by(
    name: str, reviews: Reviews, n: int, kinds: Sequence[str] | None, seed: int | np.random.Generator
) -> Estimate:
    """Return the estimate of a variant where ``n`` items are to be selected and reviewers are of these kinds.

    >>> estimate_by("average", Reviews.from_pairs([("ann", "p1", 1.0)]), 1, None, 0).quality.tolist()
    [1.0]
    """
    variant = VARIANTS[name]
    method = METHODS[variant.method]
    given: dict[str, Any] = {"n": n, "seed": seed}
    if name == "lsc-mixed":
        given["hypothesis"] = dict(zip(reviews.reviewers, kinds or (), strict=True))
    options = {option: value for option, value in given.items() if option in method.options}
    return method(reviews, **{**options, **variant.options})
