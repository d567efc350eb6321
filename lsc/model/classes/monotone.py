"""Reviewers of whom nothing is known but the order they see."""

from __future__ import annotations

from dataclasses import dataclass

from lsc.model.classes.hypothesis import Sloped
from lsc.model.shapes import Shape
from reviewgraph.levels import level_named


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
