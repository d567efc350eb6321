from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given

from planner._plans.constraints import no_pairs
from planner._plans.programme import Master
from planner._plans.targets.double import DoubleOracle
from planner._plans.task import Cut, new_task
from planner.errors import InternalError
from reviewgraph import Reviews
from reviewgraph._base import IntArray
from tests.planner.plans.plan_cases import Case, cases, constrained
from tests.trials import examples

APART = Reviews([(j, (j, k)) for j in range(3) for k in range(3)])


def oracle_of(case: Case) -> DoubleOracle:
    task = new_task(constrained(case.reviews, **case.options), 64)
    return DoubleOracle(task, np.random.default_rng(0))


@given(cases())
@examples(8)
def test_no_cut_counts_a_lost_review_twice(case: Case) -> None:
    oracle = oracle_of(case)
    if not oracle.reaches(no_pairs()):
        Master(oracle).cut(no_pairs())


def test_a_cut_that_holds_reviews_of_a_reviewer_alone_is_refused() -> None:
    class Wrong(DoubleOracle):
        def cuts(self, pairs: IntArray) -> Iterator[Cut]:
            for cut in super().cuts(pairs):
                leaves = cut.leaves.copy()
                leaves[np.flatnonzero(self.allowed[:, 0] == 3)[0]] = 0
                yield Cut(leaves, cut.least, cut.alone)

    task = new_task(constrained(APART, capacity={3: 4}, spare=4), 64)
    with pytest.raises(InternalError, match="first 2 reviews of reviewer 3 as lost, and holds some"):
        Master(Wrong(task, np.random.default_rng(0))).cut(no_pairs())


def test_a_cut_that_comes_again_is_refused() -> None:
    master = Master(oracle_of(Case(APART, {})))
    master.oracle.cuts = lambda pairs: iter([Cut(np.ones(len(master.pairs), np.int64), 1, set())])  # type: ignore[method-assign]
    master.cut(no_pairs())
    with pytest.raises(InternalError, match="no cut forbids 0 reviews that miss the target"):
        master.cut(no_pairs())
