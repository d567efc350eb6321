import numpy as np

from planner import assign
from tests.planner.assignments.cases import told


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
