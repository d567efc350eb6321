import pytest

from planner._assign.levels import aim_named, aims
from reviewgraph import Reviews
from reviewgraph._base import InputError
from reviewgraph.graph import levels as general


def test_every_level_can_be_aimed_at_by_its_name():
    assert [aim.name for aim in aims()] == [*general.ALL_NAMES, "none"]
    for aim in aims():
        assert aim.level is None or (aim.level.name, aim.level.shared) == (aim.name, aim.shared)


@pytest.mark.parametrize("name", ["triple", None])
def test_unknown_names_are_refused(name):
    with pytest.raises(
        InputError,
        match="target: expected one of survives-reviewer, survives-review, double, recoverable, connected, none",
    ):
        aim_named(name)


def test_links_count_what_is_missing():
    apart = Reviews([("a", 1), ("a", 2), ("b", 3), ("b", 4)])
    assert aim_named("connected").links(apart) == 1
    assert aim_named("double").links(apart) == 2
    assert aim_named("connected").groups(apart).labels.tolist() == [0, 1]
