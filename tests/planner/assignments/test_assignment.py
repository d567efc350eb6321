import copy
import pickle

import numpy as np
import pytest

from planner import assign
from reviewgraph._base import Result

#: Square affinities, of which nothing says which side is which, are meant as they are here.
pytestmark = pytest.mark.filterwarnings("ignore:affinity. a square matrix")


@pytest.fixture(scope="module")
def chosen():
    return assign(np.arange(36.0).reshape(6, 6) % 7, demand=3, load=3)


def test_a_result_is_a_dictionary_columns_a_frame_and_one_line(chosen):
    assert isinstance(chosen, Result)
    report = chosen.to_dict()
    assert [tuple(row.values()) for row in report["reviews"]] == list(zip(*chosen.to_columns().values(), strict=True))
    assert report["affinity"] == chosen.affinity
    assert chosen.to_frame(backend="pyarrow").column_names == ["item", "reviewer", "affinity"]
    assert (
        repr(chosen)
        == f"<Assignment: {chosen.status}, 6 reviewers, 6 items, 18 reviews, affinity {chosen.affinity:.6g}>"
    )
    assert "\n" not in repr(chosen)


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda result: pickle.loads(pickle.dumps(result))])
def test_results_copy_and_pickle(chosen, way):
    infeasible = assign(np.ones((2, 2)), demand=3, load=1)
    for result in (chosen, infeasible):
        again = way(result)
        assert again.to_columns() == result.to_columns()
        assert again.status is result.status
        assert str(again.to_dict()) == str(result.to_dict())
