from itertools import product

import numpy as np
import pytest

from planner._assign.flow import TIE_BITS, settle, shortfall, whole_costs
from planner._assign.kernels.flow import cheapest_path, flip, workspace
from planner._assign.levels import aim_named, aims
from reviewgraph import Reviews
from reviewgraph._base import InputError
from reviewgraph.graph import levels as general
from tests.planner.assignments.cases import FAR, cheapest_assignment, problem_of, random_case


def arcs(net, cost):
    """Residual arcs (u, v, cost, pair) as the module docstring draws them."""
    n, sink = net.item_start.size - 1, net.potential.size - 1
    found = []
    for p in range(cost.size):
        if not net.locked[p]:
            i, j = int(net.item[p]), n + int(net.reviewer[p])
            found.append((j, i, -int(cost[p]), p) if net.assigned[p] else (i, j, int(cost[p]), p))
    for j in range(net.n_held.size):
        if net.n_held[j] < net.held_start[j + 1] - net.held_start[j]:
            found.append((n + j, sink, 0, -1))
        if net.n_held[j] > net.least[j]:
            found.append((sink, n + j, 0, -1))
    return found


def shortest(net, cost, source, target, without):
    """Length of the shortest residual way by Bellman and Ford; infinite where there is none."""
    dist = dict.fromkeys(range(net.potential.size), np.inf)
    dist[source] = 0
    for _ in dist:
        for u, v, c, p in arcs(net, cost):
            if p != without and dist[u] + c < dist[v]:
                dist[v] = dist[u] + c
    return dist[target]


def best_network(rng):
    """An optimal assignment of a small market, as a network with settled potentials."""
    while True:
        market = _solved(rng)
        if market is not None:
            return market


def _solved(rng):
    problem, _ = random_case(rng)
    demand = np.minimum(rng.integers(1, 3, problem.n_items), problem.n_reviewers)
    problem = problem_of(
        list(zip(problem.item, problem.reviewer, strict=True)), problem.affinity.round(1), problem.n_items,
        problem.n_reviewers, demand=demand, load=-(-2 * problem.n_items // problem.n_reviewers) + 1,
        least=rng.integers(0, 2, problem.n_reviewers),
    )  # fmt: skip
    cost = whole_costs(problem.affinity, 0)
    chosen = cheapest_assignment(problem.item, problem.reviewer, cost, problem.demand, problem.load, problem.least)
    if chosen is None:
        return None
    net = problem.network(chosen)
    assert settle(net, cost)
    return problem, net, cost


@pytest.mark.parametrize("seed", range(12))
def test_cheapest_cycles_are_shortest_ways_and_keep_reduced_costs(seed):
    rng = np.random.default_rng(seed)
    problem, net, cost = best_network(rng)
    n = problem.n_items
    work = workspace(cost, net.potential.size)
    for pair in rng.permutation(cost.size)[:12].tolist():
        i, j = int(net.item[pair]), n + int(net.reviewer[pair])
        source, target = (i, j) if net.assigned[pair] else (j, i)
        own = -int(cost[pair]) if net.assigned[pair] else int(cost[pair])
        naive = shortest(net, cost, source, target, pair)
        length = cheapest_path(net, work, pair, 1 << 61)
        assert (length > 0) == np.isfinite(naive)
        assert (np.asarray(work.dist) == FAR).all()
        assert (np.asarray(work.place) == -1).all()
        if length == 0:
            continue
        pairs = np.asarray(work.path[:length]).copy()
        assert pairs[0] == pair
        assert int(np.where(net.assigned[pairs], -cost[pairs], cost[pairs]).sum()) == naive + own
        flip(net, pairs)
        assert np.bincount(net.item[net.assigned], minlength=n).tolist() == problem.demand.tolist()
        held = np.bincount(net.reviewer[net.assigned], minlength=problem.n_reviewers)
        assert ((problem.least <= held) & (held <= problem.load)).all()
        net.locked[pair] = True
        assert all(c + net.potential[u] - net.potential[v] >= 0 for u, v, c, _ in arcs(net, cost))


@pytest.mark.parametrize("seed", range(20))
def test_flipping_keeps_the_books_and_undoes_itself(seed):
    rng = np.random.default_rng(seed)
    problem, chosen = random_case(rng)
    net = problem.network(chosen)
    free = [p for p in np.flatnonzero(~chosen) if net.n_held[net.reviewer[p]] < problem.load[net.reviewer[p]]]
    swap = [(p, q) for p in free for q in np.flatnonzero(chosen) if problem.item[p] == problem.item[q]]
    assert swap
    pairs = np.array(swap[int(rng.integers(len(swap)))])
    for expected in (chosen ^ np.isin(np.arange(chosen.size), pairs), chosen):
        flip(net, pairs)
        assert (net.assigned == expected).all()
        for j in range(problem.n_reviewers):
            held = net.held[net.held_start[j] : net.held_start[j] + net.n_held[j]]
            assert sorted(held) == np.flatnonzero(expected & (problem.reviewer == j)).tolist()
        for i in range(problem.n_items):
            panel = net.panel[net.panel_start[i] : net.panel_start[i] + net.n_panel[i]]
            assert sorted(panel) == np.flatnonzero(expected & (problem.item == i)).tolist()


@pytest.mark.parametrize("seed", range(5))
def test_reviews_that_are_lacking_have_room(seed):
    """An assignment under change may lack reviews for a while; those that come must not overwrite others."""
    rng = np.random.default_rng(seed)
    problem, chosen = random_case(rng)
    lacking = chosen & (problem.item != problem.item[chosen][-1]) & (problem.item != problem.item[chosen][0])
    net = problem.network(lacking)
    flip(net, np.flatnonzero(chosen & ~lacking))
    assert (net.panel_start[:-1] + net.n_panel <= net.panel_start[1:]).all()
    assert net.panel.size >= net.n_panel.sum()
    whole = problem.network(chosen)
    for i in range(problem.n_items):
        panels = [each.panel[each.panel_start[i] : each.panel_start[i] + each.n_panel[i]] for each in (net, whole)]
        assert sorted(panels[0]) == sorted(panels[1])


def test_every_level_can_be_aimed_at_by_its_name():
    assert [aim.name for aim in aims()] == [*general.ALL_NAMES, "none"]
    for aim in aims():
        assert aim.level is None or (aim.level.name, aim.level.shared) == (aim.name, aim.shared)


@pytest.mark.parametrize("name", ["triple", None])
def test_unknown_names_are_refused(name):
    with pytest.raises(
        InputError,
        match="target: expected one of survives-reviewer, survives-review, double, recoverable, connected, none",
    ):
        aim_named(name)


def test_links_count_what_is_missing():
    apart = Reviews([("a", 1), ("a", 2), ("b", 3), ("b", 4)])
    assert aim_named("connected").links(apart) == 1
    assert aim_named("double").links(apart) == 2
    assert aim_named("connected").groups(apart).labels.tolist() == [0, 1]


@pytest.mark.parametrize("seed", range(40))
def test_equals_all_choices_of_pairs(seed):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    pairs = np.array([(i, j) for i in range(n) for j in range(m) if rng.random() < 0.8]).reshape(-1, 2)
    item, reviewer = pairs[:, 0].astype(np.int64), pairs[:, 1].astype(np.int64)
    demand, load, least = rng.integers(0, 3, n), rng.integers(0, 4, m), rng.integers(0, 2, m)
    cost = rng.integers(-5, 6, len(pairs))
    good = [
        picked
        for bits in product([False, True], repeat=len(pairs))
        for picked in [np.array(bits, bool)]
        if (np.bincount(item[picked], minlength=n) == demand).all()
        and (np.bincount(reviewer[picked], minlength=m) <= load).all()
        and (np.bincount(reviewer[picked], minlength=m) >= least).all()
    ]
    found = cheapest_assignment(item, reviewer, cost, demand, load, least)
    assert (found is not None) == bool(good)
    if good:
        assert cost[found].sum() == min(cost[picked].sum() for picked in good)
        assert shortfall(item, reviewer, demand, load, least) is None
        return
    if (least > load).any():
        return
    short = shortfall(item, reviewer, demand, load, least)
    assert short.needed > short.supply + short.pairs
    inside = np.isin(item, short.items), np.isin(reviewer, short.reviewers)
    if short.by_items:
        assert short.needed == demand[short.items].sum()
        assert short.supply == load[short.reviewers].sum()
        assert short.pairs == int((inside[0] & ~inside[1]).sum())
    else:
        assert short.needed == least[short.reviewers].sum()
        assert short.supply == demand[short.items].sum()


def test_ties_are_broken_by_the_seed_and_nothing_else():
    affinity = np.array([1.0, 0.5, 0.5, -1.0, 0.0])
    first, again, other = (whole_costs(affinity, seed) for seed in (0, 0, 1))
    assert (first == again).all()
    assert (first != other).any()
    assert (first >> TIE_BITS == other >> TIE_BITS).all()
    assert np.argsort(first, kind="stable")[0] == 0
    assert (whole_costs(np.zeros(3), 0) < 1 << TIE_BITS).all()
