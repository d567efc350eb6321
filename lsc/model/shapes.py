"""The forms of set that a reviewer's perceived qualities may lie in, as codes for kernels.

Several hypothesis classes may share a form: an offset alone is a line whose slope is given.
"""

from __future__ import annotations

from enum import IntEnum


class Shape(IntEnum):
    """What is known of a reviewer's scoring function f beyond the bounds on its slope."""

    LINEAR = 0
    MONOTONE = 1
    CONVEX = 2
    CONCAVE = 3


#: The codes as plain integers, which kernels take as constants, and one for a reviewer whom nothing constrains.
LINEAR, MONOTONE, CONVEX, CONCAVE = map(int, Shape)
IDLE = len(Shape)
