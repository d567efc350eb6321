"""A plan as a result: it pickles and copies, and its dictionary, columns and line agree."""

import copy
import json
import pickle

import pytest

import planner
from reviewgraph import Reviews
from reviewgraph._base import plain
from reviewgraph.graph.levels import NAMES
from tests.planner.plans.checking import verify_plan

CHAIN = [("ann", 1), ("ann", 2), ("bob", 2), ("bob", 3), ("cyd", 4), ("cyd", 5)]


@pytest.mark.parametrize("level", NAMES)
def test_a_plan_pickles_and_copies_and_still_verifies(level: str) -> None:
    plan = planner.plan(Reviews(CHAIN), target=level)
    for twin in (pickle.loads(pickle.dumps(plan)), copy.copy(plan), copy.deepcopy(plan)):
        assert json.dumps(plain(twin.to_dict())) == json.dumps(plain(plan.to_dict()))
        assert repr(twin) == repr(plan)
        verify_plan(twin)


def test_columns_and_dictionary_name_the_same_reviews() -> None:
    plan = planner.plan(Reviews(CHAIN))
    columns, listed = plan.to_columns(), plan.to_dict()["reviews"]
    assert list(columns["item"]) == [review["item"] for review in listed]
    assert len(listed) == plan.count == len(plan.to_frame(backend="pyarrow"))
    assert "\n" not in repr(plan)
