from __future__ import annotations

import ast
from pathlib import Path
from typing import ClassVar

import pytest

from planner._plans.target import Target
from planner._plans.targets import target_named
from reviewgraph import InputError
from reviewgraph.graph import ALL_NAMES, Level
from reviewgraph.graph.levels import ALL, Double

ROOT = Path(__file__).parents[4]


def test_every_level_has_its_target() -> None:
    for level in ALL:
        target = target_named(level.name)
        assert target.level is level
        assert level.part("target") in (None, type(target))


def test_a_forgotten_method_is_named() -> None:
    class Half(Target):
        level: ClassVar[Level] = ALL[0]
        together = apart = "half"
        scales = True

    with pytest.raises(TypeError, match=r"Half .*fill.*groups.*merges.*order.*reaches.*stand_ins.*starts"):
        Half()  # type: ignore[abstract]


def test_missing_attributes_are_named_when_the_class_is_made() -> None:
    with pytest.raises(TypeError, match="a target must define together, scales"):

        class Mute(Target):
            level: ClassVar[Level] = ALL[0]
            apart = "mute"


def test_an_unknown_level_is_an_error() -> None:
    known = "survives-reviewer, survives-review, double, recoverable, connected"
    with pytest.raises(InputError, match=f"target: expected one of {known}, found 'triple'"):
        target_named("triple")
    assert repr(target_named(Double.name)) == "<Target: double>"


def test_no_level_is_compared_by_name() -> None:
    """Levels are objects: their names stand in strings for people and in type hints, and nowhere in a comparison."""
    for path in [*(ROOT / "planner/_plans").rglob("*.py"), ROOT / "planner/commands/plan.py"]:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == "Literal":
                continue
            if isinstance(node, ast.Compare | ast.Subscript | ast.Dict | ast.Match):
                named = {n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and n.value in ALL_NAMES}
                assert not named, f"{path}:{node.lineno}: {named}"
