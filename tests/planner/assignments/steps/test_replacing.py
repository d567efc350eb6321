import numpy as np
import pytest

from planner._assign.core import Replacing, largest_cover
from reviewgraph.table import Reviews
from tests.planner.assignments.cases import core_of, problem_of, random_case
from tests.trials import trials


def table_of(problem, chosen):
    pairs = np.flatnonzero(chosen)
    return Reviews.from_codes(
        problem.reviewer[pairs], problem.item[pairs], reviewers=problem.n_reviewers, items=problem.n_items
    )


def covered(core, problem, chosen):
    """Required items that the best component covers, from a table made anew; all where the level holds early."""
    reviews = table_of(problem, chosen)
    most = largest_cover(core.aim, reviews, problem.required)
    return core.total if core.aim.holds_early(lambda: reviews) else most


def banded(rng):
    """Panels of three neighbours on a ring: most reviews can be lost, those where the ring is thin cannot."""
    n = int(rng.integers(8, 14))
    chosen = {(i, (i + k) % n) for i in range(n) for k in range(3) if rng.random() < 0.9}
    pairs = sorted({(i, j) for i in range(n) for j in range(n) if rng.random() < 0.4} | chosen)
    assigned = np.array([pair in chosen for pair in pairs])
    panel, held = (np.bincount(side, minlength=n) for side in np.array(pairs)[assigned].T)
    required = rng.random(n) < 0.9
    return problem_of(pairs, np.zeros(len(pairs)), n, n, demand=panel, load=held + 1, required=required), assigned


@pytest.mark.parametrize("level", ["double", "connected", "recoverable"])
def test_who_takes_a_review_over_is_judged_as_the_table_made_anew_is(level):
    rng, answers = np.random.default_rng(0), []
    for trial in range(trials(8)):
        problem, chosen = banded(rng) if trial % 2 else random_case(rng, share=0.6)
        core = core_of(problem, chosen, level)
        replacing, least = Replacing(core), core.total if core.at_level() else core.count()
        before = core.net.assigned.copy()
        for gone in rng.permutation(np.flatnonzero(chosen))[:8].tolist():
            mates = np.flatnonzero((problem.item == problem.item[gone]) & ~chosen)
            for entering in rng.permutation(mates)[:3].tolist():
                after = chosen.copy()
                after[[gone, entering]] = False, True
                answers.append(replacing.keeps(gone, entering))
                assert answers[-1] == (covered(core, problem, after) >= least)
        assert (core.net.assigned == before).all()
    assert 0.1 < np.mean(answers) < 1.0
