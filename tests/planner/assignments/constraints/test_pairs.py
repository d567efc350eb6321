import math
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import assign, merge_affinities
from planner._assign.inputs import keys_of, scored_pairs
from reviewgraph._base import InputError
from reviewgraph._base.errors import LabelWarning
from reviewgraph.formats import Columns
from reviewgraph.io import pairs_of
from tests.reviewgraph.reading_cases import labelled, numbers_of

LABELS = st.sampled_from(["r10", "r9", "a", "7"])
PAIRS = st.lists(st.tuples(LABELS, st.sampled_from(["p2", "p10", "x"])), max_size=12)


def table_of(pairs):
    return pairs_of(pairs, "pairs")


@given(PAIRS)
def test_codes_stand_for_the_same_pairs(pairs):
    table = table_of(pairs)
    assert labelled(table) == pairs
    assert table_of(table) is table


@given(PAIRS, st.lists(LABELS, unique=True), st.booleans())
def test_codes_among_known_labels_equal_the_naive_way(pairs, reviewers, strict):
    scored = scored_pairs({}, reviewers, ["p2", "p10"])
    known = sorted(
        {(scored.reviewers.index(r), scored.items.index(i)) for r, i in pairs if r in reviewers and i in scored.items}
    )
    unknown = [(r, i) for r, i in pairs if r not in reviewers or i not in scored.items]
    table, treated = table_of(pairs), "refused" if strict else "left out"
    if unknown and (strict or not known):
        with pytest.raises(InputError, match=r"fixed: .* names? a reviewer"):
            keys_of(table, scored, "fixed", unknown=treated)
        return
    with pytest.warns(LabelWarning, match=f"fixed: {len(unknown)} of {len(pairs)} ") if unknown else nullcontext():
        keys = keys_of(table, scored, "fixed", unknown=treated)
    assert keys.tolist() == sorted(item * len(reviewers) + reviewer for reviewer, item in known)


def test_a_table_a_mapping_and_a_matrix_give_the_same_codes():
    mapping = {("b", "q"): 1.0, ("a", "p"): 2.0, ("b", "p"): float("nan")}
    table = Columns(
        np.array([1, 0, 1]), np.array([1, 2, 2]), ["a", "b", "never"], ["zz", "q", "p"], np.array([1, 2, np.nan])
    )
    matrix = np.array([[2.0, np.nan], [np.nan, 1.0]])
    answers = [scored_pairs(given, "ab", "pq") for given in (mapping, table, matrix)]
    for answer in answers:
        rows = zip(answer.reviewer.tolist(), answer.item.tolist(), answer.affinity.tolist(), strict=True)
        assert sorted(rows) == [(0, 0, 2.0), (1, 1, 1.0)]
        assert list(answer.items) == ["p", "q"]


@pytest.mark.parametrize("against", ["conflicts", "authors"])
@pytest.mark.parametrize("unscored", [False, True])
def test_a_fixed_pair_keeps_its_affinity_whatever_it_is_against(against, unscored):
    affinity = {("r1", "p1"): 2.0, ("r2", "p1"): 1.0, ("r2", "p2"): 1.0, ("r1", "p2"): 0.5}
    fixed = [("r1", "p1")]
    rules = {"fixed": fixed, against: fixed, "allow_unscored": unscored}
    for floor in (None, 0.4):
        chosen = assign(affinity, 1, 2, "none", floor=floor, **rules)
        assert chosen.to_columns()["affinity"] == [2.0, 1.0]
        assert chosen.status == "optimal"
        assert chosen.affinity == chosen.affinity_unconstrained == 3.0


def test_a_fixed_pair_is_no_review_of_the_first_phase():
    affinity = {(r, p): 1.0 for r in ("r0", "r1") for p in ("p0", "p1")}
    pair = [("r0", "p0")]
    with pytest.raises(InputError, match=r"^fixed: expected no review of phase_one, .* found \('r0', 'p0'\)"):
        assign(affinity, 1, 2, "none", fixed=pair, phase_one=pair)


TABLES = st.lists(
    st.tuples(
        st.dictionaries(
            st.tuples(st.sampled_from(["r1", "r2", "r10"]), st.sampled_from(["p1", "p2", "p3"])),
            st.sampled_from([-1.0, -0.5, 0.0, 0.25, 1.0]),
        ),
        st.sampled_from([-1.0, 0.0, 0.5, 2.0]),
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
