"""What ``calibrate`` is asked for of a result, whether names or codes stand in it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lsc.commands.choosing import Choice, choose
from lsc.commands.extras import Extras

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reviewgraph.cli.share import Share
    from reviewgraph.labels import Label
    from reviewgraph.report.codes import Codes


@dataclass(frozen=True)
class Asked:
    """What is asked for beside the qualities.

    Parameters
    ----------
    select
        How many papers to select; None where that was not asked.
    error_rate, across_groups
        Of the selection.
    lottery, seed
        Whether to draw lots, and by which seed; None where nobody gave one.
    explain
        The papers to be explained.
    known
        Papers of known quality to whose scale a line is to be drawn, or None.
    heard
        Whether the calibration has heard of papers of known quality.
    """

    select: Share | None
    error_rate: float
    across_groups: bool
    lottery: bool
    seed: int | None
    explain: Sequence[Label]
    known: Mapping[str, float] | None
    heard: bool

    def of(self, result: Any) -> tuple[Choice, Extras]:
        """Return the selection, and what else was asked for."""
        choice, extras = (
            choose(result, self.select, error_rate=self.error_rate, across_groups=self.across_groups),
            Extras(),
        )
        if self.lottery:
            extras.draw(choice, self.seed)
        if self.explain:
            extras.explain(result, self.explain)
        if self.known is not None:
            extras.scale(result, self.known, heard=self.heard)
        return choice, extras

    def coded(self, codes: Codes | None) -> Asked:
        """Return the same of a result that stands under codes."""
        if codes is None:
            return self
        explain = [codes.item[label] for label in self.explain]
        known = None if self.known is None else {codes.item[label]: value for label, value in self.known.items()}
        return replace(self, explain=explain, known=known)
