"""Reviews that items are short of, where not all allowed pairs can be listed, and cuts of the integer programme."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner._plans import covering
from planner._plans.constraints import no_pairs
from planner._plans.targets.double import DoubleOracle
from planner._plans.task import Cut, few_short_pairs, new_task, short_pairs
from planner.errors import InternalError
from reviewgraph import Reviews
from reviewgraph._base import Clock
from tests.planner.plans.plan_cases import Case, cases, constrained, task_of
from tests.trials import examples


@given(cases(), st.integers(1, 4), st.integers(1, 9))
@examples(40)
def test_some_pairs_are_among_all_and_all_where_many_are_asked_for(case: Case, least: int, few: int) -> None:
    task = task_of(case, min_reviews=least)
    every, some = map(set, (map(tuple, short_pairs(task).tolist()), map(tuple, few_short_pairs(task, few).tolist())))
    assert some <= every
    for i in {i for _, i in every}:
        readers, asked = ({j for j, of in pairs if of == i} for pairs in (every, some))
        assert len(asked) >= min(len(readers), 1)
        assert len(asked) <= task.needs.each[i] + few
    with mock.patch("planner._plans.task.TURNS", 1_000):
        assert set(map(tuple, few_short_pairs(task, 1_000).tolist())) == every


@given(cases(), st.integers(1, 3))
@examples(20)
def test_a_cover_of_some_pairs_holds_and_claims_nothing(case: Case, least: int) -> None:
    task = task_of(case, min_reviews=least)
    whole = covering.cover(task, no_pairs(), Clock(5.0))
    with mock.patch.multiple(covering, ALL_UP_TO=0, LISTED_UP_TO=0):
        found = covering.cover(task, no_pairs(), Clock(5.0))
    assert not found.cheapest or not task.needs.total
    if found.pairs is not None:
        assert whole.pairs is not None
        assert len(found.pairs) >= len(whole.pairs)
        assert task.constraints.people.needs(task.table(found.pairs)).total == 0


def test_a_cut_that_comes_again_is_refused() -> None:
    task = new_task(constrained(Reviews([(j, (j, k)) for j in range(3) for k in range(3)])), 64)
    master = covering.Master(DoubleOracle(task, np.random.default_rng(0)))
    master.oracle.cuts = lambda pairs: iter([Cut(np.ones(len(master.pairs), np.int64), 1)])  # type: ignore[method-assign]
    master.cut(no_pairs())
    with pytest.raises(InternalError, match="no cut forbids 0 reviews that miss the target"):
        master.cut(no_pairs())
