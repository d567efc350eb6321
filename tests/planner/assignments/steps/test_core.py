from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planner._assign.core import promise
from planner._assign.kernels.core import find_steps, find_weights, no_steps
from planner._assign.kernels.flow import flip
from tests.planner.assignments.cases import FAR, components, core_of, covers_of, random_case

SEEDS = range(30)


def case(seed, level="double"):
    rng = np.random.default_rng(seed)
    problem, chosen = random_case(rng)
    problem = replace(problem, required=rng.random(problem.n_items) < 0.8)
    return rng, problem, chosen, core_of(problem, chosen, level)


@pytest.mark.parametrize("level", ["double", "connected"])
@pytest.mark.parametrize("seed", range(60))
def test_the_core_is_the_component_that_covers_most(seed, level):
    """With more pairs and without a reviewer; the others share one item at most with it, which is known."""
    rng, problem, chosen, core = case(seed, level)
    more = np.flatnonzero(rng.random(chosen.size) < 0.1)
    without = int(rng.integers(-1, problem.n_reviewers))
    parts = core.parts_with(more, without)
    kept = chosen.copy()
    kept[more] = True
    kept &= problem.reviewer != without
    covers = covers_of(problem, kept)
    naive = components(covers, core.aim.shared)
    most = max((sum(problem.required[part]) for part in map(list, naive)), default=0)
    cover = set(np.flatnonzero(parts.covered).tolist())
    assert parts.count == most == sum(problem.required[list(cover)])
    assert cover in naive or (most == 0 and len(cover) == 0)
    if most == core.total:
        return
    for label in set(parts.label.tolist()):
        items = set().union(*(covers[j] for j in np.flatnonzero(parts.label == label)))
        assert not items or items in naive
        if label != parts.core:
            assert items & cover == ({int(parts.witness[label])} if parts.witness[label] >= 0 else set())


@pytest.mark.parametrize("seed", SEEDS)
def test_what_a_group_would_bring_is_counted(seed):
    _, problem, chosen, core = case(seed)
    naive = np.zeros(problem.n_reviewers, int)
    for p in np.flatnonzero(chosen):
        i = problem.item[p]
        naive[core.parts.label[problem.reviewer[p]]] += int(problem.required[i] and not core.parts.covered[i])
    steps = no_steps(problem.n_reviewers)
    find_weights(core.net, core.parts, problem.required, steps)
    assert np.asarray(steps.weight).tolist() == naive.tolist()


@pytest.mark.parametrize("seed", SEEDS)
def test_second_steps_are_the_two_least_losses_of_different_items(seed):
    rng, problem, chosen, core = case(seed)
    parts = core.parts
    cost = rng.integers(0, 9, chosen.size)
    steps = no_steps(problem.n_reviewers)
    find_steps(core.net, cost, parts, 1, steps)
    best, item, other = map(np.asarray, (steps.best, steps.best_item, steps.second))
    for group in range(problem.n_reviewers):
        losses = {}
        for p in np.flatnonzero(~chosen & parts.covered[problem.item] & (parts.label[problem.reviewer] == group)):
            if group != parts.core:
                i = int(problem.item[p])
                losses[i] = min(losses.get(i, FAR), max(int(cost[p]), 1))
        ranked = sorted(losses.values())
        assert best[group] == (ranked[0] if ranked else FAR)
        if ranked:
            assert losses[int(item[group])] == best[group]
            rest = [loss for i, loss in losses.items() if i != item[group]]
            assert other[group] == min(rest, default=FAR)


@pytest.mark.parametrize("level", ["double", "connected"])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_pair_that_promises_items_brings_at_least_one_or_goes_halfway(seed, level):
    _, _, chosen, core = case(seed, level)
    net, cost = core.net, np.arange(chosen.size)
    loss, follow, gain = promise(net, cost, core.parts, core.required, core.aim.shared, 1)
    assert (gain[chosen] == 0).all()
    assert (loss[gain > 0] >= 1).all()
    for p in np.flatnonzero((gain > 0) & (follow == 0)):
        assert core.gains_by(p)
        # With the pair added and nothing taken away, the cover must grow by what was promised at least.
        assert core.parts_with(np.array([p])).count >= core.count + 1


@pytest.mark.parametrize("seed", SEEDS)
def test_the_core_follows_changes_that_leave_it_as_large(seed):
    rng, problem, _, core = case(seed)
    for _ in range(5):
        count = core.count
        pair = rng.choice(np.flatnonzero(core.net.assigned), 1) if core.net.assigned.any() else np.empty(0, np.int64)
        flip(core.net, pair)
        afresh = core_of(problem, core.net.assigned.copy()).count
        assert core.holds_after(count) == (afresh >= count)
        assert core.count == count
