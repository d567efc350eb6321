"""What one is willing to assume about a reviewer's scoring function: the hypothesis classes of LSC, as a list.

Importing this loads no numpy: the command's choices and its help come from here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from lsc.model.classes.concave import Concave
from lsc.model.classes.convex import Convex
from lsc.model.classes.hypothesis import MAX_SLOPE, Hypothesis
from lsc.model.classes.linear import Linear
from lsc.model.classes.monotone import Monotone
from lsc.model.classes.offset import Offset
from reviewgraph.levels import LEVELS, Level
from reviewgraph.naming import named

#: All classes, in the order in which help lists them. The place in it is the code of a class in arrays.
CLASSES: tuple[type[Hypothesis], ...] = (Linear, Monotone, Convex, Concave, Offset)

HYPOTHESES: Mapping[str, type[Hypothesis]] = {kind.name: kind for kind in CLASSES}

#: Their codes.
CODES: Mapping[type[Hypothesis], int] = {kind: code for code, kind in enumerate(CLASSES)}

#: What ``hypothesis=`` takes: one for everybody, or one per reviewer's label.
HypothesisLike: TypeAlias = str | Hypothesis | Mapping[Any, str | Hypothesis]


def hypothesis_of(given: str | Hypothesis, *, max_slope: float = MAX_SLOPE) -> Hypothesis:
    """Return the hypothesis of that name, its slopes at most ``max_slope``; an object stays what it is.

    Raises
    ------
    InputError
        If no class bears the name, or the object is of a class that is not listed.

    Examples
    --------
    >>> hypothesis_of("convex", max_slope=5)
    Convex(max_slope=5, min_slope=0.0)
    """
    if type(given) in CLASSES:
        return given  # type: ignore[return-value]
    return named(CLASSES, given, "hypothesis").up_to(max_slope)


def level_of(kinds: Iterable[type[Hypothesis]]) -> Level:
    """Return what the graph must give for reviewers of these classes: the strongest of their levels.

    A mixture is judged by the class that asks for most, as if everybody were of it. Without any class: the weakest.

    >>> level_of([Offset]).name, level_of([Offset, Linear]).name
    ('connected', 'recoverable')
    """
    asked = {kind.level.name for kind in kinds}
    return next((level for level in LEVELS if level.name in asked), LEVELS[-1])
