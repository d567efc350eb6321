"""How a calibration was asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True)
class Wanted:
    """How a calibration was asked for.

    Parameters
    ----------
    method
        Its name.
    named
        Whether somebody asked for the method.
    select
        How many papers of so many with a score; None where none are to be selected.
    error_rate, across_groups
        Of the selection.
    hypotheses
        ``lsc``: the name of the class by reviewer.
    max_slope, ties_equal
        ``lsc``: the steepest slope, and whether tied scores are seen alike.
    references
        Papers of known quality.
    on_scale_of
        Papers of known quality through which a line leads afterwards.
    weights
        What reviews may be worth; None where nothing was said.
    lottery, explained
        The seed of the lots, None where none were to be drawn, and the papers to be explained.
    """

    method: str
    named: bool = False
    select: Callable[[int], int] | None = None
    error_rate: float = 0.1
    across_groups: bool = False
    hypotheses: Mapping[str, str] = field(default_factory=dict)
    max_slope: float = 10.0
    ties_equal: bool = True
    references: Mapping[str, float] = field(default_factory=dict)
    on_scale_of: Mapping[str, float] = field(default_factory=dict)
    weights: Mapping[tuple[str, str], float] | None = None
    lottery: int | None = None
    explained: tuple[str, ...] = ()
