from __future__ import annotations

from itertools import pairwise
from pkgutil import resolve_name

import cvxpy as cp
import numpy as np
import pytest

from lsc._model.hypotheses import HYPOTHESES
from lsc.calibration import calibrate
from lsc.evidence.support import is_unique
from reviewgraph import Reviews
from reviewgraph.verify.fits import Curve, Form, is_only
from reviewgraph.verify.levels import can_be_met, most_affinity
from tests.trials import NIGHTLY, sampled


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


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", sampled(["linear", "offset", "monotone", "convex", "concave"], ["linear", "monotone", "convex"])
)
def test_other_optima_are_found_where_they_are(kind: str) -> None:
    result = []
    for seed in range(12 if NIGHTLY else 6):
        rng = np.random.default_rng([seed, len(kind)])
        rows = [
            (f"r{j}", f"p{i}", float(np.round(i + 2 * rng.normal())))
            for j in range(5)
            for i in rng.permutation(5)[: int(rng.integers(2, 5))]
        ]
        found = calibrate(Reviews.from_pairs(rows), kind, max_slope=4.0)
        if int(found.group.max()) > 1:
            continue
        programme, quality, perceived = found.solution.weighed()
        curves = []
        for j in range(found.reviews.n_reviewers):
            mine = slice(programme.start[j], programme.start[j + 1])
            form = resolve_name(HYPOTHESES[kind].verifier)
            curves.append(Curve(form, programme.item[mine], programme.score[mine], perceived[mine], 0.25))
        only = is_only(curves, quality, np.zeros(quality.size, np.bool_))
        assert only == is_unique(programme, quality, perceived), seed
        result.append(only)
    assert len(result) > (5 if NIGHTLY else 2)


def test_exchanges_find_the_most_affinity() -> None:
    from scipy.optimize import linear_sum_assignment

    rng = np.random.default_rng(1)
    for size in (2, 5, 9):
        worth = rng.random((size, size))
        value = {(f"r{j}", f"p{i}"): float(worth[j, i]) for j in range(size) for i in range(size)}
        start = [(f"r{j}", f"p{j}") for j in range(size)]
        loads = {f"r{j}": (0, 1) for j in range(size)}
        best = worth[linear_sum_assignment(worth, maximize=True)].sum()
        assert most_affinity(start, value, [], loads) == pytest.approx(best)
        assert most_affinity(start, value, start, loads) == pytest.approx(np.trace(worth))


def test_demands_are_met_within_loads_or_not() -> None:
    every = [(who, what) for who in "ab" for what in "pq"]
    assert can_be_met({"p": 1, "q": 1}, every, {"a": (1, 1), "b": (1, 1)})
    assert not can_be_met({"p": 1, "q": 1}, [("a", "p"), ("a", "q")], {"a": (0, 1), "b": (0, 1)})
    assert not can_be_met({"p": 1, "q": 0}, every, {"a": (1, 1), "b": (1, 1)})
