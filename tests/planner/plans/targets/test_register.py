from pathlib import Path

from planner._plans.target import target_named
from reviewgraph.graph.levels import ALL

ROOT = Path(__file__).parents[4]


def test_every_level_has_its_target() -> None:
    for level in ALL:
        target = target_named(level.name)
        assert target.level is level
        assert level.part("target") is type(target)
