"""Linear reviewers: harsh or lenient, with a wide or a narrow scale."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lsc.model.classes.hypothesis import Sloped
from lsc.model.rows import Rows, Steps
from lsc.model.shapes import Shape
from reviewgraph.levels import level_named


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
