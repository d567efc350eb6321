import numpy as np
import pytest

from planner._plans.constraints import no_pairs
from planner._plans.covering import Master
from planner._plans.targets.double import DoubleOracle
from planner._plans.task import Cut, new_task
from planner.errors import InternalError
from reviewgraph import Reviews
from tests.planner.plans.plan_cases import Case, constrained

APART = Reviews([(j, (j, k)) for j in range(3) for k in range(3)])


def oracle_of(case: Case) -> DoubleOracle:
    task = new_task(constrained(case.reviews, **case.options), 64)
    return DoubleOracle(task, np.random.default_rng(0))


def test_a_cut_that_comes_again_is_refused() -> None:
    master = Master(oracle_of(Case(APART, {})))
    master.oracle.cuts = lambda pairs: iter([Cut(np.ones(len(master.pairs), np.int64), 1)])  # type: ignore[method-assign]
    master.cut(no_pairs())
    with pytest.raises(InternalError, match="no cut forbids 0 reviews that miss the target"):
        master.cut(no_pairs())
