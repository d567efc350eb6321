"""A level is one object: the command, the documentation and every function take its name and words from there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given

from reviewgraph import InputError, Reviews, check
from reviewgraph.graph import ALL_NAMES, level_named, structure_of
from reviewgraph.graph.levels import ALL, LEVELS
from tests.strategies import Rows, tables, to_reviews

TABLE = Reviews.from_pairs([("a", 1, 5.0), ("a", 2, 4.0), ("b", 1, 1.0), ("b", 2, 2.0)])
ASKING: dict[str, Callable[[str], Any]] = {
    "level_named": level_named,
    "reaches": check(TABLE).reaches,
    "reaches by scores": lambda level: check(TABLE).reaches(level, use_scores=True),
}


@pytest.mark.parametrize("unknown", ["triple", "Double", "", "none"])
@pytest.mark.parametrize("ask", ASKING.values(), ids=list(ASKING))
def test_an_unknown_level_is_refused(ask: Callable[[str], Any], unknown: str) -> None:
    with pytest.raises(InputError, match=f"level: expected one of {', '.join(ALL_NAMES)}, found '{unknown}'"):
        ask(unknown)


def test_names_and_words_are_told_apart() -> None:
    for words in ("name", "term", "words"):
        assert len({getattr(level, words) for level in ALL}) == len(ALL)


@given(tables())
def test_a_level_implies_those_after_it(table: tuple[Rows, int]) -> None:
    structure = structure_of(to_reviews(*table))
    held = [level.holds(structure) for level in ALL]
    assert held == sorted(held)
    named = held[len(ALL) - len(LEVELS) :]
    assert structure.level == next((level.name for level, holds in zip(LEVELS, named, strict=True) if holds), None)


@pytest.mark.parametrize("level", ALL, ids=ALL_NAMES)
def test_the_verdict_of_a_level_says_its_words(level: Any) -> None:
    said = level.verdict("All 7 papers are", "3 groups (doubly connected components)", "2 links missing")
    assert said.startswith(f"All 7 papers are {level.words}")


def test_scores_are_not_asked_whether_a_level_survives() -> None:
    with pytest.raises(InputError, match="use_scores: expected a level that goes by scores, found 'survives-review'"):
        check(TABLE).reaches("survives-review", use_scores=True)
