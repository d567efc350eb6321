"""Labels, codes and the natural order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reviewgraph
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
