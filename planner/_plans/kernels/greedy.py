"""Reviews that are independent in the count matroid, taken one after the other as far as loads and limits allow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cython

if not cython.compiled:
    from planner._plans.kernels.cascade import may_read, use
    from reviewgraph.graph.kernels.pebbles import offer

if TYPE_CHECKING:
    from planner._plans.kernels.cascade import Board
    from reviewgraph._base import BoolArray, IntArray
    from reviewgraph.graph.kernels.pebbles import Game


def take_independent(
    game: Game, board: Board, body: IntArray, reviewer: IntArray, item: IntArray, taken: BoolArray, wanted: int
) -> int:
    """Take reviews in order, up to ``wanted``; returns their number.

    Review r is by a reviewer who is ``body[r]`` of the game; those that are taken are marked.
    """
    n_bodies = len(game.parent)
    count = 0
    with cython.nogil:
        for r in range(len(body)):
            if count == wanted:
                break
            if may_read(board, reviewer[r], item[r]) and offer(game, body[r], r, n_bodies + item[r]):
                taken[r] = True
                use(board, reviewer[r], item[r], 1)
                count += 1
    return count
