import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import merge_affinities
from tests.reviewgraph.reading_cases import numbers_of

LABELS = st.tuples(st.sampled_from(["r1", "r2", "r10"]), st.sampled_from(["p1", "p2", "p3"]))
TABLES = st.lists(
    st.tuples(
        st.dictionaries(LABELS, st.sampled_from([-1.0, -0.5, 0.0, 0.25, 1.0])), st.sampled_from([-1.0, 0.0, 0.5, 2.0])
    ),
    max_size=3,
)


@pytest.mark.slow
@given(TABLES, TABLES, st.booleans())
def test_merged_is_the_weighted_sum_of_what_each_table_says(affinities, bids, all_pairs):
    merged = numbers_of(merge_affinities(affinities, bids, all_pairs=all_pairs))
    named = {pair for table, _ in affinities + bids for pair in table}
    assert set(merged) == named
    for pair in named:
        wanted = sum(weight * table.get(pair, 0.0) for table, weight in bids)
        scored = any(pair in table for table, _ in affinities) or wanted > 0 or all_pairs
        total = sum(weight * table.get(pair, 0.0) for table, weight in affinities) + wanted
        assert merged[pair] == pytest.approx(total) if scored else math.isnan(merged[pair])


def test_tables_of_every_kind_merge_and_unscored_entries_stay_unscored():
    dense = np.array([[0.5, math.nan], [math.nan, 1.0]])
    merged = numbers_of(merge_affinities([(dense, 1.0), ({(0, 1): 0.25}, 2.0)]))
    assert merged == {(0, 0): 0.5, (0, 1): 0.5, (1, 1): 1.0}
