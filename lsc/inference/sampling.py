"""A part of a large table from which its hyperparameters can be learned.

What all reviewers share is known to a few percent from some thousand of them, so learning begins there. The scores have
no say in who is taken, so the part is no different in kind; it only says less. It says most where its reviewers share
their papers, so those who do are taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from lsc.inference.preparing import Rows, joined
from reviewgraph.labels import IntArray
from reviewgraph.reviews import BoolArray, FloatArray

#: Tables of more reviews than the first are begun with a part of about as many as the second.
LARGE, PART = 40_000, 20_000
#: Reviews of a typical review's reviewer, above which papers are left out too: else few reviewers were many reviews.
HEAVY = 50
#: The part of the part that is drawn blindly, all over the table; and by how much it grows at a time.
SEEDS, GROWTH = 0.02, 1.5


def part_of(pieces: Iterable[Rows], n_reviewers: int, n_items: int, rng: np.random.Generator) -> Rows | None:
    """Return the reviews of some reviewers who share papers, codes renumbered; None where the table is not large.

    Parameters
    ----------
    pieces
        All reviews, reviewers whole; passed over about twenty times.
    """
    load = _per_reviewer(pieces, n_reviewers)
    size = int(load.sum())
    if size <= LARGE:
        return None
    typical = float((load**2).sum()) / size
    kept = Kept(pieces, rng.random(n_items) < max(HEAVY / typical, PART / size))
    taken = _close(kept, n_reviewers, n_items, rng)
    part = joined(rows.only(taken[rows.reviewer]) for rows in kept)
    reviewer, item = (np.unique(code, return_inverse=True)[1] for code in (part.reviewer, part.item))
    return part._replace(reviewer=reviewer, item=item)


def counts(rows: Rows) -> tuple[int, int]:
    """Reviewers and items of rows whose codes have no gaps."""
    return int(rows.reviewer.max()) + 1, int(rows.item.max()) + 1


@dataclass(frozen=True, eq=False)
class Kept:
    """The reviews of some items.

    Parameters
    ----------
    pieces
        All reviews.
    there
        Shape (N,): which items.
    """

    pieces: Iterable[Rows]
    there: BoolArray

    def __iter__(self) -> Iterator[Rows]:
        """Pass over them."""
        every = bool(self.there.all())
        for rows in self.pieces:
            yield rows if every else rows.only(self.there[rows.item])


def _per_reviewer(pieces: Iterable[Rows], n_reviewers: int, of_item: FloatArray | None = None) -> FloatArray:
    """Sum what there is of items, or ones, over the reviews of each reviewer, shape (M,)."""
    found = np.zeros(n_reviewers)
    for rows in pieces:
        found += np.bincount(rows.reviewer, None if of_item is None else of_item[rows.item], n_reviewers)
    return found


def _close(pieces: Iterable[Rows], n_reviewers: int, n_items: int, rng: np.random.Generator) -> BoolArray:
    """Take reviewers one after another whose papers the others have, until they have ``PART`` reviews; shape (M,)."""
    load = _per_reviewer(pieces, n_reviewers)
    lot = rng.random(n_reviewers)
    taken, covered = np.zeros(n_reviewers, bool), np.zeros(n_items)
    goal = min(PART, int(load.sum()))
    most = SEEDS * goal
    while load[taken].sum() < goal:
        # Share of her papers that the part has; one more counts as missing, since who has few papers tells little.
        shared = _per_reviewer(pieces, n_reviewers, covered) / (load + 1)
        order = _first(np.flatnonzero(~taken & (load > 0)), shared, lot, goal)
        before = load[taken].sum() + np.cumsum(load[order]) - load[order]
        taken[order[before < min(most, goal)]] = True
        for rows in pieces:
            covered[rows.item[taken[rows.reviewer]]] = 1.0
        most *= GROWTH
    return taken


def _first(who: IntArray, shared: FloatArray, lot: FloatArray, number: int) -> IntArray:
    """Return the first of some reviewers in descending order of what they share, then by lot, without sorting all."""
    if who.size > number:
        least = np.partition(shared[who], who.size - number)[who.size - number]
        above, equal = who[shared[who] > least], who[shared[who] == least]
        equal = equal[np.argpartition(lot[equal], number - above.size - 1)[: number - above.size]]
        who = np.concatenate([above, equal])
    return who[np.lexsort((lot[who], -shared[who]))]
