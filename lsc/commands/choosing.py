"""``--select``: which papers, and why not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from reviewgraph.errors import InputError

if TYPE_CHECKING:
    from lsc.decisions.selection import Selection
    from lsc.estimate import Estimate
    from reviewgraph.cli.share import Share


@dataclass(frozen=True)
class Choice:
    """What was selected: labels best first, the selection where there are chances, why it was refused.

    ``lists`` says of every paper whether it is in, to be discussed (``discuss``) or out; None for one without a score,
    and as a whole where nothing was selected.
    """

    selected: list[Any] = field(default_factory=list)
    selection: Selection | None = None
    refused: str | None = None
    lists: list[str | None] | None = None


def expect_number_to_draw(lottery: bool, share: Share | None) -> None:
    """Refuse a lottery without a number of papers to draw."""
    if lottery and share is None:
        message = "lottery: expected --select N or P% with it, the number of papers to draw"
        raise InputError(message)


def choose(result: Estimate, share: Share | None, *, error_rate: float, across_groups: bool) -> Choice:
    """Select the best papers of a result, with three lists where it knows chances."""
    import warnings

    from lsc.calibration import Calibration
    from lsc.errors import Incomparable, UndeterminedWarning
    from lsc.posteriors import PosteriorEstimate

    if share is None:
        return Choice()
    count = share.of(int((result.rank > 0).sum()))
    try:
        if isinstance(result, PosteriorEstimate):
            return with_chances(result.selection(count, error_rate=error_rate, across_groups=across_groups))
        if isinstance(result, Calibration):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UndeterminedWarning)  # the output opens with this warning
                return _chosen(result, result.select(count, by_group_average=across_groups))
    except Incomparable as refusal:
        return Choice(refused=str(refusal))
    return _chosen(result, result.select(count))


def with_chances(selection: Selection) -> Choice:
    """Return the choice that a selection is."""
    return Choice(selection.named(selection.best), selection, lists=selection.lists)


def _chosen(result: Estimate, selected: list[Any]) -> Choice:
    """Put a paper in or out where the method knows no chances."""
    inside = set(selected)
    places = zip(result.items, (result.rank > 0).tolist(), strict=True)
    lists = [("in" if label in inside else "out") if scored else None for label, scored in places]
    return Choice(selected, lists=lists)
