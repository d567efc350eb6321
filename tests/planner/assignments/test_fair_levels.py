"""Fair assignments at a level, against all assignments of tiny markets."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from planner import assign
from tests.planner.assignments import naive_assignment as naive
from tests.trials import sampled


def tiny(seed):
    """A tiny market with ties and tight loads: affinities, papers, reviewers, demand, load and a floor."""
    rng = np.random.default_rng(seed)
    papers, reviewers = ([f"{kind}{k}" for k in range(int(rng.integers(3, 7)))] for kind in "pr")
    papers = papers[:5]
    levels, density = int(rng.choice([1, 3, 1000])), float(rng.choice([0.6, 0.8, 1.0]))
    affinity = {(r, p): float(rng.integers(levels + 1)) for r in reviewers for p in papers if rng.random() < density}
    load = -(-2 * len(papers) // len(reviewers)) + int(rng.integers(2))
    return affinity, papers, reviewers, load, 1.2 * float(rng.integers(levels + 1))


def reachable(affinity, papers, reviewers, load, floor):
    """Whether any assignment is doubly connected, with no paper below the floor."""

    def completed(pairs, left):
        """Try every panel of the next paper whose reviewers have room, and so on."""
        if not left:
            return naive.doubly_connected(pairs, papers)
        used, paper = Counter(r for r, _ in pairs), left[0]
        for panel in combinations([r for r in reviewers if (r, paper) in affinity and used[r] < load], 2):
            above = floor is None or sum(affinity[r, paper] for r in panel) >= floor
            if above and completed([*pairs, *((r, paper) for r in panel)], left[1:]):
                return True
        return False

    return completed([], papers)


@pytest.mark.slow
@pytest.mark.parametrize("asked", ["leximin", "floor"])
@pytest.mark.parametrize("seed", sampled(range(32), 12))
def test_a_level_beside_fairness_is_missed_only_where_it_is_out_of_reach(seed, asked):
    affinity, papers, reviewers, load, floor = tiny(seed)
    options = {"fair": "leximin"} if asked == "leximin" else {"floor": floor}
    result = assign(affinity, items=papers, reviewers=reviewers, demand=2, load=load, **options)
    least = options.get("floor")
    if not result.status.reached:
        assert not reachable(affinity, papers, reviewers, load, least)
        assert result.status == "infeasible" or "Proved impossible" in result.explanation or result.fairness.below
        return
    table = result.reviews
    pairs = [(table.reviewers[j], table.items[i]) for j, i in zip(table.reviewer, table.item, strict=True)]
    assert naive.doubly_connected(pairs, papers)
    assert least is None or min(sum(affinity[r, p] for r, q in pairs if q == p) for p in papers) >= least - 1e-6
