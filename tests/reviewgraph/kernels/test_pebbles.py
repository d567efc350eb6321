from __future__ import annotations

import random
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewgraph.graph.components import play_all
from reviewgraph.graph.kernels import pebbles
from tests import naive
from tests.strategies import Rows, tables


def play(rows: list[list[int]], n_items: int) -> tuple[int, list[bool], list[int]]:
    """Return the rank, the redundant reviews and the block of each body."""
    start = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    item = np.array([i for row in rows for i in row], np.int64)
    order = np.argsort(item, kind="stable")
    item_start = np.concatenate([[0], np.cumsum(np.bincount(item, minlength=n_items))]).astype(np.int64)
    bodies = np.repeat(np.arange(len(rows)), np.diff(start))[order]
    marking = pebbles.Game(len(rows), n_items, marked=item.size)
    play_all(marking, start, item)
    game = pebbles.Game(len(rows), n_items)
    rank = play_all(game, start, item)
    pebbles.join_blocks(game, pebbles.RigidBlocks(len(rows), n_items), start, item, item_start, bodies)
    return rank, np.asarray(marking.redundant).tolist(), np.asarray(game.parent).tolist()


@pytest.mark.slow
@given(table=tables(6), seed=st.integers(0, 1000))
def test_the_game_finds_rank_circuits_and_blocks_of_the_equations(table: tuple[Rows, int], seed: int) -> None:
    rows, n_items = [sorted(row) for row in table[0] if len(row) > 1], table[1]
    generator = random.Random(seed)
    system = naive.equations(rows, [generator.randrange(1, naive.PRIME) for _ in range(n_items)])
    rank, redundant, block = play(rows, n_items)
    assert rank == naive.rank(system)
    assert redundant == [naive.rank(system[:r] + system[r + 1 :]) == rank for r in range(len(system))]
    for a, b in combinations(range(len(rows)), 2):
        forced = naive.rank(system + naive.same_line(a, b, n_items, len(rows))) == rank
        assert (block[a] == block[b]) == forced
