"""Generic recoverability: whether almost every vector of true qualities can be recovered from linear scores.

Every review is one equation ``z_i = s_j x*_i + t_j`` in the lifted value z of its item and the slope s and offset t of
its reviewer. For almost every x*, a set R of reviews is independent if and only if every non-empty subset R' obeys
``|R'| <= items(R') + 2 reviewers(R') - 2`` (Whiteley 1989). A pebble game (Lee and Streinu 2008) finds its rank.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from reviewgraph.arguments import checked
from reviewgraph.components import Components, doubly_connected_components
from reviewgraph.framed import as_reviews
from reviewgraph.kernels.pebbles import join_blocks, new_blocks, new_game, play
from reviewgraph.results import Result
from reviewgraph.words import counted

if TYPE_CHECKING:
    from reviewgraph.framed import ReviewsLike
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray, Reviews


#: Seconds that plain Python takes to offer a review to the game, on tables where it has to search much.
OFFER = 12e-6


@dataclass(frozen=True, eq=False, repr=False)
class Recoverability(Result):
    """What the count matroid says of a table of reviews.

    Parameters
    ----------
    rank
        Independent equations among the reviews of reviewers with two or more.
    degrees_of_freedom
        Missing links: ``N + 2 M' - min(N, 2) - rank``, with M' the reviewers of two or more reviews.
    reviews
        The table.
    """

    rank: int
    degrees_of_freedom: int
    reviews: Reviews = field(repr=False)
    _components: Components = field(repr=False)

    @property
    def recoverable(self) -> bool:
        """No degrees of freedom left, every item reviewed and, for two items or more, someone reviews two."""
        reviews = self.reviews
        linked = reviews.n_items < 2 or bool((reviews.loads >= 2).any())
        return self.degrees_of_freedom == 0 and linked and bool((reviews.reviews_per_item > 0).all())

    def to_dict(self) -> dict[str, Any]:
        """Return the rank and what follows from it."""
        return {
            "rank": self.rank,
            "degrees_of_freedom": self.degrees_of_freedom,
            "recoverable": self.recoverable,
        }

    def to_columns(self) -> dict[str, list[Any]]:
        """Return a row a reviewer: the label, and the maximal recoverable block (None for fewer than two reviews)."""
        blocks = [None if block < 0 else block for block in self.block_labels.tolist()]
        return {"reviewer": list(self.reviews.reviewers), "block": blocks}

    def headline(self) -> str:
        """Return whether it is recoverable, or how many links are missing."""
        missing = f"{counted(self.degrees_of_freedom, 'link')} missing"
        return "recoverable" if self.recoverable else f"not recoverable, {missing}"

    @cached_property
    def block_labels(self) -> IntArray:
        """Shape (M,): the maximal recoverable block of each reviewer, -1 for those with fewer than two reviews.

        Blocks are numbered in the order of their first reviewers. Two blocks share at most one item.
        """
        start, item, bodies = _contracted(self._components)
        game = new_game(bodies.size, self.reviews.n_items)
        play(game, start, item, np.empty(0, np.bool_))
        order = np.argsort(item, kind="stable")
        item_start = np.zeros(self.reviews.n_items + 1, np.int64)
        item_start[1:] = np.cumsum(np.bincount(item, minlength=self.reviews.n_items))
        body_by_item = np.repeat(np.arange(bodies.size), np.diff(start))[order]
        join_blocks(game, new_blocks(bodies.size, self.reviews.n_items), start, item, item_start, body_by_item)
        block_of = np.full(len(self._components), -1, np.int64)
        block_of[bodies] = np.unique(game.parent, return_inverse=True)[1]
        return block_of[self._components.labels]

    @cached_property
    def block_covers(self) -> tuple[IntArray, ...]:
        """Items of each maximal recoverable block, ascending."""
        label, n_items = self.block_labels[self.reviews.reviewer], max(self.reviews.n_items, 1)
        pairs = np.unique(label[label >= 0] * n_items + self.reviews.item[label >= 0])
        sizes = np.bincount(pairs // n_items, minlength=int(self.block_labels.max(initial=-1)) + 1)
        return tuple(np.split(pairs % n_items, np.cumsum(sizes)[:-1])) if sizes.size else ()

    @cached_property
    def redundant(self) -> BoolArray:
        """Shape (E,): reviews that lie in a circuit; without any one of them the rank stays."""
        keep = self.reviews.loads[self.reviews.reviewer] >= 2
        loads = self.reviews.loads[self.reviews.loads >= 2]
        start = np.concatenate([np.zeros(1, np.int64), np.cumsum(loads)])
        mask = np.zeros(int(keep.sum()), np.bool_)
        play(new_game(loads.size, self.reviews.n_items), start, self.reviews.item[keep], mask)
        found = np.zeros(self.reviews.n_reviews, np.bool_)
        found[keep] = mask
        return found


@checked
def recoverability(reviews: ReviewsLike, *, components: Components | None = None) -> Recoverability:
    """Rank, degrees of freedom, maximal recoverable blocks and redundant reviews of a table.

    The pebble game runs on the graph in which every doubly connected component is one reviewer. Takes time of the
    order of (M + N) E at the very worst; on real and random tables near-linear. Blocks and redundant reviews are
    found when first asked for.

    Parameters
    ----------
    reviews
        Who reviews what; scores do not count.
    components
        Their doubly connected components, if known already.

    Examples
    --------
    Three reviewers on a triangle of items: no two share two items, yet all but coincidences can be recovered.

    >>> from reviewgraph import Reviews
    >>> rows = [("a", 1), ("a", 2), ("a", 3), ("b", 1), ("b", 4), ("b", 5), ("c", 2), ("c", 4), ("c", 6)]
    >>> recoverability(Reviews.from_pairs(rows)).degrees_of_freedom
    1
    >>> full = recoverability(Reviews.from_pairs([*rows, ("d", 3), ("d", 5), ("d", 6)]))
    >>> full.degrees_of_freedom, full.recoverable, full.block_labels.tolist()
    (0, True, [0, 0, 0, 0])
    """
    reviews = as_reviews(reviews)
    groups = doubly_connected_components(reviews) if components is None else components
    start, item, bodies = _contracted(groups)
    run = play.form(OFFER * item.size)
    accepted = run(new_game(bodies.size, reviews.n_items), start, item, np.empty(0, np.bool_))
    n_counted = int((reviews.loads >= 2).sum())
    rank = accepted + 2 * (n_counted - bodies.size)
    degrees = reviews.n_items + 2 * n_counted - min(reviews.n_items, 2) - rank
    return Recoverability(rank, degrees, reviews, groups)


@checked
def degrees_of_freedom(reviews: ReviewsLike) -> int:
    """Missing links before almost every quality vector can be recovered; 0 means recoverable if all are reviewed.

    >>> from reviewgraph import Reviews
    >>> degrees_of_freedom(Reviews.from_pairs([("ann", 1), ("ann", 2), ("bob", 2), ("bob", 3)]))
    1
    """
    reviews = as_reviews(reviews)
    return recoverability(reviews).degrees_of_freedom


def _contracted(components: Components) -> tuple[IntArray, IntArray, IntArray]:
    """Covers of the components with two items or more, compressed, and which components they are."""
    bodies = np.flatnonzero(components.cover_sizes >= 2)
    keep = np.repeat(components.cover_sizes >= 2, components.cover_sizes)
    start = np.concatenate([np.zeros(1, np.int64), np.cumsum(components.cover_sizes[bodies])])
    return start, components.cover_item[keep], bodies
