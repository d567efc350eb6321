"""All that the benchmarks of methods take from the packages, and the methods they compare, by name.

Everything is imported here and nowhere else: a method that this version lacks ends the run with status 1, and any
callable ``(reviews, n to select, rng) -> Estimate`` can be added to :data:`METHODS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TypeAlias

import numpy as np

import lsc
from lsc.estimate import Estimate
from lsc.methods import METHODS as BY_NAME
from lsc.metrics import spearman
from lsc.simulation import MIXED, Realistic, Setting, Simulation, true_qualities
from reviewgraph import Reviews, read_reviews
from reviewgraph.formats.side import read_truth
from reviewgraph.graph import random_assignment

__all__ = [
    "METHODS",
    "MIXED",
    "OURS",
    "TITLES",
    "Estimate",
    "Method",
    "Realistic",
    "Reviews",
    "Setting",
    "Simulation",
    "available",
    "random_assignment",
    "read_reviews",
    "read_truth",
    "register",
    "spearman",
    "true_qualities",
]

#: Estimates qualities: ``(reviews, n to select, rng) -> Estimate``.
Method: TypeAlias = Callable[[Reviews, int, np.random.Generator], Estimate]

#: The method whose claims are tested.
OURS = "posterior"


def _named(name: str, **options: object) -> Method:
    return lambda reviews, n, rng: BY_NAME[name](reviews, **options)


def _posterior(reviews: Reviews, n: int, rng: np.random.Generator) -> Estimate:
    """Whatever this version calls so: its name is looked up when it is used."""
    found: Estimate = getattr(lsc, OURS)(reviews)
    return found


METHODS: dict[str, Method] = {
    "average": _named("average"),
    "ridge": _named("ridge"),
    "mixed model": _named("additive"),
    "z-score": _named("z-score"),
    "QP": _named("qp", bounded=True),
    "Bayesian": lambda reviews, n, rng: BY_NAME["bayesian"](reviews, n_selected=n, seed=rng),
    "LSC linear": _named("lsc", hypothesis="linear"),
    "LSC monotone": _named("lsc", hypothesis="monotone"),
    OURS: _posterior,
}

#: What a table's head says where the name is not enough.
TITLES: Mapping[str, str] = {"ridge": "ridge offsets", OURS: "**posterior**", "exact": "exact posterior"}


def register(spec: str) -> None:
    """Add a method given as ``name=module:function``, the function from reviews to something with a ``quality``.

    SystemExit with status 1 if there is no such function: a run that goes on without it would end well.
    """
    name, _, place = spec.partition("=")
    module, _, attribute = place.partition(":")
    if not (name and module and attribute):
        message = f"--method: expected NAME=MODULE:FUNCTION, found {spec!r}"
        raise ValueError(message)
    try:
        function = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        message = f"--method {name}: expected a function {place}, found none ({error})"
        raise SystemExit(message) from error
    METHODS[name] = lambda reviews, n, rng: function(reviews)


def available() -> list[str]:
    """Return the names of all methods. SystemExit with status 1 if this version lacks one."""
    if METHODS[OURS] is _posterior and not callable(getattr(lsc, OURS, None)):
        message = f"method {OURS}: expected lsc.{OURS}, found none in this version; name another by --method"
        raise SystemExit(message)
    return list(METHODS)
