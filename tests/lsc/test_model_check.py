"""The check of the model in the report: shares of scores within intervals that all others predict."""

from __future__ import annotations

import numpy as np
import pytest

from lsc.pages.details import CHECKED, coverage_table
from lsc.posteriors import posterior
from reviewgraph import Reviews
from tests.lsc.inference.simulated_tables import table


def test_the_table_counts_scores_outside_on_either_side() -> None:
    reviewer, item, score, _ = table(0, n_items=100, n_reviewers=60, load=8)
    estimate = posterior(Reviews.from_codes(reviewer, item, score, reviewers=60, items=100))
    shown = {column.name: column.values for column in coverage_table(estimate).columns}
    probability = estimate.residuals().probability
    for place, level in enumerate(CHECKED):
        tail = (100 - level) / 200
        assert shown["below, %"][place] == pytest.approx(100 * np.mean(probability < tail))
        assert shown["above, %"][place] == pytest.approx(100 * np.mean(probability > 1 - tail))
        assert shown["scores within, %"][place] == pytest.approx(
            100 * estimate.residuals().within(level / 100), abs=1e-9
        )
        assert shown["+-"][place] == pytest.approx(100 * np.sqrt(level / 100 * (1 - level / 100) / probability.size))
        assert abs(shown["scores within, %"][place] - level) < 4
