from __future__ import annotations

import numpy as np
import pytest

from planner._assign.core import coverage, groups_of, nothing_grown, promise
from planner._assign.kernels.core import find_steps, find_weights, grow, no_steps
from planner._assign.kernels.flow import flip
from tests.planner.assignments.cases import FAR, core_of, covers_of, grown_naively, random_case

SEEDS = range(30)


def case(seed):
    rng = np.random.default_rng(seed)
    problem, chosen = random_case(rng)
    label = rng.integers(0, problem.n_reviewers, problem.n_reviewers)
    _, label = np.unique(label, return_inverse=True)
    required = rng.random(problem.n_items) < 0.8
    return rng, problem, chosen, label, required


def grown_by_kernel(problem, chosen, label, required, shared, without=-1):
    net, groups = problem.network(chosen), groups_of(label)
    grown = nothing_grown(problem.n_items, groups.start.size - 1)
    count = grow(net, groups, grown, required, 0, shared, without)
    return net, groups, grown, count


@pytest.mark.parametrize("seed", SEEDS)
def test_coverage_counts_what_each_group_reads(seed):
    _, problem, chosen, label, required = case(seed)
    found = coverage(label, problem.reviewer[chosen], problem.item[chosen], required)
    covers = covers_of(problem, chosen)
    for group in range(label.max() + 1):
        items = set().union(*(covers[j] for j in np.flatnonzero(label == group)))
        assert found[group] == sum(required[i] for i in items)


@pytest.mark.parametrize("shared", [1, 2])
@pytest.mark.parametrize("seed", SEEDS)
def test_growth_equals_joining_one_after_another(seed, shared):
    rng, problem, chosen, label, required = case(seed)
    without = int(rng.integers(-1, problem.n_reviewers))
    _, groups, grown, count = grown_by_kernel(problem, chosen, label, required, shared, without)
    covers = covers_of(problem, chosen)
    cover, joined = grown_naively(covers, label.tolist(), 0, shared, without)
    assert set(np.flatnonzero(grown.covered)) == cover
    assert set(np.flatnonzero(grown.joined)) == joined
    assert count == sum(required[i] for i in cover)
    assert grown.first.sum() == len(cover)
    if shared == 2:
        for group in set(range(groups.start.size - 1)) - joined:
            items = set().union(*(covers[j] for j in np.flatnonzero(label == group) if j != without)) & cover
            assert items == ({int(grown.witness[group])} if grown.witness[group] >= 0 else set())


@pytest.mark.parametrize("seed", SEEDS)
def test_what_a_group_would_bring_is_counted(seed):
    _, problem, chosen, label, required = case(seed)
    net, groups, grown, _ = grown_by_kernel(problem, chosen, label, required, 2)
    naive = np.zeros(groups.start.size - 1, int)
    for p in np.flatnonzero(chosen):
        i = problem.item[p]
        naive[label[problem.reviewer[p]]] += int(required[i] and not grown.covered[i])
    steps = no_steps(groups.start.size - 1)
    find_weights(net, groups, grown, required, steps)
    assert np.asarray(steps.weight).tolist() == naive.tolist()


@pytest.mark.parametrize("seed", SEEDS)
def test_second_steps_are_the_two_least_losses_of_different_items(seed):
    rng, problem, chosen, label, required = case(seed)
    net, groups, grown, _ = grown_by_kernel(problem, chosen, label, required, 2)
    cost = rng.integers(0, 9, chosen.size)
    steps = no_steps(groups.start.size - 1)
    find_steps(net, cost, groups, grown, 1, steps)
    best, item, other = map(np.asarray, (steps.best, steps.best_item, steps.second))
    for group in range(groups.start.size - 1):
        losses = {}
        for p in np.flatnonzero(~chosen & grown.covered[problem.item] & (label[problem.reviewer] == group)):
            if not grown.joined[group]:
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
    _, problem, chosen, _, _ = case(seed)
    core = core_of(problem, chosen, level)
    net, cost = core.net, np.arange(chosen.size)
    loss, follow, gain = promise(net, cost, core.groups, core.grown, core.required, core.aim.shared, 1)
    assert (gain[chosen] == 0).all()
    assert (loss[gain > 0] >= 1).all()
    before = core.count
    label = core.groups.label
    for p in np.flatnonzero((gain > 0) & (follow == 0)):
        if net.n_held[net.reviewer[p]] >= problem.load[net.reviewer[p]]:
            continue
        then = chosen.copy()
        then[p] = True
        # With the pair added and nothing taken away, the cover must grow by what was promised at least.
        cover, _ = grown_naively(covers_of(problem, then), label.tolist(), core.seed, core.aim.shared)
        assert len(cover) >= before + min(int(gain[p]), 1)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_core_notes_what_changes_as_finding_it_anew_does(seed):
    rng, problem, chosen, _, _ = case(seed)
    core = core_of(problem, chosen)
    for _ in range(5):
        swaps = [
            (p, q)
            for p in np.flatnonzero(~core.net.assigned)
            for q in np.flatnonzero(core.net.assigned)
            if problem.reviewer[p] == problem.reviewer[q]
        ]
        if not swaps:
            return
        pairs = np.array(swaps[int(rng.integers(len(swaps)))])
        # An item may hold more than before: exchange it for nothing else than this reviewer's other item.
        if core.net.n_panel[problem.item[pairs[0]]] >= problem.demand[problem.item[pairs[0]]]:
            continue
        flip(core.net, pairs)
        if not core.holds_after(pairs, core.count):
            flip(core.net, pairs)
        afresh = core_of(problem, core.net.assigned.copy())
        assert core.count <= afresh.count
