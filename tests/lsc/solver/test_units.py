"""Groups that no review connects, in units of their own: each is solved and judged as if it stood alone."""

from dataclasses import replace

import numpy as np
import pytest

import lsc
from reviewgraph import Reviews

Rows = list[tuple[str, str, float]]


#: Groups in units of their own are what this is about.
pytestmark = pytest.mark.filterwarnings("ignore:reviews. the scores of 8 reviewers go up")


def group(name: str, size: float, shift: float, seed: int = 0) -> Rows:
    rng = np.random.default_rng(seed)
    quality = rng.uniform(0.0, 10.0, 12)
    given = [(j, i) for j in range(8) for i in rng.choice(12, 5, replace=False).tolist()]
    return [(f"{name}{j}", f"{name}p{i}", shift + size * (quality[i] + rng.normal() + j / 3)) for j, i in given]


def of_group(result: lsc.Calibration, name: str) -> np.ndarray:
    found = np.array([q for q, i in zip(result.quality, result.items, strict=True) if str(i).startswith(name)])
    return found - found.mean()


@pytest.mark.parametrize("hypothesis", ["linear", "offset", "monotone", "convex", "concave"])
@pytest.mark.parametrize(("size", "shift"), [(1e8, 0.0), (1e-8, 0.0), (1.0, 1e9)])
def test_a_group_does_not_suffer_from_the_units_of_another(hypothesis: str, size: float, shift: float) -> None:
    rows = group("x", 1.0, 0.0)
    both = lsc.calibrate(Reviews.from_pairs(rows + group("y", size, shift, seed=1)), hypothesis)
    alone = lsc.calibrate(Reviews.from_pairs(rows), hypothesis)
    assert both.status == "optimal"
    assert of_group(both, "x") == pytest.approx(of_group(alone, "x"), abs=1e-4 * np.ptp(alone.quality))


def test_references_of_groups_in_units_of_their_own() -> None:
    rows = group("x", 1.0, 0.0) + group("y", 1e8, 0.0, seed=1)
    known = {"xp0": 3.0, "xp1": 5.0, "yp0": 4e8, "yp1": 7e8}
    both = lsc.calibrate(Reviews.from_pairs(rows), references=known)
    alone = lsc.calibrate(Reviews.from_pairs(rows[:40]), references={"xp0": 3.0, "xp1": 5.0})
    assert of_group(both, "x") == pytest.approx(of_group(alone, "x"), abs=1e-6)
    assert both.objective == pytest.approx(float(both.noise @ both.noise), rel=1e-6)


@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_a_tampered_group_is_seen_beside_a_large_one(shift: float) -> None:
    result = lsc.calibrate(Reviews.from_pairs(group("x", 1.0, 0.0) + group("y", 1e6, shift, seed=1)))
    assert result.is_optimal()
    small = np.flatnonzero([str(i).startswith("x") for i in result.items])[0]
    wrong = result.solution.quality.copy()
    wrong[small] += 1e-3 * np.std(wrong[[str(i).startswith("x") for i in result.items]])
    assert not replace(result, solution=result.solution._replace(quality=wrong)).is_optimal(1e-6)
