"""Hypothesis classes of LSC: assumptions about a reviewer's scoring function.

A class is one object, listed once in :data:`HYPOTHESES`. Importing this module loads no numpy: the choices and the help
of the command come from here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

from reviewgraph._base import InputError, named, refuse
from reviewgraph.graph import Level, level_named

if TYPE_CHECKING:
    import numpy as np

    from reviewgraph._base import FloatArray, IntArray


#: Default C, the largest slope of a scoring function: that of the paper.
MAX_SLOPE = 10.0
#: The largest C, and the reciprocal of the smallest: squares beyond overflow double precision.
STEEPEST = 1e50

#: Exponents of the powers whose mixtures are the paper's convex and concave functions, in simulations.
CONVEX_POWERS = (2.0, 2.5, 3.0)
CONCAVE_POWERS = (1 / 2, 1 / 3, 1 / 4)
#: Range of a simulated monotone function.
SCORE_RANGE = (0.0, 10.0)


class Shape(IntEnum):
    """Form of the set of a reviewer's perceived qualities, up to bounds on slopes: a code for kernels.

    Classes may share a shape: an offset is a line with a given slope. For each shape there are constraints in
    :mod:`lsc._model.formulation`, a projection in :mod:`lsc._solver.kernels.projections`, and a formula of its
    multipliers in :mod:`lsc.evidence.optimality`.
    """

    LINEAR = 0
    MONOTONE = 1
    CONVEX = 2
    CONCAVE = 3


#: The codes as plain integers, as headers of kernels have them, and one for an unconstrained reviewer.
LINEAR, MONOTONE, CONVEX, CONCAVE = map(int, Shape)
IDLE = len(Shape)


@dataclass(frozen=True)
class Hypothesis:
    """A class of scoring functions f, from quality to score: its properties and simulation.

    Parameters
    ----------
    max_slope
        C > 0: no scoring function rises faster (10 by default). It fixes the scale of the recovered qualities, and in a
        class with one bound for everybody nothing else.

    Attributes
    ----------
    name
        In arguments, files and JSON.
    words
        Its line in ``--help`` and in messages: the form of a scoring function.
    shape
        The form of the set of a reviewer's perceived qualities, for projections.
    level
        Level of the graph at which items are comparable.
    parameters
        Number of parameters of one reviewer's function, for standard errors; None (default) if not finite, without
        standard errors.

    Raises
    ------
    InputError
        Unless ``1e-50 <= max_slope <= 1e50``.
    """

    max_slope: float = MAX_SLOPE

    name: ClassVar[str]
    words: ClassVar[str]
    shape: ClassVar[Shape]
    level: ClassVar[Level]
    parameters: ClassVar[int | None] = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "max_slope", refuse("max_slope", self.max_slope, "float"))
        if not 1 / STEEPEST <= self.max_slope <= STEEPEST:
            message = f"max_slope: expected a number from {1 / STEEPEST:g} to {STEEPEST:g}, found {self.max_slope}"
            raise InputError(message)

    @property
    def bounds(self) -> tuple[float, float]:
        """Bounds on the slope of the inverse of f: 1 / C and infinity, or twice the slope of lines that have one."""
        return 1.0 / self.max_slope, math.inf

    @classmethod
    def up_to(cls, max_slope: float) -> Self:
        """Return the class with slopes of at most ``max_slope``, if it does not fix them."""
        return cls(max_slope)

    @property
    def fixes_unit(self) -> bool:
        """Whether a point of quality is a point of score; qualities are then only shifted."""
        return self.bounds == (1.0, 1.0)

    @staticmethod
    def draw_scores(reviewer: IntArray, perceived: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw a function for every reviewer and apply it to their perceived qualities, shapes (E,), for simulations.

        The distributions are those of Appendix B of [Tan21]_, with the weights of its code where the text leaves them
        open. A class without this method is not simulated.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class Linear(Hypothesis):
    """Score = slope * quality + offset (programme 4 of [Tan21]_).

    Examples
    --------
    >>> Linear().bounds
    (0.1, inf)
    """

    name = "linear"
    words = "a slope times the quality plus an offset"
    shape = Shape.LINEAR
    level = level_named("recoverable")
    parameters = 2

    @staticmethod
    def draw_scores(reviewer: IntArray, perceived: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Score linearly: slope U(0, 2) and offset N(0, 2) for each reviewer."""
        size = 1 + int(reviewer.max(initial=-1))
        slope = rng.uniform(0.0, 2.0, size)
        offset = rng.normal(0.0, 2.0, size)
        return slope[reviewer] * perceived + offset[reviewer]


@dataclass(frozen=True)
class Monotone(Hypothesis):
    """A better paper gets no lower score; no further assumption.

    Examples
    --------
    >>> Monotone(max_slope=4.0).bounds
    (0.25, inf)
    """

    name = "monotone"
    words = "a better paper gets no lower score, and nothing else is known"
    shape = Shape.MONOTONE
    level = level_named("recoverable")

    @staticmethod
    def draw_scores(reviewer: IntArray, perceived: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Score by sorted U(0, 10) values, one per item, in the order of perceived quality, ties by row."""
        import numpy as np

        drawn = rng.uniform(*SCORE_RANGE, reviewer.size)
        score = np.empty(reviewer.size)
        score[np.lexsort((perceived, reviewer))] = drawn[np.lexsort((drawn, reviewer))]
        return score


@dataclass(frozen=True)
class Convex(Hypothesis):
    """Monotone, and steeper for better papers: the best papers are distinguished most finely.

    Examples
    --------
    >>> Convex().name
    'convex'
    """

    name = "convex"
    words = "monotone, and scores of good papers lie further apart than those of bad ones"
    shape = Shape.CONVEX
    level = level_named("recoverable")

    @staticmethod
    def draw_scores(reviewer: IntArray, perceived: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Score by ``a c1 x^2 + b c2 x^2.5 + c c3 x^3``, c1..c3 ~ U(0, 1), weights a, b, c as in the paper's code."""
        return _powers(reviewer, perceived, CONVEX_POWERS, 0.0, 1.0, rng)


@dataclass(frozen=True)
class Concave(Hypothesis):
    """Monotone, and flatter for better papers: the weakest papers are distinguished most finely.

    Examples
    --------
    >>> Concave().name
    'concave'
    """

    name = "concave"
    words = "monotone, and scores of bad papers lie further apart than those of good ones"
    shape = Shape.CONCAVE
    level = level_named("recoverable")

    @staticmethod
    def draw_scores(reviewer: IntArray, perceived: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Score by ``a p2 x^(1/2) + b p3 x^(1/3) + c p4 x^(1/4)``, p_q ~ U(1, 10 / 10^(1/q)), weights as convex."""
        import numpy as np

        most = 10.0 ** (1.0 - np.array(CONCAVE_POWERS))[:, None]
        return _powers(reviewer, perceived, CONCAVE_POWERS, 1.0, most, rng)


@dataclass(frozen=True)
class Offset(Hypothesis):
    """Score = quality + offset: a line of slope one. If all reviewers are such, one chain of reviews links two items.

    Examples
    --------
    >>> Offset().bounds
    (1.0, 1.0)
    """

    max_slope: float = field(default=1.0, init=False, repr=False)

    name = "offset"
    words = "the quality plus an offset: reviewers are harsh or lenient, no more"
    shape = Shape.LINEAR
    level = level_named("connected")
    parameters = 1

    @property
    def bounds(self) -> tuple[float, float]:
        """Both one."""
        return 1.0, 1.0

    @classmethod
    def up_to(cls, max_slope: float) -> Self:
        """Return the class unchanged: its slope is fixed."""
        return cls()


def _powers(
    reviewer: IntArray,
    perceived: FloatArray,
    powers: Sequence[float],
    least: float,
    most: float | FloatArray,
    rng: np.random.Generator,
) -> FloatArray:
    """Sum of three powers of the perceived qualities, of random heights U(least, most) and weights for each reviewer.

    The weights are a ~ U(0, 1), b with a + b ~ U(a, 1), and the rest.
    """
    import numpy as np

    size = 1 + int(reviewer.max(initial=-1))
    height = rng.uniform(least, most, (len(powers), size))
    first = rng.uniform(0.0, 1.0, size)
    second = rng.uniform(first, 1.0)
    coefficient = height * np.array([first, second - first, 1.0 - second])
    terms = np.maximum(perceived, 0.0) ** np.array(powers)[:, None]
    score: FloatArray = (coefficient[:, reviewer] * terms).sum(axis=0)
    return score


#: All classes by name, in the order of the help.
HYPOTHESES: dict[str, type[Hypothesis]] = {kind.name: kind for kind in (Linear, Monotone, Convex, Concave, Offset)}

#: Argument ``hypothesis=``: one for all, or one per reviewer's label.
HypothesisLike: TypeAlias = str | Hypothesis | Mapping[Any, str | Hypothesis]


def classes() -> tuple[type[Hypothesis], ...]:
    """Return all classes in order; the index of a class is its code in arrays."""
    return tuple(HYPOTHESES.values())


def simulated() -> list[type[Hypothesis]]:
    """Return the classes with a simulation, in the order of random draws: monotone ones last."""
    kinds = [kind for kind in classes() if kind.draw_scores is not Hypothesis.draw_scores]
    return sorted(kinds, key=lambda kind: kind.shape is Shape.MONOTONE)


def hypothesis_of(hypothesis: str | Hypothesis, *, max_slope: float | None = None) -> Hypothesis:
    """Return the hypothesis of this name, with slopes of at most ``max_slope`` (10 by default); an object is returned.

    Raises InputError if no class has the name, the object's class is not listed, or ``max_slope`` is passed with an
    object.

    >>> hypothesis_of("convex", max_slope=5)
    Convex(max_slope=5)
    """
    if isinstance(hypothesis, Hypothesis) and type(hypothesis) in classes():
        if max_slope is not None:
            raise InputError(
                f"max_slope: expected none beside a hypothesis object, which has its own, found {max_slope!r} beside "
                f"{hypothesis!r}; set it there, or give the hypothesis by name"
            )
    else:
        kind = named(classes(), hypothesis, "hypothesis")
        hypothesis = kind.up_to(MAX_SLOPE if max_slope is None else max_slope)
    low, high = hypothesis.bounds
    if high < math.inf and (hypothesis.shape is not Shape.LINEAR or low < high):
        name = type(hypothesis).__name__
        raise TypeError(f"{name}: expected an infinite bound or, of lines, a fixed slope, found bounds {low, high}")
    return hypothesis


def level_of(kinds: Iterable[type[Hypothesis]]) -> Level:
    """Return the level of the graph that reviewers of these classes require: the strongest of theirs.

    Without any class: the weakest.

    >>> level_of([Offset]).name, level_of([Offset, Linear]).name
    ('connected', 'recoverable')
    """
    strongest: Level = Offset.level
    for kind in kinds:
        strongest = kind.level if kind.level.implies(strongest) else strongest
    return strongest
