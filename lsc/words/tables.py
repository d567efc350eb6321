"""Tables of papers for people: aligned columns, names with titles, the best first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from reviewgraph.terminal import text_table

if TYPE_CHECKING:
    from lsc.estimate import Estimate
    from reviewgraph.labels import IntArray

#: A heading, and the cell of a paper given by code.
Column: TypeAlias = tuple[str, Callable[[int], str]]

#: Papers shown before the rest is summed up.
SHOWN = 20
#: Characters of a title that a table shows.
TITLE = 40


def table(columns: Sequence[Column], papers: IntArray) -> list[str]:
    """Return a table in columns, one line a paper: text to the left, numbers to the right.

    >>> table([("paper", lambda i: f"p{i}"), ("rank", lambda i: str(10 * i))], np.array([1, 2]))
    ['paper  rank', 'p1       10', 'p2       20']
    """
    header = [name for name, _ in columns]
    rows = [[cell(i) for _, cell in columns] for i in papers.tolist()]
    return text_table(header, rows, [place for place, name in enumerate(header) if name in ("paper", "")])


def by_group(estimate: Estimate, columns: Sequence[Column]) -> list[Column]:
    """Return the columns, the group before them where there are several."""
    if int(estimate.group.max(initial=0)) < 2:
        return list(columns)
    return [("group", lambda i: str(estimate.group[i])), *columns]


def summed_up(shown: int, all_of_them: int) -> list[str]:
    """Return the line that stands below a table which leaves papers out, if it does.

    >>> summed_up(20, 25)
    ['... and 5 more; -o FILE writes all of them, --json prints them.']
    """
    if all_of_them <= shown:
        return []
    return [f"... and {all_of_them - shown} more; -o FILE writes all of them, --json prints them."]


def best_by_group(estimate: Estimate) -> IntArray:
    """Return codes of papers by group, the best first, those without a score left out."""
    order = np.lexsort((estimate.rank, estimate.group))
    return order[estimate.rank[order] > 0]


def paper_name(estimate: Estimate, paper: int) -> str:
    """Return the label of a paper given by code, with its title where it is known."""
    label = estimate.items[paper]
    title = estimate.reviews.titles.get(label, "")
    return f"{label} {title[:TITLE]}".strip() if title else str(label)
