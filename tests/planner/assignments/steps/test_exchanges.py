from __future__ import annotations

from itertools import cycle, product

import numpy as np
import pytest

from planner._assign import precision
from planner._assign.flow import flip, whole_costs
from planner._assign.inputs import Constraints, build, scored_pairs
from planner._assign.precision import covariance
from reviewgraph.graph import Assumptions, mean_information
from reviewgraph.graph.precision import MANY
from reviewgraph.io import Rules
from tests.planner.assignments.cases import cheapest_assignment
from tests.trials import sampled

ASSUMED = [Assumptions(), Assumptions(noise=0.4, severity=1.7, stretch=0.7), Assumptions(severity=0.0, stretch=0.0)]


def market(seed, n=16, m=12):
    """Unequal loads, reviewers of one paper among them, and ties in affinity."""
    rng = np.random.default_rng(seed)
    affinity = rng.integers(0, 4, size=(m, n)).astype(float)
    load = dict(enumerate(rng.choice([1, 4, 9], m, p=[0.2, 0.5, 0.3]).tolist()))
    constraints = Constraints(Rules(demand=2, load=load))
    problem = build(scored_pairs(affinity, None, None), constraints)
    cost = whole_costs(problem.affinity, seed)
    chosen = cheapest_assignment(problem.item, problem.reviewer, cost, problem.demand, problem.load, problem.least)
    return problem, problem.network(chosen)


def naive_total(net, counts, assumptions):
    """Trace of the inverse, with the information of each reviewer written out."""
    precision = np.eye(counts.size)
    weights = np.transpose(mean_information(np.bincount(net.reviewer[net.assigned], minlength=12), assumptions))
    for j, (within, common) in enumerate(weights):
        own = net.item[np.flatnonzero(net.assigned & (net.reviewer == j))]
        level = np.full((own.size, own.size), 1.0 / max(own.size, 1))
        precision[np.ix_(own, own)] += within * (np.eye(own.size) - level) + common * level
    return np.diag(np.linalg.inv(precision))[counts].sum()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "assumptions"), sampled(product(range(3), ASSUMED), list(enumerate(ASSUMED)), several=True)
)
def test_gains_of_exchanges_are_what_inverting_again_gives(seed, assumptions, monkeypatch):
    monkeypatch.setattr(precision, "DRAWN", 60)
    monkeypatch.setattr(precision, "BLOCK", 7)
    problem, net = market(seed)
    counts = np.arange(problem.n_items) % 4 > 0
    now = covariance(net, counts, assumptions)
    assert now.total == pytest.approx(naive_total(net, counts, assumptions), rel=1e-10)
    swaps = precision.candidates(net, problem, 10.0, np.random.default_rng(seed))
    gain = precision.gains(net, swaps, now)
    assert gain.size > 10
    for s in range(gain.size):
        pairs = np.concatenate([swaps.off[s], swaps.on[s]])
        before = problem.affinity[net.assigned].sum()
        flip(net, pairs)
        assert now.total - naive_total(net, counts, assumptions) == pytest.approx(gain[s], abs=1e-10)
        assert before - problem.affinity[net.assigned].sum() == pytest.approx(swaps.loss[s], abs=1e-12)
        flip(net, pairs)


LOADS = [1, 2, 5, MANY + 5]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("load", "assumptions"),
    sampled(product(LOADS, ASSUMED), list(zip(LOADS, cycle(ASSUMED), strict=False)), several=True),
)
def test_information_is_the_mean_over_qualities(load, assumptions):
    rng = np.random.default_rng(load)
    draws = 4000 if load < MANY else 100
    total = np.zeros((load, load))
    for _ in range(draws):
        x = rng.normal(size=load)
        score = assumptions.noise**2 * np.eye(load) + assumptions.severity**2 + assumptions.stretch**2 * np.outer(x, x)
        total += np.linalg.inv(score) / draws
    within, common = (values[0] for values in mean_information(np.array([load]), assumptions))
    assert common == pytest.approx(total.sum() / load, rel=0.03)
    if load > 1:
        assert within == pytest.approx((np.trace(total) - total.sum() / load) / (load - 1), rel=0.03)


def test_nobody_without_papers_tells_anything():
    assert [values.tolist() for values in mean_information(np.array([0]), Assumptions())] == [[0.0], [0.0]]
