from dataclasses import replace

import numpy as np
import pytest

from planner import assign
from planner._assign.programme import PanelSolution
from tests.planner.assignments import naive_assignment as naive
from tests.planner.assignments.cases import told
from tests.planner.assignments.test_assigning import clustered, pairs_of


def test_a_floor_that_was_only_not_found_is_no_bound(monkeypatch):
    score = np.random.default_rng(11).random((6, 5))
    best = assign(score, demand=2, load=2, fair="maximin", target="none").fairness
    nothing = PanelSolution(None, False, np.inf)
    monkeypatch.setattr("planner._assign.fair.best_under_rules", lambda *_, **__: nothing)
    found = assign(score, demand=2, load=2, fair="maximin", target="none")
    assert found.status == "feasible"
    assert found.fairness.smallest[1] < best.smallest[1] <= found.fairness.at_most


def test_equal_smallest_scores_leave_the_choice_to_the_total():
    # 0.6 + 0 and 0.2 + 0.4 differ in whole units of affinity, by their rounding.
    affinity = {("a", 1): 0.6, ("a", 2): 1.0, ("z", 1): 0.0, ("z", 2): 0.0}
    affinity |= {("b", 1): 0.2, ("b", 2): 0.3, ("c", 1): 0.4, ("c", 2): 0.4}
    earlier = [(reviewer, item) for reviewer in "xy" for item in (1, 2)]
    result = assign(affinity, demand=2, load=1, fair="maximin", phase_one=earlier)
    assert result.affinity == pytest.approx(1.6)


@pytest.mark.slow
def test_the_smallest_score_survives_the_level():
    score = clustered(60, 48, 0)
    alone = assign(score, demand=3, load=5, fair="maximin", target="none")
    result = assign(score, demand=3, load=5, fair="maximin")
    assert naive.doubly_connected(pairs_of(result), range(60))
    assert result.fairness.smallest[1] == pytest.approx(alone.fairness.smallest[1])
    before, after = result.fairness.smallest
    assert f"a sum of {after:.4g} ({before:.4g} by affinity alone)" in told(result)
    assert assign(score, demand=3, load=5, fair="maximin").to_dict() == result.to_dict()


@pytest.mark.slow
def test_what_must_survive_a_reviewer_lowers_the_smallest_score_as_little_as_it_must():
    # The largest smallest score is 6, and then somebody is critical; the exact method finds 5 and that nobody is.
    scores = [[2, 3, 4], [3, 3, 2], [3, 2, 3], [0, 2, 1]]
    affinity = {(j, i): float(score) for j, row in enumerate(scores) for i, score in enumerate(row)}
    market = {"demand": {0: 2, 1: 2, 2: 3}, "load": dict.fromkeys(range(4), 3)}
    result = assign(affinity, **market, fair="maximin", target="survives-reviewer")
    assert result.status.reached
    assert result.survives
    assert result.fairness.smallest == pytest.approx((6, 5))


def test_a_floor_on_many_papers_is_kept_by_all_steps():
    score = clustered(120, 96, 1)
    fairest = assign(score, demand=3, load=5, fair="maximin", target="none").fairness
    floor = 0.1 * fairest.smallest[0] + 0.9 * fairest.smallest[1]
    result = assign(score, demand=3, load=5, floor=floor)
    assert result.status.reached
    assert np.bincount(result.reviews.item, result.affinities).min() >= floor - 1e-9
    assert 0 <= result.price < 2
    assert f"every paper has a sum of {floor:g} or more" in told(result)


def test_the_bound_counts_floors():
    affinity = {("a", "p"): 9, ("b", "p"): 5, ("a", "q"): 6, ("b", "q"): 1}
    for options in ({"floor": 5}, {"fair": "maximin"}):
        result = assign(affinity, demand=1, load=1, target="none", **options)
        assert (result.affinity, result.affinity_unconstrained) == (11, 11)
        assert result.bound == pytest.approx(11)
    affinity["b", "q"] = 3
    result = assign(affinity, demand=1, load=1, target="none", floor=4)
    assert (result.affinity, result.affinity_unconstrained) == (11, 12)
    assert result.bound == pytest.approx(11)


def test_rules_and_a_largest_minimum_on_many_pairs_are_near_the_bound(monkeypatch):
    """Too many pairs for an integer programme: good reviewers who are good on all papers, of which some are hard."""
    monkeypatch.setattr("planner._assign.programme.MOST_COLUMNS", 200)
    monkeypatch.setattr("planner._assign.programme.FIRST", 150)
    rng = np.random.default_rng(0)
    affinity = rng.random((24, 20)) * 0.1 + rng.random((24, 1)) * np.linspace(0.5, 1, 20)
    rules = {"institutions": {j: j % 8 for j in range(24)}, "senior": list(range(10))}
    result = assign(affinity.round(4), demand=3, load=3, fair="maximin", target="none", **rules)
    assert result.status == "feasible"
    assert result.gap < 5
    before, after = result.fairness.smallest
    assert before < after <= result.fairness.at_most
    scores = np.bincount(result.reviews.item, result.affinities)
    assert after == pytest.approx(scores.min())


def test_a_floor_beside_a_previous_assignment_changes_no_more_than_it_must():
    """The third paper's reviewer leaves; the floor asks that its new one is good, and nothing else moves."""
    score = np.full((6, 4), 0.5)
    score[5, 2] = 0.1
    previous = [(0, 0), (1, 0), (2, 1), (3, 1), (4, 2), ("gone", 2), (0, 3), (1, 3)]
    result = assign(score, demand=2, load=2, previous=previous, floor=1.0, target="none")
    assert len(result.changes.new) == 1
    assert result.changes.new[0][0] != 5
    assert "every paper has a sum of 1 or more" in told(result)


def test_a_floor_out_of_reach_of_a_paper_is_counted():
    score = np.ones((6, 4))
    score[:, 2] = 0.25
    result = assign(score, demand=2, load=3, floor=1.0)
    assert result.status == "infeasible"
    assert "1 paper (2) can have 0.5 at most, the sum of the best affinities" in result.explanation


def test_a_floor_out_of_reach_of_papers_together_is_bounded():
    """One good reviewer with two places, and fifteen papers that need them: too many pairs for a programme."""
    score = np.full((30, 15), 0.1)
    score[0] = 1.0
    result = assign(score, demand=1, load=2, floor=0.5, target="none")
    assert result.status == "infeasible"
    assert "a bound by linear programming" in result.explanation


@pytest.mark.parametrize(
    ("values", "words"),
    [
        # The bound of a smallest sum of 0 is a rounding error above it.
        ([[1, 0, 0], [0, 1, 0], [0, 0, -1]], "a sum of 0 (0 by affinity alone); proved the most possible"),
        ([[1000.1, 1000.1], [1000.1, 1000.1]], "a sum of 1000 (1000 by affinity alone); proved the most possible"),
    ],
)
def test_a_proof_of_the_largest_minimum_is_said_without_rounding_errors(values, words):
    affinity = {(f"r{j}", f"p{i}"): float(value) for (j, i), value in np.ndenumerate(np.array(values))}
    chosen = assign(affinity, len(values) - 1, 9, "none", fair="maximin")
    assert chosen.fairness.proved
    assert chosen.fairness.smallest[1] <= chosen.fairness.at_most
    assert words in " ".join(str(chosen).split())
    # Numbers that only look alike are no proof.
    near = replace(chosen.fairness, at_most=chosen.fairness.smallest[1] + 0.3, proved=False)
    assert f"{near.at_most:.4g} at most" in " ".join(str(replace(chosen, fairness=near)).split())
