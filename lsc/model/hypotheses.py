"""What one is willing to assume about a reviewer's scoring function: the hypothesis classes of LSC."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from lsc.model.programme import Shape
from reviewgraph.errors import InputError

#: C, the steepest slope of a scoring function where nobody says otherwise: the paper's choice.
MAX_SLOPE = 10.0


@dataclass(frozen=True)
class Hypothesis:
    """A class of scoring functions f, from quality to score.

    Parameters
    ----------
    max_slope
        C > 0: no scoring function rises faster (10 by default). It fixes the scale of the recovered qualities, and in a
        class with one bound for everybody nothing else.
    min_slope
        c >= 0: no scoring function rises more slowly (0 by default: no such bound).

    Raises
    ------
    InputError
        Unless ``0 <= min_slope <= max_slope`` and ``0 < max_slope < inf``.
    """

    max_slope: float = MAX_SLOPE
    min_slope: float = 0.0

    name: ClassVar[str]
    shape: ClassVar[Shape]

    def __post_init__(self) -> None:
        if not (self.max_slope > 0 and math.isfinite(self.max_slope)):
            message = f"max_slope: expected a positive number, found {self.max_slope}"
            raise InputError(message)
        if not 0 <= self.min_slope <= self.max_slope:
            message = f"min_slope: expected a number from 0 to max_slope = {self.max_slope}, found {self.min_slope}"
            raise InputError(message)

    @property
    def bounds(self) -> tuple[float, float]:
        """Bounds on the slope of the inverse of f: 1 / C and 1 / c (infinite without a lower bound on f's slope)."""
        return 1.0 / self.max_slope, 1.0 / self.min_slope if self.min_slope > 0 else math.inf


@dataclass(frozen=True)
class Linear(Hypothesis):
    """Score = slope * quality + offset (programme 4 of [Tan21]_).

    >>> Linear().bounds
    (0.1, inf)
    """

    name: ClassVar[str] = "linear"
    shape: ClassVar[Shape] = Shape.LINEAR


@dataclass(frozen=True)
class Monotone(Hypothesis):
    """A better paper gets no lower score, and that is all.

    >>> Monotone(max_slope=4.0, min_slope=0.5).bounds
    (0.25, 2.0)
    """

    name: ClassVar[str] = "monotone"
    shape: ClassVar[Shape] = Shape.MONOTONE


@dataclass(frozen=True)
class Convex(Hypothesis):
    """Monotone, and the steeper the better the paper: the best papers are told apart most finely.

    >>> Convex().name
    'convex'
    """

    name: ClassVar[str] = "convex"
    shape: ClassVar[Shape] = Shape.CONVEX


@dataclass(frozen=True)
class Concave(Hypothesis):
    """Monotone, and the flatter the better the paper: the weakest papers are told apart most finely.

    >>> Concave().name
    'concave'
    """

    name: ClassVar[str] = "concave"
    shape: ClassVar[Shape] = Shape.CONCAVE


HYPOTHESES: Mapping[str, type[Hypothesis]] = {kind.name: kind for kind in (Linear, Monotone, Convex, Concave)}

#: What ``hypothesis=`` takes: one for everybody, or one per reviewer's label.
HypothesisLike: TypeAlias = str | Hypothesis | Mapping[Any, str | Hypothesis]


def hypothesis_of(given: str | Hypothesis, *, max_slope: float = MAX_SLOPE) -> Hypothesis:
    """Return the hypothesis of that name, its slopes at most ``max_slope``; an object stays what it is.

    Raises
    ------
    InputError
        If the name is none of linear, monotone, convex and concave.

    Examples
    --------
    >>> hypothesis_of("convex", max_slope=5)
    Convex(max_slope=5, min_slope=0.0)
    """
    if isinstance(given, Hypothesis):
        return given
    if given not in HYPOTHESES:
        message = f"hypothesis: expected one of {', '.join(HYPOTHESES)}, found {given!r}"
        raise InputError(message)
    return HYPOTHESES[given](max_slope=max_slope)
