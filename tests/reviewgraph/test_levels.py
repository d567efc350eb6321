"""A level is one object: the command, the documentation and every function take its name and words from there."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from hypothesis import given

from reviewgraph import InputError, Reviews, check
from reviewgraph.cli import main
from reviewgraph.graph import ALL_NAMES, level_named, structure_of
from reviewgraph.graph.levels import ALL, LEVELS, NAMES, described
from tests.strategies import Rows, tables, to_reviews

ROOT = Path(__file__).parents[2]
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


@pytest.mark.parametrize("level", ALL, ids=ALL_NAMES)
def test_help_says_the_words_of_a_level(level: Any) -> None:
    assert f"{level.name}: papers are {level.words}" in described()
    page = " ".join(CliRunner().invoke(main, ["check", "--help"], terminal_width=200).stdout.split())
    assert f"{level.name}: papers are {level.words}" in page


def test_the_choices_of_the_command_are_the_levels() -> None:
    command = main.get_command(click.Context(main), "check")
    assert command is not None
    option = next(option for option in command.params if option.name == "require")
    assert list(option.type.choices) == list(ALL_NAMES)  # type: ignore[attr-defined]


def test_scores_are_not_asked_whether_a_level_survives() -> None:
    with pytest.raises(InputError, match="use_scores: expected a level that goes by scores, found 'survives-review'"):
        check(TABLE).reaches("survives-review", use_scores=True)


def table_of(page: str) -> list[list[str]]:
    """Return the cells of the first table of a page whose rows begin with the names of levels."""
    rows = re.findall(r"^\| `([\w-]+)` \|(.*)\|$", (ROOT / page).read_text("utf-8"), re.M)
    return [[name, *(cell.strip() for cell in cells.split("|"))] for name, cells in rows if name in NAMES]


def test_the_readme_lists_the_levels() -> None:
    assert table_of("README.md") == [[level.name, f"the papers are {level.words}", level.differ] for level in LEVELS]


def test_the_explanation_lists_the_levels_the_weakest_first_with_their_words() -> None:
    page = "docs/explanation/three-levels.md"
    assert [row[0] for row in table_of(page)] == [level.name for level in reversed(LEVELS)]
    text = " ".join((ROOT / page).read_text("utf-8").split())
    for level in LEVELS:
        assert f"*{level.words}* (`{level.name}`)" in text
