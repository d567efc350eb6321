"""Reviewers who tell the best papers apart most finely."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lsc.model.classes.hypothesis import Sloped
from lsc.model.rows import Rows, Steps
from lsc.model.shapes import Shape
from reviewgraph.levels import level_named


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
