from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from planner._assign.core import missing_without, missing_without_reviews
from reviewgraph._base import Clock
from tests.looks import Looks
from tests.planner.assignments.cases import core_of, covers_of, problem_of, random_case
from tests.planner.assignments.naive_assignment import components
from tests.trials import trials


def everything(rng):
    """A random table of reviews, all of them assigned."""
    n, m = int(rng.integers(4, 14)), int(rng.integers(4, 12))
    table = np.argwhere(rng.random((n, m)) < rng.uniform(0.2, 0.5))
    count, panel = np.bincount(table[:, 1], minlength=m), np.bincount(table[:, 0], minlength=n)
    problem = problem_of(table, np.zeros(len(table)), n, m, demand=panel, load=count)
    return problem, np.ones(len(table), bool)


@pytest.mark.parametrize("level", ["double", "connected"])
@pytest.mark.parametrize("some_left_behind", [False, True])
def test_losses_are_judged_as_the_components_of_what_is_left_are(level, some_left_behind):
    """By division, against the components without each reviewer and without each review; some items need not join."""
    rng, found = np.random.default_rng(0), []
    for _ in range(trials(30)):
        problem, whole = everything(rng)
        if some_left_behind:
            problem = replace(problem, required=rng.random(problem.n_items) < 0.8)
        core = core_of(problem, whole, level)

        def lost(kept, problem=problem, core=core):
            parts = components(covers_of(problem, kept), core.aim.shared)
            most = max((sum(bool(problem.required[i]) for i in part) for part in parts), default=0)
            return int(problem.required.sum()) - most

        drop_outs = missing_without(core, Clock(None))
        assert drop_outs.tolist() == [lost(problem.reviewer != j) for j in range(problem.n_reviewers)]
        some = rng.random(problem.n_reviewers) < 0.5
        assert missing_without(core, Clock(None), some).tolist() == np.where(some, drop_outs, 0).tolist()
        each = np.arange(whole.size)
        assert missing_without_reviews(core, Clock(None)).tolist() == [lost(each != pair) for pair in each.tolist()]
        found += drop_outs.tolist()
    assert 0 < np.count_nonzero(found) < len(found)


def test_what_is_missing_is_told_whole_or_not_at_all():
    rng, ended = np.random.default_rng(1), 0
    for _ in range(10):
        problem, whole = everything(rng)
        core = core_of(problem, whole)
        exact = missing_without(core, Clock(None)).tolist()
        for looks in (0, 1, 2, 4, 8, 16, 32):
            with suppress(Clock.Over):
                assert missing_without(core, Looks(looks)).tolist() == exact
                ended += 1
    assert 0 < ended < 70


@pytest.mark.parametrize("level", ["double", "connected"])
@pytest.mark.parametrize("seed", range(60))
def test_the_core_is_the_component_that_covers_most(seed, level):
    """With more pairs and without a reviewer."""
    rng = np.random.default_rng(seed)
    problem, chosen = random_case(rng)
    problem = replace(problem, required=rng.random(problem.n_items) < 0.8)
    core = core_of(problem, chosen, level)
    more = np.flatnonzero(rng.random(chosen.size) < 0.1)
    without = int(rng.integers(-1, problem.n_reviewers))
    kept = chosen.copy()
    kept[more] = True
    kept &= problem.reviewer != without
    covers = covers_of(problem, kept)
    naive = components(covers, core.aim.shared)
    most = max((sum(problem.required[part]) for part in map(list, naive)), default=0)
    assert core.count(more, without) == most
    assert (core.missing(more, without) == 0) == (most == core.total)
