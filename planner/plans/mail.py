"""A line a reviewer, ready to mail."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reviewgraph.labels import Label


#: What the reviews of a plan for a level help to do.
COMPARE = "compare the scores of all papers on one scale"


def requests(asked: Iterable[tuple[Label, Label]], titles: Mapping[Label, str], helps: str) -> dict[Label, str]:
    """Ask each reviewer for papers, given as pairs of a reviewer and a paper, and say what it helps us to.

    >>> requests([("ann", 1), ("ann", 2)], {2: "On ties"}, "compare them")["ann"]
    'Dear ann, could you review 2 more papers for us: 1 and 2 (On ties)? It helps us compare them.'
    """
    items: dict[Label, list[Label]] = {}
    for reviewer, item in asked:
        items.setdefault(reviewer, []).append(item)
    lines = {}
    for reviewer, papers in items.items():
        named = [f"{paper} ({titles[paper]})" if titles.get(paper) else str(paper) for paper in papers]
        listed = named[0] if len(named) == 1 else ", ".join(named[:-1]) + " and " + named[-1]
        what = "one more paper" if len(named) == 1 else f"{len(named)} more papers"
        lines[reviewer] = f"Dear {reviewer}, could you review {what} for us: {listed}? It helps us {helps}."
    return lines
