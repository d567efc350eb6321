from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from planner._assign.fair import chains_of, lifting_chain, panel_scores, reach_of, smallest_at_most
from planner._assign.findings import Floors
from planner._assign.flow import flip, serves
from planner._assign.problem import unit_of
from reviewgraph._base import Clock
from tests.planner.assignments.cases import problem_of, random_case


def one_exchange_lifts(net, floor, item):
    """Whether any one reviewer who has room can replace any of an item's panel, the item being at its floor then."""
    load = net.held_start[1:] - net.held_start[:-1]
    panel = np.flatnonzero(net.assigned & (net.item == item))
    others = np.flatnonzero(~net.assigned & (net.item == item))
    return any(
        net.value[panel].sum() - net.value[q] + net.value[p] >= floor[item]
        and net.n_held[net.reviewer[p]] < load[net.reviewer[p]]
        and net.n_held[net.reviewer[q]] > net.least[net.reviewer[q]]
        for q in panel if not net.locked[q]
        for p in others
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(40))
def test_chains_keep_floors_and_loads_and_single_exchanges_are_found(seed):
    rng = np.random.default_rng(seed)
    problem, chosen = random_case(rng)
    held = np.bincount(problem.reviewer[chosen], minlength=problem.n_reviewers)
    load, least = held + (rng.random(held.size) < 0.3), np.minimum(held, rng.integers(0, 2, held.size))
    table = list(zip(problem.item.tolist(), problem.reviewer.tolist(), strict=True))
    given = chosen & (rng.random(chosen.size) < 0.1)
    sizes = {"demand": problem.demand, "load": load, "least": least, "given": given}
    problem = problem_of(table, problem.affinity.round(1), problem.n_items, load.size, **sizes)
    net = problem.network(chosen)
    score = panel_scores(net)
    item = int(rng.integers(problem.n_items))
    floor = np.minimum(score, int(rng.integers(0, int(score.max()) + 2)))
    floor[item] = score[item] + 1
    chains = chains_of(net)
    length = lifting_chain(net, chains, score, floor, item)
    assert (chains.came == -1).all()
    if not length:
        assert not one_exchange_lifts(net, floor, item)
        return
    pairs = chains.path[:length].copy()
    assert np.unique(pairs).size == length
    assert not net.locked[pairs].any()
    flip(net, pairs)
    assert (panel_scores(net) >= floor).all()
    assert (np.bincount(net.item[net.assigned], minlength=problem.n_items) == problem.demand).all()
    after = np.bincount(net.reviewer[net.assigned], minlength=load.size)
    assert ((after <= load) & (after >= least)).all()


def test_a_chain_of_two_exchanges_is_found():
    """Paper 0 wants reviewer 1, who is full with paper 1, which reviewer 2 can take."""
    table = [(0, 0), (0, 1), (1, 1), (1, 2)]
    problem = problem_of(table, [0.1, 0.9, 0.9, 0.8], 2, 3, demand=1, load=1)
    net = problem.network(np.array([True, False, True, False]))
    score = panel_scores(net)
    floor = np.array([score[0] + 1, 0])
    length = lifting_chain(net, chains := chains_of(net), score, floor, 0)
    assert sorted(chains.path[:length].tolist()) == [0, 1, 2, 3]
    floor[1] = score[1]
    assert lifting_chain(net, chains, score, floor, 0) == 0


@pytest.mark.parametrize("seed", range(10))
def test_floors_are_judged_as_by_counting(seed):
    rng = np.random.default_rng(seed)
    problem, chosen = random_case(rng, share=0.7)
    table = list(zip(problem.item.tolist(), problem.reviewer.tolist(), strict=True))
    sizes = {"demand": problem.demand, "load": problem.load, "floors": Floors(None, 0.6)}
    problem = problem_of(table, problem.affinity, problem.n_items, problem.n_reviewers, **sizes)
    net = problem.network(chosen)
    net.floor[:] = panel_scores(net)
    for item in range(problem.n_items):
        panel = np.flatnonzero(chosen & (problem.item == item))
        others = np.flatnonzero(~chosen & (problem.item == item))
        for leaving in panel:
            for entering in others:
                then = np.append(panel[panel != leaving], entering)
                fine = net.value[then].sum() >= net.floor[item] and problem.affinity[then].max() >= 0.6
                assert serves(net, item, leaving, entering) == fine


@pytest.mark.parametrize("seed", range(10))
def test_the_most_that_an_item_can_have_and_the_bound(seed):
    rng = np.random.default_rng(seed)
    n, m, demand = 4, 4, 2
    table = [(i, j) for i in range(n) for j in range(m)]
    problem = problem_of(table, rng.random(n * m).round(1), n, m, demand=demand, load=int(rng.integers(2, 4)))
    net = problem.network(problem.given)
    unit, score = unit_of(problem.affinity), problem.affinity.reshape(n, m)
    best = [max(row[list(panel)].sum() for panel in combinations(range(m), demand)) for row in score]
    assert unit * reach_of(net, problem.demand) == pytest.approx(best)
    # The bound is the optimum of the linear programme over all pairs, up to rounding.
    bound = smallest_at_most(problem, -np.inf, Clock(60))
    assert bound.value == pytest.approx(min(*best, linear_bound(score, demand, problem.load)), abs=1e-6)


def linear_bound(score, demand, load):
    """The largest smallest score over fractional assignments, over all pairs at once."""
    from scipy.optimize import linprog

    n, m = score.shape
    rows, equal, loads = np.zeros((n, n * m + 1)), np.zeros((n, n * m + 1)), np.zeros((m, n * m + 1))
    for i in range(n):
        rows[i, i * m : (i + 1) * m], rows[i, -1] = -score[i], 1
        equal[i, i * m : (i + 1) * m] = 1
        loads[:, i * m : (i + 1) * m] += np.eye(m)
    answer = linprog(
        np.append(np.zeros(n * m), -1), np.vstack([rows, loads]), np.append(np.zeros(n), load), equal,
        np.full(n, demand), [*[(0, 1)] * (n * m), (None, None)],
    )  # fmt: skip
    return -answer.fun
