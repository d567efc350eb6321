"""Tables of papers for people: aligned columns, names with titles, the best first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from lsc.methods.estimate import Estimate
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
    width = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    text = [name in ("paper", "") for name in header]

    def line(cells: Sequence[str]) -> str:
        parts = zip(cells, width, text, strict=True)
        return "  ".join(cell.ljust(size) if left else cell.rjust(size) for cell, size, left in parts).rstrip()

    return [line(header), *map(line, rows)]


def best_by_group(estimate: Estimate) -> IntArray:
    """Return codes of papers by group, the best first, those without a score left out."""
    order = np.lexsort((estimate.rank, estimate.group))
    return order[estimate.rank[order] > 0]


def paper_name(estimate: Estimate, paper: int) -> str:
    """Return the label of a paper given by code, with its title where it is known."""
    label = estimate.items[paper]
    title = estimate.reviews.titles.get(label, "")
    return f"{label} {title[:TITLE]}".strip() if title else str(label)
