from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest

from planner._plans.target import Target
from planner._plans.targets import target_named
from reviewgraph import InputError
from reviewgraph.graph import Level
from reviewgraph.graph.levels import ALL, Double

ROOT = Path(__file__).parents[4]


def test_every_level_has_its_target() -> None:
    for level in ALL:
        target = target_named(level.name)
        assert target.level is level
        assert level.part("target") in (None, type(target))


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
