from dataclasses import replace

import numpy as np
import pytest

from tests.planner.assignments.cases import components, core_of, covers_of, random_case


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
