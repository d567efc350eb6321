"""Which of several best fits is returned: the nearest to lines, whatever reviewers and papers are called."""

import numpy as np
import pytest

import lsc
from lsc import calibration
from lsc._model.hypotheses import HYPOTHESES
from reviewgraph import Reviews

Rows = list[tuple[int, int, float]]
#: Part of the range by which qualities may move.
MOST = 1e-6


def table(seed: int) -> Rows:
    """Few reviews of each reviewer, on a grid or not: much is left open."""
    rng = np.random.default_rng(seed)
    n, m, grid = int(rng.integers(4, 20)), int(rng.integers(3, 15)), rng.random() < 0.5
    quality, rows = rng.normal(5, 2, n), []
    for j in range(m):
        mine = rng.permutation(n)[: int(rng.integers(1, 5))]
        score = rng.normal() + rng.uniform(0.5, 2) * (quality[mine] + 0.5 * rng.normal(size=mine.size))
        rows += [(j, int(i), float(np.round(y) if grid else y)) for i, y in zip(mine, score, strict=True)]
    return rows


def qualities(rows: Rows, hypothesis: str, called: np.ndarray) -> np.ndarray:
    """Return qualities by the first names of papers, all being called otherwise and rows turned round."""
    named = [(f"who{called[j]}", f"what{called[i]}", y) for j, i, y in reversed(rows)]
    found = lsc.calibrate(Reviews(named), hypothesis)
    code = found.reviews.item_code
    return np.array([found.quality[code[f"what{called[i]}"]] for i in sorted({i for _, i, _ in rows})])


@pytest.mark.slow
@pytest.mark.parametrize("hypothesis", HYPOTHESES)
@pytest.mark.parametrize("seed", [5, 7, 13])
def test_names_and_the_order_of_rows_do_not_matter(hypothesis: str, seed: int) -> None:
    rows = table(seed)
    first = qualities(rows, hypothesis, np.arange(40))
    other = qualities(rows, hypothesis, np.random.default_rng(seed).permutation(40))
    assert np.abs(first - other).max() <= MOST * np.ptp(first)


@pytest.mark.slow
@pytest.mark.parametrize("hypothesis", HYPOTHESES)
def test_the_choice_keeps_the_objective_and_is_nearer_to_one_line(
    hypothesis: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reviews = Reviews(table(13))
    chosen = lsc.calibrate(reviews, hypothesis)
    monkeypatch.setattr(calibration, "CHOSEN", 0)
    plain = lsc.calibrate(reviews, hypothesis)
    assert chosen.objective == pytest.approx(plain.objective, rel=1e-6, abs=1e-9)
    assert chosen.is_optimal(1e-6)
    if hypothesis == "linear":
        assert _off_line(chosen) <= _off_line(plain) * (1 + 1e-9)


def _off_line(found: lsc.Calibration) -> float:
    """Squared distance of the programme's qualities from one line in all scores, of a slope within the bound."""
    programme, _, quality, *_ = found.solution
    y, x = programme.score - programme.score.mean(), quality[programme.item]
    slope = max(float(y @ x / (y @ y)), float(programme.lower.min()))
    return float(((x - x.mean() - slope * y) ** 2).sum())
