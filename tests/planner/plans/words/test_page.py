"""The page of a plan, its numbers and its JSON say the same."""

from __future__ import annotations

from dataclasses import replace

from planner import plan_extra_reviews
from planner._plans.outcome import PlanStatus
from planner._plans.words import page
from reviewgraph import Reviews


def test_a_smallest_plan_is_not_called_open() -> None:
    plan = plan_extra_reviews(Reviews.from_pairs([(0, 0), (0, 1), (1, 1), (1, 2)]))
    dear = replace(plan, status=PlanStatus.FEASIBLE)
    assert dear.smallest
    assert "the fewest reviews that reach the target" in page(dear)
    assert "whether a smaller one does is open" not in page(dear)
    assert "whether a smaller one does is open" in page(replace(dear, bounds=()))


def test_a_bound_says_why_fewer_do_not_suffice_or_why_so_many_are_needed() -> None:
    """Below the bound a plan is partial: then the reason is one for more reviews."""
    table = Reviews.from_pairs([(j, i) for j in range(6) for i in (j, j + 1)])
    assert "Why not fewer: 5 links are missing" in page(plan_extra_reviews(table))
    part = page(plan_extra_reviews(table, max_reviews=1))
    assert "the target needs 5 or more. Why at least 5: 5 links are missing" in part
    fixed = page(plan_extra_reviews(table, max_reviews=2, fixed=[(0, 2)]))
    assert "the target needs 5 or more. Why at least 4 beyond the 1 fixed: 4 links are missing" in fixed
    for words in (part, fixed):
        assert "Why not fewer" not in words
