"""A part of a large table from which its hyperparameters can be learned.

What all reviewers share is known to a few percent from some thousand of them, so learning begins there. The scores have
no say in who is taken, so the part is no different in kind; it only says less. It says most where its reviewers share
their papers, so those who do are taken.
"""

from __future__ import annotations

import numpy as np

from lsc.inference.preparing import Rows
from reviewgraph.labels import IntArray
from reviewgraph.reviews import BoolArray

#: Tables of more reviews than the first are begun with a part of about as many as the second.
LARGE, PART = 40_000, 20_000
#: Reviews of a typical review's reviewer, above which papers are left out too: else few reviewers were many reviews.
HEAVY = 50
#: The part of the part that is drawn blindly, all over the table; and by how much it grows at a time.
SEEDS, GROWTH = 0.02, 1.5


def part_of(rows: Rows, n_reviewers: int, n_items: int, rng: np.random.Generator) -> Rows | None:
    """Return the reviews of some reviewers who share papers, codes renumbered; None where the table is not large.

    Notes
    -----
    About ten passes over the reviews.
    """
    size = rows.score.size
    if size <= LARGE:
        return None
    load = np.bincount(rows.reviewer, minlength=n_reviewers)
    typical = float((load.astype(np.float64) ** 2).sum()) / size
    kept = (rng.random(n_items) < max(HEAVY / typical, PART / size))[rows.item]
    kept[kept] = _close(rows.reviewer[kept], rows.item[kept], n_reviewers, n_items, rng)
    reviewer, item = (np.unique(code[kept], return_inverse=True)[1] for code in (rows.reviewer, rows.item))
    return Rows(reviewer, item, rows.score[kept], None if rows.weight is None else rows.weight[kept])


def counts(rows: Rows) -> tuple[int, int]:
    """Reviewers and items of rows whose codes have no gaps."""
    return int(rows.reviewer.max()) + 1, int(rows.item.max()) + 1


def _close(reviewer: IntArray, item: IntArray, n_reviewers: int, n_items: int, rng: np.random.Generator) -> BoolArray:
    """Take reviewers one after another whose papers the others have, until they have ``PART`` reviews; shape (E,)."""
    load = np.bincount(reviewer, minlength=n_reviewers)
    lot = rng.random(n_reviewers)
    taken, covered = np.zeros(n_reviewers, bool), np.zeros(n_items)
    goal = min(PART, reviewer.size)
    most = SEEDS * goal
    while load[taken].sum() < goal:
        # Share of her papers that the part has; one more counts as missing, since who has few papers tells little.
        shared = np.bincount(reviewer, covered[item], n_reviewers) / (load + 1)
        order = np.lexsort((lot, -shared))
        order = order[~taken[order] & (load[order] > 0)]
        before = load[taken].sum() + np.cumsum(load[order]) - load[order]
        taken[order[before < min(most, goal)]] = True
        covered[item[taken[reviewer]]] = 1.0
        most *= GROWTH
    return taken[reviewer]
