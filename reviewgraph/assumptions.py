"""What is assumed of scores that nobody has given yet: how noisy they are, and how much reviewers differ."""

from __future__ import annotations

from dataclasses import dataclass

from reviewgraph.arguments import NUMBER, refuse
from reviewgraph.errors import InputError

#: No standard deviation is larger, nor smaller where it must be above 0.
SMALLEST, LARGEST = 1e-12, 1e6


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
        If a number is below 0 or above a million, or ``noise`` or ``spread`` below 1e-12.

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
            refuse(name, value, [NUMBER])
            least = SMALLEST if name in ("noise", "spread") else 0.0
            if not least <= value <= LARGEST:
                message = f"{name}: expected a standard deviation from {least:g} to {LARGEST:g}, found {value!r}"
                raise InputError(message)
