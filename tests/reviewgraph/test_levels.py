"""A level is one object: the command, the documentation and every function take its name and words from there."""

from __future__ import annotations

import pytest
from hypothesis import given

from reviewgraph import InputError, Reviews, check
from reviewgraph.graph import structure_of
from reviewgraph.graph.levels import ALL, LEVELS
from tests.strategies import Rows, tables, to_reviews

TABLE = Reviews([("a", 1, 5.0), ("a", 2, 4.0), ("b", 1, 1.0), ("b", 2, 2.0)])


@given(tables())
def test_a_level_implies_those_after_it(table: tuple[Rows, int]) -> None:
    structure = structure_of(to_reviews(*table))
    held = [level.holds(structure) for level in ALL]
    assert held == sorted(held)
    named = held[len(ALL) - len(LEVELS) :]
    assert structure.level == next((level.name for level, holds in zip(LEVELS, named, strict=True) if holds), None)


def test_scores_are_not_asked_whether_a_level_survives() -> None:
    with pytest.raises(InputError, match="use_scores: expected a level that goes by scores, found 'survives-review'"):
        check(TABLE).reaches("survives-review", use_scores=True)
