"""Hypothesis classes of LSC: what one is willing to assume about a reviewer's scoring function.

A class is one object, listed once in :data:`HYPOTHESES`. Importing this loads no numpy: the command's choices and its
help come from here.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol, Self, TypeAlias

from reviewgraph._base.arguments import NUMBER, refuse
from reviewgraph._base.errors import InputError
from reviewgraph._base.text import named
from reviewgraph.graph.levels import LEVELS, Level, level_named

if TYPE_CHECKING:
    import numpy as np
    import scipy.sparse as sp

    from reviewgraph._base.arrays import FloatArray, IntArray


#: C, the steepest slope of a scoring function by default: the paper's choice.
MAX_SLOPE = 10.0
#: The largest C, and one over the smallest: squares of what is beyond leave double precision.
STEEPEST = 1e50

#: Exponents of the powers whose mixtures are the paper's convex and concave functions, in simulations.
CONVEX_POWERS = (2.0, 2.5, 3.0)
CONCAVE_POWERS = (1 / 2, 1 / 3, 1 / 4)
#: Range of a simulated monotone function.
SCORE_RANGE = (0.0, 10.0)

#: Which tied scores of a reviewer need not mean one perceived quality where ties are free.
LooseTies: TypeAlias = Literal["none", "lowest", "highest", "all"]


class Shape(IntEnum):
    """The form of the set that a reviewer's perceived qualities lie in, beyond bounds on slopes: a code for kernels.

    Several classes may share a shape: an offset alone is a line whose slope is given. For each shape there is a
    projection in :mod:`lsc.solver` and a formula of its multipliers in :mod:`lsc.evidence.optimality`.
    """

    LINEAR = 0
    MONOTONE = 1
    CONVEX = 2
    CONCAVE = 3


#: The codes as plain integers, which kernels take as constants, and one for an unconstrained reviewer.
LINEAR, MONOTONE, CONVEX, CONCAVE = map(int, Shape)
IDLE = len(Shape)


class Rows(NamedTuple):
    """Constraints ``matrix @ perceived >= low`` (or ``== low``) that have a name."""

    name: str
    matrix: sp.csr_array
    low: FloatArray


class Steps(Protocol):
    """The steps d from one score of a reviewer to their next higher one, of all reviewers of one class."""

    def bends(self, name: str, sign: float = 1.0) -> Rows:
        """Rows ``sign * (slope before - slope after)`` at each score with one below and one above, slopes ``d / dy``.

        Each is multiplied by a positive number; the right-hand side is 0.
        """

    def rises(self, name: str) -> Rows:
        """Rows ``d`` with the right-hand side ``dy`` times the lower bound on the slope."""


class Hypothesis(ABC):
    """A class of scoring functions f, from quality to score: all that the package knows of it.

    A class that leaves out one of the attributes cannot be defined.

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

    @staticmethod
    def draw_scores(reviewer: IntArray, perceived: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw a function for every reviewer and apply it to their perceived qualities, shapes (E,), for simulations.

        The distributions are those of Appendix B of [Tan21]_, with the weights of its code where the text leaves them
        open. A class without this method is not simulated.
        """
        raise NotImplementedError


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


@dataclass(frozen=True)
class Linear(Sloped):
    """Score = slope * quality + offset (programme 4 of [Tan21]_).

    >>> Linear().bounds
    (0.1, inf)
    """

    name = "linear"
    words = "a slope times the quality plus an offset"
    shape = Shape.LINEAR
    level = level_named("recoverable")
    parameters = 2
    straight = True
    fixes_unit = False
    loose_ties = "none"

    @staticmethod
    def equalities(steps: Steps) -> Iterable[Rows]:
        """Let all slopes be equal."""
        yield steps.bends("linear")

    @staticmethod
    def draw_scores(reviewer: IntArray, perceived: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Score linearly: slope U(0, 2) and offset N(0, 2) for each reviewer.

        >>> import numpy as np
        >>> scores = Linear.draw_scores(np.array([0, 0]), np.array([1.0, 2.0]), np.random.default_rng(0))
        >>> bool(0 <= scores[1] - scores[0] <= 2)
        True
        """
        size = 1 + int(reviewer.max(initial=-1))
        slope, offset = rng.uniform(0.0, 2.0, size), rng.normal(0.0, 2.0, size)
        return slope[reviewer] * perceived + offset[reviewer]


@dataclass(frozen=True)
class Monotone(Sloped):
    """A better paper gets no lower score, and that is all.

    >>> Monotone(max_slope=4.0, min_slope=0.5).bounds
    (0.25, 2.0)
    """

    name = "monotone"
    words = "a better paper gets no lower score, and nothing else is known"
    shape = Shape.MONOTONE
    level = level_named("recoverable")
    parameters = None
    straight = False
    fixes_unit = False
    loose_ties = "all"

    @staticmethod
    def draw_scores(reviewer: IntArray, perceived: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Score by sorted U(0, 10) values, one per item, in the order of perceived quality, ties by row.

        >>> import numpy as np
        >>> scores = Monotone.draw_scores(np.zeros(3, int), np.array([3.0, 1.0, 2.0]), np.random.default_rng(0))
        >>> bool(scores[1] < scores[2] < scores[0])
        True
        """
        import numpy as np

        drawn = rng.uniform(*SCORE_RANGE, reviewer.size)
        score = np.empty(reviewer.size)
        score[np.lexsort((perceived, reviewer))] = drawn[np.lexsort((drawn, reviewer))]
        return score


@dataclass(frozen=True)
class Convex(Sloped):
    """Monotone, and the steeper the better the paper: the best papers are told apart most finely.

    >>> Convex().name
    'convex'
    """

    name = "convex"
    words = "monotone, and scores of good papers lie further apart than those of bad ones"
    shape = Shape.CONVEX
    level = level_named("recoverable")
    parameters = None
    straight = False
    fixes_unit = False
    loose_ties = "lowest"

    @staticmethod
    def inequalities(steps: Steps) -> Iterable[Rows]:
        """Let the slopes of the inverse decrease: that of a convex function is concave."""
        yield steps.bends("convex")

    @staticmethod
    def draw_scores(reviewer: IntArray, perceived: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Score by ``a c1 x^2 + b c2 x^2.5 + c c3 x^3``, c1..c3 ~ U(0, 1), the weights a, b, c as in the paper's code.

        >>> import numpy as np
        >>> scores = Convex.draw_scores(np.zeros(3, int), np.array([1.0, 2.0, 3.0]), np.random.default_rng(0))
        >>> bool(0 < scores[1] - scores[0] < scores[2] - scores[1])
        True
        """
        size = 1 + int(reviewer.max(initial=-1))
        height = rng.uniform(0.0, 1.0, (len(CONVEX_POWERS), size))
        return _powers(reviewer, perceived, CONVEX_POWERS, height * _weights(size, rng))


@dataclass(frozen=True)
class Concave(Sloped):
    """Monotone, and the flatter the better the paper: the weakest papers are told apart most finely.

    >>> Concave().name
    'concave'
    """

    name = "concave"
    words = "monotone, and scores of bad papers lie further apart than those of good ones"
    shape = Shape.CONCAVE
    level = level_named("recoverable")
    parameters = None
    straight = False
    fixes_unit = False
    loose_ties = "highest"

    @staticmethod
    def inequalities(steps: Steps) -> Iterable[Rows]:
        """Let the slopes of the inverse increase: that of a concave function is convex."""
        yield steps.bends("concave", -1.0)

    @staticmethod
    def draw_scores(reviewer: IntArray, perceived: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Score by ``a p2 x^(1/2) + b p3 x^(1/3) + c p4 x^(1/4)``, p_q ~ U(1, 10 / 10^(1/q)), weights as for convex.

        >>> import numpy as np
        >>> scores = Concave.draw_scores(np.zeros(3, int), np.array([1.0, 2.0, 3.0]), np.random.default_rng(0))
        >>> bool(scores[1] - scores[0] > scores[2] - scores[1] > 0)
        True
        """
        import numpy as np

        size = 1 + int(reviewer.max(initial=-1))
        most = 10.0 ** (1.0 - np.array(CONCAVE_POWERS))[:, None]
        height = rng.uniform(1.0, most, (len(CONCAVE_POWERS), size))
        return _powers(reviewer, perceived, CONCAVE_POWERS, height * _weights(size, rng))


@dataclass(frozen=True)
class Offset(Hypothesis):
    """Score = quality + offset: a line of slope one. Where everybody is such, one chain of reviews joins two items.

    >>> Offset().bounds
    (1.0, 1.0)
    """

    name = "offset"
    words = "the quality plus an offset: reviewers are harsh or lenient, no more"
    shape = Shape.LINEAR
    level = level_named("connected")
    parameters = 1
    straight = True
    fixes_unit = True
    loose_ties = "none"

    @property
    def bounds(self) -> tuple[float, float]:
        """Both one."""
        return 1.0, 1.0

    @classmethod
    def up_to(cls, max_slope: float) -> Self:
        """Return the class as it is: it leaves no slope open."""
        return cls()

    @staticmethod
    def equalities(steps: Steps) -> Iterable[Rows]:
        """Let perceived qualities differ by what scores differ by."""
        yield steps.rises("offset")


def _weights(size: int, rng: np.random.Generator) -> FloatArray:
    """Weights (a, b, c), shape (3, size): a ~ U(0, 1), a + b ~ U(a, 1), c the rest."""
    import numpy as np

    first = rng.uniform(0.0, 1.0, size)
    second = rng.uniform(first, 1.0)
    return np.array([first, second - first, 1.0 - second])


def _powers(reviewer: IntArray, perceived: FloatArray, powers: Sequence[float], coefficient: FloatArray) -> FloatArray:
    """Sum of powers of the perceived qualities, with each reviewer's coefficients (number of powers, M)."""
    import numpy as np

    terms = np.maximum(perceived, 0.0) ** np.array(powers)[:, None]
    score: FloatArray = (coefficient[:, reviewer] * terms).sum(axis=0)
    return score


#: All classes by name, in the order in which help lists them.
HYPOTHESES: dict[str, type[Hypothesis]] = {kind.name: kind for kind in (Linear, Monotone, Convex, Concave, Offset)}

#: What ``hypothesis=`` takes: one for everybody, or one per reviewer's label.
HypothesisLike: TypeAlias = str | Hypothesis | Mapping[Any, str | Hypothesis]


def classes() -> tuple[type[Hypothesis], ...]:
    """Return all classes in their order; the place of a class is its code in arrays."""
    return tuple(HYPOTHESES.values())


def simulated() -> list[type[Hypothesis]]:
    """Return the classes that can be simulated, in the order in which random numbers are drawn: monotone ones last."""
    found = [kind for kind in classes() if kind.draw_scores is not Hypothesis.draw_scores]
    return sorted(found, key=lambda kind: kind.shape is Shape.MONOTONE)


def hypothesis_of(given: str | Hypothesis, *, max_slope: float | None = None) -> Hypothesis:
    """Return the hypothesis of that name, its slopes at most ``max_slope`` (10 by default); an object has its own.

    Raises
    ------
    InputError
        If no class bears the name, the object is of a class that is not listed, or ``max_slope`` is passed beside it.

    Examples
    --------
    >>> hypothesis_of("convex", max_slope=5)
    Convex(max_slope=5, min_slope=0.0)
    """
    if isinstance(given, Hypothesis) and type(given) in classes():
        if max_slope is not None:
            message = (
                f"max_slope: expected none beside a hypothesis object, which has its own, found {max_slope!r} beside "
            )
            message += f"{given!r}; set it there, or give the hypothesis by name"
            raise InputError(message)
        return given
    return named(classes(), given, "hypothesis").up_to(MAX_SLOPE if max_slope is None else max_slope)


def level_of(kinds: Iterable[type[Hypothesis]]) -> Level:
    """Return what the graph must give for reviewers of these classes: the strongest of their levels.

    A mixture is judged by the class that asks for most, as if everybody were of it. Without any class: the weakest.

    >>> level_of([Offset]).name, level_of([Offset, Linear]).name
    ('connected', 'recoverable')
    """
    asked = {kind.level.name for kind in kinds}
    return next((level for level in LEVELS if level.name in asked), LEVELS[-1])
