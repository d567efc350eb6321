import numpy as np
import pytest

from planner import assign
from reviewgraph import Reviews
from tests.planner.assignments import naive_assignment as naive
from tests.planner.assignments.test_assigning import pairs_of

N, M = 12, 10


def affinity(seed=0):
    return np.random.default_rng(seed).random((M, N))


def probabilities(result):
    columns = result.randomised.to_columns()
    pairs = zip(columns["reviewer"], columns["item"], strict=True)
    return dict(zip(pairs, columns["probability"], strict=True))


def communities():
    """Two communities without a good pair between them: the best affinity links nothing."""
    side = np.arange(M)[:, None] % 2 == np.arange(N) % 2
    return np.where(side, affinity(), -1.0)


@pytest.mark.slow
@pytest.mark.parametrize("cap", [1.0, 0.5])
def test_links_come_into_the_support_with_a_probability(cap):
    assert not naive.doubly_connected(pairs_of(assign(communities(), demand=2, load=5, target="none")), range(N))
    result = assign(communities(), demand=2, load=5, max_probability=cap)
    assert result.status.reached
    assert naive.doubly_connected(pairs_of(result), range(N))
    published = probabilities(result)
    assert any((reviewer - item) % 2 for reviewer, item in published)
    assert max(published.values()) <= cap
    assert set(pairs_of(result)) <= set(published)
    assert result.randomised.gap >= 0


def test_caps_of_one_leave_the_assignment_as_it_is():
    plain, certain = assign(affinity(), demand=3, load=5), assign(affinity(), demand=3, load=5, max_probability=1.0)
    assert pairs_of(plain) == pairs_of(certain)
    assert set(probabilities(certain).values()) == {1.0}
    assert certain.randomised.percent == pytest.approx(100.0 * plain.affinity / plain.affinity_unconstrained)


def test_a_first_phase_links_and_is_not_drawn():
    first = Reviews.from_codes(np.arange(5), np.arange(5), reviewers=range(M), items=range(N))
    result = assign(affinity(), demand=2, load=4, phase_one=first, max_probability=0.6)
    assert result.status.reached
    assert not {(k, k) for k in range(5)} & set(probabilities(result))
    assert (result.reviews.reviews_per_item == 2).all()


def test_pairs_that_are_to_be_few_stay_few():
    first = assign(affinity(), demand=3, load=5, target="none")
    previous = pairs_of(first)
    result = assign(affinity(3), demand=3, load=5, target="none", previous=previous, max_probability=0.9)
    published = probabilities(result)
    # Without a change every pair would have probability 1; the cap takes a tenth of it.
    assert sum(published[pair] for pair in previous) == pytest.approx(0.9 * len(previous))
    assert result.changes is not None
