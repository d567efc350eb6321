"""Labels of people who are gone are known, though their reviews are not there."""

import warnings

import pytest

import planner
from reviewgraph import InputError, Reviews, check
from tests.planner.plans.checking import verify_plan

TABLE = Reviews([(who, i) for who in "ab" for i in (1, 2, 3)] + [("c", 1), ("c", 2)])


def test_conflicts_and_loads_of_people_who_are_gone_are_no_strangers() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = check(TABLE, gone=["c"], conflicts=[("c", 1)], load={"c": 1})
        plan = planner.plan(TABLE, gone=["c"], conflicts=[("c", 3)], cost={("c", 3): 2.0}, senior=["c", "a"])
    assert found.violations is not None
    assert found.violations.to_dict() == {"conflicts": [], "over_load": [], "short": None}
    verify_plan(plan)
    assert "c" not in {review.reviewer for review in plan.added}


def test_single_reviews_that_are_gone_leave_their_reviewer_unasked() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plan = planner.plan(TABLE, gone=[("c", 1), ("c", 2)], conflicts=[("c", 3)], min_reviews=3, spare=3)
    assert "c" not in {review.reviewer for review in plan.added}


def test_others_are_strangers_still() -> None:
    with pytest.raises(InputError, match="conflicts: the pair names a reviewer or paper that is not in the reviews"):
        check(TABLE, gone=["c"], conflicts=[("z", 1)])
