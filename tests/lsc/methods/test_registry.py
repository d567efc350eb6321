"""What every method owes; a new one is tested here without being named."""

import copy
import pickle

import numpy as np
import pytest

from lsc.estimate import Estimate
from lsc.methods import METHODS, method_named
from reviewgraph import InputError, Reviews
from reviewgraph._base import Result

pytestmark = pytest.mark.usefixtures("infer_once")

every_method = pytest.mark.parametrize("name", METHODS)

AWKWARD = {
    "usual": [(j, i, float(i + j + (i * j) % 3)) for j in range(4) for i in range(6)],
    "one score": [("ann", "a", 3.0)],
    "all alike": [(j, i, 3.0) for j in range(3) for i in range(3)],
    "pieces and a planned review": [("ann", "a", 1.0), ("ann", "b", 2.0), ("bob", "c", 5.0), ("bob", "d", None)],
}


@every_method
@pytest.mark.parametrize("rows", AWKWARD.values(), ids=AWKWARD)
def test_a_quality_for_every_item_with_a_score_and_for_no_other(name: str, rows: list[tuple]) -> None:
    reviews = Reviews(rows)
    estimate = METHODS[name](reviews)
    assert estimate.method == name
    assert np.array_equal(np.isfinite(estimate.quality), np.isfinite(estimate.average))


@every_method
def test_results_agree(name: str) -> None:
    estimate = METHODS[name](Reviews(AWKWARD["usual"]))
    assert isinstance(estimate, Result)
    answer = estimate.to_dict()
    shared = Estimate.to_dict(estimate)
    columns = ["item", "quality", "average", "rank", "standard_error", "group"]
    lists = {"selected", "set_aside"}
    assert set(shared) == {*lists, "method", "status", "hypothesis", "objective", "unique", "items"} <= set(answer)
    for found in (answer["items"][0], estimate.to_columns()):
        assert list(found)[: len(columns)] == columns
    assert name == "posterior" or (set(answer), list(answer["items"][0])) == (set(shared), columns)
    assert repr(estimate).startswith(f"<{type(estimate).__name__}: ")
    assert "\n" not in repr(estimate)
    for again in (pickle.loads(pickle.dumps(estimate)), copy.copy(estimate), copy.deepcopy(estimate)):
        assert again.to_dict() == answer
    assert estimate.to_frame(backend="pyarrow").column_names == list(estimate.to_columns())


@every_method
def test_a_method_says_what_it_does_and_refuses_what_it_does_not_know(name: str) -> None:
    method = method_named(name)
    assert method.words
    assert method.title
    with pytest.raises(InputError, match=f"{name}: expected options among .*, found 'colour'"):
        method(Reviews(AWKWARD["usual"]), colour="red")


def test_randomness_comes_by_seed_alone() -> None:
    reviews = Reviews(AWKWARD["usual"])
    for name, method in METHODS.items():
        if "seed" in method.options:
            one, same = method(reviews, seed=3), method(reviews, seed=np.random.default_rng(3))
            assert np.array_equal(one.quality, same.quality), name
