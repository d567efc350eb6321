from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner._assign.inputs import Constraints, build, scored_pairs
from planner._assign.problem import cliques_of, rivals_of
from reviewgraph._base import InputError
from reviewgraph.io import Rules
from tests.planner.assignments.naive_authors import authors_broken
from tests.trials import examples


@st.composite
def written(draw, n_items, n_reviewers):
    """Authors of a few papers: some do not review, some papers are not among the items, some have no author."""
    people, papers = st.integers(0, n_reviewers + 1), st.integers(0, n_items + 1)
    return sorted(draw(st.sets(st.tuples(people, papers), max_size=2 * n_items)))


def constraints(authors, distance=0, phase_one=(), **rules):
    stated = Rules(demand=1, load=2, authors=authors, author_distance=distance, **rules)
    return Constraints(stated, phase_one, allow_unscored=True)


@given(st.data())
@examples(60)
def test_rivals_are_what_breaks_a_rule_together(data):
    n, m = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 5))
    distance, cycles, coauthors = (data.draw(st.integers(0, 1)) for _ in range(3))
    pairs = data.draw(written(n, m))
    if not pairs or min(a for a, _ in pairs) >= m or min(i for _, i in pairs) >= n:
        return
    options = {"distance": distance, "allow_cycles": bool(cycles), "allow_coauthors": bool(coauthors)}
    problem = build(scored_pairs(np.zeros((m, n)), None, None), constraints(pairs, **options))
    everything = [(j, i) for i in range(n) for j in range(m)]
    alone = [pair for pair in everything if not authors_broken([pair], pairs, **options)]
    found = list(zip(problem.reviewer.tolist(), problem.item.tolist(), strict=True))
    assert found == alone
    assert problem.barred.sum() == n * m - len(alone)
    for x, one in enumerate(found):
        broken = [y for y, other in enumerate(found) if x != y and authors_broken([one, other], pairs, **options)]
        assert problem.rivals.of(x).tolist() == broken


@given(st.integers(1, 8), st.data())
@examples(24)
def test_couples_and_counts_among_the_chosen(size, data):
    couple = st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)).filter(lambda c: c[0] < c[1])
    couples = data.draw(st.sets(couple))
    chosen = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    rivals = rivals_of(np.array(sorted(couples), np.int64).reshape(-1, 2))
    assert rivals.couples_among(chosen).tolist() == [list(c) for c in sorted(couples) if chosen[list(c)].all()]
    count = [sum(chosen[x + y - p] for x, y in couples if p in (x, y)) for p in range(size)]
    assert rivals.count_among(chosen).tolist() == count


@given(st.integers(2, 8), st.data())
@examples(24)
def test_cliques_hold_all_couples_and_nothing_else(size, data):
    couple = st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)).filter(lambda c: c[0] < c[1])
    couples = data.draw(st.sets(couple))
    row, member = cliques_of(rivals_of(np.array(sorted(couples), np.int64).reshape(-1, 2)))
    cliques = [set(member[row == k].tolist()) for k in range(row.max(initial=-1) + 1)]
    assert {pair for clique in cliques for pair in combinations(sorted(clique), 2)} == couples
    for clique in cliques:
        others = set(range(size)) - clique
        assert not any(all((min(x, y), max(x, y)) in couples for y in clique) for x in others)


def test_fixed_pairs_against_the_authors_are_named_and_two_that_exclude_each_other_refused():
    scored = scored_pairs(np.zeros((3, 3)), None, None)
    assert build(scored, constraints([(0, 0)], fixed=[(0, 0)])).facts.conflicts == ((0, 0),)
    with pytest.raises(InputError, match=r"fixed: reviewer 1 on item 0 and reviewer 0 on item 1 may not both be"):
        build(scored, constraints([(0, 0), (1, 1)], fixed=[(1, 0), (0, 1)]))


def test_rivals_of_given_pairs_are_out():
    scored = scored_pairs(np.zeros((3, 3)), None, None)
    problem = build(scored, constraints([(0, 0), (1, 1)], fixed=[(1, 0)]))
    assert (0, 1) not in set(zip(problem.reviewer.tolist(), problem.item.tolist(), strict=True))
    assert not problem.rivals.any
    first = build(scored, constraints([(0, 0), (1, 1)], phase_one=[(1, 0), (0, 1)]))
    assert first.old.sum() == 2
