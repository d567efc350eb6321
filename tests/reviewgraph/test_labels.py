"""Labels, codes, rows as they come, and the natural order."""

from typing import Any

import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reviewgraph
from reviewgraph import InputError, Reviews
from reviewgraph._base import encode, natural_key
from reviewgraph._base.labels import natural_order

TEXTS = st.text(st.sampled_from("0019aBé- \0\1"), max_size=5) | st.from_regex(r"P0{0,2}[0-9]{0,3}", fullmatch=True)


NUMBERED = st.tuples(st.sampled_from(["", "p", "no. "]), st.sampled_from(["", "@x", "\1"])).flatmap(
    lambda ends: st.lists(
        st.from_regex(r"0{0,3}[0-9]{1,3}", fullmatch=True).map(lambda digits: f"{ends[0]}{digits}{ends[1]}"),
        unique=True,
        max_size=12,
    )
)


@given(st.lists(TEXTS, unique=True, max_size=12) | NUMBERED)
def test_many_labels_sort_as_few_do(texts):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reviewgraph._base.labels, "_MANY", 1)
        quick = [texts[place] for place in natural_order(texts)]
    assert quick == sorted(texts, key=natural_key)


@given(st.lists(st.sampled_from([7, "7", "007", 7.0, True, 1, -1, None, "a"])), st.sampled_from([(), (7,), ("z", 7)]))
def test_labels_are_never_confused(labels, declared):
    codes, distinct = encode(labels, iter(declared))
    back = [distinct[code] for code in codes]
    assert list(map(repr, back)) == list(map(repr, labels))
    assert len(set(map(repr, distinct))) == len(distinct) == len({*map(repr, labels), *map(repr, declared)})
    if labels and set(map(type, labels)) == {int}:
        again, same = encode(np.array(labels), iter(declared))
        assert (again.tolist(), same) == (codes.tolist(), distinct)


@pytest.mark.parametrize("codes", [[0.7], [True], ["0"], [None]])
def test_codes_are_whole_numbers(codes: Any) -> None:
    with pytest.raises(InputError, match="item: expected codes, whole numbers from 0 on"):
        Reviews.from_codes([0], codes, reviewers=["ann"], items=["p1", "p2"])


def test_whole_scores_beyond_double_precision_are_refused() -> None:
    with pytest.raises(InputError, match="too large"):
        Reviews([("a", "p", 10**400)])


@pytest.mark.parametrize(("row", "name"), [((["a"], "p"), "reviewer"), (("a", {}), "item"), (("a", (1, [])), "item")])
def test_labels_can_be_hashed(row: Any, name: str) -> None:
    with pytest.raises(InputError, match=rf"{name}: expected a label, such as a text or a number, found .* in row 1"):
        Reviews([("a", "p"), row])


def test_masked_entries_of_a_matrix_are_no_reviews() -> None:
    matrix = np.ma.masked_equal(np.array([[5, 0], [7, 8]]), 0)
    table = Reviews(matrix, reviewers=["a", "b"], items=["p", "q"])
    assert list(zip(*table.to_columns().values(), strict=True)) == [("a", "p", 5.0), ("b", "p", 7.0), ("b", "q", 8.0)]
    assert Reviews(matrix > 0, reviewers=["a", "b"], items=["p", "q"]).n_reviews == 3


def test_reviewers_and_items_are_two_columns() -> None:
    with pytest.raises(InputError, match="expected a column of reviewers and another of items, found 'who' for both"):
        Reviews(pandas.DataFrame({"who": ["a"], "score": [1.0]}), reviewer="who", item="who")
