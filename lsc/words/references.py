"""Words on papers of known quality."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reviewgraph.words import counted

if TYPE_CHECKING:
    from lsc.estimate import Estimate
    from lsc.misfit import Misfit
    from lsc.references import ReferenceLine


def line_lines(result: Estimate, line: ReferenceLine, *, heard: bool = False) -> list[str]:
    """Say which line leads to the scale of references, and how well it fits.

    With ``heard``, the calibration has heard of the references, so that the fit says too much.
    """
    lines = [
        f"On the scale of {counted(line.references, 'reference')}: {line.intercept:.4g} + {line.slope:.4g} x "
        f"quality, a straight line drawn after the calibration; known values lie {line.error:.3g} off it (standard "
        "deviation). The qualities above stay on the scale of the scores; -o FILE and --json have both (scaled).",
    ]
    if heard:
        lines.append("The references had a say in the calibration, so they lie nearer to the line than other papers.")
    if int(result.group.max(initial=0)) > 1:
        lines.append("The line leads to papers of group 1 only: nothing says how other groups compare.")
    return lines


def measured_line(references: int) -> str:
    """Say how the posterior takes references."""
    one, many = "paper of known quality counts as a measurement", "papers of known quality count as measurements"
    count = counted(references, one, many)
    return f"{count} with an error, not as exact; qualities stay on the scale of the scores."


def misfit_line(misfit: Misfit) -> str:
    """Warn that references held to their values fight the scores."""
    costs = (
        f"{misfit.ratio:.0f} times the noise of a score" if misfit.ratio < float("inf") else "noise where there is none"
    )
    return (
        f"the references fight the scores: each that is held to its value costs {costs}. Check the file; --method "
        "posterior takes them as measurements, --on-scale-of draws a line afterwards."
    )
