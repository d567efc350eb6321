"""Rows as they come, made fit for a table."""

from typing import Any

import numpy as np
import pandas
import pytest

from reviewgraph import InputError, Reviews


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
