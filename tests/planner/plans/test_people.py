from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner import plan_extra_reviews, verify_plan
from reviewgraph.levels import NAMES
from tests.planner.plans.people_cases import Case, best_plan, cases


@given(cases(), st.sampled_from(list(NAMES)))
@settings(max_examples=60)
def test_plans_with_people_are_as_good_as_brute_force(case: Case, target: Any) -> None:
    expected = best_plan(case, target, most_sets=2_000)
    plan = plan_extra_reviews(case.reviews, target, time_limit=20, **case.options)
    verify_plan(plan)
    if expected is None:
        assert plan.status == "infeasible"
        assert plan.explanation
    elif expected != "too many":
        fixed = len(plan.constraints.fixed)
        chosen = tuple(map(tuple, plan.pairs[fixed:].tolist()))
        assert (plan.status, len(chosen)) == ("optimal", expected[0])
        assert case.price(chosen) == pytest.approx(expected[1])
        assert case.keeps(chosen)
        assert case.served(chosen)
        assert set(chosen) <= set(case.allowed())
