"""Is a solution optimal? Checked from the reviews alone, pair by pair, without anything of lsc.

For every reviewer the constraints of her class are written out as rows; optimality means that they hold and that the
noise is a non-negative combination of the rows that bind, which non-negative least squares finds.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls


class Rule(NamedTuple):
    """The class of a reviewer: name and C."""

    name: str
    max_slope: float

    @property
    def form(self) -> tuple[str, float, float]:
        """Shape, and bounds on the slope of the inverse."""
        return ("linear", 1.0, 1.0) if self.name == "offset" else (self.name, 1.0 / self.max_slope, np.inf)


class Violations(NamedTuple):
    primal: float
    dual: float


def violations(
    scores: Sequence[tuple[int, int, float]],
    rules: Mapping[int, Rule],
    references: Mapping[int, float],
    quality: np.ndarray,
    noise: np.ndarray,
) -> Violations:
    """Largest violation of a constraint, and largest part of the gradient that no multiplier explains.

    ``scores`` are (reviewer, item, score), ``noise`` in the same order.
    """
    primal, dual = 0.0, 0.0
    pull = np.zeros(quality.size)
    for reviewer, rule in rules.items():
        mine = [r for r, (who, _, _) in enumerate(scores) if who == reviewer]
        items, given = [scores[r][1] for r in mine], [scores[r][2] for r in mine]
        eps = noise[mine]
        np.add.at(pull, items, eps)
        equal, rising = rows(given, *rule.form)
        perceived = quality[items] + eps
        primal = max([primal, *(abs(a @ perceived - b) for a, b in equal), *(b - a @ perceived for a, b in rising)])
        near = 1e-7 * (1.0 + np.abs(perceived).max(initial=0.0))
        dual = max(dual, unexplained(eps, equal, rising, perceived, near))
    for item, value in references.items():
        primal = max(primal, abs(quality[item] - value))
        pull[item] = 0.0
    return Violations(primal, max(dual, float(np.abs(pull).max(initial=0.0))))


def unexplained(eps: np.ndarray, equal: list[Any], rising: list[Any], perceived: np.ndarray, near: float) -> float:
    """Distance of the noise from the cone of the constraints that bind, or are ``near`` to it."""
    columns = [a for a, _ in equal] + [-a for a, _ in equal]
    slack = [0.0] * len(columns)
    for a, b in rising:
        columns.append(a)
        slack.append(max(float(a @ perceived) - b, 0.0))
    if not columns:
        return float(np.abs(eps).max(initial=0.0))
    width = np.array([np.abs(column).sum() for column in columns])
    matrix = np.array(columns).T / width
    binding = np.array(slack) / width <= near
    if not binding.any():
        return float(np.abs(eps).max(initial=0.0))
    return float(nnls(matrix[:, binding], eps)[1])


def rows(given: list[float], shape: str, lower: float, upper: float) -> tuple[list[Any], list[Any]]:
    """Constraints ``a @ perceived == b`` and ``a @ perceived >= b`` of one reviewer."""
    levels = [[r for r, y in enumerate(given) if y == level] for level in sorted(set(given))]
    heights = sorted(set(given))
    last = len(levels) - 1

    def unit(r: int) -> np.ndarray:
        return np.eye(len(given))[r]

    equal = [(unit(level[0]) - unit(r), 0.0) for level in levels for r in level[1:]]
    rising = []
    steps = []
    for below in range(last):
        dy = heights[below + 1] - heights[below]
        pairs = [(r, s) for r in levels[below] for s in levels[below + 1]]
        steps.append((dy, [unit(s) - unit(r) for r, s in pairs]))
        for step in steps[-1][1]:
            if lower == upper:
                equal.append((step, lower * dy))
                continue
            rising.append((step, lower * dy))
    for (dy, first), (dz, second) in pairwise(steps):
        for a in first:
            for b in second:
                bend = (a * dz - b * dy) / (dy + dz)
                if shape == "linear":
                    equal.append((bend, 0.0))
                elif shape == "convex":
                    rising.append((bend, 0.0))
                elif shape == "concave":
                    rising.append((-bend, 0.0))
    return equal, rising
