from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise, product
from pkgutil import resolve_name
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from lsc._model.hypotheses import HYPOTHESES
from reviewgraph.verify.answers import Answer, Findings
from reviewgraph.verify.fits import Form
from reviewgraph.verify.flows import best_assignment, can_be_met
from reviewgraph.verify.rules import Market, check_market, earned, panel_rule


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
        assert affinity(market) == pytest.approx(best)
        fixed = replace(market, fixed=tuple((f"r{j}", f"p{j}") for j in range(size)))
        assert affinity(fixed) == pytest.approx(np.trace(worth))


@pytest.mark.parametrize("seed", range(12))
def test_the_most_affinity_under_rules_is_that_of_all_assignments(seed: int) -> None:
    rng = np.random.default_rng(seed)
    reviewers, items = "abcde", "pqr"
    people = {
        who: {"home": str(rng.choice(["x", "y"])), "senior": bool(rng.random() < 0.5), "area": list("uvw")[:number]}
        for who, number in zip(reviewers, rng.integers(0, 4, len(reviewers)), strict=True)
    }
    texts = [("--at-most", "home=1"), ("--at-least", "senior=1"), ("--at-least", "home=2"), ("--at-least", "home:x=1")]
    texts += [("--reward", "area=0.3"), ("--at-least", "area=2")]
    rules = tuple(panel_rule(*texts[k], people) for k in rng.permutation(len(texts))[:2])
    worth = {(who, item): round(float(rng.random()), 2) for who in reviewers for item in items}
    floor = float(rng.choice([0.0, 0.8])) if rng.random() < 0.5 else None
    best = 0.6 if rng.random() < 0.3 else None
    first = frozenset({("a", "p")}) if rng.random() < 0.5 else frozenset[Any]()
    loads = dict.fromkeys(reviewers, (0, 2))
    market = Market(dict.fromkeys(items, 2), loads, worth, panels=rules, floor=floor, floor_best=best, phase_one=first)
    totals = []
    for panels in product(*(list(combinations(reviewers, 2)) for _ in items)):
        pairs = [(who, item) for item, panel in zip(items, panels, strict=True) for who in panel]
        sums = [[worth[who, item] for who in panel] for item, panel in zip(items, panels, strict=True)]
        findings = Findings(Answer("", "assign", {}))
        check_market(findings, market, pairs, {})
        low = any(sum(own) < (floor or 0.0) - 1e-9 or max(own) < (best or 0.0) for own in sums)
        if not findings.wrong and not low:
            totals.append(sum(map(sum, sums)) + earned(market, pairs))
    assert affinity(market, rules=True) == (pytest.approx(max(totals)) if totals else None)


def affinity(market: Market, *, rules: bool = False) -> float | None:
    found = best_assignment(market, market.demand, rules=rules)
    return None if found is None else found[0]


def test_demands_are_met_within_loads_or_not() -> None:
    every = [(who, what) for who in "ab" for what in "pq"]
    assert can_be_met({"p": 1, "q": 1}, every, {"a": (1, 1), "b": (1, 1)})
    assert not can_be_met({"p": 1, "q": 1}, [("a", "p"), ("a", "q")], {"a": (0, 1), "b": (0, 1)})
    assert not can_be_met({"p": 1, "q": 0}, every, {"a": (1, 1), "b": (1, 1)})
