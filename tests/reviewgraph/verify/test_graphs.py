from typing import Any

import numpy as np
import pytest
from hypothesis import given

from reviewgraph._verify.graphs import missing_links, pieces
from reviewgraph.graph.closure import replay
from tests.naive import PRIME, equations, rank, repeat_union
from tests.strategies import Rows, tables
from tests.trials import examples


def by_name(rows: Rows) -> dict[str, set[str]]:
    return {f"r{j}": {f"p{i}" for i in row} for j, row in enumerate(rows)}


def names(n_items: int) -> list[str]:
    return [f"p{i}" for i in range(n_items)]


@examples(10)
@given(tables(6))
def test_missing_links_are_what_the_rank_leaves(table: tuple[Rows, int]) -> None:
    rows, n_items = table
    quality = [int(value) for value in np.random.default_rng(0).integers(1, PRIME, n_items)]
    counted = sum(len(row) >= 2 for row in rows)
    left = n_items + 2 * counted - min(n_items, 2) - rank(equations([list(row) for row in rows], quality))
    assert missing_links(by_name(rows), names(n_items)) == left


@examples(10)
@given(tables())
def test_pieces_are_what_one_shared_paper_joins(table: tuple[Rows, int]) -> None:
    rows, n_items = table
    reviewed = {i for row in rows for i in row}
    found = repeat_union([list(row) for row in rows], 1)
    assert len(pieces(by_name(rows), names(n_items))) == len(found) + n_items - len(reviewed)


def test_merges_are_replayed_in_their_order() -> None:
    rows = {"a": {"p", "q"}, "b": {"p", "q", "r"}, "c": {"r", "s", "q"}}
    merges = [("a", "b", "p", "q"), ("a", "c", "q", "r")]
    wrong, (group,) = replay(rows, merges)
    assert (wrong, group.items) == (-1, set("pqrs"))
    assert replay(rows, merges[::-1])[0] == 0
    assert replay(rows, [merges[0], merges[0]])[0] == 1
    assert replay(rows, [("a", "b", "p", "p")])[0] == 0


@pytest.mark.parametrize("seed", range(12))
def test_missing_links_of_tables_with_dense_parts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows: Any = [dict.fromkeys(rng.permutation(9)[: int(rng.integers(2, 5))].tolist(), 0.0) for _ in range(8)]
    quality = [int(value) for value in rng.integers(1, PRIME, 9)]
    left = 9 + 2 * 8 - 2 - rank(equations([list(row) for row in rows], quality))
    assert missing_links(by_name(rows), names(9)) == left


def test_missing_links_of_the_fano_plane() -> None:
    """Seven reviewers of three papers, any two of them with one in common: more reviews than unknowns."""
    lines = ("pqr", "pst", "puv", "qsu", "qtv", "rsv", "rtu")
    assert missing_links({f"r{j}": set(line) for j, line in enumerate(lines)}, "pqrstuv") == 0
    assert missing_links({f"r{j}": set(line) for j, line in enumerate(lines[:4])}, "pqrstuv") == 1
