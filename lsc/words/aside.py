"""Words on papers that a selection sets aside, because no review connects them to the others."""

from __future__ import annotations

from collections.abc import Sequence

from reviewgraph.labels import IntArray, Label
from reviewgraph.words import counted, listed, noun

#: Papers set aside that are named.
NAMED = 10


def aside_lines(aside: Sequence[Label], groups: IntArray, others: int) -> list[str]:
    """Return the line that names the papers set aside, and says how few reviews would connect them; none without any.

    Parameters
    ----------
    aside
        Their labels.
    groups
        The group of each.
    others
        How many papers the largest group holds.

    Examples
    --------
    >>> import numpy as np
    >>> aside_lines(["p1", "p2"], np.array([2, 2]), 2995)[0]
    'Set aside, neither in nor out: 2 papers that no review connects to the other 2,995, so nothing says how they
    compare: p1, p2. At least 1 review would be needed to connect them.'
    """
    if not aside:
        return []
    needed = counted(len(set(groups.tolist())), "review")
    return [
        f"Set aside, neither in nor out: {counted(len(aside), 'paper')} that no review connects to the other "
        f"{others:,}, so nothing says how {noun(len(aside), 'it compares', 'they compare')}: {listed(aside, NAMED)}. "
        f"At least {needed} would be needed to connect {noun(len(aside), 'it', 'them')}."
    ]
