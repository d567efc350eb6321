from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pkgutil import resolve_name

import cvxpy as cp
import numpy as np
import pytest

from lsc._model.hypotheses import HYPOTHESES
from reviewgraph.verify.answers import Answer, Findings
from reviewgraph.verify.assignments import most_affinity
from reviewgraph.verify.calibrations import Form, draw, lots
from reviewgraph.verify.rules import Market, can_be_met, check_market


def test_every_class_of_scoring_functions_is_known() -> None:
    assert all(isinstance(resolve_name(kind.verifier), Form) for kind in HYPOTHESES.values())


@pytest.mark.parametrize("kind", HYPOTHESES)
def test_the_closest_curve_is_that_of_a_general_solver(kind: str) -> None:
    rng, least = np.random.default_rng(0), 0.25
    for _ in range(3):
        score = np.sort(rng.integers(1, 7, 6).astype(float))
        quality = rng.normal(size=6)
        curve = cp.Variable(6)
        rise = np.diff(score)
        steps = [curve[k + 1] - curve[k] for k in range(5)]
        slopes = [steps[k] / rise[k] for k in range(5) if rise[k] > 0]
        bend = {"linear": lambda a, b: a == b, "convex": lambda a, b: a >= b, "concave": lambda a, b: a <= b}
        limits = [steps[k] == 0 for k in range(5) if rise[k] == 0]
        limits += [slope == 1 if kind == "offset" else slope >= least for slope in slopes]
        limits += [bend[kind](a, b) for a, b in pairwise(slopes) if kind in bend]
        cp.Problem(cp.Minimize(cp.sum_squares(curve - quality)), limits).solve(solver="CLARABEL")
        assert resolve_name(HYPOTHESES[kind].verifier).closest(score, quality, least) == pytest.approx(
            np.asarray(curve.value), abs=1e-6
        )


def test_the_most_affinity_is_that_of_another_solver() -> None:
    from scipy.optimize import linear_sum_assignment

    rng = np.random.default_rng(1)
    for size in (2, 5, 9):
        worth = rng.random((size, size))
        value = {(f"r{j}", f"p{i}"): float(worth[j, i]) for j in range(size) for i in range(size)}
        market = Market({f"p{i}": 1 for i in range(size)}, {f"r{j}": (0, 1) for j in range(size)}, value)
        best = worth[linear_sum_assignment(worth, maximize=True)].sum()
        assert most_affinity(market, market.demand) == pytest.approx(best)
        fixed = replace(market, fixed=tuple((f"r{j}", f"p{j}") for j in range(size)))
        assert most_affinity(fixed, fixed.demand) == pytest.approx(np.trace(worth))


def test_demands_are_met_within_loads_or_not() -> None:
    every = [(who, what) for who in "ab" for what in "pq"]
    assert can_be_met({"p": 1, "q": 1}, every, {"a": (1, 1), "b": (1, 1)})
    assert not can_be_met({"p": 1, "q": 1}, [("a", "p"), ("a", "q")], {"a": (0, 1), "b": (0, 1)})
    assert not can_be_met({"p": 1, "q": 0}, every, {"a": (1, 1), "b": (1, 1)})


def test_loads_have_a_minimum_and_a_maximum() -> None:
    market = Market({"p": 1, "q": 1}, {"a": (1, 2), "b": (0, 1)})
    wrong = []
    for pairs in ([("b", "p"), ("b", "q")], [("a", "p"), ("b", "q")]):
        findings = Findings(Answer("", "assign", {}))
        check_market(findings, market, pairs, {})
        wrong.append(findings.wrong)
    expected = ["reviewer a has 0 reviews, the load is 1 to 2", "reviewer b has 2 reviews, the load is 0 to 1"]
    assert wrong == [expected, []]


def test_papers_are_sampled_with_their_probabilities() -> None:
    share = lots([0.99, 0.8, 0.55, 0.4, 0.2, 0.06], 3, 0.1)
    assert sum(share) == pytest.approx(3.0)
    drawn = np.array([draw(share, seed) for seed in range(4_000)])
    assert (drawn.sum(axis=1) == 3).all()
    assert drawn.mean(axis=0) == pytest.approx(share, abs=0.03)
