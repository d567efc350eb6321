"""A level is one object: the command, the documentation and every function take its name and words from there."""

from hypothesis import given

from reviewgraph.graph import structure_of
from reviewgraph.graph.levels import ALL, LEVELS
from tests.strategies import Rows, tables, to_reviews


@given(tables())
def test_a_level_implies_those_after_it(table: tuple[Rows, int]) -> None:
    structure = structure_of(to_reviews(*table))
    held = [level.holds(structure) for level in ALL]
    assert held == sorted(held)
    named = held[len(ALL) - len(LEVELS) :]
    assert structure.level == next((level.name for level, holds in zip(LEVELS, named, strict=True) if holds), None)
