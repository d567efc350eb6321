from itertools import product

import numpy as np
import pytest

from planner._assign.flow import TIE_BITS, shortfall, whole_costs
from tests.planner.assignments.cases import cheapest_assignment


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
