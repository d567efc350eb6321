"""Reviewers who are harsh or lenient and differ in nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from lsc.model.classes.hypothesis import Hypothesis
from lsc.model.rows import Rows, Steps
from lsc.model.shapes import Shape
from reviewgraph.levels import level_named


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
