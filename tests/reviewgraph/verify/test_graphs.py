from __future__ import annotations

import numpy as np
from hypothesis import given

from reviewgraph.verify.graphs import groups, missing_links, pieces, replayed
from tests.naive import PRIME, equations, rank, repeat_union, scored_union
from tests.strategies import Rows, tables
from tests.trials import examples


def by_name(rows: Rows) -> dict[str, set[str]]:
    return {f"r{j}": {f"p{i}" for i in row} for j, row in enumerate(rows)}


def names(n_items: int) -> list[str]:
    return [f"p{i}" for i in range(n_items)]


@examples(10)
@given(tables())
def test_groups_are_those_of_the_plain_algorithm(table: tuple[Rows, int]) -> None:
    rows, n_items = table
    found = sorted(sorted(int(who[1:]) for who in group.reviewers) for group in groups(by_name(rows), names(n_items)))
    assert found == repeat_union([list(row) for row in rows], 2)


@examples(10)
@given(tables())
def test_groups_by_scores_are_those_of_the_plain_algorithm(table: tuple[Rows, int]) -> None:
    rows, n_items = table
    score = {(f"r{j}", f"p{i}"): value for j, row in enumerate(rows) for i, value in row.items()}
    found = groups(by_name(rows), names(n_items), score)
    assert sorted(sorted(int(who[1:]) for who in group.reviewers) for group in found) == scored_union(rows, n_items)


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
    assert replayed(rows, "pqrs", merges) == (-1, set("pqrs"))
    assert replayed(rows, "pqrs", merges[::-1])[0] == 0
    assert replayed(rows, "pqrs", [merges[0], merges[0]])[0] == 1
    assert replayed(rows, "pqrs", [("a", "b", "p", "p")])[0] == 0
