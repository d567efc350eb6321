"""Joint draws of qualities and differences of two: papers that share a reviewer move together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lsc.posterior.beliefs import Posterior
from reviewgraph.reviews import FloatArray


class Difference(NamedTuple):
    """Quality of one item less that of another, on the scale of a typical reviewer."""

    mean: float
    standard_error: float


def draws(posterior: Posterior, n: int, rng: np.random.Generator) -> FloatArray:
    """Draw qualities jointly, shape (n, N), on the scale of a typical reviewer; NaN where the mean is."""
    raise NotImplementedError


def difference(posterior: Posterior, first: int, second: int) -> Difference:
    """Return the difference of two items with its standard error; two items of one reviewer share her errors."""
    raise NotImplementedError
