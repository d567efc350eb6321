"""What reviews are worth, and the choice of them, against integrals and enumeration."""

import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

import planner
from planner._plans.constraints import constrain, no_pairs
from planner._plans.objectives import Beliefs, Decision, at_random, beliefs_of, misplaced, variance_left
from planner._plans.process import choose
from planner._plans.task import new_task
from reviewgraph import InputError, Reviews, Search
from reviewgraph.graph import random_assignment
from tests.planner.plans.plan_cases import verify_plan
from tests.trials import examples


def by_integrals(distance: float, sd: float, precision: float, price: float) -> float:
    """Integrate over the future mean: what a paper out, or in, then costs."""
    left = 1 / (1 / sd**2 + precision)
    moves = np.sqrt(sd**2 - left)

    def cost(mean: float) -> float:
        chance = stats.norm.cdf(mean / np.sqrt(left))
        return (1 - price) * chance if chance < price else price * (1 - chance)

    if precision == 0:
        return cost(distance)
    kink = np.sqrt(left) * stats.norm.ppf(price)
    density = stats.norm(distance, moves).pdf
    low, high = distance - 12 * moves, distance + 12 * moves
    points = sorted({low, min(max(kink, low), high), high})
    return sum(integrate.quad(lambda m: cost(m) * density(m), a, b, limit=200)[0] for a, b in pairwise(points))


PRECISIONS = st.sampled_from([0.0, 1e-3, 0.5, 2.0, 50.0])


def beliefs(mean, sd, precision=(1.0,)) -> Beliefs:
    mean = np.asarray(mean, float)
    return Beliefs(mean, np.asarray(sd, float), np.asarray(precision), np.zeros(mean.size), mean.size)


def table(n: int = 40, load: int = 4, seed: int = 0) -> Reviews:
    rng = np.random.default_rng(seed)
    design = random_assignment(n, n, load, rng)
    score = rng.standard_normal(n)[design.item] + rng.standard_normal(design.n_reviews)
    return Reviews.from_codes(design.reviewer, design.item, np.rint(2 * score), reviewers=n, items=n)


@given(st.floats(-3, 3), st.sampled_from([0.1, 1.0, 4.0]), PRECISIONS, st.sampled_from([0.02, 0.35, 0.5, 0.9]))
@examples(5)
def test_wrong_selections_are_the_integral(distance, sd, precision, price) -> None:
    found = misplaced(np.array([distance]), np.array([sd]), np.array([precision]), price)[0]
    assert found == pytest.approx(by_integrals(distance, sd, precision, price), abs=1e-7)


def test_reviews_never_hurt_and_perfect_ones_leave_nothing() -> None:
    distance, sd = np.linspace(-3, 3, 41), np.ones(41)
    losses = np.array([misplaced(distance, sd, np.full(41, p), 0.3) for p in (0, 0.01, 0.1, 1, 10, 1e9)])
    assert (np.diff(losses, axis=0) <= 1e-12).all()
    assert losses[-1].max() < 1e-4
    assert variance_left(sd, np.full(41, 3.0)) == pytest.approx(0.25)


def test_the_sum_of_losses_is_the_expected_number_of_wrong_selections() -> None:
    rng = np.random.default_rng(1)
    aim = Decision(beliefs(rng.standard_normal(30), rng.uniform(0.3, 1.0, 30)), 6)
    wrong = 6 - np.sort(aim.chance)[-6:].sum()
    assert aim.left(np.zeros(30)) == pytest.approx(wrong, abs=1e-9)


def test_a_decision_far_from_open_gets_several_reviews_together() -> None:
    """One review cannot change the mind on any of these; three can."""
    known = beliefs([2.0, 0.0], [0.9, 1e-6], np.full(5, 0.4))
    aim = Decision(known, 1)
    one, three = (aim.left(np.array([count * 0.4, 0.0])) for count in (1, 3))
    before = aim.left(np.zeros(2))
    assert (before - three) / 3 > before - one
    task = new_task(constrain(Reviews.from_codes([], [], reviewers=5, items=2)), 100)
    assert choose(aim, task, no_pairs(), 3)[:, 1].tolist() == [0, 0, 0]


def test_elsewhere_is_the_mean_over_draws() -> None:
    rng = np.random.default_rng(2)
    aim = Decision(beliefs(rng.standard_normal(12), np.full(12, 0.7)), 3)
    drawn = [aim.left(np.bincount(rng.permutation(12)[:5], minlength=12).astype(float)) for _ in range(2_000)]
    assert at_random(aim, np.zeros(12), 5) == pytest.approx(np.mean(drawn), abs=0.005)


def test_a_plan_for_decisions_obeys_its_rules_and_says_what_it_buys() -> None:
    reviews = table()
    conflicts = [(j, i) for j in reviews.reviewers for i in reviews.items[:20]]
    options = {"goal": "decision", "n_selected": 8, "spare": 1, "max_per_item": 1, "conflicts": conflicts}
    plan = planner.plan(reviews, n=7, **options)
    verify_plan(plan)
    assert (plan.status, plan.count, plan.largest_load) == ("chosen", 7, 1)
    assert len({review.item for review in plan.added}) == 7
    gains = [review.gain for review in plan.added]
    assert sum(gains) == pytest.approx(plan.purchase.before - plan.purchase.after)
    assert min(gains) > 0
    assert re.fullmatch(r"chance \d+ %", plan.added[0].buys)
    report = plan.to_dict()
    assert report["target"] is None
    assert report["purchase"]["after"] <= report["purchase"]["at_random"] <= report["purchase"]["before"]
    again = planner.plan(reviews, n=7, **options)
    assert np.array_equal(plan.pairs, again.pairs)


def test_the_level_comes_first_and_stays() -> None:
    reviews = table(16, 3)
    level = planner.plan(reviews, search=Search(time_limit=2), spare=2)
    plan = planner.plan(
        reviews, target="double", goal="decision", n_selected=4, n=level.count + 5, spare=2, search=Search(time_limit=2)
    )
    verify_plan(plan)
    assert (plan.status, plan.count, plan.target) == ("extended", level.count + 5, "double")
    assert plan.purchase.first == plan.count - 5
    tight = planner.plan(
        reviews, target="double", goal="decision", n_selected=4, n=level.count, spare=2, search=Search(time_limit=2)
    )
    verify_plan(tight)
    assert tight.count == level.count


def test_planned_and_fixed_reviews_count_as_coming() -> None:
    reviews = table()
    fixed = [(next(j for j in reviews.reviewers if i not in reviews.items_of(j)), i) for i in reviews.items[:3]]
    plan = planner.plan(reviews, goal="decision", n_selected=8, fixed=fixed, n=5)
    verify_plan(plan)
    assert [review.gain is None for review in plan.added] == [True] * 3 + [False] * 2
    bare = beliefs_of(reviews, no_pairs())
    coming = beliefs_of(reviews, plan.constraints.fixed)
    assert (coming.pending > bare.pending).sum() == 3


def test_what_is_missing_is_named() -> None:
    reviews = table(12, 3)
    with pytest.raises(InputError, match="n_selected: goal 'decision' needs the number of papers"):
        planner.plan(reviews, goal="decision")
    with pytest.raises(InputError, match="n_selected: expected 1 to 11, with 12 papers scored; found 12"):
        planner.plan(reviews, goal="decision", n_selected=12)
    one = Reviews([("r0", "p0", 1.0), ("r1", "p0", 2.0)])
    with pytest.raises(InputError, match="n_selected: expected two papers with scores or more"):
        planner.plan(one, goal="decision", n_selected=1, n=1)
    with pytest.raises(InputError, match="goal: expected one of level, decision, found 'fame'"):
        planner.plan(reviews, goal="fame")
    with pytest.raises(InputError, match="goal: expected scores to learn from"):
        planner.plan(Reviews([("ann", 1), ("bob", 1)]), goal="decision", n_selected=1)
    with pytest.raises(InputError, match="min_reviews, senior, rules: expected a target"):
        planner.plan(reviews, goal="decision", n_selected=4, n=1, senior=[reviews.reviewers[0]])
