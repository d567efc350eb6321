"""Alternates on the page: how many papers have enough, and why the others have not."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from reviewgraph.words import counted, noun

if TYPE_CHECKING:
    from planner.assignments.findings.standing_by import Alternates

#: Papers named for each reason before the rest is only counted.
NAMED = 6


def alternate_lines(alternates: Alternates | None) -> list[str]:
    """Return the lines of the page on who can step in.

    >>> alternate_lines(None)
    []
    """
    if alternates is None:
        return []
    people = counted(alternates.asked, "alternate")
    if not alternates.missing:
        return [f"Every paper has {people}, each of whom can take the place of anyone on its panel."]
    papers, have = counted(len(alternates.missing), "paper"), noun(len(alternates.missing), "has", "have")
    lines = [f"{papers} {have} fewer than {people} who can replace anyone on the panel:"]
    reasons = Counter(one.why for one in alternates.missing)
    for why, count in sorted(reasons.items(), key=lambda reason: (-reason[1], reason[0].value)):
        named = [str(one.item) for one in alternates.missing if one.why is why][:NAMED]
        more = ", ..." if count > NAMED else ""
        lines.append(f"  {why.value}: {counted(count, 'paper')} ({', '.join(named)}{more}).")
    return lines
