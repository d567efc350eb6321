from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from planner import assign
from reviewgraph.formats import Columns
from tests.planner.assignments import naive_assignment as naive
from tests.planner.assignments import naive_changes
from tests.planner.assignments.cases import told
from tests.planner.assignments.test_assigning import call, pairs_of
from tests.trials import examples


@st.composite
def replaced(draw):
    """A tiny market with ties, tight loads and fixed pairs, an assignment before it, and what is asked for."""
    n, m = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    levels, density = draw(st.sampled_from([1, 3, 1000])), draw(st.sampled_from([0.5, 0.9]))
    everyone = [(f"r{j}", f"p{i}") for j in range(m) for i in range(n)]
    affinity = {pair: float(rng.integers(-levels, levels + 1)) for pair in everyone if rng.random() < density}
    market = {
        "affinity": affinity,
        "demand": {f"p{i}": int(rng.integers(0, 3)) for i in range(n)},
        "load": {f"r{j}": int(rng.integers(0, 4)) for j in range(m)},
        "conflicts": [pair for pair in affinity if rng.random() < 0.15],
    }
    fixed = [pair for pair in affinity if pair not in market["conflicts"]]
    if fixed and draw(st.booleans()):
        pair = fixed[int(rng.integers(len(fixed)))]
        market["fixed"] = [pair] if market["load"][pair[0]] and market["demand"][pair[1]] else []
    # Some of its reviewers and papers are gone, some pairs are in conflict or have no affinity any more.
    known = [*everyone, *((f"r{j}", "gone") for j in range(m)), *(("gone", f"p{i}") for i in range(n))]
    previous = [pair for pair in known if rng.random() < 0.4] if draw(st.booleans()) else None
    assume(not previous or any(pair in everyone for pair in previous))  # some of them are known
    return market, previous


@given(replaced())
@examples(48)
def test_without_a_level_nothing_is_better(asked):
    market, previous = asked
    result = call(market, target="none", previous=previous)
    best = naive_changes.best_of(market, previous=previous)
    assert (result.status == "infeasible") == (best is None)
    if best is None:
        return
    pairs = pairs_of(result)
    changed = len(set(pairs) - set(previous)) if previous is not None else 0
    value = sum(market["affinity"].get(pair, 0.0) for pair in pairs)
    assert (changed, -value) == pytest.approx(best)
    assert result.status == "optimal"
    if previous is not None:
        assert result.changes.fewest == changed


@given(replaced())
@examples(24)
def test_kept_dropped_and_new_pairs_add_up(asked):
    market, previous = asked
    result = call(market, target="connected", previous=previous)
    if previous is None or not result.status.reached:
        assert result.changes is None or result.status == "level_missed"
        return
    pairs, changes = set(pairs_of(result)), result.changes
    assert set(changes.kept) == pairs & set(previous)
    assert set(changes.new) == pairs - set(previous)
    assert set(changes.dropped) == set(previous) - pairs


@given(replaced())
@examples(24)
def test_at_a_level_no_more_is_claimed_than_holds(asked):
    market, previous = asked
    result = call(market, target="connected", previous=previous)
    if not result.status.reached or not any(market["demand"].values()):
        return
    best = naive_changes.best_of(
        market,
        previous=previous,
        holds=lambda chosen: naive.connected(chosen, set(market["demand"])),
    )
    assert best is not None
    if previous is not None:
        assert result.changes.fewest <= best[0] <= len(result.changes.new)


def two_chains(length):
    """A paper without a reviewer: ``length`` changes lose affinity, one more would gain more than the first weight."""
    affinity, previous = {("p0", "hole"): 0.0, ("q0", "hole"): 1.0}, []
    for k in range(length - 1):
        affinity |= {(f"p{k}", f"a{k}"): 1.0, (f"p{k + 1}", f"a{k}"): 0.0}
        previous.append((f"p{k}", f"a{k}"))
    for k in range(length):
        affinity |= {(f"q{k}", f"b{k}"): 0.0, (f"q{k + 1}", f"b{k}"): 1.0}
        previous.append((f"q{k}", f"b{k}"))
    return affinity, previous


def test_fewer_changes_come_first_however_much_affinity_one_more_would_gain():
    affinity, previous = two_chains(12)
    result = assign(affinity, demand=1, load=1, target="none", previous=previous)
    assert (len(result.changes.new), result.changes.fewest) == (12, 12)
    assert result.affinity == 0.0
    assert result.affinity_unconstrained == 24.0
    assert result.price == 100.0


def test_a_first_phase_is_no_change():
    affinity = {(f"r{j}", f"p{i}"): 1.0 for j in range(4) for i in range(3)}
    before = [("r0", "p0"), ("r1", "p1"), ("r3", "p2"), ("r1", "rejected"), ("guest", "p1")]
    first = [("r0", "p0"), ("guest", "rejected")]
    result = assign(affinity, demand=1, load=2, target="none", phase_one=first, previous=before)
    assert {*result.changes.dropped} == {("r0", "p0"), ("r1", "rejected"), ("guest", "p1")}
    assert len(result.changes.kept) == 2
    assert len(result.changes.new) == 1


def test_reviewers_who_leave_are_replaced_and_nothing_else_changes():
    rng = np.random.default_rng(3)
    affinity = rng.random((30, 40))
    first = assign(affinity, demand=3, load=5)
    here = [j for j in range(30) if j not in (4, 17)]
    result = assign(affinity[here], reviewers=here, demand=3, load=5, previous=first.reviews)
    lost = int(first.reviews.loads[[4, 17]].sum())
    assert len(result.changes.new) == lost == result.changes.fewest
    assert {drop.reviewer for drop in result.changes.dropped} == {4, 17}
    text = told(result)
    assert f"{120 - lost} stay, {lost} dropped, {lost} new, proved the fewest" in text
    assert "lost to few changes" in text
    assert result.to_dict()["changes"]["kept"] == 120 - lost


def in_order_of_rows(pairs):
    """Pairs as a file of them is read: labels in the order in which they come."""
    people, papers = (list(dict.fromkeys(side)) for side in (zip(*pairs, strict=True) if pairs else ((), ())))
    rows = [(people.index(r), papers.index(p)) for r, p in pairs]
    return Columns(*np.array(rows, np.int64).reshape(-1, 2).T, people, papers)


@given(replaced(), st.randoms(use_true_random=False))
@examples(10)
def test_the_order_of_previous_pairs_does_not_matter(asked, random):
    market, previous = asked
    options = {"target": "double"}
    result = call(market, previous=previous, **options)
    if previous is not None:
        random.shuffle(previous)
    again = call(market, previous=None if previous is None else in_order_of_rows(previous * 2), **options)
    assert sorted(pairs_of(result)) == sorted(pairs_of(again))
    assert result.changes == again.changes
