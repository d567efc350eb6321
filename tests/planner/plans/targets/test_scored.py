from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import plan_extra_reviews, verify_plan
from planner._plans.constraints import as_pairs, constrain
from planner._plans.greedy import completed, exchanged, pruned, reached
from planner._plans.targets.growth import ScoredOracle
from planner._plans.task import allowed_pairs, new_task
from reviewgraph import Reviews
from reviewgraph._base import Clock
from tests.planner.plans import naive_plans
from tests.planner.plans.plan_cases import Case, cases, constrained
from tests.trials import examples

SCORES = st.lists(st.integers(1, 4), min_size=40, max_size=40)


def scored(case: Case, scores: list[int]) -> tuple[Case, Any]:
    """The case with scores, and its level by brute force."""
    table = case.reviews
    rows = list(zip(table.reviewer.tolist(), table.item.tolist(), scores, strict=False))
    reviews = Reviews.from_pairs(rows, reviewers=table.reviewers, items=table.items)
    given_: list[dict[int, float]] = [{} for _ in range(table.n_reviewers)]
    for j, i, score in rows:
        given_[j][i] = score
    return Case(reviews, case.options), naive_plans.double_by_scores(given_)


@pytest.mark.slow
@given(cases(), SCORES)
@examples(16)
def test_plans_by_scores_equal_brute_force(case: Case, scores: list[int]) -> None:
    case, level = scored(case, scores)
    expected = naive_plans.smallest_plan(*case.naive(), level, most_sets=1_500)
    if expected == "too many":
        return
    plan = plan_extra_reviews(case.reviews, use_scores=True, time_limit=20, **case.options)
    verify_plan(plan)
    if expected is None:
        assert plan.status == "infeasible"
    else:
        assert (plan.status, plan.count) == ("optimal", expected[0])
        assert plan.cost == pytest.approx(expected[1])


@pytest.mark.slow
@given(cases(), SCORES, st.randoms(use_true_random=False))
@examples(32)
def test_the_oracle_is_the_score_aware_level_and_its_cuts_are_broken(case: Case, scores: list[int], draw: Any) -> None:
    case, level = scored(case, scores)
    task = new_task(constrained(case.reviews, **case.options), 64, use_scores=True)
    oracle = ScoredOracle(task, np.random.default_rng(draw.randrange(100)))
    pairs = [pair for pair in allowed_pairs(task).tolist() if draw.random() < 0.4]
    covers = case.naive()[0]
    for j, i in pairs:
        covers[j] |= 1 << i
    reaches = level(covers, task.n_items)
    assert oracle.reaches(as_pairs(pairs)) == reached(task, as_pairs(pairs)) == reaches
    if reaches or not oracle.possible():
        return
    # What a cut leaves out misses the level, and with any one of the reviews in the cut reaches it.
    for cut in oracle.cuts(as_pairs(pairs)):
        inside = oracle.allowed[cut.leaves == 0]
        assert not reached(task, inside)
        assert set(map(tuple, pairs)) <= set(map(tuple, inside.tolist()))
        for pair in oracle.allowed[cut.leaves == 1]:
            assert reached(task, np.vstack([inside, pair]))


@given(st.integers(0, 10_000))
@examples(5)
def test_exchanges_keep_a_plan_a_plan_and_make_it_no_longer(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = [(j, int(i), float(rng.integers(1, 4))) for j in range(8) for i in rng.permutation(9)[:3]]
    task = new_task(constrain(Reviews.from_pairs(rows, items=range(9))), 64, use_scores=True)
    clock = Clock(20.0)
    found = completed(task, as_pairs([]), clock, rng)
    if found is None or len(found) < 2:
        return
    found = pruned(task, found, clock)
    for _ in range(3):
        other = exchanged(task, found, clock, rng)
        assert len(other) <= len(found)
        assert reached(task, other)
        found = other


def test_the_same_seed_gives_the_same_plan_whatever_the_order_of_rows() -> None:
    rng = np.random.default_rng(5)
    rows = [(j, int(i), float(rng.integers(1, 4))) for j in range(8) for i in rng.permutation(8)[:3]]
    plans = [plan_extra_reviews(Reviews.from_pairs(table), use_scores=True) for table in (rows, rows, rows[::-1])]
    assert len({tuple((review.reviewer, review.item) for review in plan.reviews) for plan in plans}) == 1
