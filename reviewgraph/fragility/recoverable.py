"""Reviewers and reviews whose loss lowers the level ``recoverable``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reviewgraph.arrays import starts
from reviewgraph.fragility.fragile import Finder
from reviewgraph.kernels.pebbles import Game, new_game, play_on
from reviewgraph.recoverable import recoverability

if TYPE_CHECKING:
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import Reviews

#: Bases are drawn up while one clears at least this share of the reviewers that are left, and so many at most.
SHARE, BASES = 0.05, 24


def holds(reviews: Reviews) -> bool:
    """Whether no degrees of freedom are left."""
    return recoverability(reviews).recoverable


def critical_reviews(reviews: Reviews) -> IntArray:
    """Return the reviews without which degrees of freedom appear or an item has no review; the level holds.

    Those of a reviewer of three or more are critical when they lie in no circuit of the count matroid. A reviewer of
    two says nothing of the scale of others: her slope and offset take both equations up.
    """
    load, linking = reviews.loads[reviews.reviewer], int((reviews.loads >= 2).sum())
    alone = reviews.reviews_per_item[reviews.item] == 1
    last = (load == 2) & (linking == 1) & (reviews.n_items >= 2)
    return np.flatnonzero(alone | last | ((load >= 3) & ~recoverability(reviews).redundant))


def critical_reviewers(reviews: Reviews) -> IntArray:
    """Return the reviewers without whom degrees of freedom appear or an item has no review; the level holds.

    A reviewer of whom some basis has two reviews, which her own slope and offset take up, is not critical: bases clear
    most. Those left, c say, are divided and conquered: each is offered O(log c) times, on a copy of the game, so that
    copies cost O(c (M + N)).
    """
    if reviews.n_items < 2:
        alone = reviews.reviews_per_item[reviews.item] == 1
        return np.unique(reviews.reviewer[alone])
    return _Removal(reviews).critical()


class _Removal:
    """The game on the reviewers of two or more reviews, and who of them can go."""

    def __init__(self, reviews: Reviews) -> None:
        linking = reviews.loads >= 2
        self.bodies = np.flatnonzero(linking)
        self.item = reviews.item[linking[reviews.reviewer]]
        self.start = starts(np.repeat(np.arange(self.bodies.size), reviews.loads[self.bodies]), self.bodies.size)
        self.n_items = reviews.n_items
        self.found: list[int] = []

    def critical(self) -> IntArray:
        """Clear reviewers by bases, and try those left."""
        if self.bodies.size == 1:
            return self.bodies
        rng, cleared, left = np.random.default_rng(0), np.empty(0, np.int64), np.arange(self.bodies.size)
        for _ in range(BASES):
            accepted = np.zeros(self.bodies.size, np.int64)
            game = new_game(self.bodies.size, self.n_items)
            self._offer(game, np.concatenate([cleared, rng.permutation(left)]), accepted)
            spared = accepted[left] == 2
            cleared, left = np.concatenate([cleared, left[spared]]), left[~spared]
            if spared.sum() <= SHARE * spared.size:
                break
        game = new_game(self.bodies.size, self.n_items)
        self._divide(game, self._offer(game, cleared), cleared.size, left)
        return self.bodies[np.array(self.found, np.int64)]

    def _offer(self, game: Game, bodies: IntArray, accepted: IntArray | None = None) -> int:
        count = np.zeros(self.bodies.size, np.int64) if accepted is None else accepted
        return play_on(game, self.start, self.item, bodies, count, np.empty(0, np.bool_))

    def _divide(self, game: Game, rank: int, n_in: int, left: IntArray) -> None:
        """Note which of the reviewers left are critical; a node has everybody outside its range in the game."""
        # Rigid without any of them: each can go.
        if not left.size or (n_in and rank == self.n_items + 2 * n_in - 2):
            return
        if left.size == 1:
            self.found.append(int(left[0]))
            return
        halves = np.array_split(left, 2)
        for half, others in (halves, halves[::-1]):
            # Searches mark by stamps that only grow; pebbles and bodies are the state.
            copy = game._replace(points=game.points.copy(), covers=game.covers.copy(), parent=game.parent.copy())
            self._divide(copy, rank + self._offer(copy, others), n_in + others.size, half)


#: The finder of the level ``recoverable``.
FINDER = Finder(holds, critical_reviewers, critical_reviews)
