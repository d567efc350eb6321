"""The function the fast solver minimises, with its gradient and Newton direction."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np

from lsc.model.shapes import CONCAVE, CONVEX, MONOTONE
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
        self._weight = 1.0 / np.maximum(common.degree, 1.0)
        self._slope_free = False

    @abstractmethod
    def __call__(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Value and gradient (zero at known qualities); the face is that of ``x``."""

    @abstractmethod
    def newton(self, gradient: FloatArray, tolerance: float, max_steps: int) -> FloatArray:
        """Return the direction of Newton's method at the point evaluated last, solved to ``tolerance``."""

    def weighed(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return value and gradient of F and T, those of F being there already; known qualities have no gradient."""
        common, self._slope_free = common_line(self.common, x, self.tilt)
        value = 0.5 * self.squares + self.common_weight * (0.5 * common - inner(self.anchor, x))
        gradient = self.pull + self.common_weight * (self.tilt - self.anchor)
        self.pull[self.fixed] = gradient[self.fixed] = 0.0
        self.length, self.stationarity = self._norm(gradient), self._norm(self.pull)
        return value, gradient

    def _norm(self, gradient: FloatArray) -> float:
        """Length of a gradient per review: each item's part divided by the root of its number of reviews."""
        return math.sqrt(inner(gradient, self._weight * gradient) / self.common.reviews)

    def stay(self, weight: float) -> None:
        """Measure distances from the point evaluated last, with a weight, instead of secondary objectives."""
        self.line_weight, self.common_weight = 0.0, weight
        self.anchor = self.tilt.copy()


def _measure(
    table: Table,
    face: Face,
    common: Common,
    fixed: BoolArray,
    straighten: bool,
    line_weight: float,
    common_weight: float,
    anchor: FloatArray,
    x: FloatArray,
    perceived: FloatArray,
    pull: FloatArray,
    bend: FloatArray,
    tilt: FloatArray,
    gradient: FloatArray,
) -> tuple[float, float, bool, float, float]:
    """Value and gradient of the objective, from the projections of reviewers who need not be linear.

    Returns the value, the squared distances alone, whether the slope of the common line is free, and the squared
    lengths per review of the gradients of both, each item's part divided by its number of reviews.
    """
    pull[:] = 0.0
    bend[:] = 0.0
    squares, line = distances(table, face, straighten, x, perceived, pull, bend)
    distance, free = common_line(common, x, tilt)
    along, length, stationarity = 0.0, 0.0, 0.0
    for i in range(len(x)):
        along += anchor[i] * x[i]
        gradient[i] = pull[i] + common_weight * (tilt[i] - anchor[i])
        if straighten:
            gradient[i] += line_weight * bend[i]
        if fixed[i]:
            pull[i] = gradient[i] = 0.0
        share = 1.0 / max(common.degree[i], 1.0)
        length += gradient[i] * gradient[i] * share
        stationarity += pull[i] * pull[i] * share
    value = 0.5 * squares + common_weight * (0.5 * distance - along)
    if straighten:
        value += 0.5 * line_weight * line
    return value, squares, free, length / common.reviews, stationarity / common.reviews


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
        straighten = self.bends and self.line_weight > 0.0
        if self._chains:
            project_chains(self.table, self.face, x, self.perceived)
        if self._bents:
            project_bents(self.table, self.face, x, self.perceived)
        gradient = np.empty(len(x))
        value, self.squares, self._slope_free, length, stationarity = measure(
            self.table, self.face, self.common, self.fixed, straighten, self.line_weight, self.common_weight,
            self.anchor, x, self.perceived, self.pull, self.bend, self.tilt, gradient,
        )  # fmt: skip
        self.length, self.stationarity = math.sqrt(length), math.sqrt(stationarity)
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
