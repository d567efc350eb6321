from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from planner._assign.core import groups_of, nothing_grown
from planner._assign.kernels.core import grow
from planner._assign.kernels.robust import close_outside, nothing_outside, spared
from planner._assign.robust import Watch, critical_without, missing_without, truly_missing
from reviewgraph._base import Clock
from tests.looks import Looks
from tests.planner.assignments.cases import core_of, covers_of, problem_of
from tests.trials import trials


def everything(rng):
    """A random table of reviews, all of them assigned."""
    n, m = int(rng.integers(4, 14)), int(rng.integers(4, 12))
    table = np.argwhere(rng.random((n, m)) < rng.uniform(0.2, 0.5))
    count, panel = np.bincount(table[:, 1], minlength=m), np.bincount(table[:, 0], minlength=n)
    problem = problem_of(table, np.zeros(len(table)), n, m, demand=panel, load=count)
    return problem, np.ones(len(table), bool)


def test_dropouts_are_judged_as_the_full_closure_does():
    """The kernels that follow a core without each reviewer against the closure of what is left, from many seeds."""
    rng, agreed, judged = np.random.default_rng(0), 0, 0
    for _ in range(trials(16)):
        problem, whole = everything(rng)
        core = core_of(problem, whole)
        n, m = problem.n_items, problem.n_reviewers
        exact = np.array([truly_missing(core, j) for j in range(m)])
        found = Watch(core).missing(Clock(None))
        assert (found >= exact).all()
        assert (missing_without(core, Clock(None)) == exact).all()
        agreed += int(core.count == n) * int((found == exact).sum())
        judged += int(core.count == n) * m
    assert agreed >= 0.95 * judged > 0


def test_critical_reviewers_are_those_without_whom_the_full_closure_misses_an_item():
    """By division where all items are required, and by growth where some were left behind; the level holds."""
    rng, judged, critical = np.random.default_rng(2), 0, 0
    for number in range(trials(80)):
        problem, whole = everything(rng)
        if number % 4 == 0:
            problem = replace(problem, required=np.arange(problem.n_items) > 0)
        core = core_of(problem, whole)
        if not core.complete():
            continue
        exact = np.array([truly_missing(core, j) for j in range(problem.n_reviewers)]) > 0
        assert (critical_without(core, Clock(None)) == exact).all()
        judged, critical = judged + exact.size, critical + int(exact.sum())
    assert 0 < critical < judged


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


@pytest.mark.parametrize("seed", range(60))
def test_groups_outside_merge_until_none_shares_two_items(seed):
    """Growth from one reviewer and the closure of the rest: the component of the seed, by brute force."""
    problem, whole = everything(np.random.default_rng(seed))
    net, m = problem.network(whole), problem.n_reviewers
    groups, grown = groups_of(np.arange(m)), nothing_grown(problem.n_items, m)
    count = grow(net, groups, grown, problem.required, 0, 2, -1)
    count += close_outside(net, groups, grown, nothing_outside(problem.n_items, m), problem.required, -1)
    parts = [(set(cover), {j}) for j, cover in enumerate(covers_of(problem, whole))]
    merged = True
    while merged:
        merged = False
        for a in range(len(parts)):
            for b in range(a + 1, len(parts)):
                if len(parts[a][0] & parts[b][0]) >= 2:
                    parts[a] = (parts[a][0] | parts[b][0], parts[a][1] | parts[b][1])
                    del parts[b]
                    merged = True
                    break
            if merged:
                break
    cover, members = next(part for part in parts if 0 in part[1])
    assert set(np.flatnonzero(grown.covered)) == cover
    assert count == len(cover)
    assert set(np.flatnonzero(grown.joined)) == members


@pytest.mark.parametrize("seed", range(20))
def test_who_is_spared_reads_nothing_alone(seed):
    problem, whole = everything(np.random.default_rng(seed))
    core, covers = core_of(problem, whole), covers_of(problem, whole)
    inside = np.flatnonzero(core.grown.joined[core.groups.label]).tolist()
    for j in range(problem.n_reviewers):
        others = set().union(*(covers[r] for r in inside if r != j)) if set(inside) - {j} else set()
        assert spared(core.net, core.groups, core.grown, core.required, j) == (covers[j] <= others)
