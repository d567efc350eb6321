"""Assignments that outlive a loss, by the name of the level."""

import numpy as np
import pytest

from planner import assign
from reviewgraph import Search
from reviewgraph.graph.components import doubly_connected_components
from tests.planner.plans.naive_plans import survives_review

#: Square affinities, of which nothing says which side is which, are meant as they are here.
pytestmark = pytest.mark.filterwarnings("ignore:affinity. a square matrix")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_survives_review_holds_without_any_one_review(seed: int) -> None:
    # Two communities that affinity keeps apart: the level depends on single reviews unless that is repaired.
    rng = np.random.default_rng(seed)
    side = np.arange(12) % 2
    affinity = rng.random((12, 12)) + 3.0 * (side[:, None] == side[None, :])
    chosen = assign(affinity, demand=3, load=4, target="survives-review", search=Search(seed=seed))
    table = chosen.reviews
    covers = [sum(1 << int(i) for i in table.items_of(j)) for j in range(table.n_reviewers)]
    assert chosen.status.reached == survives_review(covers, 12)
    assert chosen.target == "survives-review"
    if not chosen.status.reached:
        assert "depends on" in chosen.explanation
    assert doubly_connected_components(table).covers_all
