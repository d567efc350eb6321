"""``--select``: which papers, and why not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from reviewgraph.errors import InputError

if TYPE_CHECKING:
    from lsc.decisions.selection import Selection
    from lsc.estimate import Estimate
    from reviewgraph.cli.share import Share
    from reviewgraph.reviews import BoolArray


@dataclass(frozen=True)
class Choice:
    """What was selected: labels best first, the selection where there are chances, why it was refused.

    ``lists`` says of every paper whether it is in, to be discussed (``discuss``), out, or set aside (``aside``); None
    for one without a score, and as a whole where nothing was selected. ``aside`` are the labels of the last.
    """

    selected: list[Any] = field(default_factory=list)
    selection: Selection | None = None
    refused: str | None = None
    lists: list[str | None] | None = None
    aside: list[Any] = field(default_factory=list)


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
    from lsc.estimate import comparable
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
                inside = comparable(result.quality, result.group, count, across_groups=across_groups)
                return _chosen(result, result.select(count, by_group_average=across_groups), inside)
    except Incomparable as refusal:
        return Choice(refused=str(refusal))
    return _chosen(result, result.select(count), result.rank > 0)


def with_chances(selection: Selection) -> Choice:
    """Return the choice that a selection is."""
    aside = selection.named(selection.aside)
    return Choice(selection.named(selection.best), selection, lists=selection.lists, aside=aside)


def _chosen(result: Estimate, selected: list[Any], inside: BoolArray) -> Choice:
    """Put a paper in or out where the method knows no chances, or aside where it cannot be compared."""
    best = set(selected)
    places = zip(result.items, (result.rank > 0).tolist(), inside.tolist(), strict=True)
    lists = [
        None if not scored else "aside" if not comparable else "in" if label in best else "out"
        for label, scored, comparable in places
    ]
    aside = [label for label, where in zip(result.items, lists, strict=True) if where == "aside"]
    return Choice(selected, lists=lists, aside=aside)
