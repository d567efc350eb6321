"""The function the fast solver minimises, with its gradient and Newton direction."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np

from lsc.model.hypotheses import CONCAVE, CONVEX, MONOTONE
from lsc.solver.blocks import clustered_direction, system_of
from lsc.solver.faces import distances, project_bents, project_chains
from lsc.solver.lines import common_line, lines_direction
from lsc.solver.matrix import pattern_of
from lsc.solver.tables import ELEMENT, Common, Face, Table, first_face
from reviewgraph.kernels.compiling import Kernel
from reviewgraph.reviews import BoolArray, FloatArray


def inner(a: FloatArray, b: FloatArray) -> float:
    """Inner product, without the threads of a linear algebra library: they cost more and change last digits."""
    return float(np.einsum("i,i->", a, b))


class Objective(ABC):
    """What Newton's method minimises: squared distances from the sets of the reviewers, and two secondary objectives.

    ::

        f(x) = F(x) / 2 + line_weight G(x) / 2 + common_weight (T(x) / 2 - anchor x)

    F sums squared distances from what each reviewer's class allows, G from lines in her scores, T is the squared
    distance from one line in the raw scores. An anchor equal to half the gradient of T at a point z makes T a squared
    distance from z: a proximal-point step, which leaves the minimisers of F unbiased.

    At the point evaluated last, ``squares`` is F, and ``length`` and ``stationarity`` are the lengths per review of the
    gradients of f and of F / 2 alone.
    """

    #: Whether some reviewer need not be linear.
    bends = False

    def __init__(self, common: Common, fixed: BoolArray, line_weight: float = 0.0, common_weight: float = 0.0) -> None:
        n = len(fixed)
        self.common, self.fixed = common, fixed
        self.line_weight, self.common_weight = line_weight, common_weight
        self.squares, self.length, self.stationarity = 0.0, 0.0, 0.0
        self.pull, self.tilt = np.zeros(n), np.zeros(n)
        self.anchor, self.direction = np.zeros(n), np.zeros(n)
        self._slope_free = False

    @abstractmethod
    def __call__(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Value and gradient (zero at known qualities); the face is that of ``x``."""

    @abstractmethod
    def newton(self, gradient: FloatArray, tolerance: float, max_steps: int) -> FloatArray:
        """Return the direction of Newton's method at the point evaluated last, solved to ``tolerance``."""

    def stay(self, weight: float) -> None:
        """Measure distances from the point evaluated last, with a weight, instead of secondary objectives."""
        self.line_weight, self.common_weight = 0.0, weight
        self.anchor = self.tilt.copy()


def _weigh(
    common: Common,
    fixed: BoolArray,
    squares: float,
    line: float,
    line_weight: float,
    common_weight: float,
    anchor: FloatArray,
    x: FloatArray,
    pull: FloatArray,
    bend: FloatArray,
    tilt: FloatArray,
    gradient: FloatArray,
) -> tuple[float, bool, float, float]:
    """Value and gradient of the objective, from F and G and half their gradients ``pull`` and ``bend``.

    Returns the value, whether the slope of the common line is free, and the lengths per review of the gradients of f
    and of F / 2, each item's part divided by the root of its number of reviews; known qualities have no gradient.
    """
    distance, free = common_line(common, x, tilt)
    along, length, stationarity = 0.0, 0.0, 0.0
    for i in range(len(x)):
        along += anchor[i] * x[i]
        gradient[i] = pull[i] + common_weight * (tilt[i] - anchor[i])
        if line_weight > 0.0:
            gradient[i] += line_weight * bend[i]
        if fixed[i]:
            pull[i] = gradient[i] = 0.0
        share = 1.0 / max(common.degree[i], 1.0)
        length += gradient[i] * gradient[i] * share
        stationarity += pull[i] * pull[i] * share
    value = 0.5 * squares + 0.5 * line_weight * line + common_weight * (0.5 * distance - along)
    return value, free, math.sqrt(length / common.reviews), math.sqrt(stationarity / common.reviews)


weigh = Kernel(_weigh, element=ELEMENT)


def _measure(
    table: Table,
    face: Face,
    common: Common,
    fixed: BoolArray,
    line_weight: float,
    common_weight: float,
    anchor: FloatArray,
    x: FloatArray,
    perceived: FloatArray,
    pull: FloatArray,
    bend: FloatArray,
    tilt: FloatArray,
    gradient: FloatArray,
) -> tuple[float, tuple[float, bool, float, float]]:
    """Squared distances from the projections of reviewers who need not be linear, and what :func:`_weigh` returns."""
    pull[:] = 0.0
    bend[:] = 0.0
    squares, line = distances(table, face, line_weight > 0.0, x, perceived, pull, bend)
    weighed = weigh(common, fixed, squares, line, line_weight, common_weight, anchor, x, pull, bend, tilt, gradient)
    return squares, weighed


measure = Kernel(_measure, element=ELEMENT)


class Merit(Objective):
    """The objective of reviews in memory."""

    def __init__(
        self, table: Table, common: Common, fixed: BoolArray, line_weight: float = 0.0, common_weight: float = 0.0
    ) -> None:
        super().__init__(common, fixed, line_weight, common_weight)
        n = len(fixed)
        self.table = table
        self.face: Face = first_face(table)
        self.perceived, self.bend = np.zeros(len(table.item)), np.zeros(n)
        self._chains = bool(np.any(table.kind == MONOTONE))
        self._bents = bool(np.any((table.kind == CONVEX) | (table.kind == CONCAVE)))
        self.bends = self._chains or self._bents
        if self.bends:
            self._pattern = pattern_of(table, n)
            self._system = system_of(self._pattern)
        else:
            self._vectors = np.zeros(4 * n)
        self.products = 0

    def __call__(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Value and gradient (zero at known qualities); the face and perceived qualities are those of ``x``."""
        if self._chains:
            project_chains(self.table, self.face, x, self.perceived)
        if self._bents:
            project_bents(self.table, self.face, x, self.perceived)
        gradient = np.empty(len(x))
        self.squares, weighed = measure(
            self.table, self.face, self.common, self.fixed, self.line_weight if self.bends else 0.0, self.common_weight,
            self.anchor, x, self.perceived, self.pull, self.bend, self.tilt, gradient,
        )  # fmt: skip
        value, self._slope_free, self.length, self.stationarity = weighed
        return value, gradient

    def newton(self, gradient: FloatArray, tolerance: float, max_steps: int) -> FloatArray:
        """Return the direction of Newton's method at the point evaluated last, solved to ``tolerance``."""
        if self.bends:
            steps, _ = clustered_direction(
                self.table, self.face, self.common, self._slope_free, self.line_weight, self.common_weight,
                self._pattern, self._system, self.fixed, gradient, tolerance, max_steps, self.direction,
            )  # fmt: skip
        else:
            steps, _ = lines_direction(
                self.table, self.face.sloped, self.common, self._slope_free, self.common_weight,
                self.fixed, gradient, tolerance, max_steps, self.direction, self._vectors,
            )  # fmt: skip
        self.products += steps
        return self.direction
