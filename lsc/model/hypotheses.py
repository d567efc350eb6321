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
from reviewgraph.errors import InputError
from reviewgraph.levels import LEVELS, Level
from reviewgraph.naming import named

#: All classes, in the order in which help lists them. The place in it is the code of a class in arrays.
CLASSES: tuple[type[Hypothesis], ...] = (Linear, Monotone, Convex, Concave, Offset)

HYPOTHESES: Mapping[str, type[Hypothesis]] = {kind.name: kind for kind in CLASSES}

#: Their codes.
CODES: Mapping[type[Hypothesis], int] = {kind: code for code, kind in enumerate(CLASSES)}

#: What ``hypothesis=`` takes: one for everybody, or one per reviewer's label.
HypothesisLike: TypeAlias = str | Hypothesis | Mapping[Any, str | Hypothesis]


def hypothesis_of(given: str | Hypothesis, *, max_slope: float | None = None) -> Hypothesis:
    """Return the hypothesis of that name, its slopes at most ``max_slope`` (10 by default); an object has its own.

    Raises
    ------
    InputError
        If no class bears the name, the object is of a class that is not listed, or ``max_slope`` is passed beside it.

    Examples
    --------
    >>> hypothesis_of("convex", max_slope=5)
    Convex(max_slope=5, min_slope=0.0)
    """
    if isinstance(given, Hypothesis) and type(given) in CLASSES:
        if max_slope is not None:
            message = (
                f"max_slope: expected none beside a hypothesis object, which has its own, found {max_slope!r} beside "
            )
            message += f"{given!r}; set it there, or give the hypothesis by name"
            raise InputError(message)
        return given
    return named(CLASSES, given, "hypothesis").up_to(MAX_SLOPE if max_slope is None else max_slope)


def level_of(kinds: Iterable[type[Hypothesis]]) -> Level:
    """Return what the graph must give for reviewers of these classes: the strongest of their levels.

    A mixture is judged by the class that asks for most, as if everybody were of it. Without any class: the weakest.

    >>> level_of([Offset]).name, level_of([Offset, Linear]).name
    ('connected', 'recoverable')
    """
    asked = {kind.level.name for kind in kinds}
    return next((level for level in LEVELS if level.name in asked), LEVELS[-1])
