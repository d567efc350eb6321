"""The page of a plan, its numbers and its JSON say the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planner import plan_extra_reviews
from planner._plans.outcome import PlanStatus
from planner._plans.words import page
from reviewgraph import Reviews
from tests.trials import NIGHTLY


def scored(seed: int) -> Reviews:
    """Few scores, many of them tied, some still missing."""
    rng = np.random.default_rng(seed)
    papers = int(rng.integers(4, 9))
    rows = [(j, int(i)) for j in range(int(rng.integers(3, 7))) for i in rng.permutation(papers)[: rng.integers(1, 4)]]
    given = rng.random(len(rows)) < 0.8
    given[0] = True
    reviewer, item = zip(*rows, strict=True)
    return Reviews.from_arrays(reviewer, item, rng.integers(1, 3, len(rows)).astype(float), scored=given)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [*range(12 if NIGHTLY else 1), 46])
@pytest.mark.parametrize("budget", [None, 2])
def test_by_scores_table_sentence_and_json_count_alike(seed: int, budget: int | None) -> None:
    plan = plan_extra_reviews(scored(seed), use_scores=True, max_reviews=budget, time_limit=0.5)
    if not plan.reviews:
        return
    largest = plan.reach[1].papers
    assert plan.reviews[-1].covers == largest
    (row,) = [line for line in page(plan).splitlines() if line.startswith(f"{plan.reviews[-1].item} ")][-1:]
    assert f" {largest}" in row
    if plan.status.is_partial:
        assert plan.to_dict()["largest_group"]["after"] == largest
        assert f"to {largest} of" in page(plan) or f"stays at {largest} of" in page(plan)


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
