"""Assignments drawn by Algorithms 2 and 3 against the paper's text transcribed line by line."""

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2_contingency

from reviewgraph import Reviews
from reviewgraph.graph import ImpossibleDesign, doubly_connected_assignment, random_assignment
from tests.naive import repeat_union
from tests.trials import NIGHTLY

# Algorithms 2 and 3 of the paper (Appendix B), transcribed line by line with sets and maps. Algorithm 3 carries the
# three mended slips: min for max in S1, S3 from the assigned papers not yet chosen, and papers of the first reviewer
# enter V as soon as they meet the minimum.


def choose(S: set[int], k: int, rng: np.random.Generator) -> set[int]:
    return set(rng.choice(sorted(S), k, replace=False).tolist()) if k else set()


def algorithm_2(N: int, k: list[int], rng: np.random.Generator) -> list[set[int]]:
    b = sum(k) // N
    V: set[int] = set()
    usage = dict.fromkeys(range(N), 0)
    T = []
    for i in range(len(k)):
        S1 = choose(set(range(N)) - V, min(k[i], N - len(V)), rng)
        S2 = choose(V, k[i] - len(S1), rng)
        T.append(S1 | S2)
        for j in T[i]:
            usage[j] += 1
            if usage[j] >= b:
                V.add(j)
    return T


def algorithm_3(N: int, k: list[int], rng: np.random.Generator) -> list[set[int]]:
    b = sum(k) // N
    usage = dict.fromkeys(range(N), 0)
    V: set[int] = set()
    first = choose(set(range(N)), k[0], rng)
    assignment = [first]
    T = set(first)
    for j in first:
        usage[j] = 1
        if usage[j] >= b:
            V.add(j)
    for i in range(1, len(k)):
        S1 = choose(set(range(N)) - T, min(k[i] - 2, N - len(T)), rng)
        S2 = choose(T - V, min(2, len(T) - len(V)), rng)
        S3 = choose(T - S2, k[i] - len(S1) - len(S2), rng)
        assignment.append(S1 | S2 | S3)
        T |= assignment[i]
        for j in assignment[i]:
            usage[j] += 1
            if usage[j] >= b:
                V.add(j)
    return assignment


BOTH = pytest.mark.parametrize("design", [random_assignment, doubly_connected_assignment])


def sets_of(reviews: Reviews) -> list[set[int]]:
    return [set(reviews.items_of(reviewer).tolist()) for reviewer in range(reviews.n_reviewers)]


@st.composite
def unequal_loads(draw: st.DrawFn) -> tuple[int, list[int]]:
    n_items = draw(st.integers(1, 12))
    return n_items, draw(st.lists(st.integers(0, n_items), max_size=10))


@st.composite
def connectable_loads(draw: st.DrawFn) -> tuple[int, list[int]]:
    """Loads that just suffice, or exceed what is needed by a little."""
    loads = draw(st.lists(st.integers(2, 7), min_size=1, max_size=10))
    reach = sum(loads) - 2 * len(loads) + 2
    return draw(st.integers(min(max(loads), reach), reach)), loads


@given(unequal_loads(), st.integers(0, 2**32))
def test_random_assignment_keeps_loads_and_minimum(sizes: tuple[int, list[int]], seed: int) -> None:
    n_items, loads = sizes
    reviews = random_assignment(n_items, len(loads), loads, np.random.default_rng(seed))
    assert reviews.loads.tolist() == loads
    assert not reviews.scored.any()
    assert reviews.reviews_per_item.min() >= sum(loads) // n_items


@given(connectable_loads(), st.integers(0, 2**32))
def test_doubly_connected_assignment_is_one_component_that_covers_all(sizes: tuple[int, list[int]], seed: int) -> None:
    n_items, loads = sizes
    reviews = doubly_connected_assignment(n_items, len(loads), loads, np.random.default_rng(seed))
    (largest,) = repeat_union(sets_of(reviews), 2)
    assert reviews.loads.tolist() == loads
    assert set().union(*(sets_of(reviews)[reviewer] for reviewer in largest)) == set(range(n_items))


def test_minimum_holds_where_the_printed_algorithm_misses_it() -> None:
    missed = 0
    for seed in range(200):
        printed = algorithm_2(3, [2, 2, 2], np.random.default_rng(seed))
        missed += min(Counter(item for items in printed for item in items).values()) < 2
        ours = random_assignment(3, 3, 2, np.random.default_rng(seed))
        assert ours.reviews_per_item.tolist() == [2, 2, 2]
    assert missed > 20


Naive = Callable[[int, list[int], np.random.Generator], list[set[int]]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("design", "naive", "n_items", "loads"),
    [
        (random_assignment, algorithm_2, 4, [2, 1, 2]),
        (random_assignment, algorithm_2, 5, [3, 4]),
        (doubly_connected_assignment, algorithm_3, 4, [3, 3, 2]),
        (doubly_connected_assignment, algorithm_3, 4, [3, 2, 3]),
        (doubly_connected_assignment, algorithm_3, 5, [3, 4, 3]),
    ],
)
def test_every_assignment_is_as_likely_as_in_the_paper(
    design: Callable[..., Reviews], naive: Naive, n_items: int, loads: list[int]
) -> None:
    rng, draws = np.random.default_rng(7), 3000 if NIGHTLY else 600
    ours = Counter(str(sets_of(design(n_items, len(loads), loads, rng))) for _ in range(draws))
    paper = Counter(str(naive(n_items, loads, rng)) for _ in range(draws))
    outcomes = sorted(set(ours) | set(paper), key=lambda outcome: -ours[outcome] - paper[outcome])
    frequent = [outcome for outcome in outcomes if ours[outcome] + paper[outcome] >= 10]
    table = [[counts[outcome] for outcome in frequent] for counts in (ours, paper)]
    for row in table:
        row.append(draws - sum(row) + 1)
    assert len(frequent) > 10
    assert chi2_contingency(table).pvalue > 1e-4


@BOTH
def test_same_seed_same_assignment_whatever_form_the_load_has(design: Callable[..., Reviews]) -> None:
    one = design(20, 15, 4, np.random.default_rng(3))
    same = design(20, 15, np.full(15, 4), np.random.default_rng(3))
    other = design(20, 15, 4, np.random.default_rng(4))
    assert one.item.tolist() == same.item.tolist() != other.item.tolist()


@pytest.mark.parametrize(
    ("n_items", "n_reviewers", "load", "message"),
    [
        (10, 5, 3, r"\(load - 2\) \+ 2 >= n_items fails: 5 \+ 2 = 7 < 10"),
        (3, 4, 2, r"0 \+ 2 = 2 < 3"),
        (4, 3, [4, 4, 1], r"load >= 2 fails: reviewer 2 has load 1"),
        (4, 1, 3, r"1 \+ 2 = 3 < 4"),
        (0, 0, 0, r"n_reviewers >= 1 fails"),
    ],
)
def test_sizes_that_cannot_be_doubly_connected_are_refused(
    n_items: int, n_reviewers: int, load: int, message: str
) -> None:
    with pytest.raises(ImpossibleDesign, match=message):
        doubly_connected_assignment(n_items, n_reviewers, load, np.random.default_rng(0))
