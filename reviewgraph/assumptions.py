"""What is assumed of scores that nobody has given yet: how noisy they are, and how much reviewers differ."""

from __future__ import annotations

import math
from dataclasses import dataclass

from reviewgraph.errors import InputError


@dataclass(frozen=True)
class Assumptions:
    """Standard deviations of what makes scores differ, in units of the spread of qualities.

    A reviewer scores an item ``b + a x + e``: quality x of spread one, severity b, stretch a around one, noise e.

    Parameters
    ----------
    noise
        Of one score about what the reviewer makes of the quality; 1 by default, as one conference's committees that
        reviewed the same papers twice disagree.
    severity
        Of the severities of reviewers; 0.5 by default.
    stretch
        Of the logarithms of their stretches; 0.2 by default.
    spread
        Standard deviation of qualities, in points of the scores; 1 by default.

    Raises
    ------
    InputError
        If a number is not finite, ``noise`` or ``spread`` is not above 0, or another is below 0.

    Examples
    --------
    >>> Assumptions(noise=0.8).noise
    0.8
    """

    noise: float = 1.0
    severity: float = 0.5
    stretch: float = 0.2
    spread: float = 1.0

    def __post_init__(self) -> None:
        """Refuse what is no standard deviation."""
        for name, value in vars(self).items():
            least = "above 0" if name in ("noise", "spread") else "0 or more"
            if not (math.isfinite(value) and value >= 0 and (value > 0 or least == "0 or more")):
                message = f"{name}: expected a standard deviation, {least}, found {value!r}"
                raise InputError(message)
