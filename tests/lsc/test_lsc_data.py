"""Real score tables, where they are at hand."""

from pathlib import Path

import numpy as np
import pytest

import lsc
from reviewgraph import read_reviews
from tests.trials import NIGHTLY

DATA = Path(__file__).parents[2].parent / "shared" / "data"
TABLES = ("aibs_grants", "auckland", "mooc_peer_grading", "nih_r01", "skating_2018", "strictly", "vqeg_525_high")
LOWER = ("aibs_grants", "nih_r01")

pytestmark = pytest.mark.skipif(not DATA.exists(), reason="the score tables are not here")


@pytest.mark.slow
@pytest.mark.parametrize("hypothesis", ["linear", "monotone", "convex", "concave"])
@pytest.mark.parametrize("table", TABLES)
def test_every_table_calibrates_under_every_class(table: str, hypothesis: str) -> None:
    if table == "nih_r01" and hypothesis != "linear" and not NIGHTLY:
        pytest.skip("a minute each: in the nightly profile")
    reviews = read_reviews(DATA / table / "scores.csv", lower_is_better=table in LOWER)
    result = lsc.calibrate(reviews, hypothesis)
    assert np.isfinite(result.quality).all()
    assert result.residuals.primal <= 1e-8
    assert result.status == "inaccurate" or result.is_optimal(1e-6)
    assert sorted(set(result.rank[result.group == 1].tolist())) == list(range(1, int((result.group == 1).sum()) + 1))


def test_papers_of_many_groups_cannot_be_compared() -> None:
    result = lsc.calibrate(read_reviews(DATA / "nih_r01" / "scores.csv", lower_is_better=True))
    assert result.group.max() == 973
    assert result.support.degrees_of_freedom == 1844
    assert not result.unique
    assert "973 groups that no review connects" in result.summary().text()
    with pytest.raises(lsc.Incomparable, match="973 groups"):
        result.select(10)
    with pytest.warns(lsc.UndeterminedWarning, match="576 of 2076"):
        assert len(result.select(10, across_groups=True)) == 10
