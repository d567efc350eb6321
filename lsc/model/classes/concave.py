"""Reviewers who tell the weakest papers apart most finely."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lsc.model.classes.hypothesis import Sloped
from lsc.model.rows import Rows, Steps
from lsc.model.shapes import Shape
from reviewgraph.levels import level_named


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
