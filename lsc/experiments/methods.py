"""The methods that experiments compare: the variants of :data:`lsc.methods.METHODS`, by their names in results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lsc.estimate import Estimate
from lsc.methods import DEFAULT, METHODS
from reviewgraph.reviews import Reviews

_LISTED = [(method, variant) for method in METHODS.values() for variant in method.compared]

#: Methods with fixed options, by the names under which results are reported.
VARIANTS = {variant.name: (method, variant.options) for method, variant in _LISTED}

#: What people read.
TITLES: Mapping[str, str] = {variant.name: variant.title for _, variant in _LISTED}

#: The methods of the paper's tables, in their order.
PAPER_METHODS = ("average", "qp", "bayesian", "lsc-monotone", "lsc-linear")

#: The methods that are tried on real scores, the one we recommend last.
GRADED_METHODS = tuple(
    variant.name for method, variant in sorted(_LISTED, key=lambda listed: listed[0].name == DEFAULT) if variant.graded
)


def estimate_by(
    name: str, reviews: Reviews, n: int, kinds: Sequence[str] | None, seed: int | np.random.Generator
) -> Estimate:
    """Return the estimate of a variant where ``n`` items are to be selected and reviewers are of these kinds.

    >>> estimate_by("average", Reviews.from_pairs([("ann", "p1", 1.0)]), 1, None, 0).quality.tolist()
    [1.0]
    """
    method, fixed = VARIANTS[name]
    given: dict[str, Any] = {"n": n, "seed": seed}
    if kinds is not None:
        # What a variant does not fix, it takes from the truth: the class of each reviewer.
        given["hypothesis"] = dict(zip(reviews.reviewers, kinds, strict=True))
    options = {option: value for option, value in given.items() if option in method.options}
    return method(reviews, **{**options, **fixed})
