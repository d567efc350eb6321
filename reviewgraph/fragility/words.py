"""What a check says of losses, in a chair's words, where items are papers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reviewgraph.labels import first_labels, ranks
from reviewgraph.levels import level_named
from reviewgraph.words import LISTED, counted, listed

if TYPE_CHECKING:
    from reviewgraph.fragility.fragile import Fragile
    from reviewgraph.fragility.keeping import Keeps
    from reviewgraph.fragility.losses import Losses


def losses(found: Losses) -> list[str]:
    """Return the sections of the page."""
    if found.fragile is None:
        lines = ["", "Whose loss would lower the level was not looked for in a table of this size; --fragile does it."]
    else:
        lines = single(found.fragile)
    return lines if found.keeps is None else [*lines, *kept(found.keeps)]


def single(found: Fragile) -> list[str]:
    """Return an empty line, a question, and whose loss alone would lower the level; nothing where it does not hold."""
    if not found.holds:
        return []
    names = found.table.reviewers
    reviewers = first_labels(names, found.reviewers, LISTED + 1)
    by = ranks(found.table.items)[found.table.item[found.reviews]], ranks(names)[found.table.reviewer[found.reviews]]
    shown = found.reviews[np.lexsort(by)][: LISTED + 1]
    codes = zip(found.table.reviewer[shown].tolist(), found.table.item[shown].tolist(), strict=True)
    pairs = [f"{names[j]} on {found.table.items[i]}" for j, i in codes]
    return [
        "",
        f"If one is lost, are the papers still {level_named(found.level).words}?",
        _one(found.reviewers.size, "reviewer", list(map(str, reviewers))),
        _one(found.reviews.size, "review", pairs),
    ]


def _one(count: int, what: str, names: list[str]) -> str:
    if not count:
        return f"  No single {what}'s loss would lower the level."
    return f"  Not without {f'this {what}' if count == 1 else f'any one of {counted(count, what)}'}: {listed(names)}"


def kept(found: Keeps) -> list[str]:
    """Return an empty line, a heading, and a line for each level."""
    lines = ["", f"If reviews fail to arrive with the given probability ({counted(found.draws, 'draw')}), papers stay"]
    return lines + [
        f"  {level_named(each.level).words}: {each.probability:.0%} (standard error {each.standard_error:.1%})"
        for each in found.levels
    ]
