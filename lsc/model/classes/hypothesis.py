"""What a hypothesis class has to say of itself."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self, TypeAlias

from lsc.model.rows import Rows, Steps
from lsc.model.shapes import Shape
from reviewgraph.arguments import NUMBER, refuse
from reviewgraph.errors import InputError
from reviewgraph.levels import Level

#: C, the steepest slope of a scoring function where nobody says otherwise: the paper's choice.
MAX_SLOPE = 10.0
#: The largest C, and one over the smallest: squares of what is beyond leave double precision.
STEEPEST = 1e50

#: Which tied scores of a reviewer need not mean one perceived quality where ties are free.
LooseTies: TypeAlias = Literal["none", "lowest", "highest", "all"]


class Hypothesis(ABC):
    """A class of scoring functions f, from quality to score: all that the package knows of it.

    A class that leaves out one of these cannot be defined.

    Attributes
    ----------
    name
        What arguments, files and JSON call it.
    words
        Its line in ``--help`` and in messages: what a scoring function may look like.
    shape
        The form of the set that a reviewer's perceived qualities lie in: what kernels project on.
    level
        What the graph must give for items to compare.
    parameters
        How many numbers determine one reviewer's function: standard errors count them. None where no fixed number
        does; then there are no standard errors.
    straight
        Whether every scoring function is one straight line.
    fixes_unit
        Whether a point of quality is a point of score: then qualities are reported as they come, and only shifted.
    loose_ties
        Which tied scores mean nothing where ties are free.
    """

    name: ClassVar[str]
    words: ClassVar[str]
    shape: ClassVar[Shape]
    level: ClassVar[Level]
    parameters: ClassVar[int | None]
    straight: ClassVar[bool]
    fixes_unit: ClassVar[bool]
    loose_ties: ClassVar[LooseTies]

    def __init_subclass__(cls, abstract: bool = False, **options: Any) -> None:
        super().__init_subclass__(**options)
        missing = [part for part in PARTS if not hasattr(cls, part)]
        if missing and not abstract:
            message = f"{cls.__name__}: a hypothesis class has to say its {', '.join(missing)}"
            raise TypeError(message)

    @property
    @abstractmethod
    def bounds(self) -> tuple[float, float]:
        """Bounds on the slope of the inverse of f: 1 / C and 1 / c, infinite without a lower bound on f's slope."""

    @classmethod
    @abstractmethod
    def up_to(cls, max_slope: float) -> Self:
        """Return the class with slopes of at most ``max_slope``, where it leaves that open."""

    @staticmethod
    def equalities(steps: Steps) -> Iterable[Rows]:
        """Rows that vanish, or equal their right-hand side: none by default."""
        return ()

    @staticmethod
    def inequalities(steps: Steps) -> Iterable[Rows]:
        """Rows of at least their right-hand side, bounds on slopes left aside: none by default."""
        return ()


#: What every class has to say.
PARTS = ("name", "words", "shape", "level", "parameters", "straight", "fixes_unit", "loose_ties")


@dataclass(frozen=True)
class Sloped(Hypothesis, abstract=True):
    """Classes of functions whose slopes lie between bounds.

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
        Unless ``0 <= min_slope <= max_slope`` and ``1e-50 <= max_slope <= 1e50``.
    """

    max_slope: float = MAX_SLOPE
    min_slope: float = 0.0

    def __post_init__(self) -> None:
        refuse("max_slope", self.max_slope, [NUMBER])
        refuse("min_slope", self.min_slope, [NUMBER])
        if not 1 / STEEPEST <= self.max_slope <= STEEPEST:
            message = f"max_slope: expected a number from {1 / STEEPEST:g} to {STEEPEST:g}, found {self.max_slope}"
            raise InputError(message)
        if not 0 <= self.min_slope <= self.max_slope:
            message = f"min_slope: expected a number from 0 to max_slope = {self.max_slope}, found {self.min_slope}"
            raise InputError(message)

    @property
    def bounds(self) -> tuple[float, float]:
        """1 / C and 1 / c."""
        return 1.0 / self.max_slope, 1.0 / self.min_slope if self.min_slope > 0 else math.inf

    @classmethod
    def up_to(cls, max_slope: float) -> Self:
        """Return the class with this bound and none from below."""
        return cls(max_slope=max_slope)
